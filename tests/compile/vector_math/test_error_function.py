"""erf: accuracy, symmetry, special values."""

import numpy as np
import pytest

from tests.compile.vector_math.reference import DTYPES, around, assert_same, assert_within, compiled, every_size


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
def test_special_values(dtype: str) -> None:
    got = compiled("erf", dtype)([0.0, -0.0, np.inf, -np.inf, np.nan])
    assert_same(got, np.array([0, -0.0, 1, -1, np.nan], dtype))
