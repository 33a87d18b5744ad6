"""FITPACK's functions on traced values: SciPy's values, derivatives in data, knots, coefficients and points."""

import numpy as np
import pytest
import scipy.interpolate as theirs

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import interpolate
from tests.numpy.checking import Case, every_check
from tests.scipy.interpolate.agreement import equal
from tests.scipy.signal.agreement import CHECKS

X = np.linspace(0.0, 3.0, 9) ** 1.1
Y = np.sin(2 * X)
T, C, K = theirs.splrep(X, Y)
POINTS = np.array([-0.5, 0.0, 0.3, 1.7, X[-1], 4.0])
CASES = [
    Case("splrep splev", lambda x, y, p: interpolate.splev(p, interpolate.splrep(x, y)), (X, Y, np.array([0.3, 1.71]))),
    Case(
        "splint",
        lambda c, a, b: interpolate.splint(a, b, (T, c, K)) + np.float64(0.0),
        (C, np.float64(0.4), np.float64(2.2)),
    ),
    Case("spalde", lambda c, p: interpolate.spalde(p, (T, c, K)), (C, np.float64(0.4))),
    Case("splder", lambda c: interpolate.splder((T, c, K), 2)[1], (C,)),
    Case("splantider", lambda c: interpolate.splantider((T, c, K), 2)[1], (C,)),
    Case("insert", lambda c: interpolate.insert(1.3, (T, c, K), 2)[1], (C,)),
]


def traced(f, *xs):
    """The value of a function whose arguments are traced."""
    return ad.vjp(f, *xs)[0]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_values(k):
    t, c, _ = theirs.splrep(X, Y, k=k)
    for found, wanted in zip(traced(lambda y: interpolate.splrep(X, y, k=k)[:2], Y), (t, c), strict=True):
        equal(found, wanted)
    assert interpolate.splrep(X, Y, k=k)[2] == k
    for ext in (0, 1, 3):
        for der in range(k + 1):
            found = traced(lambda c, der=der, ext=ext: interpolate.splev(POINTS, (t, c, k), der, ext), c)
            equal(found, theirs.splev(POINTS, (t, c, k), der, ext), f"ext {ext}, derivative {der}")
    for a, b in ((0.2, 1.0), (2.0, -1.0), (-1.0, 9.0)):
        equal(traced(lambda c, a=a, b=b: interpolate.splint(a, b, (t, c, k)), c), theirs.splint(a, b, (t, c, k)))
    found, wanted = interpolate.insert(1.3, (t, c, k), 2), theirs.insert(1.3, (t, c, k), 2)
    equal(found[0], wanted[0])
    equal(found[1][: -k - 1], wanted[1][: -k - 1])  # SciPy leaves the rest as it happens to be
    inside = np.array([0.3, 1.1])
    found = traced(lambda c: interpolate.spalde(inside, (t, c, k)), c)
    equal(np.stack(found), np.stack(theirs.spalde(inside, (t, c, k))))


def test_curves():
    tck, _ = theirs.splprep([X, Y], s=0)
    points = np.array([0.2, 0.9])
    for found, wanted in zip(
        traced(lambda p: interpolate.splev(p, tck), np.array([0.2, 0.9])),
        theirs.splev(np.array([0.2, 0.9]), tck),
        strict=True,
    ):
        equal(found, wanted)
    equal(np.stack(traced(lambda b: interpolate.splint(0.0, b, tck), 0.5)), np.stack(theirs.splint(0.0, 0.5, tck)))
    found = np.stack(traced(lambda c: interpolate.splev(0.3, (tck[0], c, 3)), np.stack(tck[1])))
    equal(found, np.stack(theirs.splev(0.3, tck)))
    assert len(traced(lambda p: interpolate.spalde(p, tck), 0.5)) == 2
    longer = interpolate.insert(0.5, tck)
    equal(np.stack(interpolate.splev(points, longer)), np.stack(theirs.splev(points, tck)))


def test_splines_of_ours():
    spline, reference = interpolate.make_interp_spline(X, Y), theirs.make_interp_spline(X, Y)
    equal(interpolate.splev(POINTS, spline, 1), theirs.splev(POINTS, reference, 1))
    equal(interpolate.splint(0.1, 2.0, spline), theirs.splint(0.1, 2.0, reference))
    equal(interpolate.splder(spline).c, theirs.splder(reference).c)
    equal(interpolate.splantider(spline).c, theirs.splantider(reference).c)
    equal(interpolate.insert(1.3, spline)(POINTS), reference(POINTS))
    with pytest.raises(ValueError, match="mode 1"):
        interpolate.splev(POINTS, spline, ext=1)
    with pytest.raises(TypeError, match="BSpline"):
        interpolate.spalde(0.3, spline)
    many = interpolate.make_interp_spline(X, np.stack([Y, Y], 1))
    with pytest.raises(ValueError, match=r"c\.ndim > 1"):
        interpolate.splev(0.3, many)


def test_plain_values_are_left_to_scipy():
    smooth = interpolate.splrep(X, Y, s=0.1)
    equal(interpolate.splev(POINTS, smooth), theirs.splev(POINTS, theirs.splrep(X, Y, s=0.1)))


def test_what_does_not_fit_is_refused():
    gradient = lambda f, x=Y: ad.grad(lambda x: np.sum(f(x)))(x)
    for options in ({"s": 0.1}, {"w": np.ones(9)}, {"per": 1}, {"t": X[3:5]}, {"xb": -1.0}):
        with pytest.raises(UnsupportedError, match="make_lsq_spline"):
            gradient(lambda y, options=options: interpolate.splrep(X, y, **options)[1])
    with pytest.raises(TypeError, match="not supported"):
        gradient(lambda y: interpolate.splrep(X, y, k=6)[1])
    with pytest.raises(TypeError, match="m > k"):
        gradient(lambda y: interpolate.splrep(X[:3], y[:3])[1])
    with pytest.raises(ValueError, match="not in the domain"):
        gradient(lambda p: interpolate.splev(p, (T, C, K), ext=2), POINTS)
    with pytest.raises(ValueError, match="must hold"):
        gradient(lambda p: interpolate.splev(p, (T, C, K), 4), POINTS)
    with pytest.raises(ValueError, match="ext = 7"):
        gradient(lambda p: interpolate.splev(p, (T, C, K), ext=7), POINTS)
    with pytest.raises(UnsupportedError, match="work arrays"):
        ad.grad(lambda b: interpolate.splint(0.0, b, (T, C, K), 1)[0])(1.0)
    with pytest.raises(UnsupportedError, match="periodic"):
        gradient(lambda c: interpolate.insert(1.0, (T, c, K), per=1)[1], C)
    with pytest.raises(UnsupportedError, match="Newton's method"):
        gradient(lambda c: interpolate.sproot((T, c, K)), C)
