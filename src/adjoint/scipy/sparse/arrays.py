"""Sparse arrays whose entries may be traced, at positions that are known: the methods are those of SciPy's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.program.types import Value
from adjoint.scipy.sparse.pattern import Pattern, pattern_of, summed_pattern
from adjoint.scipy.sparse.products import dense_product, intersection, product_of_patterns, summed
from adjoint.scipy.sparse.structure import Structure, is_plain_sparse
from adjoint.tree.registry import register

# functions with f(0) = 0, which sparse arrays have as methods
ELEMENTWISE = "arcsin arcsinh arctan arctanh ceil deg2rad expm1 floor log1p rad2deg rint sign sin sinh sqrt tan tanh"


def _compared(how: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Value]:
    def method(self: Any, other: Any) -> Value:
        """Truth values at all positions, as a dense array."""
        if isinstance(other, SparseArray) or is_plain_sparse(other):
            other = sparse_of(other).toarray()
        return how(self.toarray(), other)

    return method


class SparseArray(Structure):
    """Entries `data` (traced or plain) at the positions of a static pattern; of format csr, csc or coo.

    A container of one array, its data: `ad.grad` of a function of it gives a gradient with the same pattern. Entries
    that happen to be zero stay. Arithmetic gives new arrays; there is no assignment.

    ```python
    from adjoint.scipy import sparse
    def f(d):
        A = sparse.csr_array((d, np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
        return np.sum((A @ np.array([1.0, 2.0])) ** 2)
    ad.grad(f)(np.array([1.0, 2.0, 3.0]))  # → [10.0, 20.0, 24.0]
    ```
    """

    __array_ufunc__ = None  # operators of arrays and of traced values leave the answer to this class
    __array_priority__ = 20.0

    # sums

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Value:
        """The sum of all entries, of each column (axis 0) or of each row."""
        data = self.data if dtype is None else self.data.astype(dtype)
        if axis is None or self.ndim == 1 or (isinstance(axis, tuple) and len(axis) == 2):
            return np.sum(data)
        axis = axis[0] if isinstance(axis, tuple) else axis
        if not -2 <= axis < 2:
            raise ValueError(f"sum: axis {axis} of a sparse array of two axes")
        kept = 1 - axis % 2
        sums = summed(data, self.coords[kept], self.shape[kept])
        return sums if self.pattern.array else np.expand_dims(sums, axis % 2)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Value:
        """The mean over all positions, of each column (axis 0) or of each row."""
        total = self.sum(axis, dtype)
        whole = axis is None or isinstance(axis, tuple) or self.ndim == 1
        return total / (int(np.prod(self.shape)) if whole else self.shape[axis])

    def max(self, axis: Any = None, out: Any = None) -> Value:
        """The largest value, zeros included."""
        return np.max(self.toarray(), axis)

    def min(self, axis: Any = None, out: Any = None) -> Value:
        """The least value, zeros included."""
        return np.min(self.toarray(), axis)

    # arithmetic

    def multiply(self, other: Any) -> Any:
        """The elementwise product with a number, an array that broadcasts, or a sparse array."""
        if isinstance(other, SparseArray) or is_plain_sparse(other):
            return _times_sparse(self, sparse_of(other))
        other = other if hasattr(other, "shape") else np.asarray(other)
        if other.ndim == 0:
            return self._with(self.data * other)
        shape = np.broadcast_shapes(self.shape, other.shape)
        if shape != self.shape:
            return np.multiply(self.toarray(), other)
        spread = np.broadcast_to(other, shape)
        return self.tocoo()._with(self.data * spread[self.coords])

    def power(self, n: Any, dtype: Any = None) -> SparseArray:
        """Each entry to the power n, a number that is not zero."""
        if np.ndim(n) != 0 or n == 0:
            raise NotImplementedError(f"power: n must be a number that is not zero, got {n!r}: 0 ** 0 is dense.")
        whole = self.canonical()
        return whole._with((whole.data if dtype is None else whole.data.astype(dtype)) ** n)

    def dot(self, other: Any) -> Any:
        """The product with a number, an array or a sparse array."""
        is_array = hasattr(other, "shape") or isinstance(other, list | tuple)
        return self @ other if is_array and np.shape(other) != () else self._with(self.data * other)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, SparseArray) or is_plain_sparse(other):
            return product_of_sparse(self, sparse_of(other))
        other = other if hasattr(other, "shape") else np.asarray(other)
        if other.ndim == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return dense_product(self.data, self.pattern, other)

    def __rmatmul__(self, other: Any) -> Any:
        if is_plain_sparse(other):
            return product_of_sparse(sparse_of(other), self)
        other = other if hasattr(other, "shape") else np.asarray(other)
        if other.ndim == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        turned = self.transpose()
        return np.transpose(dense_product(turned.data, turned.pattern, np.transpose(other)))

    def __mul__(self, other: Any) -> Any:
        return self.multiply(other) if self.pattern.array else self.dot(other)

    def __rmul__(self, other: Any) -> Any:
        if self.pattern.array or np.ndim(other) == 0:
            return self.multiply(other)
        return self.__rmatmul__(other)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, SparseArray) or is_plain_sparse(other):
            return self.toarray() / sparse_of(other).toarray()
        return self.multiply(1 / (other if hasattr(other, "shape") else np.asarray(other)))

    def __add__(self, other: Any) -> Any:
        if isinstance(other, SparseArray) or is_plain_sparse(other):
            return _sum_of_sparse(self, sparse_of(other))
        if np.ndim(other) == 0:
            return self if _is_zero(other) else _refuse_number("adding")
        return self.toarray() + other

    __radd__ = __add__

    def __neg__(self) -> SparseArray:
        return self._with(-self.data)

    def __pos__(self) -> SparseArray:
        return self

    def __abs__(self) -> SparseArray:
        whole = self.canonical()
        return whole._with(np.abs(whole.data))

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, SparseArray) or is_plain_sparse(other) or np.ndim(other) == 0:
            return self + -(sparse_of(other) if is_plain_sparse(other) else other)
        return self.toarray() - other

    def __rsub__(self, other: Any) -> Any:
        return -self + other if is_plain_sparse(other) or np.ndim(other) == 0 else other - self.toarray()

    def __pow__(self, n: Any) -> Any:
        if self.pattern.array:
            return self.power(n)
        result = self
        for _ in range(int(n) - 1):
            result = result @ self
        return result

    __hash__ = object.__hash__
    __eq__ = _compared(operator.eq)  # type: ignore[assignment]
    __ne__ = _compared(operator.ne)  # type: ignore[assignment]
    __lt__, __le__ = _compared(operator.lt), _compared(operator.le)
    __gt__, __ge__ = _compared(operator.gt), _compared(operator.ge)


def _is_zero(number: Any) -> bool:
    return type(number) in (int, float, complex) and number == 0


def _refuse_number(what: str) -> Any:
    raise NotImplementedError(f"{what} a nonzero scalar to a sparse array is not supported: use A.toarray()")


def _elementwise(name: str) -> Any:
    function = getattr(np, name)

    def method(self: SparseArray) -> SparseArray:
        whole = self.canonical()
        return SparseArray(function(whole.data), whole.pattern)

    method.__name__, method.__doc__ = name, f"np.{name} of each entry."
    return method


for _name in f"{ELEMENTWISE} trunc".split():
    setattr(SparseArray, _name, _elementwise(_name))


def sparse_of(a: Any) -> SparseArray:
    """A sparse array of SciPy, or of ours, as one of ours; formats other than csr, csc and coo become csr."""
    if isinstance(a, SparseArray):
        return a
    if a.ndim > 2:
        raise UnsupportedError(
            f"sparse arrays of {a.ndim} axes cannot be combined with traced values: use A.toarray()."
        )
    if a.format not in ("csr", "csc", "coo"):
        a = a.tocsr()
    return SparseArray(np.asarray(a.data), pattern_of(a))


def _sum_of_sparse(a: SparseArray, b: SparseArray) -> SparseArray:
    if a.shape != b.shape:
        raise ValueError(f"inconsistent shapes {a.shape} and {b.shape}")
    coords = tuple(np.concatenate(pair) for pair in zip(a.coords, b.coords, strict=True))
    both = Pattern(coords, a.shape, "coo", a.pattern.array)
    pattern, number = summed_pattern(both, "csc" if a.format == "csc" else "csr")
    return SparseArray(summed(np.concatenate([a.data, b.data]), number, pattern.count), pattern)


def _times_sparse(a: SparseArray, b: SparseArray) -> Any:
    if a.shape != b.shape:
        dense, other = (a, b) if np.prod(a.shape) < np.prod(b.shape) else (b, a)
        return other.multiply(dense.toarray())
    a, b = a.tocsr(), b.tocsr()
    mine, theirs = intersection(a.pattern.flat, b.pattern.flat)
    coords = tuple(axis[mine] for axis in a.coords)
    pattern = Pattern(coords, a.shape, "csr", a.pattern.array)
    return SparseArray(np.take(a.data, mine) * np.take(b.data, theirs), pattern)


def product_of_sparse(a: SparseArray, b: SparseArray) -> Any:
    """The matrix product, sparse."""
    if b.ndim == 1 or a.ndim == 1:  # a vector
        vector = b.toarray() if b.ndim == 1 else a.toarray()
        return a @ vector if b.ndim == 1 else vector @ b
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"matmul: dimension mismatch with signature (n,k={a.shape[1]}),(k={b.shape[0]},m)->(n,m)")
    a, b = a.tocsr(), b.tocsr()
    pattern, left, right, number = product_of_patterns(a.pattern, b.pattern)
    return SparseArray(summed(np.take(a.data, left) * np.take(b.data, right), number, pattern.count), pattern)


register(
    SparseArray,
    lambda a: ({"data": a.data}, a.pattern),
    lambda pattern, children: SparseArray(children["data"], pattern),
)
