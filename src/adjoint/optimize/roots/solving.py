"""`root` and `fixed_point`: systems of equations over trees."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint import tree
from adjoint.base.loading import deferred
from adjoint.base.source import user_facing
from adjoint.base.suggestions import did_you_mean
from adjoint.implicit import conditions
from adjoint.implicit.approximate import Unrolled
from adjoint.implicit.function import ImplicitFunction
from adjoint.implicit.roots import equation_for
from adjoint.linear.solvers.iteration import TRACED, both, either, no
from adjoint.optimize.captured import close_over
from adjoint.optimize.interruption import keep_best
from adjoint.optimize.iteration import Iterate, as_code, run
from adjoint.optimize.least_squares.marquardt import LevenbergMarquardt
from adjoint.optimize.least_squares.problem import Residuals
from adjoint.optimize.limits import check_tolerance, is_method
from adjoint.optimize.minimizing import read_limits
from adjoint.optimize.optimum import Optimum
from adjoint.optimize.oracles import prepare_call
from adjoint.optimize.roots.anderson import Anderson, Picard
from adjoint.optimize.roots.newton import Broyden, NewtonRoot, solve_square
from adjoint.optimize.setting import Setting, without_aux
from adjoint.optimize.statuses import CONVERGED, NO_PROGRESS, SINGULAR
from adjoint.program.trace import live_trace

if TYPE_CHECKING:
    from adjoint.sparse.derivatives import jacobian as sparse_jacobian
else:
    sparse_jacobian = deferred("adjoint.sparse.derivatives", "jacobian")

__all__ = ["fixed_point", "root"]

ROOTS: dict[str, Any] = {
    "newton": NewtonRoot,
    "krylov": lambda: NewtonRoot(krylov=True),
    "sparse": lambda: NewtonRoot(sparse=True),
    "broyden": Broyden,
    "lm": LevenbergMarquardt,
}
FIXED: dict[str, Any] = {"anderson": Anderson, "picard": Picard}
MATRIX = 300  # unknowns up to which ∂F is a dense matrix
COLORS = 30  # products up to which it is a sparse one


def _choose(title: str, method: Any, known: dict[str, Any]) -> Any:
    if isinstance(method, str):
        if method.lower() not in known:
            near = did_you_mean(method, known)
            raise ValueError(f"{title}: {method!r} is no method. {near or 'They are: ' + ', '.join(known) + '.'}")
        return known[method.lower()]()
    if not is_method(title, method):
        raise TypeError(f"{title}: method is a {type(method).__name__}; it is one of: {', '.join(known)}.")
    return method


@user_facing
def root(
    F: Callable[..., Any],
    x0: Any,
    *args: Any,
    method: Any = "auto",
    bounds: Any = None,
    tol: Any = None,
    max_iterations: int | None = None,
    max_evaluations: int | None = None,
    scale: Any = None,
    frozen: Any = (),
    callback: Callable[[Iterate], object] | None = None,
    stop: Callable[[Iterate], Any] | None = None,
    progress: bool = False,
    history: bool = False,
    differentiate: Any = "equation",
    check: str = "warn",
    has_aux: bool = False,
) -> Optimum:
    """x with F(x, *args) = 0, from x0: as many equations as unknowns, in any trees.

    It has converged where every equation holds to `tol`. `method` is "newton" (with a search; the default), "krylov"
    (Newton's method without a matrix), "sparse" (with a sparse one, by coloring), "broyden", or "lm" (Levenberg and
    Marquardt's method, which is safe far from a root); "singular" is said where ∂F determines no step. For many
    unknowns the default is "sparse" where few products give ∂F, else "krylov". The other arguments are those of
    `minimize`; the derivative is that of the equation.

    ```python
    F = lambda x, a: np.stack([x[0] ** 2 + x[1] ** 2 - a, x[0] - x[1]])
    found = ad.optimize.root(F, np.array([1.0, 0.5]), 2.0)
    np.round(found.value, 6), found.status  # → ([1.0, 1.0], 'converged')
    np.round(ad.jacobian(lambda a: ad.optimize.root(F, np.array([1.0, 0.5]), a).value)(2.0), 6)  # → [0.25, 0.25]
    ```
    """
    title = "root"
    original = F = prepare_call(F)
    if has_aux:
        F = without_aux(title, original, "equations")
    found = _solve(title, F, F, x0, args, method, ROOTS, bounds, tol, scale, frozen,
                   read_limits(title, max_iterations, max_evaluations, history, callback, stop, progress),
                   differentiate, check)  # fmt: skip
    return dataclasses.replace(found, aux=original(found.value, *args)[1]) if has_aux else found


@user_facing
def fixed_point(
    T: Callable[..., Any],
    x0: Any,
    *args: Any,
    method: Any = "anderson",
    tol: Any = None,
    max_iterations: int | None = None,
    max_evaluations: int | None = None,
    frozen: Any = (),
    callback: Callable[[Iterate], object] | None = None,
    stop: Callable[[Iterate], Any] | None = None,
    progress: bool = False,
    history: bool = False,
    differentiate: Any = "equation",
    check: str = "warn",
    has_aux: bool = False,
) -> Optimum:
    """x with x = T(x, *args), from x0, by "anderson" (the default) or "picard".

    A map that keeps moving points apart is the status "not a contraction". T may be a step of any method: Anderson's
    acceleration then makes it quicker. The derivative is that of the equation x = T(x).

    ```python
    found = ad.optimize.fixed_point(lambda x, a: np.cos(a * x), 0.5, 1.0)
    float(np.round(found.value, 6)), found.status  # → (0.739085, 'converged')
    solve = lambda a: ad.optimize.fixed_point(lambda x: np.cos(a * x), 0.5).value
    float(np.round(ad.grad(solve)(1.0), 6))  # → -0.297474
    ```
    """
    title = "fixed_point"
    original = T = prepare_call(T)
    if has_aux:
        T = without_aux(title, original, "T(x)")
    residual = lambda x, *theta: tree.map(np.negative, conditions.subtract_like(title, x, T(x, *theta)))
    found = _solve(title, residual, conditions.fixed_point(T), x0, args, method, FIXED, None, tol, None, frozen,
                   read_limits(title, max_iterations, max_evaluations, history, callback, stop, progress),
                   differentiate, check)  # fmt: skip
    return dataclasses.replace(found, aux=original(found.value, *args)[1]) if has_aux else found


def _is_sparse(setting: Setting, args: Any) -> bool:
    """Whether ∂F is found from few products, and nothing is traced: a sparse matrix is then a plain one."""
    if live_trace() is not None:
        return False
    flat = lambda v: setting.unknowns.flat(setting.function(setting.unknowns.tree(v), setting.fixed, *args))
    v = setting.unknowns.vector(setting.x0)
    with np.errstate(all="ignore"):
        if np.shape(flat(v)) != v.shape:
            return False
        coloring = sparse_jacobian(flat).coloring(v)
    return len(coloring) <= COLORS and coloring.pattern.nnz <= COLORS * v.size


def _solve(
    title: str, residual: Any, condition: Any, x0: Any, args: Any, method: Any, known: Any, bounds: Any, tol: Any,
    scale: Any, frozen: Any, limits: Any, differentiate: Any, check: str,
) -> Optimum:  # fmt: skip
    unrolled = isinstance(differentiate, Unrolled)
    if not unrolled:
        residual, closed = close_over(residual, x0, args)
        condition, args = (condition, args) if len(closed) == len(args) else (residual, closed)
    setting = Setting.of(title, residual, x0, bounds, scale, frozen, None, False)
    size = setting.unknowns.size
    if method == "auto":
        method = "newton" if size <= MATRIX else "sparse" if _is_sparse(setting, args) else "krylov"
    chosen = _choose(title, method, known)
    eps = float(np.finfo(setting.unknowns.dtype).eps)
    check_tolerance(title, tol)
    tol = (1e-11 if eps < 1e-10 else 1e-5) if tol is None else tol

    def solve(start: Any, known: Any, *theta: Any) -> Any:
        fixed, box, tol = known
        lower, upper = (None, None) if box is None else box
        problem = Residuals(title, lambda x: setting.function(x, fixed, *theta), setting.unknowns, tol, lower, upper,
                            is_square=True)  # fmt: skip
        v = problem.project(setting.unknowns.vector(start))
        problem.counts = {name: problem.counts[name] for name in chosen.needs}
        is_least = isinstance(chosen, LevenbergMarquardt)
        largest = lambda ending: np.max(np.abs(ending.state.residuals if is_least else ending.gradient))
        read = lambda ending: ending._replace(residual=largest(ending), value=largest(ending))
        with np.errstate(all="ignore"), keep_best(title, setting, problem, known, read):
            ending = run(chosen, problem, v, limits)
            measure = largest(ending)
            if is_least:
                # the least sum of squares is a root only where it is zero, or Newton's step is rounding
                rounding = 1e3 * eps * np.maximum(1.0, np.max(np.abs(ending.x)))
                step = solve_square(ending.state.jacobian, ending.state.residuals)
                stuck = both(ending.code == NO_PROGRESS, no(np.max(np.abs(step)) <= rounding))
                least = either(stuck, SINGULAR, either(ending.code == CONVERGED, SINGULAR, ending.code))
                code = either(measure <= np.maximum(tol, rounding), CONVERGED, least)
                ending = ending._replace(code=as_code(code))
        ending = ending._replace(residual=measure, gradient=0 * ending.x)
        x, reports = setting.reported(ending, dict(problem.counts), known)
        reports["fun"] = measure
        return x, reports

    if unrolled:
        x, reports = solve(setting.x0, (*setting.known, tol), *args)
    else:
        equation = equation_for(title, (), "auto", differentiate, check)
        whole = setting.parts.of_function(condition)
        if setting.parts.free is not None:
            whole = setting.function
        equations = lambda x, known, *theta: whole(x, known[0], *theta)
        is_plain = getattr(chosen, "plain", False)
        function = ImplicitFunction(equations, solve, setting.x0, equation, True, title, is_plain)
        x, reports = function((*setting.known, tol), *args)
    count, entries = reports["iterations"], reports["history"]
    if entries is not None and not isinstance(count, TRACED) and np.ndim(count) == 0:
        entries = {name: each[: int(count) + 1] for name, each in entries.items()}
    return Optimum(
        setting.parts.merge(x, setting.fixed), reports["fun"], None, reports["code"], count, reports["evaluations"],
        reports["residual"], tol if isinstance(tol, TRACED) else np.float64(tol), None, reports["active"], entries,
        None, None, f"{title} by {type(chosen).__name__}",
    )  # fmt: skip
