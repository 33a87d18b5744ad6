"""Traces give primitives a meaning on values; levels keep nested transformations apart.

A `Trace` is one running transformation. A `Tracer` is a value that belongs to it: a pair (value, tangent), a stack of
batch elements, a place in a record. Its `_value` belongs to the level below and may itself be traced: so
transformations nest in any order and depth, and the innermost one always acts first.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import itertools
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from threading import get_ident
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from adjoint.base.errors import LeakError, TraceError
from adjoint.base.foreign import remember_refusal
from adjoint.base.numpy_warnings import restore, use_lines_of_users
from adjoint.base.source import Location, describe, here
from adjoint.program.layout import Strides
from adjoint.program.types import ArrayType, Value

if TYPE_CHECKING:
    from adjoint.program.op import Op

_live: ContextVar[Trace | None] = ContextVar("adjoint_live_trace", default=None)
_reading: ContextVar[bool] = ContextVar("adjoint_reading", default=False)
_serial = itertools.count()


class Trace(ABC):
    """One running transformation."""

    title = "a transformation"
    staged_by: Trace | None = None  # an inner trace that records what is done with values of this one
    unrolls = False  # runs loops turn by turn
    differentiates = False  # its values are a value with derivatives beside it
    records = False  # writes a program: an effect inside it is written down, whatever it reads
    counts = False  # its values stand for plain arrays, to know what would be done with them; effects are left out
    fast = 0  # the thread in which recording may take its short way, 0 where it may not (see transform/tape_fast.py)
    has_ended = False
    shadows: dict[int, tuple[Any, Any]] | None = None  # by identity: arrays of outer ones that are written to inside
    defers = False  # may have to run the function again: effects wait until it has run
    programs: Any = None  # transforms the programs inside primitives (see transform/subprograms.py)

    def __init__(self) -> None:
        outer = _live.get()
        self.outer = outer
        self.level: int = 1 if outer is None else outer.level + 1
        self.thread = get_ident()
        self.started: Location | None = None
        self.serial = next(_serial)
        # whether a program is being written, here or further out, whose values are not known
        self.in_program: bool = outer is not None and outer.in_program

    @abstractmethod
    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        """The meaning of `op` on values, at least one of which belongs to this trace."""

    @abstractmethod
    def constant(self, value: Value) -> Tracer:
        """A traced value of this trace that depends on nothing (so that it can be assigned to)."""

    def assign(self, x: Tracer, op: Op, v: Value, indices: Sequence[Value]) -> bool:
        """x[…] = v without a copy, where the trace can; says whether it did."""
        return False

    def shade(self, array: Tracer, value: Value) -> None:
        """A write to an array of an outer transformation, kept inside: branches and bodies that are traced can."""
        # not abstract: asked only of a trace that has `shadows`, and most have no answer
        raise NotImplementedError

    def asked(self, x: Any) -> Value:
        """The value that answers Python's questions (`if x:`, int(x)) to a value of this trace."""
        return x._value

    def known(self, x: Any) -> Value | None:
        """The plain value of a value of this trace, where nothing is lost with it; None where something is.

        No derivative goes with it, it is the same for all batch elements, and depends on no argument that is compiled.
        """
        return known(x._value) if self.differentiates and not x.has_tangent() else None

    def is_unrolled(self) -> bool:
        """Whether loops run turn by turn here, or further out: checkpoints would spare nothing."""
        return self.unrolls or (self.outer is not None and self.outer.is_unrolled())

    def recorded_inside(self) -> Trace | None:
        """The innermost branch or loop that is being recorded inside this transformation; None: there is none."""
        live, staging = _live.get(), self.staged_by
        if live is not None and live.records and live.level > (self if staging is None else staging).level:
            return live
        return staging

    def apply_one(self, op: Op, x: Tracer) -> Value:
        """`apply` of one argument."""
        return self.apply(op, (x,))

    def apply_two(self, op: Op, x: Value, y: Value) -> Value:
        """`apply` of two arguments."""
        return self.apply(op, (x, y))

    def checkpoint(self) -> Callable[[], None] | None:
        """How to forget what this trace notes from now on, beside equations; None where that is nothing."""
        return None

    def end(self) -> None:
        """From now on, a value of this trace that has leaked raises when it is used."""
        self.fast = 0
        self.has_ended = True
        self.apply = self._late  # type: ignore[method-assign]
        self.apply_one = lambda op, x: self._late(op, (x,))  # type: ignore[method-assign]
        self.apply_two = lambda op, x, y: self._late(op, (x, y))  # type: ignore[method-assign]
        self.constant = self.assign = self._refuse  # type: ignore[method-assign]

    def _late(self, op: Op, args: Sequence[Value]) -> Value:
        # a rule of the user's may close over values of a transformation that has ended inside the one whose record is
        # being read
        if self.differentiates and _reading.get():
            return op(*[self._stripped(a) for a in args])
        self._refuse()

    @contextmanager
    def reading(self) -> Generator[None]:
        """While a record is read or a user's rule runs, values of this trace in its closure are what they stand for."""
        token = _reading.set(True)
        try:
            with self._answered_by(lambda op, args: op(*[self._stripped(a) for a in args])):
                yield
        finally:
            _reading.reset(token)

    @contextmanager
    def staging(self) -> Generator[None]:
        """While inside, what is done with values of outer traces is done here.

        So a branch that may not be taken does nothing outside.
        """
        with ExitStack() as stack:
            outer = self.outer
            while outer is not None:
                stack.enter_context(outer._answered_by(lambda op, args: self.apply(op, args)))
                before, outer.staged_by = outer.staged_by, self
                stack.callback(setattr, outer, "staged_by", before)
                outer = outer.outer
            yield

    @contextmanager
    def _answered_by(self, answer: Callable[[Op, Sequence[Value]], Value]) -> Generator[None]:
        """Another function gives primitives their meaning on values of this trace."""
        names = ("apply", "apply_one", "apply_two", "fast")
        before = {name: vars(self)[name] for name in names if name in vars(self)}
        self.apply = answer  # type: ignore[method-assign]
        self.apply_one = lambda op, x: answer(op, (x,))  # type: ignore[method-assign]
        self.apply_two = lambda op, x, y: answer(op, (x, y))  # type: ignore[method-assign]
        self.fast = 0
        try:
            yield
        finally:
            for name in names:
                vars(self).pop(name, None)
            vars(self).update(before)

    def below(self) -> _Below:
        """While a rule runs that reads no values of this trace: what it makes belongs further out.

        A function may be at work inside that this trace's values have come into by its closure.
        """
        return _Below(self.outer)

    def _stripped(self, x: Value) -> Value:
        return x._value if isinstance(x, Tracer) and x._trace is self else x

    def _refuse(self, *_: Any) -> NoReturn:
        begun = f" (called at {describe(self.started)})" if self.started is not None else ""
        raise LeakError(
            f"A traced value outlived {self.title}{begun}: it was stored somewhere and used at {describe(here())}. "
            "Return it from the function instead of storing it (has_aux=True returns extra values)."
        )

    def wrong_thread(self) -> NoReturn:
        """A traced value has crossed into another thread."""
        raise LeakError(
            f"A traced value of {self.title} (called at {describe(self.started)}) was used in another thread, at "
            f"{describe(here())}. Start threads around the transformation, not inside the function that is transformed."
        )


class _Below:
    """Another trace is the innermost live one: `contextmanager` takes four times as long."""

    __slots__ = ("_token", "_trace")

    def __init__(self, trace: Trace | None) -> None:
        self._trace = trace

    def __enter__(self) -> None:
        self._token = _live.set(self._trace)

    def __exit__(self, *_: object) -> None:
        _live.reset(self._token)


def checkpoints(trace: Trace | None) -> list[Callable[[], None]]:
    """How to forget what a trace and those around it note from now on."""
    out: list[Callable[[], None]] = []
    while trace is not None:
        if (take_back := trace.checkpoint()) is not None:
            out.append(take_back)
        trace = trace.outer
    return out


class Tracer:
    """A value under a trace.

    Operators and NumPy's protocols are given to it by `adjoint.ops.operators` and `adjoint.numpy`.
    """

    __slots__ = ("__weakref__", "_base", "_strides", "_trace", "_value", "_views")
    _trace: Trace
    _value: Value
    _base: tuple[Tracer, Any]  # what this is a view of, and how; unset unless it is a view
    _views: list[Any]  # weak references to views of this; unset unless there are some
    _strides: Strides  # of an array with gaps that was assigned to: an assignment does not move it; else unset

    # NumPy must not try to convert us element by element; conversions are refused with a remedy.
    __array_priority__ = 1000.0
    __pandas_priority__ = 5000  # above DataFrame's: `series * x` is left to us

    @property
    def shape(self) -> tuple[Any, ...]:
        return np.shape(self._value) if type(self._value) in (float, int) else self._value.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._value.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def type(self) -> ArrayType:
        return ArrayType(self.shape, self.dtype)

    @property
    def weak(self) -> bool:
        """Whether this stands for a Python number, which gives way in promotion."""
        value = self._value
        return value.weak if isinstance(value, Tracer) else type(value) in (int, float, complex)

    def primal(self) -> Value:
        """The value without derivatives: what differentiation adds is stripped, batches and recorded variables stay."""
        return primal(self._value)

    def has_tangent(self) -> bool:
        """Whether a derivative goes with the value, at its own level or below."""
        return isinstance(self._value, Tracer) and self._value.has_tangent()

    # snapshot and _adopt have no body here, yet are not abstract: with ABC's metaclass every `isinstance(x, Tracer)`,
    # which each operation asks, would run Python code.

    def snapshot(self) -> Tracer:
        """Another object with the same content: what a record keeps, since this one may be assigned to."""
        raise NotImplementedError

    def held(self) -> Tracer:
        """A snapshot that a record holds, where it would copy an array."""
        return self.snapshot()

    def layout(self) -> Strides | None:
        """How the array that this stands for lies in memory, if it is no view; None: not known."""
        value = self._value
        return value.layout() if isinstance(value, Tracer) else getattr(value, "strides", ())

    def lay_out(self, order: Sequence[int]) -> None:
        """Declare that a variable of a program stands for an array without gaps, its axes in this order."""
        self._value.lay_out(order)

    def _adopt(self, other: Value) -> None:
        """Become `other` in place: what an assignment does to a traced array."""
        raise NotImplementedError


def bind(op: Op, *args: Value) -> Value:
    """Apply a primitive under the innermost trace among its arguments; on plain values, evaluate it."""
    if len(args) == 1:
        (x,) = args
        return x._trace.apply_one(op, x) if isinstance(x, Tracer) else op.evaluate(x)
    top = None
    for arg in args:
        if isinstance(arg, Tracer):
            trace = arg._trace
            if top is None or trace.level > top.level:
                top = trace
    return op.evaluate(*args) if top is None else top.apply(op, args)


TRACED: Any = Tracer  # as Any: a test against it leaves the value what it was to the type checker


def perform(op: Op, *args: Value) -> Value:
    """Apply an effect under the innermost trace among its arguments or among those that write programs.

    The latter are told of it even if it reads nothing of theirs.
    """
    top = max((a._trace for a in args if isinstance(a, Tracer)), key=lambda trace: trace.level, default=None)
    keeper = _live.get()
    while keeper is not None and not (
        keeper.records or keeper.counts or (keeper.defers and op.effect is not None and op.effect.deferred)
    ):
        keeper = keeper.outer
    if keeper is not None and (top is None or keeper.level > top.level):
        top = keeper
    return op.evaluate(*args) if top is None else top.apply(op, args)


def provide_programs(transformations: Any) -> None:
    """From now on `trace.programs` is this: jvp, batched, jet … of the programs inside primitives."""
    Trace.programs = transformations


T = TypeVar("T", bound=Trace)


@contextmanager
def running(trace: T) -> Generator[T]:
    """Make `trace` the innermost live one; end it afterwards."""
    token, state = _live.set(trace), use_lines_of_users()
    try:
        yield trace
    finally:
        _live.reset(token)
        restore(state)
        trace.end()


def live_variable() -> ContextVar[Trace | None]:
    """Where the innermost running transformation stands: compiled code with effects looks there."""
    return _live


def live_trace() -> Trace | None:
    """The innermost transformation that is running in this thread, if any."""
    return _live.get()


def is_live(x: Tracer) -> bool:
    """Whether the transformation that a traced value belongs to is still running."""
    trace = _live.get()
    while trace is not None and trace is not x._trace:
        trace = trace.outer
    return trace is not None


def exclusive(x: Tracer) -> bool:
    """Whether a traced value may be written to: its memory is plain, its own, and referred to by nobody else."""
    value = x._value
    if type(value) is not np.ndarray or value.base is not None or not value.flags.writeable:
        return False
    return sys.getrefcount(value) == 3  # the traced value, the name here, the argument of getrefcount


def primal(x: Value) -> Value:
    """A value without derivatives, at all levels; see `Tracer.primal`."""
    return x.primal() if isinstance(x, Tracer) else x


def known(x: Value) -> Value | None:
    """The plain value, where nothing is lost with it; see `Trace.known`."""
    return x._trace.known(x) if isinstance(x, Tracer) else x


def concrete(x: Value) -> Value:
    """The plain value underneath all traces, where there is exactly one; raises for stacked or symbolic values."""
    while isinstance(x, Tracer):
        x = x._trace.concrete(x) if hasattr(x._trace, "concrete") else x._value  # type: ignore[attr-defined]
    return x  # pyright: ignore[reportUnknownVariableType]


def refuse_conversion(x: Tracer, call: str, remedy: str, asks: str = "was asked for the plain value of") -> NoReturn:
    """Python or NumPy asks for a plain number where a traced value stands."""
    unknown = x._trace.records or x._trace.counts
    lost = (
        "It is not known while a program is recorded" if unknown
        else "Its derivative would be lost" if x.has_tangent()
        else "It may differ between the elements of a batch"
    )  # fmt: skip
    message = f"{call} {asks} a traced {x.type}, at {describe(location := here())}. {lost}. {remedy}"
    remember_refusal(message, location)
    raise TraceError(message)
