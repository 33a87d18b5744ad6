"""Nonlinear conjugate gradients: five formulas, the same on quadratic functions, each on hard ones."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize.first_order.conjugate_gradients import FORMULAS
from tests.optimize.functions import STANDARD, rosenbrock
from tests.optimize.second_order.test_bfgs import ExactSearch


@pytest.mark.parametrize("formula", FORMULAS)
def test_n_steps_on_a_quadratic_with_exact_searches(formula):
    rng = np.random.default_rng(0)
    M = rng.normal(size=(6, 6))
    A, b = M @ M.T + np.eye(6), rng.normal(size=6)
    method = optimize.ConjugateGradients(formula, search=ExactSearch(A))
    found = optimize.minimize(lambda x: 0.5 * x @ A @ x - b @ x, np.zeros(6), method=method, tol=1e-8)
    assert found.iterations <= 8
    np.testing.assert_allclose(found.value, np.linalg.solve(A, b), rtol=1e-6)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("name", ["rosenbrock", "wood", "beale"])
def test_hard_functions(formula, name):
    f, x0, smallest = STANDARD[name]
    found = optimize.minimize(f, x0, method=optimize.ConjugateGradients(formula))
    assert found.status == "converged"
    assert abs(found.fun - smallest) < 1e-8


def test_fewer_gradients_than_descent_and_compiled():
    x0 = np.zeros(100)
    found = ad.jit(lambda x: optimize.minimize(rosenbrock, x, method="cg", max_iterations=5000))(x0)
    assert found.status == "converged"
    np.testing.assert_allclose(found.value, 1.0, atol=1e-5)


def test_formulas_are_checked():
    with pytest.raises(ValueError, match="They are: FR"):
        optimize.ConjugateGradients("XYZ")
