"""Schedules: numbers that depend on how many updates there were. They count from 0.

A schedule is a function of the count; those here are trees, whose leaves are their numbers: they have gradients, and
programs take new numbers without being compiled again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint.base.source import user_facing
from adjoint.program.trace import TRACED

__all__ = [
    "Schedule", "constant", "cosine", "cosine_restarts", "exponential", "inverse_sqrt", "join", "linear", "one_cycle",
    "piecewise", "polynomial", "warm_up",
]  # fmt: skip


@final
@dataclass(frozen=True)
class Schedule:
    """A number as a function of the count of updates: `schedule(0)` is the first one.

    ```python
    from adjoint.optimize import updates
    rate = updates.cosine(1.0, 10)
    [float(np.round(rate(t), 6)) for t in (0, 5, 10, 20)]  # → [1.0, 0.5, 0.0, 0.0]
    ```
    """

    name: str = field(metadata={"static": True})
    function: Callable[..., Any] = field(metadata={"static": True})  # (t, *parts, *options, **numbers) → number
    numbers: dict[str, Any] = field(default_factory=dict)
    parts: tuple[Any, ...] = ()  # schedules that this one is made of
    options: tuple[Any, ...] = field(default=(), metadata={"static": True})

    def __call__(self, count: Any) -> Any:
        """The number after so many updates."""
        t = count if isinstance(count, TRACED) else np.asarray(count)
        if t.dtype.kind not in "iuf":
            raise TypeError(f"{self.name}: a schedule is a function of the count of updates, not of {t.dtype}.")
        t = t.astype(np.float64)
        return self.function(t, *self.parts, *self.options, **self.numbers)


def _steps(title: str, steps: Any) -> Any:
    if callable(steps):
        order = "steps, then" if title == "warm_up" else "start, …, steps"
        raise TypeError(f"{title}: the number of steps is a schedule. Write {title}({order}).")
    if not isinstance(steps, TRACED) and not steps > 0:
        raise ValueError(f"{title}: the number of steps is {steps}; it must be positive.")
    return steps


def _part(t: Any, steps: Any) -> Any:
    return np.minimum(t / steps, 1.0)


@user_facing
def constant(value: Any) -> Schedule:
    """The same number always.

    ```python
    ad.optimize.updates.constant(0.1)(7)  # → 0.1
    ```
    """
    return Schedule("constant", _constant, {"value": value})


def _constant(t: Any, value: Any) -> Any:
    return value + 0.0 * t


@user_facing
def inverse_sqrt(start: Any, steps: Any = 1) -> Schedule:
    """start / √(1 + t/steps): the classical step of stochastic gradient descent.

    ```python
    ad.optimize.updates.inverse_sqrt(0.1)(3)  # → 0.05
    ```
    """
    return Schedule("inverse_sqrt", _inverse_sqrt, {"start": start, "steps": _steps("inverse_sqrt", steps)})


def _inverse_sqrt(t: Any, start: Any, steps: Any) -> Any:
    return start / np.sqrt(1.0 + t / steps)


@user_facing
def linear(start: Any, end: Any, steps: Any) -> Schedule:
    """From start to end on a straight line, and end thereafter.

    ```python
    ad.optimize.updates.linear(1.0, 0.0, 10)(5)  # → 0.5
    ```
    """
    return Schedule("linear", _linear, {"start": start, "end": end, "steps": _steps("linear", steps)})


def _linear(t: Any, start: Any, end: Any, steps: Any) -> Any:
    return start + (end - start) * _part(t, steps)


@user_facing
def polynomial(start: Any, end: Any, steps: Any, power: Any = 1.0) -> Schedule:
    """end + (start - end) (1 - t/steps)ᵖ, and end thereafter.

    ```python
    ad.optimize.updates.polynomial(1.0, 0.0, 10, power=2.0)(5)  # → 0.25
    ```
    """
    numbers = {"start": start, "end": end, "steps": _steps("polynomial", steps), "power": power}
    return Schedule("polynomial", _polynomial, numbers)


def _polynomial(t: Any, start: Any, end: Any, steps: Any, power: Any) -> Any:
    return end + (start - end) * (1.0 - _part(t, steps)) ** power


@user_facing
def exponential(start: Any, rate: Any, steps: Any = 1, *, staircase: bool = False, end: Any = None) -> Schedule:
    """start rate^(t/steps); with `staircase` the exponent is rounded down; never beyond `end`.

    ```python
    ad.optimize.updates.exponential(1.0, 0.5, 10, staircase=True)(19)  # → 0.5
    ```
    """
    numbers = {"start": start, "rate": rate, "steps": _steps("exponential", steps)}
    return Schedule("exponential", _exponential, numbers if end is None else {**numbers, "end": end}, (), (staircase,))


def _exponential(t: Any, staircase: bool, start: Any, rate: Any, steps: Any, end: Any = None) -> Any:
    exponent = np.floor(t / steps) if staircase else t / steps
    value = start * rate**exponent
    if end is None:
        return value
    return np.where(rate < 1.0 + 0.0 * t, np.maximum(value, end), np.minimum(value, end))


@user_facing
def piecewise(start: Any, factors: dict[int, Any]) -> Schedule:
    """start, multiplied by a factor from each of these counts on.

    ```python
    rate = ad.optimize.updates.piecewise(1.0, {10: 0.5, 20: 0.1})
    [round(float(rate(t)), 6) for t in (9, 10, 20)]  # → [1.0, 0.5, 0.05]
    ```
    """
    at = sorted(factors)
    numbers = {"start": start, **{f"factor_{i}": factors[count] for i, count in enumerate(at)}}
    return Schedule("piecewise", _piecewise, numbers, (), (tuple(at),))


def _piecewise(t: Any, at: tuple[int, ...], start: Any, **factors: Any) -> Any:
    value = start + 0.0 * t
    for position, count in enumerate(at):
        value = value * np.where(t >= count, factors[f"factor_{position}"], 1.0)
    return value


@user_facing
def cosine(start: Any, steps: Any, end: Any = 0.0, *, power: Any = 1.0) -> Schedule:
    """end + (start - end) ((1 + cos(π t/steps)) / 2)ᵖ, and end thereafter.

    ```python
    rate = ad.optimize.updates.cosine(1e-3, 1000)
    float(rate(0)), float(np.round(rate(500), 9)), float(rate(1000))  # → (0.001, 0.0005, 0.0)
    ```
    """
    numbers = {"start": start, "end": end, "steps": _steps("cosine", steps)}
    plain = not isinstance(power, TRACED) and power == 1.0
    return Schedule("cosine", _cosine, numbers if plain else {**numbers, "power": power})


def _cosine(t: Any, start: Any, end: Any, steps: Any, power: Any = None) -> Any:
    fall = 0.5 * (1.0 + np.cos(np.pi * _part(t, steps)))
    return end + (start - end) * (fall if power is None else fall**power)


@user_facing
def cosine_restarts(start: Any, steps: int, end: Any = 0.0, *, growth: int = 1, decay: Any = 1.0) -> Schedule:
    """Cosines one after the other: the i-th takes steps·growthⁱ updates and starts at start·decayⁱ.

    ```python
    rate = ad.optimize.updates.cosine_restarts(1.0, 10, growth=2)
    [float(np.round(rate(t), 6)) for t in (0, 5, 10, 20, 30)]  # → [1.0, 0.5, 1.0, 0.5, 1.0]
    ```
    """
    if int(steps) != steps or steps < 1 or int(growth) != growth or growth < 1:
        raise ValueError(f"cosine_restarts: steps={steps} and growth={growth} are integers, at least 1.")
    numbers = {"start": start, "end": end, "decay": decay}
    return Schedule("cosine_restarts", _cosine_restarts, numbers, (), (int(steps), int(growth)))


def _cosine_restarts(t: Any, steps: int, growth: int, start: Any, end: Any, decay: Any) -> Any:
    if growth == 1:
        cycle = np.floor(t / steps)
        within, length = t - cycle * steps, float(steps)
    else:  # Σ_{j<i} growthʲ = (growthⁱ - 1) / (growth - 1)
        cycle = np.floor(np.log1p(t * (growth - 1) / steps) / np.log(growth) + 1e-12)
        length = steps * float(growth) ** cycle
        within = t - steps * (float(growth) ** cycle - 1.0) / (growth - 1)
    return end + (start * decay**cycle - end) * 0.5 * (1.0 + np.cos(np.pi * within / length))


@user_facing
def warm_up(steps: Any, then: Any, start: Any = 0.0) -> Schedule:
    """On a line from start to the first value of `then`, for so many updates; then `then`, a number or a schedule.

    ```python
    rate = ad.optimize.updates.warm_up(10, ad.optimize.updates.cosine(1.0, 100))
    float(rate(0)), float(rate(5)), float(rate(10)), float(np.round(rate(60), 6))  # → (0.0, 0.5, 1.0, 0.5)
    ```
    """
    rest = then if callable(then) else constant(then)
    return Schedule("warm_up", _warm_up, {"start": start, "steps": _steps("warm_up", steps)}, (rest,))


def _warm_up(t: Any, then: Any, start: Any, steps: Any) -> Any:
    later = then(np.maximum(t - steps, 0.0))
    return np.where(t < steps, start + (then(0.0 * t) - start) * (t / steps), later)


@user_facing
def one_cycle(peak: Any, steps: Any, *, rise: Any = 0.3, first: Any = 25.0, last: Any = 1e4) -> Schedule:
    """Up from peak/first along a cosine in the first `rise` of the steps, then down to peak/(first·last).

    ```python
    rate = ad.optimize.updates.one_cycle(1.0, 100)
    [float(np.round(rate(t), 6)) for t in (0, 30, 100)]  # → [0.04, 1.0, 4e-06]
    ```
    """
    numbers = {"peak": peak, "steps": _steps("one_cycle", steps), "rise": rise, "first": first, "last": last}
    return Schedule("one_cycle", _one_cycle, numbers)


def _one_cycle(t: Any, peak: Any, steps: Any, rise: Any, first: Any, last: Any) -> Any:
    top = rise * steps
    up = _bend(peak / first, peak, np.minimum(t / top, 1.0))
    down = _bend(peak, peak / (first * last), np.minimum(np.maximum(t - top, 0.0) / (steps - top), 1.0))
    return np.where(t < top, up, down)


def _bend(a: Any, b: Any, s: Any) -> Any:
    return b + (a - b) * 0.5 * (1.0 + np.cos(np.pi * s))


@user_facing
def join(schedules: Sequence[Any], at: Sequence[int]) -> Schedule:
    """One schedule after the other; each begins to count anew at its boundary.

    ```python
    rate = ad.optimize.updates.join([0.1, ad.optimize.updates.linear(1.0, 0.0, 10)], [5])
    float(rate(4)), float(rate(5)), float(rate(10))  # → (0.1, 1.0, 0.5)
    ```
    """
    if len(schedules) != len(at) + 1 or list(at) != sorted(at):
        raise ValueError(f"join: {len(schedules)} schedules need {len(schedules) - 1} boundaries in growing order, not "
                         f"{list(at)}.")  # fmt: skip
    parts = tuple(s if callable(s) else constant(s) for s in schedules)
    return Schedule("join", _join, {}, parts, (tuple(at),))


def _join(t: Any, *parts: Any) -> Any:
    *schedules, at = parts
    value = schedules[0](t)
    for schedule, boundary in zip(schedules[1:], at, strict=True):
        value = np.where(t >= boundary, schedule(np.maximum(t - boundary, 0.0)), value)
    return value
