"""Newton's, Halley's and the secant method in one unknown, for each element by itself, kept within bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.api.gradients import jvp
from adjoint.optimize.statuses import CONVERGED, INFEASIBLE, NOT_FINITE, RUNNING, SINGULAR
from adjoint.program.types import Value

__all__ = ["Halley", "Newton1D", "Points", "Secant", "advance", "derive"]

Function = Callable[[Value], Value]


class Points(NamedTuple):
    """x with f(x), the step from there, and how each element stands."""

    x: Value
    f: Value
    step: Value
    code: Value
    count: Value
    cut: Value  # the step is a part of the method's own


def derive(f: Function, x: Value) -> tuple[Value, Value]:
    """f and f' of a function that treats each element by itself."""
    return jvp(f, (x,), (np.ones_like(x),))


def divide(value: Value, derivative: Value) -> Value:
    """f / f': infinite where only f' vanishes, 0 where f does as well."""
    return value / np.where(derivative != 0, derivative, np.where(value == 0, 1.0, 0.0))


def advance(method: Any, f: Function, now: Points, tol: Value, box: tuple[Value, Value] | None) -> Points:
    """x - step, halfway to a bound where that lies beyond it; a quarter of it is next where the result is not finite.

    Elements that have ended stay where they are, so that what is computed there is what it was.
    """
    going = now.code == RUNNING
    length = np.abs(now.step)
    steep = np.logical_and(length > 0, length < np.inf)  # f' neither vanishes nor is infinite
    moved = np.where(np.logical_and(going, steep), now.x - now.step, now.x)
    cut = now.cut
    if box is not None:
        lower, upper = box
        cut = np.logical_or(cut, np.logical_or(moved < lower, moved > upper))
        moved = np.where(moved < lower, 0.5 * (now.x + lower), np.where(moved > upper, 0.5 * (now.x + upper), moved))
    value, step = method.look(f, moved, now.x, now.f)
    eps = float(np.finfo(now.x.dtype).eps)
    change, size = np.abs(moved - now.x), np.abs(moved)
    # the last digits may go to and fro
    enough = np.maximum(tol, 8 * eps) * size + eps * eps
    small = np.logical_or(change <= enough, value == 0)
    bad = np.logical_not(np.isfinite(value))
    # a step that a bound or a hole in the domain cuts short is small at no root
    lost = np.logical_and(np.logical_and(small, cut), np.logical_not(np.abs(step) <= enough))
    end = np.where(bad, NOT_FINITE, np.where(lost, np.where(now.cut, NOT_FINITE, INFEASIBLE), CONVERGED))
    code = np.where(small, end, RUNNING)
    code = np.where(going, np.where(steep, code, SINGULAR), now.code)
    x, value = np.where(bad, now.x, moved), np.where(bad, now.f, value)
    step = np.where(bad, 0.25 * (now.x - moved), step).astype(now.x.dtype)
    return Points(x, value, step, code, now.count + np.where(going, method.calls, 0), bad)


@final
@dataclass(frozen=True)
class Newton1D:
    """x - f / f': digits double near a simple root.

    ```python
    ad.optimize.root_scalar(lambda x: x**3 - 2, x0=1.0, method="newton").value  # → 1.259921…
    ```
    """

    calls = 2

    def look(self, f: Function, x: Value, before: Value, f_before: Value) -> tuple[Value, Value]:
        """f(x), and f / f'."""
        value, derivative = derive(f, x)
        return value, divide(value, derivative)


@final
@dataclass(frozen=True)
class Halley:
    """x - f / (f' - ½ f f'' / f'): digits treble near a simple root.

    ```python
    found = ad.optimize.root_scalar(lambda x: x**3 - 2, x0=1.0, method="halley")
    found.value, found.iterations <= 5  # → (1.259921…, True)
    ```
    """

    calls = 3

    def look(self, f: Function, x: Value, before: Value, f_before: Value) -> tuple[Value, Value]:
        """f(x), and f / (f' - ½ f f'' / f')."""
        (value, d), (_, dd) = jvp(lambda x: derive(f, x), (x,), (np.ones_like(x),))
        newton = divide(value, d)
        below = 1.0 - 0.5 * newton * dd / np.where(d != 0, d, 1.0)
        return value, newton / np.where(below > 0.5, below, 1.0)


@final
@dataclass(frozen=True)
class Secant:
    """Newton's method with the difference of the last two points for a derivative.

    ```python
    ad.optimize.root_scalar(lambda x: x**3 - 2, x0=1.0, method="secant").value  # → 1.259921…
    ```
    """

    calls = 1

    def look(self, f: Function, x: Value, before: Value, f_before: Value) -> tuple[Value, Value]:
        """f(x), and f (x - x₋) / (f - f₋)."""
        value = f(x)
        rise = value - f_before
        return value, value * (x - before) / np.where(rise != 0, rise, np.where(value == 0, 1.0, 0.0))
