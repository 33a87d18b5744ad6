"""Methods of SciPy on the raveled vector, with our gradients where they take some."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint.optimize.iteration import Ending, Limits, as_code
from adjoint.optimize.problem import Problem
from adjoint.optimize.statuses import CONVERGED, MAX_ITERATIONS, NO_PROGRESS, NOT_FINITE
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["run_scipy"]

_GRADIENT_FREE = {"nelder-mead", "powell", "cobyla", "cobyqa"}
_HESSIAN = {"dogleg", "trust-krylov", "trust-constr"}


class _State(NamedTuple):
    value: Value
    gradient: Value
    code: Value


def run_scipy(name: str, problem: Problem, v: Value, limits: Limits) -> Ending:
    """The point that SciPy's method finds, looked at with our gradient."""
    from scipy import optimize as theirs

    start = np.array(v, float) if not isinstance(v, TRACED) else float(v[0])  # a traced value refuses: see the caller
    options: dict[str, Any] = {"maxfun" if name == "tnc" else "maxiter": limits.iterations}
    given: dict[str, Any] = {"tol": float(problem.tol)}
    if name == "slsqp":  # its tolerance is one of values, which is the square of one of gradients
        given["tol"] = max(float(problem.tol) ** 2, problem.eps)
    if name in _GRADIENT_FREE:
        given["fun"] = lambda u: float(problem.value(u))
    else:
        given["fun"], given["jac"] = lambda u: tuple(map(np.asarray, problem.value_and_gradient(u))), True
    if name in _HESSIAN:
        given["hess"] = lambda u: np.asarray(problem.hessian(u))
    if problem.lower is not None and problem.upper is not None:
        limits_of_x: Any = theirs.Bounds
        given["bounds"] = limits_of_x(np.asarray(problem.lower), np.asarray(problem.upper))
    found = theirs.minimize(x0=start, method=name, options=options, **given)
    x = np.asarray(found.x).astype(problem.dtype)
    value, gradient = problem.value_and_gradient(x)
    residual = problem.measure(x, gradient)
    code = CONVERGED if residual <= problem.tol or (name in _GRADIENT_FREE and found.success) else NO_PROGRESS
    if code != CONVERGED:
        problem.note = f"SciPy says: {found.message}"
    code = MAX_ITERATIONS if code != CONVERGED and found.get("nit", found.nfev) >= limits.iterations else code
    code = code if np.isfinite(value) and np.isfinite(residual) else NOT_FINITE
    state = _State(value, gradient, as_code(code))
    return Ending(x, value, gradient, as_code(code), np.int64(found.get("nit", 0)), residual, None, state)
