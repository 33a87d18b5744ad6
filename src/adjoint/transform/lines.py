"""Tapes that know for which line of the user's each entry was recorded, and say so while they are read backwards.

Everything else is as on a plain tape: the same values are kept, the same rules pull. So what is computed on the way
back can be counted, or timed, by line.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from adjoint.base.origins import Origin, origin, pin, pinned, unpin
from adjoint.base.records import record
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.transform.entries import op_of
from adjoint.transform.tape import Tape, TapeTracer

__all__ = ["LinedTape", "Lines", "Lining", "NotedOrigin", "entry_read", "lined", "lining", "pins_restored"]


class NotedOrigin(Origin):
    """An origin with whatever else was noted where an operation was recorded."""

    note: Any = None


@record
class Lining:
    """What is wanted of tapes while it is in force.

    `note` is called for every entry, and what it gives goes with the origin. `reading` is called with a tape that is
    about to be read backwards. `seed` is given the cotangents that the reading begins with, and may replace them, if
    the tape is one over other traces.
    """

    note: Callable[[], Any] = lambda: None
    reading: Callable[[LinedTape], None] = lambda tape: None
    seed: Callable[[Value], Value] = lambda ct: ct


_lining: ContextVar[Lining | None] = ContextVar("adjoint_lining", default=None)
_entry: ContextVar[NotedOrigin | None] = ContextVar("adjoint_entry", default=None)


def lining() -> Lining | None:
    """What is wanted of new tapes; None: that they are quick."""
    return _lining.get()


@contextmanager
def lined(wanted: Lining) -> Generator[None]:
    """Tapes that are made inside know the lines of their entries."""
    token = _lining.set(wanted)
    try:
        yield
    finally:
        _lining.reset(token)


def entry_read() -> NotedOrigin | None:
    """The entry that is read backwards now; None: none is, or its tape does not know lines."""
    return _entry.get()


def _read(line: NotedOrigin) -> None:
    pin(line)
    _entry.set(line)


@contextmanager
def pins_restored() -> Generator[None]:
    """Read a record inside: afterwards everything is done for whom it was done before."""
    token, entry = pin(pinned()), _entry.set(_entry.get())
    try:
        yield
    finally:
        unpin(token)
        _entry.reset(entry)


class Lines(list[Any]):
    """The entries of a record; whoever takes one in the backward pass works for its line from then on."""

    def __init__(self, entries: Iterable[Any] = (), origins: Iterable[NotedOrigin] = (), wanted: Any = None) -> None:
        super().__init__(entries)
        self.origins = list(origins)
        self.wanted: Lining = Lining() if wanted is None else wanted

    def append(self, entry: Any) -> None:
        line, op = origin(), op_of(entry)
        noted = NotedOrigin(line.location, line.scope, op.title)
        noted.note = getattr(line, "note", None) or self.wanted.note()
        self.origins.append(noted)
        super().append(entry)

    def like(self, entries: Iterable[Any]) -> Lines:
        """Other entries of the same lines."""
        return Lines(entries, self.origins, self.wanted)

    def pop(self, index: Any = -1) -> Any:
        _read(self.origins.pop(index))
        return super().pop(index)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int):
            _read(self.origins[index])
        return super().__getitem__(index)

    def __reversed__(self) -> Iterator[Any]:
        for entry, line in zip(super().__reversed__(), reversed(self.origins), strict=True):
            _read(line)
            yield entry


class LinedTape(Tape):
    """A tape whose entries know their lines."""

    def __init__(self, wanted: Lining, *, outlives_call: bool = False) -> None:
        super().__init__(outlives_call=outlives_call)
        self.wanted = wanted
        self.entries = self.lines = Lines(wanted=wanted)
        self.lifted = False  # whether it differentiates values of other traces

    def input(self, value: Value) -> TapeTracer:
        self.lifted = self.lifted or isinstance(value, Tracer)
        return super().input(value)

    def seed(self, ct: Value) -> Value:
        return self.wanted.seed(ct) if self.lifted and not isinstance(ct, Tracer) else ct

    @contextmanager
    def reading(self) -> Generator[None]:
        """While the record is read, what is done is done for the lines of its entries."""
        self.wanted.reading(self)
        with super().reading(), pins_restored():
            yield
