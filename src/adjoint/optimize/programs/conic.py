"""`conic`: convex programs over cones, solved by Clarabel and differentiated by their optimality conditions.

    minimize ½ xᵀP x + qᵀx   subject to   A x + s = b,   s ∈ K = K₁ × K₂ × …

With multipliers y in the dual cone, x and y are the solution where

    P x + q + Aᵀy = 0    and    s = Π(s - y),  s = b - A x,  with the projection Π onto K,

which is one equation in (x, y): its derivative is that of the projections.
"""

# pyright: basic

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.gradients import vmap
from adjoint.api.jacobians import jacfwd
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.base.source import user_facing
from adjoint.base.suggestions import did_you_mean
from adjoint.implicit.diagnosis import Watch
from adjoint.implicit.equation import LinearizedEquation
from adjoint.implicit.function import ImplicitFunction
from adjoint.optimize.derivatives import attach_envelope
from adjoint.optimize.optimum import Optimum
from adjoint.optimize.programs.certificate import Certificate, check_convex, read_matrix
from adjoint.optimize.programs.foreign import HIGHS, clarabel_code, need_clarabel, prove_by_highs
from adjoint.optimize.programs.scaling import choose_units
from adjoint.optimize.sets.cones import exponential_cone, psd, second_order_cone
from adjoint.optimize.statuses import CONVERGED, INFEASIBLE, NO_PROGRESS, UNBOUNDED
from adjoint.program.trace import TRACED, primal
from adjoint.program.types import Value
from adjoint.scipy.sparse.arrays import SparseArray

__all__ = ["CONES", "conic", "is_sparse", "solve_over_cones"]

CONES = ("zero", "nonnegative", "second order", "exponential", "psd")
DENSE = 600  # unknowns and rows up to which the matrix of the conditions is dense
CORRECTIONS = 6
Cones = list[tuple[str, int]]


@user_facing
def conic(P: Any, q: Any, A: Any, b: Any, cones: Any, *, tol: float = 1e-9, check: str = "warn") -> Optimum:
    """x that makes ½ xᵀP x + qᵀx smallest, where b - A x lies in a product of cones. It needs the package clarabel.

    `cones` is a list of pairs (kind, size), for as many rows of A each: ("zero", n) are equations, ("nonnegative", n)
    inequalities A x ≤ b, ("second order", n) vectors (t, z) with ‖z‖ ≤ t, ("exponential", 3) vectors (x, y, z) with
    y exp(x / y) ≤ z, and ("psd", n) stands for n² rows, a positive semidefinite n × n matrix row by row (its symmetric
    part counts). P may be None; P and A may be sparse or linear maps.

    `value`, `fun` and `multipliers` (a vector like b, in the dual cone) are differentiable in P, q, A and b. What has
    no solution has a `certificate`, as with `qp`.

    ```python
    A, b = -np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([0.0, -3.0, -4.0])
    nearest = lambda b: ad.optimize.conic(None, np.array([0.0, 0.0, 1.0]), A, b, [("second order", 3)])
    np.round(nearest(b).value, 6)  # → [3.0, 4.0, 0.0]
    ```
    """
    title = "conic"
    kinds = _read_cones(title, cones)
    P, q, A, b = _read(title, P, q, A, b, kinds)
    check_convex(title, P)
    return solve_over_cones(title, P, q, A, b, kinds, tol, check, "clarabel", lambda y: y)


def _read_cones(title: str, cones: Any) -> Cones:
    found: Cones = []
    for cone in cones:
        pair = (cone, 3) if cone == "exponential" else cone
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"{title}: a cone is a pair (kind, size), such as ('nonnegative', 4), not {cone!r}.")
        kind, size = str(pair[0]).lower().replace("_", " ").replace("-", " "), int(pair[1])
        if kind not in CONES:
            raise ValueError(f"{title}: {pair[0]!r} is no cone. {did_you_mean(kind, CONES) or 'They are:'} "
                             f"{', '.join(CONES)}.")  # fmt: skip
        if size < 1 or (kind == "exponential" and size != 3):
            wanted = "3 rows" if kind == "exponential" else "one row or more"
            raise ValueError(f"{title}: the cone {kind!r} has size {size}; it has {wanted}.")
        found.append((kind, size))
    return found


def _rows(cone: tuple[str, int]) -> int:
    return cone[1] ** 2 if cone[0] == "psd" else cone[1]


def is_sparse(M: Any) -> bool:
    """Whether it is a sparse matrix, of plain or of traced entries."""
    return hasattr(M, "tocsc")


def _read(title: str, P: Any, q: Any, A: Any, b: Any, cones: Cones) -> tuple[Any, Any, Any, Any]:
    q = q if isinstance(q, TRACED) else np.asarray(q)
    b = b if isinstance(b, TRACED) else np.asarray(b)
    for name, v in (("q", q), ("b", b)):
        if len(v.shape) != 1 or not v.shape[0]:
            raise ShapeError(f"{title}: {name} has shape {v.shape}; it is a vector with one number or more.")
        if v.dtype.kind not in "fiub":
            raise DtypeError(f"{title}: {name} has dtype {v.dtype}; programs are of real numbers.")
        if not isinstance(primal(v), TRACED) and not np.all(np.isfinite(primal(v))):
            raise ValueError(f"{title}: {name} has entries that are not finite.")
    n, m = q.shape[0], b.shape[0]
    rows = sum(map(_rows, cones))
    if rows != m:
        raise ShapeError(f"{title}: the cones have {rows} rows together, and b has {m} numbers.")
    A = read_matrix(title, "A", A, (m, n), "b has as many rows, and q as many columns")
    P = np.zeros((n, n), np.float32) if P is None else read_matrix(title, "P", P, (n, n), "q has as many numbers")
    single = all(v.dtype == np.float32 for v in (P, q, A, b))
    dtype = np.dtype(np.float32 if single else np.float64)
    return (0.5 * (P + P.T)).astype(dtype), q.astype(dtype), A, b.astype(dtype)


def _project_psd(v: Value) -> Value:
    """Onto matrices whose symmetric part is positive semidefinite; nothing is asked of the rest."""
    return psd().project(0.5 * (v + v.T)) + 0.5 * (v - v.T)


_PROJECT = {"second order": second_order_cone().project, "exponential": exponential_cone().project, "psd": _project_psd}


def project_onto(cones: Cones, v: Value) -> Value:
    """The nearest point of a product of cones; cones of one kind in a row are projected onto together."""
    parts: list[Value] = []
    at = 0
    for cone, group in groupby(cones):
        kind, size = cone
        count = len(list(group))
        rows = _rows(cone) * count
        part, at = v[at : at + rows], at + rows
        if kind == "zero":
            parts.append(0.0 * part)
        elif kind == "nonnegative":
            parts.append(np.where(primal(part) > 0, part, 0.0))
        else:
            shape = (size, size) if kind == "psd" else (size,)
            stacked = np.reshape(part, (count, *shape))
            found = vmap(_PROJECT[kind])(stacked) if count > 1 else _PROJECT[kind](stacked[0])
            parts.append(np.reshape(found, (rows,)))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def solve_over_cones(
    title: str, P: Any, q: Any, A: Any, b: Any, cones: Cones, tol: float, check: str, method: str, split: Any
) -> Optimum:
    """The answer for data that were read; `split` makes of the multipliers what users see."""
    if not tol > 0:
        raise ValueError(f"{title}: tol is {tol}; it must be above zero.")
    size = q.shape[0] + b.shape[0]
    # SciPy's matrices are constants of the program, all else its arguments
    fixed = {name: M for name, M in (("P", P), ("A", A)) if is_sparse(M) and not isinstance(M, SparseArray)}

    def residual(z: Any, data: Any) -> Any:
        data = {**fixed, **data}
        slack = data["b"] - data["A"] @ z["x"]
        gradient = data["P"] @ z["x"] + data["q"] + data["A"].T @ z["y"]
        return {"x": gradient, "y": slack - project_onto(cones, slack - z["y"])}

    def solver(data: Any) -> Any:
        data, tau, rho = _in_units({**fixed, **data})
        x, y, code, count = (_by_highs if method == "highs" else _by_clarabel)(title, data, cones, tol)
        known = {"x": np.asarray(x, float), "y": np.asarray(y, float)}
        with np.errstate(all="ignore"):
            fall, proof = -data["q"] @ known["x"], -data["b"] @ known["y"]
            if code in (CONVERGED, NO_PROGRESS) and size <= DENSE:
                known = _correct(residual, data, cones, known)
            far = _measure(residual, data, known)
        direction = known["x"] / (rho * fall) if code == UNBOUNDED else np.full_like(known["x"], np.nan)
        prices = known["y"] / (tau * proof) if code == INFEASIBLE else np.full_like(known["y"], np.nan)
        known = {"x": tau * known["x"], "y": rho * known["y"]}
        code = CONVERGED if code == NO_PROGRESS and far <= tol else code
        if code in (INFEASIBLE, UNBOUNDED):
            known = tree.map(lambda v: np.full_like(v, np.nan), known)
        reports = {"code": np.int64(code), "iterations": np.int64(count), "residual": np.float64(far),
                   "direction": direction, "proof": prices}  # fmt: skip
        return tree.map(lambda v: v.astype(q.dtype), known), reports

    linear = "direct" if size <= DENSE else "sparse"
    equation = LinearizedEquation(linear, (), Watch(title, check))
    function = ImplicitFunction(residual, solver, None, equation, True, title, True)
    given = {name: v for name, v in (("P", P), ("q", q), ("A", A), ("b", b)) if name not in fixed}
    z, reports = function(given)
    x, y = z["x"], z["y"]
    curved = P @ x

    def lagrangian(z: Any, data: Any) -> Value:
        """Its derivative in the data is that of the value, also where x or its prices are not unique."""
        data, x = {**fixed, **data}, z["x"]
        return (0.5 * np.sum(x * (data["P"] @ x)) + np.sum(data["q"] * x)
                + np.sum(z["y"] * (data["A"] @ x - data["b"])))  # fmt: skip

    fun = primal(0.5 * np.sum(x * curved) + np.sum(q * x))
    fun = attach_envelope(lagrangian, z, fun, (given,))
    code = reports["code"]
    failed = isinstance(code, TRACED) or np.any((code == INFEASIBLE) | (code == UNBOUNDED))
    return Optimum(
        x, fun, curved + q, code, reports["iterations"],
        {"factorization": reports["iterations"]}, reports["residual"], np.float64(tol), split(y), None, None,
        tree.map(primal, z), None, f"{title} by {method}", feasible=code == CONVERGED,
        certificate=Certificate(reports["direction"], split(reports["proof"])) if failed else None,
    )  # fmt: skip


def _in_units(data: Any) -> tuple[Any, float, float]:
    """Plain data in units of their own, and these."""
    given = (data[name] for name in ("P", "q", "A", "b"))
    P, q, A, b = ((_plain(M) if is_sparse(M) else np.asarray(M)).astype(float) for M in given)
    squares: Any = _plain(A).power(2) if is_sparse(A) else A * A
    rows = np.sqrt(np.asarray(squares.sum(axis=1), float).reshape(-1))
    tau, rho = map(float, choose_units(abs(P).max(), abs(q).max(), rows, abs(b)))
    return {"P": P * (tau / rho), "q": q / rho, "A": A, "b": b / tau}, tau, rho


def _measure(residual: Any, data: Any, z: Any) -> float:
    """How far the conditions are from being fulfilled, against the size of their terms."""
    off = residual(z, data)
    sizes = 1.0 + max(np.max(np.abs(v)) for v in (data["q"], data["b"], data["P"] @ z["x"], z["y"]))
    return float(max(np.max(np.abs(off["x"])), np.max(np.abs(off["y"]))) / sizes)


def _correct(residual: Any, data: Any, cones: Cones, z: Any) -> Any:
    """A few steps of Newton's method on the conditions: what an interior point leaves over is the root of its gap."""
    dense = lambda M: np.asarray(M.toarray() if is_sparse(M) else M)
    P, A = dense(data["P"]), dense(data["A"])
    n, far = len(data["q"]), _measure(residual, data, z)
    for _ in range(CORRECTIONS):
        D = np.asarray(jacfwd(lambda v: project_onto(cones, v))(data["b"] - A @ z["x"] - z["y"]))
        off = residual(z, data)
        K = np.block([[P, A.T], [-(A - D @ A), D]])
        try:
            step = np.linalg.solve(K, np.concatenate([off["x"], off["y"]]))
        except np.linalg.LinAlgError:
            return z
        after = {"x": z["x"] - step[:n], "y": z["y"] - step[n:]}
        now = _measure(residual, data, after)
        if not now < 0.5 * far:
            return after if now < far else z
        z, far = after, now
    return z


def _plain(M: Any) -> Any:
    """A matrix of plain entries as SciPy's."""
    from scipy import sparse

    if is_sparse(M) and not sparse.issparse(M):
        M = M.tocoo()
        return sparse.csc_matrix((np.asarray(M.data), tuple(map(np.asarray, M.coords))), shape=M.shape)
    return sparse.csc_matrix(M)


def _triangles(cones: Cones) -> Any:
    """The map from matrices to their scaled upper triangles, which is what Clarabel reads; a unit for other cones."""
    from scipy import sparse

    blocks = []
    for kind, n in cones:
        if kind != "psd":
            blocks.append(sparse.identity(n))
            continue
        j, i = np.tril_indices(n)  # columns of the upper triangle, one after the other
        number = np.arange(len(i))
        half = np.where(i == j, 0.5, 0.5**0.5)
        rows, columns = np.concatenate([number, number]), np.concatenate([i * n + j, j * n + i])
        blocks.append(sparse.csc_matrix((np.concatenate([half, half]), (rows, columns)), shape=(len(i), n * n)))
    return sparse.csc_matrix(sparse.block_diag(blocks))


def _by_clarabel(title: str, data: Any, cones: Cones, tol: float) -> tuple[Any, Any, int, int]:
    from scipy import sparse

    clarabel = need_clarabel(title)
    kinds = {"zero": clarabel.ZeroConeT, "nonnegative": clarabel.NonnegativeConeT, "second order":
             clarabel.SecondOrderConeT, "exponential": lambda n: clarabel.ExponentialConeT(),
             "psd": clarabel.PSDTriangleConeT}  # fmt: skip
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = min(tol, 1e-10)
    T = _triangles(cones)
    P, A, b = _plain(data["P"]), T @ _plain(data["A"]), T @ np.asarray(data["b"])
    theirs = [kinds[kind](n) for kind, n in cones]
    upper = sparse.csc_matrix(sparse.triu(P))
    found = clarabel.DefaultSolver(upper, np.asarray(data["q"]), sparse.csc_matrix(A), b, theirs, settings).solve()
    return np.asarray(found.x), T.T @ np.asarray(found.z), clarabel_code(str(found.status)), found.iterations


def _by_highs(title: str, data: Any, cones: Cones, tol: float) -> tuple[Any, Any, int, int]:
    from scipy.optimize import linprog

    m = sum(n for kind, n in cones if kind == "zero")
    A, q, b = _plain(data["A"]).tocsr(), np.asarray(data["q"]), np.asarray(data["b"])
    level, above = (A[:m], b[:m]) if m else (None, None), (A[m:], b[m:]) if m < len(b) else (None, None)
    found = linprog(q, *above, *level, bounds=(None, None), method="highs")
    code = HIGHS.get(found.status, NO_PROGRESS)
    if found.x is None:
        x, y, z, code = prove_by_highs(q, A[:m], b[:m], A[m:], b[m:], code)
        return x, np.concatenate([y, z]), code, found.nit
    prices = [-part.marginals for part, k in ((found.eqlin, m), (found.ineqlin, len(b) - m)) if k]
    return found.x, np.concatenate(prices), code, found.nit
