"""What eigenvalues and singular values do not determine where they coincide: off-diagonal elements of their blocks.

The block L of equal values (see `degenerate_blocks`) varies as a matrix, and only its diagonal is returned as values w.
A function of the values F = f(w) that does not depend on their order is smooth, but in terms of w alone it is
incomplete:

    F = f(diag L) + Σ κ |Lᵢⱼ|² + …,   κ = (∂ᵢ - ∂ⱼ)² f / 2

with products of the off-diagonal elements of L, which vanish in value. For zero singular values, everything that the
tangent maps between the null spaces of A and Aᴴ is off-diagonal, but for the real diagonal.

In a basis in which the first tangent is diagonal (see `degenerate_basis`) these elements vanish at second order too.
Otherwise the missing term is not known, and derivatives that need it are NaN: `UndeterminedProduct` and
`UndeterminedMultiple` are zeros with such derivatives, at every order.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here.)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Differential, fit, total
from adjoint.ops.linalg.degenerate_blocks import (
    NOISE,
    OnStacks,
    block_mask,
    gap_scale,
    off_diagonal_mask,
    remove_rounding,
)
from adjoint.ops.linalg.matrices import diagonal, real_diagonal, spread_diagonal
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, result_dtype


def is_zero_value(w: Value) -> Value:
    """Which singular values are zero up to rounding."""
    return w <= gap_scale(w) * np.finfo(w.dtype).eps


def null_space_part(u: Value, v: Value, w: Value, da: Value) -> Value:
    """The columns of Ȧ V and Ȧᴴ U of zero singular values, projected on the null spaces, without the real diagonal.

    […, m + n, k]
    """
    none = is_zero_value(w)
    column, row = np.expand_dims(none, -2), np.expand_dims(none, -1)

    def rest(t: Value, basis: Value) -> Value:
        y = np.matmul(adjoint_matrix(basis), t)
        determined = np.where(row, spread_diagonal(real_diagonal(y)).astype(y.dtype), y)
        return np.where(column, t - np.matmul(basis, determined), t.dtype.type(0))

    return np.concatenate([rest(np.matmul(da, v), u), rest(np.matmul(adjoint_matrix(da), u), v)], axis=-2)


def null_space_part_adjoint(u: Value, v: Value, w: Value, ct: Value) -> Value:
    """The adjoint of `null_space_part` in Ȧ: each half is a projection."""
    none, m = is_zero_value(w), u.shape[-2]
    column, row = np.expand_dims(none, -2), np.expand_dims(none, -1)

    def rest(t: Value, basis: Value) -> Value:
        t = np.where(column, t, t.dtype.type(0))
        y = np.matmul(adjoint_matrix(basis), t)
        return t - np.matmul(basis, np.where(row, spread_diagonal(real_diagonal(y)).astype(y.dtype), y))

    left, right = rest(ct[..., :m, :], u), rest(ct[..., m:, :], v)
    return np.matmul(left, adjoint_matrix(v)) + np.matmul(u, adjoint_matrix(right))


@primitive
class NullSpaceResidue(OnStacks, Differential):
    """Zero, with the derivative `null_space_part`; arguments A, U, V, w. It has no derivative in U, V, w."""

    @property
    def title(self) -> str:
        return "null_space_residue"

    def evaluate(self, *xs: Value) -> Value:
        return self.expand(*xs)

    def expand(self, a: Value, u: Value, v: Value, w: Value) -> Value:
        """Zeros."""
        return np.zeros((*w.shape[:-1], u.shape[-2] + v.shape[-2], w.shape[-1]), v.dtype)

    def result_type(self, *types: ArrayType) -> Any:
        _, u, v, w = types
        return ArrayType((*w.shape[:-1], u.shape[-2] + v.shape[-2], w.shape[-1]), v.dtype)

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (False, True, True, True), False

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        if dxs[0] is None:
            return None
        _, u, v, w = xs
        return remove_rounding(null_space_part(u, v, w, dxs[0]), dxs[0])

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        a, u, v, w = xs
        return fit(null_space_part_adjoint(u, v, w, ct), a) if wanted[0] else None, None, None, None


def has_off_diagonal(x: Value, w: Value) -> Value:
    """For each value, whether x has off-diagonal elements in its block; the rows of x beyond k are its null space part.

    x[…, k + …, k], w[…, k]
    """
    k = w.shape[-1]
    size = np.max(np.abs(x), axis=(-2, -1), keepdims=True, initial=0)
    there = np.logical_not(np.abs(x) <= size * (NOISE * np.finfo(x.dtype).eps))  # NaN counts as present
    own = np.any(np.logical_and(off_diagonal_mask(w), there[..., :k, :]), axis=-2)
    if x.shape[-2] > k:
        own = np.logical_or(own, np.any(there[..., k:, :], axis=-2))
    return np.any(np.logical_and(block_mask(w), np.expand_dims(own, -2)), axis=-1)


def none_known_zero(w: Value) -> Value:
    """A mask: of no value the factor is known to be zero."""
    return np.zeros(w.shape, bool)


@primitive
class UndeterminedProduct(OnStacks, Differential):
    """κ x y with an unknown κ, for off-diagonal elements x and y of the block of each value: NaN if its block has
    both, else 0; arguments x, y, w.

    κ depends on A, so the derivative has a term without ẋ and ẏ.
    """

    @property
    def title(self) -> str:
        return "undetermined_product"

    def evaluate(self, *xs: Value) -> Value:
        return self.expand(*xs)

    def expand(self, x: Value, y: Value, w: Value) -> Value:
        """From simple operations."""
        number = w.dtype.type
        return np.where(np.logical_and(has_off_diagonal(x, w), has_off_diagonal(y, w)), number(np.nan), number(0))

    def result_type(self, *types: ArrayType) -> Any:
        return types[2]

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, True, True), False

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        (x, y, w), (dx, dy, _) = xs, dxs
        return total(
            self(x, y, w),
            None if dx is None else self(dx, y, w),
            None if dy is None else self(x, dy, w),
        )

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        x, y, w = xs
        return (
            UndeterminedMultiple()(y, w, none_known_zero(w)) if wanted[0] else None,
            UndeterminedMultiple()(x, w, none_known_zero(w)) if wanted[1] else None,
            None,
        )


@primitive
class UndeterminedMultiple(OnStacks, Differential):
    """κ x with an unknown κ, for off-diagonal elements x: columns with some in their block are NaN, the others 0.

    Arguments x, w, and of which values κ is known to be zero at this point.
    """

    @property
    def title(self) -> str:
        return "undetermined_multiple"

    def evaluate(self, *xs: Value) -> Value:
        return self.expand(*xs)

    def expand(self, x: Value, w: Value, known: Value) -> Value:
        """From simple operations."""
        number = x.dtype.type
        lost = np.logical_and(has_off_diagonal(x, w), np.logical_not(known))
        return np.where(np.logical_and(np.expand_dims(lost, -2), np.ones(x.shape, bool)), number(np.nan), number(0))

    def result_type(self, *types: ArrayType) -> Any:
        return types[0]

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, True, False), False

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        x, w, _ = xs
        return total(self(x, w, none_known_zero(w)), None if dxs[0] is None else self(dxs[0], w, none_known_zero(w)))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        w = xs[1]
        return self(ct, w, none_known_zero(w)) if wanted[0] else None, None, None


@primitive
class BlockGradient(OnStacks, Differential):
    """G = diag(w̄), with zeros below for the null space part: the gradient of a function in the blocks, from its
    gradient w̄ in their diagonal; arguments S (the blocks, with the null space part below them), w̄.

    Off-diagonal elements of Ṡ change G by second derivatives of the function, which w̄ does not determine: the
    derivative is NaN there, unless w̄ varies as that of a function of the sum of the values in a block does. (It is
    known for functions of the matrix: see `SpectralDerivative`.)
    """

    @property
    def title(self) -> str:
        return "block_gradient"

    def evaluate(self, *xs: Value) -> Value:
        return self.expand(*xs)

    def expand(self, blocks: Value, gradient: Value) -> Value:
        """G from simple operations, without the derivative in S."""
        dtype = np.result_type(blocks.dtype, gradient.dtype)
        g = spread_diagonal(gradient).astype(dtype)
        below = blocks.shape[-2] - gradient.shape[-1]
        return np.concatenate([g, np.zeros((*g.shape[:-2], below, g.shape[-1]), dtype)], axis=-2) if below else g

    def values(self, blocks: Value) -> Value:
        """The diagonal of the blocks."""
        return real_diagonal(blocks[..., : blocks.shape[-1], :])

    def result_type(self, *types: ArrayType) -> Any:
        blocks, gradient = types
        stack = np.broadcast_shapes(blocks.shape[:-2], gradient.shape[:-1])
        return ArrayType((*stack, *blocks.shape[-2:]), result_dtype(blocks, gradient))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, True), False

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        (blocks, gradient), (dblocks, dgradient) = xs, dxs
        g = None if dgradient is None else self(blocks, dgradient)
        if dblocks is None:
            return g
        w, dw = self.values(blocks), None if dgradient is None else self.values(dblocks)
        known = known_zero(blocks, w, gradient if dgradient is None else dgradient, dw)
        return total(g, UndeterminedMultiple()(dblocks, w, known))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        blocks, gradient = xs
        k = gradient.shape[-1]
        w, top = self.values(blocks), ct[..., :k, :]
        # a w̄ that varies with the values determines second derivatives; one that does not must be equal in each block
        lost = diagonal(UndeterminedMultiple()(ct, w, none_known_zero(w))[..., :k, :])
        return (
            fit(UndeterminedMultiple()(ct, w, known_zero(blocks, w, gradient)), blocks) if wanted[0] else None,
            fit(diagonal(top) + lost, gradient) if wanted[1] else None,
        )


def known_zero(blocks: Value, w: Value, gradient: Value, dw: Value = None) -> Value:
    """Of which values κ is known to be zero: w̄ is equal in the block, and zero for singular values that are zero.

    With ẇ given, `gradient` is the tangent of w̄ along it, which says something only where the elements of ẇ differ.
    """
    alike, still = pairwise_equal(gradient), is_negligible(gradient)
    if dw is not None:
        alike = np.logical_and(alike, np.logical_not(pairwise_equal(dw)))
        still = np.logical_and(still, np.logical_not(is_negligible(dw)))
    same = np.all(np.logical_or(alike, np.logical_not(off_diagonal_mask(w))), axis=-1)
    if blocks.shape[-2] == w.shape[-1]:
        return same
    return np.logical_and(same, np.logical_or(still, np.logical_not(is_zero_value(w))))


def pairwise_equal(x: Value) -> Value:
    """Of each pair of values, whether their x's are equal up to rounding. x[…, n] -> […, n, n]."""
    gap = np.abs(np.expand_dims(x, -2) - np.expand_dims(x, -1))
    return gap <= np.expand_dims(_noise(x), -1)


def is_negligible(x: Value) -> Value:
    """Which x's are zero up to rounding."""
    return np.abs(x) <= _noise(x)


def _noise(x: Value) -> Value:
    return np.max(np.abs(x), axis=-1, keepdims=True, initial=0) * (NOISE * np.finfo(x.dtype).eps)
