"""Diagonally implicit Runge-Kutta methods: one matrix I - h γ J for all stages, by simplified Newton iterations.

    kᵢ = f(t + cᵢ h, y + h Σⱼ aᵢⱼ kⱼ),   aᵢᵢ = γ or 0

Of a split f = stiff + rest, the rest is integrated by an explicit method with the same stages (Kennedy and Carpenter
2003). The derivative of a stage is that of its equation, not of the iterations. Kværnø 2004; implicit Euler; trapezoid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from adjoint.api.control_flow import scan
from adjoint.integrate.additive import ADDITIVE
from adjoint.integrate.control import Controller
from adjoint.integrate.explicit import Step
from adjoint.integrate.interpolation import hermite
from adjoint.integrate.newton import (
    Iterated,
    begin,
    iterate,
    renewing,
    solution_of,
    target_for,
    weights_for,
)
from adjoint.integrate.stiff import Renewing
from adjoint.program.types import Value

__all__ = ["DiagonallyImplicit", "diagonal_names", "named_diagonal"]

# with these the error at the end of stiff problems, long oscillations among them, is some ten tolerances at most
CAUTION = {"kvaerno3": 16.0, "kvaerno4": 12.0, "kvaerno5": 24.0, "kencarp3": 128.0, "kencarp4": 32.0, "kencarp5": 24.0}
MANY_DIGITS = 1e7  # |y| / tolerance from which on iterations leave less over


@dataclass(frozen=True)
class DiagonallyImplicit(Renewing):
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
    explicit: tuple[tuple[float, ...], ...] = ()  # A of the explicit method for the rest of a split f
    caution: float = 4.0  # errors count so many times: those of many steps add up
    controller: Controller = field(default=Controller(1.0, 0.0, largest=5.0, hold=1.1))

    @property
    def adaptive(self) -> bool:
        return self.error is not None

    @property
    def stages(self) -> int:
        return len(self.b)

    @property
    def estimate_order(self) -> int:
        return self.order - 1 if self.error is not None else self.order

    @property
    def gamma(self) -> float:
        return max(row[i] for i, row in enumerate(self.A))

    @property
    def is_stiffly_accurate(self) -> bool:
        """Whether the last stage is the solution."""
        return tuple(self.A[-1]) == tuple(self.b) and self.c[-1] == 1.0

    def start(self, f: Any, t: Value, y: Value) -> Any:
        """(y, f, stages, what is kept of J and factors; the stiff part of a split f)."""
        stages = np.zeros((self.stages, *y.shape), y.dtype) + 0 * y
        return y, f(t, y), stages, begin(f, t, y, _factors), f.stiff(t, y)

    def after_rejection(self, before: Any, tried: Any) -> Any:
        """What an attempt has learned: its Jacobian and factors."""
        return *before[:3], tried[3], before[4]

    def _part(self, f: Any, y: Value) -> Value:
        """What iterations may leave over, as a part of the tolerance.

        It has one sign in many steps and adds up, beside errors that are smaller than their estimates by a factor
        like h: at small tolerances it must fall as h does.
        """
        if not self.adaptive:
            return np.float64(4e-3 / self.caution)
        fall = np.minimum(1.0, MANY_DIGITS / f.digits(y)) ** (1.0 / (self.estimate_order + 1))
        return 4e-3 / self.caution * fall

    def step(self, f: Any, t: Value, h: Value, state: Any) -> Step:
        """One step."""
        y, kept = state[0], state[3]
        c = (h * self.gamma).astype(y.dtype)
        weights, target = weights_for(f, y, self.adaptive), target_for(f, y, self.adaptive, self._part(f, y))

        def solve(factors: Any, scale: Value, rate: Value) -> tuple[Any, Iterated]:
            def stage(time: Value, base: Value, z: Value, carry: Any) -> tuple[Value, Any]:
                converged, rate, count, worst = carry

                def change(z: Value) -> Value:
                    right = c * f.implicit(time, base + z) - z
                    return scale * f.form.solve(f, factors, right)

                found = iterate(change, z, weights, target, rate)
                good = np.logical_and(converged, found.converged)
                return found.x, (good, found.rate, count + found.count, np.maximum(worst, found.ratio))

            carry = np.bool_(True), rate, np.int64(0), np.float64(0.0)
            ks, zs, (converged, rate, count, worst) = self._stages(f, t, h, state, stage, carry, None)
            return (ks, zs), Iterated(y, converged, rate, count, worst)

        size = (self.stages, *y.shape)
        nothing = np.zeros((2 if f.is_split else 1, *size), y.dtype), np.zeros(size, y.dtype)
        old = 0.2 if self.adaptive else 0.0
        (ks, zs), kept, converged, work = renewing(
            f, t, y, c, kept, old, _factors, solve, nothing, slow=0.1
        )  # fmt: skip
        after = self._ended(f, t, h, y, ks, zs, kept)
        error = None
        if self.error is not None:
            total = np.array(self.error, y.dtype) @ np.sum(ks, axis=0)
            error = (self.caution * h).astype(y.dtype) * total
        return Step(after, error, f.form.radius(kept.J), failed=np.logical_not(converged), work=work)

    def differentiable_step(self, f: Any, t: Value, h: Value, state: Any, after: Any) -> Any:
        """The state after a step, with the derivatives of its equations."""
        c = (h * self.gamma).astype(state[0].dtype)

        def F(f: Any, time: Value, base: Value, c: Value, z: Value) -> Value:
            return z - c * f.implicit(time, base + z)

        def stage(time: Value, base: Value, z: Value, carry: Any) -> tuple[Value, Any]:
            return solution_of(f, F, [time, base, c], z), carry

        ks, zs, _ = self._stages(f, t, h, state, stage, np.int64(0), after[2])
        new = self._ended(f, t, h, state[0], ks, zs, after[3])
        return *new[:2], zs, after[3], new[4]

    def _stages(self, f: Any, t: Value, h: Value, state: Any, stage: Any, carry: Any, known: Value | None) -> Any:
        """All stages, as a loop that holds f once: kᵢ (for each part of a split f), z of each, and what is carried.

        z = h γ k solves z = h γ f(base + z); `known` are the z that were found before.
        """
        y, f0 = state[0], state[1]
        s, dtype = self.stages, y.dtype
        dt, split = h.astype(dtype), f.is_split
        first = 0 if self.A[0][0] else 1  # an explicit first stage has y′ at the start
        rows = _square(self.A, s).astype(dtype)
        rows[np.arange(s), np.arange(s)] = 0.0
        other = _square(self.explicit, s).astype(dtype) if split else rows
        parts = [state[4], f0 - state[4]] if split else [f0]
        ks = np.zeros((len(parts), s, *y.shape), dtype) + 0 * y
        if first:
            ks[:, 0] = np.stack(parts)
        zs = np.zeros((s, *y.shape), dtype) + 0 * y
        guess = parts[0]
        c = dt * dtype.type(self.gamma)

        def one(now: Any, row: Any) -> Any:
            ks, zs, guess, carry = now
            i, weights, others, time, given = row
            base = y + dt * (weights @ ks[0])
            if split:
                base = base + dt * (others @ ks[1])
            at = t + time * h
            z, carry = stage(at, base, c * guess if known is None else given, carry)
            k = z / c
            ks, zs = ks.copy(), zs.copy()
            zs[i] = z
            ks[0, i] = k
            if split:
                ks[1, i] = f.rest(at, base + z)
            return (ks, zs, k, carry), None

        index = np.arange(first, s)
        times = np.array(self.c)[first:]
        given = zs[first:] if known is None else known[first:]
        (ks, zs, _, carry), _ = scan(one, (ks, zs, guess, carry), (index, rows[first:], other[first:], times, given))
        return ks, zs, carry

    def _ended(self, f: Any, t: Value, h: Value, y: Value, ks: Value, zs: Value, kept: Any) -> Any:
        """The state after the stages."""
        total = np.sum(ks, axis=0)
        new = y + h.astype(y.dtype) * (np.array(self.b, y.dtype) @ total)
        if (
            self.is_stiffly_accurate and not f.is_split
        ):  # the last stage has y′ at the end, without the noise of f there
            return new, total[-1], zs, kept, ks[0, -1]
        return new, f(t + h, new), zs, kept, f.stiff(t + h, new)

    def interpolant(self, f: Any, t: Value, h: Value, before: Any, after: Any) -> Value:
        """By the stages, of order 4 where they allow it; else the cubic through both ends.

        f inside a step of a stiff equation, which would give more, would amplify its errors.
        """
        dt, weights = h.astype(before[0].dtype), _dense_weights(self)
        if weights is None or f.is_split:
            return hermite(dt, before[0], after[0], before[1], after[1])
        first, others = weights[:, 0], weights[:, 1:]
        inner = others.astype(dt.dtype) @ after[2][1:] / dt.dtype.type(self.gamma)
        return inner + dt * first.astype(dt.dtype)[:, None] * before[1]


def _square(rows: Any, size: int) -> Any:
    found = np.zeros((size, size))
    for i, row in enumerate(rows):
        found[i, : len(row)] = row
    return found


@cache
def _dense_weights(method: DiagonallyImplicit) -> Any:
    """Rows B of y(θ) = y₀ + h Σₘ θᵐ Σᵢ Bₘᵢ kᵢ, m = 1 … 4, that are of order 4 and end in y₁; None if there are none.

    With Σⱼ aᵢⱼ cⱼ = cᵢ²/2, five conditions remain: Σ bᵢ (1, cᵢ, cᵢ², cᵢ³, Σⱼ aᵢⱼ cⱼ²) = θ, θ²/2, θ³/3, θ⁴/4, θ⁴/12.
    """
    s = method.stages
    A, c = _square(method.A, s), np.array(method.c)
    conditions = np.stack([np.ones(s), c, c**2, c**3, A @ c**2])
    if method.order < 4 or A[0, 0] or np.linalg.matrix_rank(conditions) < 5 or np.max(np.abs(A @ c - c**2 / 2)) > 1e-9:
        return None
    inverse = np.linalg.pinv(conditions)
    rows = np.zeros((4, s))
    for column, power, count in zip(inverse.T, (1, 2, 3, 4, 4), (1, 2, 3, 4, 12), strict=True):
        rows[power - 1] += column / count
    rows[3] += np.array(method.b) - np.sum(rows, axis=0)
    return rows


def _factors(f: Any, c: Value, J: Value) -> Any:
    return f.form.factors(f, c, J)


def _kvaerno4_rows(g: float) -> list[list[float]]:
    p = lambda *c: float(np.polyval(c, g))
    q = p(12, -6, 1)
    return [
        [], [g],
        [p(144, -180, 81, -15, 1) * g / q**2, p(-36, 39, -15, 2) * g / q**2],
        [p(-144, 396, -330, 117, -18, 1) / (12 * g**2 * p(12, -9, 2)),
         p(72, -126, 69, -15, 1) / (12 * g**2 * p(3, -1)),
         p(-6, 6, -1) * q**2 / (12 * g**2 * p(12, -9, 2) * p(3, -1))],
        [p(288, -312, 120, -18, 1) / (48 * g**2 * p(12, -9, 2)), p(24, -12, 1) / (48 * g**2 * p(3, -1)),
         -(q**3) / (48 * g**2 * p(3, -1) * p(12, -9, 2) * p(6, -6, 1)), p(-24, 36, -12, 1) / p(24, -24, 4)],
    ]  # fmt: skip


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
    if name == "kvaerno4":
        g = 0.5728160624821349  # 1 - 12 g + 36 g² - 24 g³ = … of an L-stable method of order 4
        return _stiffly_accurate(name, _kvaerno4_rows(g), g, 4)
    if name in ADDITIVE:
        implicit, explicit, embedded, gamma, order = ADDITIVE[name]
        rows = [[float(Fraction(x)) for x in row.split()] for row in implicit.strip().split("\n")]
        outer = [[float(Fraction(x)) for x in row.split()] for row in explicit.strip().split("\n")]
        g = float(Fraction(gamma))
        A = ((0.0,), *[(*row, g) for row in rows])
        b = A[-1]
        other = [float(Fraction(x)) for x in embedded.split()]
        error = tuple(x - y for x, y in zip(b, other, strict=True))
        c = tuple(sum(row) for row in A[:-1])
        return DiagonallyImplicit(
            A, b, (*c, 1.0), error, order, name, explicit=((), *map(tuple, outer)), caution=CAUTION[name]
        )
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
    error = tuple(x - y for x, y in zip(b, other, strict=True))
    return DiagonallyImplicit(A, b, c, error, order, name, caution=CAUTION[name])


def diagonal_names() -> list[str]:
    return ["implicit-euler", "trapezoid", "kvaerno3", "kvaerno4", "kvaerno5", "kencarp3", "kencarp4", "kencarp5"]
