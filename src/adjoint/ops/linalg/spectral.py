"""Eigenvalues of Hermitian matrices and singular values, and their vectors. (Eigenvalues of others: `eigenvalues`.)

Where two eigenvalues or singular values coincide, single vectors have no derivative. The rules then take the smallest
change of the vectors, so gradients are right for every function that does not depend on the choice of vectors inside
such a space: sums over equal values, projectors onto whole eigenspaces, the polar factor U Vᴴ. The same holds for the
columns that complete U and V to square ones. (A function of the matrix in which equal eigenvalues have different
derivatives in different directions, like V g(w) Vᴴ, has a derivative there that values and vectors alone do not
determine: reverse mode gives NaN where the cotangents show that.)

Forward and Taylor mode choose the vectors of such a space for their tangent (`degenerate_basis`), which makes second
derivatives of functions of the values right in every mode that has forward mode in it. What is not determined
otherwise, or at third order, is NaN (`degenerate_residue`).
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here.)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Implicit, arithmetic_flops, total
from adjoint.ops.linalg.degenerate_basis import (
    AdaptedEighBasis,
    AdaptedSVDBasis,
    AdaptsBasis,
    WithGivenFactors,
    may_be_degenerate,
)
from adjoint.ops.linalg.degenerate_blocks import (
    AnticommutatorSolve,
    BlockEquation,
    BlockRightSolve,
    CommutatorSolve,
    EigenvalueBlocks,
    block_mask,
    remove_rounding,
)
from adjoint.ops.linalg.degenerate_residue import (
    BlockGradient,
    NullSpaceResidue,
    UndeterminedProduct,
    has_off_diagonal,
    null_space_part,
    null_space_part_adjoint,
    pairwise_equal,
)
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

_commutator, _anticommutator, _right_solve = CommutatorSolve(), AnticommutatorSolve(), BlockRightSolve()


class Basis:
    """The vectors at a point A, with A V = U diag(w), and the equations with the values w.

    Where nothing will be differentiated again, the blocks are their diagonal. If `zeros`, the values are singular
    values, of which those that are zero may have derivatives in the null spaces.
    """

    def __init__(self, a: Value, u: Value, v: Value, w: Value, zeros: bool = False) -> None:
        self.u, self.v, self.w, self.zeros = u, v, w, zeros
        self.blocks = None if all(map(is_final, (a, u, v, w))) else EigenvalueBlocks()(a, u, v, w)
        self.extended_blocks = None
        if self.blocks is not None and may_be_degenerate(w, zeros):
            self.extended_blocks = (
                np.concatenate([self.blocks, NullSpaceResidue()(a, u, v, w)], axis=-2) if zeros else self.blocks
            )

    def solve(self, op: BlockEquation, y: Value) -> Value:
        """The solution of an equation in the blocks, with right-hand side y."""
        return op.formula(self.w, y) if self.blocks is None else op(self.blocks, y)

    def value_tangents(self, da: Value, inner: Value) -> Value:
        """ẇ, for the Hermitian part of Uᴴ Ȧ V: its diagonal, and zeros whose derivatives are NaN where they must be."""
        dw = real_diagonal(inner)
        if self.extended_blocks is None:
            return dw
        dblocks = np.where(block_mask(self.w), inner, inner.dtype.type(0))
        if self.zeros:
            below = remove_rounding(null_space_part(self.u, self.v, self.w, da), da)
            dblocks = np.concatenate([dblocks, below], axis=-2)
        product = UndeterminedProduct()
        blocks = self.extended_blocks
        return dw + product(blocks, blocks, self.w) + product(blocks, dblocks, self.w)

    def pull_values(self, w_bar: Value) -> Value:
        """Ā from w̄."""
        vh = adjoint_matrix(self.v)
        if self.extended_blocks is None or (is_plain(w_bar) and np.all(pairwise_equal(w_bar))):
            return np.matmul(self.u * np.expand_dims(w_bar, -2), vh)
        k, g = w_bar.shape[-1], BlockGradient()(self.extended_blocks, w_bar)
        a_bar = np.matmul(self.u, np.matmul(g[..., :k, :], vh))
        return a_bar + null_space_part_adjoint(self.u, self.v, self.w, g[..., k:, :]) if self.zeros else a_bar

    def nan_where_undetermined(self, a_bar: Value, w_bar: Value, rotated: Value) -> Value:
        """Ā, or NaN where w̄ and V̄ do not determine it; rotated = Vᴴ V̄.

        V g(w) Vᴴ has the cotangents Vᴴ V̄ = 2 g S, w̄ = g' diag(S) in a block, and in Ā the whole of g' S: of that the
        off-diagonal part is not determined. A function of whole spaces has any Vᴴ V̄, but equal w̄.
        """
        if w_bar is None or not may_be_degenerate(self.w, False):
            return a_bar
        s, block = hermitian(rotated), block_mask(self.w)

        def uneven(x: Value) -> Value:
            own = np.any(np.logical_and(block, np.logical_not(pairwise_equal(x))), axis=-1)
            return np.any(np.logical_and(block, np.expand_dims(own, -2)), axis=-1)

        not_of_spaces = np.logical_or(uneven(w_bar), np.logical_not(uneven(real_diagonal(s))))
        lost = np.any(np.logical_and(has_off_diagonal(s, self.w), not_of_spaces), axis=-1)
        number = self.w.dtype.type
        return a_bar * np.expand_dims(np.where(lost, number(np.nan), number(1)), (-2, -1))


class EighRules(Implicit):
    """The derivative of (w, V); of A, Ȧ one triangle is read."""

    lower: bool
    several = True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        (w, v), da = z, from_triangle(dxs[0], self.lower)
        m, basis = np.matmul(adjoint_matrix(v), np.matmul(da, v)), Basis(from_triangle(xs[0], self.lower), v, v, w)
        return basis.value_tangents(da, m), np.matmul(v, basis.solve(_commutator, m))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        (w_bar, v_bar), (w, v) = ct, z
        vh, basis = adjoint_matrix(v), Basis(from_triangle(xs[0], self.lower), v, v, w)
        a_bar: Value = None if w_bar is None else basis.pull_values(w_bar)
        if v_bar is not None:
            rotated = np.matmul(vh, v_bar)
            a_bar = total(a_bar, np.matmul(v, np.matmul(basis.solve(_commutator, rotated), vh)))
            a_bar = basis.nan_where_undetermined(a_bar, w_bar, rotated)
        return (onto_triangle(a_bar, self.lower),)


@primitive
class Eigh(Stacked, AdaptsBasis, EighRules):
    """A V = V diag(w) for Hermitian A; w ascending, Vᴴ V = 1.

    With M = Vᴴ Ȧ V: ẇ = diag(M), V̇ = V (F ∘ M), F[i, j] = 1 / (wⱼ - wᵢ) off the diagonal. (Each vector keeps its
    phase: Vᴴ V̇ has a zero diagonal.) Of A and Ȧ one triangle is read, with the real part of the diagonal; so gradients
    are zero in the other one.
    """

    lower: bool = True

    def evaluate(self, *xs: Value) -> Value:
        (a,) = xs
        if not np.isfinite(a).all() and not np.isfinite(np.tril(a) if self.lower else np.triu(a)).all():
            raise np.linalg.LinAlgError("Eigenvalues did not converge")  # LAPACK may give finite numbers
        return tuple(np.linalg.eigh(a, "L" if self.lower else "U"))

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_square(self.title, a)
        dtype = factor_dtype(self.title, a)
        return ArrayType(a.shape[:-1], real_dtype(dtype)), ArrayType(a.shape, dtype)

    def adapt(self, a: Value, da: Value) -> tuple[Any, Sequence[Value]]:
        w, v = self(a)
        adapted = AdaptedEighBasis()(w, v, from_triangle(da, self.lower)) if may_be_degenerate(w, False) else v
        return AdaptedEigh(self.lower), (a, w, adapted)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 9 * cubic(xs[0]))

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return eigh_workspace(types, results)


@primitive
class AdaptedEigh(WithGivenFactors, EighRules):
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
        m, d = basis.solve(_commutator, inner), basis.solve(_anticommutator, skew(x))
        du, dv = np.matmul(u, m + d), np.matmul(v, m - d)
        if u.shape[-2] > k:
            du = du + basis.solve(_right_solve, right - np.matmul(u, x))
        if v.shape[-2] > k:
            dv = dv + basis.solve(_right_solve, np.matmul(adjoint_matrix(da), u) - np.matmul(v, adjoint_matrix(x)))
        if u_rest is not None:
            du = np.concatenate([du, complement_push(du, u, u_rest)], axis=-1)
        if v_rest is not None:
            dv = np.concatenate([dv, complement_push(dv, v, v_rest)], axis=-1)
        return du, basis.value_tangents(da, inner), adjoint_matrix(dv)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        (u_bar, s_bar, vh_bar), (all_u, s, all_vh) = ct, z
        k, (u, u_rest), (v, v_rest) = s.shape[-1], split(all_u, s), split(adjoint_matrix(all_vh), s)
        vh, basis = adjoint_matrix(v), Basis(xs[0], u, v, s, zeros=True)
        a_bar: Value = None if s_bar is None else basis.pull_values(s_bar)
        if u_bar is None and vh_bar is None:
            return (a_bar,)
        u_bar = merged(u_bar, u, u_rest)
        v_bar: Value = None if vh_bar is None else merged(adjoint_matrix(vh_bar), v, v_rest)
        left: Value = None if u_bar is None else np.matmul(adjoint_matrix(u), u_bar)
        right: Value = None if v_bar is None else np.matmul(vh, v_bar)
        x_bar = hermitian(basis.solve(_commutator, total(left, right))) + skew(
            basis.solve(_anticommutator, total(left, None if right is None else -right))
        )
        a_bar = total(a_bar, np.matmul(u, np.matmul(x_bar, vh)))
        if left is not None and u.shape[-2] > k:
            a_bar = a_bar + np.matmul(basis.solve(_right_solve, u_bar - np.matmul(u, left)), vh)
        if right is not None and v.shape[-2] > k:
            a_bar = a_bar + np.matmul(u, adjoint_matrix(basis.solve(_right_solve, v_bar - np.matmul(v, right))))
        return (basis.nan_where_undetermined(a_bar, s_bar, total(left, right)),)


@primitive
class SVD(Stacked, AdaptsBasis, SVDRules):
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
        if not np.isfinite(xs[0]).all():
            raise np.linalg.LinAlgError("SVD did not converge")  # LAPACK may not come to an end
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

    def adapt(self, a: Value, da: Value) -> tuple[Any, Sequence[Value]]:
        u, s, vh = self(a)
        if may_be_degenerate(s, True):
            u, vh = AdaptedSVDBasis()(s, u, vh, da)
        return AdaptedSVD(), (a, u, s, vh)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, thin(xs[0]))

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return svd_workspace(types, results, self.full)


@primitive
class AdaptedSVD(WithGivenFactors, SVDRules):
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
