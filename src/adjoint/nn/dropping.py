"""Dropout: numbers are left out at random in training, and scaled so that the mean stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.program.types import Value
from adjoint.random import Generator
from adjoint.signal.geometry import as_values

__all__ = ["Dropout", "checked_generator", "checked_rate", "dropout"]


def dropout(x: Any, rate: float, rng: Any) -> Value:
    """x with each number set to 0 with probability `rate`, the others divided by 1 - rate; without `rng`, x as it is.

    ```python
    rng = ad.random.default_rng(0)
    sorted(set(ad.nn.dropout(np.ones(100), 0.5, rng).tolist()))  # → [0.0, 2.0]
    ad.nn.dropout(np.ones(2), 0.5, None)  # → [1.0, 1.0]
    ```
    """
    rate = checked_rate("dropout", rate)
    x = as_values(x)
    if rng is None or rate == 0.0:
        return x
    kept = checked_generator("dropout", rng).random(x.shape, dtype=np.float32) >= np.float32(rate)
    return np.where(kept, x * (1.0 / (1.0 - rate)), 0)


def checked_rate(name: str, rate: Any) -> float:
    """A rate of dropout: 0 ≤ rate < 1."""
    if not (isinstance(rate, int | float) and 0 <= rate < 1):
        raise ValueError(f"{name}: the rate must be a number with 0 <= rate < 1, got {rate!r}.")
    return float(rate)


def checked_generator(name: str, rng: Any) -> Generator:
    """A generator whose state passes through transformations."""
    if not isinstance(rng, Generator):
        raise TypeError(
            f"{name}: rng is a {type(rng).__module__}.{type(rng).__name__}, whose state does not pass through "
            "transformations; make one with ad.random.default_rng(seed)."
        )
    return rng


@dataclass(frozen=True)
class Dropout:
    """`dropout` as a layer: it acts exactly when a generator is given.

    ```python
    layer = ad.nn.Dropout(0.5)
    layer(np.ones(2))  # → [1.0, 1.0]
    ```
    """

    rate: float = tree.static()

    def __post_init__(self) -> None:
        checked_rate("Dropout", self.rate)

    @property
    def title(self) -> str:
        return f"Dropout {self.rate:g}"

    def __call__(self, x: Any, *, rng: Any = None) -> Value:
        return dropout(x, self.rate, rng)
