"""Which inputs each element of a value depends on: rows of boolean matrices, kept as products where they are dense.

A value with m elements has the dependence D (m × n, n the number of inputs that count). It is stored as D = Σ A·B,
where A is often the identity: a mean over n elements that is broadcast again has n² dependences, but A = 1 and B = 1ᵀ
hold 2n numbers. Union adds terms, or the A's of terms with the same B; all is written out as soon as that is small.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Matrix = Any  # a scipy.sparse.csr_array of booleans
Term = tuple[Any, Any]  # (left factor or None, block)

SMALL = 1_000_000  # entries that are written out without a thought
MOST = 60_000_000  # entries above which a value counts as depending on all that any of its elements depends on
MOST_TERMS = 24  # products of which a dependence is the sum: beyond, they are taken together


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


def pick(matrix: Matrix, index: Any) -> Matrix:
    """Row index[i] as row i; an empty row where that is negative."""
    here = index >= 0
    if here.all():
        return matrix[index]
    return from_map(index, matrix.shape[0]) @ matrix


def work(left: Matrix, right: Matrix) -> int:
    """An upper bound for the entries of a product."""
    return int(np.diff(right.indptr)[left.indices].sum()) if left.nnz and right.nnz else 0


class Dependence:
    """The inputs that each element of a value depends on, as a sum of products left · block.

    `left` is None for the identity. A `uniform` dependence has a single row, for however many elements: their number
    need not be known.
    """

    __slots__ = ("terms", "uniform")

    def __init__(self, *terms: Term, uniform: bool = False) -> None:
        self.terms, self.uniform = terms, uniform

    @staticmethod
    def of(matrix: Matrix, *, uniform: bool = False) -> Dependence:
        """That which a matrix says."""
        return Dependence((None, matrix), uniform=uniform)

    @property
    def inputs(self) -> int:
        return self.terms[0][1].shape[1]

    @property
    def rows(self) -> int:
        left, block = self.terms[0]
        return (block if left is None else left).shape[0]

    @property
    def entries(self) -> int:
        """An upper bound for the number of entries when all is written out."""
        return sum(block.nnz if left is None else work(left, block) for left, block in self.terms)

    def spread(self, size: int) -> Dependence:
        """A uniform one, for a value of `size` elements."""
        return Dependence((ones(size, 1), self.terms[0][1])).settled() if self.uniform else self

    def settled(self) -> Dependence:
        """The same, written out if that is small; coarser if even the products are too large to hold."""
        if len(self.terms) == 1 and self.terms[0][0] is None:
            return self
        held = sum(block.nnz + (0 if left is None else left.nnz) for left, block in self.terms)
        if self.entries <= max(SMALL, 4 * held):
            return Dependence.of(self._written())
        if held > MOST:
            return Dependence((ones(self.rows, 1), self.together().terms[0][1]))
        if len(self.terms) <= MOST_TERMS:
            return self
        coarser = self._coarser()
        return coarser if coarser.entries <= 2 * self.entries else self._folded()

    def _written(self) -> Matrix:
        first, *rest = (block if left is None else left @ block for left, block in self.terms)
        return sum(rest, first)

    def _coarser(self) -> Dependence:
        """All terms but the largest as one: whatever depends on any of their rows depends on all of them."""
        largest = max(self.terms, key=lambda term: term[1].shape[0])
        others = [term for term in self.terms if term is not largest]
        reached = np.zeros(self.rows, bool)
        for left, block in others:
            reached |= np.diff((block if left is None else left).indptr) > 0
        row = Dependence(*others).together().terms[0][1]
        return Dependence(largest, (from_map(np.where(reached, 0, -1), 1), row))

    def _folded(self) -> Dependence:
        """The same as one product: left factors beside each other, blocks below each other."""
        lefts = [identity(block.shape[0]) if left is None else left for left, block in self.terms]
        return Dependence((beside(lefts), stacked([block for _, block in self.terms])))

    def matrix(self, size: int) -> Matrix:
        """All of it, as one matrix with `size` rows."""
        return self.spread(size)._written()

    def taken(self, index: Any) -> Dependence:
        """Of a value whose element i is element index[i] of this one, or a constant where that is negative."""
        index = np.ravel(index)
        if self.uniform:
            if (index >= 0).all():
                return self
            return Dependence((from_map(np.where(index >= 0, 0, -1), 1), self.terms[0][1])).settled()
        if len(self.terms) == 1 and self.terms[0][0] is None:
            return Dependence.of(pick(self.terms[0][1], index))
        return Dependence(
            *[
                (from_map(index, block.shape[0]) if left is None else pick(left, index), block)
                for left, block in self.terms
            ]
        ).settled()

    def through(self, *factors: Matrix) -> Dependence:
        """Of a value on which this one acts by factors[0] · factors[1] · …; a narrow first factor is kept apart."""
        this = self.spread(factors[-1].shape[1])
        for factor in reversed(factors):
            this = Dependence(
                *[(factor if left is None else factor @ left, block) for left, block in this.terms]
            ).settled()
        return this

    def together(self) -> Dependence:
        """The union over all elements, as a uniform one."""
        if self.uniform:
            return self
        used = [block if left is None else block[np.unique(left.indices)] for left, block in self.terms]
        columns = np.unique(np.concatenate([block.indices for block in used]))
        return Dependence.of(from_pairs(np.zeros(columns.size, int), columns, (1, self.inputs)), uniform=True)


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
        rows = [part.together().terms[0][1] for part in known]
        return Dependence.of(sum(rows[1:], rows[0]), uniform=True)
    return _merge([term for part in known for term in part.spread(size).terms]).settled()


def _merge(terms: Sequence[Term]) -> Dependence:
    """Terms with the same block are one, and so are single rows on which the same elements depend."""
    plain = [block for left, block in terms if left is None]
    merged: dict[int, Term] = {}
    if len(plain) == len(terms):
        different = {id(block): block for block in plain}.values()
        first, *rest = different
        return Dependence.of(sum(rest, first))
    for left, block in terms:
        left = identity(block.shape[0]) if left is None else left
        known = merged.get(id(block))
        merged[id(block)] = (left if known is None else left + known[0], block)
    rows: dict[bytes, Term] = {}
    others: list[Term] = []
    for left, block in merged.values():
        if block.shape[0] > 1:  # blocks that stay the same objects can be known again
            others.append((left, block))
        else:
            known = rows.get(key := left.indptr.tobytes())
            rows[key] = (left, block if known is None else block + known[1])
    return Dependence(*others, *rows.values())


def concatenate(parts: Sequence[Dependence | None], sizes: Sequence[int], inputs: int) -> Dependence:
    """Of several values one after the other."""
    full = [
        Dependence.of(empty(size, inputs)) if part is None else part.spread(size)
        for part, size in zip(parts, sizes, strict=True)
    ]
    if all(len(part.terms) == 1 and part.terms[0][0] is None for part in full):
        return Dependence.of(stacked([part.terms[0][1] for part in full]))
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    terms: list[Term] = []
    for part, start, size in zip(full, ends, sizes, strict=False):
        index = np.full(int(ends[-1]), -1)
        index[start : start + size] = np.arange(size)
        terms += part.taken(index).terms
    return _merge(terms).settled()
