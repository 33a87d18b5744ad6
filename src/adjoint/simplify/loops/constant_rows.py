"""Stacks that are known before a loop runs: elementwise functions of the rows of constants alone, as constants.

for i in range(n): z[i + 1] = …         the backward pass reads i + 1: a constant array, no residual
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ops.elementwise.pointwise import Pointwise
from adjoint.ops.elementwise.select import Select
from adjoint.program.program import Equation, Literal, Program, Var
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.simplify.loops.parts import Loop, Renaming, open_loop, resolve, substitute
from adjoint.simplify.loops.shared_work import reads_of

LARGEST = 1 << 16  # elements of a stack that is computed beforehand
SETTLED = "_constant_rows"  # on an equation: there is nothing to do


def know_constant_rows(program: Program) -> Program:
    """The program with constants in place of the stacks that follow from constants."""
    renaming: Renaming = {}
    constants = dict(program.constants)
    equations: list[Equation] = []
    for eq in program.equations:
        (eq,) = substitute([eq], renaming)
        loop = open_loop(eq) if SETTLED not in eq.__dict__ else None
        if loop is not None:
            eq = _take_out(loop, constants, renaming)
            eq.__dict__[SETTLED] = True
        equations.append(eq)
    if not renaming:
        return program
    outputs = tuple([resolve(a, renaming) for a in program.outputs])
    return Program(program.inputs, tuple(equations), outputs, constants)


def count_by_flags(program: Program) -> Program:
    """The program with stacks of True in place of those of while loops whose number of rows alone is read."""
    loops = {at: loop for at, eq in enumerate(program.equations) if (loop := open_loop(eq)) is not None}
    counted: dict[Var, list[Loop]] = {v: [] for loop in loops.values() if loop.test is not None for _, v in loop.ys}
    if not counted:
        return program
    needed = {a for a in program.outputs if isinstance(a, Var)}
    for at, eq in enumerate(program.equations):
        read = set(eq.inputs)
        loop = loops.get(at)
        if loop is not None and loop.needs_rows and len(loop.scanned) == 1:
            ((inside, array),) = loop.scanned
            if isinstance(array, Var) and array in counted and inside not in reads_of(loop):
                counted[array].append(loop)
                read = {a for _, a in loop.constants} | {c.start for c in loop.carries}
        needed.update(a for a in read if isinstance(a, Var))
    changed = False
    for loop in loops.values():
        for k, (atom, stack) in enumerate(loop.ys):
            readers = counted.get(stack, [])
            if stack in needed or not readers or (isinstance(atom, Literal) and atom.type.dtype == bool):
                continue
            flags = Var(ArrayType(stack.type.shape[:1], np.dtype(bool)))
            loop.ys[k] = Literal(np.True_), flags
            for other in readers:
                other.scanned = [(Var(ArrayType((), np.dtype(bool))), flags)]
                other.changed = True
            loop.changed = changed = True
    if not changed:
        return program
    equations = [loops[at].close() if at in loops else eq for at, eq in enumerate(program.equations)]
    return Program(program.inputs, tuple(equations), program.outputs, program.constants)


def _take_out(loop: Loop, constants: dict[Var, Value], renaming: Renaming) -> Equation:
    """The loop without the stacks that are known."""
    known: dict[Var, Any] = {
        v: constants[a]
        for v, a in loop.scanned
        if isinstance(a, Var) and a in constants and not v.type.shape and 0 < np.size(constants[a]) <= LARGEST
    }
    if not known or not loop.ys:
        return loop.equation
    for eq in loop.equations:
        rows = _evaluate(eq, known)
        if rows is not None:
            known[eq.outputs[0]] = rows
    kept = [(a, v) for a, v in loop.ys if not (isinstance(a, Var) and a in known)]
    for a, v in loop.ys:
        if isinstance(a, Var) and a in known:
            renaming[v] = new = Var(v.type)
            constants[new] = known[a]
    if len(kept) < len(loop.ys):
        loop.ys, loop.changed = kept, True
    return loop.close()


def _evaluate(eq: Equation, known: dict[Var, Any]) -> Value | None:
    """All rows of an elementwise result, if those of the arguments are known."""
    if not isinstance(eq.op, Pointwise | Select) or eq.op.effect or len(eq.outputs) != 1:
        return None
    if any(isinstance(a, Var) and a not in known for a in eq.inputs) or not any(a in known for a in eq.inputs):
        return None
    with np.errstate(all="ignore"):
        rows = eq.op.evaluate(*[a.value if isinstance(a, Literal) else known[a] for a in eq.inputs])
    kind = eq.outputs[0].type
    return rows if type_of(rows).dtype == kind.dtype and not kind.weak and np.ndim(rows) == 1 else None
