"""Multistep methods of Adams: y′ is a polynomial through its last values, integrated over the step.

    Adams-Bashforth   through the last k values:               ŷ = y + ∫ p
    Adams-Moulton     through f(t + h, ŷ) and the last k - 1:  y′ = y + ∫ p, evaluated again (PECE); error y′ - ŷ

Weights follow from the times of the values, so steps may change. The first k - 1 steps are Dormand and Prince's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.api.control_flow import cond
from adjoint.integrate.control import Controller
from adjoint.integrate.explicit import Method, Step, named_explicit
from adjoint.integrate.interpolation import bootstrap, hermite
from adjoint.program.types import Value

__all__ = ["Adams", "adams_names", "named_adams"]

MOST = 8


@dataclass(frozen=True)
class Adams(Method):
    """Adams-Bashforth of order k, or with `corrected` Adams-Moulton (PECE), which chooses its steps.

    ```python
    from adjoint import integrate
    path = integrate.solve(lambda t, y: -y, (0.0, 1.0), 1.0, method="adams-moulton4", rtol=1e-7)
    float(np.round(path.last, 6))  # → 0.367879
    ```
    """

    order: int
    corrected: bool = True
    controller: Controller = field(default=Controller(0.7, -0.4, largest=2.0))

    def __post_init__(self) -> None:
        if not 1 + self.corrected <= self.order <= MOST:
            raise ValueError(f"Adams: order is {self.order}; it is from {1 + self.corrected} to {MOST}.")

    @property
    def name(self) -> str:
        return f"adams-{'moulton' if self.corrected else 'bashforth'}{self.order}"

    @property
    def adaptive(self) -> bool:
        return self.corrected

    @property
    def estimate_order(self) -> int:
        return self.order - 1 if self.corrected else self.order

    @property
    def evaluations(self) -> int:
        return 1 + self.corrected

    @property
    def _kept(self) -> int:
        """How many values of f a step reads."""
        return self.order - self.corrected

    def start(self, f: Any, t: Value, y: Value) -> Any:
        """(y, f, earlier values of f, their times before now, how many there are)."""
        rate, k = f(t, y), self._kept
        return y, rate, np.zeros((k, *y.shape), y.dtype) + rate, np.arange(k) * -1.0, np.int64(1)

    def step(self, f: Any, t: Value, h: Value, state: Any) -> Step:
        """One step."""
        y, rate, rates, ages, count = state
        k = self._kept
        many = lambda: self._many(f, t, h, y, rates, ages)
        new, after, error = many() if k == 1 else cond(count < k, lambda: self._first(f, t, h, y, rate), many)
        rates = np.concatenate([after[None], rates[:-1]])
        ages = np.concatenate([np.zeros(1), ages[:-1] - h])
        return Step((new, after, rates, ages, np.minimum(count + 1, k)), error if self.corrected else None)

    def _first(self, f: Any, t: Value, h: Value, y: Value, rate: Value) -> tuple[Value, Value, Value]:
        method: Any = named_explicit("dopri5" if self.order <= 5 else "verner9")
        found = method.step(f, t, h, (y, rate))
        return *found.state, found.error

    def _many(self, f: Any, t: Value, h: Value, y: Value, rates: Value, ages: Value) -> tuple[Value, Value, Value]:
        dt = h.astype(y.dtype)
        guess = y + dt * (_weights(ages / h).astype(y.dtype) @ rates)
        after = f(t + h, guess)
        if not self.corrected:
            return guess, after, 0 * guess
        points = np.concatenate([np.ones(1), ages / h])
        new = y + dt * (_weights(points).astype(y.dtype) @ np.concatenate([after[None], rates]))
        return new, f(t + h, new), new - guess

    def interpolant(self, f: Any, t: Value, h: Value, before: Any, after: Any) -> Value:
        """The dense output, of the order of the method (at least 3)."""
        (y0, f0), (y1, f1), dt = before[:2], after[:2], h.astype(before[0].dtype)
        return bootstrap(f, t, dt, y0, y1, f0, f1, hermite(dt, y0, y1, f0, f1), self.order)


def _weights(points: Value) -> Value:
    """w with Σ wᵢ p(xᵢ) = ∫ p from 0 to 1, for all polynomials p of degree below the number of points."""
    k = points.shape[0]
    powers = np.stack([points**j for j in range(k)])
    return np.linalg.solve(powers, 1.0 / np.arange(1.0, k + 1))


def adams_names() -> list[str]:
    """The names of those that have one."""
    return [*[f"adams-bashforth{k}" for k in range(2, 6)], *[f"adams-moulton{k}" for k in range(2, 7)]]


def named_adams(name: str) -> Any:
    """A method by its name, None if there is none."""
    if name not in adams_names():
        return None
    return Adams(int(name[-1]), "moulton" in name)
