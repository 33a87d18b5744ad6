"""Errors lead to the user's line: their frames first and last, none of ours between, unless they are asked for."""

import functools
import os
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import ControlFlowError, LeakError, TraceError

OURS = str(Path(ad.__file__).resolve().parent)
X = np.array([1.0, 2.0, 3.0])


def broken(x):
    y = x * 2.0
    return np.sum(y + np.ones(7))  # the line that is wrong


def of_a_number(x):
    return broken(np.stack([x, x]))


CALLS = {
    "grad": lambda: ad.grad(broken)(X),
    "value_and_grad": lambda: ad.value_and_grad(broken)(X),
    "jvp": lambda: ad.jvp(broken, (X,), (X,)),
    "vjp": lambda: ad.vjp(broken, X),
    "linearize": lambda: ad.linearize(broken, X),
    "linear_transpose": lambda: ad.linear_transpose(broken, X)(1.0),
    "vmap": lambda: ad.vmap(of_a_number)(X),
    "jet": lambda: ad.jet(broken, (X,), ((X,),)),
    "jacobian": lambda: ad.jacobian(broken)(X),
    "hessian": lambda: ad.hessian(broken)(X),
    "hvp": lambda: ad.hvp(broken, (X,), (X,)),
    "grad of vmap": lambda: ad.grad(lambda x: np.sum(ad.vmap(of_a_number)(x)))(X),
    "vmap of grad": lambda: ad.vmap(ad.grad(of_a_number))(X),
    "scan": lambda: ad.scan(lambda c, x: (c, broken(np.stack([c, x]))), 1.0, X),
    "while_loop": lambda: ad.while_loop(lambda x: x < 0, of_a_number, 1.0),
    "cond": lambda: ad.vmap(lambda x: ad.cond(x > 0, of_a_number, lambda x: x, x))(X),
    "trace": lambda: ad.trace(broken)(X),
    "checkpoint": lambda: ad.grad(ad.checkpoint(broken))(X),
    "custom_rule": lambda: ad.grad(ad.custom_rule(broken, vjp=lambda x: (broken(x), None)))(X),
    "watched": lambda: watched(),
    "a traced program": lambda: ad.trace(lambda x: checked(x))(1.0)(-1.0),
}


def watched():
    with ad.debug.nans():
        return ad.grad(broken)(X)


def checked(x):
    ad.check(x > 0, "positive")
    return x


def frames(error) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("name", CALLS)
def test_user_frames_first(name) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        CALLS[name]()
    places = frames(caught.value)
    assert places[0] == __file__
    assert not [place for place in places if place.startswith(OURS)]
    lines = [frame.line or "" for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "the line that is wrong" in lines[-1] or name == "a traced program"


def test_all_frames_when_asked_for() -> None:
    with config.override(full_traceback=True), pytest.raises(ValueError) as caught:
        ad.grad(broken)(X)
    assert sum(place.startswith(OURS) for place in frames(caught.value)) > 3


def test_errors_of_the_user_pass_unchanged() -> None:
    class Mine(Exception):
        pass

    problem = Mine("as it was")

    def f(x):
        raise problem

    for call in (
        lambda: ad.grad(f)(1.0),
        lambda: ad.vmap(f)(X),
        lambda: ad.trace(f)(1.0),
        lambda: ad.scan(lambda c, x: f(x), 1.0, X),
    ):
        with pytest.raises(Mine) as caught:
            call()
        assert caught.value is problem


def test_python_catches_errors_inside_a_transformed_function() -> None:
    def f(x):
        try:
            y = x + np.ones(7)
        except ValueError:
            y = x * 2.0
        return np.sum(y)

    np.testing.assert_array_equal(ad.grad(f)(X), [2.0, 2.0, 2.0])


# ---- values that leave their place ----


def test_a_leak_names_both_lines() -> None:
    kept = []

    def f(x):
        kept.append(x * 2.0)
        return np.sum(x)

    for transform in (
        lambda: ad.grad(f)(X),
        lambda: ad.jvp(f, (X,), (X,)),
        lambda: ad.vmap(f)(X),
        lambda: ad.trace(f)(X),
    ):
        transform()
        with pytest.raises(LeakError) as caught:
            kept[-1] + 1.0  # used here
        message = str(caught.value)
        assert "test_errors_tracebacks.py" in message.split("used at")[0]
        assert "kept[-1] + 1.0" in message.split("used at")[1]
        assert "has_aux=True" in message


def test_a_thread_names_both_lines() -> None:
    problems = []

    def f(x):
        def work():
            try:
                np.sin(x)
            except LeakError as problem:
                problems.append(problem)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return np.sum(x)

    for transform in (
        lambda: ad.grad(f)(X),
        lambda: ad.jvp(f, (X,), (X,)),
        lambda: ad.vmap(f)(X),
        lambda: ad.trace(f)(X),
    ):
        transform()
        message = str(problems.pop())
        assert "another thread, at test_errors_tracebacks.py" in message
        assert "np.sin(x)" in message
        assert "called at test_errors_tracebacks.py" in message


REFUSED = {
    "float": (lambda x: float(x[0]), TraceError, r"float\(\)"),
    "math": (lambda x: __import__("math").sin(x[0]), TraceError, r"np\.sin"),
    "asarray": (lambda x: np.sum(np.asarray(x)), TraceError, "adjoint.numpy.array"),
    "assignment": (lambda x: assigned(x), TraceError, "adjoint.numpy.zeros"),
    "in place": (lambda x: added(x), TraceError, "adjoint.numpy"),
    "unknown function": (lambda x: np.datetime_as_string(x), TypeError, "custom_rule"),
}


def assigned(x):
    z = np.zeros(3)
    z[0] = x[0]
    return np.sum(z)


def added(x):
    z = np.zeros(3)
    z += x
    return np.sum(z)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_call_the_line_and_the_remedy(name) -> None:
    f, kind, match = REFUSED[name]
    for call in (lambda: ad.grad(f)(X), lambda: ad.jvp(f, (X,), (X,)), lambda: ad.trace(f)(X)):
        with config.override(convert=False), pytest.raises(kind, match=match) as caught:
            call()
        assert "test_errors_tracebacks.py" in str(caught.value)


def test_a_question_in_a_body_names_the_line_and_the_remedy() -> None:
    words = r"inside the body of scan, at test_errors_tracebacks\.py:\d+, in .*if c > 0.*ad\.cond"
    with config.override(convert=False), pytest.raises(ControlFlowError, match=words):
        ad.scan(lambda c, x: (c if c > 0 else x, None), 1.0, X)


def test_a_script_shows_its_own_lines(tmp_path) -> None:
    script = tmp_path / "model.py"
    script.write_text(
        "import numpy as np\nimport adjoint as ad\n"
        "def loss(x):\n    return np.sum(x + np.ones(7))\nad.grad(loss)(np.ones(3))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(OURS).parent)}
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 1
    shown = [line for line in run.stderr.splitlines() if line.lstrip().startswith("File")]
    assert "model.py" in shown[0]
    assert "model.py" in shown[-1]
    assert not any("adjoint" in line for line in shown)


@pytest.mark.parametrize(
    "run",
    [
        lambda f: ad.grad(f)(X),
        lambda f: ad.jvp(f, (X,), (X,)),
        lambda f: ad.jet(f, (X,), ((X,),)),
        lambda f: ad.vmap(ad.grad(f))(X[None]),
        lambda f: ad.grad(lambda x: np.sum(ad.vmap(f)(x)))(X[None]),
    ],
)
def test_numbers_with_derivatives_are_no_keys(run) -> None:
    """Two of them may be equal and move differently: a memo would take one for the other."""

    def remembering(x):
        @functools.lru_cache
        def double(t):
            return 2.0 * t

        return double(x[0]) + 3.0 * double(x[1] / 2.0)

    with config.override(convert=False), pytest.raises(TraceError, match=r"lru_cache.*derivatives.*stop_gradient"):
        run(remembering)
    run(remembering)  # in converted code traced arguments are told apart by identity
    run(lambda x: x[0] * {ad.stop_gradient(x[0]): 2.0}[ad.stop_gradient(x[0])])  # what has no derivative may be one


def test_lanes_are_keys() -> None:
    names = {1.0: 5.0, 2.0: 7.0}
    np.testing.assert_array_equal(ad.vmap(lambda t: t * names[t])(np.array([2.0, 1.0, 2.0])), [14.0, 5.0, 14.0])
