"""NumPy's warnings stand at the line of the user's code, under all transformations, and only when NumPy warns."""

import inspect
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

X = np.array([0.0, 1.0])


def logarithm(x: Any) -> Any:
    y = np.log(x)
    return np.sum(y)


def twice(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: f(np.stack([x, x]))


EAGER: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "NumPy": lambda f: f,
    "grad": ad.grad,
    "jvp": lambda f: lambda x: ad.jvp(f, (x,), (x,)),
    "vmap": lambda f: twice(ad.vmap(f)),
    "jet": lambda f: lambda x: ad.jet(f, (x,), ([x, x],)),
    "hessian": ad.hessian,
    "vmap of grad": lambda f: twice(ad.vmap(ad.grad(f))),
}
LINE = inspect.getsourcelines(logarithm)[1] + 1


def seen(f: Callable[[Any], Any], x: Any = X) -> list[tuple[str, str, int]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        f(x)
    return [(str(w.message), w.filename, w.lineno) for w in found]


@pytest.mark.parametrize("name", EAGER)
def test_the_line_is_the_users(name: str) -> None:
    found = seen(EAGER[name](logarithm))
    assert ("divide by zero encountered in log", __file__, LINE) in found
    assert {filename for _, filename, _ in found} == {__file__}


def body(c: Any, t: Any) -> Any:
    c = c + 0.0 * t
    return c + np.log(t), None


def halved(s: Any) -> Any:
    n, x = s
    return n + 1, np.log(x)


def negative_branch(x: Any) -> Any:
    x = 1.0 * x
    return np.log(x)


def scanned(x: Any) -> Any:
    z, _ = ad.scan(body, 0.0, x)
    return z


LOOPS: dict[str, tuple[Callable[[Any], Any], Callable[..., Any]]] = {
    "scan": (scanned, body),
    "many iterations": (lambda x: scanned(np.tile(x, 20)), body),
    "grad of scan": (ad.grad(scanned), body),
    "vmap of scan": (twice(ad.vmap(scanned)), body),
    "scan in scan": (lambda x: ad.scan(lambda c, _: (c + scanned(x), None), 0.0, np.ones(2))[0], body),
    "while_loop": (lambda x: ad.while_loop(lambda s: s[0] < 2, halved, (0, x)), halved),
    "cond": (lambda x: ad.cond(True, negative_branch, lambda x: x, x), negative_branch),
    "a traced program": (lambda x: ad.trace(negative_branch)(X)(x), negative_branch),
    "a program": (lambda x: ad.trace(negative_branch)(X).program(x), negative_branch),
}


@pytest.mark.parametrize("name", LOOPS)
def test_bodies_that_are_evaluated_warn_at_their_own_lines(name: str) -> None:
    f, written = LOOPS[name]
    found = seen(f)
    assert found
    assert {(filename, line) for _, filename, line in found} == {(__file__, inspect.getsourcelines(written)[1] + 2)}


def test_lines_of_bodies_warn_once_by_default() -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            scanned(X)
    assert len(found) == 1


def test_each_line_warns_once_by_default() -> None:
    """The registry of the user's module decides, as for NumPy's own warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            ad.grad(logarithm)(X)
    assert len(found) == 1


def test_filters_and_settings_of_the_user_hold() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in log"):
            ad.grad(logarithm)(X)
        with np.errstate(divide="ignore"):
            ad.grad(logarithm)(X)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        ad.grad(logarithm)(X)
    with np.errstate(over="ignore"):
        assert seen(ad.grad(logarithm))[0][1:] == (__file__, LINE)
    assert seen(ad.grad(lambda x: np.sum(np.errstate(all="ignore")(np.log)(x)))) == []


def test_settings_are_what_they_were() -> None:
    before = np.geterr()
    seen(ad.grad(logarithm))
    with pytest.raises(ZeroDivisionError):
        ad.grad(lambda x: x[0] / 0 if 1 // 0 else x)(X)
    assert np.geterr() == before
    assert np.geterrcall() is None


def test_a_log_of_the_user_is_written_to() -> None:
    lines: list[str] = []

    class Log:
        def write(self, text: str) -> None:
            lines.append(text)

    with np.errstate(divide="log", call=Log()):
        ad.grad(logarithm)(X)
    assert lines == ["Warning: divide by zero encountered in log\n"]


def test_other_threads_warn_as_well() -> None:
    found: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread = threading.Thread(target=lambda: found.append(ad.grad(logarithm)(X)))
        thread.start()
        thread.join()
    assert [w.lineno for w in caught] == [LINE]


def imaginary(z: Any) -> Any:
    y = (z * 1j).astype(float)
    return np.sum(y)


@pytest.mark.parametrize("name", ["NumPy", "grad", "jvp", "vmap"])
def test_imaginary_parts_that_are_discarded(name: str) -> None:
    line = inspect.getsourcelines(imaginary)[1] + 1
    text = "Casting complex values to real discards the imaginary part"
    assert seen(EAGER[name](imaginary), X + 2j) == [(text, __file__, line)]
    assert seen(EAGER[name](lambda z: np.sum(np.real(z) * z.astype(bool))), X + 2j) == []
