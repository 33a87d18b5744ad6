"""Factors of a matrix: Cholesky, LU, LDL, QR, polar, Schur."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.linalg.decompose import LU, QR, Cholesky, PivotOrder
from adjoint.ops.linalg.ldl import LDL
from adjoint.ops.linalg.matrix_functions import PolarFactor
from adjoint.ops.linalg.schur import Schur
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.linalg.arguments import array, inexact, matrix, square
from adjoint.scipy.linalg.structured import block_diag


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """The triangular factor of a Hermitian positive definite matrix, a = L Lᴴ = Uᴴ U."""
    a = matrix(a, "cholesky")
    return bind(Cholesky(), a) if lower else adjoint_matrix(bind(Cholesky(), adjoint_matrix(a)))


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Value, bool]:
    """(factor, lower) for `cho_solve`. The other triangle of the factor holds zeros."""
    return cholesky(a, lower), bool(lower)


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Value, Value]:
    """(lu, piv): U and, below the diagonal, L; and the row exchanges."""
    packed, pivots, _ = bind(LU(), matrix(a, "lu_factor"))
    return packed, pivots


def _factors(packed: Value) -> tuple[Value, Value]:
    """L[m, k] and U[k, n]."""
    m, n = packed.shape[-2:]
    k = min(m, n)
    ones = np.tri(m, n, -1, dtype=packed.dtype)
    low, high = packed * ones, packed * (1 - ones)
    return low[..., :k] + np.eye(m, k, dtype=packed.dtype), high[..., :k, :]


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> Any:
    """(P, L, U) with a = P L U; (P L, U) if `permute_l`; P as row numbers, a = L[P] U, if `p_indices`."""
    packed, _, order = bind(LU(), matrix(a, "lu"))
    low, high = _factors(packed)
    positions = np.argsort(order, axis=-1)
    if permute_l:
        return np.take_along_axis(low, np.expand_dims(positions, -1), axis=-2), high
    if p_indices:
        return positions, low, high
    m = packed.shape[-2]
    return np.equal(np.expand_dims(positions, -1), np.arange(m)).astype(np.finfo(packed.dtype).dtype), low, high


def ldl(
    A: Any,  # noqa: N803
    lower: bool = True,
    hermitian: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> tuple[Value, Value, Value]:
    """(L, D, order) with a = L D Lᴴ (L D Lᵀ unless `hermitian`); L[order] is triangular."""
    return bind(LDL(bool(lower), bool(hermitian)), square(A, "ldl"))


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """(Q, R), with `pivoting` (Q, R, P): a[:, P] = Q R. Modes: full, economic, r (no Q), raw ((packed, tau), R)."""
    if mode not in ("full", "qr", "r", "economic", "raw"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic', 'raw']")
    a = matrix(a, "qr")
    order = None
    if pivoting:
        order = bind(PivotOrder(), a)
        a = np.take_along_axis(a, np.expand_dims(order, -2), axis=-1)
    more = () if order is None else (order,)
    if mode == "raw":
        packed, tau = np.linalg.qr(a, mode="raw")
        packed = np.swapaxes(packed, -1, -2)
        return (packed, tau), np.triu(packed[..., : min(a.shape[-2:]), :]), *more
    if mode == "r":
        r = bind(QR(), a)[1]
        missing = a.shape[-2] - r.shape[-2]
        zeros = np.zeros((*r.shape[:-2], missing, r.shape[-1]), r.dtype)
        return np.concatenate([r, zeros], axis=-2) if missing else r, *more
    return (*bind(QR(mode != "economic"), a), *more)


def rq(a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", check_finite: bool = True) -> Any:
    """(R, Q) with a = R Q, R upper triangular: the QR factors of the matrix turned round."""
    if mode not in ("full", "r", "economic"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic']")
    a = matrix(a, "rq")
    q, r = bind(QR(mode != "economic"), adjoint_matrix(np.flip(a, -2)))
    q, r = np.flip(adjoint_matrix(q), -2), np.flip(adjoint_matrix(r), (-2, -1))
    return r if mode == "r" else (r, q)


def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any:
    """(c Q, R), or (Q c, R) with mode='left'; with `pivoting` the order of columns too. `conjugate`: Q's conjugate."""
    if mode not in ("left", "right"):
        raise ValueError(f"Mode argument can only be 'left' or 'right' but not '{mode}'")
    q, *rest = qr(np.atleast_2d(array(a)), mode="economic", pivoting=pivoting)
    q = np.conjugate(q) if conjugate else q
    c = array(c)
    return (np.matmul(c, q) if mode == "right" else np.matmul(q, c), *rest)


def polar(a: Any, side: str = "right") -> tuple[Value, Value]:
    """(u, p) with a = u p, or a = p u for side='left': u has orthonormal columns (rows), p is Hermitian, p ≥ 0.

    The derivative needs full rank; it is exact where singular values coincide.
    """
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    a = inexact(matrix(a, "polar"))
    wide = a.shape[-2] < a.shape[-1]
    u = adjoint_matrix(bind(PolarFactor(), adjoint_matrix(a))) if wide else bind(PolarFactor(), a)
    p = np.matmul(adjoint_matrix(u), a) if side == "right" else np.matmul(a, adjoint_matrix(u))
    return u, (p + adjoint_matrix(p)) / 2


def schur(
    a: Any,
    output: str = "real",
    lwork: Any = None,
    overwrite_a: bool = False,
    sort: Any = None,
    check_finite: bool = True,
) -> Any:
    """(T, Z) with a = Z T Zᴴ, and with `sort` how many eigenvalues it put first.

    The derivative needs eigenvalues that differ.
    """
    if output not in ("real", "complex", "r", "c"):
        raise ValueError("argument must be 'real', or 'complex'")
    a = inexact(square(a, "schur"))
    if output in ("complex", "c") and a.dtype.kind != "c":
        a = a.astype(np.result_type(a.dtype, np.complex64))
    if sort is not None and not callable(sort) and sort not in ("lhp", "rhp", "iuc", "ouc"):
        raise ValueError("'sort' parameter must either be 'None', or a callable, or one of ('lhp','rhp','iuc','ouc')")
    t, z, count = bind(Schur(sort), a)
    return (t, z) if sort is None else (t, z, count)


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Value, Value]:  # noqa: N803
    """The complex Schur form from the real one: each 2 × 2 block is turned into a triangular one."""
    t, z = square(T, "rsf2csf"), square(Z, "rsf2csf")
    if t.shape[-1] != z.shape[-1]:
        raise ValueError(f"Input array shapes must match: Z: {z.shape} vs. T: {t.shape}")
    dtype = np.result_type(t.dtype, z.dtype, np.complex64)
    t, z, n = t.astype(dtype), z.astype(dtype), t.shape[-1]
    eps = np.finfo(dtype).eps
    for m in range(n - 1, 0, -1):
        a, b, c, d = t[..., m - 1, m - 1], t[..., m - 1, m], t[..., m, m - 1], t[..., m, m]
        turn = np.abs(c) > eps * (np.abs(a) + np.abs(d))
        c = np.where(turn, c, dtype.type(1))
        half = (a - d) / 2  # the eigenvalue with the larger imaginary part, less d
        mu = half + 1j * np.sqrt(-(half * half + b * c))
        size = np.sqrt(np.real(np.conjugate(mu) * mu + np.conjugate(c) * c)).astype(dtype)
        cosine, sine = np.where(turn, mu / size, dtype.type(1)), np.where(turn, c / size, dtype.type(0))
        two = [[np.conjugate(cosine), sine], [-sine, cosine]]
        g = np.stack([np.stack(row, axis=-1) for row in two], axis=-2)
        rotation = block_diag(np.eye(m - 1, dtype=dtype), g, np.eye(n - m - 1, dtype=dtype))
        adjoint = adjoint_matrix(rotation)
        t, z = np.matmul(np.matmul(rotation, t), adjoint), np.matmul(z, adjoint)
        t = np.where(np.eye(n, k=-1, dtype=bool) & (np.arange(n) == m - 1), dtype.type(0), t)
    return t, z
