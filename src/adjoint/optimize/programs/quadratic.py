"""`qp` and `lp`: convex quadratic and linear programs, differentiable in all their data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint.base.errors import DtypeError, ShapeError
from adjoint.base.source import user_facing
from adjoint.implicit.diagnosis import Watch
from adjoint.implicit.function import ImplicitFunction
from adjoint.linear.solvers.iteration import TRACED
from adjoint.optimize.optimum import Optimum
from adjoint.optimize.programs.equation import ProgramEquation
from adjoint.optimize.programs.foreign import has_clarabel, solve_elsewhere
from adjoint.optimize.programs.interior_point import Program, find_active, polish, run_interior_point
from adjoint.program.trace import primal
from adjoint.program.types import Value

__all__ = ["lp", "qp"]

ITERATIONS = 100
LARGE = 1500  # unknowns and constraints: from here on a sparse solver is quicker


@user_facing
def qp(
    P: Any,
    q: Any,
    *,
    A: Any = None,
    b: Any = None,
    G: Any = None,
    h: Any = None,
    lower: Any = None,
    upper: Any = None,
    tol: float | None = None,
    max_iterations: int = ITERATIONS,
    method: str = "auto",
    check: str = "warn",
) -> Optimum:
    """x that makes ½ xᵀP x + qᵀx smallest, where A x = b, G x ≤ h and lower ≤ x ≤ upper.

    P is symmetric and positive semidefinite (of another matrix the symmetric part counts). The answer is differentiable
    in P, q, A, b, G, h and the bounds, to any order: `value`, `fun`, and `multipliers`, the prices of the constraints,
    with `.equality`, `.inequality`, `.lower` and `.upper`. A bound that is infinite is none. Programs that contradict
    themselves, or whose value falls without end, have the statuses "infeasible" and "unbounded".

    `method` "interior point" is dense, compiles, and solves a batch in one call; "clarabel" takes sparse matrices too
    (the package must be installed). "auto" chooses by size.

    ```python
    P, q = np.eye(2), np.array([-1.0, -2.0])
    found = ad.optimize.qp(P, q, G=np.array([[1.0, 1.0]]), h=np.array([1.0]))
    np.round(found.value, 9), np.round(found.multipliers.inequality, 9)  # → ([0.0, 1.0], [1.0])
    price = lambda h: ad.optimize.qp(P, q, G=np.array([[1.0, 1.0]]), h=h).multipliers.inequality
    np.round(ad.jacobian(price)(np.array([1.0])), 9)  # → [[-0.5]]
    ```
    """
    return _solve("qp", P, q, A, b, G, h, lower, upper, tol, max_iterations, method, check)


@user_facing
def lp(
    c: Any,
    *,
    A: Any = None,
    b: Any = None,
    G: Any = None,
    h: Any = None,
    lower: Any = None,
    upper: Any = None,
    tol: float | None = None,
    max_iterations: int = ITERATIONS,
    method: str = "auto",
    check: str = "warn",
) -> Optimum:
    """x that makes cᵀx smallest, where A x = b, G x ≤ h and lower ≤ x ≤ upper.

    As `qp`, without P. The solution is a vertex, which moves with b, h and the bounds, and does not move with c.
    `method` "highs" is SciPy's solver, for large and sparse programs.

    ```python
    found = ad.optimize.lp(np.array([-1.0, -2.0]), G=np.array([[1.0, 1.0]]), h=np.array([1.0]), lower=0.0)
    np.round(found.value, 9), float(np.round(found.fun, 9))  # → ([0.0, 1.0], -2.0)
    ```
    """
    return _solve("lp", None, c, A, b, G, h, lower, upper, tol, max_iterations, method, check)


@final
@dataclass(frozen=True, eq=False)
class Prices:
    """The multipliers of a program, by kind of constraint: how much a unit more of each right side would save."""

    equality: Value
    inequality: Value
    lower: Value
    upper: Value


def _array(title: str, name: str, value: Any, shape: tuple[int | None, ...], dtype: Any) -> Value:
    """A vector or matrix of a program, which must have its shape."""
    if hasattr(value, "toarray"):
        value = value.toarray()
    found = value if isinstance(value, TRACED) else np.asarray(value)
    if found.dtype.kind not in "fiub":
        raise DtypeError(f"{title}: {name} has dtype {found.dtype}; programs are of real numbers.")
    wrong = len(found.shape) != len(shape) or any(n is not None and n != m for n, m in zip(shape, found.shape))
    if wrong:
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise ShapeError(f"{title}: {name} has shape {found.shape}; it must be ({wanted}), since q has {shape[-1]} "
                         "numbers." if len(shape) == 2 else
                         f"{title}: {name} has shape {found.shape}; it must be ({wanted},).")  # fmt: skip
    return found.astype(dtype)


def _bounds(title: str, name: str, value: Any, n: int, dtype: Any) -> Value | None:
    if value is None:
        return None
    found = value if isinstance(value, TRACED) else np.asarray(value)
    if found.shape not in ((), (n,)):
        raise ShapeError(
            f"{title}: {name} has shape {found.shape}; it is a number, or has one for each of {n} unknowns."
        )
    return np.broadcast_to(found.astype(dtype), (n,))


def _standardize(
    title: str, P: Any, q: Any, A: Any, b: Any, G: Any, h: Any, lower: Any, upper: Any
) -> tuple[Program, int, Value | None, Value | None]:
    """The program with bounds among its inequalities, how many were there before, and the bounds."""
    q = q if isinstance(q, TRACED) else np.asarray(q)
    if len(q.shape) != 1 or not q.shape[0]:
        raise ShapeError(f"{title}: q has shape {q.shape}; it is a vector with one number for each unknown.")
    n = q.shape[0]
    given = [v for v in (P, q, A, b, G, h, lower, upper) if v is not None]
    dtype = np.result_type(np.float32, *[v.dtype if hasattr(v, "dtype") else np.asarray(v).dtype for v in given])
    dtype = dtype if dtype == np.float32 and q.dtype == np.float32 else np.dtype(np.float64)
    for left, right, names in ((A, b, "A and b"), (G, h, "G and h")):
        if (left is None) != (right is None):
            raise TypeError(f"{title}: {names} are given together, or neither of them.")
    q = q.astype(dtype)
    P = np.zeros((n, n), dtype) if P is None else _array(title, "P", P, (n, n), dtype)
    P = 0.5 * (P + P.T)
    A = np.zeros((0, n), dtype) if A is None else _array(title, "A", A, (None, n), dtype)
    b = np.zeros(0, dtype) if b is None else _array(title, "b", b, (A.shape[0],), dtype)
    G = np.zeros((0, n), dtype) if G is None else _array(title, "G", G, (None, n), dtype)
    h = np.zeros(0, dtype) if h is None else _array(title, "h", h, (G.shape[0],), dtype)
    count = h.shape[0]
    low, high = _bounds(title, "lower", lower, n, dtype), _bounds(title, "upper", upper, n, dtype)
    _check_bounds(title, low, high)
    eye = np.eye(n, dtype=dtype)
    rows = [(G, h)] + ([(-eye, -low)] if low is not None else []) + ([(eye, high)] if high is not None else [])
    if len(rows) > 1:
        G, h = np.concatenate([g for g, _ in rows], 0), np.concatenate([r for _, r in rows])
    if h.shape[0]:  # what holds for every x is a row of zeros below one
        free = h == np.inf
        if isinstance(free, TRACED) or np.any(free):
            G, h = np.where(free[:, None], 0.0, G), np.where(free, 1.0, h)
    return Program(P, q, A, b, G, h), count, low, high


def _check_bounds(title: str, low: Any, high: Any) -> None:
    if low is None or high is None or isinstance(low, TRACED) or isinstance(high, TRACED):
        return
    wrong = np.flatnonzero(low > high)
    if wrong.size:
        i = int(wrong[0])
        raise ValueError(f"{title}: lower is {low[i]} and upper {high[i]} at unknown {i}; lower must not be above.")


def _residual(z: Any, data: Any) -> Any:
    """The optimality conditions; an inequality holds as an equation, or has no multiplier."""
    program = Program(*[data[name] for name in Program._fields])
    P, q, A, b, G, h = program
    x, y, price = z["x"], z["equality"], z["inequality"]
    slack = h - G @ x
    return {
        "x": P @ x + q + A.T @ y + G.T @ price,
        "equality": A @ x - b,
        "inequality": np.where(find_active(price, slack), -slack, price),
    }


def _solve(
    title: str, P: Any, q: Any, A: Any, b: Any, G: Any, h: Any, lower: Any, upper: Any, tol: float | None,
    max_iterations: int, method: str, check: str,
) -> Optimum:  # fmt: skip
    sparse = any(hasattr(v, "tocsc") for v in (P, A, G))
    known = ("auto", "interior point", "clarabel", *(("highs",) if title == "lp" else ()))
    if method not in known:
        raise ValueError(f"{title}: method={method!r}; it is one of {', '.join(known)}.")
    data, count, low, high = _standardize(title, P, q, A, b, G, h, lower, upper)
    _check_convex(title, data.P)
    tol = (1e-9 if data.q.dtype == np.float64 else 1e-4) if tol is None else float(tol)
    if not tol > 0:
        raise ValueError(f"{title}: tol is {tol}; it must be above zero.")
    size = data.q.shape[0] + data.b.shape[0] + data.h.shape[0]
    elsewhere = method if method in ("clarabel", "highs") else None
    if method == "auto" and (sparse or size > LARGE) and not any(isinstance(v, TRACED) for v in data):
        elsewhere = "highs" if title == "lp" else "clarabel" if has_clarabel() else None

    def solver(theta: Any) -> Any:
        program = Program(*[theta[name] for name in Program._fields])
        with np.errstate(all="ignore"):
            found = (
                run_interior_point(program, tol, max_iterations)
                if elsewhere is None
                else solve_elsewhere(title, elsewhere, program, tol)
            )
            found = polish(program, found)
        reports = {"code": found.code, "iterations": found.iterations, "residual": found.residual}
        return {"x": found.x, "equality": found.y, "inequality": found.z}, reports

    equation = ProgramEquation(Watch(f"optimize.{title}", check))
    function = ImplicitFunction(_residual, solver, None, equation, True, f"optimize.{title}", elsewhere is not None)
    z, reports = function(data._asdict())
    x = z["x"]
    fun = 0.5 * np.sum(x * (data.P @ x)) + np.sum(data.q * x)
    prices = _split_prices(z, count, low is not None, high is not None, data.q.shape[0])
    gradient = data.P @ x + data.q
    name = f"{title} by {elsewhere or 'interior point'}"
    return Optimum(
        x, fun, gradient, reports["code"], reports["iterations"], {"factorization": reports["iterations"]},
        reports["residual"], np.float64(tol), prices, None, None, None, None, name,
    )  # fmt: skip


def _split_prices(z: Any, count: int, has_lower: bool, has_upper: bool, n: int) -> Any:
    price = z["inequality"]
    lower = price[count : count + n] if has_lower else np.zeros(0, price.dtype)
    upper = price[len(price) - n :] if has_upper else np.zeros(0, price.dtype)
    return Prices(z["equality"], price[:count], lower, upper)


def _check_convex(title: str, P: Value) -> None:
    """A matrix with a negative eigenvalue has no smallest value, or many local ones."""
    if title == "lp" or isinstance(P, TRACED):
        return
    P = primal(P)
    if not np.all(np.isfinite(P)):
        raise ValueError(f"{title}: P has entries that are not finite.")
    lowest = np.linalg.eigvalsh(P)[0] if P.shape[0] <= 1000 else 0.0
    if lowest < -1e-9 * max(1.0, float(np.max(np.abs(P)))):
        raise ValueError(
            f"{title}: P is not positive semidefinite: its smallest eigenvalue is {lowest:.3g}, so that the program is "
            "not convex. Use minimize with subject_to= for a local minimum."
        )
