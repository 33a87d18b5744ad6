"""Orders and partitions in compiled programs: NumPy's, for all dtypes, lengths and axes, NaN and ties included."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.compile.sorting import runs_of
from tests.compile.test_ufuncs import compiled_without_callbacks

R = np.random.default_rng(8)
DTYPES = [np.float64, np.float32, np.float16, np.int64, np.uint64, np.int8, np.uint8, np.bool_]


def numbers(shape: tuple[int, ...], dtype: Any) -> Any:
    """Numbers with ties; of floats also NaN, infinities and zeros of both signs."""
    x = R.normal(size=shape) * 20
    kind = np.dtype(dtype).kind
    if kind == "u":
        return (np.abs(x) * 2.0 ** (8 * np.dtype(dtype).itemsize - 8)).astype(dtype)
    x = x.astype(dtype)
    if kind == "f":
        x[..., ::3], x[..., 1::5], x[..., 2::7], x[..., 3::7] = np.nan, 0.0, -0.0, -np.inf
    return x


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 64, 90, 91, 100, 255, 256, 257, 1000])
def test_lengths_of_runs(n: int) -> None:
    short, merges = runs_of(n)
    assert short * 2**merges >= n
    assert short <= 4


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
def test_orders(dtype: Any) -> None:
    for shape, axis in (((100,), 0), ((3, 257), 1), ((130, 2), 0), ((95, 95), 1)):
        x = numbers(shape, dtype)
        got = compiled_without_callbacks(lambda x, a=axis: np.argsort(x, axis=a, kind="stable"), x)
        np.testing.assert_array_equal(got, np.argsort(x, axis=axis, kind="stable"))
        np.testing.assert_array_equal(compiled_without_callbacks(lambda x, a=axis: np.sort(x, a), x), np.sort(x, axis))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("n", [1, 2, 3, 50, 301])
def test_partitions(n: int, dtype: Any) -> None:
    x = numbers((2, n), dtype)
    places = sorted({0, n // 3, n // 2, n - 1})
    got = compiled_without_callbacks(lambda x: np.partition(x, places, axis=1), x)
    ordered = np.sort(x, axis=1)
    np.testing.assert_array_equal(got[:, places], ordered[:, places])
    for k in places:  # smaller ones before, larger ones behind
        np.testing.assert_array_equal(np.sort(got[:, :k], axis=1), ordered[:, :k])


@pytest.mark.parametrize("x", [np.zeros(500), np.arange(500.0), np.arange(500.0)[::-1], np.arange(500.0) % 3])
def test_rows_in_special_orders(x: Any) -> None:
    np.testing.assert_array_equal(compiled_without_callbacks(np.argsort, x), np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(compiled_without_callbacks(np.median, x), np.median(x))


def test_complex_numbers() -> None:
    z = R.integers(0, 4, 200) + 1j * R.integers(0, 4, 200)
    z[::17], z[1::19], z[2::23] = complex(np.nan, 1), complex(1, np.nan), complex(np.nan, np.nan)
    np.testing.assert_array_equal(compiled_without_callbacks(np.sort, z), np.sort(z))


def test_gradients_and_loops() -> None:
    x, w = R.normal(size=200), R.normal(size=200)
    slope = compiled_without_callbacks(ad.grad(lambda x: np.sum(np.sort(x) * w)), x)
    np.testing.assert_allclose(slope[np.argsort(x)], w)
    medians = compiled_without_callbacks(lambda x: ad.scan(lambda c, t: (c, np.median(x * t)), 0.0, np.ones(3))[1], x)
    np.testing.assert_allclose(medians, np.median(x))
