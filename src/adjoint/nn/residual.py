"""Layers made of layers: one after the other, around one (a residual), and side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.nn.locating import LayerShapeError, apply, shown, title_of
from adjoint.program.types import Value

__all__ = ["Concat", "Residual", "Sequential"]


@dataclass(frozen=True)
class Sequential:
    """Layers and plain functions, one after the other: as a tuple, or as several arguments.

    ```python
    rng = ad.random.default_rng(0)
    first, last = ad.nn.Linear.init(rng, 2, 4), ad.nn.Linear.init(rng, 4, 1)
    model = ad.nn.Sequential((first, ad.nn.relu, ad.nn.Dropout(0.1), last))
    model(np.ones((3, 2))).shape  # → (3, 1)
    ```
    """

    layers: Sequence[Any]

    def __init__(self, layers: Any, *more: Any) -> None:
        given = (layers, *more) if more or not isinstance(layers, list | tuple) else layers
        object.__setattr__(self, "layers", given)

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"Sequential of {len(self.layers)}"

    def __call__(self, x: Any, *, rng: Any = None) -> Any:
        for i, layer in enumerate(self.layers):
            x = apply(layer, f".layers[{i}]", x, rng=rng)
        return x


@dataclass(frozen=True)
class Residual:
    """x + inner(x), or after(x + inner(x)).

    ```python
    zero = ad.nn.Linear(np.zeros((2, 2)))
    ad.nn.Residual(zero)(np.array([1.0, 2.0]))  # → [1.0, 2.0]
    ```
    """

    inner: Any
    after: Callable[[Any], Any] | None = None

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"Residual around {title_of(self.inner)}"

    def __call__(self, x: Any, *, rng: Any = None) -> Value:
        change = apply(self.inner, ".inner", x, rng=rng)
        if np.shape(change) != np.shape(x):
            raise LayerShapeError(
                title_of(self), f"x is {np.shape(x)}, but inner(x) is {np.shape(change)}; they must be equal"
            )
        total = x + change
        return total if self.after is None else apply(self.after, ".after", total, rng=rng)


@dataclass(frozen=True)
class Concat:
    """Each part applied to an input of its own, and the results joined: a network of several inputs.

    A part that is None passes its input on.

    ```python
    join = ad.nn.Concat((None, ad.nn.relu))
    join((np.array([1.0]), np.array([-1.0, 2.0])))  # → [1.0, 0.0, 2.0]
    ```
    """

    parts: Sequence[Any]
    axis: int = tree.static(default=-1)

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"Concat of {len(self.parts)}"

    def __call__(self, xs: Sequence[Any], *, rng: Any = None) -> Value:
        if len(xs) != len(self.parts):
            raise LayerShapeError(
                title_of(self), f"it has {len(self.parts)} parts but was given {len(xs)} inputs, in a sequence"
            )
        made = [
            x if part is None else apply(part, f".parts[{i}]", x, rng=rng)
            for i, (part, x) in enumerate(zip(self.parts, xs, strict=True))
        ]
        return np.concatenate(made, axis=self.axis)
