"""Boxes, and the part of a box where a linear function has one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from adjoint.implicit.roots import root
from adjoint.numpy.indexing import take
from adjoint.optimize.iteration import repeat
from adjoint.optimize.sets.set import Set, as_numbers, check_number, face, valid_where
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["Box", "BoxSection", "Free", "box", "box_section", "capped_simplex", "free", "nonnegative"]

HALVINGS = 80
CROSSED = 1e-12  # lower bounds that are above upper ones by so much, against their size, are these


@final
@dataclass(frozen=True, eq=False)
class Free(Set):
    """All numbers."""

    name: ClassVar[str] = "free"
    separable: ClassVar[bool] = True

    def _project(self, x: Value) -> Value:
        return x

    def _project_entropy(self, x: Value) -> Value:
        return x


@final
@dataclass(frozen=True, eq=False)
class Box(Set):
    """lower ≤ x ≤ upper."""

    lower: Any
    upper: Any
    name: ClassVar[str] = "box"
    separable: ClassVar[bool] = True
    spread: ClassVar[tuple[str, ...]] = ("lower", "upper")

    def _exists(self, x: Value) -> Any:
        if not isinstance(self.lower, TRACED) and not isinstance(self.upper, TRACED):
            return True
        return np.logical_not(_is_crossed(face(self.lower), face(self.upper)))

    def _project(self, x: Value) -> Value:
        at = face(x)
        # NaN stays NaN: it lies neither below nor above
        return np.where(at < self.lower, self.lower, np.where(at > self.upper, self.upper, x)).astype(x.dtype)

    def _lmo(self, u: Value) -> Value:
        return np.where(face(u) > 0, self.upper, self.lower) + 0 * u

    def _project_entropy(self, x: Value) -> Value:
        return self._project(x)

    def support(self, u: Any) -> Value:
        """Σ max(lower u, upper u), where a bound times 0 is 0."""
        u = self._read("support", u)
        best = np.where(face(u) > 0, self.upper, self.lower)
        found = np.sum(np.where(face(u) == 0, 0.0, np.where(face(u) == 0, 0.0, best) * u))
        return valid_where(np.all(self._exists(u)), found).astype(u.dtype)


@final
@dataclass(frozen=True, eq=False)
class BoxSection(Set):
    """lower ≤ x ≤ upper with ⟨weights, x⟩ = total.

    p = clip(x - τ w, lower, upper), where τ makes φ(τ) = ⟨w, p⟩ equal to the total. φ falls, and is linear between the
    2n points where an element reaches a bound: the piece with the solution is found among these by halving, and τ
    then exactly.
    """

    lower: Any
    upper: Any
    weights: Any
    total: Any
    name: ClassVar[str] = "box_section"
    axes: ClassVar[int | None] = 1
    spread: ClassVar[tuple[str, ...]] = ("lower", "upper", "weights")

    def _spread(self, x: Value) -> tuple[Value, Value, Value]:
        return tuple(
            np.broadcast_to(v, x.shape) + np.zeros_like(face(x)) for v in (self.lower, self.upper, self.weights)
        )  # type: ignore[return-value]

    def _project(self, x: Value) -> Value:
        low, high, w = self._spread(x)
        at, lo, hi, weight = (face(v) for v in (x, low, high, w))
        total = face(self.total + np.zeros((), x.dtype))
        counts = weight != 0
        safe = np.where(counts, weight, 1.0)
        points = np.concatenate(
            [np.where(counts, (at - lo) / safe, np.inf), np.where(counts, (at - hi) / safe, np.inf)]
        )
        points = np.sort(points)
        n = 2 * x.size

        def height(tau: Value) -> Value:
            return np.sum(np.where(counts, weight * np.minimum(np.maximum(at - tau * weight, lo), hi), 0.0))

        def halve(_: Any, ends: Any) -> Any:
            first, last = ends  # φ(points[first]) ≥ total > φ(points[last]), where -1 and n are the infinities
            middle = (first + last) // 2
            tau = take(points, np.minimum(np.maximum(middle, 0), n - 1))
            finite = np.isfinite(tau)
            above = np.where(finite, height(np.where(finite, tau, 0.0)) >= total, tau < 0)
            here = last - first > 1
            return np.where(here & above, middle, first), np.where(here & ~above, middle, last)

        start = (np.int64(-1) + 0 * n, np.int64(n))
        first, last = repeat(int(np.ceil(np.log2(n + 2))) + 1, halve, start, (points,))
        left = np.where(first >= 0, take(points, np.maximum(first, 0)), -np.inf)
        right = np.where(last < n, take(points, np.minimum(last, n - 1)), np.inf)
        middle = _between(left, right)
        moved = at - middle * weight
        inside = counts & (moved > lo) & (moved < hi)
        bound = np.where(moved <= lo, low, high)
        square = np.sum(np.where(inside, w * w, 0.0))
        square = np.where(face(square) > 0, square, 1.0)
        held = np.where(counts & ~inside, np.where(counts & ~inside, bound, 0.0) * w, 0.0)
        tau = (np.sum(np.where(inside, w * x, 0.0)) + np.sum(held) - self.total) / square
        alone = np.where(at < lo, low, np.where(at > hi, high, x))
        return np.where(inside, x - tau * w, np.where(counts, bound, alone))

    def _project_entropy(self, x: Value) -> Value:
        """clip(x exp(-τ w), lower, upper) with the τ that makes the total, found by halving: it falls with τ."""
        low, high, w = self._spread(x)
        total = self.total + np.zeros((), x.dtype)
        largest = 0.98 * float(np.log(np.finfo(x.dtype).max))

        def at(tau: Value, x: Value, low: Value, high: Value, w: Value) -> Value:
            p = x * np.exp(np.clip(-tau * w, -largest, largest))
            inside = np.logical_and(face(p) > face(low), face(p) < face(high))
            edge = np.where(face(p) > face(low), high, low)  # where all are at their bounds τ is one of many
            return np.where(np.logical_or(inside, np.any(inside) & (face(p) == face(low))), p, edge)

        def equation(tau: Value, x: Value, low: Value, high: Value, w: Value, total: Value) -> Value:
            p = at(tau, x, low, high, w)
            between = face((w != 0) & (p > low) & (p < high))
            return np.where(np.any(between), np.sum(w * p) - total, tau)

        def solve(x: Value, low: Value, high: Value, w: Value, total: Value) -> Value:
            def halve(_: Any, ends: Any) -> Any:
                middle = 0.5 * (ends[0] + ends[1])
                above = np.sum(w * at(middle, x, low, high, w)) > total
                return np.where(above, middle, ends[0]), np.where(above, ends[1], middle)

            width = largest / np.min(np.where(w != 0, np.abs(w), np.inf))
            first, last = repeat(HALVINGS, halve, (-width, width), (x, low, high, w, total))
            return 0.5 * (first + last)

        tau = root(equation, solve, check="ignore")(x, low, high, w, total)
        p = at(tau, x, low, high, w)
        off = np.abs(face(np.sum(w * p) - total))  # of zeros no factor makes more
        return valid_where(off <= float(np.finfo(x.dtype).eps) ** 0.5 * (1.0 + np.abs(face(total))), p)

    def _exists(self, x: Value) -> Any:
        lower, upper, weights = (np.broadcast_to(face(v), x.shape) for v in (self.lower, self.upper, self.weights))
        total = face(self.total)
        with np.errstate(invalid="ignore"):
            least = np.sum(np.where(weights == 0, 0.0, np.minimum(weights * lower, weights * upper)))
            most = np.sum(np.where(weights == 0, 0.0, np.maximum(weights * lower, weights * upper)))
        slack = max(1e-9, 100 * float(np.finfo(x.dtype).eps)) * (1.0 + np.abs(total))
        meets = np.logical_and(least - slack <= total, total <= most + slack)
        if any(isinstance(v, TRACED) for v in (self.lower, self.upper, self.weights, self.total)):
            return np.logical_and(meets, np.all(np.logical_not(_is_crossed(lower, upper))))
        if not meets:
            raise ValueError(f"sets.{self.name}: nothing lies in it: ⟨weights, x⟩ is between {least:g} and {most:g} "
                             f"within the bounds, and total is {total:g}.")  # fmt: skip
        return True

    def _lmo(self, u: Value) -> Value:
        """The fractional knapsack: elements are raised from one bound to the other by falling u / w."""
        low, high, w = self._spread(u)
        ratio = np.where(face(w) != 0, face(u) / np.where(face(w) != 0, face(w), 1.0), 0.0)
        # with τ just right, x = upper where u > τ w and lower where u < τ w; one element lies between
        up = face(w) > 0
        least, most = np.where(up, w * low, w * high), np.where(up, w * high, w * low)
        order = np.argsort(-ratio)
        span = (most - least)[order]
        # what stands before, without its own span: that may be infinite
        before = np.concatenate([np.zeros_like(span[:1]), np.cumsum(span[:-1])])
        given = np.minimum(np.maximum(self.total - np.sum(least) - before, 0.0), span)
        part = np.zeros_like(given)
        part[order] = given
        flat = np.where(face(u) > 0, high, low)
        return np.where(face(w) != 0, (least + part) / np.where(face(w) != 0, w, 1.0), flat)


def _is_crossed(lower: Value, upper: Value) -> Any:
    """Where nothing lies between two bounds."""
    return lower > upper + CROSSED * (1.0 + np.abs(np.where(np.isfinite(upper), upper, 0.0)))


def _between(left: Value, right: Value) -> Value:
    """A number between two, of which one or both may be infinite."""
    has_left, has_right = np.isfinite(left), np.isfinite(right)
    a, b = np.where(has_left, left, 0.0), np.where(has_right, right, 0.0)
    both = 0.5 * a + 0.5 * b
    step = 1.0 + np.abs(a + b)
    return np.where(has_left & has_right, both, np.where(has_left, a + step, np.where(has_right, b - step, 0.0)))


def free() -> Free:
    """All numbers: the projection is x itself.

    ```python
    ad.optimize.sets.free().project(np.array([1.0, -2.0]))  # → [1.0, -2.0]
    ```
    """
    return Free()


def box(lower: Any, upper: Any) -> Box:
    """lower ≤ x ≤ upper, number by number; bounds are numbers or arrays, and may be infinite.

    Bounds that rounding has crossed are taken as equal.

    ```python
    ad.optimize.sets.box(0.0, 1.0).project(np.array([-2.0, 0.5, 3.0]))  # → [0.0, 0.5, 1.0]
    ```
    """
    lower, upper = as_numbers(lower), as_numbers(upper)
    if not isinstance(lower, TRACED) and not isinstance(upper, TRACED):
        with np.errstate(invalid="ignore"):
            gap = np.where(
                np.isfinite(lower) & np.isfinite(upper), lower - upper, np.where(lower > upper, np.inf, -1.0)
            )
        if np.isnan(lower).any() or np.isnan(upper).any():
            raise ValueError("sets.box: a bound is NaN; where there is none it is -np.inf or np.inf.")
        if np.any(gap > CROSSED * (1.0 + np.abs(np.where(np.isfinite(upper), upper, 0.0)))):
            raise ValueError(
                f"sets.box: the lower bound is above the upper one by {np.max(gap):g}; nothing lies between."
            )
        crossed = gap > 0
        middle = 0.5 * (np.where(crossed, lower, 0.0) + np.where(crossed, upper, 0.0))
        lower, upper = np.where(crossed, middle, lower)[()], np.where(crossed, middle, upper)[()]
    return Box(lower, upper)


def nonnegative() -> Box:
    """x ≥ 0, number by number.

    ```python
    ad.optimize.sets.nonnegative().project(np.array([-2.0, 0.5]))  # → [0.0, 0.5]
    ```
    """
    return Box(0.0, np.inf)


def box_section(lower: Any, upper: Any, weights: Any, total: Any) -> BoxSection:
    """The part of a box where ⟨weights, x⟩ = total; exact, in O(n log n).

    The dual of a support vector machine is a problem on one.

    ```python
    section = ad.optimize.sets.box_section(0.0, 1.0, np.array([1.0, -1.0, 2.0]), 1.0)
    section.project(np.array([0.5, 0.5, 3.0]))  # → [0.0, 1.0, 1.0]
    ```
    """
    bounds = box(lower, upper)
    return BoxSection(bounds.lower, bounds.upper, as_numbers(weights), total)


def capped_simplex(total: Any = 1.0, cap: Any = 1.0) -> BoxSection:
    """0 ≤ x ≤ cap with Σ x = total.

    ```python
    ad.optimize.sets.capped_simplex(2.0).project(np.array([3.0, 0.7, 0.5]))  # → [1.0, 0.6, 0.4]
    ```
    """
    check_number("capped_simplex", "cap", cap)
    check_number("capped_simplex", "total", total)
    return BoxSection(0.0, as_numbers(cap), 1.0, total)
