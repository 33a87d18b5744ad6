"""A run on types alone that keeps account of memory: what every array would take, from when to when.

A `Ledger` stands where NumPy would compute. Its values have a type and no elements; they live and die as the arrays of
a real run would, since Python holds them in the same places: in the user's variables, in the record of reverse mode, in
the cotangents on the way back.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import weakref
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.origins import Origin, origin, pin, unpin
from adjoint.base.source import Location
from adjoint.memory.workspace import VIEWS, in_files, size_of, workspace
from adjoint.ops.loops import While
from adjoint.program.op import Op
from adjoint.program.program import Var
from adjoint.program.record import Record, RecordTracer, is_constant
from adjoint.program.trace import Traced
from adjoint.program.types import ArrayType, Size, Value, type_of
from adjoint.transform.capture import COPY_BELOW, Captured
from adjoint.transform.tape import Tape

# On the way back sums are added to what is there, and NumPy computes large results in the memory of an operand that
# nobody else refers to: from how many bytes on.
IN_PLACE = {"add": 0} | dict.fromkeys(("subtract", "multiply", "divide", "negative"), 1 << 18)
OWNED = ("add", "scattersum")  # makers of sums that others are added to
Line = tuple[Location | str | None, str | None]  # a line of the user's, and on the way back what is pulled through


class Room(Var):
    """A variable with memory of its own, which it gives back when nobody refers to it any more."""

    __slots__ = ("_ledger", "_line", "_maker", "_size")

    def __init__(self, kind: ArrayType, ledger: Ledger, line: Line, maker: str = "") -> None:
        super().__init__(kind)
        self._ledger, self._line, self._maker, self._size = ledger, line, maker, size_of(kind)
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

    def filed(self) -> Traced:
        """The same value, in a file."""
        return LedgerTracer(self._trace, Var(self._var.type), None)  # type: ignore[arg-type]

    def held(self) -> Traced:
        """Records hold copies of arrays, unless they are very large."""
        trace: Any = self._trace
        kind = self._var.type
        return trace.own(kind) if kind.shape and size_of(kind) <= COPY_BELOW else self.snapshot()


class Ledger(Record):
    """Evaluates types, and counts bytes by line.

    `found` has what a run forwards on values found: the answers to what Python asks, the turns of while loops, and the
    integers and truth values that arrays were compared to or indexed with.
    """

    title = "memory_report"

    def __init__(self, found: Answers | None = None) -> None:
        super().__init__(purpose="memory_report")
        self.now = self.peak = 0
        self.waits = False
        self.by_line: Counter[Line] = Counter()
        self.at_peak: Counter[Line] = Counter()
        self.answers = iter([guard.answer for guard in found.guards] if found else ())
        self.turns = iter(found.turns if found else ())
        self.plain = deque(found.plain if found else ())
        self._watched: dict[int, Any] = {}  # arrays that are real here too, by identity
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
        if self.plain and self.plain[0][0] == op and not op.several and self.line()[1] is None:
            return self.watched(self.plain.popleft()[1])
        for program in op.programs().values() if hasattr(op, "programs") else ():  # type: ignore[attr-defined]
            for constant in program.constants.values():
                self.watched(constant)
        if isinstance(op, VIEWS):
            self.settle()
            bases = [a._var for a in args if isinstance(a, RecordTracer)]
            return LedgerTracer(self, Window(kinds[0], bases))
        line = self.line()
        extra = workspace(op, types, kinds)
        self.settle()
        self.waits = line[1] is not None and op.title in IN_PLACE and self._in_place(size_of(kinds[0]), op, args)
        outside = in_files(op)  # behind the other results
        inside = len(kinds) - outside
        made = [LedgerTracer(self, Room(kind, self, line, op.title)) for kind in kinds[:inside]]
        made += [LedgerTracer(self, Var(kind)) for kind in kinds[inside:]]
        if extra:
            self.take(line, extra)
            self.give(line, extra)
        return tuple(made) if op.several else made[0]

    def _in_place(self, size: int, op: Op, args: Sequence[Value]) -> bool:
        """Whether the result may stand in the place of an operand, which was made on the way back too."""
        rooms = [a._var for a in args if isinstance(a, RecordTracer) and isinstance(a._var, Room)]
        fitting = [r for r in rooms if r._size == size and r._line[1] is not None]
        # the first sum of two cotangents is a new array, to which the others are added
        return size >= IN_PLACE[op.title] and any(op.title != "add" or r._maker in OWNED for r in fitting)

    def watched(self, array: Any) -> Any:
        """Count an array that is real here too, as long as it lives."""
        if isinstance(array, np.ndarray) and id(array) not in self._watched:
            key, line, size = id(array), self.line(), array.nbytes
            self._watched[key] = weakref.ref(array, lambda _: (self.give(line, size), self._watched.pop(key)))
            self.take(line, size)
        return array

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
    """A run forwards on real values: what Python asks on the way, and how many turns while loops take.

    Integers and truth values are plain arrays, as in a real run: shapes may depend on them.
    """

    def __init__(self) -> None:
        super().__init__(concrete=True, purpose="memory_report", runs_again=False)
        self.turns: list[int] = []
        self.plain: list[tuple[Op, Value]] = []

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        out = super().apply(op, args)
        self.equations.pop()  # only the values are needed
        if isinstance(op, While):
            values = [a._value if isinstance(a, RecordTracer) else a for a in args]
            self.turns.append(_turns(op, values))
        if isinstance(out, RecordTracer) and out.shape and out.dtype.kind in "biu":
            self.plain.append((op, out._value))
            return out._value
        return out


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
            if size_of(kind) <= COPY_BELOW and not is_constant(value):
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

    def __getitem__(self, index: Any) -> Any:
        place, name = self.places[index]
        pin(Origin(place, (), name))
        return super().__getitem__(index)


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
