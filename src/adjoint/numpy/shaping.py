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
from adjoint.numpy.inplace import arranged, doubtful, is_fortran, layout, viewed
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
from adjoint.program.layout import Strides, fortran, is_compact, iteration_order, memory_order, reshape_strides
from adjoint.program.trace import Tracer, bind
from adjoint.program.types import Value, result_dtype, type_of


def _sizes(shape: Any) -> tuple[int, ...]:
    """A shape, or the size of one axis, in integers; traced ones are asked for."""
    if not isinstance(shape, tuple | list) and np.ndim(shape) == 0:
        shape = (shape,)
    return tuple(map(operator.index, shape))


def _full_shape(x: Value, shape: Any) -> tuple[int, ...]:
    shape = _sizes(shape)
    if -1 in shape:
        known = math.prod(n for n in shape if n != -1)
        size = math.prod(x.shape)
        if shape.count(-1) > 1 or known == 0 or size % known:
            raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
        shape = tuple(size // known if n == -1 else n for n in shape)
    if math.prod(shape) != math.prod(x.shape):
        raise ValueError(f"cannot reshape array of size {math.prod(x.shape)} into shape {shape}")
    return shape


def _known_layout(a: Value, order: str) -> Strides:
    strides = layout(a)
    if strides is None:
        raise UnsupportedError(
            f"order={order!r} on a traced {a.type}, at {describe(here())}: it depends on how the array lies in "
            "memory, which is not known here. Use order='C' or 'F'."
        )
    return strides


def _lies_fortran(a: Value) -> bool:
    """Whether an array lies in Fortran's order, which the order "A" then follows."""
    if len(a.shape) > 1:
        _known_layout(a, "A")
    return is_fortran(a)


def axis_order(a: Value, order: str | None) -> tuple[int, ...] | None:
    """The axes from the slowest to the fastest for one of NumPy's orders; None is C order."""
    if order not in ("C", "F", "A", "K", None):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    ndim = len(a.shape)
    if ndim < 2 or order == "C":
        return None
    if order == "K" or order is None:
        axes = memory_order(type_of(a), _known_layout(a, "K"))
    else:
        axes = fortran(ndim) if order == "F" or _lies_fortran(a) else tuple(range(ndim))
    return None if axes == tuple(range(ndim)) else axes


def in_order(a: Tracer, order: str | None) -> Value:
    """A traced array itself where it lies in the order "C" or "F" that is asked for, otherwise a copy that does."""
    if order in (None, "A", "K"):
        return a
    axes, strides = axis_order(a, order), layout(a)
    if strides is None:
        reason = f"an array in order {order!r}, and whether NumPy makes a copy of it is not known here"
        return doubtful(arranged(a, axes), a, reason)
    return arranged(a, axes)


@implements(np.reshape)
def reshape(a: Value, shape: Any, order: str = "C", *, copy: bool | None = None) -> Value:
    if not isinstance(a, Tracer):
        if copy is None or copy:  # NumPy's own has the keyword from 2.1 on
            z = np.reshape(a, shape, order=order)  # type: ignore[call-overload]
            return np.array(z) if copy else z
        return np.reshape(a, shape, order=order, copy=copy)  # type: ignore[call-overload]
    if order not in ("C", "F", "A"):
        raise ValueError(f"order {order!r} is not permitted for reshaping: use 'C', 'F' or 'A'")
    full = _full_shape(a, shape)
    if order == "F" or (order == "A" and _lies_fortran(a)):
        return transpose(reshape(transpose(a), full[::-1], copy=copy))
    if copy:
        return arranged(bind(Reshape(full), a))
    kind, strides = a.type, layout(a)
    if strides is None:
        reason = "a reshaped array, and whether NumPy makes a view or a copy of it is not known here"
        return doubtful(bind(Reshape(full), a), a, reason)
    if is_compact(kind, strides) or reshape_strides(kind, strides, full) is not None:
        return _in_shape(a, full)
    if copy is False:
        raise ValueError("Unable to avoid creating a copy while creating an array as requested.")
    return bind(Reshape(full), a)  # NumPy copies when the elements do not lie in order


def _in_shape(a: Tracer, shape: tuple[int, ...]) -> Value:
    """A view of a traced array in another shape."""
    op = Reshape(shape)
    return viewed(bind(op, a), a, op, lambda base, view: Reshape(base.shape)(view), scalar=True)


def reshaped_copy(x: Value, shape: Any, order: str = "C") -> Value:
    """x in another shape, as a new array."""
    return reshape(x, shape, order, copy=True)


def reshaped(x: Value, shape: tuple[int, ...]) -> Value:
    """x in another shape that fits, to be read only: no view to keep account of."""
    return bind(Reshape(shape), x) if isinstance(x, Tracer) else np.reshape(x, shape)


@implements(np.ravel)
def ravel(a: Value, order: str = "C") -> Value:
    """A view only when a lies in memory in this order, without gaps."""
    axes, strides = axis_order(a, order), layout(a)
    if strides is None:
        return reshape(a if axes is None else transpose(a, axes), (math.prod(a.shape),))
    if is_compact(type_of(a), strides, axes):
        return _in_shape(a if axes is None else transpose(a, axes), (math.prod(a.shape),))
    return flatten(a, order)


def flatten(a: Value, order: str = "C") -> Value:
    """The elements one after another, as a new array; in the order "K" as NumPy's iterator meets them."""
    axes = axis_order(a, order)
    if order == "K" and axes is not None:
        axes = iteration_order(type_of(a), _known_layout(a, "K"))
    return reshape(a if axes is None else transpose(a, axes), (math.prod(a.shape),), copy=True)


@implements(np.transpose, np.permute_dims)
def transpose(a: Value, axes: Any = None) -> Value:
    if not isinstance(a, Tracer):
        return np.transpose(a, axes)
    n = a.ndim
    order = tuple(range(n))[::-1] if axes is None else tuple(normal_axis(i, n) for i in axes)
    if sorted(order) != list(range(n)):
        raise ValueError(f"axes {axes} don't match array of {n} dimensions")
    back = inverse_permutation(order)
    return viewed(
        bind(Transpose(order), a),
        a,
        Transpose(order),
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
    positions = normal_axes(tuple(axes), ndim)
    sizes = iter(a.shape)
    return reshape(a, tuple(1 if i in positions else next(sizes) for i in range(ndim)))


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
    shape = _sizes(shape)
    Broadcast(shape).result_type(type_of(array))
    return _broadcast(array, shape, writable=False)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Value, subok: bool = False) -> Any:
    """What has the common shape already is given back as it is, or as a view that may be written to."""
    arrays = [as_array(a) for a in args]
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    if all(a.shape == shape for a in arrays):
        return tuple(arrays)
    return tuple(_broadcast(a, shape, writable=True) for a in arrays)


def _broadcast(a: Value, shape: tuple[int, ...], *, writable: bool) -> Value:
    """A view of another shape, along whose new axes the elements of a are repeated."""
    if not isinstance(a, Tracer):
        return np.broadcast_to(a, shape) if not writable or a.shape != shape else a[...]
    read = Reshape(shape) if math.prod(a.shape) == math.prod(shape) else Broadcast(shape)
    put = (lambda base, view: Reshape(base.shape)(view)) if writable and isinstance(read, Reshape) else None
    reason = "the result of np.broadcast_to or np.broadcast_arrays, whose elements stand in several positions"
    return viewed(bind(read, a), a, read, put, scalar=True, reason=reason)


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
    put = lambda base, part: Complex()(part, Imag()(base))
    return viewed(bind(Real(), val), val, Real(), put, key="real", layout=lambda kind, strides: strides)


@implements(np.imag)
def imag(val: Value) -> Value:
    if val.dtype.kind != "c":
        zeros = np.zeros_like(val)
        same = Reshape(zeros.shape)
        return viewed(same(zeros), zeros, same, None, scalar=True, reason="the imaginary part of a real array")
    put = lambda base, part: Complex()(Real()(base), part)
    return viewed(bind(Imag(), val), val, Imag(), put, key="imag", layout=lambda kind, strides: strides)


@implements(np.shape)
def shape(a: Value) -> tuple[int, ...]:
    return a.shape


@implements(np.ndim)
def ndim(a: Value) -> int:
    return a.ndim


@implements(np.size)
def size(a: Value, axis: Any = None) -> int:
    return math.prod(a.shape[i] for i in normal_axes(axis, a.ndim))
