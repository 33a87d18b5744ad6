"""Beta functions, Pochhammer's symbol and binomial coefficients: near-equal arguments, poles and zeros."""

import mpmath
import numpy as np
import pytest
from scipy import special

import adjoint as ad
from adjoint.ops.special.beta import digamma_difference
from adjoint.testing import mp_difference

PAIRS = [
    (1.0, 1e-12), (1e10, 1.0), (1e-3, 1e-9), (3.0, -1.0), (0.2, 1e5), (25.0, 25.0), (-0.3, 1e-9), (-4.2, 1.7),
    (-2.5, 9.0),
]  # fmt: skip


@pytest.mark.parametrize("a, b", PAIRS)
def test_difference_of_digamma_functions(a, b):
    with mpmath.workdps(40):
        want = mpmath.psi(0, mpmath.mpf(a) + mpmath.mpf(b)) - mpmath.psi(0, a)
    np.testing.assert_allclose(digamma_difference(np.float64(a), np.float64(b)), float(want), rtol=1e-14)
    slopes = ad.grad(digamma_difference, argnums=(0, 1))(a, b)
    with mpmath.workdps(40):
        right = mpmath.psi(1, mpmath.mpf(a) + mpmath.mpf(b))
        np.testing.assert_allclose(slopes, [float(right - mpmath.psi(1, a)), float(right)], rtol=1e-8)


def test_whole_steps_between_poles():
    """(a)ₘ is a polynomial for whole m: (-3)(-2) and its slope -5."""
    assert special.poch(-3.0, 2.0) == 6
    np.testing.assert_allclose(ad.grad(special.poch)(-3.0, 2.0), -5.0, rtol=1e-13)


ZEROS = {
    "poch": (special.poch, mpmath.rf, (-3.0, 2.5), [0, 1]),
    "beta": (special.beta, mpmath.beta, (-2.5, 0.5), [0, 1]),
    "binom above": (special.binom, mpmath.binomial, (4.0, 6.0), [0, 1]),
    "binom above, large": (special.binom, mpmath.binomial, (300.0, 302.0), [0, 1]),
    "binom below": (special.binom, mpmath.binomial, (4.5, -2.0), [0, 1]),
    "regular": (special.binom, mpmath.binomial, (7.5, 2.25), [0, 1]),
    "regular poch": (special.poch, mpmath.rf, (-2.6, 4.2), [0, 1]),
}


@pytest.mark.parametrize("name", ZEROS)
def test_slopes_where_the_function_is_zero(name):
    f, exact, point, arguments = ZEROS[name]
    for i in arguments:
        along = lambda t, i=i: exact(*point[:i], t, *point[i + 1 :])
        want = float(mpmath.re(mp_difference(along, point[i], digits=25)))
        np.testing.assert_allclose(ad.grad(f, argnums=i)(*point), want, rtol=1e-10, atol=1e-300)


def test_betaln_of_very_unequal_arguments():
    got = ad.grad(special.betaln, argnums=(0, 1))(1e10, 2.0)
    with mpmath.workdps(40):
        want = [mpmath.psi(0, k) - mpmath.psi(0, mpmath.mpf(1e10) + 2) for k in (mpmath.mpf(1e10), 2)]
    np.testing.assert_allclose(got, [float(w) for w in want], rtol=1e-14)
