"""Moments and what is made of them: variance, skewness, kurtosis, standard scores, k-statistics."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from adjoint.program.types import Value
from adjoint.scipy.arguments import array, constant, floating, for_traced
from adjoint.scipy.stats.reductions import centered, check_policy, gathered, kept, mean, statistic


def central(x: Value, order: int) -> Value:
    """The mean of (x - x̄)ⁿ."""
    return np.mean(centered(x) ** order, axis=-1)


def variance(x: Value, ddof: Any = 0) -> Value:
    """Σ (x - x̄)² / (n - ddof)."""
    return np.sum(centered(x) ** 2, axis=-1) / (x.shape[-1] - ddof)


def deviation(x: Value, ddof: Any = 0) -> Value:
    """The root of the variance, with derivative 0 where it is 0."""
    squares = variance(x, ddof)
    zero = squares == 0
    return np.where(zero, 0.0, np.sqrt(np.where(zero, 1.0, squares)))


@for_traced(scipy.stats)
def moment(
    a: Any, order: Any = 1, axis: Any = 0, nan_policy: str = "propagate", *, center: Any = None, keepdims: bool = False
) -> Value:
    """The mean of (a - center)ⁿ, about the mean unless a center is given; several orders along a first axis."""
    a = floating(a)
    check_policy("moment", nan_policy, a)
    constant("moment", order=order)
    orders = np.asarray(order)
    if orders.size == 0:
        raise ValueError("`order` must be a scalar or a non-empty 1D array.")
    if np.any(orders != np.round(orders)):
        raise ValueError("All elements of `order` must be integral.")
    x = gathered(a, axis)
    rows = [_moment(x, int(n), center) for n in np.atleast_1d(orders)]
    rows = [kept(row, a.ndim, axis) if keepdims else row for row in rows]
    return np.stack(rows) if orders.ndim else rows[0]


def _moment(x: Value, order: int, center: Any) -> Value:
    if order == 0:
        return 0.0 * np.mean(x, axis=-1) + 1.0
    if center is None:
        return central(x, order) if order > 1 else 0.0 * np.mean(x, axis=-1)
    center = floating(center)
    return np.mean((x - (np.expand_dims(center, -1) if center.ndim else center)) ** order, axis=-1)


def _spread(x: Value) -> tuple[Value, Value]:
    """The second moment, and whether it is 0 but for rounding."""
    second = central(x, 2)
    zero = second <= (np.finfo(x.dtype).eps * np.mean(x, axis=-1)) ** 2
    return np.where(zero, 1.0, second), zero


@statistic()
def skew(a: Value, bias: bool = True) -> Value:
    """m₃ / m₂^(3/2), times √(n (n - 1)) / (n - 2) without bias."""
    n, (second, zero) = a.shape[-1], _spread(a)
    factor = math.sqrt(n * (n - 1.0)) / (n - 2.0) if not bias and n > 2 else 1.0
    return np.where(zero, np.nan, factor * central(a, 3) / second**1.5)


@statistic()
def kurtosis(a: Value, fisher: bool = True, bias: bool = True) -> Value:
    """m₄ / m₂² (- 3 for Fisher's), with an adjustment without bias."""
    n, (second, zero) = a.shape[-1], _spread(a)
    ratio = central(a, 4) / second**2
    if not bias and n > 3:
        ratio = ((n**2 - 1.0) * ratio - 3.0 * (n - 1.0) ** 2) / ((n - 2.0) * (n - 3.0)) + 3.0
    return np.where(zero, np.nan, ratio - 3.0 if fisher else ratio)


@statistic()
def sem(a: Value, ddof: Any = 1) -> Value:
    """The standard error of the mean: the standard deviation over √n."""
    return deviation(a, ddof) / math.sqrt(a.shape[-1])


@statistic()
def variation(a: Value, ddof: Any = 0) -> Value:
    """The standard deviation over the mean."""
    return deviation(a, ddof) / np.mean(a, axis=-1)


@statistic()
def gstd(a: Value, ddof: Any = 1) -> Value:
    """exp of the standard deviation of the logarithms."""
    return np.exp(deviation(np.log(a), ddof))


@for_traced(scipy.stats)
def zmap(scores: Any, compare: Any, axis: Any = 0, ddof: Any = 0, nan_policy: str = "propagate") -> Value:
    """(scores - mean) / standard deviation, of those of `compare`."""
    same = scores is compare
    scores, compare = floating(scores), floating(compare)
    check_policy("zmap", nan_policy, scores, compare)
    x = gathered(compare, axis)
    middle, width = (kept(part, compare.ndim, axis) for part in (mean(x), deviation(x, ddof)))
    if not same:
        return (scores - middle) / width
    zero = width <= np.abs(np.finfo(compare.dtype).eps * middle)
    return np.where(zero, np.nan, (scores - middle) / np.where(zero, 1.0, width))


@for_traced(scipy.stats)
def zscore(a: Any, axis: Any = 0, ddof: Any = 0, nan_policy: str = "propagate") -> Value:
    """(a - mean) / standard deviation."""
    a = array(a)
    return zmap(a, a, axis, ddof, nan_policy)


@for_traced(scipy.stats)
def gzscore(a: Any, *, axis: Any = 0, ddof: Any = 0, nan_policy: str = "propagate") -> Value:
    """The standard scores of the logarithms."""
    return zscore(np.log(floating(a)), axis, ddof, nan_policy)


@statistic(axis=None)
def kstat(data: Value, n: int = 2) -> Value:
    """Fisher's k-statistic: the unbiased estimate of cumulant n, for n up to 4."""
    if n not in (1, 2, 3, 4):
        raise ValueError("k-statistics only supported for 1<=n<=4")
    size = data.shape[-1]
    if n == 1:
        return np.mean(data, axis=-1)
    second = central(data, 2)
    if n == 2:
        return second * size / (size - 1.0)
    if n == 3:
        return central(data, 3) * size**2 / ((size - 1.0) * (size - 2.0))
    whole = (size + 1.0) * central(data, 4) - 3.0 * (size - 1.0) * second**2
    return whole * size**2 / ((size - 1.0) * (size - 2.0) * (size - 3.0))


@statistic(axis=None)
def kstatvar(data: Value, n: int = 2) -> Value:
    """The unbiased estimate of the variance of k-statistic n, for n = 1 or 2."""
    size = data.shape[-1]
    if n == 1:
        return kstat(data, 2, axis=-1) / size
    if n != 2:
        raise ValueError("Only n=1 or n=2 supported.")
    second, fourth = kstat(data, 2, axis=-1), kstat(data, 4, axis=-1)
    return (2.0 * size * second**2 + (size - 1.0) * fourth) / (size * (size + 1.0))


class DescribeResult(NamedTuple):
    """What `describe` gives."""

    nobs: Any
    minmax: tuple[Any, Any]
    mean: Any
    variance: Any
    skewness: Any
    kurtosis: Any


@for_traced(scipy.stats)
def describe(
    a: Any, axis: int | None = 0, ddof: Any = 1, bias: bool = True, nan_policy: str = "propagate"
) -> DescribeResult:
    """Number, least and largest, mean, variance, skewness and kurtosis."""
    a = floating(a)
    check_policy("describe", nan_policy, a)
    x = gathered(a, axis)
    ends = np.min(x, axis=-1), np.max(x, axis=-1)
    return DescribeResult(
        x.shape[-1],
        ends,
        np.mean(x, axis=-1),
        variance(x, ddof),
        skew(x, axis=-1, bias=bias),
        kurtosis(x, axis=-1, bias=bias),
    )
