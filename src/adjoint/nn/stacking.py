"""Depth as a loop: equal layers, their parameters stacked, run by `scan`. Compiling takes the time of one layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import scan
from adjoint.base.errors import ShapeError, TreeError
from adjoint.base.source import user_facing
from adjoint.nn.dropping import checked_generator
from adjoint.nn.locating import apply, shown, title_of
from adjoint.program.types import Value

__all__ = ["Stack"]


@dataclass(frozen=True)
class Stack:
    """K equal layers, one after the other, as one loop; `layers` is one layer whose leaves have a first axis of K.

    `checkpoint` is that of `ad.scan`: what the backward pass keeps. Each layer draws from a stream of its own.

    ```python
    make = lambda rng: ad.nn.Residual(ad.nn.Linear.init(rng, 4, 4))
    deep = ad.nn.Stack.init(ad.random.default_rng(0), 8, make)
    deep(np.ones((3, 4))).shape, len(deep.unstacked())  # → ((3, 4), 8)
    ```
    """

    layers: Any
    checkpoint: Any = tree.static(default=None)

    @classmethod
    @user_facing
    def init(cls, rng: Any, depth: int, make: Callable[[Any], Any], *, checkpoint: Any = None) -> Stack:
        """Stack what `make(rng)` gives, `depth` times."""
        return cls.of([make(rng) for _ in range(depth)], checkpoint=checkpoint)

    @classmethod
    def of(cls, layers: Sequence[Any], *, checkpoint: Any = None) -> Stack:
        """Stack layers that differ in the values of their parameters alone."""
        if not layers:
            raise TreeError("Stack: there is no layer to stack.")
        for i, layer in enumerate(layers[1:], 1):
            tree.check_same_structure(f"Stack: layer {i} differs from layer 0", layers[0], layer)
            for path, one, other in zip(tree.paths(layer), tree.leaves(layer), tree.leaves(layers[0]), strict=True):
                if np.shape(one) != np.shape(other):
                    raise ShapeError(f"Stack: {path.removeprefix('.')} of layer {i} has shape {np.shape(one)}, and "
                                     f"of layer 0 {np.shape(other)}; use Sequential where layers differ.")  # fmt: skip
        return cls(tree.map(lambda *leaves: np.stack(leaves), *layers), checkpoint)

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return tree.leaves(self.layers)[0].shape[0]

    __repr__ = shown

    @property
    def title(self) -> str:
        return f"Stack of {self.depth} {type(self.layers).__name__}"

    def unstacked(self) -> list[Any]:
        """The layers one by one."""
        return [tree.map(lambda leaf, i=i: leaf[i], self.layers) for i in range(self.depth)]

    def __call__(self, x: Any, *inputs: Any, rng: Any = None, **options: Any) -> Value:
        """Further inputs and options are given to every layer."""
        root = None if rng is None else checked_generator(title_of(self), rng).spawn(1)[0]

        def body(carry: Value, item: tuple[Any, Value]) -> tuple[Value, None]:
            layer, i = item
            own = None if root is None else root.at(i)
            return apply(lambda x, rng: layer(x, *inputs, rng=rng, **options), ".layers", carry, rng=own), None

        return scan(body, x, (self.layers, np.arange(self.depth)), checkpoint=self.checkpoint)[0]
