"""Newton's, Halley's and the secant method in one unknown, for each element by itself, kept within bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.api.gradients import jvp
from adjoint.optimize.oracles import Counter
from adjoint.optimize.statuses import CONVERGED, NOT_FINITE, RUNNING, SINGULAR
from adjoint.program.types import Value

__all__ = ["Halley", "Newton1D", "Points", "Secant"]

Function = Callable[[Value], Value]


class Points(NamedTuple):
    """x with f(x), the point before it, and how each element stands."""

    x: Value
    f: Value
    before: Value
    f_before: Any  # for the secant method alone
    d: Any  # f'(x), for Newton's method alone
    code: Value
    count: Value


def derive(f: Function, x: Value) -> tuple[Value, Value]:
    """f and f' of a function that treats each element by itself."""
    return jvp(f, (x,), (np.ones_like(x),))


def advance(
    counter: Counter, now: Points, f: Function, step: Value, tol: Value, box: tuple[Value, Value] | None, calls: int
) -> Points:
    """x - step, halfway to a bound where that lies beyond it, shorter where the result is not finite.

    Elements that have ended stay where they are, so that what is computed there is what it was.
    """
    going = now.code == RUNNING
    step = step if step.dtype == now.x.dtype else step.astype(now.x.dtype)
    flat = np.logical_not(np.isfinite(step))
    moved = np.where(np.logical_and(going, np.logical_not(flat)), now.x - step, now.x)
    if box is not None:
        lower, upper = box
        moved = np.where(moved < lower, 0.5 * (now.x + lower), np.where(moved > upper, 0.5 * (now.x + upper), moved))
    look = (lambda x: derive(f, x)) if now.d is not None else lambda x: (f(x), None)
    value, d = look(moved)
    is_bad = lambda value: np.logical_and(going, np.logical_not(np.isfinite(value)))

    def shorten() -> tuple[Value, Value, Value]:
        point, found, bend = moved, value, d
        for _ in range(2):
            bad = is_bad(found)
            point = np.where(bad, 0.75 * now.x + 0.25 * point, point)
            found, bend = look(point)
        return point, found, bend

    moved, value, d = counter.when(np.any(is_bad(value)), shorten, lambda: (moved, value, d))
    eps = float(np.finfo(now.x.dtype).eps)
    change, size = np.abs(moved - now.x), np.abs(moved)
    # the last digit may go to and fro
    returns = np.logical_and(moved == now.before, change <= 8 * eps * size)
    small = np.logical_or(change <= tol * size + eps * eps, np.logical_or(value == 0, returns))
    code = np.where(np.isfinite(value), np.where(small, CONVERGED, RUNNING), NOT_FINITE)
    code = np.where(going, np.where(flat, SINGULAR, code), now.code)
    before = None if now.f_before is None else now.f
    return Points(moved, value, now.x, before, d, code, now.count + np.where(going, calls, 0))


@final
@dataclass(frozen=True)
class Newton1D:
    """x - f / f': digits double near a simple root.

    ```python
    ad.optimize.root_scalar(lambda x: x**3 - 2, x0=1.0, method="newton").value  # → 1.259921…
    ```
    """

    calls = 2

    def step(self, f: Function, now: Points) -> Value:
        """f / f'."""
        d: Value = now.d
        return now.f / np.where(d != 0, d, np.where(now.f == 0, 1.0, 0.0))


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

    def step(self, f: Function, now: Points) -> Value:
        """f / (f' - ½ f f'' / f')."""
        first = lambda x: derive(f, x)[1]
        d, dd = derive(first, now.x)
        newton = now.f / np.where(d != 0, d, np.where(now.f == 0, 1.0, 0.0))
        below = 1.0 - 0.5 * newton * dd / np.where(d != 0, d, 1.0)
        return newton / np.where(below > 0.5, below, 1.0)


@final
@dataclass(frozen=True)
class Secant:
    """Newton's method with the difference of the last two points for a derivative.

    ```python
    ad.optimize.root_scalar(lambda x: x**3 - 2, x0=1.0, method="secant").value  # → 1.259921…
    ```
    """

    calls = 1

    def step(self, f: Function, now: Points) -> Value:
        """f (x - x₋) / (f - f₋)."""
        rise = now.f - now.f_before
        flat = np.where(now.f == 0, 1.0, 0.0)
        return now.f * (now.x - now.before) / np.where(rise != 0, rise, flat)
