"""The methods of ufuncs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.numpy.checking import Case, array, every_check, signed


def at(ufunc, places):
    def f(x, v):
        y = +x
        ufunc.at(y, places, v)
        return y * y

    return f


def negated(x):
    y = +x
    np.negative.at(y, [0, 2, 2])
    return y * x


REPEATED = np.array([0, 2, 2, 0, 2])
MASK = np.array([[True, False, True], [False, True, True]])
CASES = [
    *[
        Case(f"{u.__name__}.reduce", lambda x, u=u: u.reduce(x, axis=0), (array(4, 3),))
        for u in (
            np.add,
            np.multiply,
            np.maximum,
            np.minimum,
            np.logaddexp,
            np.logaddexp2,
            np.fmax,
            np.fmin,
            np.hypot,
            np.subtract,
            np.divide,
            np.power,
            np.arctan2,
        )
    ],
    Case(
        "add.reduce options",
        lambda x: np.add.reduce(x, axis=(0, 2), keepdims=True, initial=2.0, where=x > 0.5),
        (array(2, 3, 2),),
    ),
    Case("multiply.reduce where", lambda x: np.multiply.reduce(x, axis=None, where=x > 0.5), (array(2, 3),)),
    Case("maximum.reduce initial", lambda x: np.maximum.reduce(x, axis=1, initial=0.9, where=x > 0.4), (array(2, 3),)),
    Case("logaddexp.reduce all axes", lambda x: np.logaddexp.reduce(x, axis=None), (array(3, 5),)),
    Case(
        "logaddexp.reduce initial",
        lambda x: np.logaddexp.reduce(x, axis=-1, initial=0.3, keepdims=True),
        (array(3, 5),),
    ),
    Case("subtract.reduce where", lambda x: np.subtract.reduce(x, axis=0, initial=1.0, where=x > 0.5), (array(4, 2),)),
    *[
        Case(f"{u.__name__}.accumulate", lambda x, u=u: u.accumulate(x, axis=1), (array(2, 4),))
        for u in (np.add, np.multiply, np.maximum, np.minimum, np.logaddexp, np.subtract, np.divide)
    ],
    *[
        Case(f"{u.__name__}.reduceat", lambda x, u=u: u.reduceat(x, [0, 3, 1, 2], axis=0), (array(4, 2),))
        for u in (np.add, np.multiply, np.maximum)
    ],
    Case("add.reduceat of groups", lambda x: np.add.reduceat(x, [1, 3, 4], axis=1), (array(2, 6),)),
    Case("add.reduceat of one group", lambda x: np.add.reduceat(x, np.array([2])), (array(4, 2),)),
    Case("logaddexp.accumulate of many", lambda x: np.logaddexp.accumulate(np.tile(x, 30), axis=1), (array(2, 4),)),
    *[
        Case(f"{u.__name__}.at", at(u, REPEATED), (array(3), array(5, seed=1)))
        for u in (np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.power, np.logaddexp)
    ],
    Case("add.at rows", at(np.add, ([1, 1, 0],)), (array(2, 3), array(3, 3, seed=1))),
    Case("multiply.at mixed", at(np.multiply, (slice(None), [1, 1])), (array(2, 3), array(2, seed=1))),
    Case("add.at mask", at(np.add, MASK), (array(2, 3), array(4, seed=1))),
    Case("negative.at", negated, (signed(3),)),
]


@every_check(CASES)
def test_methods_of_ufuncs(case, check) -> None:
    check(case)


def test_at_with_mapped_places() -> None:
    places = np.array([[0, 0, 1], [2, 1, 2]])
    x, v = array(2, 3), array(2, 3, seed=1)
    for ufunc in (np.add, np.multiply, np.maximum):

        def f(x, i, v, ufunc=ufunc):
            y = +x
            ufunc.at(y, i, v)
            return y

        found = ad.vmap(f)(x, places, v)
        np.testing.assert_allclose(found, np.stack([f(x[k], places[k], v[k]) for k in range(2)]))


@pytest.mark.parametrize("n", [65, 66, 127, 128, 200])
def test_running_results_of_many_rows(n: int) -> None:
    x = np.random.default_rng(n).normal(size=(n, 2))
    for ufunc in (np.logaddexp, np.hypot, np.fmin):
        found = ad.jvp(lambda x, u=ufunc: u.accumulate(x), (x,), (x,))[0]
        np.testing.assert_allclose(found, ufunc.accumulate(x), rtol=1e-14)


def test_many_rows_take_few_operations() -> None:
    x, starts = np.random.default_rng(0).normal(size=3000), np.arange(0, 3000, 3)
    sums = ad.trace(lambda x: np.add.reduceat(x, starts))(x)
    running = ad.trace(np.logaddexp.accumulate)(x)
    assert len(sums.program.equations) < 10
    assert len(running.program.equations) < 200


TURNS: dict[str, Callable[..., Any]] = {
    "maximum.at": lambda x, places: at(np.maximum, places)(0.1 * x[:9], x),
    "multiply.at": lambda x, places: at(np.multiply, places)(np.cos(x[:9]), 1.0 + 0.1 * x),
    "bitwise_xor.at": lambda x, places: x[0] * at(np.bitwise_xor, places)(places[:9], 5 * places),
    "subtract.reduce": lambda x, places: np.subtract.reduce(x),
    "subtract.reduce where": lambda x, places: np.subtract.reduce(x, initial=1.0, where=x > 0.0),
    "divide.accumulate": lambda x, places: np.divide.accumulate(1.0 + 0.1 * x),
    "subtract.accumulate of rows": lambda x, places: np.subtract.accumulate(np.stack([x, x * x]), axis=1),
    "floor_divide.accumulate": lambda x, places: x[0] * np.floor_divide.accumulate(10 + places, dtype=float),
}


@pytest.mark.parametrize("name", TURNS)
def test_many_turns_are_one_loop(name: str) -> None:
    function = TURNS[name]
    rng = np.random.default_rng(0)
    x, places = rng.normal(size=300), rng.integers(0, 9, 300)
    v = rng.normal(size=300)
    loss = lambda x, places: np.sum(np.sin(function(x, places)))
    slope = (loss(x + 1e-6 * v, places) - loss(x - 1e-6 * v, places)) / 2e-6
    np.testing.assert_allclose(ad.jit(function)(x, places), function(x, places), rtol=1e-5)
    for gradient in (ad.grad(loss), ad.jit(ad.grad(loss))):
        np.testing.assert_allclose(gradient(x, places) @ v, slope, rtol=1e-4, atol=1e-5)
    assert len(ad.trace(function)(x, places).program.equations) < 20


def test_groups_that_are_arguments() -> None:
    x = np.random.default_rng(0).normal(size=(9, 2))
    sums = ad.jit(lambda x, starts: np.add.reduceat(x, starts))
    for starts in ([0, 4, 5], [2, 3, 8], [5, 2, 2], [8, 0, 8]):
        np.testing.assert_allclose(sums(x, np.array(starts)), np.add.reduceat(x, starts), rtol=1e-14)
    with pytest.raises(IndexError):
        sums(x, np.array([0, 4, 9]))


def test_reductions_without_identity_refuse_as_numpy_does() -> None:
    with pytest.raises(ValueError, match="no identity"):
        ad.grad(lambda x: np.logaddexp2.reduce(x[:0]) + np.subtract.reduce(x[:0]))(np.ones(2))
    with pytest.raises(ValueError, match="not reorderable"):
        ad.grad(lambda x: np.subtract.reduce(x, axis=(0, 1)))(np.ones((2, 2)))
    with pytest.raises(IndexError):
        ad.grad(lambda x: np.sum(np.add.reduceat(x, [0, 5])))(np.ones(3))
