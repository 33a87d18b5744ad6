"""Cones: positive semidefinite matrices, the second-order cone and the exponential cone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.implicit.roots import root
from adjoint.optimize.iteration import repeat
from adjoint.optimize.sets.eigenvalues import apply_to_eigenvalues
from adjoint.optimize.sets.set import Set, face, safe_norm
from adjoint.program.types import Value

__all__ = ["exponential_cone", "psd", "second_order_cone"]

HALVINGS = 70


class Cone(Set):
    """A set that holds all t x, t ≥ 0, of its points x."""

    single: ClassVar[tuple[str, ...]] = ()

    def _support(self, u: Value) -> Value:
        """0 in the polar cone, whose points have zero as the nearest one; else infinite."""
        u = face(u)
        u = u / np.maximum(np.max(np.abs(u)), float(np.finfo(u.dtype).tiny))
        polar = np.max(np.abs(face(self._project(u)))) <= 1e3 * float(np.finfo(u.dtype).eps)
        return np.where(polar, 0.0, np.inf)


@final
@dataclass(frozen=True, eq=False)
class PSD(Cone):
    """Symmetric positive semidefinite matrices: eigenvalues below 0 become 0."""

    name: ClassVar[str] = "psd"
    axes: ClassVar[int | None] = 2

    def _project(self, x: Value) -> Value:
        if x.shape[0] != x.shape[1]:
            raise ShapeError(f"sets.psd: x has shape {x.shape}; it must have as many rows as columns.")
        return apply_to_eigenvalues(lambda w: np.where(face(w) > 0, w, 0.0), x)


@final
@dataclass(frozen=True, eq=False)
class SecondOrderCone(Cone):
    """x = (t, z) with ‖z‖₂ ≤ t."""

    name: ClassVar[str] = "second_order_cone"
    least: ClassVar[int] = 1
    axes: ClassVar[int | None] = 1

    def _project(self, x: Value) -> Value:
        t, z = x[0], x[1:]
        size = safe_norm(z)
        at, length = face(t), face(size)
        inside, below = length <= at, length <= -at
        edge = 0.5 * (t + size)
        side = z * (edge / np.where(length > 0, size, 1.0))
        between = np.concatenate([np.reshape(edge, (1,)), side])
        return np.where(inside, x, np.where(below, 0.0, between))


@final
@dataclass(frozen=True, eq=False)
class ExponentialCone(Cone):
    """(x, y, z) with y exp(x / y) ≤ z and y > 0, and the points (x ≤ 0, 0, z ≥ 0).

    A point v outside, and outside the polar cone, is p + q with p on the ray of (ρ, 1, e^ρ) and q on the one of
    (1, 1 - ρ, -e^-ρ). Two of the three equations give the lengths along these rays, the third one is that of ρ.
    """

    name: ClassVar[str] = "exponential_cone"
    axes: ClassVar[int | None] = 1

    def _project(self, x: Value) -> Value:
        if x.shape != (3,):
            raise ShapeError(f"sets.exponential_cone: x has shape {x.shape}; it is a vector (x, y, z).")
        at = face(x)
        a, b, c = at[0], at[1], at[2]
        up = b > 0
        inside = np.logical_or(np.logical_and(up, _safe_exp_times(b, a, up) <= c),
                               np.logical_and(b == 0, np.logical_and(a <= 0, c >= 0)))  # fmt: skip
        # the polar cone: x > 0 and x exp(y / x - 1) ≤ -z, and (0, y ≤ 0, z ≤ 0)
        right = a > 0
        polar = np.logical_or(np.logical_and(right, _safe_exp_times(a, b - a, right) <= -c),
                              np.logical_and(a == 0, np.logical_and(b <= 0, c <= 0)))  # fmt: skip
        flat = np.logical_and(a <= 0, b <= 0)
        simple = np.logical_or(np.logical_or(inside, polar), flat)
        stand_in = np.array([1.0, 1.0, 0.0], x.dtype)
        v = np.where(simple, stand_in, x)
        rho = root(_mismatch, _find_ratio, check="ignore")(v)
        length, other = _lengths(rho, v)
        # with a large ρ the length is lost in rounding, and e^ρ out of reach: z = v₃ + e^-ρ times the other length
        steep = face(rho) > 0
        fallen, risen = np.exp(np.where(steep, -rho, 0.0)), np.exp(np.where(steep, 0.0, rho))
        top = v[2] + other * fallen
        y = np.where(steep, top * fallen, length)
        ray = np.stack([rho * y, y, np.where(steep, top, length * risen)])
        on_edge = np.stack([x[0], 0.0 * x[1], np.where(c > 0, x[2], 0.0)])
        return np.where(inside, x, np.where(polar, 0.0, np.where(flat, on_edge, ray)))


def _safe_exp_times(b: Value, a: Value, here: Any) -> Value:
    """b exp(a / b) for b > 0."""
    b = np.where(here, b, 1.0)
    return b * np.exp(np.minimum(a / b, 700.0))


def _lengths(rho: Value, v: Value) -> tuple[Value, Value]:
    """How long the parts of v along both rays are, as far as two of its numbers tell."""
    whole = rho * rho - rho + 1.0
    return (v[1] + (rho - 1.0) * v[0]) / whole, (v[0] - rho * v[1]) / whole


def _mismatch(rho: Value, v: Value) -> Value:
    """What the third number is off, divided by a size that keeps it within numbers."""
    first, second = _lengths(rho, v)
    size = np.exp(-np.abs(rho))
    grown, shrunk = np.exp(np.where(rho > 0, 0.0, 2.0 * rho)), np.exp(np.where(rho > 0, -2.0 * rho, 0.0))
    return first * grown - second * shrunk - v[2] * size


def _find_ratio(v: Value) -> Value:
    """ρ between those at which a length would be 0; the mismatch grows with ρ there."""
    a, b = v[0], v[1]
    one = np.ones_like(a)
    high = np.where(b > 0, a / np.where(b > 0, b, one), 1e3 * one)
    # beyond ±1000 the exponentials are zero or infinite
    low = np.clip(1.0 - b / np.where(a > 0, a, one), -1e3, 1e3)
    low, high = np.where(a > 0, low, np.minimum(-1e3, 2.0 * high)), np.minimum(high, 1e3)

    def halve(_: Any, ends: Any) -> Any:
        low, high = ends
        middle = 0.5 * (low + high)
        above = _mismatch(middle, v) > 0
        return np.where(above, low, middle), np.where(above, middle, high)

    low, high = repeat(HALVINGS, halve, (low, high), (v,))
    return 0.5 * (low + high)


def psd() -> PSD:
    """Symmetric positive semidefinite matrices; of a matrix that is not symmetric its symmetric part counts.

    ```python
    ad.optimize.sets.psd().project(np.diag([2.0, -1.0]))  # → [[2.0, 0.0], [0.0, 0.0]]
    ```
    """
    return PSD()


def second_order_cone() -> SecondOrderCone:
    """Vectors (t, z) with ‖z‖₂ ≤ t.

    ```python
    ad.optimize.sets.second_order_cone().project(np.array([0.0, 3.0, 4.0]))  # → [2.5, 1.5, 2.0]
    ```
    """
    return SecondOrderCone()


def exponential_cone() -> ExponentialCone:
    """Vectors (x, y, z) with y exp(x / y) ≤ z and y > 0, and their limits (x ≤ 0, 0, z ≥ 0).

    ```python
    p = ad.optimize.sets.exponential_cone().project(np.array([1.0, 1.0, 0.0]))
    float(np.round(p[1] * np.exp(p[0] / p[1]) - p[2], 12))  # → 0.0
    ```
    """
    return ExponentialCone()
