"""The nan-functions: reductions that pass over NaN. An element that is NaN has no derivative: nothing leaks out of
it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import NO_VALUE, as_array, implements, into, is_traced, refuse_keywords
from adjoint.numpy.shaping import convert
from adjoint.numpy.statistics import floating, given, places, to_front
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


def _place(of: Callable[..., Value], worst: float, a: Any, axis: Any, keepdims: Any) -> Value:
    empty = np.logical_not(np.any(_present(a), axis=axis))
    if not is_traced(empty) and np.any(empty):
        raise ValueError("All-NaN slice encountered")
    return of(_replaced(as_array(a), worst), axis=axis, keepdims=given(keepdims))


@implements(np.nanargmax)
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Value:
    return into(out, _place(np.argmax, -np.inf, a, axis, keepdims))


@implements(np.nanargmin)
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Value:
    return into(out, _place(np.argmin, np.inf, a, axis, keepdims))


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
    a = floating(a) if dtype is None else convert(as_array(a), dtype)
    ddof = ddof if correction is NO_VALUE else correction
    present = _present(a, where)
    center = nanmean(a, axis, keepdims=True, where=where) if mean is NO_VALUE else mean
    gap = np.where(present, a - center, a.dtype.type(0))
    squares = np.real(gap * np.conjugate(gap)) if a.dtype.kind == "c" else gap * gap
    count = np.sum(present, axis=axis, keepdims=given(keepdims))
    free = np.where(np.less_equal(count - ddof, 0), np.nan, count - ddof).astype(squares.dtype)
    if not is_traced(free) and np.any(np.isnan(free)):
        warnings.warn("Degrees of freedom <= 0 for slice.", RuntimeWarning, stacklevel=3)
    return into(out, np.sum(squares, axis=axis, keepdims=given(keepdims)) / free)


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
    return into(
        out, np.sqrt(nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction))
    )


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
    refuse_keywords(
        "np.nanquantile", {"weights": weights, "interpolation": interpolation}, weights=None, interpolation=None
    )
    a, q = floating(a), as_array(q)
    x, axes = to_front(a, axis)
    ordered = np.sort(x, axis=0)  # NaN stands last
    count = np.sum(_present(x), axis=0)
    parts = [_one_quantile(ordered, count, q_i, method) for q_i in np.ravel(q)]
    z = np.reshape(np.stack(parts), (*q.shape, *x.shape[1:]))
    if given(keepdims):
        kept = tuple(1 if i in axes else n for i, n in enumerate(a.shape))
        z = np.reshape(z, (*q.shape, *kept))
    return into(out, z)


def _one_quantile(ordered: Value, count: Value, q: Value, method: str) -> Value:
    """One quantile of each column, of which the first `count` elements are numbers."""
    first, second, share = places(np.maximum(count, 1), q, method)
    below, above = (
        np.take_along_axis(ordered, np.expand_dims(i, 0), 0)[0] if ordered.ndim > 1 else ordered[i]
        for i in (first, second)
    )
    return convert(below + (above - below) * share, ordered.dtype)


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
    return nanquantile(
        a, as_array(q) / 100, axis, out, overwrite_input, method, keepdims, weights=weights, interpolation=interpolation
    )


@implements(np.nanmedian)
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = NO_VALUE
) -> Value:
    return nanquantile(a, 0.5, axis, out, keepdims=keepdims)
