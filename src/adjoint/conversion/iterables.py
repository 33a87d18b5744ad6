"""What a for loop goes through, as arrays that a `Scan` walks along: ranges, arrays, lists of numbers, zip, enumerate.

The functions that make iterators (`zip`, `enumerate`, `reversed`, `range` with a traced end) are answered by objects
that remember what they were made of. Anything else is gone through by Python.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from adjoint.conversion.joining import weaken
from adjoint.conversion.outgrowing import set_bound
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value, type_of

WEAK_INT = ArrayType((), np.dtype(np.int64), weak=True)


class Items(ABC):
    """The items of a loop: plain ones by number, and arrays that hold all of them."""

    length: int = 0
    is_plain = True  # whether items can be had without touching traced values

    @abstractmethod
    def at(self, number: int) -> Any:
        """The item of one iteration."""

    def plain(self, begin: int = 0) -> Iterable[Any]:
        """The items as Python goes through them, from one on."""
        return (self.at(number) for number in range(begin, self.length))

    @abstractmethod
    def arrays(self, begin: int) -> list[Value]:
        """What the loop walks along: arrays with one row for each iteration."""

    @abstractmethod
    def item(self, rows: Iterator[Value]) -> Any:
        """The item of an iteration, from the rows of the arrays."""


class Counted(Items):
    """A range of Python's."""

    def __init__(self, numbers: range) -> None:
        self.numbers, self.length = numbers, len(numbers)

    def at(self, number: int) -> Any:
        return self.numbers[number]

    def arrays(self, begin: int) -> list[Value]:
        rest = self.numbers[begin:]
        return [np.arange(rest.start, rest.stop, rest.step, dtype=np.int64)]

    def item(self, rows: Iterator[Value]) -> Any:
        largest = max(map(abs, (self.numbers[0], self.numbers[-1])), default=0) if self.numbers else 0
        return set_bound(weaken(next(rows), WEAK_INT), float(largest))


class Rows(Items):
    """The rows of an array."""

    def __init__(self, array: Value) -> None:
        self.array, self.length, self.is_plain = array, array.shape[0], not isinstance(array, Tracer)

    def at(self, number: int) -> Any:
        return self.array[number]

    def arrays(self, begin: int) -> list[Value]:
        return [self.array[begin:] if begin else self.array]

    def item(self, rows: Iterator[Value]) -> Any:
        return next(rows)


class Listed(Items):
    """A list or tuple of numbers of one type."""

    def __init__(self, values: list[Any]) -> None:
        self.values, self.length = values, len(values)
        self.is_plain = not any(isinstance(v, Tracer) for v in values)
        kinds = {type(v) for v in values}
        self.kind = type_of(values[0]) if len(kinds) == 1 and kinds <= {int, float, complex} else None

    def at(self, number: int) -> Any:
        return self.values[number]

    def arrays(self, begin: int) -> list[Value]:
        rest = self.values[begin:]
        return [np.stack(rest) if any(isinstance(v, Tracer) for v in rest) else np.asarray(rest)]

    def item(self, rows: Iterator[Value]) -> Any:
        return next(rows) if self.kind is None else weaken(next(rows), self.kind)


class Zipped(Items):
    """Several at once: zip, or enumerate as the zip of a range and what is counted."""

    def __init__(self, parts: list[Items], strict: bool = False) -> None:
        self.parts, self.strict = parts, strict
        self.length = min((part.length for part in parts), default=0)
        self.is_plain = all(part.is_plain for part in parts)

    def at(self, number: int) -> Any:
        return tuple(part.at(number) for part in self.parts)

    def arrays(self, begin: int) -> list[Value]:
        length = self.length - begin
        return [array[:length] if array.shape[0] > length else array for p in self.parts for array in p.arrays(begin)]

    def item(self, rows: Iterator[Value]) -> Any:
        return tuple(part.item(rows) for part in self.parts)


class Backwards(Items):
    """The items of another one, from the last to the first."""

    def __init__(self, inner: Items) -> None:
        self.inner, self.length, self.is_plain = inner, inner.length, inner.is_plain

    def at(self, number: int) -> Any:
        return self.inner.at(self.length - 1 - number)

    def arrays(self, begin: int) -> list[Value]:
        stop = self.length - begin
        return [array[:stop][::-1] for array in self.inner.arrays(0)]

    def item(self, rows: Iterator[Value]) -> Any:
        return self.inner.item(rows)


class TracedRange:
    """range(start, stop, step) with a traced end: how many there are is known when the program runs."""

    length: None = None

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.stop, self.step = start, stop, step

    def plain(self, begin: int = 0) -> Iterable[Any]:
        return range(*[operator.index(v) for v in (self.start, self.stop, self.step)])[begin:]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.plain())

    def __len__(self) -> int:
        return len(range(*[operator.index(v) for v in (self.start, self.stop, self.step)]))

    def __reversed__(self) -> Iterator[Any]:
        return reversed(list(self.plain()))


class Lazy:
    """What `zip`, `enumerate` and `reversed` give: an iterator, and what it was made of."""

    def __init__(self, iterator: Iterator[Any], items: Items) -> None:
        self._iterator, self._items, self._begun = iterator, items, False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self._begun = True
        return next(self._iterator)

    def end(self) -> None:
        """As if a loop had gone through it."""
        self._begun, self._iterator = True, iter(())

    @property
    def items(self) -> Items | None:
        """What it goes through, unless it has begun."""
        return None if self._begun else self._items


def items_of(iterable: Any) -> Items | TracedRange | None:
    """The items of what a loop goes through; None where only Python can tell."""
    kind = type(iterable)
    if kind is range:
        return Counted(iterable)
    if isinstance(iterable, Items | TracedRange):
        return iterable
    if kind is Lazy:
        return iterable.items
    if isinstance(iterable, Tracer) or kind is np.ndarray:
        whole = iterable.ndim and isinstance(iterable.shape[0], int) and iterable.dtype.kind in "biufc"
        return Rows(iterable) if whole else None
    if kind in (list, tuple) and iterable:
        numbers = all(isinstance(v, Tracer | int | float | complex | np.generic | np.ndarray) for v in iterable)
        if numbers and len({(np.shape(v), _dtype(v)) for v in iterable}) == 1:
            return Listed(list(iterable))
    return None


def _dtype(value: Any) -> Any:
    return value.dtype if hasattr(value, "dtype") else type(value)
