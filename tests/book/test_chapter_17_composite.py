"""Chapter 17: compositions ℓ∘f by exact and quadratic models of ℓ; natural gradients."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize as theirs
from scipy import stats

import adjoint as ad
from adjoint import curvature, optimize
from adjoint.optimize.second_order.prox_linear import LOSSES, solve_inside

RNG = np.random.default_rng(17)
X, LABELS = RNG.normal(size=(20, 3)), RNG.integers(0, 4, 20)


def cross_entropy(z, y):
    """-log softargmax(z)_y, of one sample."""
    return np.log(np.sum(np.exp(z - np.max(z)))) + np.max(z) - z[y]


def network(w, x):
    return np.tanh(x @ w["first"]) @ w["second"]


@pytest.mark.row("17.2.1a")
def test_prox_linear_steps_are_minimizers_of_the_partly_linear_model():
    J, z, eta = RNG.normal(size=(7, 3)), RNG.normal(size=7), 0.7
    for name, outer in LOSSES.items():
        model = lambda p, outer=outer: float(outer.value(z + J @ p)) + 0.5 * eta * p @ p
        p, u = solve_inside(outer, J, z, eta, 1e-12)
        best = min(theirs.minimize(model, p + s, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13,
                                                                              "maxiter": 5000}).fun
                   for s in (0.0, 0.1))  # fmt: skip
        assert model(p) <= best + 1e-9, name
        assert_allclose(J.T @ u, -eta * p, atol=1e-8)  # u ∈ ∂ℓ: the gradient inside is J*u, one push and one pull
    slope = np.arange(7.0)
    affine = (lambda v: np.sum(slope * v), lambda v, t: v - t * slope)
    p, _ = solve_inside(optimize_outer(affine), J, z, eta, 1e-13)
    assert_allclose(p, -J.T @ slope / eta, atol=1e-8)  # gradient descent with the step 1/η


def optimize_outer(pair):
    return type(LOSSES["absolute"])(*pair)


@pytest.mark.row("17.2.1a")
def test_robust_phase_retrieval_finds_the_signal_among_outliers():
    A, w = RNG.normal(size=(40, 5)), RNG.normal(size=5)
    b = (A @ w) ** 2
    b[:6] += 10.0
    found = optimize.prox_linear("absolute", lambda x: (A @ x) ** 2 - b, w + 0.3 * RNG.normal(size=5))
    assert found.converged
    assert_allclose(found.value * np.sign(found.value @ w), w, atol=1e-10)
    squares = optimize.least_squares(lambda x: (A @ x) ** 2 - b, w).value
    assert np.max(np.abs(squares - w)) > 1e-3


@pytest.mark.row("17.2.2", "17.2.4")
def test_the_generalized_gauss_newton_matrix():
    w = {"first": RNG.normal(size=(3, 2)), "second": RNG.normal(size=(2, 4))}
    flat, back = ad.tree.ravel(w)
    samples = (X, LABELS)
    G = curvature.gauss_newton(cross_entropy, lambda v, x: network(back(v), x), samples=samples)(flat)
    assert np.linalg.eigvalsh(G)[0] > -1e-12
    single = [curvature.gauss_newton(lambda z, y=y: cross_entropy(z, y), lambda v, x=x: network(back(v), x))(flat)
              for x, y in zip(X, LABELS, strict=True)]  # fmt: skip
    assert_allclose(G, np.mean(single, axis=0), atol=1e-12)
    u = RNG.normal(size=flat.shape)
    product = curvature.gauss_newton_product(cross_entropy, lambda v, x: network(back(v), x), (flat,), (u,),
                                             samples=samples)  # fmt: skip
    assert_allclose(product, G @ u, atol=1e-12)
    linear = curvature.gauss_newton(cross_entropy, lambda v, x: x @ v.reshape(3, 4), samples=samples)
    total = lambda v: np.mean(ad.vmap(lambda x, y: cross_entropy(x @ v.reshape(3, 4), y))(X, LABELS))
    assert_allclose(linear(np.ones(12)), ad.hessian(total)(np.ones(12)), atol=1e-12)  # f linear: Newton's method


@pytest.mark.row("17.2.2")
def test_a_step_with_the_generalized_gauss_newton_matrix():
    """w⁺ = w - (J*QJ)⁻¹ J*q by method="newton", where the Hessian itself is not positive definite."""
    x = np.array([-1.0, 0.5, 2.0])
    model = lambda w: np.sin(w[0] * x) + w[1] * x
    loss = lambda z: np.sum(np.cosh(z - np.array([0.5, 1.0, -1.0])))
    f = lambda w: loss(model(w))
    w = np.array([2.0, 0.0])
    assert np.linalg.eigvalsh(ad.hessian(f)(w))[0] < 0
    product = lambda w, u: curvature.gauss_newton_product(loss, model, (w,), (u,))
    J, Q = ad.jacobian(model)(w), ad.hessian(loss)(model(w))
    d = np.linalg.solve(J.T @ Q @ J, J.T @ ad.grad(loss)(model(w)))
    for method in ("newton", optimize.NewtonCG()):
        found = optimize.minimize(f, w, method=method, curvature=product)
        assert found.converged
        assert np.linalg.eigvalsh(ad.hessian(f)(found.value))[0] > 0
    one = optimize.minimize(f, w, method=optimize.Newton(), curvature=product, max_iterations=1).value
    step = (w - one) @ d / (d @ d)
    assert_allclose(w - one, step * d, atol=1e-10)


@pytest.mark.row("17.3")
def test_losses_are_negative_log_likelihoods():
    z, y = RNG.normal(size=5), RNG.normal(size=5)
    gaussian = -np.sum(stats.norm.logpdf(y, z, 1.0))
    assert_allclose(0.5 * np.sum((y - z) ** 2) + 2.5 * np.log(2 * np.pi), gaussian)
    for label in (0, 1):
        logistic = np.logaddexp(0.0, z[0]) - label * z[0]
        assert_allclose(logistic, -stats.bernoulli.logpmf(label, 1 / (1 + np.exp(-z[0]))))


@pytest.mark.row("17.3.1a")
def test_the_natural_gradient_is_the_metric_of_the_divergence():
    model = lambda w: np.stack([w[0] * w[1], np.sin(w[0]), w[1] ** 2])
    w, direction = np.array([0.7, -0.4]), np.array([0.3, 1.0])
    F = curvature.fisher(cross_entropy, model, support=np.arange(3))(w)
    log_p = lambda w: model(w) - np.log(np.sum(np.exp(model(w))))
    divergence = lambda d: np.sum(np.exp(log_p(w)) * (log_p(w) - log_p(w + d)))
    errors = [divergence(h * direction) - 0.5 * h**2 * direction @ F @ direction for h in (1e-2, 5e-3)]
    assert 7.0 < errors[0] / errors[1] < 9.0  # the error is of third order
    logit = lambda theta, y: np.logaddexp(0.0, theta) - y * theta
    p = 1 / (1 + np.exp(-0.8))
    assert_allclose(curvature.output_fisher(logit, 0.8, support=np.array([0.0, 1.0])), [[p * (1 - p)]])
    # one step of the method is w - F⁻¹ ∇L, where the search takes the whole of it
    L = lambda w: cross_entropy(model(w), 1)
    product = lambda w, u: curvature.fisher_product(cross_entropy, model, (w,), (u,), support=np.arange(3))
    one = optimize.minimize(L, w, method="newton", curvature=product, max_iterations=1)
    d = np.linalg.solve(F, ad.grad(L)(w))
    assert_allclose((w - one.value) * d[0] / (w - one.value)[0], d, rtol=1e-9)


@pytest.mark.row("17.3.1b")
def test_natural_gradient_is_gauss_newton_is_newton_for_softmax_regression():
    model = lambda v, x: x @ v.reshape(3, 4)
    v = RNG.normal(size=12)
    F = curvature.fisher(cross_entropy, model, inputs=X, support=np.arange(4))(v)
    G = curvature.gauss_newton(cross_entropy, model, samples=(X, LABELS))(v)
    H = ad.hessian(lambda v: np.mean(ad.vmap(lambda x, y: cross_entropy(model(v, x), y))(X, LABELS)))(v)
    assert_allclose(F, G, atol=1e-12)
    assert_allclose(F, H, atol=1e-12)


@pytest.mark.row("17.3.2a")
def test_labels_are_drawn_from_the_model_not_taken_from_the_data():
    model = lambda v, x: x @ v.reshape(3, 4)
    v = RNG.normal(size=12)
    exact = curvature.fisher(cross_entropy, model, inputs=X, support=np.arange(4))(v)
    p = np.exp(X @ v.reshape(3, 4))
    p = p / p.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    draws = np.array([rng.choice(4, 4000, p=row) for row in p])
    estimate = curvature.fisher(cross_entropy, model, inputs=X, samples=draws)(v)
    few = curvature.fisher(cross_entropy, model, inputs=X, samples=draws[:, :40])(v)
    error = lambda M: np.linalg.norm(M - exact) / np.linalg.norm(exact)
    assert error(estimate) < 0.02 < 2 * error(few)
    assert error(curvature.empirical_fisher(cross_entropy, model, (X, LABELS))(v)) > 0.1
