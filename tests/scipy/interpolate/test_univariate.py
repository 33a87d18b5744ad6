"""Splines of FITPACK as objects: SciPy's values, derivatives in data, knots, weights and points."""

import numpy as np
import pytest
import scipy.interpolate as theirs

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import interpolate
from tests.numpy.checking import Case, array, every_check
from tests.scipy.interpolate.agreement import equal, in_every_form
from tests.scipy.signal.agreement import CHECKS

X = np.linspace(0.0, 3.0, 9) ** 1.1
Y = np.sin(2 * X)
P = np.array([0.13, 1.57, 2.71])
W = array(9)
INNER = np.array([1.0, 2.1])
POINTS = np.array([-0.5, 0.0, 0.3, 1.7, X[-1], 4.0])
CASES = [
    Case("interpolated", lambda x, y, p: interpolate.InterpolatedUnivariateSpline(x, y)(p), (X, Y, P)),
    Case("no smoothing", lambda y: interpolate.UnivariateSpline(X, y, s=0, k=2)(P, 1), (Y,)),
    Case("knots", lambda y, t, w: interpolate.LSQUnivariateSpline(X, y, t, w)(P), (Y, INNER, W)),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


def traced(f, *xs):
    """The value of a function whose arguments are traced."""
    return ad.vjp(f, *xs)[0]


MAKERS = [
    ("InterpolatedUnivariateSpline", {}),
    ("InterpolatedUnivariateSpline", {"k": 2, "ext": 1}),
    ("UnivariateSpline", {"s": 0, "k": 4, "ext": "const"}),
    ("LSQUnivariateSpline", {"t": INNER, "w": W}),
    ("LSQUnivariateSpline", {"t": INNER, "bbox": [-0.5, 3.5], "k": 2}),
]


@pytest.mark.parametrize("name, options", MAKERS)
def test_values(name, options):
    wanted = getattr(theirs, name)(X, Y, **options)
    seen = {}

    def every(y):
        s = getattr(interpolate, name)(X, y, **options)
        seen["ext"] = s.ext
        inside = [s(POINTS), s(POINTS, 1), s(POINTS, ext=1), s.integral(0.2, 9.0), s.derivatives(0.3)]
        return [*inside, s.derivative()(POINTS), s.antiderivative()(P), s.get_knots(), s.get_coeffs()]

    expected = [
        wanted(POINTS),
        wanted(POINTS, 1),
        wanted(POINTS, ext=1),
        wanted.integral(0.2, 9.0),
        wanted.derivatives(0.3),
    ]
    expected += [wanted.derivative()(POINTS), wanted.antiderivative()(P), wanted.get_knots(), wanted.get_coeffs()]
    for found in (traced(every, Y), every(Y)):
        for part, value in zip(found, expected, strict=True):
            equal(part, value, tolerance=1e-8)
    residual = traced(lambda y: getattr(interpolate, name)(X, y, **options).get_residual() + 0.0 * np.sum(y), Y)
    assert residual == pytest.approx(wanted.get_residual(), abs=1e-12)


def test_a_smoothing_spline_of_plain_data():
    ours, wanted = (m.UnivariateSpline(X, Y, s=0.1) for m in (interpolate, theirs))
    equal(ours(POINTS), wanted(POINTS))
    equal(ours.roots(), wanted.roots())
    assert ours.get_residual() == wanted.get_residual()
    equal(ad.vmap(ad.grad(ours))(P), wanted(P, 1))
    equal(ad.jit(lambda s, p: s(p))(ours, P), wanted(P))
    assert ad.grad(lambda s: s(0.3))(ours).c.sum() == pytest.approx(1.0)


def test_compiled_and_batched():
    in_every_form(lambda y, p: interpolate.InterpolatedUnivariateSpline(X, y)(p), Y, P)


def test_what_does_not_fit_is_refused():
    gradient = lambda f: ad.grad(lambda y: np.sum(f(y)))(Y)
    for s in (None, 0.1):
        with pytest.raises(UnsupportedError, match="smoothing spline"):
            gradient(lambda y, s=s: interpolate.UnivariateSpline(X, y, s=s)(P))
    with pytest.raises(UnsupportedError, match="bbox="):
        gradient(lambda y: interpolate.InterpolatedUnivariateSpline(X, y, bbox=[-1.0, None])(P))
    with pytest.raises(UnsupportedError, match="Newton's method"):
        gradient(lambda y: interpolate.InterpolatedUnivariateSpline(X, y).roots())
    for f, words in (
        (lambda y: interpolate.InterpolatedUnivariateSpline(X, y, k=6)(P), "1 <= k <= 5"),
        (lambda y: interpolate.LSQUnivariateSpline(X, y, INNER, k=6)(P), "1 <= k <= 5"),
        (lambda y: interpolate.LSQUnivariateSpline(X, y, INNER[::-1])(P), "Schoenberg"),
        (lambda y: interpolate.InterpolatedUnivariateSpline(X, y, ext=7)(P), "mode 7"),
        (lambda y: interpolate.InterpolatedUnivariateSpline(X, y, ext=2)(POINTS), "not in the domain"),
    ):
        with pytest.raises(ValueError, match=words):
            gradient(f)
    with pytest.raises(NotImplementedError, match="non-cubic"):
        interpolate.InterpolatedUnivariateSpline(X, Y, k=2).roots()
