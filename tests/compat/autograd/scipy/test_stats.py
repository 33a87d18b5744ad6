"""Densities and distribution functions: values against SciPy's, derivatives against differences."""

import numpy as np
import pytest
import scipy.stats

import adjoint as ad
from adjoint.compat.autograd.scipy import stats

EDGES = np.array([-1.0, -0.2, 0.0, 0.3, 0.7, 1.0, 2.0, 5.0, np.inf, -np.inf, np.nan])
INSIDE = np.array([0.15, 0.42, 0.8])
CASES = {
    "norm": [(0.3, 1.7), (0.0, -1.0)],
    "t": [(3.0,), (2.5, 0.3, 1.7), (-1.0,)],
    "gamma": [(2.0,), (1.0,), (0.5, 0.1, 2.0), (-1.0,)],
    "beta": [(2.0, 3.0), (1.0, 1.0), (0.5, 0.7, -0.1, 2.0), (-1.0, 1.0)],
    "chi2": [(3.0,), (2.0,), (1.0, 0.1, 2.0)],
}


@pytest.mark.parametrize("name", CASES)
def test_values(name) -> None:
    module = getattr(stats, name)
    for parameters in CASES[name]:
        for function in module.__all__:
            with np.errstate(all="ignore"):
                expected = getattr(getattr(scipy.stats, name), function)(EDGES, *parameters)
                found = getattr(module, function)(EDGES, *parameters)
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14, err_msg=f"{function}{parameters}")


@pytest.mark.parametrize("name", CASES)
def test_derivatives_in_all_arguments(name) -> None:
    module, parameters = getattr(stats, name), CASES[name][0]
    full = (*parameters, *((0.02, 1.3) if name != "norm" else ()))
    for function in module.__all__:
        ad.check_grads(getattr(module, function), (INSIDE, *full), order=1 if "cdf" in function else 2, rtol=1e-6)


def test_nothing_is_nan_outside() -> None:
    """Where a density is zero its derivative is zero."""
    for name, parameters in [("gamma", (2.0,)), ("beta", (2.0, 3.0)), ("chi2", (3.0,))]:
        for function in ("pdf", "cdf"):
            f = getattr(getattr(stats, name), function)
            slope = ad.grad(lambda x, f=f, p=parameters: np.sum(f(x, *p)))(np.array([-1.0, 0.5, -3.0]))
            assert slope[0] == slope[2] == 0.0
            assert slope[1] != 0.0


def test_counts() -> None:
    k = np.array([-1.0, 0.0, 1.0, 2.5, 7.0, np.nan])
    for mu in (0.5, 3.0, -1.0):
        for function in stats.poisson.__all__:
            expected = getattr(scipy.stats.poisson, function)(k, mu)
            np.testing.assert_allclose(getattr(stats.poisson, function)(k, mu), expected, rtol=1e-10)
    for function in stats.poisson.__all__:
        ad.check_grads(lambda mu, f=function: getattr(stats.poisson, f)(np.array([0.0, 2.0, 5.0]), mu), (1.7,), order=2)


def test_points_of_the_simplex() -> None:
    alpha, rng = np.array([0.5, 2.0, 3.0]), np.random.default_rng(0)
    one, many = rng.dirichlet(alpha), rng.dirichlet(alpha, 4).T
    for x in (one, one[:2], many):
        np.testing.assert_allclose(stats.dirichlet.logpdf(x, alpha), scipy.stats.dirichlet.logpdf(x, alpha))
        np.testing.assert_allclose(stats.dirichlet.pdf(x, alpha), scipy.stats.dirichlet.pdf(x, alpha))
    ad.check_grads(stats.dirichlet.logpdf, (one, alpha))
    assert stats.dirichlet.rvs(alpha, 2, random_state=0).shape == (2, 3)


def test_vectors() -> None:
    rng = np.random.default_rng(1)
    factor, mean = rng.normal(size=(3, 3)), rng.normal(size=3)
    cov = factor @ factor.T + np.eye(3)
    theirs, mine = scipy.stats.multivariate_normal, stats.multivariate_normal
    for shape in [(3,), (1, 3), (4, 3), (2, 4, 3)]:
        for c in (cov, 2.0, np.array([1.0, 2.0, 3.0])):
            x = rng.normal(size=shape)
            found, expected = mine.logpdf(x, mean, c), theirs.logpdf(x, mean, c)
            assert np.shape(found) == np.shape(expected)
            np.testing.assert_allclose(found, expected)
    for x in (0.3, np.array([0.1, 0.2, 0.3, 0.4])):
        np.testing.assert_allclose(mine.pdf(x), theirs.pdf(x))
        np.testing.assert_allclose(mine.logpdf(x, 0.3, 2.0), theirs.logpdf(x, 0.3, 2.0))
    np.testing.assert_allclose(mine.entropy(mean, cov), theirs.entropy(mean, cov))
    symmetric = lambda x, m, l: mine.logpdf(x, m, l @ l.T + np.eye(3))
    ad.check_grads(symmetric, (rng.normal(size=(2, 3)), mean, factor))


def test_one_triangle_of_a_covariance_is_read() -> None:
    rng = np.random.default_rng(2)
    theirs, mine = scipy.stats.multivariate_normal, stats.multivariate_normal
    cov, x, mean = 3 * np.eye(3) + rng.uniform(-1, 1, (3, 3)), rng.normal(size=3), rng.normal(size=3)
    for f, other in (
        (lambda c: mine.logpdf(x, mean, c), lambda c: theirs.logpdf(x, mean, c)),
        (lambda c: mine.entropy(mean, c), lambda c: theirs.entropy(mean, c)),
    ):
        np.testing.assert_allclose(f(cov), other(cov))
        v = rng.normal(size=(3, 3))
        wanted = (other(cov + 1e-5 * v) - other(cov - 1e-5 * v)) / 2e-5
        np.testing.assert_allclose(np.sum(ad.grad(f)(cov) * v), wanted, rtol=1e-7)


def test_singular_covariances() -> None:
    theirs, mine, cov = scipy.stats.multivariate_normal, stats.multivariate_normal, np.diag([1.0, 2.0, 0.0])
    mean, x = np.array([0.3, 0.1, 0.5]), np.array([[0.2, -1.0, 0.5], [1.1, 0.4, 0.5], [0.0, 0.0, 0.7]])
    for c in (cov, cov + np.eye(3)):
        np.testing.assert_allclose(mine.logpdf(x, mean, c, True), theirs.logpdf(x, mean, c, allow_singular=True))
    slope = ad.grad(lambda x: np.sum(mine.logpdf(x, mean, cov, allow_singular=True)))(x[:2])
    np.testing.assert_allclose(slope, -(x[:2] - mean) / [1.0, 2.0, 1.0])
    with pytest.raises(TypeError, match="no derivative in the covariance"):
        ad.grad(lambda c: mine.logpdf(mean, mean, c, allow_singular=True))(cov)
