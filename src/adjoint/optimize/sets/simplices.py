"""Simplices, as they are and with few numbers that are not zero, and sequences in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from adjoint.numpy.indexing import take
from adjoint.optimize.sets.pooling import average_blocks, find_blocks
from adjoint.optimize.sets.set import Set, as_numbers, check_number, check_single, face
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["OrderSimplex", "Simplex", "order_simplex", "project_simplex", "simplex"]


def project_simplex(x: Value, total: Any, allowed: Any = None) -> Value:
    """max(x - τ, 0) with the τ that makes the sum `total`; elsewhere than where it is `allowed` it is 0."""
    at = face(x)
    known = face(total + np.zeros((), x.dtype))
    shift = np.max(at)  # the answer does not depend on it, but rounding does
    at = at - shift
    at = at if allowed is None else np.where(allowed, at, -np.inf)
    fallen = np.sort(at)[::-1]
    least = float(np.finfo(x.dtype).min) / (2 * x.size)  # in the place of -∞, whose sums are NaN
    excess = np.cumsum(np.where(np.isfinite(fallen), fallen, least)) - known
    count = np.maximum(np.sum(fallen * np.arange(1, x.size + 1) > excess), 1)
    tau = take(excess, count - 1) / count
    support = at > tau
    size = np.maximum(np.sum(support), 1)
    moved = x - shift
    tau = (np.sum(np.where(support, moved, 0.0)) - total) / size
    return np.where(support, moved - tau, 0.0)


@final
@dataclass(frozen=True, eq=False)
class Simplex(Set):
    """x ≥ 0 with Σ x = total, and at most `nonzeros` numbers that are not zero."""

    total: Any = 1.0
    nonzeros: int | None = field(default=None, metadata={"static": True})
    name: ClassVar[str] = "simplex"
    axes: ClassVar[int | None] = 1
    least: ClassVar[int] = 1

    @property
    def convex(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether it is one: points with few numbers have means with more."""
        return self.nonzeros is None

    def _exists(self, x: Value) -> Any:
        return face(self.total) >= 0

    def _is_near(self, x: Value) -> Any:
        # a number at -∞ is 0 in the nearest point
        return np.isfinite(np.max(x))

    def _project(self, x: Value) -> Value:
        return project_simplex(x, self.total, self._largest(face(x)))

    def _largest(self, x: Value) -> Any:
        """Where the largest numbers are: the nearest sparse point has its numbers there."""
        if self.nonzeros is None or self.nonzeros >= x.size:
            return None
        rank = np.argsort(np.argsort(-x, kind="stable"), kind="stable")
        return rank < self.nonzeros

    def _lmo(self, u: Value) -> Value:
        return np.where(np.arange(u.size) == np.argmax(face(u)), self.total, 0.0).astype(u.dtype)

    def _project_entropy(self, x: Value) -> Value:
        allowed = self._largest(face(x))
        x = x if allowed is None else np.where(allowed, x, 0.0)
        whole = np.sum(x)
        return x * (self.total / whole)


@final
@dataclass(frozen=True, eq=False)
class OrderSimplex(Set):
    """upper ≥ x₁ ≥ x₂ ≥ … ≥ lower, or the other way round; nearest in Σ wᵢ (pᵢ - xᵢ)²."""

    lower: Any = -np.inf
    upper: Any = np.inf
    weights: Any = None
    increasing: bool = field(default=False, metadata={"static": True})
    name: ClassVar[str] = "order_simplex"
    axes: ClassVar[int | None] = 1
    spread: ClassVar[tuple[str, ...]] = ("weights",)
    positive: ClassVar[tuple[str, ...]] = ("weights",)
    single: ClassVar[tuple[str, ...]] = ("lower", "upper")

    def _exists(self, x: Value) -> Any:
        return np.logical_and(super()._exists(x), face(self.lower) <= face(self.upper))

    def _project(self, x: Value) -> Value:
        w = np.ones_like(face(x)) if self.weights is None else np.broadcast_to(self.weights, x.shape)
        y, w = (x[::-1], w[::-1]) if self.increasing else (x, w)
        p = average_blocks(y, w, find_blocks(face(y), face(w)))
        p = p[::-1] if self.increasing else p
        at = face(p)
        return np.where(at < self.lower, self.lower, np.where(at > self.upper, self.upper, p))

    def _lmo(self, u: Value) -> Value:
        if not isinstance(self.lower, TRACED) and not isinstance(self.upper, TRACED) and not (
            np.isfinite(self.lower) and np.isfinite(self.upper)
        ):  # fmt: skip
            return super()._lmo(u)
        g = u[::-1] if self.increasing else u
        sums = np.concatenate([np.zeros(1, g.dtype), np.cumsum(face(g))])
        s = np.where(np.arange(u.size) < np.argmax(sums), self.upper, self.lower)
        return s[::-1] if self.increasing else s


def simplex(total: Any = 1.0, *, nonzeros: int | None = None) -> Simplex:
    """x ≥ 0 with Σ x = total; with `nonzeros` at most so many numbers are not zero.

    ```python
    ad.optimize.sets.simplex().project(np.array([0.4, 0.3, 0.9, -0.2]))  # → [0.2, 0.1, 0.7, 0.0]
    ad.optimize.sets.simplex().bregman_project(np.array([1.0, 3.0]))  # → [0.25, 0.75]
    ```
    """
    check_number("simplex", "total", total)
    if nonzeros is not None and nonzeros < 1:
        raise ValueError(f"sets.simplex: nonzeros is {nonzeros}; at least one number is not zero.")
    return Simplex(total, nonzeros)


def order_simplex(
    lower: Any = -np.inf, upper: Any = np.inf, *, weights: Any = None, increasing: bool = False
) -> OrderSimplex:
    """Sequences that fall, upper ≥ x₁ ≥ x₂ ≥ … ≥ lower, or rise; projecting onto them is isotonic regression, in O(n).

    With `weights` the projection is the nearest in Σ wᵢ (pᵢ - xᵢ)².

    ```python
    ad.optimize.sets.order_simplex(increasing=True).project(np.array([1.0, 3.0, 2.0, 4.0]))  # → [1.0, 2.5, 2.5, 4.0]
    ```
    """
    weights = as_numbers(weights)
    if weights is not None:
        check_number("order_simplex", "weights", weights, strict=True)
    for side, bound in (("lower", lower), ("upper", upper)):
        check_single("sets.order_simplex", side, bound)
    if not isinstance(lower, TRACED) and not isinstance(upper, TRACED) and not lower <= upper:
        raise ValueError(f"sets.order_simplex: lower is {lower} and upper is {upper}; nothing lies between.")
    return OrderSimplex(lower, upper, weights, increasing)
