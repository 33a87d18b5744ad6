"""Recording a program: every primitive that touches a recorded value becomes an equation.

A recorded value is symbolic (its type alone is known: bodies of loops and branches, compilation) or concrete (its value
is known too, so that Python's own control flow just runs; each question that Python asks is noted as a guard).
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from threading import get_ident
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from adjoint.base.errors import ControlFlowError, TraceError
from adjoint.base.numpy_warnings import ERROR_STATE
from adjoint.base.origins import origin
from adjoint.base.source import Location, describe, here
from adjoint.program.journal import content
from adjoint.program.layout import Strides, compact, is_sized
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.trace import Trace, Tracer, primal, running
from adjoint.program.types import ArrayType, Value, type_of

# Arrays that are constants of programs, by identity: they are never written to, so that other programs and records may
# refer to them as well. Small ones are copied just as quickly.
_constants: WeakValueDictionary[int, np.ndarray[Any, Any]] = WeakValueDictionary()
LARGE = 1 << 12  # bytes


def is_constant(value: Value) -> bool:
    """Whether an array is the constant of a program, which nobody writes to."""
    return bool(_constants) and _constants.get(id(value)) is value


def _constant(value: Value) -> np.ndarray[Any, Any]:
    """A copy for a program: the caller may write to the array later."""
    copy = np.array(value)
    if copy.nbytes >= LARGE:
        _constants[id(copy)] = copy
    return copy


# arithmetic whose results are Python numbers when its operands are -> what makes them so
# (filled by adjoint.ops.elementwise.weak_types)
WEAKENED: dict[Op, Op] = {}


class RecordTracer(Tracer):
    """A variable of a program being recorded; `_value` is None when it is symbolic."""

    __slots__ = ("_var",)

    def __init__(self, trace: Record, var: Var, value: Value = None) -> None:
        self._trace = trace
        self._var = var
        self._value = value

    @property
    def shape(self) -> tuple[Any, ...]:
        return self._var.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._var.type.dtype

    @property
    def type(self) -> ArrayType:
        return self._var.type

    @property
    def weak(self) -> bool:
        return self._var.type.weak

    def primal(self) -> Value:
        return self

    def snapshot(self) -> RecordTracer:
        return RecordTracer(self._trace, self._var, self._value)  # type: ignore[arg-type]

    def layout(self) -> Strides | None:
        trace = self._trace
        assert isinstance(trace, Record)
        return trace.layout(self._var) if self._value is None else super().layout()

    def lay_out(self, order: Sequence[int]) -> None:
        trace = self._trace
        assert isinstance(trace, Record)
        trace.lay_out(self._var, order)

    def _adopt(self, other: Value) -> None:
        trace = self._trace
        assert isinstance(trace, Record)
        if not (isinstance(other, RecordTracer) and other._trace is trace):
            other = trace.constant(other)
        if trace.overwritten is not None:
            trace.overwritten.add(self._var)
        self._var, self._value = other._var, other._value


def is_symbolic(value: Value) -> bool:
    """Whether only the type of a value is known."""
    while isinstance(value, Tracer):
        if isinstance(value, RecordTracer) and value._value is None:
            return True
        value = value._value
    return False


def _check_ints(atoms: Sequence[Atom], dtype: np.dtype[Any]) -> None:
    """Refuse ints of Python's that the dtype of a result has no room for, as NumPy's arithmetic does."""
    for atom in atoms:
        if isinstance(atom, Literal) and type(atom.value) is int:
            limits = np.iinfo(dtype)
            if not limits.min <= atom.value <= limits.max:
                raise OverflowError(f"Python integer {atom.value} out of bounds for {dtype}")


class Guard(NamedTuple):
    """A question that Python asked of a recorded value, and the answer that the rest of the record depends on."""

    position: int  # how many equations stand before it
    atom: Atom
    question: str  # "bool", "int", "index", "hash"
    answer: Any
    location: Location | None = None


class Record(Trace):
    """Writes down equations. `concrete` carries values along."""

    title = "the trace of a program"
    records = True
    overwritten: set[Var] | None = None  # variables of arrays that were written to, where that is asked

    def __init__(self, *, concrete: bool = False, purpose: str = "this function", runs_again: bool = True) -> None:
        super().__init__()
        self.is_concrete = concrete
        self.in_program = self.in_program or not concrete
        # with other values: random numbers must not be constants of the program
        self.runs_again = runs_again or not concrete
        self.purpose = purpose
        self.equations: list[Equation] = []
        self.constants: dict[Var, Value] = {}
        self.captured: dict[Var, Tracer] = {}  # values of outer traces that the function closes over
        self.guards: list[Guard] = []
        self._types: dict[Any, tuple[ArrayType, Any]] = {}
        self._layouts: dict[Var, Strides | None] = {}
        self._laid_out = 0  # equations whose results are in `_layouts`
        self._known: dict[int, tuple[Value, Var]] = {}  # by identity; the value is held so that its id stays its own

    def input(self, kind: ArrayType, value: Value = None) -> RecordTracer:
        """A new input variable."""
        return RecordTracer(self, Var(kind), value)

    def constant(self, value: Value) -> RecordTracer:
        atom = self.atom(value)
        if isinstance(atom, Literal):
            var = Var(type_of(value))
            self.constants[var] = value
            atom = var
        return RecordTracer(self, atom, value if self.is_concrete else None)

    def atom(self, value: Value) -> Atom:
        """How a value is written into an equation."""
        if isinstance(value, RecordTracer) and value._trace is self:
            return value._var
        if isinstance(value, int | float | complex | np.generic):
            return Literal(value)
        known = self._known.get(id(value))
        if known is not None and not isinstance(value, Tracer) and _unchanged(value, self.constants[known[1]]):
            return known[1]
        kind = type_of(value)
        if isinstance(value, Tracer) and value.weak and not kind.shape:
            kind = ArrayType(kind.shape, kind.dtype, weak=True)
        var = Var(kind)
        if isinstance(value, Tracer):
            self.captured[var] = content(value, self.outer).snapshot()
        else:
            self.constants[var] = value if is_constant(value) else _constant(value)
            self._known[id(value)] = (value, var)
        return var

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        if get_ident() != self.thread:
            self.wrong_thread()
        atoms = tuple([self.atom(a) for a in args])
        types: Any
        if self.is_concrete:
            values = [a._value if isinstance(a, RecordTracer) and a._trace is self else primal(a) for a in args]
            with self.below() if op.effect or op.saves else nullcontext():  # effects in loops are written with them
                z = op(*values)
            types = tuple(map(type_of, z)) if op.several else type_of(z)
        else:
            z = None
            types = self._pointwise_type(op, atoms) if op.pointwise else op.result_type(*[a.type for a in atoms])
            if not op.several and types.dtype.kind in "iu" and op in WEAKENED:
                _check_ints(atoms, types.dtype)
        outputs = (Var(types),) if not op.several else tuple([Var(t) for t in types])
        location, scope, pulled = origin()
        self.equations.append(Equation(op, atoms, outputs, location, scope, quiet(), pulled))
        if not op.several:
            tracer = RecordTracer(self, outputs[0], z)
            weak = not types.shape and all(a.type.weak for a in atoms) and op in WEAKENED
            return self.weakened(op, args, tracer) if weak else tracer
        return tuple(RecordTracer(self, v, None if z is None else z[j]) for j, v in enumerate(outputs))

    def _pointwise_type(self, op: Op, atoms: Sequence[Atom]) -> ArrayType:
        """`op.result_type`, remembered: a loop written out by Python asks the same thousands of times."""
        types = [a.type for a in atoms]
        key = (op, *map(id, types))
        known = self._types.get(key)
        if known is None:
            known = self._types[key] = (op.result_type(*types), types)  # the types are held, so that their ids stay
        return known[0]

    def weakened(self, op: Op, args: Sequence[Value], z: RecordTracer) -> RecordTracer:
        """The result of arithmetic of Python's numbers as one of them."""
        return Record.apply(self, WEAKENED[op], (z,))

    def layout(self, var: Var) -> Strides | None:
        """How the array of a variable lies in memory, by the equations that made it; None: not known."""
        for equation in self.equations[self._laid_out :]:
            op, outputs = equation.op, equation.outputs
            strides = [() if isinstance(a, Literal) else self._layout_before(a) for a in equation.inputs]
            for output in outputs:
                known = is_sized(output.type) and not any(s is None for s in strides)
                self._layouts[output] = (
                    op.layout([a.type for a in equation.inputs], strides, output.type) if known else None  # type: ignore[arg-type]
                )
        self._laid_out = len(self.equations)
        return self._layout_before(var)

    def lay_out(self, var: Var, order: Sequence[int]) -> None:
        """Declare that the array of a variable has no gaps, and its axes lie in this order."""
        self.layout(var)  # of all equations so far
        self._layouts[var] = compact(var.type, order)

    def _layout_before(self, var: Var) -> Strides | None:
        if var not in self._layouts:
            if var in self.captured:
                self._layouts[var] = self.captured[var].layout()
            elif var in self.constants:
                self._layouts[var] = getattr(self.constants[var], "strides", ())
            else:
                self._layouts[var] = self.input_layout(var) if is_sized(var.type) else None
        return self._layouts[var]

    def input_layout(self, var: Var) -> Strides | None:
        """How an input lies in memory: without gaps, in C order."""
        return compact(var.type)

    def ask(self, x: RecordTracer, question: str, answer: Callable[[Value], Any]) -> Any:
        """Python asks for a plain answer: give it and note the guard, or say what to use instead."""
        if x._value is None:
            raise ControlFlowError(
                f"{question}() of a traced {x.type} inside {self.purpose}, at {describe(here())}: its value is not "
                "known while the program is being traced. Use ad.cond(predicate, f, g, *args) for a branch, "
                "ad.while_loop for a loop, np.where for a choice by element."
            )
        result = answer(x._value)
        self.guards.append(Guard(len(self.equations), x._var, question, result, here()))
        return result

    def truncate(self, count: int) -> None:
        """Forget the equations behind the first ones: what they made is used by nobody."""
        del self.equations[count:]
        if self._laid_out > count:
            self._laid_out, self._layouts = 0, {}

    def program(self, inputs: Sequence[RecordTracer], outputs: Sequence[Value]) -> tuple[Program, list[Tracer]]:
        """The program from inputs (and captured values, which follow them) to outputs; and the captured values."""
        atoms = tuple(
            self.atom(np.asarray(v)[()] if isinstance(v, bool | int | float | complex) else v) for v in outputs
        )
        variables = tuple(v._var for v in inputs) + tuple(self.captured)
        return Program(variables, tuple(self.equations), atoms, dict(self.constants)), list(self.captured.values())


_states: dict[int, tuple[Any, bool]] = {}  # NumPy's error states by identity, held so that their ids stay


def quiet() -> bool:
    """Whether NumPy's warnings are switched off; `np.geterr` makes a dict of all of them each time."""
    state = ERROR_STATE.get() if ERROR_STATE is not None else None
    if state is None:
        return np.geterr()["divide"] == "ignore"
    known = _states.get(id(state))
    if known is None:
        if len(_states) > 64:
            _states.clear()
        known = _states[id(state)] = (state, np.geterr()["divide"] == "ignore")
    return known[1]


def _unchanged(value: Value, copy: Value) -> bool:
    """Whether an array still is what it was when it was first used: the user may have written to it since."""
    return value.dtype == copy.dtype and value.shape == copy.shape and value.tobytes() == copy.tobytes()


def record_program(
    function: Callable[..., Sequence[Value]],
    types: Sequence[ArrayType],
    *,
    values: Sequence[Value] | None = None,
    purpose: str = "this function",
    staged: bool = False,
) -> tuple[Program, list[Tracer]]:
    """The program of a function of flat values, and the outer traced values that it closes over (its last inputs).

    What the function computes from outer values alone is computed outside, once; when `staged`, inside the program too.
    """
    with (
        running(Record(concrete=values is not None, purpose=purpose, runs_again=False)) as record,
        record.staging() if staged else nullcontext(),
    ):
        record.started = here()
        values_given = [None] * len(types) if values is None else values
        # an argument may be assigned to inside: the variables are noted before
        inputs = [record.input(t, v) for t, v in zip(types, values_given, strict=True)]
        try:
            outputs = function(*[x.snapshot() for x in inputs])
        except (
            TypeError,
            ValueError,
        ) as problem:  # NumPy hides our refusal behind "setting an array element with a sequence"
            if isinstance(problem.__cause__, TraceError):
                raise problem.__cause__ from None
            raise
        return record.program(inputs, outputs)
