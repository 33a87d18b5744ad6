"""Proximal and projected gradients, FISTA: models, rates, restarts."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize import proximal, sets


def squares(w, X, y):
    return 0.5 * np.sum((X @ w - y) ** 2)


@pytest.mark.row("16.4.1a")
def test_a_step_minimizes_the_linear_model():
    X = np.array([[1.0, 2.0], [0.5, -1.0], [0.3, 0.2]])
    y = np.array([1.0, 2.0, -1.0])
    w, gamma = np.array([0.4, -0.7]), 0.05
    term = proximal.l1(0.3)
    method = optimize.ProximalGradient(term, step_size=gamma)
    step = optimize.minimize(squares, w, X, y, method=method, max_iterations=1).value
    g = ad.grad(squares)(w, X, y)
    model = lambda p: g @ (p - w) + np.sum((p - w) ** 2) / (2 * gamma) + term(p)
    rng = np.random.default_rng(0)
    assert all(model(step) <= model(step + s * rng.normal(size=2)) for s in (1e-4, 1e-2, 1.0) for _ in range(50))


@pytest.mark.row("16.3.2", "16.4.2a")
def test_conditions_of_optimality_vanish_together():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(12, 6)), rng.normal(size=12)
    f = lambda x: 0.5 * np.sum((A @ x - b) ** 2)
    for the_set in (sets.nonnegative(), sets.simplex()):
        found = optimize.minimize(f, np.ones(6), method=optimize.FISTA(the_set), tol=1e-12)
        x, g = found.value, found.grad
        np.testing.assert_allclose(g, A.T @ (A @ x - b), atol=1e-12)
        for gamma in (1e-2, 1.0, 30.0):
            np.testing.assert_allclose(the_set.project(x - gamma * g), x, atol=1e-9)
        others = [the_set.project(3 * rng.normal(size=6)) for _ in range(100)]
        assert min(g @ (w - x) for w in others) >= -1e-9
    from scipy.optimize import nnls

    found = optimize.minimize(f, np.ones(6), method=optimize.ProjectedGradient(sets.nonnegative()), tol=1e-11)
    np.testing.assert_allclose(found.value, nnls(A, b)[0], atol=1e-9)
    lasso = optimize.minimize(f, np.ones(6), method=optimize.FISTA(proximal.l1(1.0)), tol=1e-12)
    for gamma in (1e-2, 0.5, 10.0):
        again = proximal.l1(1.0).prox(lasso.value - gamma * lasso.grad, gamma)
        np.testing.assert_allclose(again, lasso.value, atol=1e-9)


@pytest.mark.row("16.3.1a", "16.4a")
def test_projected_gradients_stay_in_the_set_and_are_proximal_ones():
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(9, 5)), rng.normal(size=9)
    f = lambda x: 0.5 * np.sum((A @ x - b) ** 2)
    seen = []
    for method in (optimize.ProjectedGradient(sets.simplex()), optimize.ProximalGradient(sets.simplex()),
                   optimize.ProximalGradient(proximal.from_set(sets.simplex()))):  # fmt: skip
        points = []
        optimize.minimize(f, np.ones(5), method=method, callback=lambda i, points=points: points.append(i.x))
        for x in points:
            assert abs(np.sum(x) - 1) < 1e-12
            assert np.min(x) >= 0
        seen.append(np.array(points))
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[0], seen[2])
    # one step is the minimizer of the linear model over the set
    x, gamma = np.ones(5) / 5, 0.01
    g = A.T @ (A @ x - b)
    step = optimize.minimize(f, x, method=optimize.ProjectedGradient(sets.simplex(), step_size=gamma), max_iterations=1)
    model = lambda p: g @ (p - x) + np.sum((p - x) ** 2) / (2 * gamma)
    others = [sets.simplex().project(x + rng.normal(size=5)) for _ in range(100)]
    assert all(model(step.value) <= model(p) + 1e-12 for p in others)


@pytest.mark.row("16.3.1a")
def test_projected_gradients_fall_like_their_rates():
    """O(1/T) where convex, linear where strongly convex; accelerated O(1/T²)."""
    H = np.diag(np.linspace(0.05, 1.0, 20))
    c = np.linspace(2.0, -1.0, 20)
    f = lambda x: 0.5 * (x - c) @ (H @ (x - c))
    box = sets.nonnegative()
    best = np.maximum(c, 0)
    history = optimize.minimize(
        f, np.zeros(20), method=optimize.ProjectedGradient(box, step_size=1.0), history=True
    ).history
    gap = history["fun"] - f(best)
    start = np.sum(best**2)
    t = np.arange(1, len(gap))
    assert np.all(gap[1:] <= start / (2 * t) + 1e-12)
    assert np.all(gap[1:] <= (1 - 0.05) ** t * gap[0] + 1e-12)


@pytest.mark.row("16.4.1b")
def test_fista_keeps_its_bound_and_restarts_make_it_linear():
    # curvatures from 1e-4 to 1: without restarts the momentum overshoots again and again
    h = np.logspace(-4, 0, 60)
    c = np.cos(np.arange(60.0))
    f = lambda x: 0.5 * np.sum(h * (x - c) ** 2)
    term = proximal.l1(1e-3)
    best = np.sign(c) * np.maximum(np.abs(c) - 1e-3 / h, 0)
    total = lambda x: f(x) + term(x)
    plain = optimize.FISTA(term, step_size=1.0, restart=False)
    history = optimize.minimize(f, np.zeros(60), method=plain, history=True, max_iterations=400, tol=1e-14).history
    t = np.arange(1, 401)
    assert np.all(history["fun"][1:] - total(best) <= 2 * np.sum(best**2) / (t + 1) ** 2)
    with_restarts = optimize.minimize(f, np.zeros(60), method=optimize.FISTA(term), tol=1e-10, max_iterations=20_000)
    without = optimize.minimize(
        f, np.zeros(60), method=optimize.FISTA(term, restart=False), tol=1e-10, max_iterations=20_000)  # fmt: skip
    plainest = optimize.minimize(f, np.zeros(60), method=optimize.ProximalGradient(term, step_size=1.0), tol=1e-10,
                                 max_iterations=4000)  # fmt: skip
    assert with_restarts.status == "converged"
    np.testing.assert_allclose(with_restarts.value, best, atol=1e-5)
    assert with_restarts.iterations < 0.5 * without.iterations
    assert plainest.status == "max iterations"


def test_fista_never_makes_the_value_larger():
    rng = np.random.default_rng(2)
    A, b = rng.normal(size=(30, 20)) * np.logspace(-2, 0, 20), rng.normal(size=30)
    f = lambda x: np.sum(np.log1p(np.exp(A @ x))) - b @ (A @ x)
    history = optimize.minimize(f, np.zeros(20), method=optimize.FISTA(proximal.l1(0.01)), history=True).history["fun"]
    assert np.all(np.diff(history) <= 1e-12)


def test_terms_that_are_infinite_at_the_start():
    found = optimize.minimize(
        lambda x: np.sum(x), np.zeros(2), method=optimize.ProximalGradient(proximal.log_barrier(2.0))
    )
    np.testing.assert_allclose(found.value, 2.0, atol=1e-6)


def test_fista_converges_where_rounding_hides_how_the_value_falls():
    # terms of ‖x‖² / γ cancel in f, so that its values tell less of a step than its gradients
    draws = np.random.default_rng(0)
    Q = np.linalg.qr(draws.normal(size=(5, 5)))[0]
    H, b = Q * np.geomspace(1.0, 1e5, 5) @ Q.T, 3.0 * draws.normal(size=5)
    f = lambda x: 0.5 * x @ H @ x - b @ x
    method = optimize.FISTA(proximal.l1(0.3))
    found = optimize.minimize(f, np.ones(5) / 5, method=method, tol=1e-8, max_iterations=20_000)
    pulled = found.value - (H @ found.value - b)
    soft = np.sign(pulled) * np.maximum(np.abs(pulled) - 0.3, 0.0)
    assert found.status == "converged"
    assert np.max(np.abs(found.value - soft)) < 2e-8

    S, m = np.array([[1.2, 0.2, 0.0], [0.2, 2.2, 0.1], [0.0, 0.1, 3.2]]), np.array([0.6, 0.5, 0.7])
    g = lambda w: 0.5 * w @ S @ w - m @ w
    weights = optimize.minimize(g, np.ones(3) / 3, subject_to=sets.simplex(), tol=1e-13)
    equations = np.block([[S, np.ones((3, 1))], [np.ones((1, 3)), np.zeros((1, 1))]])
    assert weights.status == "converged"
    assert weights.iterations < 100
    np.testing.assert_allclose(weights.value, np.linalg.solve(equations, np.append(m, 1.0))[:3], rtol=0, atol=1e-12)
