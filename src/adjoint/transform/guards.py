"""Recording a function for compilation: types alone, and answers to what Python asks.

When Python asks a recorded value for its truth, its integer or its hash, what the value is computed from is evaluated
with the arguments of this very call, and nothing else is. The answer is written into the program as a guard (`Expect`),
right there, and the trace goes on, specialized.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from adjoint.base.source import describe, here
from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.arrays.search import Nonzero
from adjoint.ops.control.guards import Expect, content
from adjoint.ops.effects import silent_operation
from adjoint.ops.elementwise import weak_types  # noqa: F401  # pyright: ignore[reportUnusedImport]  (fills WEAKENED)
from adjoint.ops.elementwise.ufuncs import BY_NAME
from adjoint.program.layout import Strides, canonical
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Var
from adjoint.program.record import Record, RecordTracer
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.batch_branches import TooManyPaths

FLOAT = np.dtype(np.float64)
LARGEST = 2.0**62  # of ints of Python's that are computed with 64 bits


class ValueRequested(BaseException):
    """Python asked where there is no answer. Not an Exception: the user's `except` must not catch it."""


class TooLarge(BaseException):
    """A Python int does not fit into 64 bits. The function has to run as plain Python."""

    reason = "integers of more than 64 bits"


class Outgrown(OverflowError):  # noqa: N818 (met where TooLarge could not be seen yet: in a loop, when it runs)
    """A Python int does not fit into 64 bits."""


def size_of(op: Op, args: Sequence[Value]) -> Any:
    """The size of the int that an operation gives, as a float, which does not overflow."""
    floats: list[Any] = [Convert(FLOAT)(a) if isinstance(a, Tracer) else float(a) for a in args]
    return np.absolute(floats[0] * 2.0 ** floats[1] if op.title == "left_shift" else op(*floats))


def _is_int(x: Value) -> bool:
    """Whether a value is, or stands for, an int of Python's."""
    return type(x) is int or (isinstance(x, RecordTracer) and x.type.weak and x.dtype.kind == "i")


def layout_of(value: Value) -> Strides | None:
    """How an argument lies in memory, as far as views of it depend on that."""
    strides = getattr(value, "_strides", None) if isinstance(value, Tracer) else getattr(value, "strides", ())
    strides = value.layout() if strides is None else strides
    return None if strides is None else canonical(type_of(value), strides)


class GuardingTrace(Record):
    """A symbolic record that can be asked, while the arguments of the call are known."""

    title = "jit"

    def __init__(self, *, answers: bool = True) -> None:
        super().__init__(purpose="a compiled function")
        self.answers = answers  # without: raise `ValueRequested`
        self.inputs: list[RecordTracer] = []
        self.asks_layouts = False  # whether what was recorded depends on how the arguments lie in memory
        self._outside: set[Var] = set()  # the inputs that are no arguments of the function
        self.expected: list[Expect] = []
        self._values: dict[Var, Value] = {}  # of inputs, constants, and what was evaluated
        self._fixed: set[Var] = set()  # those that depend on no input
        self._made: dict[Var, Equation] = {}
        self._read = 0  # equations that are in `_made`
        self._counts: set[Atom] = set()  # Python numbers that are made of Python's ints
        self._asked: dict[tuple[Var, str], Any] = {}
        self.branch_guards = 0  # questions of truth by an `if` of converted code that were answered
        self.prefers_branches = False  # they become branches of the program instead
        self.remarks: dict[str, None] = {}  # what could not be kept as a branch or loop, and why

    def add_input(self, kind: ArrayType, value: Value, outside: bool = False) -> RecordTracer:
        """A new input, and its value in this call; one from `outside` is no argument, but read by the function."""
        x = self.input(kind)
        self.inputs.append(x)
        if outside:
            self._outside.add(x._var)
        self._values[x._var] = value
        return x

    def input_layout(self, var: Var) -> Strides | None:
        self.asks_layouts = True
        return layout_of(self._values[var])

    def weakened(self, op: Op, args: Sequence[Value], z: RecordTracer) -> RecordTracer:
        atoms = self.equations[-1].inputs
        made = super().weakened(op, args, z)
        if all(self._whole(a) for a in atoms):
            self._counts.add(made._var)
        if made.dtype.kind == "i" and op.title in ("multiply", "square", "power", "left_shift"):
            self._check_size(op, args)
        return made

    def _check_size(self, op: Op, args: Sequence[Value]) -> None:
        """Python ints have any size; here they have 64 bits, which must do."""
        if not bool(size_of(op, args) < LARGEST):
            raise TooLarge

    def apply_two(self, op: Op, x: Value, y: Value) -> Value:
        """x ** n of Python ints is a float when n is negative, and x // 0 is an error."""
        if op.title not in ("power", "floor_divide", "remainder") or not (_is_int(x) and _is_int(y)):
            return self.apply(op, (x, y))
        if op.title == "power":
            return self.apply(op, (x, y) if bool(y >= 0) else (self.apply(BY_NAME["multiply"], (x, 1.0)), y))
        if not bool(y != 0):
            raise ZeroDivisionError("integer division or modulo by zero")
        return self.apply(op, (x, y))

    def _whole(self, atom: Atom) -> bool:
        return atom.type.dtype.kind == "i" or atom in self._counts

    def whole(self, x: RecordTracer) -> bool:
        """Whether a value is made of Python's ints alone."""
        return x.type.weak and self._whole(x._var)

    def ask(self, x: RecordTracer, question: str, answer: Callable[[Value], Any]) -> Any:
        key = (x._var, question)
        if key not in self._asked:
            self._asked[key] = self._answer(x._var, question, answer)
        return self._asked[key]

    def common(self, x: RecordTracer) -> Value:
        """The array itself, where a shape depends on it; the program is for this very content."""
        self.ask(x, "content", content)
        return np.array(self._values[x._var])

    def known(self, x: RecordTracer) -> Value | None:
        """The array itself where it depends on no argument: a function of another library may want it as it is."""
        if not self.answers:
            return None
        self._look_up()
        seen, waiting = {x._var}, [x._var]
        while waiting:
            var = waiting.pop()
            if var in self._made:
                missing = {a for a in self._made[var].inputs if isinstance(a, Var)} - seen
                seen |= missing
                waiting += missing
            elif var not in self._outside and var not in self.constants:
                return None
        return self.common(x)

    def positions(self, mask: RecordTracer) -> tuple[Value, ...]:
        """np.nonzero(mask); the program is for this number of positions."""
        count: Any = np.sum(cast(Any, mask), dtype=np.int64)
        return self.apply(Nonzero(self.ask(count, "index", int)), (mask,))

    def _answer(self, var: Var, question: str, answer: Callable[[Value], Any]) -> Any:
        if not self.answers:
            raise ValueRequested
        value = self._evaluate(var)
        found = answer(value)
        if var not in self._fixed:
            line = here()
            question, noted = ("value", np.asarray(value).item()) if question == "hash" else (question, found)
            guard = Expect(question, noted, describe(line), number=len(self.expected))
            self.expected.append(guard)
            self.equations.append(Equation(guard, (var,), (), line))
        return found

    def _evaluate(self, var: Var) -> Value:
        """The value of a variable in this call."""
        self._look_up()
        waiting = [var]
        with self.below(), np.errstate(all="ignore"):
            while waiting:
                top = waiting[-1]
                if top in self._values:
                    waiting.pop()
                elif top in self.captured:
                    raise ValueRequested
                elif top in self.constants:
                    self._values[top] = self.constants[top]
                    self._fixed.add(top)
                else:
                    if top not in self._made:  # of an iteration that was given up, while elements took their paths
                        raise TooManyPaths("the batch elements of vmap take paths in a loop that is not kept")
                    eq = self._made[top]
                    missing = [a for a in eq.inputs if isinstance(a, Var) and a not in self._values]
                    waiting += missing
                    if not missing:
                        self._run(eq)
        return self._values[var]

    def truncate(self, count: int) -> None:
        super().truncate(count)
        self._read = min(self._read, count)
        kept = sum(isinstance(eq.op, Expect) for eq in self.equations)
        if kept < len(self.expected):
            self.branch_guards -= len(self.expected) - kept
            del self.expected[kept:]
            self._asked.clear()

    def _look_up(self) -> None:
        """Note which equation makes which variable, for those that are new."""
        for eq in self.equations[self._read :]:
            self._made.update(dict.fromkeys(eq.outputs, eq))
        self._read = len(self.equations)

    def _run(self, eq: Equation) -> None:
        values = [self._values[a] if isinstance(a, Var) else a.value for a in eq.inputs]
        z = silent_operation(eq.op).evaluate(*values)
        self._values.update(zip(eq.outputs, z if eq.op.several else (z,), strict=True))
        if all(not isinstance(a, Var) or a in self._fixed for a in eq.inputs):
            self._fixed.update(eq.outputs)
