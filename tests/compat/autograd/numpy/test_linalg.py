"""Functions that read one triangle of a matrix, beside Autograd's own rules."""

import autograd
import autograd.numpy as theirs
import numpy as np

import adjoint.compat.autograd.numpy as anp
from adjoint.compat.autograd import grad

A = 4 * np.eye(3) + np.random.default_rng(0).uniform(-1, 1, (3, 3))
WEIGHTS = np.cos(np.arange(9.0)).reshape(3, 3)


def test_eigh_is_autograds() -> None:
    for uplo in ("L", "U"):
        f = lambda lib, uplo=uplo: lambda a: lib.sum(WEIGHTS * lib.linalg.eigh(a, uplo)[1] ** 2)
        np.testing.assert_allclose(grad(f(anp))(A), autograd.grad(f(theirs))(A), rtol=1e-10, atol=1e-13)


def test_cholesky_of_symmetric_parameters_is_autograds() -> None:
    f = lambda lib: lambda a: lib.sum(WEIGHTS * lib.linalg.cholesky((a + a.T) / 2))
    np.testing.assert_allclose(grad(f(anp))(A), autograd.grad(f(theirs))(A), rtol=1e-10)


def test_cholesky_has_the_gradient_of_what_numpy_computes() -> None:
    """Autograd's is symmetric."""
    f = lambda lib: lambda a: lib.sum(WEIGHTS * lib.linalg.cholesky(a))
    found, symmetric = grad(f(anp))(A), autograd.grad(f(theirs))(np.tril(A) + np.tril(A, -1).T)
    np.testing.assert_allclose(found, np.tril(symmetric) + np.tril(symmetric, -1), rtol=1e-10)
    v = np.random.default_rng(1).normal(size=(3, 3))
    wanted = (f(np)(A + 1e-5 * v) - f(np)(A - 1e-5 * v)) / 2e-5
    np.testing.assert_allclose(np.sum(found * v), wanted, rtol=1e-7)
