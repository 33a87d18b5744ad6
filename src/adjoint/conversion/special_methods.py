"""Methods of the user's classes that Python calls by itself: float(q), iter(q), q < r inside of sorted, with q.

What calls them is written in C, and would run them as they stand. Here they are asked for first, and called in their
converted form.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from adjoint.conversion.advancing import advance, is_alone, note_mover
from adjoint.conversion.calls import call, is_convertible
from adjoint.conversion.forms import is_converted
from adjoint.conversion.growing import refuse_growing
from adjoint.conversion.iterables import Items, TracedRange
from adjoint.conversion.stacking import refuse_stacked
from adjoint.numpy.dispatch import as_array, is_traced
from adjoint.program.trace import Tracer

_PLAIN = frozenset(
    {bool, int, float, complex, str, list, tuple, dict, range, type(None), np.ndarray, np.float64, np.int64}
)


def is_written_in_python(owner: Any, name: str) -> bool:
    """Whether a special method of a value is one of a class of the user's."""
    kind = type(owner)
    if kind in _PLAIN or isinstance(owner, Tracer):
        return False
    method = getattr(kind, name, None)
    return type(method) is FunctionType and (is_converted(method.__code__) or is_convertible(method))


def own_method(owner: Any, *names: str) -> Callable[..., Any] | None:
    """The first of these methods that the user has written, converted; None: there is none."""
    for name in names:
        if is_written_in_python(owner, name):
            return call(getattr(owner, name))
    return None


def iterate(value: Any) -> Any:
    """What a loop goes through; an iterator of the user's is converted."""
    if isinstance(value, Items | TracedRange):
        return value
    if hasattr(value, "__next__") and not is_written_in_python(value, "__next__"):
        note_mover(value) if is_alone(sys.getrefcount(value), value) else advance(value)
    refuse_growing(value, "the items")
    refuse_stacked(value)
    if is_written_in_python(value, "__iter__"):
        value = call(value.__iter__)()
    return note_mover(_through(value)) if is_written_in_python(value, "__next__") else value


def _through(iterator: Any) -> Iterator[Any]:
    while True:
        try:
            item = call(iterator.__next__)()
        except StopIteration:
            return
        yield item


def truth(value: Any) -> Any:
    """What `if` asks of a value: a number as it is, an object of the user's by its own method."""
    method = own_method(value, "__bool__")
    return value if method is None else method()


def contains(item: Any, container: Any) -> Any:
    """Whether an item is in a container."""
    method = own_method(container, "__contains__")
    return item in container if method is None else bool(method(item))


def compare_values(left: Any, right: Any, name: str) -> Any:
    """left < right, and its like."""
    for one, other, asked in ((left, right, name), (right, left, _MIRRORED[name])):
        method = own_method(one, f"__{asked}__")
        if method is not None:
            result = method(other)
            if result is not NotImplemented:
                return result
    if isinstance(right, list | tuple) and isinstance(left, Tracer | np.ndarray) and is_traced(right):
        right = as_array(right)
    return getattr(operator, name)(left, right)


_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


class Ordered:
    """A value in an order that Python's own functions make by `<`: the user's method is converted."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = tuple(map(Ordered, value)) if type(value) is tuple else value

    def __lt__(self, other: Ordered) -> bool:
        return bool(compare_values(self.value, other.value, "lt"))

    def __gt__(self, other: Ordered) -> bool:
        return bool(compare_values(self.value, other.value, "gt"))

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Ordered)
        return self.value is other.value or bool(compare_values(self.value, other.value, "eq"))

    __hash__ = None  # type: ignore[assignment]


def has_own_order(values: Iterable[Any]) -> bool:
    """Whether an item, or one in a tuple, has an order that the user has written."""
    return any(
        has_own_order(v) if type(v) is tuple else is_written_in_python(v, "__lt__") or is_written_in_python(v, "__gt__")
        for v in values
    )
