"""Averages, medians, quantiles, spreads and correlations."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.base.source import describe, here
from adjoint.numpy.dispatch import NO_VALUE, as_array, implements, into, is_traced, normal_axes, refuse_keywords
from adjoint.numpy.indexing import take
from adjoint.numpy.shaping import convert
from adjoint.program.types import Value

# (alpha, beta) of Hyndman and Fan's continuous quantiles: the q-quantile stands at place n q + alpha + q (1 - alpha
# - beta) - 1
CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
STEPS = ("lower", "higher", "nearest", "midpoint", "inverted_cdf", "averaged_inverted_cdf", "closest_observation")


def given(value: Any) -> bool:
    """Whether a keyword was given a value that means something."""
    return value is not NO_VALUE and bool(value)


def floating(a: Any) -> Value:
    """An array of floats: whole numbers are converted."""
    a = as_array(a)
    return convert(a, np.float64) if a.dtype.kind in "biu" else a


def to_front(a: Value, axis: Any) -> tuple[Value, tuple[int, ...]]:
    """The axes to reduce as one axis in front; and which they were."""
    axes = normal_axes(axis, a.ndim)
    rest = [i for i in range(a.ndim) if i not in axes]
    return np.reshape(
        np.transpose(a, (*axes, *rest)), (math.prod(a.shape[i] for i in axes), *[a.shape[i] for i in rest])
    ), axes


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO_VALUE) -> Value:
    return into(out, np.max(a, axis=axis, keepdims=given(keepdims)) - np.min(a, axis=axis, keepdims=given(keepdims)))


@implements(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = NO_VALUE) -> Any:
    a, keep = floating(a), given(keepdims)
    axes = normal_axes(axis, a.ndim)
    if weights is None:
        mean = np.mean(a, axis=axes, keepdims=keep)
        total: Value = np.full(mean.shape, float(math.prod(a.shape[i] for i in axes)))
        return (mean, total) if returned else mean
    weights = as_array(weights)
    if weights.shape != a.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        order = axis if isinstance(axis, tuple) else (axis,)
        order = [i % a.ndim for i in order]
        if weights.shape != tuple(a.shape[i] for i in order):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        weights = np.transpose(weights, tuple(np.argsort(order)))
        weights = np.reshape(weights, tuple(n if i in order else 1 for i, n in enumerate(a.shape)))
    weights = np.broadcast_to(weights, a.shape)
    total = np.sum(weights, axis=axes, keepdims=keep)
    if not is_traced(total) and np.any(total == 0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    mean = np.sum(a * weights, axis=axes, keepdims=keep) / total
    return (mean, total) if returned else mean


@implements(np.median)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Value:
    a = floating(a)
    x, axes = to_front(a, axis)
    n = x.shape[0]
    if n == 0:
        return into(out, np.full(x.shape[1:], np.nan, a.dtype))
    ordered = np.sort(x, axis=0)
    z = ordered[n // 2] if n % 2 else 0.5 * (ordered[n // 2 - 1] + ordered[n // 2])
    z = _nan_if(np.isnan(ordered[-1]), z)
    return into(out, np.expand_dims(z, axes) if given(keepdims) else z)


def _nan_if(condition: Value, z: Value) -> Value:
    return np.where(condition, z.dtype.type(np.nan), z)


def places(n: Value, q: Value, method: str) -> tuple[Value, Value, Value]:
    """The two places in a sorted vector of n elements between which the q-quantile stands, and the share of the
    second.
    """
    if method in CONTINUOUS:
        alpha, beta = CONTINUOUS[method]
        at = (n - 1) * q if method == "linear" else n * q + (alpha + q * (1 - alpha - beta)) - 1
        low = np.floor(at)
        share = at - low
    elif method in ("lower", "higher", "nearest", "midpoint"):
        at = (n - 1) * q
        low, high = np.floor(at), np.ceil(at)
        if method == "midpoint":
            share = np.where(np.equal(low, high), 0.0, 0.5)
        else:
            low = {"lower": low, "higher": high, "nearest": np.rint(at)}[method]
            share = np.zeros(np.shape(low))
    elif method in ("inverted_cdf", "averaged_inverted_cdf"):
        at = n * q - 1
        low = np.floor(at)
        share = np.where(at - low > 0, 1.0, 0.5 if method.startswith("averaged") else 0.0)
    elif method == "closest_observation":
        at = n * q - 1 - 0.5
        low = np.floor(at)
        share = np.where(np.equal(at, low) & np.equal(low % 2, 0), 0.0, 1.0)
    else:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {', '.join((*CONTINUOUS, *STEPS))}")
    first = np.clip(low, 0, n - 1).astype(np.intp)
    second = np.clip(low + 1, 0, n - 1).astype(np.intp)
    share = np.where(np.less(low, 0), 0.0, share)
    return first, second, share


@implements(np.quantile)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
    interpolation: Any = None,
) -> Value:
    refuse_keywords(
        "np.quantile", {"weights": weights, "interpolation": interpolation}, weights=None, interpolation=None
    )
    a, q = floating(a), as_array(q)
    if not is_traced(q) and not np.all((q >= 0) & (q <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    x, axes = to_front(a, axis)
    ordered = np.sort(x, axis=0)
    first, second, share = places(x.shape[0], q, method)
    below, above = take(ordered, first, axis=0), take(ordered, second, axis=0)
    share = np.reshape(share, np.shape(share) + (1,) * (ordered.ndim - 1))
    z = _nan_if(np.isnan(ordered[-1]), convert(below + (above - below) * share, a.dtype))
    if given(keepdims):
        kept = tuple(1 if i in axes else n for i, n in enumerate(a.shape))
        z = np.reshape(z, (*q.shape, *kept))
    return into(out, z)


@implements(np.percentile)
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
    interpolation: Any = None,
) -> Value:
    return quantile(
        a, as_array(q) / 100, axis, out, overwrite_input, method, keepdims, weights=weights, interpolation=interpolation
    )


@implements(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Value:
    x = _variables(m, rowvar, dtype)
    if y is not None:
        x = np.concatenate([x, _variables(y, rowvar, dtype)], axis=0)
    ddof = (0 if bias else 1) if ddof is None else operator.index(ddof)
    weights: Value = None
    for w in (fweights, aweights):
        if w is not None:
            weights = as_array(w) if weights is None else weights * as_array(w)
    total: Value = x.shape[1] if weights is None else np.sum(weights)
    mean = np.sum(x if weights is None else x * weights, axis=1, keepdims=True) / total
    if weights is None:
        count: Value = total - ddof
    elif aweights is None:
        count = total - ddof
    else:
        count = total - ddof * np.sum(weights * as_array(aweights)) / total
    gap = x - mean
    other = np.conjugate(gap) if gap.dtype.kind == "c" else gap
    return np.squeeze(np.matmul(gap, np.transpose(other if weights is None else other * weights)) / count)


def _variables(m: Any, rowvar: bool, dtype: Any) -> Value:
    """One variable in each row."""
    x = floating(m) if dtype is None else convert(as_array(m), dtype)
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    x = np.atleast_2d(x)
    return x if rowvar or (x.shape[0] == 1 and np.ndim(m) == 1) else np.transpose(x)


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Value:
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    scale = np.sqrt(np.real(np.diagonal(c)))
    return c / np.expand_dims(scale, 1) / np.expand_dims(scale, 0)


@implements(np.histogram, np.histogram2d, np.histogramdd, np.histogram_bin_edges)
def histogram(*args: Any, **kwargs: Any) -> Any:
    raise UnsupportedError(
        f"A histogram of traced values, at {describe(here())}: counts have no derivative. Take it of the plain data "
        "outside, or use a smooth kernel; "
        "sums of traced weights over bins are np.bincount(np.digitize(data, edges), weights)."
    )
