"""Vectors for degenerate values, adapted to a tangent: the basis in which it is diagonal.

Where values coincide, any basis of their space will do. Along A + t Ȧ the space splits, and the vectors that continue
smoothly are those which make Vᴴ Ȧ V diagonal in the block. In this basis the values vary as they do along that line,
the diagonal is all of the block, and second derivatives with Ȧ as one of the two tangents are complete.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here.)

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Flat
from adjoint.ops.linalg.degenerate_blocks import OnStacks, off_diagonal_mask
from adjoint.ops.linalg.degenerate_residue import is_zero_value
from adjoint.ops.linalg.matrices import hermitian, is_counted, underlying
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value


def may_be_degenerate(w: Value, zeros: bool) -> bool:
    """Whether values may coincide somewhere, or be zero if that counts; True where they are not known yet.

    Where only memory is counted, they do not.
    """
    value = underlying(w)
    if value is None:
        return not is_counted(w)
    return bool(np.any(off_diagonal_mask(value)) or (zeros and np.any(is_zero_value(value))))


def equal_runs(together: Value) -> Iterator[slice]:
    """Runs of at least two values, each equal to the next one. together[n, n]"""
    n, start = len(together), 0
    for i in range(1, n + 1):
        if i == n or not together[i - 1, i]:
            if i - start > 1:
                yield slice(start, i)
            start = i


@primitive
class AdaptedEighBasis(OnStacks, Flat):
    """The eigenvectors V of w, rotated within blocks so that Vᴴ Ȧ V is diagonal and ascending; arguments w, V, Ȧ."""

    def evaluate(self, *xs: Value) -> Value:
        w, v, da = xs
        together = off_diagonal_mask(w)
        if not np.any(together):
            return v
        v = v.copy()
        for at in np.ndindex(*w.shape[:-1]):
            if np.any(together[at]) and np.all(np.isfinite(da[at])) and np.all(np.isfinite(v[at])):
                for block in equal_runs(together[at]):
                    part = v[at][:, block]
                    inner = np.matmul(adjoint_matrix(part), np.matmul(hermitian(da[at]), part))
                    v[at][:, block] = part @ np.linalg.eigh(hermitian(inner))[1]
        return v

    def result_type(self, *types: ArrayType) -> Any:
        return types[1]


@primitive
class AdaptedSVDBasis(OnStacks, Flat):
    """The singular vectors (U, Vᴴ) of s, rotated within blocks so that the Hermitian part of Uᴴ Ȧ V is diagonal and
    descending, and for zeros s all of it; arguments s, U, Vᴴ, Ȧ.
    """

    several = True

    def evaluate(self, *xs: Value) -> Value:
        s, u, vh, da = xs
        together, none = off_diagonal_mask(s), is_zero_value(s)
        if not (np.any(together) or np.any(none)):
            return u, vh
        u, vh = u.copy(), vh.copy()
        for at in np.ndindex(*s.shape[:-1]):
            matrices = (u[at], vh[at], da[at])
            if (np.any(together[at]) or np.any(none[at])) and all(np.all(np.isfinite(x)) for x in matrices):
                u[at], vh[at] = self.rotate(together[at], int(np.sum(~none[at])), *matrices)
        return u, vh

    def rotate(self, together: Value, rank: int, u: Value, vh: Value, da: Value) -> tuple[Value, Value]:
        """The vectors of one matrix; those beyond the rank are chosen anew among all that there are."""
        u, v = u.copy(), adjoint_matrix(vh).copy()
        for block in equal_runs(together[:rank, :rank]):
            inner = hermitian(adjoint_matrix(u[:, block]) @ (da @ v[:, block]))
            rotation = np.linalg.eigh(inner)[1][:, ::-1]
            u[:, block], v[:, block] = u[:, block] @ rotation, v[:, block] @ rotation
        if rank < len(together):
            left, right = orthogonal_complement(u, rank), orthogonal_complement(v, rank)
            a, _, bh = np.linalg.svd(adjoint_matrix(left) @ (da @ right))
            u[:, rank:] = (left @ a)[:, : u.shape[1] - rank]
            v[:, rank:] = (right @ adjoint_matrix(bh))[:, : v.shape[1] - rank]
        return u, adjoint_matrix(v)

    def result_type(self, *types: ArrayType) -> Any:
        return types[1], types[2]


def orthogonal_complement(q: Value, rank: int) -> Value:
    """An orthonormal basis of the complement of the first columns of q."""
    return q[:, rank:] if q.shape[0] == q.shape[1] else np.linalg.qr(q[:, :rank], mode="complete")[0][:, rank:]


class WithGivenFactors(OnStacks):
    """Given factors, with the derivative that a factorization has in A; arguments: A, then the factors.

    A base class to the left of that of the rules.
    """

    returns_arguments = True

    def evaluate(self, *xs: Value) -> Value:
        return tuple(xs[1:])

    def expand(self, *xs: Value) -> Value:
        """The factors, without the derivative in A."""
        return tuple(xs[1:])

    def result_type(self, *types: ArrayType) -> Any:
        return tuple(types[1:])

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, *[False] * (len(wanted) - 1)), True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        if dxs[0] is None:
            return (None,) * (len(dxs) - 1)
        return super().push(xs, z, dxs)  # pyright: ignore[reportAbstractUsage]

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        others = (None,) * (len(wanted) - 1)
        if not wanted[0]:
            return None, *others
        return *super().pull(ct, xs, z, wanted), *others  # pyright: ignore[reportAbstractUsage]


class AdaptsBasis:
    """Forward and Taylor mode of a factorization: in a basis adapted to the first tangent, where values coincide."""

    zeros = False  # whether values that are zero count as coinciding

    @abstractmethod
    def adapt(self, a: Value, da: Value) -> tuple[Any, Sequence[Value]]:
        """The same factorization with given factors, in a basis adapted to Ȧ, and its arguments."""

    def jvp(self, xs: Sequence[Value], dxs: Sequence[Value], trace: Any) -> tuple[Sequence[Value], Sequence[Value]]:
        op, arguments = self.adapt(xs[0], dxs[0])
        z = op(*arguments)
        with np.errstate(all="ignore"):
            return z, op.push(arguments, z, (dxs[0], *[None] * (len(arguments) - 1)))

    def jet(self, series: Sequence[list[Value]], trace: Any) -> Sequence[list[Value]]:
        a = series[0]
        da = next((c for c in a[1:] if c is not None), None)
        if da is None:
            z: Any = self(a[0])  # type: ignore[operator]
            return [[part, *[None] * trace.order] for part in z]
        op, arguments = self.adapt(a[0], da)
        factors = op(trace.series(a), *arguments[1:])
        return [trace.coefficients_of(part) for part in factors]
