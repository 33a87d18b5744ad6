"""Continuous distributions against SciPy's, and their derivatives along fixed noise against differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import adjoint as ad
from adjoint.base.errors import DtypeError, RuleError, ShapeError
from adjoint.testing import check_grads

N = 20_000


def rng(seed=7):
    return ad.random.default_rng(seed)


@pytest.mark.parametrize("method, parameters, distribution", [
    ("random", (), stats.uniform()),
    ("uniform", (-1.0, 3.0), stats.uniform(-1, 4)),
    ("standard_normal", (), stats.norm()),
    ("normal", (2.0, 0.5), stats.norm(2, 0.5)),
    ("lognormal", (0.3, 0.8), stats.lognorm(0.8, scale=np.exp(0.3))),
    ("standard_exponential", (), stats.expon()),
    ("exponential", (2.5,), stats.expon(scale=2.5)),
    ("laplace", (1.0, 2.0), stats.laplace(1, 2)),
    ("logistic", (1.0, 2.0), stats.logistic(1, 2)),
    ("gumbel", (1.0, 2.0), stats.gumbel_r(1, 2)),
    ("standard_cauchy", (), stats.cauchy()),
    ("rayleigh", (1.5,), stats.rayleigh(scale=1.5)),
    ("weibull", (1.7,), stats.weibull_min(1.7)),
    ("pareto", (2.2,), stats.lomax(2.2)),
    ("power", (2.5,), stats.powerlaw(2.5)),
    ("triangular", (-1.0, 0.5, 2.0), stats.triang(0.5, -1, 3)),
    ("standard_gamma", (2.2,), stats.gamma(2.2)),
    ("gamma", (0.7, 3.0), stats.gamma(0.7, scale=3)),
    ("chisquare", (3.0,), stats.chi2(3)),
    ("f", (4.0, 6.0), stats.f(4, 6)),
    ("standard_t", (3.5,), stats.t(3.5)),
    ("beta", (0.4, 2.0), stats.beta(0.4, 2)),
])  # fmt: skip
def test_distributions(method, parameters, distribution):
    draw = getattr(rng(), method)
    sample = draw(*parameters, size=N)
    assert sample.shape == (N,)
    assert sample.dtype == np.float64
    assert stats.kstest(sample, distribution.cdf).pvalue > 1e-3
    # the numbers of a draw do not depend on how many are drawn, or in what shape
    again = getattr(rng(), method)
    if method not in ("f", "standard_t", "beta"):  # these draw twice
        assert_array_equal(again(*parameters, size=(2, 3)).ravel(), sample[:6])
        assert again(*parameters) == sample[6]
    assert np.shape(again(*parameters)) == ()
    assert again(*parameters, size=(0, 2)).shape == (0, 2)


@pytest.mark.parametrize("method, point", [
    ("uniform", (-0.5, 2.0)), ("normal", (0.3, 1.2)), ("lognormal", (0.1, 0.4)), ("exponential", (1.3,)),
    ("laplace", (0.2, 1.1)), ("logistic", (0.2, 1.1)), ("gumbel", (0.2, 1.1)), ("rayleigh", (1.4,)),
    ("weibull", (1.6,)), ("pareto", (3.0,)), ("power", (2.0,)), ("triangular", (-1.0, 0.4, 2.0)),
])  # fmt: skip
def test_derivatives_along_the_same_noise(method, point):
    def draws(*parameters):
        return getattr(rng(), method)(*parameters, size=5)

    check_grads(draws, point, order=2)
    tangents = tuple(1.0 for _ in point)
    series = ad.jet(draws, point, tuple([t, 0.0, 0.0] for t in tangents))[1]
    assert_allclose(series[0], ad.jvp(draws, point, tangents)[1])
    lanes = ad.vmap(ad.jacobian(draws))(np.array([point[0], point[0] * 1.01]), *[np.full(2, p) for p in point[1:]])
    assert_allclose(lanes[0], ad.jacobian(draws)(*point))


def test_the_gradient_of_an_expectation():
    def objective(theta):
        loc, scale = theta
        return np.mean(rng(3).normal(loc, scale, size=100_000) ** 2)

    loc, scale = ad.grad(objective)((0.7, 1.5))  # E x² = loc² + scale²
    assert_allclose([loc, scale], [1.4, 3.0], atol=0.05)


def test_gamma_is_differentiable_in_its_scale_and_refuses_its_shape():
    assert_allclose(ad.grad(lambda s: rng().gamma(2.0, s))(3.0), rng().gamma(2.0, 1.0))
    for call in (
        lambda a: rng().gamma(a),
        lambda a: rng().standard_gamma(a),
        lambda a: rng().chisquare(a),
        lambda a: rng().standard_t(a),
        lambda a: rng().f(a, 2.0),
        lambda a: rng().beta(1.0, a),
        lambda a: np.sum(rng().dirichlet(np.stack([a, a])) * np.arange(2)),
    ):
        with pytest.raises(RuleError, match="rejection"):
            ad.grad(call)(2.0)
        assert np.isfinite(call(2.0))
        assert ad.grad(lambda a, call=call: a * call(ad.stop_gradient(a)))(2.0) == call(2.0)
    # mapping is no differentiation
    a = np.array([0.5, 5.0])
    assert_array_equal(ad.vmap(lambda a: rng().standard_gamma(a))(a), [rng().standard_gamma(v) for v in a])


def test_beta_of_tiny_parameters_stays_within_bounds():
    x = rng().beta(1e-3, 2e-3, size=N)
    assert np.all((x >= 0) & (x <= 1))
    assert abs(x.mean() - 1 / 3) < 0.02


def test_dirichlet():
    alpha = np.array([0.5, 1.0, 3.0])
    x = rng().dirichlet(alpha, size=N)
    assert x.shape == (N, 3)
    assert_allclose(x.sum(axis=-1), 1.0)
    for i, a in enumerate(alpha):
        assert stats.kstest(x[:, i], stats.beta(a, alpha.sum() - a).cdf).pvalue > 1e-3
    assert rng().dirichlet(alpha).shape == (3,)


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_multivariate_normal(method):
    mean, cov = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 1.0]])
    x = rng().multivariate_normal(mean, cov, size=(N,), method=method)
    assert x.shape == (N, 2)
    assert_allclose(x.mean(axis=0), mean, atol=0.05)
    assert_allclose(np.cov(x.T), cov, atol=0.08)
    assert rng().multivariate_normal(mean, cov).shape == (2,)


def test_multivariate_normal_is_differentiable():
    def first(mean, root):
        return rng().multivariate_normal(mean, root @ root.T, size=3)

    check_grads(first, (np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.1, 1.0]])), order=2)
    with pytest.raises(ShapeError, match="multivariate_normal"):
        rng().multivariate_normal(np.zeros(3), np.eye(2))
    with pytest.raises(ValueError, match="method"):
        rng().multivariate_normal(np.zeros(2), np.eye(2), method="lu")


def test_single_precision():
    for method in ("random", "standard_normal", "standard_exponential"):
        x = getattr(rng(), method)(size=N, dtype=np.float32)
        assert x.dtype == np.float32
        assert_allclose(x, getattr(rng(), method)(size=N), rtol=1e-6, atol=1e-7)
        assert getattr(rng(), method)(dtype="f").dtype == np.float32
        with pytest.raises(TypeError, match=f"{method}: unsupported dtype int"):
            getattr(rng(), method)(dtype=int)
    assert rng().standard_gamma(2.0, dtype=np.float32).dtype == np.float32
    with pytest.raises(TypeError, match="standard_gamma"):
        rng().standard_gamma(2.0, dtype=np.float16)


def test_out():
    out = np.empty((2, 3))
    assert rng().random(out=out) is out
    assert_array_equal(out, rng().random(size=(2, 3)))
    assert rng().standard_gamma(2.0, out=out) is out
    with pytest.raises(ShapeError, match="standard_normal"):
        rng().standard_normal(size=4, out=out)


def test_parameters_broadcast():
    x = rng().normal(np.arange(3.0), [[1.0], [2.0]])
    z = rng().standard_normal((2, 3))
    assert_array_equal(x, np.arange(3.0) + np.array([[1.0], [2.0]]) * z)
    assert rng().normal(np.zeros(3), 1.0, size=(4, 3)).shape == (4, 3)


@pytest.mark.parametrize("call, error, message", [
    (lambda r: r.normal(0, -1), ValueError, "normal: scale must be not negative"),
    (lambda r: r.exponential([1.0, -2.0]), ValueError, "exponential: scale .* got -2"),
    (lambda r: r.uniform(2.0, 1.0), ValueError, "uniform: high - low"),
    (lambda r: r.weibull(0.0), ValueError, "weibull: a must be positive"),
    (lambda r: r.lognormal(0, -1), ValueError, "lognormal: sigma"),
    (lambda r: r.triangular(0, 3, 2), ValueError, "triangular: right - mode"),
    (lambda r: r.standard_gamma(-1.0), ValueError, "standard_gamma: shape"),
    (lambda r: r.dirichlet([1.0, 0.0]), ValueError, "dirichlet: alpha must be positive"),
    (lambda r: r.dirichlet(1.0), ShapeError, "dirichlet: alpha must be a vector"),
    (lambda r: r.normal(np.zeros(3), 1.0, size=4), ShapeError, "normal: parameters of shape"),
    (lambda r: r.normal(np.zeros(3), np.ones(2)), ShapeError, r"normal: the parameters have shapes \(3,\), \(2,\)"),
    (lambda r: r.normal(size=-1), ValueError, "normal: negative dimensions"),
    (lambda r: r.normal(size=2.5), TypeError, "normal: size must be"),
    (lambda r: r.normal("a"), DtypeError, "normal: loc must be a real number"),
    (lambda r: r.normal(1j), DtypeError, "normal: loc must be a real number"),
    (lambda r: ad.vmap(lambda s: r.normal(0.0, s))(np.array([1.0, -3.0])), ValueError, "normal: scale .* got -3"),
    (lambda r: ad.grad(lambda s: r.normal(0.0, s))(-1.0), ValueError, "normal: scale"),
    (lambda r: ad.grad(lambda s: r.normal([s, s]).sum())(1.0), TypeError, "normal: loc is a list that holds traced"),
])  # fmt: skip
def test_bad_parameters_name_the_method(call, error, message):
    generator = rng()
    with pytest.raises(error, match=message):
        call(generator)
    assert generator.counter == 0  # nothing was drawn
