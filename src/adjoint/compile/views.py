"""How the elements of an array are found from loop counters: affine index maps, and the views that compose them.

A *map* gives, for each axis of an array, its index as offset + Σ coefficient · counter. Slices, transposes, broadcasts
and most reshapes turn a map over their result into a map over their operand, so they cost nothing at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from adjoint.ops.arrays.index import Slice
from adjoint.ops.arrays.rearrange import Broadcast, Reshape, Transpose
from adjoint.program.program import Var
from adjoint.program.rule_table import RuleTable


class Index(NamedTuple):
    """offset + Σ coefficient · counter of a loop axis."""

    offset: Any
    terms: tuple[tuple[int, Any], ...] = ()  # (loop axis, coefficient), by axis

    def scale(self, factor: Any) -> Index:
        return Index(self.offset * factor, tuple((axis, c * factor) for axis, c in self.terms))

    def shift(self, distance: Any) -> Index:
        return Index(self.offset + distance, self.terms)

    def plus(self, other: Index) -> Index:
        coefficients = dict(self.terms)
        for axis, c in other.terms:
            coefficients[axis] = coefficients.get(axis, 0) + c
        return Index(self.offset + other.offset, tuple(sorted((a, c) for a, c in coefficients.items() if c)))


ZERO = Index(0)
Map: TypeAlias = tuple[Index, ...]


def identity(ndim: int) -> Map:
    """Each axis is its own loop axis."""
    return tuple(Index(0, ((axis, 1),)) for axis in range(ndim))


def broadcast(index: Map, shape: Sequence[Any]) -> Map:
    """The map over an operand of a shape that is broadcast to the result: trailing axes match, ones stay at zero."""
    tail = index[len(index) - len(shape) :]
    return tuple(ZERO if n == 1 else i for n, i in zip(shape, tail, strict=True))


def strides_of(shape: Sequence[Any]) -> tuple[Any, ...]:
    """The distances, in elements, between neighbors along each axis of a contiguous array."""
    strides: list[Any] = [1] * min(len(shape), 1)
    for n in reversed(shape[1:]):  # the first size, which may be known only at run time, is in no stride
        strides.append(strides[-1] * n)
    return tuple(reversed(strides))


def linear(index: Map, strides: Sequence[Any]) -> Index:
    """The position in memory, in elements from the start."""
    total = ZERO
    for i, stride in zip(index, strides, strict=True):
        total = total.plus(i.scale(stride))
    return total


class View(NamedTuple):
    """Elements in the memory of a variable."""

    base: Var
    offset: Any
    strides: tuple[Any, ...]
    shape: tuple[Any, ...]

    @property
    def contiguous(self) -> bool:
        return all(s == t or n == 1 for s, t, n in zip(self.strides, strides_of(self.shape), self.shape, strict=True))


def whole(var: Var) -> View:
    """A variable in its own memory."""
    return View(var, 0, strides_of(var.type.shape), var.type.shape)


class Walk(NamedTuple):
    """One axis of an operand of a slice: result axis `axis` walked from `start` by `step`, or fixed at `start`."""

    axis: int | None
    start: Any
    step: Any
    count: Any


def written_out(items: Sequence[Any], ndim: int) -> tuple[Any, ...]:
    """A basic index with one item for every axis that an array has: no ellipsis, none left out."""
    at = next((k for k, item in enumerate(items) if item is Ellipsis), len(items))
    named = [item for item in items if item is not Ellipsis]
    rest = ((None, None, None),) * (ndim - sum(item is not None for item in named))
    return (*named[:at], *rest, *named[at:])


def walks(items: Sequence[Any], shape: Sequence[Any]) -> list[Walk]:
    """What a basic index does with each axis of an array; the axes of the result are numbered in order."""
    axes: list[Walk] = []
    out = 0
    position = 0
    for item in written_out(items, len(shape)):
        if item is None:
            out += 1
            continue
        n = shape[position]
        position += 1
        if isinstance(item, tuple):
            start, step, count = _bounds(item, n)
            axes.append(Walk(out, start, step, count))
            out += 1
        else:
            axes.append(Walk(None, item + n if item < 0 else item, 1, 1))
    return axes


def _bounds(item: tuple[Any, Any, Any], n: Any) -> tuple[Any, Any, Any]:
    """(first index, step, how many) of a slice along an axis of n elements; like slice.indices, in plain arithmetic."""
    start, stop, step = item
    step = 1 if step is None else step
    low, high = (0, n) if step > 0 else (-1, n - 1)

    def clip(i: Any, default: Any) -> Any:
        if i is None:
            return default
        i = i + n if i < 0 else i
        return low if i < low else high if i > high else i

    first = clip(start, low if step > 0 else high)
    last = clip(stop, high if step > 0 else low)
    distance = last - first if step > 0 else first - last
    if distance <= 0:
        return first, step, 0
    return first, step, distance if step in (1, -1) else -(-distance // abs(step))


Strides: TypeAlias = tuple[Any, ...]


class ViewRule(NamedTuple):
    """How a view renames elements of its one operand, which has a shape (the result another)."""

    # (op, map over the result, shape, shape of the result): the map over the operand; None if it is not affine
    through: Callable[[Any, Map, Sequence[Any], Sequence[Any]], Map | None]
    # (op, strides of the operand, shape, shape of the result): (offset, strides) of the result in the operand's memory;
    # None if elements would have to move
    restride: Callable[[Any, Strides, Sequence[Any], Sequence[Any]], tuple[Any, Strides] | None]


VIEWS: RuleTable[ViewRule] = RuleTable("views in compiled code", of="evaluate")


def through(op: Any, index: Map, shape: Sequence[Any], out_shape: Sequence[Any]) -> Map | None:
    """The map over the operand (of a shape) of a view, from the map over its result; None if it is not affine."""
    return VIEWS[op].through(op, index, shape, out_shape)


def _through_slice(op: Slice, index: Map, shape: Sequence[Any], out_shape: Sequence[Any]) -> Map:
    return tuple(
        Index(w.start) if w.axis is None else index[w.axis].scale(w.step).shift(w.start) for w in walks(op.items, shape)
    )


def _restride_slice(op: Slice, strides: Strides, shape: Sequence[Any], out_shape: Sequence[Any]) -> tuple[Any, Strides]:
    offset: Any = 0
    steps: list[Any] = [0] * len(out_shape)
    for w, s in zip(walks(op.items, shape), strides, strict=True):
        offset = offset + w.start * s
        if w.axis is not None:
            steps[w.axis] = w.step * s
    return offset, tuple(steps)


def _through_transpose(op: Transpose, index: Map, shape: Sequence[Any], out_shape: Sequence[Any]) -> Map:
    inner: list[Index] = [ZERO] * len(shape)
    for i, axis in enumerate(op.axes):
        inner[axis] = index[i]
    return tuple(inner)


def _restride_transpose(
    op: Transpose, strides: Strides, shape: Sequence[Any], out_shape: Sequence[Any]
) -> tuple[Any, Strides]:
    return 0, tuple(strides[a] for a in op.axes)


def _restride_broadcast(
    op: Broadcast, strides: Strides, shape: Sequence[Any], out_shape: Sequence[Any]
) -> tuple[Any, Strides]:
    lead = len(out_shape) - len(shape)
    return 0, (0,) * lead + tuple(0 if n == 1 else s for n, s in zip(shape, strides, strict=True))


def _restride_reshape(
    op: Reshape, strides: Strides, shape: Sequence[Any], out_shape: Sequence[Any]
) -> tuple[Any, Strides] | None:
    steps = restride_contiguous(shape, strides, out_shape)
    return None if steps is None else (0, steps)


def _through_reshape(op: Reshape, index: Map, shape: Sequence[Any], out_shape: Sequence[Any]) -> Map | None:
    """Through a reshape that splits axes or adds and drops axes of size one; merging axes is not affine."""
    inner = [(axis, n) for axis, n in enumerate(shape) if n != 1]
    outer = [(axis, n) for axis, n in enumerate(out_shape) if n != 1]
    maps: list[Index] = [ZERO] * len(shape)
    at = 0
    for axis, n in inner:
        total, size = ZERO, 1
        while size != n:
            if at == len(outer) or size == 0 or size > n or n % size:
                return None
            out_axis, m = outer[at]
            at += 1
            total = total.scale(m).plus(index[out_axis])
            size = size * m
        maps[axis] = total
    return tuple(maps) if at == len(outer) else None


def restride_contiguous(
    shape: Sequence[Any], strides: Sequence[Any], out_shape: Sequence[Any]
) -> tuple[Any, ...] | None:
    """The strides of a reshape of stored elements, when no element has to move; None otherwise."""
    inner = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    out_strides: list[Any] = [0] * len(out_shape)
    outer = [axis for axis, n in enumerate(out_shape) if n != 1]
    i, j = 0, 0
    while i < len(inner) and j < len(outer):
        first_i, first_j = i, j
        a, b = inner[i][0], out_shape[outer[j]]
        while a != b:
            if a < b:
                i += 1
                if i == len(inner):
                    return None
                a = a * inner[i][0]
            else:
                j += 1
                if j == len(outer):
                    return None
                b = b * out_shape[outer[j]]
        for k in range(first_i, i):  # the axes that are merged must follow one another in memory
            if inner[k][1] != inner[k + 1][0] * inner[k + 1][1]:
                return None
        step = inner[i][1]
        for k in range(j, first_j - 1, -1):
            out_strides[outer[k]] = step
            step = step * out_shape[outer[k]]
        i, j = i + 1, j + 1
    return tuple(out_strides) if i == len(inner) and j == len(outer) else None


VIEWS.update(
    {
        Slice: ViewRule(_through_slice, _restride_slice),
        Transpose: ViewRule(_through_transpose, _restride_transpose),
        Broadcast: ViewRule(lambda op, index, shape, out_shape: broadcast(index, shape), _restride_broadcast),
        Reshape: ViewRule(_through_reshape, _restride_reshape),
    }
)
