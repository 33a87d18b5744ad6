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

__all__ = ["crossing_of"]


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
