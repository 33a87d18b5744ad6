"""Means, trimmed samples, robust widths and directions: SciPy's values, derivatives under every transformation."""

import numpy as np
import pytest
import scipy.stats as theirs

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import stats
from tests.numpy.checking import Case, array, every_check, signed
from tests.scipy.signal.agreement import CHECKS
from tests.scipy.stats.agreement import CUBE, A, parts, same

X, W = array(6, 2), array(6, 2, seed=4)
LIMITS = (0.5, 1.5)
CASES = [
    Case("gmean", lambda a, w: stats.gmean(a, weights=w), (X, W)),
    Case("hmean", lambda a, w: stats.hmean(a, weights=w), (X, W)),
    Case("pmean", lambda a, w: stats.pmean(a, 2.5, weights=w), (X, W)),
    Case("trim_mean", lambda a: stats.trim_mean(a, 0.2), (X,)),
    Case("trimmed", lambda a: [np.sort(f(a, 0.2), axis=0) for f in (stats.trimboth, stats.trim1)], (X,)),
    *[Case(n, lambda a, n=n: getattr(stats, n)(a, LIMITS), (X,)) for n in ("tmean", "tvar", "tstd", "tsem")],
    Case("ends", lambda a: stats.tmin(a, 0.5) + stats.tmax(a, 1.5), (X,)),
    Case("iqr", stats.iqr, (X,)),
    Case("median_abs_deviation", stats.median_abs_deviation, (X,)),
    Case("scoreatpercentile", lambda a: stats.scoreatpercentile(a, [20, 65], axis=0), (X,)),
    *[Case(n, getattr(stats, n), (X,)) for n in ("circmean", "circvar", "circstd")],
    Case("directional_stats", lambda a: parts(stats.directional_stats(a)), (signed(4, 3),)),
    Case("obrientransform", lambda a, b: stats.obrientransform(a, b), (array(5), array(5, seed=2))),
]  # fmt: skip


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


def test_weights_and_powers():
    for weights in (A[::-1], A[:, :1], A[0]):
        for name in ("gmean", "hmean"):
            same(name, A, weights=weights)
        for p in (0, 1, 2, -1.5):
            same("pmean", A, p, weights=weights, axis=1)
    same("gmean", A.astype(np.float32), dtype=np.float64)
    values = ad.vjp(lambda a: stats.hmean(a), -A)[0]
    assert np.all(np.isnan(values))


def test_trimmed_and_limited():
    for axis in (0, 1, None):
        same("trim_mean", A, 0.2, axis=axis)
        for name in ("trimboth", "trim1"):
            found = ad.vjp(lambda a, n=name, axis=axis: getattr(stats, n)(a, 0.2, axis=axis), A)[0]
            wanted = getattr(theirs, name)(A, 0.2, axis=axis)
            np.testing.assert_array_equal(found, np.sort(wanted, axis=axis or 0))
        for limits in ((0.8, 1.6), (None, 1.5), (0.4, None), None):
            for inclusive in ((True, False), (False, True)):
                for name in ("tmean", "tvar", "tstd", "tsem"):
                    same(name, A, limits=limits, inclusive=inclusive, axis=axis)
        same("tmin", A, lowerlimit=0.8, axis=axis)
        same("tmax", A, upperlimit=0.8, axis=axis, inclusive=False)
    left = ad.vjp(lambda a: stats.trim1(a, 0.3, "left"), A)[0]
    np.testing.assert_array_equal(left, np.sort(theirs.trim1(A, 0.3, "left"), axis=0))
    same("tmin", A, lowerlimit=np.sort(A[:, 0])[-1] - 1e-9)  # where columns have none


def test_widths_and_percentiles():
    for options in ({"scale": "normal"}, {"rng": (60, 10)}, {"interpolation": "lower"}, {"interpolation": "midpoint"}):
        same("iqr", A, axis=0, **options)
    same("median_abs_deviation", A, scale="normal")
    same("median_abs_deviation", A, center=np.mean, axis=1)
    for method in ("fraction", "lower", "higher"):
        same("scoreatpercentile", A[0], 30, interpolation_method=method)
        same("scoreatpercentile", A, [30, 50], axis=1, interpolation_method=method)
    same("scoreatpercentile", A[0], 40, limit=(0.3, 1.6))


def test_directions():
    same("circmean", A, high=2.0, low=-1.0, axis=1)
    same("circvar", A, high=2.0)
    same("circstd", A, high=2.0, normalize=True)
    same("circstd", A, high=2.0, axis=0)
    for normalize in (True, False):
        same("directional_stats", CUBE, axis=1, normalize=normalize)
    same("obrientransform", A[0], A[1])


def test_compiled():
    f = lambda a: np.sum(stats.tvar(a, LIMITS) + stats.iqr(a, axis=0) + stats.trim_mean(a, 0.2))
    np.testing.assert_allclose(ad.jit(ad.grad(f))(A), ad.grad(f)(A), rtol=1e-10)


def test_what_does_not_fit_is_refused():
    total = lambda f: ad.grad(lambda a: np.sum(f(a)))(A)
    for f, error, words in (
        (lambda a: stats.pmean(a, np.inf), NotImplementedError, "finite `p`"),
        (lambda a: stats.pmean(a, "2"), ValueError, "int or float"),
        (lambda a: stats.trimboth(a, 0.6), ValueError, "too big"),
        (lambda a: stats.trim_mean(a, 0.9), ValueError, "too big"),
        (lambda a: stats.trim1(a, 0.2, "middle"), ValueError, "'right' or 'left'"),
        (lambda a: stats.tmean(a, (8.0, 9.0)), ValueError, "No array values"),
        (lambda a: stats.iqr(a, scale="raw"), ValueError, "not a valid scale"),
        (lambda a: stats.iqr(a, rng=(1, 2, 3)), TypeError, "two element"),
        (lambda a: stats.iqr(a, rng=(np.nan, 2)), ValueError, "NaNs"),
        (lambda a: stats.iqr(a, rng=(-5, 20)), ValueError, "range"),
        (lambda a: stats.median_abs_deviation(a, center=3), TypeError, "callable"),
        (lambda a: stats.median_abs_deviation(a, scale="wide"), ValueError, "scale value"),
        (lambda a: stats.scoreatpercentile(a, 130), ValueError, "range"),
        (lambda a: stats.scoreatpercentile(a, 30, interpolation_method="wavy"), ValueError, "can only be"),
        (lambda a: stats.directional_stats(a[0]).mean_direction, ValueError, "two-dimensional"),
        (lambda a: stats.obrientransform(a[0], a[0, :3]), ValueError, "one length"),
    ):
        with pytest.raises(error, match=words):
            total(f)
    with pytest.raises(UnsupportedError, match="'p' is a traced value"):
        ad.grad(lambda p: np.sum(stats.pmean(A, p)))(2.0)
