"""Bases adapted to a tangent where eigenvalues or singular values coincide: a test that they do not, and what if.

Hermitian matrices have it all in machine code. The vectors of coinciding singular values, and of eigenvalues of other
matrices, are left to NumPy: how many there are, and with it every size, depends on the numbers.
"""

# The rules are written in plain NumPy on values that are being recorded.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.compile.expand import RULES, Rule, constant_of_nothing
from adjoint.compile.expand_matrices import choose, each_matrix
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.linalg.degenerate_basis import AdaptedEighBasis, AdaptedSVDBasis
from adjoint.ops.linalg.degenerate_blocks import ROUNDING, off_diagonal_mask
from adjoint.ops.linalg.degenerate_residue import is_zero_value
from adjoint.ops.linalg.eigenvalues import AdaptedEigBasis, Defect
from adjoint.ops.linalg.matrices import hermitian
from adjoint.ops.linalg.spectral import SVD, Eigh
from adjoint.program.program import Equation
from adjoint.program.types import real_dtype


class CoincidingSingularValues(AdaptedSVDBasis):
    """The basis where singular values coincide or are zero: by NumPy."""

    is_exceptional = True

    @property
    def title(self) -> str:
        return "svd where singular values coincide"

    def evaluate(self, *xs: Any) -> Any:
        return super().evaluate(*xs)


class CoincidingEigenvalues(AdaptedEigBasis):
    """The basis where eigenvalues coincide: by NumPy."""

    is_exceptional = True

    @property
    def title(self) -> str:
        return "eig where eigenvalues coincide"

    def evaluate(self, *xs: Any) -> Any:
        return super().evaluate(*xs)


def _unless_empty(rule: Rule) -> Callable[[Equation], Rule | None]:
    """A rule for bases; those of no values stay as they are."""
    unchanged: Rule = lambda op, *xs: xs[1:-1] if op.several else xs[1]
    return lambda eq: rule if 0 not in eq.inputs[0].type.shape else unchanged


def _adapted_eigh(op: AdaptedEighBasis, w: Any, v: Any, da: Any) -> Any:
    n = w.shape[-1]
    if n == 1:
        return v

    def one(w: Any, v: Any, da: Any) -> list[Any]:
        finite = np.logical_and(np.all(np.isfinite(da)), np.all(np.isfinite(v)))
        coincide = np.logical_and(np.any(off_diagonal_mask(w)), finite)
        return choose(coincide, lambda w, v, da: [_rotate(w, v, da)], lambda w, v, da: [v], w, v, da)

    return each_matrix(one, w, v, da, stack=w.ndim - 1)[0]


def _rotate(w: Any, v: Any, da: Any) -> Any:
    """V R, where R has the eigenvectors of the blocks of Vᴴ Ȧ V, each block moved away from the others."""
    n, together = w.shape[-1], off_diagonal_mask(w)
    # runs of values, each equal to the next one, by their number
    apart = np.concatenate([np.zeros(1, np.int64), 1 - Convert(np.dtype(np.int64))(np.diagonal(together, 1))])
    run = np.cumsum(apart)
    same = np.equal(np.reshape(run, (n, 1)), run)
    inner = np.matmul(adjoint_matrix(v), np.matmul(hermitian(da), v))
    inner = np.where(same, hermitian(inner), inner.dtype.type(0))
    distance = 2 * n * np.max(np.abs(inner)) + np.finfo(inner.dtype).tiny  # no eigenvalue is beyond half of it
    shift = Convert(inner.dtype)(run) * Convert(inner.dtype)(distance)
    _, r = Eigh()(inner + np.expand_dims(shift, -1) * np.eye(n, dtype=inner.dtype))
    alone = np.equal(np.sum(Convert(np.dtype(np.int64))(same), axis=-1), 1)
    return np.where(alone, v, np.matmul(v, np.where(same, r, r.dtype.type(0))))


def _adapted_svd(op: AdaptedSVDBasis, s: Any, u: Any, vh: Any, da: Any) -> Any:
    special = np.logical_or(np.any(off_diagonal_mask(s)), np.any(is_zero_value(s)))
    rotated: Callable[..., Any] = lambda *xs: CoincidingSingularValues()(*xs)
    return tuple(choose(special, rotated, lambda s, u, vh, da: [u, vh], s, u, vh, da))


def _adapted_eig(op: AdaptedEigBasis, w: Any, v: Any, da: Any) -> Any:
    mixed: Callable[..., Any] = lambda *xs: [CoincidingEigenvalues()(*xs)]
    return choose(np.any(off_diagonal_mask(w)), mixed, lambda w, v, da: [v], w, v, da)[0]


def _defect(op: Defect, w: Any, v: Any) -> Any:
    """NaN where values coincide and V has no inverse that is more than rounding."""
    zero, nan = w.dtype.type(0), w.dtype.type(np.nan)

    def tested(w: Any, v: Any) -> list[Any]:
        finite = np.all(np.isfinite(v))
        s = SVD()(np.where(finite, v, np.eye(v.shape[-1], dtype=v.dtype)))[1]
        regular = s[-1] > s.dtype.type(ROUNDING * s.shape[-1] * float(np.finfo(real_dtype(v.dtype)).eps)) * s[0]
        return [np.where(np.logical_and(finite, regular), zero, nan)]

    def one(w: Any, v: Any) -> list[Any]:
        return choose(np.any(off_diagonal_mask(w)), tested, lambda w, v: [np.zeros((), w.dtype)], w, v)

    return each_matrix(one, w, v, stack=w.ndim - 1)[0]


RULES.update(
    {
        AdaptedEighBasis: _unless_empty(_adapted_eigh),
        AdaptedSVDBasis: _unless_empty(_adapted_svd),
        AdaptedEigBasis: _unless_empty(_adapted_eig),
        Defect: lambda eq: _defect if 0 not in eq.inputs[0].type.shape else constant_of_nothing,
    }
)
