"""Subgradients of convex functions: slopes of affine functions that touch from below."""

# pyright: basic
from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api import Function
from adjoint.audit.walk import check_real_result, plain_values, real_array

__all__ = ["is_subgradient"]


def is_subgradient(
    function: Function, x: tree.Tree, z: tree.Tree, *, samples: int = 256, radius: float = 1.0, seed: int = 0
) -> bool:
    """Whether z is a subgradient of a convex function at x, as far as a sample can tell.

    f(y) ≥ f(x) + ⟨z, y - x⟩ is tried for `samples` points y around x, at distances from radius · 1e-6 to `radius` and
    along the axes. False is certain, up to rounding; True says that no sample speaks against it.

    ```python
    ad.audit.is_subgradient(np.abs, 0.0, 0.5), ad.audit.is_subgradient(np.abs, 0.0, 1.5)  # → (True, False)
    ```
    """
    plain_values("is_subgradient", x, z)
    leaves, structure = tree.flatten(x)
    slopes, other = tree.flatten(z)
    tree.check_same_structure("is_subgradient: z", structure, other, "x", "z")
    if not leaves:
        raise ValueError("is_subgradient: x has no arrays. Give a point.")
    at = np.concatenate([np.ravel(real_array("is_subgradient", leaf, "x")) for leaf in leaves])
    slope = np.concatenate([np.ravel(real_array("is_subgradient", leaf, "z")) for leaf in slopes])
    if at.shape != slope.shape:
        raise ValueError(f"is_subgradient: z has {slope.size} numbers for an x of {at.size}. Give one for each.")

    def value(point: Any) -> float:
        parts = np.split(point, np.cumsum([np.size(leaf) for leaf in leaves])[:-1])
        shaped = [np.reshape(p, np.shape(leaf))[()] for p, leaf in zip(parts, leaves, strict=True)]
        found = function(tree.unflatten(structure, shaped))
        check_real_result("is_subgradient", found)
        if np.shape(found) != ():
            raise ValueError(
                f"is_subgradient: the function must return one number; it returned shape {np.shape(found)}."
            )
        return float(found)

    rng = np.random.default_rng(seed)
    ways = rng.standard_normal((max(samples - 2 * at.size, 1), at.size))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    ways = np.concatenate([np.eye(at.size), -np.eye(at.size), ways])
    lengths = radius * 10.0 ** rng.uniform(-6, 0, len(ways))
    here = value(at)
    if np.isnan(here):  # outside its domain
        return False
    for way, length in zip(ways, lengths, strict=True):
        step = length * way
        below = here + slope @ step
        rounding = 64 * np.finfo(float).eps * (abs(here) + abs(slope) @ abs(step) + 1e-300)
        if value(at + step) < below - rounding:
            return False
    return True
