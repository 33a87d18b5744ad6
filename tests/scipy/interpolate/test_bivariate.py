"""Splines of two variables: SciPy's values, derivatives in grid, values and points."""

import numpy as np
import pytest
import scipy.interpolate as theirs

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import interpolate
from tests.numpy.checking import Case, array, every_check, signed
from tests.scipy.interpolate.agreement import equal, in_every_form
from tests.scipy.signal.agreement import CHECKS

X, Y, Z = np.cumsum(array(6)), np.cumsum(array(7)), signed(6, 7)
P, Q = np.array([1.3, 2.2, 4.0]), np.array([1.1, 2.9, 3.3])
OUTSIDE = np.array([-1.0, X[0], 2.1, 3.5, 9.0])
CASES = [
    Case("points", lambda x, y, z, p, q: interpolate.RectBivariateSpline(x, y, z).ev(p, q), (X, Y, Z, P, Q)),
    Case("grid", lambda z, p, q: interpolate.RectBivariateSpline(X, Y, z, kx=2, ky=1)(p, q, 1), (Z, P, Q)),
    Case(
        "integral",
        lambda z, a: interpolate.RectBivariateSpline(X, Y, z).integral(1.2, a, 0.9, 3.0),
        (Z, np.float64(3.3)),
    ),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("kx, ky", [(3, 3), (1, 2), (2, 4), (5, 3)])
def test_values(kx, ky):
    wanted = theirs.RectBivariateSpline(X, Y, Z, kx=kx, ky=ky)

    def every(z):
        s = interpolate.RectBivariateSpline(X, Y, z, kx=kx, ky=ky)
        values = [s(OUTSIDE, OUTSIDE), s.ev(P, Q), s.ev(OUTSIDE, Q[:1]), s.integral(1.0, 3.0, 2.0, 99.0), *s.tck]
        return [*values, s.get_coeffs(), *s.get_knots(), s.ev(P, Q, dy=1), s(P, Q, dy=1)]

    expected = [
        wanted(OUTSIDE, OUTSIDE),
        wanted.ev(P, Q),
        wanted.ev(OUTSIDE, Q[:1]),
        wanted.integral(1.0, 3.0, 2.0, 99.0),
    ]
    expected += [*wanted.tck, wanted.get_coeffs(), *wanted.get_knots()]
    dy = ky > 1
    expected += [wanted.ev(P, Q, dy=1), wanted(P, Q, dy=1)] if dy else []
    for found in (ad.vjp(every, Z)[0], every(Z)):
        for part, value in zip(found, expected, strict=dy):
            equal(part, value, tolerance=1e-8)


def test_derivatives_are_splines():
    ours, wanted = (m.RectBivariateSpline(X, Y, Z) for m in (interpolate, theirs))
    for dx, dy in ((0, 0), (1, 0), (2, 1)):
        both = [s.partial_derivative(dx, dy)(P, Q, grid=False) for s in (ours, wanted)]
        equal(*both, tolerance=1e-8)
    slopes = ad.grad(ours.ev, argnums=(0, 1))(2.2, 2.9)
    equal(slopes, (wanted.ev(2.2, 2.9, dx=1), wanted.ev(2.2, 2.9, dy=1)), tolerance=1e-8)


def test_a_smoothing_spline_of_plain_data():
    ours, wanted = (m.RectBivariateSpline(X, Y, Z, s=3.0) for m in (interpolate, theirs))
    equal(ours.ev(P, Q), wanted.ev(P, Q))
    assert ours.get_residual() == wanted.get_residual()
    assert interpolate.RectBivariateSpline(X, Y, Z).get_residual() == pytest.approx(0.0, abs=1e-12)
    equal(ad.jit(lambda s, p, q: s.ev(p, q))(ours, P, Q), wanted.ev(P, Q))


def test_compiled_and_batched():
    in_every_form(lambda z, p, q: interpolate.RectBivariateSpline(X, Y, z).ev(p, q), Z, P, Q)


def test_what_does_not_fit_is_refused():
    gradient = lambda f: ad.grad(lambda z: np.sum(f(z)))(Z)
    with pytest.raises(UnsupportedError, match="smoothing spline"):
        gradient(lambda z: interpolate.RectBivariateSpline(X, Y, z, s=1.0).ev(P, Q))
    with pytest.raises(UnsupportedError, match="bbox="):
        gradient(lambda z: interpolate.RectBivariateSpline(X, Y, z, [0.0, None, None, None]).ev(P, Q))
    with pytest.raises(ValueError, match="y dimension of z"):
        gradient(lambda z: interpolate.RectBivariateSpline(X, X, z).ev(P, Q))
    spline = interpolate.RectBivariateSpline(X, Y, Z)
    with pytest.raises(ValueError, match="less than degree"):
        spline.partial_derivative(3, 0)
    with pytest.raises(ValueError, match="positive or zero"):
        spline.partial_derivative(-1, 0)
