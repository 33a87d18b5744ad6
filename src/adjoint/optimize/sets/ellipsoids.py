"""Ellipsoids: balls of ⟨x, A x⟩ (Mahalanobis), and of weights.

Outside, p = (I + λ A)⁻¹ d with the λ > 0 at which ⟨p, A p⟩ = r². λ is found from the eigenvalues of A; derivatives are
those of the two equations, so that eigenvalues that coincide do no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.implicit.roots import root
from adjoint.optimize.iteration import repeat
from adjoint.optimize.sets.set import Set, as_numbers, check_number, face, point
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["mahalanobis_ball", "weighted_l2_ball"]

STEPS = 60  # halvings and Newton steps, of which some ten are needed


def _find_multiplier(values: Value, d: Value, radius: Value) -> Value:
    """λ ≥ 0 with Σ aᵢ dᵢ² / (1 + λ aᵢ)² = r², by Newton's method on 1/‖·‖, kept within an interval; 0 inside."""
    weights = values * d * d

    def measure(lam: Value) -> Value:
        return np.sqrt(np.sum(weights / (1.0 + lam * values) ** 2))

    def improve(_: Any, now: Any) -> Any:
        lam, low, high = now
        m = measure(lam)
        above = m > radius
        low, high = np.where(above, lam, low), np.where(above, high, lam)
        derivative = np.sum(weights * values / (1.0 + lam * values) ** 3)
        new = lam + (m * m / np.where(derivative > 0, derivative, 1.0)) * (m - radius) / np.where(
            radius > 0, radius, 1.0
        )
        good = np.logical_and(np.logical_and(new > low, new < high), np.isfinite(new))
        return np.where(good, new, 0.5 * (low + high)), low, high

    # √(Σ a d² / (λ a)²) = r bounds λ from above
    high = np.sqrt(np.sum(np.where(values > 0, d * d / np.where(values > 0, values, 1.0), 0.0))) / np.where(
        radius > 0, radius, 1.0
    )
    zero = 0.0 * high
    lam, _, _ = repeat(STEPS, improve, (zero, zero, high), (weights,))
    return np.where(measure(zero) <= radius, zero, lam)


@final
@dataclass(frozen=True, eq=False)
class WeightedL2Ball(Set):
    """Σ wᵢ (xᵢ - cᵢ)² ≤ radius²."""

    weights: Any
    radius: Any = 1.0
    center: Any = 0.0
    name: ClassVar[str] = "weighted_l2_ball"
    spread: ClassVar[tuple[str, ...]] = ("weights", "center")
    positive: ClassVar[tuple[str, ...]] = ("weights",)

    def _project(self, x: Value) -> Value:
        d = x - self.center
        w = np.broadcast_to(self.weights, x.shape) + np.zeros_like(face(x))
        flat, weight, radius = face(d).reshape(-1), face(w).reshape(-1), face(self.radius + np.zeros((), x.dtype))
        inside = np.sum(weight * flat * flat) <= radius * radius
        # inside, where there is no λ to find, a point outside stands in
        far = np.where(inside, 2.0, d)
        r = np.where(inside, 1.0, self.radius + np.zeros((), x.dtype))
        solve = lambda d, w, r: _find_multiplier(np.reshape(w, (-1,)), np.reshape(d, (-1,)), r)
        equation = lambda lam, d, w, r: np.sum(w * d * d / (1.0 + lam * w) ** 2) / (r * r) - 1.0
        found = root(equation, solve, check="ignore")
        lam = found(far, np.where(inside, np.ones_like(w), w), r)
        return np.where(inside, x, self.center + d / (1.0 + np.where(inside, 0.0, lam) * w))

    def _lmo(self, u: Value) -> Value:
        scaled = u / self.weights
        size = np.sum(u * scaled)
        here = face(size) > 0
        return self.center + np.where(here, scaled * (self.radius / np.sqrt(np.where(here, size, 1.0))), 0.0)


@final
@dataclass(frozen=True, eq=False)
class MahalanobisBall(Set):
    """⟨x - c, A (x - c)⟩ ≤ radius²."""

    A: Any
    radius: Any = 1.0
    center: Any = 0.0
    name: ClassVar[str] = "mahalanobis_ball"
    axes: ClassVar[int | None] = 1
    spread: ClassVar[tuple[str, ...]] = ("center",)

    def _exists(self, x: Value) -> Any:
        if self.A.shape[1] != x.shape[0]:
            raise ShapeError(f"sets.mahalanobis_ball: x has {x.shape[0]} numbers, and A shape {self.A.shape}.")
        answer = super()._exists(x)
        if not isinstance(self.A, TRACED):
            return answer
        A = face(self.A)
        symmetric = np.all(np.abs(A - A.T) <= 1e-5 * np.max(np.abs(A)))
        return np.logical_and(answer, np.logical_and(symmetric, np.linalg.eigvalsh(A)[0] > 0))

    def _project(self, x: Value) -> Value:
        A, r = self.A, self.radius + np.zeros((), x.dtype)
        d = x - self.center
        inside = np.sum(face(d) * (face(A) @ face(d))) <= face(r) ** 2

        def solve(d: Value, A: Value, r: Value) -> Value:
            values, vectors = np.linalg.eigh(A)
            values = np.maximum(values, 0.0)
            b = vectors.T @ d
            lam = _find_multiplier(values, b, r)
            return np.concatenate([vectors @ (b / (1.0 + lam * values)), np.reshape(lam, (1,))])

        def equations(z: Value, d: Value, A: Value, r: Value) -> Value:
            p, lam = z[:-1], z[-1]
            q = A @ p
            return np.concatenate([p + lam * q - d, np.reshape(np.sum(p * q) / (r * r) - 1.0, (1,))])

        eye = np.eye(x.size, dtype=x.dtype)
        first = np.where(np.arange(x.size) == 0, 2.0, 0.0).astype(x.dtype)
        r = np.where(inside, 1.0, r).astype(x.dtype)
        z = root(equations, solve, check="ignore")(np.where(inside, first, d), np.where(inside, eye, A), r)
        return np.where(inside, x, self.center + z[:-1])

    def _lmo(self, u: Value) -> Value:
        scaled = np.linalg.solve(self.A, u)
        size = np.sum(u * scaled)
        here = face(size) > 0
        return self.center + np.where(here, scaled * (self.radius / np.sqrt(np.where(here, size, 1.0))), 0.0)


def weighted_l2_ball(weights: Any, radius: Any = 1.0, center: Any = 0.0) -> WeightedL2Ball:
    """Σ wᵢ (xᵢ - centerᵢ)² ≤ radius².

    ```python
    p = ad.optimize.sets.weighted_l2_ball(np.array([1.0, 4.0]), 2.0).project(np.array([5.0, 0.0]))
    np.round(p, 12)  # → [2.0, 0.0]
    ```
    """
    weights = as_numbers(weights)
    check_number("weighted_l2_ball", "weights", weights, strict=True)
    check_number("weighted_l2_ball", "radius", radius, strict=True)
    return WeightedL2Ball(weights, radius, as_numbers(center))


def mahalanobis_ball(A: Any, radius: Any = 1.0, center: Any = 0.0) -> MahalanobisBall:
    """⟨x - center, A (x - center)⟩ ≤ radius², for a symmetric positive definite A.

    ```python
    ball = ad.optimize.sets.mahalanobis_ball(np.array([[2.0, 1.0], [1.0, 2.0]]))
    p = ball.project(np.array([3.0, 3.0]))
    float(np.round(p @ ball.A @ p, 12))  # → 1.0
    ```
    """
    A = point("sets.mahalanobis_ball: A", A, 2)
    if A.shape[0] != A.shape[1]:
        raise ShapeError(f"sets.mahalanobis_ball: A has shape {A.shape}; it must have as many rows as columns.")
    if not isinstance(A, TRACED) and not (np.allclose(A, A.T) and np.linalg.eigvalsh(A)[0] > 0):
        raise ValueError("sets.mahalanobis_ball: A is not symmetric and positive definite, so that this is no ball.")
    check_number("mahalanobis_ball", "radius", radius, strict=True)
    return MahalanobisBall(A, radius, as_numbers(center))
