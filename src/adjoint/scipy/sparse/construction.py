"""Sparse arrays from entries, diagonals and blocks, by SciPy's names: traced entries give arrays of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.scipy.passing import settled
from adjoint.scipy.sparse.arrays import SparseArray, sparse_of
from adjoint.scipy.sparse.numbering import Numbering, for_traced
from adjoint.scipy.sparse.pattern import Pattern
from adjoint.scipy.sparse.structure import is_plain_sparse

SPARSE = "scipy.sparse"


def _built(name: str, given: Any, shape: Any, dtype: Any) -> SparseArray:
    """What a class of SciPy would make of entries, some of them traced."""
    import scipy.sparse

    form, _, kind = name.partition("_")
    if isinstance(given, SparseArray):
        pattern = given.pattern
        found = SparseArray(given.data, Pattern(pattern.coords, pattern.shape, pattern.format, kind == "array"))
    else:
        numbers = Numbering()
        if isinstance(given, tuple) and len(given) in (2, 3) and not np.isscalar(given[0]):
            data, *positions = given
            positions = [settled(f"scipy.sparse.{name}", "positions of entries", part) for part in positions]
            if len(positions) == 1 and form not in ("dia",):  # those at one position are added
                arranged = getattr(scipy.sparse, f"coo_{kind}")((numbers.array(data), positions[0]), shape=shape)
            else:
                arranged = getattr(scipy.sparse, name)((numbers.array(data), *positions), shape=shape)
        else:
            arranged = getattr(scipy.sparse, f"coo_{kind}")(numbers.array(given), shape=shape)
        found = numbers.entries(arranged)
    found = found.asformat(form if form in ("csr", "csc", "coo") else "csr")
    return found if dtype is None else found.astype(dtype)


def _class(name: str) -> Callable[..., Any]:
    def make(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **options: Any) -> Any:
        return _built(name, arg1, shape, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"scipy.sparse.{name}, of plain or of traced entries at plain positions."
    return for_traced(SPARSE)(make)


csr_array, csr_matrix = _class("csr_array"), _class("csr_matrix")
csc_array, csc_matrix = _class("csc_array"), _class("csc_matrix")
coo_array, coo_matrix = _class("coo_array"), _class("coo_matrix")
dia_array, dia_matrix = _class("dia_array"), _class("dia_matrix")
bsr_array, bsr_matrix = _class("bsr_array"), _class("bsr_matrix")
lil_array, lil_matrix = _class("lil_array"), _class("lil_matrix")
dok_array, dok_matrix = _class("dok_array"), _class("dok_matrix")


def _formatted(found: SparseArray, format: str | None) -> SparseArray:  # noqa: A002
    return found if format is None else found.asformat(format)


def _diagonals(name: str, diagonals: Any, offsets: Any, shape: Any, format: Any, dtype: Any) -> SparseArray:  # noqa: A002
    import scipy.sparse

    offsets = settled(f"scipy.sparse.{name}", "offsets", offsets)
    numbers = Numbering()
    several = np.ndim(offsets) > 0
    shown = [numbers.array(d) for d in diagonals] if several else numbers.array(diagonals)
    arranged = getattr(scipy.sparse, name)(shown, offsets=offsets, shape=shape, dtype=np.int64)
    return _formatted(numbers.entries(arranged, dtype), format or "csr")


@for_traced(SPARSE)
def diags_array(
    diagonals: Any,
    /,
    *,
    offsets: Any = 0,
    shape: Any = None,
    format: Any = None,  # noqa: A002
    dtype: Any = None,
) -> Any:
    """A sparse array from its diagonals; a diagonal of one number is filled with it."""
    return _diagonals("diags_array", diagonals, offsets, shape, format, dtype)


@for_traced(SPARSE)
def diags(diagonals: Any, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None) -> Any:  # noqa: A002
    """A sparse matrix from its diagonals; a diagonal of one number is filled with it."""
    return _diagonals("diags", diagonals, offsets, shape, format, dtype)


@for_traced(SPARSE)
def spdiags(data: Any, diags: Any, m: Any = None, n: Any = None, format: Any = None) -> Any:  # noqa: A002
    """A sparse matrix from the rows of `data`: element j of a row stands in column j of its diagonal."""
    import scipy.sparse

    diags = settled("scipy.sparse.spdiags", "diags", diags)
    numbers = Numbering()
    return _formatted(numbers.entries(scipy.sparse.spdiags(numbers.array(data), diags, m, n)), format or "csr")


def _arranged(name: str, blocks: Any, format: Any, dtype: Any, **options: Any) -> SparseArray:  # noqa: A002
    import scipy.sparse

    numbers = Numbering()
    shown = [
        [numbers.block(b) for b in row] if isinstance(row, list | tuple) and name in ("bmat", "block_array") else row
        for row in blocks
    ]
    if name not in ("bmat", "block_array"):
        shown = [numbers.block(b) for b in blocks]
    return _formatted(numbers.entries(getattr(scipy.sparse, name)(shown, **options), dtype), format)


@for_traced(SPARSE)
def hstack(blocks: Any, format: Any = None, dtype: Any = None) -> Any:  # noqa: A002
    """Blocks side by side."""
    return _arranged("hstack", blocks, format, dtype)


@for_traced(SPARSE)
def vstack(blocks: Any, format: Any = None, dtype: Any = None) -> Any:  # noqa: A002
    """Blocks one below the other."""
    return _arranged("vstack", blocks, format, dtype)


@for_traced(SPARSE)
def bmat(blocks: Any, format: Any = None, dtype: Any = None) -> Any:  # noqa: A002
    """A matrix of blocks; None is a block of zeros."""
    return _arranged("bmat", blocks, format, dtype)


@for_traced(SPARSE)
def block_array(blocks: Any, *, format: Any = None, dtype: Any = None) -> Any:  # noqa: A002
    """An array of blocks; None is a block of zeros."""
    return _arranged("block_array", blocks, format, dtype)


@for_traced(SPARSE)
def block_diag(mats: Any, format: Any = None, dtype: Any = None) -> Any:  # noqa: A002
    """Blocks along the diagonal."""
    return _arranged("block_diag", mats, format, dtype)


def as_sparse(a: Any) -> SparseArray:
    """Any matrix as a sparse array of ours; of a dense one every position has an entry."""
    return sparse_of(a) if isinstance(a, SparseArray) or is_plain_sparse(a) else _built("coo_array", a, None, None)


@for_traced(SPARSE)
def kron(A: Any, B: Any, format: Any = None) -> Any:  # noqa: A002
    """The Kronecker product."""
    a, b = as_sparse(A).tocoo(), as_sparse(B).tocoo()
    coords = tuple(np.ravel(np.add.outer(a.coords[axis] * b.shape[axis], b.coords[axis])) for axis in range(2))
    shape = (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])
    data = np.reshape(np.multiply.outer(a.data, b.data), (a.nnz * b.nnz,))
    pattern = Pattern(coords, shape, "coo", a.pattern.array or b.pattern.array)
    return _formatted(SparseArray(data, pattern), format)


@for_traced(SPARSE)
def kronsum(A: Any, B: Any, format: Any = None) -> Any:  # noqa: A002
    """I ⊗ A + B ⊗ I."""
    a, b = as_sparse(A), as_sparse(B)
    if a.shape[0] != a.shape[1] or b.shape[0] != b.shape[1]:
        raise ValueError(f"kronsum: square arrays are needed, got shapes {a.shape} and {b.shape}")
    import scipy.sparse

    one, other = (scipy.sparse.eye_array(n, dtype=x.dtype) for n, x in ((b.shape[0], a), (a.shape[0], b)))
    return _formatted(kron(one, a) + kron(b, other), format)


def _triangle(name: str, a: Any, k: int, form: Any) -> SparseArray:
    import scipy.sparse

    k = settled(f"scipy.sparse.{name}", "k", k)
    return _formatted(as_sparse(a)._moved(lambda numbers: getattr(scipy.sparse, name)(numbers, k)), form)


@for_traced(SPARSE)
def tril(A: Any, k: int = 0, format: Any = None) -> Any:  # noqa: A002
    """The entries on and below the k-th diagonal."""
    return _triangle("tril", A, k, format)


@for_traced(SPARSE)
def triu(A: Any, k: int = 0, format: Any = None) -> Any:  # noqa: A002
    """The entries on and above the k-th diagonal."""
    return _triangle("triu", A, k, format)


@for_traced(SPARSE)
def find(A: Any) -> Any:
    """(rows, columns, values) of all entries, row by row; those of traced arrays may be zero."""
    a = as_sparse(A).tocsr().canonical()
    return *a.coords, a.data


@for_traced(SPARSE)
def permute_dims(A: Any, axes: Any = None, copy: bool = False) -> Any:
    """Axes in another order."""
    a = as_sparse(A)
    axes = tuple(range(a.ndim))[::-1] if axes is None else axes
    return a if [axis % a.ndim for axis in axes] == list(range(a.ndim)) else a.transpose()


@for_traced(SPARSE)
def swapaxes(A: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    a = as_sparse(A)
    return a if axis1 % a.ndim == axis2 % a.ndim else a.transpose()


@for_traced(SPARSE)
def expand_dims(A: Any, /, *, axis: int = 0) -> Any:
    """A sparse vector as a row (axis 0) or a column."""
    a = as_sparse(A)
    return a.reshape((1, *a.shape) if axis in (0, -2) else (*a.shape, 1))


def issparse(x: Any) -> bool:
    """Whether x is a sparse array or matrix, of SciPy's or of ours."""
    return isinstance(x, SparseArray) or is_plain_sparse(x)


def isspmatrix(x: Any) -> bool:
    """Whether x is a sparse matrix, whose * is the product of matrices."""
    import scipy.sparse

    return not x.pattern.array if isinstance(x, SparseArray) else scipy.sparse.isspmatrix(x)


def _is_of_format(form: str) -> Callable[[Any], bool]:
    def is_spmatrix_of(x: Any) -> bool:
        import scipy.sparse

        if isinstance(x, SparseArray):
            return not x.pattern.array and x.format == form
        return getattr(scipy.sparse, f"isspmatrix_{form}")(x)

    is_spmatrix_of.__name__ = is_spmatrix_of.__qualname__ = f"isspmatrix_{form}"
    is_spmatrix_of.__doc__ = f"Whether x is a sparse matrix of format {form}."
    return is_spmatrix_of


isspmatrix_bsr, isspmatrix_coo, isspmatrix_csc = _is_of_format("bsr"), _is_of_format("coo"), _is_of_format("csc")
isspmatrix_csr, isspmatrix_dia, isspmatrix_dok = _is_of_format("csr"), _is_of_format("dia"), _is_of_format("dok")
isspmatrix_lil = _is_of_format("lil")
