"""Solution paths against closed forms, and minimizers found one by one."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize

GOAL = np.array([1.0, 2.0])


def ridge(w, lam, goal=GOAL):
    return np.sum((w - goal) ** 2) + lam * np.sum(w**2)


def test_ridge_path_and_its_tangents():
    lams = np.linspace(0.0, 3.0, 7)
    found = optimize.path(ridge, np.zeros(2), lams)
    assert found.converged.all()
    assert not found.crossings.any()
    assert np.isnan(found.fold)
    np.testing.assert_allclose(found.value, GOAL / (1 + lams)[:, None], atol=1e-10)
    np.testing.assert_allclose(found.tangent, -GOAL / (1 + lams)[:, None] ** 2, atol=1e-10)
    np.testing.assert_allclose(found.fun, np.sum(GOAL**2) * lams / (1 + lams), atol=1e-10)


def test_derivatives_in_thetas_and_arguments():
    lams = np.array([0.5, 1.0, 4.0])
    points = lambda lams, goal: optimize.path(ridge, np.zeros(2), lams, goal).value
    np.testing.assert_allclose(
        ad.jacobian(points, 0)(lams, GOAL),
        np.einsum("ki,kj->kij", -GOAL / (1 + lams)[:, None] ** 2, np.eye(3)), atol=1e-9,
    )  # fmt: skip
    expected = np.stack([np.eye(2) / (1 + lam) for lam in lams])
    np.testing.assert_allclose(ad.jacobian(points, 1)(lams, GOAL), expected, atol=1e-9)
    np.testing.assert_allclose(ad.jit(points)(lams, GOAL), points(lams, GOAL), atol=1e-12)
    closed = lambda goal: optimize.path(lambda w, lam: ridge(w, lam, goal), np.zeros(2), lams).value
    np.testing.assert_allclose(ad.jacobian(closed)(GOAL), expected, atol=1e-9)
    batch = ad.vmap(lambda goal: points(lams, goal))(np.stack([GOAL, 2 * GOAL]))
    np.testing.assert_allclose(batch, [points(lams, GOAL), points(lams, 2 * GOAL)], atol=1e-12)


def test_a_fold_is_found_and_not_jumped_over():
    # x = c + √(θ - b): beyond θ = b there is nothing, and -√ is a maximum that must not be taken
    for b, c in ((0.0, 0.0), (0.3, -1.0)):
        f = lambda x, t, b=b, c=c: (x["u"] - c) ** 3 / 3 - (t - b) * x["u"]
        thetas = np.array([1.5, 1.0, b + 0.01, b - 0.5, b - 1.0])
        found = optimize.path(f, {"u": c + 1.0}, thetas)
        assert list(found.status) == ["converged"] * 3 + ["singular"] * 2
        np.testing.assert_allclose(found.fold, b, atol=1e-7)
        np.testing.assert_allclose(found.value["u"][:3], c + np.sqrt(thetas[:3] - b), rtol=1e-8)
        assert np.isnan(found.value["u"][3:]).all()
        assert "turns back" in found.advice
        with pytest.raises(ad.SolveError, match="points of the path"):
            found.raise_if_failed()


def test_derivative_beside_a_fold():
    root_of = lambda a: optimize.path(lambda x, t: x**3 / 3 - a * t * x, 1.0, np.array([1.0, 0.5, -1.0])).value[1]
    np.testing.assert_allclose(ad.grad(root_of)(2.0), 0.25, atol=1e-8)  # √(a/2)' = 1 / (4 √(a/2))


def test_folds_tangents_and_curvatures_have_derivatives():
    """f = (x₀ - c)³/3 - a (θ - b) x₀ + x₁² (1 + aθ)/2: x₀ = c + √(a (θ - b)), folds at θ = b."""

    def follow(p):
        a, b, c = p
        f = lambda x, t: (x[0] - c) ** 3 / 3 - a * (t - b) * x[0] + 0.5 * (1 + a * t) * x[1] ** 2
        return optimize.path(f, np.array([c + 1.0, 0.2]), np.array([1.5, 1.0, -1.0]))

    p = np.array([2.0, 0.3, -1.0])
    a, b, _ = p
    np.testing.assert_allclose(ad.grad(lambda p: follow(p).fold)(p), [0.0, 1.0, 0.0], atol=1e-6)
    # dx₀/dθ = ½ √(a / (θ - b)),  curvatures 2 √(a (θ - b)) and 1 + aθ, the first the smaller one
    r = np.sqrt(1.0 - b)
    slope = ad.grad(lambda p: follow(p).tangent[1, 0])(p)
    np.testing.assert_allclose(slope, [0.25 / np.sqrt(a) / r, 0.25 * np.sqrt(a) / r**3, 0.0], atol=1e-7)
    slope = ad.grad(lambda p: follow(p).curvature[1])(p)
    np.testing.assert_allclose(slope, [r / np.sqrt(a), -np.sqrt(a) / r, 0.0], atol=1e-7)
    cubes = ad.vmap(ad.grad(lambda b: follow((a, b, 0.0)).fold ** 3))
    np.testing.assert_allclose(cubes(np.array([0.1, 0.3])), [0.03, 0.27], atol=1e-6)
    assert np.isnan(follow(p).tangent[2]).all()
    scalar = lambda b: optimize.path(lambda x, t: x**3 / 3 - (t - b) * x, 1.0, np.array([1.5, -1.0])).fold
    np.testing.assert_allclose(ad.jit(ad.grad(scalar))(0.3), 1.0, atol=1e-6)


def test_a_minimum_that_becomes_a_maximum_is_told():
    # at x = 0 the curvature 1 - θ changes its sign; the solution itself goes on
    found = optimize.path(lambda x, t: 0.5 * (1 - t) * x**2 + 0.25 * x**4, 0.0, np.array([0.0, 0.7, 1.9]))
    assert found.converged.all()
    np.testing.assert_array_equal(found.crossings, [False, False, True])
    np.testing.assert_allclose(found.value, 0.0, atol=1e-9)
    np.testing.assert_allclose(found.curvature, [1.0, 0.3, -0.9], atol=1e-9)


def test_steps_are_shortened_where_the_path_bends():
    f = lambda x, t: 0.5 * np.sum((x - np.stack([np.sin(9 * t), np.exp(2 * t)])) ** 2) + 0.02 * np.sum(x**4)
    thetas = np.array([0.0, 2.0])
    found = optimize.path(f, np.zeros(2), thetas)
    assert found.converged.all()
    for x, t in zip(found.value, thetas, strict=True):
        np.testing.assert_allclose(x, optimize.minimize(f, np.zeros(2), t, tol=1e-12).value, atol=1e-8)


def test_wrong_thetas():
    with pytest.raises(ValueError, match="row of numbers"):
        optimize.path(ridge, np.zeros(2), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="not finite"):
        optimize.path(ridge, np.zeros(2), np.array([0.0, np.nan]))
