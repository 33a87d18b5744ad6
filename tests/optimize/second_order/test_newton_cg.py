"""Newton's method by Hessian products: steps against an exact solve, memory, negative curvature."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize.problem import Problem, read_unknowns
from adjoint.optimize.second_order.newton_cg import solve_steihaug
from tests.optimize.functions import STANDARD


@pytest.mark.row("17.1.3")
def test_the_step_is_newtons_where_the_region_is_wide():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(6, 6))
    A = M @ M.T + np.eye(6)
    x = rng.normal(size=6)
    problem = Problem("test", lambda x: 0.5 * x @ A @ x, read_unknowns("test", x)[1], 1e-8)
    g = A @ x
    p, Hp = solve_steihaug(problem, x, g, np.float64(1e6), np.float64(1e-12), 50)
    np.testing.assert_allclose(p, -np.linalg.solve(A, g), rtol=1e-8)
    np.testing.assert_allclose(Hp, A @ p, rtol=1e-10)
    short, _ = solve_steihaug(problem, x, g, np.float64(0.1), np.float64(1e-12), 50)
    np.testing.assert_allclose(np.linalg.norm(short), 0.1)
    assert 0.5 * short @ A @ short + g @ short < 0


def test_negative_curvature_is_followed_to_the_edge():
    A = np.diag([1.0, -2.0])
    problem = Problem("test", lambda x: 0.5 * x @ A @ x, read_unknowns("test", np.ones(2))[1], 1e-8)
    p, _ = solve_steihaug(problem, np.ones(2), A @ np.ones(2), np.float64(3.0), np.float64(1e-12), 50)
    np.testing.assert_allclose(np.linalg.norm(p), 3.0)
    assert p[1] > 0


@pytest.mark.parametrize("name", ["rosenbrock", "wood", "beale"])
def test_standard_functions(name):
    f, x0, smallest = STANDARD[name]
    found = optimize.minimize(f, x0, method="newton-cg")
    assert found.status == "converged"
    assert abs(found.fun - smallest) < 1e-10
    assert "hessian" not in found.evaluations


@pytest.mark.row("17.1.3")
def test_no_matrix_is_made_of_a_hundred_thousand_unknowns():
    n = 100_000
    f = lambda x: np.sum(np.cosh(x - np.linspace(-1, 1, n))) + 0.5 * np.sum((x[1:] - x[:-1]) ** 2)
    found = ad.jit(lambda x: optimize.minimize(f, x, method="newton-cg"))(np.zeros(n))
    assert found.status == "converged"
    assert found.iterations < 15
    assert max(leaf.size for leaf in ad.tree.leaves(found.state)) == n
