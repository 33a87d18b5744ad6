"""Levenberg and Marquardt's method: Gauss-Newton steps within an ellipsoid that the gain ratio widens and narrows.

    min ‖r + J p‖   subject to ‖D p‖ ≤ Δ        ⇔        p = -(JᵀJ + λ D²)⁻¹ Jᵀ r  for the smallest such λ ≥ 0

D holds the largest norm that each column of J has had, so that units of the unknowns do not matter. p comes from an
orthogonal factorization of J D⁻¹ and the singular values of its triangle; JᵀJ, which costs half of the digits, is
formed only where columns are far from dependent. A second-order correction along the geodesic, -½ J⁺ r''(p, p),
follows curved valleys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.api.gradients import jvp
from adjoint.linear.solvers.iteration import both, either, loop, no, norm
from adjoint.optimize.iteration import as_code
from adjoint.optimize.least_squares.problem import Residuals
from adjoint.optimize.statuses import CONVERGED, NO_PROGRESS, NOT_FINITE, RUNNING
from adjoint.program.types import Value
from adjoint.scipy.linalg import solve_triangular

__all__ = ["LevenbergMarquardt", "damp_step"]

CLEAR = 1e-3  # pivots of J D⁻¹ that differ by less leave no doubt about its rank
DOUBT = 1e6  # times the rounding of the cost: residuals may have lost so many digits in a difference
STEPS = 30  # of the iteration for λ, which takes about five


class Factors(NamedTuple):
    """J D⁻¹ = Q R, R = U Σ Vᵀ: singular values, V, and Uᵀ Qᵀ r."""

    sigma: Value
    V: Value
    b: Value


def factorize(J: Value, D: Value, r: Value, free: Value) -> Factors:
    """The factors of the columns that are free to change; the others are zero."""
    return decompose(*compress(np.where(free, J / D, 0.0), r))


def compress(A: Value, r: Value) -> tuple[Value, Value]:
    """(R, Qᵀr) of A = Q R, where A has at least as many rows as columns."""
    if A.shape[0] < A.shape[1]:
        return A, r
    Q, R = np.linalg.qr(A)
    return R, Q.T @ r


def decompose(A: Value, r: Value) -> Factors:
    """The singular values of A, V, and Uᵀr."""
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    return Factors(sigma, Vt.T, U.T @ r)


def damp_step(factors: Factors, radius: Value) -> tuple[Value, Value]:
    """(D p, λ) for the radius Δ."""
    sigma, V, b = factors
    eps = float(np.finfo(b.dtype).eps)
    floor = eps * np.max(sigma) * max(len(sigma), 1)
    keep = sigma > floor
    square = np.where(keep, sigma * sigma, 1.0)
    # a direction that J does not see is left alone
    whole = norm(np.where(keep, b / np.where(keep, sigma, 1.0), 0.0))
    pressed = np.where(keep, sigma * b, 0.0)

    def improve(now: Any) -> Any:
        """Newton on 1/Δ - 1/‖p(λ)‖, within the interval that holds the root."""
        lam, low, high, _, count = now
        p = pressed / (square + lam)
        n = norm(p)
        low, high = either(n > radius, lam, low), either(n > radius, high, lam)
        bent = np.sum(p * p / (square + lam))
        new = lam + n * n / either(bent > 0, bent, 1.0 + 0 * bent) * (n - radius) / radius
        usable = both(both(new > low, new < high), np.isfinite(new))
        # a length that is right keeps its λ
        done = np.abs(n - radius) <= 1e3 * eps * radius
        new = either(usable, new, np.sqrt(np.maximum(low, 1e-3 * high) * high))
        return either(done, lam, new), low, high, done, count + 1

    high = norm(pressed) / radius
    inside = whole <= radius
    start = either(inside, 0 * high, 0.1 * high)
    goes_on = lambda now: both(no(now[3]), now[4] < STEPS)
    lam = loop(goes_on, improve, (start, 0 * high, high, inside, np.int64(0)))[0]
    lam = either(inside, 0 * lam, lam)
    return -(V @ (pressed / (square + lam))), lam


def is_regular(problem: Residuals, factors: Factors) -> Any:
    """Whether no direction is left undetermined."""
    sigma = factors.sigma
    return sigma[-1] > problem.eps * sigma[0] * len(sigma)


def derive(J: Value, scaled: Value) -> tuple[Value, Value]:
    """Jᵀ r, and the lengths of the columns of J."""
    return J.T @ scaled, np.sqrt(np.sum(J * J, axis=0))


class _State(NamedTuple):
    value: Value
    gradient: Value
    residuals: Value  # as the user gives them
    jacobian: Value  # ∂r, rescaled by the loss
    scaled: Value  # residuals, rescaled by the loss
    sizes: Value  # lengths of the columns of J
    D: Value
    radius: Value
    measure: Value  # the largest cosine between r and a column of J
    code: Value


@final
@dataclass(frozen=True)
class LevenbergMarquardt:
    """Levenberg and Marquardt's method, with bounds if there are any; `geodesic` corrects steps to second order.

    ```python
    residual = lambda x: np.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])
    method = ad.optimize.LevenbergMarquardt(geodesic=True)
    found = ad.optimize.least_squares(residual, np.array([-1.2, 1.0]), method=method)
    np.round(found.value, 8), found.status  # → ([1.0, 1.0], 'converged')
    ```
    """

    factor: float = 1.0  # the first radius, by ‖D x‖
    accept: float = 1e-4
    geodesic: bool = False
    scaled: bool = True  # by the columns of J
    needs = ("residual", "jacobian")
    descends = True
    bounds = True

    def init(self, problem: Residuals, x: Value) -> _State:
        """Residuals and Jacobian at the start."""
        value, r = problem.value(x)
        scaled, J = problem.jacobian(x, r)
        g, sizes = derive(J, scaled)
        D = self._scale(sizes, np.zeros(problem.size, problem.dtype))
        size = norm(D * x)
        radius = self.factor * either(size > 0, size, 1.0 + 0 * size)
        return self._look(problem, x, _State(value, g, r, J, scaled, sizes, D, radius, value, as_code(RUNNING)))

    def _scale(self, sizes: Value, D: Value) -> Value:
        if not self.scaled:
            return np.ones_like(D) + 0 * sizes
        return np.maximum(D, np.where(sizes > 0, sizes, np.where(D > 0, D, 1.0)))

    def _look(self, problem: Residuals, x: Value, state: _State) -> _State:
        """The state at a point, with the largest cosine between r and the columns that are free."""
        g, sizes = state.gradient, state.sizes * np.sqrt(2.0 * state.value)
        cosines = np.where(np.logical_and(sizes > 0, free_to_change(problem, x, g)),
                           np.abs(g) / np.where(sizes > 0, sizes, 1.0), 0.0)  # fmt: skip
        return state._replace(measure=np.max(cosines))

    def step(self, problem: Residuals, x: Value, state: _State) -> tuple[Value, _State]:
        """One step; where the model was wrong only the radius changes."""
        J, r, D, radius = state.jacobian, state.scaled, state.D, state.radius
        free = free_to_change(problem, x, state.gradient)
        factors: Factors | None = None
        if self.geodesic or J.shape[0] < J.shape[1]:
            factors = factorize(J, D, r, free)
            q, lam = damp_step(factors, radius)
            regular = is_regular(problem, factors)
        else:
            q, lam, regular = self._solve(problem, state, free)
        p = q / D
        if problem.bounded:
            p = self._within(problem, x, problem.project(x + p), state, D, free) - x
        Jp = J @ p
        promised = -(np.vdot(state.gradient, p) + 0.5 * np.vdot(Jp, Jp))
        moved = problem.project(x + p)
        if factors is not None and self.geodesic and problem.loss is None and not problem.bounded:
            moved = moved + self._correct(problem, x, p, J, factors, lam, D)
        value, raw = problem.value(moved)
        finite = both(np.isfinite(value), np.all(np.isfinite(raw)))
        fallen = state.value - value
        ratio = either(both(finite, promised > 0), fallen / either(promised > 0, promised, 1.0 + 0 * promised), -1.0)
        length = norm(D * p)
        good = both(finite, both(ratio > self.accept, fallen > 0))
        size = norm(D * x)
        steady = problem.eps ** (2 / 3)
        still = length <= steady * size + problem.eps**2
        changed = np.abs(either(finite, fallen, 1.0 + 0 * fallen))
        hidden = both(promised <= 4 * problem.eps * state.value, changed <= 16 * problem.eps * state.value)
        # a residual is often the difference of two numbers much larger than it, and its cost as much less exact
        doubtful = both(finite, both(promised <= DOUBT * problem.eps * state.value,
                                     changed <= DOUBT * problem.eps * state.value))  # fmt: skip
        shrunk = np.minimum(0.25 * length, 0.5 * radius)
        shrunk = either(finite, shrunk, 0.1 * np.minimum(length, radius))
        grown = np.maximum(radius, 2.0 * length)
        new_radius = either(no(both(finite, ratio >= 0.25)), shrunk, either(ratio > 0.75, grown, radius))
        code = problem.when(
            np.logical_or(still, np.logical_or(hidden, promised <= 0)),
            lambda: as_code(self._ending(problem, x, state, lam, regular)),
            lambda: as_code(RUNNING),
        )

        def here() -> Any:
            scaled, J = problem.jacobian(moved, raw)
            g, sizes = derive(J, scaled)
            return g, raw, J, scaled, sizes, self._scale(sizes, D)

        # near the rounding of the cost a step is believed where it makes the cosines much smaller
        kept = (state.gradient, state.residuals, J, r, state.sizes, D)
        g, raw, J, r, sizes, D = problem.when(np.logical_or(good, doubtful), here, lambda: kept)
        new = _State(value, g, raw, J, r, sizes, D, new_radius, state.measure, state.code)
        new = self._look(problem, moved, new)
        polished = both(doubtful, new.measure < 0.5 * state.measure)
        good = np.logical_or(polished, both(good, no(hidden)))
        code = either(polished, RUNNING, code)
        new_radius = either(polished, np.maximum(radius, new_radius), new_radius)
        new = problem.choose(good, new, state)._replace(radius=new_radius, code=as_code(code))
        return either(good, moved, x), new

    def _solve(self, problem: Residuals, state: _State, free: Value) -> tuple[Value, Value, Any]:
        """(D p, λ, whether every direction is determined): a whole Gauss-Newton step, or by singular values.

        Where the columns of J, brought to length one, are clearly independent, AᵀA = L Lᵀ of these gives a step whose
        error, eps / CLEAR², is one of the next step's start: no digit of the answer depends on it.
        """
        J, r, D, radius = state.jacobian, state.scaled, state.D, state.radius
        eye = np.eye(problem.size, dtype=J.dtype)
        N = J.T @ J
        sizes = np.sqrt(np.diagonal(N))
        used = free.astype(J.dtype) / np.where(sizes > 0, sizes, 1.0).astype(J.dtype)
        N = used[:, None] * N * used
        sound = np.all(np.isfinite(N))
        small = 16.0 * problem.size * problem.eps  # keeps L real
        L = np.linalg.cholesky(either(sound, N, eye) + np.where(free, small, 1.0).astype(J.dtype) * eye)
        pivots = np.diagonal(L)
        clear = both(sound, np.min(pivots) > max(CLEAR, problem.eps**0.25) * np.max(pivots))
        whole = -D * used * solve_triangular(L.T, solve_triangular(L, used * state.gradient, lower=True))
        inside = both(clear, norm(whole) <= radius)

        def by_values() -> tuple[Value, Value, Any]:
            factors = factorize(J, D, r, free)
            return *damp_step(factors, radius), is_regular(problem, factors)

        return problem.when(inside, lambda: (whole, 0 * radius, radius == radius), by_values)

    def _ending(self, problem: Residuals, x: Value, state: _State, lam: Value, regular: Any) -> Any:
        """Nothing changes any more: convergence after a whole Gauss-Newton step that left no direction out.

        It is also that where the cosines are as small as rounding lets them be, or each residual is.
        """
        rounding = 4 * problem.eps * (np.abs(state.jacobian) @ np.abs(x))
        vanish = np.all(np.abs(state.scaled) <= rounding)
        sure = np.logical_or(both(lam <= 0, regular), state.measure <= 10 * problem.eps**0.5)
        return either(np.logical_or(sure, vanish), CONVERGED, NO_PROGRESS)

    def _correct(
        self, problem: Residuals, x: Value, p: Value, J: Value, factors: Factors, lam: Value, D: Value
    ) -> Value:
        """-½ (JᵀJ + λ D²)⁻¹ Jᵀ r''(p, p), where it is shorter than the step."""
        problem.count("residual")
        along = lambda v: jvp(problem.raw, (v,), (p,))[1]
        bent = jvp(along, (x,), (p,))[1]
        sigma, V, _ = factors
        keep = sigma > problem.eps * np.max(sigma) * len(sigma)
        pressed = V.T @ ((J.T @ bent) / D)
        a = -0.5 * (V @ np.where(keep, pressed / np.where(keep, sigma * sigma + lam, 1.0), 0.0)) / D
        usable = both(np.all(np.isfinite(a)), 2.0 * norm(D * a) <= 0.75 * norm(D * p))
        return either(usable, a, 0.0 * a)

    def _within(self, problem: Residuals, x: Value, moved: Value, state: _State, D: Value, free: Value) -> Value:
        """The projected step, or a point along the projected gradient where that promises more."""
        g, J = state.gradient, state.jacobian

        def promise(point: Value) -> Value:
            Jp = J @ (point - x)
            return np.vdot(g, point - x) + 0.5 * np.vdot(Jp, Jp)

        d = np.where(free, -g / (D * D), 0.0)
        Jd = J @ d
        curvature, size = np.vdot(Jd, Jd), norm(D * d)
        t = -np.vdot(g, d) / either(curvature > 0, curvature, 1.0 + 0 * curvature)
        t = np.minimum(t, state.radius / either(size > 0, size, 1.0 + 0 * size))
        best, lowest = moved, promise(moved)
        for share in (1.0, 0.25, 0.0625):
            point = problem.project(x + share * t * d)
            promised = promise(point)
            better = promised < lowest
            best, lowest = either(better, point, best), either(better, promised, lowest)
        return best

    def done(self, problem: Residuals, x: Value, state: _State) -> Value:
        """Where r is orthogonal to the columns of J, or vanishes."""
        small = np.logical_or(state.measure <= problem.tol, state.value <= (problem.eps**2) ** 2)
        code = either(state.code != RUNNING, state.code, either(small, CONVERGED, RUNNING))
        finite = both(np.isfinite(state.value), np.all(np.isfinite(state.jacobian)))
        return as_code(either(finite, code, NOT_FINITE))


def free_to_change(problem: Residuals, x: Value, g: Value) -> Value:
    """Unknowns that are not held at a bound by the gradient."""
    if problem.lower is None:
        return np.ones(problem.size, bool)
    return np.logical_not(np.logical_or(np.logical_and(x <= problem.lower, g >= 0),
                                        np.logical_and(x >= problem.upper, g <= 0)))  # fmt: skip
