"""A = L D Lᴴ for Hermitian or symmetric A that need not be positive: D has 1 × 1 and 2 × 2 blocks."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here; SciPy has no types.)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Implicit, arithmetic_flops, total
from adjoint.ops.linalg.degenerate_blocks import ROUNDING
from adjoint.ops.linalg.flops import cubic
from adjoint.ops.linalg.matrices import (
    Stacked,
    check_square,
    each_matrix,
    factor_dtype,
    from_triangle,
    onto_triangle,
    to_factor_dtype,
)
from adjoint.ops.linalg.solve import Solve, TriangularSolve
from adjoint.ops.linalg.workspace import measured_workspace
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value


@primitive
class LDL(Stacked, Implicit):
    """(L, D, order) with A = L D Lᴴ (L D Lᵀ unless `hermitian`); L[order] is triangular with ones on its diagonal.

    The order of the rows and the blocks of D are constant nearby. With L for L[order], P for the reordered Ȧ and
    M = L⁻¹ P L⁻ᴴ:   Ḋ = the blocks of M,   L⁻¹ L̇ = (the part of M below the blocks) D⁻¹.
    Of A and Ȧ one triangle is read (with the real part of the diagonal, if `hermitian`); so gradients are zero in the
    other one. Where D is singular there is no derivative, NaN; but the pivot that comes last is not divided by.
    """

    lower: bool = True
    hermitian: bool = True
    several = True

    def evaluate(self, *xs: Value) -> Value:
        import scipy.linalg

        a = to_factor_dtype(self.title, xs[0])
        if self.hermitian and a.dtype.kind == "c":  # the diagonal counts with its real part
            a = np.where(np.eye(a.shape[-1], dtype=bool), a.real, a)

        def one(x: Value) -> Any:
            return scipy.linalg.ldl(x, self.lower, hermitian=self.hermitian, check_finite=False)

        return each_matrix(self, one, [a])

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_square(self.title, a)
        factor = ArrayType(a.shape, factor_dtype(self.title, a))
        return factor, factor, ArrayType(a.shape[:-1], np.dtype(np.intp))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (False,), True

    def adjoint_of(self, x: Value) -> Value:
        """xᴴ, or xᵀ for a factorization that is only symmetric."""
        return adjoint_matrix(x) if self.hermitian else np.swapaxes(x, -1, -2)

    def solve(self, low: Value, x: Value) -> Value:
        return TriangularSolve(self.lower, unit=True)(low, x)

    def structure(self, d: Value) -> tuple[Value, Value]:
        """Where the blocks are, and what is below them (above, for an upper triangular L)."""
        n = d.shape[-1]
        blocks = np.logical_or(np.eye(n, dtype=bool), np.not_equal(d, 0))
        side = np.tri(n, k=-1, dtype=bool)
        return blocks, np.logical_and(side if self.lower else side.T, np.logical_not(blocks))

    def regular(self, low: Value, d: Value) -> tuple[Value, Value]:
        """(D, 1), with ones for pivots that are zero but for rounding; (D, NaN) if they are divided by."""
        n, eps = d.shape[-1], np.finfo(d.dtype).eps
        size = np.max(np.abs(d), axis=-1, initial=0)
        scale = np.matmul(np.abs(low) ** 2, np.expand_dims(size, -1))[
            ..., 0
        ]  # what the diagonal of A was added up from
        zero, last = size <= scale * (ROUNDING * n * eps), np.arange(n) == (n - 1 if self.lower else 0)
        lost = np.any(np.logical_and(zero, np.logical_not(last)), axis=-1)
        one = np.where(lost, size.dtype.type(np.nan), size.dtype.type(1))
        pivots = np.where(np.expand_dims(zero, -1), np.eye(n, dtype=d.dtype), d)
        return pivots, np.expand_dims(one, (-2, -1))

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        factor, d, order = z
        da = from_triangle(dxs[0], self.lower, self.adjoint_of)
        low, p = rows(factor, order), rows(self.adjoint_of(rows(da, order)), order)  # P Ȧ Pᵀ, up to the adjoint
        p = self.adjoint_of(p)
        m = self.adjoint_of(self.solve(low, self.adjoint_of(self.solve(low, p))))
        blocks, below = self.structure(d)
        zero = d.dtype.type(0)
        pivots, one = self.regular(low, d)
        x = self.adjoint_of(Solve()(self.adjoint_of(pivots), self.adjoint_of(np.where(below, m, zero)))) * one
        return rows(np.matmul(low, x), np.argsort(order, axis=-1)), np.where(blocks, m, zero), None

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        (factor_bar, d_bar, _), (factor, d, order) = ct, z
        low = rows(factor, order)
        blocks, below = self.structure(d)
        zero = d.dtype.type(0)
        m_bar: Value = None if d_bar is None else np.where(blocks, d_bar, zero)
        if factor_bar is not None:
            x_bar = np.matmul(adjoint_matrix(low), rows(factor_bar, order))
            # x = K D⁻¹ gives K̄ = x̄ D⁻ᴴ
            pivots, one = self.regular(low, d)
            k_bar = adjoint_matrix(Solve()(pivots, adjoint_matrix(x_bar))) * one
            m_bar = total(m_bar, np.where(below, k_bar, zero))
        solve = TriangularSolve(not self.lower, unit=True)
        lowh = adjoint_matrix(low)
        # M = L⁻¹ P L⁻ᴴ gives P̄ = L⁻ᴴ M̄ L⁻¹;  M = L⁻¹ P L⁻ᵀ gives P̄ = L⁻ᴴ M̄ (L*)⁻¹
        p_bar = self.adjoint_of(solve(lowh, self.adjoint_of(solve(lowh, m_bar))))
        back = np.argsort(order, axis=-1)
        a_bar = self.adjoint_of(rows(self.adjoint_of(rows(p_bar, back)), back))
        return (onto_triangle(a_bar, self.lower, self.adjoint_of),)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, cubic(xs[0]) / 3)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return measured_workspace(results, (3.2, 4.1), (64, 64))


def rows(x: Value, order: Value) -> Value:
    """x[order], for each matrix of a stack."""
    return np.take_along_axis(x, np.expand_dims(order, -1), axis=-2)
