"""cbrt and hypot: accuracy at every size, special values."""

import numpy as np
import pytest

from tests.compile.vector_math.reference import (
    DTYPES,
    assert_same,
    assert_within,
    both_signs,
    compiled,
    every_size,
    special_values,
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cbrt(dtype: str) -> None:
    assert_within(0.55, "cbrt", dtype, both_signs(every_size(dtype, 400)))
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    assert_same(compiled("cbrt", dtype)(x), x)
    whole = np.arange(-50.0, 51.0)
    np.testing.assert_array_equal(compiled("cbrt", dtype)(whole**3), whole)


@pytest.mark.parametrize("dtype", DTYPES)
def test_hypot(dtype: str) -> None:
    x, y = every_size(dtype, 1000).reshape(2, -1)
    scale = every_size(dtype, 300, -10, 10) / 4
    finite = np.isfinite(np.hypot(x.astype(np.longdouble), y).astype(dtype))
    assert_within(1.0, "hypot", dtype, x[finite], -y[finite])
    with np.errstate(over="ignore"):
        near = (x[:300] * scale).astype(dtype)
    finite = np.isfinite(near) & (x[:300] < np.finfo(dtype).max / 2) & (near < np.finfo(dtype).max / 2)
    assert_within(1.0, "hypot", dtype, x[:300][finite], near[finite])


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values_of_hypot_are_numpys(dtype: str) -> None:
    values = special_values(dtype)
    x, y = np.meshgrid(values, values)
    with np.errstate(all="ignore"):
        expected = np.hypot(x, y)
    np.testing.assert_array_max_ulp(compiled("hypot", dtype)(x, y), expected, 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pythagorean_triples_are_exact(dtype: str) -> None:
    m, n = np.meshgrid(np.arange(2.0, 20), np.arange(1.0, 19))
    np.testing.assert_array_equal(compiled("hypot", dtype)(m * m - n * n, 2 * m * n), m * m + n * n)
