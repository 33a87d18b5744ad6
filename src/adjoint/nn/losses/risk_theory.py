"""What is known of margin losses φ(m): what they estimate, and what a small risk says about errors.

For a chance η of class 1, the pointwise risk η φ(f) + (1 - η) φ(-f) is smallest at `minimizer(η)`. The loss is
consistent where the sign of that is the better class, which for convex φ means φ′(0) < 0. Then

    ψ(error above the least) ≤ risk above the least,

with ψ as Bartlett, Jordan and McAuliffe (2006) give it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint.program.types import Value

__all__ = ["MARGIN_LOSSES", "MarginLoss"]

Function = Callable[[Any], Value]


class MarginLoss(NamedTuple):
    """A margin loss with its theory; every function takes numbers or arrays.

    ```python
    logistic = ad.nn.losses.MARGIN_LOSSES["logistic"]
    logistic.value(0.0), logistic.minimizer(0.75)  # → (0.693147…, 1.098612…)
    ```
    """

    value: Function  # φ(m)
    derivative: Function  # φ′(m); at a kink that from the right
    minimizer: Function  # f that makes η φ(f) + (1 - η) φ(-f) smallest
    psi: Function  # ψ(θ), 0 ≤ θ ≤ 1
    is_consistent: bool = True


def _entropy_gap(theta: Any) -> Value:
    theta = np.asarray(theta) if not hasattr(theta, "_trace") else theta
    part = lambda t: np.where(t > 0, t * np.log(np.where(t > 0, t, 1.0)), 0.0)
    return 0.5 * (part(1 + theta) + part(1 - theta))


MARGIN_LOSSES: dict[str, MarginLoss] = {
    "logistic": MarginLoss(
        lambda m: np.logaddexp(0.0, -m),
        lambda m: -1.0 / (1.0 + np.exp(m)),
        lambda eta: np.log(eta) - np.log1p(-eta),
        _entropy_gap,
    ),
    "exponential": MarginLoss(
        lambda m: np.exp(-m),
        lambda m: -np.exp(-m),
        lambda eta: 0.5 * (np.log(eta) - np.log1p(-eta)),
        lambda theta: 1.0 - np.sqrt(1.0 - theta**2),
    ),
    "squared": MarginLoss(
        lambda m: (1.0 - m) ** 2,
        lambda m: -2.0 * (1.0 - m),
        lambda eta: 2.0 * eta - 1.0,
        lambda theta: theta**2,
    ),
    "squared hinge": MarginLoss(
        lambda m: np.maximum(0.0, 1.0 - m) ** 2,
        lambda m: -2.0 * np.maximum(0.0, 1.0 - m),
        lambda eta: 2.0 * eta - 1.0,
        lambda theta: theta**2,
    ),
    "hinge": MarginLoss(
        lambda m: np.maximum(0.0, 1.0 - m),
        lambda m: np.where(m < 1.0, -1.0, 0.0),
        lambda eta: np.sign(2.0 * eta - 1.0),
        lambda theta: np.abs(theta),
    ),
}
