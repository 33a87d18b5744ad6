"""`Weaken`: a number that counts as one of Python's, which gives way in promotion (NEP 50).

Arithmetic of Python's numbers gives Python's numbers: with `rate` a float, `(rate / 2) * x` has the dtype of x. NumPy's
ufuncs, by which such arithmetic is recorded, give NumPy's scalars, so the record takes them back.

A loop stacks such numbers, and batch elements do: there they are arrays, and no longer give way. So `strengthened`
writes the conversions out that they stand for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.calculus import Linear
from adjoint.ops.elementwise.ufuncs import BY_NAME
from adjoint.program.op import primitive
from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.record import WEAKENED
from adjoint.program.types import ArrayType, Value, result_dtype


@primitive
class Weaken(Linear):
    """x as a Python number; a stack of them stays an array."""

    is_view = True
    is_selection = True
    weakens = True

    def evaluate(self, *xs: Value) -> Value:
        return np.asarray(xs[0]).item() if np.ndim(xs[0]) == 0 else xs[0]

    def result_type(self, *types: ArrayType) -> Any:
        (kind,) = types
        return ArrayType((), kind.dtype, weak=True) if not kind.shape else kind

    def transpose(self, ct: Value, xs: Sequence[Any]) -> Sequence[Value]:
        return (ct,)

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return dxs[0]

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return xs[0]


ARITHMETIC = (
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "square"),
    *("negative", "positive", "absolute"),
    *("left_shift", "right_shift", "bitwise_and", "bitwise_or", "bitwise_xor", "invert"),
)
WEAKENED.update({BY_NAME[name]: Weaken() for name in ARITHMETIC})


def strengthened(program: Program) -> Program:
    """The program with its weak variables as strong ones, each converted where it gave way to another type."""
    results = [v for eq in program.equations for v in eq.outputs]
    if not any(v.type.weak for v in (*program.inputs, *program.constants, *results)):
        return program
    new: dict[Var, Atom] = {v: _strong(v) for v in (*program.inputs, *program.constants, *results) if v.type.weak}
    equations: list[Equation] = []
    converted: dict[tuple[Atom, np.dtype[Any]], Var] = {}

    def read(atom: Atom) -> Atom:
        return new.get(atom, atom) if isinstance(atom, Var) else atom

    def convert(atom: Atom, dtype: np.dtype[Any], like: Equation) -> Atom:
        if atom.type.dtype == dtype:
            return atom
        key = (atom, dtype)
        if key not in converted:
            converted[key] = Var(ArrayType(atom.type.shape, dtype))
            equations.append(_like(like, Convert(dtype), (atom,), (converted[key],)))
        return converted[key]

    for eq in program.equations:
        atoms = tuple(map(read, eq.inputs))
        if isinstance(eq.op, Weaken):
            new[eq.outputs[0]] = atoms[0]
            continue
        weak = [isinstance(a, Var) and a.type.weak for a in eq.inputs]
        if any(weak) and not _gives(eq, atoms):
            dtype = result_dtype(*[a.type for a in eq.inputs])
            atoms = tuple(convert(a, dtype, eq) if w else a for a, w in zip(atoms, weak, strict=True))
        outputs = tuple(_strong(v) if v.type.weak else v for v in eq.outputs)
        new.update({old: v for old, v in zip(eq.outputs, outputs, strict=True) if v is not old})
        if any(weak) and not _gives(eq, atoms):  # an operation with promotion of its own: its result is converted
            result_types = eq.op.result_type(*[a.type for a in atoms])
            inner = tuple(Var(t) for t in (result_types if eq.op.several else (result_types,)))
            equations.append(_like(eq, eq.op, atoms, inner))
            for a, v in zip(inner, outputs, strict=True):
                equations.append(_like(eq, Convert(v.type.dtype), (a,), (v,)))
        else:
            equations.append(_like(eq, eq.op, atoms, outputs))
    inputs = tuple(_variable(read(v)) for v in program.inputs)
    constants = {
        _variable(read(v)): np.asarray(value)[()] if v.type.weak else value for v, value in program.constants.items()
    }
    return Program(inputs, tuple(equations), tuple(map(read, program.outputs)), constants)


def _strong(v: Var) -> Var:
    return Var(ArrayType(v.type.shape, v.type.dtype))


def _variable(atom: Atom) -> Var:
    assert isinstance(atom, Var)
    return atom


def _like(eq: Equation, op: Any, inputs: tuple[Atom, ...], outputs: tuple[Var, ...]) -> Equation:
    return Equation(op, inputs, outputs, eq.location, eq.scope, eq.quiet, eq.pulled)


def _gives(eq: Equation, atoms: Sequence[Atom]) -> bool:
    """Whether an equation has the results that were recorded, with these inputs."""
    result_types = eq.op.result_type(*[a.type for a in atoms])
    types: Sequence[ArrayType] = result_types if eq.op.several else (result_types,)
    return all((t.shape, t.dtype) == (v.type.shape, v.type.dtype) for t, v in zip(types, eq.outputs, strict=True))
