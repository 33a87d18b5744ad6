"""Adapters: a linear layer that stays as it is, and a change of low rank that is trained."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.gradients import stop_gradient
from adjoint.base.source import user_facing
from adjoint.nn import initializers
from adjoint.nn.linear import Linear
from adjoint.nn.locating import apply, shown
from adjoint.program.types import Value

__all__ = ["LoRA"]


@dataclass(frozen=True)
class LoRA:
    """base(x) + scale · (x @ down) @ up: `base` stays (no gradient, no decay), `down` and `up` are trained.

    `up` begins as 0, so that the layer begins as `base`. (Hu and others: LoRA: low-rank adaptation of large language
    models. 2021.) `merged()` is one linear layer again.

    ```python
    rng = ad.random.default_rng(0)
    layer = ad.nn.LoRA.init(rng, ad.nn.Linear.init(rng, 6, 4), rank=2)
    gradient = ad.grad(lambda layer: np.sum(layer(np.ones(6)) ** 2))(layer)
    float(np.max(np.abs(gradient.base.weight))), gradient.up.shape  # → (0.0, (2, 4))
    ```
    """

    base: Linear = field(metadata={"frozen": True})
    down: Value
    up: Value
    scale: float = tree.static(default=1.0)

    @classmethod
    @user_facing
    def init(cls, rng: Any, base: Linear, rank: int, *, scale: float = 1.0) -> LoRA:
        """An adapter of this rank around a linear layer."""
        inputs, outputs = base.weight.shape
        if not 0 < rank <= min(inputs, outputs):
            raise ValueError(f"LoRA: the rank must be between 1 and {min(inputs, outputs)}, got {rank}.")
        dtype = base.weight.dtype
        return cls(base, initializers.lecun_normal(rng, (inputs, rank), dtype), np.zeros((rank, outputs), dtype), scale)

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"LoRA {self.base.weight.shape[0]} → {self.base.weight.shape[1]}, rank {self.down.shape[-1]}"

    def __call__(self, x: Any, *, rng: Any = None) -> Value:
        fixed = apply(stop_gradient(self.base), ".base", x)
        return fixed + (x @ self.down) @ self.up * self.scale

    def merged(self) -> Linear:
        """The linear layer that computes the same."""
        return Linear(self.base.weight + self.scale * (self.down @ self.up), self.base.bias)
