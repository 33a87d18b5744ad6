"""The result of `solve_ivp` where values are traced.

How many steps a solver takes is not known while a program is written or a batch is run. Where it is known, `t` has the
steps that SciPy takes with the same numbers, and `y` the solution there; elsewhere `t` and `y` know their first and
last entries alone, and ask for `t_eval` when more is wanted. So do the times of events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, final

import numpy as np
import scipy.integrate as theirs
from scipy.optimize import OptimizeResult

from adjoint.api.gradients import jvp
from adjoint.base.errors import TraceError, UnsupportedError
from adjoint.debug import check
from adjoint.integrate.crossing import crossing_of
from adjoint.integrate.derivative import detach
from adjoint.integrate.events import KEPT, Event
from adjoint.integrate.scipy_names.choice import has_traced
from adjoint.integrate.solving import solve
from adjoint.integrate.statuses import EVENT, STATUSES
from adjoint.integrate.system import Arguments, read_state, trace_function
from adjoint.integrate.trajectory import Trajectory
from adjoint.ops.control.call import Call
from adjoint.program.trace import primal
from adjoint.program.types import Value
from adjoint.scipy.arguments import floating

__all__ = ["Ends", "Problem", "solution_of"]

TITLE = "scipy.integrate.solve_ivp"
TOO_MANY = f"{TITLE}: an event happened {{}} times; the first {KEPT} are kept where values are traced. Divide the span."


class Problem(NamedTuple):
    """An initial value problem with all settings, but without the times of its answer."""

    f: Callable[..., Any]
    span: tuple[Any, Any]
    y0: Any
    args: tuple[Any, ...]
    events: Sequence[Event]
    settings: dict[str, Any]

    def solve(self, save: Any = None) -> Trajectory:
        """Its path."""
        return solve(self.f, self.span, self.y0, args=self.args, save=save, events=tuple(self.events), **self.settings)

    @property
    def direction(self) -> Value:
        t0, t1 = detach(self.span)
        return np.sign(t1 - t0)


@final
class Ends:
    """The first and the last column of a table whose number of columns is not known; `is_turned`: rows of it."""

    def __init__(self, first: Value, last: Value, is_turned: bool = False) -> None:
        self.first, self.last, self.is_turned = first, last, is_turned

    @property
    def T(self) -> Ends:
        return Ends(self.first, self.last, not self.is_turned)

    def __getitem__(self, key: Any) -> Any:
        key = key if isinstance(key, tuple) else (key,)
        if not self.first.ndim:
            return self._pick(key[0]) if len(key) == 1 else self._refuse()
        if len(key) == 2 and key[0] is Ellipsis and not self.is_turned:
            return self._pick(key[1])
        time, rest = (key[0], key[1:]) if self.is_turned else (key[1] if len(key) > 1 else slice(None), key[:1])
        if len(key) > 2:
            self._refuse()
        row = rest[0] if rest else slice(None)
        if isinstance(time, slice) and time == slice(None):
            return Ends(self.first[row], self.last[row], self.is_turned)
        return self._pick(time)[row]

    def _pick(self, time: Any) -> Value:
        if isinstance(time, int | np.integer) and time in (0, -1):
            return self.first if time == 0 else self.last
        self._refuse()

    def __iter__(self) -> Iterator[Any]:
        if self.is_turned or not self.first.ndim:
            self._refuse()
        return iter([self[i] for i in range(self.first.shape[0])])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TraceError(
            f"{TITLE}: how many steps there are is not known while a program is written, or of many batch elements at "
            "once: t and y have their first and last entries, [0] and [-1], alone. Say at which times y is wanted: "
            "t_eval=np.linspace(t0, t1, n)."
        )

    __array__ = __array_ufunc__ = __array_function__ = __len__ = __float__ = __neg__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = _refuse


@final
class Happenings:
    """The times of an event, or the states then, whose number is not known: one of them by its index."""

    def __init__(self, values: Value, count: Value) -> None:
        self.values, self.count = values, count

    def __getitem__(self, key: Any) -> Any:
        index, *rest = key if isinstance(key, tuple) else (key,)
        if not isinstance(index, int | np.integer) or not -1 <= index < KEPT:
            self._refuse()
        if index < 0:
            check(self.count <= KEPT, TOO_MANY, self.count)
        least = 1 if index < 0 else index + 1
        check(self.count >= least, f"{TITLE}: an event happened {{}} times, and [{index}] was asked for.", self.count)
        found = self.values[np.maximum(self.count - 1, 0)] if index < 0 else self.values[index]
        return found[tuple(rest)] if rest else found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TraceError(
            f"{TITLE}: how often an event happens is not known while a program is written, or of many batch elements "
            "at once: ask for one of its times, t_events[i][0] or [-1]. adjoint.integrate.solve has their count."
        )

    __array__ = __array_ufunc__ = __array_function__ = __len__ = __iter__ = _refuse


@final
class Dense:
    """The solution at any time of the span: solved again, to give it there."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def __call__(self, t: Any) -> Value:
        times: Any = floating(t)
        if not times.ndim:
            return self.problem.solve(times[None]).values[0]
        order = np.argsort(self.problem.direction * detach([times])[0])
        return self.problem.solve(times[order]).values[np.argsort(order)].T


def steps_of(problem: Problem, given: dict[str, Any]) -> Any:
    """The times of SciPy's steps with the same numbers, without the ends; None where there are no plain numbers."""
    leaves, layout = read_state(TITLE, "y0", problem.y0)
    functions = [problem.f, *[event.g for event in problem.events]]
    traced = [trace_function(TITLE, "f", g, layout, Arguments(problem.args)) for g in functions]
    thetas = [[primal(v) for v in made.theta] for made in traced]
    span, start = [primal(v) for v in problem.span], primal(leaves[0])
    if has_traced(span, start, thetas):
        return None

    def plain(number: int) -> Callable[..., Any]:
        return lambda t, y: np.asarray(Call(traced[number].program)(np.float64(t), y, *thetas[number])[0])

    events = [plain(i + 1) for i in range(len(problem.events))]
    for g, event in zip(events, problem.events, strict=True):
        g.terminal, g.direction = event.terminal, event.direction  # type: ignore[attr-defined]
    found = theirs.solve_ivp(plain(0), span, np.asarray(start), events=events or None, **given)
    return found.t[1:-1]


def solution_of(problem: Problem, t_eval: Any, dense_output: bool, given: dict[str, Any]) -> OptimizeResult:
    """SciPy's result, with the path that ours takes. `given`: the method and settings of SciPy."""
    inner = steps_of(problem, given) if t_eval is None else None
    save = floating(t_eval) if t_eval is not None else inner if inner is not None and inner.size else None
    path = problem.solve(save)
    time, code = primal(path.time), primal(path.code)
    is_known = not has_traced(time, code, primal(save))
    times, values = path.times, path.values
    if is_known and save is not None:
        ahead = problem.direction * (np.asarray(time) - np.asarray(primal(save)))
        count = int(np.sum(ahead >= 0.0 if t_eval is not None else ahead > 0.0))
        times, values = times[:count], values[:count]
    if t_eval is not None:
        t, y = times, values.T
    elif inner is None:
        t, y = Ends(problem.span[0], path.time), Ends(problem.y0, path.last)
    else:
        ends, whole = (problem.span[0], path.time), (problem.y0, path.last)
        middle = [times] if save is not None else []
        rows = [values] if save is not None else []
        t = np.concatenate([ends[0][None], *middle, ends[1][None]])
        y = np.concatenate([whole[0][None], *rows, whole[1][None]]).T
    t_events, y_events = _happened(problem, path)
    status: Any = np.where(code <= EVENT, code, -1)
    success: Any = code <= EVENT
    message = "not known while the program is traced"
    if is_known and not np.ndim(code):
        status, success = int(status), bool(success)
        message = f"{STATUSES[int(code)]}. {path.advice}".strip()
    return OptimizeResult(
        t=t, y=y, sol=Dense(problem) if dense_output else None, t_events=t_events, y_events=y_events,
        nfev=path.evaluations, njev=path.jacobians, nlu=path.factorizations, status=status, message=message,
        success=success,
    )  # fmt: skip


def _happened(problem: Problem, path: Trajectory) -> tuple[Any, Any]:
    if not problem.events:
        return None, None
    times: list[Any] = []
    states: list[Any] = []
    for event, given in zip(path.events, problem.events, strict=True):
        begins, first, state = _at_start(problem, given)
        if given.terminal:
            check(np.logical_not(begins), f"{TITLE}: a terminal event is zero at the start, so that the solution ends "
                  "where it begins. Start beside it, or give the event a direction.")  # fmt: skip
        moments = np.where(begins, np.concatenate([first[None], event.times[:-1]]), event.times)
        at = np.where(begins, np.concatenate([state[None], event.values[:-1]]), event.values)
        count = primal(event.count + begins)
        if has_traced(count):
            times.append(Happenings(moments, event.count + begins))
            states.append(Happenings(at, event.count + begins))
            continue
        if int(count) > KEPT:
            raise UnsupportedError(TOO_MANY.format(int(count)))
        times.append(moments[: int(count)])
        states.append(at[: int(count)])
    return times, states


def _at_start(problem: Problem, event: Event) -> tuple[Value, Value, Value]:
    """Whether an event is zero at t₀ and crosses there, which SciPy counts as one; its time and state.

    They have the derivatives of g = 0 along one step of order four.
    """
    t0, y0 = problem.span[0], problem.y0
    f = lambda t, y: problem.f(t, y, *problem.args)

    def ahead(x: Value) -> Value:
        h = x.astype(y0.dtype)
        k1 = f(t0, y0)
        k2 = f(t0 + 0.5 * x, y0 + 0.5 * h * k1)
        k3 = f(t0 + 0.5 * x, y0 + 0.5 * h * k2)
        return y0 + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + f(t0 + x, y0 + h * k3))

    along = lambda x: event.g(t0 + x, ahead(x), *problem.args)
    value, rate = detach(jvp(along, (np.float64(0.0),), (np.float64(1.0),)))
    fits = rate != 0 if event.direction == 0 else problem.direction * rate * event.direction > 0
    x = crossing_of(along, np.float64(0.0))
    return np.logical_and(value == 0, fits), t0 + x, ahead(x)
