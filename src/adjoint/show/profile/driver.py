"""`ad.profile(f)(*args)`: where the time of a function and of its gradient goes, by line of user code.

Each primitive is timed alone, forwards and backwards, and the quickest of several runs counts. One call of the function
as it is, and of its value and gradient, is timed as a whole. The difference is what Python and the record cost.
"""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.function import Options
from adjoint.api.gradients import Function, Transformed, value_and_grad
from adjoint.base.source import user_facing
from adjoint.jit import jit
from adjoint.jit.function import Jitted
from adjoint.show.profile.compiled import compiled_profile
from adjoint.show.profile.recording import call_function, explained, recorded, saved_by_line
from adjoint.show.profile.result import Profile, lines_of
from adjoint.show.profile.timing import least, time_program

__all__ = ["profile"]


@user_facing
def profile(
    function: Function,
    argnums: int | Sequence[int] = 0,
    *,
    gradient: bool | None = None,
    compiled: bool | None = None,
    seconds: float = 0.3,
) -> Transformed:
    """Where the time of a function goes, and of its gradient: `profile(f)(*args, **kwargs)` returns a Profile.

    The function runs several times on copies of the arguments. A function with one real number as its result is
    profiled with its gradient in `argnums`, others without; `gradient` says so otherwise. `grad(f)` and
    `value_and_grad(f)` are profiled as f with its gradient. Of a compiled function (`jit(f)`), or with `compiled`, the
    machine code is timed too: as a whole, and by line as an estimate. Each measurement is repeated for about `seconds`.

    ```python
    profile = ad.profile(lambda x: np.sum(np.sin(x)), seconds=0.01)(np.ones(1000))
    "sin" in str(profile)  # → True
    ```
    """
    return Transformed(_profile, function, _ProfileOptions(argnums, gradient, compiled, float(seconds)))


@dataclass(frozen=True)
class _ProfileOptions(Options):
    """The options of `profile`."""

    argnums: Any
    gradient: bool | None
    compiled: bool | None
    seconds: float


class _Subject:
    """The function that is profiled, underneath `grad` and `jit`."""

    def __init__(self, function: Callable[..., Any], options: _ProfileOptions) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        self.gradient, self.compiled = options.gradient, options.compiled
        self.jitted: Jitted | None = None  # the caller's own, if it computes the value
        self.how = {"argnums": options.argnums}
        function = self.unwrapped(function)
        if isinstance(function, Transformed) and function._run.__name__ in ("_grad", "_value_and_grad"):
            self.gradient, self.how, self.jitted = True, vars(function._options), None
            function = self.unwrapped(function.function)
        self.function = function

    def unwrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function that was compiled, if it was."""
        if not isinstance(function, Jitted):
            return function
        self.compiled = True if self.compiled is None else self.compiled
        self.jitted = function
        return function.function

    def whole(self) -> Callable[..., Any]:
        """What is measured: the function, or its value and gradient."""
        return value_and_grad(self.function, **self.how) if self.gradient else self.function


def _profile(function: Callable[..., Any], options: _ProfileOptions, args: Any, kwargs: Any) -> Profile:
    if not options.seconds >= 0:
        raise ValueError(f"profile: seconds must be a number that is not negative, not {options.seconds}.")
    subject = _Subject(function, options)
    args, kwargs = tree.map(_copy, (args, kwargs))
    notes: list[str] = []
    result = call_function(subject.function, args, kwargs)
    if subject.gradient is None:
        subject.gradient, why = _has_gradient(result, args, kwargs, subject.how["argnums"])
        notes += [why] if why else []
    whole, budget = subject.whole(), options.seconds
    if subject.gradient:
        call_function(whole, args, kwargs)
    value_seconds = least(lambda: subject.function(*args, **kwargs), budget)
    spent = least(lambda: whole(*args, **kwargs), budget) if subject.gradient else value_seconds
    with explained("wrote down what the function does, with values that are traced"):
        run = recorded(whole, args, kwargs)
    timing = time_program(run.program, run.values, budget, run.stacks, run.backward)
    saved = saved_by_line(lambda: whole(*args, **kwargs), (args, kwargs)) if subject.gradient else {}
    machine = None
    if subject.compiled:
        value = jit(subject.function) if subject.jitted is None else subject.jitted
        machine = compiled_profile(value, jit(whole), args, kwargs, budget)
        if machine.how != "compiled":
            notes.append(f"the compiled function is {machine.how}")
    if not run.program.equations:
        notes.append("no primitive ran on the arguments: the function does nothing with them that NumPy sees")
    if sum(timing.seconds) > 1.1 * spent:
        notes.append("primitives timed one by one took longer than the whole: take the shares, not the sums")
    if min(timing.whole_run, spent) > 1.3 * sum(timing.seconds) + 1e-5:
        notes.append("the machine was busy: whole runs take longer than the least times of their parts together")
    if timing.runs == 1:
        notes.append("primitives were timed once only; give more seconds= for the least of several runs")
    lines = lines_of(timing.sites, saved, None if machine is None else machine.sites)
    return Profile(
        subject.name, lines, bool(subject.gradient), value_seconds, spent, sum(saved.values()), timing.runs, machine,
        tuple(notes), timing=timing,
    )  # fmt: skip


def _has_gradient(result: Any, args: Sequence[Any], kwargs: Any, argnums: Any) -> tuple[bool, str]:
    """Whether a function with this result is profiled with its gradient; and if not, why."""
    if not args and not kwargs:
        return False, "forward only: there are no arguments to differentiate"
    leaves = tree.leaves(result)
    if len(leaves) != 1 or leaves[0] is not result or np.shape(result) != ():
        what = f"{len(leaves)} arrays" if len(leaves) != 1 else f"an array of shape {np.shape(leaves[0])}"
        return False, f"forward only: the result is {what}, and gradients are those of one number; profile a sum of it"
    if np.asarray(result).dtype.kind != "f":
        return False, f"forward only: the result is of type {np.asarray(result).dtype}, which has no gradient"
    numbers = [argnums] if isinstance(argnums, int | str) else list(argnums)
    chosen = [args[i] for i in numbers if isinstance(i, int) and -len(args) <= i < len(args)]
    kinds = {np.asarray(leaf).dtype.kind for leaf in tree.leaves(chosen)}
    if chosen and not kinds & set("fc"):
        return False, f"forward only: there is nothing of floating point in argument {', '.join(map(str, numbers))}"
    return True, ""


def _copy(leaf: Any) -> Any:
    """The function may write to its arguments, and runs many times."""
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf
