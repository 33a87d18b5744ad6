"""Eigenvalues and eigenvectors of matrices that need not be Hermitian.

Where eigenvalues are degenerate, what `degenerate_blocks`, `degenerate_basis` and `degenerate_residue` say of Hermitian
matrices holds with V⁻¹ instead of Vᴴ: the diagonal block of V⁻¹ Ȧ V is a matrix, forward and Taylor mode choose the
vectors in which it is diagonal, and what values and vectors do not determine is NaN. So is everything where V is
singular: such a matrix is defective, and its eigenvalues are not differentiable. Cotangents that differ between equal
eigenvalues (those of V g(w) V⁻¹, or of one value among equals) do not determine the off-diagonal part of their block,
and functions of single vectors among them have no derivative: they give NaN too. (Of V g(w) V⁻¹ itself values and
vectors determine no more than first derivatives: see `spectral`.)
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here.)

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Differential, Flat, Implicit, arithmetic_flops, fit, total
from adjoint.ops.linalg.degenerate_basis import AdaptsBasis, WithGivenFactors, may_be_degenerate
from adjoint.ops.linalg.degenerate_blocks import (
    ROUNDING,
    CommutatorSolve,
    OnStacks,
    block_mask,
    off_diagonal_mask,
    remove_rounding,
)
from adjoint.ops.linalg.degenerate_residue import (
    BlockGradient,
    UndeterminedMultiple,
    UndeterminedProduct,
    has_off_diagonal,
    none_known_zero,
    pairwise_equal,
)
from adjoint.ops.linalg.flops import cubic
from adjoint.ops.linalg.matrices import Stacked, check_square, diagonal, factor_dtype, spread_diagonal
from adjoint.ops.linalg.solve import Solve
from adjoint.ops.linalg.workspace import eig_workspace
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value


@primitive
class GeneralEigenvalueBlocks(OnStacks, Differential):
    """L = diag(w) for A V = V diag(w); arguments A, V, w. L̇ is V⁻¹ Ȧ V within the blocks of equal w.

    It has no derivative in V and w, which are functions of A.
    """

    @property
    def title(self) -> str:
        return "general_eigenvalue_blocks"

    def evaluate(self, *xs: Value) -> Value:
        return self.expand(*xs)

    def expand(self, a: Value, v: Value, w: Value) -> Value:
        """L from simple operations, without its derivative."""
        return spread_diagonal(w)

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[1].shape, types[2].dtype)

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (False, True, True), False

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        if dxs[0] is None:
            return None
        _, v, w = xs
        inner = Solve()(v, np.matmul(dxs[0], v))
        dw = np.where(np.eye(w.shape[-1], dtype=bool), inner, inner.dtype.type(0))
        return dw + remove_rounding(np.where(off_diagonal_mask(w), inner, inner.dtype.type(0)), dxs[0])

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        if not wanted[0]:
            return (None,) * 3
        a, v, w = xs
        vh = adjoint_matrix(v)
        return fit(Solve()(vh, np.matmul(np.where(block_mask(w), ct, ct.dtype.type(0)), vh)), a), None, None


@primitive
class GeneralCommutatorSolve(CommutatorSolve):
    """Ω L - L Ω = M between the blocks of complex L, Ω = 0 in them."""

    @property
    def title(self) -> str:
        return "general_commutator_solve"

    def expand(self, blocks: Value, y: Value) -> Value:
        return self.formula(diagonal(blocks), y)

    def adjoint(self, blocks: Value, ct: Value) -> Value:
        """M̄ from Ω̄: M̄ Lᴴ - Lᴴ M̄ = Ω̄ between the blocks."""
        return np.conjugate(self(transposed(blocks), np.conjugate(ct)))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        blocks, y = xs
        g = self.adjoint(blocks, ct)
        return (
            fit(-self.change_adjoint(z, g), blocks) if wanted[0] else None,
            fit(g, y) if wanted[1] else None,
        )


@primitive
class GeneralBlockGradient(BlockGradient):
    """diag(w̄) for complex blocks; see `BlockGradient`."""

    @property
    def title(self) -> str:
        return "general_block_gradient"

    def values(self, blocks: Value) -> Value:
        return diagonal(blocks)


@primitive
class Defect(OnStacks, Flat):
    """NaN for each defective matrix (equal values with too few vectors for them), else 0; arguments w, V."""

    def evaluate(self, *xs: Value) -> Value:
        w, v = xs
        marks = np.zeros(w.shape[:-1], w.dtype)
        for at in np.ndindex(*w.shape[:-1]):
            if np.any(off_diagonal_mask(w[at])) and not is_regular(v[at]):
                marks[at] = np.nan
        return marks[()]

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(types[0].shape[:-1], types[0].dtype)


def is_regular(v: Value) -> bool:
    """Whether a plain matrix has an inverse that is more than rounding."""
    if not np.all(np.isfinite(v)):
        return False
    s = np.linalg.svd(v, compute_uv=False)
    return bool(s[-1] > ROUNDING * len(s) * np.finfo(v.dtype).eps * s[0])


def groups(together: Value) -> Iterator[Value]:
    """The numbers of at least two values that coincide, directly or through others. together[n, n]"""
    left = np.any(together, axis=-1)
    while np.any(left):
        group = np.zeros(len(left), bool)
        group[np.argmax(left)] = True
        while np.any(grown := np.logical_and(np.any(together[group], axis=0), np.logical_not(group))):
            group |= grown
        left &= ~group
        yield np.flatnonzero(group)


@primitive
class AdaptedEigBasis(OnStacks, Flat):
    """The eigenvectors V of w, mixed within blocks so that V⁻¹ Ȧ V is diagonal there; arguments w, V, Ȧ.

    A block of V⁻¹ Ȧ V stays as it is where it is defective itself, or has complex eigenvectors where all else is real:
    such results are returned as real numbers, and their values leave the real axis.
    """

    def evaluate(self, *xs: Value) -> Value:
        w, v, da = xs
        together = off_diagonal_mask(w)
        if not np.any(together):
            return v
        v = v.copy()
        for at in np.ndindex(*w.shape[:-1]):
            if np.any(together[at]) and np.all(np.isfinite(da[at])) and is_regular(v[at]):
                m = np.linalg.solve(v[at], da[at] @ v[at])
                real = not any(np.any(np.imag(x)) for x in (w[at], v[at], da[at]))
                for block in groups(together[at]):
                    inner = m[np.ix_(block, block)]
                    mix = np.linalg.eig(np.real(inner) if real else inner)[1]
                    if np.linalg.cond(mix) < np.finfo(w.dtype).eps ** -0.5 and not (real and np.iscomplexobj(mix)):
                        part = v[at][:, block] @ mix
                        v[at][:, block] = part / np.linalg.norm(part, axis=0)
        return v

    def result_type(self, *types: ArrayType) -> Any:
        return types[1]


class EigRules(Implicit):
    """The derivative of (w, V).

    With M = V⁻¹ Ȧ V: ẇ = diag(M), and V̇ = V Ω up to a multiple of each vector, which keeps its length: Re(vᴴ v̇) = 0.
    """

    several = True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        w, v = z
        is_degenerate = may_be_degenerate(w, False)
        basis = _regular(w, v) if is_degenerate else v
        m = Solve()(basis, np.matmul(dxs[0], basis))
        dw = diagonal(m)
        if is_degenerate:
            defect, blocks = Defect()(w, v), GeneralEigenvalueBlocks()(xs[0], basis, w)
            product, dblocks = UndeterminedProduct(), np.where(block_mask(w), m, m.dtype.type(0))
            dw = dw + product(blocks, blocks, w) + product(blocks, dblocks, w) + np.expand_dims(defect, -1)
            # vectors of a block that the direction does not leave diagonal have no derivative
            lost = np.where(has_off_diagonal(m, w), w.dtype.type(np.nan), w.dtype.type(0))
            omega = GeneralCommutatorSolve()(blocks, m) + np.expand_dims(defect, (-2, -1)) + np.expand_dims(lost, -2)
        else:
            omega = GeneralCommutatorSolve().formula(w, m)
        dv = np.matmul(v, omega)
        growth = np.sum(np.real(np.conjugate(v) * dv), axis=-2, keepdims=True)
        return dw, dv - v * growth

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        (w_bar, v_bar), (w, v) = ct, z
        is_degenerate = may_be_degenerate(w, False)
        basis = _regular(w, v) if is_degenerate else v
        blocks = GeneralEigenvalueBlocks()(xs[0], basis, w) if is_degenerate else None
        inner: Value = None
        if w_bar is not None and blocks is None:
            inner = spread_diagonal(w_bar)
        elif w_bar is not None:
            inner = GeneralBlockGradient()(blocks, w_bar) + _undetermined(w, w_bar)
        if v_bar is not None:
            along = v_bar - v * np.sum(np.real(np.conjugate(v) * v_bar), axis=-2, keepdims=True)
            y = np.matmul(adjoint_matrix(v), along)
            commutator = GeneralCommutatorSolve()
            if blocks is None:
                inner = total(inner, commutator.formula(np.conjugate(w), y))
            else:  # what depends on the vectors inside a space has no derivative
                inner = total(inner, commutator.adjoint(blocks, y), UndeterminedMultiple()(y, w, none_known_zero(w)))
        vh = adjoint_matrix(basis)
        a_bar = Solve()(vh, np.matmul(inner, vh))  # M = V⁻¹ Ȧ V  gives  Ā = V⁻ᴴ M̄ Vᴴ
        if is_degenerate:
            a_bar = a_bar + np.expand_dims(Defect()(w, v), (-2, -1))
        return (a_bar if xs[0].dtype.kind == "c" else np.real(a_bar),)


def transposed(x: Value) -> Value:
    """The transpose, without conjugation."""
    return np.swapaxes(x, -1, -2)


def _regular(w: Value, v: Value) -> Value:
    """V, or the identity where it has no inverse: what is computed with it is NaN in the end."""
    lost = np.expand_dims(np.not_equal(Defect()(w, v), 0), (-2, -1))
    return np.where(lost, np.eye(v.shape[-1], dtype=v.dtype), v)


def _undetermined(w: Value, w_bar: Value) -> Value:
    """NaN on the diagonal where cotangents of equal values differ, else zeros."""
    unlike = np.any(np.logical_and(off_diagonal_mask(w), np.logical_not(pairwise_equal(w_bar))), axis=-1)
    return spread_diagonal(np.where(unlike, w.dtype.type(np.nan), w.dtype.type(0)))


@primitive
class Eig(Stacked, AdaptsBasis, EigRules):
    """A V = V diag(w) for any square A, in complex numbers; the columns of V have length one."""

    def evaluate(self, *xs: Value) -> Value:
        w, v = np.linalg.eig(xs[0])
        dtype = np.result_type(w.dtype, np.complex64)
        return w.astype(dtype), v.astype(dtype)

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_square(self.title, a)
        dtype = np.result_type(factor_dtype(self.title, a), np.complex64)
        return ArrayType(a.shape[:-1], dtype), ArrayType(a.shape, dtype)

    def adapt(self, a: Value, da: Value) -> tuple[Any, Sequence[Value]]:
        w, v = self(a)
        return AdaptedEig(), (a, w, AdaptedEigBasis()(w, v, da) if may_be_degenerate(w, False) else v)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 25 * cubic(xs[0]))

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return eig_workspace(types, results)


@primitive
class AdaptedEig(WithGivenFactors, EigRules):
    """(w, V) as given, with the derivative that `Eig` has in A; arguments A, w, V."""

    @property
    def title(self) -> str:
        return "eig"
