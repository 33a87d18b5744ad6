"""Questions that Python asks of values: which can be answered now, and which become part of the program."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from adjoint.program.record import RecordTracer
from adjoint.program.trace import Tracer, live_trace
from adjoint.program.types import Value
from adjoint.transform.batch import BatchTracer
from adjoint.transform.guards import GuardingTrace

MOST_GUARDS = 4  # questions of truth that one trace of a compiled function is specialized on


_unguarded: ContextVar[bool] = ContextVar("adjoint_unguarded", default=False)


@contextmanager
def without_guards() -> Generator[None]:
    """While inside, no truth value is a guard: in the test of a loop, which is asked in each iteration."""
    token = _unguarded.set(True)
    try:
        yield
    finally:
        _unguarded.reset(token)


def in_program() -> bool:
    """Whether a program is being written, whose values are not known."""
    trace = live_trace()
    return trace is not None and trace.in_program


def is_undecided(x: Value) -> bool:
    """Whether the value of a traced number is not known now: it is a variable of a program, or one of a batch."""
    while isinstance(x, Tracer):
        if is_unknown(x) or (isinstance(x, BatchTracer) and x._mapped and x._trace.in_program):
            return True
        x = x._value
    return False


def is_unknown(x: Tracer) -> bool:
    """Whether this is a variable of a program; a record may also carry values along, which may be variables below."""
    return isinstance(x, RecordTracer) and x._value is None


def becomes_branch(predicate: Any) -> bool:
    """Whether a truth value becomes a branch of the program; else it is asked: a guard where a function compiles."""
    if not isinstance(predicate, Tracer) or not is_undecided(predicate):
        return False
    trace = bottom_trace(predicate)
    if not isinstance(trace, GuardingTrace) or is_of_batch(predicate):
        return True
    if not trace.answers:
        return True
    if trace.branch_guards < MOST_GUARDS and not trace.prefers_branches and not _unguarded.get():
        trace.branch_guards += 1
        return False
    return True


def becomes_loop(going: Any) -> bool:
    """Whether the test of a loop becomes part of the program: always, where it is not known."""
    return isinstance(going, Tracer) and is_undecided(going)


def bottom_trace(x: Value) -> Any:
    """The trace of the recorded variable that a traced value stands on."""
    while isinstance(x, Tracer) and not is_unknown(x):
        x = x._value
    return x._trace if isinstance(x, RecordTracer) else None


def is_of_batch(x: Value) -> bool:
    """Whether batch elements stand between a value and the record: each has its own truth."""
    while isinstance(x, Tracer) and not is_unknown(x):
        if isinstance(x, BatchTracer) and x._mapped:
            return True
        x = x._value
    return False


def as_truth(predicate: Any) -> Value:
    """A traced number as a truth value, one element at most."""
    if predicate.shape and predicate.type.size == 1:
        predicate = np.reshape(predicate, ())
    return predicate if predicate.dtype.kind == "b" else np.not_equal(predicate, 0)
