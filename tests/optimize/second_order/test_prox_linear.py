"""Prox-linear steps: conditions, derivatives against solving again, refusals."""

import numpy as np
import pytest
from scipy import optimize as theirs

import adjoint as ad
from adjoint import optimize

T = np.arange(6.0)
Y = np.array([1.0, 0.6, 0.37, 5.0, 0.135, 0.082])
START = np.array([0.5, 1.0])


def residual(p, y):
    return p[0] * np.exp(-p[1] * T) - y


def solve(loss, y):
    return optimize.prox_linear(loss, residual, START, y)


def test_squares_are_least_squares():
    found = solve("squared", Y)
    expected = theirs.least_squares(residual, START, args=(Y,), xtol=1e-15, gtol=1e-15, ftol=1e-15)
    np.testing.assert_allclose(found.value, expected.x, atol=1e-7)
    np.testing.assert_allclose(found.fun, expected.cost)


def test_absolute_values_of_a_linear_model_are_a_linear_program():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(15, 3)), rng.normal(size=15)
    found = optimize.prox_linear("absolute", lambda x: A @ x - b, np.zeros(3))
    rows = np.block([[A, -np.eye(15)], [-A, -np.eye(15)]])
    program = theirs.linprog(np.r_[np.zeros(3), np.ones(15)], rows, np.r_[b, -b], bounds=(None, None))
    np.testing.assert_allclose(found.fun, program.fun, rtol=1e-9)
    assert np.all(np.abs(found.multipliers) <= 1 + 1e-9)
    np.testing.assert_allclose(A.T @ found.multipliers, 0.0, atol=1e-9)


@pytest.mark.parametrize("loss", ["absolute", "huber", "squared"])
def test_derivatives_are_those_of_solving_again(loss):
    h = 1e-6
    expected = np.array([(solve(loss, Y + h * e).value - solve(loss, Y - h * e).value) / (2 * h) for e in np.eye(6)]).T
    value = lambda y: solve(loss, y).value
    np.testing.assert_allclose(ad.jacobian(value)(Y), expected, atol=1e-6)
    np.testing.assert_allclose(ad.jit(ad.jacfwd(value))(Y), expected, atol=1e-6)
    slope = np.array([(solve(loss, Y + h * e).fun - solve(loss, Y - h * e).fun) / (2 * h) for e in np.eye(6)])
    np.testing.assert_allclose(ad.grad(lambda y: solve(loss, y).fun)(Y), slope, atol=1e-6)


def test_a_loss_of_the_users_and_refusals():
    weights = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    own = (lambda z: np.sum(weights * np.abs(z)), lambda v, t: np.sign(v) * np.maximum(np.abs(v) - t * weights, 0.0))
    found = optimize.prox_linear(own, residual, START, Y)
    assert found.converged
    with pytest.raises(ValueError, match="Did you mean absolute"):
        solve("absolut", Y)
    with pytest.raises(TypeError, match="a pair"):
        solve(np.abs, Y)
    with pytest.raises(ad.ShapeError, match="one array of real numbers"):
        optimize.prox_linear("absolute", lambda x: (x, x), START)
