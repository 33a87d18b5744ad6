"""Sizes that are found while a kernel runs: how often a while loop has gone round.

A `Size` of a type becomes a `Sym` with a name of its own for every while loop that finds one, so that two copies of a
loop do not share it. The code is written for a size larger than any, and every comparison of it is answered like that:
nothing may be written that does not hold for sizes 0 and 1 too.

A loop stacks rows that its body has found the size of: rows of different lengths. They stand one after the other in
memory (see `histories`), so they are no array. Loops read them row by row; an operation that acts element by element is
written as such a loop here, and all others are not compiled.
"""

# pyright: basic

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.compile.graph import lazy_rule
from adjoint.compile.symbolic_sizes import Sym, Unsupported, is_found_later, size_found_later
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.remat import Checkpoint
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.subprograms import all_programs
from adjoint.program.types import ArrayType, Size


def name_sizes(program: Program) -> Program:
    """The program with a name for every size that is found while it runs; the very same one if there is none."""
    if not any(_has_size(v.type) for p in all_programs(program) for v in _variables(p)):
        return program
    if any(_has_size(v.type) for v in program.inputs):
        raise Unsupported("the sizes of the arguments are not known")
    return _Naming().program(program, program.input_types, [False] * len(program.inputs))[0]


def open_axes(kind: ArrayType) -> list[int]:
    """The axes whose size is found while the kernel runs."""
    return [axis for axis, n in enumerate(kind.shape) if is_found_later(n)]


def _variables(program: Program) -> list[Var]:
    return [*program.inputs, *[v for eq in program.equations for v in eq.outputs]]


def _has_size(kind: ArrayType) -> bool:
    return any(isinstance(n, Size) for n in kind.shape)


def _row(kind: ArrayType) -> ArrayType:
    return ArrayType(kind.shape[1:], kind.dtype)


class _Naming:
    """Reads a program again with other types."""

    def __init__(self) -> None:
        self._count = 0
        self._ragged: set[Atom] = set()  # stacks of rows of different lengths

    def fresh(self) -> Sym:
        self._count += 1
        return size_found_later(self._count)

    def program(
        self, program: Program, types: Sequence[ArrayType], ragged: Sequence[bool]
    ) -> tuple[Program, list[bool]]:
        """The program for inputs of other types, some of them of rows of different lengths; which results are."""
        new: dict[Var, Var] = {v: v for v in program.constants}
        for v, kind, rows in zip(program.inputs, types, ragged, strict=True):
            new[v] = Var(ArrayType(kind.shape, v.type.dtype, v.type.weak)) if _has_size(v.type) else Var(v.type)
            if rows:
                self._ragged.add(new[v])
        equations: list[Equation] = []
        for eq in program.equations:
            atoms = tuple(new[a] if isinstance(a, Var) else a for a in eq.inputs)
            op, operands, kinds, rows = RULES[eq.op](self, eq.op, eq, atoms)
            outputs = tuple(
                Var(ArrayType(k.shape, v.type.dtype, v.type.weak)) for v, k in zip(eq.outputs, kinds, strict=True)
            )
            new.update(zip(eq.outputs, outputs, strict=True))
            self._ragged.update(v for v, r in zip(outputs, rows, strict=True) if r)
            equations.append(dataclasses.replace(eq, op=op, inputs=operands, outputs=outputs))
        results = tuple(new[a] if isinstance(a, Var) else a for a in program.outputs)
        inputs = tuple(new[v] for v in program.inputs)
        made = Program(inputs, tuple(equations), results, program.constants)
        return made, [a in self._ragged for a in results]

    def is_ragged(self, atom: Atom) -> bool:
        return isinstance(atom, Var) and atom in self._ragged

    def rows(self, atom: Atom) -> tuple[ArrayType, bool]:
        """The type of a row, and whether it is itself one of rows of different lengths."""
        kind = _row(atom.type)
        return kind, self.is_ragged(atom) and any(axis > 0 for axis in open_axes(kind))

    def inputs(self, atoms: Sequence[Atom], walked: Sequence[Atom]) -> tuple[list[ArrayType], list[bool]]:
        """The types of the inputs of a body, from arguments that it takes whole and arrays that it walks along."""
        pairs = [(a.type, self.is_ragged(a)) for a in atoms] + [self.rows(a) for a in walked]
        return [kind for kind, _ in pairs], [rows for _, rows in pairs]


# (operation, its operands, types of the results, which of them have rows of different lengths)
Answer = tuple[Any, tuple[Atom, ...], Sequence[ArrayType], Sequence[bool]]
RULES: RuleTable[Callable[[_Naming, Any, Equation, tuple[Atom, ...]], Answer]] = RuleTable("sizes found while running")


@RULES.rule(Scan)
def _name_in_scan(naming: _Naming, op: Scan, eq: Equation, atoms: tuple[Atom, ...]) -> Answer:
    first = op.constants + op.carries
    body, ragged = naming.program(op.body, *naming.inputs(atoms[:first], atoms[first:]))
    length = op.length if op.length is not None else atoms[first].type.shape[0]
    stacks = [ArrayType((length, *t.shape), t.dtype) for t in body.output_types[op.carries :]]
    carries = [a.type for a in atoms[op.constants : first]]
    return dataclasses.replace(op, body=body), atoms, [*carries, *stacks], _which(carries, ragged, stacks)


@RULES.rule(While)
def _name_in_while(naming: _Naming, op: While, eq: Equation, atoms: tuple[Atom, ...]) -> Answer:
    test, constants, carry = op.parts(atoms)
    condition, _ = naming.program(op.condition, *naming.inputs([*test, *carry], ()))
    body, ragged = naming.program(op.body, *naming.inputs([*constants, *carry], ()))
    iterations = naming.fresh()
    stacks = [ArrayType((iterations, *t.shape), t.dtype) for t in body.output_types[op.carries :]]
    carries = [a.type for a in carry]
    named = dataclasses.replace(op, condition=condition, body=body)
    return named, atoms, [*carries, *stacks], _which(carries, ragged, stacks)


def _which(carries: Sequence[ArrayType], ragged: Sequence[bool], stacks: Sequence[ArrayType]) -> list[bool]:
    """Which results of a loop have rows of different lengths."""
    if any(ragged[: len(carries)]):
        raise Unsupported("a loop carries rows of different lengths")
    return [False] * len(carries) + [any(axis > 0 for axis in open_axes(kind)) for kind in stacks]


@RULES.rule(Cond)
def _name_in_cond(naming: _Naming, op: Cond, eq: Equation, atoms: tuple[Atom, ...]) -> Answer:
    types, ragged = naming.inputs(atoms[1:], ())
    branches = tuple(naming.program(p, types, ragged)[0] for p in op.branches)
    if any(open_axes(t) for p in branches for t in p.output_types):
        raise Unsupported("a branch gives what has a size of its own")
    return Cond(branches), atoms, branches[0].output_types, [False] * len(eq.outputs)


@RULES.rule(Checkpoint)
def _name_in_checkpoint(naming: _Naming, op: Checkpoint, eq: Equation, atoms: tuple[Atom, ...]) -> Answer:
    program, ragged = naming.program(op.program, *naming.inputs(atoms, ()))
    return dataclasses.replace(op, program=program), atoms, program.output_types, ragged


def _name_elsewhere(naming: _Naming, op: Any, eq: Equation, atoms: tuple[Atom, ...]) -> Answer:
    if any(map(naming.is_ragged, atoms)):
        return _by_rows(naming, op, eq, atoms)
    known: dict[Size, Any] = {}
    for old, now in zip(eq.inputs, atoms, strict=True):
        for n, m in zip(old.type.shape, now.type.shape, strict=True):
            if isinstance(n, Size) and known.setdefault(n, m) != m:
                raise Unsupported(f"{op.title}: two sizes that are found while the program runs are taken for one")

    def named(value: Any) -> Any:
        if isinstance(value, Size):
            if value not in known:
                raise Unsupported(f"{op.title}: its sizes are known only when the program runs")
            return known[value]
        return tuple(named(v) for v in value) if type(value) is tuple else value

    types = [ArrayType(named(v.type.shape), v.type.dtype) for v in eq.outputs]
    fields = {name: named(value) for name, value in op.static_parameters().items() if name in op.size_fields}
    changed = any(new is not op.static_parameters()[name] for name, new in fields.items())
    return dataclasses.replace(op, **fields) if known and changed else op, atoms, types, [False] * len(types)


def _by_rows(naming: _Naming, op: Any, eq: Equation, atoms: tuple[Atom, ...]) -> Answer:
    """An operation on each element alone, as a loop over the rows; the numbers among its operands are the same."""
    shape = next(a.type.shape for a in atoms if naming.is_ragged(a))
    alike = all(a.type.shape == shape if naming.is_ragged(a) else not a.type.shape for a in atoms)
    rule = lazy_rule(op)
    if not (rule.elementwise and rule.is_lazy(eq) and alike and len(eq.outputs) == 1):
        raise Unsupported(f"{op.title}: its operand has rows of different lengths")
    different = [a for a in dict.fromkeys(atoms) if isinstance(a, Var)]
    numbers = [a for a in different if not naming.is_ragged(a)]
    stacks = [a for a in different if naming.is_ragged(a)]
    outer = {new: old for old, new in zip(eq.inputs, atoms, strict=True)}
    inside = {a: Var(outer[a].type) for a in numbers} | {a: Var(_row(outer[a].type)) for a in stacks}
    result = Var(_row(eq.outputs[0].type))
    row = dataclasses.replace(eq, inputs=tuple(inside.get(a, a) for a in atoms), outputs=(result,))  # type: ignore[arg-type]
    body = Program(tuple(inside.values()), (row,), (result,), {})
    return _name_in_scan(naming, Scan(body, len(numbers), 0, _length(shape)), eq, (*numbers, *stacks))


def _length(shape: Sequence[Any]) -> int | None:
    return shape[0] if type(shape[0]) is int else None


RULES.update({Op: _name_elsewhere})
