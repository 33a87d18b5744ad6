"""Linear equations: general, triangular, from Cholesky or LU factors; inverse, determinant, least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.elementwise.select import StopGradient
from adjoint.ops.linalg.decompose import Cholesky
from adjoint.ops.linalg.matrices import from_triangle
from adjoint.ops.linalg.solve import PseudoInverse, Solve, TriangularSolve
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.linalg.arguments import applied, array, constant, inexact, matrix, square


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
    a, flip = _flipped(matrix(a, "solve_triangular"), trans)
    return applied(TriangularSolve(bool(lower) != flip, bool(unit_diagonal)), a, array(b))


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Value:
    """x with a x = b, from the factor of a."""
    c, lower = c_and_lower
    c, b = matrix(c, "cho_solve"), array(b)
    low, high = (c, adjoint_matrix(c)) if lower else (adjoint_matrix(c), c)
    return applied(TriangularSolve(lower=False), high, applied(TriangularSolve(lower=True), low, b))


_STRUCTURES = ("gen", "general", "her", "hermitian", "sym", "symmetric", "diagonal", "tridiagonal", "banded")


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
    """x with a x = b (aᵀ x = b if `transposed`). Of a only what `assume_a` names is read: one triangle (the upper one,
    or the `lower`) of a symmetric or Hermitian matrix, one, three diagonals.
    """
    a, b = matrix(a, "solve"), array(b)
    kind = "gen" if assume_a is None else assume_a
    if kind in ("pos", "positive definite"):
        factor = bind(Cholesky(), a if lower else adjoint_matrix(a))
        return cho_solve((np.conjugate(factor) if transposed else factor, True), b)
    if kind in ("her", "hermitian"):
        a = from_triangle(a, bool(lower))
    elif kind in ("sym", "symmetric"):
        a = from_triangle(a, bool(lower), lambda x: np.swapaxes(x, -1, -2))
    elif kind in ("diagonal", "tridiagonal"):
        n, width = a.shape[-1], 0 if kind == "diagonal" else 1
        a = np.where(np.tri(n, k=width, dtype=bool) & np.tri(n, k=width, dtype=bool).T, a, a.dtype.type(0))
    a = np.swapaxes(a, -1, -2) if transposed else a
    if kind in ("upper triangular", "lower triangular"):
        return applied(TriangularSolve((kind == "lower triangular") != transposed), a, b)
    if kind not in _STRUCTURES:
        raise UnsupportedError(
            f"solve: assume_a={assume_a!r} is not known; leave it out, or use one that scipy.linalg.solve names."
        )
    return applied(Solve(), a, b)


def inv(
    a: Any,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: str | None = None,
    lower: bool = False,
) -> Value:
    """The inverse matrix."""
    a = square(a, "inv")
    if assume_a is None or assume_a in ("gen", "general"):
        return np.linalg.inv(a)
    return solve(a, np.eye(a.shape[-1], dtype=inexact(a).dtype), assume_a=assume_a, lower=lower)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """The determinant."""
    return np.linalg.det(matrix(a, "det"))


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Value:
    """x with a x = b (aᵀ x = b, aᴴ x = b), from the factors of a."""
    packed, pivots = matrix(lu_and_piv[0], "lu_solve"), lu_and_piv[1]
    b = array(b)
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


def lstsq(
    a: Any,
    b: Any,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> tuple[Value, Value, Value, Value]:
    """(x, residuals, rank, singular values): the shortest x that makes |a x - b| least.

    Singular values below `cond` times the largest one count as zero. The derivative takes the rank as constant: where
    a has not full rank, it is that of the shortest solution among matrices of the same rank.
    """
    if lapack_driver not in (None, "gelsd", "gelss", "gelsy"):
        raise ValueError(f'LAPACK driver "{lapack_driver}" is not found')
    a, b = inexact(a), inexact(b)
    eps = float(np.finfo(np.result_type(a.dtype, b.dtype)).eps)
    x, residuals, rank, s = np.linalg.lstsq(a, b, eps if cond is None else cond)
    if b.ndim == 1 and residuals.ndim and residuals.shape[0]:
        residuals = residuals[0]
    return x, residuals, rank, None if lapack_driver == "gelsy" else s


def pinv(
    a: Any,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """The inverse of least squares; singular values up to atol + rtol · (the largest) count as zero."""
    a = inexact(matrix(a, "pinv"))
    s = np.linalg.svd(bind(StopGradient(), a), compute_uv=False)
    return _pseudo_inverse(a, s, atol, rtol, return_rank, False)


def pinvh(
    a: Any,
    atol: float | None = None,
    rtol: float | None = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """The same for a Hermitian matrix, of which one triangle is read."""
    a = inexact(square(a, "pinvh"))
    a = a if lower else adjoint_matrix(a)
    s = np.abs(np.linalg.eigvalsh(bind(StopGradient(), a)))
    return _pseudo_inverse(a, s, atol, rtol, return_rank, True)


def _pseudo_inverse(
    a: Value, s: Value, atol: float | None, rtol: float | None, return_rank: bool, symmetric: bool
) -> Any:
    absolute = 0.0 if atol is None else constant(atol, "pinv", "atol")
    relative = max(a.shape[-2:]) * float(np.finfo(s.dtype).eps) if rtol is None else constant(rtol, "pinv", "rtol")
    if absolute < 0 or relative < 0:
        raise ValueError("atol and rtol values must be positive.")
    top = np.max(s, axis=-1, initial=0)
    line = absolute + top * relative
    cutoff = line / np.where(top > 0, top, 1) if absolute else np.asarray(relative)
    inverse = bind(PseudoInverse(symmetric), a, cutoff)
    return (inverse, np.count_nonzero(s > np.expand_dims(line, -1), axis=-1)) if return_rank else inverse
