"""What `optimize` finds, under every transformation, against solving again with mpmath."""

import numpy as np
import pytest

from adjoint import optimize
from adjoint.optimize import proximal, sets
from tests.implicit.test_function_transformations import NAMES, PROBLEMS, expected, loss_of, uses
from tests.support.sweeps import sampled

TIMES, DATA = np.array([0.0, 0.5, 1.0, 2.0]), np.array([1.0, 0.7, 0.45, 0.2])


def equations(x, t):
    return np.stack([x[0] ** 3 + x[1] - t[0], x[1] ** 3 - x[0] * t[1] + x[1] - 1.0])


def step(x, t):
    return np.stack([0.3 * np.sin(x[1]) + t[0], 0.4 * np.cos(x[0] * t[1])])


def coupled(x, t):
    return 0.25 * np.sum(x**4) + 0.5 * np.sum((x - t) ** 2) + 0.5 * x[0] * x[1] * t[0]


def separate(x, t):
    return 0.25 * np.sum(x**4) + 0.5 * np.sum((x - t) ** 2)


def partly(x, t):
    return 0.5 * np.sum((x - t) ** 2) + 0.25 * x[0] ** 4


total = optimize.equality(lambda x, t: x[0] + x[1] - 1.0 - t[0] / 4)
less = optimize.inequality(lambda x, t: x[1] - 0.5)


def residuals(x, t):
    return x[0] * np.exp(-x[1] * TIMES) + t[1] * 0.1 * TIMES - DATA * t[0]


SOLUTIONS = {
    "root": lambda t: optimize.root(equations, np.array([0.5, 0.8]), t).value,
    "fixed point": lambda t: optimize.fixed_point(step, np.zeros(2), t).value,
    "argmin": lambda t: optimize.minimize(coupled, np.zeros(2), t, method="newton", tol=1e-12).value,
    "box": lambda t: optimize.minimize(separate, np.full(2, 0.2), t, bounds=(0.0, 0.4), tol=1e-11).value,
    "simplex": lambda t: optimize.minimize(separate, np.full(2, 0.5), t, subject_to=sets.simplex(), tol=1e-12).value,
    "lasso": lambda t: (
        optimize.minimize(
            separate, np.full(2, 0.3), t, method=optimize.ProximalGradient(proximal.l1(0.25)), tol=1e-13
        ).value
    ),
    "kkt": lambda t: optimize.minimize(partly, np.array([0.5, 0.4]), t, subject_to=[total, less], tol=1e-11).value,
    "least squares": lambda t: optimize.least_squares(residuals, np.ones(2), t, tol=1e-14).value,
    "scipy": lambda t: optimize.minimize(separate, np.zeros(2), t, method="trust-krylov", tol=1e-12).value,
}


@pytest.mark.parametrize("name, use", sampled([(name, use) for name in SOLUTIONS for use in NAMES], every=7))
def test_the_numbers_of_solving_again(name, use):
    compute, which = uses(loss_of(SOLUTIONS[name]), np.array(PROBLEMS[name][1]))[use]
    tolerance = 1e-8 if use != "jet" else 1e-7  # of the third difference itself
    np.testing.assert_allclose(compute(), which(expected(name)), rtol=tolerance, atol=tolerance)
