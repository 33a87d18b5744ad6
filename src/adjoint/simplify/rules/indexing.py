"""Reading and writing parts of arrays: what is read from a part that is at hand is read there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.index import Gather, ScatterSet, ScatterSum, Slice
from adjoint.ops.arrays.rearrange import Broadcast, Concatenate, Convert, Pad
from adjoint.ops.elementwise.arithmetic import add
from adjoint.ops.elementwise.select import Select
from adjoint.program.program import Atom, Literal, Var
from adjoint.program.types import ArrayType
from adjoint.simplify.rules.rule import ANY, Rule, rule
from adjoint.simplify.rules.shapes import reshape
from adjoint.simplify.rules.static_index import FULL, Items, compose, disjoint, extent, keeps_order, normal, shape_of

FARTHEST = 64  # writes that are looked through for the one that is read


def slice_items(r: Any, x: Atom, items: Items) -> Atom:
    """x[items], for items in normal form."""
    if not items:
        return x
    return r.apply(Slice(items), (x,), ArrayType(shape_of(items, x.type.shape), x.type.dtype))


@rule("a slice in normal form; one that takes all is none, or a reshape", Slice, ANY)
def normal_slice(r: Any, op: Slice, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    (x,) = inputs
    items = normal(op.items, x.type.shape)
    if items is None or isinstance(x, Literal):
        return None
    if keeps_order(items, x.type.shape):
        return reshape(r, x, kind.shape)
    return None if items == op.items else slice_items(r, x, items)


@rule("x[a][b] = x[a, b]", Slice, Slice)
def slice_of_slice(r: Any, op: Slice, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    eq = r.defined[inputs[0]]
    (x,) = eq.inputs
    inner, outer = normal(eq.op.items, x.type.shape), normal(op.items, inputs[0].type.shape)
    if inner is None or outer is None:
        return None
    items = compose(inner, outer, x.type.shape)
    return None if items is None else slice_items(r, x, items)


@rule("a slice of a broadcast is a broadcast of a slice", Slice, Broadcast)
def slice_of_broadcast(r: Any, op: Slice, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    (x,) = r.defined[inputs[0]].inputs
    if isinstance(x, Literal):
        return r.spread(x, kind.shape)
    wide = inputs[0].type.shape
    items = normal(op.items, wide)
    if items is None or None in items:
        return None
    lead = len(wide) - x.type.ndim
    inside: list[Any] = []
    for axis, item in enumerate((*items, *[FULL] * (len(wide) - len(items)))):
        if axis >= lead:
            alike = x.type.shape[axis - lead] == wide[axis]
            inside.append(item if alike else 0 if isinstance(item, int) else FULL)
    there = normal(tuple(inside), x.type.shape)
    return None if there is None else r.spread(slice_items(r, x, there), kind.shape)


@rule("a slice that lies in one part of a concatenation is read from that part", Slice, Concatenate)
def slice_of_concatenate(r: Any, op: Slice, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    eq = r.defined[inputs[0]]
    axis, n = eq.op.axis, inputs[0].type.shape[eq.op.axis]
    items = normal(op.items, inputs[0].type.shape)
    if items is None or None in items[: axis + 1] or len(items) <= axis or items[axis] == FULL:
        return None
    item = items[axis]
    first, step, count = (item, 1, 1) if isinstance(item, int) else extent(item, n)
    last = first + step * (count - 1)
    start = 0
    for part in eq.inputs:
        stop = start + part.type.shape[axis]
        if count and start <= min(first, last) and max(first, last) < stop and part.type.dtype == kind.dtype:
            return slice_items(r, part, _shift_items(items, axis, -start, part.type.shape))
        start = stop
    return None


@rule("a slice that lies inside the padding is read from what was padded", Slice, Pad)
def slice_of_pad(r: Any, op: Slice, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    eq = r.defined[inputs[0]]
    (x,) = eq.inputs
    items = normal(op.items, inputs[0].type.shape)
    if items is None or None in items:
        return None
    for axis, (item, (before, _)) in enumerate(zip(items, eq.op.widths, strict=False)):
        if item == FULL:
            continue
        first, step, count = (item, 1, 1) if isinstance(item, int) else extent(item, inputs[0].type.shape[axis])
        last = first + step * (count - 1)
        if not count or min(first, last) < before or max(first, last) >= before + x.type.shape[axis]:
            return None
    if any(widths != (0, 0) for widths in eq.op.widths[len(items) :]):
        return None
    if any(item == FULL and widths != (0, 0) for item, widths in zip(items, eq.op.widths, strict=False)):
        return None
    for axis, (before, _) in enumerate(eq.op.widths[: len(items)]):
        items = _shift_items(items, axis, -before, (*x.type.shape[: axis + 1], *inputs[0].type.shape[axis + 1 :]))
    there = normal(items, x.type.shape)
    return None if there is None else slice_items(r, x, there)


def _shift_items(items: Items, axis: int, by: int, shape: tuple[Any, ...]) -> Items:
    """The items with one of them moved along its axis, in an array of this shape."""
    items = (*items, *[FULL] * (axis + 1 - len(items)))
    item = items[axis]
    if isinstance(item, int):
        new: Any = item + by
    elif item == FULL:
        new = FULL
    else:
        start, stop, step = item
        end = -1 if stop is None else stop
        new = (start + by, None if end + by < 0 else end + by, step)
    shifted = normal((*items[:axis], new, *items[axis + 1 :]), shape)
    return shifted if shifted is not None else items


@rule("what was written is read where it was written, and the rest from before the writing", Slice, ScatterSet)
def slice_of_set(r: Any, op: Slice, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    (x,) = inputs
    shape = x.type.shape
    items = normal(op.items, shape)
    if items is None:
        return None
    for _ in range(FARTHEST):
        eq = r.defined_by(x, ScatterSet)
        if eq is None or eq.op.index[0] != "slice":
            break
        written_items = normal(eq.op.index[1], shape)
        if written_items is None:
            break
        if written_items == items:
            written = eq.inputs[1]
            return _in_dtype(r, written, kind)
        if not disjoint(written_items, items, shape):
            break
        x = eq.inputs[0]
    return None if x is inputs[0] else slice_items(r, x, items)


def _in_dtype(r: Any, x: Atom, kind: ArrayType) -> Atom | None:
    """A value that is written into an array, in its dtype and with no more axes; it is spread afterwards."""
    if x.type.ndim > kind.ndim:  # axes of size one in front
        x = reshape(r, x, x.type.shape[x.type.ndim - kind.ndim :])
    if x.type.dtype == kind.dtype or isinstance(x, Literal):
        return x if x.type.dtype.kind != "c" or kind.dtype.kind == "c" else None
    return r.apply(Convert(kind.dtype), (x,), ArrayType(x.type.shape, kind.dtype))


@rule("x[:] = v is v", ScatterSet)
def set_all(r: Any, op: ScatterSet, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    x, v = inputs[:2]
    if op.index[0] != "slice":
        return None
    items = normal(op.index[1], kind.shape)
    if items == () and (value := _in_dtype(r, v, kind)) is not None:
        return value
    if items is not None and 0 in shape_of(items, kind.shape):
        return x if isinstance(x, Var) else None
    if items is None or items == op.index[1]:
        return _set_again(r, op, x, v, kind)
    return r.apply(ScatterSet(("slice", items)), inputs, kind)


def _set_again(r: Any, op: ScatterSet, x: Atom, v: Atom, kind: ArrayType) -> Atom | None:
    """What is written over is not written."""
    eq = r.defined_by(x, ScatterSet)
    return r.apply(op, (eq.inputs[0], v), kind) if eq is not None and eq.op == op and op.index[0] == "slice" else None


@rule("parts that fill an array one after another are a concatenation; zeros are not added", ScatterSum)
def plain_scatter(r: Any, op: ScatterSum, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    keys = op.keys
    parts, indices = inputs[: len(keys)], inputs[len(keys) :]
    if any(key[0] != "slice" for key in keys):
        return _without_zeros(r, op, parts, indices, kind)
    items = [normal(key[1], op.shape) for key in keys]
    if any(i is None for i in items):
        return None
    live = [(i, part) for i, part in zip(items, parts, strict=True) if not _is_zero(r, part)]
    if not live:
        return r.literal(kind.dtype.type(0))
    if all(part.type.dtype == kind.dtype for _, part in live):
        live = _add_by_position(r, live)
        filled = _concatenate(r, live, kind)
        if filled is not None:
            return filled
    if len(live) == len(keys) and tuple(items) == tuple(key[1] for key in keys):
        return None
    scatter = ScatterSum(op.shape, op.dtype, tuple(("slice", i) for i, _ in live))
    return r.apply(scatter, tuple([part for _, part in live]), kind)


def _add_by_position(r: Any, live: list[tuple[Any, Atom]]) -> list[tuple[Any, Atom]]:
    """Parts for the same position as one part, their sum."""
    sums: dict[Any, Atom] = {}
    for items, part in live:
        key = (items, part.type.shape)
        sums[key] = r.apply(add, (sums[key], part), part.type) if key in sums else part
    return live if len(sums) == len(live) else [(items, part) for (items, _), part in sums.items()]


def _without_zeros(r: Any, op: ScatterSum, parts: Sequence[Atom], indices: Sequence[Atom], kind: ArrayType) -> Any:
    live = [j for j, part in enumerate(parts) if not _is_zero(r, part)]
    if len(live) == len(parts):
        return None
    if not live:
        return r.literal(kind.dtype.type(0))
    starts = np.cumsum([0, *[key[1] if key[0] == "gather" else 0 for key in op.keys]]).tolist()
    kept = [a for j in live for a in indices[starts[j] : starts[j + 1]]]
    scatter = ScatterSum(op.shape, op.dtype, tuple(op.keys[j] for j in live))
    return r.apply(scatter, (*[parts[j] for j in live], *kept), kind)


def _is_zero(r: Any, atom: Atom) -> bool:
    if isinstance(atom, Var):
        eq = r.defined_by(atom, Broadcast)
        if eq is None:
            return False
        atom = eq.inputs[0]
    return isinstance(atom, Literal) and bool(atom.value == 0)


def _concatenate(r: Any, live: list[tuple[Any, Atom]], kind: ArrayType) -> Atom | None:
    """Parts that lie side by side along one axis and fill the array, as one array."""
    shape = kind.shape
    if len(live) == 1:
        items, part = live[0]
        whole = keeps_order(items, shape) and part.type.shape == shape_of(items, shape)
        return reshape(r, part, shape) if whole else None
    axes = {axis for items, _ in live for axis, item in enumerate(items) if item != FULL}
    if len(axes) != 1 or any(None in items for items, _ in live):
        return None
    (axis,) = axes
    pieces: list[tuple[int, int, Atom]] = []
    for items, part in live:
        item = items[axis] if axis < len(items) else FULL
        if isinstance(item, tuple) and item != FULL and item[2] != 1:
            return None
        start, _, count = (item, 1, 1) if isinstance(item, int) else extent(item, shape[axis])
        if part.type.shape != shape_of(items, shape):
            return None
        pieces.append((start, start + count, reshape(r, part, (*shape[:axis], count, *shape[axis + 1 :]))))
    pieces.sort(key=lambda piece: piece[0])
    ends = [0, *[stop for _, stop, _ in pieces]]
    if ends[-1] != shape[axis] or any(start != end for (start, _, _), end in zip(pieces, ends, strict=False)):
        return None
    return r.apply(Concatenate(axis), tuple([part for _, _, part in pieces]), kind)


@rule("a concatenation of one part, of neighboring slices of one array, or with empty parts", Concatenate)
def shorter_concatenation(r: Any, op: Concatenate, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    axis = op.axis
    parts: list[Atom] = []
    for part in inputs:
        if part.type.shape[axis] == 0 and len(inputs) > 1:
            continue
        eq = r.defined_by(part, Concatenate)
        if eq is not None and eq.op == op and part.type.dtype == kind.dtype and r.once(part):
            parts += eq.inputs
        else:
            parts.append(part)
    parts = _join_neighbors(r, parts, axis)
    if len(parts) == len(inputs) or any(part.type.dtype != kind.dtype for part in parts):
        return None
    if len(parts) == 1:
        return parts[0]
    return r.apply(op, tuple(parts), kind) if parts else r.literal(kind.dtype.type(0))


def _join_neighbors(r: Any, parts: list[Atom], axis: int) -> list[Atom]:
    joined_parts: list[Atom] = []
    for part in parts:
        merged = _join_two(r, joined_parts[-1], part, axis) if joined_parts else None
        if merged is None:
            joined_parts.append(part)
        else:
            joined_parts[-1] = merged
    return joined_parts


def _join_two(r: Any, a: Atom, b: Atom, axis: int) -> Atom | None:
    first, second = r.defined_by(a, Slice), r.defined_by(b, Slice)
    if first is None or second is None or first.inputs[0] is not second.inputs[0]:
        return None
    (x,) = first.inputs
    one, two = normal(first.op.items, x.type.shape), normal(second.op.items, x.type.shape)
    if one is None or two is None or len(one) <= axis or len(two) <= axis or None in one or None in two:
        return None
    if one[:axis] != two[:axis] or one[axis + 1 :] != two[axis + 1 :] or any(isinstance(i, int) for i in one[:axis]):
        return None
    if isinstance(one[axis], int) or isinstance(two[axis], int) or FULL in (one[axis], two[axis]):
        return None
    (start, end, step), (begin, stop, stride) = one[axis], two[axis]
    if step != 1 or stride != 1 or end != begin:
        return None
    items = normal((*one[:axis], (start, stop, 1), *one[axis + 1 :]), x.type.shape)
    return None if items is None else slice_items(r, x, items)


@rule("x with one element written or x as it was: the element that is written is chosen", Select, ScatterSet, ANY, ANY)
def written_or_not(r: Any, op: Select, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    eq = r.defined[inputs[0]]
    (x, v, *indices), condition = eq.inputs, inputs[2]
    plain = eq.op.index[0] == "gather" and not any(i.type.shape for i in (*indices, condition))
    if x is not inputs[1] or not plain or isinstance(condition, Literal) or not r.once(inputs[0]):
        return None
    part = ArrayType(kind.shape[len(indices) :], kind.dtype)
    before = r.apply(Gather(len(indices)), (x, *indices), part)
    return r.apply(eq.op, (x, r.apply(op, (v, before, condition), part), *indices), kind)


RULES: list[Rule] = [
    written_or_not,
    slice_of_slice,
    slice_of_broadcast,
    slice_of_concatenate,
    slice_of_pad,
    slice_of_set,
    normal_slice,
    set_all,
    plain_scatter,
    shorter_concatenation,
]
