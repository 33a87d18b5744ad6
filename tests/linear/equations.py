"""Equations for the tests of solvers: matrices of every kind that a method takes."""

import numpy as np

from adjoint import linear

RNG = np.random.default_rng(7)
N = 12
ANY = RNG.normal(size=(N, N))
POSITIVE = ANY @ ANY.T / N + np.eye(N)
INDEFINITE = POSITIVE - np.diag(np.where(np.arange(N) < 4, 4.0, 0.0))
GENERAL = ANY + 6 * np.eye(N)
COMPLEX = GENERAL + 1j * RNG.normal(size=(N, N))
HERMITIAN = COMPLEX @ COMPLEX.conj().T / N + np.eye(N)
B, V, W = RNG.normal(size=(3, N))

# method -> (function, a matrix that it takes)
METHODS = {
    "cg": (linear.cg, POSITIVE),
    "minres": (linear.minres, INDEFINITE),
    "gmres": (linear.gmres, GENERAL),
    "bicgstab": (linear.bicgstab, GENERAL),
    "lsmr": (linear.lsmr, GENERAL),
}
EXACT = {"tol": 1e-13}


def close(found, expected, rtol=1e-8):
    """Equal to the accuracy of an iterative solve, relative to the largest element."""
    scale = float(np.max(np.abs(expected), initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * max(scale, 1e-300))
