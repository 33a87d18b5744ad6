"""One use of every function of linear algebra and every Fourier transform that takes traced values."""

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.scipy import linalg

Function = Callable[[Any], Any]

X = np.array([0.31, 0.82, 0.47, 0.64])
FIXED = np.array([[2.1, 0.3, -0.4, 0.2], [0.1, 1.7, 0.5, -0.3], [-0.2, 0.4, 2.4, 0.6], [0.7, -0.1, 0.3, 1.9]])


def words(text: str) -> list[str]:
    return text.split()


def matrix(x: Any) -> Any:
    """A matrix far from singular, with different elements."""
    return FIXED + np.outer(x, [0.4, -0.3, 0.2, 0.1])


def symmetric(x: Any) -> Any:
    m = matrix(x)
    return m @ m.T


PRODUCTS: dict[str, Function] = {
    "convolve": lambda x: (np.convolve(x, x[:2]), np.convolve(x, x[:3], "same"), np.convolve(x, x[:2], "valid")),
    "correlate": lambda x: np.correlate(x, x[:2], "full"),
    "cross": lambda x: np.cross(matrix(x)[:, :3], x[:3]),
    "dot": lambda x: (np.dot(x, x), np.dot(matrix(x), x)),
    "einsum": lambda x: (np.einsum("ij,j,ik->k", matrix(x), x, matrix(x)), np.einsum("ii->i", matrix(x))),
    "inner": lambda x: np.inner(matrix(x), x),
    "kron": lambda x: np.kron(x, x[:2]),
    "outer": lambda x: np.outer(x, x),
    "tensordot": lambda x: np.tensordot(matrix(x), matrix(x), axes=([0], [1])),
    "trace": lambda x: np.trace(matrix(x)),
    "vdot": lambda x: np.vdot(x, x),
    "linalg.cross": lambda x: np.linalg.cross(x[:3], x[1:]),
    "linalg.diagonal": lambda x: np.linalg.diagonal(matrix(x)),
    "linalg.matmul": lambda x: np.linalg.matmul(matrix(x), matrix(x)),
    "linalg.matrix_norm": lambda x: np.linalg.matrix_norm(matrix(x)),
    "linalg.matrix_power": lambda x: (np.linalg.matrix_power(matrix(x), 3), np.linalg.matrix_power(matrix(x), -1)),
    "linalg.matrix_transpose": lambda x: np.linalg.matrix_transpose(matrix(x)),
    "linalg.multi_dot": lambda x: np.linalg.multi_dot([x, matrix(x), matrix(x).T]),
    "linalg.outer": lambda x: np.linalg.outer(x, x),
    "linalg.tensordot": lambda x: np.linalg.tensordot(matrix(x), x, axes=1),
    "linalg.trace": lambda x: np.linalg.trace(matrix(x)),
    "linalg.vecdot": lambda x: np.linalg.vecdot(matrix(x), x),
    "stacks": lambda x: np.stack([matrix(x)] * 3) @ matrix(x) @ x,
}

LINEAR_ALGEBRA: dict[str, Function] = {
    "linalg.cholesky": lambda x: np.linalg.cholesky(symmetric(x)),
    "linalg.cond": lambda x: np.linalg.cond(matrix(x)),
    "linalg.det": lambda x: np.linalg.det(matrix(x**2)),
    "linalg.eig": lambda x: np.abs(np.linalg.eig(symmetric(x))[0]),
    "linalg.eigh": lambda x: (np.linalg.eigh(symmetric(x))[0], np.abs(np.linalg.eigh(symmetric(x))[1])),
    "linalg.eigvals": lambda x: np.abs(np.linalg.eigvals(matrix(x))),
    "linalg.eigvalsh": lambda x: np.linalg.eigvalsh(symmetric(x)),
    "linalg.inv": lambda x: np.linalg.inv(matrix(x)),
    "linalg.lstsq": lambda x: np.linalg.lstsq(matrix(x), x)[0],
    "linalg.pinv": lambda x: np.linalg.pinv(matrix(x)[:, :2]),
    "linalg.qr": lambda x: np.abs(np.linalg.qr(matrix(x))[1]),
    "linalg.slogdet": lambda x: np.linalg.slogdet(matrix(x))[1],
    "linalg.solve": lambda x: (np.linalg.solve(matrix(x), x), np.linalg.solve(matrix(x), matrix(x).T)),
    "linalg.svd": lambda x: (np.linalg.svd(matrix(x))[1], np.abs(np.linalg.svd(matrix(x))[0])),
    "linalg.svdvals": lambda x: np.linalg.svdvals(matrix(x)),
    "linalg.tensorinv": lambda x: np.linalg.tensorinv(np.reshape(matrix(x), (4, 2, 2)), ind=1),
    "linalg.tensorsolve": lambda x: np.linalg.tensorsolve(np.reshape(matrix(x), (4, 2, 2)), x),
    "scipy cho_solve": lambda x: linalg.cho_solve(linalg.cho_factor(symmetric(x)), x),
    "scipy cholesky": lambda x: linalg.cholesky(symmetric(x), lower=True),
    "scipy expm": lambda x: linalg.expm(0.3 * matrix(x)),
    "scipy lu_solve": lambda x: linalg.lu_solve(linalg.lu_factor(matrix(x)), x),
    "scipy solve": lambda x: linalg.solve(matrix(x), x),
    "scipy solve_triangular": lambda x: linalg.solve_triangular(matrix(x), x, lower=True),
    "scipy block_diag": lambda x: linalg.block_diag(matrix(x), x),
}


def _spectrum(f: Function) -> Function:
    return lambda x: np.abs(f(matrix(x)))


FOURIER: dict[str, Function] = {
    **{
        f"fft.{name}": _spectrum(getattr(np.fft, name))
        for name in words("fft fft2 fftn ifft ifft2 ifftn rfft rfft2 rfftn")
    },
    "fft.irfft": lambda x: np.fft.irfft(np.fft.rfft(x) * x[0]),
    "fft.irfft2": lambda x: np.fft.irfft2(matrix(x)),
    "fft.irfftn": lambda x: np.fft.irfftn(matrix(x)),
    "fft.hfft": lambda x: np.fft.hfft(x),
    "fft.ihfft": lambda x: np.real(np.fft.ihfft(x)),
    "fft.fftshift": lambda x: np.fft.fftshift(x),
    "fft.ifftshift": lambda x: np.fft.ifftshift(matrix(x)),
}
