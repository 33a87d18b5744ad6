"""Tangent spaces of sets that are given by constraints: M = {w: c(w) = 0} has T_w M = null space of ∂c(w)."""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api import Transformed
from adjoint.audit.walk import check_real_result, real_array
from adjoint.derivatives import jacobian

__all__ = ["TangentSpace", "tangent_space"]


@dataclass(frozen=True)
class TangentSpace:
    """An orthonormal basis, (dimension, *shape of w).

    ```python
    ad.audit.tangent_space(lambda w: np.sum(w**2) - 1)(np.array([1.0, 0.0, 0.0])).basis.shape  # → (2, 3)
    ```
    """

    basis: np.ndarray

    @property
    def dimension(self) -> int:
        return len(self.basis)

    def project(self, v: Any) -> Any:
        """The part of v that is tangent: Σ ⟨bᵢ, v⟩ bᵢ."""
        rows = np.reshape(self.basis, (self.dimension, -1))
        return np.reshape(rows.T @ (rows @ np.ravel(v)), np.shape(v))


def tangent_space(constraints: Callable[..., Any]) -> Transformed:
    """The tangent space of {w: c(w) = 0} at a point: `tangent_space(c)(w)`, for one array w; c may return any tree.

    The rank of ∂c(w) is found from its singular values, so that constraints may depend on each other.

    ```python
    space = ad.audit.tangent_space(lambda w: np.sum(w**2) - 1)(np.array([1.0, 0.0]))
    np.abs(space.basis)  # → [[0.0, 1.0]]
    ```
    """
    return Transformed(_tangent_space, constraints, {})


def _tangent_space(constraints: Callable[..., Any], options: dict[str, Any], args: Any, kwargs: Any) -> TangentSpace:
    if len(args) != 1:
        raise TypeError(f"tangent_space: the constraints take one array; got {len(args)} arguments.")
    w = real_array("tangent_space", args[0], "the point")
    f = lambda w: constraints(w, **kwargs)
    values = tree.leaves(f(w[()]))
    for value in values:
        check_real_result("tangent_space", value)
    slopes = zip(values, tree.leaves(jacobian(f)(w[()])), strict=True)
    rows = np.concatenate([np.reshape(J, (np.size(value), w.size)) for value, J in slopes])
    _, singular, right = np.linalg.svd(rows)
    rank = int(np.sum(singular > np.max(singular, initial=0.0) * max(rows.shape) * np.finfo(float).eps))
    return TangentSpace(right[rank:].reshape((len(right) - rank, *w.shape)))
