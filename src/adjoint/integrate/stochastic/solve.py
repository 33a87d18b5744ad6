"""`solve_sde`: differential equations with noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index as operator_index
from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import scan
from adjoint.base.errors import RuleError
from adjoint.base.source import user_facing
from adjoint.integrate.adjoints.reversible import scan_reversible
from adjoint.integrate.calling import call_recorded
from adjoint.integrate.control import Controller
from adjoint.integrate.derivative import detach
from adjoint.integrate.explicit import Method, Step
from adjoint.integrate.keeping import plan_steps, read_checkpoint
from adjoint.integrate.reading import known_value, read_number, read_span, read_times, read_tolerance
from adjoint.integrate.statuses import FINISHED, NOT_FINITE
from adjoint.integrate.stepping import Plan, Settings, run
from adjoint.integrate.stochastic.backwards import scan_backsolved
from adjoint.integrate.stochastic.brownian import Brownian, check_inside, tree_values
from adjoint.integrate.stochastic.equation import Equation, increment_between, read_equation
from adjoint.integrate.stochastic.methods import Noise, StochasticMethod, choose_stochastic
from adjoint.integrate.system import Arguments, Layout, read_state
from adjoint.integrate.trajectory import Trajectory
from adjoint.ops.custom import Attach
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.random.generator import Generator

__all__ = ["solve_sde"]

SENSES = ("ito", "stratonovich")
ADJOINTS = ("discretize", "reversible", "backsolve")


@user_facing
def solve_sde(
    drift: Callable[..., Any],
    diffusion: Callable[..., Any],
    span: Any,
    y0: Any,
    rng: Any,
    *,
    args: Sequence[Any] = (),
    sense: str = "ito",
    noise: str = "diagonal",
    method: Any = None,
    steps: int | None = None,
    first_step: Any = None,
    save: Any = None,
    rtol: Any = None,
    atol: Any = None,
    max_steps: int = 100_000,
    adjoint: str = "discretize",
    checkpoint: Any = "auto",
) -> Trajectory:
    """A path of dy = f(t, y, *args) dt + g(t, y, *args) dW, y(t₀) = y0: one for each `rng`; `vmap` gives many.

    f is `drift`, g is `diffusion`, y any tree. `noise` says how g meets dW: "diagonal" (g is like y, each number of y
    has a motion of its own), "scalar" (like y, one motion for all), "general" (y with one more axis at the end, over
    the motions), "commutative" (the same, with ∂gⱼ gₖ = ∂gₖ gⱼ) or "additive" (of either shape, without y). `sense` is
    that of the equation; a method of the other sense is given the drift that belongs to it.

    `rng` is a generator, which draws the increments of the steps one by one, or a `Brownian`, the same path for any
    steps. Steps are equal: `steps` of them, or of size `first_step`, with those that end at `save` times between them.
    With `rtol` and `atol` they are chosen by an estimate of the error, where that does not bias: "sra", "sri" and
    "heun" for noise that commutes.

    y0, args, and what f and g close over are differentiated, times are not. `adjoint` is "discretize" (the exact
    derivative of the steps), "reversible" (the same in constant memory, with "reversible-heun"), or "backsolve" (the
    adjoint equation along the same W backwards, in constant memory; Stratonovich).

    ```python
    drift, diffusion = lambda t, y: 0.1 * y, lambda t, y: 0.2 * y
    last = lambda rng: ad.integrate.solve_sde(drift, diffusion, (0.0, 1.0), 1.0, rng, steps=50).last
    values = ad.vmap(last)(ad.random.default_rng(0).split(4000))
    bool(abs(np.mean(values) - np.exp(0.1)) < 0.02)  # → True
    ```
    """
    title = "integrate.solve_sde"
    if sense not in SENSES:
        raise ValueError(f"{title}: sense is {sense!r}; it is 'ito' or 'stratonovich'.")
    if adjoint not in ADJOINTS:
        raise ValueError(f"{title}: adjoint is {adjoint!r}; it is {', '.join(map(repr, ADJOINTS))}.")
    t0, t1 = read_span(title, span)
    t0, t1 = _without_derivative([t0, t1])
    a, b = known_value(t0), known_value(t1)
    if a is not None and b is not None and not np.all(a < b):
        raise ValueError(f"{title}: span is ({a}, {b}); noise goes forwards in time.")
    leaves, layout = read_state(title, "y0", y0)
    arguments = Arguments(args)
    chosen = choose_stochastic(title, method, noise, sense, adjoint)
    f, g, kind, count, is_coupled = read_equation(title, drift, diffusion, layout, arguments, noise)
    if is_coupled and chosen.needs_diagonal:
        raise ValueError(f"{title}: noise='diagonal', but some gᵢ depends on more of y than yᵢ, so that {chosen.name} "
                         "would lose its order. Say noise='general' and return np.diag(g), or take "
                         "method='euler-maruyama'.")  # fmt: skip
    is_adaptive = rtol is not None or atol is not None
    by_steps = isinstance(rng, Generator)
    driver = _read_driver(title, rng, (t0, t1), count)
    _check_adjoint(title, adjoint, chosen)
    correction = 0.0 if sense == chosen.sense or noise == "additive" else (-0.5 if sense == "ito" else 0.5)
    theta = [*f.theta, *g.theta, *driver]
    make = lambda own, by_steps: Equation(
        f.program, g.program, len(f.theta), layout, kind, count, own, by_steps, correction, is_coupled
    )
    saves = _without_derivative([read_times(title, save, t0, t1)])[0]
    shared = (f.program, g.program, layout, kind, count, correction, is_coupled, chosen, noise)
    if is_adaptive:
        _check_adaptive(title, chosen, noise, is_coupled, adjoint, steps)
        settings = Settings(
            t0, t1, read_tolerance(title, "rtol", 1e-3 if rtol is None else rtol, layout),
            read_tolerance(title, "atol", 1e-6 if atol is None else atol, layout),
            read_number(title, "first_step", (t1 - t0) * 0.01 if first_step is None else first_step),
            np.float64(np.inf), np.float64(0.0), np.int64(operator_index(max_steps)), saves, _inner(saves, t0, t1),
        )  # fmt: skip
        kept = read_checkpoint(title, checkpoint, layout, int(settings.max_steps))
        plan = Plan(_Stepped(chosen), "rms", True, saves.shape[0], settings.stops.shape[0], kept)
        whole = lambda *flat: _run_adaptive(plan, make, layout, flat)
        ending = call_recorded((shared, plan), whole, [*settings, *leaves, *theta])
    else:
        grid = _grid(title, t0, t1, steps, first_step, saves)
        kept = read_checkpoint(title, checkpoint, layout, grid.shape[0], known=True)
        key = (shared, by_steps, adjoint, kept, saves.shape[0])
        whole = lambda *flat: _run_fixed(chosen, make, layout, flat, by_steps, adjoint, kept)
        ending = call_recorded(key, whole, [grid, saves, *leaves, *theta])
    at_end = save is None
    times, rows = (np.reshape(ending.t, (1,)), ending.y[None]) if at_end else (saves, ending.saved)
    zero = np.int64(0)
    return Trajectory(
        times, layout.rows(rows), layout.tree(ending.y), ending.t, ending.code, ending.steps, ending.rejections,
        ending.evaluations, zero, zero, zero, np.float64(0.0), method=f"{title} by {chosen.name}",
    )  # fmt: skip


class _Refusal:
    """Paths of noise have no derivative in time."""

    title = "times of solve_sde"

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        raise RuleError("integrate.solve_sde: a path with noise has no derivative in time, so that span and save are "
                        "constants. Write ad.stop_gradient(t), or differentiate an expectation.")  # fmt: skip

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        return self.push(xs, cts)

    def batched(self, mapped: Sequence[bool], size: int) -> _Refusal:
        return self


def _without_derivative(times: Sequence[Value]) -> list[Value]:
    """Times, whose derivative is an error."""
    if not any(isinstance(t, Tracer) for t in times):
        return list(times)
    return list(Attach(_Refusal(), len(times))(*detach(times), *times))


def _read_driver(title: str, rng: Any, span: tuple[Value, Value], count: int) -> list[Value]:
    """What W reads: a key, and its span."""
    if isinstance(rng, Generator):
        return [rng.spawn(1)[0].key, np.float64(0.0), np.float64(1.0)]
    if not isinstance(rng, Brownian):
        raise TypeError(f"{title}: rng is a {type(rng).__name__}; give a generator, ad.random.default_rng(seed), or an "
                        "integrate.Brownian.")  # fmt: skip
    if rng.size != count:
        raise ValueError(f"{title}: the Brownian motion has {rng.size} components, and this noise {count}."
                         f" Make it with shape ({count},).")  # fmt: skip
    check_inside(f"{title}: W is asked for times", *span, rng)
    return [rng.key, *(v if hasattr(v, "dtype") else np.float64(v) for v in (rng.t0, rng.t1))]


def _check_adjoint(title: str, adjoint: str, method: StochasticMethod) -> None:
    if adjoint == "reversible" and not method.reversible:
        raise ValueError(f"{title}: adjoint='reversible' needs a method whose steps can be undone, "
                         f"method='reversible-heun'; {method.name} is none.")  # fmt: skip
    if adjoint == "backsolve" and not method.by_field:
        raise ValueError(f"{title}: adjoint='backsolve' runs the equation back in Stratonovich's sense; take "
                         f"method='midpoint' or 'heun', not {method.name!r}.")  # fmt: skip


def _check_adaptive(
    title: str, method: StochasticMethod, noise: str, is_coupled: bool, adjoint: str, steps: Any
) -> None:
    if noise == "general" or is_coupled:
        raise ValueError(f"{title}: with noise that does not commute, steps that depend on the path lead to another "
                         "limit (the Lévy areas between rejected ends are not those of the path). Give steps=, or say "
                         "noise='commutative' if it is.")  # fmt: skip
    if not method.adaptive:
        raise ValueError(f"{title}: {method.name} does not estimate its error; give steps=, or take 'sra', 'sri' or "
                         "'heun' with rtol and atol.")  # fmt: skip
    if adjoint != "discretize":
        raise ValueError(f"{title}: adjoint={adjoint!r} needs equal steps, steps=; adaptive ones have 'discretize'.")
    if steps is not None:
        raise ValueError(f"{title}: steps= is for equal steps, rtol= and atol= for those that the error chooses.")


def _grid(title: str, t0: Value, t1: Value, steps: Any, first_step: Any, saves: Value) -> Value:
    """Times of the steps: equal ones, and those that are saved."""
    if steps is None:
        if first_step is None:
            raise ValueError(f"{title}: give the steps, steps=100 or first_step=0.01, or tolerances where the method "
                             "estimates its error.")  # fmt: skip
        span, size = known_value(t1 - t0), known_value(first_step)
        if span is None or size is None:
            raise ValueError(f"{title}: how many steps of size first_step there are is not known while a program is "
                             "traced. Give steps=, a number.")  # fmt: skip
        if not float(size) > 0:
            raise ValueError(f"{title}: first_step is {size}; it must be positive.")
        steps = int(np.ceil(np.max(span) / float(size) * (1 - 1e-12)))
    count = operator_index(steps)
    if count < 1:
        raise ValueError(f"{title}: steps is {count}; it must be positive.")
    equal = t0 + (t1 - t0) * (np.arange(count + 1) / count)
    equal[-1] = t1
    if not saves.shape[0]:
        return equal
    known = known_value(saves), known_value(equal)
    if known[0] is not None and known[1] is not None and known[1].ndim == 1:
        near = np.abs(known[0][:, None] - known[1]) <= 1e-12 * np.abs(known[1][-1] - known[1][0])
        kept = known[1][~np.any(near, axis=0)]  # a saved time stands for the step that ends there
        return np.union1d(np.concatenate([kept, known[0]]), known[1][[0, -1]])
    return np.sort(np.concatenate([equal, saves]))


def _inner(saves: Value, t0: Value, t1: Value) -> Value:
    """Saved times between the ends, at which adaptive steps end."""
    known = known_value(saves)
    a, b = known_value(t0), known_value(t1)
    if known is None or a is None or b is None:
        return saves
    return np.unique(known[(known > a) & (known < b)])


class _Ended(NamedTuple):
    t: Value
    y: Value
    saved: Value
    code: Value
    steps: Value
    rejections: Value
    evaluations: Value


def _run_fixed(
    method: StochasticMethod, make: Any, layout: Layout, flat: Sequence[Value], by_steps: bool, adjoint: str,
    checkpoint: Any,
) -> _Ended:  # fmt: skip
    grid, saves, *rest = flat
    n = len(layout.types)
    y0 = layout.vector(tree.unflatten(layout.structure, list(rest[:n])))
    theta = rest[n:]
    equation = make(theta, by_steps)
    state = method.start(equation, grid[0], y0)
    count = grid.shape[0] - 1
    xs = (np.arange(count), grid[:-1], grid[1:] - grid[:-1])

    def step(own: Sequence[Value], x: Any, state: Any) -> Any:
        equation, (k, t, h) = make(own, by_steps), x
        return method.step(equation, t, h, state, Noise(k, *equation.increment(k, t, h)))[0]

    def undo(own: Sequence[Value], x: Any, state: Any) -> Any:
        equation, (k, t, h) = make(own, by_steps), x
        return method.inverse_step(equation, t, h, state, Noise(k, *equation.increment(k, t, h)))

    has_rows = bool(saves.shape[0])
    read = method.value if has_rows else None
    if adjoint == "reversible":
        last, rows = scan_reversible(step, undo, state, xs, theta, read)
    elif adjoint == "backsolve":
        last, rows = scan_backsolved(method, equation, step, state, xs, read)
    else:

        def advance(state: Any, x: Any) -> Any:
            state = step(theta, x, state)
            return state, read(state) if read is not None else None

        last, rows = scan(advance, state, xs, checkpoint=plan_steps(checkpoint, state, layout.size))
    y = method.value(last)
    saved = np.zeros((0, layout.size), layout.dtype)
    if has_rows:
        rows_at = np.sum(grid[None, :] < saves[:, None] - 1e-12 * (grid[-1] - grid[0]), axis=1)
        saved = np.concatenate([y0[None], rows])[rows_at]
    code = np.where(np.all(np.isfinite(detach([y])[0])), FINISHED, NOT_FINITE).astype(np.int64)
    total = np.int64(count)
    return _Ended(grid[-1], y, saved, code, total, np.int64(0), total)


def _run_adaptive(plan: Plan, make: Any, layout: Layout, flat: Sequence[Value]) -> _Ended:
    k, n = len(Settings._fields), len(layout.types)
    settings, theta = Settings(*flat[:k]), list(flat[k + n :])
    own = settings._replace(rtol=settings.rtol.astype(layout.dtype), atol=settings.atol.astype(layout.dtype))
    y0 = layout.vector(tree.unflatten(layout.structure, list(flat[k : k + n])))
    ending = run(plan, make(theta, False), own, y0)
    counts = ending.counts
    return _Ended(ending.t, ending.y, ending.saved, ending.code, counts.steps, counts.rejections, counts.evaluations)


class _Stepped(Method):
    """A method for noise, as the loop of adaptive steps sees one: the state is (its own, W, ∫W)."""

    adaptive = True
    estimate_order = 1
    evaluations = 2
    controller = Controller(0.5, 0.0, safety=0.8, largest=4.0)

    def __init__(self, method: StochasticMethod) -> None:
        self.method, self.name = method, method.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Stepped) and other.method == self.method

    def __hash__(self) -> int:
        return hash(self.method)

    def start(self, f: Equation, t: Value, y: Value) -> Any:
        key, t0, t1 = f.theta[-3:]
        return self.method.start(f, t, y), *tree_values(key, t0, t1, detach([t])[0], f.count)

    def value(self, state: Any) -> Value:
        return self.method.value(state[0])

    def derivative(self, state: Any) -> Value:
        return 0 * self.value(state)

    def step(self, f: Equation, t: Value, h: Value, state: Any) -> Step:
        own, w0, a0 = state
        key, t0, t1 = f.theta[-3:]
        time, size = detach([t, h])
        w1, a1 = tree_values(key, t0, t1, time + size, f.count)
        noise = Noise(np.int64(0), *increment_between(w0, a0, w1, a1, size, f.dtype))
        new, error = self.method.step(f, time, size, own, noise)
        return Step((new, w1, a1), error)

    def interpolant(self, f: Any, t: Value, h: Value, before: Any, after: Any) -> Value:
        """A line; steps end where values are saved."""
        return (self.value(after) - self.value(before))[None]
