"""Backward differentiation of variable order, 1 to 5, and variable step: one equation a step, for many unknowns.

The past is a table of backward differences Dⱼ = ∇ʲy on a grid of the step h (Shampine and Reichelt 1997, with their
κ that lower the error of orders 1 to 4; Byrne and Hindmarsh 1975). With order k, y_p = Σ Dⱼ (j ≤ k), and d = y - y_p,

    M (ψ + d) = c f(t, y_p + d),   c = h / ((1 - κ) γₖ),   ψ = Σ γⱼ Dⱼ / ((1 - κ) γₖ),   γⱼ = 1 + 1/2 + … + 1/j

Another step is another grid: the table is interpolated. J and the factors of M - c J are kept from step to step as
long as the iteration converges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from adjoint.api.control_flow import cond
from adjoint.api.gradients import jvp
from adjoint.integrate.control import Controller
from adjoint.integrate.explicit import Step
from adjoint.integrate.newton import Iterated, Kept, begin, iterate, norm, renewing, solution_of, target_for
from adjoint.integrate.stiff import Renewing
from adjoint.program.types import Value

__all__ = ["BDF"]

HIGHEST = 5
ROWS = HIGHEST + 3
KAPPA = np.array([0.0, -0.1850, -1 / 9, -0.0823, -0.0415, 0.0])
GAMMA = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, HIGHEST + 1))])
ALPHA = (1 - KAPPA) * GAMMA
ERROR = np.concatenate([KAPPA * GAMMA + 1 / np.arange(1, HIGHEST + 2), [1 / (HIGHEST + 2)]])
OLD = 0.3  # how far c may be from that of the factors


class _State(NamedTuple):
    y: Value
    f: Value
    D: Value  # the table (ROWS, n)
    order: Value  # of the next step
    used: Value  # by the last step
    h: Value  # of the grid
    equal: Value  # steps of this size and order
    kept: Kept


@dataclass(frozen=True)
class BDF(Renewing):
    """Backward differentiation: few evaluations and factorizations a step, for many equations.

    ```python
    from adjoint import integrate
    path = integrate.solve(lambda t, y: -1e6 * (y - np.cos(t)), (0.0, 1.0), 0.0, method="bdf")
    path.status, float(np.round(path.last, 5)), bool(path.factorizations < path.steps)  # → ('finished', 0.5403, True)
    ```
    """

    highest: int = HIGHEST
    caution: float = 64.0  # errors count so many times: those of many small steps add up
    name: str = "bdf"
    controller: Controller = field(default=Controller(1.0, 0.0, largest=10.0))

    takes_mass = True
    estimate_order = 1

    @property
    def order(self) -> int:
        return self.highest

    def start(self, f: Any, t: Value, y: Value) -> _State:
        """Order 1; the grid has the step 1 until the first step tells another."""
        f0 = f(t, y)
        yp = f0 if f.mass is None else 0 * f0
        D = np.concatenate([y[None], yp[None], np.zeros((ROWS - 2, *y.shape), y.dtype) + 0 * y])
        one, zero = np.int64(1), np.int64(0)
        return _State(y, f0, D, one, one, np.float64(1.0), zero, begin(f, t, y, _factors))

    def resumed(self, f: Any, t: Value, y: Value, yp: Value, state: _State, is_fresh: Value) -> _State:
        """The state, or where another method was in charge a start from y and y′."""
        begun = lambda: self.start(f, t, y)._replace(f=yp)
        return cond(is_fresh, begun, lambda: state)

    def _predicted(self, f: Any, t: Value, h: Value, state: _State) -> tuple[Value, Value, Value, Value]:
        """(the table on the grid of h, y_p, ψ, c)."""
        k, D = state.order, state.D
        if f.mass is not None:  # the table of the start knows y alone
            D = cond(state.equal == 0, lambda: _with_rate(f, t, 0.01 * h, D), lambda: D)
        D = _regridded(D, k, h / state.h)
        inside = np.arange(ROWS) <= k
        dtype = D.dtype
        y_p = np.where(inside, 1.0, 0.0).astype(dtype) @ D
        gammas = np.concatenate([GAMMA, np.zeros(ROWS - HIGHEST - 1)])
        alpha = _pick(ALPHA, k)
        psi = (np.where(inside, gammas, 0.0) / alpha).astype(dtype) @ D
        return D, y_p, psi, (h / alpha).astype(dtype)

    def step(self, f: Any, t: Value, h: Value, state: _State) -> Step:
        """One step."""
        D, y_p, psi, c = self._predicted(f, t, h, state)
        form, k, end = f.form, state.order, t + h
        weights, target = f.weights(y_p), target_for(f, y_p, True)

        def solve(factors: Any, scale: Value, rate: Value) -> tuple[Value, Iterated]:
            def change(d: Value) -> Value:
                right = c * f(end, y_p + d) - form.times_mass(f, psi + d)
                return scale * form.solve(f, factors, right)

            found = iterate(change, 0 * y_p, weights, target, rate)
            return (found.x, found.count), found

        nothing = 0 * y_p, np.int64(0)
        (d, count), kept, converged, work = renewing(f, end, y_p, c, state.kept, OLD, _factors, solve, nothing)
        table, y, f1 = self._moved(D, y_p, psi, c, d, state)
        weights = f.weights(y) / y.dtype.type(self.caution)
        sizes = [_pick(ERROR, j) for j in (k - 1, k, k + 1)]
        error = norm(d, weights) * sizes[1]
        is_same = np.logical_and(np.abs(h / state.h - 1.0) < 1e-12, state.used == k)
        equal = np.where(is_same, state.equal + 1, 1)
        lower = np.where(k > 1, norm(np.take(table, k, axis=0), weights) * sizes[0], np.inf)
        higher = norm(np.take(table, k + 2, axis=0), weights) * sizes[2]
        higher = np.where(k < self.highest, higher, np.inf)
        errors = np.maximum(np.stack([lower, error, higher]), 1e-10)
        growths = errors ** (-1.0 / np.stack([k, k + 1, k + 2]))
        best = np.argmax(growths)
        free = equal > k
        chosen = np.where(free, k + best - 1, k)
        safety = 0.9 * (2 * 4 + 1.0) / (2 * 4 + np.maximum(count, 1))
        growth = np.clip(safety * growths[best], 0.2, self.controller.largest)
        growth = np.where(np.logical_and(free, np.logical_or(growth > 1.2, growth < 1.0)), growth, 1.0)
        chosen = np.where(growth == 1.0, k, chosen)
        new = _State(y, f1, table, chosen, k, h, equal, kept)
        return Step(
            new, error * weights * y.dtype.type(self.caution), form.radius(kept.J), failed=np.logical_not(converged),
            work=work, growth=growth, exponent=k + 1.0,
        )  # fmt: skip

    def differentiable_step(self, f: Any, t: Value, h: Value, state: _State, after: _State) -> _State:
        """The state after a step, with the derivative of its equation."""
        D, y_p, psi, c = self._predicted(f, t, h, state)
        form = f.form

        def F(f: Any, end: Value, y_p: Value, psi: Value, c: Value, d: Value) -> Value:
            return form.times_mass(f, psi + d) - c * f(end, y_p + d)

        d = solution_of(f, F, [t + h, y_p, psi, c], after.y - y_p)
        table, y, f1 = self._moved(D, y_p, psi, c, d, state)
        return after._replace(y=y, f=f1, D=table, h=h)

    def _moved(self, D: Value, y_p: Value, psi: Value, c: Value, d: Value, state: _State) -> tuple[Value, Value, Value]:
        """The table one step on: Dᵢ + … + Dₖ + d for i ≤ k, then d and its difference; y; and y′."""
        k, rows = state.order, np.arange(ROWS)
        upper = np.logical_and(rows[None, :] >= rows[:, None], rows[None, :] <= k).astype(D.dtype)
        kept = upper @ D
        before = np.take(state.D, k + 1, axis=0)
        below = np.where((rows <= k + 1)[:, None], d, 0 * d)
        last = np.where((rows == k + 2)[:, None], d - before, 0 * d)
        return kept + below + last, y_p + d, (psi + d) / c

    def interpolant(self, f: Any, t: Value, h: Value, before: _State, after: _State) -> Value:
        """y₁ + Σ Dⱼ (θ - 1) θ … (θ + j - 2) / j!, by powers of θ."""
        inside = (np.arange(1, HIGHEST + 1) <= after.used)[:, None]
        return _POWERS.astype(after.D.dtype) @ np.where(inside, after.D[1 : HIGHEST + 1], 0.0)


def _factors(f: Any, c: Value, J: Value) -> Any:
    return f.form.factors(f, c, J)


def _with_rate(f: Any, t: Value, h: Value, D: Value) -> Value:
    """The table of the start with y′ of M y′ = f, as a short implicit step sees it: (M - h J) y′ = f + h ∂f/∂t.

    That has derivatives of algebraic unknowns as well: J y′ + ∂f/∂t = 0.
    """
    y, c = D[0], h.astype(D.dtype)
    value, rate = jvp(lambda t: f(t, y), (t,), (np.float64(1.0),))
    yp = f.form.solve(f, f.form.factors(f, c, f.form.jacobian(f, t, y)), value + c * rate)
    return np.concatenate([D[:1], yp[None], D[2:]])


def _pick(table: Any, k: Value) -> Value:
    """An element of a table of constants."""
    return np.sum(np.where(np.arange(len(table)) == k, table, 0.0))


def _powers() -> Any:
    rows = np.zeros((HIGHEST, HIGHEST))
    polynomial = np.array([1.0])
    for j in range(1, HIGHEST + 1):
        polynomial = np.convolve(polynomial, np.array([j - 2.0, 1.0]) / j)  # from the constant on
        rows[:j, j - 1] = polynomial[1:]
    return rows


_POWERS = _powers()
_I = np.arange(1, HIGHEST + 1)[:, None]
_J = np.arange(1, HIGHEST + 1)[None, :]


def _binomials(ratio: Value) -> Value:
    """R with Rᵢⱼ = Π (m - 1 - ratio j) / m over m = 1 … i: the matrix that interpolates to another grid."""
    factors = (_I - 1 - ratio * _J) / _I
    below = np.cumprod(factors, axis=0)
    first = np.concatenate([np.ones((1, 1)), np.zeros((HIGHEST, 1))])
    return np.concatenate([first, np.concatenate([np.ones((1, HIGHEST)), below])], axis=1)


_UNIT = _binomials(1.0)


def _regridded(D: Value, k: Value, ratio: Value) -> Value:
    """The table of order k on a grid of another step; rows above k stay as they are."""
    inside = np.arange(HIGHEST + 1) <= k
    both = np.logical_and(inside[:, None], inside[None, :])
    R = np.where(both, _binomials(ratio), 0.0) @ np.where(both, _UNIT, 0.0)
    moved = R.T.astype(D.dtype) @ D[: HIGHEST + 1]
    return np.concatenate([np.where(inside[:, None], moved, D[: HIGHEST + 1]), D[HIGHEST + 1 :]])
