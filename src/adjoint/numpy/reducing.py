"""Reductions, cumulative functions and order: sum, prod, max, sort and what is made of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import NO_VALUE, as_array, implements, into, normal_axes, normal_axis, refuse_keywords
from adjoint.numpy.inplace import laid_out
from adjoint.numpy.shaping import convert, reshaped
from adjoint.ops.arrays.cumulative import ArgCumExtremum, CumProd, CumSum
from adjoint.ops.arrays.norm import Length
from adjoint.ops.arrays.reduce import ArgSort, Extremum, FlatReduction, Product, Sum
from adjoint.program.trace import bind
from adjoint.program.types import Value


def _kept(z: Value, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: Any) -> Value:
    if keepdims is NO_VALUE or not keepdims:
        return z
    return reshaped(z, tuple([1 if i in axes else n for i, n in enumerate(shape)]))


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes to reduce. A number has none, and NumPy lets the first and the last be named."""
    return () if ndim == 0 and axis in (0, -1) and not isinstance(axis, tuple) else normal_axes(axis, ndim)


def _chosen(a: Value, where: Any, neutral: Any) -> Value:
    """a with the elements that `where` leaves out replaced by what changes nothing."""
    if where is NO_VALUE or where is True:
        return a
    return np.where(where, a, np.asarray(neutral, a.dtype))


def _of_dtype(z: Value, dtype: Any) -> Value:
    """A sum in the dtype that was asked for: small integers are added as wide ones, which gives the same modulo 2ⁿ."""
    return z if dtype is None or z.dtype == dtype else convert(z, dtype)


@implements(np.sum)
def sum(
    a: Value,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Value:
    a = _chosen(as_array(a), where, 0)
    a = a if dtype is None else convert(a, dtype)
    axes = reduced_axes(axis, len(a.shape))
    z = _of_dtype(bind(Sum(axes), a), dtype)
    if initial is not NO_VALUE:
        z = z + initial
    return into(out, _kept(z, a.shape, axes, keepdims))


@implements(np.prod)
def prod(
    a: Value,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Value:
    a = as_array(a)
    a = convert(_chosen(a, where, 1), dtype) if dtype is not None else _chosen(a, where, 1)
    axes = reduced_axes(axis, a.ndim)
    z = _of_dtype(bind(Product(axes), a), dtype)
    if initial is not NO_VALUE:
        z = z * initial
    return into(out, _kept(z, a.shape, axes, keepdims))


def _worst(dtype: Any, kind: str) -> Any:
    """The element that no extremum is."""
    if dtype.kind in "fc":
        return -np.inf if kind == "max" else np.inf
    if dtype.kind == "b":
        return kind == "min"
    return np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max


def _extremum(kind: str, a: Value, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any) -> Value:
    a = as_array(a)
    if where is not NO_VALUE and where is not True:
        if initial is NO_VALUE:
            raise ValueError(
                f"reduction operation '{kind}' does not have an identity, so to use a where mask one has to specify "
                "'initial'"
            )
        a = _chosen(a, where, _worst(a.dtype, kind))
    axes = reduced_axes(axis, a.ndim)
    if initial is not NO_VALUE and 0 in [a.shape[i] for i in axes]:
        z = np.full(tuple(n for i, n in enumerate(a.shape) if i not in axes), initial, a.dtype)
    else:
        z = bind(Extremum(kind, axes), a)
        if initial is not NO_VALUE:
            z = convert((np.maximum if kind == "max" else np.minimum)(z, initial), z.dtype)
    return into(out, _kept(z, a.shape, axes, keepdims))


@implements(np.max, np.amax)
def max(
    a: Value,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Value:
    return _extremum("max", a, axis, out, keepdims, initial, where)


@implements(np.min, np.amin)
def min(
    a: Value,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = NO_VALUE,
    initial: Any = NO_VALUE,
    where: Any = NO_VALUE,
) -> Value:
    return _extremum("min", a, axis, out, keepdims, initial, where)


@implements(np.mean)
def mean(
    a: Value, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE
) -> Value:
    a = as_array(a)
    axes = normal_axes(axis, a.ndim)
    if a.dtype.kind in "biu" and dtype is None:
        dtype = np.float64
    if where is NO_VALUE or where is True:
        count: Value = math.prod(a.shape[i] for i in axes)
    else:
        count = np.sum(np.broadcast_to(where, a.shape), axis=axes, keepdims=keepdims is not NO_VALUE and keepdims)
    return into(out, _shared(sum(a, axis, dtype, None, keepdims, NO_VALUE, where), count))


def _shared(total: Value, count: Value) -> Value:
    """total / count in the dtype of the total: counts do not promote."""
    return convert(total / count, total.dtype)


@implements(np.var)
def var(
    a: Value,
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
    gap, freedom = _deviations(a, axis, dtype, ddof, keepdims, where, mean, correction)
    squares = np.real(gap * np.conjugate(gap)) if gap.dtype.kind == "c" else gap * gap
    z = _shared(sum(squares, axis, None, None, keepdims, NO_VALUE, where), freedom)
    return into(out, _complex_if_asked(z, dtype))


def _complex_if_asked(z: Value, dtype: Any) -> Value:
    return convert(z, dtype) if dtype is not None and np.dtype(dtype).kind == "c" else z


_mean = mean


def _deviations(
    a: Value, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, center: Any, correction: Any
) -> tuple[Value, Value]:
    """(a - mean, how many of them are free)."""
    a = as_array(a) if dtype is None else convert(as_array(a), dtype)
    if a.dtype.kind in "biu":
        a = convert(a, np.float64)
    axes = normal_axes(axis, a.ndim)
    center = _mean(a, axis, dtype, None, True, where=where) if center is NO_VALUE else center
    if where is NO_VALUE or where is True:
        count: Value = math.prod(a.shape[i] for i in axes)
    else:
        count = np.sum(np.broadcast_to(where, a.shape), axis=axes, keepdims=keepdims is not NO_VALUE and keepdims)
    return a - center, np.maximum(count - (ddof if correction is NO_VALUE else correction), 0)


@implements(np.std)
def std(
    a: Value,
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
    gap, freedom = _deviations(a, axis, dtype, ddof, keepdims, where, mean, correction)
    gap, axes = _chosen(gap, where, 0), normal_axes(axis, gap.ndim)
    half = gap.dtype == np.float16
    length = _kept(bind(Length(axes), convert(gap, np.float32) if half else gap), gap.shape, axes, keepdims)
    z = _complex_if_asked(_shared(length, np.sqrt(freedom)), dtype)
    return into(out, convert(z, np.float16) if half else z)


def _flat(kind: str, a: Value, axis: Any, keepdims: Any, out: Any) -> Value:
    a = as_array(a)
    if kind in ("argmax", "argmin") and axis is None:
        z = bind(FlatReduction(kind, (0,)), np.ravel(a))
        return np.reshape(z, (1,) * a.ndim) if keepdims is not NO_VALUE and keepdims else into(out, z)
    if kind in ("argmax", "argmin") and a.ndim == 0 and axis in (0, -1):
        return into(out, bind(FlatReduction(kind, (0,)), np.ravel(a)))
    axes = (normal_axis(axis, a.ndim),) if kind in ("argmax", "argmin") else reduced_axes(axis, a.ndim)
    return into(out, _kept(bind(FlatReduction(kind, axes), a), a.shape, axes, keepdims))


@implements(np.any)
def any(a: Value, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE) -> Value:
    return _flat("any", _chosen(as_array(a), where, False), axis, keepdims, out)


@implements(np.all)
def all(a: Value, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE, *, where: Any = NO_VALUE) -> Value:
    return _flat("all", _chosen(as_array(a), where, True), axis, keepdims, out)


@implements(np.argmax)
def argmax(a: Value, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Value:
    return _flat("argmax", a, axis, keepdims, out)


@implements(np.argmin)
def argmin(a: Value, axis: Any = None, out: Any = None, *, keepdims: Any = NO_VALUE) -> Value:
    return _flat("argmin", a, axis, keepdims, out)


@implements(np.count_nonzero)
def count_nonzero(a: Value, axis: Any = None, *, keepdims: bool = False) -> Value:
    return _flat("count_nonzero", a, axis, keepdims, None)


def _along(a: Value, axis: Any) -> tuple[Value, int]:
    a = as_array(a)
    flat = axis is None or (a.ndim == 0 and axis in (0, -1))
    return (np.ravel(a), 0) if flat else (a, normal_axis(axis, a.ndim))


@implements(np.cumsum)
def cumsum(a: Value, axis: Any = None, dtype: Any = None, out: Any = None) -> Value:
    a, axis = _along(a, axis)
    return into(out, _of_dtype(bind(CumSum(axis), a if dtype is None else convert(a, dtype)), dtype))


@implements(np.cumprod)
def cumprod(a: Value, axis: Any = None, dtype: Any = None, out: Any = None) -> Value:
    a, axis = _along(a, axis)
    return into(out, _of_dtype(bind(CumProd(axis), a if dtype is None else convert(a, dtype)), dtype))


def cumulative_extremum(kind: str, a: Value, axis: Any) -> Value:
    """Running maximum or minimum; ties belong to the first."""
    a, axis = _along(a, axis)
    return np.take_along_axis(a, bind(ArgCumExtremum(kind, axis), a), axis)


@implements(np.argsort)
def argsort(a: Value, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Value:
    refuse_keywords("np.argsort", {"order": order}, order=None)
    a, axis = _along(a, axis)
    return bind(ArgSort(axis), a)


@implements(np.sort)
def sort(a: Value, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Value:
    refuse_keywords("np.sort", {"order": order}, order=None)
    if axis is not None:
        normal_axis(axis, as_array(a).ndim)
    a, axis = _along(a, axis)
    return laid_out(np.take_along_axis(a, argsort(a, axis), axis), a)
