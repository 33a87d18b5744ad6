"""Proximal Newton methods: a quadratic model of f with its own curvature, and Ω as it is.

    d = argmin ⟨∇f, d⟩ + ½ ⟨d, H d⟩ + Ω(x + d),    x⁺ = x + α d  with  F(x⁺) ≤ F(x) + c α (⟨∇f, d⟩ + Ω(x + d) - Ω(x))

H is the Hessian, or an approximation of it by BFGS. The model is minimized by accelerated proximal gradients, as
exactly as the outer iteration deserves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import both, either, no, norm
from adjoint.optimize.composite.objective import Composite, first_step, judge_measure
from adjoint.optimize.iteration import as_code
from adjoint.optimize.problem import Problem
from adjoint.optimize.second_order.quasi_newton import measure_curvature
from adjoint.optimize.statuses import LINE_SEARCH_FAILED, NO_PROGRESS, RUNNING
from adjoint.program.types import Value

__all__ = ["ProximalNewton", "ProximalQuasiNewton"]

INNER = 1000
TRIALS = 50


class _State(NamedTuple):
    value: Value
    gradient: Value
    smooth: Value
    hessian: Value
    measure: Value
    code: Value


class _Curved(Composite, ABC):
    """The iteration for a matrix H that a subclass keeps."""

    exact: bool

    def _minimize_model(self, problem: Problem, x: Value, g: Value, H: Value, accuracy: Value) -> Value:
        """The minimizer of the model, by FISTA with the step 1/‖H‖ and restarts."""
        bound = np.minimum(
            np.sqrt(np.max(np.sum(np.abs(H), 0)) * np.max(np.sum(np.abs(H), 1))), norm(np.reshape(H, (-1,)))
        )
        step = 1.0 / either(bound > 0, bound, 1.0 + 0 * bound)

        def advance(now: Any) -> Any:
            p, before, t, _, count = now
            t_new = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            y = p + ((t - 1.0) / t_new) * (p - before)
            new = self.prox(problem, y - step * (g + H @ (y - x)), step)
            uphill = np.vdot(y - new, new - p) > 0
            off = np.max(np.abs(y - new)) / step
            return new, either(uphill, new, p), either(uphill, 1.0 + 0 * t, t_new), off, count + 1

        goes_on = lambda now: both(now[3] > accuracy, now[4] < INNER)
        start = (x, x, 1.0 + 0 * step, np.inf + 0 * step, np.int64(0))
        return problem.loop(goes_on, advance, start)[0]

    @abstractmethod
    def _matrix(self, problem: Problem, x: Value, f: Value, g: Value) -> Value:
        """H at the start."""

    @abstractmethod
    def _update(self, problem: Problem, x: Value, p: Value, g: Value, g_new: Value, H: Value) -> Value:
        """H after a step from x to p."""

    def init(self, problem: Problem, x: Value) -> _State:
        """Value, gradient and H at the start."""
        f, g = problem.value_and_gradient(x)
        H = self._matrix(problem, x, f, g)
        return _State(f + self.omega(problem, x), g, f, H, self.residual(problem, x, g, 1.0), as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One minimization of the model and one search along the way to its minimizer."""
        g = state.gradient
        accuracy = np.minimum(0.1, np.sqrt(state.measure)) * state.measure
        p = self._minimize_model(problem, x, g, state.hessian, np.maximum(accuracy, 0.1 * problem.tol))
        d = p - x
        omega = self.omega(problem, x)
        promised = np.vdot(g, d) + self.omega(problem, p) - omega
        blur = 100.0 * problem.eps * np.abs(state.value)

        def at(alpha: Value) -> Any:
            moved = x + alpha * d
            f_new, g_new = problem.value_and_gradient(moved)
            return moved, f_new, g_new, self.omega(problem, moved), alpha

        def enough(now: Any) -> Any:
            _, f_new, g_new, omega_new, alpha, _ = now
            total = f_new + omega_new
            right = either(np.abs(alpha * promised) > blur, total <= state.value + 1e-4 * alpha * promised,
                           total <= state.value + blur)  # fmt: skip
            return both(both(np.isfinite(total), np.all(np.isfinite(g_new))), right)

        now = (*at(1.0 + 0 * promised), np.int64(0))
        goes_on = lambda now: both(no(enough(now)), now[5] < TRIALS)
        now = problem.loop(goes_on, lambda now: (*at(0.5 * now[4]), now[5] + 1), now)
        moved, f_new, g_new, omega_new, _, _ = now
        good = enough(now)
        still = np.all(moved == x)
        code = either(good, either(still, NO_PROGRESS, RUNNING), LINE_SEARCH_FAILED)
        moved, f_new, g_new = either(good, moved, x), either(good, f_new, state.smooth), either(good, g_new, g)
        value = either(good, f_new + omega_new, state.value)
        H = self._update(problem, x, moved, g, g_new, state.hessian)
        measure = self.residual(problem, moved, g_new, 1.0)
        return moved, _State(value, g_new, f_new, H, measure, as_code(code))

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where x = prox(x - ∇f)."""
        return judge_measure(problem, state.value, state.measure, state.code)


@final
@dataclass(frozen=True)
class ProximalNewton(_Curved):
    """Newton's method for f + Ω: the model of f has its Hessian, to which `ridge` is added; few iterations.

    For up to some hundred unknowns. Directions of negative curvature are turned around.

    ```python
    from adjoint.optimize import proximal
    X, y = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 1.0]]), np.array([1.0, -1.0, 1.0])
    f = lambda w: np.sum(np.log1p(np.exp(-y * (X @ w))))
    found = ad.optimize.minimize(f, np.zeros(2), method=ad.optimize.ProximalNewton(proximal.l1(0.1)))
    found.status, bool(found.iterations < 12)  # → ('converged', True)
    ```
    """

    term: Any
    ridge: float = 0.0
    needs = ("value", "gradient", "hessian")

    def _matrix(self, problem: Problem, x: Value, f: Value, g: Value) -> Value:
        H = problem.hessian(x)
        values, vectors = np.linalg.eigh(np.where(np.isfinite(H), H, 0.0))
        least = 1e-10 * np.max(np.abs(values)) + 1e-300
        return (vectors * (np.maximum(np.abs(values), least) + self.ridge)) @ vectors.T

    def _update(self, problem: Problem, x: Value, p: Value, g: Value, g_new: Value, H: Value) -> Value:
        return self._matrix(problem, p, g_new[0], g_new)


@final
@dataclass(frozen=True)
class ProximalQuasiNewton(_Curved):
    """Newton's method for f + Ω with a curvature that BFGS builds up from gradients.

    ```python
    from adjoint.optimize import sets
    rosenbrock = lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
    method = ad.optimize.ProximalQuasiNewton(sets.box(0.0, 0.5))
    np.round(ad.optimize.minimize(rosenbrock, np.zeros(2), method=method).value, 6)  # → [0.5, 0.25]
    ```
    """

    term: Any
    needs = ("value", "gradient")

    def _matrix(self, problem: Problem, x: Value, f: Value, g: Value) -> Value:
        return np.eye(problem.size, dtype=problem.dtype) / first_step(problem, x, g)

    def _update(self, problem: Problem, x: Value, p: Value, g: Value, g_new: Value, H: Value) -> Value:
        s, y = p - x, g_new - g
        Hs = H @ s
        sHs = np.vdot(s, Hs)
        sy, _ = measure_curvature(s, y, problem.eps)
        # Powell's damping keeps H positive definite where ⟨s, y⟩ is not
        safe = either(sHs > 0, sHs, 1.0 + 0 * sHs)
        short = sy < 0.2 * sHs
        gap = safe - sy
        theta = either(short, 0.8 * safe / either(gap > 0, gap, 1.0 + 0 * gap), 1.0 + 0 * sy)
        r = theta * y + (1.0 - theta) * Hs
        sr = np.vdot(s, r)
        good = both(sr > problem.eps * norm(s) * norm(r), sHs > 0)
        new = H - np.outer(Hs, Hs) / safe + np.outer(r, r) / either(good, sr, 1.0 + 0 * sr)
        return either(good, new, H)
