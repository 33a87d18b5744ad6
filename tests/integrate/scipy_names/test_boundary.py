"""`solve_bvp`: SciPy's own on plain values, ours with derivatives, in unchanged code as well."""

import numpy as np
import pytest
import scipy.integrate

import adjoint as ad
from adjoint.scipy.integrate import solve_bvp

X, Y = np.linspace(0.0, 1.0, 5), np.zeros((2, 5))


def _bratu(solver, c, tol=1e-8):
    return solver(lambda x, y: np.vstack((y[1], -c * np.exp(y[0]))), lambda a, b: np.array([a[0], b[0]]), X, Y, tol=tol)


def test_plain_values_are_scipys():
    ours, theirs = _bratu(solve_bvp, 1.0), _bratu(scipy.integrate.solve_bvp, 1.0)
    assert np.array_equal(ours.y, theirs.y)
    assert ours.status == theirs.status == 0


@pytest.mark.parametrize("solver", [solve_bvp, scipy.integrate.solve_bvp])
def test_derivative_in_what_functions_close_over(solver):
    middle = lambda c: _bratu(solver, c).sol(0.5)[0]
    plain = lambda c: _bratu(scipy.integrate.solve_bvp, c).sol(0.5)[0]
    assert abs(ad.grad(middle)(1.0) - (plain(1.01) - plain(0.99)) / 0.02) < 1e-5


def test_parameters_and_results():
    def eigenvalue(length):
        f = lambda x, y, p: np.vstack((y[1], -(p[0] ** 2) * y[0]))
        bc = lambda a, b, p: np.array([a[0], b[0], a[1] - p[0]])
        guess = np.array([[0.0, 1.0, 0.0, -1.0, 0.0], [0.0] * 5])
        found = solve_bvp(f, bc, X * length, guess, p=[6.0])
        assert found.success
        return found.p[0]

    assert abs(ad.grad(eigenvalue)(1.0) + 2 * np.pi) < 1e-5


def test_singular_terms_are_refused():
    with pytest.raises(ad.UnsupportedError, match="singular term"):
        ad.grad(lambda c: solve_bvp(lambda x, y: c * y, lambda a, b: a - 1.0, X, np.ones((1, 5)), S=[[0.0]]).y[0, -1])(
            1.0
        )
