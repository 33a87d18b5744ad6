"""Histograms: sums of weights over bins. Counts have no derivative; weights, densities and edges have theirs.

    hₖ = Σ wᵢ  over all i with  eₖ ≤ xᵢ < eₖ₊₁   (the last bin holds its upper edge too)

An element that moves from one bin to the next makes a jump: in between, the derivative in x is that of the edges.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import as_array, implements, is_traced
from adjoint.numpy.indexing import plain_mask
from adjoint.numpy.shaping import convert
from adjoint.ops.arrays.index import ScatterSum
from adjoint.program.types import Value


def _ends(a: Value, range: Any) -> tuple[Value, Value]:
    """The first and the last edge: those of the data when no range is given."""
    if range is not None:
        first, last = range
        if not is_traced((first, last)):
            if first > last:
                raise ValueError("max must be larger than min in range parameter.")
            if not (np.isfinite(first) and np.isfinite(last)):
                raise ValueError(f"supplied range of [{first}, {last}] is not finite")
        first, last = as_array(first), as_array(last)
    elif a.shape[0] == 0:
        first, last = np.asarray(0.0), np.asarray(1.0)
    else:
        first, last = np.min(a), np.max(a)
        finite = np.logical_and(np.isfinite(first), np.isfinite(last))
        if not is_traced(finite) and not finite:
            raise ValueError(f"autodetected range of [{first}, {last}] is not finite")
    empty = np.equal(first, last)
    return np.where(empty, first - 0.5, first), np.where(empty, last + 0.5, last)


def _spread(x: Value) -> Value:
    return np.max(x) - np.min(x)


def _doane(x: Value) -> Value:
    n = x.shape[0]
    if n <= 2:
        return np.zeros(())
    error = math.sqrt(6.0 * (n - 2) / ((n + 1.0) * (n + 3)))
    sigma = np.std(x)
    skewness = np.mean(((x - np.mean(x)) / np.where(np.equal(sigma, 0), 1.0, sigma)) ** 3)
    width = _spread(x) / (1.0 + math.log2(n) + np.log2(1.0 + np.abs(skewness) / error))
    return np.where(np.greater(sigma, 0), width, 0.0)


def _freedman_diaconis(x: Value) -> Value:
    upper, lower = np.percentile(x, [75, 25])
    return 2.0 * (upper - lower) * x.shape[0] ** (-1.0 / 3.0)


def _sturges(x: Value) -> Value:
    return _spread(x) / (math.log2(x.shape[0]) + 1.0)


def _square_root(x: Value) -> Value:
    return _spread(x) / math.sqrt(x.shape[0])


def _auto(x: Value) -> Value:
    """The smaller width of Freedman and Diaconis (at least half of √n's) and Sturges."""
    return np.minimum(np.maximum(_freedman_diaconis(x), _square_root(x) / 2), _sturges(x))


# the width of a bin, from the data
WIDTHS: dict[str, Callable[[Value], Value]] = {
    "auto": _auto,
    "doane": _doane,
    "fd": _freedman_diaconis,
    "rice": lambda x: _spread(x) / (2.0 * x.shape[0] ** (1.0 / 3)),
    "scott": lambda x: (24.0 * math.pi**0.5 / x.shape[0]) ** (1.0 / 3.0) * np.std(x),
    "sqrt": _square_root,
    "sturges": _sturges,
}


def _number_of_bins(a: Value, name: str, ends: tuple[Value, Value], range: Any, weights: Any) -> int:
    """How many bins an estimator asks for: an integer, so Python must know it."""
    if name not in WIDTHS and name != "stone":
        raise ValueError(f"{name!r} is not a valid estimator for `bins`")
    if weights is not None:
        raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
    if range is not None:
        a = np.extract(np.logical_and(a >= ends[0], a <= ends[1]), a)
    if a.shape[0] == 0:
        return 1
    if name == "stone":
        known = plain_mask(a, "np.histogram(bins='stone')")  # it tries out hundreds of histograms
        return len(np.histogram_bin_edges(known, "stone", range)) - 1
    width = WIDTHS[name](a)
    count = np.ceil((ends[1] - ends[0]) / np.where(np.equal(width, 0), np.inf, width))
    return max(1, int(convert(count, np.intp)))


def _edges(a: Value, bins: Any, range: Any, weights: Any = None) -> Value:
    """The edges of the bins along one axis."""
    if isinstance(bins, str) or np.ndim(bins) == 0:
        first, last = _ends(a, range)
        if isinstance(bins, str):
            count = _number_of_bins(a, bins, (first, last), range, weights)
        else:
            count = operator.index(bins)
            if count < 1:
                raise ValueError("`bins` must be positive, when an integer")
        edges = np.linspace(first, last, count + 1)
        edges = convert(edges, a.dtype if a.dtype.kind == "f" else np.float64)
        rising = np.all(np.less(edges[:-1], edges[1:]))
        if not is_traced(rising) and not rising:
            raise ValueError(f"Too many bins for data range. Cannot create {count} finite-sized bins.")
        return edges
    if np.ndim(bins) != 1:
        raise ValueError("`bins` must be 1d, when an array")
    edges = as_array(bins)
    rising = np.all(np.less_equal(edges[:-1], edges[1:]))
    if not is_traced(rising) and not rising:
        raise ValueError("`bins` must increase monotonically, when an array")
    return edges


def _bins(a: Value, edges: Value) -> Value:
    """The number of the bin of each element, from 1; 0 and n + 1 are outside."""
    positions = np.searchsorted(edges, a, side="right")
    return positions - np.equal(a, edges[-1]).astype(np.intp)


def _summed(positions: Value, weights: Any, count: int) -> Value:
    """Σ of the weights of each position; the number of elements when there are none."""
    if weights is None:
        weights = np.ones(positions.shape[0], np.intp)
    return ScatterSum((count,), weights.dtype, (("gather", 1),))(weights, positions)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Value:
    return _edges(*_flat(a, weights)[:1], bins, range, weights)


def _real(a: Any) -> Value:
    a = as_array(a)
    if a.dtype.kind == "c":
        raise TypeError("a histogram of complex numbers has no bins: take the real or the imaginary part")
    return a


def _flat(a: Any, weights: Any) -> tuple[Value, Any]:
    a = _real(a)
    if weights is not None:
        weights = as_array(weights)
        if weights.shape != a.shape:
            raise ValueError("weights should have the same shape as a.")
        weights = np.ravel(weights)
    return np.ravel(convert(a, np.uint8) if a.dtype.kind == "b" else a), weights


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    a, weights = _flat(a, weights)
    edges = _edges(a, bins, range, weights)
    counts = _summed(_bins(a, edges), weights, edges.shape[0] + 1)[1:-1]
    if density:
        counts = counts / np.diff(edges) / np.sum(counts)
    return counts, edges


def _is_list(bins: Any) -> bool:
    return isinstance(bins, list | tuple) or np.ndim(bins) > 0


@implements(np.histogramdd)
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    if isinstance(sample, list | tuple):
        columns = [_real(x) for x in sample]
    else:
        table = _real(sample)
        table = np.atleast_2d(table) if table.ndim != 1 else np.reshape(table, (-1, 1))
        columns = [table[:, k] for k in np.arange(table.shape[1])]
    ndim = len(columns)
    bins = bins if _is_list(bins) else [bins] * ndim
    if len(bins) != ndim:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges: Sequence[Any] = [None] * ndim if range is None else range
    if len(ranges) != ndim:
        raise ValueError("range argument must have one entry per dimension")
    edges = [_edges(x, b, r) for x, b, r in zip(columns, bins, ranges, strict=True)]
    shape = tuple(e.shape[0] + 1 for e in edges)
    positions: Value = 0
    for x, e, n in zip(columns, edges, shape, strict=True):
        positions = positions * n + _bins(x, e)
    weights = None if weights is None else convert(as_array(weights), np.float64)
    whole = np.reshape(_summed(positions, weights, math.prod(shape)), shape)
    counts = convert(whole[(slice(1, -1),) * ndim], np.float64)
    if density:
        total = np.sum(counts)
        for axis, e in enumerate(edges):
            counts = counts / np.reshape(np.diff(e), (1,) * axis + (-1,) + (1,) * (ndim - axis - 1))
        counts = counts / total
    return counts, edges


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Value, Value, Value]:
    if np.shape(x) != np.shape(y):
        raise ValueError("x and y must have the same length.")
    if _is_list(bins) and len(bins) not in (1, 2):
        bins = [as_array(bins)] * 2
    counts, (first, second) = histogramdd([x, y], bins, range, density, weights)
    return counts, first, second
