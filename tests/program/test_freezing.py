"""Numbers drawn from NumPy inside a body that is traced once are refused, wherever the generator lives."""

import functools
import random
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import TraceError

GENERATOR = np.random.default_rng(0)
SPARE = np.random.default_rng(5)
LEGACY = np.random.RandomState(0)
TABLE = {"rng": np.random.Generator(np.random.PCG64(0))}
MODULE = types.ModuleType("some_module")
MODULE.rng = np.random.default_rng(1)


class Model:
    def __init__(self):
        self.rng = np.random.default_rng(2)

    def step(self, c, x):
        return c + x * self.rng.normal(), None

    def __call__(self, c, x):
        return self.step(c, x)


def called(c):
    return c * GENERATOR.uniform()


def closure():
    rng = np.random.default_rng(3)
    return lambda c, x: (c + rng.normal(), None)


BODIES = {
    "global function": lambda c, x: (c + np.random.normal(), None),
    "global generator": lambda c, x: (c + GENERATOR.normal(), None),
    "Python's random": lambda c, x: (c + random.random(), None),
    "RandomState": lambda c, x: (c + LEGACY.rand(), None),
    "table": lambda c, x: (c + TABLE["rng"].random(), None),
    "callee": lambda c, x: (called(c), None),
    "module": lambda c, x: (c + MODULE.rng.random(), None),
    "closure": closure(),
    "method": Model().step,
    "object": Model(),
    "partial": functools.partial(lambda rng, c, x: (c + rng.random(), None), np.random.default_rng(4)),
    "default": lambda c, x, rng=SPARE: (c + rng.random(), None),
    "inner function": lambda c, x: ((lambda: c + GENERATOR.normal())(), None),
}


@pytest.mark.parametrize("name", BODIES)
def test_draws_in_a_body_are_refused(name) -> None:
    with pytest.raises(TraceError, match=r"drew from .*ad\.random\.default_rng"):
        ad.scan(BODIES[name], 0.0, np.ones(3))


def test_other_loops() -> None:
    for loop in (
        lambda: ad.fori_loop(0, 3, lambda i, c: c + GENERATOR.normal(), 0.0),
        lambda: ad.while_loop(lambda c: c < 3, lambda c: c + np.random.rand(), 0.0),
        lambda: ad.map(lambda x: x * np.random.rand(), np.ones(3)),
        lambda: ad.grad(lambda y: ad.scan(lambda c, x: (c * y + LEGACY.rand(), None), 0.0, np.ones(3))[0])(1.0),
    ):
        with pytest.raises(TraceError, match="drew from"):
            loop()


def test_what_is_not_frozen_is_allowed() -> None:
    np.random.seed(0)
    noise = GENERATOR.normal(size=3)
    assert ad.scan(lambda c, x: (c + x, None), 0.0, noise)[0] == pytest.approx(np.sum(noise))
    # eager transformations run the function once for each call
    assert ad.grad(lambda x: x * GENERATOR.normal())(1.0) != ad.grad(lambda x: x * GENERATOR.normal())(1.0)


def test_other_threads_are_named_where_there_are_any() -> None:
    def drawn() -> str:
        with pytest.raises(TraceError, match="drew from") as problem:
            ad.trace(lambda x: x + np.random.normal())(1.0)
        return str(problem.value)

    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    assert "another thread" in drawn()
    done.set()
    thread.join()


def test_the_first_draw_of_a_process_is_seen_too() -> None:
    """NumPy loads its generators when they are first named: nothing is there to compare with before."""
    code = "import numpy as np, adjoint as ad; ad.trace(lambda x: x + np.random.normal())(1.0)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "drew from NumPy's global generator" in run.stderr


def test_naming_a_generator_first_inside_is_no_draw() -> None:
    code = "import numpy as np, adjoint as ad; print(ad.jit(lambda x: x + (np.random.default_rng is None))(1.0))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.stdout, run.returncode) == ("1.0\n", 0)
    code = "import adjoint as ad; ad.jit(lambda x: ad.random.default_rng(1).gamma(x))(1.0)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
