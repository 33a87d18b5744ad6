"""Preconditioners: maps that are cheap to apply and close to A⁻¹.

They change how fast a solver converges, not what it converges to; so they have no derivative.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportMissingTypeStubs=false
# pyright: reportPrivateUsage=false
# (SciPy has no types; a map's methods behind the public ones)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.api.gradients import stop_gradient
from adjoint.base.errors import ShapeError, SolveError, TraceError
from adjoint.base.source import user_facing
from adjoint.linear.operators.from_function import from_function
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.operator import black_box, is_sparse, is_traced
from adjoint.linear.operators.spaces import Space
from adjoint.linear.operators.sparse_matrix import SparseMatrix
from adjoint.linear.operators.structures import diagonal
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value

__all__ = ["block_jacobi", "incomplete_cholesky", "incomplete_lu", "jacobi"]


def _source(A: Any, title: str) -> Any:
    """A map, a sparse array or a matrix, square."""
    if not isinstance(A, LinearMap) and not is_sparse(A) and getattr(A, "ndim", 0) != 2:
        raise TypeError(f"{title}: reads the elements of a matrix, a sparse array or a LinearMap; it got a "
                        f"{type(A).__name__}. Make one of a function by linear.from_function(f, domain).")  # fmt: skip
    if A.shape[0] != A.shape[1]:
        raise ShapeError(f"{title}: the matrix has shape {tuple(A.shape)}; it must have as many rows as columns.")
    return A


@user_facing
def jacobi(A: Any) -> LinearMap:
    """r ↦ r / diag(A); where the diagonal is zero, r itself.

    ```python
    A = np.array([[4.0, 1.0], [1.0, 2.0]])
    ad.linear.cg(A, np.array([5.0, 3.0]), preconditioner=ad.linear.jacobi(A)).value  # → [1.0, 1.0]
    ```
    """
    A = _source(A, "jacobi")
    d = stop_gradient(A.diagonal() if isinstance(A, LinearMap) or is_sparse(A) else np.diagonal(A))
    d = d.astype(float) if d.dtype.kind not in "fc" else d
    weights = 1 / np.where(d == 0, 1, d)
    return diagonal(A.domain.unravel(weights) if isinstance(A, LinearMap) else weights)


@user_facing
def block_jacobi(A: Any, size: int) -> LinearMap:
    """r ↦ D⁻¹ r, where D is A inside square blocks of `size` along its diagonal and zero outside.

    ```python
    A = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 5.0]])
    result = ad.linear.cg(A, np.array([5.0, 4.0, 6.0]), preconditioner=ad.linear.block_jacobi(A, 2)).value
    result  # → [1.0, 1.0, 1.0]
    ```
    """
    A = _source(A, "block_jacobi")
    n = A.shape[0]
    if size < 1:
        raise ValueError(f"block_jacobi: size is {size}; it must be at least 1.")
    space = A.domain if isinstance(A, LinearMap) else Space.vector(n, np.result_type(A.dtype, np.float32))
    array = A.to_dense() if isinstance(A, LinearMap) else A
    count = -(-n // size)
    blocks = np.stack([_block(array, i * size, min((i + 1) * size, n), size, space.dtype) for i in range(count)])
    inverses = stop_gradient(np.linalg.inv(blocks))

    def apply(inverses: Value, r: Any) -> Any:
        vector = np.pad(space.ravel(r), (0, count * size - n))
        found = np.matmul(inverses, np.reshape(vector, (count, size, 1)))
        return space.unravel(np.reshape(found, (count * size,))[:n])

    return from_function(apply, space, parameters=(inverses,))


def _block(array: Any, start: int, stop: int, size: int, dtype: Any) -> Value:
    part = array[start:stop, start:stop]
    part = part.toarray() if is_sparse(part) else part
    full = np.eye(size, dtype=dtype) if stop - start < size else None
    if full is None:
        return part.astype(dtype)
    rest = size - (stop - start)
    return np.pad(part.astype(dtype), (0, rest)) + np.diag(np.concatenate([np.zeros(size - rest), np.ones(rest)]))


def _constant_sparse(A: Any, title: str) -> Any:
    """The matrix as a constant in compressed columns."""
    import scipy.sparse

    A = _source(A, title)
    if isinstance(A, LinearMap):
        parts = (A.entries, A.rows, A.columns) if isinstance(A, SparseMatrix) else None
        A = A._as_sparse() if isinstance(A, SparseMatrix) and not is_traced(parts) else A.to_dense()
    if isinstance(A, Tracer):
        raise TraceError(f"{title}: factorizes a constant matrix by SciPy, and this one is traced. Factorize outside, "
                         "or use jacobi or block_jacobi.")  # fmt: skip
    made: Any = scipy.sparse.csc_array(A)
    return made.astype(np.result_type(made.dtype, np.float32))


@user_facing
def incomplete_lu(A: Any, drop_tol: float = 1e-4, fill_factor: float = 10.0) -> LinearMap:
    """r ↦ (L U)⁻¹ r with small elements of the factors dropped (SciPy's spilu); A is a constant.

    ```python
    A = np.array([[4.0, 1.0], [2.0, 3.0]])
    ad.linear.gmres(A, np.array([5.0, 5.0]), preconditioner=ad.linear.incomplete_lu(A)).value  # → [1.0, 1.0]
    ```
    """
    import scipy.sparse.linalg

    made = _constant_sparse(A, "incomplete_lu")
    try:
        factors: Any = scipy.sparse.linalg.spilu(made, drop_tol=drop_tol, fill_factor=fill_factor)
    except RuntimeError as problem:
        raise SolveError(f"incomplete_lu: the matrix has no such factors ({problem}). Use jacobi.") from None
    return _box(factors.solve, lambda u: factors.solve(u, "H"), made.shape[0], made.dtype)


@user_facing
def incomplete_cholesky(A: Any, drop_tol: float = 1e-4, fill_factor: float = 10.0) -> LinearMap:
    """r ↦ (L D L*)⁻¹ r with small elements of L dropped; A is a constant, symmetric and positive definite.

    L and D are those of an incomplete elimination without exchanges; positive definite, as cg needs.

    ```python
    A = np.array([[4.0, 1.0], [1.0, 3.0]])
    ad.linear.cg(A, np.array([5.0, 4.0]), preconditioner=ad.linear.incomplete_cholesky(A)).value  # → [1.0, 1.0]
    ```
    """
    import scipy.sparse
    import scipy.sparse.linalg as solvers

    made = _constant_sparse(A, "incomplete_cholesky")
    options = {"SymmetricMode": True, "DiagPivotThresh": 0.0}
    try:
        factors: Any = solvers.spilu(
            made, drop_tol=drop_tol, fill_factor=fill_factor, permc_spec="NATURAL", diag_pivot_thresh=0.0,
            options=options,
        )  # fmt: skip
    except RuntimeError as problem:
        raise SolveError(f"incomplete_cholesky: the matrix has no such factors ({problem}). Use jacobi.") from None
    d = np.real(factors.U.diagonal())
    if np.any(factors.perm_r != np.arange(made.shape[0])) or np.any(d <= 0):
        raise SolveError("incomplete_cholesky: a pivot is not positive, so the matrix is not positive definite, or too "
                         "much was dropped. Lower drop_tol, or use incomplete_lu with gmres.")  # fmt: skip
    lower: Any = solvers.splu(
        scipy.sparse.csc_array(factors.L), permc_spec="NATURAL", diag_pivot_thresh=0.0, options=options
    )

    def apply(r: Value) -> Value:
        return lower.solve(lower.solve(r) / d, "H")

    return _box(apply, apply, made.shape[0], made.dtype, "positive definite")


def _box(
    product: Callable[[Value], Value], back: Callable[[Value], Value], n: int, dtype: Any, *facts: str
) -> LinearMap:
    def typed(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
        return lambda r: np.asarray(function(np.asarray(r, dtype)), dtype)

    forwards, backwards = black_box(typed(product), typed(back)), black_box(typed(back), typed(product))
    return from_function(forwards, ArrayType((n,), np.dtype(dtype)), *facts, adjoint=backwards)
