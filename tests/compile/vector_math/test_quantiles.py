"""The inverses of erf and of the normal distribution function: accuracy in the middle and far out; ends."""

import numpy as np
import pytest

from tests.compile.vector_math.reference import DTYPES, around, assert_same, assert_within, compiled, every_size

SWITCH = np.sqrt(-np.expm1(-2.5))  # where the formulas change


@pytest.mark.parametrize("dtype", DTYPES)
def test_erfinv(dtype: str) -> None:
    rng = np.random.default_rng(1)
    near_one = 1 - every_size(dtype, 100, -np.finfo(dtype).nmant, -1)
    points = [rng.uniform(-1, 1, 200), near_one[near_one < 1], every_size(dtype, 50, high=-1), around(SWITCH, dtype)]
    assert_within(1.5, "erfinv", dtype, np.concatenate(points))


@pytest.mark.parametrize("dtype", DTYPES)
def test_ndtri(dtype: str) -> None:
    rng = np.random.default_rng(2)
    near_one = 1 - every_size(dtype, 50, -np.finfo(dtype).nmant, -1)
    points = [rng.uniform(0, 1, 200), near_one[near_one < 1], every_size(dtype, 150, high=-1), around(0.5, dtype)]
    x = np.concatenate(points)
    assert_within(2.25, "ndtri", dtype, x[x < 1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_ends(dtype: str) -> None:
    x = np.array([0.0, 1.0, 0.5, 2.0, np.nan, np.inf], dtype)
    nan = np.nan
    assert_same(compiled("ndtri", dtype)(x), np.array([-np.inf, np.inf, 0, nan, nan, nan], dtype))
    erfinv = compiled("erfinv", dtype)
    assert_same(erfinv([0.0, -0.0, 1.0, -1.0, 1.5, np.nan]), np.array([0, -0.0, np.inf, -np.inf, nan, nan], dtype))
    inside = np.linspace(0, 1, 200)
    assert_same(erfinv(-inside), -erfinv(inside))
