"""User functions that solvers call again and again: compiled once their loops and tapes have cost more than that.

As `ops.control.recorded` does with programs. A loop of Python over elements is none of ours, but each of its operations
is an entry on the tape of a derivative, which costs about as much as an equation that is read. The same run is compiled
at the same call, and gives the same digits.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import TraceError
from adjoint.conversion.driver import Converted, prepare
from adjoint.conversion.suspicion import may_have_effects
from adjoint.jit import jit
from adjoint.ops.control.recorded import WORK
from adjoint.program.evaluate import work
from adjoint.program.freezing import without_draws
from adjoint.program.trace import Tracer, live_trace, primal
from adjoint.transform.tape import Tape

__all__ = ["Compiling", "compile_when_it_pays"]

CALLS = 3  # and at least that many calls
PROGRAMS = 3  # that are compiled at most: a function that keeps asking for others is better read
COMPARED = (
    "a solver compares values at one point with those at another, which chance must not change. Draw the numbers "
    "beforehand and hand them in as an argument; for losses over samples there is optimize.train."
)
CLOSE = 1e-6  # what both forms give, against the largest number; digits further apart are no rounding


def compile_when_it_pays(function: Callable[..., Any]) -> Callable[..., Any]:
    """A user function as a driver calls it, compiled when it pays."""
    prepared = prepare(function)
    return Compiling(prepared.function) if type(prepared) is Converted else prepared


class Compiling(Converted):
    """A function of trees of numbers that is compiled after some calls, where that gives the same and costs less.

    It stays as it is where it may have effects, where it cannot be traced, or where compiled it gives something else.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._compiled: Any = None
        self._is_open = True  # whether it may still be compiled, or is
        self._calls, self._cost = 0, 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._is_open or _in_program():
            return super().__call__(*args, **kwargs)
        if self._compiled is not None:
            return self._call_compiled(args, kwargs)
        self._calls += 1
        if self._calls > CALLS and self._cost > WORK:
            return self._compile(args, kwargs)
        before = work.equations + _count_entries()
        try:
            return self._call_first(args, kwargs) if self._calls == 1 else super().__call__(*args, **kwargs)
        finally:
            self._cost += work.equations + _count_entries() - before

    def _call_first(self, args: Any, kwargs: Any) -> Any:
        """The first call, in which it must not draw; where another thread may have drawn, a second one tells."""
        results: list[Any] = []
        try:
            with without_draws(self.function, "a function that a solver calls", COMPARED):
                results.append(super().__call__(*args, **kwargs))
        except TraceError:
            alone = threading.active_count() == 1
            if not results or alone or not _is_same(super().__call__(*args, **kwargs), results[0]):
                raise
        return results[0]

    def _call_compiled(self, args: Any, kwargs: Any) -> Any:
        try:
            found = self._compiled(*args, **kwargs)
        except Exception:
            found = super().__call__(*args, **kwargs)  # where it fails as well, it says why, and stays compiled
            self._give_up()
            return found
        if len(self._compiled.guarded_programs) > PROGRAMS:
            self._give_up()
        return found

    def _compile(self, args: Any, kwargs: Any) -> Any:
        """What it gives when compiled, if that is what it gives as it is; from now on it is called so."""
        results: list[Any] = []
        try:
            with without_draws(self.function, "a function that is to be compiled"):
                results.append(super().__call__(*args, **kwargs))
            is_pure = not may_have_effects(self.function)
        except TraceError:
            if not results:
                raise
            is_pure = False  # it draws from a generator of NumPy; tracing it would draw once more
        (expected,) = results
        if not is_pure:
            self._give_up()
            return expected
        compiled = jit(self.function, strict=True)
        try:
            with warnings.catch_warnings(record=True) as said, np.errstate(all="ignore"):
                warnings.simplefilter("always")
                found = compiled(*args, **kwargs)
        except Exception:  # it cannot be traced
            self._give_up()
            return expected
        if any("jit of" in str(one.message) for one in said) or not _is_same(found, expected):
            self._give_up()
            return expected
        self._compiled = compiled
        return found

    def _give_up(self) -> None:
        self._is_open, self._compiled = False, None


def _count_entries() -> int:
    """What the running tapes hold; an entry whose values are on further tapes costs ten times as much for each."""
    trace, total = live_trace(), 0
    while trace is not None:
        total = 10 * total + len(trace.entries) if isinstance(trace, Tape) else total
        trace = trace.outer
    return total


def _in_program() -> bool:
    """Whether a program is being written: then the function is part of it."""
    trace = live_trace()
    while trace is not None and not trace.records:
        trace = trace.outer
    return trace is not None


def _is_same(found: Any, expected: Any) -> bool:
    """Whether two results are the same but for rounding."""
    if tree.structure(found) != tree.structure(expected):
        return False
    for pair in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        a, b = map(primal, pair)
        if isinstance(a, Tracer) or isinstance(b, Tracer) or np.shape(a) != np.shape(b):
            return False
        if np.result_type(a) != np.result_type(b):
            return False
        size = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
        if not np.allclose(a, b, rtol=0.0, atol=CLOSE * size, equal_nan=True):
            return False
    return True
