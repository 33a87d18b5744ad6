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
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.subprograms import all_programs
from adjoint.program.types import ArrayType, Size


def name_sizes(program: Program) -> Program:
    """The program with a name for every size that is found while it runs; the very same one if there is none."""
    if not any(_has_size(v.type) for p in all_programs(program) for v in _variables(p)):
        return program
    if any(_has_size(v.type) for v in program.inputs):
        raise Unsupported("the sizes of the arguments are not known")
    return _Naming().program(program, program.input_types, [None] * len(program.inputs))[0]


def open_axes(kind: ArrayType) -> list[int]:
    """The axes whose size is found while the kernel runs."""
    return [axis for axis, n in enumerate(kind.shape) if is_found_later(n)]


def rows_begin(program: Program, var: Atom) -> int | None:
    """The axis from which on the rows of a stack of rows of different lengths are arrays; None for arrays."""
    made = next((eq for eq in program.equations if var in eq.outputs), None)
    if made is None or not made.op.programs():
        return None
    body, number = tuple(made.op.programs().values())[-1], made.outputs.index(var)  # type: ignore[arg-type]
    row = body.outputs[number]
    inside = rows_begin(body, row)
    if not made.op.is_loop:
        return inside
    if number < made.op.carries:  # type: ignore[attr-defined]
        return None
    return _begin(inside, row.type)


def makers(program: Program, var: Atom) -> tuple[Any, ...]:
    """The equations by which a stack gets its rows, from the outermost loop or branch to the innermost.

    Stacks of the same ones get their rows at the same time. Others may have as many, and yet get them one after the
    other: a loop that walks along the rows of another.
    """
    made = next((eq for eq in program.equations if var in eq.outputs), None)
    if made is None:
        return ()
    inner = made.op.programs().values() if made.op.is_loop or made.op.is_control else ()
    number = made.outputs.index(var)  # type: ignore[arg-type]
    inside = [makers(body, body.outputs[number]) for body in inner if len(body.outputs) == len(made.outputs)]
    return id(made), *inside


def same_rows(program: Program, var: Atom) -> Literal | None:
    """The number that a loop gives in every iteration, where loops alone read its rows: it need not be stored."""
    made = next((eq for eq in program.equations if var in eq.outputs), None)
    if made is None or not made.op.is_loop or not _is_walked(program, var):
        return None
    op: Any = made.op
    number = made.outputs.index(var)  # type: ignore[arg-type]
    row = op.body.outputs[number] if number >= op.carries else None
    if isinstance(row, Literal):
        return None if row.type.shape else row
    once = row is not None and sum(a is row for a in op.body.outputs) == 1
    return same_rows(op.body, row) if once and row is not None else None


def _is_walked(program: Program, var: Atom) -> bool:
    """Whether all that reads an array are loops that walk along it, down to its numbers."""
    if not var.type.shape:
        return True
    for eq in program.equations:
        for position in [k for k, a in enumerate(eq.inputs) if a is var]:
            op: Any = eq.op
            if not isinstance(op, Scan) or position < op.constants + op.carries:
                return False
            row = op.body.inputs[position]
            if any(a is row for a in op.body.outputs if row.type.shape) or not _is_walked(op.body, row):
                return False
    return True


def _begin(inside: int | None, row: ArrayType) -> int | None:
    """The same of the stack of such rows."""
    return inside + 1 if inside is not None else 1 if open_axes(row) else None


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
        self._begins: dict[Atom, int] = {}  # of stacks of rows of different lengths: where their rows are arrays

    def fresh(self) -> Sym:
        self._count += 1
        return size_found_later(self._count)

    def program(
        self, program: Program, types: Sequence[ArrayType], begins: Sequence[int | None]
    ) -> tuple[Program, list[int | None]]:
        """The program for inputs of other types, and where the rows of inputs and of results are arrays."""
        new: dict[Var, Var] = {v: v for v in program.constants}
        for v, kind, begin in zip(program.inputs, types, begins, strict=True):
            new[v] = Var(ArrayType(kind.shape, v.type.dtype, v.type.weak)) if _has_size(v.type) else Var(v.type)
            if begin is not None:
                self._begins[new[v]] = begin
        equations: list[Equation] = []
        for eq in program.equations:
            atoms = tuple(new[a] if isinstance(a, Var) else a for a in eq.inputs)
            op, operands, kinds, rows_begin = RULES[eq.op](self, eq.op, eq, atoms)
            outputs = tuple(
                Var(ArrayType(k.shape, v.type.dtype, v.type.weak)) for v, k in zip(eq.outputs, kinds, strict=True)
            )
            new.update(zip(eq.outputs, outputs, strict=True))
            self._begins.update((v, b) for v, b in zip(outputs, rows_begin, strict=True) if b is not None)
            equations.append(dataclasses.replace(eq, op=op, inputs=operands, outputs=outputs))
        results = tuple(new[a] if isinstance(a, Var) else a for a in program.outputs)
        inputs = tuple(new[v] for v in program.inputs)
        made = Program(inputs, tuple(equations), results, program.constants)
        return made, [self.begin(a) for a in results]

    def begin(self, atom: Atom) -> int | None:
        """Where the rows of a stack of rows of different lengths are arrays; None for arrays."""
        return self._begins.get(atom) if isinstance(atom, Var) else None

    def inputs(self, atoms: Sequence[Atom], walked: Sequence[Atom]) -> tuple[list[ArrayType], list[int | None]]:
        """The types of the inputs of a body, from arguments that it takes whole and arrays that it walks along."""
        kinds = [a.type for a in atoms] + [_row(a.type) for a in walked]
        rows = [None if (begin := self.begin(a)) in (None, 1) else begin - 1 for a in walked]
        return kinds, [*map(self.begin, atoms), *rows]


# (operation, its operands, types of the results, where the rows of those with rows of different lengths are arrays)
Answer = tuple[Any, tuple[Atom, ...], Sequence[ArrayType], Sequence[int | None]]
RULES: RuleTable[Callable[[_Naming, Any, Equation, tuple[Atom, ...]], Answer]] = RuleTable("sizes found while running")


@RULES.rule(Scan)
def _name_in_scan(naming: _Naming, op: Scan, eq: Equation, atoms: tuple[Atom, ...]) -> Answer:
    first = op.constants + op.carries
    body, rows = naming.program(op.body, *naming.inputs(atoms[:first], atoms[first:]))
    length = op.length if op.length is not None else atoms[first].type.shape[0]
    stacks = [ArrayType((length, *t.shape), t.dtype) for t in body.output_types[op.carries :]]
    carries = [a.type for a in atoms[op.constants : first]]
    return dataclasses.replace(op, body=body), atoms, [*carries, *stacks], _begins(body, op.carries, rows)


@RULES.rule(While)
def _name_in_while(naming: _Naming, op: While, eq: Equation, atoms: tuple[Atom, ...]) -> Answer:
    test, constants, carry = op.parts(atoms)
    condition, _ = naming.program(op.condition, *naming.inputs([*test, *carry], ()))
    body, rows = naming.program(op.body, *naming.inputs([*constants, *carry], ()))
    iterations = naming.fresh()
    stacks = [ArrayType((iterations, *t.shape), t.dtype) for t in body.output_types[op.carries :]]
    carries = [a.type for a in carry]
    named = dataclasses.replace(op, condition=condition, body=body)
    return named, atoms, [*carries, *stacks], _begins(body, op.carries, rows)


def _begins(body: Program, carries: int, rows: Sequence[int | None]) -> list[int | None]:
    """Where the rows of the results of a loop are arrays."""
    if any(begin is not None for begin in rows[:carries]):
        raise Unsupported("a loop carries rows of different lengths")
    stacks = zip(rows[carries:], body.output_types[carries:], strict=True)
    return [None] * carries + [_begin(begin, kind) for begin, kind in stacks]


@RULES.rule(Cond)
def _name_in_cond(naming: _Naming, op: Cond, eq: Equation, atoms: tuple[Atom, ...]) -> Answer:
    types, begins = naming.inputs(atoms[1:], ())
    branches = tuple(naming.program(p, types, begins)[0] for p in op.branches)
    if any(open_axes(t) for p in branches for t in p.output_types):
        raise Unsupported("a branch gives what has a size of its own")
    return Cond(branches), atoms, branches[0].output_types, [None] * len(eq.outputs)


@RULES.rule(Checkpoint)
def _name_in_checkpoint(naming: _Naming, op: Checkpoint, eq: Equation, atoms: tuple[Atom, ...]) -> Answer:
    program, begins = naming.program(op.program, *naming.inputs(atoms, ()))
    return dataclasses.replace(op, program=program), atoms, program.output_types, begins


def _name_elsewhere(naming: _Naming, op: Any, eq: Equation, atoms: tuple[Atom, ...]) -> Answer:
    if any(naming.begin(a) is not None for a in atoms):
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
    if not known or not op.size_fields:
        return op, atoms, types, [None] * len(types)
    fields: dict[str, Any] = {}
    for name, value in op.static_parameters().items():
        if name == "shape" and name in op.size_fields:  # that of the result, whatever its sizes were called before
            fields[name] = types[0].shape
        elif name in op.size_fields:
            fields[name] = named(value)
    return dataclasses.replace(op, **fields), atoms, types, [None] * len(types)


def _by_rows(naming: _Naming, op: Any, eq: Equation, atoms: tuple[Atom, ...]) -> Answer:
    """An operation on each element alone, as a loop over the rows; the numbers among its operands are the same."""
    different = [a for a in dict.fromkeys(atoms) if isinstance(a, Var)]
    numbers = [a for a in different if naming.begin(a) is None]
    stacks = [a for a in different if naming.begin(a) is not None]
    shape, begin = stacks[0].type.shape, naming.begin(stacks[0])
    alike = all(a.type.shape == shape and naming.begin(a) == begin for a in stacks)
    alike = alike and not any(a.type.shape for a in numbers)
    rule = lazy_rule(op)
    if not (rule.elementwise and rule.is_lazy(eq) and alike and len(eq.outputs) == 1):
        raise Unsupported(f"{op.title}: its operand has rows of different lengths")
    outer = {new: old for old, new in zip(eq.inputs, atoms, strict=True)}
    inside = {a: Var(outer[a].type) for a in numbers} | {a: Var(_row(outer[a].type)) for a in stacks}
    result = Var(_row(eq.outputs[0].type))
    row = dataclasses.replace(eq, inputs=tuple(inside.get(a, a) for a in atoms), outputs=(result,))  # type: ignore[arg-type]
    body = Program(tuple(inside.values()), (row,), (result,), {})
    return _name_in_scan(naming, Scan(body, len(numbers), 0, _length(shape)), eq, (*numbers, *stacks))


def _length(shape: Sequence[Any]) -> int | None:
    return shape[0] if type(shape[0]) is int else None


RULES.update({Op: _name_elsewhere})
