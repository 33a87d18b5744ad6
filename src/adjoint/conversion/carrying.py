"""What a loop that is traced once carries: a variable, a cell or an array, taken apart into numbers.

Numbers vary, truth values and what is no number stay as they are, until the body says otherwise.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any

from adjoint.base.records import record
from adjoint.conversion.joining import NoBlock, fit, join_types, strong, weak_type_of, weaken
from adjoint.conversion.log import Cell, Container
from adjoint.conversion.outgrowing import USUAL, is_int, is_large, set_bound
from adjoint.conversion.values import NUMBER, NUMBERS, Skeleton, put_together, same, take_apart, take_content
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value
from adjoint.transform.guards import LARGEST

MOST_ITEMS = 8  # of a container that a loop carries


class Again(Exception):  # noqa: N818 (the types have changed; the body is traced once more)
    """What is carried is not what was assumed."""


@record(frozen=False)
class Slot:
    """One number that is carried: its first value, and its type in every iteration; a constant while `kind` is None."""

    first: Value
    kind: ArrayType | None
    is_large: bool = False  # an int that may grow by more than a little in an iteration
    entered: Any = None  # a weak reference to what it is in an iteration
    left: Value = None  # what it is at the end of one
    variable: Any = None  # of the record, that holds it in the beginning of one

    def bounded(self, number: Value) -> Value:
        """The number, in or behind the loop, with a bound if it is an int."""
        return set_bound(number, LARGEST if self.is_large else USUAL) if is_int(self.kind) else number


class Carried:
    """A variable, cell or array that the loop carries."""

    def __init__(self, title: str, value: Any) -> None:
        self.title = title
        self.is_set = False  # every iteration assigns it, though it was not before the loop
        self.is_remade = False  # a list or dict that every iteration makes anew
        self.assume(value)

    take_apart = staticmethod(take_apart)

    def assume(self, value: Any) -> None:
        """Begin with a value: numbers vary, truth values and all else stay."""
        numbers: list[Value] = []
        self.skeleton = self.take_apart(value, numbers)
        if any(type(v) is int and abs(v) >= 1 << 63 for v in numbers):
            raise NoBlock(f"{self.title} is an int of more than 64 bits")
        self.slots = [Slot(v, None if type(v) is bool else weak_type_of(v)) for v in numbers]

    def inside(self, inputs: Iterator[Value]) -> Any:
        """What it is in an iteration, from the inputs of the body."""
        numbers = [s.first if s.kind is None else weaken(next(inputs), s.kind) for s in self.slots]
        for slot, number in zip(self.slots, numbers, strict=True):
            slot.bounded(number)
            slot.entered = weakref.ref(number) if isinstance(number, Tracer) else None
            slot.variable = getattr(number, "_var", None)
        return put_together(self.skeleton, iter(numbers))

    def types(self) -> list[ArrayType]:
        """The types of what varies."""
        return [strong(s.kind) for s in self.slots if s.kind is not None]

    def firsts(self) -> list[Value]:
        """The first values of what varies."""
        return [fit(s.first, s.kind) for s in self.slots if s.kind is not None]

    def lasts(self, value: Any) -> list[Value]:
        """What varies at the end of an iteration; raises `Again` when it is not what was assumed."""
        numbers: list[Value] = []
        skeleton = self.take_apart(value, numbers)
        if not skeleton.agrees(self.skeleton) and not (self.is_remade and self._has_items_of(skeleton)):
            self._become(skeleton, numbers)
            raise Again
        changed = False
        for slot, number in zip(self.slots, numbers, strict=True):
            if slot.kind is None:
                if not (number is slot.first or (type(number) in NUMBERS and same(number, slot.first))):
                    slot.kind, changed = join_types(weak_type_of(slot.first), weak_type_of(number), self.title), True
            else:
                joined = join_types(slot.kind, weak_type_of(number), self.title)
                changed, slot.kind = changed or joined != slot.kind, joined
                if is_int(slot.kind) and not slot.is_large and (is_large(slot.first) or is_large(number)):
                    slot.is_large = changed = True
        if changed:
            raise Again
        self.is_set = self.skeleton.kind == "maybe" and numbers[0] is True
        for slot, number in zip(self.slots, numbers, strict=True):
            slot.left = number
        return [fit(n, s.kind) for n, s in zip(numbers, self.slots, strict=True) if s.kind is not None]

    def _has_items_of(self, skeleton: Skeleton) -> bool:
        """Whether it is a list or dict of as many numbers as another one."""
        own = self.skeleton
        are_alike = own.kind == skeleton.kind == "container" and own.what == skeleton.what
        return are_alike and all(part is NUMBER for part in (*own.parts, *skeleton.parts))

    def _become(self, skeleton: Skeleton, numbers: list[Value]) -> None:
        """The body leaves something else: a variable that is assigned for the first time is there from then on."""
        if self.skeleton.kind == "undefined":
            zeros = [_zero(weak_type_of(n)) for n in numbers]
            if skeleton.kind == "maybe":
                zeros[0] = False
                self.skeleton, self.slots = (
                    skeleton,
                    [Slot(z, weak_type_of(n)) for z, n in zip(zeros, numbers, strict=True)],
                )
                return
            self.skeleton = Skeleton("maybe", None, (NUMBER, skeleton))
            flag = Slot(False, None)
            self.slots = [flag, *[Slot(z, weak_type_of(n)) for z, n in zip(zeros, numbers, strict=True)]]
            return
        if self.skeleton.kind == "maybe" and skeleton.agrees(self.skeleton.parts[1]):
            return
        raise NoBlock(f"{self.title} changes its structure in the loop")

    def outside(self, results: Iterator[Value]) -> Any:
        """What it is behind the loop."""
        numbers = [s.first if s.kind is None else s.bounded(weaken(next(results), s.kind)) for s in self.slots]
        return put_together(self.skeleton, iter(numbers))


def _zero(kind: ArrayType) -> Value:
    return {"i": 0, "f": 0.0, "c": 0j}[kind.dtype.kind] if kind.weak else strong(kind).zeros()


class Content(Carried):
    """What a list, dict or deque holds."""

    take_apart = staticmethod(take_content)

    def lasts(self, value: Any) -> list[Value]:
        if len(self.slots) > MOST_ITEMS:  # each item would be chosen anew in every iteration
            raise NoBlock(f"more than {MOST_ITEMS} numbers of {self.title} are written to")
        return super().lasts(value)


def carried_cell(cell: Cell, value: Any) -> Carried:
    """A cell that a loop carries."""
    has_content = isinstance(cell, Container) and type(cell.held) in (list, dict, deque)
    return (Content if has_content else Carried)(cell.title, value)
