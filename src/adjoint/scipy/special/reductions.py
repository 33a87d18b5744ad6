"""Sums of exponentials along axes: logsumexp, softmax, log_softmax; softplus."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special
from numpy.lib.array_utils import normalize_axis_tuple

from adjoint.ops.arrays.logsumexp import LogSumExp, largest
from adjoint.ops.elementwise.pointwise import masked_multiply
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.special.arguments import array, traced


def _squeezed(z: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    return z if keepdims else np.reshape(z, tuple(n for i, n in enumerate(z.shape) if i not in axes))


def logsumexp(
    a: Any, axis: int | tuple[int, ...] | None = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log Σ b exp(a), stable for any a; its gradient is the softmax. With `return_sign`: (log |Σ|, sign of Σ)."""
    if not traced(a, b):
        return scipy.special.logsumexp(a, axis=axis, b=b, keepdims=keepdims, return_sign=return_sign)
    a = array(a)
    if b is not None:
        b = array(b)
        a, b = np.broadcast_arrays(a, b)
    axes = normalize_axis_tuple(range(a.ndim) if axis is None else axis, a.ndim)
    if b is None and not (return_sign and a.dtype.kind == "c"):
        z = bind(LogSumExp(axes), a)
        z = np.reshape(z, tuple(1 if i in axes else n for i, n in enumerate(a.shape))) if keepdims else z
        return (z, np.where(np.isneginf(z), 0.0, 1.0).astype(z.dtype)) if return_sign else z
    m = largest(a if b is None else np.where(np.equal(b, 0), -np.inf, a), axes)
    m = np.where(np.isfinite(m), m, 0.0)
    with np.errstate(over="ignore"):  # an element of weight zero may be larger than m
        e = np.exp(a - m)
    s = np.sum(e if b is None else masked_multiply(b, e), axis=axes, keepdims=True)
    if not return_sign:
        return _squeezed(np.log(s) + m, axes, keepdims)
    size = np.abs(s)
    sign = s / np.where(np.equal(size, 0), 1.0, size) if s.dtype.kind == "c" else np.sign(s)
    return _squeezed(np.log(size) + m, axes, keepdims), _squeezed(sign, axes, keepdims)


def softmax(x: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """exp(x) / Σ exp(x), stable for any finite x."""
    if not traced(x):
        return scipy.special.softmax(x, axis=axis)
    x = array(x)
    axes = normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim)
    e = np.exp(x - largest(x, axes))
    return e / np.sum(e, axis=axes, keepdims=True)


def log_softmax(x: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """x - log Σ exp(x), computed from the distances to the largest x."""
    if not traced(x):
        return scipy.special.log_softmax(x, axis=axis)
    x = array(x)
    m = largest(x, normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim))
    gaps = x - np.where(np.isfinite(m), m, 0.0)
    return gaps - logsumexp(gaps, axis=axis, keepdims=True)


def softplus(x: Any, **kwargs: Any) -> Any:
    """log(1 + eˣ), for any x."""
    return np.logaddexp(0, x, **kwargs)
