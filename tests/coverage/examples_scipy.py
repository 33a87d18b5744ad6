"""Arguments for the functions of scipy.linalg and scipy.fft: those not named here are called with a matrix."""

from typing import Any

import numpy as np

from tests.coverage.agreement import Example, at, each, of
from tests.coverage.examples_numpy import H, M, N, S, U, V
from tests.coverage.examples_numpy_linalg import APART

SYMMETRIC = H / 4
STABLE = -APART / 3
BAND = np.array([[0.0, 0.3, -0.2], [2.1, 1.8, 2.5], [0.4, 0.5, 0.0]])
HERMITIAN_BAND = np.array([[0.0, 0.3, -0.2], [2.1, 1.8, 2.5]])


def symmetric(call: Any) -> Any:
    """A function of a symmetric matrix, which stays one when it is varied."""
    return lambda f, a, *rest: call(f, (a + a.T) / 2, *rest)


LINALG: dict[str, Example] = {
    "solve": at(S, U),
    "solve_triangular": of(lambda f, a, b: f(a, b, lower=True), S, U),
    "cholesky": of(symmetric(lambda f, a: f(a)), H),
    "cho_factor": of(symmetric(lambda f, a: np.triu(f(a)[0])), H),
    "cho_solve": of(lambda f, c, b: f((c, True), b), np.tril(S), U),
    "lu_factor": of(lambda f, a: f(a)[0], S),
    "lu_solve": of(lambda f, a, b: f((a, np.arange(3)), b), S, U),
    "block_diag": at(M, S),
    "ldl": of(symmetric(lambda f, a: f(a)[:2]), H),
    "expm_frechet": of(lambda f, a, e: f(a, e), S / 3, N.T @ M / 5),
    "logm": at(APART),
    "sqrtm": at(APART),
    "fractional_matrix_power": of(lambda f, a: f(a, 0.3), APART),
    "funm": of(symmetric(lambda f, a: f(a, np.exp)), SYMMETRIC),
    "polar": at(S),
    "schur": of(lambda f, a: np.diagonal(f(a)[0]), APART),
    "svd": of(lambda f, a: f(a)[1], S),
    "eig": of(lambda f, a: f(a)[0], APART),
    "eigvals": at(APART),
    "eigh": of(symmetric(lambda f, a: f(a)[0]), H),
    "eigvalsh": of(symmetric(lambda f, a: f(a)), H),
    "lstsq": of(lambda f, a, b: f(a, b)[0], M.T, U),
    "pinvh": of(symmetric(lambda f, a: f(a)), H),
    "qr_multiply": at(S, M),
    "solve_sylvester": at(S, APART, N.T @ M),
    "solve_continuous_lyapunov": at(S, H),
    "solve_lyapunov": at(S, H),
    "solve_discrete_lyapunov": at(S / 5, H),
    "solve_continuous_are": of(
        lambda f, a, b, q, r: f(a, b, (q + q.T) / 2, (r + r.T) / 2), STABLE, M.T, H, np.eye(2) * 1.5
    ),
    "solve_discrete_are": of(
        lambda f, a, b, q, r: f(a, b, (q + q.T) / 2, (r + r.T) / 2), S / 3, M.T, H, np.eye(2) * 1.5
    ),
    "solve_banded": of(lambda f, ab, b: f((1, 1), ab, b), BAND, U),
    "solveh_banded": at(HERMITIAN_BAND, U),
    "cholesky_banded": at(HERMITIAN_BAND),
    "cho_solve_banded": of(lambda f, ab, b: f((ab, False), b), HERMITIAN_BAND, U),
    "eigh_tridiagonal": at(U, V[:2]),
    "eigvalsh_tridiagonal": at(U, V[:2]),
    **each("circulant toeplitz hankel companion fiedler fiedler_companion", at(U)),
    "leslie": at(U, V[:2]),
    "convolution_matrix": of(lambda f, a: f(a, 4), U),
    "diagsvd": of(lambda f, s: f(s, 3, 4), U),
    **each("khatri_rao kron", at(M, N)),
    **each("solve_toeplitz solve_circulant matmul_toeplitz", at(U, V)),
    **each("qz ordqz orthogonal_procrustes subspace_angles", at(S, H)),
    "cdf2rdf": at(np.linalg.eigvals(APART), APART),
    "rsf2csf": of(lambda f, t, z: f(np.triu(t), z), APART, S),
    "orth": of(lambda f, a: f(a) @ f(a).T, M.T),
    "null_space": of(lambda f, a: f(a) @ f(a).T, M),
    "rq": of(lambda f, a: f(a)[0] @ f(a)[0].T, S),
    "qr_insert": of(lambda f, q, r, u: f(q, r, u, 1), S, S, U),
    "qr_delete": of(lambda f, q, r: f(q, r, 1), S, S),
    "qr_update": of(lambda f, q, r, u, v: f(q, r, u, v), S, S, U, V),
    "cossin": of(lambda f, a: f(a, 1, 1), S),
    "clarkson_woodruff_transform": of(lambda f, a: f(a, 2, 5), S),
    **each("hadamard helmert hilbert invhilbert pascal invpascal dft", of(lambda f: f(4))),
}

FFT: dict[str, Example] = {
    **each("fft fft2 fftn ifft ifft2 ifftn irfft irfft2 irfftn hfft hfft2 hfftn", at(M + 1j * N)),
    **each("fht ifht", of(lambda f, a: f(a, 0.2, 0.7), [0.3, 0.9, 0.4, 0.6])),
    **each("fftfreq rfftfreq next_fast_len prev_fast_len", of(lambda f: f(7))),
    "fhtoffset": of(lambda f: f(0.2, 0.7)),
}


def linalg(name: str) -> Example:
    """Arguments for a function of scipy.linalg."""
    return LINALG.get(name) or at(S)


def fft(name: str) -> Example:
    """Arguments for a function of scipy.fft."""
    return FFT.get(name) or at(M)
