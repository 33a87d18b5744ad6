"""Matrices given by their diagonals: equations, Cholesky factors, eigenvalues.

General storage: ab[u + i - j, j] = a[i, j]. Hermitian storage holds one half: the main diagonal is the last row
(upper) or the first (lower).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.linalg.banded import BandedSolve, inside, shifted
from adjoint.ops.linalg.decompose import Cholesky
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.linalg.arguments import applied, array, inexact, matrix
from adjoint.scipy.linalg.spectra import chosen_pairs, chosen_values


def solve_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Value:
    """x with a x = b, for a with l diagonals below the main one and u above."""
    low, up = l_and_u
    return applied(BandedSolve(int(low), int(up)), matrix(ab, "solve_banded"), array(b))


def _whole(half: Value, lower: bool) -> Value:
    """All diagonals of a Hermitian matrix, from one half of them; the main one counts with its real part."""
    k, n = half.shape[-2] - 1, half.shape[-1]
    rows = [half[..., d if lower else k - d, :] for d in range(k + 1)]
    main = np.real(rows[0]).astype(half.dtype) if half.dtype.kind == "c" else rows[0]
    if lower:
        below, above = rows[1:], [np.conjugate(shifted(row, d + 1)) for d, row in enumerate(rows[1:])]
    else:
        below, above = [np.conjugate(shifted(row, -d - 1)) for d, row in enumerate(rows[1:])], rows[1:]
    if k >= n > 0:
        raise ShapeError(f"a matrix of {n} columns has no {k} diagonals on one side.")
    return inside(np.stack([*reversed(above), main, *below], axis=-2), k, k)


def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Value:
    """x with a x = b, for a Hermitian positive definite a given by one half of its diagonals."""
    ab = matrix(ab, "solveh_banded")
    k = ab.shape[-2] - 1
    return applied(BandedSolve(k, k, positive=True), _whole(ab, bool(lower)), array(b))


def _dense(band: Value, low: int, up: int) -> Value:
    """The matrix with these diagonals."""
    n = band.shape[-1]
    rows, columns = np.arange(n)[:, None], np.arange(n)
    offsets = rows - columns
    there = (offsets <= low) & (-offsets <= up)
    return np.where(there, band[..., np.where(there, up + offsets, 0), columns], band.dtype.type(0))


def _halved(a: Value, k: int, lower: bool) -> Value:
    """One half of the diagonals of a triangular matrix."""
    n = a.shape[-1]
    columns = np.arange(n)
    rows = columns + (np.arange(k + 1) if lower else np.arange(-k, 1))[:, None]
    there = (rows >= 0) & (rows < n)
    return np.where(there, a[..., np.where(there, rows, 0), columns], a.dtype.type(0))


def cholesky_banded(ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True) -> Value:
    """The Cholesky factor of a Hermitian positive definite matrix, both given by one half of their diagonals."""
    ab = inexact(matrix(ab, "cholesky_banded"))
    k = ab.shape[-2] - 1
    factor = bind(Cholesky(), _dense(_whole(ab, bool(lower)), k, k))
    return _halved(factor if lower else adjoint_matrix(factor), k, bool(lower))


def cho_solve_banded(
    cb_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Value:
    """x with a x = b, from the factor of `cholesky_banded`."""
    cb, lower = cb_and_lower
    cb, b = matrix(cb, "cho_solve_banded"), array(b)
    k = cb.shape[-2] - 1
    rows = [cb[..., d, :] for d in range(k + 1)]
    # the diagonals of the adjoint factor stand in the opposite order, each moved by its distance
    other = [np.conjugate(shifted(row, d if lower else d - k)) for d, row in enumerate(rows)]
    turned = np.stack(other[::-1], axis=-2)
    low, high = (cb, turned) if lower else (turned, cb)
    return applied(BandedSolve(0, k), high, applied(BandedSolve(k, 0), low, b))


def eig_banded(
    a_band: Any,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Any = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Any:
    """Eigenvalues and vectors of a Hermitian matrix given by one half of its diagonals."""
    band = inexact(matrix(a_band, "eig_banded"))
    k = band.shape[-2] - 1
    return _pairs(_dense(_whole(band, bool(lower)), k, k), eigvals_only, select, select_range, "eig_banded")


def eigvals_banded(
    a_band: Any,
    lower: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Any = None,
    check_finite: bool = True,
) -> Value:
    """Eigenvalues of a Hermitian matrix given by one half of its diagonals."""
    return eig_banded(a_band, lower, True, select=select, select_range=select_range)


def eigh_tridiagonal(
    d: Any,
    e: Any,
    eigvals_only: bool = False,
    select: Any = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """Eigenvalues and vectors of the real symmetric matrix with diagonal d and e on both sides of it."""
    d, e = inexact(d), inexact(e)
    if d.dtype.kind == "c" or e.dtype.kind == "c":
        raise TypeError("eigh_tridiagonal: d and e must be real.")
    if d.shape[-1] != e.shape[-1] + 1:
        raise ValueError(f"d (length {d.shape[-1]}) must have one more element than e (length {e.shape[-1]})")
    n, dtype = d.shape[-1], np.result_type(d.dtype, e.dtype)
    side = np.concatenate([e, np.zeros((*e.shape[:-1], 1), e.dtype)], axis=-1)
    below = np.eye(n, k=-1, dtype=dtype) * np.expand_dims(side, -2)
    a = np.eye(n, dtype=dtype) * np.expand_dims(d, -2) + below + np.swapaxes(below, -1, -2)
    return _pairs(a, eigvals_only, select, select_range, "eigh_tridiagonal")


def eigvalsh_tridiagonal(
    d: Any,
    e: Any,
    select: Any = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Value:
    """Eigenvalues of the real symmetric matrix with diagonal d and e on both sides of it."""
    return eigh_tridiagonal(d, e, True, select, select_range)


def _pairs(a: Value, eigvals_only: bool, select: Any, select_range: Any, call: str) -> Any:
    w, v = np.linalg.eigh(a)
    kind = {0: "a", 1: "v", 2: "i", "all": "a", "value": "v", "index": "i"}.get(select, select)
    if kind not in ("a", "v", "i"):
        raise ValueError('invalid argument for select: it is "a", "v" or "i"')
    if kind == "a":
        return w if eigvals_only else (w, v)
    index, value = (select_range, None) if kind == "i" else (None, select_range)
    return chosen_values(w, index, value, call) if eigvals_only else chosen_pairs(w, v, index, value, call)
