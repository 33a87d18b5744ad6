"""Newton's method with sparse Jacobians."""

import numpy as np
import pytest
from scipy import optimize as theirs

import adjoint as ad
from adjoint import optimize


def broyden_tridiagonal(x):
    zero = np.zeros(1)
    return (3 - 2 * x) * x - np.concatenate([zero, x[:-1]]) - 2 * np.concatenate([x[1:], zero]) + 1


def test_sparse_equations_are_solved_by_a_factorization_of_few_products():
    found = optimize.root(broyden_tridiagonal, np.full(2000, -1.0))
    assert found.converged
    assert found.iterations < 10
    few = optimize.root(broyden_tridiagonal, np.full(30, -1.0), method="sparse")
    np.testing.assert_allclose(few.value, theirs.root(broyden_tridiagonal, np.full(30, -1.0)).x, atol=1e-9)


def test_stiff_equations_where_krylov_is_slow():
    """u'' = eᵘ on 1500 points: the condition of ∂F is 1e6."""
    n = 1500
    h = 1.0 / (n + 1)

    def F(u):
        padded = np.concatenate([np.zeros(1), u, np.ones(1)])
        return (padded[2:] - 2 * padded[1:-1] + padded[:-2]) / h**2 - np.exp(u)

    found = optimize.root(F, np.linspace(0, 1, n + 2)[1:-1], tol=1e-7)
    assert found.converged
    coarse = theirs.root(lambda u: (np.concatenate([u[1:], [1.0]]) - 2 * u + np.concatenate([[0.0], u[:-1]])) / 0.01
                         - np.exp(u), np.linspace(0, 1, 11)[1:-1]).x  # fmt: skip
    at = np.interp(np.linspace(0, 1, 11)[1:-1], np.linspace(0, 1, n + 2)[1:-1], found.value)
    np.testing.assert_allclose(at, coarse, atol=1e-3)


def test_a_singular_sparse_jacobian_is_a_status():
    found = optimize.root(lambda x: np.stack([x[0] + x[1] - 1.0, 2 * x[0] + 2 * x[1] - 3.0]), np.zeros(2),
                          method="sparse")  # fmt: skip
    assert found.status == "singular"


def test_derivatives_and_compiled_programs():
    solve = lambda a: optimize.root(lambda x: broyden_tridiagonal(x) - a, np.full(20, -1.0), method="sparse").value
    h = 1e-5
    expected = (solve(0.1 + h) - solve(0.1 - h)) / (2 * h)
    np.testing.assert_allclose(ad.jit(ad.jacobian(solve))(0.1), expected, atol=1e-8)
    np.testing.assert_allclose(ad.vmap(solve)(np.array([0.1, 0.2]))[1], solve(0.2), atol=1e-12)


def test_dense_equations_of_many_unknowns_take_no_matrix():
    found = optimize.root(lambda x: x - 0.5 * np.mean(x) - 1.0, np.zeros(400))
    assert found.converged
    np.testing.assert_allclose(found.value, 2.0)


@pytest.mark.parametrize("method", ["newton", "krylov"])
def test_equations_that_contradict_each_other_are_singular_and_rounding_is_not(method):
    A, b = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0])
    found = optimize.root(lambda x: A @ x - b, np.zeros(2), method=method)
    assert found.status == "singular"
    assert "method='lm'" in found.advice
    assert optimize.root(lambda x: np.exp(x) + 1e8, np.ones(2), method=method).status == "singular"
    assert optimize.root(lambda x: x**2 - 2, np.ones(2), method=method, tol=1e-300).status == "no further progress"
