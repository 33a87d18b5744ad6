"""Reductions, cumulative functions, order."""

import numpy as np
import pytest

import adjoint as ad
from tests.numpy.checking import Case, array, complex_array, every_check, signed

X, T = array(3, 4), array(2, 3, 2)
REDUCTIONS = [np.sum, np.prod, np.mean, np.max, np.min, np.std, np.var]
CASES = [
    *[
        Case(f"{f.__name__} {axis} {keep}", lambda x, f=f, axis=axis, keep=keep: f(x, axis=axis, keepdims=keep), (T,))
        for f in REDUCTIONS
        for axis, keep in ((None, False), (1, True), ((0, -1), False), ((), False))
        if not (axis == () and f in (np.std, np.var))
    ],
    *[
        Case(f"{f.__name__} where", lambda x, f=f: f(x, axis=1, where=np.array([True, False, True, True])), (X,))
        for f in (np.sum, np.prod, np.mean, np.std, np.var)
    ],
    *[
        Case(
            f"{f.__name__} initial",
            lambda x, f=f: f(x, axis=0, initial=0.8, where=np.array([[True], [False], [True]])),
            (X,),
        )
        for f in (np.sum, np.prod, np.max, np.min)
    ],
    Case("sum dtype", lambda x: np.sum(x, axis=0, dtype=np.complex128), (X,)),
    Case("sum complex", np.sum, (complex_array(3),)),
    Case("prod complex", np.prod, (complex_array(3),)),
    Case("prod with zero", np.prod, (np.array([1.0, 0.0, 2.0]),)),
    Case("mean complex", lambda z: np.mean(z, axis=0), (complex_array(3, 2),)),
    Case("var complex", np.var, (complex_array(4),)),
    Case("var ddof", lambda x: np.var(x, axis=0, ddof=1), (X,)),
    Case("std correction", lambda x: np.std(x, correction=1), (X,)),
    Case("var given mean", lambda x: np.var(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)), (X,)),
    Case("sum out", lambda x: np.sum(x, axis=0, out=np.zeros_like(x[0])), (X,)),
    Case("cumsum", lambda x: np.cumsum(x, axis=1), (X,)),
    Case("cumsum flat", np.cumsum, (X,)),
    Case("cumprod", lambda x: np.cumprod(x, axis=0), (X,)),
    Case("cumprod with zero", np.cumprod, (np.array([1.5, 0.0, 2.0, 0.0]),)),
    Case("sort", np.sort, (X,)),
    Case("sort axis", lambda x: np.sort(x, axis=0), (X,)),
    Case("sort flat", lambda x: np.sort(x, axis=None), (X,)),
    Case("argsort", lambda x: np.take_along_axis(x, np.argsort(x, axis=0), 0), (X,)),
    Case("argmax", lambda x: x[np.arange(3), np.argmax(x, axis=1)], (X,)),
    Case("argmin keepdims", lambda x: np.take_along_axis(x, np.argmin(x, axis=1, keepdims=True), 1), (X,)),
    Case("any", lambda x: x * np.any(x > 1, axis=0), (X,)),
    Case("all", lambda x: x * np.all(x > 0.2, axis=1, keepdims=True), (X,)),
    Case("count_nonzero", lambda x: x * np.count_nonzero(x > 1, axis=0), (X,)),
    Case("amax", lambda x: np.amax(x), (X,)),
]


@every_check(CASES)
def test_reducing(case, check) -> None:
    check(case)


def test_ties_split_equally() -> None:
    np.testing.assert_array_equal(ad.grad(np.max)(np.array([1.0, 3.0, 3.0])), [0.0, 0.5, 0.5])
    np.testing.assert_array_equal(ad.grad(np.min)(np.array([1.0, 1.0, 3.0, 1.0])), [1 / 3, 1 / 3, 0.0, 1 / 3])


def test_empty_arrays() -> None:
    assert ad.grad(lambda x: np.sum(x) + np.prod(x))(np.zeros(0)).shape == (0,)
    assert ad.grad(lambda x: np.max(x[:0], initial=2.0) * x[0])(np.ones(3))[0] == 2.0
    with pytest.raises(ValueError, match=r"no elements|zero-size"):
        ad.grad(lambda x: np.max(x[:0]))(np.ones(3))
    with pytest.raises(ValueError, match="initial"):
        ad.grad(lambda x: np.max(x, where=x > 0))(signed(3))
    with pytest.raises(np.exceptions.AxisError):
        ad.grad(lambda x: np.sum(np.sum(x, axis=3)))(np.ones(3))


@pytest.mark.parametrize("f", [np.sum, np.prod, np.cumsum, np.cumprod], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "bool", "float32", "int64"])
def test_the_dtype_of_sums_of_small_integers(f, dtype) -> None:
    """What is asked for, also where it is narrower than what NumPy adds in by itself."""
    x = np.array([200, 3, 0, 77], np.uint8)
    expected = f(x, dtype=dtype)
    found = ad.trace(lambda x: f(x, dtype=dtype))(x).program(x)[0]
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
