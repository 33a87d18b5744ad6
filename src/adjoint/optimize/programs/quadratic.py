"""`qp` and `lp`: convex quadratic and linear programs, differentiable in all their data."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.implicit.diagnosis import Watch
from adjoint.implicit.function import ImplicitFunction
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.solvers.iteration import TRACED, either
from adjoint.optimize.derivatives import attach_envelope
from adjoint.optimize.iteration import as_code
from adjoint.optimize.optimum import Optimum, Prices
from adjoint.optimize.programs import sparse_programs  # as a module: sets are programs, and programs use sets
from adjoint.optimize.programs.active_set import find_active, net_prices, polish, run_warm
from adjoint.optimize.programs.certificate import Certificate, check_convex, is_semidefinite, read_matrix, read_vector
from adjoint.optimize.programs.equation import ProgramEquation
from adjoint.optimize.programs.foreign import has_clarabel, solve_elsewhere
from adjoint.optimize.programs.interior_point import Program, prove, run_interior_point
from adjoint.optimize.programs.scaling import apply_units, find_units
from adjoint.optimize.statuses import INFEASIBLE, NOT_FINITE, UNBOUNDED
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
    warm: Any = None,
    tol: float | None = None,
    max_iterations: int = ITERATIONS,
    method: str = "auto",
    check: str = "warn",
) -> Optimum:
    """x that makes ½ xᵀP x + qᵀx smallest, where A x = b, G x ≤ h and lower ≤ x ≤ upper.

    P is symmetric and positive semidefinite (of another matrix the symmetric part counts). The answer is differentiable
    in P, q, A, b, G, h and the bounds, to any order: `value`, `fun`, and `multipliers`, the prices of the constraints,
    with `.equality`, `.inequality`, `.lower` and `.upper`. A bound that is infinite is none. The derivative of `fun` is
    that of the Lagrangian: it is right where x is not unique, and one of the subgradients where prices are not.

    A program that contradicts itself has the status "infeasible", and `certificate` holds multipliers that prove it:
    Aᵀy + Gᵀz = 0, z ≥ 0 and bᵀy + hᵀz < 0. One whose value falls without end is "unbounded", and `certificate` holds a
    direction along which it falls. Their `value` is NaN, so that nobody computes with a point that solves nothing.

    `warm` is an earlier answer to a program of the same form, or its `state`: where the same constraints are active
    again, one factorization is all that it takes.

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
    return _solve("qp", P, q, A, b, G, h, lower, upper, warm, tol, max_iterations, method, check)


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
    warm: Any = None,
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
    return _solve("lp", None, c, A, b, G, h, lower, upper, warm, tol, max_iterations, method, check)


def _matrix(title: str, name: str, M: Any, shape: tuple[int | None, int], dtype: Any) -> Value:
    found = read_matrix(title, name, M, shape, f"q has {shape[1]} numbers")
    return (found.toarray() if hasattr(found, "tocsc") else found).astype(dtype)


def _bounds(title: str, name: str, value: Any, n: int, dtype: Any) -> Value | None:
    if value is None:
        return None
    found = value if isinstance(value, TRACED) else np.asarray(value)
    if found.shape not in ((), (n,)):
        raise ShapeError(
            f"{title}: {name} has shape {found.shape}; it is a number, or has one for each of {n} unknowns."
        )
    if not isinstance(primal(found), TRACED) and np.any(np.isnan(primal(found))):
        raise ValueError(f"{title}: {name} has entries that are NaN; None or an infinite one is no bound.")
    return np.broadcast_to(found.astype(dtype), (n,))


def _standardize(
    title: str, P: Any, q: Any, A: Any, b: Any, G: Any, h: Any, lower: Any, upper: Any
) -> tuple[Program, int, Value | None, Value | None]:
    """The program with bounds among its inequalities, how many were there before, and the bounds."""
    q = q if isinstance(q, TRACED) else np.asarray(q)
    if len(q.shape) != 1 or not q.shape[0]:
        raise ShapeError(f"{title}: q has shape {q.shape}; it is a vector with one number for each unknown.")
    n = q.shape[0]
    P, A, G = (M.to_dense() if isinstance(M, LinearMap) else M for M in (P, A, G))
    # numbers of Python have no precision of their own
    given = [v for v in (P, q, A, b, G, h, lower, upper) if v is not None and not isinstance(v, int | float)]
    dtype = np.result_type(np.float32, *[v.dtype if hasattr(v, "dtype") else np.asarray(v).dtype for v in given])
    dtype = dtype if dtype == np.float32 and q.dtype == np.float32 else np.dtype(np.float64)
    _check_pairs(title, A, b, G, h)
    q = read_vector(title, "q", q, n, dtype)
    P = np.zeros((n, n), dtype) if P is None else _matrix(title, "P", P, (n, n), dtype)
    P = 0.5 * (P + P.T)
    A = np.zeros((0, n), dtype) if A is None else _matrix(title, "A", A, (None, n), dtype)
    b = np.zeros(0, dtype) if b is None else read_vector(title, "b", b, A.shape[0], dtype)
    G = np.zeros((0, n), dtype) if G is None else _matrix(title, "G", G, (None, n), dtype)
    h = np.zeros(0, dtype) if h is None else read_vector(title, "h", h, G.shape[0], dtype)
    count = h.shape[0]
    low, high = _bounds(title, "lower", lower, n, dtype), _bounds(title, "upper", upper, n, dtype)
    low, high = _join_bounds(title, low, high)
    eye = np.eye(n, dtype=dtype)
    rows = [(G, h)] + ([(-eye, -low)] if low is not None else []) + ([(eye, high)] if high is not None else [])
    if len(rows) > 1:
        G, h = np.concatenate([g for g, _ in rows], 0), np.concatenate([r for _, r in rows])
    if h.shape[0]:  # what holds for every x is a row of zeros below one
        free = h == np.inf
        if isinstance(free, TRACED) or np.any(free):
            G, h = np.where(free[:, None], 0.0, G), np.where(free, 1.0, h)
    return Program(P, q, A, b, G, h), count, low, high


def _check_pairs(title: str, A: Any, b: Any, G: Any, h: Any) -> None:
    for left, right, names in ((A, b, "A and b"), (G, h, "G and h")):
        if (left is None) != (right is None):
            raise TypeError(f"{title}: {names} are given together, or neither of them.")


def _join_bounds(title: str, low: Any, high: Any) -> tuple[Any, Any]:
    """Bounds that cross by no more than rounding are one number; those that cross by more are refused where known."""
    if low is None or high is None:
        return low, high
    eps = 64 * np.finfo(low.dtype).eps
    crossed = low > high
    near = np.logical_and(crossed, low - high <= eps * (1.0 + np.abs(low)))
    wrong = np.logical_and(crossed, np.logical_not(near))
    if not isinstance(primal(wrong), TRACED) and np.any(primal(wrong)):
        i = int(np.flatnonzero(primal(wrong))[0])
        a, b = (float(primal(v)[i]) for v in (low, high))
        raise ValueError(f"{title}: lower is {a} and upper {b} at unknown {i}; lower must not be above.")
    plain = not isinstance(near, TRACED)
    return low, high if plain and not np.any(near) else np.where(near, low, high)


def _residual(paired: int, z: Any, data: Any) -> Any:
    """The optimality conditions; an inequality holds as an equation, or has no multiplier."""
    program = Program(*[data[name] for name in Program._fields])
    P, q, A, b, G, h = program
    x, y, price = z["x"], z["equality"], z["inequality"]
    slack, (tau, rho) = h - G @ x, data["units"]
    return {
        "x": P @ x + q + A.T @ y + G.T @ price,
        "equality": A @ x - b,
        "inequality": np.where(find_active(price / rho, slack / tau, paired), -slack, price),
    }


def _lagrangian(z: Any, data: Any) -> Value:
    """The Lagrangian, whose derivative in the data is that of the value, also where x or its prices are not unique."""
    P, q, A, b, G, h = (data[name] for name in Program._fields)
    x = z["x"]
    bound = np.sum(z["equality"] * (A @ x - b)) + np.sum(z["inequality"] * (G @ x - h))
    return 0.5 * np.sum(x * (P @ x)) + np.sum(q * x) + bound


def _solve(
    title: str, P: Any, q: Any, A: Any, b: Any, G: Any, h: Any, lower: Any, upper: Any, warm: Any,
    tol: float | None, max_iterations: int, method: str, check: str,
) -> Optimum:  # fmt: skip
    sparse = any(hasattr(v, "tocsc") for v in (P, A, G))
    known = ("auto", "interior point", "clarabel", *(("highs",) if title == "lp" else ()))
    if method not in known:
        raise ValueError(f"{title}: method={method!r}; it is one of {', '.join(known)}.")
    if method != "interior point" and sparse_programs.is_large(P, q, A, G, LARGE):
        n, chosen = np.shape(q)[0], {"auto": "highs" if title == "lp" else "clarabel"}.get(method, method)
        low, high = (_bounds(title, name, v, n, float) for name, v in (("lower", lower), ("upper", upper)))
        low, high = _join_bounds(title, low, high)
        q = read_vector(title, "q", q, n, float)
        _check_pairs(title, A, b, G, h)
        return sparse_programs.solve_sparse(
            title, P, q, A, b, G, h, low, high, 1e-9 if tol is None else tol, chosen, check
        )
    data, count, low, high = _standardize(title, P, q, A, b, G, h, lower, upper)
    units = find_units(data)
    check_convex(title, apply_units(data, units).P)
    tol = (1e-9 if data.q.dtype == np.float64 else 1e-4) if tol is None else float(tol)
    if not tol > 0:
        raise ValueError(f"{title}: tol is {tol}; it must be above zero.")
    size = data.q.shape[0] + data.b.shape[0] + data.h.shape[0]
    elsewhere = method if method in ("clarabel", "highs") else None
    if method == "auto" and (sparse or size > LARGE) and not any(isinstance(v, TRACED) for v in data):
        elsewhere = "highs" if title == "lp" else "clarabel" if has_clarabel() else None

    # where P is known it has been looked at
    is_convex = is_semidefinite if isinstance(primal(data.P), TRACED) else lambda P: True
    paired = 0 if low is None or high is None else data.q.shape[0]
    start = None if warm is None else _read_warm(title, warm, data)

    def solver(*given: Any) -> Any:
        theta, before = given[-1], given[0] if warm is not None else None
        # in single precision the iterates lose their way before they tell which constraints press
        tau, rho = theta["units"]
        program = Program(*[theta[name].astype(np.float64) for name in Program._fields])
        program = apply_units(program, (tau, rho))
        near = tol if data.q.dtype == np.float64 else min(tol, 1e-6)
        with np.errstate(all="ignore"):
            if elsewhere is None:
                if before is None:
                    found = run_interior_point(program, near, max_iterations)
                else:
                    x, y, z = (before[name].astype(np.float64) for name in ("x", "equality", "inequality"))
                    found = run_warm(program, near, max_iterations, x / tau, y / rho, z / rho)
            else:
                found = solve_elsewhere(title, elsewhere, program, near)
            proof = prove(program, found)
            found = polish(program, found, tol=near, paired=paired)
            found = found._replace(z=net_prices(found.z, paired))
            found = found._replace(code=as_code(either(is_convex(theta["P"] * (tau / rho)), found.code, NOT_FINITE)))
            lost = (found.code == INFEASIBLE) | (found.code == UNBOUNDED) | (found.code == NOT_FINITE)
            solved = either(lost, np.nan, 0.0)
        rounded = lambda v: v.astype(data.q.dtype)
        reports = {"code": found.code, "iterations": found.iterations, "residual": rounded(found.residual),
                   "proof": {"x": rounded(proof[0] / rho), "equality": rounded(proof[1] / tau),
                             "inequality": rounded(proof[2] / tau)}}  # fmt: skip
        kept = {"x": found.x * tau, "equality": found.y * rho, "inequality": found.z * rho}
        return {name: rounded(v + solved) for name, v in kept.items()}, reports

    equation = ProgramEquation(Watch(f"optimize.{title}", check, has_constraints=True), paired)
    residual = partial(_residual, paired)
    function = ImplicitFunction(residual, solver, start, equation, True, f"optimize.{title}", elsewhere is not None)
    z, reports = function({**data._asdict(), "units": units})
    x = z["x"]
    at = tree.map(primal, x)
    fun = 0.5 * np.sum(at * (primal(data.P) @ at)) + np.sum(primal(data.q) * at)
    fun = attach_envelope(_lagrangian, z, fun, (data._asdict(),))
    split = lambda v: _split_prices(v, count, low is not None, high is not None, data.q.shape[0])
    code, proof = reports["code"], reports["proof"]
    failed = isinstance(code, TRACED) or np.any((code == INFEASIBLE) | (code == UNBOUNDED))
    return Optimum(
        x, fun, data.P @ x + data.q, code, reports["iterations"], {"factorization": reports["iterations"]},
        reports["residual"], np.float64(tol), split(z), None, None, tree.map(primal, z), None,
        f"{title} by {elsewhere or 'interior point'}", feasible=_is_feasible(data, primal(x), tol),
        certificate=Certificate(proof["x"], split(proof)) if failed else None,
    )  # fmt: skip


def _is_feasible(data: Program, x: Value, tol: float) -> Any:
    """Whether A x = b and G x ≤ h, against the size of the right sides."""
    A, b, G, h = (primal(v) for v in (data.A, data.b, data.G, data.h))
    off = np.concatenate([np.abs(A @ x - b), np.maximum(G @ x - h, 0.0), 0.0 * x[:1]])
    size = 1.0 + np.max(np.abs(np.concatenate([b, h, 0.0 * x[:1]])))
    return np.max(off) <= 10.0 * tol * np.where(np.isnan(size), 1.0, size)


def _read_warm(title: str, warm: Any, data: Program) -> Any:
    """(x, y, z) of an earlier answer; one of another form is refused."""
    found = getattr(warm, "state", warm)
    sizes = {"x": data.q, "equality": data.b, "inequality": data.h}
    if not isinstance(found, dict) or set(found) != set(sizes):
        raise TypeError(f"{title}: warm is a {type(warm).__name__}; it is an earlier answer of qp or lp, or its state.")
    for name, like in sizes.items():
        if np.shape(found[name]) != like.shape:
            raise ShapeError(f"{title}: warm is of a program with other sizes: {name} has shape {np.shape(found[name])}"
                             f", where {like.shape} is needed.")  # fmt: skip
    # an answer that is no solution starts nothing
    return {name: np.nan_to_num(found[name]).astype(like.dtype) for name, like in sizes.items()}


def _split_prices(z: Any, count: int, has_lower: bool, has_upper: bool, n: int) -> Any:
    price = z["inequality"]
    lower = price[count : count + n] if has_lower else np.zeros(0, price.dtype)
    upper = price[len(price) - n :] if has_upper else np.zeros(0, price.dtype)
    return Prices(z["equality"], price[:count], lower, upper)
