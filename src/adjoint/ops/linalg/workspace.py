"""What linear algebra needs while it runs: copies that NumPy gives to LAPACK, and LAPACK's own work arrays.

LAPACK overwrites its arguments, so NumPy copies one matrix of a stack after the other. How large a work array a routine
wants, it says itself (`lwork`). SciPy's routines that call many others have a number of matrices that was measured.
"""

# LAPACK's routines have no types.

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportMissingTypeStubs=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.program.types import ArrayType

__all__ = [
    "cofactor_workspace", "eig_workspace", "eigh_workspace", "factor_workspace", "inverse_workspace",
    "measured_workspace", "pseudo_inverse_workspace", "qr_workspace", "solve_workspace",
    "spectral_derivative_workspace", "svd_workspace",
]  # fmt: skip

Types = Sequence[ArrayType]
Pair = tuple[float, float]  # (of real matrices, of complex ones)
INTEGER = 4  # bytes


def measured_workspace(results: Types, squares: Pair, columns: Pair = (0, 0)) -> int:
    """So many matrices like the result and columns of it; some depend on values, as how often a matrix is halved."""
    matrix = next(k for k in results if k.ndim > 1 and k.dtype.kind in "fc")
    which = int(matrix.dtype.kind == "c")
    m, n = matrix.shape[-2:]
    return int((squares[which] * m * n + columns[which] * n) * matrix.dtype.itemsize)


def solve_workspace(types: Types, results: Types) -> int:
    """LU factors of A with their pivots, and a copy of B."""
    n, k = types[0].shape[-1], types[1].shape[-1]
    one = n * (n + k) * _wide(*types).itemsize + INTEGER * n
    return one + _cast(types, results)


def inverse_workspace(types: Types, results: Types) -> int:
    """A⁻¹ as the solution of A X = I."""
    n = types[0].shape[-1]
    return 2 * n * n * _wide(*types).itemsize + INTEGER * n + _cast(types, results)


def factor_workspace(types: Types, results: Types) -> int:
    """A copy of one matrix, which is overwritten by its factors."""
    m, n = types[0].shape[-2:]
    return m * n * _wide(*types).itemsize + _cast(types, results)


def cofactor_workspace(types: Types, results: Types) -> int:
    """det A · A⁻ᵀ: the inverse, and what it needs."""
    return results[0].nbytes + inverse_workspace(types[:1], results)


def qr_workspace(types: Types, results: Types, full: bool) -> int:
    """The factors are unpacked from a copy of A, beside which LAPACK has one of its own, and Q once more."""
    wide = _wide(*types)
    (m, n), k = types[0].shape[-2:], results[0].shape[-1]
    one = m * (n + k) * wide.itemsize + _work("geqrf", wide, m, max(n, k if full else n))
    q = ArrayType(results[0].shape, wide).nbytes
    return max(0, ArrayType(types[0].shape, wide).nbytes + q + one - sum(r.nbytes for r in results))


def svd_workspace(types: Types, results: Types, full: bool) -> int:
    """The factors of one matrix, and what gesdd asks for."""
    return _gesdd(types[0], full) + _cast(types, results)


def pseudo_inverse_workspace(types: Types, results: Types) -> int:
    """The factors, and for complex A its conjugate."""
    u, result = ArrayType(types[0].shape, _wide(types[0])).nbytes, results[0].nbytes
    square = min(types[0].shape[-2:]) / max(types[0].shape[-2:]) * u
    conjugate = result if results[0].dtype.kind == "c" else 0
    return int(_gesdd(types[0], False) + u + square + conjugate - result)


def eigh_workspace(types: Types, results: Types) -> int:
    """One matrix, and the work arrays of syevd and heevd by their documentation."""
    n, wide = types[0].shape[-1], _wide(*types)
    numbers = 2 * n * n + 6 * n if wide.kind == "f" else 2 * (n * n + 2 * n) + 2 * n * n + 5 * n
    return n * n * wide.itemsize + 8 * (numbers + n) + INTEGER * 5 * n + _cast(types, results)


def eig_workspace(types: Types, results: Types) -> int:
    """For real A the vectors come as pairs of real columns, and are put together."""
    n, wide = types[0].shape[-1], _wide(*types)
    matrices = 4 * n * n * 8 if wide.kind == "f" else 2 * n * n * 16
    return matrices + _work("geev", wide, n, compute_vl=False, compute_vr=True) + _cast(types, results)


def spectral_derivative_workspace(types: Types, results: Types) -> int:
    """f(A), or its derivative in a direction by the Schur form of a block matrix; measured."""
    n, wide = types[0].shape[-1], results[0].dtype
    matrices = 3 if len(types) == 1 else 70 if wide.kind == "f" else 36
    return matrices * n * n * wide.itemsize


def _wide(*types: ArrayType) -> np.dtype[Any]:
    """What NumPy computes in: always with double precision."""
    return np.dtype(np.complex128 if any(t.dtype.kind == "c" for t in types) else np.float64)


def _cast(types: Types, results: Types) -> int:
    """Copies of arguments and results that have another dtype than NumPy computes in."""
    wide = _wide(*types)
    others = [ArrayType(t.shape, wide) for t in types if t.dtype != wide and t.ndim]
    narrow = [r for r in results if r.dtype.itemsize < 8]
    return sum(t.nbytes for t in others) + sum(2 * r.nbytes for r in narrow)


def _work(routine: str, wide: np.dtype[Any], *sizes: int, **options: Any) -> int:
    """Bytes of the work array that a LAPACK routine asks for."""
    from scipy.linalg.lapack import get_lapack_funcs

    answer = get_lapack_funcs((f"{routine}_lwork",), dtype=wide)[0](*sizes, **options)
    return int(np.real(answer[0])) * wide.itemsize


def _gesdd(matrix: ArrayType, full: bool) -> int:
    wide = _wide(matrix)
    m, n = matrix.shape[-2:]
    k = min(m, n)
    rows, columns = (m, n) if full else (k, k)
    matrices = (m * n + m * rows + columns * n) * wide.itemsize
    work = _work("gesdd", wide, m, n, compute_uv=True, full_matrices=full)
    real = 16 * (5 * k * k + 5 * k) if wide.kind == "c" else 8 * k
    return matrices + work + real + INTEGER * 8 * k
