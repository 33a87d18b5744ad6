"""Chapters 15 and 16: objectives, oracles, gradient descent, momentum, acceleration; lecture and notes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import optimize

MU, BETA = 0.1, 1.0
bowl = lambda w: 0.05 * w[0] ** 2 + 0.5 * w[1] ** 2


def run(method, steps, f=bowl, start=(1.0, 1.0), **options):
    return optimize.minimize(f, np.array(start), method=method, max_iterations=steps, tol=0.0, history=True, **options)


@pytest.mark.row("16.1", "A2.3.a", "15.2b")
def test_gradient_descent_on_the_objective_of_the_figure():
    assert_allclose(run(optimize.GradientDescent(0.5), 10).value, [0.5987369392, 9.765625e-4], rtol=1e-9)
    assert_allclose(run(optimize.GradientDescent(1.9), 10).value, [0.1215766546, 0.3486784401], rtol=1e-9)
    seen = []
    run(optimize.GradientDescent(1.9), 6, callback=lambda now: seen.append(now.x[1]))
    assert_allclose(seen, [(-0.9) ** t for t in range(1, 7)])
    assert run(optimize.GradientDescent(2.1), 60).history["fun"][-1] > 1e3 * bowl(np.ones(2))


@pytest.mark.row("16.1.1", "15.3b")
@pytest.mark.parametrize("step", [0.3, 1.0])
def test_a_step_minimizes_the_linear_model_plus_proximity(step):
    w = np.array([1.0, 1.0])
    g = ad.grad(bowl)(w)
    model = lambda v: bowl(w) + g @ (v - w) + np.sum((v - w) ** 2) / (2 * step)
    template = optimize.minimize(model, w, method="newton", tol=1e-14).value
    assert_allclose(run(optimize.GradientDescent(step), 1).value, template, atol=1e-14)


@pytest.mark.row("15.3a")
def test_the_proximal_point_of_a_quadratic():
    A, w, step = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -2.0]), 0.7
    prox = optimize.minimize(lambda v: 0.5 * v @ A @ v + np.sum((v - w) ** 2) / (2 * step), w, tol=1e-12).value
    assert_allclose(prox, np.linalg.solve(np.eye(2) + step * A, w), rtol=1e-9)


@pytest.mark.row("15.1", "15.2a")
def test_the_answer_and_its_counts():
    calls = []

    def counted(w):
        calls.append(1)
        return bowl(w)

    found = optimize.minimize(counted, np.ones(2), method=optimize.GradientDescent(1.0), max_iterations=7, history=True)
    assert len(calls) == found.evaluations["value"] == found.evaluations["gradient"] == 8
    assert set(found.evaluations) == set(optimize.GradientDescent.needs)
    for name in ("fun", "x", "grad", "niter", "status", "history"):
        assert getattr(found, name) is not None
    assert_allclose(found.history["fun"][-1], found.fun)
    with pytest.raises(ad.RuleError, match="needs the oracle 'hessian'"):
        optimize.minimize(bowl, np.ones(2), grad=ad.grad(bowl), method="newton")


@pytest.mark.row("16.1.3a")
def test_heavy_ball_with_the_best_constants():
    method = optimize.HeavyBall.for_curvatures(MU, BETA)
    assert_allclose([method.momentum, method.step_size], [0.2698738636, 2.3088615702], rtol=1e-9)
    points = []
    run(method, 60, callback=lambda now: points.append(np.linalg.norm(now.x)))
    factor = (points[-1] / points[19]) ** (1 / 40)
    assert_allclose(factor, 0.5194938533, rtol=0.05)
    best = 2 / (MU + BETA)
    points.clear()
    run(optimize.GradientDescent(best), 60, callback=lambda now: points.append(np.linalg.norm(now.x)))
    assert_allclose((points[-1] / points[19]) ** (1 / 40), 0.8181818182, rtol=1e-6)
    plain, none = run(optimize.GradientDescent(0.5), 5), run(optimize.HeavyBall(0.5, 0.0), 5)
    assert_allclose(none.value, plain.value)


@pytest.mark.row("16.1.3b")
def test_acceleration_on_the_worst_quadratic():
    n, steps = 101, 50
    chain = lambda w: 0.25 * (0.5 * (w[0] ** 2 + np.sum((w[1:] - w[:-1]) ** 2) + w[-1] ** 2) - w[0])
    exact = 1 - np.arange(1, n + 1) / (n + 1)
    lowest, distance = chain(exact), np.sum(exact**2)
    fast = run(optimize.Nesterov(1.0), steps, chain, np.zeros(n)).history["fun"] - lowest
    slow = run(optimize.GradientDescent(1.0), steps, chain, np.zeros(n)).history["fun"] - lowest
    t = np.arange(1, steps + 1)
    assert np.all(fast[1:] <= 2 * distance / (t + 1) ** 2)
    assert fast[-1] < slow[-1] / 2


@pytest.mark.row("16.1.3b")
def test_acceleration_of_strongly_convex_functions_and_restarts():
    kappa = 1000.0
    f = lambda w: 0.5 * np.sum(np.array([1.0, 1 / kappa]) * w**2)
    known = run(optimize.Nesterov(1.0, condition=kappa), 400, f)
    assert known.fun <= 2 * f(np.ones(2)) * (1 - 1 / np.sqrt(kappa)) ** 400
    convex = run(optimize.Nesterov(1.0), 400, f)
    restarted = run(optimize.Nesterov(1.0, restart=True), 400, f)
    assert restarted.fun < 1e-6 * convex.fun


@pytest.mark.row("L5.a", "A2.3.f")
def test_momentum_of_the_lecture():
    seen = []
    method = optimize.HeavyBall(0.1, 0.9)
    optimize.minimize(
        lambda x: x * x / 2, 1.0, method=method, max_iterations=4, callback=lambda now: seen.append(now.x)
    )
    assert_allclose(seen, [0.9, 0.72, 0.486, 0.2268])


@pytest.mark.row("L5.b")
def test_momentum_under_a_constant_gradient():
    points = [0.0]
    method = optimize.HeavyBall(0.1, 0.9)
    optimize.minimize(
        lambda x: 2 * x, 0.0, method=method, max_iterations=200, callback=lambda now: points.append(now.x)
    )
    assert_allclose(np.diff(points)[-1], -10 * 0.1 * 2, rtol=1e-6)


@pytest.mark.row("A2.3.b", "17.1.5a")
def test_directions_of_descent():
    x = np.array([1.0, -2.0])
    g = ad.grad(bowl)(x)
    for angle in np.linspace(0.1, 2 * np.pi, 13):
        c, s = np.cos(angle), np.sin(angle)
        p = np.array([[c, -s], [s, c]]) @ g / np.linalg.norm(g)
        along = ad.jvp(bowl, (x,), (p,))[1]
        assert_allclose(along, np.linalg.norm(g) * c, atol=1e-12)
        assert optimize.is_descent_direction(p, g) == (np.pi / 2 < angle < 3 * np.pi / 2)


@pytest.mark.row("A4.1.g", "A4.1.h", "A4.1.i", "A4.1.j")
def test_linear_regression_in_closed_form_and_by_descent():
    X, y = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 4.0]]), np.array([1.0, 2.0, 2.0])
    fit = optimize.least_squares(lambda w: X @ w - y, np.zeros(2), method="gauss-newton")
    assert_allclose(fit.value, [1.0, 0.2857142857], rtol=1e-9)
    assert_allclose(X.T @ (X @ fit.value - y), 0.0, atol=1e-12)
    assert_allclose(2 * fit.fun / 3, 0.0952380952, rtol=1e-8)
    last = [np.full(2, np.inf)]

    def still(now):
        moved, last[0] = np.sum((now.x - last[0]) ** 2), now.x
        return moved < 1e-18

    step = 1 / np.linalg.eigvalsh(X.T @ X)[-1]
    descent = optimize.minimize(lambda w: 0.5 * np.sum((X @ w - y) ** 2), np.zeros(2), stop=still, tol=0.0,
                                method=optimize.GradientDescent(step), max_iterations=5000)  # fmt: skip
    assert descent.status == "stopped"
    assert_allclose(descent.value, fit.value, atol=1e-6)
    X, y = np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([1.0, 2.0])
    ridge = optimize.least_squares(lambda w: (X @ w - y, w), np.zeros(2))
    assert_allclose(ridge.value, [0.1923076923, 0.3846153846], rtol=1e-9)
    with pytest.raises(ad.SolveError, match="do not determine"):
        optimize.least_squares(lambda w: X @ w - y, np.zeros(2)).covariance()


@pytest.mark.row("A3.1.c")
def test_frozen_leaves_are_bitwise_unchanged():
    start = {"base": np.array([0.1, 0.3]), "added": np.zeros(2)}
    found = optimize.minimize(lambda p: np.sum((p["base"] * (1 + p["added"]) - 1) ** 2), start, frozen="base")
    assert found.value["base"].tobytes() == start["base"].tobytes()
    assert_allclose(found.value["base"] * (1 + found.value["added"]), 1.0, atol=1e-7)
