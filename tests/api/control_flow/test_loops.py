"""Loops: the index of `fori_loop` as a number of Python's, errors by its name, Python's numbers inside bodies."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.api.control_flow import loops
from adjoint.base.config import config
from adjoint.base.errors import ControlFlowError, DtypeError, ShapeError, TreeError
from tests.support.sweeps import sampled

X = np.array([0.5, -1.25, 2.0], "f4")
LANES = np.stack([X, 2 * X])


def turn(i: Any, value: Any, x: Any) -> Any:
    return 0.5 * value * i + x / (i + 1) + i // 2 - (2 * i + 1)


def looped(x: Any, n: Any = 4) -> Any:
    return ad.fori_loop(0, n, lambda i, value: turn(i, value, x), x)


def by_python(x: Any, n: int = 4) -> Any:
    value = x
    for i in range(n):
        value = turn(i, value, x)
    return value


def slope(n: int = 4) -> float:
    """d/dx of the loop, which is linear in x: what it gives for 1 less what it gives for 0."""
    return float(by_python(1.0, n) - by_python(0.0, n))


WAYS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "eager": (lambda: looped(X), lambda: by_python(X)),
    "jit": (lambda: ad.jit(looped)(X), lambda: by_python(X)),
    "vmap": (lambda: ad.vmap(looped)(LANES), lambda: by_python(LANES)),
    "grad": (lambda: ad.grad(lambda x: np.sum(looped(x)))(X), lambda: np.full(3, slope())),
    "jit of grad": (lambda: ad.jit(ad.grad(lambda x: np.sum(looped(x))))(X), lambda: np.full(3, slope())),
    "jvp": (lambda: ad.jvp(looped, (X,), (X,))[1], lambda: X * slope()),
    "traced bound": (lambda: ad.jit(looped)(X, 3), lambda: by_python(X, 3)),
    "bound by lane": (
        lambda: ad.vmap(looped)(LANES, np.array([2, 4])),
        lambda: np.stack([by_python(LANES[0], 2), by_python(LANES[1], 4)]),
    ),
    "jit of bound by lane": (
        lambda: ad.jit(ad.vmap(looped))(LANES, np.array([2, 4])),
        lambda: np.stack([by_python(LANES[0], 2), by_python(LANES[1], 4)]),
    ),
    "grad by lane": (
        lambda: ad.vmap(ad.grad(lambda x, n: np.sum(looped(x, n))))(LANES, np.array([2, 4])),
        lambda: np.outer([slope(2), slope(4)], np.ones(3)),
    ),
    "inside a loop": (
        lambda: ad.fori_loop(0, 3, lambda i, v: ad.fori_loop(0, 2, lambda j, w: w * i + j * 0.5, v), X),
        lambda: _nested(),
    ),
    "in a branch": (
        lambda: ad.fori_loop(0, 3, lambda i, v: ad.cond(i > 1, lambda: v * i, lambda: v + i / 4), X),
        lambda: (X + np.float32(0.25)) * 2,
    ),
    "small whole numbers": (
        lambda: ad.fori_loop(0, 5, lambda i, v: v + i, np.zeros(2, "i1")),
        lambda: np.full(2, 10, "i1"),
    ),
}


def _nested() -> Any:
    value = X
    for i in range(3):
        for j in range(2):
            value = value * i + j * 0.5
    return value


@pytest.mark.parametrize("listed", [1 << 20, 1], ids=["listed", "counted"])
@pytest.mark.parametrize("way", sampled(WAYS, every=3))
def test_the_index_gives_way_in_types(way: str, listed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of iterations stand in an array, or are counted where there are too many of them."""
    monkeypatch.setattr(loops, "MOST_LISTED", listed)
    found, expected = (f() for f in WAYS[way])
    single = np.int8 if way == "small whole numbers" else np.float32
    assert found.dtype == single
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("listed", [1 << 20, 1], ids=["listed", "counted"])
def test_the_index_is_a_whole_number(listed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MOST_LISTED", listed)
    assert ad.fori_loop(2, 6, lambda i, _: i, 0) == 5
    assert ad.fori_loop(0, 3, lambda i, total: total + ad.numpy.array([1.0, 10.0, 100.0])[i], 0.0) == 111.0
    assert ad.fori_loop(3, 3, lambda i, v: v + i, 7) == 7


@pytest.mark.parametrize("bound", ["plain", "traced"])
@pytest.mark.parametrize(
    "body, init, error, words",
    [
        (lambda i, s: s * 1.5, 0, ShapeError, r"fori_loop: carry enters the body as int64\[\] and leaves it as float"),
        (lambda i, s: {"a": s["a"] + X}, {"a": 0.0}, ShapeError, r"fori_loop: carry\['a'\] enters the body as"),
        (lambda i, s: (s, s), 0, TreeError, "fori_loop: the carry changes its structure"),
        (lambda i, s: s if i > 1 else s + 1, 0, ControlFlowError, "the body of fori_loop"),
        (lambda i, s: "text", 0, DtypeError, "fori_loop: the body's result is a str"),
        (lambda i, s: s, "text", DtypeError, "fori_loop: init is a str"),
    ],
)
def test_errors_name_it(bound: str, body: Any, init: Any, error: type[Exception], words: str) -> None:
    loop = lambda n: ad.fori_loop(0, n, body, init)
    with config.override(convert=False), pytest.raises(error, match=words) as caught:
        loop(3) if bound == "plain" else ad.vmap(loop)(np.array([2, 3]))
    assert "scan" not in str(caught.value)
    assert "while_loop:" not in str(caught.value)


def test_the_plan_is_named() -> None:
    with pytest.raises(ValueError, match="fori_loop: checkpoint='no'"):
        ad.fori_loop(0, 3, lambda i, s: s, 0.0, checkpoint="no")


RATES: dict[str, Callable[[Any, Any], Any]] = {
    "scan": lambda x, rate: ad.scan(lambda s, t: (s * rate * t, None), x, X)[0],
    "arithmetic": lambda x, rate: ad.scan(lambda s, t: (s * (rate / 2) + (1 - rate) * t, None), x, X)[0],
    "while_loop": lambda x, rate: ad.while_loop(
        lambda s: s[1] < 3, lambda s: (np.sin(s[0]) * rate, s[1] + rate), (x, 0.0)
    )[0],
    "cond": lambda x, rate: ad.scan(
        lambda s, t: (ad.cond(t > 0, lambda: np.sin(s) * rate, lambda: s - rate), None), x, X
    )[0],
}


@pytest.mark.parametrize("name", RATES)
def test_numbers_of_python_in_compiled_loops(name: str) -> None:
    total = lambda x, rate: np.sum(RATES[name](x, rate))
    exact = ad.grad(total)(X.astype("f8"), 0.5)
    for found in (ad.grad(total)(X, 0.5), ad.jit(ad.grad(total))(X, 0.5)):
        assert found.dtype == X.dtype
        np.testing.assert_allclose(found, exact, rtol=2e-6)
    lanes = ad.jit(ad.vmap(ad.grad(total), (0, None)))(LANES, 0.5)
    assert lanes.dtype == X.dtype
    np.testing.assert_allclose(lanes, [ad.grad(total)(x.astype("f8"), 0.5) for x in LANES], rtol=2e-6)
