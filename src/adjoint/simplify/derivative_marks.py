"""Marks for derivatives that a finished program needs no more: `stop_gradient`, and rules attached to results.

So is the equation that a solver solves: the solver's own equations take the place of a `LinearSolve`. To be applied
when no transformation follows: afterwards the derivative of the program is another one.
"""

from __future__ import annotations

import dataclasses

from adjoint.ops.custom import Attach
from adjoint.ops.linear_solve import LinearSolve
from adjoint.ops.policies import Mark
from adjoint.ops.select import StopGradient
from adjoint.program.program import Atom, Equation, Literal, Program, Var

_MARKS = (StopGradient, Attach, Mark)


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


def write_solvers_out(program: Program) -> Program:
    """The program with every solve replaced by what its solver does. Before programs inside are simplified: those that
    only the derivative of a solve needs are not worth it.
    """
    if not any(eq.op.__class__ is LinearSolve for eq in program.equations):
        return program
    instead: dict[Var, Atom] = {}
    constants = dict(program.constants)
    kept: list[Equation] = []

    def read(atom: Atom) -> Atom:
        return instead.get(atom, atom) if isinstance(atom, Var) else atom

    for eq in program.equations:
        inputs = tuple(map(read, eq.inputs))
        if not isinstance(eq.op, LinearSolve) or any(isinstance(a, Literal) and a.type.weak for a in inputs):
            kept.append(eq if inputs == eq.inputs else dataclasses.replace(eq, inputs=inputs))
            continue
        solver = write_solvers_out(eq.op.solver)
        here: dict[Var, Atom] = dict(zip(solver.inputs, inputs, strict=True))
        for var, value in solver.constants.items():
            here[var] = new = Var(var.type)
            constants[new] = value
        for inner in solver.equations:
            operands = tuple(here[a] if isinstance(a, Var) else a for a in inner.inputs)
            outputs = tuple(Var(v.type) for v in inner.outputs)  # the same solver may stand in several places
            here.update(zip(inner.outputs, outputs, strict=True))
            kept.append(dataclasses.replace(inner, inputs=operands, outputs=outputs))
        results = [here[a] if isinstance(a, Var) else a for a in solver.outputs]
        instead.update(zip(eq.outputs, results, strict=True))
    return Program(program.inputs, tuple(kept), tuple(map(read, program.outputs)), constants)
