"""Marks for derivatives that a finished program needs no more: `stop_gradient`, and rules attached to results.

To be applied when no transformation follows: afterwards the derivative of the program is another one.
"""

from __future__ import annotations

from adjoint.ops.custom import Attach
from adjoint.ops.select import StopGradient
from adjoint.program.program import Atom, Equation, Literal, Program, Var

_MARKS = (StopGradient, Attach)


def drop_derivative_marks(program: Program) -> Program:
    """The program with every mark replaced by what it marks."""
    if not any(eq.op.__class__ in _MARKS for eq in program.equations):
        return program
    instead: dict[Var, Atom] = {}
    kept: list[Equation] = []

    def read(atom: Atom) -> Atom:
        return instead.get(atom, atom) if isinstance(atom, Var) else atom

    for eq in program.equations:
        inputs = tuple(map(read, eq.inputs))
        if eq.op.__class__ in _MARKS and not any(isinstance(a, Literal) and a.type.weak for a in inputs):
            instead.update(zip(eq.outputs, inputs, strict=False))
        elif inputs == eq.inputs:
            kept.append(eq)
        else:
            kept.append(Equation(eq.op, inputs, eq.outputs, eq.location, eq.scope, eq.quiet, eq.pulled))
    return Program(program.inputs, tuple(kept), tuple(map(read, program.outputs)), program.constants)
