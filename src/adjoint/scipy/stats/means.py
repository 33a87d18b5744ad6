"""Means of every kind, trimmed and limited samples, robust widths, directions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.stats

from adjoint.base.records import record
from adjoint.program.types import Value
from adjoint.scipy.arguments import along, constant, demand, floating, for_traced
from adjoint.scipy.stats.moments import variance
from adjoint.scipy.stats.reductions import gathered, mean, statistic

NORMAL = 1.3489795003921634  # between the quartiles of the standard normal distribution


@statistic()
def gmean(a: Value, dtype: Any = None, weights: Any = None) -> Value:
    """exp of the mean of log a."""
    a = a if dtype is None else a.astype(dtype)
    return np.exp(mean(np.log(a), weights))


def _not_negative(a: Value) -> Value:
    """a with NaN for what is negative."""
    return np.where(a < 0, np.nan, a)


@statistic()
def hmean(a: Value, dtype: Any = None, weights: Any = None) -> Value:
    """1 / the mean of 1 / a."""
    a = a if dtype is None else a.astype(dtype)
    return 1.0 / mean(1.0 / _not_negative(a), weights)


@statistic()
def pmean(a: Value, p: Any, dtype: Any = None, weights: Any = None) -> Value:
    """(the mean of aᵖ)^(1/p), and the geometric mean for p = 0."""
    constant("pmean", p=p)
    if not isinstance(p, int | float):
        raise ValueError("Power mean only defined for exponent of type int or float.")
    if math.isinf(p):
        raise NotImplementedError("Power mean only implemented for finite `p`")
    a = _not_negative(a if dtype is None else a.astype(dtype))
    if p == 0:
        return np.exp(mean(np.log(a), weights))
    return mean(a ** float(p), weights) ** (1.0 / p)


def _cut(a: Any, low: int, high: int, axis: int) -> Value:
    """The samples from number `low` to number `high` in ascending order."""
    return along(np.sort(a, axis=axis), axis, low, high)


def _flat(a: Any, axis: int | None) -> tuple[Value, int]:
    a = floating(a)
    return (np.reshape(a, (-1,)), 0) if axis is None else (a, axis)


@for_traced(scipy.stats)
def trimboth(a: Any, proportiontocut: float, axis: int | None = 0) -> Value:
    """The samples without the least and the largest ones, in ascending order. (SciPy's have no order.)"""
    a, axis = _flat(a, axis)
    constant("trimboth", proportiontocut=proportiontocut)
    n = a.shape[axis]
    low = int(proportiontocut * n)
    if low >= n - low:
        raise ValueError("Proportion too big.")
    return _cut(a, low, n - low, axis)


@for_traced(scipy.stats)
def trim1(a: Any, proportiontocut: float, tail: str = "right", axis: int | None = 0) -> Value:
    """The samples without the largest ones, or the least (tail="left"), in ascending order."""
    a, axis = _flat(a, axis)
    constant("trim1", proportiontocut=proportiontocut)
    if tail.lower() not in ("right", "left"):
        raise ValueError(f"trim1: tail must be 'right' or 'left', not {tail!r}.")
    n = a.shape[axis]
    cut = min(int(proportiontocut * n), n)
    return _cut(a, 0, n - cut, axis) if tail.lower() == "right" else _cut(a, cut, n, axis)


@statistic(order=True)
def trim_mean(a: Value, proportiontocut: float) -> Value:
    """The mean without the least and the largest samples."""
    constant("trim_mean", proportiontocut=proportiontocut)
    n = a.shape[-1]
    low = int(proportiontocut * n)
    if low > n - low:
        raise ValueError("Proportion too big.")
    return np.mean(_cut(a, low, n - low, -1), axis=-1)


def _within(a: Value, limits: Any, inclusive: Any) -> Value:
    """Whether samples stand within limits."""
    low, high = (None, None) if limits is None else limits
    inside = np.ones(a.shape, bool)
    if low is not None:
        inside = inside & ((a >= low) if inclusive[0] else (a > low))
    if high is not None:
        inside = inside & ((a <= high) if inclusive[1] else (a < high))
    if low is not None or high is not None:
        demand(np.any(inside | np.isnan(a)), "No array values within given limits")
    return inside


@statistic(axis=None, order=True)
def tmean(a: Value, limits: Any = None, inclusive: Any = (True, True)) -> Value:
    """The mean of the samples within limits."""
    inside = _within(a, limits, inclusive)
    return np.sum(np.where(inside, a, 0.0), axis=-1) / np.sum(inside, axis=-1)


def _limited(a: Value, limits: Any, inclusive: Any, ddof: Any) -> tuple[Value, Value]:
    """The variance of the samples within limits, and how many they are."""
    inside = _within(a, limits, inclusive)
    n = np.sum(inside, axis=-1)
    middle = np.sum(np.where(inside, a, 0.0), axis=-1) / n
    gaps = np.where(inside, a - np.expand_dims(middle, -1), 0.0)
    return np.sum(gaps**2, axis=-1) / (n - ddof), n


@statistic(order=True)
def tvar(a: Value, limits: Any = None, inclusive: Any = (True, True), ddof: Any = 1) -> Value:
    """The variance of the samples within limits."""
    return _limited(a, limits, inclusive, ddof)[0]


@statistic(order=True)
def tstd(a: Value, limits: Any = None, inclusive: Any = (True, True), ddof: Any = 1) -> Value:
    """The standard deviation of the samples within limits."""
    return np.sqrt(_limited(a, limits, inclusive, ddof)[0])


@statistic(order=True)
def tsem(a: Value, limits: Any = None, inclusive: Any = (True, True), ddof: Any = 1) -> Value:
    """The standard error of the mean of the samples within limits."""
    squares, n = _limited(a, limits, inclusive, ddof)
    return np.sqrt(squares / n)


@statistic(order=True)
def tmin(a: Value, lowerlimit: Any = None, inclusive: bool = True) -> Value:
    """The least sample that is not below a limit."""
    inside = _within(a, (lowerlimit, None), (inclusive, True))
    return np.where(np.any(inside, axis=-1), np.min(np.where(inside, a, np.inf), axis=-1), np.nan)


@statistic(order=True)
def tmax(a: Value, upperlimit: Any = None, inclusive: bool = True) -> Value:
    """The largest sample that is not above a limit."""
    inside = _within(a, (None, upperlimit), (True, inclusive))
    return np.where(np.any(inside, axis=-1), np.max(np.where(inside, a, -np.inf), axis=-1), np.nan)


@statistic(axis=None)
def iqr(x: Value, rng: Any = (25, 75), scale: Any = 1.0, interpolation: str = "linear") -> Value:
    """The difference of two percentiles, over a scale: that of the quartiles, or of the normal distribution."""
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} not a valid scale for `iqr`")
        scale = NORMAL
    constant("iqr", rng=rng)
    if len(rng) != 2:
        raise TypeError("`rng` must be a two element sequence.")
    low, high = sorted(float(part) / 100.0 for part in rng)
    if math.isnan(low + high):
        raise ValueError("`rng` must not contain NaNs.")
    if low < 0 or high > 1:
        raise ValueError("Elements of `rng` must be in the range [0, 100].")
    ends = np.quantile(x, np.array([low, high]), axis=-1, method=interpolation)  # type: ignore[call-overload]
    return (ends[1] - ends[0]) / scale


@statistic()
def median_abs_deviation(x: Value, center: Any = None, scale: Any = 1.0) -> Value:
    """The median of the distances from the median, or from another center, over a scale."""
    if center is not None and not callable(center):
        raise TypeError(f"The argument 'center' must be callable. The given value {center!r} is not callable.")
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} is not a valid scale value.")
        scale = NORMAL / 2.0
    middle: Any = (np.median if center is None else center)(x, axis=-1)
    return np.median(np.abs(x - np.expand_dims(middle, -1)), axis=-1) / scale


@for_traced(scipy.stats)
def scoreatpercentile(
    a: Any, per: Any, limit: Any = (), interpolation_method: str = "fraction", axis: int | None = None
) -> Value:
    """The samples at percentiles."""
    a, axis = _flat(a, axis)
    constant("scoreatpercentile", per=per, limit=limit)
    if limit:
        inside = (a >= limit[0]) & (a <= limit[1])
        a = np.reshape(a[inside], (-1,))
        axis = 0
    methods = {"fraction": "linear", "lower": "lower", "higher": "higher"}
    if interpolation_method not in methods:
        raise ValueError("interpolation_method can only be 'fraction', 'lower' or 'higher'")
    if np.any(np.asarray(per) < 0) or np.any(np.asarray(per) > 100):
        raise ValueError("percentile must be in the range [0, 100]")
    method: Any = methods[interpolation_method]
    return np.percentile(a, np.asarray(per), axis=axis, method=method)


def _resultant(samples: Value, high: Any, low: Any) -> tuple[Value, Value]:
    """The mean of (sin, cos) of angles on a circle of length high - low."""
    angle = samples * (2.0 * np.pi / (high - low))
    return np.mean(np.sin(angle), axis=-1), np.mean(np.cos(angle), axis=-1)


@statistic(axis=None)
def circmean(samples: Value, high: Any = 2 * np.pi, low: Any = 0) -> Value:
    """The mean of angles, between low and high."""
    period = high - low
    sine, cosine = _resultant(samples, high, low)
    return (np.arctan2(sine, cosine) * (period / (2.0 * np.pi)) - low) % period + low


@statistic(axis=None)
def circvar(samples: Value, high: Any = 2 * np.pi, low: Any = 0) -> Value:
    """1 - the length of the mean of (sin, cos) of angles."""
    return 1.0 - np.minimum(np.hypot(*_resultant(samples, high, low)), 1.0)


@statistic(axis=None)
def circstd(samples: Value, high: Any = 2 * np.pi, low: Any = 0, normalize: bool = False) -> Value:
    """√(-2 log of the length of the mean of (sin, cos)), of angles."""
    length = np.minimum(np.hypot(*_resultant(samples, high, low)), 1.0)
    width = np.sqrt(-2.0 * np.log(length))
    return width if normalize else width * ((high - low) / (2.0 * np.pi))


@record
class DirectionalStats:
    """What `directional_stats` gives."""

    mean_direction: Any
    mean_resultant_length: Any


@for_traced(scipy.stats)
def directional_stats(samples: Any, *, axis: int = 0, normalize: bool = True) -> DirectionalStats:
    """The direction and the length of the mean of unit vectors, which stand along the last axis."""
    samples = floating(samples)
    if samples.ndim < 2:
        raise ValueError(f"samples must at least be two-dimensional. Instead samples has shape: {samples.shape}")
    samples = np.moveaxis(samples, axis, 0)
    if normalize:
        samples = samples / np.linalg.norm(samples, axis=-1, keepdims=True)
    middle = np.mean(samples, axis=0)
    length = np.linalg.norm(middle, axis=-1, keepdims=True)
    return DirectionalStats(middle / length, np.squeeze(length, -1))


@for_traced(scipy.stats)
def obrientransform(*samples: Any) -> Value:
    """((n - 1.5) n (x - x̄)² - Σ (x - x̄)² / 2) / ((n - 1)(n - 2)) of each of samples of one length."""
    rows = [gathered(floating(sample), None) for sample in samples]
    if len({row.shape for row in rows}) > 1:
        raise ValueError("obrientransform: traced samples must have one length, so that they make an array.")
    out: list[Value] = []
    for x in rows:
        n = x.shape[-1]
        squares = (x - np.mean(x)) ** 2
        out.append(((n - 1.5) * n * squares - 0.5 * (n - 1.0) * variance(x, 1)) / ((n - 1.0) * (n - 2.0)))
    return np.stack(out)
