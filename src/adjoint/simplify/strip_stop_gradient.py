"""Marks for derivatives that a finished program needs no more: `stop_gradient`, and rules attached to results.

So is the equation that a solver solves: the solver's own equations replace a `LinearSolve` or an `ImplicitSolve`; and
log Σ exp(x), a primitive for the sake of its derivatives. To be applied when no transformation follows: afterwards the
derivative of the program is another one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from adjoint.ops.arrays.logsumexp import LogSumExp, written_out
from adjoint.ops.implicit_solve import ImplicitSolve
from adjoint.ops.linalg.linear_solve import LinearSolve
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.record import record_program
from adjoint.program.rule_table import RuleTable

# (primitive, equation) → what the equation does, as a program of its own, or None
PARTS: RuleTable[Callable[[Any, Equation], Program | None]] = RuleTable("operations written out")


def drop_derivative_marks(program: Program) -> Program:
    """The program with every mark replaced by what it marks."""
    if not any(eq.op.is_marker for eq in program.equations):
        return program
    instead: dict[Var, Atom] = {}
    kept: list[Equation] = []

    def read(atom: Atom) -> Atom:
        return instead.get(atom, atom) if isinstance(atom, Var) else atom

    for eq in program.equations:
        inputs = tuple(map(read, eq.inputs))
        if eq.op.is_marker and not any(isinstance(a, Literal) and a.type.weak for a in inputs):
            instead.update(zip(eq.outputs, inputs, strict=False))
        elif inputs == eq.inputs:
            kept.append(eq)
        else:
            kept.append(Equation(eq.op, inputs, eq.outputs, eq.location, eq.scope, eq.quiet, eq.pulled))
    return Program(program.inputs, tuple(kept), tuple(map(read, program.outputs)), program.constants)


def write_out(program: Program) -> Program:
    """The program with some operations replaced by their parts, which may be shared with what stands around them.

    A solve is what its solver does; log Σ exp(x) has the exponentials that its gradient has too. Before programs inside
    are simplified: those that only the derivative of a solve needs are not worth it.
    """
    if not any(eq.op in PARTS for eq in program.equations):
        return program
    instead: dict[Var, Atom] = {}
    constants = dict(program.constants)
    kept: list[Equation] = []

    def read(atom: Atom) -> Atom:
        return instead.get(atom, atom) if isinstance(atom, Var) else atom

    for eq in program.equations:
        inputs = tuple(map(read, eq.inputs))
        write = PARTS.get(eq.op)
        weak = any(isinstance(a, Literal) and a.type.weak for a in inputs)
        parts = None if write is None or weak else write(eq.op, eq)
        if parts is None:
            kept.append(eq if inputs == eq.inputs else dataclasses.replace(eq, inputs=inputs))
            continue
        here: dict[Var, Atom] = dict(zip(parts.inputs, inputs, strict=True))
        for var, value in parts.constants.items():
            here[var] = new = Var(var.type)
            constants[new] = value
        for inner in parts.equations:
            operands = tuple(here[a] if isinstance(a, Var) else a for a in inner.inputs)
            outputs = tuple(Var(v.type) for v in inner.outputs)  # the same solver may occur several times
            here.update(zip(inner.outputs, outputs, strict=True))
            kept.append(dataclasses.replace(inner, inputs=operands, outputs=outputs))
        results = [here[a] if isinstance(a, Var) else a for a in parts.outputs]
        instead.update(zip(eq.outputs, results, strict=True))
    return Program(program.inputs, tuple(kept), tuple(map(read, program.outputs)), constants)


@PARTS.rule(LinearSolve, ImplicitSolve)
def solver_steps(op: LinearSolve | ImplicitSolve, eq: Equation) -> Program:
    return write_out(op.solver)


@PARTS.rule(LogSumExp)
def exponentials(op: LogSumExp, eq: Equation) -> Program | None:
    (x,) = (a.type for a in eq.inputs)
    if x.dtype.kind != "f" or not x.size:
        return None
    parts, _ = record_program(lambda x: [written_out(x, op.axes)], [x])
    located = [dataclasses.replace(e, location=eq.location, scope=eq.scope, quiet=True) for e in parts.equations]
    return Program(parts.inputs, tuple(located), parts.outputs, parts.constants)
