"""Values that coincide: what the rules of eigenvalues and singular values divide by, as matrices.

Where values coincide, a basis V of their space is arbitrary, and what belongs to the space is not a number but a block:
A V = V L, with the *levels* L, diagonal in value. As A moves, L̇ is the block of Vᴴ Ȧ V, which is not diagonal. The
vectors turn only from one space to others (Ω = Vᴴ V̇ is zero in blocks). These identities hold all along, so that
derivatives of functions of whole spaces are right at every order, if L is kept as a matrix:

    Ω L - L Ω = M  between blocks,    D L + L D = K,    Z L = Y

`Turning`, `Sharing` and `Dividing` solve them for Ω, D and Z.
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

ROUNDING = 8  # gaps below this many roundings per row count as none
NOISE = 1e4  # elements of a direction below this many roundings of the largest count as none


def scale_of(w: Value) -> Value:
    """What gaps are compared with, for each matrix."""
    return largest(w) * (ROUNDING * w.shape[-1])


def inverse_gaps(w: Value) -> Value:
    """F[i, j] = 1 / (wⱼ - wᵢ), and 0 where they coincide."""
    gap = np.expand_dims(w, -2) - np.expand_dims(w, -1)
    return reciprocal_of(gap, np.expand_dims(scale_of(w), -1))


def coincide(w: Value) -> Value:
    """Where wᵢ and wⱼ are equal but for rounding: the blocks."""
    gap = np.abs(np.expand_dims(w, -2) - np.expand_dims(w, -1))
    return gap <= np.expand_dims(scale_of(w), -1) * np.finfo(w.dtype).eps


def beside(w: Value) -> Value:
    """The blocks without their diagonal."""
    return np.logical_and(coincide(w), np.logical_not(np.eye(w.shape[-1], dtype=bool)))


def cleaned(x: Value, da: Value) -> Value:
    """x, a linear function of Ȧ, with zeros in value where it is nothing but rounding; its derivatives stay."""
    line = np.max(np.abs(da), axis=(-2, -1), keepdims=True, initial=0) * (NOISE * np.finfo(x.dtype).eps)
    return x - StopGradient()(np.where(np.abs(x) <= line, x, x.dtype.type(0)))


class OnStacks(Op):
    """How a function of several stacks treats axes: all have the same stack in front."""

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*[x if m else np.broadcast_to(x, (size, *np.shape(x))) for x, m in zip(xs, mapped, strict=True)])


@primitive
class Levels(OnStacks, Differential):
    """L = diag(w), in the dtype of the vectors, for A V = U diag(w); arguments A, U, V, w.

    L̇ is the Hermitian part of Uᴴ Ȧ V within the blocks of equal w. Nothing else moves it: U, V and w count as what A
    makes of them.
    """

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
        told = np.where(np.eye(w.shape[-1], dtype=bool), inner, inner.dtype.type(0))
        return told + cleaned(np.where(beside(w), inner, inner.dtype.type(0)), dxs[0])

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        if not wanted[0]:
            return (None,) * 4
        a, u, v, w = xs
        inner = np.where(coincide(w), hermitian(ct), ct.dtype.type(0))
        return fit(np.matmul(u, np.matmul(inner, adjoint_matrix(v))), a), None, None, None

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return measured_workspace(results, (1.0, 0.5))


class ByLevels(Implicit):
    """Z with (a linear map of Z and L) = Y; arguments L, Y."""

    @abstractmethod
    def formula(self, w: Value, y: Value) -> Value:
        """Z, for the diagonal w of L."""

    @abstractmethod
    def change(self, z: Value, dlevels: Value) -> Value:
        """The map of Z and L̇."""

    @abstractmethod
    def change_adjoint(self, z: Value, ct: Value) -> Value:
        """L̄ from the cotangent of that."""

    def expand(self, levels: Value, y: Value) -> Value:
        """Z from simple operations, without the derivative in L."""
        return self.formula(real_diagonal(levels), y)

    def evaluate(self, *xs: Value) -> Value:
        return self.expand(*xs)

    def result_type(self, *types: ArrayType) -> Any:
        levels, y = types
        stack = np.broadcast_shapes(levels.shape[:-2], y.shape[:-2])
        return ArrayType((*stack, *y.shape[-2:]), result_dtype(levels, y))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, False), wanted[0]

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        dlevels, dy = dxs
        return self(xs[0], total(dy, None if dlevels is None else -self.change(z, dlevels)))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        levels, y = xs
        g = self(levels, ct)
        return (
            fit(-self.change_adjoint(z, g), levels) if wanted[0] else None,
            fit(g, y) if wanted[1] else None,
        )

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*aligned(xs, mapped))


@primitive
class Turning(ByLevels):
    """Ω L - L Ω = M between the blocks, Ω = 0 in them: Ω[i, j] = M[i, j] / (wⱼ - wᵢ)."""

    def formula(self, w: Value, y: Value) -> Value:
        return inverse_gaps(w) * y

    def change(self, z: Value, dlevels: Value) -> Value:
        return np.matmul(z, dlevels) - np.matmul(dlevels, z)

    def change_adjoint(self, z: Value, ct: Value) -> Value:
        zh = adjoint_matrix(z)
        return np.matmul(zh, ct) - np.matmul(ct, zh)


@primitive
class Sharing(ByLevels):
    """D L + L D = K: D[i, j] = K[i, j] / (wᵢ + wⱼ), 0 where there is nothing to divide by."""

    def formula(self, w: Value, y: Value) -> Value:
        return reciprocal_of(np.expand_dims(w, -2) + np.expand_dims(w, -1), np.expand_dims(scale_of(w), -1)) * y

    def change(self, z: Value, dlevels: Value) -> Value:
        return np.matmul(z, dlevels) + np.matmul(dlevels, z)

    def change_adjoint(self, z: Value, ct: Value) -> Value:
        zh = adjoint_matrix(z)
        return np.matmul(zh, ct) + np.matmul(ct, zh)


@primitive
class Dividing(ByLevels):
    """Z L = Y: column j of Y divided by wⱼ, 0 where there is nothing to divide by."""

    def formula(self, w: Value, y: Value) -> Value:
        return y * np.expand_dims(reciprocal_of(w, scale_of(w)), -2)

    def change(self, z: Value, dlevels: Value) -> Value:
        return np.matmul(z, dlevels)

    def change_adjoint(self, z: Value, ct: Value) -> Value:
        return np.matmul(adjoint_matrix(z), ct)
