"""Eigenvalues of Hermitian matrices and singular values, and their vectors. (Eigenvalues of others: `eigenvalues`.)

Where two eigenvalues or singular values coincide, single vectors have no derivative. The rules then take the smallest
change of the vectors, so gradients are right for every function that does not depend on the choice of vectors inside
such a space: sums over equal values, projectors onto whole eigenspaces, the polar factor U Vᴴ. The same holds for the
columns that complete U and V to square ones. (A function of the matrix that gives equal eigenvalues different slopes in
different directions, like V g(w) Vᴴ, has a derivative there that values and vectors alone do not determine: reverse
mode gives NaN where the cotangents show that.)

Forward and Taylor mode choose the vectors of such a space for their direction (`frames`), which makes second
derivatives of functions of the values right in every mode that has forward mode in it. What is not told otherwise, or
at third order, is NaN (`strays`).
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here.)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Implicit, arithmetic_flops, total
from adjoint.ops.linalg.degenerate_basis import EighFrame, Framed, InFrame, SVDFrame, may_coincide
from adjoint.ops.linalg.degenerate_blocks import (
    ByLevels,
    Dividing,
    Levels,
    Sharing,
    Turning,
    cleaned,
    coincide,
)
from adjoint.ops.linalg.degenerate_residue import Slopes, Unreached, Unseen, astray, even, unreached, unreached_adjoint
from adjoint.ops.linalg.eigenvalues import Eig
from adjoint.ops.linalg.flops import cubic, thin
from adjoint.ops.linalg.matrices import (
    Stacked,
    check_matrix,
    check_square,
    complement_pull,
    complement_push,
    factor_dtype,
    from_triangle,
    hermitian,
    is_final,
    is_plain,
    onto_triangle,
    real_diagonal,
    skew,
)
from adjoint.ops.linalg.workspace import eigh_workspace, svd_workspace
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, real_dtype

__all__ = ["SVD", "Eig", "Eigh"]

_turning, _sharing, _dividing = Turning(), Sharing(), Dividing()


class Basis:
    """The vectors at a point A, with A V = U diag(w), and what is divided by the values w.

    Where nothing will be differentiated again, the levels are their diagonal. If `zeros`, values that
    are zero are singular ones, and may grow into spaces that A does not reach.
    """

    def __init__(self, a: Value, u: Value, v: Value, w: Value, zeros: bool = False) -> None:
        self.u, self.v, self.w, self.zeros = u, v, w, zeros
        self.levels = None if all(map(is_final, (a, u, v, w))) else Levels()(a, u, v, w)
        self.strays = None
        if self.levels is not None and may_coincide(w, zeros):
            self.strays = np.concatenate([self.levels, Unreached()(a, u, v, w)], axis=-2) if zeros else self.levels

    def divided(self, op: ByLevels, y: Value) -> Value:
        """op of y."""
        return op.formula(self.w, y) if self.levels is None else op(self.levels, y)

    def rates(self, da: Value, inner: Value) -> Value:
        """ẇ, for the Hermitian part of Uᴴ Ȧ V: its diagonal, and zeros that tell what the diagonal does not."""
        rates = real_diagonal(inner)
        if self.strays is None:
            return rates
        moved = np.where(coincide(self.w), inner, inner.dtype.type(0))
        if self.zeros:
            below = cleaned(unreached(self.u, self.v, self.w, da), da)
            moved = np.concatenate([moved, below], axis=-2)
        unseen = Unseen()
        return rates + unseen(self.strays, self.strays, self.w) + unseen(self.strays, moved, self.w)

    def slopes(self, w_bar: Value) -> Value:
        """Ā from w̄."""
        vh = adjoint_matrix(self.v)
        if self.strays is None or (is_plain(w_bar) and np.all(even(w_bar))):
            return np.matmul(self.u * np.expand_dims(w_bar, -2), vh)
        k, g = w_bar.shape[-1], Slopes()(self.strays, w_bar)
        a_bar = np.matmul(self.u, np.matmul(g[..., :k, :], vh))
        return a_bar + unreached_adjoint(self.u, self.v, self.w, g[..., k:, :]) if self.zeros else a_bar

    def where_told(self, a_bar: Value, w_bar: Value, turned: Value) -> Value:
        """Ā, or NaN where w̄ and V̄ do not tell it; turned = Vᴴ V̄.

        V g(w) Vᴴ has the cotangents Vᴴ V̄ = 2 g S, w̄ = g' diag(S) in a block, and in Ā the whole of g' S: of that the
        part beside the diagonal is not told. A function of whole spaces has any Vᴴ V̄, but equal w̄.
        """
        if w_bar is None or not may_coincide(self.w, False):
            return a_bar
        s, block = hermitian(turned), coincide(self.w)

        def uneven(x: Value) -> Value:
            own = np.any(np.logical_and(block, np.logical_not(even(x))), axis=-1)
            return np.any(np.logical_and(block, np.expand_dims(own, -2)), axis=-1)

        not_of_spaces = np.logical_or(uneven(w_bar), np.logical_not(uneven(real_diagonal(s))))
        lost = np.any(np.logical_and(astray(s, self.w), not_of_spaces), axis=-1)
        number = self.w.dtype.type
        return a_bar * np.expand_dims(np.where(lost, number(np.nan), number(1)), (-2, -1))


class EighRules(Implicit):
    """The derivative of (w, V); of A, Ȧ one triangle is read."""

    lower: bool
    several = True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        (w, v), da = z, from_triangle(dxs[0], self.lower)
        m, basis = np.matmul(adjoint_matrix(v), np.matmul(da, v)), Basis(from_triangle(xs[0], self.lower), v, v, w)
        return basis.rates(da, m), np.matmul(v, basis.divided(_turning, m))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        (w_bar, v_bar), (w, v) = ct, z
        vh, basis = adjoint_matrix(v), Basis(from_triangle(xs[0], self.lower), v, v, w)
        a_bar: Value = None if w_bar is None else basis.slopes(w_bar)
        if v_bar is not None:
            turned = np.matmul(vh, v_bar)
            a_bar = total(a_bar, np.matmul(v, np.matmul(basis.divided(_turning, turned), vh)))
            a_bar = basis.where_told(a_bar, w_bar, turned)
        return (onto_triangle(a_bar, self.lower),)


@primitive
class Eigh(Stacked, InFrame, EighRules):
    """A V = V diag(w) for Hermitian A; w ascending, Vᴴ V = 1.

    With M = Vᴴ Ȧ V: ẇ = diag(M), V̇ = V (F ∘ M), F[i, j] = 1 / (wⱼ - wᵢ) off the diagonal. (Each vector keeps its
    phase: Vᴴ V̇ has a zero diagonal.) Of A and Ȧ one triangle is read, with the real part of the diagonal; so gradients
    are zero in the other one.
    """

    lower: bool = True

    def evaluate(self, *xs: Value) -> Value:
        return tuple(np.linalg.eigh(xs[0], "L" if self.lower else "U"))

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_square(self.title, a)
        dtype = factor_dtype(self.title, a)
        return ArrayType(a.shape[:-1], real_dtype(dtype)), ArrayType(a.shape, dtype)

    def framed(self, a: Value, da: Value) -> tuple[Any, Sequence[Value]]:
        w, v = self(a)
        turned = EighFrame()(w, v, from_triangle(da, self.lower)) if may_coincide(w, False) else v
        return FramedEigh(self.lower), (a, w, turned)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 9 * cubic(xs[0]))

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return eigh_workspace(types, results)


@primitive
class FramedEigh(Framed, EighRules):
    """(w, V) as given, with the derivative that `Eigh` has in A; arguments A, w, V."""

    lower: bool = True

    @property
    def title(self) -> str:
        return "eigh"


class SVDRules(Implicit):
    """The derivative of (U, s, Vᴴ)."""

    several = True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        (all_u, s, all_vh), da = z, dxs[0]
        k, (u, u_rest), (v, v_rest) = s.shape[-1], split(all_u, s), split(adjoint_matrix(all_vh), s)
        right = np.matmul(da, v)
        x = np.matmul(adjoint_matrix(u), right)
        basis, inner = Basis(xs[0], u, v, s, zeros=True), hermitian(x)
        m, d = basis.divided(_turning, inner), basis.divided(_sharing, skew(x))
        du, dv = np.matmul(u, m + d), np.matmul(v, m - d)
        if u.shape[-2] > k:
            du = du + basis.divided(_dividing, right - np.matmul(u, x))
        if v.shape[-2] > k:
            dv = dv + basis.divided(_dividing, np.matmul(adjoint_matrix(da), u) - np.matmul(v, adjoint_matrix(x)))
        if u_rest is not None:
            du = np.concatenate([du, complement_push(du, u, u_rest)], axis=-1)
        if v_rest is not None:
            dv = np.concatenate([dv, complement_push(dv, v, v_rest)], axis=-1)
        return du, basis.rates(da, inner), adjoint_matrix(dv)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        (u_bar, s_bar, vh_bar), (all_u, s, all_vh) = ct, z
        k, (u, u_rest), (v, v_rest) = s.shape[-1], split(all_u, s), split(adjoint_matrix(all_vh), s)
        vh, basis = adjoint_matrix(v), Basis(xs[0], u, v, s, zeros=True)
        a_bar: Value = None if s_bar is None else basis.slopes(s_bar)
        if u_bar is None and vh_bar is None:
            return (a_bar,)
        u_bar = merged(u_bar, u, u_rest)
        v_bar: Value = None if vh_bar is None else merged(adjoint_matrix(vh_bar), v, v_rest)
        left: Value = None if u_bar is None else np.matmul(adjoint_matrix(u), u_bar)
        right: Value = None if v_bar is None else np.matmul(vh, v_bar)
        x_bar = hermitian(basis.divided(_turning, total(left, right))) + skew(
            basis.divided(_sharing, total(left, None if right is None else -right))
        )
        a_bar = total(a_bar, np.matmul(u, np.matmul(x_bar, vh)))
        if left is not None and u.shape[-2] > k:
            a_bar = a_bar + np.matmul(basis.divided(_dividing, u_bar - np.matmul(u, left)), vh)
        if right is not None and v.shape[-2] > k:
            a_bar = a_bar + np.matmul(u, adjoint_matrix(basis.divided(_dividing, v_bar - np.matmul(v, right))))
        return (basis.where_told(a_bar, s_bar, total(left, right)),)


@primitive
class SVD(Stacked, InFrame, SVDRules):
    """A = U diag(s) Vᴴ for A[m, n]: U[m, k], Vᴴ[k, n], s ≥ 0 descending, k = min(m, n). If `full`, U and V are
    completed to square ones.

    With X = Uᴴ Ȧ V = H + K, its Hermitian and skew parts, Uᴴ U̇ = M + D and Vᴴ V̇ = M - D:

        ṡ = diag(H),   M[i, j] = H[i, j] / (sⱼ - sᵢ),   D[i, j] = K[i, j] / (sⱼ + sᵢ)

    and outside the spaces of U and V: (1 - U Uᴴ) U̇ = (1 - U Uᴴ) Ȧ V / s, likewise V. For complex A the phase that U
    and V share on each singular value does not change (M has no diagonal); what is left of it is divided evenly
    between them (D).
    """

    full: bool = False
    zeros = True

    def evaluate(self, *xs: Value) -> Value:
        return tuple(np.linalg.svd(xs[0], full_matrices=self.full))

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_matrix(self.title, a)
        *stack, m, n = a.shape
        k, dtype = min(m, n), factor_dtype(self.title, a)
        rows, columns = (m, n) if self.full else (k, k)
        return (
            ArrayType((*stack, m, rows), dtype),
            ArrayType((*stack, k), real_dtype(dtype)),
            ArrayType((*stack, columns, n), dtype),
        )

    def framed(self, a: Value, da: Value) -> tuple[Any, Sequence[Value]]:
        u, s, vh = self(a)
        if may_coincide(s, True):
            u, vh = SVDFrame()(s, u, vh, da)
        return FramedSVD(), (a, u, s, vh)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, thin(xs[0]))

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return svd_workspace(types, results, self.full)


@primitive
class FramedSVD(Framed, SVDRules):
    """(U, s, Vᴴ) as given, with the derivative that `SVD` has in A; arguments A, U, s, Vᴴ."""

    @property
    def title(self) -> str:
        return "svd"


def split(q: Value, s: Value) -> tuple[Value, Value]:
    """The columns that belong to singular values, and those that complete them; None for none."""
    k = s.shape[-1]
    return (q, None) if q.shape[-1] == k else (q[..., :k], q[..., k:])


def merged(q_bar: Value, q: Value, rest: Value) -> Value:
    """The cotangent of the columns that belong to singular values, that of the completing ones included."""
    if q_bar is None or rest is None:
        return q_bar
    k = q.shape[-1]
    return q_bar[..., :k] + complement_pull(q_bar[..., k:], q, rest)
