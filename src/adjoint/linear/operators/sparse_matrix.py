"""A sparse matrix as a map, differentiable in its entries; anything that is a matrix as a map."""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.linear.operators.facts import read
from adjoint.linear.operators.maps import OPERATIONS, STATIC, LinearMap
from adjoint.linear.operators.spaces import Space
from adjoint.linear.operators.stacks import check_single
from adjoint.linear.operators.structures import matrix
from adjoint.numpy.indexing import take
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.transform.arguments import plain_value

__all__ = ["SparseMatrix", "as_map", "sparse", "sum_by_index"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class SparseMatrix(LinearMap):
    """x ↦ A x, from the entries of A and their positions: y[rows] += entries · x[columns]."""

    _axes = (("entries", 1), ("rows", 1), ("columns", 1))
    entries: Value
    rows: Value
    columns: Value
    size: tuple[int, int] = field(metadata=STATIC)

    @property
    def domain(self) -> Space:
        return Space.vector(self.size[1], self.entries.dtype)

    @property
    def range(self) -> Space:
        return Space.vector(self.size[0], self.entries.dtype)

    def _label(self) -> str:
        return f"SparseMatrix ({self.entries.shape[-1]} entries)"

    def _plain(self, *values: Value) -> bool:
        return not any(isinstance(v, Tracer) for v in (self.entries, self.rows, self.columns, *values))

    def _as_sparse(self) -> Any:
        import scipy.sparse

        return scipy.sparse.csr_array((self.entries, (self.rows, self.columns)), shape=self.size)

    def _apply(self, x: Any) -> Any:
        if self._plain(x):
            return self._as_sparse() @ x
        return sum_by_index(self.entries * take(x, self.columns), self.rows, self.size[0])

    def _apply_adjoint(self, u: Any) -> Any:
        if self._plain(u):
            return self._as_sparse().conj().T @ u
        return sum_by_index(np.conjugate(self.entries) * take(u, self.rows), self.columns, self.size[1])

    def _apply_columns(self, columns: Value) -> Value:
        return self._as_sparse() @ columns if self._plain(columns) else super()._apply_columns(columns)

    def _adjoint(self) -> LinearMap:
        return SparseMatrix(np.conjugate(self.entries), self.columns, self.rows, (self.size[1], self.size[0]))

    def diagonal(self) -> Value:
        check_single(self)
        here = np.equal(self.rows, self.columns)
        return sum_by_index(self.entries * here, self.rows * here, min(self.size))  # zeros go to the first place

    def _to_dense(self) -> Value:
        m, n = self.size
        return np.reshape(sum_by_index(self.entries, self.rows * n + self.columns, m * n), (m, n))


def sum_by_index(values: Value, indices: Value, size: int) -> Value:
    """The sums of the values that belong to each position."""
    if values.dtype.kind == "c":
        parts = [np.bincount(indices, weights=part, minlength=size) for part in (np.real(values), np.imag(values))]
        return (parts[0] + 1j * parts[1]).astype(values.dtype)
    return np.bincount(indices, weights=values, minlength=size).astype(values.dtype)


def sparse(entries: Any, rows: Any, columns: Any, shape: tuple[int, int], *facts: str) -> LinearMap:
    """The map of a sparse matrix with these entries at (rows, columns); several at one place are added.

    ```python
    result = ad.linear.sparse(np.array([5.0, 7.0]), np.array([0, 1]), np.array([1, 0]), (2, 2)).to_dense()
    result  # → [[0.0, 5.0], [7.0, 0.0]]
    ```
    """
    entries = plain_value(entries if hasattr(entries, "dtype") else np.asarray(entries, float), "sparse: the entries")
    rows, columns = (np.asarray(indices, np.intp) for indices in (rows, columns))
    if not entries.shape == rows.shape == columns.shape:
        raise ShapeError(f"sparse: {entries.shape} entries at {rows.shape} rows and {columns.shape} columns.")
    for indices, n, what in ((rows, shape[0], "row"), (columns, shape[1], "column")):
        if indices.size and not (indices.min() >= 0 and indices.max() < n):
            raise ShapeError(f"sparse: a {what} lies outside 0 … {n - 1}.")
    return SparseMatrix(entries, rows, columns, (int(shape[0]), int(shape[1])), claims=read(facts))


def as_map(a: Any, *facts: str) -> LinearMap:
    """A linear map from a map, a matrix, a sparse array of SciPy, or a LinearOperator of SciPy (a constant).

    ```python
    import scipy.sparse
    ad.linear.as_map(scipy.sparse.eye_array(3)) @ np.arange(3.0)  # → [0.0, 1.0, 2.0]
    ```
    """
    if isinstance(a, LinearMap):
        return a._claiming(read(facts))
    if hasattr(a, "tocoo"):
        entries = a.tocoo()
        data = entries.data if entries.data.dtype.kind in "fc" else entries.data.astype(float)
        return sparse(data, *entries.coords, a.shape, *facts)
    if hasattr(a, "matvec") and hasattr(a, "shape"):
        return OPERATIONS["scipy operator"](a, *facts)
    return matrix(a, *facts)
