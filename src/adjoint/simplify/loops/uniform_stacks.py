"""Stacks of one number: the loops that walk along them, at any depth, know it.

A while loop notes for each iteration that it was taken. Where the loop stands alone these are stacks of True, in a loop
around it stacks of stacks of True, and what the backward pass makes of them, where(True, x, 0), is x. So it is in
machine code, where each row of a stack of stacks has its own length; NumPy fills rows up with zeros, to the longest.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from adjoint.ops.arrays.rearrange import Broadcast
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.simplify.loops.parts import Renaming, literal_of, open_loop

Known = dict[Var, Literal]  # arrays all of whose elements are this number


def know_uniform_stacks(program: Program) -> Program:
    """The program with loops that walk along the numbers of a stack of equal ones reading that number."""
    return _read(program, {})[0]


def _read(program: Program, known: Known) -> tuple[Program, list[Literal | None]]:
    """The program, and of each output the number that it consists of."""
    if not known and (settled := program.__dict__.get("_uniform_stacks")) is not None:
        return program, settled
    known = dict(known)
    given = bool(known)
    equations: list[Equation] = []
    changed = False
    for eq in program.equations:
        if isinstance(eq.op, Broadcast) and isinstance(eq.inputs[0], Literal):
            known[eq.outputs[0]] = eq.inputs[0]
        new = _read_loop(eq, known)
        changed |= new is not eq
        equations.append(new)
    if changed:
        program = Program(program.inputs, tuple(equations), program.outputs, program.constants)
    outputs = [_number(a, known) for a in program.outputs]
    if not given and not changed:
        program.__dict__["_uniform_stacks"] = outputs
    return program, outputs


def _number(atom: Atom, known: Known) -> Literal | None:
    return atom if isinstance(atom, Literal) else known.get(atom)


def _read_loop(eq: Equation, known: Known) -> Equation:
    """A loop that reads the numbers of such stacks; what it stacks itself is known afterwards."""
    loop = open_loop(eq)
    if loop is None:
        return eq
    inside: Known = {}
    renaming: Renaming = {}
    read = {a for e in loop.equations for a in e.inputs} | {c.next for c in loop.carries} | {a for a, _ in loop.ys}
    for v, atom in (*loop.constants, *loop.scanned):
        number = known.get(atom) if isinstance(atom, Var) else None
        if number is None or v not in read:
            continue
        if v.type.shape:
            inside[v] = number
        else:
            renaming[v] = literal_of(number.value, v.type)
    loop.substitute(renaming)
    body, outputs = _read(loop.body() if loop.changed else _body(eq), inside)
    for (_, v), number in zip(loop.ys, outputs[len(loop.carries) :], strict=True):
        if number is not None:
            known[v] = number
    if not loop.changed and body is _body(eq):
        return eq
    return dataclasses.replace(eq, op=dataclasses.replace(eq.op, body=body))  # type: ignore[call-arg,type-var]


def _body(eq: Equation) -> Program:
    op: Any = eq.op
    return op.body
