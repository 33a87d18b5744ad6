"""Equations whose matrix is given by its entries and their positions: SuperLU factors it once for all solves."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false
# (NumPy types results by their arguments, which may be anything here; SciPy has no types.)

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.base.forking import free_in_child
from adjoint.ops.calculus import Implicit, fit, total
from adjoint.ops.linalg.matrices import check_matrix, factor_dtype
from adjoint.ops.linalg.sparse_product import (
    SparseProduct,
    aligned_stacks,
    conjugate,
    in_blocks,
    out_of_blocks,
    read_rows,
)
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, type_of

REMEMBERED = 4  # factorizations, the last ones: the adjoint solves with what the forward pass has factored
ADJOINT = {"N": "H", "H": "N", "T": "T"}  # Tᴴ is the conjugate, whose equation is that of conjugates

_lock = free_in_child(threading.Lock())


class _Structure:
    """Where the entries of a matrix stand, and what follows from that alone."""

    def __init__(self, rows: Any, columns: Any, n: int) -> None:
        from scipy.sparse import csc_array

        self.rows, self.columns, self.n = np.array(rows), np.array(columns), n
        counted = csc_array((np.arange(1, len(rows) + 1), (rows, columns)), shape=(n, n))
        self.is_plain = counted.nnz == len(rows)  # no position stands there twice
        counted.sort_indices()
        self.order = counted.data - 1
        self.indices, self.indptr = counted.indices.astype(np.intc), counted.indptr.astype(np.intc)
        self.column_order = _column_order(counted)

    def holds(self, rows: Any, columns: Any, n: int) -> bool:
        return n == self.n and _is_same(rows, self.rows) and _is_same(columns, self.columns)

    def matrix(self, data: Any) -> Any:
        from scipy.sparse import csc_array

        shape = (self.n, self.n)
        if self.is_plain:
            return csc_array((data[self.order], self.indices, self.indptr), shape=shape)
        matrix = csc_array((data, (self.rows, self.columns)), shape=shape)
        matrix.indices, matrix.indptr = matrix.indices.astype(np.intc), matrix.indptr.astype(np.intc)
        return matrix


class _Factored(NamedTuple):
    data: Any
    structure: _Structure
    factors: Any  # None for a singular matrix


_factors: deque[_Factored] = deque(maxlen=REMEMBERED)  # the last ones
_structures: deque[_Structure] = deque(maxlen=REMEMBERED)


def factorize(data: Any, rows: Any, columns: Any, n: int) -> Any:
    """SuperLU's factors of the matrix with these entries, from memory if it has factored the same one lately.

    None for a singular matrix.
    """
    from scipy.sparse.linalg import splu

    with _lock:
        for known in reversed(_factors):
            if _is_same(data, known.data) and known.structure.holds(rows, columns, n):
                return known.factors
        structure = next((s for s in reversed(_structures) if s.holds(rows, columns, n)), None)
    if structure is None:
        structure = _Structure(rows, columns, n)
        with _lock:
            _structures.append(structure)
    try:
        factors = splu(structure.matrix(data), permc_spec=structure.column_order)
    except RuntimeError as problem:
        if "singular" not in str(problem):
            raise
        factors = None
    with _lock:
        _factors.append(_Factored(np.array(data), structure, factors))
    return factors


def _is_same(a: Any, b: Any) -> bool:
    """Whether two arrays are the same to the bit: quicker than a hash of one."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    first, second = (np.ascontiguousarray(x).view(np.uint8) for x in (a, b))
    return bool(np.array_equal(first, second))


def _column_order(matrix: Any) -> str:
    """The order of columns that leaves few entries in the factors: of A + Aᵀ where the pattern is symmetric."""
    turned = matrix.T.tocsc()
    turned.sort_indices()
    is_symmetric = np.array_equal(turned.indptr, matrix.indptr) and np.array_equal(turned.indices, matrix.indices)
    return "MMD_AT_PLUS_A" if is_symmetric else "COLAMD"


@primitive
class SparseSolve(Implicit):
    """X with A X = B (trans "N"), Aᵀ X = B ("T") or Aᴴ X = B ("H"), for the entries of A, at positions that are
    parameters.

    Ẋ = A⁻¹ (Ḃ - Ȧ X),   B̄ = A⁻ᴴ X̄,   āᵢⱼ = -(B̄ Xᴴ)ᵢⱼ at the positions of the entries alone.
    """

    size: int
    trans: str = "N"

    linear_arguments = (1,)
    size_fields = ("size",)

    @property
    def title(self) -> str:
        return "spsolve"

    @property
    def parameters(self) -> int:
        return 2

    def evaluate(self, *xs: Value) -> Value:
        data, b, rows, columns = xs
        dtype = factor_dtype(self.title, type_of(data), type_of(b))
        real = np.finfo(dtype).dtype
        data = data.astype(dtype if data.dtype.kind == "c" else real, copy=False)
        stack = np.broadcast_shapes(data.shape[:-1], b.shape[:-2])
        out = np.empty((*stack, *b.shape[-2:]), dtype)
        if data.ndim == 1:  # one factorization for all
            columns_of_all = np.reshape(np.moveaxis(b, -2, 0), (self.size, -1))
            x = self._solved(data, columns_of_all, rows, columns, dtype)
            out[...] = np.moveaxis(np.reshape(x, (self.size, *b.shape[:-2], b.shape[-1])), 0, -2)
            return out
        entries = np.broadcast_to(data, (*stack, data.shape[-1]))
        sides = np.broadcast_to(b, out.shape)
        for position in np.ndindex(*stack):
            out[position] = self._solved(entries[position], sides[position], rows, columns, dtype)
        return out

    def _solved(self, data: Any, b: Any, rows: Any, columns: Any, dtype: Any) -> Any:
        if not b.size:
            return np.zeros(b.shape, dtype)
        factors = factorize(data, rows, columns, self.size)
        if factors is None:
            from scipy.sparse.linalg import MatrixRankWarning

            warnings.warn("Matrix is exactly singular", MatrixRankWarning, stacklevel=2)
            return np.full(b.shape, np.nan, dtype)
        if data.dtype.kind != "c" and b.dtype.kind == "c":
            real, imaginary = (factors.solve(np.array(part, data.dtype), self.trans) for part in (b.real, b.imag))
            return real + 1j * imaginary
        return factors.solve(np.array(b, data.dtype), self.trans)

    def result_type(self, *types: ArrayType) -> Any:
        data, b, rows, columns = types
        check_matrix(self.title, b)
        if b.shape[-2] != self.size:
            raise ShapeError(f"{self.title}: the matrix has {self.size} columns, the right side {b} other rows.")
        if not (data.shape[-1:] == rows.shape == columns.shape):
            raise ShapeError(f"{self.title}: {data} entries at {rows} rows and {columns} columns.")
        stack = np.broadcast_shapes(data.shape[:-1], b.shape[:-2])
        return ArrayType((*stack, *b.shape[-2:]), factor_dtype(self.title, data, b))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True, False, True, True), wanted[0]

    def product(self, data: Value, rows: Value, columns: Value, x: Value) -> Value:
        """A X, Aᵀ X or Aᴴ X for other entries at the same positions."""
        if self.trans == "N":
            return SparseProduct(self.size)(data, x, rows, columns)
        return SparseProduct(self.size)(conjugate(data) if self.trans == "H" else data, x, columns, rows)

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        data, _, rows, columns = xs
        ddata, db = dxs[:2]
        change = None if ddata is None else -self.product(ddata, rows, columns, z)
        return self(data, total(db, change), rows, columns)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        data, b, rows, columns = xs
        turned = SparseSolve(self.size, "N" if self.trans == "T" else ADJOINT[self.trans])
        if self.trans == "T":
            b_bar = conjugate(turned(data, conjugate(ct), rows, columns))
        else:
            b_bar = turned(data, ct, rows, columns)
        data_bar = None
        if wanted[0]:
            first, second = (rows, columns) if self.trans == "N" else (columns, rows)
            terms = read_rows(b_bar, first) * conjugate(read_rows(z, second))
            entries = -np.sum(terms, axis=-1)
            data_bar = fit(conjugate(entries) if self.trans == "H" else entries, data)
        return data_bar, fit(b_bar, b) if wanted[1] else None, None, None

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        if mapped[2] or mapped[3]:
            stacks = [x if m else np.broadcast_to(x, (size, *x.shape)) for x, m in zip(xs, mapped, strict=True)]
            blocks = in_blocks(stacks, (self.size, self.size))
            return out_of_blocks(SparseSolve(size * self.size, self.trans)(*blocks), size, self.size)
        return self(*aligned_stacks(xs[:2], mapped[:2], size), *xs[2:])

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        data, b, rows, columns = xs
        positions = rows.get(0), columns.get(0)
        terms = [(data.get(j), z.get(k - j)) for j in range(1, k + 1)]
        products = [self.product(a, *positions, x) for a, x in terms if a is not None and x is not None]
        negative = total(*products)
        right = total(b.get(k), None if negative is None else -negative)
        return None if right is None else self(data.get(0), right, *positions)
