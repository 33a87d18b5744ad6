"""Sums and extrema over windows, by slices: of a padded array, one for each tap, combined element by element.

Long windows are combined from windows of half the length. What the last axes look at is fixed when a program is
compiled, so all of it is views, which cost nothing, and one loop over the results.
"""

# The rules are written in plain NumPy on values that are being recorded.
# pyright: basic

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from adjoint.compile.expand import RULES, Rule, constant_of_nothing
from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.signal.windows import (
    WindowArgExtremum,
    Windowed,
    WindowExtremum,
    WindowShare,
    WindowSum,
    inexact_dtype,
    neutral_element,
)
from adjoint.program.program import Equation
from adjoint.program.types import real_dtype

FEW = 6  # taps along an axis that are combined one by one
MOST = 64  # taps of a window whose elements are compared one by one


def _padded(x: Any, axis: int, low: int, high: int, value: Any) -> Any:
    """x with `low` and `high` numbers before and behind it along an axis."""
    if not (low or high):
        return x
    widths = [(low, high) if a == axis else (0, 0) for a in range(x.ndim)]
    return np.pad(x, widths, constant_values=value)


def _part(x: Any, axis: int, start: int, step: int, count: int) -> Any:
    index = [slice(None)] * x.ndim
    index[axis] = slice(start, start + step * (count - 1) + 1, step)
    return x[tuple(index)]


def _combine(
    x: Any, axis: int, size: int, stride: int, dilation: int, start: int, length: int, value: Any, combine: Any
) -> Any:
    """The elements stride·p + dilation·k + start of each window along an axis, k = 0 … size - 1, combined."""
    n = x.shape[axis]
    low = max(0, -start)
    high = max(0, stride * (length - 1) + dilation * (size - 1) + start - (n - 1))
    x = _padded(x, axis, low, high, value)
    first = start + low
    if size <= FEW:
        result = _part(x, axis, first, stride, length)
        for k in range(1, size):
            result = combine(result, _part(x, axis, first + dilation * k, stride, length))
        return result
    whole, seen, done = x, 1, 0  # `whole` has windows of `seen` elements; `done` elements are in the result
    result = None
    for bit in range(size.bit_length()):
        if size >> bit & 1:
            part = _part(whole, axis, first + dilation * done, stride, length)
            result = part if result is None else combine(result, part)
            done += seen
        if bit + 1 < size.bit_length():
            count = whole.shape[axis] - dilation * seen
            whole = combine(_part(whole, axis, 0, 1, count), _part(whole, axis, dilation * seen, 1, count))
            seen *= 2
    return result


def _axis_by_axis(op: Windowed, x: Any, value: Any, combine: Any) -> Any:
    n = len(op.size)
    for j in range(n):
        x = _combine(
            x, x.ndim - n + j, op.size[j], op.stride[j], op.dilation[j], op.start[j], op.lengths[j], value, combine
        )
    return x


def _spread_out(x: Any, axis: int, step: int) -> Any:
    """x with step - 1 zeros between its elements."""
    n = x.shape[axis]
    if step == 1 or n == 0:
        return x
    apart = np.reshape(x, (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :]))
    filled = _padded(apart, axis + 1, 0, step - 1, 0)
    joined = np.reshape(filled, (*x.shape[:axis], n * step, *x.shape[axis + 1 :]))
    return _part(joined, axis, 0, 1, (n - 1) * step + 1)


class Blocks:
    """Windows that lie beside each other without gaps: an array of space is an array of windows, [… p, k …]."""

    def __init__(self, op: Windowed, space: tuple[int, ...]) -> None:
        self.op, self.space, self.n = op, space, len(op.size)
        self.covered = tuple(m * k for m, k in zip(op.lengths, op.size, strict=True))

    @staticmethod
    def fit(op: Windowed, space: tuple[int, ...]) -> bool:
        """Whether windows lie so; what is left of the space behind the last ones is in none."""
        axes = zip(op.size, op.stride, op.dilation, op.start, op.lengths, space, strict=True)
        return all(b == k and (d == 1 or k == 1) and e == 0 and m * k <= n for k, b, d, e, m, n in axes)

    def cut(self, x: Any) -> Any:
        """An array of space, window by window."""
        lead = x.shape[: x.ndim - self.n]
        x = x[(..., *[slice(0, m) for m in self.covered])]
        return np.reshape(x, (*lead, *[m for pair in zip(self.op.lengths, self.op.size, strict=True) for m in pair]))

    def spread(self, y: Any) -> Any:
        """A number of each window, to stand beside its elements."""
        lead = y.shape[: y.ndim - self.n]
        return np.reshape(y, (*lead, *[m for p in self.op.lengths for m in (p, 1)]))

    def join(self, x: Any) -> Any:
        """The opposite of `cut`, with zeros in what is left."""
        lead = x.shape[: x.ndim - 2 * self.n]
        x = np.reshape(x, (*lead, *self.covered))
        for j, (m, size) in enumerate(zip(self.covered, self.space, strict=True)):
            x = _padded(x, len(lead) + j, 0, size - m, 0)
        return x


def _sum(op: WindowSum, x: Any) -> Any:
    if not op.transposed:
        return _axis_by_axis(op, x, 0, np.add)
    n = len(op.size)
    if Blocks.fit(op, op.space):
        blocks = Blocks(op, op.space)
        lead = x.shape[: x.ndim - n]
        pairs = [m for pair in zip(op.lengths, op.size, strict=True) for m in pair]
        return blocks.join(np.broadcast_to(blocks.spread(x), (*lead, *pairs)))
    for j in range(n):  # p and i exchange their roles: i - start - dilation·k = stride·p
        axis, reach = x.ndim - n + j, op.dilation[j] * (op.size[j] - 1)
        x = _spread_out(x, axis, op.stride[j])
        x = _combine(x, axis, op.size[j], 1, op.dilation[j], -op.start[j] - reach, op.space[j], 0, np.add)
    return x


def _extremum(op: WindowExtremum, x: Any) -> Any:
    combine = np.maximum if op.kind == "max" else np.minimum
    return _axis_by_axis(op, x, neutral_element(op.kind, x.dtype), combine)


class Taps:
    """What every tap of the windows sees in an array, and whether it is inside."""

    def __init__(self, op: Windowed, space: tuple[int, ...]) -> None:
        self.op, self.space, self.n = op, space, len(op.size)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return itertools.product(*map(range, self.op.size))

    def see(self, x: Any, tap: tuple[int, ...], value: Any) -> Any:
        """The elements that the windows have at a tap; the value where that is outside."""
        op = self.op
        for j, k in enumerate(tap):
            axis = x.ndim - self.n + j
            start = op.dilation[j] * k + op.start[j]
            x = _combine(x, axis, 1, op.stride[j], 1, start, op.lengths[j], value, None)
        return x

    def inside(self, tap: tuple[int, ...]) -> Any:
        """Where a tap is inside of the array, as a plain array."""
        op, mask = self.op, np.ones((), bool)
        for j, k in enumerate(tap):
            i = op.stride[j] * np.arange(op.lengths[j]) + op.dilation[j] * k + op.start[j]
            mask = mask[..., None] & ((i >= 0) & (i < self.space[j]))
        return mask

    def scatter(self, y: Any, tap: tuple[int, ...]) -> Any:
        """The transpose of `see`."""
        op = self.op
        for j, k in enumerate(tap):
            axis, start = y.ndim - self.n + j, op.dilation[j] * k + op.start[j]
            y = _combine(_spread_out(y, axis, op.stride[j]), axis, 1, 1, 1, -start, self.space[j], 0, None)
        return y


def _share(op: WindowShare, d: Any, x: Any, z: Any) -> Any:
    """Σₖ [xₖ = z] ẋₖ / (number of ties), or its transpose; NaN is equal to nothing, and takes all of its window."""
    kind = inexact_dtype(d.dtype)
    d = d if d.dtype == kind else Convert(kind)(d)
    taps, broken = Taps(op, x.shape[x.ndim - len(op.size) :]), np.not_equal(z, z)
    zero, real = kind.type(0), real_dtype(kind)

    def ties(tap: tuple[int, ...]) -> Any:
        equal = np.logical_or(np.equal(taps.see(x, tap, 0), z), broken)
        inside = taps.inside(tap)
        return equal if np.all(inside) else np.logical_and(equal, inside)

    count: Any = 0
    total: Any = 0
    for tap in taps:
        tie = ties(tap)
        count = count + Convert(real)(tie)
        if not op.transposed:
            total = total + np.where(tie, taps.see(d, tap, 0), zero)
    share = (d if op.transposed else total) / np.maximum(count, real.type(1))
    share = np.where(broken, kind.type(np.nan), share)
    if not op.transposed:
        return share
    if Blocks.fit(op, taps.space):
        blocks = Blocks(op, taps.space)
        tie = np.logical_or(np.equal(blocks.cut(x), blocks.spread(z)), blocks.spread(broken))
        return blocks.join(np.where(tie, blocks.spread(share), zero))
    return sum((taps.scatter(np.where(ties(tap), share, zero), tap) for tap in taps), start=np.zeros(x.shape, kind))


def _position(op: WindowArgExtremum, x: Any) -> Any:
    space = x.shape[x.ndim - len(op.size) :]
    taps = Taps(op, space)
    number = np.reshape(np.arange(math.prod(space)), space)
    best: Any = None
    where: Any = None
    for tap in taps:
        new, inside, at = taps.see(x, tap, 0), taps.inside(tap), taps.see(number, tap, 0)
        if best is None:
            best = np.where(inside, new, neutral_element(op.kind, x.dtype))
            where = np.where(np.logical_and(inside, np.ones(new.shape, bool)), at, -1)
            continue
        wins = (np.greater if op.kind == "max" else np.less)(new, best)
        if x.dtype.kind in "fc":
            wins = np.logical_or(wins, np.logical_and(np.not_equal(new, new), np.equal(best, best)))
        wins = np.logical_and(np.logical_or(wins, np.less(where, 0)), inside)
        best, where = np.where(wins, new, best), np.where(wins, at, where)
    return where


def _windows(rule: Rule, most: int | None = None) -> Callable[[Equation], Rule | None]:
    def choose(eq: Equation) -> Rule | None:
        op: Any = eq.op
        if any(0 in a.type.shape for a in eq.inputs):
            return constant_of_nothing if all(0 in a.type.shape for a in eq.inputs) else None
        if 0 in eq.outputs[0].type.shape or 0 in op.size:
            return None
        return rule if most is None or math.prod(op.size) <= most else None

    return choose


RULES.update(
    {
        WindowSum: _windows(_sum),
        WindowExtremum: _windows(_extremum),
        WindowShare: _windows(_share, MOST),
        WindowArgExtremum: _windows(_position, MOST),
    }
)
