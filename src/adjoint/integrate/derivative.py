"""Values that were computed already, with the derivative of a program that computes them.

The steps of a solution are found by trying: the value of the step that was accepted is at hand, and its derivative is
that of the step alone. So a rejected step costs nothing in the backward pass, and a step keeps its inputs alone: what
it computed is computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adjoint.api.gradients import stop_gradient
from adjoint.ops.custom import Attach
from adjoint.program.program import Program, interpret
from adjoint.program.record import record_program
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.transform.custom import BatchedRule
from adjoint.transform.subprograms import jvp_program, pulled

__all__ = ["ProgramRule", "attach_derivative", "detach", "record_flat"]


@dataclass(frozen=True)
class ProgramRule:
    """The derivative of a program, as a rule."""

    program: Program
    title: str = "step"

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        count = len(self.program.outputs)
        derived, flags = jvp_program(self.program, tuple(dx is not None for dx in dxs), (False,) * count)
        tangents = iter(interpret(derived, [*xs, *[dx for dx in dxs if dx is not None]])[count:])
        return [next(tangents) if flag else None for flag in flags]

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        return pulled(self.program, xs, list(wanted), cts)

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)


def record_flat(function: Callable[..., Sequence[Value]], types: Sequence[ArrayType]) -> tuple[Program, list[Tracer]]:
    """The program of a function of flat values, and what it closes over (its last inputs)."""
    return record_program(function, [ArrayType(t.shape, t.dtype) for t in types], purpose="a step")


def attach_derivative(program: Program, values: Sequence[Value], inputs: Sequence[Value]) -> list[Value]:
    """The values, with the derivative that program(*inputs) has."""
    return list(Attach(ProgramRule(program), len(values))(*detach(values), *inputs))


def detach(values: Sequence[Value]) -> list[Value]:
    """The values without their derivatives."""
    return [stop_gradient(v) if isinstance(v, Tracer) else v for v in values]


def types_of(values: Sequence[Value]) -> list[ArrayType]:
    """The types of values."""
    return [ArrayType(t.shape, t.dtype) for t in map(type_of, values)]
