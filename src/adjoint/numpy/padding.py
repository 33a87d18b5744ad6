"""np.pad: zeros by a primitive; edges, reflections and periods by reading at mirrored or repeated positions."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import as_array, constant, implements, is_traced, refuse_keywords
from adjoint.numpy.inplace import is_fortran, laid_out
from adjoint.ops.arrays.rearrange import Pad
from adjoint.program.trace import bind
from adjoint.program.types import Value

READ_ELSEWHERE = ("edge", "reflect", "symmetric", "wrap")
STATISTICS = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}


def _pairs(value: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    """Widths as one pair for each axis."""
    if isinstance(value, dict):
        pairs = [(0, 0)] * ndim
        for axis, width in value.items():
            pairs[axis] = (width, width) if np.ndim(width) == 0 else tuple(width)
        value = pairs
    widths = np.broadcast_to(np.asarray(value), (ndim, 2))
    if widths.dtype.kind not in "iu":
        raise TypeError("`pad_width` must be of integral type.")
    if np.any(widths < 0):
        raise ValueError("index can't contain negative values")
    return tuple((operator.index(a), operator.index(b)) for a, b in widths)


def _values(value: Any, ndim: int) -> list[tuple[Any, Any]]:
    """constant_values or end_values, also traced, as one pair for each axis."""
    if not is_traced(value):
        return [tuple(pair) for pair in np.broadcast_to(np.asarray(value), (ndim, 2))]
    table = np.broadcast_to(as_array(value), (ndim, 2))
    return [(table[i, 0], table[i, 1]) for i in range(ndim)]


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Value:
    """A new array, also where nothing is added; in Fortran's order if the array is."""
    array = as_array(array)
    z = _padded(array, pad_width, mode, kwargs)
    return np.copy(z) if z is array else laid_out(z, array if is_fortran(array) else None)


def _padded(x: Value, pad_width: Any, mode: Any, kwargs: dict[str, Any]) -> Value:
    widths = _pairs(pad_width, x.ndim)
    if callable(mode):
        return _by_function(constant(_constant(x, widths, 0)), widths, mode, kwargs)
    call = f"np.pad(mode={mode!r})"
    if mode in ("constant", "empty"):
        values = kwargs.pop("constant_values", 0)
        refuse_keywords(call, kwargs)
        return _constant(x, widths, values)
    for axis, width in enumerate(widths):
        if x.shape[axis] == 0 and any(width) and mode != "linear_ramp":
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty' ({call})")
    if mode in READ_ELSEWHERE:
        kind = kwargs.pop("reflect_type", "even") if mode in ("reflect", "symmetric") else "even"
        refuse_keywords(call, kwargs)
        if kind not in ("even", "odd"):
            raise ValueError(f"reflect_type must be 'even' or 'odd' (got {kind!r})")
        for axis, width in enumerate(widths):
            if any(width):
                x = (_odd if kind == "odd" and x.shape[axis] > 1 else _even)(x, mode, axis, width)
        return x
    if mode == "linear_ramp":
        ends = _values(kwargs.pop("end_values", 0), x.ndim)
        refuse_keywords(call, kwargs)
        for axis, (width, end) in enumerate(zip(widths, ends, strict=True)):
            x = np.concatenate(
                [_ramp(x, axis, width[0], end[0], 0), x, np.flip(_ramp(x, axis, width[1], end[1], -1), axis)], axis=axis
            )
        return x
    if mode in STATISTICS:
        lengths = _lengths(kwargs.pop("stat_length", None), x.ndim, mode)
        refuse_keywords(call, kwargs)
        for axis, ((a, b), (first, last)) in enumerate(zip(widths, lengths, strict=True)):
            n = x.shape[axis]
            first, last = (n if length is None else min(length, n) for length in (first, last))
            start = _statistic(mode, x, axis, slice(None, first))
            stop = start if first == last == n else _statistic(mode, x, axis, slice(n - last, None))
            x = np.concatenate([np.repeat(start, a, axis), x, np.repeat(stop, b, axis)], axis=axis)
        return x
    raise ValueError(
        f"mode {mode!r} is not supported: use a function, or one of constant, empty, {', '.join(READ_ELSEWHERE)}, "
        f"linear_ramp, {', '.join(STATISTICS)}"
    )


def _lengths(value: Any, ndim: int, mode: str) -> list[tuple[Any, Any]]:
    """stat_length as one pair for each axis."""
    if value is None:
        return [(None, None)] * ndim
    table = np.broadcast_to(np.asarray(value), (ndim, 2))
    if np.any(table < 0) or (np.any(table == 0) and mode in ("maximum", "minimum")):
        raise ValueError(f"stat_length of {value} yields no value for padding")
    return [(operator.index(a), operator.index(b)) for a, b in table]


def _statistic(mode: str, x: Value, axis: int, part: slice) -> Value:
    z = STATISTICS[mode](x[(slice(None),) * axis + (part,)], axis=axis, keepdims=True)
    return (np.rint(z) if x.dtype.kind in "iu" and z.dtype.kind == "f" else z).astype(x.dtype)


def _by_function(padded: Value, widths: tuple[tuple[int, int], ...], function: Any, options: dict[str, Any]) -> Value:
    """The user's function on each vector along each axis: it writes into the ends of the vector."""
    for axis, width in enumerate(widths):
        view = np.moveaxis(padded, axis, -1)
        for position in np.ndindex(*view.shape[:-1]):
            function(view[position] if position else view, width, axis, options)
    return padded


def _even(x: Value, mode: str, axis: int, width: tuple[int, int]) -> Value:
    return np.take(x, _positions(mode, x.shape[axis], width), axis=axis)


def _odd(x: Value, mode: str, axis: int, width: tuple[int, int]) -> Value:
    """Mirrored at both ends in the point (end, value there): each period is higher than the last by 2 (last - first).

    x(-i) = 2 x(0) - x(i)
    """
    n = x.shape[axis]
    period = 2 * n - 2 if mode == "reflect" else 2 * n
    i = np.arange(-width[0], n + width[1])
    period_number, mirrored = i // period, i % period >= n
    shape = (1,) * axis + (-1,) + (1,) * (x.ndim - axis - 1)
    first, last = np.take(x, [0], axis=axis), np.take(x, [n - 1], axis=axis)
    number = x.dtype.type
    sign = np.reshape(np.where(mirrored, number(-1), number(1)), shape)
    twice = np.reshape(np.where(mirrored, number(2), number(0)), shape)
    rise = np.reshape((2 * period_number).astype(x.dtype), shape)
    return sign * _even(x, mode, axis, width) + twice * last + rise * (last - first)


def _constant(x: Value, widths: tuple[tuple[int, int], ...], values: Any) -> Value:
    """Zeros around x, and where the constant is not zero, pieces of it axis by axis."""
    if not is_traced(values) and not np.any(values):
        return bind(Pad(widths), x)
    for axis, (width, value) in enumerate(zip(widths, _values(values, x.ndim), strict=True)):
        parts = []
        for count, v in zip(width, value, strict=True):
            shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
            v = v if is_traced(v) else np.asarray(v)
            parts.append(np.broadcast_to(v if v.dtype == x.dtype else v.astype(x.dtype), shape))
        x = np.concatenate([parts[0], x, parts[1]], axis=axis)
    return x


def _positions(mode: str, n: int, width: tuple[int, int]) -> np.ndarray[Any, Any]:
    """Where each element of a padded axis of length n is read."""
    i = np.arange(-width[0], n + width[1])
    if mode == "edge":
        return np.clip(i, 0, n - 1)
    if mode == "wrap":
        return i % n
    if mode == "symmetric":
        i = i % (2 * n)
        return np.where(i < n, i, 2 * n - 1 - i)
    if n == 1:
        return np.zeros_like(i)
    i = i % (2 * n - 2)
    return np.where(i < n, i, 2 * n - 2 - i)


def _ramp(x: Value, axis: int, count: int, end: Any, edge: int) -> Value:
    """`count` steps from `end` to the edge of x, without the edge itself."""
    border = np.take(x, [edge], axis=axis)
    share = np.reshape(np.arange(count) / max(count, 1), (1,) * axis + (-1,) + (1,) * (x.ndim - axis - 1))
    return (end + (border - end) * share).astype(x.dtype)
