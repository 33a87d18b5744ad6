"""Sorting and searching, compiled: NumPy's answers, without calling NumPy where there are few elements."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.compile import numpy_sorting

DTYPES = [np.float64, np.float32, np.int64, np.uint8, bool]


def some(shape: Any, dtype: Any) -> Any:
    """Numbers with ties, infinities and NaN."""
    x = np.random.default_rng(2).integers(0, 6, shape)
    if np.dtype(dtype).kind != "f":
        return x.astype(dtype)
    return np.array([1.5, -0.0, 0.0, np.nan, np.inf, -np.inf])[x].astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_order_of_few_elements(dtype: Any) -> None:
    x = some((3, 17, 2), dtype)

    def f(x: Any) -> Any:
        return [np.argsort(x, axis=axis, kind="stable") for axis in range(3)], np.argsort(x[:, 0, 0], kind="stable")

    compiled = ad.jit(f)
    for got, want in zip(ad.tree.leaves(compiled(x)), ad.tree.leaves(f(x)), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    assert not compiled.report().specializations[0].callbacks


@pytest.mark.parametrize("by_numpy", [True, False])
@pytest.mark.parametrize("n", [0, 1, 2, 90, 91, 200, 1001])
def test_sorting_is_the_same_for_any_length(n: int, by_numpy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By NumPy's functions in C, if there are any, and by merging."""
    assert numpy_sorting.symbols()
    if not by_numpy:
        monkeypatch.setattr(numpy_sorting, "symbols", dict)
    for x in (some(n, np.float64), np.random.default_rng(n).normal(size=n)):
        with ad.config.override(cache=False):
            np.testing.assert_array_equal(ad.jit(np.sort)(x), np.sort(x))
            np.testing.assert_array_equal(ad.jit(lambda x: np.argsort(x, stable=True))(x), np.argsort(x, stable=True))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 100])
@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_in_a_sorted_vector(dtype: Any, n: int) -> None:
    a, v = np.sort(some(n, dtype)), some((7, 11), dtype)  # more than are searched side by side

    def f(a: Any, v: Any) -> Any:
        return [np.searchsorted(a, v, side=side) for side in ("left", "right")]

    compiled = ad.jit(f)
    for got, want in zip(compiled(a, v), f(a, v), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    assert not compiled.report().specializations[0].callbacks


def test_positions_of_other_types() -> None:
    a = np.array([1, 2, 2, 5])
    for v in (np.array([2.0, 2.5, -1.0]), np.array([2, 9], np.uint8), np.float32(2.0)):
        np.testing.assert_array_equal(ad.jit(np.searchsorted)(a, v), np.searchsorted(a, v))
    complex_numbers = np.array([1 + 1j, 1 + 2j, 3.0])
    np.testing.assert_array_equal(
        ad.jit(np.searchsorted)(complex_numbers, np.array([1 + 1.5j])), np.searchsorted(complex_numbers, [1 + 1.5j])
    )


def test_derivatives_of_sorted_and_interpolated_values() -> None:
    x = np.array([0.3, 1.2, 0.7, 2.2])

    def f(x: Any) -> Any:
        return np.sum(np.sort(x) * np.arange(4.0)) + np.median(x) ** 2 + np.interp(x[0], np.cumsum(x), x**2)

    for g in (ad.grad(f), ad.hessian(f)):
        compiled = ad.jit(g)
        np.testing.assert_allclose(compiled(x), g(x), rtol=1e-13, atol=1e-14)
        assert not compiled.report().specializations[0].callbacks


@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_of_elements_that_are_not_zero(dtype: Any) -> None:
    x = some((4, 3, 5), dtype)
    functions = [
        lambda x: np.nonzero(x),
        lambda x: np.nonzero(x.T[::2]),
        lambda x: np.flatnonzero(x[0, 1]),
        lambda x: x[x > 1] * 2,
        lambda x: np.argwhere(np.broadcast_to(x[0, 0], (2, 5))),
        lambda x: np.nonzero(x * 0 == 7),
    ]
    with np.errstate(invalid="ignore"):
        for f in functions:
            compiled = ad.jit(f)
            for argument in (x, x[::-1].copy(), np.where(x == x[0, 0, 0], x, 0)):
                got, want = ad.tree.leaves(compiled(argument)), ad.tree.leaves(f(argument))
                for a, b in zip(got, want, strict=True):
                    assert a.dtype == b.dtype
                    np.testing.assert_array_equal(a, b)
            assert not [one.callbacks for one in compiled.report().specializations if one.callbacks]
