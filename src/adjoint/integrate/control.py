"""Step size: the norm of an error, the first step (Hairer, Nørsett, Wanner II.4), and PID controllers (Söderlind 2003).

hₙ₊₁ / hₙ = safety · eₙ^(-β₁/k) eₙ₋₁^(-β₂/k) eₙ₋₂^(-β₃/k),   k = order of the estimate + 1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.program.types import Value

__all__ = ["CONTROLLERS", "Controller", "check_norm", "error_norm", "first_step", "rest_norm"]

TINY = 1e-10  # smallest error that the controller looks at


@dataclass(frozen=True)
class Controller:
    """A PID controller of step sizes, by Söderlind's exponents β.

    ```python
    from adjoint import integrate
    gentle = integrate.Controller(0.6, -0.2)
    path = integrate.solve(lambda t, y: -y, (0.0, 1.0), 1.0, method=integrate.choose("dopri5", controller=gentle))
    float(np.round(path.last, 5))  # → 0.36788
    ```
    """

    first: float = 0.7
    second: float = -0.4
    third: float = 0.0
    safety: float = 0.9
    smallest: float = 0.2
    largest: float = 10.0
    hold: float = 1.0  # no step grows by less: factors of its matrix are kept

    def factor(self, logs: tuple[Value, Value, Value], k: float) -> Value:
        """hₙ₊₁ / hₙ after an accepted step, by the logarithms of the errors eₙ, eₙ₋₁, eₙ₋₂."""
        betas = (self.first, self.second, self.third)
        terms = [(-beta / k) * log for beta, log in zip(betas, logs, strict=True) if beta]
        exponent = terms[0] if terms else 0.0 * logs[0]
        for term in terms[1:]:
            exponent = exponent + term
        found = self.safety * np.exp(exponent)
        found = np.clip(found, self.smallest, self.largest)
        if self.hold > 1:
            found = np.where(np.logical_and(found >= 1, found < self.hold), 1.0, found)
        return found

    def log(self, e: Value) -> Value:
        """The logarithm of an error, as `factor` takes it."""
        return np.log(np.maximum(e, TINY))

    def shrink(self, e: Value, k: float) -> Value:
        """h / hₙ after a rejected step; where the error is not finite the least."""
        e = np.maximum(e, 1.0)  # a NaN stays one
        found = np.clip(self.safety * e ** (-1.0 / k), self.smallest, 0.9)
        return np.where(np.isfinite(e), found, 0.1)


CONTROLLERS = {
    "I": Controller(1.0, 0.0),
    "PI": Controller(0.7, -0.4),  # Hairer and Wanner IV.2
    "PI34": Controller(0.7, -0.4),
    "H211PI": Controller(1 / 6, 1 / 6),
    "H312PID": Controller(1 / 18, 1 / 9, 1 / 18),
    "PID": Controller(0.49, -0.34, 0.1),
}


def error_norm(error: Value, before: Value, after: Value, rtol: Value, atol: Value, norm: Any) -> Value:
    """The norm of error / (atol + rtol · max(|y₀|, |y₁|)), as float64; NaN where it is not finite."""
    ratio = error / (atol + rtol * np.maximum(np.abs(before), np.abs(after)))
    if callable(norm):
        return _user_norm(norm, ratio)
    if norm == "max":
        return np.float64(1.0) * np.max(np.abs(ratio))
    return np.sqrt(np.float64(1.0) * np.mean(ratio * ratio))


def rest_norm(error: Value, before: Value, after: Value, rtol: Value, atol: Value, n: int) -> Value:
    """The norm of what stands behind the first n: not thinned out by them, nor the other way round."""
    if error.shape[0] == n:
        return np.float64(0.0)
    return error_norm(error[n:], before[n:], after[n:], np.min(rtol), np.mean(atol), "rms")


def check_norm(title: str, norm: Any) -> None:
    """Whether an argument is a norm."""
    if not callable(norm) and norm not in ("rms", "max"):
        raise ValueError(f"{title}: norm is {norm!r}; it is 'rms', 'max', or a function of the vector of "
                         "error / (atol + rtol |y|).")  # fmt: skip


def _user_norm(norm: Any, ratio: Value) -> Value:
    return np.float64(1.0) * norm(ratio)


def first_step(
    f: Callable[[Value, Value], Value], t0: Value, y0: Value, f0: Value, direction: Value, span: Value, order: int,
    rtol: Value, atol: Value, norm: Any, count: int,
) -> Value:  # fmt: skip
    """Size of a step whose Euler error is about a hundredth of the tolerance."""
    zero = 0 * y0[:count]
    d0 = error_norm(y0[:count], y0[:count], zero, rtol, atol, norm)
    d1 = error_norm(f0[:count], y0[:count], zero, rtol, atol, norm)
    h0 = np.where(np.minimum(d0, d1) < 1e-5, 1e-6, 0.01 * d0 / np.maximum(d1, 1e-300))
    h0 = np.minimum(h0, span)
    y1 = y0 + (direction * h0).astype(y0.dtype) * f0
    f1 = f(t0 + direction * h0, y1)
    d2 = error_norm((f1 - f0)[:count], y0[:count], zero, rtol, atol, norm) / h0
    largest = np.maximum(d1, d2)
    h1 = np.where(
        largest <= 1e-15, np.maximum(1e-6, h0 * 1e-3), (0.01 / np.maximum(largest, 1e-300)) ** (1 / (order + 1))
    )
    h = np.minimum(100 * h0, h1)
    return np.minimum(np.where(np.isfinite(h), h, 1e-6 * span), span)
