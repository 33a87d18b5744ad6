"""What takes part: a problem (arguments of one size), a contender (one library's way), a workload (all of them).

A workload's reference is derived by hand; `reference_error` holds it against the complex step, which shares nothing
with it: Im f(x + ihv) / h = f'(x) v up to h², without cancellation, so h = 1e-30 loses no digit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

STEP = 1e-30  # of the complex step


@dataclass(frozen=True)
class Problem:
    """Arguments of one size; the first `active` of them are differentiated."""

    arguments: tuple[Any, ...]
    active: int = 1
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self.arguments[: self.active]

    @property
    def data(self) -> tuple[Any, ...]:
        return self.arguments[self.active :]

    def in_double(self) -> tuple[Any, ...]:
        """The arguments with float32 widened, for the reference."""
        return tuple(a.astype(np.float64) if getattr(a, "dtype", None) == np.float32 else a for a in self.arguments)


@dataclass(frozen=True)
class Contender:
    """One library on one problem. `build()` traces and gives the call to be timed; building and first call are timed
    as well. `answers` turns what the call returns into [value, *gradients]."""

    build: Callable[[], Callable[[], Any]]
    answers: Callable[[Any], Sequence[Any]]
    trace: Callable[[], object] | None = None  # tracing alone, where it can be had
    report: Callable[[], str] | None = None  # what the compiler says of its work, after a call


@dataclass(frozen=True)
class Workload:
    """One program. `value` is plain NumPy (complex arguments too), `by_hand` gives (value, *gradients)."""

    name: str
    title: str
    problem: Callable[[str], Problem]  # by the name of its size
    sizes: tuple[str, ...]
    tiny: str  # the size that tests use
    value: Callable[..., Any]
    by_hand: Callable[..., Sequence[Any]]
    contenders: Mapping[str, Callable[[Problem], Contender]]
    left_out: Mapping[tuple[str, str], str] = field(default_factory=dict)  # (size, contender) -> why
    check: Callable[[Problem], float] | None = None  # of by_hand, where the complex step of `value` is not the check

    def reference(self, problem: Problem) -> list[Any]:
        """(value, *gradients) in float64."""
        return list(self.by_hand(*problem.in_double()))

    def reference_error(self, problem: Problem, directions: int = 2) -> float:
        """|complex step − ⟨gradient, v⟩| in random directions v, relative to the sum of the terms' sizes."""
        if self.check is not None:
            return self.check(problem)
        arguments, (value, *gradients) = problem.in_double(), self.reference(problem)
        parameters, data = arguments[: problem.active], arguments[problem.active :]
        plain = self.value(*arguments)
        worst = abs(value - plain) / max(abs(plain), 1.0)
        generator = np.random.default_rng(7)
        for _ in range(directions):
            vs = [generator.standard_normal(np.shape(p)) for p in parameters]
            moved = [p + 1j * STEP * v for p, v in zip(parameters, vs)]
            slope = np.imag(self.value(*moved, *data)) / STEP
            terms = np.concatenate([np.ravel(g * v) for g, v in zip(gradients, vs)])
            worst = max(worst, abs(slope - terms.sum()) / np.abs(terms).sum())
        return float(worst)


def relative_error(found: Sequence[Any], expected: Sequence[Any]) -> float:
    """max |found − expected| / max |expected| of the worst array; infinite when a number is not finite."""
    if len(found) != len(expected):
        raise ValueError(f"{len(found)} answers where the reference has {len(expected)}")
    worst = 0.0
    for mine, reference in zip(found, expected):
        reference = np.asarray(reference, np.float64)
        mine = np.asarray(mine, np.float64).reshape(reference.shape)
        if not np.all(np.isfinite(mine)):
            return float("inf")
        worst = max(worst, float(np.max(np.abs(mine - reference)) / max(np.max(np.abs(reference)), 1e-300)))
    return worst
