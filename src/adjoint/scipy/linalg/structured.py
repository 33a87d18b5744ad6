"""Matrices made of vectors: Toeplitz, circulant, Hankel, companion …; block diagonal and Khatri-Rao products."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ops.elementwise.select import StopGradient
from adjoint.ops.linalg.matrices import answer
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.linalg.arguments import array, constant


def block_diag(*arrs: Any) -> Value:
    """A matrix with the given ones along its diagonal; numbers and vectors count as one row. Stacks broadcast."""
    blocks: list[Value] = [array(x) for x in arrs] or [np.zeros((1, 0))]
    blocks = [np.reshape(x, (1,) * (2 - x.ndim) + x.shape) if x.ndim < 2 else x for x in blocks]
    stack = np.broadcast_shapes(*[x.shape[:-2] for x in blocks])
    dtype = np.result_type(*[x.dtype for x in blocks])
    width, before = sum(x.shape[-1] for x in blocks), 0
    rows: list[Value] = []
    for x in blocks:
        m, n = x.shape[-2:]
        x = np.broadcast_to(x, (*stack, m, n)) if x.shape[:-2] != stack else x
        left, right = np.zeros((*stack, m, before), dtype), np.zeros((*stack, m, width - before - n), dtype)
        rows.append(np.concatenate([left, x, right], axis=-1))
        before += n
    return np.concatenate(rows, axis=-2)


def _vector(x: Any) -> Value:
    x = array(x)
    return np.reshape(x, (1,)) if x.ndim == 0 else x


def _together(x: Value, y: Value) -> Value:
    """Two stacks of vectors, one behind the other."""
    stack = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    return np.concatenate([np.broadcast_to(v, (*stack, v.shape[-1])) for v in (x, y)], axis=-1)


def toeplitz(c: Any, r: Any = None) -> Value:
    """Constant diagonals: first column c, first row r (r[0] is not read); r is the conjugate of c if not given."""
    c = _vector(c)
    r = np.conjugate(c) if r is None else _vector(r)
    m, n = c.shape[-1], r.shape[-1]
    values = _together(np.flip(c, -1), r[..., 1:])  # from the lowest diagonal to the highest
    return values[..., np.arange(n) - np.arange(m)[:, None] + m - 1]


def hankel(c: Any, r: Any = None) -> Value:
    """Constant along the other diagonals: first column c, last row r (r[0] is not read), zeros if not given."""
    c = _vector(c)
    r = np.zeros(c.shape, c.dtype) if r is None else _vector(r)
    m, n = c.shape[-1], r.shape[-1]
    return _together(c, r[..., 1:])[..., np.arange(m)[:, None] + np.arange(n)]


def circulant(c: Any) -> Value:
    """First column c; each further one is the one before, turned down by one."""
    c = _vector(c)
    n = c.shape[-1]
    return c[..., (np.arange(n)[:, None] - np.arange(n)) % max(n, 1)]


def companion(a: Any) -> Value:
    """The matrix whose eigenvalues are the roots of the polynomial a[0] xⁿ + … + a[n]."""
    a = _vector(a)
    n = a.shape[-1]
    if n < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    if answer(lambda x: np.equal(x[..., 0], 0), bind(StopGradient(), a)):
        raise ValueError("The first coefficient(s) of `a` (i.e. elements of `a[..., 0]`) must not be zero.")
    top = np.expand_dims(-a[..., 1:] / (1.0 * a[..., 0:1]), -2)
    below = np.broadcast_to(np.eye(n - 2, n - 1, dtype=top.dtype), (*a.shape[:-1], n - 2, n - 1))
    return np.concatenate([top, below], axis=-2)


def fiedler(a: Any) -> Value:
    """|aᵢ - aⱼ|."""
    a = _vector(a)
    if a.shape[-1] == 0:
        return np.zeros(0)
    return np.abs(np.expand_dims(a, -1) - np.expand_dims(a, -2))


def fiedler_companion(a: Any) -> Value:
    """Another matrix with the roots of the polynomial as eigenvalues, with five diagonals."""
    a = _vector(a)
    if answer(lambda x: np.equal(x[..., :1], 0), bind(StopGradient(), a)):
        raise ValueError("Leading coefficient is zero.")
    if a.shape[-1] < 2:
        return np.zeros(0, a.dtype)
    a = a / a[..., :1]
    n = a.shape[-1] - 1
    if n == 1:
        return np.expand_dims(-a[..., 1:], -1)
    # which coefficient stands where: 0 for none, and a one where the pattern has ones
    positions, ones = np.zeros((n, n), int), np.zeros((n, n))
    ones[range(3, n, 2), range(1, n - 2, 2)] = 1
    ones[range(0, n - 2, 2), range(2, n, 2)] = 1
    ones[1, 0] = 1
    positions[range(2, n, 2), range(1, n - 1, 2)] = range(3, n + 1, 2)
    positions[range(0, n - 1, 2), range(1, n, 2)] = range(2, n + 1, 2)
    positions[0, 0] = 1
    return ones.astype(a.dtype) - np.where(positions > 0, a[..., positions], a.dtype.type(0))


def leslie(f: Any, s: Any) -> Value:
    """The matrix of a population in age classes: fecundity f in the first row, survival s below the diagonal."""
    f, s = _vector(f), _vector(s)
    n = f.shape[-1]
    if n != s.shape[-1] + 1:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be one less than the length of f."
        )
    if n < 2:
        raise ValueError("The length of s must be at least 1.")
    below = _together(s, np.zeros((*s.shape[:-1], 1), s.dtype))
    return np.expand_dims(f, -2) * np.eye(n, 1, dtype=f.dtype) + np.eye(n, k=-1, dtype=s.dtype) * np.expand_dims(
        below, -2
    )


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Value:
    """The Toeplitz matrix A with A v = np.convolve(a, v, mode) for v of length n."""
    n = constant(n, "convolution_matrix", "n")
    if n <= 0:
        raise ValueError("n must be a positive integer.")
    a = array(a)
    m = a.shape[-1]
    if m == 0:
        raise ValueError("len(a) must be at least 1.")
    if mode not in ("full", "valid", "same"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    shorter = min(n, m) - 1
    first, last = {"full": (0, 0), "valid": (shorter, shorter), "same": (shorter // 2, shorter - shorter // 2)}[mode]
    positions = np.arange(first, n + m - 1 - last)[:, None] - np.arange(n)
    inside = (positions >= 0) & (positions < m)
    return np.where(inside, a[..., np.where(inside, positions, 0)], a.dtype.type(0))


def khatri_rao(a: Any, b: Any) -> Value:
    """The Kronecker products of the columns of a and b, side by side."""
    a, b = array(a), array(b)
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError("The both arrays should be 2-dimensional.")
    if a.shape[-1] != b.shape[-1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    c = np.expand_dims(a, -2) * np.expand_dims(b, -3)
    return np.reshape(c, (*c.shape[:-3], c.shape[-3] * c.shape[-2], c.shape[-1]))


def diagsvd(s: Any, M: int, N: int) -> Value:  # noqa: N803
    """The M × N matrix with s on its diagonal."""
    s = _vector(s)
    k = s.shape[-1]
    if k not in (M, N):
        raise ValueError("Length of s must be M or N.")
    part = np.expand_dims(s, -1) * np.eye(k, dtype=s.dtype)
    missing = np.zeros((*s.shape[:-1], M - k, N) if k == N else (*s.shape[:-1], M, N - k), s.dtype)
    return np.concatenate([part, missing], axis=-2 if k == N else -1)


def _column_and_row(c_or_cr: Any) -> tuple[Value, Value]:
    if isinstance(c_or_cr, tuple):
        c, r = c_or_cr
        return _vector(c), _vector(r)
    return _vector(c_or_cr), np.conjugate(_vector(c_or_cr))


def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: int | None = None) -> Value:
    """The product of a Toeplitz matrix, given by column and row, with x; by Fourier transforms."""
    (c, r), x = _column_and_row(c_or_cr), array(x)
    m, n = c.shape[-1], r.shape[-1]
    one = x.ndim == 1
    x = np.expand_dims(x, -1) if one else x
    if x.shape[-2] != n:
        raise ValueError(f"Shapes of the Toeplitz matrix ({m}, {n}) and x {x.shape} are incompatible")
    size = m + n - 1
    around = _together(c, np.flip(r[..., 1:], -1))  # the first column of the circulant matrix around it
    if all(v.dtype.kind != "c" for v in (c, r, x)):
        product = np.expand_dims(np.fft.rfft(around, size), -1) * np.fft.rfft(x, size, axis=-2)
        z = np.fft.irfft(product, size, axis=-2)[..., :m, :]
    else:
        product = np.expand_dims(np.fft.fft(around, size), -1) * np.fft.fft(x, size, axis=-2)
        z = np.fft.ifft(product, axis=-2)[..., :m, :]
    return z[..., 0] if one else z


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Value:
    """x with T x = b for a Toeplitz matrix T, given by column and row."""
    (c, r), b = _column_and_row(c_or_cr), array(b)
    if c.shape[-1] != r.shape[-1]:
        raise ValueError(f"solve_toeplitz: a square matrix is needed; column and row have {c.shape} and {r.shape}.")
    return np.linalg.solve(toeplitz(c, r), b)


def solve_circulant(
    c: Any,
    b: Any,
    singular: str = "raise",
    tol: float | None = None,
    caxis: int = -1,
    baxis: int = 0,
    outaxis: int = 0,
) -> Value:
    """x with C x = b for the circulant matrix C with first column c, by Fourier transforms.

    singular='lstsq' gives the shortest of the best x instead of an error; its derivative takes the rank as constant.
    """
    c, b = np.moveaxis(_vector(c), caxis, -1), np.moveaxis(_vector(b), baxis, -1)
    if c.shape[-1] != b.shape[-1]:
        raise ValueError(f"Shapes of c {c.shape} and b {b.shape} are incompatible")
    if b.shape[-1] == 0 or 0 in b.shape:
        return np.zeros(b.shape)
    spectrum = np.fft.fft(c, axis=-1)
    size = np.abs(bind(StopGradient(), spectrum))
    line = (
        np.max(size, axis=-1, keepdims=True) * (c.shape[-1] * np.finfo(np.float64).eps)
        if tol is None
        else np.asarray(constant(tol, "solve_circulant", "tol"))
    )
    small = size <= line
    if singular == "raise":
        if answer(lambda x: x, small):
            raise np.linalg.LinAlgError("near singular circulant matrix.")
        none = spectrum.dtype.type(np.nan)  # where the values are not known yet
    else:
        none = spectrum.dtype.type(0)
    q = np.where(small, none, np.fft.fft(b, axis=-1) / np.where(small, spectrum.dtype.type(1), spectrum))
    x = np.fft.ifft(q, axis=-1)
    x = x if "c" in (c.dtype.kind, b.dtype.kind) else np.real(x)
    return x if outaxis == -1 else np.moveaxis(x, -1, outaxis)
