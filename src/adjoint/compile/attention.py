"""How machine code lets Python see signals: loops that take long look at the clock, and ask the interpreter."""

# pyright: basic

from __future__ import annotations

import time
from typing import Any

from adjoint.compile.code import interpreter
from adjoint.compile.ir import RARELY, Function
from adjoint.compile.pool_state import STOPPED
from adjoint.compile.statuses import RAISED

LONG = 2e7  # additions, some milliseconds: loops that do no more are not watched
SLICE = 200_000  # additions between two looks at the clock
PATIENCE = 20_000_000  # nanoseconds between two questions to the interpreter, which other threads may be using


class Watch:
    """Lets Python see Ctrl-C while a long loop runs.

    All loops of a kernel spend one budget of additions, so that it does not matter which of them takes the time; when
    it is used up, the clock is looked at. What an iteration spends is an estimate, without loops inside that are
    watched themselves. To be made before the body is written, `write` is for the end of an iteration.
    """

    def __init__(self, emitter: Any, times: float) -> None:
        self.emitter, self.times = emitter, times  # how often the body runs
        self._work, self._watched = emitter.shared.work, emitter.shared.watched

    def write(self, iterations: float) -> None:
        f, shared = self.emitter.f, self.emitter.shared
        work = shared.work - self._work
        if shared.standalone or (work / self.times + 10) * iterations < LONG:
            return
        own = (work - (shared.watched - self._watched)) / self.times + 10
        shared.watched = self._watched + work
        if shared.budget is None:
            shared.budget, shared.looked = f.allocate("i64", align=8), f.allocate("i64", align=8)
            f.initialize(f.index(SLICE), shared.budget)
            f.initialize(f.index(0), shared.looked)
        assert shared.looked is not None
        left = f.sub(f.load("i64", shared.budget, 8), f.index(int(own)))
        f.store(left, shared.budget)
        with f.when(f.icmp("slt", left, f.index(0)), RARELY):
            f.store(f.index(SLICE), shared.budget)
            if GLANCE not in shared.module.parts:
                _write_glance(Function(shared.module, GLANCE, ["ptr", "ptr"], "i64", attributes="noinline nounwind"))
                declare_attention(self.emitter)
            if shared.region is None:
                self._glance()
            else:
                self._look_around(shared.region)

    def _glance(self) -> None:
        """Leave if a handler has raised."""
        f = self.emitter.f
        status = f.call(GLANCE, "i64", self.emitter.python(), self.emitter.shared.looked)
        self.emitter.leave_if(f.icmp("ne", status, f.index(0)), -1)

    def _look_around(self, region: Any) -> None:
        """In a region: leave if another chunk has failed; only the caller asks the interpreter."""
        f = self.emitter.f
        stop = f.load("ptr", f.element(region.record, f.index(4), "ptr"), 8)
        self.emitter.leave_if(f.icmp("ne", f.load("i64", stop, 8, volatile=True), f.index(0)), STOPPED)
        is_caller = f.load("i64", f.element(region.record, f.index(5), "i64"), 8)
        with f.when(f.icmp("ne", is_caller, f.index(0))):
            self._glance()


GLANCE, ATTENTION = "adjoint_glance", "adjoint_attention"


def _write_glance(f: Function) -> None:
    """Ask the interpreter, if the last time is long ago."""
    python, looked = f.params
    time_of_day = f.allocate("i64", 2, align=8)
    f.call("clock_gettime", "i32", f.constant("i32", time.CLOCK_MONOTONIC), time_of_day, declared=True)
    seconds = f.load("i64", time_of_day, 8)
    now = f.add(f.mul(seconds, f.index(10**9)), f.load("i64", f.element(time_of_day, f.index(1), "i64"), 8))
    before = f.load("i64", looked, 8)
    with f.when(f.icmp("eq", before, f.index(0))):  # the first look
        f.store(now, looked)
    late = f.icmp("sgt", f.sub(now, f.load("i64", looked, 8)), f.index(PATIENCE))
    status = f.allocate("i64", align=8)
    f.store(f.index(0), status)
    with f.when(late, RARELY):
        f.store(now, looked)
        f.store(f.call(ATTENTION, "i64", python), status)
    f.ret(f.load("i64", status, 8))
    f.finish()


def write_attention(emitter: Any) -> None:
    """Leave when the handler of a signal has raised.

    The interpreter is asked, not Python code: a handler that runs at the first line of a function raises outside of
    all that the function can catch.
    """
    declare_attention(emitter)
    status = emitter.f.call(ATTENTION, "i64", emitter.python())
    emitter.leave_if(emitter.f.icmp("ne", status, emitter.f.index(0)), -1)


def declare_attention(emitter: Any) -> None:
    module = emitter.shared.module
    if ATTENTION not in module.parts:
        _write_attention(Function(module, ATTENTION, ["ptr"], "i64", attributes="noinline nounwind"))
        emitter.shared.symbols.update(interpreter())


def _write_attention(f: Function) -> None:
    held = f.call("PyGILState_Ensure", "i32", declared=True)
    others = f.call("PyEval_SaveThread", "ptr", declared=True)  # other threads may run for a moment
    f.call("PyEval_RestoreThread", "void", others, declared=True)
    status = f.cast("sext", f.call("PyErr_CheckSignals", "i32", declared=True), "i64")
    with f.when(f.icmp("ne", status, f.index(0))):
        hand_over(f)
    f.call("PyGILState_Release", "void", held, declared=True)
    f.ret(status)
    f.finish()


def hand_over(f: Function) -> None:
    """Give the exception that is set to the Python function which is the first parameter."""
    table = f.allocate("ptr", 4, align=8)
    parts = [f.element(table, f.index(k + 1), "ptr") for k in range(3)]
    f.call("PyErr_Fetch", "void", *parts, declared=True)
    f.call("PyErr_NormalizeException", "void", *parts, declared=True)
    f.call_address(f.params[0], "i64", f.index(RAISED), table)
