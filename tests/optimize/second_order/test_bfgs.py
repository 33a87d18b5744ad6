"""BFGS: its update, its termination on quadratic functions, hard functions, and functions that are not convex."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize
from adjoint.optimize.second_order.bfgs import update_inverse
from tests.optimize.functions import STANDARD, rosenbrock
from tests.support.sweeps import sampled


@pytest.mark.row("17.4.1")
def test_the_update_is_symmetric_positive_and_fulfills_the_secant_equation():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(5, 5))
    B, s = M @ M.T + np.eye(5), rng.normal(size=5)
    y = s + 0.3 * rng.normal(size=5)
    sy = s @ y
    assert sy > 0
    new = update_inverse(B, s, y, sy)
    left = np.eye(5) - np.outer(s, y) / sy
    np.testing.assert_allclose(new, left @ B @ left.T + np.outer(s, s) / sy, rtol=1e-12)
    np.testing.assert_allclose(new @ y, s, atol=1e-13)
    np.testing.assert_allclose(new, new.T, atol=1e-13)
    assert np.linalg.eigvalsh(new)[0] > 0
    twice_the_first_factor = left @ B @ left + np.outer(s, s) / sy
    assert np.linalg.norm(twice_the_first_factor @ y - s) > 0.1


class ExactSearch:
    """The minimizer along a line of a quadratic function."""

    def __init__(self, A):
        self.A = A

    def search(self, problem, line):
        from adjoint.optimize.searches.search import Found

        step = -line.derivative / (line.direction @ self.A @ line.direction)
        x = line.at(step)
        value, gradient = problem.value_and_gradient(x)
        return Found(step, x, value, gradient, True)


@pytest.mark.row("17.4.1")
def test_n_steps_on_a_quadratic_with_exact_searches_and_then_the_inverse_is_exact():
    rng = np.random.default_rng(1)
    M = rng.normal(size=(6, 6))
    A, b = M @ M.T + np.eye(6), rng.normal(size=6)
    method = optimize.BFGS(search=ExactSearch(A))
    found = optimize.minimize(lambda x: 0.5 * x @ A @ x - b @ x, np.zeros(6), method=method)
    assert found.iterations <= 6 + 1
    np.testing.assert_allclose(found.value, np.linalg.solve(A, b), rtol=1e-7)
    np.testing.assert_allclose(found.state.inverse, np.linalg.inv(A), rtol=1e-5)


@pytest.mark.parametrize("name", STANDARD)
@pytest.mark.parametrize("method", ["bfgs", "lbfgs", "trust-exact"])
def test_standard_functions(name, method):
    f, x0, smallest = STANDARD[name]
    found = optimize.minimize(f, x0, method=method)
    assert found.status == "converged"
    assert abs(found.fun - smallest) < 1e-8


@pytest.mark.parametrize(
    "name, method", sampled([(n, m) for n in STANDARD for m in ("bfgs", "lbfgs", "trust-exact")], 4)
)
def test_standard_functions_compiled(name, method):
    f, x0, smallest = STANDARD[name]
    compiled = ad.jit(lambda x: optimize.minimize(f, x, method=method))(x0)
    assert compiled.status == "converged"
    assert abs(compiled.fun - smallest) < 1e-8


def test_negative_curvature_does_not_spoil_the_matrix():
    f = lambda x: np.sum(x**4 / 4 - x**2 / 2) + 0.1 * x[0] * x[1]
    found = optimize.minimize(f, np.array([0.1, 0.2]))
    assert found.status == "converged"
    assert np.linalg.eigvalsh(found.state.inverse)[0] > 0
    assert np.linalg.eigvalsh(ad.hessian(f)(found.value))[0] > 0


def test_badly_scaled():
    brown = lambda x: (x[0] - 1e6) ** 2 + (x[1] - 2e-6) ** 2 + (x[0] * x[1] - 2) ** 2
    found = optimize.minimize(brown, np.ones(2))
    np.testing.assert_allclose(found.value, [1e6, 2e-6], rtol=1e-6)


def test_a_hundred_unknowns_compiled():
    x0 = np.tile([-1.2, 1.0], 50)
    found = ad.jit(lambda x: optimize.minimize(rosenbrock, x))(x0)
    assert found.status == "converged"
    np.testing.assert_allclose(found.value, 1.0, atol=1e-7)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_a_wide_spectrum_whatever_the_unit_of_f(unit):
    # a matrix that is not made larger where it promised too much curvature takes 400 evaluations, in all units
    curvatures = np.logspace(-2.0, 3.0, 50)
    f = lambda x: unit * (0.5 * np.sum(curvatures * x**2) + 0.0025 * np.sum(x**4))
    gradient = lambda x: unit * (curvatures * x + 0.01 * x**3)
    found = optimize.minimize(f, np.ones(50), method="bfgs", grad=gradient, tol=1e-6 * unit)
    assert found.status == "converged"
    assert found.evaluations["value"] < 260
