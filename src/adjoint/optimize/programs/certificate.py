"""What programs share: why one has no solution, and matrices and vectors as users give them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint.base.errors import DtypeError, ShapeError
from adjoint.linear.operators.maps import LinearMap
from adjoint.ops.linalg.decompose import Cholesky
from adjoint.program.trace import TRACED, bind, primal
from adjoint.program.types import Value

__all__ = ["Certificate", "check_convex", "is_semidefinite", "read_matrix", "read_vector"]

DENSE = 1000  # unknowns up to which eigenvalues are computed


@final
@dataclass(frozen=True, eq=False)
class Certificate:
    """Why a program has no solution: a direction of endless fall, or multipliers that contradict each other; else NaN.

    P d = 0, A d = 0, G d ≤ 0, qᵀd = -1   or   Aᵀy + Gᵀz = 0, z ≥ 0, bᵀy + hᵀz = -1, with bounds as inequalities
    """

    direction: Value
    multipliers: Any  # by kind of constraint; of `conic` a vector like b


def read_matrix(title: str, name: str, M: Any, shape: tuple[int | None, int], reason: str) -> Any:
    """A matrix of a program: dense, sparse (which it stays), or a linear map, which becomes dense."""
    found: Any = M.to_dense() if isinstance(M, LinearMap) else M
    sparse = hasattr(found, "tocsc")
    found = found if sparse or isinstance(found, TRACED) else np.asarray(found)
    if found.dtype.kind not in "fiub":
        raise DtypeError(f"{title}: {name} has dtype {found.dtype}; programs are of real numbers.")
    if len(found.shape) != 2 or any(n is not None and n != m for n, m in zip(shape, found.shape, strict=True)):
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise ShapeError(f"{title}: {name} has shape {tuple(found.shape)}; it must be ({wanted}), since {reason}.")
    entries = primal(found.tocoo().data if sparse else found)
    if not isinstance(entries, TRACED) and not np.all(np.isfinite(entries)):
        raise ValueError(f"{title}: {name} has entries that are not finite.")
    return found if sparse else found.astype(np.result_type(found.dtype, np.float32))


def read_vector(title: str, name: str, v: Any, n: int, dtype: Any) -> Value:
    """A vector of a program: real numbers, one for each unknown or constraint."""
    found = v if isinstance(v, TRACED) else np.asarray(v)
    if found.dtype.kind not in "fiub":
        raise DtypeError(f"{title}: {name} has dtype {found.dtype}; programs are of real numbers.")
    if found.shape != (n,):
        raise ShapeError(f"{title}: {name} has shape {found.shape}; it must be ({n},).")
    if not isinstance(primal(found), TRACED) and np.any(np.isnan(primal(found))):
        raise ValueError(f"{title}: {name} has entries that are NaN.")
    if name == "h" and not isinstance(primal(found), TRACED) and np.any(primal(found) == -np.inf):
        raise ValueError(f"{title}: h is -∞ somewhere, and no G x lies below that; +∞ holds always.")
    return found.astype(dtype)


def check_convex(title: str, P: Any) -> None:
    """A matrix with a negative eigenvalue has no smallest value, or many local ones."""
    if hasattr(P, "tocsc"):
        found = _find_negative_pivot(P)
    elif isinstance(primal(P), TRACED) or P.shape[0] > DENSE or not np.any(primal(P)):
        return
    else:
        P = primal(P)
        lowest = np.linalg.eigvalsh(P)[0]
        negative = lowest < -_rounding(P) * max(1.0, float(np.max(np.abs(P))))
        found = f"its smallest eigenvalue is {lowest:.3g}" if negative else ""
    if found:
        raise ValueError(f"{title}: P is not positive semidefinite: {found}, so that the program is not convex. Use "
                         "minimize with subject_to= for a local minimum.")  # fmt: skip


def is_semidefinite(P: Value) -> Any:
    """Whether a matrix that is traced has no negative eigenvalue but for rounding."""
    at = primal(P)
    size = np.maximum(np.max(np.abs(at)), 1.0)
    factor = bind(Cholesky(checked=False), at + _rounding(at) * size * np.eye(at.shape[0], dtype=at.dtype))
    return np.all(np.isfinite(np.diagonal(factor)))


def _rounding(P: Value) -> float:
    """How far below zero, against the size of P, rounding alone takes an eigenvalue."""
    return 1e-9 if P.dtype == np.float64 else 1e-5


def _find_negative_pivot(P: Any) -> str:
    """Pivots of a symmetric elimination have the signs of the eigenvalues."""
    from scipy.sparse import csc_matrix, identity, issparse
    from scipy.sparse.linalg import splu

    size = float(abs(P).max()) if issparse(P) and P.nnz else 0.0
    if not size:
        return ""
    moved = csc_matrix(P + 1e-9 * size * identity(P.shape[0]))
    factors: Any = splu(moved, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    lowest = np.min(factors.U.diagonal()) if np.array_equal(factors.perm_r, factors.perm_c) else 0.0
    return f"a pivot of it is {lowest:.3g}" if lowest < 0 else ""
