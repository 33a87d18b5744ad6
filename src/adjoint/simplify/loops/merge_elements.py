"""Two loops over the elements of a batch become one, where the second takes rows that the first one has kept.

    ys = loop(…, yₜ)            becomes   one loop, in which yₜ is a value of the iteration
    zs = loop over ys, …

A batch of loops that end at different times goes element by element, and so does the backward pass: between the two,
what every element has kept of its iterations would stand in memory, rows of different lengths. In one loop an element
is done before the next one begins. Neither loop carries anything, so that the order of iterations does not matter. What
stands between them on the way from one to the other, elementwise functions of whole batches and views of their rows,
is done inside for one element at a time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.ops.arrays.index import ScatterSum, Slice
from adjoint.ops.arrays.rearrange import Reshape, Transpose
from adjoint.ops.arrays.reduce import Sum
from adjoint.ops.control.counted_loop import inner
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType, is_whole
from adjoint.simplify.loops.parts import Loop, acts, open_loop
from adjoint.simplify.loops.row_views import VIEWS

# (primitive, type of the whole batch) → the same for one row; None if it mixes rows
ROWS: RuleTable[Callable[[Any, ArrayType], Op | None]] = RuleTable("operations row by row")
ROWS.update(
    {
        Transpose: lambda op, kind: VIEWS[op].of_row(op, kind),
        Reshape: lambda op, kind: VIEWS[op].of_row(op, kind),
        Slice: lambda op, kind: Slice(op.items[1:]) if op.items[:1] == (WHOLE,) else None,
        Sum: lambda op, kind: Sum(tuple(a - 1 for a in op.axes)) if 0 not in op.axes else None,
        ScatterSum: lambda op, kind: _scatter_in_row(op),
    }
)
WHOLE = (None, None, None)  # all of an axis


def merge_element_loops(program: Program) -> Program:
    """The program with such pairs of loops merged."""
    loops = {i: loop for i, eq in enumerate(program.equations) if (loop := open_loop(eq)) is not None}
    free = [i for i, loop in loops.items() if _is_free(loop)]
    for k, i in enumerate(free):
        kept = {stack for row, stack in loops[i].ys if isinstance(row, Var) and not is_whole(row.type)}
        if not kept:
            continue
        for j in free[k + 1 :]:
            if loops[j].length == loops[i].length and any(a in kept for _, a in loops[j].scanned):
                merged = _merge(program, i, j, loops[i], loops[j])
                if merged is not None:
                    return merge_element_loops(merged)
    return program


def _is_free(loop: Loop) -> bool:
    """Whether its iterations have nothing to do with each other, and are all there is to it."""
    return not loop.carries and loop.test is None and loop.length is not None and not acts(loop.equation.op)


def _merge(program: Program, i: int, j: int, first: Loop, second: Loop) -> Program | None:
    """One loop in the place of the first one; None if something between them cannot be done element by element."""
    between = program.equations[i + 1 : j]
    made = {v: eq for eq in between for v in eq.outputs}
    after: set[Atom] = set(first.equation.outputs)  # what is known behind the first loop only
    for eq in between:
        if any(a in after for a in eq.inputs):
            after.update(eq.outputs)
    if any(a in after for _, a in second.constants) or not _inside(first).isdisjoint(_inside(second)):
        return None
    needed: set[Equation] = set()  # moved in front
    rows: dict[Atom, Atom] = {stack: row for row, stack in first.ys}
    constants: dict[Atom, Var] = {}
    scanned: list[tuple[Var, Atom]] = []
    equations: list[Equation] = []

    def row_of(array: Atom) -> Atom | None:
        """One row of an array, in the merged loop."""
        if array in rows:
            return rows[array]
        if not isinstance(array, Var):
            return None
        if array not in after:
            row = Var(inner(array.type))
            scanned.append((row, array))
        else:
            found = _by_rows(made[array], second.length or 0, row_of, constant_of)
            if found is None:
                return None
            equations.append(found)
            row = found.outputs[0]
        rows[array] = row
        return row

    def constant_of(atom: Atom) -> Atom:
        """A number that is the same for all rows."""
        if isinstance(atom, Var) and atom not in constants:
            constants[atom] = Var(atom.type)
        return constants[atom] if isinstance(atom, Var) else atom

    renaming: dict[Var, Atom] = {}
    for row, array in second.scanned:
        found = row_of(array)
        if found is None:
            return None
        renaming[row] = found
    outside = [a for _, a in second.constants] + list(constants) + [a for _, a in scanned]
    if not _gather(outside, made, after, needed):
        return None
    second.substitute(renaming)
    whole = dataclasses.replace(
        first,
        constants=[*first.constants, *second.constants, *[(v, a) for a, v in constants.items()]],
        scanned=[*first.scanned, *scanned],
        ys=[*first.ys, *second.ys],
        equations=[*first.equations, *equations, *second.equations],
        values={**first.values, **second.values},
        changed=True,
    )
    rest = [eq for eq in between if eq not in needed]
    ordered = [eq for eq in between if eq in needed]
    lines = (*program.equations[:i], *ordered, whole.close(), *rest, *program.equations[j + 1 :])
    return Program(program.inputs, lines, program.outputs, program.constants)


def _by_rows(
    eq: Equation, length: int, row_of: Callable[[Atom], Atom | None], constant_of: Callable[[Atom], Atom]
) -> Equation | None:
    """An equation between whole batches, for one row of them; None if it mixes rows."""
    if acts(eq.op) or len(eq.outputs) != 1 or eq.outputs[0].type.shape[:1] != (length,):
        return None
    (out,) = eq.outputs
    rule = ROWS.get(eq.op)
    op = rule(eq.op, eq.inputs[0].type) if rule is not None else eq.op if eq.op.is_elementwise else None
    if op is None:
        return None
    inputs: list[Atom | None] = []
    for a in eq.inputs:
        if rule is None and a.type.ndim < out.type.ndim:
            inputs.append(constant_of(a))
        else:
            inputs.append(row_of(a) if a.type.shape[:1] == (length,) else None)
    if any(a is None for a in inputs):
        return None
    return dataclasses.replace(eq, op=op, inputs=tuple(inputs), outputs=(Var(inner(out.type)),))


def _scatter_in_row(op: ScatterSum) -> Op | None:
    if any(key[0] != "slice" or key[1][:1] != (WHOLE,) for key in op.keys):
        return None
    return ScatterSum(op.shape[1:], op.dtype, tuple(("slice", key[1][1:]) for key in op.keys))


def _gather(atoms: Sequence[Atom], made: dict[Var, Equation], after: set[Atom], needed: set[Equation]) -> bool:
    """Note the equations between the loops that must come in front of both; whether that can be."""
    for a in atoms:
        eq = made.get(a) if isinstance(a, Var) else None
        if a in after or (eq is not None and acts(eq.op)):
            return False
        if eq is not None and eq not in needed:
            needed.add(eq)
            if not _gather(eq.inputs, made, after, needed):
                return False
    return True


def _inside(loop: Loop) -> set[Var]:
    """The variables of a body."""
    return (
        {v for v, _ in (*loop.constants, *loop.scanned)}
        | {v for eq in loop.equations for v in eq.outputs}
        | set(loop.values)
    )
