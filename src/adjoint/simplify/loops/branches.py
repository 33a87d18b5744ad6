"""Branches: operands and results that stand there twice or are known outside, and choices that are none."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from adjoint.ops.arrays.rearrange import Broadcast
from adjoint.ops.control.base import rearranged
from adjoint.ops.control.cond import Cond
from adjoint.ops.elementwise.pointwise import BY_NAME
from adjoint.ops.elementwise.select import Select
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.types import Value
from adjoint.simplify.loops.parts import Renaming, literal_of, resolve, substitute


def simplify_branches(program: Program) -> Program:
    """The program with branches that take and give each value once, and no choices that are none.

    Choices with a known answer, or with the same program in every branch, are no choices; results that are the same
    operand in every branch are that operand, and operands that are numbers are written into the branches.
    """
    renaming: Renaming = {}
    equations: list[Equation] = []
    constants = dict(program.constants)
    changed = False
    for eq in program.equations:
        (new,) = substitute([eq], renaming)
        if isinstance(new.op, Cond):
            new, cond = _share_operands(new, new.op)
            branch = _decide(new, cond, constants)
            if branch is not None:
                outputs = inline(branch, new.inputs[1:], equations, constants)
                renaming.update(zip(new.outputs, outputs, strict=True))
                changed = True
                continue
            new = _share_results(new, cond, renaming, equations)
            if (chosen := _select_results(new, equations)) is not None:
                equations += chosen
                changed = True
                continue
        changed |= new is not eq
        equations.append(new)
    if not changed:
        return program
    outputs = tuple([resolve(a, renaming) for a in program.outputs])
    return Program(program.inputs, tuple(equations), outputs, constants)


def _decide(eq: Equation, cond: Cond, constants: dict[Var, Value]) -> Program | None:
    """The branch that is taken whatever the arguments are."""
    branches, index = cond.branches, eq.inputs[0]
    value = index.value if isinstance(index, Literal) else constants.get(index)
    if value is not None:
        return branches[min(max(int(value), 0), len(branches) - 1)]
    return branches[0] if all(p == branches[0] for p in branches[1:]) else None


def _select_results(eq: Equation, before: Sequence[Equation]) -> list[Equation] | None:
    """A choice between numbers that are there is a select: nothing is computed on either side."""
    cond = eq.op
    if not isinstance(cond, Cond) or len(cond.branches) != 2 or any(p.equations for p in cond.branches):
        return None
    if any(v.type.shape for v in eq.outputs):
        return None
    sides: list[list[Atom]] = []
    for p in cond.branches:
        name = dict(zip(p.inputs, eq.inputs[1:], strict=True))
        numbers = {v: literal_of(value, v.type) for v, value in p.constants.items()}
        sides.append([a if isinstance(a, Literal) else numbers.get(a) or name[a] for a in p.outputs])
    index = eq.inputs[0]
    made = next((e for e in reversed(before) if index in e.outputs), None)
    written: list[Equation] = []
    if made is not None and isinstance(made.op, Select) and [_number(a) for a in made.inputs[:2]] == [0, 1]:
        is_first = made.inputs[2]
    else:
        less_equal: Op = BY_NAME["less_equal"]
        is_first = Var(less_equal.result_type(index.type, Literal(0).type))
        written.append(dataclasses.replace(eq, op=less_equal, inputs=(index, Literal(0)), outputs=(is_first,)))
    for x, y, out in zip(*sides, eq.outputs, strict=True):
        if Select().result_type(x.type, y.type, is_first.type) != out.type:
            return None
        written.append(dataclasses.replace(eq, op=Select(), inputs=(x, y, is_first), outputs=(out,)))
    return written


def _number(atom: Atom) -> Value:
    return atom.value if isinstance(atom, Literal) else None


def inline(
    program: Program, arguments: Sequence[Atom], equations: list[Equation], constants: dict[Var, Value]
) -> list[Atom]:
    """Write a program out where it is called; what its outputs are called there."""
    name: dict[Var, Atom] = dict(zip(program.inputs, arguments, strict=True))
    for v, value in program.constants.items():
        name[v] = new = Var(v.type)
        constants[new] = value
    for eq in program.equations:
        outputs = tuple(Var(v.type) for v in eq.outputs)
        inputs = tuple([a if isinstance(a, Literal) else name[a] for a in eq.inputs])
        equations.append(dataclasses.replace(eq, inputs=inputs, outputs=outputs))
        name.update(zip(eq.outputs, outputs, strict=True))
    return [a if isinstance(a, Literal) else name[a] for a in program.outputs]


def _share_operands(eq: Equation, cond: Cond) -> tuple[Equation, Cond]:
    """Numbers among the operands as literals of the branches, and each other operand once."""
    kept: list[int] = []
    position: dict[Var, int] = {}
    replaced: list[tuple[int, int | Literal]] = []
    for i, atom in enumerate(eq.inputs[1:]):
        if isinstance(atom, Literal):
            replaced.append((i, atom))
        elif atom in position:
            replaced.append((i, position[atom]))
        else:
            position[atom] = i
            kept.append(i)
    if not replaced:
        return eq, cond
    branches: list[Program] = []
    for p in cond.branches:
        renaming: Renaming = {
            p.inputs[i]: p.inputs[to] if isinstance(to, int) else literal_of(to.value, p.inputs[i].type)
            for i, to in replaced
        }
        branches.append(
            Program(
                tuple(p.inputs[i] for i in kept),
                tuple(substitute(p.equations, renaming)),
                tuple([resolve(a, renaming) for a in p.outputs]),
                p.constants,
            )
        )
    cond = Cond(tuple(branches))
    return dataclasses.replace(eq, op=cond, inputs=(eq.inputs[0], *[eq.inputs[1 + i] for i in kept])), cond


def _share_results(eq: Equation, cond: Cond, renaming: Renaming, before: list[Equation]) -> Equation:
    """Results that every branch gives twice, or that are the same operand or number in every branch, are known."""
    branches = cond.branches
    positions = [{v: i for i, v in enumerate(p.inputs)} for p in branches]
    seen: dict[tuple[object, ...], Var] = {}
    kept: list[int] = []
    for j, result in enumerate(eq.outputs):
        atoms = [p.outputs[j] for p in branches]
        key = tuple(a.key() if isinstance(a, Literal) else a for a in atoms)
        numbers = {at[a] if isinstance(a, Var) and a in at else None for a, at in zip(atoms, positions, strict=True)}
        number = numbers.pop() if len(numbers) == 1 else None
        if number is not None:
            renaming[result] = eq.inputs[1 + number]
        elif isinstance(atoms[0], Literal) and len(set(key)) == 1:
            renaming[result] = atoms[0]
        elif (spread := _same_spread(branches, atoms)) is not None:
            renaming[result] = same = Var(result.type)
            before.append(dataclasses.replace(spread, outputs=(same,)))
        elif key in seen:
            renaming[result] = seen[key]
        else:
            seen[key] = result
            kept.append(j)
    if len(kept) == len(eq.outputs):
        return eq
    shorter = Cond(tuple(rearranged(p, range(len(p.inputs)), kept) for p in branches))
    return dataclasses.replace(eq, op=shorter, outputs=tuple(eq.outputs[j] for j in kept))


def _same_spread(branches: Sequence[Program], atoms: Sequence[Atom]) -> Equation | None:
    """The equation of a result that is an array of one number, the same in every branch."""
    found: list[Equation] = []
    for p, a in zip(branches, atoms, strict=True):
        made = next((eq for eq in p.equations if a in eq.outputs), None) if isinstance(a, Var) else None
        if made is None or not isinstance(made.op, Broadcast) or not isinstance(made.inputs[0], Literal):
            return None
        found.append(made)
    numbers = {eq.inputs[0].key() for eq in found if isinstance(eq.inputs[0], Literal)}
    return found[0] if len(numbers) == 1 and len({eq.op for eq in found}) == 1 else None
