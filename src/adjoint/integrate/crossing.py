"""Where a function crosses zero: a number that was located already, with all derivatives of its equation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint.api.gradients import jvp
from adjoint.implicit.equation import Stacked
from adjoint.integrate.derivative import detach, record_flat, types_of
from adjoint.ops.implicit_solve import Equation, ImplicitSolve
from adjoint.program.program import Program, interpret
from adjoint.program.types import Value

__all__ = ["crossing_of", "is_shallow"]


@final
@dataclass(frozen=True)
class _Crossing:
    """g′(x) t = b."""

    def solve(
        self, residual: Program, theta: Sequence[Value], x: Sequence[Value], b: Sequence[Value], adjoint: bool,
        memory: dict[str, Any],
    ) -> list[Value]:  # fmt: skip
        _, rate = jvp(lambda v: interpret(residual, [*theta, v])[0], (x[0],), (np.float64(1.0),))
        return [b[0] / np.where(rate == 0, 1.0, rate)]  # where g only touches zero the status says so

    def batched(self, residual: Program, mapped: tuple[bool, ...], size: int) -> Equation:
        return Stacked(self, residual, mapped, size)


def crossing_of(g: Callable[[Value], Value], x: Value) -> Value:
    """x, at which g(x) = 0, with its derivatives in all that g closes over."""
    (x,) = detach([x])
    program, captured = record_flat(lambda x: [g(x)], types_of([x]))
    own, *theta = program.inputs
    residual = Program((*theta, own), program.equations, program.outputs, program.constants)
    solver, _ = record_flat(lambda *flat: [flat[-1]], types_of([*captured, x]))
    return ImplicitSolve(residual, solver, _Crossing(), 1)(*captured, x)[0]


def is_shallow(g: Callable[[Value], Value], x: Value, error: Value) -> Value:
    """Whether g, zero at x, has an extremum behind it, before 1, that is no larger than an error: it may not cross.

    Near x it is g′ d + g″ d² / 2, with the extremum -g′² / (2 g″) at d = -g′ / g″ and zero again at twice that.
    """
    rate_at = lambda v: jvp(g, (v,), (np.float64(1.0),))[1]
    rate, bend = jvp(rate_at, (x,), (np.float64(1.0),))
    is_behind = rate * bend < 0
    again = x - 2.0 * rate / np.where(is_behind, bend, 1.0)
    comes_back = np.logical_and(again <= 1.0, rate * rate_at(np.clip(again, 0.0, 1.0)) < 0)
    shallow = rate * rate <= 2.0 * np.abs(bend) * error
    return np.logical_and(np.logical_and(is_behind, comes_back), shallow)
