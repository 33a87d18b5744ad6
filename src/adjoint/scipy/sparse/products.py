"""Products of sparse arrays with dense and with sparse ones, by positions alone: entries may be traced.

(A x)ᵢ = Σ over the entries (i, j) of aᵢⱼ xⱼ
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ops.arrays.index import ScatterSum
from adjoint.ops.linalg.sparse_product import SparseProduct
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.sparse.pattern import Pattern, summed_pattern


def summed(values: Value, positions: Any, size: int) -> Value:
    """Along the first axis, the sums of the values that belong to each position."""
    return ScatterSum((size, *values.shape[1:]), values.dtype, (("gather", 1),))(values, positions)


def dense_product(data: Value, pattern: Pattern, x: Value) -> Value:
    """A x, for a vector or a matrix x."""
    rows, columns = pattern.coords if pattern.ndim == 2 else (np.zeros(pattern.count, np.intp), *pattern.coords)
    m, n = pattern.shape if pattern.ndim == 2 else (1, *pattern.shape)
    if x.ndim > 2 or x.shape[0] != n:
        raise ValueError(f"matmul: dimension mismatch: a sparse array of shape {pattern.shape} and shape {x.shape}")
    vectors = np.expand_dims(x, -1) if x.ndim == 1 else x
    product = bind(SparseProduct(m), data, vectors, rows, columns)
    product = np.squeeze(product, -1) if x.ndim == 1 else product
    return product if pattern.ndim == 2 else product[0]


def intersection(a: Any, b: Any) -> tuple[Any, Any]:
    """Which of the positions a, and which of b, are in both; the positions of each differ."""
    _, mine, theirs = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    return mine, theirs


def product_of_patterns(a: Pattern, b: Pattern) -> tuple[Pattern, Any, Any, Any]:
    """For A B in format csr: its pattern, and of each product aᵢₖ bₖⱼ the numbers of both factors and of the result."""
    inner = a.coords[1]
    counts = np.diff(b.indptr)[inner]
    left = np.repeat(np.arange(a.count), counts)
    starts = np.repeat(b.indptr[inner] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) if a.count else counts
    right = np.asarray(starts + np.arange(left.size), np.intp)
    coords = (a.coords[0][left], b.coords[1][right])
    pattern, number = summed_pattern(Pattern(coords, (a.shape[0], b.shape[1]), "coo", a.array), "csr")
    return pattern, left, right, number
