"""(JᵀJ + λ D²) p = -Jᵀ r for sparse J: by one factorization, or by eliminating blocks that do not touch each other.

    | E   W | p_e    -g_e
    |       |     =              S = F - Wᵀ E⁻¹ W,    S p_f = -g_f + Wᵀ E⁻¹ g_e,    p_e = E⁻¹ (-g_e - W p_f)
    | Wᵀ  F | p_f    -g_f

E is block diagonal: the points of a bundle adjustment, of which no residual sees two. JᵀJ alone would cost half of the
digits: one correction from the residuals r + J p gives them back (corrected seminormal equations).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import ShapeError, SolveError
from adjoint.optimize.problem import Unknowns

__all__ = ["Blocks", "find_blocks", "make_normal_solver", "make_schur_solver"]

STRIP = 200_000  # numbers of a sparse matrix that are made dense at a time: what fits into a cache
SPARSE_COST = 50.0  # a multiplication of a sparse product takes as long as so many of a dense one
DENSE = 4000  # unknowns up to which the Schur complement is a dense matrix

Solve = Callable[[Any], Any]  # g ↦ (JᵀJ + λ D²)⁻¹ g; SolveError where that is not positive definite


class Blocks(NamedTuple):
    """Unknowns start … stop of the vector are `count` blocks of `size` each, of which no residual sees two."""

    start: int
    stop: int
    size: int

    @property
    def count(self) -> int:
        return (self.stop - self.start) // self.size


def find_blocks(title: str, J: Any, unknowns: Unknowns, wanted: str | None) -> Blocks | None:
    """The leaf to eliminate: the one that is asked for, or the largest whose blocks do not touch each other."""
    at, best = 0, None
    for kind, path in zip(unknowns.types, unknowns.structure.paths(), strict=True):
        blocks = Blocks(at, at + kind.size, max(1, int(np.prod(kind.shape[1:], dtype=int))))
        at += kind.size
        is_wanted = wanted is not None and wanted.strip("[]'\".") == path.strip("[]'\".")
        if wanted is not None and not is_wanted:
            continue
        if kind.dtype.kind == "f" and blocks.count > 1 and _are_apart(J, blocks):
            best = blocks if best is None or blocks.stop - blocks.start > best.stop - best.start else best
        elif is_wanted:
            raise ShapeError(f"{title}: residuals see more than one block of x{path}, so that they cannot be "
                             "eliminated one by one. Leave eliminate= out, or take linear='cholesky'.")  # fmt: skip
    if wanted is not None and best is None:
        raise ShapeError(f"{title}: eliminate={wanted!r} is no leaf of x. They are: "
                         f"{', '.join(unknowns.structure.paths())}.")  # fmt: skip
    return best


def _are_apart(J: Any, blocks: Blocks) -> bool:
    """Whether each row of J has entries in one block at most."""
    entries = (J.indices >= blocks.start) & (J.indices < blocks.stop)
    number = (J.indices - blocks.start) // blocks.size
    rows = np.repeat(np.arange(J.shape[0]), np.diff(J.indptr))[entries]
    number = number[entries]
    low, high = np.full(J.shape[0], blocks.count), np.full(J.shape[0], -1)
    np.minimum.at(low, rows, number)
    np.maximum.at(high, rows, number)
    return bool(np.all((high < 0) | (low == high)))


def factorize_definite(N: Any) -> Solve:
    """N⁻¹ of a sparse symmetric matrix; SolveError where it is not positive definite."""
    from scipy.sparse.linalg import splu

    try:
        factors = splu(N.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError as problem:
        raise SolveError(str(problem)) from problem
    if not np.all(factors.U.diagonal() > 0):
        raise SolveError("The matrix is not positive definite.")
    return factors.solve


def make_normal_solver(J: Any, damping: Any) -> Solve:
    """By a sparse factorization of JᵀJ + diag(damping)."""
    from scipy import sparse

    return factorize_definite(J.T @ J + sparse.diags_array(damping))


def make_schur_solver(J: Any, damping: Any, blocks: Blocks) -> Solve:
    """By the Schur complement of the blocks: E = L Lᵀ and A = L⁻¹ W give S = F - AᵀA."""
    from scipy import linalg, sparse

    inside = np.zeros(J.shape[1], bool)
    inside[blocks.start : blocks.stop] = True
    columns = J.tocsc()
    Je, Jf = columns[:, inside], columns[:, ~inside]
    JeT, JfT = Je.T, Jf.T  # by rows, as both factors of a product are to be
    Je, Jf = Je.tocsr(), Jf.tocsr()
    k, n = blocks.size, blocks.count
    E = (JeT @ Je + sparse.diags_array(damping[inside], format="csr")).tobsr((k, k))
    if E.indptr[-1] != n:
        raise ShapeError("The blocks touch each other.")
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(E.data))
    except np.linalg.LinAlgError as problem:
        raise SolveError(str(problem)) from problem
    L_inv = sparse.bsr_array((inverse, E.indices, E.indptr), shape=E.shape).tocsr()
    A = L_inv @ (JeT @ Jf)
    F = JfT @ Jf + sparse.diags_array(damping[~inside], format="csr")
    if F.shape[0] <= DENSE:
        try:
            factor = linalg.cho_factor(_complement(F, A), check_finite=False, overwrite_a=True)
        except linalg.LinAlgError as problem:
            raise SolveError(str(problem)) from problem
        solve_rest = lambda g: linalg.cho_solve(factor, g, check_finite=False)
    else:
        solve_rest = factorize_definite(F - A.T @ A)

    def solve(g: Any) -> Any:
        ge = L_inv @ g[inside]
        pf = solve_rest(g[~inside] - A.T @ ge)
        found = np.empty_like(g)
        found[inside] = L_inv.T @ (ge - A @ pf)
        found[~inside] = pf
        return found

    return solve


def _complement(F: Any, A: Any) -> Any:
    """The upper triangle of F - AᵀA as a dense matrix, from whichever product is cheaper: sparse, or strips of A."""
    from scipy.linalg import get_blas_funcs

    rows, width = A.shape
    if SPARSE_COST * np.sum(np.diff(A.indptr).astype(float) ** 2) < 0.5 * rows * float(width) ** 2:
        return (F - A.T @ A).toarray()
    S = np.asfortranarray(F.toarray())
    syrk: Any = get_blas_funcs("syrk", (S,))
    strip = max(1, STRIP // width)
    for begin in range(0, rows, strip):
        S = syrk(-1.0, A[begin : begin + strip].toarray().T, beta=1.0, c=S, overwrite_c=True)
    return S
