"""The frame of an iterative solver: loops that are plain Python on plain arrays and `while_loop` on traced values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import cond, while_loop
from adjoint.debug import callback as call_back
from adjoint.linear.solvers.monitor import Monitor
from adjoint.linear.solvers.solution import CONVERGED, MAX_ITERATIONS, NOT_FINITE, RUNNING, STAGNATED
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = [
    "TRACED",
    "Flat",
    "Limits",
    "Outcome",
    "asymmetry",
    "both",
    "close_monitor",
    "either",
    "empty_history",
    "finish",
    "inner",
    "iterate",
    "keep_types",
    "loop",
    "make_filled",
    "no",
    "norm",
    "real_inner",
    "target_for",
    "vanishes",
    "when",
    "with_entry",
]  # fmt: skip

Flat = Callable[[Value], Value]  # a linear map on vectors
SLACK = 10.0  # how far the true residual may lie above the one that was carried along


class Limits(NamedTuple):
    """When to stop, and whom to tell."""

    tol: Value
    atol: Value
    iterations: int
    monitor: Monitor | None = None
    history: bool = False
    restart: int = 30

    def without_numbers(self) -> Limits:
        """The same for a program, which is given the tolerances."""
        return self._replace(tol=0.0, atol=0.0)

    def quiet(self) -> Limits:
        """The same, and nobody is told."""
        return self._replace(monitor=None, history=False)


class Outcome(NamedTuple):
    """How an iteration ended."""

    x: Value
    code: Value
    iterations: Value
    residual: Value
    target: Value
    asymmetry: Value
    history: Value | None


def either(condition: Any, yes: Any, no: Any) -> Any:
    """One of two numbers, or vectors."""
    return np.where(condition, yes, no) if isinstance(condition, TRACED) else yes if condition else no


def both(a: Any, b: Any) -> Any:
    """a and b."""
    return np.logical_and(a, b) if isinstance(a, TRACED) or isinstance(b, TRACED) else a and b


def no(a: Any) -> Any:
    """not a."""
    return not a if isinstance(a, bool | np.bool_) else np.logical_not(a)


def inner(u: Value, v: Value) -> Value:
    """⟨u, v⟩ = Σ conj(u) v, for vectors."""
    return np.vdot(u, v)


def real_inner(u: Value, v: Value) -> Value:
    """Re ⟨u, v⟩."""
    found = np.vdot(u, v)
    return np.real(found) if found.dtype.kind == "c" else found


def norm(v: Value) -> Value:
    """‖v‖."""
    return np.sqrt(real_inner(v, v))


def loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], state: Any) -> Any:
    """while condition(state): state = body(state)."""
    if any(isinstance(leaf, TRACED) for leaf in tree.leaves(state)):
        return while_loop(condition, lambda now: keep_types(body(now), now), state)
    while condition(state):
        state = body(state)
    return state


def keep_types(new: Any, old: Any) -> Any:
    """A state with the precision of the one before it: either(c, 1.0, 2.0) is a number of double precision."""
    leaves, structure = tree.flatten(new)
    before, expected = tree.flatten(old)
    if structure != expected:
        return new
    return tree.unflatten(structure, [_cast(a, b) for a, b in zip(leaves, before, strict=True)])


def _cast(new: Any, old: Any) -> Any:
    differs = isinstance(new, TRACED) and hasattr(old, "dtype") and new.dtype != old.dtype
    return new.astype(old.dtype) if differs and new.dtype.kind == old.dtype.kind == "f" else new


def when(condition: Any, make: Callable[[], Value], instead: Value) -> Value:
    """make() where the condition holds."""
    return cond(condition, make, lambda: instead)


def target_for(size: Value, limits: Limits) -> Value:
    """The residual to reach: max(tol ‖b‖, atol)."""
    return np.maximum(limits.tol * size, limits.atol + 0 * size)


def iterate(
    step: Callable[[Any], tuple[Any, Value, Any, Any]],
    state: Any,
    start: Value,
    size: Value,
    limits: Limits,
    trouble: Any = RUNNING,
) -> tuple[Any, Any, Any, Value, Value | None]:
    """Repeat (state, residual, trouble, count) = step(state) until the residual is small or something is wrong.

    `start` is the first residual, `size` the norm of the right side, `trouble` what is wrong from the beginning. Gives
    (state, code, iterations, target, history).
    """
    target = target_for(size, limits)
    history: Any = None
    if limits.history:
        history = with_entry(empty_history(limits, target), 0, start)
    code = either(start <= target, CONVERGED, either(np.isfinite(start), trouble, NOT_FINITE))

    def goes_on(now: Any) -> Any:
        _, code, done, _ = now
        return both(code == RUNNING, done < limits.iterations)

    def advance(now: Any) -> Any:
        state, _, done, history = now
        state, residual, trouble, count = step(state)
        code = either(residual <= target, CONVERGED, either(np.isfinite(residual), trouble, NOT_FINITE))
        done = done + count
        if history is not None:
            history = with_entry(history, done, residual)
        if limits.monitor is not None:
            call_back(limits.monitor, done, residual)
        return state, code, done, history

    state, code, done, history = loop(goes_on, advance, (state, code, 0, history))
    return state, either(code == RUNNING, MAX_ITERATIONS, code), done, target, history


def empty_history(limits: Limits, like: Value) -> Value:
    """Space for the residual after each iteration."""
    return make_filled((limits.iterations + 1,), like.dtype, np.nan, like)


def make_filled(shape: tuple[int, ...], dtype: Any, value: float, like: Value) -> Value:
    """An array of one number: a new one, or where `like` is traced one that the program makes when it runs."""
    if isinstance(like, TRACED):
        return np.broadcast_to((value + 0 * like).astype(dtype), shape)
    return np.full(shape, value, dtype)


def with_entry(array: Value, index: Any, value: Value) -> Value:
    """array[index] = value, in the array itself when all are plain."""
    if isinstance(value, TRACED) and not isinstance(array, TRACED):  # what was made before anything was traced
        here = np.reshape(np.arange(array.shape[0]) == index, (-1, *(1,) * (array.ndim - 1)))
        return np.where(here, value, array)
    array = array.copy() if isinstance(array, TRACED) else array
    array[index] = value
    return array


def close_monitor(limits: Limits) -> None:
    """Whoever was told of the iterations is told that there are no more."""
    if limits.monitor is not None:
        call_back(limits.monitor.end)


def finish(
    A: Flat, b: Value, x: Value, code: Any, iterations: Any, target: Value, history: Value | None, symmetric: bool
) -> Outcome:
    """The outcome with the true residual; a method for symmetric operators that failed looks whether A is one."""
    residual, size = norm(b - A(x)), norm(b)
    hidden = 4 * float(np.finfo(b.dtype).eps) * size  # what rounding alone explains
    code = either(both(code == CONVERGED, residual > SLACK * target + hidden), STAGNATED, code)
    code = either(vanishes(b, size), STAGNATED, code)
    defect: Any = 0 * size
    if symmetric and b.size:
        defect = when(code != CONVERGED, lambda: asymmetry(A, b), defect)
    return Outcome(x, code, iterations, residual, target, defect, history)


def vanishes(v: Value, size: Value) -> Any:
    """Whether the squares of a vector that is not zero are too small for its norm."""
    return both(size <= 0, np.any(v != 0))


def asymmetry(A: Flat, b: Value) -> Value:
    """|⟨b, A A b⟩ - ⟨A b, A b⟩| relative to the norms: zero where A is symmetric on the Krylov space of b."""
    Ab = A(b)
    AAb = A(Ab)
    square = real_inner(Ab, Ab)
    scale = square + norm(b) * norm(AAb)
    defect = np.abs(inner(b, AAb) - square) / either(scale > 0, scale, 1)
    return either(np.isfinite(defect), defect, 0 * scale)
