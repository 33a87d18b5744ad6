"""A loop taken apart: what stands outside and what stands inside, side by side, so that both are changed together.

A `Scan` or `While` has its interface twice: as arguments and results of the equation, and as inputs and outputs of the
program inside. `Loop` holds them in pairs; `open_loop` makes it of an equation and `close` makes an equation of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from adjoint.base.records import record
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.subprograms import map_programs
from adjoint.program.types import Value

Renaming: TypeAlias = dict[Var, Atom]


@record(frozen=False)
class Carry:
    """One value that goes from iteration to iteration."""

    inside: Var  # when an iteration begins
    start: Atom  # outside: before the first iteration
    next: Atom  # inside: when the iteration ends
    result: Var  # outside: after the last iteration
    tested: Var | None = None  # the same in the condition of a while loop


@record(frozen=False)
class Test:
    """The condition of a while loop."""

    constants: list[tuple[Var, Atom]]  # (inside, outside)
    equations: list[Equation]
    output: Atom
    values: dict[Var, Value]


@record(frozen=False)
class Loop:
    """A loop in parts. All pairs are (inside, outside)."""

    equation: Equation
    constants: list[tuple[Var, Atom]]
    carries: list[Carry]
    scanned: list[tuple[Var, Atom]]  # xₜ inside, the array outside
    ys: list[tuple[Atom, Var]]  # yₜ inside, the stack outside
    equations: list[Equation]
    values: dict[Var, Value]  # constants of the body
    length: int | None = None  # the number of iterations, where it is known
    test: Test | None = None
    changed: bool = field(default=False)

    @property
    def needs_rows(self) -> bool:
        """Whether the number of iterations is read from the arrays that are scanned: one of them must stay."""
        return self.test is None and self.length is None

    def body(self) -> Program:
        inputs = (*[v for v, _ in self.constants], *[c.inside for c in self.carries], *[v for v, _ in self.scanned])
        outputs = (*[c.next for c in self.carries], *[a for a, _ in self.ys])
        return Program(inputs, tuple(self.equations), outputs, self.values)

    def close(self) -> Equation:
        """The equation of the loop as it is now; the very same one if nothing was changed."""
        if not self.changed:
            return self.equation
        op: Any = self.equation.op
        starts = [c.start for c in self.carries]
        outputs = (*[c.result for c in self.carries], *[v for _, v in self.ys])
        arguments = [a for _, a in self.constants]
        if self.test is None:
            new: Op = Scan(self.body(), len(self.constants), len(self.carries), op.length, op.reverse)
            inputs = (*arguments, *starts, *[a for _, a in self.scanned])
        else:
            test = self.test
            tested = tuple(c.tested for c in self.carries if c.tested is not None)
            condition = Program(
                (*[v for v, _ in test.constants], *tested), tuple(test.equations), (test.output,), test.values
            )
            new = While(condition, self.body(), len(test.constants), len(self.constants))
            inputs = (*[a for _, a in test.constants], *arguments, *starts)
        return dataclasses.replace(self.equation, op=new, inputs=inputs, outputs=outputs)

    def substitute(self, renaming: Mapping[Var, Atom]) -> None:
        """Read other atoms in place of variables of the body."""
        if renaming:
            self.equations = substitute(self.equations, renaming)
            for carry in self.carries:
                carry.next = resolve(carry.next, renaming)
            self.ys = [(resolve(a, renaming), v) for a, v in self.ys]
            self.changed = True


# (primitive, equation) → the parts of the loop
LOOPS: RuleTable[Callable[[Any, Equation], Loop]] = RuleTable("the parts of a loop")


def open_loop(eq: Equation) -> Loop | None:
    """The parts of a loop; None for any other equation."""
    rule = LOOPS.get(eq.op)
    return None if rule is None else rule(eq.op, eq)


@LOOPS.rule(Scan)
def open_scan(op: Scan, eq: Equation) -> Loop:
    body, c, k = op.body, op.constants, op.carries
    inputs, outputs = body.inputs, eq.outputs
    return Loop(
        eq,
        list(zip(inputs[:c], eq.inputs[:c], strict=True)),
        [
            Carry(*parts)
            for parts in zip(inputs[c : c + k], eq.inputs[c : c + k], body.outputs[:k], outputs[:k], strict=True)
        ],
        list(zip(inputs[c + k :], eq.inputs[c + k :], strict=True)),
        list(zip(body.outputs[k:], outputs[k:], strict=True)),
        list(body.equations),
        dict(body.constants),
        op.length if isinstance(op.length, int) else None,
    )


@LOOPS.rule(While)
def open_while(op: While, eq: Equation) -> Loop:
    body, condition, a, b, k = op.body, op.condition, op.condition_constants, op.body_constants, op.carries
    test = Test(
        list(zip(condition.inputs[:a], eq.inputs[:a], strict=True)),
        list(condition.equations),
        condition.outputs[0],
        dict(condition.constants),
    )
    carries = [
        Carry(*parts)
        for parts in zip(
            body.inputs[b:], eq.inputs[a + b :], body.outputs[:k], eq.outputs[:k], condition.inputs[a:], strict=True
        )
    ]
    return Loop(
        eq,
        list(zip(body.inputs[:b], eq.inputs[a : a + b], strict=True)),
        carries,
        [],
        list(zip(body.outputs[k:], eq.outputs[k:], strict=True)),
        list(body.equations),
        dict(body.constants),
        test=test,
    )


def resolve(atom: Atom, renaming: Mapping[Var, Atom]) -> Atom:
    """What an atom is called now."""
    while isinstance(atom, Var) and atom in renaming:
        atom = renaming[atom]
    return atom


def substitute(equations: Iterable[Equation], renaming: Mapping[Var, Atom]) -> list[Equation]:
    """Equations that read other atoms."""
    if not renaming:
        return list(equations)
    out: list[Equation] = []
    for eq in equations:
        if any(a in renaming for a in eq.inputs if isinstance(a, Var)):
            eq = dataclasses.replace(eq, inputs=tuple([resolve(a, renaming) for a in eq.inputs]))
        out.append(eq)
    return out


def acts(op: Op) -> bool:
    """Whether an equation must stay although nobody reads it: an effect, at any depth, or a user function."""
    if op.effect or op.opaque:
        return True
    return op.several and any(_has_acts(p) for p in inner_programs(op))


def _has_acts(program: Program) -> bool:
    cached = program.__dict__.get("_has_acts")
    if cached is None:
        cached = program.__dict__["_has_acts"] = any(acts(eq.op) for eq in program.equations)
    return cached


def inner_programs(op: Any) -> Sequence[Program]:
    """The programs inside an operation; all that have some give several results."""
    return tuple(op.programs().values())


def inside_first(change: Callable[[Program], Program]) -> Callable[[Program], Program]:
    """A pass that changes the programs inside a program, then the program itself."""

    def deep(program: Program) -> Program:
        equations: list[Equation] | None = None
        for position, eq in enumerate(program.equations):
            if inner_programs(eq.op):
                op = map_programs(eq.op, deep)
                if op is not eq.op:
                    equations = list(program.equations) if equations is None else equations
                    equations[position] = dataclasses.replace(eq, op=op)
        if equations is not None:
            program = Program(program.inputs, tuple(equations), program.outputs, program.constants)
        return change(program)

    return deep


def literal_of(value: Value, kind: Any) -> Literal:
    """A number as a literal of a type."""
    return Literal(value if kind.weak else kind.dtype.type(value))
