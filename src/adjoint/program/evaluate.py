"""Programs evaluated many times on plain values: as one Python function, written out equation by equation.

Reading a program costs a few microseconds for each equation beside the NumPy call. A loop pays them in every iteration,
so after some of them its body is written out as Python text, `c = add(a, b)`, and compiled by Python. It computes the
same in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import local
from types import FrameType
from typing import Any, TypeAlias, cast

import numpy as np

from adjoint.base.source import Location, equation_lines
from adjoint.program.program import Atom, Program, Var, interpret, last_uses
from adjoint.program.types import Value

RUNS_BEFORE = 8  # that many times a program is read before it is written out
FILE = "<program>"  # as frames show it
LONGEST = 2000  # equations: longer ones gain little, and their text takes long to compile


Reader: TypeAlias = Callable[[Program, Sequence[Value]], list[Value]]
_reader: ContextVar[Reader | None] = ContextVar("adjoint_reader", default=None)


class Work(local):
    """What loops have cost so far in this thread: equations of their bodies, each time that they were evaluated."""

    equations = 0


work = Work()


@contextmanager
def evaluated_by(reader: Reader) -> Generator[None]:
    """While active, the programs inside loops are given to `reader`, for one who wants to see what they do."""
    token = _reader.set(reader)
    try:
        yield
    finally:
        _reader.reset(token)


class Evaluator:
    """A program to be run many times on plain values."""

    __slots__ = ("_program", "_run", "_runs", "_size")

    def __init__(self, program: Program) -> None:
        self._program, self._size = program, len(program.equations)
        reader = _reader.get()
        self._run: Callable[..., list[Value]] | None = (
            program.__dict__.get("_written") if reader is None else lambda *args: reader(program, args)
        )
        self._runs = 0

    def __call__(self, args: Sequence[Value]) -> list[Value]:
        work.equations += self._size
        if self._run is not None:
            return self._run(*args)
        self._runs += 1
        if self._runs > RUNS_BEFORE and self._size <= LONGEST:
            self._run = self._program.__dict__["_written"] = written(self._program)
        return interpret(self._program, args)


def written(program: Program) -> Callable[..., list[Value]]:
    """The program as a Python function."""
    locations: list[Any] = []  # of the line with this number
    names: dict[str, Any] = {"errstate": np.errstate, "locations": locations}
    source = "\n".join(_lines(program, names, locations))
    exec(compile(source, FILE, "exec"), names)  # the text holds names and numbers of ours alone
    return names["run"]


def _written_line(frame: FrameType) -> Location | str | None:
    """Where the equation was recorded that this frame evaluates."""
    locations, number = frame.f_globals["locations"], frame.f_lineno
    return locations[number] if number < len(locations) else None


equation_lines[FILE] = _written_line


def _lines(program: Program, names: dict[str, Any], locations: list[Any]) -> Iterator[str]:
    """The text; what it refers to is put into `names`, and where the user wrote what a line does into `locations`."""
    local: dict[Var, str] = {}

    def read(atom: Atom) -> str:
        if isinstance(atom, Var):
            return local[atom]
        name = f"k{len(names)}"
        names[name] = atom.value
        return name

    for v, value in program.constants.items():
        local[v] = f"k{len(names)}"
        names[local[v]] = value
    for v in program.inputs:
        local[v] = f"v{len(local)}"
    yield f"def run({', '.join(local[v] for v in program.inputs)}):"
    locations += [None, None]  # lines are counted from one
    last = last_uses(program)
    quiet = False
    for position, eq in enumerate(program.equations):
        if eq.quiet and not quiet:
            yield "  with errstate(all='ignore'):"
            locations.append(eq.location)
        quiet = eq.quiet
        indent = "    " if quiet else "  "
        arguments = ", ".join(read(a) for a in eq.inputs)
        call = f"f{position}"
        if eq.op.effect:  # whatever runs around decides when it happens
            names[call] = eq.op
        else:
            names[call] = cast(Any, eq.op).function if eq.op.pointwise else eq.op.evaluate
        for v in eq.outputs:
            local[v] = f"v{len(local)}"
        targets = ", ".join(local[v] for v in eq.outputs)
        assign = "" if not eq.outputs else f"{targets}, = " if eq.op.several else f"{targets} = "
        yield f"{indent}{assign}{call}({arguments})"
        locations.append(eq.location)
        dropped = [local[v] for v in last.get(position, ()) if v not in program.constants]
        if dropped:
            yield f"{indent}del {', '.join(dropped)}"
            locations.append(eq.location)
    yield f"  return [{', '.join(read(a) for a in program.outputs)}]"
