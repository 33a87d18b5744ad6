"""Medians and quantiles: elements of the array in order, and mixtures of two neighbors.

With weights, the q-quantile is the first element at which the weights so far reach the share q of all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import (
    NO_VALUE,
    as_array,
    implements,
    into,
    is_traced,
    normal_axes,
    refuse_keywords,
    refuse_truth,
)
from adjoint.numpy.indexing import take
from adjoint.numpy.shaping import convert
from adjoint.program.types import Value

# (alpha, beta) of Hyndman and Fan's continuous quantiles: the q-quantile stands at position n q + alpha + q (1 - alpha
# - beta) - 1
CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
CHOOSING = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")  # one element, never a mixture
STEPS = (*CHOOSING, "midpoint", "averaged_inverted_cdf")
SMALL = 256  # so many elements are sorted; more are only parted at the positions that are read


def given(value: Any) -> bool:
    """Whether a keyword was given a value that means something."""
    return value is not NO_VALUE and bool(value)


def floating(a: Any) -> Value:
    """An array of floats: integers are converted."""
    a = as_array(a)
    return convert(a, np.float64) if a.dtype.kind in "biu" else a


def to_front(a: Value, axis: Any) -> tuple[Value, tuple[int, ...]]:
    """The axes to reduce as one axis in front; and which they were."""
    axes = normal_axes(axis, a.ndim)
    rest = [i for i in range(a.ndim) if i not in axes]
    return np.reshape(
        np.transpose(a, (*axes, *rest)), (math.prod(a.shape[i] for i in axes), *[a.shape[i] for i in rest])
    ), axes


def nan_if(condition: Value, z: Value) -> Value:
    """z, and NaN where the condition holds."""
    return np.where(condition, z.dtype.type(np.nan), z) if z.dtype.kind in "fc" else z


def ordered(x: Value, *positions: Value) -> Value:
    """x sorted along the first axis, or at least right at the positions that will be read and at the last one."""
    n = x.shape[0]
    if n <= SMALL or is_traced(positions):
        return np.sort(x, axis=0)
    return np.partition(x, np.unique(np.concatenate([*map(np.ravel, positions), [n - 1]])), axis=0)


@implements(np.median)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Value:
    a = floating(a)
    x, axes = to_front(a, axis)
    n = x.shape[0]
    if n == 0:
        z = np.full(x.shape[1:], np.nan, a.dtype)
        return into(out, np.expand_dims(z, axes) if given(keepdims) else z)
    upper, lower = n // 2, (n - 1) // 2
    parts = ordered(x, np.array([lower, upper]))
    z = parts[upper] if n % 2 else 0.5 * (parts[lower] + parts[upper])
    z = nan_if(np.isnan(parts[-1]), z)
    return into(out, np.expand_dims(z, axes) if given(keepdims) else z)


def bracket(n: Value, q: Value, method: str) -> tuple[Value, Value, Value]:
    """The two positions in a sorted vector of n elements between which the q-quantile stands, and the share of the
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
        share = np.where(np.equal(at, low) & np.equal(low % 2, 1), 0.0, 1.0)
    else:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {', '.join((*CONTINUOUS, *STEPS))}")
    first = np.clip(low, 0, n - 1).astype(np.intp)
    second = np.clip(low + 1, 0, n - 1).astype(np.intp)
    share = np.where(np.less(low, 0), 0.0, share)
    return first, second, share


def checked_q(q: Any, a: Value, percent: bool = False) -> tuple[Value, np.dtype[Any]]:
    """q as an array of shares, and the dtype of a mixture: a Python number does not promote."""
    weak = type(q) in (int, float)
    q = as_array(q)
    q = convert(q, a.dtype if weak and a.dtype.kind == "f" else np.float64) if q.dtype.kind != "f" or weak else q
    q = q / q.dtype.type(100) if percent else q
    if not is_traced(q) and not np.all((q >= 0) & (q <= 1)):
        raise ValueError(
            "Percentiles must be in the range [0, 100]" if percent else "Quantiles must be in the range [0, 1]"
        )
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    return q, np.result_type(a.dtype, q.dtype)


def checked_weights(a: Value, axis: Any, weights: Any, method: str) -> Value:
    """Weights in the shape of a, with the axes to reduce in front as one."""
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    weights = as_array(weights)
    if weights.shape != a.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        axes = [i % a.ndim for i in (axis if isinstance(axis, tuple) else (axis,))]
        if weights.shape != tuple(a.shape[i] for i in axes):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        weights = np.transpose(weights, tuple(np.argsort(axes)))
        weights = np.reshape(weights, tuple(n if i in axes else 1 for i, n in enumerate(a.shape)))
        weights = np.broadcast_to(weights, a.shape)
    negative = np.any(np.less(weights, 0))
    if not is_traced(negative) and negative:
        raise ValueError("Weights must be non-negative.")
    return to_front(weights, axis)[0]


def by_weights(x: Value, weights: Value, q: Value, count: Value) -> Value:
    """The weighted quantiles along the first axis, of whose elements in order the first `count` are numbers."""
    order = np.argsort(x, axis=0)
    reached = np.cumsum(np.take_along_axis(weights, order, 0), axis=0, dtype=np.float64)
    reached = reached / reached[-1]
    wrong = np.any(np.isnan(reached[-1]))
    if not is_traced(wrong) and wrong:
        raise ValueError("Weights included NaN, inf or were all zero.")
    flat = np.reshape(q, (q.size,) + (1,) * x.ndim)
    before = np.logical_or(np.less(reached, flat), np.equal(reached, 0))  # weights of zero in front do not count
    position = np.minimum(np.sum(before, axis=1), count - 1)
    z = np.take_along_axis(np.take_along_axis(x, order, 0), position, 0)
    return np.reshape(z, (*q.shape, *x.shape[1:]))


def kept_axes(z: Value, q: Value, a: Value, axes: tuple[int, ...], keepdims: Any) -> Value:
    """z with axes of length one where a was reduced, behind those of q."""
    kept = tuple(1 if i in axes else n for i, n in enumerate(a.shape))
    return np.reshape(z, (*q.shape, *kept)) if given(keepdims) else z


def _quantile(a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: Any, weights: Any, percent: bool) -> Value:
    a = as_array(a)
    if method not in CHOOSING:
        refuse_truth(a, "np.percentile" if percent else "np.quantile")
        a = convert(a, np.float64) if a.dtype.kind in "iu" else a
    q, mixed = checked_q(q, a, percent)
    x, axes = to_front(a, axis)
    if weights is not None:
        z = by_weights(x, checked_weights(a, axis, weights, method), q, x.shape[0])
        last = np.max(x, axis=0)  # NaN if any element is
    else:
        first, second, share = bracket(x.shape[0], q, method)
        if method in CHOOSING:
            one = np.where(np.equal(share, 1), second, first)
            parts = ordered(x, one)
            z = take(parts, one, axis=0)
        else:
            parts = ordered(x, first, second)
            below, above = take(parts, first, axis=0), take(parts, second, axis=0)
            share = np.reshape(share, np.shape(share) + (1,) * (parts.ndim - 1))
            z = convert(below + (above - below) * share, mixed)
        last = parts[-1]
    return into(out, kept_axes(nan_if(np.isnan(last), z), q, a, axes, keepdims))


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
    refuse_keywords("np.quantile", {"interpolation": interpolation}, interpolation=None)
    return _quantile(a, q, axis, out, method, keepdims, weights, False)


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
    refuse_keywords("np.percentile", {"interpolation": interpolation}, interpolation=None)
    return _quantile(a, q, axis, out, method, keepdims, weights, True)
