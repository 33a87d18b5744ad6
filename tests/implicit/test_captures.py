"""Solvers of plain arrays that read arrays of their module, called inside compiled functions."""

import numpy as np
import pytest
from scipy import optimize as theirs

import adjoint as ad
from adjoint import implicit

A = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
B = np.array([1.0, 2.0, 3.0])
START = np.zeros(2)


def f(x, a):
    return np.sum((A @ x - a * B) ** 2) + 0.1 * np.sum(x**4)


def by_scipy(a):
    return theirs.minimize(f, START, args=(a,), jac=ad.grad(f), tol=1e-12).x


def by_hand(a):
    x = START
    for _ in range(20):
        x = x - np.linalg.solve(ad.hessian(f)(x, a), ad.grad(f)(x, a))
    return x + 0.0 * float(x[0])


@pytest.mark.parametrize("solver", [by_scipy, by_hand])
def test_arrays_of_the_module_are_plain_when_the_solver_runs(solver):
    use = lambda a: implicit.argmin(f, solver)(2.0 * a)
    plain = implicit.argmin(f, solver)
    np.testing.assert_allclose(ad.jit(use)(0.5), plain(1.0), atol=1e-8)
    h = 1e-4
    expected = (plain(1.0 + h) - plain(1.0 - h)) / h
    np.testing.assert_allclose(ad.jit(ad.jacobian(use))(0.5), expected, atol=1e-6)


def test_an_array_that_changes_between_calls_is_read_anew():
    compiled = ad.jit(lambda a: implicit.argmin(f, by_scipy)(2.0 * a))
    before = compiled(0.5)
    B[0] = 4.0
    try:
        after = compiled(0.5)
        np.testing.assert_allclose(after, by_scipy(1.0), atol=1e-8)
    finally:
        B[0] = 1.0
    assert np.max(np.abs(after - before)) > 1e-3
