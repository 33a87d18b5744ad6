"""What methods are: their order and stability function, from their coefficients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.integrate.choosing import choose_method

__all__ = ["order", "stability_function"]


def order(method: Any) -> int:
    """The order of a method, by name or as an object.

    ```python
    ad.integrate.order("dopri5"), ad.integrate.order("trapezoid")  # → (5, 2)
    ```
    """
    return choose_method(method).order


def stability_function(method: Any) -> Callable[[Any], Any]:
    """R(z) = 1 + z bᵀ (I - z A)⁻¹ 1, what a step of y′ = λ y multiplies y by, z = h λ.

    ```python
    R = ad.integrate.stability_function("rk4")
    complex(np.round(R(-1.0), 6))  # → (0.375+0j)
    ```
    """
    chosen = choose_method(method)
    if not hasattr(chosen, "b"):
        raise TypeError(f"integrate.stability_function: {chosen.name} is no Runge-Kutta method.")
    s = len(chosen.b)
    A = np.zeros((s, s))
    for i, row in enumerate(chosen.A):
        A[i, : len(row)] = row
    b = np.asarray(chosen.b)

    def R(z: Any) -> Any:
        z = np.asarray(z, complex)
        matrices = np.eye(s) - z[..., None, None] * A
        return 1.0 + z * (np.linalg.solve(matrices, np.ones((s, 1)))[..., 0] @ b)

    return R
