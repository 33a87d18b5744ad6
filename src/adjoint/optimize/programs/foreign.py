"""Programs that others solve: HiGHS, which SciPy brings, and Clarabel, where it is installed."""

# pyright: basic

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from adjoint.optimize.programs.interior_point import Program, Solved, measure
from adjoint.optimize.statuses import CONVERGED, INFEASIBLE, MAX_ITERATIONS, NO_PROGRESS, UNBOUNDED

__all__ = ["HIGHS", "clarabel_code", "has_clarabel", "need_clarabel", "prove_by_highs", "solve_elsewhere"]

HIGHS = {0: CONVERGED, 1: MAX_ITERATIONS, 2: INFEASIBLE, 3: UNBOUNDED}


def has_clarabel() -> bool:
    """Whether the package is there."""
    return importlib.util.find_spec("clarabel") is not None


def need_clarabel(title: str) -> Any:
    """The package, or an error that says how to get it."""
    if not has_clarabel():
        raise ModuleNotFoundError(f"{title}: this needs the package clarabel: pip install 'adjoint[conic]'.")
    import clarabel

    return clarabel


def solve_elsewhere(title: str, method: str, data: Program, tol: float) -> Solved:
    """The solution of a program on plain arrays by another solver."""
    data = Program(*[np.asarray(v) for v in data])
    x, y, z, code, count = (_by_highs if method == "highs" else _by_clarabel)(title, data, tol)
    residual = measure(data, x, y, z) if code == CONVERGED else np.float64(np.inf)
    return Solved(x, y, z, np.int64(code), np.int64(count), residual)


def _by_highs(title: str, data: Program, tol: float) -> Any:
    from scipy.optimize import linprog

    A, b = (data.A, data.b) if data.b.size else (None, None)
    G, h = (data.G, data.h) if data.h.size else (None, None)
    found = linprog(data.q, G, h, A, b, bounds=(None, None), method="highs")
    code = HIGHS.get(found.status, NO_PROGRESS)
    if found.x is None:
        return *prove_by_highs(data.q, data.A, data.b, data.G, data.h, code), found.nit
    y = -found.eqlin.marginals if data.b.size else np.zeros(0)
    z = -found.ineqlin.marginals if data.h.size else np.zeros(0)
    return found.x, y, z, code, found.nit


def prove_by_highs(q: Any, A: Any, b: Any, G: Any, h: Any, code: int) -> Any:
    """(x, y, z, code): a direction or multipliers that tell why there is no solution, by one more program for each."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, vstack

    m, n, p = b.shape[0], q.shape[0], h.shape[0]
    x, y, z = (np.full(k, np.nan) for k in (n, m, p))
    A, G = csr_matrix(A), csr_matrix(G)
    if code != UNBOUNDED and m + p:  # least bᵀy + hᵀz ≥ -1 with Aᵀy + Gᵀz = 0 and z ≥ 0
        right = np.concatenate([b, h])
        limits = [(None, None)] * m + [(0, None)] * p
        found = linprog(right, -right[None], [1.0], vstack([A, G]).T, np.zeros(n), bounds=limits)
        if found.x is not None and found.fun < -0.5:
            return x, found.x[:m], found.x[m:], INFEASIBLE
    if code != INFEASIBLE:  # least qᵀd ≥ -1 with A d = 0 and G d ≤ 0
        level = (A, np.zeros(m)) if m else (None, None)
        found = linprog(q, vstack([G, -q[None]]), np.append(np.zeros(p), 1.0), *level, bounds=(None, None))
        if found.x is not None and found.fun < -0.5:
            return found.x, y, z, UNBOUNDED
    return x, y, z, code


def _by_clarabel(title: str, data: Program, tol: float) -> Any:
    from scipy.sparse import csc_matrix, vstack

    clarabel = need_clarabel(title)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = min(tol, 1e-9)
    m = data.b.shape[0]
    cones = [clarabel.ZeroConeT(m)] * bool(m) + [clarabel.NonnegativeConeT(data.h.shape[0])] * bool(data.h.shape[0])
    rows = csc_matrix(vstack([csc_matrix(data.A), csc_matrix(data.G)]))
    right = np.concatenate([data.b, data.h])
    found = clarabel.DefaultSolver(csc_matrix(np.triu(data.P)), data.q, rows, right, cones, settings).solve()
    code = clarabel_code(str(found.status))
    z = np.asarray(found.z)
    return np.asarray(found.x), z[:m], z[m:], code, found.iterations


def clarabel_code(status: str) -> int:
    """Our word for one of Clarabel's."""
    if status == "Solved":
        return CONVERGED
    if "PrimalInfeasible" in status:
        return INFEASIBLE
    if "DualInfeasible" in status:
        return UNBOUNDED
    return MAX_ITERATIONS if status in ("MaxIterations", "MaxTime") else NO_PROGRESS
