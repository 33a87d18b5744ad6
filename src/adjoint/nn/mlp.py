"""The multilayer perceptron: linear layers with an activation between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.nn import initializers
from adjoint.nn.activations import elu, gelu, leaky_relu, prelu, relu, silu, softplus
from adjoint.nn.dropping import checked_rate, dropout
from adjoint.nn.initializers import Initializer
from adjoint.nn.linear import Linear
from adjoint.nn.locating import apply, checked_array, shown
from adjoint.program.types import Value

__all__ = ["MLP"]

RECTIFIERS = (relu, leaky_relu, prelu, elu, gelu, silu, softplus)


@dataclass(frozen=True)
class MLP:
    """Linear layers, an activation after each but the last, and `final` after that one.

    In training (with a generator) dropout follows each activation. Weights begin with variance 2 / inputs before
    rectifiers, and as `glorot_uniform` otherwise.

    ```python
    model = ad.nn.MLP.init(ad.random.default_rng(0), [2, 8, 3], activation=np.tanh, final=ad.nn.softargmax)
    model(np.ones((5, 2))).shape, float(np.round(np.sum(model(np.ones(2))), 12))  # → ((5, 3), 1.0)
    ```
    """

    layers: tuple[Linear, ...]
    activation: Callable[[Any], Any] = tree.static(default=relu)
    final: Callable[[Any], Any] | None = tree.static(default=None)
    dropout: float = tree.static(default=0.0)

    def __post_init__(self) -> None:
        checked_array(self, "layers", "rng, sizes")
        checked_rate("MLP", self.dropout)

    @classmethod
    @user_facing
    def init(
        cls,
        rng: Any,
        sizes: Sequence[int],
        *,
        activation: Callable[[Any], Any] = relu,
        final: Callable[[Any], Any] | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        weight: Initializer | None = None,
        dtype: Any = np.float64,
    ) -> MLP:
        """Layers from each size to the next."""
        if len(sizes) < 2:
            raise ShapeError(f"MLP: sizes are those of the input, the layers between, the output; got {list(sizes)}.")
        inner = initializers.he_normal if activation in RECTIFIERS else initializers.glorot_uniform
        kinds = [weight or inner] * (len(sizes) - 2) + [weight or initializers.glorot_uniform]
        made = [
            Linear.init(rng, m, n, bias=bias, weight=kind, dtype=dtype)
            for m, n, kind in zip(sizes[:-1], sizes[1:], kinds, strict=True)
        ]
        return cls(tuple(made), activation, final, dropout)

    __repr__ = shown

    @property
    def title(self) -> str:
        sizes = [self.layers[0].weight.shape[0], *[layer.weight.shape[1] for layer in self.layers]]
        return f"MLP {' → '.join(map(str, sizes))}"

    def __call__(self, x: Any, *, rng: Any = None) -> Value:
        last = len(self.layers) - 1
        for i, layer in enumerate(self.layers):
            x = apply(layer, f".layers[{i}]", x)
            if i < last:
                x = dropout(self.activation(x), self.dropout, rng)
        return x if self.final is None else self.final(x)
