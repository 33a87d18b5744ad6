"""Fixed points x = T(x): Picard's iteration, and Anderson's, which mixes the last steps.

Anderson:  x⁺ = Σ γᵢ T(xᵢ),   with Σ γᵢ = 1 and ‖Σ γᵢ (T(xᵢ) - xᵢ)‖ smallest
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import both, either, make_filled, norm
from adjoint.optimize.iteration import as_code
from adjoint.optimize.least_squares.problem import Residuals
from adjoint.optimize.statuses import CONVERGED, NOT_A_CONTRACTION, NOT_FINITE, RUNNING
from adjoint.program.types import Value

__all__ = ["Anderson", "Picard"]

PATIENCE = 20  # steps in a row that move points apart


class _State(NamedTuple):
    value: Value
    gradient: Value  # T(x) - x
    residuals: Value
    measure: Value
    apart: Any  # steps in a row that grew
    X: Value  # rows of x, and of T(x) - x; the newest last
    G: Value
    rows: Any
    code: Value


def judge(problem: Residuals, x: Value, state: _State) -> Value:
    """Where T leaves x as it is."""
    scale = np.maximum(1.0, np.max(np.abs(x)))
    small = state.measure <= problem.tol * scale
    code = either(small, CONVERGED, either(state.apart >= PATIENCE, NOT_A_CONTRACTION, state.code))
    # infinity is where steps that grow end; NaN is where T is not defined
    apart = both(state.apart > 0, np.isinf(state.measure))
    return as_code(either(np.isfinite(state.measure), code, either(apart, NOT_A_CONTRACTION, NOT_FINITE)))


def look(problem: Residuals, x: Value, before: _State | None, X: Value, G: Value, rows: Any) -> _State:
    value, g = problem.value(x)
    size = np.max(np.abs(g))
    apart: Any = np.int64(0)
    if before is not None:
        apart = either(size < before.measure, 0 * before.apart, before.apart + 1)
    return _State(value, g, g, size, apart, X, G, rows, as_code(RUNNING))


@final
@dataclass(frozen=True)
class Picard:
    """x ← x + β (T(x) - x), with β = `damping`; it ends where points keep moving apart.

    ```python
    ad.optimize.fixed_point(lambda x: np.cos(x), 0.5, method=ad.optimize.Picard()).value  # → 0.739085…
    ```
    """

    damping: float = 1.0
    needs = ("residual",)
    descends = True

    def init(self, problem: Residuals, x: Value) -> _State:
        """T at the start."""
        empty = np.zeros((0, problem.size), problem.dtype)
        return look(problem, x, None, empty, empty, np.int64(0))

    def step(self, problem: Residuals, x: Value, state: _State) -> tuple[Value, _State]:
        """One step."""
        x = x + self.damping * state.residuals
        return x, look(problem, x, state, state.X, state.G, state.rows)

    def done(self, problem: Residuals, x: Value, state: _State) -> Value:
        """Where T leaves x as it is."""
        return judge(problem, x, state)


@final
@dataclass(frozen=True)
class Anderson:
    """Anderson's acceleration with `memory` steps, safeguarded: a mixture that makes things worse is not taken.

    It also finds fixed points of maps that move points apart, where few directions do.

    ```python
    found = ad.optimize.fixed_point(lambda x: np.cos(x), 0.5, method=ad.optimize.Anderson(memory=3))
    found.value, bool(found.iterations < 10)  # → (0.739085…, True)
    ```
    """

    memory: int = 5
    damping: float = 1.0
    ridge: float = 1e-12
    growth: float = 2.0  # a mixture nearby may make ‖T(x) - x‖ larger by this factor, no more
    needs = ("residual",)
    descends = False

    def init(self, problem: Residuals, x: Value) -> _State:
        """T at the start."""
        if self.memory < 1:
            raise ValueError(f"Anderson: memory is {self.memory}; it mixes at least one step.")
        value, g = problem.value(x)
        rows = make_filled((self.memory, problem.size), problem.dtype, 0.0, g[0])
        return _State(value, g, g, np.max(np.abs(g)), np.int64(0), rows, rows, np.int64(0), as_code(RUNNING))

    def step(self, problem: Residuals, x: Value, state: _State) -> tuple[Value, _State]:
        """A mixture of the last steps, or a plain step where that is worse."""
        g = state.residuals
        # rows of differences; empty ones are zero, and the ridge gives them no weight
        sizes = np.sqrt(np.sum(state.G * state.G, axis=1))
        unit = np.where(sizes > 0, sizes, 1.0)
        A = state.G / unit[:, None]
        m = self.memory
        ridge = max(self.ridge, 4.0 * m * problem.eps)  # rows may be parallel
        normal = A @ A.T + np.diag(np.where(sizes > 0, ridge, 1.0).astype(problem.dtype))
        gamma = np.linalg.solve(normal, A @ g) / unit if m else np.zeros(0)
        mixed = x + self.damping * g - (state.X + self.damping * state.G).T @ gamma
        usable = np.all(np.isfinite(mixed))
        mixed = either(usable, mixed, x + self.damping * g)
        value, g_new = problem.value(mixed)
        size = np.max(np.abs(g_new))
        # a mixture that goes far has to make things better, not only not worse: it may be an extrapolation to nowhere
        near = both(norm(mixed - x) <= 5.0 * norm(g), size <= self.growth * state.measure)
        good = both(np.isfinite(size), np.logical_or(near, norm(g_new) <= 0.99 * norm(g)))

        def plain() -> Any:
            point = x + self.damping * g
            return (point, *problem.value(point))

        x_new, value, g_new = problem.when(good, lambda: (mixed, value, g_new), plain)
        size = np.max(np.abs(g_new))
        push = lambda rows, row: np.concatenate([rows[1:], row[None]])
        X, G = push(state.X, x_new - x), push(state.G, g_new - g)
        finite = np.isfinite(norm(g_new))
        X, G = (either(finite, new, 0 * state.X) for new in (X, G))
        apart = either(size < state.measure, 0 * state.apart, state.apart + 1)
        return x_new, _State(value, g_new, g_new, size, apart, X, G, state.rows + 1, as_code(RUNNING))

    def done(self, problem: Residuals, x: Value, state: _State) -> Value:
        """Where T leaves x as it is."""
        return judge(problem, x, state)
