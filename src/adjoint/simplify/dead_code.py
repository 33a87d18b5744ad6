"""Equations and constants that nothing reads are left out; effects stay, and what they read."""

from __future__ import annotations

from adjoint.ops.effects import has_effects
from adjoint.program.program import Equation, Program, Var

SETTLED = "_settled"  # a mark on programs to which no rule of rewriting applies; it stays when equations go


def drop_dead_code(program: Program) -> Program:
    """The program without what no output and no effect depends on."""
    read: set[Var] = {a for a in program.outputs if isinstance(a, Var)}
    kept: list[Equation] = []
    for eq in reversed(program.equations):
        if not (read.isdisjoint(eq.outputs) and not acts(eq)):
            kept.append(eq)
            for a in eq.inputs:
                if isinstance(a, Var):
                    read.add(a)
    constants = program.constants
    if not all(v in read for v in constants):
        constants = {v: value for v, value in constants.items() if v in read}
    if len(kept) == len(program.equations) and constants is program.constants:
        return program
    kept.reverse()
    shorter = Program(program.inputs, tuple(kept), program.outputs, constants)
    if SETTLED in program.__dict__:
        shorter.__dict__[SETTLED] = True
    return shorter


def acts(eq: Equation) -> bool:
    """Whether an equation does something beside giving results."""
    op = eq.op
    return op.effect or ("programs" in op.stated and any(map(has_effects, op.programs().values())))  # type: ignore[attr-defined]
