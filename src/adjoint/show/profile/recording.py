"""What a function and its gradient do for given arguments, operation by operation, with the user calls around each.

The function runs once for real, under a record that carries values along. So Python's own control flow takes the path
that it takes for these arguments, and of the gradient the very operations are written down that reverse mode does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.origins import origin
from adjoint.base.source import Location
from adjoint.program.program import Program
from adjoint.program.types import Value, type_of
from adjoint.show.explanation.calls import CallsRecord, Stack
from adjoint.transform.arguments import plain_value
from adjoint.transform.lines import LinedTape, Lining, entry_read, lined
from adjoint.transform.record_function import bind_leaves, record_function

__all__ = ["Recorded", "call_function", "explained", "recorded", "saved_by_line"]


@dataclass(frozen=True)
class Recorded:
    """A program, the values of its inputs, and for each of its equations the calls that it stands in."""

    program: Program
    values: list[Value]
    stacks: list[Stack]
    backward: list[bool]  # whether it is done in the backward pass: what is computed again there, too


class _ProfiledRecord(CallsRecord):
    """A record that notes the calls around each equation; in the backward pass those of the forward pass."""

    title = "profile"

    def __init__(self) -> None:
        super().__init__("a profiled function")
        self.stacks: list[Stack] = []
        self.backward: list[bool] = []

    def stack(self) -> Stack:
        """Where user functions are now."""
        return self.running().stack

    def note(self, new: int) -> None:
        entry, location = entry_read(), origin().location
        if entry is None or not entry.note:
            stack = self.stack()
        else:  # what is computed again in the backward pass has a line of its own, inside that of the entry
            known: Stack = entry.note
            stack = (*known, location) if isinstance(location, Location) and location not in known else known
        self.stacks += [stack] * new
        self.backward += [entry is not None] * new

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
    record = _ProfiledRecord()
    with lined(Lining(note=record.stack, seed=record.seed)):
        inputs = [record.input(type_of(v), v) for v in values]
        bind = bind_leaves(function, leaves, structure, moving)
        recorded = record_function(function, bind, record, inputs, is_output=lambda x: bool(_kind(x)), may_draw=True)
    return Recorded(recorded.program, values, record.stacks, record.backward)


def call_function(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
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
    """Bytes that the record holds for the backward pass when it begins, by the line that keeps them.

    An array counts once, for the first line that keeps it; those of the caller (`given`) do not count.
    """
    sizes: dict[Location | str | None, int] = {}
    theirs = {id(_owner(leaf)) for leaf in tree.leaves(given) if isinstance(leaf, np.ndarray)}

    def look(tape: LinedTape) -> None:
        if tape.outer is not None or sizes:
            return
        known = set(theirs)
        for entry, line in zip(tape.lines, tape.lines.origins, strict=False):
            for array in _arrays(entry):
                owner = _owner(array)
                if id(owner) not in known:
                    known.add(id(owner))
                    sizes[line.location] = sizes.get(line.location, 0) + owner.nbytes

    with lined(Lining(reading=look)):
        gradient()
    return sizes


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
