"""Degenerate eigenvalues and singular values: the equations that their rules solve, with blocks for equal values.

Where values coincide, a basis V of their space is arbitrary, and what belongs to the space is not a number but a block:
A V = V L, where L is block diagonal, and diagonal in value. In the derivative, L̇ is the diagonal block of Vᴴ Ȧ V, which
is a full matrix, and the vectors change only from one space to the others (Ω = Vᴴ V̇ is zero in the blocks). These
identities hold along every curve, so derivatives of functions of whole spaces are right at every order if L is kept as
a matrix:

    Ω L - L Ω = M  between blocks,    D L + L D = K,    Z L = Y

`CommutatorSolve`, `AnticommutatorSolve` and `BlockRightSolve` solve them for Ω, D and Z.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here.)

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Differential, Implicit, fit, total
from adjoint.ops.elementwise.pointwise import aligned
from adjoint.ops.elementwise.select import StopGradient
from adjoint.ops.linalg.matrices import hermitian, largest, real_diagonal, reciprocal_of, spread_diagonal
from adjoint.ops.linalg.workspace import measured_workspace
from adjoint.program.op import Op, primitive
from adjoint.program.types import ArrayType, Value, result_dtype

ROUNDING = 8  # gaps below this many roundings per row count as zero
NOISE = 1e4  # elements of a tangent below this many roundings of the largest count as zero


def gap_scale(w: Value) -> Value:
    """What gaps are compared with, for each matrix."""
    return largest(w) * (ROUNDING * w.shape[-1])


def inverse_gaps(w: Value) -> Value:
    """F[i, j] = 1 / (wⱼ - wᵢ), and 0 where they coincide."""
    gap = np.expand_dims(w, -2) - np.expand_dims(w, -1)
    return reciprocal_of(gap, np.expand_dims(gap_scale(w), -1))


def block_mask(w: Value) -> Value:
    """Where wᵢ and wⱼ are equal up to rounding: the diagonal blocks, as a mask […, n, n]."""
    gap = np.abs(np.expand_dims(w, -2) - np.expand_dims(w, -1))
    return gap <= np.expand_dims(gap_scale(w), -1) * np.finfo(w.dtype).eps


def off_diagonal_mask(w: Value) -> Value:
    """The blocks without their diagonal."""
    return np.logical_and(block_mask(w), np.logical_not(np.eye(w.shape[-1], dtype=bool)))


def remove_rounding(x: Value, da: Value) -> Value:
    """x, a linear function of Ȧ, with zeros where its value is only rounding; its derivatives stay."""
    line = np.max(np.abs(da), axis=(-2, -1), keepdims=True, initial=0) * (NOISE * np.finfo(x.dtype).eps)
    return x - StopGradient()(np.where(np.abs(x) <= line, x, x.dtype.type(0)))


class OnStacks(Op):
    """A function of several stacks of matrices or vectors, which all have the same leading axes."""

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*[x if m else np.broadcast_to(x, (size, *np.shape(x))) for x, m in zip(xs, mapped, strict=True)])


@primitive
class EigenvalueBlocks(OnStacks, Differential):
    """L = diag(w), in the dtype of the vectors, for A V = U diag(w); arguments A, U, V, w.

    L̇ is the Hermitian part of Uᴴ Ȧ V within the blocks of equal w. It has no derivative in U, V and w, which are
    functions of A.
    """

    @property
    def title(self) -> str:
        return "eigenvalue_blocks"

    def evaluate(self, *xs: Value) -> Value:
        return self.expand(*xs)

    def expand(self, a: Value, u: Value, v: Value, w: Value) -> Value:
        """L from simple operations, without its derivative."""
        return spread_diagonal(w).astype(v.dtype)

    def result_type(self, *types: ArrayType) -> Any:
        w = types[3]
        return ArrayType((*w.shape, w.shape[-1]), types[2].dtype)

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (False, True, True, True), False

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        if dxs[0] is None:
            return None
        _, u, v, w = xs
        inner = hermitian(np.matmul(adjoint_matrix(u), np.matmul(dxs[0], v)))
        dw = np.where(np.eye(w.shape[-1], dtype=bool), inner, inner.dtype.type(0))
        return dw + remove_rounding(np.where(off_diagonal_mask(w), inner, inner.dtype.type(0)), dxs[0])

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        if not wanted[0]:
            return (None,) * 4
        a, u, v, w = xs
        inner = np.where(block_mask(w), hermitian(ct), ct.dtype.type(0))
        return fit(np.matmul(u, np.matmul(inner, adjoint_matrix(v))), a), None, None, None

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return measured_workspace(results, (1.0, 0.5))


class BlockEquation(Implicit):
    """Z with (a linear map of Z and L) = Y; arguments L, Y."""

    @abstractmethod
    def formula(self, w: Value, y: Value) -> Value:
        """Z, for the diagonal w of L."""

    @abstractmethod
    def change(self, z: Value, dblocks: Value) -> Value:
        """The map of Z and L̇."""

    @abstractmethod
    def change_adjoint(self, z: Value, ct: Value) -> Value:
        """L̄ from the cotangent of that."""

    def expand(self, blocks: Value, y: Value) -> Value:
        """Z from simple operations, without the derivative in L."""
        return self.formula(real_diagonal(blocks), y)

    def evaluate(self, *xs: Value) -> Value:
        return self.expand(*xs)

    def result_type(self, *types: ArrayType) -> Any:
        blocks, y = types
        stack = np.broadcast_shapes(blocks.shape[:-2], y.shape[:-2])
        return ArrayType((*stack, *y.shape[-2:]), result_dtype(blocks, y))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, False), wanted[0]

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        dblocks, dy = dxs
        return self(xs[0], total(dy, None if dblocks is None else -self.change(z, dblocks)))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        blocks, y = xs
        g = self(blocks, ct)
        return (
            fit(-self.change_adjoint(z, g), blocks) if wanted[0] else None,
            fit(g, y) if wanted[1] else None,
        )

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*aligned(xs, mapped))


@primitive
class CommutatorSolve(BlockEquation):
    """Ω L - L Ω = M between the blocks, Ω = 0 in them: Ω[i, j] = M[i, j] / (wⱼ - wᵢ)."""

    @property
    def title(self) -> str:
        return "commutator_solve"

    def formula(self, w: Value, y: Value) -> Value:
        return inverse_gaps(w) * y

    def change(self, z: Value, dblocks: Value) -> Value:
        return np.matmul(z, dblocks) - np.matmul(dblocks, z)

    def change_adjoint(self, z: Value, ct: Value) -> Value:
        zh = adjoint_matrix(z)
        return np.matmul(zh, ct) - np.matmul(ct, zh)


@primitive
class AnticommutatorSolve(BlockEquation):
    """D L + L D = K: D[i, j] = K[i, j] / (wᵢ + wⱼ), 0 where the denominator is 0."""

    @property
    def title(self) -> str:
        return "anticommutator_solve"

    def formula(self, w: Value, y: Value) -> Value:
        return reciprocal_of(np.expand_dims(w, -2) + np.expand_dims(w, -1), np.expand_dims(gap_scale(w), -1)) * y

    def change(self, z: Value, dblocks: Value) -> Value:
        return np.matmul(z, dblocks) + np.matmul(dblocks, z)

    def change_adjoint(self, z: Value, ct: Value) -> Value:
        zh = adjoint_matrix(z)
        return np.matmul(zh, ct) + np.matmul(ct, zh)


@primitive
class BlockRightSolve(BlockEquation):
    """Z L = Y: column j of Y divided by wⱼ, 0 where wⱼ is 0."""

    @property
    def title(self) -> str:
        return "block_right_solve"

    def formula(self, w: Value, y: Value) -> Value:
        return y * np.expand_dims(reciprocal_of(w, gap_scale(w)), -2)

    def change(self, z: Value, dblocks: Value) -> Value:
        return np.matmul(z, dblocks)

    def change_adjoint(self, z: Value, ct: Value) -> Value:
        return np.matmul(adjoint_matrix(z), ct)
