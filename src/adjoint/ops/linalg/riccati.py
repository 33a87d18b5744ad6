"""Riccati equations of control, continuous and discrete; their derivatives are linear matrix equations."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here; SciPy has no types.)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Implicit, fit, total
from adjoint.ops.elementwise.pointwise import aligned
from adjoint.ops.linalg.matrices import check_matrix, check_square, each_matrix, factor_dtype, hermitian
from adjoint.ops.linalg.matrix_equations import Stein, Sylvester, product
from adjoint.ops.linalg.solve import Solve
from adjoint.ops.linalg.workspace import measured_workspace
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, type_of

_solve = Solve()


@primitive
class Riccati(Implicit):
    """The stabilizing X = Xᴴ of F = 0, for A[n, n], B[n, m], Q[n, n], R[m, m], E[n, n], S[n, m]:

        F = Aᴴ X E + Eᴴ X A - Gᴴ H⁻¹ G + Q,    G = Bᴴ X E + Sᴴ,    H = R              (continuous)
        F = Aᴴ X A - Eᴴ X E - Gᴴ H⁻¹ G + Q,    G = Bᴴ X A + Sᴴ,    H = R + Bᴴ X B     (discrete)

    With K = H⁻¹ G, C = A - B K and D = C E⁻¹, the change of F while X stays is N + Nᴴ + Q̇ + Kᴴ Ṙ K, where

        N = Eᴴ X (Ȧ - Ḃ K) + Ėᴴ X C - Ṡ K        Dᴴ Ẋ + Ẋ D   = -E⁻ᴴ Ḟ E⁻¹      (continuous)
        N = Cᴴ X (Ȧ - Ḃ K) - Eᴴ X Ė - Ṡ K        Ẋ - Dᴴ Ẋ D   =  E⁻ᴴ Ḟ E⁻¹      (discrete)

    Only the Hermitian parts of Q and R count, so gradients in them are Hermitian.
    """

    discrete: bool
    balanced: bool = True

    @property
    def title(self) -> str:
        return "solve_discrete_are" if self.discrete else "solve_continuous_are"

    def evaluate(self, *xs: Value) -> Value:
        import scipy.linalg

        solve = scipy.linalg.solve_discrete_are if self.discrete else scipy.linalg.solve_continuous_are
        dtype = factor_dtype(self.title, *map(type_of, xs))

        def one(a: Value, b: Value, q: Value, r: Value, e: Value, s: Value) -> Value:
            plain = np.array_equal(e, np.eye(len(e))) and not np.any(s)  # the shorter pencil is the better one
            q, r = hermitian(q), hermitian(r)
            more = {} if plain else {"e": e, "s": s}
            return solve(a, b, q, r, balanced=self.balanced, **more)

        return each_matrix(self, one, [x.astype(dtype, copy=False) for x in xs])

    def result_type(self, *types: ArrayType) -> Any:
        a, b, q, r, e, s = types
        check_square(self.title, a)
        check_matrix(self.title, b)
        n, m = a.shape[-1], b.shape[-1]
        for name, t in {"b": b, "q": q, "r": r, "e": e, "s": s}.items():
            check_matrix(self.title, t)
            shape = (m if name == "r" else n, n if name in ("q", "e") else m)
            if t.shape[-2:] != shape:
                raise ShapeError(f"{self.title}: {name} is {t}; with a {a} and b {b} its matrices must be {shape}.")
        stack = np.broadcast_shapes(*[t.shape[:-2] for t in types])
        return ArrayType((*stack, n, n), factor_dtype(self.title, *types))

    def closed_loop(self, xs: Sequence[Value], x: Value) -> tuple[Value, Value]:
        """K and C."""
        a, b, _, r, e, s = xs
        r, bh = hermitian(r), adjoint_matrix(b)
        bx = np.matmul(bh, x)
        h = r + np.matmul(bx, b) if self.discrete else r
        k = _solve(h, np.matmul(bx, a if self.discrete else e) + adjoint_matrix(s))
        return k, a - np.matmul(b, k)

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        da, db, dq, dr, de, ds = dxs
        e = xs[4]
        k, c = self.closed_loop(xs, z)
        left = np.matmul(adjoint_matrix(c if self.discrete else e), z)
        half = total(
            None if da is None else np.matmul(left, da),
            None if db is None else -product(left, db, k),
            None if ds is None else -np.matmul(ds, k),
            None
            if de is None
            else -product(adjoint_matrix(e), z, de)
            if self.discrete
            else product(adjoint_matrix(de), z, c),
            None if dq is None else dq / 2,
            None if dr is None else product(adjoint_matrix(k), dr, k) / 2,
        )
        inner = self.divided(2 * hermitian(half), e)
        d = adjoint_matrix(_solve(adjoint_matrix(e), adjoint_matrix(c)))
        if self.discrete:
            return Stein(self.title, derivative=True)(adjoint_matrix(d), d, inner)
        return Sylvester(self.title, derivative=True)(adjoint_matrix(d), d, -inner)

    def divided(self, f: Value, e: Value) -> Value:
        """E⁻ᴴ F E⁻¹ of a Hermitian F."""
        eh = adjoint_matrix(e)
        return _solve(eh, adjoint_matrix(_solve(eh, f)))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        e = xs[4]
        k, c = self.closed_loop(xs, z)
        kh = adjoint_matrix(k)
        d = adjoint_matrix(_solve(adjoint_matrix(e), adjoint_matrix(c)))
        equation = (Stein if self.discrete else Sylvester)(self.title)
        inner = equation(d, adjoint_matrix(d), hermitian(ct))
        f = self.divided(inner if self.discrete else -inner, adjoint_matrix(e))  # E⁻¹ X̄ E⁻ᴴ
        f = hermitian(f)
        side = 2 * product(z, c if self.discrete else e, f)  # of Ȧ
        e_bar = -2 * product(z, e, f) if self.discrete else 2 * product(z, c, f)
        makers = (
            lambda: side,
            lambda: -np.matmul(side, kh),
            lambda: f,
            lambda: product(k, f, kh),
            lambda: e_bar,
            lambda: -2 * np.matmul(f, kh),
        )
        return [fit(make(), x) if want else None for make, x, want in zip(makers, xs, wanted, strict=True)]

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*aligned(xs, mapped))

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return measured_workspace(results, (64.0, 60.0))
