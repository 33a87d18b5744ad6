"""The nan-functions: reductions that pass over NaN. An element that is NaN has no derivative: nothing leaks out of
it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import NO_VALUE, as_array, implements, into, is_traced, refuse_keywords, refuse_truth
from adjoint.numpy.quantiles import (
    CHOOSING,
    bracket,
    by_weights,
    checked_q,
    checked_weights,
    floating,
    given,
    kept_axes,
    to_front,
)
from adjoint.numpy.reducing import reduced_axes
from adjoint.numpy.shaping import convert
from adjoint.ops.arrays.norm import Length
from adjoint.program.trace import bind
from adjoint.program.types import Value


def _present(a: Any, where: Any = NO_VALUE) -> Value:
    """Which elements count."""
    present = np.logical_not(np.isnan(a))
    return present if where is NO_VALUE or where is True else np.logical_and(present, where)


def _replaced(a: Value, value: float) -> Value:
    return np.where(np.isnan(a), a.dtype.type(value), a) if a.dtype.kind in "fc" else a


@implements(np.nansum)
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Value:
    return np.sum(_replaced(as_array(a), 0), axis, dtype, out, given(keepdims), initial, where)


@implements(np.nanprod)
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Value:
    return np.prod(_replaced(as_array(a), 1), axis, dtype, out, given(keepdims), initial, where)


@implements(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Value:
    return np.cumsum(_replaced(as_array(a), 0), axis, dtype, out)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Value:
    return np.cumprod(_replaced(as_array(a), 1), axis, dtype, out)


@implements(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE
) -> Value:
    a = floating(a) if dtype is None else convert(as_array(a), dtype)
    total = np.sum(_replaced(a, 0), axis=axis, keepdims=given(keepdims), where=where)
    return into(out, total / _count(_present(a, where), axis, keepdims, a.dtype))


def _count(present: Value, axis: Any, keepdims: Any, dtype: Any) -> Value:
    """How many elements count; no element gives NaN, with NumPy's warning."""
    count = np.sum(present, axis=axis, keepdims=given(keepdims))
    if not is_traced(count) and np.any(count == 0):
        warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=4)
    real = np.finfo(dtype).dtype
    return np.where(np.equal(count, 0), np.nan, count).astype(real)


def _extremum(
    of: Callable[..., Value], worst: float, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any
) -> Value:
    a = as_array(a)
    if a.dtype.kind not in "fc":
        return of(a, axis=axis, keepdims=given(keepdims), initial=initial, where=where)
    z = of(_replaced(a, worst), axis=axis, keepdims=given(keepdims), initial=initial, where=where)
    empty = np.logical_not(np.any(_present(a, where), axis=axis, keepdims=given(keepdims)))
    if not is_traced(empty) and np.any(empty):
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=4)
    return np.where(empty, z.dtype.type(np.nan), z) if initial is NO_VALUE else z


@implements(np.nanmax)
def nanmax(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, initial: Any = NO_VALUE, where: Any = NO_VALUE
) -> Value:
    return into(out, _extremum(np.max, -np.inf, a, axis, keepdims, initial, where))


@implements(np.nanmin)
def nanmin(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, initial: Any = NO_VALUE, where: Any = NO_VALUE
) -> Value:
    return into(out, _extremum(np.min, np.inf, a, axis, keepdims, initial, where))


def _position(of: Callable[..., Value], worst: float, a: Any, axis: Any, keepdims: Any) -> Value:
    empty = np.logical_not(np.any(_present(a), axis=axis))
    if not is_traced(empty) and np.any(empty):
        raise ValueError("All-NaN slice encountered")
    return of(_replaced(as_array(a), worst), axis=axis, keepdims=given(keepdims))


@implements(np.nanargmax)
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Value:
    return into(out, _position(np.argmax, -np.inf, a, axis, keepdims))


@implements(np.nanargmin)
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Value:
    return into(out, _position(np.argmin, np.inf, a, axis, keepdims))


@implements(np.nanvar)
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Value:
    gap, free = _deviations(a, axis, dtype, ddof, keepdims, where, mean, correction)
    squares = np.real(gap * np.conjugate(gap)) if gap.dtype.kind == "c" else gap * gap
    return into(out, np.sum(squares, axis=axis, keepdims=given(keepdims)) / free)


def _deviations(
    a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, mean: Any, correction: Any
) -> tuple[Value, Value]:
    """(a - mean where a is a number, else 0; how many of them are free)."""
    a = floating(a) if dtype is None else convert(as_array(a), dtype)
    ddof = ddof if correction is NO_VALUE else correction
    present = _present(a, where)
    center = nanmean(a, axis, keepdims=True, where=where) if mean is NO_VALUE else mean
    gap = np.where(present, _replaced(a, 0) - center, a.dtype.type(0))
    count = np.sum(present, axis=axis, keepdims=given(keepdims))
    free = np.where(np.less_equal(count - ddof, 0), np.nan, count - ddof).astype(np.finfo(gap.dtype).dtype)
    if not is_traced(free) and np.any(np.isnan(free)):
        warnings.warn("Degrees of freedom <= 0 for slice.", RuntimeWarning, stacklevel=4)
    return gap, free


@implements(np.nanstd)
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NO_VALUE,
    *,
    where: Any = NO_VALUE,
    mean: Any = NO_VALUE,
    correction: Any = NO_VALUE,
) -> Value:
    """The length of the deviations, over √n: so its derivative is 0 where all elements are equal."""
    gap, free = _deviations(a, axis, dtype, ddof, keepdims, where, mean, correction)
    axes = reduced_axes(axis, gap.ndim)
    wide = convert(gap, np.float32) if gap.dtype == np.float16 else gap
    length = bind(Length(axes), wide)
    length = np.expand_dims(length, axes) if given(keepdims) else length
    return into(out, convert(length, free.dtype) / np.sqrt(free))


@implements(np.nanquantile)
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = NO_VALUE,
    *,
    weights: Any = None,
    interpolation: Any = None,
) -> Value:
    refuse_keywords("np.nanquantile", {"interpolation": interpolation}, interpolation=None)
    return _quantile(a, q, axis, out, method, keepdims, weights, False)


def _quantile(a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: Any, weights: Any, percent: bool) -> Value:
    if method not in CHOOSING:
        refuse_truth(as_array(a), "np.nanpercentile" if percent else "np.nanquantile")
    a = floating(a)
    q, mixed = checked_q(q, a, percent)
    x, axes = to_front(a, axis)
    count = np.sum(_present(x), axis=0)
    if weights is not None:
        weights = checked_weights(a, axis, weights, method)
        z = by_weights(x, np.where(_present(x), weights, weights.dtype.type(0)), q, np.maximum(count, 1))
        return into(out, kept_axes(z, q, a, axes, keepdims))
    if x.shape[0] == 0:
        return into(out, kept_axes(np.full((*q.shape, *x.shape[1:]), np.nan, mixed), q, a, axes, keepdims))
    ordered = np.sort(x, axis=0)  # NaN stands last
    first, second, share = bracket(
        np.maximum(count, 1), np.reshape(q, (math.prod(q.shape),) + (1,) * count.ndim), method
    )
    shape = (*q.shape, *x.shape[1:])
    if method in CHOOSING:
        z = np.take_along_axis(ordered, np.where(np.equal(share, 1), second, first), 0)
        return into(out, kept_axes(np.reshape(z, shape), q, a, axes, keepdims))
    below, above = (np.take_along_axis(ordered, i, 0) for i in (first, second))
    z = np.reshape(convert(below + (above - below) * share, mixed), shape)
    return into(out, kept_axes(z, q, a, axes, keepdims))


@implements(np.nanpercentile)
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = NO_VALUE,
    *,
    weights: Any = None,
    interpolation: Any = None,
) -> Value:
    refuse_keywords("np.nanpercentile", {"interpolation": interpolation}, interpolation=None)
    return _quantile(a, q, axis, out, method, keepdims, weights, True)


@implements(np.nanmedian)
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = NO_VALUE
) -> Value:
    a = floating(a)
    x, axes = to_front(a, axis)
    if x.shape[0] == 0:
        z = np.full(x.shape[1:], np.nan, a.dtype)
    else:
        ordered, count = np.sort(x, axis=0), np.maximum(np.sum(_present(x), axis=0), 1)
        lower, upper = (np.expand_dims(i, 0) for i in ((count - 1) // 2, count // 2))
        z = 0.5 * (np.take_along_axis(ordered, lower, 0) + np.take_along_axis(ordered, upper, 0))[0]
    return into(out, np.expand_dims(z, axes) if given(keepdims) else z)
