"""Newton's method within a trust region: the quadratic model is minimized where it is believed.

    min ⟨g, p⟩ + ½ ⟨p, H p⟩   subject to ‖p‖ ≤ Δ
    ⇔  (H + λ I) p = -g,   λ ≥ 0,   H + λ I ⪰ 0,   λ (Δ - ‖p‖) = 0

The model's minimizer is found from the eigenvalues of H, in the hard case too, where g has no part along the lowest
eigenvector and p needs one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.linear.solvers.iteration import both, either, no, norm
from adjoint.optimize.iteration import as_code, judge, repeat
from adjoint.optimize.problem import Problem
from adjoint.optimize.second_order.quasi_newton import BLUR
from adjoint.optimize.statuses import CONVERGED, LINE_SEARCH_FAILED, NO_PROGRESS, RUNNING
from adjoint.program.types import Value

__all__ = ["TrustRegion", "compute_gain", "decompose_hessian", "resize_radius", "solve_region"]

STEPS = 40  # of the safeguarded Newton iteration for λ, which takes about five


def solve_region(values: Value, vectors: Value, g: Value, radius: Value) -> Value:
    """The minimizer of the model within the radius, from the eigenvalues and eigenvectors of H."""
    eps = float(np.finfo(g.dtype).eps)
    b = vectors.T @ g
    lowest = values[0]
    span = np.maximum(np.max(np.abs(values)), 1e-300 if eps < 1e-10 else 1e-30)
    floor = np.maximum(-lowest, 0.0 * lowest)
    tiny = eps * span
    safe = lambda lam: np.maximum(values + lam, tiny)

    def size(lam: Value) -> Value:
        return norm(b / safe(lam))

    inside = both(lowest > tiny, size(0.0 * lowest) <= radius)

    def improve(_: Any, now: Any) -> Any:
        """Newton on 1/Δ - 1/‖p(λ)‖, which is nearly linear, kept within the interval that holds the root."""
        lam, low, high = now
        p = b / safe(lam)
        n = norm(p)
        low, high = either(n > radius, lam, low), either(n > radius, high, lam)
        curved = np.sum(p * p / safe(lam))
        new = lam + (n * n / either(curved > 0, curved, 1.0 + 0 * curved)) * (n - radius) / radius
        usable = both(both(new > low, new < high), np.isfinite(new))
        return either(usable, new, 0.5 * (low + high)), low, high

    low = floor
    high = floor + norm(g) / radius + tiny
    lam, _, _ = repeat(STEPS, improve, (high, low, high))
    lam = either(inside, 0.0 * lam, lam)
    p = -(b / safe(lam))
    # the hard case: even at the lowest λ the step is shorter than Δ; the rest goes along the lowest eigenvector
    missing = radius * radius - np.sum(p * p)
    hard = both(no(inside), both(lowest <= 0, missing > 1e-8 * radius * radius))
    reach = np.sqrt(either(missing > 0, missing, 0.0 * missing) + p[0] * p[0])
    extra = either(p[0] < 0, -reach, reach) - p[0]
    first = np.arange(len(b)) == 0
    p = p + either(hard, extra, 0.0 * extra) * first.astype(g.dtype)
    return vectors @ p


class _State(NamedTuple):
    value: Value
    gradient: Value
    values: Value  # eigenvalues of the Hessian, and its eigenvectors
    vectors: Value
    radius: Value
    code: Value


def decompose_hessian(problem: Problem, x: Value) -> tuple[Value, Value]:
    """Eigenvalues and eigenvectors of the Hessian."""
    H = problem.hessian(x)
    return tuple(np.linalg.eigh(np.where(np.isfinite(H), H, 0.0)))  # type: ignore[return-value]


@final
@dataclass(frozen=True)
class TrustRegion:
    """Newton's method with an exact step within a trust region; it leaves saddle points behind.

    For up to some hundred unknowns: the Hessian is a matrix, whose eigenvalues are computed in each step.

    ```python
    f = lambda x: x[0] ** 2 - x[1] ** 2 + 0.25 * x[1] ** 4
    found = ad.optimize.minimize(f, np.zeros(2), method=ad.optimize.TrustRegion())
    float(np.round(found.fun, 6)), found.status  # → (-1.0, 'converged')
    ```
    """

    radius: float = 1.0
    largest: float = 1e6
    accept: float = 1e-4
    needs = ("value", "gradient", "hessian")
    descends = True

    def init(self, problem: Problem, x: Value) -> _State:
        """Value, gradient and Hessian at the start."""
        value, gradient = problem.value_and_gradient(x)
        radius = self.radius * np.maximum(1.0, 0.1 * norm(x))
        return _State(value, gradient, *decompose_hessian(problem, x), radius, as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One step; where the model was wrong only the radius changes."""
        g, radius = state.gradient, state.radius
        p = solve_region(state.values, state.vectors, g, radius)
        q = state.vectors.T @ p
        promised = -(np.vdot(g, p) + 0.5 * np.sum(state.values * q * q))
        moved = x + p
        value, gradient = problem.value_and_gradient(moved)
        finite = problem.finite(value, gradient)
        ratio, hidden = compute_gain(problem, state.value, value, promised, norm(g), norm(gradient))
        good = both(finite, ratio > self.accept)
        new_radius = resize_radius(radius, norm(p), ratio, finite, self.largest)
        values, vectors = problem.when(
            good, lambda: decompose_hessian(problem, moved), lambda: (state.values, state.vectors)
        )
        stuck = np.logical_or(new_radius <= problem.eps * (norm(x) + problem.eps), hidden)
        why = either(promised <= BLUR * problem.eps * np.abs(state.value), NO_PROGRESS, LINE_SEARCH_FAILED)
        code = as_code(either(both(no(good), stuck), why, RUNNING))
        new = _State(either(good, value, state.value), either(good, gradient, g), values, vectors, new_radius, code)
        return either(good, moved, x), new

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where the gradient is small and the curvature nowhere negative."""
        code = judge(problem, x, state)
        values = state.values
        negative = values[0] < -(problem.eps**0.5) * np.maximum(np.max(np.abs(values)), 1.0)
        return as_code(either(both(code == CONVERGED, negative), RUNNING, code))


def compute_gain(
    problem: Problem, before: Value, after: Value, promised: Value, g: Value, g_after: Value
) -> tuple[Value, Any]:
    """How much the function fell by what its model promised, and whether rounding hides it.

    Below the rounding of f the model is believed where the gradient gets smaller.
    """
    blur = 10.0 * problem.eps * np.abs(before)
    fallen = before - after
    hidden = both(np.abs(fallen) <= blur, promised <= blur)
    believed = either(g_after < g, 1.0, 0.0) + 0 * before
    return either(hidden, believed, fallen / either(promised > 0, promised, np.inf + 0 * promised)), hidden


def resize_radius(radius: Value, length: Value, ratio: Value, finite: Any, largest: float) -> Value:
    """The next radius: smaller where the model was wrong, larger where it was right up to the edge."""
    shrunk, grown = 0.25 * np.minimum(length, radius), np.minimum(2.0 * radius, largest)
    edge = both(ratio > 0.75, length >= 0.9 * radius)
    return either(no(both(finite, ratio >= 0.25)), shrunk, either(edge, grown, radius))
