"""SciPy builds a sparse array from the numbers of entries; then the entries, traced or not, take their positions.

Whatever a function of SciPy does without arithmetic (stacking, blocks, diagonals, triangles) it does with numbers as
well, so that its rules for shapes and formats hold here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.scipy.sparse.arrays import SparseArray, sparse_of
from adjoint.scipy.sparse.pattern import moved
from adjoint.scipy.sparse.structure import is_plain_sparse

F = TypeVar("F", bound=Callable[..., Any])


def is_ours(value: Any) -> bool:
    """Whether a value is traced, or a sparse array of ours, or holds one."""
    if isinstance(value, Tracer | SparseArray):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(map(is_ours, value.flat))
    if isinstance(value, dict):
        return any(map(is_ours, value.values()))
    return isinstance(value, list | tuple) and any(map(is_ours, value))


def for_traced(module: str) -> Callable[[F], F]:
    """The function of SciPy with this name on plain values, ours on traced ones."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_ours(args) or is_ours(kwargs):
                return function(*args, **kwargs)
            return _theirs(module, function.__name__)(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def _theirs(module: str, name: str) -> Any:
    import scipy.sparse
    import scipy.sparse.linalg

    return getattr(scipy.sparse if module == "scipy.sparse" else scipy.sparse.linalg, name)


class Numbering:
    """Gives entries their numbers: 1, 2, … through all arrays that it is shown."""

    def __init__(self) -> None:
        self.parts: list[Value] = []
        self.count = 0

    def _next(self, data: Value) -> Any:
        size = int(np.prod(data.shape))
        self.parts.append(np.reshape(data, (size,)))
        self.count += size
        return np.reshape(np.arange(self.count - size + 1, self.count + 1), data.shape)

    def array(self, value: Any) -> Any:
        """The numbers of a dense array, a list of traced numbers, or a number."""
        if isinstance(value, list | tuple) and is_ours(value):
            entries: list[Any] = [entry if isinstance(entry, Tracer) else np.asarray(entry) for entry in value]
            value = np.stack(entries)
        return self._next(value if isinstance(value, Tracer) else np.asarray(value))

    def block(self, value: Any) -> Any:
        """The numbers of an array or a sparse array, of the same kind; None stays."""
        if value is None:
            return None
        if not isinstance(value, SparseArray) and not is_plain_sparse(value):
            return self.array(value)
        given = sparse_of(value).canonical()
        first = self.count
        self._next(given.data)
        numbers = given.pattern.numbered()
        numbers.data = numbers.data + first
        return numbers

    def entries(self, numbers: Any, dtype: Any = None) -> SparseArray:
        """The sparse array of the entries, from that of their numbers."""
        pattern, source = moved(numbers if numbers.format in ("csr", "csc") else numbers.tocoo())
        common = np.result_type(*[part.dtype for part in self.parts]) if dtype is None else dtype
        parts = [part if part.dtype == common else part.astype(common) for part in self.parts]
        data = parts[0] if len(parts) == 1 else np.concatenate(parts)
        kept = source.size == self.count and np.array_equal(source, np.arange(self.count))
        return SparseArray(data if kept else np.take(data, source), pattern)
