"""Smooth terms: quadratic ones, Huber's, entropy, logarithmic barrier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.optimize.proximal.term import Term, check_positive
from adjoint.optimize.sets.set import as_numbers, face
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["huber", "log_barrier", "negentropy", "quadratic", "squared_l2", "zero"]


@final
@dataclass(frozen=True, eq=False)
class Zero(Term):
    """0."""

    name: ClassVar[str] = "zero"
    elementwise: ClassVar[bool] = True

    def _value(self, x: Value) -> Value:
        return 0.0 * np.sum(face(x))

    def _prox(self, x: Value, step: Any) -> Value:
        return x


@final
@dataclass(frozen=True, eq=False)
class SquaredL2(Term):
    """λ/2 ‖x‖²."""

    factor: Any = 1.0
    name: ClassVar[str] = "squared_l2"
    elementwise: ClassVar[bool] = True
    spread: ClassVar[tuple[str, ...]] = ("factor",)

    def _value(self, x: Value) -> Value:
        return 0.5 * np.sum(self.factor * x * x)

    def _prox(self, x: Value, step: Any) -> Value:
        return x / (1.0 + step * self.factor)


@final
@dataclass(frozen=True, eq=False)
class Quadratic(Term):
    """½ ⟨x, Q x⟩ + ⟨q, x⟩."""

    Q: Any
    q: Any
    name: ClassVar[str] = "quadratic"
    spread: ClassVar[tuple[str, ...]] = ("q",)
    axes: ClassVar[int | None] = 1

    def _exists(self) -> Any:
        if not isinstance(self.Q, TRACED):
            return True
        Q = face(self.Q)
        size = np.max(np.abs(Q), initial=1e-30)
        symmetric = np.all(np.abs(Q - Q.T) <= 1e-5 * size)
        tol = 1e-9 if Q.dtype == np.float64 else 1e-5
        return np.logical_and(symmetric, np.linalg.eigvalsh(Q)[0] >= -tol * size)

    def _value(self, x: Value) -> Value:
        return 0.5 * np.sum(x * (self.Q @ x)) + np.sum(self.q * x)

    def _prox(self, x: Value, step: Any) -> Value:
        if self.Q.shape != (x.size, x.size):
            raise ShapeError(f"proximal.quadratic: Q has shape {self.Q.shape}, and x {x.size} numbers.")
        return np.linalg.solve(np.eye(x.size, dtype=x.dtype) + step * self.Q, x - step * self.q)


@final
@dataclass(frozen=True, eq=False)
class Huber(Term):
    """λ Σ h(xᵢ), where h is x² / 2δ up to |x| = δ and |x| - δ/2 beyond."""

    delta: Any = 1.0
    factor: Any = 1.0
    name: ClassVar[str] = "huber"
    elementwise: ClassVar[bool] = True
    positive: ClassVar[tuple[str, ...]] = ("delta",)
    spread: ClassVar[tuple[str, ...]] = ("delta", "factor")

    def _value(self, x: Value) -> Value:
        size = np.where(face(x) < 0, -x, x)
        near = face(size) <= face(self.delta + np.zeros((), x.dtype))
        return np.sum(self.factor * np.where(near, x * x / (2.0 * self.delta), size - 0.5 * self.delta))

    def _prox(self, x: Value, step: Any) -> Value:
        t = step * self.factor
        near = np.abs(face(x)) <= face(t + self.delta + np.zeros((), x.dtype))
        return np.where(near, x * self.delta / (self.delta + t), np.where(face(x) < 0, x + t, x - t))


@final
@dataclass(frozen=True, eq=False)
class Negentropy(Term):
    """λ Σ xᵢ log xᵢ, 0 at 0."""

    factor: Any = 1.0
    name: ClassVar[str] = "negentropy"
    elementwise: ClassVar[bool] = True
    positive: ClassVar[tuple[str, ...]] = ("factor",)
    spread: ClassVar[tuple[str, ...]] = ("factor",)

    def _value(self, x: Value) -> Value:
        here = face(x) > 0
        inside = np.where(here, x * np.log(np.where(here, x, 1.0)), 0.0 * x)
        return np.sum(self.factor * np.where(face(x) < 0, np.inf, inside))

    def _prox(self, x: Value, step: Any) -> Value:
        # p + γ log p = x - γ:  p = γ ω(x/γ - 1 - log γ) with Wright's ω, the stable form of W(eᶻ)
        from scipy.special import wrightomega

        t = step * self.factor
        return t * np.real(wrightomega(x / t - 1.0 - np.log(t)))


@final
@dataclass(frozen=True, eq=False)
class LogBarrier(Term):
    """-λ Σ log xᵢ."""

    factor: Any = 1.0
    name: ClassVar[str] = "log_barrier"
    elementwise: ClassVar[bool] = True
    positive: ClassVar[tuple[str, ...]] = ("factor",)
    spread: ClassVar[tuple[str, ...]] = ("factor",)

    def _value(self, x: Value) -> Value:
        here = face(x) > 0
        return np.sum(self.factor * np.where(here, -np.log(np.where(here, x, 1.0)), np.inf))

    def _prox(self, x: Value, step: Any) -> Value:
        t = step * self.factor
        root = np.hypot(x, 2.0 * np.sqrt(t))
        # (x + √(x² + 4t)) / 2, without cancellation where x is negative
        left = face(x) < 0
        return np.where(left, 2.0 * t / np.where(left, root - x, 1.0), 0.5 * (x + root))


def zero() -> Zero:
    """No term: its proximal operator is the identity.

    ```python
    ad.optimize.proximal.zero().prox(np.array([1.0, -2.0]))  # → [1.0, -2.0]
    ```
    """
    return Zero()


def squared_l2(factor: Any = 1.0) -> SquaredL2:
    """λ/2 ‖x‖².

    ```python
    ad.optimize.proximal.squared_l2(1.0).prox(np.array([3.0, -1.0]))  # → [1.5, -0.5]
    ```
    """
    factor = as_numbers(factor)
    check_positive("squared_l2", "factor", factor)
    return SquaredL2(factor)


def quadratic(Q: Any, q: Any = 0.0) -> Quadratic:
    """½ ⟨x, Q x⟩ + ⟨q, x⟩ for a symmetric positive semidefinite Q.

    ```python
    ad.optimize.proximal.quadratic(np.diag([1.0, 3.0])).prox(np.array([2.0, 4.0]))  # → [1.0, 1.0]
    ```
    """
    if not isinstance(Q, TRACED):
        Q = np.asarray(Q, float)
        if Q.ndim != 2 or Q.shape[0] != Q.shape[1]:
            raise ShapeError(f"proximal.quadratic: Q has shape {Q.shape}; it must have as many rows as columns.")
        size = np.max(np.abs(Q), initial=1e-300)
        if not np.allclose(Q, Q.T, atol=1e-9 * size) or np.linalg.eigvalsh(Q)[0] < -1e-9 * size:
            raise ValueError(
                "proximal.quadratic: Q is not symmetric and positive semidefinite, so that it is not convex."
            )
    return Quadratic(Q, as_numbers(q))


def huber(delta: Any = 1.0, factor: Any = 1.0) -> Huber:
    """λ Σ h(xᵢ), where h is x² / 2δ up to |x| = δ and |x| - δ/2 beyond: the envelope of |x| with step δ.

    ```python
    ad.optimize.proximal.huber(1.0).prox(np.array([4.0, 1.0]))  # → [3.0, 0.5]
    ```
    """
    delta, factor = as_numbers(delta), as_numbers(factor)
    check_positive("huber", "delta", delta, strict=True)
    check_positive("huber", "factor", factor)
    return Huber(delta, factor)


def negentropy(factor: Any = 1.0) -> Negentropy:
    """λ Σ xᵢ log xᵢ over x ≥ 0; the proximal operator is positive everywhere, by Wright's ω function.

    ```python
    ad.optimize.proximal.negentropy().prox(np.array([1.0, 2.0]))  # → [0.567143290…, 1.0]
    ```
    """
    factor = as_numbers(factor)
    check_positive("negentropy", "factor", factor, strict=True)
    return Negentropy(factor)


def log_barrier(factor: Any = 1.0) -> LogBarrier:
    """-λ Σ log xᵢ over x > 0.

    ```python
    ad.optimize.proximal.log_barrier(1.0).prox(np.array([0.0, 1.5]))  # → [1.0, 2.0]
    ```
    """
    factor = as_numbers(factor)
    check_positive("log_barrier", "factor", factor, strict=True)
    return LogBarrier(factor)
