"""`solve`: initial value problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import switch
from adjoint.base.errors import ControlFlowError
from adjoint.base.source import user_facing
from adjoint.conversion.driver import prepare
from adjoint.integrate.adjoints.continuous import NAMES, check_plan, solve_continuous
from adjoint.integrate.adjoints.pieces import solve_in_pieces
from adjoint.integrate.adjoints.reversible import solve_reversible
from adjoint.integrate.algebraic import check_start, find_algebraic, settle
from adjoint.integrate.choosing import choose_method
from adjoint.integrate.control import check_norm
from adjoint.integrate.dense import Interpolation
from adjoint.integrate.derivative import detach, record_flat, types_of
from adjoint.integrate.events import occurred, read_events
from adjoint.integrate.integrand_jumps import watch_integrand
from adjoint.integrate.jacobians import FEW, check_split, choose_form
from adjoint.integrate.jumps import tell_of_jumps
from adjoint.integrate.keeping import read_checkpoint
from adjoint.integrate.python_calls import call_in_python
from adjoint.integrate.reading import (
    known_value,
    read_count,
    read_mass,
    read_size,
    read_span,
    read_stops,
    read_times,
    read_tolerance,
)
from adjoint.integrate.refusals import refuse_events, refuse_failed
from adjoint.integrate.splitting import Split
from adjoint.integrate.statuses import RUNNING
from adjoint.integrate.stepping import Ending, Plan, Settings, run
from adjoint.integrate.system import Arguments, Layout, System, check_right_side, read_state, trace_function
from adjoint.integrate.trajectory import History, Trajectory
from adjoint.jit.pipeline import run_program
from adjoint.ops.control.call import Call, run_with
from adjoint.program.program import Program
from adjoint.program.types import Value

__all__ = ["solve"]

run_with(run_program)  # programs that are called run compiled, also where nothing else has loaded the compiler
_programs: dict[Any, tuple[Program, Any]] = {}
MOST_PROGRAMS = 512
MOST_ROWS = 4096  # steps that a traced solution keeps


@user_facing
def solve(
    f: Callable[..., Any],
    span: Any,
    y0: Any,
    *,
    args: Sequence[Any] = (),
    save: Any = None,
    dense: bool = False,
    method: Any = "auto",
    rtol: Any = 1e-6,
    atol: Any = 1e-9,
    norm: Any = "rms",
    first_step: Any = None,
    max_step: Any = np.inf,
    min_step: Any = None,
    max_steps: int = 100_000,
    stops: Any = (),
    integrand: Callable[..., Any] | None = None,
    mass: Any = None,
    start: str = "check",
    jacobian: Any = "auto",
    events: Any = (),
    adjoint: str = "discretize",
    checkpoint: Any = "auto",
    control: str = "state",
    progress: bool | str = False,
    callback: Callable[..., Any] | None = None,
    history: bool = False,
) -> Trajectory:
    """y(t) for y′ = f(t, y, *args), y(t₀) = y0, over span = (t₀, t₁), forwards or backwards.

    y is a number, an array, or any tree of them, real or complex; f is NumPy code. Errors are kept below
    atol + rtol |y| in each step. `save` are times at which y is given (by the dense output of the method's own order);
    without it there is the end alone; with `dense`, `path.at(t)` gives y at any time. `events` are those of `Event`;
    `stops` are times at which f jumps. `integrand`, a function of (t, y, *args), is integrated along the path. `mass`
    is a constant matrix M of M y′ = f(t, y), which may be singular: then some equations are algebraic, and a method
    for stiff equations solves them with the others; start="fix algebraic" first finds algebraic unknowns that fulfill
    them. `jacobian` says how stiff methods find ∂f/∂y: "dense", "sparse"
    (by its pattern and coloring; also given as a matrix), "free" (by products alone), or what fits, "auto".

    y0, args, what f closes over, both ends of the span, saved times and stops are differentiated; steps are not.
    `adjoint` says how: "discretize" is the exact derivative of the steps; checkpoint="auto" keeps all of them if they
    fit, else states in online slots (None keeps all; S, or a plan of `ad.memory`, so many states);
    "reversible" the same for methods whose steps can be undone, without keeping states;
    "interpolate", "quadrature", "backsolve" and "bvp" solve the adjoint equation backwards, "forward" the variational
    equation: the page on adjoints tells them apart. With control="state and tangents", forward derivatives take part
    in the choice of steps.

    `progress`, True or a text, shows the steps while they are taken; `callback(t, y)` is called after each of them with
    plain arrays; with `history`, `path.history` is a record of all steps.

    ```python
    def prey(t, y, rates):
        a, b, c, d = rates
        return {"hare": (a - b * y["lynx"]) * y["hare"], "lynx": (d * y["hare"] - c) * y["lynx"]}

    rates = np.array([0.5, 0.02, 0.9, 0.03])
    path = ad.integrate.solve(prey, (0.0, 20.0), {"hare": 34.0, "lynx": 5.9}, args=(rates,), save=[10.0, 20.0])
    path.status, np.round(path.values["hare"], 3)  # → ('finished', [31.164, 28.559])
    ```
    """
    title = "integrate.solve"
    t0, t1 = read_span(title, span)
    leaves, layout = read_state(title, "y0", y0)
    chosen = choose_method(method, layout.size >= FEW, mass is not None)
    arguments = Arguments(args)
    happenings, event_theta, rights = read_events(title, events, layout, arguments)
    program, theta, extra_structure, extra, stiff_program = _trace(title, f, integrand, layout, arguments, rights)
    masses = read_mass(title, mass, chosen, layout)
    system = System(program, layout, extra, theta).changed(theta, stiff_program=stiff_program)
    form = choose_form(title, jacobian, chosen, system, masses)
    check_split(title, chosen, system)
    check_norm(title, norm)
    check_start(title, start)
    saves = read_times(title, save, t0, t1)
    stop_times = read_stops(title, stops, t0, t1)
    if not chosen.adaptive and first_step is None:
        raise ValueError(f"{title}: {chosen.name} does not estimate its error, so that it cannot choose steps. Give "
                         "the step, first_step=…, or take a method that does, as 'tsit5'.")  # fmt: skip
    settings = Settings(
        t0, t1, read_tolerance(title, "rtol", rtol, layout), read_tolerance(title, "atol", atol, layout),
        np.float64(0.0) if first_step is None else read_size(title, "first_step", np.abs(first_step)),
        read_size(title, "max_step", max_step),
        np.float64(0.0) if min_step is None else read_size(title, "min_step", min_step),
        np.int64(read_count(title, "max_steps", max_steps)), saves, stop_times,
    )  # fmt: skip
    kept = read_checkpoint(title, checkpoint, layout, int(settings.max_steps))
    plan = Plan(
        chosen, norm, first_step is not None, saves.shape[0], stop_times.shape[0], kept, bool(masses),
        happenings, len(event_theta), bool(rights), adjoint, form=form, stiff_program=stiff_program, start=start,
        algebraic=find_algebraic(title, start, masses[0]) if masses else None, progress=progress, callback=callback,
    )  # fmt: skip
    if adjoint != "discretize":
        names = (*NAMES, "reversible")
        if adjoint not in names:
            raise ValueError(f"{title}: adjoint is {adjoint!r}; it is 'discretize', {', '.join(map(repr, names))}.")
        check_plan(title, adjoint, plan, masses[0] if masses else None)
        if control != "state":
            raise ValueError(
                f"{title}: control={control!r} is for adjoint='discretize'; 'forward' controls tangents anyway."
            )
    if control != "state":
        if control != "state and tangents":
            raise ValueError(f"{title}: control is {control!r}; it is 'state' or 'state and tangents'.")
        check_plan(title, "forward", plan, masses[0] if masses else None)
        plan = plan._replace(adjoint="tangents")
    if dense and plan.adjoint != "discretize":
        raise ValueError(f"{title}: dense=True is the dense output of the steps, and its derivative that of "
                         "adjoint='discretize', control='state'. Name times, save=, which go with all.")  # fmt: skip
    if adjoint in ("interpolate", "quadrature"):
        counted = _solved(plan.quiet._replace(adjoint="discretize"), layout, program, extra, settings, leaves,
                          [*theta, *masses, *event_theta])  # fmt: skip
        steps = known_value(counted.counts.steps)
        more = 4 if adjoint == "quadrature" else 2  # that keeps the steps of the way back as well, which may be more
        most = min(max_steps, MOST_ROWS) + 1 if steps is None else 1 << (more * int(np.max(steps)) + 8).bit_length()
        plan = plan._replace(kept=most)
    if adjoint == "reversible":
        plan = plan._replace(
            dense=_reversible_steps(title, plan, layout, program, extra, settings, leaves, [*theta, *event_theta])
        )
    if history and adjoint == "reversible":
        raise ValueError(f"{title}: history=True is a record of all steps, which adjoint='reversible' does not keep.")
    if dense or history:
        quiet = plan.quiet._replace(adjoint="discretize")
        counted = _solved(quiet, layout, program, extra, settings, leaves, [*theta, *masses, *event_theta])
        most = _capacity(title, counted, max_steps, "dense=True" if dense else "history=True")
        plan = plan._replace(dense=most if dense else 0, history=most if history else 0)
    ending = _solved(plan, layout, program, extra, settings, leaves, [*theta, *masses, *event_theta])
    again = [detach(part) for part in (leaves, [*theta, *masses, *event_theta])]
    until = lambda t: _solved(plan.quiet, layout, program, extra, Settings(*detach(settings))._replace(t1=t), *again).y
    note = tell_of_jumps(title, system, ending, (t0, t1), until)
    return _trajectory(title, plan, layout, extra_structure, extra, settings, ending, save is None, note)


def _reversible_steps(
    title: str, plan: Plan, layout: Layout, program: Program, extra: Any, settings: Settings, leaves: Any, theta: Any
) -> int:
    """How many steps there are at most, whose times are kept."""
    if not (plan.method.reversible and hasattr(plan.method, "inverse_step")):
        raise ValueError(f"{title}: adjoint='reversible' undoes steps, and those of {plan.method.name} cannot be. "
                         "Take 'reversible-heun', 'leapfrog-async', or integrate.Reversible(method).")  # fmt: skip
    known = [known_value(v) for v in (settings.t0, settings.t1, settings.first_step)]
    most = int(settings.max_steps)
    if not plan.method.adaptive and all(v is not None and v.ndim == 0 for v in known):
        t0, t1, h = (float(v) for v in known)
        return _rounded(int(np.ceil(abs(t1 - t0) / min(abs(h), abs(t1 - t0)) * (1 - 1e-12))))
    counted = _solved(plan.quiet._replace(adjoint="discretize"), layout, program, extra, settings, leaves, theta)
    return _capacity(title, counted, most, "adjoint='reversible'")


def _rounded(steps: int) -> int:
    """A little more: of each power of two eight sizes, so that few programs are made."""
    unit = 1 << max(steps.bit_length() - 4, 0)
    return -(-steps // unit) * unit


def _capacity(title: str, counted: Ending, most: int, asked: str = "dense=True") -> int:
    """How many steps are kept: those that it takes, or max_steps where that is not known yet."""
    steps = known_value(counted.counts.steps)
    if steps is not None:
        return 1 << (int(np.max(steps)) + 1).bit_length()
    if most > MOST_ROWS:
        raise ValueError(f"{title}: how many steps {asked} keeps is not known while a program is traced. Say how "
                         f"many there are at most, max_steps=…, up to {MOST_ROWS}.")  # fmt: skip
    return most + 1


def _trace(title: str, f: Any, integrand: Any, layout: Layout, args: Arguments, rights: Sequence[Any]) -> Any:
    """The program of f, and of the integrand behind it; θ; and how the integrals are a tree.

    Where events bring other right sides, the number of the one in charge is the first value of θ.
    """
    integrand = None if integrand is None else prepare(integrand)
    if rights:
        sides = [prepare(g) for g in (f, *rights)]
        f = lambda t, y, mode, *given: switch(mode, [lambda g=g: g(t, y, *given) for g in sides])
        given_integrand = integrand
        integrand = None if integrand is None else lambda t, y, mode, *given: given_integrand(t, y, *given)
        args = Arguments((np.int64(0), *args.whole(args.values)))
    if isinstance(f, Split):
        return _trace_split(title, f, integrand, layout, args)
    try:
        right = trace_function(title, "f", f, layout, args)
    except ControlFlowError:
        called = None if rights else call_in_python(title, f, layout, args)
        if called is None:
            raise
        f, right = called, trace_function(title, "f", called, layout, args)
    check_right_side(title, right, layout)
    if integrand is None:
        return right.program, right.theta, None, [], None
    f = prepare(f)
    both = trace_function(title, "f", lambda t, y, *given: (f(t, y, *given), integrand(t, y, *given)), layout, args)
    count = len(layout.types)
    probe = tree.unflatten(both.structure, list(range(both.structure.num_leaves)))
    extra = both.types[count:]
    if any(t.dtype.kind not in "fc" for t in extra):
        raise TypeError(f"{title}: the integrand must return floating-point numbers.")
    return both.program, both.theta, tree.structure(probe[1]), extra, None


def _trace_split(title: str, f: Split, integrand: Any, layout: Layout, args: Arguments) -> Any:
    """A split f: one program of both parts, from which that of the sum and that of the stiff part are taken."""
    for name, part in (("f.stiff", f.stiff), ("f.rest", f.rest)):
        check_right_side(title, trace_function(title, name, part, layout, args), layout)
    further = (lambda t, y, *given: ()) if integrand is None else integrand
    stiff, rest = prepare(f.stiff), prepare(f.rest)

    def whole(t: Value, y: Any, *given: Any) -> Any:
        one, other = stiff(t, y, *given), rest(t, y, *given)
        return tree.map(lambda a, b: a + b, one, other), further(t, y, *given), one

    traced = trace_function(title, "f", whole, layout, args)
    n = len(layout.types)
    probe = tree.unflatten(traced.structure, list(range(traced.structure.num_leaves)))
    program, extra = traced.program, traced.types[n:-n]
    cut = lambda outputs: Program(program.inputs, program.equations, outputs, program.constants)
    structure = None if integrand is None else tree.structure(probe[1])
    return cut(program.outputs[:-n]), traced.theta, structure, extra, cut(program.outputs[-n:])


def _solved(
    plan: Plan, layout: Layout, program: Program, extra: Any, settings: Settings, leaves: Sequence[Value],
    theta: Sequence[Value],
) -> Ending:  # fmt: skip
    """The solution by a compiled program, which is made once for each program of f."""
    inputs = [*settings, *leaves, *theta]
    types = types_of(inputs)
    key = (program, plan, layout.key(), tuple(extra), tuple((t.shape, str(t.dtype)) for t in types))
    if key not in _programs:
        if len(_programs) >= MOST_PROGRAMS:
            _programs.pop(next(iter(_programs)))
        _programs[key] = _record(plan, layout, program, extra, types)
    whole, structure = _programs[key]
    return tree.unflatten(structure, Call(whole)(*inputs))


def _record(plan: Plan, layout: Layout, program: Program, extra: Any, types: Any) -> tuple[Program, Any]:
    found: list[Any] = []
    count, n = len(Settings._fields), len(layout.types)

    def whole(*flat: Value) -> list[Value]:
        settings = Settings(*flat[:count])
        dtype = layout.dtype
        settings = settings._replace(rtol=settings.rtol.astype(dtype), atol=settings.atol.astype(dtype))
        system = System(program, layout, extra, flat[count + n :]).changed(
            flat[count + n :], has_mass=plan.has_mass, form=plan.form, stiff_program=plan.stiff_program
        )  # fmt: skip
        y = layout.vector(tree.unflatten(layout.structure, flat[count : count + n]))
        if system.width > system.size:
            y = np.concatenate([y, np.zeros(system.width - system.size, y.dtype)])
        with np.errstate(all="ignore"):
            if plan.adjoint == "discretize":
                y, code = settle(plan, system, settings, y)
                ending = run(plan, system, settings, y, code)
            else:
                y, code = settle(plan, system, settings, y)
                ending = _differentiated(plan, system, settings, y)
                if code is not None:
                    ending = ending._replace(code=np.where(code == RUNNING, ending.code, code))
        ending = refuse_events(watch_integrand(plan, system, settings, y, refuse_failed(ending)))
        out, structure = tree.flatten(ending)
        found.append(structure)
        return out

    made, captured = record_flat(whole, types)
    assert not captured
    return made, found[0]


def _differentiated(plan: Plan, system: System, settings: Settings, y: Value) -> Ending:
    """A solution by an adjoint that is not that of all steps at once."""
    is_reversible = plan.adjoint == "reversible"
    solve = solve_reversible if is_reversible else partial(solve_continuous, plan.adjoint)
    if plan.stops or plan.events.size:
        return solve_in_pieces(solve, plan, system, settings, y, is_reversible)
    return solve(plan, system, settings, y)


def _trajectory(
    title: str, plan: Plan, layout: Layout, extra_structure: Any, extra: Any, settings: Settings, ending: Ending,
    at_end: bool, note: str,
) -> Trajectory:  # fmt: skip
    n = layout.size
    y = ending.y
    times, rows = (ending.t[None], y[None, :n]) if at_end else (settings.saves, ending.saved)
    integrals = None
    if extra:
        integrals = Layout(extra_structure, extra).tree(y[n:])
    counts = ending.counts
    interpolation = None if ending.dense is None else Interpolation(ending.dense, layout)
    events = None
    if plan.events.size:
        events = [occurred(layout, ending.events[0], ending.events[1], i) for i in range(plan.events.size)]
    record = ending.history
    if record is not None:
        taken = known_value(counts.steps)
        record = History(*(record[: int(taken)] if taken is not None and taken.ndim == 0 else record).T)
    return Trajectory(
        times, layout.rows(rows), layout.tree(y[:n]), ending.t, ending.code, counts.steps, counts.rejections,
        counts.evaluations, counts.jacobians, counts.factorizations, counts.stiff,
        ending.radius * abs(settings.t1 - settings.t0), integrals, events, interpolation,
        history=record, method=f"{title} by {plan.method.name}", note=note,
    )  # fmt: skip
