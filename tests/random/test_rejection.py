"""Draws by rejection against SciPy's distributions, and independent of each other's luck."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

import adjoint as ad
from adjoint.random.bits import seed_key, spawn
from adjoint.random.rejection import RandomBinomial, RandomGamma, RandomPoisson

N = 20_000
KEY, ZERO = seed_key(21), np.uint64(0)
FLOAT = np.dtype(float)


def fits(sample, distribution):
    """The p-value of a sample of whole numbers: cells of at least ten expected."""
    low, high = distribution.ppf(0.002), distribution.ppf(0.998)
    edges = np.unique(np.linspace(low, high, 25).astype(int))
    probabilities = np.diff(np.concatenate([[0.0], distribution.cdf(edges), [1.0]]))
    counts = np.bincount(np.searchsorted(edges, sample), minlength=len(edges) + 1)
    good = probabilities * len(sample) > 10
    counts, probabilities = counts[good], probabilities[good]
    return stats.chisquare(counts, probabilities / probabilities.sum() * counts.sum()).pvalue


@pytest.mark.parametrize("a", [0.02, 0.3, 1.0, 1.7, 12.0, 3e4])
def test_gamma(a):
    x = RandomGamma((N,), FLOAT)(KEY, ZERO, a)
    assert stats.kstest(x, stats.gamma(a).cdf).pvalue > 1e-3
    logarithm = RandomGamma((N,), FLOAT, True)(KEY, ZERO, a)
    np.testing.assert_allclose(np.exp(logarithm), x, rtol=1e-12)
    assert np.all(np.isfinite(logarithm))


def test_gamma_of_shape_zero_and_in_single_precision():
    assert_array_equal(RandomGamma((3,), FLOAT)(KEY, ZERO, 0.0), np.zeros(3))
    single = RandomGamma((5,), np.dtype(np.float32))(KEY, ZERO, 2.0)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, RandomGamma((5,), FLOAT)(KEY, ZERO, 2.0), rtol=1e-6)


@pytest.mark.parametrize("rate", [0.1, 3.0, 9.9, 10.0, 55.5, 4e3, 1e9])
def test_poisson(rate):
    x = RandomPoisson((N,))(KEY, ZERO, rate)
    assert x.dtype == np.int64
    assert fits(x, stats.poisson(rate)) > 1e-3


@pytest.mark.parametrize("n, p", [(1, 0.3), (5, 0.9), (20, 0.5), (30, 0.33), (100, 0.7), (10_000, 0.02), (10**6, 0.5)])
def test_binomial(n, p):
    x = RandomBinomial((N,))(KEY, ZERO, n, p)
    assert x.min() >= 0
    assert x.max() <= n
    assert fits(x, stats.binom(n, p)) > 1e-3


def test_edges():
    assert_array_equal(RandomPoisson((4,))(KEY, ZERO, 0.0), np.zeros(4))
    assert_array_equal(RandomBinomial((4,))(KEY, ZERO, 0, 0.5), np.zeros(4))
    assert_array_equal(RandomBinomial((4,))(KEY, ZERO, 50, 0.0), np.zeros(4))
    assert_array_equal(RandomBinomial((4,))(KEY, ZERO, 50, 1.0), np.full(4, 50))
    assert RandomPoisson((0,))(KEY, ZERO, 20.0).shape == (0,)


@pytest.mark.parametrize("draw, parameters", [
    (lambda shape: RandomGamma(shape, FLOAT), (1.2,)), (RandomPoisson, (30.0,)), (RandomBinomial, (100, 0.4)),
])  # fmt: skip
def test_an_element_depends_on_its_own_position_alone(draw, parameters):
    many = draw((500,))(KEY, ZERO, *parameters)
    assert_array_equal(draw((20, 25))(KEY, ZERO, *parameters).ravel(), many)
    assert_array_equal(draw((7,))(KEY, np.uint64(100), *parameters), many[100:107])
    mixed = draw((500,))(KEY, ZERO, np.where(np.arange(500) % 2, parameters[0], 2 * parameters[0]), *parameters[1:])
    assert_array_equal(mixed[1::2], many[1::2])
    keys = np.stack([KEY, seed_key(22)])
    assert_array_equal(draw((500,))(keys, np.zeros(2, np.uint64), *parameters)[0], many)
    assert_array_equal(ad.vmap(lambda k: draw((6,))(k, ZERO, *parameters))(keys)[0], many[:6])


def test_streams_are_independent():
    keys = spawn(KEY, 2)
    x, y = RandomGamma((N,), FLOAT)(keys, np.zeros(2, np.uint64), 3.0)
    assert abs(np.corrcoef(x, y)[0, 1]) < 5 / np.sqrt(N)
