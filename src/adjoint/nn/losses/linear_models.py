"""Linear models that are solved exactly, by orthogonal factors: least squares, ridge, and the variance of the noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.nn.losses.shapes import as_array
from adjoint.program.trace import TRACED, Tracer, primal
from adjoint.program.types import Value

__all__ = ["least_squares", "noise_variance", "ridge"]


def _read(title: str, X: Any, y: Any) -> tuple[Value, Value]:
    X, y = as_array(X), as_array(y)
    if len(X.shape) != 2 or y.shape[:1] != X.shape[:1] or len(y.shape) > 2:
        raise ShapeError(f"losses.{title}: X has shape {X.shape} and y {y.shape}; X has one row for each example, and "
                         "y one number, or one row.")  # fmt: skip
    return X * 1.0, y * 1.0


def _solve(title: str, X: Value, y: Value, remedy: str) -> Value:
    """The least squares of X w = y by X = Q R."""
    Q, R = np.linalg.qr(X)
    pivots = np.abs(np.diagonal(primal(R)))
    if not isinstance(pivots, Tracer):
        tiny = np.finfo(pivots.dtype).eps * max(X.shape) * np.max(pivots, initial=0.0)
        if X.shape[0] < X.shape[1] or np.min(pivots, initial=np.inf) <= tiny:
            raise np.linalg.LinAlgError(f"losses.{title}: the columns of X are linearly dependent, so that many w are "
                                        f"equally good. {remedy}")  # fmt: skip
    return np.linalg.solve(R, Q.T @ y)


@user_facing
def least_squares(X: Any, y: Any) -> Value:
    """w that makes ‖X w - y‖² smallest; differentiable in X and y. Append a column of ones for a bias.

    ```python
    X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    ad.nn.losses.least_squares(X, np.array([1.0, 3.0, 5.0]))  # → [2.0, 1.0]
    ```
    """
    X, y = _read("least_squares", X, y)
    return _solve("least_squares", X, y, "Use losses.ridge, which takes the smallest of them for a small strength.")


@user_facing
def ridge(X: Any, y: Any, strength: Any) -> Value:
    """w that makes ‖X w - y‖² + strength ‖w‖² smallest; differentiable in all three.

    ```python
    ad.nn.losses.ridge(np.eye(2), np.array([2.0, 4.0]), 1.0)  # → [1.0, 2.0]
    ```
    """
    X, y = _read("ridge", X, y)
    if not isinstance(strength, TRACED) and not np.all(np.asarray(strength) >= 0):
        raise ValueError(f"losses.ridge: strength is {strength}; it must not be negative.")
    n = X.shape[1]
    rows = np.concatenate([X, np.sqrt(strength) * np.eye(n, dtype=X.dtype)], axis=0)
    right = np.concatenate([y, np.zeros((n, *y.shape[1:]), y.dtype)], axis=0)
    return _solve("ridge", rows, right, "Give a strength above zero.")


@user_facing
def noise_variance(X: Any, y: Any, w: Any, unbiased: bool = True) -> Value:
    """‖X w - y‖² / (n - p), the variance of the noise; without `unbiased` that of the likelihood, ‖X w - y‖² / n.

    ```python
    ad.nn.losses.noise_variance(np.ones((3, 1)), np.array([1.0, 2.0, 3.0]), np.array([2.0]))  # → 1.0
    ```
    """
    X, y = _read("noise_variance", X, y)
    count = X.shape[0] - (X.shape[1] if unbiased else 0)
    if count <= 0:
        raise ValueError(f"losses.noise_variance: {X.shape[0]} examples leave nothing for {X.shape[1]} parameters.")
    return np.sum((X @ as_array(w) - y) ** 2, axis=0) / count
