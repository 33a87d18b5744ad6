"""Which variables of a body are numbers, given that others are: constants, folded without writing a program anew.

A cotangent that starts as zero and that every iteration makes zero again (the backward pass of a maximum that is only
compared with a tolerance) is one: it need not be carried, nor what it was multiplied with be stored.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from adjoint.ops.control.cond import Cond
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.ops.elementwise.pointwise import MaskedProduct, Pointwise
from adjoint.ops.elementwise.select import Select
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.simplify.loops.parts import Loop, acts, literal_of, open_loop

Numbers = dict[Var, Literal]


def known_numbers(equations: Iterable[Equation], known: Mapping[Var, Literal]) -> Numbers:
    """The numbers that follow from those that are known."""
    found = dict(known)
    for eq in equations:
        rule = NUMBERS.get(eq.op)
        if rule is not None and not acts(eq.op):
            values = [a if isinstance(a, Literal) else found.get(a) for a in eq.inputs]
            for v, number in zip(eq.outputs, rule(eq.op, eq, values), strict=True):
                if number is not None:
                    found[v] = number
    return found


def steady_carries(loop: Loop, starts: Mapping[Var, Literal], known: Mapping[Var, Literal]) -> Numbers:
    """The carries that are the number that they start with, in every iteration: assume it of all, until it holds."""
    steady = dict(starts)
    while steady:
        numbers = known_numbers(loop.equations, {**known, **steady})
        following = {c.inside: c.next for c in loop.carries}
        failed = [v for v, number in steady.items() if not _is_same(following[v], number, numbers)]
        if not failed:
            break
        for v in failed:
            del steady[v]
    return steady


def _is_same(atom: Atom, number: Literal, numbers: Numbers) -> bool:
    other = atom if isinstance(atom, Literal) else numbers.get(atom)
    return other is not None and _bits(other) == _bits(number)


def _bits(number: Literal) -> Hashable:
    value = np.asarray(number.value)
    return value.dtype, value.tobytes()


Found = list[Literal | None]
# (primitive, equation, its arguments where they are known) → its results where they are
NUMBERS: RuleTable[Callable[[Any, Equation, Found], Found]] = RuleTable("numbers of loops")


@NUMBERS.rule(Select)
def choose_number(op: Select, eq: Equation, values: Found) -> Found:
    x, y, condition = values
    if condition is not None and not eq.outputs[0].type.shape:
        return [x if condition.value else y]
    return [x if x is not None and y is not None and _bits(x) == _bits(y) else None]


@NUMBERS.rule(MaskedProduct)
def mask_number(op: MaskedProduct, eq: Equation, values: Found) -> Found:
    kind = eq.outputs[0].type
    if values[0] is None or values[0].value != 0 or kind.shape:
        return evaluate_numbers(op, eq, values)
    return [literal_of(kind.dtype.type(0), kind)]


@NUMBERS.rule(Pointwise)
def evaluate_numbers(op: Op, eq: Equation, values: Found) -> Found:
    if None in values or len(eq.outputs) != 1 or eq.outputs[0].type.shape:
        return [None] * len(eq.outputs)
    with np.errstate(all="ignore"):
        result = op.evaluate(*[v.value for v in values if v is not None])
    return [literal_of(result, eq.outputs[0].type)]


@NUMBERS.rule(Cond)
def choose_branch(op: Cond, eq: Equation, values: Found) -> Found:
    outputs = [_outputs(p, values[1:]) for p in op.branches]
    return [
        numbers[0] if all(n is not None and _is_same(n, numbers[0], {}) for n in numbers) else None
        for numbers in zip(*outputs, strict=True)
    ]


def _outputs(program: Program, values: Found) -> Found:
    numbers = known_numbers(
        program.equations, {v: x for v, x in zip(program.inputs, values, strict=True) if x is not None}
    )
    return [a if isinstance(a, Literal) else numbers.get(a) for a in program.outputs]


@NUMBERS.rule(Scan, While)
def repeat_numbers(op: Op, eq: Equation, values: Found) -> Found:
    loop = open_loop(eq)
    if loop is None:
        return [None] * len(eq.outputs)
    known = {a: x for a, x in zip(eq.inputs, values, strict=True) if isinstance(a, Var) and x is not None}
    number = lambda atom: atom if isinstance(atom, Literal) else known.get(atom)
    inside = {v: x for v, a in loop.constants if (x := number(a)) is not None}
    starts = {c.inside: x for c in loop.carries if (x := number(c.start)) is not None}
    steady = steady_carries(loop, starts, inside)
    return [*[steady.get(c.inside) for c in loop.carries], *[None] * len(loop.ys)]
