"""Solutions with stops and events as pieces between them, each with a derivative of its own.

Where the pieces end is known from the solution. A stop ends a piece at its own time; an event at a time that solves
g(τ, y(τ)) = 0: from the end of the piece, τ is moved by Newton's method along y′ = f, a step of no length that has the
derivatives of τ and y(τ) to third order. What happens there, a jump of y or of f, is where the next piece starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint.api.control_flow import cond, while_loop
from adjoint.api.gradients import jvp
from adjoint.debug import check
from adjoint.integrate.algebraic import follow
from adjoint.integrate.derivative import attach_derivative, detach, record_flat, types_of
from adjoint.integrate.events import KEPT, EventPlan, Occurrences, Watch, after_event
from adjoint.integrate.stepping import Ending, Plan, Settings, run
from adjoint.integrate.stops import between_stops
from adjoint.integrate.system import System
from adjoint.program.types import Value

__all__ = ["solve_in_pieces"]

Solve = Callable[[Plan, System, Settings, Value], Ending]


class _Breaks(NamedTuple):
    """Where pieces end, in order: times, and whether that is a stop or which event."""

    times: Value
    kinds: Value  # the number of the event; -1: a stop
    count: Value


class _Piece(NamedTuple):
    number: Value
    t: Value
    y: Value
    stop: Value
    out: Value
    seen: Any
    is_over: Value


def solve_in_pieces(solve: Solve, plan: Plan, system: System, settings: Settings, y0: Value, exact: bool) -> Ending:
    """A solution whose pieces are solved, and differentiated, by `solve`; its values are those of the pieces if that
    derivative is `exact`, the one of their steps."""
    plain = Settings(*detach(list(settings)))
    bare = plan._replace(adjoint="discretize", dense=0, kept=0)
    ending = run(bare, system.with_theta(detach(system.theta)), plain, *detach([y0]))
    breaks = _breaks(plan, plain, ending)
    if exact:
        t, y, saved, seen = _solved(solve, plan, system, settings, y0, breaks)
        return ending._replace(t=t, y=y, saved=saved, events=seen)
    inputs = [*settings, y0, *system.theta]
    count = len(Settings._fields)

    def pieces(*flat: Value) -> list[Value]:
        given, own = flat[: -len(breaks)], _Breaks(*flat[-len(breaks) :])
        parts = _solved(solve, plan, system.with_theta(given[count + 1 :]), Settings(*given[:count]), given[count], own)
        t, y, saved, seen = parts
        return [t, y, saved, *([] if seen is None else [seen.times, seen.values])]

    whole = [*inputs, *breaks]
    program, captured = record_flat(pieces, types_of(whole))
    assert not captured
    seen = ending.events
    values = [ending.t, ending.y, ending.saved, *([] if seen is None else [seen.times, seen.values])]
    t, y, saved, *rest = attach_derivative(program, values, whole)
    if seen is not None:
        seen = seen._replace(times=rest[0], values=rest[1])
    return ending._replace(t=t, y=y, saved=saved, events=seen)


def _breaks(plan: Plan, s: Settings, ending: Ending) -> _Breaks:
    """The stops that were reached and the events that happened."""
    direction = np.where(s.t1 >= s.t0, 1.0, -1.0)
    last = direction * ending.t
    times, kinds = [], []
    if plan.stops:
        reached = np.logical_and(direction * s.stops < last, direction * s.stops > direction * s.t0)
        times.append(np.where(reached, direction * s.stops, np.inf))
        kinds.append(np.full(plan.stops, -1))
    if plan.events.size:
        seen = ending.events
        check(
            np.all(seen.counts <= KEPT),
            f"integrate.solve: adjoint={plan.adjoint!r} is made for up to {KEPT} occurrences of an event, and one "
            "happened {} times. Use adjoint='discretize'.",
            np.max(seen.counts),
        )  # fmt: skip
        instants = np.reshape(direction * seen.times, (-1,))
        times.append(np.where(np.isfinite(instants), instants, np.inf))
        kinds.append(np.repeat(np.arange(plan.events.size), KEPT))
    whole, kind = np.concatenate(times), np.concatenate(kinds)
    order = np.argsort(whole, kind="stable")
    sorted_times = np.take(whole, order)
    count = np.sum(np.isfinite(sorted_times)).astype(np.int64)
    return _Breaks(direction * sorted_times, np.take(kind + 0 * order[0], order), count)


def _solved(solve: Solve, plan: Plan, system: System, s: Settings, y0: Value, breaks: _Breaks) -> Any:
    """The last time, the last state, saved values and occurrences."""
    n, m = system.size, plan.saves
    t0, t1, saves = detach([s.t0, s.t1, s.saves])
    direction = np.where(t1 >= t0, 1.0, -1.0)
    watch: Any = None
    seen: Any = None
    if plan.events.size:
        at = len(system.theta) - plan.event_theta
        watch = Watch(plan.events, system.layout, system.theta[at:])
        system = system.with_theta(system.theta[:at])
        size = plan.events.size
        empty = np.full((size, KEPT), np.nan)
        values = np.full((size, KEPT, n), np.nan, y0.dtype) + 0 * y0[:n]
        seen = Occurrences(np.zeros(size), empty + 0 * s.t0, values, np.zeros(size, np.int64), np.int64(0))
    theta = system.theta
    own_plan = plan.quiet._replace(stops=0, events=EventPlan(), event_theta=0, has_modes=False)
    most = breaks.times.shape[0] - 1

    def one(now: _Piece) -> _Piece:
        equation = between_stops(plan, s, system, theta, now.stop, direction)
        if plan.has_modes:
            equation = equation.with_theta([now.seen.mode, *equation.theta[1:]])
        index = np.minimum(now.number, most)
        is_last = now.number >= breaks.count
        kind = np.where(is_last, -2, breaks.kinds[index])
        target = np.where(is_last, s.t1, detach([breaks.times])[0][index])
        if plan.stops:
            target = np.where(kind == -1, s.stops[np.minimum(now.stop, plan.stops - 1)], target)
        begin, end = detach([now.t, target])
        is_in = np.logical_and(direction * saves > direction * begin, direction * saves <= direction * end)
        is_in = np.logical_or(is_in, np.logical_and(now.number == 0, saves == begin))
        clipped = np.minimum(np.maximum(saves, np.minimum(begin, end)), np.maximum(begin, end))
        own = s._replace(t0=now.t, t1=target, saves=np.where(is_in, s.saves, clipped), stops=np.zeros(0))

        def whole() -> Any:
            piece = solve(own_plan, equation, own, now.y)
            return piece.y, piece.saved

        def nothing() -> Any:
            y = follow(equation, plan.algebraic, now.t, now.y, target - now.t)
            return y, np.zeros((m, n), y.dtype) + y[:n]

        has_length = np.abs(end - begin) > 4 * np.spacing(np.maximum(np.abs(begin), np.abs(end)))
        y, rows = cond(has_length, whole, nothing)
        out = np.where(is_in[:, None], rows, now.out) if m else now.out
        t, seen, is_over = target, now.seen, is_last
        if watch is not None:
            moved = lambda: _moved(watch, equation, plan, kind, target, y, n)
            t, y = cond(kind >= 0, moved, lambda: (target, y))
            y, seen, ends = after_event(watch, now.seen, kind, t, y, n)
            is_over = np.logical_or(is_last, ends)
        return _Piece(now.number + 1, t, y, now.stop + (kind == -1), out, seen, is_over)

    out = np.full((m, n), np.nan, y0.dtype) + 0 * y0[:n] if m else np.zeros((0, n), y0.dtype)
    zero = np.int64(0)
    stop = np.sum(direction * detach([s.stops])[0] <= direction * t0).astype(np.int64) if plan.stops else zero
    begin = _Piece(zero, s.t0, y0, stop, out, seen, np.bool_(False))
    last = while_loop(lambda now: np.logical_not(now.is_over), one, begin)
    return last.t, last.y, last.out, last.seen


def _moved(watch: Watch, f: System, plan: Plan, kind: Value, t: Value, y: Value, n: int) -> tuple[Value, Value]:
    """The time of an event near t, and y there."""

    along = lambda x: follow(f, plan.algebraic, t, y, x)

    def g(x: Value) -> Value:
        there = along(x)
        value = watch.g(0, t + x, there[:n])
        for i in range(1, plan.events.size):
            value = np.where(kind == i, watch.g(i, t + x, there[:n]), value)
        return value

    x = 0.0 * t
    for _ in range(2):
        value, pace = jvp(g, (x,), (np.float64(1.0) + 0 * t,))
        x = x - value / np.where(pace == 0, 1.0, pace)
    return t + x, along(x)
