"""Sequential quadratic programming where cheap versions fail: scales, bends, contradictions, multipliers not unique."""

import numpy as np
import pytest

from adjoint import optimize
from adjoint.optimize import equality, inequality


def test_constraints_that_differ_much_in_size() -> None:
    """Problem 64 of Hock and Schittkowski; the smallest value is the published one."""
    f = lambda x: 5 * x[0] + 5e4 / x[0] + 20 * x[1] + 7.2e4 / x[1] + 10 * x[2] + 1.44e5 / x[2]
    rule = inequality(lambda x: 4 / x[0] + 32 / x[1] + 120 / x[2] - 1)
    found = optimize.minimize(f, np.ones(3), subject_to=rule, bounds=(1e-5, None), method="sqp")
    assert found.status == "converged"
    np.testing.assert_allclose(found.fun, 6299.842428, rtol=1e-8)


def test_unknowns_that_differ_much_in_size() -> None:
    """Problem 54 of Hock and Schittkowski: sizes from 1e-3 to 5e7."""

    def f(x):
        a = (x[0] - 1e4) / 8e3
        b = x[1] - 1
        Q = (a * a + 0.4 * a * b + b * b) / 0.96 + (x[2] - 2e6) ** 2 / 4.9e13 + (x[3] - 10) ** 2 / 2.5e3
        return -np.exp(-0.5 * (Q + (x[4] - 1e-3) ** 2 / 2.5e-3 + (x[5] - 1e8) ** 2 / 2.5e17))

    bounds = (np.array([0.0, -10, 0, 0, -1, 0]), np.array([2e4, 10, 1e7, 20, 1, 2e8]))
    start = np.array([6e3, 1.5, 4e6, 2, 3e-3, 5e7])
    line = equality(lambda x: x[0] + 4e3 * x[1] - 1.76e4)
    found = optimize.minimize(f, start, subject_to=line, bounds=bounds, method="sqp")
    assert found.status == "converged"
    np.testing.assert_allclose(found.fun, -0.90807476, rtol=1e-7)


def test_a_way_through_points_where_the_linear_constraints_contradict_each_other() -> None:
    """Problem 63 of Hock and Schittkowski: at the start no step meets both linear constraints and the bounds."""
    f = lambda x: 1000 - x[0] ** 2 - 2 * x[1] ** 2 - x[2] ** 2 - x[0] * x[1] - x[0] * x[2]
    rules = [equality(lambda x: 8 * x[0] + 14 * x[1] + 7 * x[2] - 56), equality(lambda x: x @ x - 25)]
    found = optimize.minimize(f, np.full(3, 2.0), subject_to=rules, bounds=(0.0, None), method="sqp")
    assert found.status == "converged"
    np.testing.assert_allclose(found.fun, 961.7151721, rtol=1e-8)


def test_a_constraint_that_bends_away_from_every_full_step() -> None:
    """Maratos: on the circle full steps make the value and the violation worse; corrected ones are quadratic."""
    f = lambda x: 2.0 * (x @ x - 1.0) - x[0]
    circle = equality(lambda x: x @ x - 1.0)
    found = optimize.minimize(f, np.array([np.cos(0.5), np.sin(0.5)]), subject_to=circle, method="sqp", tol=1e-10)
    assert found.status == "converged"
    assert int(found.iterations) <= 7
    np.testing.assert_allclose(found.value, [1.0, 0.0], atol=1e-8)


@pytest.mark.parametrize("copies", [2, 5])
def test_constraints_that_say_the_same(copies: int) -> None:
    """Their multipliers are not unique; the sum is."""
    rules = [inequality(lambda x: x @ x - 1.0)] * copies + [equality(lambda x: x[0] - x[1])] * copies
    found = optimize.minimize(lambda x: -x[0] - 2 * x[1], np.zeros(2), subject_to=rules, method="sqp")
    assert found.status == "converged"
    np.testing.assert_allclose(found.value, np.full(2, 0.5**0.5), atol=1e-7)
    np.testing.assert_allclose(np.sum(found.multipliers.inequality), 3 / (2 * 2**0.5), atol=1e-6)


def test_a_solution_without_multipliers() -> None:
    """Problem 13 of Hock and Schittkowski: the gradient of the constraint vanishes at (1, 0)."""
    rule = inequality(lambda x: x[1] - (1 - x[0]) ** 3)
    f = lambda x: (x[0] - 2) ** 2 + x[1] ** 2
    found = optimize.minimize(f, np.array([0.0, 0.0]), subject_to=rule, bounds=(0.0, None), method="sqp")
    assert abs(float(found.fun) - 1.0) < 0.01


def test_indefinite_curvature_along_the_constraint_does_not_slow_it_down() -> None:
    """The Hessian of the Lagrangian is indefinite, and positive along the constraint: convergence is quadratic."""
    f = lambda x: x[0] ** 2 - 5 * x[1] ** 2 + x[0]
    found = optimize.minimize(f, np.array([3.0, 2.0]), subject_to=equality(lambda x: x[1] - 0.3 * np.sin(x[0]) - 1.0),
                              method="sqp", tol=1e-10)  # fmt: skip
    assert found.status == "converged"
    assert int(found.iterations) <= 12
    x = found.value[0]
    assert 2 * x - 10 * (0.3 * np.sin(x) + 1) * 0.3 * np.cos(x) + 1 == pytest.approx(0.0, abs=1e-8)
