"""Lists of many numbers that a loop writes to: while its body is traced, all of them are one array.

The list keeps its length. Its first item is the array then, and the others stand for what is not to be had: items are
read and set at any index, and whoever goes through the list or changes its length has the loop unrolled.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

# Values are of any kind here, and traced ones pass through NumPy's functions.
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from adjoint.conversion.carrying import MOST_ITEMS, Carried, Content, Slot
from adjoint.conversion.growing import UNREAD, rejoin, remember_row
from adjoint.conversion.joining import NoBlock, fit, join_types, weak_type_of
from adjoint.conversion.log import Cell, Container
from adjoint.conversion.values import NUMBER, is_number
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value

MOST_STACKED = 1 << 14  # items of a list
_stacked: set[int] = set()  # by identity: lists that are arrays, while a body is traced


class Stacked(Content):
    """A list that a loop carries as an array."""

    def __init__(self, title: str, owner: list[Any], items: list[Any]) -> None:
        self.owner, self.items, self.count = owner, items, len(items)
        super().__init__(title, items)

    def assume(self, value: Any) -> None:
        """Begin with these items. The array is made when the loop begins: the body is being traced."""
        kind = reduce(lambda a, b: join_types(a, b, self.title), map(weak_type_of, value))
        self.skeleton = self.take_apart([0.0, *[UNREAD] * (self.count - 1)], [])
        self.slots = [Slot(None, ArrayType((self.count,), kind.dtype))]

    def firsts(self) -> list[Value]:
        (kind,) = self.types()
        known = rejoin(self.items)
        return [np.stack([fit(v, kind) for v in self.items]) if known is None else fit(known, kind)]

    @staticmethod
    def of(cell: Cell, one: Carried, before: Any, after: Any) -> Stacked | None:
        """A cell that is a list of many numbers, and stays as long as it is; None for any other."""
        if type(one) is not Content or len(one.slots) <= MOST_ITEMS or not isinstance(cell, Container):
            return None
        if type(cell.held) is not list or len(before) != len(after) or len(before) > MOST_STACKED:
            return None
        if any(part is not NUMBER for part in one.skeleton.parts) or not all(map(_is_float_or_integer, before)):
            return None
        return Stacked(one.title, cell.held, list(before))

    def inside(self, inputs: Iterator[Value]) -> Any:
        _stacked.add(id(self.owner))
        return super().inside(inputs)

    def lasts(self, value: Any) -> list[Value]:
        if len(value) != self.count or any(item is not UNREAD for item in value[1:]):
            raise NoBlock(f"{self.title} changes in the loop otherwise than by items that are set")
        return super().lasts(value)

    def outside(self, results: Iterator[Value]) -> Any:
        (array, *_) = super().outside(results)
        items = [array[number] for number in range(self.count)]
        for number, item in enumerate(items):
            remember_row(item, array, number)
        return items


def _is_float_or_integer(value: Any) -> bool:
    return is_number(value) and not np.ndim(value) and weak_type_of(value).dtype.kind in "if"


def is_stacked(owner: Any) -> bool:
    """Whether a list is an array in the body that is traced."""
    return bool(_stacked) and id(owner) in _stacked


def refuse_stacked(owner: Any) -> None:
    """Something is asked of a list that only all of its items can answer."""
    if _stacked and id(owner) in _stacked:
        raise NoBlock("more than items is asked of a list of many numbers")


def read_stacked(owner: list[Any], key: Any) -> Any:
    """An item of such a list."""
    return owner[0][_index(owner, key)]


def set_stacked(owner: list[Any], key: Any, value: Any) -> None:
    """owner[key] = value: another array."""
    array = owner[0]
    if not is_number(value) or np.ndim(value):
        raise NoBlock("something else than a number is put into a list of many numbers")
    kind, new = weak_type_of(array), weak_type_of(value)
    if new.dtype != kind.dtype and not (new.weak and new.dtype.kind in ("i", kind.dtype.kind)):
        if (kind.dtype.kind, new.dtype.kind) != ("i", "f"):
            raise NoBlock("numbers of another type are put into a list of many numbers")
        array = array.astype(new.dtype)  # integers that numbers take the positions of, one after the other
    array = array.copy()
    array[_index(owner, key)] = value
    owner[0] = array


def _index(owner: list[Any], key: Any) -> Any:
    if isinstance(key, Tracer):
        return key
    try:
        number = operator.index(key)
    except TypeError:
        raise NoBlock("a part of a list of many numbers is read or set") from None
    if not -len(owner) <= number < len(owner):
        raise IndexError("list index out of range")
    return number


def forget_stacked(carried: Sequence[Carried]) -> None:
    """The body is traced."""
    for one in carried:
        if isinstance(one, Stacked):
            _stacked.discard(id(one.owner))
