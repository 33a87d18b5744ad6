"""Residual functions F(x, *θ) whose zeros are solutions of other problems, for `implicit.root`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint import tree
from adjoint.api.gradients import grad

__all__ = ["fixed_point", "stationary"]

Function = Callable[..., Any]


def stationary(f: Function) -> Function:
    """∇ₓf(x, *θ): zero where f is smallest, largest, or has a saddle.

    ```python
    F = ad.implicit.conditions.stationary(lambda x, a: (x - a) ** 2)
    F(3.0, 1.0)  # → 4.0
    ```
    """
    return grad(f)


def fixed_point(T: Function) -> Function:
    """x - T(x, *θ).

    ```python
    F = ad.implicit.conditions.fixed_point(lambda x, a: a * x)
    F(3.0, 2.0)  # → -3.0
    ```
    """

    def residual(x: Any, *args: Any, **kwargs: Any) -> Any:
        moved = T(x, *args, **kwargs)
        return tree.map(lambda a, b: a - b, x, moved)

    return residual
