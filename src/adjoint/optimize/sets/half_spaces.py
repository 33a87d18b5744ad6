"""Half-spaces, hyperplanes, affine subspaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.optimize.sets.set import Set, as_numbers, face, point, valid_where
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["affine", "half_space", "hyperplane"]


@final
@dataclass(frozen=True, eq=False)
class HalfSpace(Set):
    """⟨a, x⟩ ≤ b."""

    a: Any
    b: Any
    name: ClassVar[str] = "half_space"
    spread: ClassVar[tuple[str, ...]] = ("a",)
    single: ClassVar[tuple[str, ...]] = ("b",)

    def _project(self, x: Value) -> Value:
        excess = np.sum(self.a * x) - self.b
        return np.where(face(excess) > 0, x - self.a * (excess / np.sum(self.a * self.a)), x)

    def _support(self, u: Value) -> Value:
        """t b where u = t a and t ≥ 0, else infinite."""
        t = np.sum(self.a * u) / np.sum(self.a * self.a)
        return np.where(np.logical_and(_is_near(t * self.a, u), face(t) >= 0), t * self.b, np.inf)


@final
@dataclass(frozen=True, eq=False)
class Hyperplane(Set):
    """⟨a, x⟩ = b."""

    a: Any
    b: Any
    name: ClassVar[str] = "hyperplane"
    spread: ClassVar[tuple[str, ...]] = ("a",)
    single: ClassVar[tuple[str, ...]] = ("b",)

    def _project(self, x: Value) -> Value:
        return x - self.a * ((np.sum(self.a * x) - self.b) / np.sum(self.a * self.a))

    def _support(self, u: Value) -> Value:
        """t b where u = t a, else infinite."""
        t = np.sum(self.a * u) / np.sum(self.a * self.a)
        return np.where(_is_near(t * self.a, u), t * self.b, np.inf)


@final
@dataclass(frozen=True, eq=False)
class Affine(Set):
    """A x = b; p = x - A⁺ (A x - b)."""

    A: Any
    b: Any
    name: ClassVar[str] = "affine"
    axes: ClassVar[int | None] = 1

    def _project(self, x: Value) -> Value:
        if x.shape[0] != self.A.shape[1]:
            raise ShapeError(f"sets.affine: x has {x.shape[0]} numbers, and A {self.A.shape[1]} columns.")
        p = x - np.linalg.pinv(self.A) @ (self.A @ x - self.b)
        if not isinstance(self.A, TRACED) and not isinstance(self.b, TRACED):
            return p
        return valid_where(_agrees(face(self.A), face(p), face(self.b)), p)

    def _support(self, u: Value) -> Value:
        """⟨y, b⟩ where u = Aᵀy, else infinite."""
        y = np.linalg.pinv(self.A).T @ u
        return np.where(_is_near(self.A.T @ y, u), np.sum(y * self.b), np.inf)


def _is_near(v: Value, u: Value) -> Any:
    """Whether v = u, but for rounding."""
    v, u = face(v), face(u)
    return np.sum((v - u) ** 2) <= (1e3 * float(np.finfo(u.dtype).eps)) ** 2 * np.sum(u * u)


def _agrees(A: Value, x: Value, b: Value) -> Any:
    """Whether A x = b, but for rounding."""
    tol = max(1e-8, 1e3 * float(np.finfo(np.result_type(A.dtype, x.dtype)).eps))
    return np.sqrt(np.sum((A @ x - b) ** 2)) <= tol * (1.0 + np.sqrt(np.sum(b**2)) + np.sqrt(np.sum((A * x) ** 2)))


def _read_normal(title: str, a: Any) -> Value:
    a = point(f"sets.{title}: a", as_numbers(a))
    if not isinstance(a, TRACED) and not np.any(a):
        raise ValueError(f"sets.{title}: a is zero, so that it has no direction.")
    return a


def half_space(a: Any, b: Any) -> HalfSpace:
    """⟨a, x⟩ ≤ b.

    ```python
    ad.optimize.sets.half_space(np.array([1.0, 1.0]), 1.0).project(np.array([2.0, 1.0]))  # → [1.0, 0.0]
    ```
    """
    return HalfSpace(_read_normal("half_space", a), b)


def hyperplane(a: Any, b: Any) -> Hyperplane:
    """⟨a, x⟩ = b.

    ```python
    ad.optimize.sets.hyperplane(np.array([1.0, 1.0]), 1.0).project(np.array([0.0, 0.0]))  # → [0.5, 0.5]
    ```
    """
    return Hyperplane(_read_normal("hyperplane", a), b)


def affine(A: Any, b: Any) -> Affine:
    """A x = b, for a matrix A; rows that depend on others do no harm where b agrees with them.

    ```python
    ad.optimize.sets.affine(np.array([[1.0, 1.0, 0.0]]), np.array([1.0])).project(np.zeros(3))  # → [0.5, 0.5, 0.0]
    ```
    """
    A, b = point("sets.affine: A", A, 2), point("sets.affine: b", b, 1)
    if A.shape[0] != b.shape[0]:
        raise ShapeError(f"sets.affine: A has {A.shape[0]} rows, and b {b.shape[0]} numbers.")
    if not isinstance(A, TRACED) and not isinstance(b, TRACED):
        away = np.linalg.norm(A @ (np.linalg.pinv(A) @ b) - b)
        tol = max(1e-8, 1e3 * float(np.finfo(np.result_type(A, b)).eps))
        if away > tol * (1.0 + np.linalg.norm(b)):
            raise ValueError(
                f"sets.affine: no x has A x = b: the rows of A depend on each other, and b is {away:.3g} off."
            )
    return Affine(A, b)
