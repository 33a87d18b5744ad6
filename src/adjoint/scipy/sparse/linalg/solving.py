"""Equations with a sparse matrix, by SciPy's names: SuperLU solves them, the equation itself is differentiated.

    A x = b:    ẋ = A⁻¹ (ḃ - Ȧ x),    b̄ = A⁻ᴴ x̄,    āᵢⱼ = -b̄ᵢ conj(xⱼ) at the entries of A

A matrix is factored once for the solution and its derivatives of all orders.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError, UnsupportedError
from adjoint.ops.linalg.sparse_solve import SparseSolve
from adjoint.program.trace import Tracer, bind
from adjoint.program.types import Value
from adjoint.scipy.sparse.arrays import SparseArray, sparse_of
from adjoint.scipy.sparse.construction import as_sparse, csc_array
from adjoint.scipy.sparse.numbering import for_traced
from adjoint.scipy.sparse.structure import is_plain_sparse

LINALG = "scipy.sparse.linalg"


def square(call: str, a: Any) -> SparseArray:
    """A matrix with as many rows as columns, as a sparse array of ours."""
    found = as_sparse(a)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise ShapeError(f"{call}: a square matrix is needed, got shape {found.shape}.")
    return found


def solved(a: SparseArray, b: Value, trans: str = "N") -> Value:
    """x with A x = b, Aᵀ x = b or Aᴴ x = b, for a vector or the columns of a matrix."""
    columns = np.expand_dims(b, -1) if b.ndim == 1 else b
    x = bind(SparseSolve(a.shape[0], trans), a.data, columns, *a.coords)
    return np.squeeze(x, -1) if b.ndim == 1 else x


def right_side(call: str, a: SparseArray, b: Any) -> Value:
    """An array of as many rows as the matrix."""
    b = b if isinstance(b, Tracer) else np.asarray(b)
    if b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ValueError(f"{call}: matrix - rhs dimension mismatch ({a.shape} - {b.shape})")
    return b


@for_traced(LINALG)
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """x with A x = b; of a sparse b a sparse x with an entry at every position."""
    a = square("spsolve", A)
    if isinstance(b, SparseArray) or is_plain_sparse(b):
        return csc_array(solved(a, sparse_of(b).toarray()))
    b = right_side("spsolve", a, b)
    x = solved(a, b)
    return x[:, 0] if b.ndim == 2 and b.shape[1] == 1 else x


class Factors:
    """What `splu` makes of a matrix with traced entries: it solves, as often as wanted, by one factorization."""

    def __init__(self, a: SparseArray) -> None:
        self._matrix = a
        self.shape = a.shape
        self.nnz = a.nnz

    def solve(self, rhs: Any, trans: str = "N") -> Value:
        """x with A x = rhs, Aᵀ x = rhs (trans "T") or Aᴴ x = rhs ("H")."""
        if trans not in ("N", "T", "H"):
            raise ValueError(f"trans must be N, T, or H; got {trans!r}")
        return solved(self._matrix, right_side("splu.solve", self._matrix, rhs), trans)

    def __getattr__(self, name: str) -> Any:
        if name in ("L", "U", "perm_r", "perm_c"):
            raise UnsupportedError(
                f"splu: the factor {name} of a matrix with traced entries is not available; .solve(b, trans) is. Use "
                "adjoint.scipy.linalg.lu(A.toarray()) for factors with derivatives."
            )
        raise AttributeError(f"what splu returns has no {name!r}")


class PlainFactors:
    """What `splu` makes of a plain matrix, for traced right sides as well: SciPy's own, whose rest it passes on."""

    def __init__(self, theirs: Any, a: SparseArray) -> None:
        self._theirs, self._traced = theirs, Factors(a)

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """x with A x = rhs, Aᵀ x = rhs (trans "T") or Aᴴ x = rhs ("H")."""
        return (self._traced if isinstance(rhs, Tracer) else self._theirs).solve(rhs, trans)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._theirs, name)


def splu(A: Any, **options: Any) -> Any:
    """The factors of A, for many right sides: an object with .solve(b, trans).

    `permc_spec` and the other options of SuperLU are for plain matrices.
    """
    import scipy.sparse.linalg

    if isinstance(A, SparseArray | Tracer):
        return Factors(square("splu", A))
    return PlainFactors(scipy.sparse.linalg.splu(A, **options), square("splu", A))


def factorized(A: Any) -> Callable[[Any], Value]:
    """The function b ↦ x with A x = b, which factors A once."""
    import scipy.sparse

    return splu(A if isinstance(A, SparseArray | Tracer) else scipy.sparse.csc_array(A)).solve


@for_traced(LINALG)
def spsolve_triangular(
    A: Any,
    b: Any,
    lower: bool = True,
    overwrite_A: bool = False,
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Value:
    """x with A x = b, for a triangular A; with `unit_diagonal` its diagonal is taken as ones."""
    a = square("spsolve_triangular", A).tocoo()
    rows, columns = a.coords
    if np.any(rows < columns if lower else rows > columns):
        side, other = ("lower", "upper") if lower else ("upper", "lower")
        raise np.linalg.LinAlgError(f"A is not triangular: it must be {side} triangular, and has {other} entries.")
    if unit_diagonal:
        below = np.flatnonzero(rows != columns)
        one = sparse_of(_identity(a.shape[0], a.dtype))
        a = SparseArray(np.take(a.data, below), _chosen(a, below)) + one
    return solved(a, right_side("spsolve_triangular", a, b))


def _identity(n: int, dtype: Any) -> Any:
    import scipy.sparse

    return scipy.sparse.eye_array(n, dtype=dtype, format="csr")


def _chosen(a: SparseArray, which: Any) -> Any:
    pattern = a.pattern
    return type(pattern)(tuple(axis[which] for axis in pattern.coords), pattern.shape, "coo", pattern.array)


@for_traced(LINALG)
def inv(A: Any) -> SparseArray:
    """The inverse, as a sparse array with an entry at every position."""
    a = square("inv", A)
    return csc_array(solved(a, np.eye(a.shape[0])))
