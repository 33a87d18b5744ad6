"""Correlation, regression, entropies, distances and ranks: SciPy's values, derivatives under every transformation."""

import numpy as np
import pytest
import scipy.stats as theirs

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import stats
from tests.numpy.checking import Case, every_check
from tests.scipy.signal.agreement import CHECKS
from tests.scipy.stats.agreement import A, W, X, Y, parts, same

FLAGS = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
APART = np.array([1.3, 0.1, 2.5, 0.9, 1.7, 0.5, 2.1])
CASES = [
    Case("pearsonr", lambda x, y: list(stats.pearsonr(x, y)), (X, Y)),
    Case("pointbiserialr", lambda y: list(stats.pointbiserialr(FLAGS, y)), (Y,)),
    Case("linregress", lambda x, y: parts(stats.linregress(x, y)), (X, Y)),
    Case("entropy", lambda p: stats.entropy(p, base=2.0), (A,)),
    Case("relative entropy", lambda p, q: stats.entropy(p, q, axis=1), (A, A[::-1])),
    Case("wasserstein", stats.wasserstein_distance, (APART, APART[::-1] + 0.2, W, W**2)),
    Case("energy", stats.energy_distance, (APART, APART[::-1] + 0.2, W, W**2)),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


def test_values():
    for alternative in ("two-sided", "less", "greater"):
        same("pearsonr", X, Y, alternative=alternative)
        same("linregress", X, Y, alternative=alternative)
    for axis in (0, 1, None):
        same("pearsonr", A, A[::-1].copy(), axis=axis)
        same("linregress", A, A[::-1].copy(), axis=axis)
    same("linregress", A, A[::-1].copy(), axis=1, keepdims=True)
    same("pearsonr", X[:2], Y[:2])
    same("linregress", X[:2], Y[:2])
    same("pointbiserialr", FLAGS, Y)
    same("pointbiserialr", FLAGS, Y, keepdims=True)
    same("entropy", A, A[::-1].copy(), base=3.0, axis=1, keepdims=True)
    same("wasserstein_distance", X, A[0])
    same("energy_distance", X, A[0])
    same("wasserstein_distance", X, Y, W, W[::-1].copy())
    same("energy_distance", X, Y, W, W[::-1].copy())


def test_results_have_the_fields_of_scipy():
    seen = []

    def f(x, y):
        line, r = stats.linregress(x, y), stats.pearsonr(x, y)
        slope, intercept, *_ = line
        seen.append((len(line), line[0] is line.slope, r.correlation is r.statistic))
        return slope + intercept + line.intercept_stderr + r.pvalue

    wanted, r = theirs.linregress(X, Y), theirs.pearsonr(X, Y)
    value = ad.value_and_grad(f)(X, Y)[0]
    assert value == pytest.approx(wanted.slope + wanted.intercept + wanted.intercept_stderr + r.pvalue)
    assert seen == [(5, True, True)]


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks(method):
    ties = np.round(2 * A) / 2
    for axis in (None, 0, 1):
        f = lambda a, axis=axis: stats.rankdata(a, method, axis=axis) + 0.0 * np.sum(a)
        np.testing.assert_array_equal(ad.vjp(f, ties)[0], theirs.rankdata(ties, method, axis=axis))
        np.testing.assert_array_equal(ad.jit(f)(ties), theirs.rankdata(ties, method, axis=axis))
        np.testing.assert_array_equal(ad.vmap(f)(np.stack([ties, -ties]))[1], theirs.rankdata(-ties, method, axis=axis))


def test_compiled():
    f = lambda x, y: stats.linregress(x, y).pvalue + stats.pearsonr(x, y).statistic
    np.testing.assert_allclose(ad.jit(ad.grad(f))(X, Y), ad.grad(f)(X, Y), rtol=1e-9)


def test_what_does_not_fit_is_refused():
    for f, words in (
        (lambda x: stats.linregress(0.0 * x, Y).slope, "all x values are identical"),
        (lambda x: stats.pearsonr(x[:1], Y[:1]).statistic, "length at least 2"),
        (lambda x: stats.pearsonr(x, 1j * Y).statistic, "complex"),
        (lambda x: stats.pearsonr(x, Y, alternative="more").pvalue, "`alternative` must be"),
        (lambda x: stats.entropy(x, base=-1.0), "positive number"),
        (lambda x: stats.wasserstein_distance(x, []), "can't be empty"),
        (lambda x: stats.wasserstein_distance(x, Y, W[:3]), "same size"),
        (lambda x: stats.wasserstein_distance(x, Y, -W), "non-negative"),
        (lambda x: np.sum(stats.rankdata(x, "best")), "unknown method"),
    ):
        with pytest.raises(ValueError, match=words):
            ad.grad(f)(X)
    with pytest.raises(UnsupportedError, match="draws samples"):
        ad.grad(lambda x: stats.pearsonr(x, Y, method=theirs.PermutationMethod()).statistic)(X)
