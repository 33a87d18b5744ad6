"""Brackets: intervals at whose ends a function differs in sign, made smaller step by step, for each element by itself.

Elements that have ended stay as they are, and count no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.optimize.statuses import CONVERGED, NO_BRACKET, NOT_FINITE, RUNNING
from adjoint.program.types import Value

__all__ = ["ITP", "Bisection", "Brent", "Chandrupatla", "Elements", "start_bracket"]


class Elements(NamedTuple):
    """x with f(x), the other end of its interval, a third point, and how each element stands."""

    x: Value
    f: Value
    other: Value
    f_other: Value
    third: Value
    f_third: Value
    width: Value  # of the interval at the start
    code: Value
    count: Value  # evaluations of each element
    last_step: Any = None  # the last move, and the one before it, for Brent's method alone
    step_before: Any = None


def start_bracket(a: Value, fa: Value, b: Value, fb: Value, keeps_steps: bool = False) -> Elements:
    """The interval at the start; one whose ends have the same sign is none."""
    finite = np.logical_and(np.isfinite(fa), np.isfinite(fb))
    zero = np.logical_or(fa == 0, fb == 0)
    bracket = np.sign(fa) * np.sign(fb) < 0
    code = np.where(finite, np.where(zero, CONVERGED, np.where(bracket, RUNNING, NO_BRACKET)), NOT_FINITE)
    better = np.abs(fb) < np.abs(fa)
    x, f = np.where(better, b, a), np.where(better, fb, fa)
    other, f_other = np.where(better, a, b), np.where(better, fa, fb)
    steps = (np.abs(b - a), np.abs(b - a)) if keeps_steps else (None, None)
    return Elements(x, f, other, f_other, other, f_other, np.abs(b - a), code, 0 * code + 2, *steps)


def narrow(now: Elements, x: Value, f: Value, tol: Value) -> Elements:
    """The interval with one more point in it: on either side of the root stays the nearest one."""
    same = np.sign(f) == np.sign(now.f)
    third, f_third = np.where(same, now.x, now.other), np.where(same, now.f, now.f_other)
    other, f_other = np.where(same, now.other, now.x), np.where(same, now.f_other, now.f)
    nearer = np.where(np.abs(f) < np.abs(f_other), x, other)
    small = np.abs(x - other) <= tol * (np.abs(nearer) + tol)
    code = np.where(np.isfinite(f), np.where(np.logical_or(small, f == 0), CONVERGED, RUNNING), NOT_FINITE)
    steps: tuple[Any, Any] = (None, None)
    if now.last_step is not None:
        steps = np.abs(x - np.where(np.abs(now.f) <= np.abs(now.f_other), now.x, now.other)), now.last_step
    new = Elements(x, f, other, f_other, third, f_third, now.width, code, now.count + 1, *steps)
    going = now.code == RUNNING
    return Elements(*[None if a is None else np.where(going, a, b) for a, b in zip(new, now, strict=True)])


@final
@dataclass(frozen=True)
class Bisection:
    """The midpoint, always: one binary digit for each evaluation.

    ```python
    ad.optimize.root_scalar(lambda x: x**3 - 2, bracket=(0.0, 2.0), method=ad.optimize.Bisection()).value  # → 1.259921…
    ```
    """

    def choose_share(self, now: Elements, tol: Value, iteration: Value) -> Value:
        """Where in the interval to look next."""
        return 0 * now.width + 0.5


@final
@dataclass(frozen=True)
class Chandrupatla:
    """Inverse quadratic interpolation where three points allow it, else the midpoint (Chandrupatla 1997).

    ```python
    ad.optimize.root_scalar(lambda x: x**3 - 2, bracket=(0.0, 2.0), method="chandrupatla").value  # → 1.259921…
    ```
    """

    def choose_share(self, now: Elements, tol: Value, iteration: Value) -> Value:
        """Where in the interval to look next."""
        x1, f1, x2, f2, x3, f3 = now.x, now.f, now.other, now.f_other, now.third, now.f_third
        has_third = np.logical_and(x3 != x2, f3 != f2)
        xi = (x1 - x2) / np.where(has_third, x3 - x2, 1.0)
        phi = (f1 - f2) / np.where(has_third, f3 - f2, 1.0)
        inside = np.logical_and(xi >= 0, xi <= 1)
        root = np.where(inside, xi, 0.5)
        usable = np.logical_and(1 - np.sqrt(1 - root) < phi, phi < np.sqrt(root))
        usable = np.logical_and(np.logical_and(usable, inside), np.logical_and(has_third, f3 != f1))
        gap = np.where(x2 != x1, x2 - x1, 1.0)
        safe = lambda d: np.where(usable, d, 1.0)
        quadratic = f1 / safe(f1 - f2) * f3 / safe(f3 - f2)
        quadratic = quadratic - (x3 - x1) / gap * f1 / safe(f3 - f1) * f2 / safe(f2 - f3)
        least = 0.5 * tol * (np.abs(x1) + tol) / np.abs(gap)
        least = np.minimum(least, 0.5)
        return np.minimum(np.maximum(np.where(usable, quadratic, 0.5), least), 1 - least)


@final
@dataclass(frozen=True)
class Brent:
    """Inverse quadratic interpolation or the secant, from the better end, as long as steps halve (Brent 1973).

    A move over three quarters of the interval, or of more than half of the move before the last one, gives way to the
    midpoint.

    ```python
    ad.optimize.root_scalar(lambda x: x**3 - 2, bracket=(0.0, 2.0), method="brent").value  # → 1.259921…
    ```
    """

    keeps_steps = True

    def choose_share(self, now: Elements, tol: Value, iteration: Value) -> Value:
        """Where in the interval to look next."""
        better = np.abs(now.f) <= np.abs(now.f_other)
        b, fb = np.where(better, now.x, now.other), np.where(better, now.f, now.f_other)
        c, fc = np.where(better, now.other, now.x), np.where(better, now.f_other, now.f)
        a, fa = now.third, now.f_third
        gap = np.where(c != b, c - b, 1.0)
        distinct = np.logical_and(np.logical_and(fa != fb, fa != fc), fb != fc)
        safe = lambda d: np.where(distinct, d, 1.0)
        # x(f) through three points, at f = 0, as a share of the interval from b
        quadratic = fb * fa / (safe(fc - fb) * safe(fc - fa))
        quadratic = quadratic + (a - b) / gap * fb * fc / (safe(fa - fb) * safe(fa - fc))
        secant = fb / np.where(fb != fc, fb - fc, 1.0)
        share = np.where(distinct, quadratic, secant)
        width = np.abs(c - b)
        good = np.logical_and(share > 0, share < 0.75)
        good = np.logical_and(good, share * width < 0.5 * now.step_before)
        least = np.minimum(0.5 * tol * (np.abs(b) + tol) / np.where(width > 0, width, 1.0), 0.5)
        share = np.maximum(np.where(good, share, 0.5), least)
        return np.where(better, share, 1 - share)


@final
@dataclass(frozen=True)
class ITP:
    """Interpolate, truncate, project (Oliveira and Takahashi 2020): superlinear, and never worse than bisection.

    ```python
    ad.optimize.root_scalar(lambda x: x**3 - 2, bracket=(0.0, 2.0), method="itp").value  # → 1.259921…
    ```
    """

    kappa: float = 0.1
    slack: int = 1

    def choose_share(self, now: Elements, tol: Value, iteration: Value) -> Value:
        """Where in the interval to look next."""
        width = np.abs(now.other - now.x)
        goal = 0.5 * tol * (np.minimum(np.abs(now.x), np.abs(now.other)) + tol)
        steps = np.ceil(np.log2(np.maximum(now.width / (2.0 * goal), 1.0)))  # that bisection takes
        falls = np.where(now.f_other != now.f, now.f - now.f_other, 1.0)
        false = np.where(now.f_other != now.f, now.f / falls, 0.5)
        side = np.sign(0.5 - false)
        cut = self.kappa * width * width / np.where(width > 0, now.width * width, 1.0)
        share = np.where(cut <= np.abs(0.5 - false), false + side * cut, 0.5)
        # no farther from the midpoint than what bisection, with its slack, leaves to spare
        spare = goal * 2.0 ** (steps + self.slack - iteration) - 0.5 * width
        reach = np.minimum(np.maximum(spare / np.where(width > 0, width, 1.0), 0.0), 0.5)
        share = np.where(np.abs(share - 0.5) <= reach, share, 0.5 - side * reach)
        least = np.minimum(goal / np.where(width > 0, width, 1.0), 0.5)  # rounding would lose a shorter step
        return np.minimum(np.maximum(share, least), 1 - least)
