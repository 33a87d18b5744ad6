"""The methods of ufuncs."""

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


def test_reductions_without_identity_refuse_as_numpy_does() -> None:
    with pytest.raises(ValueError, match="no identity"):
        ad.grad(lambda x: np.logaddexp2.reduce(x[:0]) + np.subtract.reduce(x[:0]))(np.ones(2))
    with pytest.raises(ValueError, match="not reorderable"):
        ad.grad(lambda x: np.subtract.reduce(x, axis=(0, 1)))(np.ones((2, 2)))
    with pytest.raises(IndexError):
        ad.grad(lambda x: np.sum(np.add.reduceat(x, [0, 5])))(np.ones(3))
