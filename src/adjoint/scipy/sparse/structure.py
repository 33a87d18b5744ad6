"""What a sparse array is, apart from arithmetic: its entries at their positions, in formats, slices and diagonals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.program.types import Value
from adjoint.scipy.passing import settled
from adjoint.scipy.sparse.pattern import Pattern, moved, summed_pattern
from adjoint.scipy.sparse.products import summed


def is_plain_sparse(x: Any) -> bool:
    """Whether x is a sparse array or matrix of SciPy."""
    import scipy.sparse

    return scipy.sparse.issparse(x)


class Structure:
    """Entries `data` at the positions of a static pattern."""

    def __init__(self, data: Value, pattern: Pattern) -> None:
        self.data, self.pattern = data, pattern

    # what it is

    shape = property(lambda self: self.pattern.shape)
    format = property(lambda self: self.pattern.format)
    ndim = property(lambda self: self.pattern.ndim)
    nnz = property(lambda self: self.pattern.count)
    size = nnz
    dtype = property(lambda self: self.data.dtype)
    coords = property(lambda self: self.pattern.coords)
    indptr = property(lambda self: self._compressed("indptr").pattern.indptr)
    indices = property(lambda self: self._compressed("indices").pattern.indices)
    row = property(lambda self: self.coords[0])
    col = property(lambda self: self.coords[-1])
    T = property(lambda self: self.transpose())
    H = property(lambda self: self.conjugate().transpose())
    real = property(lambda self: self._with(np.real(self.data)))
    imag = property(lambda self: self._with(np.imag(self.data)))
    has_canonical_format = property(lambda self: self.pattern.is_canonical)

    def _compressed(self, name: str) -> Self:
        if self.format == "coo":
            raise AttributeError(f"a sparse array of format coo has no {name!r}: use .tocsr() first")
        return self

    def __repr__(self) -> str:
        kind = "array" if self.pattern.array else "matrix"
        return f"<sparse {kind} of format {self.format}, {self.nnz} entries of {self.dtype}, shape {self.shape}>"

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use shape[0]")

    def __bool__(self) -> bool:
        raise ValueError("The truth value of a sparse array is ambiguous. Use A.toarray() with np.any or np.all.")

    def __iter__(self) -> Any:
        return (self[i] for i in range(self.shape[0]))

    def get_shape(self) -> tuple[int, ...]:
        """shape."""
        return self.shape

    def getnnz(self, axis: Any = None) -> Any:
        """The number of entries, of all or of each column (axis 0) or row."""
        return self.nnz if axis is None else np.bincount(self.coords[1 - axis], minlength=self.shape[1 - axis])

    def getformat(self) -> str:
        """format."""
        return self.format

    # the same entries elsewhere

    def _with(self, data: Value) -> Self:
        return type(self)(data, self.pattern)

    def _moved(self, how: Callable[[Any], Any]) -> Any:
        """What SciPy's function makes of the numbers of the entries: a sparse array, a dense one, or a number."""
        whole = self.canonical()
        numbers = how(whole.pattern.numbered())
        if is_plain_sparse(numbers):
            pattern, source = moved(numbers)
            return type(self)(np.take(whole.data, source), pattern)
        return whole._read(np.asarray(numbers))

    def _read(self, numbers: Any) -> Value:
        """The entries with these numbers; zero where there is none."""
        zero = self.dtype.type(0)
        if not self.nnz:
            return np.zeros(numbers.shape, self.dtype)
        return np.where(numbers > 0, np.take(self.data, np.maximum(numbers, 1) - 1), zero)

    def canonical(self) -> Self:
        """The same, with one entry at each position."""
        if self.pattern.is_canonical:
            return self
        pattern, number = summed_pattern(self.pattern, self.format)
        return type(self)(summed(self.data, number, pattern.count), pattern)

    def asformat(self, format: str | None, copy: bool = False) -> Self:  # noqa: A002
        """The same in another format: csr, csc or coo; dia, bsr, lil and dok become csr."""
        wanted = self.format if format is None else format if format in ("csr", "csc", "coo") else "csr"
        if wanted == self.format:
            return self
        if wanted == "coo":
            pattern = self.pattern
            return type(self)(self.data, Pattern(pattern.coords, pattern.shape, "coo", pattern.array))
        pattern, number = summed_pattern(self.pattern, wanted)
        if pattern.count < self.nnz:
            return type(self)(summed(self.data, number, pattern.count), pattern)
        return type(self)(np.take(self.data, np.argsort(number)), pattern)

    def tocsr(self, copy: bool = False) -> Self:
        """The same in format csr."""
        return self.asformat("csr")

    def tocsc(self, copy: bool = False) -> Self:
        """The same in format csc."""
        return self.asformat("csc")

    def tocoo(self, copy: bool = False) -> Self:
        """The same in format coo."""
        return self.asformat("coo")

    tobsr = todia = tolil = todok = tocsr

    def copy(self) -> Self:
        """The same: nothing writes to it."""
        return self

    def sorted_indices(self) -> Self:
        """The same."""
        return self

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Self:
        """The same with entries of another type."""
        return self._with(self.data.astype(dtype))

    def conjugate(self, copy: bool = True) -> Self:
        """The same with conjugate entries."""
        return self._with(np.conjugate(self.data))

    conj = conjugate

    def getH(self) -> Self:
        """The adjoint."""
        return self.H

    def transpose(self, axes: Any = None, copy: bool = False) -> Self:
        """Rows as columns; csr becomes csc."""
        if self.format == "coo" or self.ndim == 1:
            pattern = self.pattern
            turned = Pattern(pattern.coords[::-1], pattern.shape[::-1], pattern.format, pattern.array)
            return type(self)(self.data, turned)
        return self._moved(lambda a: a.transpose(axes))

    def reshape(self, *shape: Any, order: str = "C", copy: bool = False) -> Self:
        """The same entries, counted row by row, in another shape."""
        return self._moved(lambda a: a.reshape(*shape, order=order))

    def __getitem__(self, key: Any) -> Any:
        whole = self if self.format != "coo" else self.tocsr()
        key = settled("a slice of a sparse array", "the index", key)
        return whole._moved(lambda a: a[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        raise UnsupportedError(
            "A sparse array with traced entries cannot be assigned to. Build it from its entries: "
            "adjoint.scipy.sparse.coo_array((data, (rows, columns)), shape) adds those at the same position."
        )

    def getrow(self, i: int) -> Self:
        """Row i, as a sparse array."""
        return self.tocsr()._moved(lambda a: a[[i], :])

    def getcol(self, j: int) -> Self:
        """Column j, as a sparse array."""
        return self.tocsr()._moved(lambda a: a[:, [j]])

    def diagonal(self, k: int = 0) -> Value:
        """The k-th diagonal, as an array."""
        return self._moved(lambda a: a.diagonal(k))

    def trace(self, offset: int = 0) -> Value:
        """The sum of a diagonal."""
        return np.sum(self.diagonal(offset))

    def setdiag(self, values: Any, k: int = 0) -> None:
        """Refused: there is no assignment."""
        self[...] = values

    def toarray(self, order: Any = None, out: Any = None) -> Value:
        """The array with all its zeros."""
        size = int(np.prod(self.shape))
        return np.reshape(summed(self.data, self.pattern.flat, size), self.shape)

    todense = toarray
