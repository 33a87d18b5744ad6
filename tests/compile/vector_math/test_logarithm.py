"""Logarithms: accuracy at every size of the argument and near 1, exact powers, special values."""

import numpy as np
import pytest

from tests.compile.vector_math.reference import (
    DTYPES,
    around,
    assert_same,
    assert_within,
    both_signs,
    compiled,
    every_size,
    special_values,
)

LOGARITHMS = ("log", "log2", "log10")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", LOGARITHMS)
def test_accuracy(name: str, dtype: str) -> None:
    rng = np.random.default_rng(2)
    boundaries = np.sqrt(0.5) * 2.0 ** np.arange(-3, 4)
    points = [every_size(dtype, 300), rng.uniform(0.5, 2, 300), around(boundaries, dtype), around(1.0, dtype, 8)]
    points.append(1 + both_signs(every_size(dtype, 100, -np.finfo(dtype).nmant, -1)))
    assert_within(1.0, name, dtype, np.concatenate(points))


@pytest.mark.parametrize("dtype", DTYPES)
def test_log1p(dtype: str) -> None:
    rng = np.random.default_rng(3)
    points = [
        every_size(dtype, 300),
        -every_size(dtype, 200, high=-1),
        rng.uniform(-1, 3, 400),
        around(-1.0, dtype)[[0, 4, 5, 6]],
        around(2.0 ** np.array([0.5, -0.5]) - 1, dtype),  # k changes
        around(2.0 ** np.array([20, 23, 24, 52, 53, 54]), dtype),
        [np.finfo(dtype).max],
    ]
    x = np.concatenate(points).astype(dtype)
    assert_within(1.0, "log1p", dtype, x[x > -1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_log1p_where_half_of_the_logarithm_cancels(dtype: str) -> None:
    """1 + x is rounded, and a little above √2 its logarithm is log 2 less nearly as much."""
    assert_within(1.0, "log1p", dtype, np.random.default_rng(5).uniform(0.41, 0.5, 1500).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*LOGARITHMS, "log1p"])
def test_special_values_are_numpys(name: str, dtype: str) -> None:
    x = special_values(dtype)
    x = x[~np.isin(np.abs(x), [0.5, 2, np.finfo(dtype).tiny, np.finfo(dtype).max])]
    if name != "log1p":
        x = x[np.abs(x) != np.finfo(dtype).smallest_subnormal]
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x)
    ordinary = (x == 1) & (name == "log1p")  # that is in the test of accuracy
    assert_same(compiled(name, dtype)(x[~ordinary]), expected[~ordinary])


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_are_exact(dtype: str) -> None:
    info = np.finfo(dtype)
    k = np.arange(int(info.minexp - info.nmant), int(info.maxexp))
    np.testing.assert_array_equal(compiled("log2", dtype)(np.ldexp(np.ones(k.size), k)), k)
    tens = np.arange(0, 23 if dtype == "float64" else 11)  # 10^k itself is a float
    np.testing.assert_array_equal(compiled("log10", dtype)(10.0**tens), tens)


@pytest.mark.parametrize("dtype", DTYPES)
def test_subnormal_arguments_of_log1p_come_back(dtype: str) -> None:
    x = both_signs(every_size(dtype, 50, high=int(np.finfo(dtype).minexp)))
    assert_same(compiled("log1p", dtype)(x), x)
