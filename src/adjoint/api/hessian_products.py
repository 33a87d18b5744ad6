"""Products of Hessians with vectors, in four ways, and the choice between them: by predicted cost or by the clock.

∇²f(x)[v]  =  ∂(∇f)(x)[v]  =  ∂(∇f)(x)*[v]  =  ∇(∂f(·)[v])(x)  =  (∂²f(x)[v, eᵢ])ᵢ
              forward over   reverse over    reverse over      forward over
              reverse        reverse         forward           forward
"""

from __future__ import annotations

import functools
import math
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api import control_flow
from adjoint.api.gradients import Function, grad, jvp, vjp, vmap
from adjoint.base.errors import DtypeError
from adjoint.base.forking import free_in_child
from adjoint.base.records import record
from adjoint.base.source import user_facing
from adjoint.program.journal import Journal, journal
from adjoint.program.program import Equation, Program, interpret
from adjoint.program.record import Record, is_symbolic, record_program
from adjoint.program.trace import Tracer, live_trace
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.simplify.costs import cost, elements
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.transform.arguments import fresh, plain_value, select
from adjoint.transform.record_function import record_function

__all__ = ["HVP_MODES", "HvpTimes", "hvp", "hvp_times", "predicted_hvp_costs"]

HVP_MODES = ("forward-over-reverse", "reverse-over-reverse", "reverse-over-forward", "forward-over-forward")
QUICK = HVP_MODES[:3]  # those whose cost is a small multiple of that of f

CALL = 5000.0  # what one primitive costs before it does anything, when Python runs it: in units of `simplify.costs`
BATCH = 1 << 16  # elements: how many directions forward over forward pushes at once
PATIENCE = 0.05  # seconds of timing for each mode
RUNS = 20
WORTH = 1.2  # how much cheaper than forward over reverse another mode must be predicted to be


@user_facing
def hvp(
    function: Function, primals: Sequence[tree.Tree], tangents: Sequence[tree.Tree], mode: str = "auto"
) -> tree.Tree:
    """The Hessian of a scalar function times a vector, without the matrix: ∇²f(x)[v].

    The result is a tree like x (a tuple of trees for several arguments).

    Modes: "forward-over-reverse", "reverse-over-reverse", "reverse-over-forward", each a small multiple of the cost of
    f; "forward-over-forward", one second derivative for each input element, which stores nothing on the way; "auto",
    the first, unless the program of another one costs clearly less; "measure", the one of the three that was fastest
    when they were timed, once for each function and types of x.

    ```python
    ad.hvp(lambda x: x[0] ** 2 * x[1], (np.array([2.0, 3.0]),), (np.array([1.0, 0.0]),))  # → [6.0, 4.0]
    ```
    """
    if mode not in (*HVP_MODES, "auto", "measure"):
        raise ValueError(f"hvp: mode {mode!r} is none of auto, measure, {', '.join(HVP_MODES)}.")
    for given, name in ((primals, "primals"), (tangents, "tangents")):
        if not isinstance(given, tuple | list):
            raise TypeError(f"hvp: {name} must be a tuple, with an entry for each argument of the function; got "
                            f"{type(given).__name__}. For one argument: hvp(f, (x,), (v,)).")  # fmt: skip
    primals, tangents = tuple(primals), tuple(tangents)
    select(function, tuple(range(len(primals))), primals, {}, "hvp")  # names what has no derivative
    if mode in ("auto", "measure"):
        mode = _choose_mode(function, primals, tangents, mode)
    result = _product(mode, function, primals, tangents)
    return result if len(primals) > 1 else result[0]


def _product(mode: str, function: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    every = tuple(range(len(primals)))
    gradient = grad(function, every)
    if mode == "forward-over-reverse":
        return jvp(gradient, primals, tangents)[1]
    if mode == "reverse-over-reverse":
        _, pullback = vjp(gradient, *primals)
        return pullback(tangents)
    if mode == "reverse-over-forward":
        return grad(lambda *xs: jvp(function, xs, tangents)[1], every)(*primals)
    return _forward_over_forward(function, primals, tangents)


def _forward_over_forward(function: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    """∂²f(x)[v, eᵢ] for every i, a few i at a time: what is live does not grow with the length of f.

    For a complex x, ∂²f(x)[v, eᵢ] + i ∂²f(x)[v, i eᵢ]: first all real units, then the imaginary ones.
    """
    leaves, structure = tree.flatten(primals)
    types = [type_of(plain_value(leaf, "hvp: an argument")) for leaf in leaves]
    ends = np.cumsum([0, *[math.prod(t.shape) * (2 if t.dtype.kind == "c" else 1) for t in types]])
    size = int(ends[-1])

    def unit(i: Value, start: int, t: ArrayType) -> Value:
        n = math.prod(t.shape)
        e = np.equal(np.arange(start, start + n), i).astype(t.dtype)
        if t.dtype.kind == "c":
            e = e + np.equal(np.arange(start + n, start + 2 * n), i).astype(t.dtype) * t.dtype.type(1j)
        return np.reshape(e, t.shape)

    def second(i: Value) -> Value:
        units = [unit(i, start, t) for start, t in zip(ends[:-1], types, strict=True)]
        along = tuple(tree.unflatten(structure, units))
        found = jvp(lambda *xs: jvp(function, xs, tangents)[1], primals, along)[1]
        if type_of(found).dtype.kind == "c":
            raise DtypeError(f"hvp needs a real output; the function returned {type_of(found)}. Take np.real of it.")
        return found

    def gather(stack: Value, start: int, t: ArrayType) -> Value:
        n = math.prod(t.shape)
        part = stack[start : start + n]
        if t.dtype.kind == "c":
            part = (part + 1j * stack[start + n : start + 2 * n]).astype(t.dtype)
        return np.reshape(part, t.shape)

    batch = min(max(BATCH // max(size, 1), 1), size)
    if size == 0:
        return tree.unflatten(structure, [t.zeros() for t in types])
    many = vmap(second) if batch > 1 else lambda i: np.reshape(second(i[0]), (1,))
    indices = np.arange(size + (-size) % batch).reshape(-1, batch)
    if len(indices) > 1 and any(map(is_symbolic, leaves)):
        found = np.reshape(control_flow.map(many, indices), (-1,))
    else:
        found = np.concatenate([many(row) for row in indices])
    out = [gather(found, start, t) for start, t in zip(ends[:-1], types, strict=True)]
    return tree.unflatten(structure, fresh(out))


# which one


@final
@record
class HvpTimes:
    """How long f and its Hessian-vector products took, in seconds: the least of several runs, alternating.

    ```python
    times = ad.curvature.hvp_times(np.sin, (1.0,), (1.0,))
    times.function > 0  # → True
    ```
    """

    function: float
    products: dict[str, float]
    compiled: bool = False
    runs: int = field(default=1, compare=False)

    @property
    def fastest(self) -> str:
        """The mode that took least."""
        return min(self.products, key=self.products.__getitem__)

    @property
    def ratio(self) -> float:
        """The time of the fastest product in units of the time of f."""
        return self.products[self.fastest] / self.function

    def __str__(self) -> str:
        rows = [("f", self.function), *sorted(self.products.items(), key=lambda item: item[1])]
        lines = [f"{name:22} {1e6 * seconds:12.1f} µs {seconds / self.function:8.1f} × f" for name, seconds in rows]
        return "\n".join(lines)


class _Memory:
    """What is known about a function, by the types of its arguments."""

    def __init__(self) -> None:
        self._lock = free_in_child(threading.Lock())
        self._known: weakref.WeakKeyDictionary[Any, dict[Hashable, Any]] = weakref.WeakKeyDictionary()

    def find(self, function: Any, key: Hashable, make: Callable[[], Any]) -> Any:
        owner, more = _identity(function)
        try:
            with self._lock:
                store = self._known.setdefault(owner, {})
        except TypeError:  # it cannot be referred to weakly
            return make()
        full_key = (more, key)
        if full_key not in store:
            found = make()
            if found is None:
                return None
            if len(store) >= 256:
                store.clear()
            store[full_key] = found
        return store[full_key]

    def forget(self, function: Any, key: Hashable) -> None:
        owner, more = _identity(function)
        self._known.get(owner, {}).pop((more, key), None)


_predictions, _timings = _Memory(), _Memory()


def _identity(function: Any) -> tuple[Any, Hashable]:
    """What stands for a function: its code, so that one made again in every call is known, and what it closes over."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    if code is None:
        return function, None
    inside: list[Any] = []
    for cell in getattr(function, "__closure__", None) or ():
        try:
            value = cell.cell_contents
        except ValueError:  # not bound yet
            continue
        if isinstance(value, int | str | bool | type(None)):
            inside.append(value)
        elif callable(value):
            inside.append(id(getattr(value, "__code__", value)))
    return code, tuple(inside)


def _key(primals: tuple[Any, ...]) -> Hashable:
    leaves, structure = tree.flatten(primals)
    return structure, tuple(type_of(plain_value(leaf, "hvp: an argument")) for leaf in leaves)


def _is_compiling() -> bool:
    """Whether a program is being written, in which nothing is computed that is not needed."""
    trace = live_trace()
    while trace is not None:
        if isinstance(trace, Record):
            return True
        trace = trace.outer
    return False


def _choose_mode(function: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...], mode: str) -> str:
    try:
        _key(primals)
    except (TypeError, ValueError):  # no arguments to differentiate: the product itself says why
        return HVP_MODES[0]
    compiled = _is_compiling()
    if mode == "measure":
        values = not any(isinstance(leaf, Tracer) for leaf in tree.leaves((primals, tangents)))
        make = (lambda: _time_modes(function, primals, tangents)) if values and not compiled else lambda: None
        times = _timings.find(function, (_key(primals), compiled), make)
        if times is not None:
            return times.fastest
    costs = predicted_hvp_costs(function, primals, compiled=compiled)
    best = min(costs, key=costs.__getitem__) if costs else HVP_MODES[0]
    # it stores least, and others must be worth it
    return best if costs and costs[best] * WORTH < costs[HVP_MODES[0]] else HVP_MODES[0]


def predicted_hvp_costs(
    function: Function, primals: Sequence[tree.Tree], *, compiled: bool = False
) -> dict[str, float]:
    """What ∇²f(x)[v] costs in each of the first three modes, in units of one addition; {} where it cannot be told.

    f is recorded once, for the types of its arguments. `compiled` programs leave out what nothing reads, and pay
    nothing for each primitive; eager ones run everything.

    ```python
    costs = ad.curvature.predicted_hvp_costs(lambda x: np.sum(np.sin(x) ** 2), (np.ones(10),))
    sorted(costs)  # → ['forward-over-reverse', 'reverse-over-forward', 'reverse-over-reverse']
    ```
    """
    primals = tuple(primals)
    found = _predictions.find(function, (_key(primals), compiled), lambda: _predict_costs(function, primals, compiled))
    return dict(found)


def _predict_costs(function: Function, primals: tuple[Any, ...], compiled: bool) -> dict[str, float]:
    leaves, structure = tree.flatten(primals)
    types = [type_of(plain_value(leaf, "hvp: an argument")) for leaf in leaves]
    types = [ArrayType(t.shape, t.dtype if t.differentiable else np.dtype(np.float64)) for t in types]
    changes = Journal()  # generators that the function draws from must not notice
    try:
        with journal(changes):
            record = Record()
            bind = lambda xs: (function, tree.unflatten(structure, xs), {})
            recorded = record_function(function, bind, record, [record.input(t) for t in types], may_draw=True)
        costs: dict[str, float] = {}
        for mode in QUICK:
            read = lambda *xs: interpret(recorded.program, [*xs, *recorded.captured])[0]
            both = lambda *flat, mode=mode, read=read: _product(mode, read, flat[: len(types)], flat[len(types) :])
            found, _ = record_program(both, [*types, *types])
            costs[mode] = _program_cost(found, compiled)
    except Exception:  # Python asks for values, or something that only hvp itself can explain: it will
        return {}
    finally:
        changes.restore(given_up=True)
    return costs


def _program_cost(program: Program, compiled: bool) -> float:
    if compiled:
        program = drop_dead_code(program)
    return sum(_equation_cost(eq) + (0.0 if compiled else CALL) for eq in program.equations)


def _equation_cost(eq: Equation) -> float:
    found = cost(eq)
    if math.isfinite(found):
        return found
    # decompositions, solutions, special functions: a few operations for each row of every matrix
    types = [a.type for a in (*eq.inputs, *eq.outputs)]
    rows = max((t.shape[-1] for t in types if t.ndim > 1 and isinstance(t.shape[-1], int)), default=60)
    return float(rows * max(map(elements, types), default=0))


@user_facing
def hvp_times(
    function: Function,
    primals: Sequence[tree.Tree],
    tangents: Sequence[tree.Tree],
    *,
    again: bool = False,
    compiler: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None,
) -> HvpTimes:
    """How long the first three modes of `hvp` take on this function: what `mode="measure"` goes by.

    Measured once for each function and types of its arguments, or `again`. With `compiler=ad.jit` the compiled products
    are timed: what `mode="measure"` goes by inside compiled functions, where it cannot time anything itself.

    ```python
    times = ad.curvature.hvp_times(lambda x: np.sum(np.sin(x) ** 2), (np.ones(10),), (np.ones(10),))
    sorted(times.products)  # → ['forward-over-reverse', 'reverse-over-forward', 'reverse-over-reverse']
    ```
    """
    primals, tangents = tuple(primals), tuple(tangents)
    key = (_key(primals), compiler is not None)
    if again:
        _timings.forget(function, key)
    return _timings.find(function, key, lambda: _time_modes(function, primals, tangents, compiler))


def _time_modes(
    function: Function,
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    compiler: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None,
) -> HvpTimes:
    changes = Journal()
    with journal(changes):
        found = _race(function, primals, tangents, compiler)
    changes.restore(given_up=True)
    return found


def _race(function: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...], compiler: Any) -> HvpTimes:
    made = (lambda f: f) if compiler is None else compiler
    alone = made(function)
    runs: dict[str, Callable[[], Any]] = {"f": lambda: alone(*primals)}
    for mode in QUICK:
        product = made(lambda p, t, mode=mode: _product(mode, function, p, t))
        runs[mode] = lambda product=product: product(primals, tangents)
    for run in runs.values():  # the first run finds its rules, fills caches, compiles
        run()
    least = dict.fromkeys(runs, math.inf)
    begun, count = time.perf_counter(), 0
    while count < 3 or (count < RUNS and time.perf_counter() - begun < PATIENCE * len(runs)):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            least[name] = min(least[name], time.perf_counter() - start)
        count += 1
    return HvpTimes(least.pop("f"), least, compiler is not None, count)
