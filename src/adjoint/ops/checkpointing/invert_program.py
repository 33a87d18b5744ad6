"""The inverse of a program, by reading its equations in both directions.

What is known at first: the results, the inputs that are not asked for, the constants. An equation whose inputs are all
known gives its outputs; one whose outputs are known, with one input missing that can be solved for, gives that input.
Slices and writes to slices give parts of an array; when the parts make the whole, it is known. So a composition of
invertible operations is inverted, and coupling layers too, where each half is changed by a function of the other one.

`INVERSES` holds the rules by class of primitive.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Callable, Sequence
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
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.record import record_program
from adjoint.program.rule_table import RuleTable
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value


def invert_program(program: Program, unknown: Sequence[int]) -> Program:
    """The program that computes these inputs; in their positions it takes the outputs."""
    if len(program.outputs) != len(unknown):
        raise RuleError(
            f"reversible: {len(unknown)} arrays go in and {len(program.outputs)} come out, so what goes in cannot be "
            "found from what comes out. Give inverse=…, or carry the rest along."
        )
    types = list(program.input_types)
    for position, kind in zip(unknown, program.output_types, strict=True):
        types[position] = ArrayType(kind.shape, kind.dtype)
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
        return body, BodyInverse(invert_program(carry, range(own - carries, own)))
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
        for position, atom in zip(unknown, program.outputs, strict=True):
            if isinstance(atom, Var):
                self.known.setdefault(atom, flat[position])

    def run(self, wanted: Sequence[Var]) -> list[Value]:
        """The values of the wanted variables."""
        while not all(v in self.known for v in wanted):
            before = len(self.known)
            left = [eq for eq in self.waiting if not self._read(eq)]
            if len(left) == len(self.waiting) and len(self.known) == before:
                raise RuleError(_stuck(left, self.known))
            self.waiting = left
        return [self.known[v] for v in wanted]

    def value(self, atom: Atom) -> Value:
        """The value of a known atom."""
        return self.known[atom] if isinstance(atom, Var) else atom.value

    def _read(self, eq: Equation) -> bool:
        """Whether all that an equation says is known now."""
        missing = [i for i, a in enumerate(eq.inputs) if isinstance(a, Var) and a not in self.known]
        if not missing:
            results = eq.op(*map(self.value, eq.inputs))
            for v, z in zip(eq.outputs, results if eq.op.several else (results,), strict=True):
                self.known.setdefault(v, z)
            return True
        if isinstance(eq.op, Slice) and eq.outputs[0] not in self.known:
            return self.read_parts(eq.op, eq)
        if len(eq.outputs) != 1 or eq.outputs[0] not in self.known:
            return False
        return INVERSES[eq.op](self, eq.op, eq, self.known[eq.outputs[0]], missing)

    def plain(self, atom: Atom) -> Value:
        """An index, which must not depend on values that are not known yet."""
        value = self.value(atom)
        if isinstance(value, Tracer):
            raise RuleError("reversible: an index is computed from the values. Give inverse=….")
        return value

    def learn(self, atom: Atom, x: Value) -> None:
        """The value of a variable; not if it was broadcast."""
        assert isinstance(atom, Var)
        if np.shape(x) == atom.type.shape:
            self.known.setdefault(atom, x)

    def add_part(self, atom: Atom, numbers: Any, values: Value) -> None:
        """Some elements of an array; all of them together make it."""
        assert isinstance(atom, Var)
        parts = self.parts.setdefault(atom, [])
        parts.append((np.ravel(numbers), np.reshape(values, (-1,))))
        whole = self.elements(atom, _numbers(atom.type))
        if whole is not None:
            self.known.setdefault(atom, whole)

    def read_parts(self, op: Slice, eq: Equation) -> bool:
        """A slice of an array of which enough parts are known."""
        part = self.elements(eq.inputs[0], _numbers(eq.inputs[0].type)[subscript(op.key(), ())])
        if part is not None:
            self.known[eq.outputs[0]] = part
        return False  # the array itself is not known yet: the equation will be read again

    def elements(self, atom: Atom, numbers: Any) -> Value | None:
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


Inverse = Callable[[_Solver, Any, Equation, Value, list[int]], bool]
INVERSES: RuleTable[Inverse] = RuleTable("the inverse of a program")
# rule(solver, op, equation, z, missing): learn inputs from the result z; whether the equation says nothing more


@INVERSES.rule(Op)
def _not_invertible(solver: _Solver, op: Op, eq: Equation, z: Value, missing: list[int]) -> bool:
    return False


def _solves(*kinds: type[Op]) -> Callable[[Callable[[Any, int, Equation, Value, list[Value]], Value | None]], Inverse]:
    """Register solve(op, position, equation, z, xs): the one input that is missing, from z and the others; or None."""

    def register(solve: Callable[[Any, int, Equation, Value, list[Value]], Value | None]) -> Inverse:
        @INVERSES.rule(*kinds)
        def inverse(solver: _Solver, op: Op, eq: Equation, z: Value, missing: list[int]) -> bool:
            if len(missing) > 1:
                return False
            (position,) = missing
            xs = [None if i == position else solver.value(a) for i, a in enumerate(eq.inputs)]
            x = solve(op, position, eq, z, xs)
            if x is not None:
                solver.learn(eq.inputs[position], x)
            return x is not None

        return inverse

    return register


@_solves(Ufunc)
def _invert_ufunc(op: Ufunc, position: int, eq: Equation, z: Value, xs: list[Value]) -> Value | None:
    if not op.inverse or eq.inputs[position].type.shape != eq.outputs[0].type.shape:
        return None
    return op.inverse[position](z, *[x for i, x in enumerate(xs) if i != position])


@_solves(Mark)
def _invert_mark(op: Mark, position: int, eq: Equation, z: Value, xs: list[Value]) -> Value | None:
    return z


@_solves(Reshape)
def _invert_reshape(op: Reshape, position: int, eq: Equation, z: Value, xs: list[Value]) -> Value | None:
    return np.reshape(z, eq.inputs[0].type.shape)


@_solves(Transpose)
def _invert_transpose(op: Transpose, position: int, eq: Equation, z: Value, xs: list[Value]) -> Value | None:
    return np.transpose(z, tuple(int(i) for i in np.argsort(op.axes)))


@_solves(MatMul)
def _invert_matmul(op: MatMul, position: int, eq: Equation, z: Value, xs: list[Value]) -> Value | None:
    """Z = A X or X A, with one square A."""
    matrix = xs[1 - position]
    solve: Any = np.linalg.solve
    shape = np.shape(matrix)
    if len(shape) != 2 or shape[0] != shape[1]:
        return None
    if position == 1:
        return solve(matrix, z)
    return solve(matrix.T, z) if np.ndim(z) == 1 else solve(matrix.T, z.T).T


@INVERSES.rule(Slice, Gather)
def _invert_indexing(solver: _Solver, op: Slice | Gather, eq: Equation, z: Value, missing: list[int]) -> bool:
    """The result is a part of the array."""
    if missing != [0]:
        return False
    numbers = _numbers(eq.inputs[0].type)[subscript(op.key(), [solver.plain(a) for a in eq.inputs[1:]])]
    solver.add_part(eq.inputs[0], numbers, z)
    return True


@INVERSES.rule(Concatenate)
def _invert_concatenate(solver: _Solver, op: Concatenate, eq: Equation, z: Value, missing: list[int]) -> bool:
    """The arguments of a concatenation are slices of its result."""
    start = 0
    for a in eq.inputs:
        stop = start + a.type.shape[op.axis]
        if isinstance(a, Var) and a not in solver.known:
            axis = op.axis % len(a.type.shape)
            solver.known[a] = z[(slice(None),) * axis + (slice(start, stop),)]
        start = stop
    return True


@INVERSES.rule(ScatterSet)
def _invert_write(solver: _Solver, op: ScatterSet, eq: Equation, z: Value, missing: list[int]) -> bool:
    """After x[index] = v, v is the part of the result at the index, and the rest of it is that of x."""
    if set(missing) - {0, 1}:
        return False
    numbers = _numbers(eq.inputs[0].type)
    index = op.subscript([solver.plain(a) for a in eq.inputs[2:]])
    if 1 in missing and np.shape(z[index]) == eq.inputs[1].type.shape:
        solver.learn(eq.inputs[1], z[index])
    if 0 in missing:
        rest = np.setdiff1d(numbers, numbers[index])
        solver.add_part(eq.inputs[0], rest, np.ravel(z)[rest])
    return True


def _stuck(left: Sequence[Equation], known: dict[Var, Value]) -> str:
    """The message when no equation says anything more."""
    ready = [eq for eq in left if all(v in known for v in eq.outputs)] or list(left)
    if not ready:
        return "reversible: the result does not depend on all of what goes in. Give inverse=…."
    eq = ready[-1]
    return (
        f"reversible: {eq.op.title} at {describe(eq.location)} cannot be inverted. Give "
        "inverse=…, or write the layer as a coupling (ad.memory.coupling)."
    )
