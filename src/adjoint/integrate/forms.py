"""How the Jacobian of f is found, and equations with W = M - c J are solved.

    dense     J by pushes of the identity; LU
    sparse    J by one push for each color of its pattern, which is found once; SuperLU, or LAPACK's band solver where
              the reverse Cuthill-McKee order leaves few diagonals
    free      no J: products with it, and GMRES

A form is a constant of the program; J and the factors are values that a method carries over its steps. `equation`
solves with ∂F/∂x of another F at its solution, for derivatives: exactly, and with its transpose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np

from adjoint.api.gradients import jvp, vjp, vmap
from adjoint.api.jacobians import jacfwd
from adjoint.linear.solvers.methods import gmres
from adjoint.ops.linalg.banded import BandedSolve
from adjoint.ops.linalg.decompose import LU
from adjoint.ops.linalg.solve import TriangularSolve
from adjoint.ops.linalg.sparse_solve import SparseSolve
from adjoint.program.types import Value
from adjoint.sparse.coloring import color

__all__ = ["DENSE", "FREE", "Dense", "Free", "Sparse", "SparsePattern"]

SMALL = 8  # rows: of smaller matrices factors are found as quickly as they are read


@final
@dataclass(frozen=True)
class Dense:
    """J as a matrix, LU factors of W."""

    name = "dense"

    def jacobian(self, f: Any, t: Value, y: Value) -> Value:
        """∂f/∂y."""
        return jacfwd(lambda y: f.implicit(t, y))(y)

    def factors(self, f: Any, c: Value, J: Value) -> tuple[Value, ...]:
        """What solves (M - c J) x = b; c may be complex."""
        W = _mass(f, J) - c * J
        if W.shape[0] < SMALL:
            return (W,)
        packed, _, order = LU()(W)
        return packed, order

    def solve(self, f: Any, factors: tuple[Value, ...], b: Value) -> Value:
        """x."""
        if len(factors) == 1:
            return np.linalg.solve(factors[0], b)
        packed, order = factors
        column = np.take(b, order)[:, None]
        half = TriangularSolve(lower=True, unit=True)(packed, column)
        return TriangularSolve(lower=False)(packed, half)[:, 0]

    def equation(self, F: Callable[[Value], Value], x: Value, b: Value, adjoint: bool) -> Value:
        """∂F/∂x t = b, or with the transposed matrix."""
        matrix = jacfwd(F)(x)
        return np.linalg.solve(matrix.T if adjoint else matrix, b)

    def radius(self, J: Value) -> Value:
        """A bound of |λ|."""
        return np.float64(1.0) * np.max(np.sum(np.abs(J), axis=1))

    def times_mass(self, f: Any, v: Value) -> Value:
        """M v."""
        return v if f.mass is None else f.mass.astype(v.dtype) @ v


def _mass(f: Any, J: Value) -> Value:
    M = f.mass
    return np.eye(J.shape[0], dtype=J.dtype) if M is None else M.astype(J.dtype)


class SparsePattern:
    """A pattern with its colors, equal to another with the same entries."""

    def __init__(self, coloring: Any) -> None:
        self.coloring = coloring
        p = coloring.pattern
        self.size = int(p.shape[0])
        self.columns = np.asarray(p.indices, np.int64)
        self.rows = np.repeat(np.arange(self.size), np.diff(p.indptr))
        self.key = (self.size, self.columns.tobytes(), np.asarray(p.indptr).tobytes())
        self.diagonal = np.flatnonzero(self.rows == self.columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SparsePattern) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


@final
@dataclass(frozen=True)
class Sparse:
    """The entries of J at the entries of a pattern; with `order`, rows and columns in an order with few diagonals."""

    pattern: SparsePattern
    order: tuple[int, ...] = ()
    low: int = 0
    up: int = 0
    is_whole: bool = True  # no entry is missing, as one may in a pattern that is given

    @property
    def name(self) -> str:
        return f"{self.low + self.up + 1} diagonals" if self.order else "sparse"

    def jacobian(self, f: Any, t: Value, y: Value) -> Value:
        """The entries of ∂f/∂y."""
        return self._entries(lambda y: f.implicit(t, y), y)

    def _entries(self, F: Callable[[Value], Value], x: Value) -> Value:
        coloring = self.pattern.coloring
        push = lambda v: jvp(F, (x,), (v,))[1]
        return coloring.values(vmap(push)(coloring.seeds("right", x.dtype)))

    def factors(self, f: Any, c: Value, J: Value) -> tuple[Value, ...]:
        """The entries of M - c J, in the order of the band or of the pattern."""
        return (self._laid(self._mass(f, J) - c * J, False),)

    def solve(self, f: Any, factors: tuple[Value, ...], b: Value) -> Value:
        """x; SuperLU's factors are remembered by the entries."""
        return self._solved(factors[0], b, False)

    def equation(self, F: Callable[[Value], Value], x: Value, b: Value, adjoint: bool) -> Value:
        """∂F/∂x t = b, or with the transposed matrix, for an F with this pattern."""
        return self._solved(self._laid(self._entries(F, x), adjoint), b, adjoint)

    def stacked(self, count: int) -> Sparse:
        """The form of a matrix whose count × count blocks all have the pattern."""
        return _stacked(self, count)

    def _laid(self, W: Value, transposed: bool) -> Value:
        """The entries of a matrix, or of its transpose, by diagonals if it is a band."""
        p = self.pattern
        if not self.order:
            return W
        point = np.empty(p.size, np.int64)
        point[np.array(self.order)] = np.arange(p.size)
        i, j = point[p.rows], point[p.columns]
        band = np.zeros((self.low + self.up + 1, p.size), W.dtype) + 0 * W[0]
        if transposed:
            band[self.low + j - i, i] = W
        else:
            band[self.up + i - j, j] = W
        return band

    def _solved(self, laid: Value, b: Value, transposed: bool) -> Value:
        p = self.pattern
        if not self.order:
            rows, columns = (p.columns, p.rows) if transposed else (p.rows, p.columns)
            return SparseSolve(p.size)(laid, b[:, None], rows, columns)[:, 0]
        order = np.array(self.order)
        solver = BandedSolve(self.up, self.low) if transposed else BandedSolve(self.low, self.up)
        return np.take(solver(laid, np.take(b, order)[:, None])[:, 0], np.argsort(order))

    def radius(self, J: Value) -> Value:
        """A bound of |λ|: the largest sum of a row."""
        sums = np.zeros(self.pattern.size, J.dtype) + 0 * J[0]
        np.add.at(sums, self.pattern.rows, np.abs(J))
        return np.float64(1.0) * np.max(sums)

    def times_mass(self, f: Any, v: Value) -> Value:
        """M v."""
        return v if f.mass is None else f.mass.astype(v.dtype) @ v

    def _mass(self, f: Any, J: Value) -> Value:
        p, M = self.pattern, f.mass
        if M is not None:
            return M.astype(J.dtype)[p.rows, p.columns]
        return (p.rows == p.columns).astype(J.dtype)


@lru_cache(maxsize=16)
def _stacked(form: Sparse, count: int) -> Sparse:
    """Rows and columns of one unknown in all blocks stand side by side in the band."""
    from scipy.sparse import csr_array, kron

    n = form.pattern.size
    whole = csr_array(kron(np.ones((count, count), bool), form.pattern.coloring.pattern.astype(bool)))
    whole.sort_indices()
    order = tuple(block * n + i for i in form.order for block in range(count))
    low, up = (count * width + count - 1 if order else 0 for width in (form.low, form.up))
    return Sparse(SparsePattern(color(whole, "column")), order, low, up, form.is_whole)


@final
@dataclass(frozen=True)
class Free:
    """No matrix: what stands for J is the point (t, y) at which products with it are taken."""

    name = "free"

    def jacobian(self, f: Any, t: Value, y: Value) -> Value:
        return np.concatenate([np.stack([t]).astype(y.dtype), y])

    def factors(self, f: Any, c: Value, J: Value) -> tuple[Value, ...]:
        return np.stack([c]).astype(J.dtype), J

    def solve(self, f: Any, factors: tuple[Value, ...], b: Value) -> Value:
        """x by GMRES."""
        (scale,), point = factors
        t, y = np.float64(1.0) * point[0], point[1:]

        def W(v: Value) -> Value:
            return self.times_mass(f, v) - scale * jvp(lambda y: f.implicit(t, y), (y,), (v,))[1]

        tight = 1e-8 if b.dtype == np.float64 else 1e-5
        return gmres(W, b, tol=tight).value

    def equation(self, F: Callable[[Value], Value], x: Value, b: Value, adjoint: bool) -> Value:
        """∂F/∂x t = b, or with the transposed matrix, by GMRES."""
        product = (lambda v: vjp(F, x)[1](v)[0]) if adjoint else (lambda v: jvp(F, (x,), (v,))[1])
        return gmres(product, b, tol=1e-12 if b.dtype == np.float64 else 1e-6).value

    def radius(self, J: Value) -> Value:
        return np.float64(0.0)

    def times_mass(self, f: Any, v: Value) -> Value:
        """M v."""
        return v if f.mass is None else f.mass.astype(v.dtype) @ v


DENSE, FREE = Dense(), Free()
