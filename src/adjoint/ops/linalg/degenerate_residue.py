"""What eigenvalues and singular values do not tell where they coincide: the parts of a direction that go astray.

The levels L of a block (see `levels`) move as a matrix, and only its diagonal is handed on as values w. A function of
the values F = f(w) that does not depend on their order is smooth, but in terms of w alone it is incomplete:

    F = f(diag L) + Σ κ |Lᵢⱼ|² + …,   κ = (∂ᵢ - ∂ⱼ)² f / 2

with products of *strays*, the elements of L beside the diagonal, which vanish in value. Where singular values are zero,
everything that the direction does between the spaces that A does not reach is astray, but for the real diagonal.

In a frame in which the first direction is diagonal (see `frames`) nothing is astray at second order. Otherwise the
missing term is not known, and derivatives that need it are NaN: `Unseen` and `Unsure` are zeros whose derivatives say
so, at every order.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here.)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Differential, fit, total
from adjoint.ops.linalg.degenerate_blocks import NOISE, OnStacks, beside, cleaned, coincide, scale_of
from adjoint.ops.linalg.matrices import diagonal, real_diagonal, spread_diagonal
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, result_dtype


def vanishing(w: Value) -> Value:
    """Which singular values are zero but for rounding."""
    return w <= scale_of(w) * np.finfo(w.dtype).eps


def unreached(u: Value, v: Value, w: Value, da: Value) -> Value:
    """Of the columns of Ȧ V and Ȧᴴ U that belong to zeros w, all but the real diagonal and what goes into other spaces.

    […, m + n, k]
    """
    none = vanishing(w)
    column, row = np.expand_dims(none, -2), np.expand_dims(none, -1)

    def rest(t: Value, basis: Value) -> Value:
        y = np.matmul(adjoint_matrix(basis), t)
        told = np.where(row, spread_diagonal(real_diagonal(y)).astype(y.dtype), y)
        return np.where(column, t - np.matmul(basis, told), t.dtype.type(0))

    return np.concatenate([rest(np.matmul(da, v), u), rest(np.matmul(adjoint_matrix(da), u), v)], axis=-2)


def unreached_adjoint(u: Value, v: Value, w: Value, ct: Value) -> Value:
    """The adjoint of `unreached` in Ȧ: each half is a projection."""
    none, m = vanishing(w), u.shape[-2]
    column, row = np.expand_dims(none, -2), np.expand_dims(none, -1)

    def rest(t: Value, basis: Value) -> Value:
        t = np.where(column, t, t.dtype.type(0))
        y = np.matmul(adjoint_matrix(basis), t)
        return t - np.matmul(basis, np.where(row, spread_diagonal(real_diagonal(y)).astype(y.dtype), y))

    left, right = rest(ct[..., :m, :], u), rest(ct[..., m:, :], v)
    return np.matmul(left, adjoint_matrix(v)) + np.matmul(u, adjoint_matrix(right))


@primitive
class Unreached(OnStacks, Differential):
    """Zero; its derivative is `unreached`. Arguments A, U, V, w; U, V and w count as what A makes of them."""

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
        return cleaned(unreached(u, v, w, dxs[0]), dxs[0])

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        a, u, v, w = xs
        return fit(unreached_adjoint(u, v, w, ct), a) if wanted[0] else None, None, None, None


def astray(x: Value, w: Value) -> Value:
    """For each value, whether x has strays in its block. x[…, k + …, k], w[…, k]: first the levels, then the rest."""
    k = w.shape[-1]
    size = np.max(np.abs(x), axis=(-2, -1), keepdims=True, initial=0)
    there = np.logical_not(np.abs(x) <= size * (NOISE * np.finfo(x.dtype).eps))  # what is NaN is there
    own = np.any(np.logical_and(beside(w), there[..., :k, :]), axis=-2)
    if x.shape[-2] > k:
        own = np.logical_or(own, np.any(there[..., k:, :], axis=-2))
    return np.any(np.logical_and(coincide(w), np.expand_dims(own, -2)), axis=-1)


def unspared(w: Value) -> Value:
    """None of the values is spared."""
    return np.zeros(w.shape, bool)


@primitive
class Unseen(OnStacks, Differential):
    """For each value the product of strays x and y: NaN if there are both in its block, else 0. Arguments x, y, w.

    What it stands for has an unknown factor, which moves as well: the derivative has a term without ẋ and ẏ.
    """

    def evaluate(self, *xs: Value) -> Value:
        return self.expand(*xs)

    def expand(self, x: Value, y: Value, w: Value) -> Value:
        """From simple operations."""
        number = w.dtype.type
        return np.where(np.logical_and(astray(x, w), astray(y, w)), number(np.nan), number(0))

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
            Unsure()(y, w, unspared(w)) if wanted[0] else None,
            Unsure()(x, w, unspared(w)) if wanted[1] else None,
            None,
        )


@primitive
class Unsure(OnStacks, Differential):
    """Strays x times an unknown factor: the columns of x that have strays in their block are NaN, the others 0.

    Arguments x, w, and which values are spared, because their factor is known to be zero at this point.
    """

    def evaluate(self, *xs: Value) -> Value:
        return self.expand(*xs)

    def expand(self, x: Value, w: Value, spared: Value) -> Value:
        """From simple operations."""
        number = x.dtype.type
        lost = np.logical_and(astray(x, w), np.logical_not(spared))
        return np.where(np.logical_and(np.expand_dims(lost, -2), np.ones(x.shape, bool)), number(np.nan), number(0))

    def result_type(self, *types: ArrayType) -> Any:
        return types[0]

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, True, False), False

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        x, w, _ = xs
        return total(self(x, w, unspared(w)), None if dxs[0] is None else self(dxs[0], w, unspared(w)))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        w = xs[1]
        return self(ct, w, unspared(w)) if wanted[0] else None, None, None


@primitive
class Slopes(OnStacks, Differential):
    """G = diag(w̄), with zeros below for what is unreached: the derivative of a function of the levels by its
    derivatives w̄ in their values; arguments S (the levels, and what is unreached below them), w̄.

    As S moves, its strays change G by second derivatives of the function, which w̄ does not tell: the result is NaN
    there, unless w̄ moves as that of a function of the sum of the values in a block does. (It is known for functions
    of the matrix: see `SpectralDerivative`.)
    """

    def evaluate(self, *xs: Value) -> Value:
        return self.expand(*xs)

    def expand(self, strays: Value, slopes: Value) -> Value:
        """G from simple operations, without the derivative in S."""
        dtype = np.result_type(strays.dtype, slopes.dtype)
        g = spread_diagonal(slopes).astype(dtype)
        below = strays.shape[-2] - slopes.shape[-1]
        return np.concatenate([g, np.zeros((*g.shape[:-2], below, g.shape[-1]), dtype)], axis=-2) if below else g

    def values(self, strays: Value) -> Value:
        """The diagonal of the levels."""
        return real_diagonal(strays[..., : strays.shape[-1], :])

    def result_type(self, *types: ArrayType) -> Any:
        strays, slopes = types
        stack = np.broadcast_shapes(strays.shape[:-2], slopes.shape[:-1])
        return ArrayType((*stack, *strays.shape[-2:]), result_dtype(strays, slopes))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, True), False

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        (strays, slopes), (dstrays, dslopes) = xs, dxs
        g = None if dslopes is None else self(strays, dslopes)
        if dstrays is None:
            return g
        w, moved = self.values(strays), None if dslopes is None else self.values(dstrays)
        return total(g, Unsure()(dstrays, w, spared(strays, w, slopes if dslopes is None else dslopes, moved)))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        strays, slopes = xs
        k = slopes.shape[-1]
        w, top = self.values(strays), ct[..., :k, :]
        # slopes that move with the values tell of second derivatives; slopes that do not must be alike
        lost = diagonal(Unsure()(ct, w, unspared(w))[..., :k, :])
        return (
            fit(Unsure()(ct, w, spared(strays, w, slopes, None)), strays) if wanted[0] else None,
            fit(diagonal(top) + lost, slopes) if wanted[1] else None,
        )


def spared(strays: Value, w: Value, slopes: Value, moved: Value) -> Value:
    """Of each value, whether its slope is that of every other in its block, and zero for singular values that are zero.

    If given, `moved` tells how far the values move: slopes that do not differ tell something where these do.
    """
    alike, still = even(slopes), nothing(slopes)
    if moved is not None:
        alike = np.logical_and(alike, np.logical_not(even(moved)))
        still = np.logical_and(still, np.logical_not(nothing(moved)))
    same = np.all(np.logical_or(alike, np.logical_not(beside(w))), axis=-1)
    if strays.shape[-2] == w.shape[-1]:
        return same
    return np.logical_and(same, np.logical_or(still, np.logical_not(vanishing(w))))


def even(x: Value) -> Value:
    """Of each pair of values, whether their x's are equal but for rounding. x[…, n] -> […, n, n]."""
    gap = np.abs(np.expand_dims(x, -2) - np.expand_dims(x, -1))
    return gap <= np.expand_dims(_noise(x), -1)


def nothing(x: Value) -> Value:
    """Which x's are zero but for rounding."""
    return np.abs(x) <= _noise(x)


def _noise(x: Value) -> Value:
    return np.max(np.abs(x), axis=-1, keepdims=True, initial=0) * (NOISE * np.finfo(x.dtype).eps)
