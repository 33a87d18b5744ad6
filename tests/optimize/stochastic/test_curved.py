"""Stochastic Newton, Gauss-Newton and natural gradient: unbiased curvature, batches of their own, convergence."""

import itertools
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.optimize import FiniteSum, NaturalGradient, StochasticGaussNewton, StochasticNewton, train
from tests.optimize.stochastic.problems import coins, logistic

X, Y = coins(120)
RNG = lambda seed=0: ad.random.default_rng(seed)
outer = lambda theta, y: np.logaddexp(0.0, theta) - y * theta
model = lambda w, x: np.dot(x, w)


def minimizer() -> Any:
    return ad.optimize.minimize(lambda w: np.mean(logistic(w, X, Y)), np.zeros(2), tol=1e-10).value


@pytest.mark.row("17.1.7")
def test_newton() -> None:
    """E[H(w; S)] = ∇²L over all batches of two; another size for S' than for S; logistic regression converges."""
    few = FiniteSum(logistic, (X[:5], Y[:5]))
    w = np.array([0.2, -0.4])
    curvature = lambda batch: ad.hessian(lambda w: few.value(w, np.array(batch)))(w)
    every = [curvature(batch) for batch in itertools.product(range(5), repeat=2)]
    np.testing.assert_allclose(np.mean(every, axis=0), ad.hessian(few.value)(w), rtol=1e-12)
    method = StochasticNewton(ad.optimize.updates.inverse_sqrt(0.5, 20), damping=1e-2, curvature_batch=40)
    found = train(logistic, np.zeros(2), (X, Y), method, batch=30, epochs=60, rng=RNG())
    np.testing.assert_allclose(found.value, minimizer(), atol=0.15)
    whole = StochasticNewton(1.0, damping=1e-2, curvature_batch=60)
    found = train(logistic, np.zeros(2), (X, Y), whole, epochs=30, rng=RNG())
    np.testing.assert_allclose(found.value, minimizer(), atol=1e-6)


@pytest.mark.row("17.1.7")
def test_batches_are_independent() -> None:
    """The step of one seed by hand: S is the batch of the epoch, S' another draw."""
    method = StochasticNewton(0.7, damping=0.1, curvature_batch=11)
    w = np.array([0.2, -0.4])
    found = train(logistic, w, (X, Y), method, rng=RNG(5))
    mean = FiniteSum(logistic, (X, Y))
    drawn = mean.sample(RNG(5).at(1).at(0), 11)
    H = ad.hessian(lambda w: mean.value(w, drawn))(w)
    np.testing.assert_allclose(
        found.value, w - 0.7 * np.linalg.solve(H + 0.1 * np.eye(2), mean.gradient(w)), rtol=1e-12
    )


@pytest.mark.row("17.2.4")
def test_gauss_newton() -> None:
    """The mean of JᵀQJ of the examples is that of the whole; exponentials are fitted."""
    curved = lambda w, x: np.exp(np.dot(x, w))
    square = lambda z, y: 0.5 * (z - y) ** 2
    w = np.array([0.2, -0.4])
    one = lambda x, y: ad.curvature.gauss_newton(lambda z: square(z, y), lambda w: curved(w, x))(w)
    each = np.array([one(x, y) for x, y in zip(X[:6], Y[:6], strict=True)])
    whole = ad.curvature.gauss_newton(square, curved, samples=(X[:6], Y[:6]))(w)
    np.testing.assert_allclose(each.mean(axis=0), whole, rtol=1e-12)
    labels = np.exp(0.5 * X @ np.array([1.0, -1.0]))
    method = StochasticGaussNewton(curved, square, 0.5, damping=0.1, curvature_batch=80)
    found = train(method.loss, np.zeros(2), (0.5 * X, labels), method, batch=40, epochs=60, rng=RNG())
    np.testing.assert_allclose(found.value, [1.0, -1.0], atol=1e-6)


@pytest.mark.row("17.3.2a")
def test_natural_gradient() -> None:
    """Outcomes of the model, not of the data: drawn ones tend to the exact matrix, the empirical one is another."""
    w = np.array([1.5, 0.3])
    exact = ad.curvature.fisher(outer, model, inputs=X, support=np.array([0.0, 1.0]))(w)
    p = 1 / (1 + np.exp(-(X @ w)))
    np.testing.assert_allclose(exact, (X * (p * (1 - p))[:, None]).T @ X / len(X), rtol=1e-12)
    draws = (np.random.default_rng(0).uniform(size=(len(X), 2000)) < p[:, None]).astype(float)
    drawn = ad.curvature.fisher(outer, model, inputs=X, samples=draws)(w)
    np.testing.assert_allclose(drawn, exact, rtol=0.05)
    empirical = ad.curvature.empirical_fisher(outer, model, (X, Y))(w)
    assert np.max(np.abs(empirical - exact)) > 0.3 * np.max(np.abs(exact))
    coin = lambda rng, theta: np.where(rng.uniform() < 1 / (1 + np.exp(-theta)), 1.0, 0.0)
    settings: list[dict[str, Any]] = [{"support": (0.0, 1.0)}, {"draw": coin, "draws": 8}]
    for options in settings:
        method = NaturalGradient(model, outer, 0.7, damping=1e-2, curvature_batch=60, **options)
        found = train(method.loss, np.zeros(2), (X, Y), method, epochs=40, rng=RNG())
        np.testing.assert_allclose(found.value, minimizer(), atol=1e-4)


def test_many_parameters_by_conjugate_gradients() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 250))
    y = x @ rng.normal(size=250)
    method = StochasticNewton(1.0, damping=1e-3, curvature_batch=2000, iterations=200)
    loss = lambda w, x, y: 0.5 * (x @ w - y) ** 2
    found = train(loss, np.zeros(250), (x, y), method, epochs=2, rng=RNG())
    assert found.history["fun"][1] < 0.5 * found.history["fun"][0]


def test_refusals() -> None:
    with pytest.raises(TypeError, match="rng="):
        train(logistic, np.zeros(2), (X, Y), StochasticNewton())
    with pytest.raises(ValueError, match="120 examples"):
        train(logistic, np.zeros(2), (X, Y), StochasticNewton(curvature_batch=500), rng=RNG())
    with pytest.raises(TypeError, match="support="):
        method = NaturalGradient(model, outer)
        train(method.loss, np.zeros(2), (X, Y), method, rng=RNG())
