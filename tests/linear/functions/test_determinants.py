"""Determinants by structure against NumPy's of the matrix, and their derivatives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear
from adjoint.base.errors import ShapeError
from tests.linear.examples import MAPS, SQUARE

RNG = np.random.default_rng(13)


@pytest.mark.parametrize("name", SQUARE)
def test_against_numpy(name):
    A = MAPS[name]()
    sign, size = linear.slogdet(A)
    expected = np.linalg.slogdet(A.to_dense())
    assert_allclose(size, expected[1], rtol=1e-9, atol=1e-9)
    assert_allclose(sign, expected[0], rtol=1e-9)


def test_of_a_kronecker_product_with_no_big_matrix():
    """The covariance of a Gaussian process on a grid: n = 10⁶ in no time."""
    lines = [np.exp(-(np.subtract.outer(x, x) ** 2)) + np.eye(10) for x in RNG.normal(size=(6, 10))]
    K = linear.kronecker(*[linear.matrix(k, "positive definite") for k in lines])
    assert K.shape == (10**6, 10**6)
    assert_allclose(linear.logdet(K), 10**5 * sum(np.linalg.slogdet(k)[1] for k in lines), rtol=1e-12)


def test_derivatives():
    d, u = RNG.uniform(1, 2, size=5), RNG.normal(size=5)
    by_map = lambda d, u: linear.logdet(linear.diagonal(d) + linear.low_rank(u))
    by_matrix = lambda d, u: np.linalg.slogdet(np.diag(d) + np.outer(u, u))[1]
    for found, expected in zip(ad.grad(by_map, (0, 1))(d, u), ad.grad(by_matrix, (0, 1))(d, u), strict=True):
        assert_allclose(found, expected, rtol=1e-10)
    ad.check_grads(by_map, (d, u), order=2)
    assert_allclose(ad.jit(by_map)(d, u), by_matrix(d, u), rtol=1e-12)


def test_a_rectangular_map_has_none():
    with pytest.raises(ShapeError, match="no determinant"):
        linear.slogdet(linear.matrix(np.ones((2, 3))))
