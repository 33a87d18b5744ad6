"""SciPy's least squares with our Jacobian."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint.optimize.foreign import refuse_unused
from adjoint.optimize.iteration import Ending, Limits, as_code, note_best
from adjoint.optimize.least_squares.problem import Residuals
from adjoint.optimize.statuses import CONVERGED, INTERRUPTED, MAX_EVALUATIONS, NOT_FINITE
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["run_scipy"]


class _State(NamedTuple):
    value: Value
    gradient: Value
    residuals: Value
    jacobian: Value
    code: Value


def run_scipy(name: str, problem: Residuals, v: Value, limits: Limits, loss: Any) -> Ending:
    """The point that SciPy's method finds."""
    from scipy.optimize import least_squares

    refuse_unused(problem.title, name, limits)
    start = np.array(v, float) if not isinstance(v, TRACED) else float(v[0])  # a traced value refuses: see the caller
    box = (-np.inf, np.inf) if problem.lower is None else (np.asarray(problem.lower), np.asarray(problem.upper))

    def derive(u: Any) -> Any:
        problem.count("jacobian")
        return np.asarray(problem.plain_jacobian(u, problem.raw(u)))

    best: Any = (np.inf, start, start)  # with the residuals

    def look(u: Any) -> Any:
        nonlocal best
        value, r = problem.value(u)
        if float(value) < best[0]:
            best = float(value), np.array(u), np.array(r)
        return np.asarray(r)

    call: Any = least_squares
    try:
        found = call(look, start, derive, box, name, loss=loss,
                     f_scale=problem.loss_scale, ftol=1e-15, xtol=1e-15, gtol=1e-15, x_scale="jac",
                     max_nfev=limits.iterations if limits.evaluations is None else max(limits.evaluations - 1, 1),
                     )  # fmt: skip
    except KeyboardInterrupt as error:
        value, x, r = best
        unknown, code = np.full_like(x, np.nan), as_code(INTERRUPTED)
        state = _State(np.float64(value), unknown, r, np.full((len(r), len(x)), np.nan), code)
        note_best(error, Ending(x, state.value, unknown, code, np.int64(0), np.float64(np.nan), None, state))
        raise
    x = found.x.astype(problem.dtype)
    value, r = problem.value(x)
    scaled, J = problem.jacobian(x, r)
    code = CONVERGED if found.status > 0 else MAX_EVALUATIONS
    g = J.T @ scaled
    code = as_code(code if np.isfinite(value) and np.all(np.isfinite(J)) else NOT_FINITE)
    state = _State(value, g, r, J, code)
    return Ending(x, value, g, code, np.int64(found.nfev), problem.measure(x, g), None, state)
