"""Balls and spheres of the norms ℓ1, ℓ2 and ℓ∞, weighted ones, and of the nuclear norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from adjoint.api.custom_rules import custom_rule
from adjoint.api.gradients import jvp
from adjoint.numpy.indexing import take
from adjoint.optimize.sets.boxes import Box
from adjoint.optimize.sets.eigenvalues import apply_to_singular_values
from adjoint.optimize.sets.set import Set, as_numbers, check_number, face, safe_norm
from adjoint.optimize.sets.simplices import project_simplex
from adjoint.program.types import Value

__all__ = [
    "l1_ball",
    "l1_sphere",
    "l2_ball",
    "l2_sphere",
    "linf_ball",
    "linf_sphere",
    "nuclear_ball",
    "weighted_l1_ball",
]


def _sign(x: Value) -> Value:
    """±1: zero counts as positive."""
    return np.where(face(x) < 0, -1.0, 1.0).astype(x.dtype)


def _largest(x: Value) -> Value:
    """Where the number of the largest size is; the first one of several."""
    return np.reshape(np.arange(x.size) == np.argmax(np.abs(face(x))), x.shape)


@final
@dataclass(frozen=True, eq=False)
class WeightedL1Ball(Set):
    """Σ wᵢ |xᵢ - cᵢ| ≤ radius: |pᵢ - cᵢ| = max(|xᵢ - cᵢ| - τ wᵢ, 0)."""

    weights: Any
    radius: Any = 1.0
    center: Any = 0.0
    name: ClassVar[str] = "weighted_l1_ball"
    spread: ClassVar[tuple[str, ...]] = ("weights", "center")
    positive: ClassVar[tuple[str, ...]] = ("weights",)
    axes: ClassVar[int | None] = 1

    def _project(self, x: Value) -> Value:
        d = x - self.center
        w = np.broadcast_to(self.weights, d.shape) + np.zeros_like(face(d))
        size = np.abs(face(d))
        weight, radius = face(w), face(self.radius + np.zeros((), x.dtype))
        order = np.argsort(-size / weight)
        ratio = (size / weight)[order]
        sums, squares = np.cumsum((weight * size)[order]), np.cumsum((weight * weight)[order])
        count = np.maximum(np.sum(ratio * squares > sums - radius), 1)
        tau = (take(sums, count - 1) - radius) / take(squares, count - 1)
        support = size > tau * weight
        sign = _sign(d)
        square = np.sum(np.where(support, w * w, 0.0))
        tau = (np.sum(np.where(support, w * sign * d, 0.0)) - self.radius) / np.where(face(square) > 0, square, 1.0)
        shrunk = np.where(support, d - sign * tau * w, 0.0)
        return np.where(np.sum(weight * size) <= radius, x, shrunk + self.center)

    def _lmo(self, u: Value) -> Value:
        best = _largest(u / self.weights)
        return self.center + np.where(best, _sign(u) * self.radius / self.weights, 0.0)


@final
@dataclass(frozen=True, eq=False)
class L1Ball(Set):
    """‖x - c‖₁ ≤ radius."""

    radius: Any = 1.0
    center: Any = 0.0
    name: ClassVar[str] = "l1_ball"
    spread: ClassVar[tuple[str, ...]] = ("center",)

    def _project(self, x: Value) -> Value:
        d = np.reshape(x - self.center, (-1,))
        sign = _sign(d)
        inside = np.sum(np.abs(face(d))) <= face(self.radius)
        shrunk = np.reshape(sign * project_simplex(sign * d, self.radius), x.shape)
        return np.where(inside, x, shrunk + self.center)

    def _lmo(self, u: Value) -> Value:
        return self.center + np.where(_largest(u), _sign(u) * self.radius, 0.0)


@final
@dataclass(frozen=True, eq=False)
class L1Sphere(Set):
    """‖x - c‖₁ = radius."""

    radius: Any = 1.0
    center: Any = 0.0
    name: ClassVar[str] = "l1_sphere"
    convex: ClassVar[bool] = False
    least: ClassVar[int] = 1
    spread: ClassVar[tuple[str, ...]] = ("center",)

    def _project(self, x: Value) -> Value:
        d = np.reshape(x - self.center, (-1,))
        sign = _sign(d)
        return np.reshape(sign * project_simplex(sign * d, self.radius), x.shape) + self.center

    _lmo = L1Ball._lmo


@final
@dataclass(frozen=True, eq=False)
class L2Ball(Set):
    """‖x - c‖₂ ≤ radius."""

    radius: Any = 1.0
    center: Any = 0.0
    name: ClassVar[str] = "l2_ball"
    spread: ClassVar[tuple[str, ...]] = ("center",)

    def _project(self, x: Value) -> Value:
        d = x - self.center
        size = safe_norm(d)
        outside = face(size) > face(self.radius)
        return np.where(outside, self.center + d * (self.radius / np.where(outside, size, 1.0)), x)

    def _lmo(self, u: Value) -> Value:
        size = safe_norm(u)
        here = face(size) > 0
        return self.center + np.where(here, u * (self.radius / np.where(here, size, 1.0)), 0.0)


@final
@dataclass(frozen=True, eq=False)
class L2Sphere(Set):
    """‖x - c‖₂ = radius; the center itself goes to the first of its nearest points."""

    radius: Any = 1.0
    center: Any = 0.0
    name: ClassVar[str] = "l2_sphere"
    convex: ClassVar[bool] = False
    least: ClassVar[int] = 1
    spread: ClassVar[tuple[str, ...]] = ("center",)

    def _project(self, x: Value) -> Value:
        d = x - self.center
        size = safe_norm(d)
        here = face(size) > 0
        first = np.reshape(np.arange(x.size) == 0, x.shape)
        return self.center + np.where(here, d / np.where(here, size, 1.0), np.where(first, 1.0, 0.0)) * self.radius

    _lmo = L2Ball._lmo


@final
@dataclass(frozen=True, eq=False)
class LInfSphere(Set):
    """‖x - c‖∞ = radius: outside it is clipped, inside the largest number moves to the nearer side."""

    radius: Any = 1.0
    center: Any = 0.0
    name: ClassVar[str] = "linf_sphere"
    convex: ClassVar[bool] = False
    least: ClassVar[int] = 1
    spread: ClassVar[tuple[str, ...]] = ("center",)

    def _project(self, x: Value) -> Value:
        d = x - self.center
        at, r = face(d), self.radius
        clipped = np.where(at < -face(r), -r, np.where(at > face(r), r, d))
        inside = np.max(np.abs(at)) < face(r)
        return self.center + np.where(inside & _largest(d), _sign(d) * r, clipped)

    def _lmo(self, u: Value) -> Value:
        return self.center + _sign(u) * self.radius


@final
@dataclass(frozen=True, eq=False)
class NuclearBall(Set):
    """Matrices whose singular values sum to at most radius."""

    radius: Any = 1.0
    name: ClassVar[str] = "nuclear_ball"
    axes: ClassVar[int | None] = 2

    def _project(self, x: Value) -> Value:
        inside = np.sum(np.linalg.svd(face(x), compute_uv=False)) <= face(self.radius)
        return np.where(inside, x, apply_to_singular_values(project_simplex, x, self.radius + np.zeros((), x.dtype)))

    def _lmo(self, u: Value) -> Value:
        return self.radius * _find_leading(u)


def _leading(u: Value) -> Value:
    left, _, right = np.linalg.svd(u, full_matrices=False)
    return np.outer(left[:, 0], right[0])


def _push_leading(primals: Any, tangents: Any) -> tuple[Value, Value]:
    first = lambda s: np.where(np.arange(s.size) == 0, 1.0, 0.0) + 0 * s
    moved = jvp(lambda u: apply_to_singular_values(first, u), primals, tangents)[1]
    return _leading(*primals), moved


# The product of the first singular vectors. These may change their sign together, and have no derivative where
# other singular values coincide; the product has one as long as the first is larger than the others.
_find_leading: Any = custom_rule(_leading, jvp=_push_leading)


def l1_ball(radius: Any = 1.0, center: Any = 0.0) -> L1Ball:
    """‖x - center‖₁ ≤ radius; exact, in O(n log n).

    ```python
    ad.optimize.sets.l1_ball(1.0).project(np.array([0.9, -0.5, 0.1]))  # → [0.7, -0.3, 0.0]
    ```
    """
    check_number("l1_ball", "radius", radius)
    return L1Ball(radius, as_numbers(center))


def l1_sphere(radius: Any = 1.0, center: Any = 0.0) -> L1Sphere:
    """‖x - center‖₁ = radius; its projection is one of several where x has ties.

    ```python
    ad.optimize.sets.l1_sphere(1.0).project(np.array([0.2, -0.3]))  # → [0.45, -0.55]
    ```
    """
    check_number("l1_sphere", "radius", radius)
    return L1Sphere(radius, as_numbers(center))


def weighted_l1_ball(weights: Any, radius: Any = 1.0, center: Any = 0.0) -> WeightedL1Ball:
    """Σ wᵢ |xᵢ - centerᵢ| ≤ radius; exact, in O(n log n).

    ```python
    ad.optimize.sets.weighted_l1_ball(np.array([1.0, 2.0]), 2.0).project(np.array([3.0, 0.5]))  # → [2.0, 0.0]
    ```
    """
    weights = as_numbers(weights)
    check_number("weighted_l1_ball", "weights", weights, strict=True)
    check_number("weighted_l1_ball", "radius", radius)
    return WeightedL1Ball(weights, radius, as_numbers(center))


def l2_ball(radius: Any = 1.0, center: Any = 0.0) -> L2Ball:
    """‖x - center‖₂ ≤ radius.

    ```python
    ad.optimize.sets.l2_ball(1.0).project(np.array([3.0, 4.0]))  # → [0.6, 0.8]
    ```
    """
    check_number("l2_ball", "radius", radius)
    return L2Ball(radius, as_numbers(center))


def l2_sphere(radius: Any = 1.0, center: Any = 0.0) -> L2Sphere:
    """‖x - center‖₂ = radius.

    ```python
    ad.optimize.sets.l2_sphere(2.0).project(np.array([0.3, 0.4]))  # → [1.2, 1.6]
    ```
    """
    check_number("l2_sphere", "radius", radius)
    return L2Sphere(radius, as_numbers(center))


def linf_ball(radius: Any = 1.0, center: Any = 0.0) -> Box:
    """|xᵢ - centerᵢ| ≤ radius, number by number.

    ```python
    ad.optimize.sets.linf_ball(1.0).project(np.array([3.0, -0.5]))  # → [1.0, -0.5]
    ```
    """
    check_number("linf_ball", "radius", radius)
    center = as_numbers(center)
    return Box(center - radius, center + radius)


def linf_sphere(radius: Any = 1.0, center: Any = 0.0) -> LInfSphere:
    """‖x - center‖∞ = radius.

    ```python
    ad.optimize.sets.linf_sphere(1.0).project(np.array([0.3, -0.5]))  # → [0.3, -1.0]
    ```
    """
    check_number("linf_sphere", "radius", radius)
    return LInfSphere(radius, as_numbers(center))


def nuclear_ball(radius: Any = 1.0) -> NuclearBall:
    """Matrices whose singular values sum to at most `radius`; lmo is of rank one.

    ```python
    ad.optimize.sets.nuclear_ball(1.0).project(np.diag([1.5, 0.7]))  # → [[0.9, 0.0], [0.0, 0.1]]
    ```
    """
    check_number("nuclear_ball", "radius", radius)
    return NuclearBall(radius)
