"""`solve_bvp` under SciPy's name: y′ = f(x, y, p), bc(yₐ, y_b, p) = 0."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.integrate as theirs
from scipy.optimize import OptimizeResult

from adjoint.base.errors import UnsupportedError
from adjoint.base.source import user_facing
from adjoint.conversion.driver import prepare
from adjoint.integrate.boundary import BoundarySolution, solve_boundary
from adjoint.integrate.collocation import MAX_NODES, SINGULAR
from adjoint.integrate.scipy_names.choice import try_theirs
from adjoint.integrate.system import Arguments, Layout, trace_function
from adjoint.program.types import ArrayType, Value
from adjoint.scipy.arguments import floating
from adjoint.tree import structure

__all__ = ["solve_bvp"]

TITLE = "scipy.integrate.solve_bvp"
TIGHT = 1e-6  # the loosest tolerance: derivatives of coarse solutions are coarser


@user_facing
@functools.wraps(theirs.solve_bvp)
def solve_bvp(
    fun: Any,
    bc: Any,
    x: Any,
    y: Any,
    p: Any = None,
    S: Any = None,
    fun_jac: Any = None,
    bc_jac: Any = None,
    tol: Any = 1e-3,
    max_nodes: Any = 1000,
    verbose: int = 0,
    bc_tol: Any = None,
) -> Any:
    plain = lambda: theirs.solve_bvp(fun, bc, x, y, p, S, fun_jac, bc_jac, tol, max_nodes, verbose, bc_tol)
    found = try_theirs((x, y, p, S), plain, lambda: _read(fun, bc, y, p))
    if found is not None:
        return found[0]
    if S is not None:
        raise UnsupportedError(f"{TITLE}: S, a singular term, has no derivative here. Start a little behind the "
                               "singular end, with the series of the solution as condition.")  # fmt: skip
    guess = floating(y)
    if guess.ndim != 2:
        raise ValueError(
            f"{TITLE}: y has shape {guess.shape}; it has a row for each component, a column for each node."
        )
    f, conditions = _functions(fun, bc, p is not None)
    start = None if p is None else np.reshape(floating(p), (-1,))
    solved = solve_boundary(
        f, conditions, floating(x), np.transpose(guess), parameters=start, tol=min(float(tol), TIGHT),
        max_nodes=int(max_nodes),
    )  # fmt: skip
    return _result(solved)


def _functions(fun: Any, bc: Any, has_parameters: bool) -> tuple[Any, Any]:
    """SciPy's function of all nodes as one of a node; both give vectors."""
    run, edge = prepare(fun), prepare(bc)

    def f(t: Value, y: Value, *p: Value) -> Value:
        value: Any = floating(run(np.reshape(t, (1,)), y[:, None], *p))
        return np.reshape(np.broadcast_to(np.reshape(value, (value.shape[0], -1)), (y.shape[0], 1)), y.shape).astype(
            y.dtype
        )

    def conditions(a: Value, b: Value, *p: Value) -> Value:
        return np.reshape(floating(edge(a, b, *p)), (-1,))

    return f, conditions


def _read(fun: Any, bc: Any, y: Any, p: Any) -> Any:
    """What both functions close over."""
    f, conditions = _functions(fun, bc, p is not None)
    kind = ArrayType(np.shape(y)[:1], np.dtype(complex if np.iscomplexobj(y) else float))
    given = Arguments(() if p is None else (np.atleast_1d(np.asarray(p, float)),))
    one = trace_function(TITLE, "fun", f, Layout(structure(0.0), [kind]), given)
    pair = Layout(structure((0.0, 0.0)), [kind, kind])
    two = trace_function(TITLE, "bc", lambda t, y, *rest: conditions(y[0], y[1], *rest), pair, given)
    return one.theta, two.theta


class _Spline:
    """`sol` of the result: y at points, by SciPy's cubics, with derivatives."""

    def __init__(self, found: BoundarySolution) -> None:
        self._found = found
        self.x = found.mesh

    def __call__(self, t: Any) -> Value:
        rows = self._found.at(floating(t))
        return np.moveaxis(rows, -1, 0)


def _result(found: BoundarySolution) -> Any:
    code: Any = found.code
    status = np.where(code == 0, 0, np.where(code == SINGULAR, 2, np.where(code == MAX_NODES, 1, 3)))
    message = found.advice or "The algorithm converged to the desired accuracy."
    return OptimizeResult(
        sol=_Spline(found), p=found.parameters, x=found.mesh, y=np.transpose(found.values),
        yp=np.transpose(found.rates),
        rms_residuals=found.residuals, niter=found.iterations, status=status, message=message, success=status == 0,
    )  # fmt: skip
