"""The tape of a run on types: its entries and tracers are counted as Python objects, and the lines they come from."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.base.origins import Origin, origin, pin, unpin
from adjoint.memory.ledger import OBJECTS, Ledger
from adjoint.memory.sizes import ITEM, entry_object, tracer_object
from adjoint.program.record import is_constant
from adjoint.program.trace import Trace
from adjoint.program.types import Value
from adjoint.transform.capture import Captured, must_be_copied
from adjoint.transform.entries import op_of
from adjoint.transform.tape import Tape, TapeTracer


class _Counted(Captured):
    """Copies of the caller's arrays, counted instead of made."""

    __slots__ = ("_ledger",)

    def __init__(self, ledger: Ledger, outer: Trace | None) -> None:
        super().__init__(False, outer)
        self._ledger = ledger

    def hold(self, value: Value) -> Value:
        if isinstance(value, np.ndarray):
            copied = must_be_copied(value) and not is_constant(value)
            return self._ledger.watch(value.view()) if copied else value  # the view lives as long as a copy would
        return super().hold(value)


class Lines(list[Any]):
    """The entries of a record, which say where they come from when they are read backwards."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.origins: list[tuple[Any, str, int]] = []
        self._ledger, self._known = ledger, set[int]()

    def append(self, entry: Any) -> None:
        size = entry_object(entry, self._known)
        self.origins.append((origin().location, op_of(entry).title, size))
        self._ledger.take(OBJECTS, size)
        super().append(entry)

    def pop(self, index: Any = -1) -> Any:
        location, title, size = self.origins.pop()
        pin(Origin(location, (), title))
        self._ledger.give(OBJECTS, size)
        self._ledger.step += 1
        return super().pop()

    def __reversed__(self) -> Iterator[Any]:
        for entry, (location, title, _) in zip(super().__reversed__(), reversed(self.origins), strict=True):
            pin(Origin(location, (), title))
            self._ledger.step += 1
            yield entry


class CountedTape(Tape):
    """A tape over a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.captured = _Counted(ledger, self.outer)
        self.entries = Lines(ledger)
        self._ledger = ledger
        self._tracers: dict[int, Any] = {}  # those that live, by identity

    def _new(self, value: Value, entry: tuple[Any, ...]) -> TapeTracer:
        tracer = super()._new(value, entry)
        key, size, ledger, tracers = id(tracer), tracer_object(tracer), self._ledger, self._tracers
        tracers[key] = weakref.ref(tracer, lambda _: (ledger.give(OBJECTS, size), tracers.pop(key)))
        ledger.take(OBJECTS, size)
        return tracer

    def reading_back(self) -> Any:
        """While the record is read, memory is counted for the lines that are pulled through."""
        self._ledger.take(OBJECTS, ITEM * len(self.entries))  # a slot for each cotangent
        return Unpinned()


class Unpinned:
    def __enter__(self) -> None:
        self.token = pin(None)

    def __exit__(self, *problem: Any) -> None:
        unpin(self.token)
