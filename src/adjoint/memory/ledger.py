"""A run on types alone that keeps account of memory: what every array would take, from when to when.

A `Ledger` stands where NumPy would compute. Its values have a type and no elements; they live and die as the arrays of
a real run would, since Python holds them just as long: in user variables, in the record of reverse mode, in
the cotangents of the backward pass.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import weakref
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.origins import origin
from adjoint.base.source import Location
from adjoint.jit.pipeline import build_executable
from adjoint.memory.sizes import CALL, array_object
from adjoint.memory.workspace import IN_FILES, OVERHEAD, workspace
from adjoint.ops.arrays.index import ScatterSum
from adjoint.ops.arrays.rearrange import Reshape
from adjoint.ops.checkpointing.chain import Reversible
from adjoint.ops.checkpointing.reverse import CheckpointedReverse
from adjoint.ops.checkpointing.scan import CheckpointedWhile
from adjoint.ops.control.call import Call
from adjoint.ops.control.conditional_loop import ConditionalLoop
from adjoint.ops.control.while_loop import While
from adjoint.ops.elementwise.arithmetic import add, divide, multiply, negative, subtract
from adjoint.program.layout import Strides, compact, is_sized, memory_order, reshape_strides
from adjoint.program.op import Op
from adjoint.program.program import Var
from adjoint.program.record import Record, RecordTracer
from adjoint.program.rule_table import RuleTable
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Size, Value, type_of
from adjoint.transform.capture import COPY_BELOW, must_be_copied

# In the backward pass sums are added to what is there, and NumPy computes large results in the memory of an operand
# that nobody else refers to: from how many bytes on.
IN_PLACE = 1 << 18
ARITHMETIC = (add, subtract, multiply, divide, negative)
Line = tuple[Location | str | None, str | None]  # a user line, and in the backward pass what is pulled through
OBJECTS: Line = (None, "objects")  # Python's, wherever they are made
COMPILED: Line = (None, "compiled")  # workspaces that compiled functions keep
# How a primitive is counted, where its types do not say it.
COUNTED: RuleTable[Callable[[Any, Any, Sequence[Value]], Value]] = RuleTable("memory_report")
# Iterations that a loop with a condition takes, or has taken; None where they are not known.
ITERATIONS: RuleTable[Callable[[Any, Any, Sequence[Value]], int | None]] = RuleTable("memory_report")


class BufferVar(Var):
    """A variable with memory of its own, which it gives back when nobody refers to it any more."""

    __slots__ = ("_is_sum", "_ledger", "_line", "_size", "_step")

    def __init__(self, kind: ArrayType, ledger: Ledger, line: Line, is_sum: bool = False) -> None:
        super().__init__(kind)
        self._ledger, self._line, self._size = ledger, line, kind.nbytes
        self._is_sum = is_sum  # other cotangents are added to it
        self._step = ledger.step
        ledger.take(line, self._size, array_object(kind))

    def __del__(self) -> None:
        self._ledger.strides.pop(id(self), None)
        self._ledger.give(self._line, self._size, array_object(self.type))


class ViewVar(Var):
    """A variable in the memory of others."""

    __slots__ = ("_bases", "_ledger")

    def __init__(self, kind: ArrayType, ledger: Ledger, bases: Sequence[Var]) -> None:
        super().__init__(kind)
        self._bases, self._ledger = bases, ledger
        ledger.take(OBJECTS, array_object(kind))

    def __del__(self) -> None:
        self._ledger.strides.pop(id(self), None)
        self._ledger.give(OBJECTS, array_object(self.type))


class BorrowedVar(Var):
    """An argument of the caller that a record must copy."""

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
        kind, shared = self._var.type, isinstance(self._var, ViewVar | BorrowedVar)
        if not kind.shape or not (shared or kind.nbytes <= COPY_BELOW):
            return self.snapshot()
        strides, copy = trace.layout(self._var), trace.own(kind)
        if strides is not None:
            trace.lay_out(copy._var, memory_order(kind, strides))
        return copy


class Ledger(Record):
    """Evaluates types, and counts bytes by line.

    `seen` is a run forwards on values: the answers to what Python asks, the iterations of while loops, and the integers
    and booleans that arrays were compared to or indexed with.
    """

    title = "memory_report"
    records, counts = False, True

    def __init__(self, seen: Answers | None = None) -> None:
        super().__init__(purpose="memory_report")
        self.now = self.peak = CALL
        self.step = 0  # how many entries of the record were read backwards
        self.waits = False
        self.by_line: Counter[Line] = Counter({OBJECTS: CALL})
        self.at_peak: Counter[Line] = self.by_line.copy()
        self.answers = iter([guard.answer for guard in seen.guards] if seen else ())
        self.iterations = iter(seen.iterations if seen else ())
        self.plain = deque(seen.plain if seen else ())
        self._watched: dict[int, Any] = {}  # arrays that are real here too, by identity
        self.strides: dict[int, Strides | None] = {}  # of arrays that are not in C order, by identity of the variable
        self.sizes: dict[Size, int] = {}  # iterations of while loops
        self.counted: dict[int, int] = {}  # those of checkpointed loops, by the identity of the result that holds them
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
        location, _, pulled = origin()
        return location, pulled

    def input(self, kind: ArrayType, value: Value = None) -> RecordTracer:
        """An argument of the caller: its memory is there already."""
        borrowed = isinstance(value, np.ndarray) and must_be_copied(value)
        tracer = LedgerTracer(self, (BorrowedVar if borrowed else Var)(kind))
        if isinstance(value, np.ndarray):
            self.strides[id(tracer._var)] = value.strides
        return tracer

    def own(self, kind: ArrayType, is_sum: bool = False) -> RecordTracer:
        """An array that is allocated here."""
        return LedgerTracer(self, BufferVar(kind, self, self.line(), is_sum))

    def constant(self, value: Value) -> RecordTracer:
        return self.own(type_of(value))

    def layout(self, var: Var) -> Strides | None:
        """By the primitives that made it; what nothing is known of lies in C order."""
        known = self.strides.get(id(var), ())
        return known or (compact(var.type) if known == () and is_sized(var.type) else None)

    def lay_out(self, var: Var, order: Sequence[int]) -> None:
        if isinstance(var, BufferVar | ViewVar):  # which forget it when they are gone
            self.strides[id(var)] = compact(var.type, order)

    def scattered(self, buffer: Value, op: Any, ct: Value, xs: Sequence[Value]) -> RecordTracer:
        """A buffer of zeros like xs[0], or the one that there is, to which a cotangent is added where `op` reads."""
        kind = ArrayType(xs[0].shape, xs[0].dtype)
        buffer = self.own(kind, is_sum=True) if buffer is None else buffer
        into = ScatterSum(kind.shape, kind.dtype, (op.key(),))
        extra = workspace(into, [type_of(x) for x in (ct, *xs[1:])], [kind])
        self.settle()
        self.take(self.line(), extra)
        self.give(self.line(), extra)
        return buffer

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        return COUNTED[op](self, op, args)

    def traced(self, value: Value) -> RecordTracer:
        return value if isinstance(value, RecordTracer) else self.constant(value)

    def count(
        self, op: Op, args: Sequence[Value], iterations: int | None = None, kept: int = 0, copies: bool = False
    ) -> Value:
        """The results of a primitive, by their types; `kept` bytes of its workspace are counted already.

        `copies`: what is a view of most arrays is a new array of this one.
        """
        types = [a._var.type if isinstance(a, RecordTracer) else type_of(a) for a in args]
        results: Any = op.result_type(*types)
        kinds: list[ArrayType] = [self._sized(t, iterations) for t in results] if op.several else [results]
        if self.plain and self.plain[0][0] == op and not op.several and self.line()[1] is None:
            return self.watch(self.plain.popleft()[1])
        for program in op.programs().values():
            for constant in program.constants.values():
                self.watch(constant)
        strides = [self.layout(a._var) if isinstance(a, RecordTracer) else getattr(a, "strides", ()) for a in args]
        if op.is_view and not copies:
            self.settle()
            bases = [a._var for a in args if isinstance(a, RecordTracer)]
            return self._note_layout(LedgerTracer(self, ViewVar(kinds[0], self, bases)), op, types, strides)
        line = self.line()
        extra = workspace(op, types, kinds, iterations) - kept
        objects = OVERHEAD[op](op)
        self.settle()
        self.waits = line[1] is not None and op in ARITHMETIC and self._in_place(kinds[0].nbytes, op, args)
        in_files, is_sum = IN_FILES[op](op), op is add or type(op) is ScatterSum
        zs = [
            LedgerTracer(self, Var(kind) if i in in_files else BufferVar(kind, self, line, is_sum))
            for i, kind in enumerate(kinds)
        ]
        if extra or objects:
            self.take(line, extra, objects)
            self.give(line, extra, objects)
        for z in zs:
            self._note_layout(z, op, types, strides)
        return tuple(zs) if op.several else zs[0]

    def _note_layout(
        self, z: LedgerTracer, op: Op, types: Sequence[ArrayType], strides: Sequence[Strides | None]
    ) -> LedgerTracer:
        """Write down how a result lies, by how the arguments do."""
        var = z._var
        if isinstance(var, BufferVar | ViewVar) and var.type.shape and is_sized(var.type):
            known: Any = None if None in strides else strides
            found = None if known is None else op.layout(types, known, var.type)
            if found != compact(var.type):
                self.strides[id(var)] = found
        return z

    def hand_out(self, gradients: Sequence[Value]) -> None:
        """Results that share memory are copied for the caller."""
        views = [g for g in gradients if isinstance(g, RecordTracer) and isinstance(g._var, ViewVar)]
        copies = [self.own(g._var.type) for g in views]
        del copies

    def kept_workspace(self, op: Call) -> int:
        """The workspace of a compiled function, which stays; counted when it is first called."""
        kernel = build_executable(op.program).kernel
        size = 0 if kernel is None else kernel.workspace
        if size and id(op.program) not in self._kernels:
            self._kernels.add(id(op.program))
            self.take(COMPILED, size)
        return size

    def next_iterations(self) -> int | None:
        """Those of the next loop with a condition; None where they are not known."""
        if self.line()[1] is not None:  # the loop runs once more in the backward pass, with tangents
            return None
        known = next(self.iterations, None)
        self.open_sizes = self.open_sizes or known is None
        return known

    def _in_place(self, size: int, op: Op, args: Sequence[Value]) -> bool:
        """Whether the result may overwrite an operand, which was made in the backward pass too."""
        buffers = [a._var for a in args if isinstance(a, RecordTracer) and isinstance(a._var, BufferVar)]
        fitting = [b for b in buffers if b._size == size and b._line[1] is not None]
        if op is add:  # the first sum of two cotangents is a new array, to which the others are added
            return any(b._is_sum for b in fitting)
        # what was made for this very pull may have no name; a cotangent has one, while it is pulled back
        return size >= IN_PLACE and any(b._step == self.step for b in fitting)

    def watch(self, array: Any) -> Any:
        """Count an array that is real here too, as long as it lives."""
        if isinstance(array, np.ndarray) and id(array) not in self._watched:
            key, line, size = id(array), self.line(), array.nbytes
            self._watched[key] = weakref.ref(array, lambda _: (self.give(line, size), self._watched.pop(key)))
            self.take(line, size)
        return array

    def _sized(self, kind: ArrayType, iterations: int | None) -> ArrayType:
        """A type whose sizes are numbers: those of a while loop are known from the run forwards."""
        if all(isinstance(n, int) for n in kind.shape):
            return kind
        for n in kind.shape:
            if isinstance(n, Size) and n not in self.sizes:
                self.sizes[n] = 1 if iterations is None else iterations
        return ArrayType(tuple(self.sizes[n] if isinstance(n, Size) else n for n in kind.shape), kind.dtype)

    def ask(self, x: RecordTracer, question: str, answer: Callable[[Value], Any]) -> Any:
        for known in self.answers:
            return known
        return super().ask(x, question, answer)


@COUNTED.rule(Op)
def _count_by_types(ledger: Ledger, op: Op, args: Sequence[Value]) -> Value:
    if op.returns_arguments:
        return op.evaluate(*map(ledger.traced, args))
    iterations = ITERATIONS.get(op)
    return ledger.count(op, args, None if iterations is None else iterations(ledger, op, args))


@COUNTED.rule(Reshape)
def _count_reshape(ledger: Ledger, op: Reshape, args: Sequence[Value]) -> Value:
    """A view, unless the elements do not lie so that there is one."""
    (x,) = map(ledger.traced, args)
    strides = ledger.layout(x._var)
    copies = strides is not None and reshape_strides(x._var.type, strides, op.shape) is None
    return ledger.count(op, (x,), copies=copies)


@COUNTED.rule(Reversible)
def _count_layers(ledger: Ledger, op: Reversible, args: Sequence[Value]) -> Value:
    """Each equation by itself."""
    return op.evaluate(*map(ledger.traced, args))


@COUNTED.rule(Call)
def _count_call(ledger: Ledger, op: Call, args: Sequence[Value]) -> Value:
    return ledger.count(op, args, kept=ledger.kept_workspace(op))


@COUNTED.rule(CheckpointedWhile)
def _count_checkpointed_while(ledger: Ledger, op: CheckpointedWhile, args: Sequence[Value]) -> Value:
    iterations = ledger.next_iterations()
    zs: Any = ledger.count(op, args, iterations)
    if iterations is not None:
        ledger.counted[id(zs[-1]._var)] = iterations
    return zs


@ITERATIONS.rule(ConditionalLoop)
def _iterations_ahead(ledger: Ledger, op: ConditionalLoop, args: Sequence[Value]) -> int | None:
    return ledger.next_iterations()


@ITERATIONS.rule(CheckpointedReverse)
def _iterations_done(ledger: Ledger, op: CheckpointedReverse, args: Sequence[Value]) -> int | None:
    if not (op.loop.has_condition and op.stored):
        return None
    last: Any = op.parts(args)[0][-1]
    return ledger.counted.get(id(last._var)) if isinstance(last, RecordTracer) else None


class Answers(Record):
    """A run forwards on real values: what Python asks on the way, and how many iterations while loops take.

    Integers and booleans are plain arrays, as in a real run: shapes may depend on them.
    """

    records, counts = False, True

    def __init__(self) -> None:
        super().__init__(concrete=True, purpose="memory_report", runs_again=False)
        self.iterations: list[int] = []
        self.plain: list[tuple[Op, Value]] = []

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        out = super().apply(op, args)
        self.equations.pop()  # only the values are needed
        if type(op) is While:
            values = [a._value if isinstance(a, RecordTracer) else a for a in args]
            self.iterations.append(_count_iterations(op, values))
        if isinstance(out, RecordTracer) and out.shape and out.dtype.kind in "biu":
            self.plain.append((op, out._value))
            return out._value
        return out


def _count_iterations(op: While, xs: Sequence[Value]) -> int:
    test, constants, carry = op.parts(xs)
    count = 0
    while bool(op.condition(*test, *carry)[0]):
        carry = list(op.body(*constants, *carry))[: op.carries]
        count += 1
    return count
