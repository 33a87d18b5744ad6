"""`linprog`: the vertex that solves a linear program moves with the constraints that hold there.

At a vertex where exactly as many constraints hold as there are unknowns, and all of them press, x is a smooth function
of the data: its derivative is that of the linear equations of the active set, and the multipliers are the prices.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.optimize as theirs

from adjoint.base.errors import SolveError, UnsupportedError
from adjoint.base.source import user_facing
from adjoint.optimize.scipy_names.bounds import (
    constrained_equation,
    kkt_condition,
    kkt_unknowns,
    pairs_of,
    positions_of,
    split_rows,
)
from adjoint.optimize.scipy_names.results import DifferentiableResult
from adjoint.optimize.scipy_names.solutions import INTEGER, Found, arguments_of, find
from adjoint.program.types import ArrayType
from adjoint.scipy.arguments import array

__all__ = ["linprog"]

_TITLE = "scipy.optimize.linprog"


def _limits(bounds: Any, count: int) -> tuple[Any, Any]:
    """(lower, upper): one pair for all unknowns, or one for each."""
    if bounds is None:
        return np.full(count, 0.0), np.full(count, np.inf)
    if isinstance(bounds, list | tuple) and len(bounds) == 2 and not isinstance(bounds[0], list | tuple | np.ndarray):
        bounds = [tuple(bounds)] * count
    found = pairs_of(list(bounds) * count if len(bounds) == 1 else bounds, count)
    assert found is not None
    return found


@user_facing
@functools.wraps(theirs.linprog)
def linprog(*args: Any, **kwargs: Any) -> Any:
    given = arguments_of(theirs.linprog, args, kwargs)
    names = ("c", "A_ub", "b_ub", "A_eq", "b_eq")
    data = {name: _dense(given.pop(name)) for name in names if given.get(name) is not None}
    count = data["c"].shape[0]
    if given.get("integrality") is not None and np.any(given["integrality"]):
        raise UnsupportedError(f"{_TITLE}: whole unknowns have no derivative, so integrality= is not taken. "
                               "Call it outside of the transformation.")  # fmt: skip
    low, high = _limits(given.pop("bounds", None), count)

    def asked(x: Any) -> dict[str, Any]:
        rows = [(data["A_ub"] @ x - data["b_ub"], -np.inf, 0.0)] if "A_ub" in data else []
        rows += [(data["A_eq"] @ x - data["b_eq"], 0.0, 0.0)] if "A_eq" in data else []
        return {"fun": np.sum(data["c"] * x), "data": data, "low": low, "high": high} | split_rows(
            [*rows, (x, low, high)]
        )

    def run(plain: Any, settings: dict[str, Any]) -> Any:
        at = plain.at(np.zeros(count))
        answer = theirs.linprog(**at["data"], bounds=np.stack([at["low"], at["high"]], axis=1), **settings)
        if not answer.success:
            raise SolveError(f"{_TITLE} found no solution ({answer.message}), so that there is none to differentiate.")
        return answer, [answer.x, answer.status, answer.nit]

    kind = ArrayType((count,), np.dtype(float))
    found = find(
        _TITLE, asked, kind, given, run, [INTEGER, INTEGER], kkt_condition, constrained_equation(_TITLE),
        kkt_unknowns(_TITLE),
    )  # fmt: skip
    return theirs.linprog(*args, **kwargs) if found is None else _result(found, data, low, high)


def _dense(value: Any) -> Any:
    return (value.toarray() if hasattr(value, "toarray") else array(value)) * 1.0


def _result(found: Found, data: dict[str, Any], low: Any, high: Any) -> Any:
    """SciPy's fields, with the prices of all constraints (marginals), which have derivatives too."""
    x, count = found.x, len(found.x)
    price, equal = found.unknowns["inequality"]["given"], found.unknowns["equality"]
    rows, lines = (len(data[name]) if name in data else 0 for name in ("b_ub", "b_eq"))
    fixed, above, below = positions_of(low, high, count)
    m = rows + len(above)
    slack = data["b_ub"] - data["A_ub"] @ x if rows else np.zeros(0)
    con = data["b_eq"] - data["A_eq"] @ x if lines else np.zeros(0)
    lower = np.eye(count)[:, above] @ price[rows:m] - np.eye(count)[:, fixed] @ equal[lines:]
    part: Any = lambda residual, marginals: DifferentiableResult(residual=residual, marginals=marginals)
    return DifferentiableResult(
        x=x, fun=np.sum(data["c"] * x), slack=slack, con=con, success=found.reports[0] == 0, status=found.reports[0],
        nit=found.reports[1], message="" if found.raw is None else found.raw.message,
        ineqlin=part(slack, -price[:rows]), eqlin=part(con, -equal[:lines]), lower=part(x - low, lower),
        upper=part(high - x, -(np.eye(count)[:, below] @ price[m:])),
    )  # fmt: skip
