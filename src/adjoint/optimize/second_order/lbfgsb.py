"""L-BFGS-B: limited memory BFGS within bounds (Byrd, Lu, Nocedal and Zhu; the step after Morales and Nocedal).

The model is ½ ⟨p, B p⟩ + ⟨g, p⟩ with B = θ I - Wᵀ M W in compact form. Its minimizer along the projected gradient path
x(t) = P(x - t g), the generalized Cauchy point, tells which bounds hold; the model is then minimized over all other
unknowns, and a line search goes from x to that point.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import both, either, make_filled, no
from adjoint.optimize.iteration import as_code, judge
from adjoint.optimize.problem import Problem
from adjoint.optimize.searches.search import Line
from adjoint.optimize.searches.strong_wolfe import StrongWolfe
from adjoint.optimize.second_order.lbfgs import Pairs
from adjoint.optimize.second_order.quasi_newton import guess_step, judge_search, measure_curvature
from adjoint.optimize.statuses import RUNNING
from adjoint.program.types import Value

__all__ = ["LBFGSB", "Compact", "find_cauchy_point", "minimize_subspace"]


class Compact(NamedTuple):
    """B = θ I - Wᵀ M W, from the last m pairs (rows of s and y, the newest last; rows of zeros where there is none)."""

    theta: Value
    W: Value  # (2m, n): y, then θ s
    M: Value

    @staticmethod
    def of(s: Value, y: Value, theta: Value) -> Compact:
        m = len(s)
        # B does not change with the lengths of pairs; with ⟨s, y⟩ = 1 of each K is as well conditioned as it can be
        sizes = np.sum(s * y, axis=1)
        empty = np.logical_not(sizes > 0)
        length = (1.0 / np.sqrt(np.where(empty, 1.0, sizes)))[:, None]
        s, y = s * length, y * length
        sy = s @ y.T
        lower = np.tril(sy, -1)
        one = np.diag(empty.astype(s.dtype))
        top = np.concatenate([-np.diag(np.diagonal(sy)) - one, lower.T], axis=1)
        bottom = np.concatenate([lower, theta * (s @ s.T) + one], axis=1)
        K = np.concatenate([top, bottom])
        return Compact(theta, np.concatenate([y, theta * s]), np.linalg.inv(K) if m else K)

    def times(self, v: Value) -> Value:
        """B v."""
        return self.theta * v - self.W.T @ (self.M @ (self.W @ v))


class _Path(NamedTuple):
    """Along the projected gradient: the next corner, where the last one was, derivative and curvature of the model."""

    at: Any
    t: Value
    derivative: Value
    curvature: Value
    p: Value
    c: Value
    ahead: Value


def find_cauchy_point(problem: Problem, B: Compact, x: Value, g: Value, lower: Value, upper: Value) -> Value:
    """The first minimizer of the model along P(x - t g)."""
    limit = np.where(g < 0, upper, lower)
    movable: Any = np.logical_and(g != 0, x != limit)
    safe = np.where(g != 0, g, 1.0)
    corners = np.where(movable, (x - limit) / safe, np.where(g != 0, 0.0, np.inf))
    order = np.argsort(corners)
    d = np.where(movable, -g, 0.0)
    p = B.W @ d
    square: Any = np.vdot(d, d)
    curvature = B.theta * square - np.vdot(p, B.M @ p)
    tiny = problem.eps * B.theta * square
    ahead = lambda derivative, bend: -derivative / either(bend > tiny, bend, either(tiny > 0, tiny, 1.0 + 0 * tiny))
    count = int(np.size(g)) if not hasattr(g, "shape") else g.shape[0]

    def pass_corner(s: _Path) -> _Path:
        """Beyond a corner one unknown stays at its bound."""
        b = order[s.at]
        dt = corners[b] - s.t
        unbound = movable[b]
        gb = either(unbound, g[b], 0 * g[b])
        z, w = limit[b] - x[b], B.W[:, b]
        c = s.c + dt * s.p
        Mw = B.M @ w
        derivative = s.derivative + dt * s.curvature + gb * gb + B.theta * gb * z - gb * np.vdot(Mw, c)
        bend = s.curvature - B.theta * gb * gb - 2.0 * gb * np.vdot(Mw, s.p) - gb * gb * np.vdot(w, Mw)
        bend = np.maximum(bend, 0.0 * bend)
        return _Path(s.at + 1, corners[b], derivative, bend, s.p + gb * w, c, ahead(derivative, bend))

    def passes(s: _Path) -> Any:
        b: Any = order[np.minimum(s.at, count - 1)]
        return both(s.at < count, both(np.isfinite(corners[b]), s.ahead >= corners[b] - s.t))

    start = _Path(np.int64(0), 0 * square, -square, curvature, p, 0 * p, ahead(-square, curvature))
    last: Any = problem.loop(passes, pass_corner, start)
    t: Any = last.t + np.maximum(last.ahead, 0.0 * last.ahead)
    t = either(last.derivative < 0, t, last.t)
    return np.minimum(np.maximum(x + np.where(movable, -t * g, 0.0), lower), upper)


def minimize_subspace(B: Compact, x: Value, g: Value, cauchy: Value, lower: Value, upper: Value) -> Value:
    """The model's minimizer over the unknowns that the Cauchy point leaves free, brought back within bounds."""
    free = np.logical_and(cauchy > lower, cauchy < upper)
    c = B.W @ (cauchy - x)
    r: Any = np.where(free, g + B.theta * (cauchy - x) - B.W.T @ (B.M @ c), 0.0)
    W = np.where(free, B.W, 0.0)
    small = np.eye(len(B.M), dtype=g.dtype) - (B.M @ (W @ W.T)) / B.theta
    inner = np.linalg.solve(small, B.M @ (W @ r))
    step: Any = -r / B.theta - np.where(free, W.T @ inner, 0.0) / (B.theta * B.theta)
    projected = np.minimum(np.maximum(cauchy + step, lower), upper)
    distance = np.where(step > 0, upper - cauchy, np.where(step < 0, lower - cauchy, np.inf))
    share = np.min(np.where(step != 0, distance / np.where(step != 0, step, 1.0), np.inf))
    cut = np.minimum(np.maximum(cauchy + np.minimum(share, 1.0) * step, lower), upper)
    usable = both(np.vdot(projected - x, g) < 0, np.all(np.isfinite(projected)))
    return either(usable, projected, either(np.all(np.isfinite(cut)), cut, cauchy))


class _State(NamedTuple):
    value: Value
    gradient: Value
    s: Value
    y: Value
    theta: Value
    count: Any
    code: Value


@final
@dataclass(frozen=True)
class LBFGSB:
    """L-BFGS within bounds: generalized Cauchy point, subspace minimization, line search.

    ```python
    f = lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
    found = ad.optimize.minimize(f, np.array([2.0, 2.0]), bounds=(1.5, None), method=ad.optimize.LBFGSB())
    np.round(found.value, 6), found.active  # → ([1.5, 2.25], [-1, 0])
    ```
    """

    memory: int = 10
    search: Any = field(default_factory=StrongWolfe)
    needs = ("value", "gradient")
    descends = True
    bounds = True

    def init(self, problem: Problem, x: Value) -> _State:
        """No pairs, θ = 1."""
        if self.memory < 1:
            raise ValueError(f"LBFGSB: memory is {self.memory}; it keeps at least one pair.")
        value, gradient = problem.value_and_gradient(x)
        rows = make_filled((self.memory, problem.size), problem.dtype, 0.0, gradient[0])
        return _State(value, gradient, rows, rows, 1.0 + 0 * value, np.int64(0), as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One search towards the model's minimizer; after a search that failed all pairs are forgotten."""
        lower, upper = read_box(problem)
        g, fresh = state.gradient, state.count == 0
        B = Compact.of(state.s, state.y, state.theta)
        cauchy = find_cauchy_point(problem, B, x, g, lower, upper)
        free = np.logical_and(cauchy > lower, cauchy < upper)
        # where no bound is met it is the step of L-BFGS, whose two loops lose fewer digits
        whole = x - self._newest_last(state).times(g)
        inside = both(np.all(free), np.all(np.logical_and(whole > lower, whole < upper)))
        target = problem.when(inside, lambda: whole, lambda: minimize_subspace(B, x, g, cauchy, lower, upper))
        d = target - x
        derivative = np.vdot(g, d)
        falls = both(derivative < 0, np.isfinite(derivative))
        safe = np.where(d != 0, d, 1.0)
        distance = np.where(d > 0, (upper - x) / safe, np.where(d < 0, (lower - x) / safe, np.inf))
        longest = np.maximum(np.min(distance), 1.0)
        # within a whole box the first model is tried as it is: its step cannot be too long
        open_side = np.logical_not(np.all(np.isfinite(upper - lower)))
        careful = both(fresh, open_side)
        first = either(careful, np.minimum(guess_step(problem, x, d), 1.0), 1.0 + 0 * derivative)
        line = Line(
            x, d, state.value, g, either(falls, derivative, -1.0 + 0 * derivative), first, longest, (lower, upper)
        )
        found = self.search.search(problem, line)
        found = found._replace(success=both(found.success, falls))
        x_new = either(found.success, found.x, x)
        gradient = either(found.success, found.gradient, g)
        s, y = x_new - x, gradient - g
        sy, good = measure_curvature(s, y, problem.eps)
        good = both(good, found.success)
        keep = lambda rows, row: either(good, np.concatenate([rows[1:], row[None]]), rows)
        rows_s, rows_y = keep(state.s, s), keep(state.y, y)
        theta = either(good, np.vdot(y, y) / either(good, sy, 1.0 + 0 * sy), state.theta)
        lost = no(found.success)
        # a direction that does not fall is the fault of the pairs, which are forgotten; without any it is the end
        promised = either(falls, derivative, either(fresh, 0 * derivative, -np.inf + 0 * derivative))
        code = judge_search(problem, found, state.value, promised, fresh)
        count = either(lost, 0 * state.count, state.count + either(good, 1, 0))
        return x_new, _State(
            either(found.success, found.value, state.value), gradient, either(lost, 0 * rows_s, rows_s),
            either(lost, 0 * rows_y, rows_y), either(lost, 1.0 + 0 * theta, theta), count, code,
        )  # fmt: skip

    def _newest_last(self, state: _State) -> Pairs:
        """The pairs as L-BFGS takes them."""
        sy = np.sum(state.s * state.y, axis=1)
        rho = np.where(sy > 0, 1.0 / np.where(sy > 0, sy, 1.0), 0.0)
        return Pairs(state.s, state.y, rho, np.int64(self.memory), 1.0 / state.theta)

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where the projected gradient is small."""
        return judge(problem, x, state)


def read_box(problem: Problem) -> tuple[Value, Value]:
    """The bounds as vectors; infinite ones where there are none."""
    if problem.lower is not None and problem.upper is not None:
        return problem.lower, problem.upper
    far = np.full(problem.size, np.inf, problem.dtype)
    return -far, far
