"""np.pad: zeros by a primitive; edges, reflections and periods by reading the array at mirrored or repeated places."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.base.source import describe, here
from adjoint.numpy.dispatch import as_array, implements, is_traced, refuse_keywords
from adjoint.ops.rearrange import Pad
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
    x = as_array(array)
    widths = _pairs(pad_width, x.ndim)
    call = f"np.pad(mode={mode!r})"
    if mode in ("constant", "empty"):
        values = kwargs.pop("constant_values", 0)
        refuse_keywords(call, kwargs)
        return _constant(x, widths, values)
    if mode in READ_ELSEWHERE:
        odd = kwargs.pop("reflect_type", "even") if mode in ("reflect", "symmetric") else "even"
        refuse_keywords(call, kwargs | ({} if odd == "even" else {"reflect_type": odd}))
        for axis, width in enumerate(widths):
            if any(width):
                x = np.take(x, _places(mode, x.shape[axis], width), axis=axis)
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
        refuse_keywords(call, kwargs, stat_length=None)
        for axis, (a, b) in enumerate(widths):
            edge = STATISTICS[mode](x, axis=axis, keepdims=True)
            x = np.concatenate([np.repeat(edge, a, axis), x, np.repeat(edge, b, axis)], axis=axis)
        return x
    raise UnsupportedError(
        f"{call}, at {describe(here())}: on traced arrays the modes are constant, {', '.join(READ_ELSEWHERE)}, "
        "linear_ramp, "
        f"{', '.join(STATISTICS)}. Build other borders with np.concatenate."
    )


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


def _places(mode: str, n: int, width: tuple[int, int]) -> np.ndarray[Any, Any]:
    """Where each element of a padded axis of length n is read."""
    if n == 0 and any(width):
        raise ValueError(f"can't extend empty axis using modes other than 'constant' or 'empty' (mode {mode!r})")
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
