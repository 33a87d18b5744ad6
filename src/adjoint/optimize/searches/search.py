"""What line searches are given and what they answer; the interpolation that they share."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from adjoint.linear.solvers.iteration import both, either
from adjoint.optimize.problem import Problem
from adjoint.program.types import Value

__all__ = ["Found", "Line", "Search", "check_parts", "minimize_cubic"]


class Line(NamedTuple):
    """φ(α) = f(x + α d), with φ(0), φ'(0) and the step to try first."""

    x: Value
    direction: Value
    value: Value
    gradient: Value
    derivative: Value  # φ'(0) = ⟨∇f, d⟩ < 0
    first: Value
    longest: Any = np.inf
    box: Any = None  # (lower, upper): x + α d is rounded to within

    def at(self, step: Value) -> Value:
        """x + α d."""
        moved = self.x + step * self.direction
        return moved if self.box is None else np.minimum(np.maximum(moved, self.box[0]), self.box[1])


class Found(NamedTuple):
    """Where a search ended; without success it is at its start, or at the best point that it saw."""

    step: Value
    x: Value
    value: Value
    gradient: Value
    success: Any


class Search(Protocol):
    """A line search."""

    def search(self, problem: Problem, line: Line) -> Found:
        """A step that fulfills the search's conditions."""
        ...


def check_parts(title: str, **parts: float) -> None:
    """Numbers between 0 and 1, none below the one before: no step fulfills other conditions for sure."""
    below = 0.0
    for name, part in parts.items():
        if not (0.0 < part < 1.0 and below <= part):
            raise ValueError(f"{title}: {name} is {part}; it lies between {below:g} and 1.")
        below = part


def minimize_cubic(a: Value, fa: Value, da: Value, b: Value, fb: Value, db: Value) -> Value:
    """The minimizer of the cubic through φ(a), φ'(a), φ(b), φ'(b), kept a tenth of the interval away from its ends.

    Where that cubic has none, or something is not finite, the midpoint.
    """
    low, high = np.minimum(a, b), np.maximum(a, b)
    width = high - low
    middle = 0.5 * (a + b)
    gap = either(b != a, b - a, 1.0)
    theta = da + db - 3.0 * (fb - fa) / gap
    under = theta * theta - da * db
    root = np.sqrt(either(under > 0, under, 0.0 * under)) * np.sign(gap)
    below = db - da + 2.0 * root
    usable = both(both(under >= 0, below != 0), np.isfinite(below))
    step = b - gap * ((db + root - theta) / either(usable, below, 1.0))
    step = either(both(usable, np.isfinite(step)), step, middle)
    return np.minimum(np.maximum(step, low + 0.1 * width), high - 0.1 * width)
