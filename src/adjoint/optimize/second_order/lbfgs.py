"""L-BFGS: BFGS whose B is a product with the last m pairs (s, y), in O(m n) memory and time.

B v by two loops:  from the newest pair to the oldest  αᵢ = ρᵢ ⟨sᵢ, v⟩,  v ← v - αᵢ yᵢ;   v ← B₀ v;
                   from the oldest to the newest        v ← v + (αᵢ - ρᵢ ⟨yᵢ, v⟩) sᵢ
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.operators.from_function import from_function
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.solvers.iteration import both, either, make_filled, no, with_entry
from adjoint.optimize.iteration import as_code, judge, repeat
from adjoint.optimize.problem import Problem
from adjoint.optimize.searches.strong_wolfe import StrongWolfe
from adjoint.optimize.second_order.quasi_newton import judge_search, measure_curvature, search_along
from adjoint.optimize.statuses import RUNNING
from adjoint.program.types import Value

__all__ = ["LBFGS", "Pairs", "add_pair", "make_inverse_map", "make_pairs"]


class Pairs(NamedTuple):
    """The last m pairs in a ring: rows of s and y, 1/⟨s, y⟩ (0 where there is none), and how many were put in."""

    s: Value
    y: Value
    rho: Value
    count: Any
    scale: Value  # B₀ = scale · I

    def times(self, v: Value, start: Callable[[Value], Value] | None = None) -> Value:
        """B v; `start` is v ↦ B₀ v where that is no multiple of the identity."""
        m = len(self.rho)

        def back(i: Any, now: Any) -> Any:
            v, alphas = now
            at = (self.count - 1 - i) % m
            alpha = self.rho[at] * np.vdot(self.s[at], v)
            return v - alpha * self.y[at], with_entry(alphas, at, alpha)

        def forth(i: Any, now: Any) -> Any:
            v, alphas = now
            at = (self.count + i) % m
            return v + (alphas[at] - self.rho[at] * np.vdot(self.y[at], v)) * self.s[at], alphas

        v, alphas = repeat(m, back, (v, make_filled((m,), v.dtype, 0.0, v[0])), (self.s,))
        v = self.scale * v if start is None else start(v)
        return repeat(m, forth, (v, alphas), (self.s,))[0]


def make_pairs(memory: int, like: Value) -> Pairs:
    """Room for `memory` pairs."""
    # from two numbers: arrays that a program knows to be one would be kept a third time beside the two that change
    s, y = (make_filled((memory, like.size), like.dtype, 0.0, number) for number in (like[0], like[-1]))
    one = like.dtype.type(1.0)
    return Pairs(s, y, make_filled((memory,), like.dtype, 0.0, like[0]), np.int64(0), one)


def add_pair(pairs: Pairs, s: Value, y: Value, sy: Value, good: Any, scales: bool = True) -> Pairs:
    """One more pair, in the place of the oldest one, where it is good."""
    m = len(pairs.rho)
    at = pairs.count % m
    yy = np.vdot(y, y)
    safe = either(good, sy, 1.0 + 0 * sy)
    scale = either(both(good, yy > 0), safe / either(yy > 0, yy, 1.0 + 0 * yy), pairs.scale) if scales else pairs.scale
    return Pairs(
        _replaced(pairs.s, at, either(good, s, pairs.s[at])),
        _replaced(pairs.y, at, either(good, y, pairs.y[at])),
        _replaced(pairs.rho, at, either(good, 1.0 / safe, pairs.rho[at])),
        pairs.count + either(good, 1, 0),
        scale,
    )


def _replaced(rows: Value, at: Any, row: Value) -> Value:
    """The rows with another one; a new array, since states are values."""
    rows = rows.copy()
    rows[at] = row
    return rows


def make_inverse_map(pairs: Pairs) -> LinearMap:
    """B as a linear map."""
    return from_function(pairs.times, pairs.s.shape[1], "positive definite")


class _State(NamedTuple):
    value: Value
    gradient: Value
    pairs: Pairs
    code: Value


@final
@dataclass(frozen=True)
class LBFGS:
    """BFGS with limited memory: the last `memory` changes of the gradient, for any number of unknowns.

    `preconditioner` is a linear map, or a function v ↦ B₀ v, that approximates the inverse Hessian from the start.

    ```python
    rosenbrock = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    found = ad.optimize.minimize(rosenbrock, np.zeros(20), method=ad.optimize.LBFGS(memory=5))
    np.max(np.abs(found.value - 1)) < 1e-6, found.status  # → (True, 'converged')
    ```
    """

    memory: int = 10
    search: Any = field(default_factory=StrongWolfe)
    preconditioner: Any = None
    needs = ("value", "gradient")
    descends = True

    def init(self, problem: Problem, x: Value) -> _State:
        """No pairs."""
        if self.memory < 1:
            raise ValueError(f"LBFGS: memory is {self.memory}; it keeps at least one pair.")
        value, gradient = problem.value_and_gradient(x)
        return _State(value, gradient, make_pairs(self.memory, gradient), as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One search and one pair more; after a search that failed all pairs are forgotten."""
        pairs, fresh = state.pairs, state.pairs.count == 0
        found, derivative = search_along(
            problem, self.search, x, state, -pairs.times(state.gradient, self.preconditioner), fresh
        )
        s, y = found.x - x, found.gradient - state.gradient
        sy, good = measure_curvature(s, y, problem.eps)
        kept = add_pair(pairs, s, y, sy, both(good, found.success))
        lost = no(found.success)
        kept = kept._replace(rho=either(lost, 0 * kept.rho, kept.rho), count=either(lost, 0 * kept.count, kept.count))
        kept = kept._replace(scale=either(lost, 0 * kept.scale + 1, kept.scale))
        code = judge_search(problem, found, state.value, derivative, fresh)
        return found.x, _State(found.value, found.gradient, kept, code)

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where the gradient is small."""
        return judge(problem, x, state)
