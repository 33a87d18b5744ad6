"""Arguments of linear algebra: arrays, stacks of matrices, right sides, and questions about values."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.program.op import Op
from adjoint.program.trace import Tracer, bind
from adjoint.program.types import Value


def array(x: Any) -> Value:
    """A traced value as it is, anything else as an array; lists of traced values are stacked."""
    if isinstance(x, Tracer):
        return x
    if holds_traced(x):
        return np.stack([array(part) for part in x])
    return np.asarray(x)


def holds_traced(x: Any) -> bool:
    """Whether a value, or anything in a list or tuple, is traced."""
    return isinstance(x, Tracer) or (isinstance(x, list | tuple) and any(map(holds_traced, x)))


def inexact(x: Any) -> Value:
    """An array of floating point numbers: others become float64."""
    x = array(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def matrix(x: Any, call: str) -> Value:
    """A matrix or a stack of them."""
    x = array(x)
    if x.ndim < 2:
        raise ShapeError(f"{call}: needs a matrix or a stack of matrices, got shape {x.shape}.")
    return x


def square(x: Any, call: str) -> Value:
    """A square matrix or a stack of them."""
    x = matrix(x, call)
    if x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{call}: needs square matrices, got shape {x.shape}.")
    return x


def applied(op: Op, a: Value, b: Value) -> Value:
    """op on a right side that may be one vector."""
    if b.ndim == 1:
        return np.squeeze(bind(op, a, np.expand_dims(b, -1)), -1)
    return bind(op, a, b)


def constant(x: Any, call: str, name: str) -> Any:
    """A plain number or array that has no derivative; traced ones are refused."""
    if holds_traced(x):
        raise ShapeError(f"{call}: {name} decides the shape or the method; it must be a plain number, not traced.")
    return x


def not_hermitian(a: Value) -> Value:
    """Of each matrix, whether it differs from its adjoint by more than rounding."""
    size = np.max(np.abs(a), axis=(-2, -1), initial=0)
    gap = np.max(np.abs(a - adjoint_matrix(a)), axis=(-2, -1), initial=0)
    return gap > 100 * a.shape[-1] * np.finfo(a.dtype).eps * size
