"""Robust losses ρ(z) of squared residuals z = r²: large residuals count for less.

cost = ½ c² Σ ρ((rᵢ / c)²)        gradient = Jᵀ (ρ' r)        Hessian ≈ Jᵀ diag(ρ' + 2 ρ'' z) J
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.api.gradients import jvp
from adjoint.base.suggestions import did_you_mean
from adjoint.program.types import Value

__all__ = ["LOSSES", "derive_loss", "read_loss", "rescale"]

Loss = Callable[[Value], Value]


def huber(z: Value) -> Value:
    """z up to 1, then 2 √z - 1."""
    return np.where(z <= 1, z, 2 * np.sqrt(np.where(z <= 1, 1.0, z)) - 1)


def soft_l1(z: Value) -> Value:
    """2 (√(1 + z) - 1)."""
    return 2 * (np.sqrt(1 + z) - 1)


def cauchy(z: Value) -> Value:
    """log(1 + z)."""
    return np.log1p(z)


def arctan(z: Value) -> Value:
    """arctan z."""
    return np.arctan(z)


LOSSES: dict[str, Loss | None] = {
    "linear": None,
    "huber": huber,
    "soft_l1": soft_l1,
    "cauchy": cauchy,
    "arctan": arctan,
}


def read_loss(title: str, loss: Any) -> Loss | None:
    """The loss of a name, or a function z ↦ ρ(z); None for plain squares."""
    if callable(loss):
        return loss
    if loss not in LOSSES:
        near = did_you_mean(str(loss), LOSSES)
        raise ValueError(f"{title}: {loss!r} is no loss. {near or 'They are: ' + ', '.join(LOSSES) + '.'}")
    return LOSSES[loss]


def rescale(loss: Loss, r: Value, size: float) -> tuple[Value, Value, Value]:
    """Σ ½ c² ρ, the residuals and the factors of the rows of J of the least-squares problem with its model.

    With these ½ ‖J̃ p + r̃‖² has the gradient of the cost, and its Gauss-Newton Hessian as far as that is positive.
    """
    slow, curved = derive_loss(loss, r, size)
    eps = float(np.finfo(r.dtype).eps)
    weight = np.sqrt(np.maximum(curved, eps * np.maximum(slow, eps)))
    return 0.5 * size * size * np.sum(loss((r / size) ** 2)), r * slow / weight, weight


def derive_loss(loss: Loss, r: Value, size: float) -> tuple[Value, Value]:
    """ρ' and ψ' = ρ' + 2 ρ'' z, where ψ = ρ' r is the derivative of the cost by a residual."""
    z = (r / size) ** 2
    one = np.ones_like(z)
    first = lambda z: jvp(loss, (z,), (one,))[1]
    slow, bend = jvp(first, (z,), (one,))
    return slow, slow + 2 * bend * z
