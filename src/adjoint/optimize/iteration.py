"""The loop that all methods share: plain Python on plain arrays, `while_loop` on traced values.

A method is a frozen object with

    init(problem, x) → state        step(problem, x, state) → (x, state)        done(problem, x, state) → code

where x is a vector of real numbers, states are trees with the fields `value`, `gradient` and `code`, and a code is one
of `statuses`, RUNNING as long as it goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import fori_loop
from adjoint.base.errors import TreeError
from adjoint.debug import callback as call_back
from adjoint.linear.solvers.iteration import TRACED, both, either, keep_types, make_filled, no, norm, with_entry
from adjoint.linear.solvers.monitor import Monitor
from adjoint.optimize.problem import Problem
from adjoint.optimize.statuses import (
    CONVERGED,
    INTERRUPTED,
    MAX_EVALUATIONS,
    MAX_ITERATIONS,
    NO_PROGRESS,
    NOT_FINITE,
    RUNNING,
    STOPPED,
    UNBOUNDED,
)
from adjoint.program.types import Value

__all__ = ["Ending", "Iterate", "Limits", "Method", "as_code", "judge", "note_best", "repeat", "run"]


class Method(Protocol):
    """What a method of minimization is."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The oracles that it calls."""
        ...

    @property
    def descends(self) -> bool:
        """Whether no point is worse than the one before, so that the last one is the best."""
        ...

    def init(self, problem: Problem, x: Value) -> Any:
        """The state at the start."""
        ...

    def step(self, problem: Problem, x: Value, state: Any) -> tuple[Value, Any]:
        """The next point and state."""
        ...

    def done(self, problem: Problem, x: Value, state: Any) -> Value:
        """RUNNING, or how it ended."""
        ...


class Iterate(NamedTuple):
    """What `callback` and `stop` are called with after each iteration.

    ```python
    seen = []
    found = ad.optimize.minimize(lambda x: (x - 2.0) ** 2, 0.0, callback=seen.append)
    seen[-1].iteration == found.iterations, seen[-1].x == found.value  # → (True, True)
    ```
    """

    iteration: Any
    x: Any
    fun: Any
    residual: Any


class Limits(NamedTuple):
    """When to stop, and whom to tell."""

    iterations: int
    evaluations: int | None = None
    history: bool = False
    callback: Callable[[Iterate], object] | None = None
    stop: Callable[[Iterate], Any] | None = None
    monitor: Monitor | None = None
    certify: bool = False  # keep what promises of methods are about


class Ending(NamedTuple):
    """How an iteration ended, on vectors."""

    x: Value
    value: Value
    gradient: Value
    code: Value
    iterations: Value
    residual: Value
    history: Any
    state: Any


def note_best(error: KeyboardInterrupt, ending: Ending) -> None:
    """How far a search came that the keyboard ended."""
    error.args = (*error.args, "the best point so far is .optimum of this exception")
    error.ending = ending  # type: ignore[attr-defined]


def judge(problem: Problem, x: Value, state: Any) -> Value:
    """Whether the gradient is small, something not finite, or the value falls without end; or what the state says."""
    residual = problem.measure(x, state.gradient)
    code = either(state.code != RUNNING, state.code, either(residual <= problem.tol, CONVERGED, RUNNING))
    finite = both(np.isfinite(state.value), np.isfinite(residual))
    return as_code(either(problem.is_unbounded(state.value), UNBOUNDED, either(finite, code, NOT_FINITE)))


def measure(problem: Any, x: Value, state: Any) -> Value:
    """How far x is from fulfilling the conditions: as the state says, or by the gradient."""
    found = getattr(state, "measure", None)
    return problem.measure(x, state.gradient) if found is None else found


def as_code(code: Any) -> Any:
    """A code as a value of a state."""
    return code if isinstance(code, TRACED) else np.int64(code)


def repeat(count: int, body: Callable[[Any, Any], Any], state: Any, reads: Any = ()) -> Any:
    """state = body(i, state) for i in range(count): a loop of the program where all that it reads is traced."""
    if all(any(isinstance(leaf, TRACED) for leaf in tree.leaves(part)) for part in (state, *reads)):
        return fori_loop(0, count, lambda i, now: keep_types(body(i, now), now), state)
    for i in range(count):
        state = body(i, state)
    return state


# what a state says of the point and of the problem as it is now; all else is what a method has learned
CURRENT = {"value", "gradient", "values", "vectors", "residuals", "jacobian", "scaled", "sizes", "measure", "direction",
           "factors", "code", "smooth", "trial", "before", "atoms", "weights", "count"}  # fmt: skip


def _resume(problem: Any, method: Any, state: Any, warm: Any) -> Any:
    """The state at a point, with what the method has learned in an earlier run: the problem may be another one now."""
    kinds = [tree.structure(part) for part in (state, warm)]
    if type(warm).__name__ != type(state).__name__ or kinds[0] != kinds[1]:
        raise TreeError(f"{problem.title}: warm is of another method or of other unknowns; it is the state of an "
                        f"earlier answer by {type(method).__name__}.")  # fmt: skip
    for new, old in zip(tree.leaves(state), tree.leaves(warm), strict=True):
        if np.shape(new) != np.shape(old):
            raise TreeError(f"{problem.title}: warm holds an array of shape {np.shape(old)}, where one of shape "
                            f"{np.shape(new)} is needed: it is of a problem with other unknowns.")  # fmt: skip
    current = CURRENT | ({"fresh"} if hasattr(state, "direction") else set())
    return state._replace(**{name: getattr(warm, name) for name in state._fields if name not in current})


def _measure_step(s: Value, before: Any, after: Any) -> dict[str, Value]:
    """What a step tells of promises: ‖∇f⁺‖, ⟨∇f, s⟩, ⟨∇f⁺, s⟩, and how far B⁺ y is from s."""
    found = {
        "gradient": norm(after.gradient),
        "along": np.vdot(before.gradient, s),
        "after": np.vdot(after.gradient, s),
    }
    if hasattr(after, "inverse"):
        y = after.gradient - before.gradient
        size = norm(s)
        taken = both(np.vdot(s, y) > 0, no(after.fresh))
        off = norm(after.inverse @ y - s) / either(size > 0, size, 1.0 + 0 * size)
        found["secant"] = either(taken, off, 0 * off)
    return found


class _Best(NamedTuple):
    x: Value
    value: Value
    gradient: Value


def run(method: Any, problem: Any, x: Value, limits: Limits, warm: Any = None) -> Ending:
    """Repeat the step of a method until it is done."""
    state = method.init(problem, x)
    state = state if warm is None else _resume(problem, method, state, warm)
    code = method.done(problem, x, state)
    residual = measure(problem, x, state)
    best = None if method.descends else _Best(x, state.value, state.gradient)
    history: Any = None
    if limits.history:
        first = {"fun": state.value, "residual": residual, "step": 0 * residual}
        space = lambda: make_filled((limits.iterations + 1,), residual.dtype, np.nan, residual)
        if limits.certify:
            first |= _measure_step(0 * x, state, state)
        history = {name: with_entry(space(), 0, entry) for name, entry in first.items()}

    def goes_on(now: Any) -> Any:
        _, _, code, count, _, _ = now
        going = both(code == RUNNING, count < limits.iterations)
        return going if limits.evaluations is None else both(going, problem.evaluations() < limits.evaluations)

    def advance(now: Any) -> Any:
        x, state, _, count, best, history = now
        before, earlier = x, state
        x, state = method.step(problem, x, state)
        code, count = method.done(problem, x, state), count + 1
        if best is not None:
            better = both(state.value < best.value, np.isfinite(measure(problem, x, state)))
            better = both(better, problem.is_feasible(x))
            best = _Best(*[either(better, a, b) for a, b in zip((x, state.value, state.gradient), best, strict=True)])
        if history is not None or limits.callback or limits.stop or limits.monitor:
            residual = measure(problem, x, state)
            if history is not None:
                entries = {"fun": state.value, "residual": residual, "step": norm(x - before)}
                if limits.certify:
                    entries |= _measure_step(x - before, earlier, state)
                history = {name: with_entry(history[name], count, entries[name]) for name in history}
            if not isinstance(count, TRACED):
                _keep(problem, (x, state, code, count, best, history))  # Ctrl-C may come while they look
            code = _reported(problem, limits, Iterate(count, x, state.value, residual), code)
        return x, state, code, count, best, history

    now = (x, state, code, np.int64(0), best, history)
    try:
        now = problem.loop(goes_on, advance, now, lambda last: _keep(problem, last))
    except KeyboardInterrupt as error:
        x, state, _, count, best, history = problem.last or now
        note_best(error, _ending(problem, x, state, as_code(INTERRUPTED), count, best, history))
        raise
    x, state, code, count, best, history = now
    finish = getattr(method, "finish", None)  # what steps do not need, and a result has
    state = state if finish is None else finish(problem, x, state)
    out_of_time = MAX_ITERATIONS
    if limits.evaluations is not None:
        out_of_time = either(count >= limits.iterations, MAX_ITERATIONS, MAX_EVALUATIONS)
    code = as_code(either(code == RUNNING, out_of_time, code))
    if limits.monitor is not None:
        call_back(limits.monitor.end)
    return _ending(problem, x, state, code, count, best, history)


def _ending(problem: Problem, x: Value, state: Any, code: Value, count: Value, best: Any, history: Any) -> Ending:
    value, gradient = state.value, state.gradient
    if best is not None:
        # a last point that is no better gives way to the best one; where it had converged it stays unless it is worse
        worse = np.logical_not(value <= best.value)
        x, value, gradient = (either(worse, b, a) for a, b in zip((x, value, gradient), best, strict=True))
        code = as_code(either(both(worse, code == CONVERGED), NO_PROGRESS, code))
    residual = problem.measure(x, gradient) if best is not None else measure(problem, x, state)
    return Ending(x, value, gradient, code, count, residual, history, state)


def _keep(problem: Problem, last: Any) -> None:
    problem.last = last


def _reported(problem: Problem, limits: Limits, now: Iterate, code: Value) -> Value:
    shown = now._replace(x=problem.tree(now.x))
    if limits.monitor is not None:
        call_back(limits.monitor, now.iteration, now.residual)
    if limits.callback is not None:
        try:
            call_back(_Reported(limits.callback), *shown)
        except StopIteration:  # as SciPy's callbacks end a search
            return as_code(either(code == RUNNING, STOPPED, code))
    if limits.stop is not None:
        code = as_code(either(both(code == RUNNING, limits.stop(shown)), STOPPED, code))
    return code


class _Reported:
    """A callback of the user, which takes an `Iterate`."""

    def __init__(self, function: Callable[[Iterate], object]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "callback")

    def __call__(self, *entries: Any) -> None:
        self.function(Iterate(*entries))
