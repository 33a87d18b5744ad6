"""Diagonally implicit Runge-Kutta methods: one matrix I - h γ J for all stages, by simplified Newton iterations.

    kᵢ = f(t + cᵢ h, y + h Σⱼ aᵢⱼ kⱼ),   aᵢᵢ = γ or 0

The derivative of a stage is that of its equation, not of the iterations: two steps of Newton's method with the exact
matrix at the solution do not move it, and have its derivatives to third order. Kværnø 2004; implicit Euler; trapezoid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from adjoint.api.control_flow import while_loop
from adjoint.api.jacobians import jacfwd
from adjoint.integrate.control import Controller
from adjoint.integrate.derivative import detach
from adjoint.integrate.explicit import Step
from adjoint.integrate.interpolation import hermite
from adjoint.program.types import Value

__all__ = ["DiagonallyImplicit", "diagonal_names", "named_diagonal"]

ITERATIONS = 15


@dataclass(frozen=True)
class DiagonallyImplicit:
    """A method whose stages are implicit one by one, with the same γ.

    ```python
    from adjoint import integrate
    path = integrate.solve(lambda t, y: -1e6 * (y - np.cos(t)), (0.0, 1.0), 0.0, method="kvaerno5")
    path.status, float(np.round(path.last, 5))  # → ('finished', 0.5403)
    ```
    """

    A: tuple[tuple[float, ...], ...]  # row i has i + 1 numbers
    b: tuple[float, ...]
    c: tuple[float, ...]
    error: tuple[float, ...] | None
    order: int
    name: str
    symmetric: bool = False
    controller: Controller = field(default=Controller(1.0, 0.0, largest=5.0))

    stiff = True
    implicit = True
    reversible = False
    symplectic = False
    takes_mass = False
    uses_jacobian = 1
    uses_factors = 1

    @property
    def adaptive(self) -> bool:
        return self.error is not None

    @property
    def stages(self) -> int:
        return len(self.b)

    @property
    def evaluations(self) -> int:
        """Evaluations of f in a step, with four iterations for each implicit stage."""
        return 4 * sum(1 for i, row in enumerate(self.A) if row[i]) + 1

    @property
    def estimate_order(self) -> int:
        return self.order - 1 if self.error is not None else self.order

    def start(self, f: Any, t: Value, y: Value) -> Any:
        """(y, f)."""
        return y, f(t, y)

    def value(self, state: Any) -> Value:
        return state[0]

    def derivative(self, state: Any) -> Value:
        return state[1]

    def step(self, f: Any, t: Value, h: Value, state: Any) -> Step:
        """One step."""
        y, f0 = state
        return self._step(f, t, h, y, f0, jacfwd(lambda y: f(t, y))(y), False)

    def differentiable_step(self, f: Any, t: Value, h: Value, state: Any) -> Any:
        """The state after a step, with the derivatives of its equations."""
        y, f0 = state
        plain = f.with_theta(detach(f.theta))
        time, point = detach([t, y])
        J = jacfwd(lambda y: plain(time, y))(point)
        return self._step(f, t, h, y, f0, J, True).state

    def _step(self, f: Any, t: Value, h: Value, y: Value, f0: Value, J: Value, differentiable: bool) -> Step:
        dt = h.astype(y.dtype)
        gamma = max(row[i] for i, row in enumerate(self.A))
        identity = np.eye(y.shape[0], dtype=y.dtype)
        W = identity - detach([dt])[0] * y.dtype.type(gamma) * J
        ks: list[Value] = []
        failed: Any = np.bool_(False)
        for i, row in enumerate(self.A):
            base = y
            for weight, k in zip(row[:i], ks, strict=True):
                if weight:
                    base = base + dt * y.dtype.type(weight) * k
            time = t + self.c[i] * h
            if not row[i]:
                ks.append(f0 if i == 0 and self.c[0] == 0 else f(time, base))
                continue
            k, bad = self._solved(f, time, dt, base, W, ks[-1] if ks else f0, y.dtype.type(row[i]))
            failed = np.logical_or(failed, bad)
            if differentiable:
                k = _differentiated(f, time, dt * y.dtype.type(row[i]), base, k, identity)
            ks.append(k)
        new = y
        for weight, k in zip(self.b, ks, strict=True):
            if weight:
                new = new + dt * y.dtype.type(weight) * k
        error = None
        if self.error is not None:
            total: Any = 0 * y
            for weight, k in zip(self.error, ks, strict=True):
                if weight:
                    total = total + y.dtype.type(weight) * k
            error = dt * total
        return Step((new, f(t + h, new)), error, failed=failed)

    def _solved(self, f: Any, t: Value, dt: Value, base: Value, W: Value, guess: Value, gamma: Any) -> Any:
        """A stage by simplified Newton iterations, without derivative; and whether they failed."""
        plain = f.with_theta(detach(f.theta))
        t, dt, base, W, guess = detach([t, dt, base, W, guess])
        smallest = base.dtype.type(1e-18) * (np.max(np.abs(base)) + base.dtype.type(1e-12))
        small = 1e-11 if base.dtype == np.float64 else 1e-5

        def iterate(now: Any) -> Any:
            k, _, count = now
            change = np.linalg.solve(W, plain(t, base + dt * gamma * k) - k)
            size = np.abs(base + dt * gamma * k) + smallest
            moved = np.max(np.abs(dt * gamma * change) / size) * np.float64(1.0)
            return k + change, moved, count + 1

        goes_on = lambda now: np.logical_and(now[1] > small, now[2] < ITERATIONS)
        begin = (guess, np.float64(np.inf), np.int64(0))
        k, moved, _ = while_loop(goes_on, iterate, begin)
        return k, np.logical_not(moved <= 1e6 * small)

    def interpolant(self, f: Any, t: Value, h: Value, before: Any, after: Any) -> Value:
        """The cubic through both ends: f inside a step of a stiff equation would amplify its errors."""
        return hermite(h.astype(before[0].dtype), before[0], after[0], before[1], after[1])


def _differentiated(f: Any, t: Value, scale: Value, base: Value, k: Value, identity: Value) -> Value:
    """k of k = f(t, base + scale k) with its derivatives."""
    value = detach([k])[0]
    found = value
    for _ in range(2):
        point = base + scale * found
        matrix = identity - scale * jacfwd(lambda y: f(t, y))(point)
        found = found - np.linalg.solve(matrix, found - f(t, point))
        found = found + (value - detach([found])[0])
    return found


@cache
def named_diagonal(name: str) -> Any:
    """A method by its name, None if there is none."""
    if name == "implicit-euler":
        return DiagonallyImplicit(((1.0,),), (1.0,), (1.0,), None, 1, name)
    if name == "trapezoid":
        return DiagonallyImplicit(((0.0,), (0.5, 0.5)), (0.5, 0.5), (0.0, 1.0), None, 2, name, symmetric=True)
    if name == "kvaerno3":
        g = 0.4358665215084590  # the root of x³ - 3x² + 3x/2 - 1/6 between 1/6 and 1/2
        rows = [[], [g], [(-4 * g**2 + 6 * g - 1) / (4 * g), (-2 * g + 1) / (4 * g)],
                [(6 * g - 1) / (12 * g), -1 / ((24 * g - 12) * g), (-6 * g**2 + 6 * g - 1) / (6 * g - 3)]]  # fmt: skip
        return _stiffly_accurate(name, rows, g, 3)
    if name == "kvaerno5":
        rows = [[], [0.26], [0.13, 0.84033320996790809],
                [0.22371961478320505, 0.47675532319799699, -0.06470895363112615],
                [0.16648564323248321, 0.10450018841591720, 0.03631482272098715, -0.13090704451073998],
                [0.13855640231268224, 0.0, -0.04245337201752043, 0.02446657898003141, 0.61943039072480676],
                [0.13659751177640291, 0.0, -0.05496908796538376, -0.04118626728321046, 0.62993304899016403,
                 0.06962479448202728]]  # fmt: skip
        return _stiffly_accurate(name, rows, 0.26, 5)
    return None


def _stiffly_accurate(name: str, rows: list[list[float]], gamma: float, order: int) -> DiagonallyImplicit:
    """The last stage is the solution, the one before it the embedded method."""
    A = tuple((*row, gamma if i else 0.0) for i, row in enumerate(rows))
    c = tuple(sum(row) for row in A)
    b, other = A[-1], (*A[-2], 0.0)
    return DiagonallyImplicit(A, b, c, tuple(x - y for x, y in zip(b, other, strict=True)), order, name)


def diagonal_names() -> list[str]:
    return ["implicit-euler", "trapezoid", "kvaerno3", "kvaerno5"]
