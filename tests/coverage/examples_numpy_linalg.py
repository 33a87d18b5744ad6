"""Arguments for the functions of numpy.linalg and numpy.fft."""

import numpy as np

from tests.coverage.agreement import Example, at, each, of
from tests.coverage.examples_numpy import EXAMPLES, H, M, N, S, U

APART = S + np.diag([0.0, 3.0, 7.0])  # eigenvalues at a distance

LINALG: dict[str, Example] = {
    "solve": at(S, U),
    "tensorsolve": of(lambda f, a, b: f(np.reshape(a, (3, 1, 3)), b[:, None]), S, U),
    "tensorinv": of(lambda f, a: f(np.reshape(a, (3, 1, 3)), 1), S),
    "lstsq": of(lambda f, a, b: f(a, b)[0], M.T, U),
    "pinv": at(M),
    "cholesky": of(lambda f, a: f((a + a.T) / 2), H),
    "eigh": of(lambda f, a: f((a + a.T) / 2)[0], H),
    "eigvalsh": of(lambda f, a: f((a + a.T) / 2), H),
    "eig": of(lambda f, a: f(a)[0], APART),
    "eigvals": at(APART),
    "svd": of(lambda f, a: f(a)[1], M),
    "svdvals": at(M),
    "norm": at(M),
    "matrix_norm": at(M),
    "vector_norm": at(M),
    "matmul": at(S, M.T),
    "matrix_power": of(lambda f, a: f(a, 3), S),
    "multi_dot": of(lambda f, a, b, c: f([a, b, c]), M, S, N.T),
    **{name: EXAMPLES[name] for name in ("outer", "cross", "trace", "diagonal", "vecdot")},
    "tensordot": of(lambda f, a, b: f(a, b, axes=1), M, S),
    "matrix_transpose": at(M),
    "qr": at(S),
    "matrix_rank": at(M),
}

COMPLEX = M + 1j * N
FFT: dict[str, Example] = {
    **each("rfft rfft2 rfftn ihfft fftshift ifftshift", at(M)),
    **each("fftfreq rfftfreq", of(lambda f: f(4))),
}


def linalg(name: str) -> Example:
    """Arguments for a function of numpy.linalg."""
    return LINALG.get(name) or at(S)


def fft(name: str) -> Example:
    """Arguments for a function of numpy.fft."""
    return FFT.get(name) or at(COMPLEX)
