"""Cubic regularization (Nesterov and Polyak; adaptive after Cartis, Gould and Toint).

    min ⟨g, s⟩ + ½ ⟨s, H s⟩ + (σ/3) ‖s‖³    ⇔    (H + λ I) s = -g,   λ = σ ‖s‖,   H + λ I ⪰ 0

It leaves saddle points, and takes O(ε^(-3/2)) steps to a gradient of size ε.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import both, either, no, norm
from adjoint.optimize.iteration import as_code, judge, repeat
from adjoint.optimize.problem import Problem
from adjoint.optimize.second_order.quasi_newton import BLUR
from adjoint.optimize.second_order.trust_region import compute_gain, decompose_hessian
from adjoint.optimize.statuses import CONVERGED, LINE_SEARCH_FAILED, NO_PROGRESS, RUNNING
from adjoint.program.types import Value

__all__ = ["CubicNewton", "minimize_cubic_model"]

STEPS = 60


def minimize_cubic_model(values: Value, vectors: Value, g: Value, sigma: Value) -> Value:
    """The minimizer of the cubic model, from the eigenvalues and eigenvectors of H."""
    eps = float(np.finfo(g.dtype).eps)
    b = vectors.T @ g
    span = np.maximum(np.max(np.abs(values)), 1e-30)
    floor = np.maximum(-values[0], 0.0 * span)
    tiny = eps * span
    safe = lambda lam: np.maximum(values + lam, tiny)
    # with λ = floor + μ: μ ≤ λ = σ ‖s‖ ≤ σ ‖g‖ / μ
    low, high = floor, floor + np.sqrt(sigma * norm(g)) + tiny

    def halve(_: Any, now: Any) -> Any:
        """λ - σ ‖s(λ)‖ grows with λ: its zero is found by bisection, in half of the exponents first."""
        low, high = now
        middle = 0.5 * (low + high)
        above = middle > sigma * norm(b / safe(middle))
        return either(above, low, middle), either(above, middle, high)

    def widen(_: Any, high: Any) -> Any:
        return either(high > sigma * norm(b / safe(high)), high, 4.0 * high)

    high = repeat(30, widen, high)
    low, high = repeat(STEPS, halve, (low, high))
    lam = high
    s = -(b / safe(lam))
    # the hard case: the rest of the length λ/σ goes along the lowest eigenvector
    length = lam / sigma
    missing = length * length - np.sum(s * s)
    hard = both(values[0] < 0, missing > 1e-8 * length * length)
    reach = np.sqrt(either(missing > 0, missing, 0 * missing) + s[0] * s[0])
    extra = either(hard, either(s[0] < 0, -reach, reach) - s[0], 0 * reach)
    s = s + extra * (np.arange(len(b)) == 0).astype(g.dtype)
    return vectors @ s


class _State(NamedTuple):
    value: Value
    gradient: Value
    values: Value
    vectors: Value
    sigma: Value
    code: Value


@final
@dataclass(frozen=True)
class CubicNewton:
    """Newton's method with a cubic term whose weight follows how well the model did.

    ```python
    f = lambda x: x[0] ** 2 - x[1] ** 2 + 0.25 * x[1] ** 4
    found = ad.optimize.minimize(f, np.zeros(2), method=ad.optimize.CubicNewton())
    float(np.round(found.fun, 6)), found.status  # → (-1.0, 'converged')
    ```
    """

    sigma: float = 1.0
    accept: float = 1e-4
    needs = ("value", "gradient", "hessian", "solve")
    descends = True

    def init(self, problem: Problem, x: Value) -> _State:
        """Value, gradient and Hessian at the start."""
        value, gradient = problem.value_and_gradient(x)
        return _State(value, gradient, *decompose_hessian(problem, x), self.sigma + 0 * value, as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One step; where the model was wrong only the weight changes."""
        g, sigma = state.gradient, state.sigma
        s = minimize_cubic_model(state.values, state.vectors, g, sigma)
        q = state.vectors.T @ s
        length = norm(s)
        promised = -(np.vdot(g, s) + 0.5 * np.sum(state.values * q * q) + sigma / 3.0 * length**3)
        moved = x + s
        value, gradient = problem.value_and_gradient(moved)
        finite = problem.finite(value, gradient)
        ratio, hidden = compute_gain(problem, state.value, value, promised, norm(g), norm(gradient))
        good = both(finite, ratio > self.accept)
        least = 1e-60 if problem.eps < 1e-10 else 1e-30  # functions without curvature need steps that grow without end
        grown, shrunk = np.minimum(sigma * 4.0, 1e20), np.maximum(sigma * 0.25, least)
        new_sigma = either(no(both(finite, ratio >= 0.1)), grown, either(ratio > 0.9, shrunk, sigma))
        values, vectors = problem.when(
            good, lambda: decompose_hessian(problem, moved), lambda: (state.values, state.vectors)
        )
        stuck = np.logical_or(length <= problem.eps * (norm(x) + problem.eps), hidden)
        why = either(promised <= BLUR * problem.eps * np.abs(state.value), NO_PROGRESS, LINE_SEARCH_FAILED)
        code = as_code(either(both(no(good), stuck), why, RUNNING))
        new = _State(either(good, value, state.value), either(good, gradient, g), values, vectors, new_sigma, code)
        return either(good, moved, x), new

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where the gradient is small and the curvature nowhere negative."""
        code = judge(problem, x, state)
        negative = state.values[0] < -(problem.eps**0.5) * np.maximum(np.max(np.abs(state.values)), 1.0)
        return as_code(either(both(code == CONVERGED, negative), RUNNING, code))
