"""Stacks of maps, as vmap returns them: the arrays of each have one axis more, and belong to no single map."""

# pyright: reportPrivateUsage=false
# (maps say how many axes their arrays have)

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError

__all__ = ["axes_of", "batch_shape_of", "check_single"]


def batch_shape_of(map_: Any) -> tuple[int, ...]:
    """The sizes of the axes that stand before those of a map's arrays; () for a single map."""
    for name, axes in map_._axes:
        leaves = tree.leaves(getattr(map_, name))
        for leaf, count in zip(leaves, [axes] * len(leaves) if axes is not None else map_.axes, strict=True):
            if np.ndim(leaf) > count:
                return tuple(np.shape(leaf)[: np.ndim(leaf) - count])
    return next((part.batch_shape for part in map_._parts() if part.batch_shape), ())


def axes_of(element: Any) -> tuple[int, ...]:
    """How many axes the leaves of an element have: what is remembered of a map on elements like it."""
    return tuple(np.ndim(leaf) for leaf in tree.leaves(element))


def check_single(map_: Any, title: str | None = None) -> None:
    """Refuse a stack of maps where one is meant."""
    if map_.batch_shape:
        count = "×".join(map(str, map_.batch_shape))
        raise ShapeError(
            f"{title or map_._label()}: this is a stack of {count} maps, as vmap returns it. Map over it, too: "
            "vmap(lambda A, x: A @ x)(stack, xs)."
        )
