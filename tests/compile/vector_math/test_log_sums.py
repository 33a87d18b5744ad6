"""logaddexp and its relatives: accuracy, equal and infinite arguments."""

import numpy as np
import pytest
from scipy import special

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
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_accuracy(name: str, dtype: str) -> None:
    """Of positive numbers: with negative ones the result passes through 0, where no relative accuracy is meant."""
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0, 3, (2, 300))
    assert_within(1.75, name, dtype, x, y)
    assert_within(1.75, name, dtype, rng.uniform(0, 100, 200), rng.uniform(0, 100, 200))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["softplus", "log_expit"])
def test_of_one_argument(name: str, dtype: str) -> None:
    rng = np.random.default_rng(2)
    lowest = 745 if dtype == "float64" else 103
    x = np.concatenate([rng.uniform(-5, 5, 300), rng.uniform(-lowest, lowest, 200), both_signs(every_size(dtype, 60))])
    assert_within(1.75, name, dtype, x[np.abs(x) < 1e4])


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values(dtype: str) -> None:
    values = special_values(dtype)
    x, y = np.meshgrid(values, values)
    for name in ("logaddexp", "logaddexp2"):
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(x, y)
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(compiled(name, dtype)(x, y), expected, rtol=4 * eps, atol=eps)
    infinite = values[~np.isfinite(values)]
    assert_same(compiled("log_expit", dtype)(infinite), special.log_expit(infinite))
    assert_same(compiled("softplus", dtype)([np.inf, -np.inf, np.nan]), np.array([np.inf, 0, np.nan], dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_arguments_of_logaddexp2_give_one_more(dtype: str) -> None:
    x = np.arange(-50.0, 50.0)
    np.testing.assert_array_equal(compiled("logaddexp2", dtype)(x, x), x + 1)
