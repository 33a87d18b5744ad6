"""Random probes, the means of what they give, and how uncertain these are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import stop_gradient
from adjoint.linear.operators.spaces import Space
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.random import default_rng

__all__ = ["Estimate", "average_samples", "draw"]


@final
@dataclass(frozen=True, eq=False)
class Estimate:
    """A random estimate: `value`, its standard error `error` (NaN from one sample), and what it cost.

    It is a tree, so it goes through jit, vmap and grad.

    ```python
    estimate = ad.linear.estimate_trace(np.diag([1.0, 2.0]), rng=0, products=4)
    estimate.value, estimate.products  # → (3.0, 2)
    ```
    """

    value: Any
    error: Any
    products: int = field(default=0, metadata={"static": True})  # with the map, or evaluations of a derivative
    method: str = field(default="", metadata={"static": True})

    def __repr__(self) -> str:
        cost = f"({self.method}, {self.products} products)"
        leaves = tree.leaves((self.value, self.error))
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            return f"Estimate{cost}"
        if all(np.ndim(leaf) == 0 for leaf in leaves) and len(leaves) == 2:
            return f"{leaves[0]:.8g} ± {leaves[1]:.2g} {cost}"
        return f"Estimate(\n  value={self.value!r},\n  error={self.error!r}) {cost}"


def draw(rng: Any, space: Space, count: int, probes: str, title: str) -> Value:
    """`count` probes as the columns of a matrix: E[ω ω*] = I."""
    generator = default_rng(rng)
    shape = (space.size, count)
    if probes == "signs":
        drawn = 2.0 * generator.integers(0, 2, shape) - 1.0
    elif probes == "normal":
        drawn = generator.standard_normal(shape)
    else:
        raise ValueError(f'{title}: probes={probes!r}; choose "signs" or "normal".')
    return drawn if drawn.dtype == space.dtype else drawn.astype(space.dtype)


def average_samples(samples: Value, products: int, method: str) -> Estimate:
    """The mean over the first axis, with its standard error √(Σ |xᵢ - x̄|² / (S (S - 1)))."""
    value = np.mean(samples, axis=0)
    return Estimate(value, standard_error(samples, value), products, method)


def standard_error(samples: Value, mean: Value) -> Value:
    """Of the mean over the first axis; NaN for one sample. Not to be differentiated: √ has no derivative at 0."""
    count = samples.shape[0]
    spread = stop_gradient(samples - mean)
    if count == 1:
        return np.sum(np.abs(spread), axis=0) + np.nan
    return np.sqrt(np.sum(np.abs(spread) ** 2, axis=0) / (count * (count - 1)))
