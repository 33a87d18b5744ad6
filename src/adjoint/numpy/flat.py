"""x.flat: the elements of an array one after another. Reading copies, writing writes to x."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import as_array
from adjoint.numpy.indexing import getitem, setitem
from adjoint.numpy.shaping import reshaped_copy
from adjoint.program.trace import Tracer
from adjoint.program.types import Value


class Flat:
    """The elements of a traced array in C order: as NumPy's flatiter, to iterate over, to index and to assign to."""

    __slots__ = ("_next", "base")
    __array_priority__ = 1000.0

    def __init__(self, base: Tracer) -> None:
        self.base = base
        self._next = 0

    def copy(self) -> Value:
        """The elements as an array of their own."""
        return reshaped_copy(self.base, (-1,))

    def __getitem__(self, index: Any) -> Value:
        z = getitem(self.copy(), index)
        return z.copy() if np.ndim(z) else z

    def __setitem__(self, index: Any, values: Any) -> None:
        """Too few values are repeated, as NumPy does."""
        new, positions = self.copy(), getitem(np.arange(len(self)), index)
        values = np.ravel(as_array(values))
        if np.size(positions) and not values.shape[0]:
            raise ValueError("x.flat[…] = values: no values were given")
        setitem(new, index, np.resize(values, np.shape(positions)))
        self.base[...] = np.reshape(new, self.base.shape)  # type: ignore[index]

    def __len__(self) -> int:
        return int(np.prod(self.base.shape, dtype=int))

    def __iter__(self) -> Iterator[Value]:
        return self

    def __next__(self) -> Value:
        if self._next >= len(self):
            raise StopIteration
        self._next += 1
        return self[self._next - 1]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*_elements(inputs), **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return function(*_elements(args), **{name: _elements(value) for name, value in kwargs.items()})

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.base)  # which refuses, and says why

    def __eq__(self, other: object) -> Any:
        return self.copy() == _elements(other)

    def __ne__(self, other: object) -> Any:
        return self.copy() != _elements(other)

    def __lt__(self, other: Any) -> Any:
        return self.copy() < _elements(other)

    def __le__(self, other: Any) -> Any:
        return self.copy() <= _elements(other)

    def __gt__(self, other: Any) -> Any:
        return self.copy() > _elements(other)

    def __ge__(self, other: Any) -> Any:
        return self.copy() >= _elements(other)

    __hash__ = None  # type: ignore[assignment]


def _elements(value: Any) -> Any:
    """Arrays in place of iterators, also in lists and tuples."""
    if isinstance(value, Flat):
        return value.copy()
    return type(value)(map(_elements, value)) if type(value) in (list, tuple) else value
