"""Pooling of adjacent numbers: the nearest sequence that falls, in O(n).

A stack holds blocks of numbers that share their mean. A number is put on it as a block of its own; as long as the last
block has a larger mean than the one before, both become one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.api.control_flow import while_loop
from adjoint.jit import jit
from adjoint.numpy.indexing import take
from adjoint.ops.arrays.index import ScatterSum
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["average_blocks", "find_blocks", "sum_by"]


def find_blocks(y: Value, weights: Value) -> Value:
    """For each number in which block of the nearest falling sequence it is: 0, 0, 1, 2, 2 …"""
    traced = isinstance(y, TRACED) or isinstance(weights, TRACED)
    return _find(y, weights) if traced else _find_compiled(y, weights)


def average_blocks(y: Value, weights: Value, block: Value) -> Value:
    """Each number replaced by the weighted mean of its block."""
    sums, whole = sum_by(block, weights * y, len(y)), sum_by(block, weights, len(y))
    return (sums / np.where(whole > 0, whole, 1.0))[block]


def _find(y: Value, weights: Value) -> Value:
    n = len(y)
    # a loop is one of the program where all that it begins with and reads is traced
    follow = lambda v, other: np.where(other == other, v, v)
    y, weights = follow(y, weights), follow(weights, y)

    def rises(state: Any) -> Any:
        _, top, means, _, _ = state
        last, before = np.maximum(top - 1, 0), np.maximum(top - 2, 0)
        return np.logical_and(top >= 2, means[before] < means[last])

    def advance(state: Any) -> Any:
        i, top, means, sizes, ends = state
        merges = rises(state)
        last, before = np.maximum(top - 1, 0), np.maximum(top - 2, 0)
        at = np.where(merges, before, top)
        new = np.minimum(i, n - 1)
        size = np.where(merges, sizes[before] + sizes[last], take(weights, new))
        # as a step from one mean to the other: a sum over many numbers would lose digits
        mean = np.where(merges, means[before] + (means[last] - means[before]) * (sizes[last] / size), take(y, new))
        end = np.where(merges, ends[last], new)
        means, sizes, ends = means.copy(), sizes.copy(), ends.copy()
        means[at], sizes[at], ends[at] = mean, size, end
        return np.where(merges, i, i + 1), np.where(merges, top - 1, top + 1), means, sizes, ends

    goes_on = lambda state: np.logical_or(state[0] < n, rises(state))
    zero = follow(np.int64(0), y[0])
    means, ends = follow(np.zeros(n + 1, y.dtype), y[0]), follow(np.zeros(n + 1, np.int64), y[0])
    start = (zero, zero, means, means + 1, ends)
    _, top, _, _, ends = while_loop(goes_on, advance, start)
    # a block begins after the end of the one before
    begins = sum_by(np.where(np.arange(n + 1) < top - 1, ends + 1, n), np.ones(n + 1, np.int64), n + 1)
    return np.cumsum(begins[:n])


def sum_by(position: Value, v: Value, n: int) -> Value:
    """Σ of the numbers at each position, of which it is known that they are below n: np.bincount would ask."""
    if isinstance(position, TRACED) or isinstance(v, TRACED):
        return ScatterSum((n,), v.dtype, (("gather", 1),))(v, position)
    return np.bincount(position, weights=v, minlength=n).astype(v.dtype)


_find_compiled: Any = jit(_find)
