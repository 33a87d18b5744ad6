"""Relations between samples: correlation, lines of regression, entropies, distances of distributions, ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.special
import scipy.stats

from adjoint.base.errors import UnsupportedError
from adjoint.base.records import record
from adjoint.program.types import Value
from adjoint.scipy.arguments import constant, demand, floating, for_traced, read
from adjoint.scipy.stats.reductions import centered, check_policy, gathered, kept


def _chance(value: Value, alternative: str, below: Any) -> Value:
    """The p-value of a statistic whose distribution is symmetric about 0, from its distribution function."""
    if alternative not in ("two-sided", "less", "greater"):
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    if alternative == "two-sided":
        return 2.0 * below(-np.abs(value))
    return below(value if alternative == "less" else -value)


class PearsonRResult(NamedTuple):
    """What `pearsonr` gives."""

    statistic: Any
    pvalue: Any

    @property
    def correlation(self) -> Any:
        """The same as `statistic`."""
        return self.statistic


@for_traced(scipy.stats)
def pearsonr(
    x: Any, y: Any, *, alternative: str = "two-sided", method: Any = None, axis: int | None = 0
) -> PearsonRResult:
    """r = (x - x̄)·(y - ȳ) / (|x - x̄| |y - ȳ|), and the chance of one as large without correlation."""
    if method is not None:
        raise UnsupportedError("pearsonr: method= draws samples, which has no derivative rule. Leave it out.")
    x, y = np.broadcast_arrays(floating(x), floating(y))
    if x.dtype.kind == "c" or y.dtype.kind == "c":
        raise ValueError("This function does not support complex data")
    x, y = gathered(x, axis), gathered(y, axis)
    n = x.shape[-1]
    if n < 2:
        raise ValueError("`x` and `y` must have length at least 2.")
    x, y = centered(x), centered(y)
    norms = np.sqrt(np.sum(x * x, axis=-1)) * np.sqrt(np.sum(y * y, axis=-1))
    r = np.clip(np.sum(x * y, axis=-1) / norms, -1.0, 1.0)
    if n == 2:
        return PearsonRResult(np.round(r), 0.0 * r + 1.0)
    half = n / 2 - 1  # r is distributed as 2 b - 1, b as Beta(half, half)
    return PearsonRResult(r, _chance(r, alternative, lambda r: scipy.special.betainc(half, half, (1.0 + r) / 2.0)))


class SignificanceResult(NamedTuple):
    """A statistic and its p-value."""

    statistic: Any
    pvalue: Any

    @property
    def correlation(self) -> Any:
        """The same as `statistic`."""
        return self.statistic


@for_traced(scipy.stats)
def pointbiserialr(
    x: Any, y: Any, *, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> SignificanceResult:
    """The correlation of truth values x and numbers y."""
    x, y = floating(x), floating(y)
    check_policy("pointbiserialr", nan_policy, x, y)
    r, p = pearsonr(x, y, axis=axis)
    return SignificanceResult(*[kept(part, y.ndim, axis) if keepdims else part for part in (r, p)])


@record
class LinregressResult:
    """What `linregress` gives: five numbers to unpack, and the standard error of the intercept."""

    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any
    intercept_stderr: Any

    def __iter__(self) -> Iterator[Any]:
        return iter((self.slope, self.intercept, self.rvalue, self.pvalue, self.stderr))

    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]

    def __len__(self) -> int:
        return 5


@for_traced(scipy.stats)
def linregress(
    x: Any,
    y: Any,
    alternative: str = "two-sided",
    *,
    axis: int | None = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> LinregressResult:
    """The line of least squares, y ≈ slope x + intercept, with correlation, p-value of slope 0 and standard errors."""
    x, y = np.broadcast_arrays(floating(x), floating(y))
    check_policy("linregress", nan_policy, x, y)
    ndim = x.ndim
    x, y = gathered(x, axis), gathered(y, axis)
    n = x.shape[-1]
    demand(
        np.max(x, axis=-1) != np.min(x, axis=-1),
        "Cannot calculate a linear regression if all x values are identical",
    )
    middle_x, middle_y = np.mean(x, axis=-1), np.mean(y, axis=-1)
    gap_x, gap_y = centered(x), centered(y)
    xx, xy, yy = (np.mean(a * b, axis=-1) for a, b in ((gap_x, gap_x), (gap_x, gap_y), (gap_y, gap_y)))
    slope = xy / xx
    flat = yy == 0
    r = np.where(flat, np.where(xy == 0, np.nan, 0.0), np.clip(xy / np.sqrt(np.where(flat, 1.0, xx * yy)), -1.0, 1.0))
    if n == 2:
        p, error = np.where(y[..., 0] == y[..., 1], 1.0, 0.0), 0.0 * slope
    else:
        t = r * np.sqrt((n - 2) / ((1.0 - r + 1e-20) * (1.0 + r + 1e-20)))
        p = _chance(t, alternative, lambda t: scipy.special.stdtr(n - 2.0, t))
        error = np.sqrt((1.0 - r**2) * yy / xx / (n - 2))
    parts = (slope, middle_y - slope * middle_x, r, p, error, error * np.sqrt(xx + middle_x**2))
    return LinregressResult(*[kept(part, ndim, axis) if keepdims else part for part in parts])


@for_traced(scipy.stats)
def entropy(
    pk: Any,
    qk: Any = None,
    base: float | None = None,
    axis: Any = 0,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Value:
    """-Σ p log p, or Σ p log(p / q), of probabilities that are scaled to sum 1."""
    constant("entropy", base=base)
    if base is not None and base <= 0:
        raise ValueError("`base` must be a positive number or `None`.")
    p = floating(pk)
    q = None if qk is None else floating(qk)
    check_policy("entropy", nan_policy, *([p] if q is None else [p, q]))
    if q is not None:
        p, q = np.broadcast_arrays(p, q)
    ndim = p.ndim
    scaled = lambda x: gathered(x, axis) / np.sum(gathered(x, axis), axis=-1, keepdims=True)
    terms = scipy.special.entr(scaled(p)) if q is None else scipy.special.rel_entr(scaled(p), scaled(q))
    total = np.sum(terms, axis=-1) / (1.0 if base is None else math.log(base))
    return kept(total, ndim, axis) if keepdims else total


def _cumulative(values: Value, weights: Any, at: Value) -> Value:
    """The share of the values up to each point, by weight."""
    order = np.argsort(values)
    count = np.searchsorted(read(values, order), at, side="right")
    if weights is None:
        return count / values.shape[0]
    sums = np.concatenate([np.zeros(1), np.cumsum(read(weights, order))])
    return read(sums, count) / sums[-1]


def _samples(call: str, values: Any, weights: Any) -> tuple[Value, Any]:
    values = floating(values)
    if values.ndim != 1 or values.shape[0] == 0:
        raise ValueError(f"{call}: distribution can't be empty, and has one axis; got shape {values.shape}.")
    if weights is None:
        return values, None
    weights = floating(weights)
    if weights.shape != values.shape:
        raise ValueError("Value and weight array-likes for the same empirical distribution must be of the same size.")
    demand(weights >= 0, "All weights must be non-negative.")
    return values, weights


def _distance(call: str, p: int, u: tuple[Any, Any], v: tuple[Any, Any]) -> Value:
    """(∫ |U - V|ᵖ dx)^(1/p), of the distribution functions of two samples."""
    (x, a), (y, b) = _samples(call, *u), _samples(call, *v)
    points = np.sort(np.concatenate([x, y]))
    gap = _cumulative(x, a, points[:-1]) - _cumulative(y, b, points[:-1])
    total = np.sum((np.abs(gap) if p == 1 else gap**2) * np.diff(points))
    if p == 1:
        return total
    zero = total == 0
    return np.where(zero, 0.0, np.sqrt(np.where(zero, 1.0, total)))


@for_traced(scipy.stats)
def wasserstein_distance(u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None) -> Value:
    """∫ |U - V| dx, of the distribution functions of two samples: the earth mover's distance."""
    return _distance("wasserstein_distance", 1, (u_values, u_weights), (v_values, v_weights))


@for_traced(scipy.stats)
def energy_distance(u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None) -> Value:
    """√(2 ∫ (U - V)² dx), of the distribution functions of two samples."""
    return math.sqrt(2.0) * _distance("energy_distance", 2, (u_values, u_weights), (v_values, v_weights))


@for_traced(scipy.stats)
def rankdata(a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Value:
    """The position of each sample in ascending order, from 1: constant but for its steps."""
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f'unknown method "{method}"')
    a = floating(a)
    check_policy("rankdata", nan_policy, a)
    x = gathered(a, axis)
    order = np.argsort(x, axis=-1, stable=True)
    back = np.argsort(order, axis=-1)
    rank = np.arange(x.shape[-1])
    if method == "ordinal":
        ranks = back + 1
    else:
        ascending = np.take_along_axis(x, order, axis=-1)
        first = np.concatenate([np.ones((*x.shape[:-1], 1), bool), ascending[..., 1:] != ascending[..., :-1]], axis=-1)
        last = np.concatenate([first[..., 1:], np.ones((*x.shape[:-1], 1), bool)], axis=-1)
        least = np.maximum.accumulate(np.where(first, rank, 0), axis=-1)
        most = np.minimum.accumulate(np.where(last, rank, x.shape[-1])[..., ::-1], axis=-1)[..., ::-1]
        chosen = {
            "average": lambda: (least + most) / 2.0 + 1.0,
            "min": lambda: least + 1,
            "max": lambda: most + 1,
            "dense": lambda: np.cumsum(first, axis=-1),
        }[method]()
        ranks = np.take_along_axis(chosen, back, axis=-1)
    if axis is not None:
        ranks = np.moveaxis(ranks, -1, axis)
    return ranks
