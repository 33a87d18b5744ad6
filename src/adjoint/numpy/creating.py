"""New arrays like a traced one, and ranges between traced ends."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import as_array, constant, implements, is_traced, normal_axis, refuse_keywords
from adjoint.numpy.inplace import arranged, layout
from adjoint.numpy.shaping import axis_order, convert
from adjoint.ops.arrays.rearrange import inverse_permutation
from adjoint.program.types import Value


def _like(a: Any, dtype: Any, shape: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    a = as_array(a)
    if shape is None:
        shape = a.shape
    elif np.ndim(shape) == 0:
        shape = (operator.index(shape),)
    return tuple(shape), a.dtype if dtype is None else np.dtype(dtype)


def _order_like(a: Any, order: str, shape: Any) -> tuple[int, ...] | None:
    """The axes of a new array from the slowest to the fastest; None is C order."""
    a = as_array(a)
    if shape is not None or (order in ("A", "K") and layout(a) is None):
        return None
    return axis_order(a, order)


def _new(make: Any, a: Any, dtype: Any, order: str, shape: Any) -> Value:
    axes = _order_like(a, order, shape)
    sizes, dtype = _like(a, dtype, shape)
    if axes is None:
        return make(sizes, dtype)
    return make([sizes[axis] for axis in axes], dtype).transpose(inverse_permutation(axes))


@implements(np.zeros_like, np.empty_like)
def zeros_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Value:
    refuse_keywords("np.zeros_like", {"device": device}, device=None if device is None else "cpu")
    return constant(_new(np.zeros, a, dtype, order, shape))


@implements(np.ones_like)
def ones_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Value:
    refuse_keywords("np.ones_like", {"device": device}, device=None if device is None else "cpu")
    return constant(_new(np.ones, a, dtype, order, shape))


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Value:
    refuse_keywords("np.full_like", {"device": device}, device=None if device is None else "cpu")
    return arranged(filled(*_like(a, dtype, shape), fill_value), _order_like(a, order, shape))


def filled(shape: tuple[int, ...], dtype: Any, value: Any) -> Value:
    """A new array with one value, traced or not, everywhere."""
    if not is_traced(value):
        return constant(np.full(shape, value, dtype))
    value = as_array(value)
    return np.broadcast_to(value if dtype is None else convert(value, dtype), shape).copy()


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    kinds = [v if type(v) in (bool, int, float, complex) else as_array(v).dtype for v in (start, stop)]
    start, stop, wide = as_array(start), as_array(stop), np.result_type(*kinds, 1.0)
    start, stop = convert(start, wide), convert(stop, wide)
    parts = num - 1 if endpoint else num
    ndim = np.broadcast(np.empty(start.shape), np.empty(stop.shape)).ndim
    counts = np.reshape(np.arange(num).astype(wide), (-1,) + (1,) * ndim)
    z = counts * ((stop - start) / wide.type(max(parts, 1))) + start  # in NumPy's order, so that no bit differs
    if endpoint and num > 1:
        z = np.concatenate([z[:-1], np.broadcast_to(stop, (1, *z.shape[1:]))])
    if axis not in (0, -ndim - 1):
        z = np.moveaxis(z, 0, axis)
    if dtype is not None and np.dtype(dtype).kind in "iu":
        z = np.floor(z)
    z = z if dtype is None else convert(z, dtype)
    step = (stop - start) / parts if parts > 0 else np.nan * (stop - start)
    return (z, step) if retstep else z


@implements(np.logspace)
def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Value:
    z = linspace(start, stop, num, endpoint, axis=axis)
    base = base if type(base) in (int, float) else as_array(base)
    if np.ndim(base):
        base = np.expand_dims(
            np.broadcast_to(base, np.broadcast_shapes(base.shape, np.shape(start), np.shape(stop))), axis
        )
    z = np.power(base, z)
    return z if dtype is None else convert(z, dtype)


@implements(np.geomspace)
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Value:
    start, stop = as_array(start), as_array(stop)
    if (not is_traced(start) and np.any(start == 0)) or (not is_traced(stop) and np.any(stop == 0)):
        raise ValueError("Geometric sequence cannot include zero")
    wide = np.result_type(start.dtype, stop.dtype, np.float64)
    start, stop = convert(start, wide), convert(stop, wide)
    direction = np.sign(start)
    same = np.all(np.equal(direction, np.sign(stop)))
    if wide.kind != "c" and not is_traced(same) and not same:
        raise ValueError("np.geomspace of traced ends: start and stop must have the same sign (or be complex).")
    exponent = linspace(np.log(start / direction), np.log(stop / direction), num, endpoint, axis=axis)
    z = (
        direction * np.exp(exponent)
        if np.ndim(direction) == 0
        else np.expand_dims(direction, normal_axis(axis, exponent.ndim)) * np.exp(exponent)
    )
    return z if dtype is None else convert(z, dtype)


def kaiser(M: int, beta: Any) -> Value:  # noqa: N803
    """np.kaiser, also of a traced beta: I₀(β √(1 - t²)) / I₀(β) at M positions t from -1 to 1."""
    if not is_traced(beta):
        return constant(np.kaiser(M, beta))
    if M == 1:
        return constant(np.ones(1))
    t = np.linspace(-1.0, 1.0, max(0, operator.index(M)))
    return np.i0(beta * np.sqrt(np.maximum(0.0, 1.0 - t * t))) / np.i0(beta)
