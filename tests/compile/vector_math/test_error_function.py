"""erf, erfc, erfcx, the normal distribution: accuracy, also far out; symmetry, special values."""

import numpy as np
import pytest
from scipy import special

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


@pytest.mark.parametrize("dtype", DTYPES)
def test_erf(dtype: str) -> None:
    rng = np.random.default_rng(6)
    points = [rng.uniform(0, 6.5, 400), rng.uniform(0.8, 1.2, 100), every_size(dtype, 150), around([1, 4, 6], dtype)]
    assert_within(1.25, "erf", dtype, np.concatenate(points))


@pytest.mark.parametrize("dtype", DTYPES)
def test_erf_is_odd(dtype: str) -> None:
    x = every_size(dtype, 500)
    erf = compiled("erf", dtype)
    assert_same(erf(-x), -erf(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_complements(dtype: str) -> None:
    rng = np.random.default_rng(7)
    far = 27.3 if dtype == "float64" else 10.1
    tail = rng.uniform(0.4, far, 400)
    middle = [rng.uniform(-1, 1, 300), around([0.45, -0.45], dtype), both_signs(every_size(dtype, 50, high=0))]
    assert_within(3.75, "erfc", dtype, np.concatenate([*middle, tail, -rng.uniform(0.4, 7, 100)]))
    growing = -rng.uniform(0.4, 26.6 if dtype == "float64" else 9.3, 200)
    assert_within(3.0, "erfcx", dtype, np.concatenate([*middle, tail, growing, every_size(dtype, 100, 0)]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_normal_distribution(dtype: str) -> None:
    rng = np.random.default_rng(8)
    far = 38.4 if dtype == "float64" else 14.1
    middle = [rng.uniform(-1, 1, 300), around([0.63, -0.63], dtype), both_signs(every_size(dtype, 50, high=0))]
    x = np.concatenate([*middle, rng.uniform(-far, 9, 400)])
    assert_within(4.0, "ndtr", dtype, x)
    lower, upper = -every_size(dtype, 100, 3, 20), rng.uniform(0, far, 200)
    assert_within(4.0, "log_ndtr", dtype, np.concatenate([x, lower, upper]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values(dtype: str) -> None:
    got = compiled("erf", dtype)([0.0, -0.0, np.inf, -np.inf, np.nan])
    assert_same(got, np.array([0, -0.0, 1, -1, np.nan], dtype))
    x = special_values(dtype)
    for name in ("erfc", "erfcx", "ndtr", "log_ndtr"):
        with np.errstate(all="ignore"):
            expected = getattr(special, name)(x)
        decided = ~np.isfinite(expected) | np.isin(expected, [0, 0.5, 1, 2])  # others stand in the tests of accuracy
        assert_same(compiled(name, dtype)(x[decided]), expected[decided])
