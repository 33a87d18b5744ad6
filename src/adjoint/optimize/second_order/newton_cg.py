"""Newton's method without a matrix: conjugate gradients within a trust region (Steihaug), by products with the Hessian.

CG stops where its residual is small against the gradient (a forcing sequence), at the edge of the region, or at a
direction of negative curvature, which it follows to the edge. Memory is that of a few vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import both, either, no, norm
from adjoint.optimize.iteration import as_code, judge
from adjoint.optimize.problem import Problem
from adjoint.optimize.second_order.quasi_newton import BLUR
from adjoint.optimize.second_order.trust_region import compute_gain, resize_radius
from adjoint.optimize.statuses import LINE_SEARCH_FAILED, NO_PROGRESS, RUNNING
from adjoint.program.types import Value

__all__ = ["NewtonCG", "solve_steihaug"]


class _Inner(NamedTuple):
    p: Value
    r: Value
    d: Value
    rr: Value
    Hp: Value
    done: Any
    count: Any


def solve_steihaug(problem: Problem, x: Value, g: Value, radius: Value, tol: Value, limit: int) -> tuple[Value, Value]:
    """p and H p: the model's minimizer as far as CG gets within the region."""

    def advance(s: _Inner) -> _Inner:
        Hd = problem.hvp(x, s.d)
        bend = np.vdot(s.d, Hd)
        dd, pd, pp = np.vdot(s.d, s.d), np.vdot(s.p, s.d), np.vdot(s.p, s.p)
        alpha = s.rr / either(bend > 0, bend, 1.0 + 0 * bend)
        leaves = np.logical_or(bend <= 0, norm(s.p + alpha * s.d) >= radius)
        root = np.sqrt(np.maximum(pd * pd + dd * (radius * radius - pp), 0.0 * dd))
        edge = (root - pd) / either(dd > 0, dd, 1.0 + 0 * dd)
        step = either(leaves, edge, alpha)
        p, Hp, r = s.p + step * s.d, s.Hp + step * Hd, s.r + step * Hd
        rr = np.vdot(r, r)
        d = -r + rr / either(s.rr > 0, s.rr, 1.0 + 0 * rr) * s.d
        ended = np.logical_or(leaves, np.sqrt(rr) <= tol)
        return _Inner(p, r, d, rr, Hp, ended, s.count + 1)

    rr = np.vdot(g, g)
    start = _Inner(0 * g, g, -g, rr, 0 * g, np.sqrt(rr) <= tol, np.int64(0))
    last = problem.loop(lambda s: both(no(s.done), s.count < limit), advance, start)
    return last.p, last.Hp


class _State(NamedTuple):
    value: Value
    gradient: Value
    radius: Value
    code: Value


@final
@dataclass(frozen=True)
class NewtonCG:
    """Newton's method by Hessian products alone, within a trust region: many unknowns, and few steps.

    ```python
    f = lambda x: np.sum(np.cosh(x - np.arange(1000.0) / 1000))
    found = ad.optimize.minimize(f, np.zeros(1000), method=ad.optimize.NewtonCG())
    found.status, bool(found.iterations < 10)  # → ('converged', True)
    ```
    """

    radius: float = 1.0
    largest: float = np.inf
    accept: float = 1e-4
    inner: int | None = None  # the largest number of products in a step
    needs = ("value", "gradient", "hvp", "solve")
    descends = True

    def init(self, problem: Problem, x: Value) -> _State:
        """Value and gradient at the start."""
        value, gradient = problem.value_and_gradient(x)
        return _State(value, gradient, self.radius * np.maximum(1.0, norm(x)), as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One step; the inner accuracy follows the gradient, so that digits still come faster than linearly."""
        g, radius = state.gradient, state.radius
        size = norm(g)
        tol = np.minimum(0.5, np.sqrt(size)) * size
        limit = min(problem.size * 2, 10000) if self.inner is None else self.inner
        problem.count("solve")
        p, Hp = solve_steihaug(problem, x, g, radius, tol, max(limit, 1))
        promised = -(np.vdot(g, p) + 0.5 * np.vdot(p, Hp))
        moved = x + p
        value, gradient = problem.value_and_gradient(moved)
        finite = problem.finite(value, gradient)
        ratio, hidden = compute_gain(problem, state.value, value, promised, size, norm(gradient))
        good = both(finite, ratio > self.accept)
        new_radius = resize_radius(radius, norm(p), ratio, finite, self.largest)
        stuck = np.logical_or(new_radius <= problem.eps * (norm(x) + problem.eps), hidden)
        why = either(promised <= BLUR * problem.eps * np.abs(state.value), NO_PROGRESS, LINE_SEARCH_FAILED)
        code = as_code(either(both(no(good), stuck), why, RUNNING))
        return either(good, moved, x), _State(
            either(good, value, state.value), either(good, gradient, g), new_radius, code
        )

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where the gradient is small."""
        return judge(problem, x, state)
