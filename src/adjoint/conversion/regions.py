"""Regions: a branch or a body that is traced although it may not run, or will run many times.

Everything inside is recorded in the region's own program, also what is computed from outer values alone. An array of an
outer transformation that is written to inside has a *shadow* here: the variable that holds its new content; whoever
reads the array inside, by whatever name, reads the shadow. Attributes, containers and shared variables are noted in a
log and put back at the end. So a region changes nothing outside; what it would change is among its results.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field
from typing import Any

from adjoint.base.records import record
from adjoint.base.source import here
from adjoint.conversion.joining import NoBlock
from adjoint.conversion.lifting import moment
from adjoint.conversion.log import Cell, Log, logging
from adjoint.conversion.log import note as note_write
from adjoint.conversion.outgrowing import check_size
from adjoint.program.freezing import Generators
from adjoint.program.journal import Journal, journal, note
from adjoint.program.op import Op
from adjoint.program.program import Atom, Program, Var
from adjoint.program.record import Record, RecordTracer
from adjoint.program.trace import Tracer, live_trace, running
from adjoint.program.types import ArrayType, Value


class GeneratorState(Cell):
    """The key and the counter of a random generator."""

    title = "a random generator"

    def __init__(self, holder: Any) -> None:
        self.held = holder

    @property
    def key(self) -> tuple[Any, ...]:
        return id(self.held), "generator"

    def get(self) -> Any:
        return self.held.state

    def put(self, value: Any) -> None:
        note(self.held)
        self.held.state = value


class Region(Record):
    """The record of a branch or a body."""

    title = "a branch or a loop"

    def __init__(self, purpose: str) -> None:
        super().__init__(purpose=purpose)
        self.runs_again = False  # the states of random generators are carried
        self.begun = moment()
        self.shadows: dict[int, tuple[Tracer, Tracer]] = {}  # an outer array, and what it holds here
        self.overwritten: set[Var] = set()  # what arrays of this region held before they were written to
        self.bounds: dict[Var, float] = {}  # of ints (see `outgrowing`)
        self._atoms: dict[int, tuple[Tracer, Atom]] = {}
        self._made: dict[int, Any] = {}  # objects of the user's classes

    def atom(self, value: Value) -> Atom:
        if not isinstance(value, Tracer) or value._trace is self:
            if type(value) is int and abs(value) >= 1 << 63:
                raise NoBlock("an int has more than 64 bits in it")
            return super().atom(value)
        shadow = self.shadows.get(id(value))
        if shadow is not None:
            return super().atom(shadow[1])
        known = self._atoms.get(id(value))
        if known is None:
            known = self._atoms[id(value)] = (value, super().atom(value))
        return known[1]

    def weakened(self, op: Op, args: Sequence[Value], z: RecordTracer) -> RecordTracer:
        number = super().weakened(op, args, z)
        if number.dtype.kind == "i":
            check_size(op, args, number)
        return number

    def note_made(self, thing: Any) -> None:
        """An object is made inside."""
        self._made[id(thing)] = thing

    def has_made(self, thing: Any) -> bool:
        """Whether an object was made inside: nobody outside has it, and it may be another one afterwards."""
        return id(thing) in self._made

    def read(self) -> list[Value]:
        """The values of outer transformations, and the plain arrays, that are read inside."""
        return [*[value for value, _ in self._atoms.values()], *[value for value, _ in self._known.values()]]

    def forget(self) -> None:
        """Hold outer arrays no longer: whether one is still alive elsewhere is asked."""
        self._atoms.clear()

    def shade(self, array: Tracer, value: Value) -> None:
        """From now on an outer array holds this value, inside."""
        made = value if isinstance(value, RecordTracer) and value._trace is self else self.constant(value)
        self.shadows[id(array)] = (array, made.snapshot())


def live_region() -> Region | None:
    """The innermost region, unless a transformation has begun inside it."""
    trace = live_trace()
    while trace is not None and not isinstance(trace, Region):
        trace = trace.outer
    return trace


@record(frozen=False)
class Traced:
    """What a region does: values for variables, and what is left in cells and arrays at its end."""

    region: Region
    inputs: list[RecordTracer]
    values: tuple[Any, ...] = ()
    cells: dict[tuple[Any, ...], tuple[Cell, Any, Any]] = field(default_factory=dict[Any, Any])  # cell, before, after
    raised: Exception | None = None

    @property
    def arrays(self) -> dict[int, tuple[Tracer, Tracer]]:
        """Outer arrays that were written to, and what they hold at the end."""
        return self.region.shadows

    def program(self, outputs: Sequence[Value]) -> tuple[Program, list[Tracer]]:
        """The program from the inputs to these values, and the outer values that it reads."""
        return self.region.program(self.inputs, outputs)


def trace_region(
    purpose: str,
    types: Sequence[ArrayType],
    run: Callable[[Region, list[RecordTracer]], tuple[Any, ...]],
    finish: Callable[[Traced], Any],
) -> Any:
    """Trace `run(region, inputs)`; `finish` is called while the record is still open, and gives the result.

    An exception of the user's is kept: it belongs to the path.
    """
    region = Region(purpose)
    inputs = [region.input(t) for t in types]
    log, draws = Log(is_region=True), Journal()
    traced = Traced(region, inputs)
    with ExitStack() as stack:
        if live_region() is None:
            stack.enter_context(_without_draws(run, purpose))
        stack.enter_context(running(region))
        stack.enter_context(region.staging())
        region.started = here()
        with logging(log), journal(draws):
            try:
                traced.values = run(region, [x.snapshot() for x in inputs])
            finally:
                for holder, state in draws.changed():
                    log.cells[id(holder), "generator"] = (GeneratorState(holder), state)
                log.cells = {k: c for k, c in log.cells.items() if not region.has_made(c[0].held)}
                after = {key: cell.get() for key, (cell, _) in log.cells.items()}
                log.restore()
        traced.cells = {key: (cell, old, after[key]) for key, (cell, old) in log.cells.items()}
        result = finish(traced)
        region.forget()
        return result


@contextmanager
def _without_draws(run: Callable[..., Any], purpose: str) -> Generator[None]:
    """Put generators of NumPy back that were drawn from: the block stays Python's own, which draws anew each time."""
    generators = Generators(run)
    try:
        yield
        if generators.drawn_from():
            raise NoBlock(f"{purpose} draws from a generator of NumPy, which gives other numbers each time")
    finally:
        generators.restore()


def keep_write(cell: Cell, value: Any) -> None:
    """Write what a region has left in a cell, with a note for what is around it."""
    if not isinstance(cell, GeneratorState):
        note_write(cell)
    cell.put(value)
