"""The spaces between which linear maps act: trees of arrays, by their structure and the types of their leaves.

A space is the product of the spaces of its leaves; its elements are trees. `size` is its dimension (over the complex
numbers where a leaf is complex).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.base.errors import DtypeError
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.drivers import check_tangents

__all__ = ["Space"]

FLOAT = np.dtype(np.float64)


@final
class Space:
    """All trees of one structure whose leaves have given types.

    ```python
    ad.linear.identity(3).domain.size  # → 3
    ```
    """

    __slots__ = ("structure", "types")

    def __init__(self, structure: tree.Structure, types: Iterable[ArrayType]) -> None:
        self.structure = structure
        self.types = tuple(ArrayType(tuple(t.shape), np.dtype(t.dtype)) if t.weak else t for t in types)
        for number, t in enumerate(self.types):
            if t.dtype.kind not in "fc":
                raise DtypeError(
                    f"A linear map acts on real or complex numbers in floating point; {structure.path(number) or 'it'} "
                    f"is {t}. Make it floating-point: x.astype(float)."
                )

    @staticmethod
    def of(like: Any) -> Space:
        """The space of an element, of a tree of array types, of n numbers (an int), or of arrays of a shape (a tuple).

        Python numbers in a tree count as float64; a tuple of whole numbers is a shape.
        """
        if isinstance(like, Space):
            return like
        if type(like) is np.ndarray:
            return _of_array(like.shape, like.dtype)
        if isinstance(like, int | np.integer) and not isinstance(like, bool):
            return Space.of((int(like),))
        if isinstance(like, tuple) and all(isinstance(n, int | np.integer) for n in like):
            return Space(_LEAF, [ArrayType(tuple(int(n) for n in like), FLOAT)])
        leaves, structure = tree.flatten(like)
        return Space(structure, [leaf if isinstance(leaf, ArrayType) else _type(leaf) for leaf in leaves])

    @staticmethod
    def vector(size: int, dtype: Any = FLOAT) -> Space:
        """Vectors of one axis."""
        return _of_array((size,), np.dtype(dtype))

    @staticmethod
    def product(spaces: Any) -> Space:
        """The space whose elements are containers of elements: `spaces` is a tree with a Space at each position."""
        parts, outer = tree.flatten(spaces)
        combined = tree.unflatten(outer, [tree.unflatten(s.structure, s.types) for s in parts])
        return Space.of(combined) if not _is_shape(combined) else Space(*_flat(combined))

    @property
    def tree(self) -> Any:
        """The tree of types."""
        return tree.unflatten(self.structure, self.types)

    @property
    def size(self) -> int:
        """The number of elements of all leaves together."""
        return sum(t.size for t in self.types)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What NumPy promotes the leaves' types to."""
        return np.result_type(*[t.dtype for t in self.types]) if self.types else FLOAT

    @property
    def is_vector(self) -> bool:
        """One array with one axis."""
        return self.is_array and self.types[0].ndim == 1

    @property
    def is_array(self) -> bool:
        """One array, of any shape."""
        return self.structure is _LEAF or self.structure == _LEAF

    def complexified(self) -> Space:
        """The same space over the complex numbers."""
        complex_ = lambda dtype: np.result_type(dtype, np.complex64)
        return Space(self.structure, [ArrayType(t.shape, complex_(t.dtype)) for t in self.types])

    def checked(self, x: Any, what: str) -> Any:
        """x as an element of this space: of its structure, shapes and types. None stands for a zero leaf."""
        if type(x) is np.ndarray and self.is_array and (x.shape, x.dtype) == (self.types[0].shape, self.types[0].dtype):
            return x
        if isinstance(x, list) and self.is_array:
            x = np.asarray(x)
        leaves = tree.leaves_like(what, self.structure, x)
        values = check_tangents(leaves, self.types, what, self.structure.paths())
        return tree.unflatten(
            self.structure, [t.zeros() if v is None else v for v, t in zip(values, self.types, strict=True)]
        )

    def zeros(self) -> Any:
        """The zero of the space."""
        return tree.unflatten(self.structure, [t.zeros() for t in self.types])

    def random(self, rng: np.random.Generator) -> Any:
        """An element with independent normal entries (real and imaginary parts)."""
        return tree.unflatten(self.structure, [_normal(t, rng) for t in self.types])

    def basis(self) -> Any:
        """All unit vectors, stacked along a first axis of every leaf."""
        return self.unravel_columns(np.eye(self.size))

    def total(self, terms: Sequence[Any]) -> Any:
        """The sum of some elements, at least one."""
        columns = zip(*[tree.leaves(term) for term in terms], strict=True)
        return tree.unflatten(self.structure, [functools.reduce(operator.add, column) for column in columns])

    def scaled(self, c: Value, x: Any) -> Any:
        """c x, in the types of this space."""
        leaves = [_as_type(c * leaf, t.dtype) for leaf, t in zip(tree.leaves(x), self.types, strict=True)]
        return tree.unflatten(self.structure, leaves)

    def ravel(self, x: Any) -> Value:
        """All leaves one after another in one vector."""
        pieces = [np.reshape(leaf, (-1,)) for leaf in tree.leaves(x)]
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate(pieces) if pieces else np.zeros(0)

    def unravel(self, vector: Value) -> Any:
        """The element whose leaves, one after another, are the vector."""
        return tree.unflatten(self.structure, self._pieces(vector, ()))

    def ravel_columns(self, stacked: Any) -> Value:
        """The matrix whose columns are the elements stacked along the first axis of every leaf."""
        leaves = zip(tree.leaves(stacked), self.types, strict=True)
        pieces = [np.reshape(leaf, (np.shape(leaf)[0], t.size)) for leaf, t in leaves]
        return np.transpose(pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=1))

    def unravel_columns(self, matrix: Value) -> Any:
        """The columns of a matrix as elements, stacked along the first axis of every leaf."""
        rows = np.transpose(matrix)
        return tree.unflatten(self.structure, self._pieces(rows, rows.shape[:1]))

    def _pieces(self, rows: Value, stack: tuple[int, ...]) -> list[Value]:
        found: list[Value] = []
        start = 0
        for t in self.types:
            part = np.reshape(rows[..., start : start + t.size], (*stack, *t.shape))
            found.append(_as_type(part, t.dtype) if stack or t.shape else _as_type(part[()], t.dtype))
            start += t.size
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        return self.types == other.types and self.structure == other.structure

    def __hash__(self) -> int:
        return hash((self.structure, self.types))

    def __reduce__(self) -> Any:
        return Space, (self.structure, self.types)

    def __str__(self) -> str:
        return str(self.tree) if len(self.types) <= 6 else f"{len(self.types)} arrays with {self.size} elements"

    def __repr__(self) -> str:
        return f"Space({self})"


_LEAF = tree.structure(0.0)


@functools.lru_cache(maxsize=1024)
def _of_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Space:
    return Space(_LEAF, [ArrayType(shape, dtype)])


def _type(leaf: Any) -> ArrayType:
    if isinstance(leaf, int | float) and not isinstance(leaf, bool):
        return ArrayType((), FLOAT)
    return type_of(leaf if hasattr(leaf, "dtype") or isinstance(leaf, complex) else np.asarray(leaf))


def _is_shape(combined: Any) -> bool:
    return isinstance(combined, tuple) and not combined


def _flat(combined: Any) -> tuple[tree.Structure, Sequence[Any]]:
    leaves, structure = tree.flatten(combined)
    return structure, leaves


def _normal(t: ArrayType, rng: np.random.Generator) -> Any:
    drawn: Any = rng.normal(size=t.shape)
    if t.dtype.kind == "c":
        drawn = drawn + 1j * rng.normal(size=t.shape)
    return np.asarray(drawn, t.dtype)[()]


def _as_type(value: Value, dtype: np.dtype[Any]) -> Value:
    if value.dtype == dtype:
        return value
    if value.dtype.kind == "c" and dtype.kind != "c":
        value = np.real(value)
    return value.astype(dtype)
