"""Equations whose matrix is given by its entries and their positions: SuperLU factors it once for all solves."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false
# (NumPy types results by their arguments, which may be anything here; SciPy has no types.)

from __future__ import annotations

import hashlib
import threading
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

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
_factors: OrderedDict[bytes, Any] = OrderedDict()


def factorize(data: Any, rows: Any, columns: Any, n: int) -> Any:
    """SuperLU's factors of the matrix with these entries, from memory if it has factored the same one lately.

    None for a singular matrix.
    """
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    seen = hashlib.blake2b(f"{n} {data.dtype}".encode(), digest_size=32)
    for part in (data, rows, columns):
        seen.update(np.ascontiguousarray(part).data)
    key = seen.digest()
    with _lock:
        if key in _factors:
            _factors.move_to_end(key)
            return _factors[key]
    matrix = csc_array((data, (rows, columns)), shape=(n, n))
    matrix.indices, matrix.indptr = matrix.indices.astype(np.intc), matrix.indptr.astype(np.intc)
    try:
        factors = splu(matrix, permc_spec=_column_order(matrix))
    except RuntimeError as problem:
        if "singular" not in str(problem):
            raise
        factors = None
    with _lock:
        _factors[key] = factors
        while len(_factors) > REMEMBERED:
            _factors.popitem(last=False)
    return factors


def _column_order(matrix: Any) -> str:
    """The order of columns that leaves few entries in the factors: of A + Aᵀ where the pattern is symmetric."""
    matrix.sort_indices()
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
            return out_of_blocks(SparseSolve(size * self.size, self.trans)(*blocks), size)
        return self(*aligned_stacks(xs[:2], mapped[:2], size), *xs[2:])

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        data, b, rows, columns = xs
        positions = rows.get(0), columns.get(0)
        terms = [(data.get(j), z.get(k - j)) for j in range(1, k + 1)]
        products = [self.product(a, *positions, x) for a, x in terms if a is not None and x is not None]
        negative = total(*products)
        right = total(b.get(k), None if negative is None else -negative)
        return None if right is None else self(data.get(0), right, *positions)
