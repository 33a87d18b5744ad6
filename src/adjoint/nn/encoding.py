"""Classes as numbers, as one-hot vectors and as probabilities; and arithmetic with logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import DtypeError
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.scipy import special
from adjoint.scipy.special.arguments import array
from adjoint.signal.geometry import as_values

__all__ = ["decode", "in_simplex", "log_product", "log_sum", "logit", "one_hot"]


def one_hot(i: Any, n: int, dtype: Any = np.float64) -> Value:
    """The unit vectors eᵢ of n elements, along a new last axis.

    ```python
    ad.nn.one_hot([2, 0], 3)  # → [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    ```
    """
    classes: Value = as_values(i)
    if classes.dtype.kind not in "iu":
        raise DtypeError(f"one_hot: classes are integers, got {classes.dtype}; write i.astype(int).")
    if not isinstance(i, Tracer) and classes.size and (classes.min() < 0 or classes.max() >= n):
        raise ValueError(
            f"one_hot: the classes go from {classes.min()} to {classes.max()}, but there are {n}: 0 to {n - 1}. "
            "Give the number of classes, or number them from 0."
        )
    return (classes[..., None] == np.arange(n)).astype(dtype)


def decode(p: Any, axis: int = -1) -> Value:
    """The class of each vector of scores or probabilities: the index of its largest element, the first of them.

    ```python
    ad.nn.decode([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])  # → [1, 0]
    ```
    """
    return np.argmax(as_values(p), axis=axis)


def in_simplex(p: Any, tol: float = 1e-8, axis: int = -1) -> Value:
    """Whether p ≥ 0 and Σ p = 1 along an axis, up to `tol`.

    ```python
    ad.nn.in_simplex([[0.2, 0.3, 0.5], [0.2, 0.3, 0.4]])  # → [True, False]
    ```
    """
    p = array(p)
    return np.all(p >= -tol, axis=axis) & (np.abs(np.sum(p, axis=axis) - 1) <= tol)


def log_sum(u: Any, axis: int = -1) -> Value:
    """log Σ u of positive numbers, by way of their logarithms.

    ```python
    float(ad.nn.log_sum([1e-320, 1e-320]))  # → -736.134…
    ```
    """
    return special.logsumexp(np.log(array(u)), axis=axis)


def log_product(u: Any, axis: int = -1) -> Value:
    """log Π u of positive numbers, where Π u itself would underflow.

    ```python
    float(ad.nn.log_product(np.full(1000, 0.1)))  # → -2302.585…
    ```
    """
    return np.sum(np.log(array(u)), axis=axis)


def logit(p: Any) -> Value:
    """log p/(1 - p), the inverse of `logistic`.

    ```python
    ad.nn.logit(ad.nn.logistic(2.0))  # → 2.0
    ```
    """
    return special.logit(array(p))
