"""Sources in memory: a tree of arrays of one length."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.data.sources import Part, Source
from adjoint.numpy import take
from adjoint.program.trace import TRACED, Tracer

__all__ = ["Arrays", "arrays", "as_source"]


class Arrays(Source):
    """A tree of arrays, stacked along their first axes; `columns` is the tree.

    ```python
    source = ad.data.Arrays((np.arange(3), np.ones((3, 2))))
    source[np.array([2, 0])][0]  # → [2, 0]
    ```
    """

    def __init__(self, columns: Any) -> None:
        self.columns = tree.map(as_column, columns)
        self._length = common_length("data", self.columns)

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        leaves, structure = tree.flatten(self.columns)
        names = [path.strip("[]'") for path in structure.paths()]
        rows = [f"{leaf.dtype}{list(leaf.shape[1:]) or ''}" for leaf in leaves]
        parts = [f"{name} {row}".strip() for name, row in zip(names, rows, strict=True)]
        return f"<Arrays of {len(self)} examples: {', '.join(parts)}>"

    def rows(self, indices: Any) -> Any:
        """The examples of these numbers."""
        return gather(self.columns, indices)

    def part(self, numbers: Any) -> Source:
        """The chosen rows, as arrays of their own."""
        return Arrays(gather(self.columns, np.asarray(numbers)))

    def column(self, name: str) -> Any:
        """A column, whole."""
        return self.columns[name] if isinstance(self.columns, dict) and name in self.columns else super().column(name)


def as_column(leaf: Any) -> Any:
    """A leaf as an array: pandas' columns and lists are taken as NumPy reads them."""
    if isinstance(leaf, Tracer | np.ndarray):
        return leaf
    return np.asarray(leaf)


def gather(columns: Any, indices: Any) -> Any:
    """Rows of each array."""
    return tree.map(lambda leaf: _rows(leaf, indices), columns)


def _rows(leaf: Any, indices: Any) -> Any:
    return leaf[indices] if isinstance(leaf, TRACED) or not isinstance(indices, TRACED) else take(leaf, indices, axis=0)


def common_length(title: str, columns: Any) -> int:
    """The length that all leaves share."""
    leaves, structure = tree.flatten(columns)
    if not leaves:
        raise ShapeError(f"{title}: there are no arrays in it.")
    lengths = [np.shape(leaf)[0] if np.ndim(leaf) else None for leaf in leaves]
    for path, length in zip(structure.paths(), lengths, strict=True):
        if lengths[0] is None:
            raise ShapeError(f"{title}: {path or 'it'} is {leaves[0]!r}, a single number; arrays have one row for each "
                             "example (rows of different lengths are none: fill them up by nn.padded).")  # fmt: skip
        if length is None or length != lengths[0]:
            first = structure.paths()[0] or "the first"
            what = "has no axis" if length is None else f"has {length} rows"
            raise ShapeError(f"{title}: {path or 'it'} {what}, and {first} has {lengths[0]}: all arrays must have "
                             "one row for each example.")  # fmt: skip
    if not lengths[0]:
        raise ShapeError(f"{title}: it is empty, with no example.")
    return int(lengths[0])


@user_facing
def arrays(**columns: Any) -> Arrays:
    """A source of columns in memory.

    ```python
    source = ad.data.arrays(x=np.arange(6.0).reshape(3, 2), y=np.array([0, 1, 0]))
    len(source), source[1]["x"], source.columns["y"]  # → (3, [2.0, 3.0], [0, 1, 0])
    ```
    """
    if not columns:
        raise TypeError("arrays: give columns by name, arrays(x=images, y=labels).")
    return Arrays(columns)


def as_source(data: Any) -> Source:
    """Data as a source: itself, anything with `__len__` and `__getitem__` of indices, or a tree of arrays.

    ```python
    len(ad.data.as_source((np.ones((4, 2)), np.arange(4))))  # → 4
    ```
    """
    if isinstance(data, Source):
        return data
    plain = isinstance(data, np.ndarray | Tracer | dict | tuple | list)
    if not plain and hasattr(data, "__len__") and hasattr(data, "__getitem__") and not hasattr(data, "__array__"):
        return _Foreign(data)
    return Arrays(data)


class _Foreign(Source):
    """An object of the user's that has a length and rows by numbers."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data)

    def rows(self, indices: Any) -> Any:
        return self.data[indices]

    def part(self, numbers: Any) -> Source:
        return Part(self, numbers)
