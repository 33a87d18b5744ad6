"""Events: where a function of (t, y) crosses zero, located on the dense output, with exact derivatives.

A crossing is seen in the signs of g and of dg/dt at both ends of each quarter of a step: two crossings in one of them
too. Its time τ is found to rounding without derivatives, and then given those of the equation g(τ, y(τ)) = 0, to any
order: dτ = -(∂g·dy + dg) / (g_t + g_y f). All that comes after starts at τ, so that jumps of the state or of f have the
derivative that saltation matrices state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import cond, fori_loop
from adjoint.api.gradients import jvp, vjp, vmap
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.implicit.vectors import to_arrays, to_vector
from adjoint.integrate.crossing import crossing_of, is_shallow
from adjoint.integrate.derivative import detach
from adjoint.integrate.interpolation import evaluate, hermite
from adjoint.integrate.statuses import FINISHED, GRAZING, NOT_FINITE
from adjoint.integrate.system import Arguments, Layout, check_right_side, trace_function
from adjoint.program.program import Program, interpret
from adjoint.program.types import Value

__all__ = ["Event", "EventPlan", "Occurred", "Occurrences", "read_events"]

KEPT = 32  # occurrences whose times and states are kept
HALVINGS = 60
TOUCH = 1e-14  # of the size of g in a step: an extremum of g no larger is zero to rounding
PARTS = np.linspace(0.0, 1.0, 5)  # of a step, between which signs are looked at


@dataclass(frozen=True, eq=False)
class Event:
    """Something happens where g(t, y, *args) crosses zero: with `direction` 1 only upwards, -1 only downwards.

    A terminal event ends the solution. `change(t, y, *args)` gives the state after it, `then(t, y, *args)` is the right
    side from then on.

    ```python
    from adjoint import integrate
    ground = integrate.Event(lambda t, y, g: y[0], direction=-1)
    f = lambda t, y, g: np.stack([y[1], -g])
    fall = lambda g: integrate.solve(f, (0.0, 10.0), np.array([5.0, 0.0]), args=(g,), events=[ground])
    path = fall(9.81)
    path.status, float(np.round(path.events[0].time, 6))  # → ('event', 1.009638)
    float(np.round(ad.grad(lambda g: fall(g).events[0].time)(9.81), 6))  # → -0.051460
    ```
    """

    g: Callable[..., Any]
    direction: int = 0
    terminal: bool = True
    change: Callable[..., Any] | None = None
    then: Callable[..., Any] | None = None


@dataclass(frozen=True, eq=False)
class Occurred:
    """When an event happened: `time` and `value` of its first occurrence, all `times` and `values` up to 32."""

    time: Value
    value: Any
    times: Value
    values: Any
    count: Value


class EventPlan(NamedTuple):
    """The events of a solution, as programs; θ of each stands behind that of f."""

    programs: tuple[Program, ...] = ()  # g of each
    counts: tuple[int, ...] = ()  # how many values of θ each reads
    changes: tuple[Program | None, ...] = ()
    change_counts: tuple[int, ...] = ()
    directions: tuple[int, ...] = ()
    terminal: tuple[bool, ...] = ()
    modes: tuple[int, ...] = ()  # which right side is in charge afterwards; -1: the same

    @property
    def size(self) -> int:
        return len(self.programs)


class Occurrences(NamedTuple):
    """What the loop carries for its events."""

    sides: Value  # the sign of each g
    times: Value  # (events, KEPT)
    values: Value  # (events, KEPT, n)
    counts: Value
    mode: Value


def read_events(title: str, events: Any, layout: Layout, args: Arguments) -> tuple[EventPlan, list[Value], list[Any]]:
    """The events as programs, the values that they read, and the right sides that they bring."""
    given = [events] if isinstance(events, Event) or callable(events) else list(events)
    listed = [g if isinstance(g, Event) or not callable(g) else Event(g) for g in given]
    if not listed:
        return EventPlan(), [], []
    programs: list[Any] = []
    changes: list[Any] = []
    counts: list[int] = []
    change_counts: list[int] = []
    modes: list[int] = []
    theta: list[Value] = []
    rights: list[Any] = []
    for number, event in enumerate(listed):
        if not isinstance(event, Event):
            raise TypeError(f"{title}: events[{number}] is a {type(event).__name__}; write integrate.Event(g).")
        if event.direction not in (-1, 0, 1):
            raise ValueError(f"{title}: the direction of events[{number}] is {event.direction}; it is -1, 0 or 1.")
        traced = trace_function(title, f"events[{number}].g", event.g, layout, args)
        if len(traced.types) != 1 or traced.types[0].shape != ():
            raise ShapeError(f"{title}: events[{number}].g returned {traced.types}; an event is one number "
                             "that crosses zero.")  # fmt: skip
        if traced.types[0].dtype.kind != "f":
            raise DtypeError(f"{title}: events[{number}].g returned {traced.types[0]}; it returns a real number that "
                             "crosses zero, as y[0] - 1.0, and not a truth value.")  # fmt: skip
        programs.append(traced.program)
        counts.append(len(traced.theta))
        theta += traced.theta
        change = None
        if event.change is not None:
            after = trace_function(title, f"events[{number}].change", event.change, layout, args)
            check_right_side(title, after, layout, f"events[{number}].change", "the state after it")
            change = after.program
            theta += after.theta
            change_counts.append(len(after.theta))
        else:
            change_counts.append(0)
        changes.append(change)
        modes.append(-1 if event.then is None else len(rights) + 1)
        rights += [] if event.then is None else [event.then]
    plan = EventPlan(
        tuple(programs), tuple(counts), tuple(changes), tuple(change_counts), tuple(e.direction for e in listed),
        tuple(e.terminal for e in listed), tuple(modes),
    )  # fmt: skip
    return plan, theta, rights


class Watch:
    """The events of a solution with given θ; `direction` is 1 where time goes on, -1 where it goes back."""

    def __init__(self, plan: EventPlan, layout: Layout, theta: Sequence[Value], direction: Value = 1.0) -> None:
        self.plan, self.layout, self.direction = plan, layout, direction
        self._g: list[list[Value]] = []
        self._change: list[list[Value]] = []
        at = 0
        for count, change in zip(plan.counts, plan.change_counts, strict=True):
            self._g.append(list(theta[at : at + count]))
            self._change.append(list(theta[at + count : at + count + change]))
            at += count + change

    def g(self, i: int, t: Value, y: Value) -> Value:
        """g of one event, in double precision."""
        found = interpret(self.plan.programs[i], [t, *to_arrays(y, self.layout.types), *self._g[i]])[0]
        return np.float64(1.0) * found

    def rate(self, i: int, t: Value, y: Value, derivative: Value) -> tuple[Value, Value]:
        """g, and how fast it grows as the solution goes on, with y′ = derivative."""
        value, rate = jvp(lambda t, y: self.g(i, t, y), (t, y), (np.float64(1.0) + 0 * t, derivative))
        return value, self.direction * rate

    def changed(self, i: int, t: Value, y: Value) -> Value:
        """The state after an event."""
        program = self.plan.changes[i]
        if program is None:
            return y
        types = self.layout.types
        return to_vector(interpret(program, [t, *to_arrays(y, types), *self._change[i]]), types)

    def plain(self) -> Watch:
        """The same without derivatives."""
        other = object.__new__(Watch)
        other.plan, other.layout, other.direction = self.plan, self.layout, self.direction
        other._g, other._change = [detach(v) for v in self._g], [detach(v) for v in self._change]
        return other

    def begin(self, t: Value, y: Value, derivative: Value, n: int) -> Occurrences:
        """Before the first step."""
        me, (t, y, derivative) = self.plain(), detach([t, y, derivative])
        sides = np.stack([me._side(i, t, y, derivative) for i in range(self.plan.size)])
        m = self.plan.size
        values = np.full((m, KEPT, n), np.nan, y.dtype)
        return Occurrences(
            sides,
            np.full((m, KEPT), np.nan),
            values,
            np.zeros(m, np.int64),
            np.int64(0),
        )

    def _side(self, i: int, t: Value, y: Value, derivative: Value) -> Value:
        value, rate = self.rate(i, t, y, derivative)
        tiny = np.abs(value) <= 1e-13 * np.abs(rate) * np.maximum(np.abs(t), 1.0)
        return np.where(tiny, np.sign(rate), np.sign(value))

    def suspects(self, seen: Occurrences, t: Value, h: Value, ends: Sequence[Value]) -> Value:
        """Which events may happen in a step from t to t + h, given y and y′ at both ends."""
        y0, y1, f0, f1 = ends
        cubic = hermite(h.astype(y0.dtype), y0, y1, f0, f1)
        found: list[Value] = []
        for i, direction in enumerate(self.plan.directions):
            along = lambda x, i=i: self.g(i, t + x * h, evaluate(y0, cubic, x.astype(y0.dtype)))
            values, rates = vmap(lambda x, g=along: jvp(g, (x,), (np.float64(1.0),)))(PARTS)
            sides = np.concatenate([np.stack([seen.sides[i]]), np.sign(values[1:-1])])
            single = np.logical_and(sides * values[1:] <= 0, sides != 0)
            double = np.logical_and(sides * rates[:-1] < 0, sides * rates[1:] > 0)
            fits = True if direction == 0 else sides * direction < 0
            found.append(np.any(np.logical_or(np.logical_and(single, fits), double)))
        return np.stack(found)

    def brackets(self, seen: Occurrences, t: Value, h: Value, y0: Value, dense: Value) -> tuple[Value, Value, Value]:
        """The first crossing of each event on the dense output: whether there is one, and θ on both sides of it.

        It is looked for on a grid, and where that shows none at the one extremum of g next to zero.
        """
        grid = np.linspace(0.0, 1.0, 33)[1:]
        happened: list[Value] = []
        low: list[Value] = []
        high: list[Value] = []
        for i, direction in enumerate(self.plan.directions):
            side = seen.sides[i]
            along = lambda x, i=i: self.g(i, t + x * h, evaluate(y0, dense, x.astype(y0.dtype)))
            values = vmap(along)(grid)
            signs = np.sign(values)
            before = np.concatenate([np.stack([side]), signs[:-1]])
            crossing = np.logical_and(before * signs <= 0, signs != before)
            if direction:
                crossing = np.logical_and(crossing, before * direction <= 0)
                crossing = np.logical_and(crossing, signs * direction >= 0)
            first = np.argmax(crossing)
            on_grid = (np.any(crossing), first / 32.0, (first + 1.0) / 32.0)
            dip = lambda along=along, side=side, values=values, d=direction: _dip(along, side, values, d)
            for part, found in zip((happened, low, high), cond(on_grid[0], lambda g=on_grid: g, dip), strict=True):
                part.append(found)
        return np.stack(happened), np.stack(low), np.stack(high)

    def locate(self, i: int, low: Value, high: Value, t: Value, h: Value, y0: Value, dense: Value) -> Value:
        """θ of a crossing between two others, by bisection to rounding; just behind it."""
        at = lambda x: np.sign(self.g(i, t + x * h, evaluate(y0, dense, x.astype(y0.dtype))))
        right = at(high)

        def halve(_: Any, ends: Any) -> Any:
            a, b = ends
            middle = 0.5 * (a + b)
            is_right = np.logical_or(at(middle) == right, at(middle) == 0)
            return np.where(is_right, a, middle), np.where(is_right, middle, b)

        return fori_loop(0, HALVINGS, halve, (low, high))[1]

    def refine(self, i: int, theta: Value, t: Value, h: Value, y0: Value, dense: Value) -> tuple[Value, Value]:
        """θ with the derivatives of g = 0, and how steep g is there, dg/dθ in units of |g| at the ends of the step."""
        along = lambda x: self.g(i, t + x * h, evaluate(y0, dense, x.astype(y0.dtype)))
        found = crossing_of(along, theta)
        _, rate = jvp(along, (theta,), (np.float64(1.0),))
        size = np.abs(along(np.float64(0.0))) + np.abs(along(np.float64(1.0)))
        return found, rate / np.where(size == 0, 1.0, size)

    def grazes(self, i: int, theta: Value, t: Value, h: Value, y0: Value, dense: Value, errors: Value) -> Value:
        """Whether g comes back behind a crossing within what errors of y make of it."""
        state = lambda x: evaluate(y0, dense, x.astype(y0.dtype))
        gradient = vjp(lambda y: self.g(i, t + theta * h, y), state(theta))[1](np.float64(1.0))[0]
        error = np.float64(1.0) * np.sum(np.abs(gradient) * errors)
        return is_shallow(lambda x: self.g(i, t + x * h, state(x)), theta, error)


def _dip(along: Callable[[Value], Value], side: Value, values: Value, direction: int) -> tuple[Value, Value, Value]:
    """A crossing next to the extremum of g, given on a grid, that comes nearest to the other side or beyond it.

    Where the extremum is zero to rounding, g may touch zero or cross it twice: the extremum itself is named then.
    """
    nearest = np.argmin(side * values)
    a, b = nearest / 32.0, np.minimum(nearest + 2.0, 32.0) / 32.0
    falls = lambda x: side * jvp(along, (x,), (np.float64(1.0),))[1] < 0

    def halve(_: Any, ends: Any) -> Any:
        a, b = ends
        middle = 0.5 * (a + b)
        left = falls(middle)
        return np.where(left, middle, a), np.where(left, b, middle)

    lowest = fori_loop(0, HALVINGS, halve, (a, b))[1]
    value = side * along(lowest)
    is_inside = np.logical_and(falls(a), np.logical_not(falls(b)))
    touches = np.logical_and(is_inside, np.abs(value) <= TOUCH * np.max(np.abs(values)))
    counts_first = np.bool_(True) if direction == 0 else side * direction < 0
    low, high = np.where(counts_first, a, lowest), np.where(counts_first, lowest, b)
    return np.logical_or(value < 0, touches), np.where(touches, lowest, low), np.where(touches, lowest, high)


def handle(
    watch: Watch, seen: Occurrences, t: Value, h: Value, y0: Value, dense: Value, suspects: Value, accepted: Value,
    errors: Value,
) -> tuple[Value, Value, Value]:  # fmt: skip
    """The first event in a step: (which, -1 if none; its θ; whether it grazes, for errors of y)."""
    plain, plain_dense = watch.plain(), detach([dense])[0]
    pt, ph, py, errors = detach([t, h, y0, errors])
    count = watch.plan.size

    def search() -> Any:
        happened, low, high = plain.brackets(seen, pt, ph, py, plain_dense)
        happened = np.logical_and(happened, suspects)
        thetas = np.stack([
            np.where(happened[i], plain.locate(i, low[i], high[i], pt, ph, py, plain_dense), 2.0) for i in range(count)
        ])  # fmt: skip
        first = np.argmin(thetas)
        return np.where(np.any(happened), first, -1), np.minimum(thetas[first], 1.0)

    wanted = np.logical_and(np.any(suspects), accepted)
    which, theta = cond(wanted, search, lambda: (np.int64(-1), np.float64(1.0)))

    def refined() -> Any:
        found = [watch.refine(i, theta, t, h, y0, dense) for i in range(count)]
        shallow = [plain.grazes(i, theta, pt, ph, py, plain_dense, errors) for i in range(count)]
        (chosen, rate), grazes = found[0], shallow[0]
        for i in range(1, count):
            chosen = np.where(which == i, found[i][0], chosen)
            rate = np.where(which == i, found[i][1], rate)
            grazes = np.where(which == i, shallow[i], grazes)
        return chosen, np.logical_or(grazes, np.abs(detach([rate])[0]) < 1e-7)  # deep as rounding

    exact, grazes = cond(which >= 0, refined, lambda: (theta, np.bool_(False)))
    return which, exact, grazes


def after_event(
    watch: Watch, seen: Occurrences, which: Value, t: Value, y: Value, n: int
) -> tuple[Value, Occurrences, Value]:
    """The state after an event, what is noted of it, and whether it ends the solution."""
    plan = watch.plan
    new, mode = y, seen.mode
    times, values, counts = seen.times, seen.values, seen.counts
    ends: Any = np.bool_(False)
    for i in range(plan.size):
        mine = which == i
        if plan.changes[i] is not None:
            rest = y[n:]
            moved = watch.changed(i, t, y[:n])
            moved = np.concatenate([moved, rest]) if y.shape[0] > n else moved
            new = np.where(mine, moved, new)
        if plan.modes[i] >= 0:
            mode = np.where(mine, plan.modes[i], mode)
        slot = np.minimum(counts[i], KEPT - 1)
        keeps = np.logical_and(mine, counts[i] < KEPT)
        times, values, counts = times.copy(), values.copy(), counts.copy()
        times[i, slot] = np.where(keeps, t, times[i, slot])
        values[i, slot] = np.where(keeps, y[:n], values[i, slot])
        counts[i] = counts[i] + mine
        if plan.terminal[i]:
            ends = np.logical_or(ends, mine)
    return new, seen._replace(times=times, values=values, counts=counts, mode=mode), ends


def sides_after(watch: Watch, seen: Occurrences, which: Value, t: Value, y: Value, derivative: Value) -> Occurrences:
    """The signs of all g after an event: of the one that happened by where it goes."""
    me, (t, y, derivative) = watch.plain(), detach([t, y, derivative])
    sides: list[Value] = []
    for i in range(watch.plan.size):
        value, rate = me.rate(i, t, y, derivative)
        scale = 1e-9 * np.abs(rate) * np.maximum(np.abs(t), 1.0)
        if watch.plan.changes[i] is None:
            mine = np.where(rate == 0, -seen.sides[i], np.sign(rate))
        else:
            mine = np.where(np.abs(value) <= scale, np.sign(rate), np.sign(value))
        # one that crosses at the same time is still to come: it keeps its side
        others = np.where(np.abs(value) <= scale, seen.sides[i], np.sign(value))
        sides.append(np.where(which == i, mine, others))
    return seen._replace(sides=np.where(which >= 0, np.stack(sides), seen.sides))


def sides_passed(watch: Watch, seen: Occurrences, t: Value, y: Value) -> Occurrences:
    """The signs after a step without an event: those of directions that do not count have changed too."""
    me, (t, y) = watch.plain(), detach([t, y])
    now = [np.sign(me.g(i, t, y)) for i in range(watch.plan.size)]
    sides = np.stack([np.where(s == 0, seen.sides[i], s) for i, s in enumerate(now)])
    return seen._replace(sides=sides)


def trouble_with(seen: Occurrences, code: Value) -> Value:
    """The code of a solution after a step, with what event functions say: NaN, or zero all along to the end."""
    code = np.where(np.logical_and(code <= FINISHED, np.any(np.isnan(seen.sides))), NOT_FINITE, code)
    idle = np.any(np.logical_and(seen.sides == 0, seen.counts == 0))
    return np.where(np.logical_and(code == FINISHED, idle), GRAZING, code)


def occurred(layout: Layout, seen: Occurrences, firsts: Sequence[Value], number: int) -> Occurred:
    """What is reported of an event."""
    values = layout.rows(seen.values[number])
    first = tree.map(lambda a: a[0], values)
    return Occurred(firsts[number], first, seen.times[number], values, seen.counts[number])
