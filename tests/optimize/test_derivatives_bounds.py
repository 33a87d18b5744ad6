"""Optimal values whose bounds move with θ, and gradients where something holds x: closed forms and second solves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import optimize
from adjoint.optimize import sets

TARGET = np.array([3.0, 0.2])
distance = lambda x: np.sum((x - TARGET) ** 2)
within = lambda a, **options: optimize.minimize(distance, np.zeros(2), bounds=(None, a), tol=1e-12, **options)

# each value is (3 - a)² near a = 1.2 (times what the problem has more), its derivatives are those of the closed form
VALUES = {
    "minimize": (lambda a: within(a * a).fun, lambda a: (3 - a * a) ** 2),
    "trust-exact": (lambda a: within(a, method="trust-exact").fun, lambda a: (3 - a) ** 2),
    "scaled": (lambda a: within(a, scale=np.array([10.0, 0.1])).fun, lambda a: (3 - a) ** 2),
    "set": (
        lambda a: optimize.minimize(distance, np.zeros(2), subject_to=sets.box(-1.0, a), tol=1e-12).fun,
        lambda a: (3 - a) ** 2,
    ),
    "minimize_scalar": (
        lambda a: optimize.minimize_scalar(lambda x: (x - 5 * a) ** 2 + a, bounds=(-1.0, a * a)).fun,
        lambda a: (a * a - 5 * a) ** 2 + a,
    ),
    "least_squares": (
        lambda a: optimize.least_squares(lambda x: x - TARGET * a, np.zeros(2), bounds=(None, a * a)).fun,
        lambda a: (a * a - 3 * a) ** 2 / 2,
    ),
    "gradient": (lambda a: within(a * a).grad[0], lambda a: 2 * (a * a - 3)),
    "gradient on a set": (
        lambda a: optimize.minimize(distance, np.zeros(2), subject_to=sets.box(-1.0, a), tol=1e-12).grad[0],
        lambda a: 2 * (a - 3),
    ),
    "gradient under constraints": (
        lambda a: optimize.minimize(distance, np.zeros(2), subject_to=optimize.inequality(lambda x: x[0] - a)).grad[0],
        lambda a: 2 * (a - 3),
    ),
    "residuals": (
        lambda a: optimize.least_squares(lambda x: x - TARGET * a, np.zeros(2), bounds=(None, a * a)).residuals[0],
        lambda a: a * a - 3 * a,
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_depends_on_bounds_that_move(name):
    found, closed = VALUES[name]
    slope, bend = ad.derivative(closed, 1)(1.2), ad.derivative(closed, 2)(1.2)
    assert_allclose(found(1.2), closed(1.2), rtol=1e-7)
    assert_allclose([ad.grad(found)(1.2), ad.jvp(found, (1.2,), (1.0,))[1]], slope, rtol=1e-6)
    assert_allclose(ad.jacfwd(ad.grad(found))(1.2), bend, rtol=1e-6, atol=1e-9)


def test_bounds_that_move_under_jit_and_vmap():
    value = lambda a: within(a).fun
    a = np.array([0.5, 1.2, 4.0])  # the last is above the minimum
    assert_allclose(ad.jit(ad.vmap(ad.grad(value)))(a), [-5.0, -3.6, 0.0], atol=1e-7)


def test_prices_of_bounds():
    """What a little room is worth, by solving again; a price has a derivative, and fixed numbers have one price."""
    f = lambda x: np.sum((x - np.array([3.0, 0.2, -5.0])) ** 2)
    solve = lambda low, high, **options: optimize.minimize(f, np.zeros(3), bounds=(low, high), tol=1e-12, **options)
    for options in ({}, {"scale": np.array([1.0, 10.0, 0.3])}, {"method": "trust-exact"}):
        prices = solve(-1.0, 1.0, **options).multipliers
        room = 1e-6 * np.eye(3)
        gained = lambda d: (solve(-1.0, 1.0).fun - solve(-1.0 - (d < 0) * 1e-6, 1.0 + np.maximum(d, 0.0)).fun) / 1e-6
        assert_allclose(prices.upper, [gained(d) for d in room], atol=1e-4)
        assert_allclose(prices.lower, [gained(-d) for d in room], atol=1e-4)
    assert_allclose(ad.jacobian(lambda u: solve(-1.0, u).multipliers.upper)(1.0), [-2.0, 0.0, 0.0], atol=1e-9)
    fixed = optimize.minimize(lambda x: (x - 2.0) ** 2, 1.0, bounds=(1.0, 1.0)).multipliers
    assert (fixed.lower[0], fixed.upper[0]) == (0.0, 2.0)


CROSSED = {
    "minimize": lambda u: optimize.minimize(lambda x: (x - 3.0) ** 2, 0.5, bounds=(0.0, u)),
    "minimize_scalar": lambda u: optimize.minimize_scalar(lambda x: (x - 3.0) ** 2, bounds=(0.0, u)),
    "root_scalar": lambda u: optimize.root_scalar(lambda x: x - 0.5, x0=0.3, bounds=(0.0, u)),
    "least_squares": lambda u: optimize.least_squares(lambda x: x - 3.0, np.zeros(2), bounds=(0.0, u)).optimum,
    "root": lambda u: optimize.root(lambda x: x - 0.5, np.zeros(2), bounds=(0.0, u)),
}


@pytest.mark.parametrize("name", CROSSED)
def test_traced_bounds_that_cross_are_infeasible(name):
    for solve in (ad.vmap(CROSSED[name]), ad.jit(ad.vmap(CROSSED[name]))):
        assert list(solve(np.array([1.0, -2.0])).status) == ["converged", "infeasible"]


def test_the_value_of_a_function_that_only_has_a_gradient():
    """It is traced where that can be done; where it cannot, its derivative is NaN, and that of x is what it is."""
    plain = ad.do_not_convert(lambda x, a: float(sum(float(v) for v in (x - a) ** 2)) + float(a))
    solve = lambda f, a: optimize.minimize(f, np.zeros(2), a, grad=lambda x, a: 2 * (x - a))
    assert_allclose(ad.grad(lambda a: solve(lambda x, a: np.sum((x - a) ** 2) + a**2, a).fun)(1.5), 3.0)
    assert np.isnan(ad.grad(lambda a: solve(plain, a).fun)(1.5))
    assert_allclose(ad.grad(lambda a: solve(plain, a).value[0])(1.5), 1.0)
    assert_allclose(solve(plain, 1.5).fun, 1.5)


@pytest.mark.parametrize("method", ["sqp", "augmented lagrangian"])
def test_prices_and_gradients_are_along_x_whatever_the_scale(method):
    f = lambda x: (x[0] - 3) ** 2 + 100 * (x[1] - 0.02) ** 2
    found = optimize.minimize(
        f, np.array([0.1, -0.3]), subject_to=optimize.inequality(lambda x: x[0] + x[1] - 0.4), method=method,
        bounds=(-1.0, np.array([5.0, -0.2])), scale=np.array([1.0, 0.01]),
    )  # fmt: skip
    assert_allclose(found.grad, ad.grad(f)(found.value), rtol=1e-6)
    assert_allclose(found.grad + found.multipliers.inequality + found.multipliers.upper, 0.0, atol=1e-6)


def test_reject_names_what_is_no_exception():
    with pytest.raises(TypeError, match="reject is 'Bad'"):
        optimize.minimize(distance, np.zeros(2), reject="Bad")
