"""Large programs with sparse matrices: no dense matrix is ever made, for the solution or for its derivatives."""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.optimize.optimum import Optimum, Prices
from adjoint.optimize.programs import conic  # as a module: sets are programs, and programs use sets
from adjoint.optimize.programs.certificate import check_convex, read_matrix, read_vector
from adjoint.program.trace import TRACED, primal
from adjoint.program.types import Value
from adjoint.scipy import sparse

__all__ = ["is_large", "solve_sparse"]


def is_large(P: Any, q: Any, A: Any, G: Any, largest: int) -> bool:
    """Whether a program has sparse matrices, and so many unknowns and constraints that dense ones would be slow."""
    if not any(conic.is_sparse(M) for M in (P, A, G)):
        return False
    return np.shape(q)[0] + sum(M.shape[0] for M in (A, G) if hasattr(M, "shape")) > largest


def _find_fixed(low: Any, high: Any) -> Any:
    """Which unknowns have bounds that are one number, as far as that is known: these are equations."""
    low, high = primal(low), primal(high)
    if low is None or high is None or isinstance(low, TRACED) or isinstance(high, TRACED):
        return np.zeros(0, np.int64)
    return np.flatnonzero(low == high)


def solve_sparse(
    title: str, P: Any, q: Any, A: Any, b: Any, G: Any, h: Any, low: Any, high: Any, tol: float, method: str, check: str
) -> Optimum:
    """The answer of `qp` or `lp`; bounds are vectors or None."""
    n = q.shape[0]
    matrix = lambda name, M, shape: sparse.csr_array(read_matrix(title, name, M, shape, f"q has {n} numbers"))
    rows: list[tuple[str, Any, Any]] = []
    for names, M, right in ((("A", "b"), A, b), (("G", "h"), G, h)):
        if M is not None:
            left = matrix(names[0], M, (None, n))
            rows.append((names[0], left, read_vector(title, names[1], right, left.shape[0], float)))
    fixed = _find_fixed(low, high)
    if len(fixed):
        chosen = sparse.csr_array((np.ones(len(fixed)), (np.arange(len(fixed)), fixed)), shape=(len(fixed), n))
        rows.insert(0, ("fixed", chosen, 0.5 * (low[fixed] + high[fixed])))
    for name, bound, sign in (("lower", low, -1.0), ("upper", high, 1.0)):
        if bound is not None:  # what holds for every x is a row of zeros below one
            free = np.logical_or(bound == sign * np.inf, np.isin(np.arange(n), fixed))
            rows.append((name, sparse.diags_array(np.where(free, 0.0, sign)), np.where(free, 1.0, sign * bound)))
    P = sparse.csr_array((n, n)) if P is None else matrix("P", P, (n, n))
    P = 0.5 * (P + P.T)
    check_convex(title, P)
    if not rows:
        raise ValueError(f"{title}: without constraints the solution is that of P x = -q: adjoint.scipy.sparse.linalg "
                         "has spsolve.")  # fmt: skip
    sizes = {name: right.shape[0] for name, _, right in rows}
    m = sizes.get("A", 0) + len(fixed)
    cones = [("zero", m)] * bool(m) + [("nonnegative", sum(sizes.values()) - m)] * (sum(sizes.values()) > m)
    stacked = sparse.csr_array(sparse.vstack([left for _, left, _ in rows]))
    right = np.concatenate([v for _, _, v in rows])

    def split(y: Value) -> Prices:
        parts: dict[str, Any] = {name: np.zeros(0) for name in ("A", "G", "lower", "upper")}
        at = 0
        for name, count in sizes.items():
            parts[name], at = y[at : at + count], at + count
        if len(fixed):  # the price of what is fixed is that of the bound which presses
            price = parts.pop("fixed")
            for name, sign in (("lower", -1.0), ("upper", 1.0)):
                parts[name] = parts[name].copy()
                parts[name][fixed] = np.where(sign * price > 0, sign * price, 0.0)
        return Prices(*parts.values())

    return conic.solve_over_cones(title, P, q.astype(float), stacked, right, cones, tol, check, method, split)
