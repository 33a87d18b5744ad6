"""What a function and its gradient do for given arguments, operation by operation, with the user's calls around each.

The function runs once for real, under a record that carries values along. So Python's own control flow takes the way
that it takes for these arguments, and of the gradient the very operations are written down that reverse mode does.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.origins import origin
from adjoint.base.source import Location, here, is_library
from adjoint.program.op import Op
from adjoint.program.program import Program
from adjoint.program.record import Record
from adjoint.program.trace import running
from adjoint.program.types import Value, type_of
from adjoint.transform.arguments import plain_value, run
from adjoint.transform.drivers import checked_leaf
from adjoint.transform.lines import LinedTape, Lining, entry_read, lined

__all__ = ["Recorded", "Stack", "called", "explained", "recorded", "saved_by_line"]

Stack = tuple[Location, ...]  # places in the user's functions that were running, outermost first


@dataclass(frozen=True)
class Recorded:
    """A program, the values of its inputs, and for each of its equations the calls that it stands in."""

    program: Program
    values: list[Value]
    stacks: list[Stack]
    backward: list[bool]  # whether it is done on the way back: what is computed again there, too


class _Calls:
    """The user's functions that are running, from the one that is profiled inwards."""

    def __init__(self) -> None:
        self.outside = sys._getframe(1)

    def __call__(self) -> Stack:
        frame: FrameType | None = sys._getframe(1)
        found: list[Location] = []
        while frame is not None and frame is not self.outside:
            if not is_library(frame.f_code.co_filename):
                found.append(Location(frame.f_code, frame.f_lasti))
            frame = frame.f_back
        return tuple(reversed(found))


class _CallsRecord(Record):
    """A record that notes the calls around each equation; on the way back those of the way there."""

    title = "profile"

    def __init__(self, calls: _Calls) -> None:
        super().__init__(concrete=True, purpose="a profiled function", runs_again=False)
        self.calls = calls
        self.stacks: list[Stack] = []
        self.backward: list[bool] = []

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        before = len(self.equations)
        result = super().apply(op, args)
        entry, place = entry_read(), origin().location
        if entry is None or not entry.note:
            stack = self.calls()
        else:  # what is computed again on the way back has a line of its own, inside that of the entry
            known: Stack = entry.note
            stack = (*known, place) if isinstance(place, Location) and place not in known else known
        new = len(self.equations) - before
        self.stacks.extend([stack] * new)
        self.backward.extend([entry is not None] * new)
        return result

    def seed(self, ct: Value) -> Value:
        """What is pulled through linear parts alone would not depend on the arguments: it is written down, too."""
        return self.constant(ct)


def recorded(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Recorded:
    """Run a function on its arguments, and write down what it does.

    Arrays and numbers of floating point are inputs of the program (all numbers if there are none), the rest is fixed.
    """
    leaves, structure = tree.flatten((tuple(args), kwargs))
    moving = [i for i, leaf in enumerate(leaves) if _kind(leaf) in {"f", "c"}]
    moving = moving or [i for i, leaf in enumerate(leaves) if _kind(leaf) in {"i", "u"}]
    values = [_plain(leaves[i]) for i in moving]
    calls = _Calls()
    record = _CallsRecord(calls)
    with running(record), lined(Lining(note=calls, seed=record.seed)):
        record.started = here()
        inputs = [record.input(type_of(v), v) for v in values]

        def call() -> Any:
            full = list(leaves)
            for i, x in zip(moving, inputs, strict=True):
                full[i] = x.snapshot()  # an argument may be assigned to inside
            positional, named = tree.unflatten(structure, full)
            return function(*positional, **named)

        outputs = [leaf for leaf in tree.leaves(run(record, call)) if _kind(leaf)]
        program, _ = record.program(inputs, [checked_leaf(leaf) for leaf in outputs])
    return Recorded(program, values, record.stacks, record.backward)


def called(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What a function returns; an error says that it arose while the function was profiled."""
    with explained("ran the function on its arguments"):
        return function(*args, **kwargs)


@contextmanager
def explained(doing: str) -> Generator[None]:
    """An error inside says what profile was doing."""
    try:
        yield
    except Exception as error:
        error.add_note(f"It was raised while profile {doing}; nothing was measured.")
        raise


def _kind(leaf: Any) -> str:
    """The kind of a number's or an array's dtype; empty for all else."""
    if isinstance(leaf, bool | str | bytes):
        return ""
    if isinstance(leaf, int | float | complex):
        return {int: "i", float: "f"}.get(type(leaf), "c" if isinstance(leaf, complex) else "f")
    return getattr(getattr(leaf, "dtype", None), "kind", "")


def _plain(leaf: Any) -> Value:
    value = plain_value(leaf, "profile: an argument")
    return np.asarray(value)[()] if isinstance(value, int | float | complex) else value


def saved_by_line(gradient: Callable[[], Any], given: Any) -> dict[Location | str | None, int]:
    """Bytes that the record holds for the way back when it begins, by the line that keeps them.

    An array counts once, for the first line that keeps it; those of the caller (`given`) do not count.
    """
    found: dict[Location | str | None, int] = {}
    theirs = {id(_owner(leaf)) for leaf in tree.leaves(given) if isinstance(leaf, np.ndarray)}

    def look(tape: LinedTape) -> None:
        if tape.outer is not None or found:
            return
        known = set(theirs)
        for entry, place in zip(tape.lines, tape.lines.places, strict=False):
            for array in _arrays(entry):
                owner = _owner(array)
                if id(owner) not in known:
                    known.add(id(owner))
                    found[place.location] = found.get(place.location, 0) + owner.nbytes

    with lined(Lining(reading=look)):
        gradient()
    return found


def _arrays(part: Any) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(part, np.ndarray):
        yield part
    elif type(part) in (tuple, list):
        for inner in part:
            yield from _arrays(inner)


def _owner(array: Any) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
