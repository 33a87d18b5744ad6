"""Incomplete gamma and beta functions: their ends, their inverses in the parameters, and single precision."""

import mpmath
import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.testing import mp_difference


@pytest.mark.parametrize("f", [special.gammainc, special.gammaincc])
def test_the_derivative_in_a_vanishes_at_both_ends(f):
    for a in (0.3, 1.0, 7.0):
        for x in (0.0, np.inf):
            assert ad.grad(lambda s, x=x: f(s, x))(a) == 0
    np.testing.assert_array_equal(ad.grad(ad.grad(lambda x: ad.grad(f)(2.5, x)))(0.0), 0.0)


@pytest.mark.parametrize("x", [0.0, 1.0])
@pytest.mark.parametrize("argument", [0, 1])
def test_betainc_at_its_ends(x, argument):
    assert ad.grad(special.betainc, argnums=argument)(0.7, 2.0, x) == 0


@pytest.mark.parametrize("a, y", [(0.3, 0.2), (2.0, 1e-8), (5.0, 0.999), (80.0, 0.4), (1e4, 0.7)])
def test_quantile_of_the_gamma_distribution(a, y):
    x = special.gammaincinv(a, y)
    density = mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a))
    slope = -mp_difference(lambda s: mpmath.gammainc(s, 0, x, regularized=True), a, digits=25) / density
    np.testing.assert_allclose(ad.grad(special.gammaincinv)(a, y), float(slope), rtol=1e-9)
    np.testing.assert_allclose(ad.grad(special.gammainccinv)(a, special.gammaincc(a, x)), float(slope), rtol=1e-8)


@pytest.mark.parametrize("a, b, y", [(0.3, 0.6, 0.2), (2.0, 5.0, 1e-6), (40.0, 60.0, 0.3), (1.0, 0.2, 0.9)])
def test_quantile_of_the_beta_distribution(a, b, y):
    x = special.betaincinv(a, b, y)
    density = float(mpmath.mpf(x) ** (a - 1) * (1 - mpmath.mpf(x)) ** (b - 1) / mpmath.beta(a, b))
    by_a = mp_difference(lambda s: mpmath.betainc(s, b, 0, x, regularized=True), a, digits=25)
    by_b = mp_difference(lambda s: mpmath.betainc(a, s, 0, x, regularized=True), b, digits=25)
    got = ad.grad(special.betaincinv, argnums=(0, 1))(a, b, y)
    np.testing.assert_allclose(got, [-float(by_a) / density, -float(by_b) / density], rtol=1e-8)
    np.testing.assert_allclose(ad.grad(special.betainccinv, argnums=(0, 1))(a, b, 1.0 - y), got, rtol=1e-6)


def test_the_two_sides_agree_with_each_other():
    a, b, x = np.array([3.0, 0.2]), np.array([0.4, 9.0]), np.array([0.3, 0.02])
    first = ad.grad(lambda s: np.sum(special.betainc(s, b, x)))(a)
    second = ad.grad(lambda s: np.sum(special.betainc(b, s, 1.0 - x)))(a)
    np.testing.assert_allclose(first, -second, rtol=1e-13)
