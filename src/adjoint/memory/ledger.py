"""A run on types alone that keeps account of memory: what every array would take, from when to when.

A `Ledger` stands where NumPy would compute. Its values have a type and no elements; they live and die as the arrays of
a real run would, since Python holds them in the same places: in the user's variables, in the record of reverse mode, in
the cotangents on the way back.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.base.origins import Origin, origin, pin, unpin
from adjoint.base.source import Location
from adjoint.ops.control import Cond
from adjoint.ops.index import Slice
from adjoint.ops.loops import While
from adjoint.ops.policies import Mark
from adjoint.ops.rearrange import Broadcast, Imag, Real, Reshape, Transpose
from adjoint.ops.reversible import Reversible
from adjoint.ops.rewind import Rewind
from adjoint.ops.select import StopGradient
from adjoint.program.op import Op
from adjoint.program.program import Equation, Program, Var, last_uses
from adjoint.program.record import Record, RecordTracer
from adjoint.program.trace import Traced
from adjoint.program.types import ArrayType, Size, Value, type_of
from adjoint.transform.capture import COPY_BELOW, Captured
from adjoint.transform.tape import Tape

VIEWS = (Slice, Transpose, Reshape, Broadcast, StopGradient, Real, Imag, Mark)  # they give no memory of their own
# On the way back sums are added to what is there, and NumPy computes large results in the memory of an operand that
# nobody else refers to: from how many bytes on.
IN_PLACE = {"add": 0, "subtract": 1 << 18, "multiply": 1 << 18, "divide": 1 << 18}
Line = tuple[Location | str | None, str | None]  # a line of the user's, and on the way back what is pulled through


class Room(Var):
    """A variable with memory of its own, which it gives back when nobody refers to it any more."""

    __slots__ = ("_ledger", "_line", "_size")

    def __init__(self, kind: ArrayType, ledger: Ledger, line: Line) -> None:
        super().__init__(kind)
        self._ledger, self._line, self._size = ledger, line, size_of(kind)
        ledger.take(line, self._size)

    def __del__(self) -> None:
        self._ledger.give(self._line, self._size)


class Window(Var):
    """A variable in the memory of others."""

    __slots__ = ("_bases",)

    def __init__(self, kind: ArrayType, bases: Sequence[Var]) -> None:
        super().__init__(kind)
        self._bases = bases


class LedgerTracer(RecordTracer):
    """A value of a ledger."""

    __slots__ = ()

    def snapshot(self) -> LedgerTracer:
        return LedgerTracer(self._trace, self._var, None)  # type: ignore[arg-type]

    def held(self) -> Traced:
        """Records hold copies of arrays, unless they are very large."""
        trace: Any = self._trace
        kind = self._var.type
        return trace.own(kind) if kind.shape and size_of(kind) <= COPY_BELOW else self.snapshot()


def size_of(kind: ArrayType) -> int:
    """Bytes; a length that is not known counts as one."""
    return int(np.prod([n if isinstance(n, int) else 1 for n in kind.shape], dtype=object)) * kind.dtype.itemsize


class Ledger(Record):
    """Evaluates types, and counts bytes by line.

    `answers` are those to what Python asks, `turns` those of while loops.
    """

    title = "memory_report"

    def __init__(self, answers: Sequence[Any] = (), turns: Sequence[int] = ()) -> None:
        super().__init__(purpose="memory_report")
        self.now = self.peak = 0
        self.waits = False
        self.by_line: Counter[Line] = Counter()
        self.at_peak: Counter[Line] = Counter()
        self.answers, self.turns = iter(answers), iter(turns)
        self.sizes: dict[Size, int] = {}  # turns of while loops
        self.open_sizes = False  # one of them was not known

    def take(self, line: Line, size: int) -> None:
        self.now += size
        self.by_line[line] += size
        if not self.waits:
            self.settle()

    def settle(self) -> None:
        """Look whether there is more than ever; what is computed in place of an operand waits until that is gone."""
        self.waits = False
        if self.now > self.peak:
            self.peak, self.at_peak = self.now, self.by_line.copy()

    def give(self, line: Line, size: int) -> None:
        self.now -= size
        self.by_line[line] -= size

    def line(self) -> Line:
        place, _, pulled = origin()
        return place, pulled

    def input(self, kind: ArrayType, value: Value = None) -> RecordTracer:
        """An argument of the caller's: its memory is there already."""
        return LedgerTracer(self, Var(kind))

    def own(self, kind: ArrayType) -> RecordTracer:
        """An array that is made here."""
        return LedgerTracer(self, Room(kind, self, self.line()))

    def constant(self, value: Value) -> RecordTracer:
        return self.own(type_of(value))

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        types = [a._var.type if isinstance(a, RecordTracer) else type_of(a) for a in args]
        found: Any = op.result_type(*types)
        kinds: list[ArrayType] = [self._sized(t) for t in found] if op.several else [found]
        if isinstance(op, VIEWS):
            bases = [a._var for a in args if isinstance(a, RecordTracer)]
            return LedgerTracer(self, Window(kinds[0], bases))
        line = self.line()
        extra = transient(op, kinds)
        in_place = line[1] is not None and op.title in IN_PLACE and size_of(kinds[0]) >= IN_PLACE[op.title]
        self.settle()
        self.waits = in_place
        made = [LedgerTracer(self, Room(kind, self, line)) for kind in kinds]
        if extra:
            self.take(line, extra)
            self.give(line, extra)
        return tuple(made) if op.several else made[0]

    def _sized(self, kind: ArrayType) -> ArrayType:
        """A type whose sizes are numbers: those of a while loop were found by running forwards."""
        if all(isinstance(n, int) for n in kind.shape):
            return kind
        for n in kind.shape:
            if isinstance(n, Size) and n not in self.sizes:
                known = next(self.turns, None)
                self.open_sizes = self.open_sizes or known is None
                self.sizes[n] = 1 if known is None else known
        return ArrayType(tuple(self.sizes[n] if isinstance(n, Size) else n for n in kind.shape), kind.dtype)

    def ask(self, x: RecordTracer, question: str, answer: Callable[[Value], Any]) -> Any:
        for known in self.answers:
            return known
        return super().ask(x, question, answer)


class Answers(Record):
    """A run forwards on real values: what Python asks on the way, and how many turns while loops take."""

    def __init__(self) -> None:
        super().__init__(concrete=True, purpose="memory_report", runs_again=False)
        self.turns: list[int] = []

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        out = super().apply(op, args)
        self.equations.pop()  # only the values are needed
        if isinstance(op, While):
            values = [a._value if isinstance(a, RecordTracer) else a for a in args]
            self.turns.append(_turns(op, values))
        return out

    def asked(self) -> list[Any]:
        return [guard.answer for guard in self.guards]


def _turns(op: While, xs: Sequence[Value]) -> int:
    test, constants, carry = op.parts(xs)
    count = 0
    while bool(op.condition(*test, *carry)[0]):
        carry = list(op.body(*constants, *carry))[: op.carries]
        count += 1
    return count


class _Counted(Captured):
    """Copies of the caller's arrays, counted instead of made."""

    __slots__ = ("_copies", "_ledger")

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(False)
        self._ledger, self._copies = ledger, list[Any]()

    def hold(self, value: Value) -> Value:
        if isinstance(value, np.ndarray):
            kind = type_of(value)
            if size_of(kind) <= COPY_BELOW:
                self._copies.append(self._ledger.own(kind))
            return value
        return value.held() if isinstance(value, Traced) else value


class Lines(list[Any]):
    """The entries of a record, which say where they come from when they are read backwards."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[tuple[Any, str]] = []

    def append(self, entry: Any) -> None:
        head = entry[0]
        op = head[3] if isinstance(head, list) else head
        self.places.append((origin().location, getattr(op, "title", getattr(op, "name", ""))))
        super().append(entry)

    def pop(self, index: Any = -1) -> Any:
        place, name = self.places.pop()
        pin(Origin(place, (), name))
        return super().pop()

    def __reversed__(self) -> Iterator[Any]:
        for entry, (place, name) in zip(super().__reversed__(), reversed(self.places), strict=True):
            pin(Origin(place, (), name))
            yield entry


class CountedTape(Tape):
    """A tape over a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.captured = _Counted(ledger)
        self.entries = Lines()

    def reading_back(self) -> Any:
        """While the record is read, memory is counted for the lines that are pulled through."""
        return _Unpinned()


class _Unpinned:
    def __enter__(self) -> None:
        self.token = pin(None)

    def __exit__(self, *problem: Any) -> None:
        unpin(self.token)


def transient(op: Any, kinds: Sequence[ArrayType]) -> int:
    """Bytes that an operation needs while it runs, beside its arguments and results."""
    if not op.several or not hasattr(op, "programs"):
        return 0
    results = sum(map(size_of, kinds))
    if isinstance(op, Rewind):
        loop = op.loop
        state = sum(map(size_of, loop.body.input_types[loop.constants : loop.constants + loop.carries]))
        slots = loop.checkpoint.capacity(loop.length if not loop.has_condition else 0)
        spare = 0 if loop.checkpoint.disk is not None else max(slots - 1, 0) * state
        return spare + max(program_peak(op.turn), program_peak(op.advancing()) + state)
    if isinstance(op, Cond):
        return max(max(map(program_peak, op.branches)) - results, 0)
    if isinstance(op, Reversible):
        return max(max(map(program_peak, op.layers)) - results, 0)
    if isinstance(op, While):  # rows are listed, then stacked
        return max(sum(map(size_of, kinds[op.carries :])), program_peak(op.body))
    if hasattr(op, "carries"):
        return program_peak(op.body)
    return max(max(map(program_peak, op.programs().values())) - results, 0)


def program_peak(program: Program) -> int:
    """The most bytes that reading a program takes at once, its results among them, its inputs not."""
    cached = program.__dict__.get("_memory_peak")
    if cached is None:
        cached = program.__dict__["_memory_peak"] = _program_peak(program)
    return cached


def _program_peak(program: Program) -> int:
    last = last_uses(program)
    bases: dict[Var, set[Var]] = {}
    holders: Counter[Var] = Counter()
    now = peak = 0
    for position, eq in enumerate(program.equations):
        extra = transient(eq.op, [v.type for v in eq.outputs])
        for v in eq.outputs:
            bases[v] = _bases(eq, bases) if isinstance(eq.op, VIEWS) else {v}
            now += 0 if isinstance(eq.op, VIEWS) else size_of(v.type)
            holders.update(bases[v])
        peak = max(peak, now + extra)
        for v in last.get(position, ()):
            for base in bases.pop(v, ()):
                holders[base] -= 1
                now -= 0 if holders[base] else size_of(base.type)
    return peak


def _bases(eq: Equation, bases: dict[Var, set[Var]]) -> set[Var]:
    return set().union(*[bases.get(a, set[Var]()) for a in eq.inputs if isinstance(a, Var)])
