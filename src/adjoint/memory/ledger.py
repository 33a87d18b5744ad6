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
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.base.origins import Origin, origin, pin, unpin
from adjoint.base.source import Location
from adjoint.jit.pipeline import build_executable
from adjoint.memory.sizes import CALL, ITEM, array_object, entry_object, size_of, tracer_object
from adjoint.memory.workspace import GIVEN, WRITTEN, in_files, overhead, workspace
from adjoint.ops.arrays.index import ScatterSum
from adjoint.ops.checkpointing.reverse import CheckpointedReverse
from adjoint.ops.checkpointing.scan import CheckpointedWhile
from adjoint.ops.control.call import Call
from adjoint.ops.control.while_loop import While
from adjoint.program.layout import Strides, compact, is_sized
from adjoint.program.op import Op
from adjoint.program.program import Var
from adjoint.program.record import Record, RecordTracer, is_constant
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Size, Value, type_of
from adjoint.transform.capture import COPY_BELOW, Captured, must_be_copied
from adjoint.transform.tape import Tape, TapeTracer

# On the way back sums are added to what is there, and NumPy computes large results in the memory of an operand that
# nobody else refers to: from how many bytes on.
IN_PLACE = 1 << 18
ARITHMETIC = ("add", "subtract", "multiply", "divide", "negative")
OWNED = ("add", "scattersum")  # makers of sums that others are added to
Line = tuple[Location | str | None, str | None]  # a line of the user's, and on the way back what is pulled through
OBJECTS: Line = (None, "objects")  # Python's, wherever they are made
COMPILED: Line = (None, "compiled")  # workspaces that compiled functions keep


class Room(Var):
    """A variable with memory of its own, which it gives back when nobody refers to it any more."""

    __slots__ = ("_ledger", "_line", "_maker", "_size", "_step")

    def __init__(self, kind: ArrayType, ledger: Ledger, line: Line, maker: str = "") -> None:
        super().__init__(kind)
        self._ledger, self._line, self._maker, self._size = ledger, line, maker, size_of(kind)
        self._step = ledger.step
        ledger.take(line, self._size, array_object(kind))

    def __del__(self) -> None:
        self._ledger.give(self._line, self._size, array_object(self.type))


class Window(Var):
    """A variable in the memory of others."""

    __slots__ = ("_bases", "_ledger")

    def __init__(self, kind: ArrayType, ledger: Ledger, bases: Sequence[Var]) -> None:
        super().__init__(kind)
        self._bases, self._ledger = bases, ledger
        ledger.take(OBJECTS, array_object(kind))

    def __del__(self) -> None:
        self._ledger.give(OBJECTS, array_object(self.type))


class Borrowed(Var):
    """An argument of the caller's that a record must copy."""

    __slots__ = ()


class LedgerTracer(RecordTracer):
    """A value of a ledger."""

    __slots__ = ()

    def snapshot(self) -> LedgerTracer:
        return LedgerTracer(self._trace, self._var, None)  # type: ignore[arg-type]

    def filed(self) -> Tracer:
        """The same value, in a file."""
        return LedgerTracer(self._trace, Var(self._var.type), None)  # type: ignore[arg-type]

    def held(self) -> Tracer:
        """Records hold copies of arrays, unless they are very large."""
        trace: Any = self._trace
        kind, shared = self._var.type, isinstance(self._var, Window | Borrowed)
        return trace.own(kind) if kind.shape and (shared or size_of(kind) <= COPY_BELOW) else self.snapshot()


class Ledger(Record):
    """Evaluates types, and counts bytes by line.

    `found` has what a run forwards on values found: the answers to what Python asks, the turns of while loops, and the
    integers and truth values that arrays were compared to or indexed with.
    """

    title = "memory_report"
    records, counts = False, True

    def __init__(self, found: Answers | None = None) -> None:
        super().__init__(purpose="memory_report")
        self.now = self.peak = CALL
        self.step = 0  # how many entries of the record were read backwards
        self.waits = False
        self.by_line: Counter[Line] = Counter({OBJECTS: CALL})
        self.at_peak: Counter[Line] = self.by_line.copy()
        self.answers = iter([guard.answer for guard in found.guards] if found else ())
        self.turns = iter(found.turns if found else ())
        self.plain = deque(found.plain if found else ())
        self._watched: dict[int, Any] = {}  # arrays that are real here too, by identity
        self.sizes: dict[Size, int] = {}  # turns of while loops
        self.counted: dict[int, int] = {}  # those of loops that keep states, by the identity of what says it
        self.open_sizes = False  # one of them was not known
        self._kernels: set[int] = set()  # programs whose machine code has its workspace, by identity

    def take(self, line: Line, size: int, objects: int = 0) -> None:
        self.now += size + objects
        self.by_line[line] += size
        self.by_line[OBJECTS] += objects
        if not self.waits:
            self.settle()

    def settle(self) -> None:
        """Look whether there is more than ever; what is computed in place of an operand waits until that is gone."""
        self.waits = False
        if self.now > self.peak:
            self.peak, self.at_peak = self.now, self.by_line.copy()

    def give(self, line: Line, size: int, objects: int = 0) -> None:
        self.now -= size + objects
        self.by_line[line] -= size
        self.by_line[OBJECTS] -= objects

    def line(self) -> Line:
        place, _, pulled = origin()
        return place, pulled

    def input(self, kind: ArrayType, value: Value = None) -> RecordTracer:
        """An argument of the caller's: its memory is there already."""
        borrowed = isinstance(value, np.ndarray) and must_be_copied(value)
        return LedgerTracer(self, (Borrowed if borrowed else Var)(kind))

    def own(self, kind: ArrayType, maker: str = "") -> RecordTracer:
        """An array that is made here."""
        return LedgerTracer(self, Room(kind, self, self.line(), maker))

    def constant(self, value: Value) -> RecordTracer:
        return self.own(type_of(value))

    def layout(self, var: Var) -> Strides | None:
        """Nothing is recorded that would say it: arrays are taken to lie in C order."""
        return compact(var.type) if is_sized(var.type) else None

    def lay_out(self, var: Var, order: Sequence[int]) -> None:
        """What is held here would not be counted as free."""

    def scattered(self, buffer: Value, op: Any, ct: Value, xs: Sequence[Value]) -> RecordTracer:
        """A buffer of zeros like xs[0], or the one that there is, to which a cotangent is added where `op` reads."""
        kind = ArrayType(xs[0].shape, xs[0].dtype)
        buffer = self.own(kind, OWNED[1]) if buffer is None else buffer
        into = ScatterSum(kind.shape, kind.dtype, (op.key(),))
        extra = workspace(into, [type_of(x) for x in (ct, *xs[1:])], [kind])
        self.settle()
        self.take(self.line(), extra)
        self.give(self.line(), extra)
        return buffer

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        types = [a._var.type if isinstance(a, RecordTracer) else type_of(a) for a in args]
        if isinstance(op, GIVEN + WRITTEN):
            return op.evaluate(*[self.constant(a) if not isinstance(a, RecordTracer) else a for a in args])
        turns = self._turns(op, args)
        found: Any = op.result_type(*types)
        kinds: list[ArrayType] = [self._sized(t, turns) for t in found] if op.several else [found]
        if self.plain and self.plain[0][0] == op and not op.several and self.line()[1] is None:
            return self.watched(self.plain.popleft()[1])
        for program in op.programs().values():
            for constant in program.constants.values():
                self.watched(constant)
        if op.is_view:
            self.settle()
            bases = [a._var for a in args if isinstance(a, RecordTracer)]
            return LedgerTracer(self, Window(kinds[0], self, bases))
        line = self.line()
        extra = workspace(op, types, kinds, turns)
        objects = overhead(op)
        self.settle()
        if isinstance(op, Call):
            extra -= self._kept_workspace(op)
        self.waits = line[1] is not None and op.title in ARITHMETIC and self._in_place(size_of(kinds[0]), op, args)
        outside = range(*in_files(op).indices(len(kinds)))
        made = [
            LedgerTracer(self, Var(kind) if i in outside else Room(kind, self, line, op.title))
            for i, kind in enumerate(kinds)
        ]
        if turns is not None and isinstance(op, CheckpointedWhile):
            self.counted[id(made[-1]._var)] = turns
        if extra or objects:
            self.take(line, extra, objects)
            self.give(line, extra, objects)
        return tuple(made) if op.several else made[0]

    def handed_out(self, gradients: Sequence[Value]) -> None:
        """Results that share memory are copied for the caller."""
        views = [g for g in gradients if isinstance(g, RecordTracer) and isinstance(g._var, Window)]
        copies = [self.own(g._var.type) for g in views]
        del copies

    def _kept_workspace(self, op: Call) -> int:
        """The workspace of a compiled function, which stays; counted when it is first called."""
        kernel = build_executable(op.program).kernel
        size = 0 if kernel is None else kernel.workspace
        if size and id(op.program) not in self._kernels:
            self._kernels.add(id(op.program))
            self.take(COMPILED, size)
        return size

    def _turns(self, op: Op, args: Sequence[Value]) -> int | None:
        """How many turns a loop with a condition takes, or has taken; None where it is not known."""
        if isinstance(op, While | CheckpointedWhile):
            if self.line()[1] is not None:  # the loop runs once more on the way back, with tangents
                return None
            known = next(self.turns, None)
            self.open_sizes = self.open_sizes or known is None
            return known
        if isinstance(op, CheckpointedReverse) and op.loop.has_condition and op.stored:
            last: Any = op.parts(args)[0][-1]
            return self.counted.get(id(last._var)) if isinstance(last, RecordTracer) else None
        return None

    def _in_place(self, size: int, op: Op, args: Sequence[Value]) -> bool:
        """Whether the result may stand in the place of an operand, which was made on the way back too."""
        rooms = [a._var for a in args if isinstance(a, RecordTracer) and isinstance(a._var, Room)]
        fitting = [r for r in rooms if r._size == size and r._line[1] is not None]
        if op.title == "add":  # the first sum of two cotangents is a new array, to which the others are added
            return any(r._maker in OWNED for r in fitting)
        # what was made for this very pull may have no name; a cotangent has one, while it is pulled back
        return size >= IN_PLACE and any(r._step == self.step for r in fitting)

    def watched(self, array: Any) -> Any:
        """Count an array that is real here too, as long as it lives."""
        if isinstance(array, np.ndarray) and id(array) not in self._watched:
            key, line, size = id(array), self.line(), array.nbytes
            self._watched[key] = weakref.ref(array, lambda _: (self.give(line, size), self._watched.pop(key)))
            self.take(line, size)
        return array

    def _sized(self, kind: ArrayType, turns: int | None) -> ArrayType:
        """A type whose sizes are numbers: those of a while loop were found by running forwards."""
        if all(isinstance(n, int) for n in kind.shape):
            return kind
        for n in kind.shape:
            if isinstance(n, Size) and n not in self.sizes:
                self.sizes[n] = 1 if turns is None else turns
        return ArrayType(tuple(self.sizes[n] if isinstance(n, Size) else n for n in kind.shape), kind.dtype)

    def ask(self, x: RecordTracer, question: str, answer: Callable[[Value], Any]) -> Any:
        for known in self.answers:
            return known
        return super().ask(x, question, answer)


class Answers(Record):
    """A run forwards on real values: what Python asks on the way, and how many turns while loops take.

    Integers and truth values are plain arrays, as in a real run: shapes may depend on them.
    """

    records, counts = False, True

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

    __slots__ = ("_ledger",)

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(False)
        self._ledger = ledger

    def hold(self, value: Value) -> Value:
        if isinstance(value, np.ndarray):
            copied = must_be_copied(value) and not is_constant(value)
            return self._ledger.watched(value.view()) if copied else value  # the view lives as long as a copy would
        return value.held() if isinstance(value, Tracer) else value


class Lines(list[Any]):
    """The entries of a record, which say where they come from when they are read backwards."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.places: list[tuple[Any, str, int]] = []
        self._ledger, self._known = ledger, set[int]()

    def append(self, entry: Any) -> None:
        head = entry[0]
        op = head[3] if isinstance(head, list) else head
        size = entry_object(entry, self._known)
        self.places.append((origin().location, getattr(op, "title", getattr(op, "name", "")), size))
        self._ledger.take(OBJECTS, size)
        super().append(entry)

    def pop(self, index: Any = -1) -> Any:
        place, name, size = self.places.pop()
        pin(Origin(place, (), name))
        self._ledger.give(OBJECTS, size)
        self._ledger.step += 1
        return super().pop()

    def __reversed__(self) -> Iterator[Any]:
        for entry, (place, name, _) in zip(super().__reversed__(), reversed(self.places), strict=True):
            pin(Origin(place, (), name))
            self._ledger.step += 1
            yield entry


class CountedTape(Tape):
    """A tape over a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.captured = _Counted(ledger)
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
        self._ledger.take(OBJECTS, ITEM * len(self.entries))  # a place for each cotangent
        return _Unpinned()


class _Unpinned:
    def __enter__(self) -> None:
        self.token = pin(None)

    def __exit__(self, *problem: Any) -> None:
        unpin(self.token)
