"""x^y: accuracy where the exponent magnifies errors of the logarithm, and NumPy's special values, all pairs of them."""

import numpy as np
import pytest

from tests.compile.vector_math.reference import DTYPES, assert_same, assert_within, compiled, every_size


@pytest.mark.parametrize("dtype", DTYPES)
def test_accuracy(dtype: str) -> None:
    rng = np.random.default_rng(5)
    info = np.finfo(dtype)
    widest = 708.0 if dtype == "float64" else 87.0
    near_one = 1 + rng.choice([-1, 1], 200) * every_size(dtype, 200, -15, -1)
    x = np.concatenate([every_size(dtype, 300), rng.uniform(0.5, 2, 200), near_one]).astype(dtype)
    y = (rng.uniform(-widest, widest, x.size) / np.log(x.astype(float))).astype(dtype)
    assert_within(1.25, "power", dtype, x, y)
    small = rng.uniform(-20, 20, 300).astype(dtype)
    assert_within(1.25, "power", dtype, rng.uniform(0.01, 10, 300), small)
    # results below the normal numbers
    depth = rng.uniform(np.log2(float(info.smallest_subnormal)), np.log2(float(info.tiny)), 100)
    assert_within(1.25, "power", dtype, np.full(100, 1.5), depth / np.log2(1.5))


@pytest.mark.parametrize("dtype", DTYPES)
def test_negative_bases_with_whole_exponents(dtype: str) -> None:
    x, y = np.meshgrid([-1.7, -0.3, -3.0], np.arange(-9.0, 10.0))
    assert_within(1.25, "power", dtype, x, y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values_are_numpys(dtype: str) -> None:
    info = np.finfo(dtype)
    odd = [2.0**info.nmant + 1, 2.0 ** (info.nmant + 1) - 1]  # the last odd integers
    values = [0, np.inf, 1, 2, 3, 0.5, 2.5, 1 / 3, info.tiny, info.smallest_subnormal, info.max, 1 + info.eps, *odd]
    values = np.array([*values, *(-np.array(values)), np.nan], dtype)
    x, y = np.meshgrid(values, values)
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    got = compiled("power", dtype)(x, y)
    # other results are ordinary, and stand in the test of accuracy
    decided = ~np.isfinite(expected) | np.isin(np.abs(expected), [0, 1])
    assert_same(got[decided], expected[decided])
    np.testing.assert_array_max_ulp(got[~decided], expected[~decided], 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_whole_powers_of_small_integers_are_exact(dtype: str) -> None:
    x, y = np.meshgrid(np.arange(-9.0, 10), np.arange(0.0, 6))
    np.testing.assert_array_equal(compiled("power", dtype)(x, y), x**y)
