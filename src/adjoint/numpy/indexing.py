"""Any NumPy index as slices and a gather along the first axes.

    x[i, ..., j, k]  =  move(gather(bring the indexed axes to the front(slice(x))))

Reading and writing share the plan of an index, so both follow NumPy's rules for where the indexed axes go.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import ControlFlowError, TraceError
from adjoint.base.source import describe, here
from adjoint.numpy.dispatch import as_array, give, implements, into, is_traced, normal_axis
from adjoint.numpy.inplace import laid_out, living_views, settle, viewed
from adjoint.numpy.selected import Selected, find_positions, is_open, is_same, put_selected, take_selected
from adjoint.ops.arrays.index import Gather, ScatterSet, Slice
from adjoint.ops.arrays.rearrange import Transpose, inverse_permutation
from adjoint.program.layout import slice_strides
from adjoint.program.trace import Tracer
from adjoint.program.types import Value


class Plan(NamedTuple):
    """How an index is carried out."""

    items: tuple[Any, ...] | None  # slices and new axes, first; None when they change nothing
    axes: tuple[int, ...]  # then these axes go to the front
    indices: tuple[Value, ...]  # and are gathered by these
    order: tuple[int, ...]  # then the axes of the result are put into NumPy's order


class Added(NamedTuple):
    """An index into an axis of length one that the index itself adds: what a single truth value is."""

    positions: Value


def _slice_item(s: slice) -> tuple[Any, ...]:
    return tuple(None if v is None else operator.index(v) for v in (s.start, s.stop, s.step))


def _basic_items(index: tuple[Any, ...], ndim: int) -> tuple[Any, ...] | None:
    """The static items of a basic index, or None if it is not one."""
    items: list[Any] = []
    for part in index:
        kind = type(part)
        if kind is int:
            items.append(part)
        elif kind is slice:
            items.append(_slice_item(part))
        elif part is None or part is Ellipsis:
            items.append(part)
        elif isinstance(part, np.integer):
            items.append(int(part))
        else:
            return None
    return tuple(items)


def _index_array(part: Any) -> Value:
    if isinstance(part, Tracer):
        if part.dtype.kind == "b":
            return part
        if part.dtype.kind not in "iu":
            raise IndexError(f"arrays used as indices must be of integer or boolean type, not a traced {part.type}")
        return part
    if is_traced(part):  # [i, j] with traced i
        return _index_array(as_array(part))
    array = np.asarray(part)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.intp)
    if array.dtype.kind not in "biu":
        raise IndexError(
            f"only integers, slices, ellipsis, newaxis and integer or boolean arrays are valid indices, not {part!r}"
        )
    return array


def plain_mask(mask: Value, call: str) -> Value:
    """A mask as truth values that are known, so that a shape can depend on them."""
    value: Value = mask
    while isinstance(value, Tracer):
        trace: Any = value._trace
        if hasattr(trace, "common"):  # batch elements whose masks differ are run in groups
            value = trace.common(value)
        elif hasattr(trace, "ask"):
            raise ControlFlowError(
                f"{call} with a traced mask ({mask.type}), at {describe(here())}: how many elements it selects is "
                "not known here. "
                "Use np.where(mask, x, 0) and keep the shape."
            )
        else:
            value = value._value
    return value


def positions_of(mask: Value, call: str) -> tuple[Value, ...]:
    """np.nonzero(mask). While a function is compiled, the program is for their number; else they are known."""
    value: Value = mask
    while isinstance(value, Tracer) and not hasattr(value._trace, "ask"):
        value = value._value
    trace: Any = value._trace if isinstance(value, Tracer) else None
    if is_open(mask):
        return find_positions(mask)
    return trace.positions(value) if hasattr(trace, "positions") else np.nonzero(plain_mask(mask, call))


def plan_of(x_shape: Sequence[Any], index: tuple[Any, ...]) -> Plan:
    """The plan of an index with at least one array in it."""
    if sum(part is Ellipsis for part in index) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    parts: list[Any] = []
    for part in index:
        if part is None or part is Ellipsis or isinstance(part, slice):
            parts.append(part)
            continue
        array = _index_array(part)
        if array.dtype.kind == "b":
            if array.ndim == 0:  # a single truth value adds an axis of length 0 or 1
                parts.append(Added(positions_of(np.reshape(array, (1,)), "x[mask]")[0]))
            else:
                _check_mask(array, x_shape, parts)
                parts += list(positions_of(array, "x[mask]"))
        else:
            parts.append(array)
    used = sum(part is not None and part is not Ellipsis and not isinstance(part, Added) for part in parts)
    if used > len(x_shape):
        raise IndexError(f"too many indices for array: array is {len(x_shape)}-dimensional, but {used} were indexed")
    fill = [slice(None)] * (len(x_shape) - used)
    if any(part is Ellipsis for part in parts):
        at = next(i for i, part in enumerate(parts) if part is Ellipsis)
        parts = parts[:at] + (fill or []) + parts[at + 1 :]
        gap = {at} if not fill else set()  # an ellipsis that stands for nothing still separates index arrays
    else:
        parts, gap = parts + fill, set()
    arrays = [i for i, part in enumerate(parts) if part is not None and not isinstance(part, slice)]
    items = tuple(
        None
        if part is None or isinstance(part, Added)
        else _slice_item(part)
        if isinstance(part, slice)
        else (None, None, None)
        for part in parts
    )
    trivial = all(item == (None, None, None) for item in items)
    together = arrays == list(range(arrays[0], arrays[0] + len(arrays))) and not any(
        arrays[0] < g <= arrays[-1] for g in gap
    )
    rest = [i for i in range(len(parts)) if i not in arrays]
    indices = tuple(part.positions if isinstance(part, Added) else part for part in (parts[i] for i in arrays))
    shapes = [np.shape(i) for i in indices]
    try:
        width = len(np.broadcast_shapes(*shapes))
    except ValueError:
        raise IndexError(f"index arrays with shapes {shapes} could not be broadcast together") from None
    before = arrays[0] if together else 0
    order = (*range(width, width + before), *range(width), *range(width + before, width + len(rest)))
    return Plan(None if trivial else items, tuple(arrays + rest), indices, order)


def _check_mask(mask: Value, x_shape: Sequence[Any], parts: list[Any]) -> None:
    if Ellipsis in [p for p in parts if p is Ellipsis]:
        return
    start = sum(part is not None and not isinstance(part, Added) for part in parts)
    if tuple(x_shape[start : start + mask.ndim]) != mask.shape:
        raise IndexError(
            f"boolean index of shape {mask.shape} does not match the indexed axes "
            f"{tuple(x_shape[start : start + mask.ndim])}"
        )


def getitem(x: Value, index: Any) -> Value:
    """x[index]."""
    if type(index) is int:
        items: tuple[Any, ...] | None = (index,)
    else:
        index = index if isinstance(index, tuple) else (index,)
        items = _basic_items(index, x.ndim)
    if items is not None:
        op = Slice(items)
        if not isinstance(x, Tracer):
            return op(x)
        z = x._trace.apply_one(op, x)
        if not z.shape and Ellipsis not in items:  # a number is a copy, not a view
            return z
        put = ScatterSet(("slice", items))
        return viewed(z, x, op, put, key=items, scalar=True)
    whole: tuple[Any, ...] = index  # type: ignore[assignment]  (a tuple by now)
    if (positions := _selection(x, whole)) is not None:
        return take_selected(x, positions)
    plan = plan_of(x.shape, whole)
    z = _gathered(x, plan)
    if not isinstance(x, Tracer) or not all(map(_is_basic, whole)):
        return z
    # integers that are not known yet: NumPy, which knows them, makes a view
    items = tuple(_slice_item(part) if isinstance(part, slice) else 0 if _is_number(part) else part for part in whole)
    return viewed(
        z,
        x,
        lambda base: _gathered(base, plan),
        lambda base, view: updated(base, whole, view),
        key=Where(whole),
        scalar=any(part is Ellipsis for part in whole),
        layout=lambda kind, strides: slice_strides(kind, strides, items),
    )


def _selection(x: Value, index: tuple[Any, ...]) -> Sequence[Any] | None:
    """The positions that an index stands for when it is a mask of which nobody knows how many it selects, or those."""
    if index and all(isinstance(part, Selected) for part in index):
        return index if all(part.dtype.kind in "iu" for part in index) else None
    mask = index[0] if len(index) == 1 else None
    if isinstance(mask, Tracer) and mask.dtype.kind == "b" and mask.ndim and is_open(mask):
        _check_mask(mask, x.shape, [])
        found = find_positions(mask)
        return found if isinstance(found[0], Selected) else None
    return None


class Where(NamedTuple):
    """An index with numbers that are not known yet. Two are the same when their parts are."""

    index: tuple[Any, ...]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Where) or len(self.index) != len(other.index):
            return False
        return all(p is q or (isinstance(p, slice) and p == q) for p, q in zip(self.index, other.index, strict=True))

    __hash__ = None  # type: ignore[assignment]


def _is_number(part: Any) -> bool:
    """Whether a part of an index names one position: an integer, also one that is not known yet."""
    if isinstance(part, bool):
        return False
    return isinstance(part, int | np.integer) or (
        isinstance(part, Tracer | np.ndarray) and part.shape == () and part.dtype.kind in "iu"
    )


def _is_basic(part: Any) -> bool:
    return part is None or part is Ellipsis or isinstance(part, slice) or _is_number(part)


def _gathered(x: Value, plan: Plan) -> Value:
    x = x if plan.items is None else Slice(plan.items)(x)
    return _transposed(Gather(len(plan.indices))(_transposed(x, plan.axes), *plan.indices), plan.order)


def _transposed(x: Value, axes: tuple[int, ...]) -> Value:
    return x if axes == tuple(range(len(axes))) else Transpose(axes)(x)


def setitem(x: Tracer, index: Any, v: Value) -> None:
    """x[index] = v."""
    v = as_array(v) if isinstance(v, list | tuple) else v
    if not (_already_there(x, index, v) or _in_place(x, index, v)):
        settle(x, updated(x, index, v))


def _already_there(x: Tracer, index: Any, v: Value) -> bool:
    """`x[i] += v` reads a view, changes it (and so x), and assigns it to its own position."""
    view = getattr(v, "_base", None) if isinstance(v, Tracer) else None
    if view is None or view[0] is not x or view[1].key is None:
        return False
    index = index if isinstance(index, tuple) else (index,)
    return view[1].key == (Where(index) if isinstance(view[1].key, Where) else _basic_items(index, x.ndim))


def _in_place(x: Tracer, index: Any, v: Value) -> bool:
    """Write into the memory of x itself where the trace allows it: a loop of n writes then costs O(n)."""
    if hasattr(x, "_base") or (hasattr(x, "_views") and living_views(x)):
        return False
    if isinstance(v, Tracer) and v._trace.level > x._trace.level:
        return False
    items = _basic_items(index if isinstance(index, tuple) else (index,), x.ndim)
    if items is None or x._trace.recorded_inside() is not None:
        return False
    op = ScatterSet(("slice", items))
    shape = (
        () if len(items) == x.ndim and all(type(i) is int for i in items) else Slice(items).result_type(x.type).shape
    )
    return x._trace.assign(x, op, _fitted(v, shape, x), ())


def updated(x: Value, index: Any, v: Value) -> Value:
    """A copy of x with x[index] = v."""
    v = as_array(v) if isinstance(v, list | tuple) else v
    index = index if isinstance(index, tuple) else (index,)
    if len(index) == 1 and isinstance(index[0], Tracer) and index[0].dtype.kind == "b" and np.ndim(v) == 0:
        return np.where(_spread_mask(index[0], x.ndim), _fitted(v, (), x), x)
    if (positions := _selection(x, index)) is not None:
        mask = positions[0].mask
        if not all(p.is_position and is_same(p.mask, mask) for p in positions) or len(positions) != mask.ndim:
            positions[0].refuse("x[i] = v with an i that is not np.nonzero(mask)")
        return put_selected(x, mask, v)
    items = _basic_items(index, x.ndim)
    if items is not None:
        target = Slice(items).result_type(x.type)
        return ScatterSet(("slice", items))(x, _fitted(v, target.shape, x))
    plan = plan_of(x.shape, index)
    inner = x if plan.items is None else Slice(plan.items)(x)
    front = _transposed(inner, plan.axes)
    gather = Gather(len(plan.indices))
    shape = gather.result_type(front.type, *[_type(i) for i in plan.indices]).shape
    value = _transposed(_fitted(v, tuple(shape[a] for a in plan.order), x), inverse_permutation(plan.order))
    new = ScatterSet(gather.key())(front, value, *plan.indices)
    new = _transposed(new, inverse_permutation(plan.axes))
    return new if plan.items is None else ScatterSet(("slice", plan.items))(x, new)


def _spread_mask(mask: Value, ndim: int) -> Value:
    return np.reshape(mask, mask.shape + (1,) * (ndim - mask.ndim))


def _type(value: Value) -> Any:
    return value.type if isinstance(value, Tracer) else np.asarray(value)


def _fitted(v: Value, shape: tuple[Any, ...], x: Value) -> Value:
    """What is assigned, in the shape of the position and the dtype of the array."""
    v = v if isinstance(v, Tracer) else np.asarray(v)
    if v.dtype != x.dtype:
        if v.dtype.kind == "c" and x.dtype.kind != "c":
            raise TraceError(
                f"A complex value was assigned into a {x.type} array, at {describe(here())}: its imaginary part "
                "would be lost."
            )
        v = v.astype(x.dtype)
    while v.ndim > len(shape) and v.shape[0] == 1:
        v = np.reshape(v, v.shape[1:])
    if v.shape != shape:
        try:
            v = np.broadcast_to(v, shape)
        except ValueError:
            raise ValueError(f"could not broadcast input array from shape {v.shape} into shape {shape}") from None
    return v


@implements(np.take)
def take(a: Value, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Value:
    indices = indices if isinstance(indices, Tracer | Selected) else np.asarray(indices)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = normal_axis(axis, np.ndim(a))
    if isinstance(indices, Selected):
        return take_selected(a, [indices]) if axis == 0 else indices.refuse(f"np.take with axis={axis}")
    n = np.shape(a)[axis]
    if mode == "clip":
        indices = np.clip(indices, 0, n - 1)
    elif mode == "wrap":
        indices = indices % n
    return into(out, laid_out(_gathered(a, plan_of(a.shape, (slice(None),) * axis + (indices,)))))


@implements(np.take_along_axis)
def take_along_axis(arr: Value, indices: Any, axis: int | None = -1) -> Value:
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = normal_axis(axis, np.ndim(arr))
    return getitem(arr, along(np.shape(arr), np.shape(indices), indices, axis))


def along(shape: Sequence[int], index_shape: Sequence[int], indices: Any, axis: int) -> tuple[Any, ...]:
    """The full index of take_along_axis."""
    if len(index_shape) != len(shape):
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    ndim = len(shape)
    ranges = [np.reshape(np.arange(n), (1,) * a + (-1,) + (1,) * (ndim - a - 1)) for a, n in enumerate(shape)]
    return tuple(indices if a == axis else ranges[a] for a in range(ndim))


def install() -> None:
    """Give traced values `x[…]`, `x[…] = v` and iteration."""
    give({"__getitem__": getitem, "__setitem__": setitem, "__iter__": _iterate})


def _iterate(self: Tracer) -> Any:
    if not self.shape:
        raise TypeError("iteration over a 0-d array")
    return (self[i] for i in range(self.shape[0]))  # type: ignore[index]
