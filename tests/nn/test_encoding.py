"""Classes as numbers, vectors and probabilities; arithmetic with logarithms against mpmath and enumeration."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint import nn


def test_one_hot_there_and_back():
    labels = np.array([[2, 0], [1, 1]])
    vectors = nn.one_hot(labels, 3, np.float32)
    assert vectors.dtype == np.float32
    assert_array_equal(vectors, np.eye(3)[labels])
    assert_array_equal(nn.decode(vectors), labels)
    assert_array_equal(ad.jit(lambda i: nn.one_hot(i, 3))(labels), np.eye(3)[labels])


def test_bad_classes():
    with pytest.raises(ValueError, match="go from 0 to 3, but there are 3"):
        nn.one_hot([0, 3], 3)
    with pytest.raises(ad.DtypeError, match="integers"):
        nn.one_hot([0.5], 3)


@pytest.mark.row("L1.c")
def test_simplex():
    assert nn.in_simplex(nn.softargmax(np.array([1.0, -4.0, 700.0])))
    assert not nn.in_simplex(np.array([0.2, 0.3, 0.4]))
    assert not nn.in_simplex(np.array([-0.2, 1.2]))
    assert nn.in_simplex(np.array([0.2, 0.3, 0.4]), tol=0.11)


@pytest.mark.row("A3.2.g", "A3.2.h")
def test_one_hot_likelihood():
    """Π fᵢ^yᵢ picks one factor; a long product underflows, its logarithm does not."""
    f, y = np.array([0.2, 0.5, 0.3]), nn.one_hot(1, 3)
    assert np.prod(f**y) == 0.5
    assert np.prod(np.full(1000, 0.1)) == 0.0
    assert nn.log_product(np.full(1000, 0.1)) == pytest.approx(-2302.5851, abs=5e-5)


@pytest.mark.row("B4.4.f")
def test_logarithms_of_sums_and_products():
    u = np.array([1e-200, 3e-210, 2e-250, 5e-300])
    with mpmath.workdps(50):
        total = mpmath.log(mpmath.fsum(mpmath.mpf(float(v)) for v in u))
        product = mpmath.log(mpmath.fprod(mpmath.mpf(float(v)) for v in u))  # about 1e-960
    assert nn.log_sum(u) == pytest.approx(float(total), rel=1e-14)
    assert nn.log_product(u) == pytest.approx(float(product), rel=1e-14)
    assert_allclose(ad.grad(nn.log_sum)(u) * u, u / np.sum(u), rtol=1e-12)


def test_logit():
    p = np.array([1e-300, 0.2, 0.5, 1 - 1e-16])
    with mpmath.workdps(40):
        exact = [float(mpmath.log(mpmath.mpf(float(v)) / (1 - mpmath.mpf(float(v))))) for v in p]
    assert_allclose(nn.logit(p), exact, rtol=1e-13)
    assert_allclose(ad.vmap(ad.grad(nn.logit))(p[1:3]), 1 / (p * (1 - p))[1:3], rtol=1e-13)
