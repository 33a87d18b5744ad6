"""Eigenvalues, singular values, and what is made of them: null space, range, angles between spaces, best rotations.

Vectors are fixed up to a factor, and inside a space of equal values up to a rotation; derivatives take the smallest
change of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.elementwise.select import StopGradient
from adjoint.ops.linalg.decompose import Cholesky
from adjoint.ops.linalg.matrices import from_triangle, hermitian
from adjoint.ops.linalg.matrix_functions import PolarFactor
from adjoint.ops.linalg.solve import Solve, TriangularSolve
from adjoint.ops.linalg.spectral import SVD, Eig, Eigh
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.linalg.arguments import array, constant, inexact, matrix, square


def _reduced(a: Value, b: Value, kind: int) -> tuple[Value, Value]:
    """An ordinary problem with the same eigenvalues, from the Cholesky factor L of b; and L."""
    factor = bind(Cholesky(), b)
    if kind == 1:  # a x = w b x: L⁻¹ a L⁻ᴴ
        solve = TriangularSolve(lower=True)
        half = bind(solve, factor, a)
        return adjoint_matrix(bind(solve, factor, adjoint_matrix(half))), factor
    return np.matmul(adjoint_matrix(factor), np.matmul(a, factor)), factor  # a b x = w x, b a x = w x: Lᴴ a L


def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Any:
    """Eigenvalues and vectors of a Hermitian a; with b, of a v = w b v (type 1), a b v = w v (2), b a v = w v (3)."""
    if type not in (1, 2, 3):
        raise ValueError("'type' keyword only accepts 1, 2, and 3.")
    a = inexact(square(a, "eigh"))
    if b is None:
        w, v = bind(Eigh(bool(lower)), a)
    else:
        b = inexact(square(b, "eigh"))
        made, factor = _reduced(from_triangle(a, lower), b if lower else adjoint_matrix(b), type)
        w, v = bind(Eigh(), hermitian(made))
        high = adjoint_matrix(factor)
        v = np.matmul(factor, v) if type == 3 else bind(TriangularSolve(lower=False), high, v)
    if subset_by_index is None and subset_by_value is None:
        return w if eigvals_only else (w, v)
    if eigvals_only:
        return chosen_values(w, subset_by_index, subset_by_value, "eigh")
    return chosen_pairs(w, v, subset_by_index, subset_by_value, "eigh")


def _chosen(w: Value, index: Any, value: Any, call: str) -> Any:
    """Which eigenvalues are asked for: by their numbers, first and last, or by the interval (low, high]."""
    if index is not None and value is not None:
        raise ValueError("Either index or value subset can be requested.")
    if index is not None:
        low, high = (int(constant(k, call, "the range of numbers")) for k in index)
        if not 0 <= low <= high < w.shape[-1]:
            raise ValueError(
                f"Requested eigenvalue indices are not valid. Valid range is [0, {w.shape[-1] - 1}] and start <= end, "
                f"but start={low}, end={high} is given"
            )
        return slice(low, high + 1)
    if w.ndim > 1:
        raise ShapeError(f"{call}: an interval may hold another number of eigenvalues for each matrix of a stack.")
    assert value is not None
    low, high = value
    if not low < high:
        raise ValueError(f"Requested eigenvalue bounds are not valid: low={low}, high={high}")
    inside = np.logical_and(w > low, w <= high)
    return np.nonzero(bind(StopGradient(), inside))[0]


def chosen_values(w: Value, index: Any, value: Any, call: str) -> Value:
    """The eigenvalues that are asked for."""
    return w[..., _chosen(w, index, value, call)]


def chosen_pairs(w: Value, v: Value, index: Any, value: Any, call: str) -> tuple[Value, Value]:
    """The eigenvalues that are asked for, and their vectors."""
    chosen = _chosen(w, index, value, call)
    return w[..., chosen], v[..., chosen]


def eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Value:
    """The eigenvalues of `eigh`."""
    return eigh(
        a,
        b,
        lower=lower,
        eigvals_only=True,
        type=type,
        subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
    )


def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """(w, left vectors, right vectors), those that are asked for: a v = w b v, vlᴴ a = w vlᴴ b. b must be regular.

    All vectors have length one. With `homogeneous_eigvals` w has two rows, w = w[0] / w[1].
    """
    a = inexact(square(a, "eig"))
    if b is not None:
        b = inexact(square(b, "eig"))
    w, v = bind(Eig(), a if b is None else bind(Solve(), b, a))
    values = np.stack([w, np.ones(w.shape, w.dtype)], axis=-2) if homogeneous_eigvals else w
    found = [values]
    if left:
        rows = np.linalg.inv(v if b is None else np.matmul(b.astype(v.dtype), v))  # its rows are vlᴴ, up to a factor
        columns = adjoint_matrix(rows)
        found.append(columns / np.linalg.norm(columns, axis=-2, keepdims=True).astype(v.dtype))
    if right:
        found.append(v)
    return tuple(found) if len(found) > 1 else values


def eigvals(
    a: Any, b: Any = None, overwrite_a: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False
) -> Value:
    """The eigenvalues of `eig`."""
    return eig(a, b, right=False, homogeneous_eigvals=homogeneous_eigvals)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """(U, s, Vᴴ) with a = U s Vᴴ; s alone without `compute_uv`."""
    a = inexact(matrix(a, "svd"))
    full = bool(full_matrices and compute_uv and a.shape[-2] != a.shape[-1])
    u, s, vh = bind(SVD(full), a)
    return (u, s, vh) if compute_uv else s


def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """The singular values, descending."""
    return svd(a, compute_uv=False)


def _rank(s: Value, shape: tuple[int, ...], rcond: float | None, call: str) -> int:
    """How many singular values count; they must be known, and the same for each matrix of a stack."""
    relative = float(np.finfo(s.dtype).eps) * max(shape[-2:]) if rcond is None else constant(rcond, call, "rcond")
    s = bind(StopGradient(), s)
    counts = np.count_nonzero(s > np.max(s, axis=-1, keepdims=True, initial=0) * relative, axis=-1)
    rank = np.max(counts, initial=0)
    if np.any(np.not_equal(counts, rank)):
        raise ShapeError(f"{call}: the matrices of the stack have different ranks, so the results different shapes.")
    return int(rank)


def null_space(
    A: Any,  # noqa: N803
    rcond: float | None = None,
    *,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Value:
    """An orthonormal basis N of the vectors that A takes to zero.

    Any basis serves, so gradients are right for functions of the space alone, like N Nᴴ; the rank is taken as constant.
    """
    a = inexact(matrix(A, "null_space"))
    _, s, vh = svd(a)
    return adjoint_matrix(vh[..., _rank(s, a.shape, rcond, "null_space") :, :])


def orth(A: Any, rcond: float | None = None) -> Value:  # noqa: N803
    """An orthonormal basis Q of the range of A; what `null_space` says of derivatives holds here too."""
    a = inexact(matrix(A, "orth"))
    u, s, _ = svd(a, full_matrices=False)
    return u[..., : _rank(s, a.shape, rcond, "orth")]


def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> tuple[Value, Value]:  # noqa: N803
    """(R, scale): the unitary R that brings A R nearest to B, and the sum of the singular values of Aᴴ B."""
    a, b = matrix(A, "orthogonal_procrustes"), matrix(B, "orthogonal_procrustes")
    if a.shape[-2:] != b.shape[-2:]:
        raise ValueError(f"the shapes of A and B differ ({a.shape} vs {b.shape})")
    product = inexact(np.matmul(adjoint_matrix(a), b))
    r = bind(PolarFactor(), product)
    return r, np.sum(np.linalg.svd(product, compute_uv=False), axis=-1)


def subspace_angles(A: Any, B: Any) -> Value:  # noqa: N803
    """The angles between the ranges of A and B, descending. An angle of zero has derivative zero, a kink."""
    a, b = (orth(inexact(matrix(np.atleast_2d(array(x)), "subspace_angles"))) for x in (A, B))
    if a.shape[-2] != b.shape[-2]:
        raise ValueError(f"A and B must have the same number of rows, got {a.shape[-2]} and {b.shape[-2]}")
    product = np.matmul(adjoint_matrix(a), b)
    cosines = np.flip(np.linalg.svd(product, compute_uv=False), -1)
    # what of the smaller space stands outside of the larger one
    if a.shape[-1] >= b.shape[-1]:
        outside = b - np.matmul(a, product)
    else:
        outside = a - np.matmul(b, adjoint_matrix(product))
    sines = np.linalg.svd(outside, compute_uv=False)
    small = cosines * cosines >= 0.5  # near zero the sine is exact, near a right angle the cosine
    one = cosines.dtype.type(1)
    by_sine = np.arcsin(np.where(small, np.minimum(sines, one), one - one))
    by_cosine = np.arccos(np.where(small, one - one, np.minimum(cosines, one)))
    return np.where(small, by_sine, by_cosine)
