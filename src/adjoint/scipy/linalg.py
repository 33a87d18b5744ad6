"""scipy.linalg for plain and traced values, stacks of matrices included. Names and arguments are SciPy's.

`overwrite_*` and `check_finite` are taken and ignored: nothing of the caller's is written to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError, UnsupportedError
from adjoint.ops.contract import adjoint_matrix
from adjoint.ops.decompose import LU, Cholesky
from adjoint.ops.exponential import MatrixExponential
from adjoint.ops.matrices import hermitian
from adjoint.ops.solving import Solve, TriangularSolve
from adjoint.program.op import Op
from adjoint.program.trace import Traced, bind
from adjoint.program.types import Value

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "det",
    "expm",
    "inv",
    "lu",
    "lu_factor",
    "lu_solve",
    "solve",
    "solve_triangular",
]


def _array(x: Any) -> Value:
    return x if isinstance(x, Traced) else np.asarray(x)


def _matrix(x: Any, call: str) -> Value:
    x = _array(x)
    if x.ndim < 2:
        raise ShapeError(f"{call}: needs a matrix or a stack of matrices, got shape {x.shape}.")
    return x


def _applied(op: Op, a: Value, b: Value) -> Value:
    """op on a right side that may be one vector."""
    if b.ndim == 1:
        return np.squeeze(bind(op, a, np.expand_dims(b, -1)), -1)
    return bind(op, a, b)


def _flipped(a: Value, trans: Any) -> tuple[Value, bool]:
    """a, its transpose or its adjoint; and whether lower and upper change places."""
    kinds = {0: "N", 1: "T", 2: "C"}
    kind = kinds.get(trans, trans)
    if kind not in ("N", "T", "C"):
        raise ValueError(f"trans must be 0, 1, 2, 'N', 'T' or 'C'; got {trans!r}")
    if kind == "N":
        return a, False
    return (np.swapaxes(a, -1, -2) if kind == "T" else adjoint_matrix(a)), True


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Value:
    """x with a x = b, where a is triangular; the other triangle is not read."""
    a, flip = _flipped(_matrix(a, "solve_triangular"), trans)
    return _applied(TriangularSolve(bool(lower) != flip, bool(unit_diagonal)), a, _array(b))


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """The triangular factor of a Hermitian positive definite matrix, a = L Lᴴ = Uᴴ U."""
    a = _matrix(a, "cholesky")
    return bind(Cholesky(), a) if lower else adjoint_matrix(bind(Cholesky(), adjoint_matrix(a)))


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Value, bool]:
    """(factor, lower) for `cho_solve`. The other triangle of the factor holds zeros."""
    return cholesky(a, lower), bool(lower)


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Value:
    """x with a x = b, from the factor of a."""
    c, lower = c_and_lower
    c, b = _matrix(c, "cho_solve"), _array(b)
    low, high = (c, adjoint_matrix(c)) if lower else (adjoint_matrix(c), c)
    return _applied(TriangularSolve(lower=False), high, _applied(TriangularSolve(lower=True), low, b))


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Value:
    """x with a x = b (aᵀ x = b if `transposed`). What `assume_a` says must be true of all of a, not of one triangle."""
    a, b = _matrix(a, "solve"), _array(b)
    kind = "gen" if assume_a is None else assume_a
    if kind in ("pos", "positive definite"):
        factor = bind(Cholesky(), hermitian(a))
        return cho_solve((np.conjugate(factor) if transposed else factor, True), b)
    a = np.swapaxes(a, -1, -2) if transposed else a
    if kind in ("upper triangular", "lower triangular"):
        return _applied(TriangularSolve((kind == "lower triangular") != transposed), a, b)
    if kind in ("her", "hermitian"):
        a = hermitian(a)
    elif kind in ("sym", "symmetric"):
        a = (a + np.swapaxes(a, -1, -2)) / 2
    elif kind not in ("gen", "general", "diagonal", "tridiagonal", "banded"):
        raise UnsupportedError(
            f"solve: assume_a={assume_a!r} is not known; leave it out, or use one that scipy.linalg.solve names."
        )
    return _applied(Solve(), a, b)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """The inverse matrix."""
    return np.linalg.inv(_matrix(a, "inv"))


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """The determinant."""
    return np.linalg.det(_matrix(a, "det"))


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Value, Value]:
    """(lu, piv): U and, below the diagonal, L; and the row exchanges."""
    packed, pivots, _ = bind(LU(), _matrix(a, "lu_factor"))
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
    packed, _, order = bind(LU(), _matrix(a, "lu"))
    low, high = _factors(packed)
    places = np.argsort(order, axis=-1)
    if permute_l:
        return np.take_along_axis(low, np.expand_dims(places, -1), axis=-2), high
    if p_indices:
        return places, low, high
    m = packed.shape[-2]
    return np.equal(np.expand_dims(places, -1), np.arange(m)).astype(np.finfo(packed.dtype).dtype), low, high


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Value:
    """x with a x = b (aᵀ x = b, aᴴ x = b), from the factors of a."""
    packed, pivots = _matrix(lu_and_piv[0], "lu_solve"), lu_and_piv[1]
    b = _array(b)
    columns = np.expand_dims(b, -1) if b.ndim == 1 else b
    order = _order(pivots, packed.shape[-1])
    below, above = TriangularSolve(lower=True, unit=True), TriangularSolve(lower=False)
    factors, flip = _flipped(packed, trans)
    if not flip:
        x = bind(above, packed, bind(below, packed, _rows(columns, order)))
    else:
        first, second = TriangularSolve(lower=True), TriangularSolve(lower=False, unit=True)
        x = _rows(bind(second, factors, bind(first, factors, columns)), np.argsort(order, axis=-1))
    return np.squeeze(x, -1) if b.ndim == 1 else x


def _rows(b: Value, order: Value) -> Value:
    stack = np.broadcast_shapes(b.shape[:-2], order.shape[:-1])
    b = np.broadcast_to(b, (*stack, *b.shape[-2:])) if b.shape[:-2] != stack else b
    index = np.expand_dims(order, -1) + np.zeros((*stack, 1, b.shape[-1]), dtype=np.intp)
    return np.take_along_axis(b, index, axis=-2)


def _order(pivots: Value, m: int) -> Value:
    """The order of rows that the exchanges give."""
    order: Value = np.zeros((*pivots.shape[:-1], m), dtype=np.intp) + np.arange(m)
    for i in range(pivots.shape[-1]):
        other = pivots[..., i : i + 1]
        mine, theirs = order[..., i : i + 1], np.take_along_axis(order, other, axis=-1)
        order = np.where(np.equal(np.arange(m), other), mine, order)
        order = np.where(np.arange(m) == i, theirs, order)
    return order


def block_diag(*arrs: Any) -> Value:
    """A matrix with the given ones along its diagonal; numbers and vectors count as one row. Stacks broadcast."""
    blocks: list[Value] = [_array(x) for x in arrs] or [np.zeros((1, 0))]
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


def expm(A: Any) -> Value:  # noqa: N803
    """The exponential of a matrix."""
    return bind(MatrixExponential(), _matrix(A, "expm"))
