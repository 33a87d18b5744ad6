"""Newton's method for systems: ∂F p = -F by a factorization or by Krylov's method, with a search along p; Broyden's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.api.gradients import jvp
from adjoint.linear.operators.from_function import from_function
from adjoint.linear.solvers.iteration import both, either, no, norm
from adjoint.linear.solvers.methods import gmres
from adjoint.optimize.iteration import as_code
from adjoint.optimize.least_squares.problem import Residuals
from adjoint.optimize.statuses import CONVERGED, NO_PROGRESS, NOT_FINITE, RUNNING, SINGULAR
from adjoint.program.types import Value

__all__ = ["Broyden", "NewtonRoot", "judge_root"]


class _Trial(NamedTuple):
    step: Value
    value: Value
    residuals: Value
    count: Any


def search(problem: Residuals, x: Value, value: Value, p: Value, trials: int) -> tuple[_Trial, Any]:
    """The first of p, p/2, p/4 … that makes ‖F‖ smaller by a part of what Newton's model promises."""
    enough = lambda s: s.value <= (1.0 - 2e-4 * s.step) * value

    def shorten(s: _Trial) -> _Trial:
        found, residuals = problem.value(problem.project(x + 0.5 * s.step * p))
        return _Trial(0.5 * s.step, found, residuals, s.count + 1)

    found, residuals = problem.value(problem.project(x + p))
    first = _Trial(1.0 + 0 * value, found, residuals, np.int64(1))
    last = problem.loop(lambda s: both(no(enough(s)), s.count < trials), shorten, first)
    return last, both(enough(last), last.value < value)


def judge_root(problem: Residuals, state: Any) -> Value:
    """Where every equation holds to the tolerance; a derivative that is singular, or a search that failed, ends it."""
    code = either(state.measure <= problem.tol, CONVERGED, state.code)
    return as_code(either(both(np.isfinite(state.value), np.isfinite(state.measure)), code, NOT_FINITE))


class _State(NamedTuple):
    value: Value
    gradient: Value  # F itself
    residuals: Value
    measure: Value
    code: Value


@final
@dataclass(frozen=True)
class NewtonRoot:
    """Newton's method with a search; with `krylov` the linear equations are solved by gmres, without a matrix.

    With `sparse` the Jacobian is a sparse matrix, found by coloring and solved by a sparse factorization; this runs on
    plain arrays, in compiled programs too.

    ```python
    F = lambda x: np.stack([x[0] ** 2 + x[1] ** 2 - 1, x[0] - x[1]])
    found = ad.optimize.root(F, np.array([1.0, 0.5]), method=ad.optimize.NewtonRoot())
    np.round(found.value, 6)  # → [0.707107, 0.707107]
    ```
    """

    krylov: bool = False
    trials: int = 40
    sparse: bool = False
    needs = ("residual", "jacobian")
    descends = True

    @property
    def plain(self) -> bool:
        """Whether it takes plain arrays only."""
        return self.sparse

    def init(self, problem: Residuals, x: Value) -> _State:
        """F at the start."""
        value, r = problem.value(x)
        return _State(value, r, r, np.max(np.abs(r)), as_code(RUNNING))

    def step(self, problem: Residuals, x: Value, state: _State) -> tuple[Value, _State]:
        """One Newton step."""
        r, solved = state.residuals, state.value == state.value
        if self.krylov:
            problem.count("jacobian")
            product = lambda u: jvp(problem.raw, (x,), (u,))[1]
            tol = np.minimum(0.1, np.sqrt(norm(r)))
            linear = gmres(from_function(product, problem.size), r, tol=tol)
            p, solved = -linear.value, linear.residual <= 0.5 * norm(r)
        elif self.sparse:
            p = -solve_sparse(problem.sparse_jacobian(x, r)[0], r)
        else:
            _, J = problem.jacobian(x, r)
            p = -solve_square(J, r)
        usable = np.all(np.isfinite(p))
        p = either(usable, p, 0 * p)
        last, success = search(problem, x, state.value, p, self.trials)
        success = both(success, usable)
        moved = problem.project(x + last.step * p)
        small = norm(p) <= 4 * problem.eps * norm(x)
        # the part of F that no step takes away leaves a step of no length, as rounding does
        why = either(both(both(usable, solved), small), NO_PROGRESS, SINGULAR)
        code = as_code(either(success, RUNNING, why))
        r = either(success, last.residuals, r)
        return either(success, moved, x), _State(
            either(success, last.value, state.value), r, r, np.max(np.abs(r)), code
        )

    def done(self, problem: Residuals, x: Value, state: _State) -> Value:
        """Where every equation holds."""
        return judge_root(problem, state)


def solve_square(J: Value, r: Value) -> Value:
    """J⁻¹ r; not finite where J is singular."""
    values = np.linalg.svd(J, compute_uv=False)
    eps = float(np.finfo(r.dtype).eps)
    regular = both(np.all(np.isfinite(J)), values[-1] > eps * values[0])
    safe = either(regular, J, np.eye(len(r), dtype=r.dtype))
    return either(regular, np.linalg.solve(safe, r), np.nan + 0 * r)


def solve_sparse(J: Any, r: Value) -> Value:
    """J⁻¹ r of a sparse matrix; not finite where J is singular."""
    from scipy.sparse.linalg import splu

    try:
        return splu(J.tocsc()).solve(r)
    except RuntimeError:  # SuperLU says so of a matrix that is exactly singular
        return np.full_like(r, np.nan)


class _BroydenState(NamedTuple):
    value: Value
    gradient: Value
    residuals: Value
    inverse: Value
    fresh: Any
    measure: Value
    code: Value


@final
@dataclass(frozen=True)
class Broyden:
    """Broyden's (good) method: one Jacobian at the start, then updates of its inverse from changes of F alone.

    ```python
    F = lambda x: np.stack([x[0] ** 2 + x[1] ** 2 - 1, x[0] - x[1]])
    found = ad.optimize.root(F, np.array([1.0, 0.5]), method="broyden")
    np.round(found.value, 6), int(found.evaluations["jacobian"])  # → ([0.707107, 0.707107], 1)
    ```
    """

    trials: int = 20
    needs = ("residual", "jacobian")
    descends = True

    def init(self, problem: Residuals, x: Value) -> _BroydenState:
        """F and its Jacobian at the start."""
        value, r = problem.value(x)
        return _BroydenState(
            value, r, r, self._invert(problem, x, r), value == value, np.max(np.abs(r)), as_code(RUNNING)
        )

    def _invert(self, problem: Residuals, x: Value, r: Value) -> Value:
        _, J = problem.jacobian(x, r)
        return np.linalg.pinv(np.where(np.isfinite(J), J, 0.0))

    def step(self, problem: Residuals, x: Value, state: _BroydenState) -> tuple[Value, _BroydenState]:
        """One step with the matrix as it is; where that fails the Jacobian is computed anew."""
        r, B = state.residuals, state.inverse
        p = -(B @ r)
        last, success = search(problem, x, state.value, p, self.trials)
        moved = problem.project(x + last.step * p)
        s, y = moved - x, last.residuals - r
        By = B @ y
        sBy = np.vdot(s, By)
        usable = both(success, np.abs(sBy) > problem.eps * norm(s) * norm(By))
        updated = B + np.outer(s - By, s @ B) / either(usable, sBy, 1.0 + 0 * sBy)
        anew = both(no(success), no(state.fresh))
        inverse = problem.when(anew, lambda: self._invert(problem, x, r), lambda: either(usable, updated, B))
        code = as_code(either(both(no(success), state.fresh), SINGULAR, RUNNING))
        r = either(success, last.residuals, r)
        value = either(success, last.value, state.value)
        return either(success, moved, x), _BroydenState(value, r, r, inverse, anew, np.max(np.abs(r)), code)

    def done(self, problem: Residuals, x: Value, state: _BroydenState) -> Value:
        """Where every equation holds."""
        return judge_root(problem, state)
