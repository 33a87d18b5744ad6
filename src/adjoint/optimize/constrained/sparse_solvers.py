"""Many unknowns under constraints: solvers of others, with sparse derivatives that are exact.

Jacobian and Hessian of the Lagrangian are found by coloring, with one pattern for all points. What a solver finds is
made exact by Newton's method on the constraints that are active there:

    | ∇²L  Cᵀ | |  Δx   |     | -∇f |
    |  C   0  | | y + Δy | =  | -c  |        c, C = ∇c: the equations, and the inequalities that press
"""

# pyright: basic

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from adjoint.api.gradients import grad
from adjoint.optimize.constrained.sqp import Constrained, Found
from adjoint.optimize.iteration import as_code
from adjoint.optimize.programs.active_set import find_active
from adjoint.optimize.statuses import CONVERGED, INFEASIBLE, MAX_ITERATIONS, NO_PROGRESS, NOT_FINITE, UNBOUNDED
from adjoint.sparse.derivatives import SparseDerivative, hessian, jacobian

__all__ = ["Oracles", "Uno", "has_uno", "run_sparse"]

SIGNS = {"SUCCESS": CONVERGED, "ITERATION_LIMIT": MAX_ITERATIONS, "TIME_LIMIT": MAX_ITERATIONS,
         "EVALUATION_ERROR": NOT_FINITE}  # fmt: skip
POINTS = {"INFEASIBLE_STATIONARY_POINT": INFEASIBLE, "INFEASIBLE_SMALL_STEP": INFEASIBLE,
          "UNBOUNDED_OBJECTIVE": UNBOUNDED, "FEASIBLE_SMALL_STEP": NO_PROGRESS}  # fmt: skip
LOWEST = -1e9  # below it, against the value at the start, a value is taken to fall without end
POLISHING = 3  # steps of Newton's method at most


@final
@dataclass(frozen=True)
class Uno:
    """The solver Uno for `minimize(…, subject_to=…)`, with exact sparse derivatives: for thousands of unknowns.

    `preset` is "ipopt" (an interior point method with a filter) or "filtersqp" (sequential quadratic programming with a
    filter and a trust region); `options` are Uno's own. The package must be installed: `pip install adjoint[nlp]`. It
    runs on plain arrays, in compiled programs too, and one after the other in a batch.

    ```python
    smooth = lambda x: np.sum((x[1:] - x[:-1]) ** 2)
    rule = ad.optimize.inequality(lambda x: 1.0 - x[::100] ** 2)
    found = ad.optimize.minimize(smooth, np.linspace(1.0, 3.0, 501), subject_to=rule, method=ad.optimize.Uno())
    found.status, bool(found.fun < 1e-12)  # → ('converged', True)
    ```
    """

    multipliers: ClassVar[bool] = True  # a method for constraints
    preset: str = "ipopt"
    options: Mapping[str, Any] = field(default_factory=dict)


def has_uno() -> bool:
    """Whether the package is there."""
    return importlib.util.find_spec("unopy") is not None


@final
class Oracles:
    """f, c = (h, g), ∇c and ∇²L as functions of a vector; colored at the first call, for all data of the same kind."""

    def __init__(self, title: str, make: Callable[..., Constrained]) -> None:
        self.title, self._make = title, make
        c = lambda v, *data: np.concatenate(make(*data).constraints(v))
        self._lagrangian = lambda v, s, y, *data: s * make(*data).f(v) + np.sum(y * c(v, *data))
        self._c = c
        self._gradient = grad(self._lagrangian)
        self._colored: tuple[Any, SparseDerivative, SparseDerivative] | None = None

    def at(self, data: tuple[Any, ...], v: Any) -> Asked:
        """The same for some data; v is any point."""
        problem = self._make(*data)
        m, p = (len(part) for part in problem.constraints(v))
        if self._colored is None or self._colored[0] != (m, p):
            self._colored = ((m, p), jacobian(self._c, coloring=self._color(data, v, None)),
                             hessian(self._lagrangian, coloring=self._color(data, v, m + p)))  # fmt: skip
        return Asked(self, problem, data, m, p, self._colored[1], self._colored[2])

    def _color(self, data: tuple[Any, ...], v: Any, count: int | None) -> Any:
        if count is None:
            return jacobian(self._c).coloring(v, *data)
        return hessian(self._lagrangian).coloring(v, np.float64(1.0), np.ones(count), *data)

    def gradient(self, asked: Asked, v: Any, s: float, y: Any) -> Any:
        """s ∇f + Σ yᵢ ∇cᵢ."""
        return np.asarray(self._gradient(v, np.float64(s), y, *asked.data))


class Asked(NamedTuple):
    """A problem as a sparse solver asks it."""

    oracles: Oracles
    problem: Constrained
    data: tuple[Any, ...]
    m: int  # equations
    p: int  # inequalities
    jacobian: SparseDerivative
    hessian: SparseDerivative

    def c(self, v: Any) -> Any:
        """(h, g)."""
        return np.concatenate([np.asarray(part) for part in self.problem.constraints(v)])

    def rows(self, v: Any) -> Any:
        """∇c."""
        return self.jacobian(v, *self.data)

    def curvature(self, v: Any, s: float, y: Any) -> Any:
        """s ∇²f + Σ yᵢ ∇²cᵢ."""
        return self.hessian(v, np.float64(s), y, *self.data)

    def gradient(self, v: Any, y: Any = None) -> Any:
        """∇f + Σ yᵢ ∇cᵢ."""
        return self.oracles.gradient(self, v, 1.0, np.zeros(self.m + self.p) if y is None else y)

    def bounds(self, n: int) -> tuple[Any, Any]:
        """Those of x, infinite where there are none."""
        if self.problem.lower is None or self.problem.upper is None:
            return np.full(n, -np.inf), np.full(n, np.inf)
        return np.asarray(self.problem.lower, float), np.asarray(self.problem.upper, float)

    @property
    def limits(self) -> tuple[Any, Any]:
        """Those of c."""
        return np.concatenate([np.zeros(self.m), np.full(self.p, -np.inf)]), np.zeros(self.m + self.p)


class _Values:
    """f and c at the last point: both come from one evaluation, and a solver asks for one after the other."""

    def __init__(self, asked: Asked, dtype: Any) -> None:
        self._asked, self._dtype = asked, dtype
        self._at: Any = None
        self._found: tuple[Any, Any] = (None, None)

    def _both(self, x: Any) -> tuple[Any, Any]:
        v = np.array(x).astype(self._dtype)
        if self._at is None or not np.array_equal(v, self._at):
            value, h, g = self._asked.problem.functions(v)
            self._at, self._found = v, (value, np.concatenate([np.asarray(h), np.asarray(g)]))
        return self._found

    def f(self, x: Any) -> Any:
        """The objective."""
        return self._both(x)[0]

    def c(self, x: Any) -> Any:
        """(h, g)."""
        return self._both(x)[1]


class _Point(NamedTuple):
    x: Any
    y: Any  # multipliers of c
    lower: Any
    upper: Any
    code: int
    count: int


def run_sparse(oracles: Oracles, data: tuple[Any, ...], v: Any, tol: Any, iterations: int, method: Any) -> Found:
    """A local minimum from v by Uno, or by SciPy's trust-constr."""
    v = np.asarray(v)
    asked = oracles.at(data, v)
    start = np.clip(v, *(bound.astype(v.dtype) for bound in asked.bounds(len(v))))
    run: Any = _run_uno if isinstance(method, Uno) else _run_scipy
    found = run(oracles.title, asked, start, float(tol), iterations, method)
    residual = _measure(asked, found)
    for _ in range(POLISHING if found.code in (CONVERGED, NO_PROGRESS, MAX_ITERATIONS) else 0):
        better = _polish(asked, found)
        after = np.inf if better is None else _measure(asked, better)
        if better is None or not after < residual:
            break
        found, residual = better, after
    code = found.code
    if code in (CONVERGED, NO_PROGRESS, MAX_ITERATIONS):
        code = CONVERGED if residual <= tol else NO_PROGRESS if code == CONVERGED else code
    if code in (NO_PROGRESS, MAX_ITERATIONS) and _is_stuck(asked, found, 1e3 * float(tol)):
        code = INFEASIBLE
    value = np.asarray(asked.problem.f(found.x)).astype(v.dtype)[()]
    gradient = asked.gradient(found.x).astype(v.dtype)
    if code != CONVERGED and value < LOWEST * (1.0 + abs(float(asked.problem.f(start)))):
        code = UNBOUNDED
    if not (np.isfinite(value) and np.isfinite(residual)):
        code = NOT_FINITE
    z = found.y[asked.m :]
    z = z if asked.problem.lower is None else np.concatenate([z, found.lower, found.upper])
    return Found(found.x, found.y[: asked.m].astype(v.dtype), z.astype(v.dtype), value, gradient, as_code(code),
                 np.int64(found.count), np.asarray(residual, v.dtype)[()])  # fmt: skip


def _largest(*parts: Any) -> float:
    return max((float(np.max(np.abs(part))) for part in parts if len(part)), default=0.0)


def _is_stuck(asked: Asked, now: _Point, least: float) -> bool:
    """Whether constraints are violated, and no step within the bounds makes the sum of their squares smaller."""
    c = asked.c(now.x)
    c[asked.m :] = np.maximum(c[asked.m :], 0.0)
    if not len(c) or not np.max(np.abs(c)) > least:
        return False
    rows = asked.rows(now.x)
    low, high = asked.bounds(len(now.x))
    pull = now.x - np.clip(now.x - rows.T @ c, low, high)
    return bool(np.max(np.abs(pull)) <= 1e-6 * np.max(np.abs(rows.data), initial=0.0) * np.max(np.abs(c)))


def _measure(asked: Asked, now: _Point) -> float:
    """How far a point and its multipliers are from the conditions of a minimum."""
    pulled, c = asked.gradient(now.x, now.y) + now.upper - now.lower, asked.c(now.x)
    low, high = asked.bounds(len(now.x))
    far = lambda slack: np.where(np.isfinite(slack), slack, 1.0)
    below, above = far(now.x - low), far(high - now.x)
    z = now.y[asked.m :]
    size = 1.0 + _largest(asked.gradient(now.x), now.y, now.lower, now.upper)
    violated = _largest(c[: asked.m], np.maximum(c[asked.m :], 0.0), np.minimum(below, 0.0), np.minimum(above, 0.0))
    signs = _largest(np.minimum(z, 0.0), np.minimum(now.lower, 0.0), np.minimum(now.upper, 0.0))
    presses = _largest(c[asked.m :] * z, below * now.lower, above * now.upper)
    found = max(_largest(pulled) / size, violated, signs / size, presses / size)
    return found if np.isfinite(pulled).all() and np.isfinite(c).all() else np.nan


def _polish(asked: Asked, now: _Point) -> _Point | None:
    """One step of Newton's method on what is active; None where that determines no point."""
    from scipy import sparse
    from scipy.sparse.linalg import splu

    n, k, m = len(now.x), asked.m + asked.p, asked.m
    low, high = asked.bounds(n)
    c = asked.c(now.x)
    held = np.concatenate([np.ones(m, bool), find_active(now.y[m:], -c[m:])]) if k else np.zeros(0, bool)
    at_low = np.isfinite(low) & find_active(now.lower, now.x - low)
    at_high = np.isfinite(high) & find_active(now.upper, high - now.x) & ~at_low
    H = asked.curvature(now.x, 1.0, now.y)
    eye: Any = sparse.eye_array(n, format="csr")
    C: Any = asked.rows(now.x) if k else sparse.csr_array((0, n))
    rows: Any = sparse.vstack([C[np.flatnonzero(held)], eye[np.flatnonzero(at_low)], eye[np.flatnonzero(at_high)]])
    right = np.concatenate([-c[held], (low - now.x)[at_low], (high - now.x)[at_high]])
    K = sparse.block_array([[H, rows.T], [rows, None]] if rows.shape[0] else [[H]], format="csc")
    try:
        found = splu(K.astype(float)).solve(np.concatenate([-asked.gradient(now.x), right]))
    except RuntimeError:  # singular
        return None
    if not np.all(np.isfinite(found)):
        return None
    y, lower, upper = np.zeros(k), np.zeros(n), np.zeros(n)
    a, b = n + int(np.sum(held)), n + int(np.sum(held)) + int(np.sum(at_low))
    y[held], lower[at_low], upper[at_high] = found[n:a], -found[a:b], found[b:]
    x = np.where(at_low, low, np.where(at_high, high, now.x + found[:n])).astype(now.x.dtype)
    return now._replace(x=x, y=y, lower=lower, upper=upper)


def _run_uno(title: str, asked: Asked, v: Any, tol: float, iterations: int, method: Uno) -> _Point:
    if not has_uno():
        raise ModuleNotFoundError(f"{title}: this needs the package unopy: pip install 'adjoint[nlp]'.")
    import unopy as package

    unopy: Any = package
    n, k = len(v), asked.m + asked.p
    errors: list[Exception] = []

    def fill(compute: Callable[..., Any]) -> Callable[..., None]:
        def call(*given: Any) -> None:
            *args, out = given
            out[:] = 0.0
            if not errors:  # nothing is thrown through the solver: where all is zero it ends, and the error is raised
                try:
                    out[:] = compute(*args)
                except Exception as error:
                    errors.append(error)

        return call

    def value(x: Any) -> float:
        out = np.zeros(1)
        fill(values.f)(x, out)
        return float(out[0])

    values = _Values(asked, v.dtype)
    read = lambda x: np.array(x).astype(v.dtype)
    model = unopy.Model(unopy.PROBLEM_NONLINEAR, n, *asked.bounds(n), unopy.ZERO_BASED_INDEXING)
    model.set_objective(unopy.MINIMIZE, value, fill(lambda x: asked.gradient(read(x))))
    if k:
        rows, columns = asked.jacobian.coloring().pattern.nonzero()
        jacobian_of = fill(lambda x: asked.rows(read(x)).data)
        model.set_constraints(k, fill(values.c), *asked.limits, len(rows), rows.tolist(), columns.tolist(), jacobian_of)
    rows, columns = asked.hessian.coloring().pattern.nonzero()
    kept = np.flatnonzero(rows >= columns)

    def curve(x: Any, s: float, y: Any) -> Any:
        return asked.curvature(read(x), s, np.array(y)[:k]).data[kept]

    model.set_lagrangian_hessian(
        len(kept), unopy.LOWER_TRIANGLE, rows[kept].tolist(), columns[kept].tolist(), fill(curve)
    )
    model.set_lagrangian_sign_convention(unopy.MULTIPLIER_POSITIVE)
    model.set_initial_primal_iterate(v.astype(float))
    solver = unopy.UnoSolver()
    solver.set_termination_callback(lambda *_: bool(errors))
    try:
        solver.set_preset(method.preset)
        settings = {"logger": "SILENT", "max_iterations": iterations, "primal_tolerance": 0.1 * tol,
                    "dual_tolerance": 0.1 * tol, **method.options}  # fmt: skip
        for name, setting in settings.items():
            solver.set_option(name, setting)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{title}: Uno(preset={method.preset!r}, options={dict(method.options)!r}): {error}. Presets "
                         "are 'ipopt' and 'filtersqp'; the options are Uno's.") from error  # fmt: skip
    found = solver.optimize(model)
    if errors:
        raise errors[0]
    code = SIGNS.get(found.optimization_status.name, NO_PROGRESS)
    code = POINTS.get(found.solution_status.name, code)
    take = lambda part: np.array(part, float)
    lower, upper = np.abs(take(found.lower_bound_dual_solution)), np.abs(take(found.upper_bound_dual_solution))
    y = take(found.constraint_dual_solution)[:k]
    return _Point(take(found.primal_solution).astype(v.dtype), y, lower, upper, code, found.number_iterations)


def _run_scipy(title: str, asked: Asked, v: Any, tol: float, iterations: int, method: str) -> _Point:
    from scipy import optimize as theirs

    n, k = len(v), asked.m + asked.p
    read, values = lambda x: np.asarray(x).astype(v.dtype), _Values(asked, v.dtype)
    rules: list[Any] = []
    nonlinear: Any = theirs.NonlinearConstraint
    if k:
        rules.append(nonlinear(
            values.c, *asked.limits, jac=lambda x: asked.rows(read(x)),
            hess=lambda x, y: asked.curvature(read(x), 0.0, np.asarray(y)),
        ))  # fmt: skip
    limits: Any = None if asked.problem.lower is None else theirs.Bounds(*asked.bounds(n))
    found: Any = theirs.minimize(
        lambda x: float(values.f(x)), v.astype(float), jac=lambda x: asked.gradient(read(x)),
        hess=lambda x: asked.curvature(read(x), 1.0, np.zeros(k)), method="trust-constr", bounds=limits,
        constraints=rules, options={"maxiter": iterations, "gtol": 0.1 * tol, "xtol": 0.01 * tol},
    )  # fmt: skip
    pull = np.zeros(n) if limits is None else np.asarray(found.v[-1])
    y = np.asarray(found.v[0]) if k else np.zeros(0)
    violated = float(found.constr_violation) > max(1e3 * tol, 1e-6)
    code = MAX_ITERATIONS if found.status == 0 else INFEASIBLE if violated else CONVERGED
    return _Point(read(found.x), y, np.maximum(-pull, 0.0), np.maximum(pull, 0.0), code, int(found.nit))
