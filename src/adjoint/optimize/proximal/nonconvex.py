"""Terms that are not convex: ℓ0, SCAD, MCP. Their proximal operators find the best of all stationary points.

Each is a function of |x| that is quadratic by pieces. The candidates for a number are the minimizer within each piece,
and the ends of the pieces; so the result is right for every step, also where the sum with the square is not convex.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from adjoint.optimize.proximal.term import Term, check_positive
from adjoint.optimize.sets.set import as_numbers, face
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["l0", "mcp", "scad"]


def _best(x: Value, step: Any, penalty: Callable[[Value], Value], candidates: Sequence[Value]) -> Value:
    """Of candidates for |p| the one with the smallest penalty + (p - |x|)² / 2γ; the first of equally good ones."""
    sign = np.where(face(x) < 0, -1.0, 1.0)
    size = np.abs(face(x))
    best, cost = candidates[0], None
    for candidate in candidates:
        at = face(candidate)
        new = penalty(at) + (at - size) ** 2 / (2.0 * face(step + np.zeros((), x.dtype)))
        if cost is None:
            cost = new
            continue
        better = new < cost
        best, cost = np.where(better, candidate, best), np.where(better, new, cost)
    return np.where(np.isnan(face(x)), x, sign * best)


@final
@dataclass(frozen=True, eq=False)
class L0(Term):
    """λ times the number of elements that are not zero."""

    factor: Any = 1.0
    name: ClassVar[str] = "l0"
    elementwise: ClassVar[bool] = True
    convex: ClassVar[bool] = False
    spread: ClassVar[tuple[str, ...]] = ("factor",)

    def _value(self, x: Value) -> Value:
        return np.sum(np.where(face(x) != 0, self.factor, 0.0 * self.factor))

    def _prox(self, x: Value, step: Any) -> Value:
        kept = face(x) ** 2 > face(2.0 * step * self.factor + np.zeros((), x.dtype))
        return np.where(kept, x, np.where(np.isnan(face(x)), x, 0.0))


@final
@dataclass(frozen=True, eq=False)
class SCAD(Term):
    """λ |x| up to λ, then less and less, and constant beyond a λ."""

    factor: Any = 1.0
    a: Any = 3.7
    name: ClassVar[str] = "scad"
    elementwise: ClassVar[bool] = True
    convex: ClassVar[bool] = False
    spread: ClassVar[tuple[str, ...]] = ("factor", "a")

    def _exists(self) -> Any:
        known = not isinstance(self.a, TRACED)
        return super()._exists() if known else np.logical_and(super()._exists(), np.all(face(self.a) > 2))

    def _penalty(self, size: Value) -> Value:
        lam, a = self.factor, self.a
        middle = (2.0 * a * lam * size - size * size - lam * lam) / (2.0 * (a - 1.0))
        far = 0.5 * lam * lam * (a + 1.0)
        at = face(size)
        return np.where(at <= face(lam), lam * size, np.where(at <= face(a * lam), middle, far))

    def _value(self, x: Value) -> Value:
        return np.sum(self._penalty(np.where(face(x) < 0, -x, x)))

    def _prox(self, x: Value, step: Any) -> Value:
        lam, a = self.factor + 0 * face(x), self.a
        size = np.where(face(x) < 0, -x, x)
        inner = np.minimum(np.maximum(face(size - step * lam), 0.0), face(lam))
        first = np.where(face(size - step * lam) == inner, size - step * lam, np.where(inner > 0, lam, 0.0 * lam))
        curve = a - 1.0 - step
        flat = np.abs(face(curve + 0 * face(x))) < 1e-12
        inside = (size * (a - 1.0) - step * a * lam) / np.where(flat, 1.0, curve)
        at = face(inside)
        second = np.where((at >= face(lam)) & (at <= face(a * lam)) & ~flat, inside, lam)
        far = np.where(face(size) >= face(a * lam), size, a * lam)
        return _best(x, step, lambda s: face(self._penalty(s)), [first, second, far])


@final
@dataclass(frozen=True, eq=False)
class MCP(Term):
    """λ |x| - x² / 2a up to a λ, and constant beyond."""

    factor: Any = 1.0
    a: Any = 3.0
    name: ClassVar[str] = "mcp"
    elementwise: ClassVar[bool] = True
    convex: ClassVar[bool] = False
    positive: ClassVar[tuple[str, ...]] = ("a",)
    spread: ClassVar[tuple[str, ...]] = ("factor", "a")

    def _penalty(self, size: Value) -> Value:
        lam, a = self.factor, self.a
        return np.where(face(size) <= face(a * lam), lam * size - size * size / (2.0 * a), 0.5 * a * lam * lam)

    def _value(self, x: Value) -> Value:
        return np.sum(self._penalty(np.where(face(x) < 0, -x, x)))

    def _prox(self, x: Value, step: Any) -> Value:
        lam, a = self.factor + 0 * face(x), self.a
        size = np.where(face(x) < 0, -x, x)
        curve = 1.0 - step / a
        flat = np.abs(face(curve + 0 * face(x))) < 1e-12
        inside = (size - step * lam) / np.where(flat, 1.0, curve)
        at = face(inside)
        middle = np.where((at > 0) & (at <= face(a * lam)) & ~flat, inside, 0.0)
        far = np.where(face(size) >= face(a * lam), size, a * lam)
        return _best(x, step, lambda s: face(self._penalty(s)), [0.0 * size, middle, far])


def l0(factor: Any = 1.0) -> L0:
    """λ times the number of elements that are not zero: those up to √(2γλ) become 0, the others stay.

    ```python
    ad.optimize.proximal.l0(0.5).prox(np.array([0.9, -1.1]))  # → [0.0, -1.1]
    ```
    """
    factor = as_numbers(factor)
    check_positive("l0", "factor", factor)
    return L0(factor)


def scad(factor: Any = 1.0, a: Any = 3.7) -> SCAD:
    """The smoothly clipped absolute deviation of Fan and Li: like λ |x| near 0, constant beyond a λ.

    ```python
    ad.optimize.proximal.scad(1.0).prox(np.array([0.5, 1.5, 5.0]))  # → [0.0, 0.5, 5.0]
    ```
    """
    factor = as_numbers(factor)
    check_positive("scad", "factor", factor)
    if not isinstance(a, TRACED) and not np.all(np.asarray(a) > 2):
        raise ValueError(f"proximal.scad: a is {a}; it must be above 2.")
    return SCAD(factor, a)


def mcp(factor: Any = 1.0, a: Any = 3.0) -> MCP:
    """The minimax concave penalty of Zhang: λ |x| - x² / 2a up to a λ, constant beyond.

    ```python
    ad.optimize.proximal.mcp(1.0, 2.0).prox(np.array([0.5, 1.5, 5.0]))  # → [0.0, 1.0, 5.0]
    ```
    """
    factor = as_numbers(factor)
    check_positive("mcp", "factor", factor)
    check_positive("mcp", "a", a, strict=True)
    return MCP(factor, a)
