"""arcsin, arccos, arctan, arctan2: accuracy, symmetry, and NumPy's special values."""

import numpy as np
import pytest

from tests.compile.vector_math.reference import (
    DTYPES,
    around,
    assert_same,
    assert_within,
    compiled,
    every_size,
    special_values,
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arcsin_and_arccos(dtype: str) -> None:
    rng = np.random.default_rng(1)
    near_one = 1 - every_size(dtype, 100, -np.finfo(dtype).nmant - 1, -1)
    points = [rng.uniform(-1, 1, 400), every_size(dtype, 100, high=-1), near_one, -near_one, around([0.5, -0.5], dtype)]
    x = np.concatenate(points)
    assert_within(1.8, "arcsin", dtype, x)
    assert_within(1.4, "arccos", dtype, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arctan(dtype: str) -> None:
    rng = np.random.default_rng(2)
    assert_within(1.4, "arctan", dtype, np.concatenate([rng.uniform(-4, 4, 500), every_size(dtype, 200)]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_arctan2(dtype: str) -> None:
    rng = np.random.default_rng(3)
    y, x = rng.uniform(-3, 3, (2, 500))
    assert_within(1.7, "arctan2", dtype, y, x)
    size = every_size(dtype, 600)
    signs = rng.choice([-1, 1], (2, 300))
    assert_within(1.7, "arctan2", dtype, signs[0] * size[:300], signs[1] * size[300:])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctan"])
def test_special_values_are_numpys(name: str, dtype: str) -> None:
    x = special_values(dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x)
    got = compiled(name, dtype)(x)
    decided = np.isnan(expected) | (expected == 0)
    assert_same(got[decided], expected[decided])
    np.testing.assert_array_max_ulp(got[~decided], expected[~decided], 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_angles_are_numpys(dtype: str) -> None:
    values = special_values(dtype)
    y, x = np.meshgrid(values, values)
    expected = np.arctan2(y, x)
    got = compiled("arctan2", dtype)(y, x)
    decided = np.isnan(expected) | (expected == 0)
    assert_same(got[decided], expected[decided])
    np.testing.assert_array_max_ulp(got[~decided], expected[~decided], 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_odd(dtype: str) -> None:
    x = every_size(dtype, 500)
    arctan = compiled("arctan", dtype)
    assert_same(arctan(-x), -arctan(x))
    arcsin = compiled("arcsin", dtype)
    inside = x[x <= 1]
    assert_same(arcsin(-inside), -arcsin(inside))
