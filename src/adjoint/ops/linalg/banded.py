"""Equations whose matrix is given by its diagonals: ab[u + i - j, j] = a[i, j], l of them below and u above the main
one.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here; SciPy has no types.)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.calculus import Implicit, fit, total
from adjoint.ops.elementwise.pointwise import aligned
from adjoint.ops.linalg.matrices import check_matrix, each_matrix, factor_dtype, stack_shape
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, type_of


def shifted(x: Value, by: int) -> Value:
    """x moved along its last axis, to the right for by > 0; zeros come in."""
    n = x.shape[-1]
    if by == 0:
        return x
    gap = np.zeros((*x.shape[:-1], min(abs(by), n)), x.dtype)
    return np.concatenate([gap, x[..., :-by]] if by > 0 else [x[..., -by:], gap], axis=-1)


def inside(band: Value, low: int, up: int) -> Value:
    """The band with zeros in the corners that stand outside of the matrix."""
    n = band.shape[-1]
    rows = np.arange(-up, low + 1)[:, None] + np.arange(n)
    return np.where((rows >= 0) & (rows < n), band, band.dtype.type(0))


def band_product(band: Value, x: Value, up: int) -> Value:
    """a x for x[…, n, k]."""
    columns = np.swapaxes(x, -1, -2)
    terms = [
        shifted(np.expand_dims(band[..., d, :], -2) * columns, d - up) for d in range(band.shape[-2])
    ]  # of a[j + d - u, j] xⱼ
    return np.swapaxes(total(*terms), -1, -2)


def adjoint_band(band: Value, up: int) -> Value:
    """The diagonals of aᴴ, from the lowest of a to its highest."""
    rows = [shifted(band[..., d, :], d - up) for d in reversed(range(band.shape[-2]))]
    banded = np.stack(rows, axis=-2)
    return np.conjugate(banded) if banded.dtype.kind == "c" else banded


@primitive
class BandedSolve(Implicit):
    """X with a X = B, for the diagonals of a. If `positive`, a is Hermitian and positive definite.

    Ẋ = a⁻¹ (Ḃ - ȧ X),   B̄ = a⁻ᴴ X̄,   ā = the diagonals of -B̄ Xᴴ.
    """

    low: int
    up: int
    positive: bool = False

    linear_arguments = (1,)

    @property
    def title(self) -> str:
        return "solveh_banded" if self.positive else "solve_banded"

    def evaluate(self, *xs: Value) -> Value:
        import scipy.linalg

        def one(band: Value, b: Value) -> Value:
            if self.positive:
                return scipy.linalg.solveh_banded(band[: self.up + 1], b, check_finite=False)
            return scipy.linalg.solve_banded((self.low, self.up), band, b, check_finite=False)

        dtype = factor_dtype(self.title, *map(type_of, xs))
        return each_matrix(self, one, [x.astype(dtype, copy=False) for x in xs])

    def result_type(self, *types: ArrayType) -> Any:
        band, b = types
        check_matrix(self.title, band)
        check_matrix(self.title, b)
        if band.shape[-2] != self.low + self.up + 1:
            raise ShapeError(
                f"{self.title}: {self.low} diagonals below the main one and {self.up} above make "
                f"{self.low + self.up + 1} rows, but the diagonals are given as {band}."
            )
        if band.shape[-1] != b.shape[-2]:
            raise ShapeError(f"{self.title}: the matrix has {band.shape[-1]} columns, the right side {b} other rows.")
        return ArrayType((*stack_shape(self.title, band, b), *b.shape[-2:]), factor_dtype(self.title, band, b))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, False), wanted[0]

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        dband, db = dxs
        return self(xs[0], total(db, None if dband is None else -band_product(dband, z, self.up)))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        band, b = xs
        adjoint = band if self.positive else adjoint_band(band, self.up)
        b_bar = BandedSolve(self.up, self.low, self.positive)(adjoint, ct)
        band_bar = None
        if wanted[0]:
            left = np.swapaxes(b_bar, -1, -2)
            right = np.swapaxes(np.conjugate(z) if z.dtype.kind == "c" else z, -1, -2)
            rows = [-np.sum(shifted(left, self.up - d) * right, axis=-2) for d in range(band.shape[-2])]
            band_bar = fit(inside(np.stack(rows, axis=-2), self.low, self.up), band)
        return band_bar, fit(b_bar, b) if wanted[1] else None

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*aligned(xs, mapped))
