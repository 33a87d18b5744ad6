"""The one loop: steps of any method, tried until their error is small enough, from t₀ to t₁.

Accepted steps, the first one too, are constants to every derivative; the ends of the span, stops and saved times are
not. A step is tried without derivatives; what is accepted is given the derivative of the step alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import cond, while_loop
from adjoint.api.control_flow.loops import try_until
from adjoint.debug import callback
from adjoint.integrate.control import error_norm, first_step, rest_norm
from adjoint.integrate.dense import Rows, empty_rows, with_row
from adjoint.integrate.derivative import detach
from adjoint.integrate.events import EventPlan, Watch, after_event, handle, sides_after, sides_passed, trouble_with
from adjoint.integrate.interpolation import evaluate
from adjoint.integrate.keeping import plan_steps
from adjoint.integrate.statuses import EVENT, FINISHED, GRAZING, MAX_STEPS, NOT_FINITE, RUNNING, TOO_SMALL
from adjoint.integrate.stepper import Stepper, coefficients, method_degree
from adjoint.integrate.stops import between_stops, next_target, restarted
from adjoint.integrate.system import System
from adjoint.program.types import Value

__all__ = ["Counts", "Ending", "Plan", "Settings", "run"]


class Plan(NamedTuple):
    """What is decided before the loop is traced."""

    method: Any
    norm: Any = "rms"
    given_step: bool = False  # first_step was given
    saves: int = 0  # how many saved times
    stops: int = 0
    checkpoint: Any = None
    has_mass: bool = False
    events: EventPlan = EventPlan()
    event_theta: int = 0  # how many values of θ the events read
    has_modes: bool = False  # θ begins with the number of the right side in charge
    adjoint: str = "discretize"
    dense: int = 0  # how many steps are kept
    form: Any = None  # of the Jacobian
    stiff_program: Any = None  # of a split f
    algebraic: Any = None  # bases of the algebraic equations and unknowns
    start: str = "check"
    kept: int = 0  # how many steps a continuous adjoint keeps
    keeps_state: bool = False  # the method's last state is given back
    progress: Any = False
    callback: Any = None  # is called with (t, y) after each step
    history: int = 0  # of how many steps there is a record

    @property
    def quiet(self) -> Plan:
        """The same for a solution that nobody watches."""
        return self._replace(progress=False, callback=None, history=0)


class Settings(NamedTuple):
    """The numbers of a solution, inputs of its program."""

    t0: Value
    t1: Value
    rtol: Value
    atol: Value
    first_step: Value
    max_step: Value
    min_step: Value
    max_steps: Value
    saves: Value
    stops: Value


class Counts(NamedTuple):
    """What it took."""

    steps: Value
    rejections: Value
    evaluations: Value
    stiff: Value  # steps whose size stability limits
    jacobians: Value
    factorizations: Value


class Ending(NamedTuple):
    """How a solution ends."""

    t: Value
    y: Value
    code: Value
    counts: Counts
    saved: Value  # (saves, n); NaN where it did not get
    h: Value  # the next step
    radius: Value
    events: Any = None
    dense: Any = None
    state: Any = None  # of the method
    history: Any = None  # (steps, 4): start, size, error, rejections
    pinch: Any = ()  # the shortest step after a rejection, and where it ends


class _Now(NamedTuple):
    t: Value
    h: Value  # magnitude of the next step
    state: Any
    errors: tuple[Value, Value]  # logarithms, of the last two steps
    code: Value
    counts: Counts
    saved: int | Value
    out: Value
    stop: int | Value
    radius: Value
    seen: Any
    rows: Any
    pinch: tuple[Value, Value]
    log: Any = None


class _Trial(NamedTuple):
    h: Value  # signed, as it is tried
    goes_on: Value
    state: Any
    error: Value
    radius: Value
    rejections: Value
    code: Value
    work: Value
    growth: Value
    start: Any  # of the next attempt


def _as_int(x: int) -> Any:
    return np.int64(x)


def run(
    plan: Plan, system: System, settings: Settings, y0: Value, code: Value | None = None, context: Any = ()
) -> Ending:  # fmt: skip
    """Solve y′ = f(t, y) from t0 to t1; `context` is added to the method's state at the start."""
    method, s = plan.method, settings
    t0, t1 = detach([s.t0, s.t1])
    direction = np.where(t1 >= t0, 1.0, -1.0)
    n = system.size
    watch = None
    if plan.events.size:
        watch = Watch(plan.events, system.layout, system.theta[len(system.theta) - plan.event_theta :], direction)
        system = system.with_theta(system.theta[: len(system.theta) - plan.event_theta])
    if getattr(method, "uses_tolerances", False):
        system = system.with_tolerances(*detach([s.rtol, s.atol]))
    whole_theta = system.theta
    bare = system
    within = lambda stop: between_stops(plan, s, bare, whole_theta, stop, direction)
    system = within(_as_int(0))
    state = method.start(system, s.t0, y0)
    if context:
        state = tree.unflatten(
            tree.structure(state), [a + b for a, b in zip(tree.leaves(state), context, strict=True)]
        )  # fmt: skip
    span = np.abs(t1 - t0)
    fixed = not method.adaptive
    evaluations = 1
    if plan.given_step:
        h = np.minimum(np.abs(s.first_step), span)
    elif hasattr(method, "propose"):
        known = tree.unflatten(tree.structure(state), detach(tree.leaves(state)))
        h = np.minimum(method.propose(known, s.rtol, s.atol, plan.norm), span)
    else:
        plain = system.with_theta(detach(system.theta))
        y, f0 = detach([y0])[0], detach([plain(t0, *detach([y0]))])[0]
        h = first_step(plain, t0, y, f0, direction, span, method.estimate_order, s.rtol, s.atol, plan.norm, n)
        evaluations = 3
    ready = Stepper(method, system, state)
    zero = _as_int(0)
    out = np.full((plan.saves, n), np.nan, system.dtype) + 0 * y0[:n] if plan.saves else np.zeros((0, n), system.dtype)
    start_code = np.where(np.isfinite(np.sum(np.abs(detach([method.value(state)])[0]))), RUNNING, NOT_FINITE)
    start_code = np.where(np.isfinite(np.sum(np.abs(detach(tree.leaves(state))[-1]))), start_code, NOT_FINITE)
    start_code = np.where(np.isfinite(t0 + t1), start_code, NOT_FINITE)
    if code is not None:
        start_code = np.where(code == RUNNING, start_code, code)
    begin = _Now(
        s.t0, np.clip(h, s.min_step, s.max_step), state, (np.float64(0.0), np.float64(0.0)),
        start_code.astype(np.int64), Counts(zero, zero, _as_int(evaluations), zero, zero, zero), zero, out, zero,
        np.float64(0.0), None if watch is None else watch.begin(s.t0, y0[:n], method.derivative(state)[:n], n),
        empty_rows(plan.dense, direction, y0, method_degree(ready, s.t0, state), n) if plan.dense else None,
        (np.float64(np.inf), t0), np.full((plan.history, 4), np.nan) + 0 * t0 if plan.history else None,
    )  # fmt: skip

    goes_on = lambda now: now.code == RUNNING

    def advance(now: _Now) -> _Now:
        current = within(now.stop)
        if plan.has_modes:
            current = current.with_theta([now.seen.mode, *current.theta[1:]])
        stepper = ready.at(current)
        target = next_target(plan, s, now)
        t, aim = detach([now.t, target])
        trial, planned, whole = _tried(plan, settings, stepper, now, t, aim, direction)
        accepted = trial.code == RUNNING
        hits = trial.h == aim - t
        reached = np.where(hits, target, t + trial.h)
        reached = np.where(accepted, reached, now.t)
        h = reached - now.t
        after = stepper.attach(now.t, h, now.state, trial.state)
        y0, y1 = method.value(now.state)[:n], method.value(after)[:n]
        k = method.estimate_order + 1.0
        errors = now.errors
        if fixed:
            following = now.h
        else:
            errors = (method.controller.log(trial.error), now.errors[0])
            factor = method.controller.factor((*errors, now.errors[1]), k)
            factor = np.where(trial.growth > 0, trial.growth, factor)
            factor = np.where(trial.rejections > 0, np.minimum(factor, 1.0), factor)
            following = np.abs(trial.h) * factor
            following = np.where(whole, following, np.maximum(following, planned))
            if hasattr(method, "propose"):
                following = method.propose(trial.state, s.rtol, s.atol, plan.norm)
        which: Any = None
        grazes: Any = None
        end, y_end = reached, y1
        if watch is not None:
            mean = (y1 - y0) / np.where(h == 0, 1.0, h).astype(y0.dtype)  # with M, f is not the derivative
            rates = [mean if system.has_mass else method.derivative(at)[:n] for at in (now.state, after)]
            suspects = watch.plain().suspects(now.seen, t, detach([h])[0], detach([y0, y1, *rates]))
            whole_dense = coefficients(stepper, now.t, h, now.state, after, np.logical_and(accepted, np.any(suspects)))
            dense = whole_dense[:, :n]
            doubt = 0.0 * y1 if fixed else s.atol + s.rtol * np.abs(y1)
            which, theta, grazes = handle(watch, now.seen, now.t, h, y0, dense, suspects, accepted, doubt)
            happens = which >= 0
            end = np.where(happens, now.t + theta * h, reached)
            y_end = np.where(happens, evaluate(y0, dense, theta.astype(y0.dtype)), y1)
        saved, out = now.saved, now.out
        if plan.saves:
            saved, out = _save(plan, s, stepper, now, after, h, direction, y0, end, y_end)
        counts, pinch = now.counts, now.pinch
        if not fixed:
            shorter = np.logical_and(np.logical_and(accepted, trial.rejections > 0), np.abs(trial.h) < pinch[0])
            pinch = np.where(shorter, np.abs(trial.h), pinch[0]), np.where(shorter, t + trial.h, pinch[1])
        limit = method.stability_limit if hasattr(method, "stability_limit") else np.inf
        is_stiff = np.abs(trial.h) * trial.radius > 0.7 * limit
        counts = Counts(
            counts.steps + accepted, counts.rejections + trial.rejections,
            counts.evaluations + trial.work[0], counts.stiff + is_stiff, counts.jacobians + trial.work[1],
            counts.factorizations + trial.work[2],
        )  # fmt: skip
        at_end = detach([end])[0] == t1
        code = np.where(accepted, np.where(at_end, FINISHED, RUNNING), trial.code)
        code = np.where(np.logical_and(code == RUNNING, counts.steps >= s.max_steps), MAX_STEPS, code)
        following = np.clip(following, s.min_step, s.max_step)
        state = tree.map(lambda a, b: np.where(accepted, a, b), after, now.state)
        stop, seen = now.stop, now.seen
        if watch is not None:
            full = y_end
            if y0.shape[0] < method.value(after).shape[0]:  # integrals stand behind y
                begun = method.value(now.state)[n:]
                full = np.concatenate([y_end, evaluate(begun, whole_dense[:, n:], theta.astype(y0.dtype))])
            jumped, seen, is_over = after_event(watch, now.seen, which, end, full, n)
            after_system = current.with_theta([seen.mode, *current.theta[1:]]) if plan.has_modes else current
            state = cond(happens, lambda: method.start(after_system, end, jumped), lambda: state)
            y_now = method.value(state)[:n]
            passed = sides_passed(watch, seen, reached, y1)
            turned = sides_after(watch, seen, which, end, y_now, method.derivative(state)[:n])
            seen = seen._replace(sides=np.where(happens, turned.sides, np.where(accepted, passed.sides, seen.sides)))
            code = np.where(np.logical_and(happens, code <= FINISHED), np.where(is_over, EVENT, RUNNING), code)
            code = np.where(np.logical_and(happens, np.logical_and(at_end, code == RUNNING)), FINISHED, code)
            code = np.where(np.logical_and(happens, grazes), GRAZING, trouble_with(seen, code))
            hits = np.logical_and(hits, np.logical_not(happens))
            reached = end
        if plan.stops:
            at_stop = np.logical_and(hits, np.logical_not(at_end))
            stop = stop + at_stop
            state = restarted(within(stop), method, reached, state, at_stop)
        rows = now.rows
        if plan.dense:
            polynomial = coefficients(stepper, now.t, h, now.state, after, accepted)[:, :n]
            at = np.minimum(now.counts.steps, plan.dense - 1)
            rows = with_row(rows, at, Rows(now.t, h, y0, polynomial), accepted)
        log = now.log
        if plan.history:
            log = log.copy()
            record = np.stack([t, trial.h, trial.error, trial.rejections.astype(np.float64)])
            log[np.minimum(now.counts.steps, plan.history - 1)] = np.where(accepted, record, np.nan)
        if plan.callback is not None:
            callback(plan.callback, *detach([reached]), system.layout.tree(detach([method.value(state)])[0][:n]))
        return _Now(
            reached, following, state, errors, code.astype(np.int64), counts,
            saved, out, stop, trial.radius, seen, rows, pinch, log,
        )  # fmt: skip

    kept = plan_steps(plan.checkpoint, state, system.width)
    last = while_loop(goes_on, advance, begin, checkpoint=kept, progress=plan.progress)
    kept = last.state if plan.keeps_state else None
    return Ending(
        last.t, method.value(last.state), last.code, last.counts, last.out, last.h, last.radius, last.seen, last.rows,
        kept, last.log, last.pinch,
    )  # fmt: skip


def _tried(
    plan: Plan, s: Settings, stepper: Stepper, now: _Now, t: Value, aim: Value, direction: Value
) -> tuple[_Trial, Value, Value]:
    """A step that is accepted, or why there is none; the step that was planned, and whether it was taken whole."""
    method = plan.method
    distance = np.abs(aim - t)
    planned = detach([now.h])[0]
    wanted = planned
    if method.adaptive:  # no last step that is much smaller than the one before
        wanted = np.where(np.logical_and(wanted < distance, distance < 1.5 * wanted), 0.5 * distance, wanted)
    close = wanted >= distance * (1 - 1e-12)
    wanted = np.where(close, distance, wanted)
    first = np.where(close, aim - t, direction * wanted)
    smallest = np.maximum(s.min_step, 8 * np.spacing(np.abs(t)))
    state = tree.unflatten(stepper.structure, detach(tree.leaves(now.state)))
    n = stepper.system.size
    k = method.estimate_order + 1.0

    def attempt(trial: _Trial) -> _Trial:
        state = trial.start
        found = stepper.run(t, trial.h, state)
        wide = method.value(state), method.value(found.state)
        before, after = wide[0][:n], wide[1][:n]
        if method.adaptive:
            error = error_norm(found.error[:n], before, after, s.rtol, s.atol, plan.norm)
            if found.second is not None:
                other = error_norm(found.second[:n], before, after, s.rtol, s.atol, plan.norm)
                scale = np.sqrt(error * error + 0.01 * other * other)
                error = np.where(scale > 0, error * error / np.where(scale > 0, scale, 1.0), 0.0)
            if stepper.system.controls_integrals:
                error = np.maximum(error, rest_norm(found.error, *wide, s.rtol, s.atol, n))
            if found.failed is not None:
                error = np.where(found.failed, np.nan, error)
            accepted = error <= 1.0
            exponent = k if found.exponent is None else found.exponent
            # most steps are accepted: a branch, not a power that is thrown away
            smaller = cond(accepted, lambda: trial.h, lambda: trial.h * method.controller.shrink(error, exponent))
            if found.failed is not None:
                smaller = np.where(found.failed, 0.25 * trial.h, smaller)
        else:
            total = np.sum(np.abs(after)) * np.float64(1.0)
            error = np.where(np.isfinite(total), 1.0, np.nan)
            if found.failed is not None:
                error = np.where(found.failed, np.nan, error)
            accepted, smaller = error <= 1.0, 0 * trial.h
        dead = np.logical_and(np.logical_not(accepted), np.abs(smaller) < smallest)
        trouble = np.where(np.isfinite(error), TOO_SMALL, NOT_FINITE)
        code = np.where(dead, trouble, RUNNING).astype(np.int64)
        again = np.logical_and(np.logical_not(accepted), np.logical_not(dead))
        radius = np.float64(0.0) if found.radius is None else found.radius
        return _Trial(
            np.where(accepted, trial.h, smaller), again, found.state, np.where(np.isfinite(error), error, 1.0), radius,
            trial.rejections + np.logical_not(accepted), code,
            trial.work + (np.array(_work(method)) if found.work is None else found.work),
            np.float64(0.0) if found.growth is None else found.growth,
            method.after_rejection(state, found.state) if hasattr(method, "after_rejection") else state,
        )  # fmt: skip

    begin = _Trial(
        first, np.bool_(True), state, np.float64(1.0), np.float64(0.0), _as_int(0), _as_int(RUNNING),
        np.zeros(3, np.int64), np.float64(0.0), state,
    )  # fmt: skip
    # matrices of a batch are factored one after the other: nothing is won where elements go together
    loop = while_loop if method.implicit else try_until
    trial = loop(lambda trial: trial.goes_on, attempt, begin)
    # what was cut to end at the target says nothing about the next step; the last step of a solution is not counted
    return trial, planned, np.logical_or(np.logical_not(close), trial.rejections > 0)


def _work(method: Any) -> list[int]:
    """Evaluations, Jacobians and factorizations of a step."""
    return [method.evaluations, getattr(method, "uses_jacobian", 0), getattr(method, "uses_factors", 0)]


def _save(
    plan: Plan, s: Settings, stepper: Stepper, now: _Now, after: Any, h: Value, direction: Value, y0: Value,
    end_time: Value, y_end: Value,
) -> tuple[Value, Value]:  # fmt: skip
    """Values at the saved times that lie in a step."""
    m, n = plan.saves, stepper.system.size
    times = detach([s.saves])[0]
    end = detach([end_time])[0]
    is_inside = lambda j: np.logical_and(j < m, direction * times[np.minimum(j, m - 1)] <= direction * end)
    dense = coefficients(stepper, now.t, h, now.state, after, is_inside(now.saved))[:, :n]

    def at(t: Value) -> Value:
        return evaluate(y0, dense, ((t - now.t) / np.where(h == 0, 1.0, h)).astype(y0.dtype))

    def put(state: Any) -> Any:
        j, out = state
        time = s.saves[j]
        # at the end the state itself, which moves with the time as the polynomial does
        value = np.where(times[j] == end, y_end + (at(time) - at(end_time)), at(time))
        out = out.copy()
        out[j] = value
        return j + 1, out

    return while_loop(lambda state: is_inside(state[0]), put, (now.saved, now.out))
