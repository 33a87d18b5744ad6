"""Views of rows whose size is found while the program runs move from the loop that gives them to the one that reads.

    ys = loop(…, yₜ = xₜᵀ)                  becomes   ys = loop(…, yₜ = xₜ), with each row transposed behind it
    loop over an array with rows transposed  becomes   a loop over the array, which transposes each row that it takes

and so for rows in another shape. A batch of loops gives its rows with the batch axis in front and takes them with the
batch axis behind, so the two meet and cancel. Machine code can transpose an array, but not rows of different lengths.
Rows of known sizes move from a loop over blocks of a batch, which carries nothing, if loops alone read them.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from adjoint.ops.arrays.rearrange import Reshape, Transpose
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType, is_whole
from adjoint.simplify.loops.parts import Loop, open_loop


class RowView(NamedTuple):
    """A view of each row, and the same view of the whole stack."""

    of_stack: Callable[[Any, Any], Op]  # (view of a row, number of rows)
    of_row: Callable[[Any, ArrayType], Op | None]  # (view of a stack, type of the stack); None if it mixes rows


VIEWS: RuleTable[RowView] = RuleTable("views of rows")
VIEWS.update(
    {
        Transpose: RowView(
            lambda op, n: Transpose((0, *[a + 1 for a in op.axes])),
            lambda op, kind: Transpose(tuple(a - 1 for a in op.axes[1:])) if op.axes[0] == 0 else None,
        ),
        Reshape: RowView(
            lambda op, n: Reshape((n, *op.shape)),
            lambda op, kind: Reshape(op.shape[1:]) if op.shape[:1] == kind.shape[:1] else None,
        ),
    }
)


def move_row_views(program: Program) -> Program:
    """The program with views of such rows behind the loops that give them, and inside those that read them."""
    makers: dict[Atom, Equation] = {}
    equations: list[Equation] = []
    loops = [open_loop(eq) for eq in program.equations]
    if not any(loops):
        return program
    walked = _only_walked(program, loops)
    moved: set[Atom] = set()
    for eq, loop in zip(program.equations, loops, strict=True):
        behind: list[Equation] = []
        if loop is not None:
            behind = _move_out(loop, walked)
            moved.update(v for e in behind for v in e.outputs)
            _move_in(loop, makers, moved)
            eq = loop.close()
        equations += [eq, *behind]
        makers.update((v, e) for e in (eq, *behind) for v in e.outputs)
    if len(equations) == len(program.equations) and all(map(lambda a, b: a is b, equations, program.equations)):
        return program
    return Program(program.inputs, tuple(equations), program.outputs, program.constants)


def _only_walked(program: Program, loops: Sequence[Loop | None]) -> set[Atom]:
    """Variables that loops walk along, and nobody else reads."""
    read = Counter(id(a) for eq in program.equations for a in eq.inputs)
    read.update(id(a) for a in program.outputs)
    arrays = [a for loop in loops if loop is not None for _, a in loop.scanned]
    walked = Counter(map(id, arrays))
    return {a for a in arrays if walked[id(a)] == read[id(a)]}


def _move_out(loop: Loop, walked: set[Atom]) -> list[Equation]:
    """Give rows as they were before the view; the equations of the views of the stacks."""
    made = {eq.outputs[0]: eq for eq in loop.equations if eq.op in VIEWS and isinstance(eq.inputs[0], Var)}
    behind: list[Equation] = []
    is_free = not loop.carries and loop.test is None
    for j, (atom, stack) in enumerate(loop.ys):
        may = isinstance(atom, Var) and (not is_whole(atom.type) or (is_free and stack in walked))
        eq = made.get(atom) if may else None  # type: ignore[arg-type]
        if eq is None:
            continue
        (x,) = eq.inputs
        number = stack.type.shape[0]
        whole = Var(ArrayType((number, *x.type.shape), x.type.dtype))
        view = VIEWS[eq.op].of_stack(eq.op, number)
        behind.append(dataclasses.replace(eq, op=view, inputs=(whole,), outputs=(stack,)))
        loop.ys[j] = (x, whole)
        loop.changed = True
    return behind


def _move_in(loop: Loop, makers: dict[Atom, Equation], moved: set[Atom]) -> None:
    """Take rows as they were before the view."""
    for j, (row, array) in enumerate(loop.scanned):
        eq = makers.get(array) if not is_whole(row.type) or array in moved else None
        rule = VIEWS.get(eq.op) if eq is not None else None
        view = rule.of_row(eq.op, eq.inputs[0].type) if rule is not None and eq is not None else None
        if view is None or eq is None:
            continue
        (x,) = eq.inputs
        taken = Var(ArrayType(x.type.shape[1:], x.type.dtype))
        loop.equations.insert(0, dataclasses.replace(eq, op=view, inputs=(taken,), outputs=(row,)))
        loop.scanned[j] = (taken, x)
        loop.changed = True
