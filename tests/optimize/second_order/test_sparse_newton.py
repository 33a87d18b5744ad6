"""Newton's method with sparse Hessians."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from tests.optimize.functions import rosenbrock


def test_many_unknowns_in_few_steps_and_products():
    f = lambda x: np.sum(np.cosh(x - 1.0)) + 0.5 * np.sum((x[1:] - x[:-1]) ** 2) - np.sum(np.sin(x))
    found = optimize.minimize(f, np.zeros(5000), method="newton-sparse")
    assert found.converged
    assert found.iterations < 12
    dense = optimize.minimize(f, np.zeros(40), method="newton")
    few = optimize.minimize(f, np.zeros(40), method="newton-sparse")
    np.testing.assert_allclose(few.value, dense.value, atol=1e-8)


def test_indefinite_hessians_on_the_way_are_shifted():
    found = optimize.minimize(rosenbrock, np.array([-1.2, 1.0]), method="newton-sparse")
    assert found.converged
    np.testing.assert_allclose(found.value, 1.0, atol=1e-6)


def test_a_saddle_point_is_no_minimum():
    f = lambda x: x[0] ** 2 - x[1] ** 2 + x[1] ** 4 / 4
    assert optimize.minimize(f, np.array([1.0, 0.0]), method="newton-sparse").status == "saddle point"
    found = optimize.minimize(f, np.array([1.0, 0.1]), method="newton-sparse")
    assert found.converged
    np.testing.assert_allclose(found.fun, -1.0, atol=1e-9)


def test_in_compiled_programs_with_derivatives():
    def solve(a):
        f = lambda x: np.sum(np.cosh(x - a)) + 0.5 * np.sum((x[1:] - x[:-1]) ** 2) + np.sum(x**2)
        return optimize.minimize(f, np.zeros(30), method="newton-sparse", tol=1e-11).value

    h = 1e-4
    expected = (solve(1.0 + h) - solve(1.0 - h)) / (2 * h)
    np.testing.assert_allclose(ad.jit(ad.jacobian(solve))(1.0), expected, atol=1e-7)


def test_a_gradient_of_the_users_is_not_enough():
    with pytest.raises(ad.RuleError, match="needs the oracle 'hessian'"):
        optimize.minimize(lambda x: np.sum(x**2), np.ones(2), grad=lambda x: 2 * x, method="newton-sparse")
