"""Taylor's method: the power series of the solution at each step, by Taylor mode.

    y(t + h) = Σ cₖ hᵏ,   (k + 1) cₖ₊₁ = coefficient k of f(t + h, Σ cⱼ hʲ)

The step follows from the last two coefficients, which tell the radius of convergence: cₖ hᵏ is below the tolerance for
k = K - 1 and K (Jorba and Zou 2005). The series is the dense output.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.api.control_flow import scan
from adjoint.api.taylor import jet
from adjoint.integrate.control import Controller, error_norm
from adjoint.integrate.explicit import Method, Step
from adjoint.program.types import Value

__all__ = ["Taylor", "named_taylor"]


@dataclass(frozen=True)
class Taylor(Method):
    """The method of order K. For smooth right sides and high accuracy: few steps to 10⁻¹⁴.

    ```python
    from adjoint import integrate
    method = integrate.Taylor(20)
    path = integrate.solve(lambda t, y: y * np.cos(t), (0.0, 5.0), 1.0, method=method, rtol=1e-14, atol=1e-14)
    bool(abs(path.last - np.exp(np.sin(5.0))) < 1e-14), bool(path.steps < 30)  # → (True, True)
    ```
    """

    order: int = 16
    controller: Controller = field(default=Controller(1.0, 0.0, safety=0.95, largest=1e6, smallest=1e-6))

    adaptive = True

    def __post_init__(self) -> None:
        if not 2 <= self.order <= 40:
            raise ValueError(f"Taylor: order is {self.order}; it is from 2 to 40.")

    @property
    def name(self) -> str:
        return f"taylor{self.order}"

    @property
    def estimate_order(self) -> int:
        return self.order - 1

    @property
    def evaluations(self) -> int:
        return self.order

    def _series(self, f: Any, t: Value, y: Value) -> Value:
        """c₁ … c_K: each one from those before, by one pass over all orders, written once."""
        K = self.order
        factorials = np.cumprod(np.arange(1.0, K + 1)).astype(y.dtype)
        one, zero = np.float64(1.0), np.float64(0.0)

        def next_one(c: Value, k: Value) -> Any:
            terms = [c[j] * factorials[j] for j in range(K - 1)]
            times = [one, *[zero] * (K - 2)]
            value, found = jet(f, (t, y), (times, terms))
            rates = np.stack([value, *[d / factorials[j] for j, d in enumerate(found)]])
            c = c.copy()
            c[k] = rates[k] / (k + 1).astype(y.dtype)
            return c, None

        start = np.zeros((K, *y.shape), y.dtype) + 0 * y
        return scan(next_one, start, np.arange(K))[0]

    def start(self, f: Any, t: Value, y: Value) -> Any:
        """(y, c)."""
        return y, self._series(f, t, y)

    def derivative(self, state: Any) -> Value:
        return state[1][0]

    def step(self, f: Any, t: Value, h: Value, state: Any) -> Step:
        """One step: the series at h."""
        y, c = state
        dt = h.astype(y.dtype)
        total = c[-1]
        for k in range(self.order - 2, -1, -1):
            total = total * dt + c[k]
        new = y + dt * total
        return Step((new, self._series(f, t + h, new)), c[-1] * dt**self.order)

    def propose(self, state: Any, rtol: Value, atol: Value, norm: Any) -> Value:
        """The next step, from the last two coefficients."""
        y, c = state
        sizes = []
        for k in (self.order - 1, self.order):
            size = error_norm(c[k - 1], y, y, rtol, atol, norm)
            sizes.append(np.where(size > 0, np.maximum(size, 1e-300), 1e-300) ** (-1.0 / k))
        return self.controller.safety * np.minimum(sizes[0], sizes[1])

    def interpolant(self, f: Any, t: Value, h: Value, before: Any, after: Any) -> Value:
        """The series itself."""
        dt = h.astype(before[0].dtype)
        return np.stack([before[1][k] * dt ** (k + 1) for k in range(self.order)])


def named_taylor(name: str) -> Any:
    """A method by its name, None if there is none."""
    number = name.removeprefix("taylor")
    return (
        Taylor(int(number) if number else 16)
        if name.startswith("taylor") and (number.isdigit() or not number)
        else None
    )
