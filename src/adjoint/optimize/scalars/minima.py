"""Minima in one unknown from values alone: golden section, and Brent's parabolas, for each element by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.optimize.oracles import Counter
from adjoint.optimize.statuses import CONVERGED, NOT_FINITE, RUNNING, UNBOUNDED
from adjoint.program.types import Value

__all__ = ["Golden", "Parabolic", "Triple", "bracket_minimum", "start_triple"]

GOLD = 0.5 * (3.0 - 5.0**0.5)
Function = Callable[[Value], Value]


class Triple(NamedTuple):
    """The interval, its best point x, the two next best ones, and the lengths of the last two steps."""

    low: Value
    high: Value
    x: Value
    f: Value
    second: Value
    f_second: Value
    third: Value
    f_third: Value
    step: Value
    before: Value
    inside: Value  # whether the minimum is between the ends, not at one
    code: Value
    count: Value
    steps: Value


def start_triple(f: Function, low: Value, high: Value) -> Triple:
    """The interval between two bounds."""
    x = low + GOLD * (high - low)
    value = f(x)
    code = np.where(np.isfinite(value), RUNNING, NOT_FINITE)
    zero = 0 * x
    return Triple(low, high, x, value, x, value, x, value, zero, zero, zero == 0, code, 0 * code + 1, 0 * code)


def bracket_minimum(counter: Counter, f: Function, x0: Value, limit: int) -> Triple:
    """An interval whose middle is lower than its ends, found downhill from x0 with growing steps."""
    step = 0.1 * np.maximum(np.abs(x0), 1.0)
    fa, fb = f(x0), f(x0 + step)
    step = np.where(fb <= fa, step, -step)
    a, b = x0, x0 + step
    start = np.where(fb <= fa, x0, x0 - step)
    fa, fb = f(start), f(start + step)
    a, b = start, start + step
    c = b + 2.0 * step
    fc = f(c)
    code = np.where(np.isfinite(fb), RUNNING, NOT_FINITE)

    def rolls(now: Any) -> Any:
        _, fb, _, fc, _, code, _, done = now
        return np.logical_and(np.any(np.logical_and(fc < fb, code == RUNNING)), done < limit)

    def advance(now: Any) -> Any:
        a, fb, b, fc, c, code, count, done = now
        going = np.logical_and(fc < fb, code == RUNNING)
        farther = c + 2.0 * (c - b)
        value = f(farther)
        endless = np.logical_or(np.logical_not(np.isfinite(farther)), value == -np.inf)
        keep = lambda new, old: np.where(going, new, old)
        code = np.where(np.logical_and(going, endless), UNBOUNDED, code)
        return (
            keep(b, a),
            keep(fc, fb),
            keep(c, b),
            keep(value, fc),
            keep(farther, c),
            code,
            count + keep(1, 0),
            done + 1,
        )

    a, fb, b, fc, c, code, count, _ = counter.loop(rolls, advance, (a, fb, b, fc, c, code, 0 * code + 5, np.int64(0)))
    code = np.where(np.logical_and(code == RUNNING, fc < fb), UNBOUNDED, code)
    zero = 0 * b
    low, high = np.minimum(a, c), np.maximum(a, c)
    return Triple(low, high, b, fb, b, fb, b, fb, zero, zero, zero == 0, code, count, 0 * code)


def judge(now: Triple, goal: float) -> Triple:
    """Elements whose interval is small have ended; those at an end of it are no minima between the ends."""
    eps = goal * np.abs(now.x) + goal * 1e-3
    middle = 0.5 * (now.low + now.high)
    small = np.abs(now.x - middle) <= 2.0 * eps - 0.5 * (now.high - now.low)
    code = np.where(small, CONVERGED, np.where(np.isfinite(now.f), RUNNING, NOT_FINITE))
    return now._replace(code=code)


def look(now: Triple, f: Function, step: Value, before: Value, goal: float) -> Triple:
    """The interval after a look at x + step, at least a little away from x."""
    least = goal * np.abs(now.x) + goal * 1e-3
    step = np.where(np.abs(step) >= least, step, np.where(step > 0, least, -least))
    u = now.x + step
    value = f(u)
    value = np.where(np.isnan(value), np.inf, value)
    better = value <= now.f
    low = np.where(better, np.where(u >= now.x, now.x, now.low), np.where(u < now.x, u, now.low))
    high = np.where(better, np.where(u >= now.x, now.high, now.x), np.where(u < now.x, now.high, u))
    second_best = np.logical_or(value <= now.f_second, now.second == now.x)
    third_best = np.logical_or(value <= now.f_third, np.logical_or(now.third == now.x, now.third == now.second))
    pick = lambda when_better, when_second, when_third, old: np.where(
        better, when_better, np.where(second_best, when_second, np.where(third_best, when_third, old)))  # fmt: skip
    new = Triple(
        low, high, np.where(better, u, now.x), np.where(better, value, now.f),
        np.where(better, now.x, np.where(second_best, u, now.second)),
        np.where(better, now.f, np.where(second_best, value, now.f_second)),
        pick(now.second, now.second, u, now.third), pick(now.f_second, now.f_second, value, now.f_third),
        step, before, now.inside, now.code, now.count + 1, now.steps + 1,
    )  # fmt: skip
    new = judge(new, goal)
    going = now.code == RUNNING
    return Triple(*[np.where(going, a, b) for a, b in zip(new, now, strict=True)])


@final
@dataclass(frozen=True)
class Golden:
    """The golden section of the longer part, always.

    ```python
    found = ad.optimize.minimize_scalar(lambda x: (x - 2.0) ** 2, bounds=(0.0, 5.0), method=ad.optimize.Golden())
    float(np.round(found.value, 6))  # → 2.0
    ```
    """

    def narrow(self, now: Triple, f: Function, goal: float) -> Triple:
        """The interval after one more value."""
        longer = np.where(now.x >= 0.5 * (now.low + now.high), now.low - now.x, now.high - now.x)
        return look(now, f, GOLD * longer, longer, goal)


@final
@dataclass(frozen=True)
class Parabolic:
    """Brent's method: the minimum of the parabola through the three best points, else the golden section.

    ```python
    found = ad.optimize.minimize_scalar(lambda x: (x - 2.0) ** 2, bounds=(0.0, 5.0), method="brent")
    float(np.round(found.value, 6)), int(found.iterations) < 10  # → (2.0, True)
    ```
    """

    def narrow(self, now: Triple, f: Function, goal: float) -> Triple:
        """The interval after one more value."""
        x, w, v = now.x, now.second, now.third
        r = (x - w) * (now.f - now.f_third)
        q = (x - v) * (now.f - now.f_second)
        p = (x - v) * q - (x - w) * r
        q = 2.0 * (q - r)
        p = np.where(q > 0, -p, p)
        q = np.abs(q)
        least = goal * np.abs(x) + goal * 1e-3
        fits = np.logical_and(np.abs(p) < np.abs(0.5 * q * now.before),
                              np.logical_and(p > q * (now.low - x), p < q * (now.high - x)))  # fmt: skip
        fits = np.logical_and(fits, np.abs(now.before) > least)
        parabola = p / np.where(fits, q, 1.0)
        u = x + parabola
        close = np.logical_or(u - now.low < 2.0 * least, now.high - u < 2.0 * least)
        middle = 0.5 * (now.low + now.high)
        parabola = np.where(close, np.where(x < middle, least, -least), parabola)
        longer = np.where(x >= middle, now.low - x, now.high - x)
        step = np.where(fits, parabola, GOLD * longer)
        return look(now, f, step, np.where(fits, now.step, longer), goal)
