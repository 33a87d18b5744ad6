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

from adjoint.base.suggestions import did_you_mean
from adjoint.linear.solvers.iteration import both, either, no, norm
from adjoint.optimize.iteration import as_code, judge, repeat
from adjoint.optimize.problem import Problem
from adjoint.optimize.second_order.quasi_newton import BLUR
from adjoint.optimize.statuses import CONVERGED, LINE_SEARCH_FAILED, NO_PROGRESS, RUNNING, SADDLE_POINT
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


def follow_dogleg(values: Value, vectors: Value, g: Value, radius: Value) -> Value:
    """The point at the radius along the path from 0 to the Cauchy point to Newton's point.

    Newton's point is that of |λ| where the curvature is negative, so that the path always falls.
    """
    eps = float(np.finfo(g.dtype).eps)
    b = vectors.T @ g
    span = np.maximum(np.max(np.abs(values)), 1e-300 if eps < 1e-10 else 1e-30)
    curvature, square = np.sum(values * b * b), np.sum(b * b)
    newton = -(b / np.maximum(np.abs(values), 10.0 * eps * span))
    upward = curvature > 0
    t = either(upward, square / either(upward, curvature, 1.0 + 0 * curvature), np.inf + 0 * curvature)
    size = np.sqrt(square)
    t = np.minimum(t, radius / either(size > 0, size, 1.0 + 0 * size))
    cauchy = -t * b
    at_edge = np.logical_or(no(upward), norm(cauchy) >= (1.0 - 4.0 * eps) * radius)
    d = newton - cauchy
    A, B, C = np.sum(d * d), np.sum(cauchy * d), np.sum(cauchy * cauchy) - radius * radius
    root = np.sqrt(np.maximum(B * B - A * C, 0.0))
    tau = np.minimum((root - B) / either(A > 0, A, 1.0 + 0 * A), 1.0)
    return vectors @ either(at_edge, cauchy, cauchy + tau * d)


RULES = {"exact": solve_region, "dogleg": follow_dogleg}


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
    problem.count("solve")
    return tuple(np.linalg.eigh(np.where(np.isfinite(H), H, 0.0)))  # type: ignore[return-value]


@final
@dataclass(frozen=True)
class TrustRegion:
    """Newton's method with an exact step within a trust region; it leaves saddle points behind.

    For up to some hundred unknowns: the Hessian is a matrix, whose eigenvalues are computed in each step. `step_rule`
    is "exact", or "dogleg", which follows the path over the Cauchy point. With bounds the model is minimized over the
    unknowns that no bound holds, and the step is projected.

    ```python
    f = lambda x: x[0] ** 2 - x[1] ** 2 + 0.25 * x[1] ** 4
    found = ad.optimize.minimize(f, np.zeros(2), method=ad.optimize.TrustRegion())
    float(np.round(found.fun, 6)), found.status  # → (-1.0, 'converged')
    ```
    """

    radius: float = 1.0
    largest: float = np.inf
    accept: float = 1e-4
    step_rule: str = "exact"
    needs = ("value", "gradient", "hessian", "solve")
    descends = True
    bounds = True

    def __post_init__(self) -> None:
        if self.step_rule not in RULES:
            near = did_you_mean(self.step_rule, RULES) or f"They are: {', '.join(RULES)}."
            raise ValueError(f"TrustRegion: step_rule={self.step_rule!r} is none. {near}")

    def init(self, problem: Problem, x: Value) -> _State:
        """Value, gradient and Hessian at the start."""
        value, gradient = problem.value_and_gradient(x)
        radius = self.radius * np.maximum(1.0, 0.1 * norm(x))
        return _State(value, gradient, *decompose_hessian(problem, x), radius, as_code(RUNNING))

    def step(self, problem: Problem, x: Value, state: _State) -> tuple[Value, _State]:
        """One step; where the model was wrong only the radius changes."""
        g, radius = state.gradient, state.radius
        p = self._choose_step(problem, x, state)
        promised = -model_change(state, p)
        moved = problem.project(x + p)
        value, gradient = problem.value_and_gradient(moved)
        finite = problem.finite(value, gradient)
        sizes = (
            (problem.measure(x, g), problem.measure(moved, gradient)) if problem.bounded else (norm(g), norm(gradient))
        )
        ratio, hidden = compute_gain(problem, state.value, value, promised, *sizes)
        good = both(finite, ratio > self.accept)
        new_radius = resize_radius(radius, norm(p), ratio, finite, self.largest)
        values, vectors = problem.when(
            good, lambda: decompose_hessian(problem, moved), lambda: (state.values, state.vectors)
        )
        stuck = np.logical_or(new_radius <= problem.eps * (norm(x) + problem.eps), hidden)
        why = either(promised <= BLUR * problem.eps * np.abs(state.value), NO_PROGRESS, LINE_SEARCH_FAILED)
        # where the gradient is small it would have ended, but for a direction of negative curvature
        why = either(problem.measure(x, g) <= problem.tol, SADDLE_POINT, why)
        code = as_code(either(both(no(good), stuck), why, RUNNING))
        new = _State(either(good, value, state.value), either(good, gradient, g), values, vectors, new_radius, code)
        return either(good, moved, x), new

    def _choose_step(self, problem: Problem, x: Value, state: _State) -> Value:
        """The step within the radius and the bounds."""
        solve = RULES[self.step_rule]
        g, values, vectors = state.gradient, state.values, state.vectors
        if problem.lower is None or problem.upper is None:
            return solve(values, vectors, g, state.radius)
        free = free_of_bounds(problem, x, g)
        H = restrict((vectors * values) @ vectors.T, free)
        g = np.where(free, g, 0.0)
        inside = problem.project(x + solve(*np.linalg.eigh(H), g, state.radius)) - x
        # of that, its part along the way, and points along the projected gradient, the one that promises most
        best, lowest = inside, model_change(state, inside)
        size = norm(g)
        t = state.radius / either(size > 0, size, 1.0 + 0 * size)
        Hg = H @ g
        curvature = np.vdot(g, Hg)
        cauchy = either(curvature > 0, np.vdot(g, g) / either(curvature > 0, curvature, 1.0 + 0 * curvature), t)
        t = np.minimum(t, cauchy)
        for share in (1.0, 0.25, 0.0625, 0.015625):
            p = problem.project(x - share * t * g) - x
            change = model_change(state, p)
            better = change < lowest
            best, lowest = either(better, p, best), either(better, change, lowest)
        return best

    def done(self, problem: Problem, x: Value, state: _State) -> Value:
        """Where the gradient is small and the curvature nowhere negative, among the unknowns that no bound holds."""
        code = judge(problem, x, state)
        values = state.values
        if problem.bounded:
            free = strictly_inside(problem, x)
            values = np.linalg.eigvalsh(restrict((state.vectors * values) @ state.vectors.T, free))
        negative = values[0] < -(problem.eps**0.5) * np.maximum(np.max(np.abs(values)), 1.0)
        return as_code(either(both(code == CONVERGED, negative), RUNNING, code))


def model_change(state: _State, p: Value) -> Value:
    """⟨g, p⟩ + ½ ⟨p, H p⟩."""
    q = state.vectors.T @ p
    return np.vdot(state.gradient, p) + 0.5 * np.sum(state.values * q * q)


def free_of_bounds(problem: Problem, x: Value, g: Value) -> Value:
    """Unknowns that the gradient does not press against a bound."""
    return np.logical_not(np.logical_or(np.logical_and(x <= problem.lower, g >= 0),
                                        np.logical_and(x >= problem.upper, g <= 0)))  # fmt: skip


def strictly_inside(problem: Problem, x: Value) -> Value:
    """Unknowns that are at no bound."""
    return np.logical_and(x > problem.lower, x < problem.upper)


def restrict(H: Value, free: Value) -> Value:
    """H where both unknowns are free, and its largest size on the diagonal of the others."""
    keep = free.astype(H.dtype)
    size = np.maximum(np.max(np.abs(H)), 1e-30)
    return H * keep[:, None] * keep + np.diag((1.0 - keep) * size)


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
