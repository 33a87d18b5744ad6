"""Triangular factors: Cholesky, QR, LU. Each derivative splits one matrix into the tangents of two factors."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here; SciPy has no types.)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Flat, Implicit, arithmetic_flops, total
from adjoint.ops.elementwise.pointwise import masked_multiply
from adjoint.ops.linalg.degenerate_blocks import ROUNDING
from adjoint.ops.linalg.flops import cubic, tall
from adjoint.ops.linalg.matrices import (
    Stacked,
    check_matrix,
    check_square,
    complement_pull,
    complement_push,
    diagonal,
    each_matrix,
    factor_dtype,
    from_triangle,
    half_triangle,
    hermitian,
    onto_triangle,
    real_diagonal,
    spread_diagonal,
    to_factor_dtype,
)
from adjoint.ops.linalg.solve import TriangularSolve
from adjoint.ops.linalg.workspace import factor_workspace, measured_workspace, qr_workspace
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value

_lower, _upper = TriangularSolve(lower=True), TriangularSolve(lower=False)


def right_divide(x: Value, r: Value) -> Value:
    """x R⁻¹ for upper triangular R."""
    return adjoint_matrix(_lower(adjoint_matrix(r), adjoint_matrix(x)))


def right_divide_adjoint(x: Value, r: Value) -> Value:
    """x R⁻ᴴ for upper triangular R."""
    return adjoint_matrix(_upper(r, adjoint_matrix(x)))


def regular(r: Value, y: Value) -> tuple[Value, Value]:
    """(R, 0) for upper triangular R that y will be divided by; for a singular one (1, NaN), or (1, 0) if y is zero.

    The second is to be added to y R⁻¹. So of a stack one matrix without a derivative gets NaN, and the others have
    theirs. A diagonal element within rounding of its column counts as zero. Both are linear in y.
    """
    n = r.shape[-1]
    size, column = np.abs(diagonal(r)), np.max(np.abs(r), axis=-2, initial=0)
    lost = np.any(size <= column * (ROUNDING * n * np.finfo(size.dtype).eps), axis=-1, keepdims=True)[..., None]
    absent = np.where(lost, size.dtype.type(np.nan), size.dtype.type(0))
    poison = np.sum(masked_multiply(y, absent), axis=(-2, -1), keepdims=True)
    return np.where(lost, np.eye(n, dtype=r.dtype), r), poison


@primitive
class Cholesky(Stacked, Implicit):
    """L lower triangular with L Lᴴ = A, the diagonal of L positive.

    L⁻¹ Ȧ L⁻ᴴ = L⁻¹ L̇ + (L⁻¹ L̇)ᴴ, so L̇ = L Φ(L⁻¹ Ȧ L⁻ᴴ), where Φ takes the lower triangle and half of the diagonal.
    Of A and Ȧ the lower triangle is read, with the real part of the diagonal; so gradients are zero above it. A matrix
    that is not positive definite is an error, or, if not `checked`, has a factor of NaN.
    """

    checked: bool = True

    def evaluate(self, *xs: Value) -> Value:
        if self.checked:
            return np.linalg.cholesky(xs[0])
        # of a stack one that has none leaves the others theirs
        return each_matrix(self, np.linalg.cholesky, [xs[0][None]], or_nan=True)[0]

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_square(self.title, a)
        return ArrayType(a.shape, factor_dtype(self.title, a))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (False,), True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        inner = adjoint_matrix(_lower(z, from_triangle(dxs[0])))  # (L⁻¹ Ȧ)ᴴ = Ȧ L⁻ᴴ
        return np.matmul(z, half_triangle(_lower(z, inner)))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        zh = adjoint_matrix(z)
        x = hermitian(half_triangle(np.matmul(zh, ct)))
        left = _upper(zh, x)  # L⁻ᴴ x
        return (onto_triangle(_upper(zh, adjoint_matrix(left))),)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, cubic(xs[0]) / 3)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return factor_workspace(types, results)


@primitive
class QR(Stacked, Implicit):
    """A = Q R for A[m, n]: Q[m, k] with Qᴴ Q = 1, R[k, n] upper triangular with a real diagonal, k = min(m, n).

    With A = [A₁ A₂], R = [R₁ R₂] split after k columns, X = Ȧ₁ R₁⁻¹ and C = Qᴴ X: C = Ω + T, where Ω = Qᴴ Q̇ is skew
    and T = Ṙ₁ R₁⁻¹ is upper triangular with a real diagonal: T takes the upper triangle of C plus the adjoint of what
    is below the diagonal. Then

        Q̇ = X - Q T,    Ṙ₁ = T R₁,    Ṙ₂ = Qᴴ Ȧ₂ - (C - T) R₂.

    If `full`, a tall Q is completed to a square one and R has rows of zeros below. The completing columns are any
    basis of what is left; they take the smallest change that keeps them orthogonal, so gradients are right for
    functions that do not depend on the choice. Where R₁ is singular there is no derivative: NaN.
    """

    full: bool = False
    several = True

    def evaluate(self, *xs: Value) -> Value:
        return tuple(np.linalg.qr(xs[0], mode="complete" if self.full else "reduced"))

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_matrix(self.title, a)
        *stack, m, n = a.shape
        k, dtype = min(m, n), factor_dtype(self.title, a)
        k = m if self.full else k
        return ArrayType((*stack, m, k), dtype), ArrayType((*stack, k, n), dtype)

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (False,), True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        (all_q, all_r), da = z, dxs[0]
        m, n = all_q.shape[-2], all_r.shape[-1]
        k, complete = min(m, n), self.full and m > n
        q, r = (all_q[..., :k], all_r[..., :k, :]) if complete else (all_q, all_r)
        qh, first = adjoint_matrix(q), r if k == n else r[..., :k]
        first, poison = regular(first, da)
        x = right_divide(da if k == n else da[..., :k], first) + poison
        c = np.matmul(qh, x)
        t = self.triangle(c)
        dq, dr = x - np.matmul(q, t), np.matmul(t, first)
        if k < n:
            rest = np.matmul(qh, da[..., k:]) - np.matmul(c - t, r[..., k:])
            dr = np.concatenate([dr, rest], axis=-1)
        if complete:
            dq = np.concatenate([dq, complement_push(dq, q, all_q[..., k:])], axis=-1)
            dr = np.concatenate([dr, np.zeros((*dr.shape[:-2], m - k, n), dr.dtype)], axis=-2)
        return dq, dr

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        (q_bar, r_bar), (q, r) = ct, z
        m, n = q.shape[-2], r.shape[-1]
        k = min(m, n)
        if self.full and m > n:
            rest, q, r = q[..., k:], q[..., :k], r[..., :k, :]
            q_bar = None if q_bar is None else q_bar[..., :k] + complement_pull(q_bar[..., k:], q, rest)
            r_bar = None if r_bar is None else r_bar[..., :k, :]
        first = r if k == n else r[..., :k]
        t_bar = total(
            None if r_bar is None else np.matmul(r_bar, adjoint_matrix(r)),
            None if q_bar is None else -np.matmul(adjoint_matrix(q), q_bar),
        )
        above = t_bar * np.tri(k, k, -1, dtype=t_bar.dtype).T
        c_bar = above + adjoint_matrix(above) + spread_diagonal(real_diagonal(t_bar))
        if k < n and r_bar is not None:
            c_bar = c_bar - np.matmul(r_bar[..., k:], adjoint_matrix(r[..., k:]))
        right = total(q_bar, np.matmul(q, c_bar))
        first, poison = regular(first, right)
        a_bar = right_divide_adjoint(right, first) + poison
        if k < n:
            rest = np.matmul(q, r_bar[..., k:]) if r_bar is not None else np.zeros((*q.shape[:-1], n - k), a_bar.dtype)
            a_bar = np.concatenate([a_bar, rest], axis=-1)
        return (a_bar,)

    def triangle(self, c: Value) -> Value:
        """T(c): upper triangular with a real diagonal, with c - T skew-Hermitian in its lower part and diagonal."""
        n = c.shape[-1]
        below = np.tri(n, n, -1, dtype=c.dtype)
        return c * below.T + adjoint_matrix(c * below) + spread_diagonal(real_diagonal(c))

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, tall(xs[0]))

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return qr_workspace(types, results, self.full)


class RowFactors(Stacked, Implicit):
    """P A = L U by elimination with row exchanges, for A[m, n]: L[m, k] with ones on its diagonal, U[k, n], k =
    min(m, n).

    The result is (M, pivots, order): M holds U and, below the diagonal, L; row i was exchanged with row pivots[i]; (P
    A)[i] = A[order[i]]. The order is constant nearby. With D = P Ȧ and X = L₁⁻¹ D₁ U₁⁻¹ for the square parts,

        L̇₁ = L₁ tril(X),    U̇₁ = triu(X) U₁,    L̇₂ = D₂ U₁⁻¹ - L₂ triu(X) (tall),    U̇₂ = L₁⁻¹ D₂ - tril(X) U₂ (wide),

    where tril is strict, triu is not. Where U₁ is singular there is no derivative: NaN.
    """

    several = True

    @property
    def title(self) -> str:
        return "lu_factor"

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_matrix(self.title, a)
        pivots = ArrayType((*a.shape[:-2], min(a.shape[-2:])), np.dtype(np.int32))
        return ArrayType(a.shape, factor_dtype(self.title, a)), pivots, ArrayType(a.shape[:-1], np.dtype(np.intp))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (False,), True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        packed, _, order = z
        m, n = packed.shape[-2:]
        k = min(m, n)
        square = packed[..., :k, :k]
        d = np.take_along_axis(dxs[0], np.expand_dims(order, -1), axis=-2)
        divisor, poison = regular(upper(square), d)
        x = right_divide(_unit_lower(square, d[..., :k, :k]), divisor) + poison
        low, up = strict_lower(x), upper(x)
        # L̇ below the diagonal and U̇ above it do not meet: their sum is the tangent of the packed matrix
        out = strict_lower(np.matmul(unit(square), low)) + np.matmul(up, upper(square))
        if m > n:
            out = np.concatenate(
                [out, right_divide(d[..., k:, :], divisor) - np.matmul(packed[..., k:, :], up)], axis=-2
            )
        elif m < n:
            out = np.concatenate([out, _unit_lower(square, d[..., k:]) - np.matmul(low, packed[..., k:])], axis=-1)
        return out, None, None

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        (bar, _, _), (packed, _, order) = ct, z
        m, n = packed.shape[-2:]
        k = min(m, n)
        square, first = packed[..., :k, :k], bar[..., :k, :k]
        low = np.matmul(adjoint_matrix(unit(square)), strict_lower(first))
        up = np.matmul(upper(first), adjoint_matrix(upper(square)))
        if m > n:
            up = up - np.matmul(adjoint_matrix(packed[..., k:, :]), bar[..., k:, :])
        elif m < n:
            low = low - np.matmul(bar[..., k:], adjoint_matrix(packed[..., k:]))
        divisor, poison = regular(upper(square), bar)
        d = _unit_upper(adjoint_matrix(square), right_divide_adjoint(strict_lower(low) + upper(up), divisor) + poison)
        if m > n:
            d = np.concatenate([d, right_divide_adjoint(bar[..., k:, :], divisor)], axis=-2)
        elif m < n:
            d = np.concatenate([d, _unit_upper(adjoint_matrix(square), bar[..., k:])], axis=-1)
        return (np.take_along_axis(d, np.expand_dims(np.argsort(order, axis=-1), -1), axis=-2),)


@primitive
class LU(RowFactors):
    """With exchanges of rows, as LAPACK does it: the largest element of what is left of a column becomes the pivot."""

    def may_raise(self, *types: ArrayType) -> bool:
        return False  # the factors of a singular matrix have a zero on the diagonal

    def evaluate(self, *xs: Value) -> Value:
        import scipy.linalg.lapack

        packed = np.array(to_factor_dtype(self.title, xs[0]))
        pivots = np.zeros((*packed.shape[:-2], min(packed.shape[-2:])), np.int32)
        if packed.size:
            (getrf,) = scipy.linalg.lapack.get_lapack_funcs(("getrf",), (packed,))
            for at in np.ndindex(
                *packed.shape[:-2]
            ):  # LAPACK takes one matrix at a time, and NumPy has no stacked form
                packed[at], pivots[at], _ = getrf(packed[at])
        return packed, pivots, row_order(pivots, packed.shape[-2])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 2 * cubic(xs[0]) / 3)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return measured_workspace(results, (1.0, 1.0))


@primitive
class Elimination(RowFactors):
    """Without exchanges: each row stays where it is. Nothing is taken from zeros, even where the pivot is zero."""

    def evaluate(self, *xs: Value) -> Value:
        packed = np.array(to_factor_dtype(self.title, xs[0]))
        for k in range(min(packed.shape[-2:])):
            below = packed[..., k + 1 :, k]
            np.divide(below, packed[..., k, k, None], out=below, where=below != 0)
            packed[..., k + 1 :, k + 1 :] -= packed[..., k + 1 :, k, None] * packed[..., None, k, k + 1 :]
        pivots = np.zeros((*packed.shape[:-2], min(packed.shape[-2:])), np.int32)
        pivots += np.arange(pivots.shape[-1], dtype=np.int32)
        return packed, pivots, row_order(pivots, packed.shape[-2])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 2 * cubic(xs[0]) / 3)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return measured_workspace(results, (1.0, 1.0))


_unit_lower, _unit_upper = TriangularSolve(lower=True, unit=True), TriangularSolve(lower=False, unit=True)


def strict_lower(x: Value) -> Value:
    """What stands below the diagonal."""
    return x * np.tri(x.shape[-1], dtype=x.dtype, k=-1)


def upper(x: Value) -> Value:
    """The diagonal and what stands above it."""
    return x * np.tri(x.shape[-1], dtype=x.dtype).T


def unit(x: Value) -> Value:
    """What stands below the diagonal, and ones on it."""
    return strict_lower(x) + np.eye(x.shape[-1], dtype=x.dtype)


@primitive
class PivotOrder(Stacked, Flat):
    """In which order a QR factorization with exchanges takes the columns of A[m, n]: order[n], constant nearby."""

    def evaluate(self, *xs: Value) -> Value:
        import scipy.linalg

        a = to_factor_dtype("qr", xs[0])

        def one(x: Value) -> Value:
            factors: Any = scipy.linalg.qr(x, mode="r", pivoting=True, check_finite=False)
            return factors[1]

        return each_matrix(self, one, [a])

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_matrix("qr", a)
        factor_dtype("qr", a)
        return ArrayType((*a.shape[:-2], a.shape[-1]), np.dtype(np.int32))


def row_order(pivots: Value, m: int) -> Value:
    """The order of m rows after exchanging row i with row pivots[i], one after another, for each matrix of a stack."""
    order = np.broadcast_to(np.arange(m), (*pivots.shape[:-1], m)).copy()
    for i in range(pivots.shape[-1]):
        other = pivots[..., i : i + 1]
        moved = np.take_along_axis(order, other, axis=-1)
        np.put_along_axis(order, other, order[..., i : i + 1].copy(), axis=-1)
        order[..., i : i + 1] = moved
    return order
