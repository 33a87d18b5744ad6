"""Sums and extrema over windows of the last axes, and which elements of a window are its extremum.

Place p of the result looks at the elements i = stride·p + dilation·k + start, k = 0 … size - 1, on each of the last
axes; those outside of x do not count. A window is a product of ranges, so sums and extrema go axis by axis.
"""

# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.calculus import Differential, Flat, Linear
from adjoint.program.op import Op, primitive
from adjoint.program.types import ArrayType, Value

Ints = tuple[int, ...]


class Windowed(Op):
    """How windows lie."""

    size: Ints
    stride: Ints
    dilation: Ints
    start: Ints
    lengths: Ints

    def _fields(self) -> Any:
        return self.size, self.stride, self.dilation, self.start, self.lengths

    def pooled(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """The shape of the result."""
        n = len(self.size)
        if len(shape) < n:
            raise ShapeError(f"{self.title}: windows of {n} axes in an array of shape {tuple(shape)}.")
        return (*shape[: len(shape) - n], *self.lengths)

    def taps(self, j: int, n: int) -> Iterator[tuple[slice, slice]]:
        """Along axis j of length n, for each k: which places p see an element there, and which elements i they see."""
        b, d, e, m = self.stride[j], self.dilation[j], self.start[j], self.lengths[j]
        for k in range(self.size[j]):
            first = max(0, -((d * k + e) // b))
            last = min(m, (n - 1 - d * k - e) // b + 1)
            if first < last:
                low = b * first + d * k + e
                yield slice(first, last), slice(low, low + b * (last - first - 1) + 1, b)
            else:
                yield slice(0, 0), slice(0, 0)

    def all_taps(self, space: Sequence[int]) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        """The same for all axes together: subscripts of the result and of x."""
        axes = [list(self.taps(j, n)) for j, n in enumerate(space)]
        for chosen in itertools.product(*axes):
            yield (..., *[p for p, _ in chosen]), (..., *[i for _, i in chosen])

    def axis_by_axis(self, x: Value, initial: Any, combine: Any) -> Value:
        """The windows combined along one axis after another, the last (in memory the nearest) at the end."""
        n = len(self.size)
        for j in range(n):
            axis = x.ndim - n + j
            before = (slice(None),) * axis
            z = np.full((*x.shape[:axis], self.lengths[j], *x.shape[axis + 1 :]), initial, x.dtype)
            for positions, seen in self.taps(j, x.shape[axis]):
                part = z[(*before, positions)]
                combine(part, x[(*before, seen)], out=part)
            x = z
        return x


@primitive
class WindowSum(Windowed, Linear):
    """The sum of each window; its transpose adds each number to all elements of its window, in arrays of shape
    `space` over the last axes.
    """

    size: Ints
    stride: Ints
    dilation: Ints
    start: Ints
    lengths: Ints
    space: Ints
    transposed: bool = False

    @property
    def title(self) -> str:
        return "window_sum"

    def evaluate(self, *xs: Value) -> Value:
        x = np.asarray(xs[0])
        if not self.transposed:
            return self.axis_by_axis(x, 0, np.add)
        n = len(self.size)
        for j in range(n):
            axis = x.ndim - n + j
            before = (slice(None),) * axis
            z = np.zeros((*x.shape[:axis], self.space[j], *x.shape[axis + 1 :]), x.dtype)
            for positions, seen in self.taps(j, self.space[j]):
                z[(*before, seen)] += x[(*before, positions)]
            x = z
        return x

    def result_type(self, *types: ArrayType) -> Any:
        (x,) = types
        lead = x.shape[: x.ndim - len(self.size)]
        return ArrayType((*lead, *(self.space if self.transposed else self.lengths)), x.dtype)

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (WindowSum(*self._fields(), space=self.space, transposed=not self.transposed)(ct),)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(xs[0])


def neutral_element(kind: str, dtype: np.dtype[Any]) -> Any:
    """What every other number is larger (or smaller) than."""
    if dtype.kind in "fc":
        return -np.inf if kind == "max" else np.inf
    if dtype.kind == "b":
        return kind != "max"
    return np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max


def inexact_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of derivatives."""
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


@primitive
class WindowExtremum(Windowed, Differential):
    """The largest (or smallest) element of each window. Ties share the derivative equally."""

    kind: str  # "max" or "min"
    size: Ints
    stride: Ints
    dilation: Ints
    start: Ints
    lengths: Ints

    @property
    def title(self) -> str:
        return f"window_{self.kind}"

    def evaluate(self, *xs: Value) -> Value:
        x = np.asarray(xs[0])
        return self.axis_by_axis(
            x, neutral_element(self.kind, x.dtype), np.maximum if self.kind == "max" else np.minimum
        )

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(self.pooled(types[0].shape), types[0].dtype)

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return None if dxs[0] is None else WindowShare(*self._fields())(dxs[0], xs[0], z)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return (WindowShare(*self._fields(), transposed=True)(ct, xs[0], z),)

    masks = True

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True,), True

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(xs[0])


@primitive
class WindowShare(Windowed, Linear):
    """ż = Σₖ [xₖ = z] ẋₖ / (number of ties): the derivative of z, the extremum of each window of x; or the transpose
    of this map.
    """

    size: Ints
    stride: Ints
    dilation: Ints
    start: Ints
    lengths: Ints
    transposed: bool = False

    @property
    def title(self) -> str:
        return "window_share"

    @property
    def parameters(self) -> int:
        return 2

    def evaluate(self, *xs: Value) -> Value:
        d, x, z = (np.asarray(v) for v in xs)
        d = d.astype(inexact_dtype(d.dtype), copy=False)
        space = x.shape[x.ndim - len(self.size) :]
        broken = z != z
        nans = bool(np.any(broken))  # a NaN is equal to nothing: all of its window has the derivative NaN
        equal: Callable[[Any, Any], Any] = lambda p, i: (x[i] == z[p]) | broken[p] if nans else x[i] == z[p]
        ties: Any = np.zeros(z.shape, d.dtype)
        sums = d if self.transposed else np.zeros(z.shape, d.dtype)
        for positions, seen in self.all_taps(space):
            tie = equal(positions, seen)
            ties[positions] += tie
            if not self.transposed:
                sums[positions] += np.where(tie, d[seen], 0)
        share = sums / np.maximum(np.real(ties), 1)
        if nans:
            share = np.asarray(np.where(broken, np.nan, share), d.dtype)
        if not self.transposed:
            return share
        out = np.zeros(x.shape, d.dtype)
        for positions, seen in self.all_taps(space):
            out[seen] += np.where(equal(positions, seen), share[positions], 0)
        return out

    def result_type(self, *types: ArrayType) -> Any:
        d, x, z = types
        return ArrayType(x.shape if self.transposed else z.shape, inexact_dtype(d.dtype))

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (WindowShare(*self._fields(), transposed=not self.transposed)(ct, *xs[1:]),)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*[x if m else np.broadcast_to(x, (size, *np.shape(x))) for x, m in zip(xs, mapped, strict=True)])

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return 3.4 * types[2].nbytes  # measured


@primitive
class WindowArgExtremum(Windowed, Flat):
    """Where the first largest (or smallest) element of each window stands, counted through all of its last axes."""

    kind: str
    size: Ints
    stride: Ints
    dilation: Ints
    start: Ints
    lengths: Ints

    @property
    def title(self) -> str:
        return f"window_arg{self.kind}"

    def evaluate(self, *xs: Value) -> Value:
        x = np.asarray(xs[0])
        space = x.shape[x.ndim - len(self.size) :]
        number = np.reshape(np.arange(math.prod(space)), space)
        best = np.full(self.pooled(x.shape), neutral_element(self.kind, x.dtype), x.dtype)
        where = np.full(best.shape, -1)
        better = np.greater if self.kind == "max" else np.less
        for positions, seen in self.all_taps(space):
            new, old = x[seen], best[positions]
            wins = better(new, old) | ((new != new) & (old == old)) | (where[positions] < 0)
            best[positions] = np.where(wins, new, old)
            where[positions] = np.where(wins, number[seen], where[positions])
        return where

    def result_type(self, *types: ArrayType) -> Any:
        return ArrayType(self.pooled(types[0].shape), np.dtype(np.intp))

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(xs[0])
