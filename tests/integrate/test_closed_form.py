"""Linear equations against SciPy's exponential and its Fréchet derivative."""

import numpy as np
import pytest
from scipy.linalg import expm, expm_frechet

import adjoint as ad
from adjoint import integrate
from adjoint.base.errors import ShapeError

A = np.array([[0.2, 1.0], [-1.3, -0.4]])
X, U, T = np.array([0.7, -0.4]), np.array([1.0, -2.0]), 2.0


def test_value_and_derivatives():
    np.testing.assert_allclose(integrate.linear(A, X, T), expm(T * A) @ X, rtol=1e-13)
    solved = integrate.solve(lambda t, y: A @ y, (0.0, T), X, rtol=1e-12, atol=1e-12, method="verner9").last
    np.testing.assert_allclose(integrate.linear(A, X, T), solved, atol=1e-10)
    found = ad.grad(lambda A, x, t: U @ integrate.linear(A, x, t), (0, 1, 2))(A, X, T)
    np.testing.assert_allclose(found[0], T * expm_frechet(T * A.T, np.outer(U, X))[1], atol=1e-12)
    np.testing.assert_allclose(found[1], expm(T * A).T @ U, atol=1e-12)
    assert abs(found[2] - U @ A @ expm(T * A) @ X) < 1e-12


def test_times():
    times = [0.0, 0.5]
    np.testing.assert_allclose(integrate.linear(A, X, times), [X, expm(0.5 * A) @ X], rtol=1e-13)
    found = ad.jacfwd(lambda t: integrate.linear(A, X, [0.0, t]))(0.5)
    np.testing.assert_allclose(found, [[0.0, 0.0], A @ expm(0.5 * A) @ X], atol=1e-13)


def test_shapes():
    with pytest.raises(ShapeError, match="t has shape"):
        integrate.linear(A, X, np.ones((2, 2)))
    with pytest.raises(ShapeError, match="square"):
        integrate.linear(np.ones((2, 3)), X, T)
