"""What converted code writes besides its own variables: attributes, containers, shared variables, plain arrays.

Every write is noted before it happens, with what stood there. So a branch that is traced but may not be taken, a body
that is traced once for all iterations, and a run that is given up leave nothing behind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from adjoint.conversion.values import UNDEFINED

CONTAINERS = (list, dict, set, deque)


class Cell(ABC):
    """A place that is written: an attribute, all of a container, a variable, the elements of a plain array."""

    title = "a value"
    held: Any  # the owner, so that its identity stays its own

    @property
    @abstractmethod
    def key(self) -> tuple[Any, ...]:
        """Which place it is."""

    @abstractmethod
    def get(self) -> Any:
        """What stands there now."""

    @abstractmethod
    def put(self, value: Any) -> None:
        """Write, without a note."""


class Attribute(Cell):
    """An attribute of an object."""

    def __init__(self, owner: Any, name: str) -> None:
        self.held, self.name = owner, name
        kind = owner if isinstance(owner, type) else type(owner)
        self.title = f"{kind.__name__}.{name}"

    @property
    def key(self) -> tuple[Any, ...]:
        return id(self.held), self.name

    def get(self) -> Any:
        return getattr(self.held, self.name, UNDEFINED)

    def put(self, value: Any) -> None:
        family = type if isinstance(self.held, type) else object
        if value is not UNDEFINED:
            family.__setattr__(self.held, self.name, value)
        elif hasattr(self.held, self.name):
            family.__delattr__(self.held, self.name)


class Container(Cell):
    """All that a list, dict, set or deque holds."""

    def __init__(self, owner: Any) -> None:
        self.held, self.title = owner, f"a {type(owner).__name__}"

    @property
    def key(self) -> tuple[Any, ...]:
        return id(self.held), None

    def get(self) -> Any:
        return self.held.copy()

    def put(self, value: Any) -> None:
        if isinstance(self.held, list):
            self.held[:] = value
            return
        self.held.clear()
        (self.held.extend if isinstance(self.held, deque) else self.held.update)(value)


class Variable(Cell):
    """A variable that several functions share: the object by which converted code writes it."""

    def __init__(self, read: Callable[[], Any], write: Callable[[Any], None], name: str) -> None:
        self._read, self._write, self.title = read, write, name
        cells = getattr(write, "__closure__", None)
        self.held = cells[0] if cells else (write.__globals__, name)  # type: ignore[attr-defined]
        self._key = (id(self.held), None) if cells else (id(write.__globals__), name)  # type: ignore[attr-defined]

    @property
    def key(self) -> tuple[Any, ...]:
        return self._key

    def get(self) -> Any:
        try:
            return self._read()
        except NameError:
            return UNDEFINED

    def put(self, value: Any) -> None:
        self._write(value)

    def store(self, value: Any) -> Any:
        """Write, with a note."""
        note(self)
        self.put(value)
        return value


class Elements(Cell):
    """The elements of a plain array."""

    title = "a plain array"

    def __init__(self, owner: np.ndarray[Any, Any]) -> None:
        self.held = owner

    @property
    def key(self) -> tuple[Any, ...]:
        return id(self.held), "elements"

    def get(self) -> Any:
        return self.held.copy()

    def put(self, value: Any) -> None:
        self.held[...] = value


class Log:
    """The first values of what is written while it is active."""

    def __init__(self, *, is_region: bool) -> None:
        self.is_region = is_region  # of a branch or body that is traced: elsewhere a run that may be given up
        self.cells: dict[tuple[Any, ...], tuple[Cell, Any]] = {}
        self.outer: Log | None = None  # the one around it, while it is active
        self.made: dict[int, Any] = {}  # by identity: iterators that were made while it was active
        self.has_moved = False  # something moved on that cannot be put back (see `advancing`)

    def note(self, cell: Cell) -> None:
        """A cell is about to be written."""
        if cell.key not in self.cells:
            self.cells[cell.key] = (cell, cell.get())

    def of_classes(self) -> str | None:
        """An attribute of a class that is written; None: there is none."""
        return next((cell.title for cell, _ in self.cells.values() if isinstance(cell.held, type)), None)

    def pass_on(self) -> None:
        """What was written stays: the log around this one has it."""
        outer = _log.get()
        if outer is not None:
            outer.made.update(self.made)
            self.made.clear()
            for key, entry in self.cells.items():
                outer.cells.setdefault(key, entry)

    def restore(self) -> None:
        """Put everything back."""
        for cell, old in reversed(list(self.cells.values())):
            cell.put(old)


_log: ContextVar[Log | None] = ContextVar("adjoint_write_log", default=None)


def active_log() -> Log | None:
    """The innermost log."""
    return _log.get()


def note(cell: Cell) -> None:
    """Tell the innermost log that a cell is about to be written."""
    log = _log.get()
    if log is not None:
        log.note(cell)


def note_container(owner: Any) -> None:
    """Tell the innermost log that a container is about to change."""
    log = _log.get()
    if log is not None and (id(owner), None) not in log.cells:
        log.note(Container(owner))


@contextmanager
def logging(log: Log) -> Generator[Log]:
    """Note all writes inside."""
    log.outer = _log.get()
    token = _log.set(log)
    try:
        yield log
    finally:
        _log.reset(token)
