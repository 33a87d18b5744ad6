"""Moments, scores and k-statistics: SciPy's values, derivatives under every transformation."""

import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import stats
from tests.numpy.checking import Case, array, every_check
from tests.scipy.signal.agreement import CHECKS
from tests.scipy.stats.agreement import A, same

X = array(5, 2)
CASES = [
    *[Case(n, getattr(stats, n), (X,)) for n in ("skew", "kurtosis", "sem", "variation", "gstd", "kstatvar")],
    Case("moments", lambda a: stats.moment(a, [1, 2, 3]), (X,)),
    Case("moment about", lambda a, c: stats.moment(a, 3, center=c), (X, np.float64(0.3))),
    Case("kstat", lambda a: stats.kstat(a, 4), (X,)),
    Case("unbiased", lambda a: stats.skew(a, bias=False) + stats.kurtosis(a, bias=False), (X,)),
    Case("zscore", stats.zscore, (X,)),
    Case("zmap", lambda s, c: stats.zmap(s, c, ddof=1), (X, array(4, 2, seed=3))),
    Case("gzscore", lambda a: stats.gzscore(a, axis=1), (array(2, 4),)),
    Case("describe", lambda a: list(stats.describe(a, bias=False)[2:]), (X,)),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


def test_values():
    for axis in (0, 1, None):
        for name in ("zscore", "gzscore"):
            same(name, A, axis=axis)
            same(name, A, axis=axis, ddof=1)
        same("zmap", A, A[::-1] + 1.0, axis=axis)
        for bias in (True, False):
            same("describe", A, axis=axis, bias=bias, ddof=0)
            same("skew", A, axis=axis, bias=bias)
            for fisher in (True, False):
                same("kurtosis", A, axis=axis, bias=bias, fisher=fisher)
    for n in (1, 2, 3, 4):
        same("kstat", A, n=n, axis=0)
    for n in (1, 2):
        same("kstatvar", A, n=n, axis=1)
    same("moment", A, order=[0, 1, 2, 3])
    same("moment", A, order=2, center=0.3, axis=1, keepdims=True)
    same("sem", A, ddof=0)
    same("variation", A, ddof=1)


def test_samples_that_do_not_differ():
    x = np.full((4, 2), 3.0)
    x[:, 1] = [1.0, 2.0, 3.0, 5.0]
    with warnings.catch_warnings(action="ignore"):
        for name in ("zscore", "sem", "variation"):
            same(name, x)
    slope = ad.grad(lambda x: np.sum(stats.sem(x)))(x)
    assert np.all(np.isfinite(slope))
    assert not np.any(slope[:, 0])


def test_compiled():
    f = lambda a: np.sum(stats.skew(a) ** 2 + stats.kurtosis(a))
    np.testing.assert_allclose(ad.jit(ad.grad(f))(A), ad.grad(f)(A), rtol=1e-10)


def test_what_does_not_fit_is_refused():
    total = lambda f: ad.grad(lambda a: np.sum(f(a)))(A)
    for f, words in (
        (lambda a: stats.moment(a, []), "non-empty"),
        (lambda a: stats.moment(a, 1.5), "integral"),
        (lambda a: stats.kstat(a, 5), "1<=n<=4"),
        (lambda a: stats.kstatvar(a, 3), "n=1 or n=2"),
    ):
        with pytest.raises(ValueError, match=words):
            total(f)
    with pytest.raises(UnsupportedError, match="'order' is a traced value"):
        ad.grad(lambda n: np.sum(stats.moment(A, n)))(2.0)
