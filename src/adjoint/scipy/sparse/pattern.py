"""Where the entries of a sparse array stand: a static pattern, compared by its content.

What moves entries without arithmetic (transposes, slices, stacks, changes of format) is left to SciPy, on an array
whose entries are their own numbers 1, 2, …: zero is where nothing stands.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

FORMATS = ("csr", "csc", "coo")  # the others become csr
AXES = {"csr": (0, 1), "csc": (1, 0)}  # the order of the entries


class Pattern:
    """The coordinates of the entries, one array of integers for each axis; `format` gives their order.

    `array`: operators are those of csr_array and its like; else of csr_matrix, whose `*` is the product.
    """

    __slots__ = ("__dict__", "array", "coords", "format", "shape")

    def __init__(self, coords: tuple[Any, ...], shape: tuple[int, ...], format: str, array: bool) -> None:  # noqa: A002
        self.coords, self.shape, self.format, self.array = coords, shape, format, array

    @functools.cached_property
    def _content(self) -> tuple[Any, ...]:
        return self.shape, self.format, self.array, *[axis.tobytes() for axis in self.coords]

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Pattern) and self._content == other._content)

    def __hash__(self) -> int:
        return hash(self._content)

    def __repr__(self) -> str:
        return f"{self.count} entries of {self.format} {self.shape}"

    @property
    def count(self) -> int:
        """How many entries there are."""
        return int(self.coords[0].shape[0])

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @functools.cached_property
    def flat(self) -> Any:
        """The position of each entry in the array, row by row."""
        return np.ravel_multi_index(self.coords, self.shape) if self.count else np.zeros(0, np.intp)

    @functools.cached_property
    def is_canonical(self) -> bool:
        """Whether no position has two entries."""
        return np.unique(self.flat).size == self.count

    @functools.cached_property
    def indptr(self) -> Any:
        """Where the entries of each row (csr) or column (csc) begin."""
        axis = AXES[self.format][0] if self.ndim == 2 else None
        if axis is None:
            return np.array([0, self.count])
        return np.concatenate([[0], np.cumsum(np.bincount(self.coords[axis], minlength=self.shape[axis]))])

    @property
    def indices(self) -> Any:
        """The column (csr) or row (csc) of each entry."""
        return self.coords[-1 if self.ndim == 1 else AXES[self.format][1]]

    def numbered(self) -> Any:
        """SciPy's sparse array of the numbers 1, 2, … of the entries. The pattern has no repeated positions."""
        import scipy.sparse

        numbers = np.arange(1, self.count + 1)
        make = getattr(scipy.sparse, f"{self.format}_{'array' if self.array else 'matrix'}")
        if self.format == "coo":
            return make((numbers, self.coords), shape=self.shape)
        return make((numbers, self.indices, self.indptr), shape=self.shape)


class Moved(NamedTuple):
    """The pattern of a sparse array that SciPy has made of numbered ones, and which entry stands at each position."""

    pattern: Pattern
    source: Any


def moved(numbers: Any) -> Moved:
    """What SciPy has made of numbered entries."""
    if numbers.format not in FORMATS:
        numbers = numbers.tocsr()
    pattern = pattern_of(numbers)
    return Moved(pattern, np.asarray(numbers.data, np.intp) - 1)


def pattern_of(a: Any) -> Pattern:
    """The pattern of a csr, csc or coo array of SciPy."""
    import scipy.sparse

    coo = a.tocoo()
    coords = tuple(np.asarray(axis) for axis in coo.coords)
    return Pattern(coords, tuple(map(int, a.shape)), a.format, isinstance(a, scipy.sparse.sparray))


def summed_pattern(pattern: Pattern, format: str) -> tuple[Pattern, Any]:  # noqa: A002
    """The pattern without repeated positions, in the order of a format, and the number there of each entry given."""
    order = AXES.get(format, (0, 1)) if pattern.ndim == 2 else (0,)
    sizes = [pattern.shape[axis] for axis in order]
    keys = np.ravel_multi_index([pattern.coords[axis] for axis in order], sizes) if pattern.count else pattern.flat
    positions, number = np.unique(keys, return_inverse=True)
    found = np.unravel_index(positions, sizes) if pattern.count else pattern.coords
    coords = tuple(np.asarray(found[order.index(axis)], np.intp) for axis in range(pattern.ndim))
    return Pattern(coords, pattern.shape, format, pattern.array), np.ravel(number)
