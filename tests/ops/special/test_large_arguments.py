"""Scaled Bessel functions: slopes of the first and second order for arguments up to 1e8, where recurrences cancel."""

import mpmath
import numpy as np
import pytest
from scipy import special

import adjoint as ad


def logarithmic_slopes(turn, v, x):
    """f′/f and f″/f of x^(-½) Σ aₖ (turn/x)ᵏ, summed to its least term by mpmath."""
    with mpmath.workdps(40):
        w, term, rest = turn / mpmath.mpf(x), mpmath.mpf(1), []
        for k in range(200):
            rest.append(term)
            term *= (4 * v * v - (2 * k + 1) ** 2) * w / (8 * (k + 1))
            if abs(term) < mpmath.mpf(10) ** -35:
                break
        powers = [-k - mpmath.mpf(1) / 2 for k in range(len(rest))]
        total = sum(rest)
        first = sum(p * t for p, t in zip(powers, rest, strict=True)) / x
        second = sum(p * (p - 1) * t for p, t in zip(powers, rest, strict=True)) / mpmath.mpf(x) ** 2
        return complex(first / total), complex(second / total)


FUNCTIONS = {
    "i0e": (special.i0e, -1, 0),
    "i1e": (special.i1e, -1, 1),
    "k0e": (special.k0e, 1, 0),
    "k1e": (special.k1e, 1, 1),
    "ive": (lambda x: special.ive(2.5, x), -1, 2.5),
    "kve": (lambda x: special.kve(2.5, x), 1, 2.5),
    "hankel1e": (lambda x: special.hankel1e(2.5, x), 1j, 2.5),
    "hankel2e": (lambda x: special.hankel2e(2.5, x), -1j, 2.5),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", [50.0, 1e3, 1e6, 1e8])
def test_slopes(name, x):
    f, turn, v = FUNCTIONS[name]
    slope = lambda t: ad.jvp(f, (t,), (1.0,))[1]
    first, second = logarithmic_slopes(turn, v, x)
    if name not in {"hankel1e", "hankel2e"}:
        first, second = first.real, second.real
    np.testing.assert_allclose(slope(x) / f(x), first, rtol=1e-12)
    np.testing.assert_allclose(ad.jvp(slope, (x,), (1.0,))[1] / f(x), second, rtol=1e-11)


@pytest.mark.parametrize("name", ["i0e", "i1e", "ive", "kve"])
def test_both_methods_meet(name):
    f, _, v = FUNCTIONS[name]
    bound = 30.0 + v * v
    below, above = (ad.grad(f)(bound * (1.0 + s)) for s in (-1e-9, 1e-9))
    np.testing.assert_allclose(below, above, rtol=1e-8)


def test_left_of_zero():
    for f in (special.i0e, special.i1e, lambda x: special.ive(3, x)):
        sign = np.sign(f(100.0) / f(-100.0))
        np.testing.assert_allclose(ad.grad(f)(-100.0), -sign * ad.grad(f)(100.0), rtol=1e-14)
