"""Numbers that a right side holds and that change from call to call become inputs of its program.

`lambda t, y: -k * y` is another program for each k. The first is compiled as it is, with all that its numbers allow;
where the next differs in some of them alone, these are hoisted, and further values make no new program.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from adjoint.ops.control.cond import Cond
from adjoint.ops.elementwise.pointwise import Pointwise
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.types import ArrayType, Value

__all__ = ["hoist_changing"]

MOST_FAMILIES = 512
_families: dict[Any, _Family] = {}


class _Family(NamedTuple):
    """Programs that are alike but for their numbers: those of the first one, and which of them have changed."""

    first: list[bytes]
    changing: set[int]


class _Skeleton(NamedTuple):
    """A program without its numbers, and the numbers in order."""

    key: Any
    values: list[Value]


def hoist_changing(program: Program) -> tuple[Program, list[Value]]:
    """The program with numbers that other calls had otherwise as its last inputs, and their values."""
    skeleton = _read(program)
    if not skeleton.values:
        return program, []
    bits = [np.asarray(v).tobytes() for v in skeleton.values]
    if skeleton.key not in _families:
        if len(_families) >= MOST_FAMILIES:
            _families.pop(next(iter(_families)))
        _families[skeleton.key] = _Family(bits, set())
    family = _families[skeleton.key]
    family.changing.update(i for i, (one, other) in enumerate(zip(bits, family.first, strict=True)) if one != other)
    if not family.changing:
        return program, []
    hoisted = [v if i in family.changing else None for i, v in enumerate(skeleton.values)]
    whole, added = _rebuild(program, iter(hoisted))
    return Program((*whole.inputs, *added), whole.equations, whole.outputs, whole.constants), list(added.values())


def _read(program: Program) -> _Skeleton:
    number: dict[Var, int] = {v: i for i, v in enumerate((*program.inputs, *program.constants))}
    values: list[Value] = list(program.constants.values())
    parts: list[Any] = [program.input_types, tuple(v.type for v in program.constants)]
    for eq in program.equations:
        atoms: list[Any] = []
        for a in eq.inputs:
            value = _number(eq, a)
            if value is not None:
                values.append(value)
            atoms.append(_key(a, number) if value is None else (type(value).__name__, "hoisted"))
        op: Any = eq.op
        if isinstance(op, Cond):
            branches = [_read(branch) for branch in op.branches]
            op = (Cond, *[branch.key for branch in branches])
            for branch in branches:
                values.extend(branch.values)
        for v in eq.outputs:
            number[v] = len(number)
        parts.append((op, tuple(atoms), tuple(v.type for v in eq.outputs)))
    parts.append(tuple(_key(a, number) for a in program.outputs))
    return _Skeleton(tuple(parts), values)


def _key(atom: Atom, number: dict[Var, int]) -> Any:
    return number[atom] if isinstance(atom, Var) else atom.key()


def _number(eq: Equation, atom: Atom) -> Value:
    """The value of a literal, of the type that it takes in this equation; None where it is no mere number there."""
    if not isinstance(atom, Literal) or eq.op.programs() or np.ndim(atom.value):
        return None
    is_pointwise, kind = isinstance(eq.op, Pointwise), atom.type.dtype.kind
    if kind not in "fc" and not (kind == "i" and is_pointwise and atom.type.weak):
        return None  # an index
    if not atom.type.weak:
        return np.asarray(atom.value)[()]
    others = [a.type for a in eq.inputs if isinstance(a, Var)] if is_pointwise else [v.type for v in eq.outputs]
    if any(t.weak or t.dtype.kind not in "fc" for t in others) or not others:
        return None
    taken = np.result_type(*[t.dtype for t in others])
    return (np.result_type(taken, np.complex64) if kind == "c" else np.finfo(taken).dtype).type(atom.value)


def _rebuild(program: Program, hoisted: Iterator[Value]) -> tuple[Program, dict[Var, Value]]:
    """The program that reads variables where a value is hoisted, and these variables: they are no inputs yet."""
    added: dict[Var, Value] = {}

    def hoist(value: Value) -> Var:
        v = Var(ArrayType(np.shape(value), np.asarray(value).dtype))
        added[v] = value
        return v

    replaced: dict[Var, Var] = {}
    constants: dict[Var, Value] = {}
    for v, value in program.constants.items():
        if next(hoisted) is None:
            constants[v] = value
        else:
            replaced[v] = hoist(value)
    equations: list[Equation] = []
    for eq in program.equations:
        inputs: list[Atom] = []
        for a in eq.inputs:
            value = None if _number(eq, a) is None else next(hoisted)
            inputs.append((replaced.get(a, a) if isinstance(a, Var) else a) if value is None else hoist(value))
        op = eq.op
        if isinstance(op, Cond):
            branches = [_rebuild(branch, hoisted) for branch in op.branches]
            taken = [v for _, own in branches for v in own]
            op = Cond(tuple(_with_inputs(branch, taken, own) for branch, own in branches))
            inputs.extend(hoist(value) for _, own in branches for value in own.values())
        equations.append(Equation(op, tuple(inputs), eq.outputs, eq.location, eq.scope, eq.quiet, eq.pulled))
    outputs = tuple(replaced.get(a, a) if isinstance(a, Var) else a for a in program.outputs)
    return Program(program.inputs, tuple(equations), outputs, constants), added


def _with_inputs(branch: Program, taken: list[Var], own: dict[Var, Value]) -> Program:
    """A branch that is also given what is hoisted from it and from its siblings."""
    further = [v if v in own else Var(v.type) for v in taken]
    return Program((*branch.inputs, *further), branch.equations, branch.outputs, branch.constants)
