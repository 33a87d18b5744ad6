"""SciPy's least squares with our Jacobian."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint.optimize.foreign import refuse_unused
from adjoint.optimize.iteration import Ending, Limits, as_code
from adjoint.optimize.least_squares.problem import Residuals
from adjoint.optimize.statuses import CONVERGED, MAX_EVALUATIONS, NOT_FINITE
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

    call: Any = least_squares
    found = call(lambda u: np.asarray(problem.value(u)[1]), start, derive, box, name, loss=loss,
                 f_scale=problem.loss_scale, ftol=1e-15, xtol=1e-15, gtol=1e-15, x_scale="jac",
                 max_nfev=limits.iterations if limits.evaluations is None else max(limits.evaluations - 1, 1),
                 )  # fmt: skip
    x = found.x.astype(problem.dtype)
    value, r = problem.value(x)
    scaled, J = problem.jacobian(x, r)
    code = CONVERGED if found.status > 0 else MAX_EVALUATIONS
    g = J.T @ scaled
    code = as_code(code if np.isfinite(value) and np.all(np.isfinite(J)) else NOT_FINITE)
    state = _State(value, g, r, J, code)
    return Ending(x, value, g, code, np.int64(found.nfev), problem.measure(x, g), None, state)
