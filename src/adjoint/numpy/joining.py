"""Joining, splitting and repeating arrays: the stack and split families, tile, repeat, append, insert, delete,
block.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.base.source import describe, here
from adjoint.numpy.dispatch import as_array, implements, is_traced, normal_axis
from adjoint.numpy.inplace import is_fortran, laid_out
from adjoint.numpy.shaping import atleast_1d, atleast_2d, atleast_3d, concatenate, reshaped_copy, stack
from adjoint.program.trace import Tracer
from adjoint.program.types import Value


def _several(parts: Any) -> tuple[Value, ...]:
    """The result of atleast_nd as a tuple also for one array."""
    return parts if isinstance(parts, tuple) else (parts,)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Value:
    parts = _several(atleast_1d(*map(as_array, tup)))
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Value:
    return concatenate(_several(atleast_2d(*map(as_array, tup))), 0, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup: Any) -> Value:
    return concatenate(_several(atleast_3d(*map(as_array, tup))), 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Value:
    parts = [as_array(a) for a in tup]
    return concatenate([np.reshape(p, (-1, 1)) if p.ndim < 2 else p for p in parts], 1)


@implements(np.block)
def block(arrays: Any) -> Value:
    depth = _depth(arrays)
    ndim = max(depth, *[np.ndim(leaf) for leaf in _flat(arrays)])

    def build(part: Any, level: int) -> Value:
        if not isinstance(part, list):
            part = as_array(part)
            return np.reshape(part, (1,) * (ndim - part.ndim) + part.shape)
        return concatenate([build(p, level + 1) for p in part], ndim - depth + level)

    return build(arrays, 0)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(a) for a in arrays}
    if len(depths) != 1:
        raise ValueError("List depths are mismatched in np.block")
    return 1 + depths.pop()


def _flat(arrays: Any) -> list[Any]:
    return [leaf for a in arrays for leaf in _flat(a)] if isinstance(arrays, list) else [arrays]


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Value:
    arr, values = as_array(arr), as_array(values)
    if axis is None:
        return concatenate([np.ravel(arr), np.ravel(values)], 0)
    return concatenate([arr, values], axis)


def _pieces(ary: Value, edges: Sequence[int], axis: int) -> list[Value]:
    before = (slice(None),) * axis
    return [ary[(*before, slice(start, stop))] for start, stop in itertools.pairwise(edges)]


@implements(np.array_split)
def array_split(ary: Value, indices_or_sections: Any, axis: int = 0) -> list[Value]:
    axis = normal_axis(axis, ary.ndim)
    n = ary.shape[axis]
    if np.ndim(indices_or_sections) > 0:
        return _pieces(ary, [0, *[operator.index(i) for i in indices_or_sections], n], axis)
    sections = operator.index(indices_or_sections)
    if sections <= 0:
        raise ValueError("number sections must be larger than 0.")
    size, extra = divmod(n, sections)
    return _pieces(ary, [0, *itertools.accumulate([size + 1] * extra + [size] * (sections - extra))], axis)


@implements(np.split)
def split(ary: Value, indices_or_sections: Any, axis: int = 0) -> list[Value]:
    if np.ndim(indices_or_sections) == 0 and ary.shape[normal_axis(axis, ary.ndim)] % operator.index(
        indices_or_sections
    ):
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@implements(np.hsplit)
def hsplit(ary: Value, indices_or_sections: Any) -> list[Value]:
    if ary.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


@implements(np.vsplit)
def vsplit(ary: Value, indices_or_sections: Any) -> list[Value]:
    if ary.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


@implements(np.dsplit)
def dsplit(ary: Value, indices_or_sections: Any) -> list[Value]:
    if ary.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


@implements(np.tile)
def tile(A: Any, reps: Any) -> Value:  # noqa: N803
    a = as_array(A)
    counts = tuple(operator.index(r) for r in reps) if np.ndim(reps) else (operator.index(reps),)
    _check_sizes(counts)
    ndim = max(a.ndim, len(counts))
    counts = (1,) * (ndim - len(counts)) + counts
    shape = (1,) * (ndim - a.ndim) + a.shape
    wide = np.broadcast_to(
        np.reshape(a, tuple(itertools.chain(*[(1, n) for n in shape]))),
        tuple(itertools.chain(*zip(counts, shape, strict=True))),
    )
    return reshaped_copy(wide, tuple(r * n for r, n in zip(counts, shape, strict=True)))


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Value:
    a = as_array(a)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = normal_axis(axis, a.ndim)
    counts = static("np.repeat", "repeats", repeats)
    n = a.shape[axis]
    _check_sizes(counts.ravel())
    if counts.size == 1:
        shape = (*a.shape[: axis + 1], int(counts.reshape(())), *a.shape[axis + 1 :])
        wide = np.broadcast_to(np.expand_dims(a, axis + 1), shape)
        return reshaped_copy(wide, (*a.shape[:axis], n * shape[axis + 1], *a.shape[axis + 1 :]))
    if counts.shape != (n,):
        raise ValueError(f"operands could not be broadcast together with shape ({n},) {counts.shape}")
    return np.take(a, np.repeat(np.arange(n), counts), axis=axis)


def _check_sizes(sizes: Any) -> None:
    if any(size < 0 for size in sizes):
        raise ValueError(f"negative dimensions are not allowed: {tuple(map(int, sizes))}")


def static(call: str, name: str, value: Any) -> np.ndarray[Any, Any]:
    """An argument that decides a shape: it must be plain."""
    while isinstance(value, Tracer) and hasattr(value._trace, "common"):
        # while compiling: the program is for it; under vmap: each group of batch elements that have the same
        value = value._trace.common(value)  # type: ignore[attr-defined]
    if is_traced(value):
        raise UnsupportedError(
            f"{call} was given a traced {name}, at {describe(here())}: it decides the shape of the result, which "
            "must be known. "
            "Give plain integers."
        )
    return np.asarray(value)


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Value:
    a = np.ravel(as_array(a))
    shape = (operator.index(new_shape),) if np.ndim(new_shape) == 0 else tuple(map(operator.index, new_shape))
    _check_sizes(shape)
    size, n = math.prod(shape), a.shape[0]
    if n == 0:
        return np.zeros_like(a, shape=shape)
    if size > n:
        a = tile(a, -(-size // n))
    return reshaped_copy(a[:size], shape)


def _removed(obj: Any, n: int) -> np.ndarray[Any, Any]:
    """Which places of an axis an index names, as a mask."""
    mask = np.zeros(n, bool)
    if isinstance(obj, slice):
        mask[obj] = True
        return mask
    positions = static("np.delete", "index", obj)
    if positions.dtype.kind == "b":
        if positions.shape != (n,):
            raise ValueError(
                f"boolean array argument obj to delete must be one dimensional and match the axis length of {n}"
            )
        return positions
    if positions.size == 0:
        positions = positions.astype(np.intp)
    if np.any((positions < -n) | (positions >= n)):
        raise IndexError(f"index {obj} is out of bounds for axis with size {n}")
    mask[positions] = True
    return mask


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Value:
    arr = as_array(arr)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = normal_axis(axis, arr.ndim)
    z = np.take(arr, np.flatnonzero(~_removed(obj, arr.shape[axis])), axis=axis)
    return laid_out(z, arr if is_fortran(arr) else None)


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Value:
    arr = as_array(arr)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = normal_axis(axis, arr.ndim)
    n = arr.shape[axis]
    positions = np.arange(n)[obj] if isinstance(obj, slice) else static("np.insert", "index", obj)
    if positions.dtype.kind == "b":
        positions = np.flatnonzero(positions)
    single = positions.ndim == 0
    positions = np.atleast_1d(positions)
    if positions.size == 0:
        positions = positions.astype(np.intp)
    if np.any((positions < -n) | (positions > n)):
        raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {n}")
    positions = np.where(positions < 0, positions + n, positions)
    values = as_array(values)
    values = values if values.dtype == arr.dtype else values.astype(arr.dtype)
    if single and axis == 0 and values.ndim == arr.ndim:
        count = values.shape[0]
    elif single:  # one place takes as many as values has along the axis
        values = np.reshape(values, (1,) * (arr.ndim - values.ndim) + values.shape)
        values = np.moveaxis(values, 0, axis)
        count = values.shape[axis]
    else:
        count = len(positions)
    if len(positions) == 1:
        positions = np.repeat(positions, count)
    wide = np.broadcast_to(values, (*arr.shape[:axis], len(positions), *arr.shape[axis + 1 :]))
    order = np.argsort(positions, kind="stable")
    final = positions.copy()
    final[order] += np.arange(len(positions))
    new = np.zeros(n + len(positions), bool)
    new[final] = True
    source = np.empty(n + len(positions), np.intp)
    source[final] = n + np.arange(len(positions))
    source[~new] = np.arange(n)
    return laid_out(np.take(concatenate([arr, wide], axis), source, axis=axis), arr if is_fortran(arr) else None)


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    ndim = len(xi)
    grids = [np.reshape(as_array(x), (1,) * i + (-1,) + (1,) * (ndim - i - 1)) for i, x in enumerate(xi)]
    if indexing == "xy" and ndim > 1:
        grids = [np.swapaxes(g, 0, 1) for g in grids]
    if not sparse:
        grids = list(np.broadcast_arrays(*grids))
    return tuple(g.copy() for g in grids) if copy else tuple(grids)


@implements(np.ix_)
def ix_(*args: Any) -> Any:
    ndim = len(args)
    parts = []
    for i, a in enumerate(args):
        a = as_array(a)
        if a.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        a = np.nonzero(a)[0] if a.dtype.kind == "b" else a
        parts.append(np.reshape(a, (1,) * i + (-1,) + (1,) * (ndim - i - 1)))
    return tuple(parts)


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Value:
    """func1d on each vector along an axis, one after another (vmap does all at once)."""
    arr = as_array(arr)
    axis = normal_axis(axis, arr.ndim)
    moved = np.moveaxis(arr, axis, -1)
    lead = moved.shape[:-1]
    rows = np.reshape(moved, (math.prod(lead), arr.shape[axis]))
    if rows.shape[0] == 0:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [as_array(func1d(rows[i], *args, **kwargs)) for i in range(rows.shape[0])]
    whole = stack(results)
    inner = whole.shape[1:]
    whole = np.reshape(whole, (*lead, *inner))
    order = [*range(axis), *range(len(lead), len(lead) + len(inner)), *range(axis, len(lead))]
    return np.transpose(whole, order)


@implements(np.apply_over_axes)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Value:
    value = as_array(a)
    for axis in [axes] if np.ndim(axes) == 0 else axes:
        axis = normal_axis(axis, np.ndim(a))
        result = func(value, axis)
        value = result if result.ndim == value.ndim else np.expand_dims(result, axis)
    return value
