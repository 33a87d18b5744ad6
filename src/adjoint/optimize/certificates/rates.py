"""How fast a sequence falls, and the bounds that theory gives for it.

sublinear  R(t) ~ c t^-α,  T(ε) ~ ε^(-1/α)      linear  R(t) ~ c ρ^t,  T(ε) = log(c/ε) / log(1/ρ)
superlinear  R(t+1) ~ c R(t)^q,  T(ε) ~ log log(1/ε)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

__all__ = ["Bounds", "Rate", "check_bounds", "rate"]


@final
@dataclass(frozen=True)
class Rate:
    """A class of convergence, with its number: α of t^-α, ρ of ρ^t, or the order q."""

    kind: str
    number: float
    errors: np.ndarray

    def iterations_for(self, eps: float) -> float:
        """T(ε): after how many iterations the error is at most ε, if it goes on like this; inf where it grows."""
        known = np.flatnonzero(self.errors <= eps)
        if len(known):
            return float(known[0])
        last, t = self.errors[-1], len(self.errors) - 1
        if (self.kind == "linear" and self.number >= 1.0) or (self.kind == "sublinear" and self.number <= 0.0):
            return np.inf
        if self.kind == "sublinear":
            return float(t * (last / eps) ** (1.0 / self.number))
        if self.kind == "linear":
            return float(t + np.log(last / eps) / np.log(1.0 / self.number))
        return float(t + np.log(max(np.log(eps) / np.log(min(last, 0.5)), 1.0)) / np.log(max(self.number, 1.01)))


def rate(history: Any, best: float | None = None) -> Rate:
    """How fast values fall to `best`: sublinear, linear or superlinear, from the ratios of errors in a row.

    `history` is that of an `Optimum`, or a sequence of values; without `best` the steps from one value to the next tell
    how fast they fall and where to, or the last value stands for it where they do not fall steadily.

    ```python
    ad.optimize.certificates.rate(0.5 ** np.arange(30.0), best=0.0).number  # → 0.5
    ad.optimize.certificates.rate(1.0 / np.arange(1.0, 200.0), best=0.0).kind  # → 'sublinear'
    ```
    """
    values = np.asarray(history["fun"] if isinstance(history, dict) else history, float)
    values = values[np.isfinite(values)]
    size = max(abs(values[0]), 1e-300) if len(values) else 0.0
    if best is None:
        steps = _above(-np.diff(values), 1e-14 * size)
        if len(steps) >= 6:
            return _follow_steps(values, steps)
    errors = values - (values[-1:] if best is None else best)
    errors = _above(errors, 1e-14 * size if best is None or best != 0 else 0.0)
    if len(errors) < 4:
        raise ValueError(f"certificates.rate: {len(errors)} errors are above rounding; a rate shows from four on.")
    return Rate(*_classify(errors), errors)


def _above(values: np.ndarray, floor: float) -> np.ndarray:
    """Those before the first one that is not above what rounding makes."""
    ends = np.flatnonzero(values <= floor)
    return values[: ends[0]] if len(ends) else values


def _follow_steps(values: np.ndarray, steps: np.ndarray) -> Rate:
    """Steps fall like ρ^t with errors that do, like t^-(α+1) with errors like t^-α; the rest is yet to come."""
    kind, number = _classify(steps)
    rest = 0.0
    if kind == "linear" and number < 1.0:
        rest = steps[-1] * number / (1.0 - number)
    if kind == "sublinear":
        number -= 1.0
        rest = steps[-1] * len(steps) / number if number > 0 else 0.0
    errors = values[: len(steps) + 1] - values[len(steps)] + rest
    return Rate(kind, number, errors[errors > 0])


def _classify(errors: np.ndarray) -> tuple[str, float]:
    """The kind and its number."""
    logs, t = np.log(errors), np.arange(1.0, len(errors) + 1)
    falls = -np.diff(logs)
    half = len(falls) // 2
    early, late = np.mean(falls[:half]), np.mean(falls[half:])
    # digits per iteration grow: superlinear; stay: linear; shrink like 1/t: sublinear
    quarter = max(len(falls) // 4, 1)
    last, before = np.mean(falls[-quarter:]), np.mean(falls[-2 * quarter : -quarter])
    if late > 2.0 * max(early, 1e-12) and last > 1.3 * before and last > np.log(2.0):
        order = np.polyfit(logs[:-1], logs[1:], 1)[0] if len(logs) > 4 else logs[-1] / logs[-2]
        return "superlinear", float(order)
    tail = slice(len(errors) // 4, None)
    straight, power = (np.polyfit(axis[tail], logs[tail], 1, full=True) for axis in (t, np.log(t)))
    misfit = [float(fit[1][0]) if len(fit[1]) else 0.0 for fit in (straight, power)]
    if misfit[1] < misfit[0] and late < 0.8 * early:
        return "sublinear", float(-power[0][0])
    return "linear", float(np.exp(straight[0][0]))


@final
@dataclass(frozen=True)
class Bounds:
    """Which promises of a method a run has kept: for each the iteration at which it was first broken, or None."""

    broken: dict[str, int | None]
    errors: np.ndarray
    curves: dict[str, np.ndarray]

    @property
    def held(self) -> bool:
        """Whether all were kept."""
        return all(at is None for at in self.broken.values())

    def plot(self, axes: Any = None) -> Any:
        """The error, with the bounds on it."""
        import matplotlib.pyplot as plt

        axes = plt.subplots()[1] if axes is None else axes
        axes.semilogy(np.where(self.errors > 0, self.errors, np.nan), label="error")
        for name, curve in self.curves.items():
            axes.semilogy(curve, "--", label=f"bound: {name}")
        axes.set_xlabel("iteration")
        axes.legend()
        return axes


def check_bounds(
    found: Any, step_size: float, best: float, *, distance: float | None = None, mu: float | None = None,
    dominated: float | None = None,
) -> Bounds:  # fmt: skip
    """The promises of gradient descent with a step γ ≤ 1/β, held against a run with history=True.

    descent: f(x⁺) - f(x) ≤ -γ/2 ‖∇f‖².   stationary: min ‖∇f‖² ≤ 2 (f(x⁰) - f*) / γT.
    With `distance` = ‖x⁰ - x*‖ convex: f - f* ≤ distance² / γT. With `mu` strongly convex: (1 - γμ)^T (f(x⁰) - f*).
    With `dominated` c, ‖∇f‖² ≥ c (f - f*) along the run, and the bound (1 - γc/2)^T (f(x⁰) - f*).

    ```python
    f = lambda w: 0.05 * w[0] ** 2 + 0.5 * w[1] ** 2
    method = ad.optimize.GradientDescent(step_size=1.0)
    found = ad.optimize.minimize(f, np.ones(2), method=method, history=True)
    ad.optimize.certificates.check_bounds(found, 1.0, 0.0, distance=2**0.5, mu=0.1).held  # → True
    ```
    """
    if found.history is None:
        raise ValueError("certificates.check_bounds: nothing was kept of the iterations. Ask for it: history=True.")
    values = np.asarray(found.history["fun"], float)
    errors = values - best
    squares = (np.asarray(found.history["step"], float)[1:] / step_size) ** 2  # ‖∇f‖² at the points before each step
    t = np.arange(1, len(values))
    slack = 1e-12 * (1.0 + np.abs(values[0]))
    curves: dict[str, np.ndarray] = {}
    broken: dict[str, int | None] = {}

    def look(name: str, kept: np.ndarray) -> None:
        wrong = np.flatnonzero(~kept)
        broken[name] = int(wrong[0]) + 1 if len(wrong) else None

    look("descent", np.diff(values) <= -0.5 * step_size * squares + slack)
    look("stationary", np.minimum.accumulate(squares) <= 2.0 * errors[0] / (step_size * t) + slack)
    if distance is not None:
        curves["convex"] = np.concatenate([[np.nan], distance**2 / (step_size * t)])
    if mu is not None:
        curves["strongly convex"] = errors[0] * (1.0 - step_size * mu) ** np.arange(len(values))
    if dominated is not None:
        curves["gradient domination"] = errors[0] * (1.0 - 0.5 * step_size * dominated) ** np.arange(len(values))
        look("domination itself", squares >= dominated * errors[:-1] - slack)
    for name, curve in curves.items():
        look(name, errors[1:] <= curve[1:] + slack)
    return Bounds(broken, errors, curves)
