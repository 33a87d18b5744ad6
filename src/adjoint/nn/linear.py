"""Layers that are linear in their input: `Linear`, `Bilinear`, `Embedding`.

Weights are (inputs, outputs): a layer computes x @ weight + bias along the last axis, whatever axes stand before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.base.source import user_facing
from adjoint.nn import initializers
from adjoint.nn.initializers import Initializer
from adjoint.nn.locating import (
    LayerDtypeError,
    LayerShapeError,
    check_dtype,
    check_init,
    checked_array,
    checked_input,
    shown,
    title_of,
)
from adjoint.numpy import take
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.signal.geometry import as_values

__all__ = ["Bilinear", "Embedding", "Linear"]


@dataclass(frozen=True)
class Linear:
    """x @ weight + bias, weight (inputs, outputs).

    ```python
    layer = ad.nn.Linear(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, 0.0]))
    layer(np.array([1.0, 1.0]))  # → [4.5, 6.0]
    ad.nn.Linear.init(ad.random.default_rng(0), 3, 5)(np.ones((7, 3))).shape  # → (7, 5)
    ```
    """

    weight: Value
    bias: Value | None = None

    def __post_init__(self) -> None:
        checked_array(self, "weight", "rng, inputs, outputs")

    @classmethod
    @user_facing
    def init(
        cls,
        rng: Any,
        inputs: int,
        outputs: int,
        *,
        bias: bool = True,
        weight: Initializer = initializers.lecun_normal,
        dtype: Any = np.float64,
    ) -> Linear:
        """Random weights, and a bias of zeros."""
        check_init("Linear", weight, inputs=inputs, outputs=outputs)
        return cls(weight(rng, (inputs, outputs), dtype), np.zeros(outputs, dtype) if bias else None)

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"Linear {self.weight.shape[-2]} → {self.weight.shape[-1]}"

    def __call__(self, x: Any, *, rng: Any = None) -> Value:
        x = checked_input(self, x, self.weight, self.weight.shape[0])
        y = x @ self.weight
        return y if self.bias is None else y + self.bias


@dataclass(frozen=True)
class Bilinear:
    """z[o] = Σ x[i] weight[i, j, o] y[j] + bias[o], a layer of two inputs.

    ```python
    layer = ad.nn.Bilinear.init(ad.random.default_rng(0), (3, 4), 5)
    layer(np.ones((7, 3)), np.ones((7, 4))).shape  # → (7, 5)
    ```
    """

    weight: Value
    bias: Value | None = None

    def __post_init__(self) -> None:
        checked_array(self, "weight", "rng, (inputs, others), outputs")

    @classmethod
    @user_facing
    def init(
        cls,
        rng: Any,
        inputs: tuple[int, int],
        outputs: int,
        *,
        bias: bool = True,
        weight: Initializer = initializers.lecun_normal,
        dtype: Any = np.float64,
    ) -> Bilinear:
        """Random weights, and a bias of zeros."""
        return cls(weight(rng, (*inputs, outputs), dtype), np.zeros(outputs, dtype) if bias else None)

    __repr__ = shown

    @property
    def title(self) -> str:
        i, j, o = self.weight.shape
        return f"Bilinear {i} x {j} → {o}"

    def __call__(self, x: Any, y: Any, *, rng: Any = None) -> Value:
        x = checked_input(self, x, self.weight, self.weight.shape[0])
        y = checked_input(self, y, self.weight, self.weight.shape[1], name="y")
        i, j, o = self.weight.shape
        mixed = np.reshape(x @ np.reshape(self.weight, (i, j * o)), (*x.shape[:-1], j, o))
        z = np.sum(mixed * y[..., None], axis=-2)
        return z if self.bias is None else z + self.bias


@dataclass(frozen=True)
class Embedding:
    """Row i of a table for each integer i.

    The same table gives scores for each row (`scores`): a model that uses one table both ways has tied weights, and its
    gradient is the sum of both uses.

    ```python
    table = ad.nn.Embedding(np.array([[1.0, 0.0], [0.0, 2.0]]))
    table(np.array([1, 1, 0]))  # → [[0.0, 2.0], [0.0, 2.0], [1.0, 0.0]]
    table.scores(np.array([3.0, 1.0]))  # → [3.0, 2.0]
    ```
    """

    weight: Value

    def __post_init__(self) -> None:
        checked_array(self, "weight", "rng, tokens, width")

    @classmethod
    @user_facing
    def init(cls, rng: Any, tokens: int, width: int, *, scale: float = 1.0, dtype: Any = np.float64) -> Embedding:
        """Normal numbers with this standard deviation."""
        return cls(initializers.normal(scale)(rng, (tokens, width), dtype))

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"Embedding {self.weight.shape[-2]} → {self.weight.shape[-1]}"

    def __call__(self, ids: Any, *, rng: Any = None) -> Value:
        i: Value = as_values(ids)
        if i.dtype.kind not in "iu":
            raise LayerDtypeError(title_of(self), f"tokens are integers, got {i.dtype}; write ids.astype(int)")
        n = self.weight.shape[0]
        if not isinstance(i, Tracer) and i.size and (np.min(i) < 0 or np.max(i) >= n):
            raise LayerShapeError(
                title_of(self), f"the tokens go from {np.min(i)} to {np.max(i)}; they must be from 0 to {n - 1}"
            )
        return take(self.weight, i, axis=0)

    def scores(self, x: Any) -> Value:
        """x @ weightᵀ: how well each row fits."""
        x = as_values(x)
        if x.shape[-1:] != self.weight.shape[1:]:
            raise LayerShapeError(title_of(self), f"x is {x.shape}; its last axis must be {self.weight.shape[1]}")
        check_dtype(self, x, self.weight)
        return x @ np.swapaxes(self.weight, 0, 1)
