"""Losses of two classes ±1, functions φ(m) of the margin m = y f, which is above zero where f is right."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.source import user_facing
from adjoint.nn.losses.shapes import match_shapes
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["exponential", "hinge", "margin", "squared_hinge", "zero_one"]


@user_facing
def margin(f: Any, y: Any) -> Value:
    """y f, for classes y = ±1: above zero where the sign of f is right.

    ```python
    ad.nn.losses.margin(np.array([0.3, -2.0]), np.array([1, 1]))  # → [0.3, -2.0]
    ```
    """
    f, y = match_shapes("margin", f, y)
    if not isinstance(y, TRACED) and not np.all((y == 1) | (y == -1)):
        raise ValueError(f"losses.margin: the classes must be 1 and -1, and there is {np.unique(y)[:4]}. Write "
                         "2 * y - 1 for classes 0 and 1, or use losses.logistic.")  # fmt: skip
    return f * y


@user_facing
def zero_one(f: Any, y: Any) -> Value:
    """0 where the sign of f is y, else 1. Its derivative is zero almost everywhere: it is for counting, not training.

    ```python
    ad.nn.losses.zero_one(np.array([0.3, -2.0]), np.array([1, 1]))  # → [0.0, 1.0]
    ```
    """
    return np.where(margin(f, y) > 0, 0.0, 1.0)


@user_facing
def hinge(f: Any, y: Any) -> Value:
    """max(0, 1 - y f).

    ```python
    ad.nn.losses.hinge(np.array([0.3, 2.0]), np.array([1, 1]))  # → [0.7, 0.0]
    ```
    """
    return np.maximum(0.0, 1.0 - margin(f, y))


@user_facing
def squared_hinge(f: Any, y: Any) -> Value:
    """max(0, 1 - y f)².

    ```python
    ad.nn.losses.squared_hinge(np.array([0.5, 2.0]), np.array([1, 1]))  # → [0.25, 0.0]
    ```
    """
    return np.maximum(0.0, 1.0 - margin(f, y)) ** 2


@user_facing
def exponential(f: Any, y: Any) -> Value:
    """exp(-y f), which boosting makes small.

    ```python
    ad.nn.losses.exponential(np.array([0.0, 1.0]), np.array([1, -1]))  # → [1.0, 2.718281…]
    ```
    """
    return np.exp(-margin(f, y))
