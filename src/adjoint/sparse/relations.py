"""Which inputs each element of a value depends on: rows of boolean matrices, kept as products where they are dense.

A value with m elements has the dependence D (m × n, n the number of inputs that count). It is stored as D = A·B, where
A is often the identity: a mean over n elements that is broadcast again has n² dependences, but A = 1 and B = 1ᵀ hold 2n
numbers. Union puts A's beside each other and B's below each other; the product is worked out as soon as it is small.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Matrix = Any  # a scipy.sparse.csr_array of booleans

ROOM = 1_000_000  # entries that are written out without a thought
MOST = 60_000_000  # entries above which a value counts as depending on all that any of its elements depends on


def empty(rows: int, columns: int) -> Matrix:
    """No dependences at all."""
    from scipy.sparse import csr_array

    return csr_array((rows, columns), dtype=bool)


def identity(n: int) -> Matrix:
    """Each on itself."""
    return from_map(np.arange(n), n)


def from_map(index: Any, columns: int) -> Matrix:
    """Row i on column index[i]; on nothing where that is negative."""
    from scipy.sparse import csr_array

    index = np.ravel(index)
    here = index >= 0
    if here.all():
        pointer, index = np.arange(index.size + 1), index
    else:
        pointer, index = np.concatenate([[0], np.cumsum(here)]), index[here]
    return _canonical(csr_array((np.ones(index.size, bool), index, pointer), shape=(pointer.size - 1, columns)))


def from_pairs(rows: Any, columns: Any, shape: tuple[int, int]) -> Matrix:
    """The entries (rows[k], columns[k])."""
    from scipy.sparse import coo_array

    rows, columns = np.ravel(rows), np.ravel(columns)
    return _canonical(coo_array((np.ones(rows.size, bool), (rows, columns)), shape=shape).tocsr())


def ones(rows: int, columns: int) -> Matrix:
    """All on all."""
    from scipy.sparse import csr_array

    return csr_array(np.ones((rows, columns), bool))


def stacked(matrices: Sequence[Matrix]) -> Matrix:
    """One below the other."""
    from scipy.sparse import vstack

    return matrices[0] if len(matrices) == 1 else vstack(matrices, format="csr")


def beside(matrices: Sequence[Matrix]) -> Matrix:
    """One beside the other."""
    from scipy.sparse import hstack

    return matrices[0] if len(matrices) == 1 else hstack(matrices, format="csr")


def _canonical(matrix: Matrix) -> Matrix:
    matrix.sum_duplicates()
    return matrix


def picked(matrix: Matrix, index: Any) -> Matrix:
    """Row index[i] as row i; an empty row where that is negative."""
    here = index >= 0
    if here.all():
        return matrix[index]
    return from_map(index, matrix.shape[0]) @ matrix


def work(left: Matrix, right: Matrix) -> int:
    """An upper bound for the entries of a product."""
    return int(np.diff(right.indptr)[left.indices].sum()) if left.nnz and right.nnz else 0


class Dependence:
    """The inputs that each element of a value depends on, D = left · base; `left` is None for the identity.

    A `uniform` one has a single row, for however many elements: their number need not be known.
    """

    __slots__ = ("base", "left", "uniform")

    def __init__(self, base: Matrix, left: Matrix | None = None, *, uniform: bool = False) -> None:
        self.base, self.left, self.uniform = base, left, uniform

    @property
    def inputs(self) -> int:
        return self.base.shape[1]

    def spread(self, size: int) -> Dependence:
        """A uniform one, for a value of `size` elements."""
        return Dependence(self.base, ones(size, 1)).settled() if self.uniform else self

    def settled(self) -> Dependence:
        """The same, written out if that is small; made uniform if even the product is too large to hold."""
        if self.left is None:
            return self
        entries = work(self.left, self.base)
        if entries <= max(ROOM, 4 * (self.left.nnz + self.base.nnz)):
            return Dependence(self.left @ self.base)
        if self.left.nnz + self.base.nnz > MOST:
            row = self.together()
            return Dependence(row.base, ones(self.left.shape[0], 1))
        return self

    def matrix(self, size: int) -> Matrix:
        """All of it, as one matrix with `size` rows."""
        full = self.spread(size)
        return full.base if full.left is None else full.left @ full.base

    def taken(self, index: Any) -> Dependence:
        """Of a value whose element i is element index[i] of this one, or a constant where that is negative."""
        index = np.ravel(index)
        if self.uniform:
            return self if (index >= 0).all() else self.through(from_map(np.where(index >= 0, 0, -1), 1), spread=1)
        if self.left is None:
            return Dependence(picked(self.base, index))
        return Dependence(self.base, picked(self.left, index)).settled()

    def through(self, *factors: Matrix, spread: int | None = None) -> Dependence:
        """Of a value on which this one acts by factors[0] · factors[1] · …; a narrow first factor is kept apart."""
        this = self.spread(factors[-1].shape[1] if spread is None else spread)
        for factor in reversed(factors):
            if this.left is not None:
                this = Dependence(this.base, factor @ this.left).settled()
            else:
                this = Dependence(this.base, factor).settled()
        return this

    def together(self) -> Dependence:
        """The union over all elements, as a uniform one."""
        if self.uniform:
            return self
        used = self.base if self.left is None else self.base[np.unique(self.left.indices)]
        columns = np.unique(used.indices)
        row = from_pairs(np.zeros(columns.size, int), columns, (1, self.inputs))
        return Dependence(row, uniform=True)


def union(parts: Sequence[Dependence | None], size: int | None) -> Dependence | None:
    """On all that any of the parts depends on; None depends on nothing. `size` is None where it is not known."""
    known: list[Dependence] = []
    for part in parts:
        if part is not None and not any(part is other for other in known):
            known.append(part)
    if not known:
        return None
    if len(known) == 1:
        return known[0]
    if all(part.uniform for part in known) or size is None:
        rows = [part.together() for part in known]
        return Dependence(sum((row.base for row in rows[1:]), rows[0].base), uniform=True)
    full = [part.spread(size) for part in known]
    total = full[0]
    for part in full[1:]:
        total = _joined(total, part)
    return total


def _joined(a: Dependence, b: Dependence) -> Dependence:
    if a.left is None and b.left is None:
        return Dependence(a.base + b.base)
    left_a, left_b = (identity(d.base.shape[0]) if d.left is None else d.left for d in (a, b))
    if a.base is b.base:
        return Dependence(a.base, left_a + left_b).settled()
    return Dependence(stacked([a.base, b.base]), beside([left_a, left_b])).settled()


def concatenated(parts: Sequence[Dependence | None], sizes: Sequence[int], inputs: int) -> Dependence:
    """Of several values one after the other."""
    full = [
        Dependence(empty(size, inputs)) if part is None else part.spread(size)
        for part, size in zip(parts, sizes, strict=True)
    ]
    if all(part.left is None for part in full):
        return Dependence(stacked([part.base for part in full]))
    from scipy.sparse import block_diag

    lefts = [identity(part.base.shape[0]) if part.left is None else part.left for part in full]
    return Dependence(stacked([part.base for part in full]), block_diag(lefts, format="csr").astype(bool))
