"""Linear equations for a matrix that stands between two others: Sylvester's A X + X B = Q, Stein's X - A X B = Q."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here; SciPy has no types.)

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Implicit, fit, total
from adjoint.ops.elementwise.pointwise import aligned
from adjoint.ops.linalg.matrices import check_matrix, check_square, each_matrix, factor_dtype
from adjoint.ops.linalg.workspace import measured_workspace
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, type_of


def schur_form(a: Value, output: str) -> tuple[Value, Value]:
    """(T, Z) with a = Z T Zᴴ, of a plain matrix."""
    import scipy.linalg

    factors: Any = scipy.linalg.schur(a, output=output, check_finite=False)
    return factors[0], factors[1]


def product(*factors: Value) -> Value:
    """The product of matrices, from left to right."""
    result = factors[0]
    for factor in factors[1:]:
        result = np.matmul(result, factor)
    return result


class Between(Implicit):
    """X[m, n] with L(A, X, B) = Q, where L is linear in X; A[m, m], B[n, n], Q[m, n].

    Ẋ solves the same equation with Q̇ - L̇ on the right side, where L̇ is the change of L while X stays; the adjoint
    equation, with Aᴴ and Bᴴ, takes X̄ to Q̄.
    """

    call: str  # the function that messages name
    derivative: bool  # whether it is part of a derivative: of a stack, matrices that have none get NaN

    linear_arguments = (2,)

    @property
    def title(self) -> str:
        return self.call

    @abstractmethod
    def solve(self, a: Value, b: Value, q: Value) -> Value:
        """X, for single plain matrices; LinAlgError if the equation is singular."""

    @abstractmethod
    def change(self, xs: Sequence[Value], x: Value, da: Value, db: Value) -> Value:
        """L̇ while X stays; None for zero."""

    @abstractmethod
    def change_adjoint(self, xs: Sequence[Value], x: Value, ct: Value) -> tuple[Value, Value]:
        """(Ā, B̄) from the cotangent of L."""

    def evaluate(self, *xs: Value) -> Value:
        dtype = factor_dtype(self.title, *map(type_of, xs))
        return each_matrix(self, self.solve, [x.astype(dtype, copy=False) for x in xs], or_nan=self.derivative)

    def result_type(self, *types: ArrayType) -> Any:
        a, b, q = types
        check_square(self.title, a)
        check_square(self.title, b)
        check_matrix(self.title, q)
        if q.shape[-2:] != (a.shape[-1], b.shape[-1]):
            raise ShapeError(
                f"{self.title}: the right side {q} does not fit between {a} and {b}; it needs {a.shape[-1]} rows and "
                f"{b.shape[-1]} columns."
            )
        stack = np.broadcast_shapes(*[t.shape[:-2] for t in types])
        return ArrayType((*stack, *q.shape[-2:]), factor_dtype(self.title, *types))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, True, False), wanted[0] or wanted[1]

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        da, db, dq = dxs
        change = None if da is None and db is None else self.change(xs, z, da, db)
        return self(xs[0], xs[1], total(dq, None if change is None else -change))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        q_bar = self(adjoint_matrix(xs[0]), adjoint_matrix(xs[1]), ct)
        a_bar, b_bar = self.change_adjoint(xs, z, -q_bar) if wanted[0] or wanted[1] else (None, None)
        return [fit(c, x) if w else None for c, x, w in zip((a_bar, b_bar, q_bar), xs, wanted, strict=True)]

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*aligned(xs, mapped))


@primitive
class Sylvester(Between):
    """A X + X B = Q, by triangular forms of A and B; regular if no eigenvalue of A is minus one of B."""

    call: str = "solve_sylvester"
    derivative: bool = False

    def solve(self, a: Value, b: Value, q: Value) -> Value:
        import scipy.linalg

        r, u = schur_form(a, "real")
        s, v = schur_form(np.conj(b.T), "real")
        (trsyl,) = scipy.linalg.get_lapack_funcs(("trsyl",), (r, s))
        y, scale, info = trsyl(r, s, np.conj(u.T) @ q @ v, tranb="C")
        if info:
            raise np.linalg.LinAlgError(
                f"{self.title}: the equation A X + X B = Q is singular: an eigenvalue of A is minus one of B "
                "(up to rounding)."
            )
        return u @ (y * scale) @ np.conj(v.T)

    def change(self, xs: Sequence[Value], x: Value, da: Value, db: Value) -> Value:
        return total(None if da is None else np.matmul(da, x), None if db is None else np.matmul(x, db))

    def change_adjoint(self, xs: Sequence[Value], x: Value, ct: Value) -> tuple[Value, Value]:
        xh = adjoint_matrix(x)
        return np.matmul(ct, xh), np.matmul(xh, ct)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return measured_workspace(results, (8.0, 8.0), (26, 20))


@primitive
class Stein(Between):
    """X - A X B = Q, by complex triangular forms of A and B; regular if no product of an eigenvalue of A and one of B
    is one.
    """

    call: str = "solve_discrete_lyapunov"
    derivative: bool = False

    def solve(self, a: Value, b: Value, q: Value) -> Value:
        import scipy.linalg

        t, u = schur_form(a, "complex")
        s, v = schur_form(b, "complex")
        right, n = np.conj(u.T) @ q @ v, len(s)
        y = np.zeros(right.shape, right.dtype)
        below = 8 * max(right.shape) * np.finfo(right.dtype).eps
        for k in range(n):  # column by column: (1 - sₖₖ T) yₖ = fₖ + T Σⱼ yⱼ sⱼₖ, j < k
            matrix = np.eye(len(t), dtype=t.dtype) - s[k, k] * t
            if np.any(np.abs(np.diagonal(matrix)) <= below * max(1.0, np.max(np.abs(s[k, k] * t)))):
                raise np.linalg.LinAlgError(
                    f"{self.title}: the equation X - A X B = Q is singular: a product of an eigenvalue of A and one of "
                    "B is one (up to rounding)."
                )
            y[:, k] = scipy.linalg.solve_triangular(matrix, right[:, k] + t @ (y[:, :k] @ s[:k, k]), check_finite=False)
        x = u @ y @ np.conj(v.T)
        return x if q.dtype.kind == "c" else x.real

    def change(self, xs: Sequence[Value], x: Value, da: Value, db: Value) -> Value:
        a, b = xs[:2]
        return total(
            None if da is None else -product(da, x, b),
            None if db is None else -product(a, x, db),
        )

    def change_adjoint(self, xs: Sequence[Value], x: Value, ct: Value) -> tuple[Value, Value]:
        a, b = xs[:2]
        return -np.matmul(ct, adjoint_matrix(np.matmul(x, b))), -np.matmul(adjoint_matrix(np.matmul(a, x)), ct)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return measured_workspace(results, (21.0, 10.5))
