"""Lists that grow in a loop that is traced once: what an iteration appends is a row of what the loop gives.

Inside the body such a list shows its last items, which are carried, and nothing else: whoever asks for its length, goes
through it or reads an item further in front has the loop unrolled.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from adjoint.conversion.carrying import Again, Carried, Content, Slot
from adjoint.conversion.joining import NoBlock, fit, strong, weak_type_of, weaken
from adjoint.conversion.log import Cell, Container
from adjoint.conversion.values import Skeleton, put_together, take_apart, take_content
from adjoint.numpy.dispatch import as_array
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value

MOST_APPENDED = 32  # items of one iteration
_growing: dict[int, Growing] = {}  # lists by identity, while a body is traced in which they grow


class NeedsItems(NoBlock):
    """A list is too short before the loop: one more iteration is written out."""


class Unread:
    """Stands for the items in front, which are not to be had."""

    def _refuse(self, *args: Any) -> NoReturn:
        raise NoBlock("a list that grows in it is read from the front")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = _refuse
    __lt__ = __gt__ = __le__ = __ge__ = __float__ = __int__ = __bool__ = __iter__ = __array__ = __getitem__ = _refuse
    __call__ = __str__ = __repr__ = __neg__ = __abs__ = _refuse


UNREAD: Any = Unread()


class Growing(Content):
    """A list to which every iteration appends the same number of items; the last ones before are carried."""

    def __init__(self, title: str, owner: list[Any], original: list[Any], count: int) -> None:
        self.owner, self.original, self.count, self.window = owner, original, count, 1
        self.elements: list[Skeleton] = []
        self.kinds: list[ArrayType] = []
        self.numbers: list[Value] = []
        super().__init__(title, self._shown())

    @staticmethod
    def of(cell: Cell, one: Carried, before: Any, after: Any) -> Growing | None:
        """A cell that is a list with new items behind the old ones; None for any other."""
        if not isinstance(cell, Container) or type(cell.held) is not list or not len(before) < len(after):
            return None
        numbers: list[Value] = []
        skeleton = take_content(after[: len(before)], numbers)
        if not skeleton.agrees(one.skeleton) or not all(map(_is_entered, one.slots, numbers)):
            return None
        if len(after) - len(before) > MOST_APPENDED:
            raise NoBlock(f"a list grows by more than {MOST_APPENDED} items in an iteration")
        return Growing(one.title, cell.held, list(before), len(after) - len(before))

    def _shown(self) -> list[Any]:
        if len(self.original) < self.window:
            raise NeedsItems("a list that grows in it is empty before")
        return self.original[-self.window :]

    def widen(self, window: int) -> NoReturn:
        """More of the last items are read."""
        self.window = window
        self.assume(self._shown())
        raise Again

    def inside(self, inputs: Iterator[Value]) -> Any:
        _growing[id(self.owner)] = self
        return [UNREAD, *super().inside(inputs)]

    def lasts(self, value: Any) -> list[Value]:
        kept: list[Value] = []
        take_content(value[1 : 1 + self.window], kept)
        is_behind = len(value) == 1 + self.window + self.count and value[0] is UNREAD
        if not is_behind or len(kept) != len(self.slots) or not all(map(_is_entered, self.slots, kept)):
            raise NoBlock(f"{self.title} changes in the loop otherwise than by what is appended")
        self.numbers = []
        self.elements = [take_apart(item, self.numbers) for item in value[-self.count :]]
        self.kinds = [weak_type_of(n) for n in self.numbers]
        return super().lasts(value[-self.window :])

    def rows(self, carried: Sequence[Carried]) -> list[Value]:
        """What an iteration appends; which of it other variables hold behind it is noted."""
        held = {id(s.left): s for one in carried for s in one.slots if s.left is not None and np.ndim(s.left)}
        self.holders = [held.get(id(n)) for n in self.numbers]
        rows = [fit(n, kind) for n, kind in zip(self.numbers, self.kinds, strict=True)]
        self.numbers = []
        return rows

    def take(self, stacks: Iterator[Value], lasts: dict[int, Value]) -> None:
        """What was appended in all iterations; an array that a variable holds, too, is that of the variable."""
        self.stacks = [next(stacks) for _ in self.kinds]
        self.last = [None if holder is None else lasts.get(id(holder)) for holder in self.holders]

    def outside(self, results: Iterator[Value]) -> Any:
        super().outside(results)
        out, length = self.original, int(self.stacks[0].shape[0]) if self.stacks else 0
        for number in range(length):
            row = [weaken(s[number], strong(k) if k.shape else k) for s, k in zip(self.stacks, self.kinds, strict=True)]
            if number == length - 1:
                row = [r if last is None else last for r, last in zip(row, self.last, strict=True)]
            for made, stack in zip(row, self.stacks, strict=True):
                remember_row(made, stack, number)
            rest = iter(row)
            out.extend([put_together(e, rest) for e in self.elements])
        return out


def _is_entered(slot: Slot, number: Value) -> bool:
    """Whether a number is what it was at the beginning of the iteration."""
    if slot.entered is not None:
        return slot.entered() is number
    return number is slot.first or (type(number) is type(slot.first) and number == slot.first)


def growing_list(owner: Any) -> Growing | None:
    """A list that grows in the body that is traced."""
    return _growing.get(id(owner)) if _growing else None


def read_growing(one: Growing, key: Any) -> Any:
    """An item of such a list: one of the last."""
    if type(key) is not int or key >= 0:
        raise NoBlock("a list that grows in it is read from the front")
    if -key > len(one.owner) - 1:
        one.widen(-key - (len(one.owner) - 1 - one.window))
    return one.owner[key]


def refuse_growing(owner: Any, what: str) -> None:
    """Something is asked of a list that only all of its items can answer."""
    if growing_list(owner) is not None:
        raise NoBlock(f"{what} of a list that grows in it")


def forget_growing(owners: Sequence[Any]) -> None:
    """The body is traced."""
    for owner in owners:
        _growing.pop(id(owner), None)


# Rows of what a loop has given, by identity: the row, the stack, its number.
_rows: dict[int, tuple[Any, Any, int]] = {}


def remember_row(row: Any, stack: Value, number: int) -> None:
    """Note that a value is a row of an array."""
    if isinstance(row, Tracer) and isinstance(stack, Tracer):
        key = id(row)
        _rows[key] = (weakref.ref(row, lambda _: _rows.pop(key, None)), stack, number)


def rejoin(values: Any) -> Value | None:
    """The array of a list that has grown in a loop, without a stack of its rows; None for any other list."""
    if not _rows or type(values) is not list or len(values) < 8:
        return None
    known = [_rows.get(id(v)) for v in values]
    begin = next((i for i, row in enumerate(known) if row is not None), len(values))
    if begin >= len(values) - 4:
        return None
    stack = known[begin][1]  # type: ignore[index]
    for number, (value, row) in enumerate(zip(values[begin:], known[begin:], strict=True)):
        if row is None or row[0]() is not value or row[1] is not stack or row[2] != number:
            return None
    if len(values) - begin != stack.shape[0]:
        return None
    return np.concatenate([np.stack([as_array(v) for v in values[:begin]]), stack]) if begin else stack.copy()
