"""Shapes: reshape, transpose, broadcast, join and split. Views stay views: writing to them writes to their base."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.base.source import describe, here
from adjoint.numpy.array_api import check_device
from adjoint.numpy.dispatch import as_array, implements, normal_axes, normal_axis
from adjoint.numpy.inplace import layout, read_only, shares_memory, viewed
from adjoint.ops.arrays.rearrange import (
    Broadcast,
    Complex,
    Concatenate,
    Convert,
    Imag,
    Real,
    Reshape,
    Transpose,
    inverse_permutation,
)
from adjoint.program.trace import Traced, bind
from adjoint.program.types import Value, result_dtype, type_of


def _full_shape(x: Value, shape: Any) -> tuple[int, ...]:
    shape = (operator.index(shape),) if isinstance(shape, int | np.integer) else tuple(map(operator.index, shape))
    if -1 in shape:
        known = math.prod(n for n in shape if n != -1)
        size = math.prod(x.shape)
        if shape.count(-1) > 1 or known == 0 or size % known:
            raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
        shape = tuple(size // known if n == -1 else n for n in shape)
    if math.prod(shape) != math.prod(x.shape):
        raise ValueError(f"cannot reshape array of size {math.prod(x.shape)} into shape {shape}")
    return shape


def settled_order(a: Value, order: str) -> str:
    """C or F for the orders that depend on memory: A (F if a lies so) and K (as a lies)."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if order in ("C", "F") or len(a.shape) < 2:
        return "F" if order == "F" else "C"
    flags = layout(a)
    if flags is None or (order == "K" and not flags.forc):
        raise UnsupportedError(
            f"order={order!r} on a traced {a.type}, at {describe(here())}: it depends on how the array lies in "
            "memory. Use order='C' or 'F'."
        )
    return "F" if flags.fnc else "C"


@implements(np.reshape)
def reshape(a: Value, shape: Any, order: str = "C", *, copy: bool | None = None) -> Value:
    if not isinstance(a, Traced):
        if copy is None or copy:  # NumPy's own has the keyword from 2.1 on
            z = np.reshape(a, shape, order=order)  # type: ignore[call-overload]
            return np.array(z) if copy else z
        return np.reshape(a, shape, order=order, copy=copy)  # type: ignore[call-overload]
    full = _full_shape(a, shape)
    if settled_order(a, order) == "F":
        return transpose(reshape(transpose(a), full[::-1], copy=copy))
    z = bind(Reshape(full), a)
    if copy:
        return z
    shared = shares_memory(z, a)
    if shared is False and math.prod(full):  # NumPy copies when the elements do not lie in order
        if copy is False:
            raise ValueError("Unable to avoid creating a copy while creating an array as requested.")
        return z
    if shared is None and getattr(a, "_base", None) is not None:
        return read_only(z, "a reshaped view; whether NumPy would copy it is not known here")
    return viewed(z, a, lambda base: Reshape(full)(base), lambda base, view: Reshape(base.shape)(view), scalar=True)


def reshaped_copy(x: Value, shape: Any, order: str = "C") -> Value:
    """x in another shape, as a new array."""
    return reshape(x, shape, order, copy=True)


def reshaped(x: Value, shape: tuple[int, ...]) -> Value:
    """x in another shape that fits, to be read only: no view to keep account of."""
    return bind(Reshape(shape), x) if isinstance(x, Traced) else np.reshape(x, shape)


@implements(np.ravel)
def ravel(a: Value, order: str = "C") -> Value:
    """A view only when a lies in memory in this order, without gaps."""
    order, size = settled_order(a, order), (math.prod(a.shape),)
    flags = layout(a)
    gaps = flags is not None and not (flags.c_contiguous if order == "C" else flags.f_contiguous)
    return reshape(a, size, order=order, copy=True if gaps else None)


@implements(np.transpose, np.permute_dims)
def transpose(a: Value, axes: Any = None) -> Value:
    if not isinstance(a, Traced):
        return np.transpose(a, axes)
    n = a.ndim
    order = tuple(range(n))[::-1] if axes is None else tuple(normal_axis(i, n) for i in axes)
    if sorted(order) != list(range(n)):
        raise ValueError(f"axes {axes} don't match array of {n} dimensions")
    back = inverse_permutation(order)
    return viewed(
        bind(Transpose(order), a),
        a,
        lambda base: Transpose(order)(base),
        lambda base, view: Transpose(back)(view),
        scalar=True,
    )


@implements(np.swapaxes)
def swapaxes(a: Value, axis1: int, axis2: int) -> Value:
    order = list(range(a.ndim))
    i, j = normal_axis(axis1, a.ndim), normal_axis(axis2, a.ndim)
    order[i], order[j] = order[j], order[i]
    return transpose(a, order)


@implements(np.matrix_transpose)
def matrix_transpose(x: Value, /) -> Value:
    return swapaxes(x, -1, -2)


@implements(np.moveaxis)
def moveaxis(a: Value, source: Any, destination: Any) -> Value:
    sources = [normal_axis(s, a.ndim) for s in (source if isinstance(source, Sequence) else [source])]
    targets = [normal_axis(d, a.ndim) for d in (destination if isinstance(destination, Sequence) else [destination])]
    if len(sources) != len(targets):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(a.ndim) if axis not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return transpose(a, order)


@implements(np.rollaxis)
def rollaxis(a: Value, axis: int, start: int = 0) -> Value:
    axis = normal_axis(axis, a.ndim)
    start = start + a.ndim if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


@implements(np.expand_dims)
def expand_dims(a: Value, axis: Any) -> Value:
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    ndim = a.ndim + len(axes)
    places = normal_axes(tuple(axes), ndim)
    sizes = iter(a.shape)
    return reshape(a, tuple(1 if i in places else next(sizes) for i in range(ndim)))


@implements(np.squeeze)
def squeeze(a: Value, axis: Any = None) -> Value:
    axes = tuple(i for i, n in enumerate(a.shape) if n == 1) if axis is None else normal_axes(axis, a.ndim)
    if any(a.shape[i] != 1 for i in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return reshape(a, tuple(n for i, n in enumerate(a.shape) if i not in axes))


@implements(np.atleast_1d)
def atleast_1d(*arys: Value) -> Any:
    out = tuple(reshape(a, (1,)) if np.ndim(a) == 0 else as_array(a) for a in arys)
    return out[0] if len(out) == 1 else out


@implements(np.atleast_2d)
def atleast_2d(*arys: Value) -> Any:
    out = tuple(reshape(a, (1,) * (2 - np.ndim(a)) + np.shape(a)) if np.ndim(a) < 2 else as_array(a) for a in arys)
    return out[0] if len(out) == 1 else out


@implements(np.atleast_3d)
def atleast_3d(*arys: Value) -> Any:
    def one(a: Value) -> Value:
        shape = np.shape(a)
        return (
            reshape(a, {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)]) if len(shape) < 3 else as_array(a)
        )

    out = tuple(map(one, arys))
    return out[0] if len(out) == 1 else out


@implements(np.broadcast_to)
def broadcast_to(array: Value, shape: Any, subok: bool = False) -> Value:
    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if array.shape == shape:
        return read_only(bind(Reshape(shape), array), "the result of broadcast_to, which shares elements")
    Broadcast(shape).result_type(type_of(array))
    return read_only(bind(Broadcast(shape), array), "the result of broadcast_to, which shares elements")


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Value, subok: bool = False) -> Any:
    shape = np.broadcast_shapes(*[np.shape(a) for a in args])
    return tuple(np.broadcast_to(as_array(a), shape) for a in args)


def convert(x: Value, dtype: Any) -> Value:
    """x in another dtype."""
    dtype = np.dtype(dtype)
    return x if x.dtype == dtype else bind(Convert(dtype), x)


@implements(np.astype)
def astype(x: Value, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Value:
    check_device("np.astype", device)
    return x.copy() if x.dtype == np.dtype(dtype) and copy else convert(x, dtype)


@implements(np.concatenate, np.concat)
def concatenate(
    arrays: Any, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Value:
    parts = [as_array(a) for a in arrays]
    if axis is None:
        parts, axis = [np.ravel(p) for p in parts], 0
    if any(p.ndim == 0 for p in parts):
        raise ValueError("zero-dimensional arrays cannot be concatenated; use np.stack")
    common = result_dtype(*map(type_of, parts)) if dtype is None else np.dtype(dtype)
    parts = [p if p.dtype == common else convert(p, common) for p in parts]
    op = Concatenate(normal_axis(axis, parts[0].ndim))
    op.result_type(*map(type_of, parts))
    z = bind(op, *parts)
    if out is not None:
        out[...] = z
        return out
    return z


@implements(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Value:
    parts = [as_array(a) for a in arrays]
    if not parts:
        raise ValueError("need at least one array to stack")
    if any(np.shape(p) != np.shape(parts[0]) for p in parts):
        raise ValueError(f"all input arrays must have the same shape; got {[np.shape(p) for p in parts]}")
    axis = normal_axis(axis, parts[0].ndim + 1)
    wide = [reshaped(p, (*np.shape(p)[:axis], 1, *np.shape(p)[axis:])) for p in parts]
    return concatenate(wide, axis, out, dtype=dtype)


@implements(getattr(np, "unstack", None))  # from NumPy 2.1 on
def unstack(x: Value, /, *, axis: int = 0) -> Any:
    return tuple(np.moveaxis(x, axis, 0))


@implements(np.real)
def real(val: Value) -> Value:
    if val.dtype.kind != "c":
        return reshape(val, val.shape)
    return viewed(bind(Real(), val), val, Real(), lambda base, part: Complex()(part, Imag()(base)), key="real")


@implements(np.imag)
def imag(val: Value) -> Value:
    if val.dtype.kind != "c":
        return read_only(np.zeros_like(val), "the imaginary part of a real array")
    return viewed(bind(Imag(), val), val, Imag(), lambda base, part: Complex()(Real()(base), part), key="imag")


@implements(np.shape)
def shape(a: Value) -> tuple[int, ...]:
    return a.shape


@implements(np.ndim)
def ndim(a: Value) -> int:
    return a.ndim


@implements(np.size)
def size(a: Value, axis: Any = None) -> int:
    return math.prod(a.shape[i] for i in normal_axes(axis, a.ndim))
