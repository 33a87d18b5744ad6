"""Polyhedra, by sets whose projections are known otherwise."""

import numpy as np
import pytest
from scipy.optimize import linprog

import adjoint as ad
from adjoint import optimize
from adjoint.base.errors import RuleError, ShapeError
from adjoint.optimize import sets


def test_boxes_and_simplices_as_polyhedra():
    rng = np.random.default_rng(0)
    eye = np.eye(4)
    box = sets.polyhedron(np.concatenate([eye, -eye]), np.ones(8))
    simplex = sets.polyhedron(-eye, np.zeros(4), A=np.ones((1, 4)), b=np.ones(1))
    for _ in range(3):
        x = 2 * rng.normal(size=4)
        np.testing.assert_allclose(box.project(x), np.clip(x, -1, 1), atol=1e-7)
        np.testing.assert_allclose(simplex.project(x), sets.simplex().project(x), atol=1e-7)
        np.testing.assert_allclose(ad.jacobian(simplex.project)(x), ad.jacobian(sets.simplex().project)(x), atol=1e-5)
    batch = rng.normal(size=(3, 4))
    found = ad.jit(ad.vmap(simplex.project))(batch)
    np.testing.assert_allclose(found, [sets.simplex().project(x) for x in batch], atol=1e-7)


def test_linear_functions_on_them():
    """The corner of the largest ⟨u, s⟩, and the method of Frank and Wolfe that takes it."""
    rng = np.random.default_rng(1)
    G, h = np.concatenate([np.eye(3), -np.eye(3), rng.normal(size=(2, 3))]), np.array([1.0] * 6 + [0.3, 0.4])
    of = sets.polyhedron(G, h)
    for _ in range(3):
        u = rng.normal(size=3)
        best = linprog(-u, A_ub=G, b_ub=h, bounds=(None, None))
        np.testing.assert_allclose(of.lmo(u), best.x, atol=1e-7)
        np.testing.assert_allclose([of.support(u), ad.jit(of.support)(u)], -best.fun, atol=1e-7)
        np.testing.assert_allclose(ad.grad(of.support)(u), best.x, atol=1e-7)
    f = lambda x: np.sum((x - np.array([2.0, 0.1, -0.3])) ** 2)
    found = optimize.minimize(f, np.zeros(3), method=optimize.FrankWolfe(of), tol=1e-6, max_iterations=2000)
    np.testing.assert_allclose(found.value, of.project(np.array([2.0, 0.1, -0.3])), atol=2e-3)
    with pytest.raises(RuleError, match="no end"):
        sets.polyhedron(np.array([[1.0, 0.0]]), np.ones(1)).lmo(np.array([-1.0, 0.0]))


def test_bad_input():
    apart = sets.polyhedron(np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0]))
    assert np.isnan(apart.project(np.zeros(1))).all()
    with pytest.raises(ShapeError, match="rows"):
        sets.polyhedron(np.ones((2, 2)), np.ones(3))
    with pytest.raises(ShapeError, match="columns"):
        apart.project(np.zeros(2))
