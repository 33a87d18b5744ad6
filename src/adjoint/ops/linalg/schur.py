"""Schur's form A = Z T Zᴴ: Z unitary, T upper triangular (real A: with 2 × 2 blocks for pairs of eigenvalues)."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here; SciPy has no types.)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Implicit, arithmetic_flops, fit, total
from adjoint.ops.elementwise.pointwise import aligned
from adjoint.ops.linalg.flops import cubic
from adjoint.ops.linalg.matrices import Stacked, check_square, diagonal, each_matrix, factor_dtype, to_factor_dtype
from adjoint.ops.linalg.workspace import measured_workspace
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, type_of


def joined(t: Value) -> Value:
    """Where T has a 2 × 2 block: mask[…, i] says that i and i + 1 belong together; the last one is False."""
    n = t.shape[-1]
    below = np.sum(np.where(np.eye(n, k=-1, dtype=bool), t, t.dtype.type(0)), axis=-2)
    return np.not_equal(below, 0)


def below_blocks(t: Value) -> Value:
    """The mask of what is below the blocks on the diagonal."""
    n = t.shape[-1]
    return np.logical_and(
        np.tri(n, k=-1, dtype=bool), np.logical_not(np.logical_and(np.eye(n, k=-1, dtype=bool), np.not_equal(t, 0)))
    )


def commutator(x: Value, y: Value) -> Value:
    """x y - y x."""
    return np.matmul(x, y) - np.matmul(y, x)


@primitive
class TriangularCommutator(Implicit):
    """L, zero on and above the blocks of T, with L T - T L = M below them; T is a Schur form.

    If `adjoint`, L Tᴴ - Tᴴ L = M there. Regular if T has no eigenvalue twice (in two blocks).
    """

    adjoint: bool = False

    @property
    def title(self) -> str:
        return "the derivative of schur"

    def evaluate(self, *xs: Value) -> Value:
        dtype = factor_dtype(self.title, *map(type_of, xs))
        return each_matrix(self, self.solve, [x.astype(dtype, copy=False) for x in xs], or_nan=True)

    def solve(self, t: Value, m: Value) -> Value:
        """Block row by block row: Lᵢ T₁ - Tᵢᵢ Lᵢ = Mᵢ + Σₖ Tᵢₖ Lₖ, where T₁ stands before block i, k behind it.

        With Tᴴ the rows that are known are those before.
        """
        import scipy.linalg

        (trsyl,) = scipy.linalg.get_lapack_funcs(("trsyl",), (t, m))
        n, x = len(t), np.zeros(m.shape, m.dtype)
        low = [i for i in range(n) if i == 0 or t[i, i - 1] == 0]
        blocks = list(zip(low, [*low[1:], n], strict=True))
        for i, end in blocks if self.adjoint else reversed(blocks):
            if i == 0:
                continue
            rows, before = slice(i, end), slice(0, i)
            if self.adjoint:  # Tᴴ is lower triangular
                right = m[rows, before] + np.conj(t[before, rows].T) @ x[before, before]
                solution, scale, info = trsyl(t[rows, rows], t[before, before], -right, trana="C", tranb="C", isgn=-1)
            else:
                right = m[rows, before] + t[rows, end:] @ x[end:, before]
                solution, scale, info = trsyl(t[rows, rows], t[before, before], -right, isgn=-1)
            if info:
                raise np.linalg.LinAlgError(
                    "schur: an eigenvalue occurs twice (up to rounding), where the Schur form has no derivative. Use "
                    "functions of the matrix (expm, sqrtm, logm, …), or eigh if it is Hermitian."
                )
            x[rows, before] = solution * scale
        return x

    def result_type(self, *types: ArrayType) -> Any:
        t, m = types
        check_square(self.title, t)
        stack = np.broadcast_shapes(t.shape[:-2], m.shape[:-2])
        return ArrayType((*stack, *m.shape[-2:]), factor_dtype(self.title, *types))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, False), wanted[0]

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        dt, dm = dxs
        if dt is not None:
            dt = np.where(below_blocks(xs[0]), dt.dtype.type(0), dt)
            dt = adjoint_matrix(dt) if self.adjoint else dt
        return self(xs[0], total(dm, None if dt is None else commutator(dt, z)))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        t, m = xs
        g = TriangularCommutator(not self.adjoint)(t, ct)
        t_bar = None
        if wanted[0]:
            t_bar = commutator(z, adjoint_matrix(g)) if self.adjoint else commutator(g, adjoint_matrix(z))
            t_bar = fit(np.where(below_blocks(t), t_bar.dtype.type(0), t_bar), t)
        return t_bar, fit(g, m) if wanted[1] else None

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*aligned(xs, mapped))

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return measured_workspace(results, (2.0, 2.0))


@primitive
class Schur(Stacked, Implicit):
    """(T, Z, k) with A = Z T Zᴴ; k says how many eigenvalues come first because `sort` chooses them.

    With M = Zᴴ Ȧ Z and Ω = Zᴴ Ż skew: Ṫ = M - (Ω T - T Ω), which is zero below the blocks: that determines Ω there,
    Ω = L - Lᴴ. On the diagonal Ω is zero (each column keeps its phase). A 2 × 2 block [a b; c a] keeps its equal
    diagonal: it turns by θ = (Ṫ₂₂ - Ṫ₁₁) / (2 (b + c)); where b + c = 0 it does not turn.
    """

    sort: Any = None
    several = True

    def evaluate(self, *xs: Value) -> Value:
        import scipy.linalg

        a = to_factor_dtype(self.title, xs[0])

        def one(x: Value) -> Any:
            factors = scipy.linalg.schur(x, output="real", sort=self.sort, check_finite=False)
            return factors if self.sort is not None else (*factors, 0)

        return each_matrix(self, one, [a])

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_square(self.title, a)
        form = ArrayType(a.shape, factor_dtype(self.title, a))
        return form, form, ArrayType(a.shape[:-2], np.dtype(np.intp))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (False,), True

    def turning(self, t: Value) -> Value:
        """1 / (2 (b + c)) for each block, at its first row; 0 elsewhere."""
        n = t.shape[-1]
        pair = np.where(np.eye(n, k=-1, dtype=bool), t + np.swapaxes(t, -1, -2), t.dtype.type(0))
        both = np.sum(pair, axis=-2)
        none = np.logical_or(
            np.logical_not(joined(t)), np.abs(both) <= 1e3 * np.finfo(t.dtype).eps * np.max(np.abs(t), initial=0)
        )
        return np.where(none, t.dtype.type(0), 0.5 / np.where(none, t.dtype.type(1), both))

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        t, q, _ = z
        m = np.matmul(adjoint_matrix(q), np.matmul(dxs[0], q))
        low = TriangularCommutator()(t, m)
        omega = low - adjoint_matrix(low)
        dt = m - commutator(omega, t)
        if t.dtype.kind != "c" and t.shape[-1]:
            d = diagonal(dt)
            angle = self.turning(t) * (np.roll(d, -1, axis=-1) - d)
            rotation = np.eye(t.shape[-1], k=-1, dtype=t.dtype) * np.expand_dims(angle, -2)
            rotation = rotation - np.swapaxes(rotation, -1, -2)
            omega, dt = omega + rotation, dt - commutator(rotation, t)
        return np.where(below_blocks(t), t.dtype.type(0), dt), np.matmul(q, omega), None

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        (t_bar, q_bar, _), (t, q, _) = ct, z
        th, qh = adjoint_matrix(t), adjoint_matrix(q)
        m_bar = None if t_bar is None else np.where(below_blocks(t), t.dtype.type(0), t_bar)
        omega_bar: Value = None if q_bar is None else np.matmul(qh, q_bar)
        if t.dtype.kind != "c" and t.shape[-1]:
            rotation_bar = total(omega_bar, None if m_bar is None else -commutator(m_bar, th))
            parts = np.where(
                np.eye(t.shape[-1], k=-1, dtype=bool), rotation_bar - np.swapaxes(rotation_bar, -1, -2), t.dtype.type(0)
            )
            pulled = self.turning(t) * np.sum(parts, axis=-2)
            d_bar = np.roll(pulled, 1, axis=-1) - pulled
            m_bar = total(m_bar, np.expand_dims(d_bar, -1) * np.eye(t.shape[-1], dtype=t.dtype))
        omega_bar = total(omega_bar, None if m_bar is None else -commutator(m_bar, th))
        low_bar = omega_bar - adjoint_matrix(omega_bar)
        m_bar = total(m_bar, TriangularCommutator(adjoint=True)(t, low_bar))
        return (np.matmul(q, np.matmul(m_bar, qh)),)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 25 * cubic(xs[0]))

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return measured_workspace(results, (3.3, 3.4), (125, 118))
