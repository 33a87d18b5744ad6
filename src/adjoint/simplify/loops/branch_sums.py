"""Sums of what branches give are written in the branches, where some of the terms are zero.

The backward pass through a choice gives the cotangents of each branch, zeros in place of those of the others, and adds
them up behind it:

    a, b = cond(p, x: (2x, 0), x: (0, 3x));   a + b      becomes      s = cond(p, x: 2x, x: 3x)

Sums of larger arrays wait for `sums_in_place`, which adds few elements to what is there.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np

from adjoint.ops.arrays.rearrange import Broadcast
from adjoint.ops.control.cond import Cond
from adjoint.ops.elementwise.pointwise import BY_NAME
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.simplify.costs import elements
from adjoint.simplify.loops.late_writes import SMALLEST

ADD = BY_NAME["add"]


def move_sums_into_branches(program: Program) -> Program:
    """The program with sums of two results of one choice as results of it, where that leaves less to add."""
    if not any(isinstance(eq.op, Cond) for eq in program.equations):
        return program
    reads = Counter(a for eq in program.equations for a in eq.inputs if isinstance(a, Var))
    reads.update(a for a in program.outputs if isinstance(a, Var))
    equations: list[Equation] = []
    made_at: dict[Var, int] = {}  # results of choices, and where these stand
    changed = False
    for eq in program.equations:
        at = _common_choice(eq, made_at)
        sums = None if at is None else _add_inside(equations[at], eq, reads)
        if at is not None and sums is not None:
            equations[at] = sums
            made_at[eq.outputs[0]] = at
            reads.subtract(a for a in eq.inputs if isinstance(a, Var))
            changed = True
            continue
        if isinstance(eq.op, Cond):
            made_at.update((v, len(equations)) for v in eq.outputs)
        equations.append(eq)
    return Program(program.inputs, tuple(equations), program.outputs, program.constants) if changed else program


def _common_choice(eq: Equation, made_at: dict[Var, int]) -> int | None:
    """Where the choice stands whose results an equation adds."""
    if eq.op is not ADD or eq.inputs[0] is eq.inputs[1]:
        return None
    positions = {made_at.get(a) if isinstance(a, Var) else None for a in eq.inputs}
    return positions.pop() if len(positions) == 1 else None


def _add_inside(choice: Equation, add: Equation, reads: Counter[Var]) -> Equation | None:
    """The choice with one more result, a sum of two; None where that saves nothing."""
    cond = choice.op
    assert isinstance(cond, Cond)
    kind = add.outputs[0].type
    if elements(kind) >= SMALLEST or any(a.type != kind for a in add.inputs):
        return None
    i, j = (choice.outputs.index(a) for a in add.inputs if isinstance(a, Var))
    zeros = [_is_zero(p, p.outputs[i]) or _is_zero(p, p.outputs[j]) for p in cond.branches]
    read_once = all(reads[a] == 1 for a in add.inputs if isinstance(a, Var))
    if not all(zeros) and not (read_once and any(zeros)):
        return None
    branches: list[Program] = []
    for p in cond.branches:
        total = Var(add.outputs[0].type)
        here = dataclasses.replace(add, inputs=(p.outputs[i], p.outputs[j]), outputs=(total,))
        branches.append(Program(p.inputs, (*p.equations, here), (*p.outputs, total), p.constants))
    return dataclasses.replace(choice, op=Cond(tuple(branches)), outputs=(*choice.outputs, add.outputs[0]))


def _is_zero(program: Program, atom: Atom) -> bool:
    """Whether a program gives zero, or an array of zeros."""
    if isinstance(atom, Var) and atom in program.constants:
        return not np.any(program.constants[atom])
    if isinstance(atom, Var):
        made = next((eq for eq in program.equations if atom in eq.outputs), None)
        if made is None or not isinstance(made.op, Broadcast):
            return False
        (atom,) = made.inputs
    return isinstance(atom, Literal) and atom.value == 0
