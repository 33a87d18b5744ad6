"""Ctrl-C waits where it must, and wherever it comes in a first call, the next call works."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import adjoint
from adjoint.base.garbage import loading
from adjoint.base.interrupts import uninterrupted
from tests.support.sweeps import sampled

ROOT = Path(adjoint.__file__).parents[1]


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """Ctrl-C raises: shells ignore it in what runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("context", [uninterrupted, loading])
def test_it_takes_effect_at_the_end(context) -> None:
    done = []
    with pytest.raises(KeyboardInterrupt):  # noqa: SIM117
        with context():
            with context():
                press()
                done.append("inside")
            done.append("outside")
    assert done == ["inside", "outside"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_user_is_called_once() -> None:
    calls = []
    signal.signal(signal.SIGINT, lambda *args: calls.append(args))
    with uninterrupted():
        press()
        assert not calls
    assert [number for number, _ in calls] == [signal.SIGINT]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with uninterrupted():
        press()


def test_an_error_inside_is_not_lost() -> None:
    with pytest.raises(ValueError, match="mine"), uninterrupted():
        raise ValueError("mine")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_are_left_alone() -> None:
    seen = []

    def work() -> None:
        with uninterrupted():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


# Loads, traces, simplifies and compiles. The signal comes with the n-th event (a call or a return of a function).
FIRST_CALL = """
import gc, os, signal, sys, warnings
import numpy as np

signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("error")
events, wanted = 0, int(sys.argv[1])

def press(frame, event, argument):
    global events
    events += 1
    if events == wanted:
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGINT)

def f(x):
    return np.sum(np.tanh(x) ** 2) * np.linalg.norm(x)

x = np.arange(3.0) + 1
came = False
import adjoint as ad
sys.setprofile(press)
try:
    ad.jit(ad.value_and_grad(f))(x)
except KeyboardInterrupt:
    came = True
sys.setprofile(None)
again = ad.jit(ad.value_and_grad(f))
value, slope = again(x)
step = 1e-6 * np.eye(3)
np.testing.assert_allclose(value, f(x), rtol=1e-12)
np.testing.assert_allclose(slope, [(f(x + d) - f(x - d)) / 2e-6 for d in step], rtol=1e-6)
print(came, again.report().specializations[0].how, gc.isenabled())
"""


@pytest.mark.parametrize("event", sampled([300 * 3**k + k for k in range(7)] + [*range(20_000, 240_000, 11_003)], 13))
def test_the_call_after_an_interrupted_one_works(event: int, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ADJOINT_CACHE_DIR": str(tmp_path / "kept")}
    command = [sys.executable, "-c", FIRST_CALL, str(event)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    # Python itself drops what is raised in a finalizer, and says so
    is_dropped = "Exception ignored" in run.stderr and "KeyboardInterrupt" in run.stderr
    assert run.stdout.split() == [str(not is_dropped), "compiled", "True"], run.stderr
    assert not list((tmp_path / "kept").glob("*.unfinished"))
