"""Linear equations A X = B: with any A, with a triangular one; the inverse, and that of least squares (pinv)."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportMissingTypeStubs=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here; SciPy has no types.)

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Differential, Implicit, arithmetic_flops, fit, total
from adjoint.ops.elementwise.pointwise import aligned
from adjoint.ops.linalg.flops import cubic
from adjoint.ops.linalg.matrices import (
    Stacked,
    as_columns,
    check_matrix,
    check_square,
    factor_dtype,
    folded_product,
    from_columns,
    from_triangle,
    onto_triangle,
    stack_shape,
    to_factor_dtype,
)
from adjoint.ops.linalg.workspace import inverse_workspace, pseudo_inverse_workspace, solve_workspace
from adjoint.program.layout import Strides
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value


class Equations(Implicit):
    """X with A X = B, where A is read as `read(A)`, a linear map (the identity, or a triangle).

    Ȧ X + A Ẋ = Ḃ gives   Ẋ = A⁻¹ (Ḃ - Ȧ X),   B̄ = A⁻ᴴ X̄,   Ā = -B̄ Xᴴ,   Xₖ = A₀⁻¹ (Bₖ - Σⱼ Aⱼ Xₖ₋ⱼ).
    """

    linear_arguments = (1,)  # linear in B alone: it has a transpose

    @abstractmethod
    def read(self, a: Value) -> Value:
        """The part of A that counts, in the derivative; it is a projection, so also its own adjoint."""

    @abstractmethod
    def adjoint_of(self) -> Equations:
        """The primitive that solves with Aᴴ, given Aᴴ."""

    @abstractmethod
    def solve(self, a: Value, b: Value) -> Value:
        """X, for plain arrays whose stacks broadcast."""

    def evaluate(self, *xs: Value) -> Value:
        a, b = xs
        if a.ndim == 2 and b.ndim > 2 and b.shape[-2] == a.shape[-1]:  # one factorization for the whole stack
            return from_columns(self.solve(a, as_columns(b)), b.shape)
        return self.solve(a, b)

    def result_type(self, *types: ArrayType) -> Any:
        a, b = types
        check_square(self.title, a)
        check_matrix(self.title, b)
        if a.shape[-1] != b.shape[-2]:
            raise ShapeError(
                f"{self.title}: {a} has {a.shape[-1]} columns, but the right side {b} has {b.shape[-2]} rows."
            )
        return ArrayType((*stack_shape(self.title, a, b), *b.shape[-2:]), factor_dtype(self.title, a, b))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, False), wanted[0]

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        da, db = dxs
        return self(xs[0], total(db, None if da is None else -np.matmul(self.read(da), z)))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        a, b = xs
        b_bar = self.adjoint_of()(adjoint_matrix(a), ct)
        a_bar = self.read(-folded_product(b_bar, z, a)) if wanted[0] else None
        return a_bar, fit(b_bar, b) if wanted[1] else None

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self(*aligned(xs, mapped))

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        a, b = xs
        terms = [(a.get(j), z.get(k - j)) for j in range(1, k + 1)]
        products = [np.matmul(self.read(aj), x) for aj, x in terms if aj is not None and x is not None]
        negative = total(*products)
        right = total(b.get(k), None if negative is None else -negative)
        return None if right is None else self(a.get(0), right)


@primitive
class Solve(Equations):
    """X = A⁻¹ B for stacks of matrices; A need not be of any special form."""

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return None  # it depends on the way through the routine

    def read(self, a: Value) -> Value:
        return a

    def adjoint_of(self) -> Equations:
        return self

    def solve(self, a: Value, b: Value) -> Value:
        return np.linalg.solve(a, b)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 2 * cubic(xs[0]) / 3 + 2 * np.shape(xs[0])[-1] * np.size(zs[0]))

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return solve_workspace(types, results)


@primitive
class TriangularSolve(Equations):
    """X = A⁻¹ B where only one triangle of A is read; with `unit`, its diagonal is ones and not read either."""

    lower: bool
    unit: bool = False

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return None  # it depends on the way through the routine

    @property
    def title(self) -> str:
        return "solve_triangular"

    def read(self, a: Value) -> Value:
        n = a.shape[-1]
        below = np.tri(n, n, -1 if self.unit else 0, dtype=bool)
        return np.where(below if self.lower else below.T, a, a.dtype.type(0))

    def adjoint_of(self) -> Equations:
        return TriangularSolve(not self.lower, self.unit)

    def solve(self, a: Value, b: Value) -> Value:
        if a.ndim == 2 and b.ndim == 2 and a.size and b.size:
            import scipy.linalg

            a, b = to_factor_dtype(self.title, a), to_factor_dtype(self.title, b)
            return scipy.linalg.solve_triangular(a, b, lower=self.lower, unit_diagonal=self.unit, check_finite=False)
        part = self.read(a)
        return np.linalg.solve(part + np.eye(a.shape[-1], dtype=part.dtype) if self.unit else part, b)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, np.shape(xs[0])[-1] * np.size(zs[0]))


@primitive
class Inverse(Stacked, Differential):
    """Z = A⁻¹; Ż = -Z Ȧ Z."""

    @property
    def title(self) -> str:
        return "inv"

    def evaluate(self, *xs: Value) -> Value:
        return np.linalg.inv(xs[0])

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_square(self.title, a)
        return ArrayType(a.shape, factor_dtype(self.title, a))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (False,), True

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return -np.matmul(np.matmul(z, dxs[0]), z)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        zh = adjoint_matrix(z)
        return (-np.matmul(np.matmul(zh, ct), zh),)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 2 * cubic(xs[0]))

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return inverse_workspace(types, results)


@primitive
class PseudoInverse(Implicit):
    """Z = A⁺, with singular values below `cutoff` times the largest one taken as zero. The rank is taken to be
    constant nearby.

        Ż = -Z Ȧ Z + Z Zᴴ Ȧᴴ (1 - A Z) + (1 - Z A) Ȧᴴ Zᴴ Z

    With `symmetric`, A is Hermitian: of A and Ȧ the lower triangle is read, with the real part of the diagonal.
    """

    symmetric: bool = False

    @property
    def title(self) -> str:
        return "pinv"

    @property
    def parameters(self) -> int:
        """The cutoff has no derivative."""
        return 1

    def evaluate(self, *xs: Value) -> Value:
        a, cutoff = xs
        return np.linalg.pinv(a, cutoff, hermitian=self.symmetric)

    def result_type(self, *types: ArrayType) -> Any:
        a = types[0]
        (check_square if self.symmetric else check_matrix)(self.title, a)
        return ArrayType((*a.shape[:-2], a.shape[-1], a.shape[-2]), factor_dtype(self.title, a))

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        a, da = xs[0], dxs[0]
        if da is None:
            return None
        a, da = (from_triangle(a), from_triangle(da)) if self.symmetric else (a, da)
        dah, zh = adjoint_matrix(da), adjoint_matrix(z)
        rows = np.matmul(np.matmul(z, zh), dah)
        columns = np.matmul(dah, np.matmul(zh, z))
        zda = np.matmul(z, da)
        return (
            rows - np.matmul(zda, z) - np.matmul(np.matmul(rows, a), z) + columns - np.matmul(z, np.matmul(a, columns))
        )

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        a = from_triangle(xs[0]) if self.symmetric else xs[0]
        zh, cth = adjoint_matrix(z), adjoint_matrix(ct)
        # adjoints of the three terms: -Zᴴ Z̄ Zᴴ, (1 - A Z) Z̄ᴴ Z Zᴴ, Zᴴ Z Z̄ᴴ (1 - Z A)
        left = np.matmul(cth, np.matmul(z, zh))
        right = np.matmul(np.matmul(zh, z), cth)
        a_bar = (
            left
            - np.matmul(a, np.matmul(z, left))
            + right
            - np.matmul(np.matmul(right, z), a)
            - np.matmul(np.matmul(zh, ct), zh)
        )
        return (onto_triangle(a_bar) if self.symmetric else a_bar), None

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        a, cutoff = xs
        if not mapped[0]:
            a = np.broadcast_to(a, (size, *np.shape(a)))
        if mapped[1]:
            cutoff = np.reshape(cutoff, (size,) + (1,) * (a.ndim - 2 - cutoff.ndim) + cutoff.shape[1:])
        return self(a, cutoff)

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return pseudo_inverse_workspace(types, results)
