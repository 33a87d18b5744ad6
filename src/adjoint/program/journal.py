"""What a run of a function changes outside of it, so that another run can begin where the first one began.

Values have no memory, but random generators that a function closes over do: when a run is given up and begun anew, they
must start from the same state, or the second run would see other numbers than the first.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from adjoint.program.trace import Trace, Tracer

_clock = itertools.count()
_journals: ContextVar[tuple[Journal, ...]] = ContextVar("adjoint_journals", default=())


class Holder(Protocol):
    """Something that a function may change although it is not given it."""

    state: Any
    born: int  # when it was made: `moment()`

    def furthest(self, states: list[Any]) -> Any:
        """The state after runs that ended in these: what they have used is used."""


class Journal:
    """The states in which a run found what it changed."""

    def __init__(self) -> None:
        self._begun = moment()
        self._first: dict[int, tuple[Holder, Any]] = {}
        self._ends: dict[int, list[Any]] = {}

    def note(self, holder: Holder) -> None:
        """`holder` is about to change. What the run itself has made is its own affair."""
        if holder.born < self._begun:
            self._first.setdefault(id(holder), (holder, holder.state))

    def changed(self) -> list[tuple[Holder, Any]]:
        """What was changed, and the states in which it was found."""
        return list(self._first.values())

    def restore(self, *, given_up: bool = False) -> None:
        """Put everything back; where a run ended counts unless it was given up."""
        for key, (holder, state) in self._first.items():
            if not given_up:
                self._ends.setdefault(key, []).append(holder.state)
            holder.state = state

    def settle(self) -> None:
        """Everything is as far as the furthest run has come."""
        for key, ends in self._ends.items():
            holder = self._first[key][0]
            holder.state = holder.furthest(ends)


def moment() -> int:
    """A number that grows from call to call."""
    return next(_clock)


@contextmanager
def journal(changes: Journal) -> Generator[None]:
    """Write down what is changed inside."""
    token = _journals.set((*_journals.get(), changes))
    try:
        yield
    finally:
        _journals.reset(token)


def note(holder: Holder) -> None:
    """Tell every run that is being watched that `holder` is about to change."""
    for watching in _journals.get():
        watching.note(holder)


def content(array: Tracer, trace: Trace | None) -> Tracer:
    """The value that holds what a traced array holds inside a trace: branches and bodies that write to it have another.

    A snapshot of the array itself would hold what it did before them, and they would not know it.
    """
    while trace is not None:
        if trace.shadows is not None and id(array) in trace.shadows:
            return trace.shadows[id(array)][1]
        trace = trace.outer
    return array


class WrittenArrays:
    """What traced arrays held before they were written to.

    Nobody else may refer to one of them, a view that `f[i] += x` made: it is not alive because of us. Arrays of
    branches, bodies and transformations that begin later (above `level`) end before anything is undone.
    """

    def __init__(self, level: int) -> None:
        self.level = level
        self._held: dict[int, tuple[weakref.ref[Any], Any]] = {}  # by identity: the array and a snapshot

    def add(self, array: Any, held: Any = None) -> None:
        """An array is about to be written to, or was: then it held `held`. What was noted first counts."""
        key = id(array)
        if key not in self._held and array._trace.level <= self.level:
            reference = weakref.ref(array, lambda _: self._held.pop(key, None))
            self._held[key] = reference, array.snapshot() if held is None else held

    def take(self) -> list[tuple[Any, Any]]:
        """The arrays that are alive, and what they held; nothing is noted afterwards."""
        alive = [(array, held) for reference, held in self._held.values() if (array := reference()) is not None]
        self._held.clear()
        return alive


_arrays: ContextVar[WrittenArrays | None] = ContextVar("adjoint_written_arrays", default=None)


@contextmanager
def noting_arrays(written: WrittenArrays) -> Generator[None]:
    """Keep what traced arrays hold before they are written to inside."""
    token = _arrays.set(written)
    try:
        yield
    finally:
        _arrays.reset(token)


def note_array(array: Any, held: Any = None) -> None:
    """A traced array is about to be written to, or was and held `held` before."""
    written = _arrays.get()
    if written is not None:
        written.add(array, held)
