"""From probabilities to decisions: the choice whose expected cost is smallest."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.nn.losses.shapes import as_array
from adjoint.program.types import Value

__all__ = ["decide", "expected_costs"]


@user_facing
def expected_costs(p: Any, costs: Any) -> Value:
    """Σⱼ Cᵢⱼ pⱼ for each decision i: rows of C are decisions, columns the truth.

    ```python
    ad.nn.calibration.decide(np.array([0.85, 0.15]), np.array([[0.0, 10.0], [1.0, 0.0]]))  # → 1
    ```
    """
    p, costs = as_array(p), as_array(costs)
    if len(costs.shape) != 2 or costs.shape[1] != p.shape[-1]:
        raise ShapeError(f"calibration.decide: costs has shape {costs.shape} and p {p.shape}; costs has a row for each "
                         f"decision and a column for each of {p.shape[-1]} classes.")  # fmt: skip
    return p @ costs.T


@user_facing
def decide(p: Any, costs: Any) -> Value:
    """The decision with the smallest expected cost, for probabilities p (…, k) and costs (decisions, k).

    ```python
    p = np.array([[0.85, 0.15], [0.99, 0.01]])
    ad.nn.calibration.decide(p, np.array([[0.0, 10.0], [1.0, 0.0]]))  # → [1, 0]
    ```
    """
    return np.argmin(expected_costs(p, costs), axis=-1)
