"""Methods of SciPy on the raveled vector, with our gradients where they take some."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint.optimize.iteration import Ending, Limits, as_code, note_best
from adjoint.optimize.problem import Problem
from adjoint.optimize.statuses import CONVERGED, INTERRUPTED, MAX_EVALUATIONS, MAX_ITERATIONS, NO_PROGRESS, NOT_FINITE
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["refuse_unused", "run_scipy"]

_GRADIENT_FREE = {"nelder-mead", "powell", "cobyla", "cobyqa"}
_HESSIAN = {"dogleg", "trust-krylov", "trust-constr"}


class _State(NamedTuple):
    value: Value
    gradient: Value
    code: Value


class _Spent(Exception):
    """All evaluations are used up."""


def refuse_unused(title: str, name: str, limits: Limits, warm: Any = None) -> None:
    """What SciPy's methods would ignore is refused."""
    options = {"callback": limits.callback, "stop": limits.stop, "progress": limits.monitor, "warm": warm,
               "history": limits.history and not limits.certify}  # fmt: skip
    given = [f"{option}=" for option, value in options.items() if value is not None and value is not False]
    if given:
        raise ValueError(f"{title}: {name} is a method of SciPy's, where {', '.join(given)} does nothing; leave it "
                         "out, or use a method of ours.")  # fmt: skip


def run_scipy(name: str, problem: Problem, v: Value, limits: Limits) -> Ending:
    """The best point that SciPy's method sees, looked at with our gradient."""
    from scipy import optimize as theirs

    start = np.array(v, float) if not isinstance(v, TRACED) else float(v[0])  # a traced value refuses: see the caller
    options: dict[str, Any] = {"maxfun" if name == "tnc" else "maxiter": limits.iterations}
    given: dict[str, Any] = {"tol": float(problem.tol)}
    if name == "slsqp":  # its tolerance is one of values, which is the square of one of gradients
        given["tol"] = max(float(problem.tol) ** 2, problem.eps)
    is_free = name in _GRADIENT_FREE
    given["jac"] = None if is_free else True
    best: Any = (np.inf, start, np.full_like(start, np.nan))  # with the gradient, where the method asks for it

    def look(u: Any) -> Any:
        nonlocal best
        # the last evaluation is that of the answer
        if limits.evaluations is not None and problem.evaluations() >= limits.evaluations - 1:
            raise _Spent
        value, gradient = (problem.value(u), None) if is_free else problem.value_and_gradient(u)
        value = float(value)
        if value < best[0] and problem.is_feasible(u):
            best = value, np.array(u), best[2] if is_free else np.array(gradient, float)
        return value if is_free else (value, np.asarray(gradient, float))

    given["fun"] = look
    if name in _HESSIAN:
        given["hess"] = lambda u: np.asarray(problem.hessian(u), float)
    if problem.lower is not None and problem.upper is not None:
        limits_of_x: Any = theirs.Bounds
        given["bounds"] = limits_of_x(np.asarray(problem.lower), np.asarray(problem.upper))
    try:
        found = theirs.minimize(x0=start, method=name, options=options, **given)
    except _Spent:
        found = theirs.OptimizeResult(x=best[1], fun=best[0], success=False, nit=0, message="")
    except KeyboardInterrupt as error:
        code = as_code(INTERRUPTED)
        state = _State(np.float64(best[0]), best[2], code)
        residual = problem.measure(best[1], best[2])
        note_best(error, Ending(best[1], state.value, best[2], code, np.int64(0), residual, None, state))
        raise
    x = np.asarray(best[1] if best[0] < found.fun else found.x).astype(problem.dtype)
    value, gradient = problem.value_and_gradient(x)
    residual = problem.measure(x, gradient)
    code = CONVERGED if residual <= problem.tol or (is_free and found.success) else NO_PROGRESS
    if code != CONVERGED and found.message:
        problem.note = f"SciPy says: {found.message}"
    if code != CONVERGED:
        spent = not found.message
        full = not spent and found.get("nit", found.nfev) >= limits.iterations
        code = MAX_EVALUATIONS if spent else MAX_ITERATIONS if full else code
    code = code if np.isfinite(value) and np.isfinite(residual) else NOT_FINITE
    state = _State(value, gradient, as_code(code))
    return Ending(x, value, gradient, as_code(code), np.int64(found.get("nit", 0)), residual, None, state)
