"""Averages, spreads and correlations."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import NO_VALUE, as_array, implements, into, is_traced, normal_axes
from adjoint.numpy.quantiles import floating, given
from adjoint.numpy.shaping import convert
from adjoint.program.types import Value


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
    count = np.maximum(count, 0.0)
    gap = x - mean
    other = np.conjugate(gap) if gap.dtype.kind == "c" else gap
    return np.squeeze(np.matmul(gap, np.transpose(other if weights is None else other * weights)) / count)


def _variables(m: Any, rowvar: bool, dtype: Any) -> Value:
    """One variable in each row."""
    x = as_array(m)
    x = convert(x, np.result_type(x.dtype, np.float64) if dtype is None else dtype)
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
