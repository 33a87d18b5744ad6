"""log|Γ|, Γ, 1/Γ, ψ: accuracy, also next to the zeros at 1 and 2 and to poles; special values."""

import numpy as np
import pytest
from scipy import special

from tests.compile.vector_math.reference import (
    DTYPES,
    around,
    assert_same,
    assert_within,
    compiled,
    every_size,
    exact_values,
)

SMALL = (0.5, 1.0, 1.4, 1.5, 2.0, 2.5, 3.5, 4.0, 4.5, 5.0)  # where the formulas change, and zeros


def positive(dtype: str, top: float) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.concatenate([rng.uniform(0, 5, 300), rng.uniform(0, top, 200), around(SMALL, dtype)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_log_gamma(dtype: str) -> None:
    near_zeros = np.concatenate([1 + every_size(dtype, 60, -20, -3), 2 - every_size(dtype, 60, -20, -3)])
    sizes = every_size(dtype, 100, high=16)
    points = [positive(dtype, 1e4), near_zeros, sizes, -sizes[sizes < 0.5]]
    assert_within(2.5, "gammaln", dtype, np.concatenate(points))


@pytest.mark.parametrize("dtype", DTYPES)
def test_log_gamma_of_negative_numbers(dtype: str) -> None:
    """Between the poles it has zeros, next to which only the absolute error is small."""
    x = -np.random.default_rng(2).uniform(0.5, 20, 200).astype(dtype)
    expected = [float(v) for v in exact_values("gammaln", x)]
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(compiled("gammaln", dtype)(x), expected, rtol=4 * eps, atol=16 * eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["gamma", "rgamma"])
def test_gamma(name: str, dtype: str) -> None:
    top = 171.6 if dtype == "float64" else 35.0
    rng = np.random.default_rng(3)
    below = -rng.uniform(0, 0.99 * top, 200)
    near_poles = -np.arange(1, 8)[:, None] + np.array([-1e-3, 1e-3, -1e-5, 1e-5])
    x = np.concatenate([positive(dtype, top), below, near_poles.ravel(), every_size(dtype, 80, -100, 0)])
    assert_within(4.0, name, dtype, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gamma_of_whole_numbers(dtype: str) -> None:
    n = np.arange(1.0, 5.0)
    np.testing.assert_array_equal(compiled("gamma", dtype)(n), [1, 1, 2, 6])
    np.testing.assert_array_equal(compiled("gammaln", dtype)([1, 2]), [0, 0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_digamma(dtype: str) -> None:
    root = 1.4616321449683622
    x = np.concatenate([positive(dtype, 1e3), around(root, dtype), root + np.linspace(-0.1, 0.1, 50)])
    assert_within(3.0, "digamma", dtype, np.concatenate([x, every_size(dtype, 100, -100, 100)]))
    negative = -np.random.default_rng(4).uniform(0, 20, 200).astype(dtype)
    expected = [float(v) for v in exact_values("digamma", negative)]
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(compiled("digamma", dtype)(negative), expected, rtol=8 * eps, atol=32 * eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["gammaln", "gamma", "rgamma", "digamma"])
def test_special_values_are_scipys(name: str, dtype: str) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1, -2, -3, -100, 1000], dtype)
    with np.errstate(all="ignore"):
        expected = getattr(special, "psi" if name == "digamma" else name)(x)
    finite = np.isfinite(expected) & (expected != 0)
    got = compiled(name, dtype)(x)
    assert_same(got[~finite], expected[~finite])
    np.testing.assert_allclose(got[finite], expected[finite], rtol=1e-6)
