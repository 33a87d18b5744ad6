"""The inverse of a program, found by reading its equations in both directions.

What is known at first: the results, the inputs that are not asked for, the constants. An equation whose inputs are all
known gives its outputs; one whose outputs are known, with one input missing that can be solved for, gives that input.
Slices and writes to slices give parts of an array; when the parts make the whole, it is known. So a composition of
invertible operations is undone, and coupling layers too, where each half is changed by a function of the other one.
"""

# The rules are written in plain NumPy on values that are being recorded.
# pyright: basic

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import RuleError
from adjoint.base.source import describe
from adjoint.ops.arrays.contract import MatMul
from adjoint.ops.arrays.index import Gather, ScatterSet, Slice, subscript
from adjoint.ops.arrays.rearrange import Concatenate, Reshape, Transpose
from adjoint.ops.checkpointing.invertible import BodyInverse
from adjoint.ops.checkpointing.policies import Mark
from adjoint.ops.elementwise.pointwise import Ufunc
from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.record import record_program
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value


def inverted(program: Program, unknown: Sequence[int]) -> Program:
    """The program that gives these inputs; in their places it takes the outputs."""
    if len(program.outputs) != len(unknown):
        raise RuleError(
            f"reversible: {len(unknown)} arrays go in and {len(program.outputs)} come out, so what goes in cannot be "
            "found from what comes out. Give inverse=…, or carry the rest along."
        )
    types = list(program.input_types)
    for place, kind in zip(unknown, program.output_types, strict=True):
        types[place] = ArrayType(kind.shape, kind.dtype)
    wanted = [program.inputs[i] for i in unknown]

    def solve(*flat: Value) -> list[Value]:
        return _Solver(program, unknown, flat).run(wanted)

    return record_program(solve, types)[0]


def attach_inverse(body: Program, carries: int, arrays: int, inverse: Program | None) -> tuple[Program, BodyInverse]:
    """A body (constants, carry, x) → (carry, y) and its inverse, both with the constants of both.

    The inverse is given as (carry, x, its constants) → carry, or found.
    """
    own = len(body.inputs) - arrays
    if inverse is None:
        carry = Program(body.inputs, body.equations, body.outputs[:carries], body.constants)
        return body, BodyInverse(inverted(carry, range(own - carries, own)))
    n = carries + arrays
    added = tuple(Var(v.type) for v in inverse.inputs[n:])
    before, rest = body.inputs[: own - carries], body.inputs[own - carries :]
    apart = tuple(Var(v.type) for v in before)
    wide = Program((*before, *added, *rest), body.equations, body.outputs, body.constants)
    back = (*apart, *inverse.inputs[n:], *inverse.inputs[:n])
    return wide, BodyInverse(Program(back, inverse.equations, inverse.outputs, inverse.constants))


class _Solver:
    """What is known of the variables of a program."""

    def __init__(self, program: Program, unknown: Sequence[int], flat: Sequence[Value]) -> None:
        self.known: dict[Var, Value] = dict(program.constants)
        self.parts: dict[Var, list[tuple[Any, Value]]] = {}  # (numbers of elements, their values)
        self.waiting = list(program.equations)
        missing = set(unknown)
        self.known.update((v, x) for i, (v, x) in enumerate(zip(program.inputs, flat, strict=True)) if i not in missing)
        for place, atom in zip(unknown, program.outputs, strict=True):
            if isinstance(atom, Var):
                self.known.setdefault(atom, flat[place])

    def run(self, wanted: Sequence[Var]) -> list[Value]:
        """The values of the wanted variables."""
        while not all(v in self.known for v in wanted):
            before = len(self.known)
            left = [eq for eq in self.waiting if not self._used(eq)]
            if len(left) == len(self.waiting) and len(self.known) == before:
                raise RuleError(_stuck(left, self.known))
            self.waiting = left
        return [self.known[v] for v in wanted]

    def _value(self, atom: Atom) -> Value:
        return self.known[atom] if isinstance(atom, Var) else atom.value

    def _used(self, eq: Equation) -> bool:
        """Whether an equation has told all that it can tell."""
        missing = [i for i, a in enumerate(eq.inputs) if isinstance(a, Var) and a not in self.known]
        if not missing:
            results = eq.op(*map(self._value, eq.inputs))
            for v, z in zip(eq.outputs, results if eq.op.several else (results,), strict=True):
                self.known.setdefault(v, z)
            return True
        if isinstance(eq.op, Slice) and eq.outputs[0] not in self.known:
            return self._read_parts(eq.op, eq)
        if len(eq.outputs) != 1 or eq.outputs[0] not in self.known:
            return False
        z, op = self.known[eq.outputs[0]], eq.op
        if isinstance(op, Concatenate):
            self._cut(op, eq, z)
            return True
        if isinstance(op, ScatterSet):
            return self._rest_of_write(op, eq, z, missing)
        if isinstance(op, Slice | Gather) and missing == [0]:
            numbers = _numbers(eq.inputs[0].type)[subscript(op.key(), [self._plain(a) for a in eq.inputs[1:]])]
            self._part(eq.inputs[0], numbers, z)
            return True
        if len(missing) > 1:
            return False
        (place,) = missing
        x = _solved(op, place, eq, z, [None if i == place else self._value(a) for i, a in enumerate(eq.inputs)])
        if x is None:
            return False
        self._learn(eq.inputs[place], x)
        return True

    def _plain(self, atom: Atom) -> Value:
        """An index, which must not depend on values that are not known yet."""
        value = self._value(atom)
        if isinstance(value, Tracer):
            raise RuleError("reversible: an index is computed from the values. Give inverse=….")
        return value

    def _learn(self, atom: Atom, x: Value) -> None:
        assert isinstance(atom, Var)
        if np.shape(x) == atom.type.shape:
            self.known.setdefault(atom, x)

    def _cut(self, op: Concatenate, eq: Equation, z: Value) -> None:
        """The arguments of a concatenation are slices of its result."""
        start = 0
        for a in eq.inputs:
            stop = start + a.type.shape[op.axis]
            if isinstance(a, Var) and a not in self.known:
                axis = op.axis % len(a.type.shape)
                self.known[a] = z[(slice(None),) * axis + (slice(start, stop),)]
            start = stop

    def _rest_of_write(self, op: ScatterSet, eq: Equation, z: Value, missing: list[int]) -> bool:
        """After x[place] = v, v is what stands there, and all else is x."""
        if set(missing) - {0, 1}:
            return False
        numbers = _numbers(eq.inputs[0].type)
        place = op.subscript([self._plain(a) for a in eq.inputs[2:]])
        if 1 in missing and np.shape(z[place]) == eq.inputs[1].type.shape:
            self.known[eq.inputs[1]] = z[place]  # type: ignore[index]
        if 0 in missing:
            rest = np.setdiff1d(numbers, numbers[place])
            self._part(eq.inputs[0], rest, np.ravel(z)[rest])
        return True

    def _part(self, atom: Atom, numbers: Any, values: Value) -> None:
        """Some elements of an array; all of them together make it."""
        assert isinstance(atom, Var)
        parts = self.parts.setdefault(atom, [])
        parts.append((np.ravel(numbers), np.reshape(values, (-1,))))
        whole = self._elements(atom, _numbers(atom.type))
        if whole is not None:
            self.known.setdefault(atom, whole)

    def _read_parts(self, op: Slice, eq: Equation) -> bool:
        """A slice of an array of which enough parts are known."""
        found = self._elements(eq.inputs[0], _numbers(eq.inputs[0].type)[subscript(op.key(), ())])
        if found is None:
            return False
        self.known[eq.outputs[0]] = found
        return False  # the array itself is not known yet, so it may tell more

    def _elements(self, atom: Atom, numbers: Any) -> Value | None:
        """Elements of an array by their numbers, if they are among the parts that are known."""
        parts = self.parts.get(atom, []) if isinstance(atom, Var) else []
        if not parts:
            return None
        order, first = np.unique(np.concatenate([n for n, _ in parts]), return_index=True)
        if not np.isin(numbers, order).all():
            return None
        whole = parts[0][1] if len(parts) == 1 else np.concatenate([v for _, v in parts])
        return np.reshape(whole[first[np.searchsorted(order, np.ravel(numbers))]], np.shape(numbers))


def _numbers(kind: ArrayType) -> Any:
    return np.arange(kind.size).reshape(kind.shape)


def _solved(op: Any, place: int, eq: Equation, z: Value, xs: list[Value]) -> Value | None:
    """An argument of an operation from its result and the other arguments; None if there is no rule."""
    if isinstance(op, Ufunc) and op.inverse and eq.inputs[place].type.shape == eq.outputs[0].type.shape:
        return op.inverse[place](z, *[x for i, x in enumerate(xs) if i != place])
    if isinstance(op, Mark):
        return z
    if isinstance(op, Reshape):
        return np.reshape(z, eq.inputs[0].type.shape)
    if isinstance(op, Transpose):
        return np.transpose(z, tuple(int(i) for i in np.argsort(op.axes)))
    if isinstance(op, MatMul):
        matrix = xs[1 - place]
        shape = np.shape(matrix)
        if len(shape) == 2 and shape[0] == shape[1]:
            if place == 1:
                return np.linalg.solve(matrix, z)
            return np.linalg.solve(matrix.T, z) if np.ndim(z) == 1 else np.linalg.solve(matrix.T, z.T).T
    return None


def _stuck(left: Sequence[Equation], known: dict[Var, Value]) -> str:
    """Why no equation tells anything more."""
    ready = [eq for eq in left if all(v in known for v in eq.outputs)] or list(left)
    if not ready:
        return "reversible: the result does not depend on all of what goes in. Give inverse=…."
    eq = ready[-1]
    return (
        f"reversible: {eq.op.title} at {describe(eq.location)} cannot be undone, so the inverse is not found. Give "
        "inverse=…, or write the layer as a coupling (ad.memory.coupling)."
    )
