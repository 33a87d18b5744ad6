"""Norms of vectors and matrices, and condition numbers. At its kink, the origin, a norm has derivative zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import as_array, implements, normal_axes, normal_axis
from adjoint.numpy.shaping import convert
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.arrays.norm import Length
from adjoint.ops.linalg.degenerate_blocks import EigenvalueBlocks
from adjoint.ops.linalg.matrices import real_diagonal
from adjoint.ops.linalg.spectral import SVD
from adjoint.program.trace import bind
from adjoint.program.types import Value


@implements(np.linalg.norm)
def norm(x: Value, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Value:
    x = _inexact(x)
    if axis is None and (ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1)):
        return _kept(bind(Length(tuple(range(x.ndim))), x), x.shape, tuple(range(x.ndim)), keepdims)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(normal_axis(a, x.ndim) for a in axes)
    if len(axes) == 1:
        z = _vector_norm(x, ord, axes[0])
    elif len(axes) == 2:
        if axes[0] == axes[1]:
            raise ValueError("Duplicate axes given.")
        z = _matrix_norm(np.moveaxis(x, axes, (-2, -1)), ord)
    else:
        raise ValueError("Improper number of dimensions to norm.")
    return _kept(z, x.shape, axes, keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Value, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Value:
    x = _inexact(x)
    axes = normal_axes(axis, x.ndim)
    if ord is None or ord == 2:
        return _kept(bind(Length(axes), x), x.shape, axes, keepdims)
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    flat = np.reshape(
        np.transpose(x, (*rest, *axes)), (*[x.shape[a] for a in rest], math.prod(x.shape[a] for a in axes))
    )
    return _kept(_vector_norm(flat, ord, len(rest)), x.shape, axes, keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Value, /, *, keepdims: bool = False, ord: Any = "fro") -> Value:
    return norm(x, ord, (-2, -1), keepdims)


def _inexact(x: Value) -> Value:
    x = as_array(x)
    return x if x.dtype.kind in "fc" else convert(x, np.float64)


def _kept(z: Value, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Value:
    return np.reshape(z, tuple(1 if i in axes else n for i, n in enumerate(shape))) if keepdims else z


def _vector_norm(x: Value, order: Any, axis: int) -> Value:
    """The p-norm along one axis."""
    if order is None or order == 2:
        return bind(Length((axis,)), x)
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    if order == math.inf:
        return np.max(np.abs(x), axis=axis, initial=0)
    if order == -math.inf:
        return np.min(np.abs(x), axis=axis)
    if order == 0:
        return np.sum(np.not_equal(x, 0).astype(np.finfo(x.dtype).dtype), axis=axis)
    size = np.abs(x)
    if order == 1:
        return np.sum(size, axis=axis)
    if order < 0:
        return np.sum(size**order, axis=axis) ** (1 / order)
    return _power(np.sum(_power(size, order), axis=axis), 1 / order)


def _power(size: Value, exponent: float) -> Value:
    """size ** exponent for size ≥ 0, with derivatives zero where size = 0, whatever the exponent."""
    zero = np.equal(size, 0)
    one = size.dtype.type(1)
    return np.where(zero, one - one, np.where(zero, one, size) ** float(exponent))


def _matrix_norm(x: Value, order: Any) -> Value:
    """The norm of each matrix of a stack."""
    if order is None or order in ("fro", "f"):
        return bind(Length((x.ndim - 2, x.ndim - 1)), x)
    if order == 2:
        return np.max(_positive_values(x), axis=-1, initial=0)
    if order == -2:
        return np.min(np.linalg.svd(x, compute_uv=False), axis=-1)
    if order == "nuc":
        return np.sum(_positive_values(x), axis=-1)
    if order in (1, -1, math.inf, -math.inf):
        sums = np.sum(np.abs(x), axis=-2 if abs(order) == 1 else -1)
        return np.max(sums, axis=-1, initial=0) if order > 0 else np.min(sums, axis=-1)
    raise ValueError("Invalid norm order for matrices.")


def _positive_values(x: Value) -> Value:
    """Singular values; those that vanish are kinks, and have derivative zero.

    They are taken from the levels, whose sum over equal values has derivatives of every order.
    """
    u, s, vh = bind(SVD(), x)
    line = np.max(s, axis=-1, keepdims=True, initial=0) * (max(x.shape[-2:]) * np.finfo(s.dtype).eps)
    return np.where(s > line, real_diagonal(bind(EigenvalueBlocks(), x, u, adjoint_matrix(vh), s)), s.dtype.type(0))


@implements(np.linalg.cond)
def cond(x: Value, p: Any = None) -> Value:
    if 0 in x.shape[-2:]:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        s = np.linalg.svd(x, compute_uv=False)
        ratio = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
        is_zero = np.logical_and(np.isnan(ratio), np.logical_not(np.any(np.isnan(x), axis=(-2, -1))))
        return np.where(is_zero, ratio.dtype.type(np.inf), ratio)  # 0 / 0, as NumPy has it
    return norm(x, p, (-2, -1)) * norm(np.linalg.inv(x), p, (-2, -1))
