"""A program is read once, from its first equation to its last, and written anew: simpler, and nothing twice.

Every equation goes through `Rewriter.apply`, which asks, in this order: was the same computed before (common
subexpressions)? can it be computed now (constant folding)? does a rule write it otherwise? Rules build their result
with `apply` again, so what they write is simplified as it is written, and one reading is nearly all that is needed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.rearrange import Broadcast, Convert, Reshape
from adjoint.ops.arrays.search import Count
from adjoint.ops.elementwise.arithmetic import add, multiply
from adjoint.ops.elementwise.ufuncs import BY_NAME
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.types import ArrayType, Value, is_whole, type_of
from adjoint.simplify.rules.constant_folding import (
    MOST_BYTES,
    MOST_ELEMENTS,
    evaluate,
    literal_key,
    same_array,
    uniform_element,
)
from adjoint.simplify.rules.rule import RuleBook, Tag, tag_of, with_number
from adjoint.simplify.use_counts import Readers

# Exact for all numbers in either order; a number is written second.
COMMUTATIVE: frozenset[Any] = frozenset(
    [add, multiply, *(BY_NAME[name] for name in ("equal", "not_equal", "logical_and", "logical_or", "bitwise_and"))]
)
_NOWHERE = Equation(add, (), ())


class Rewriter:
    """The program that is being written, and what is known of its values."""

    def __init__(self, program: Program, book: RuleBook) -> None:
        self.program = program
        self.book = book
        self.equations: list[Equation] = []
        self.constants: dict[Var, Value] = {}
        self.origin = _NOWHERE  # the equation that is being written anew: new ones take its line and scope
        self.defined: dict[Var, Equation] = {}
        self.readers = Readers(program, self.defined)
        self._tags: dict[Var, Tag] = {}
        self._known: dict[Any, Any] = {}  # (op, ids of inputs) → result
        self._literals: dict[Any, Literal] = {}
        self._arrays: dict[ArrayType, list[tuple[Value, Var]]] = {}
        self._instead: dict[Var, Atom] = {}

    # ---- reading

    def run(self) -> Program:
        """The whole program, written anew; the very same one when there was nothing to do."""
        program = self.program
        for v, value in program.constants.items():
            atom = self.constant(value, v)
            if atom is not v:
                self._instead[v] = atom
                self.readers.move(v, atom)
        for eq in program.equations:
            self.read(eq)
        outputs = tuple([self.resolve(a) for a in program.outputs])
        same = (
            len(self.equations) == len(program.equations)
            and all(a is b for a, b in zip(self.equations, program.equations, strict=True))
            and self._same(program.outputs, outputs)
            and len(self.constants) == len(program.constants)
        )
        return program if same else Program(program.inputs, tuple(self.equations), outputs, self.constants)

    def read(self, eq: Equation) -> None:
        """Write one equation of the program anew, or keep it."""
        instead, literals = self._instead, self._literals
        inputs: list[Atom] = []
        for a in eq.inputs:
            if isinstance(a, Var):
                inputs.append(instead.get(a, a))
            else:
                inputs.append(literals.setdefault(literal_key(a.value), a))
        self.origin = eq
        op = eq.op
        if op.several:
            results = self.apply_several(op, tuple(inputs), eq)
        else:
            results = (self.apply(op, tuple(inputs), eq.outputs[0].type, eq),)
        for v, z in zip(eq.outputs, results, strict=True):
            if v is not z:
                instead[v] = z
                self.readers.move(v, z)
        if not self.equations or self.equations[-1] is not eq:
            self.readers.release(inputs)

    def resolve(self, atom: Atom) -> Atom:
        """What stands for an atom of the program that is read."""
        return self._instead.get(atom, atom) if isinstance(atom, Var) else self.literal(atom.value)

    # ---- writing

    def apply(self, op: Op, inputs: tuple[Atom, ...], kind: Any = None, eq: Equation | None = None) -> Any:
        """op(inputs), as simply as it can be had."""
        tag = tag_of(op)
        if tag in COMMUTATIVE:
            first, second = inputs
            if isinstance(first, Literal) and not isinstance(second, Literal):
                inputs = (second, first)
            one, two = id(first), id(second)
            key: Any = (op, one, two) if one < two else (op, two, one)
        else:
            key = (op, *map(id, inputs))
        known = self._known.get(key)
        if known is not None:
            return known
        if kind is None:
            kind = op.result_type(*[a.type for a in inputs])
        z = self._rewrite(op, tag, inputs, kind)
        if z is None or (z.type.shape != kind.shape and not is_whole(kind)):  # nothing is spread over unknown sizes
            z = self.write(op, inputs, kind, eq)
        else:
            z = self.fit(z, kind)
        self._known[key] = z
        return z

    def _rewrite(self, op: Op, tag: Tag, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
        tags, constants = self._tags, self.constants
        if 0 in kind.shape and tag is not Broadcast:  # no element, so any number will do
            return self.literal(kind.dtype.type(0))
        for a in inputs:
            if isinstance(a, Var) and a not in constants and tags.get(a) is not Broadcast:
                break
        else:
            if tag is not Broadcast and (z := self.fold(op, inputs, kind)) is not None:
                return z
        if len(inputs) <= 3:
            form = (tag, *[Literal if isinstance(a, Literal) else tags.get(a) for a in inputs])
            rules = self.book.candidates(form, op, many=False)
        else:
            rules = self.book.candidates((tag, len), op, many=True)
        for rewrite in rules:
            z = rewrite(self, op, inputs, kind)
            if z is not None:
                return z
        return None

    def write(self, op: Op, inputs: tuple[Atom, ...], kind: ArrayType, eq: Equation | None = None) -> Var:
        """A new equation, as it stands; the given one where it says the same."""
        if eq is None or eq.op is not op or not self._same(eq.inputs, inputs):
            origin = self.origin
            v = eq.outputs[0] if eq is not None else Var(kind)
            eq = Equation(op, inputs, (v,), origin.location, origin.scope, origin.quiet, origin.pulled)
            self.readers.take(inputs)
        v = eq.outputs[0]
        self.equations.append(eq)
        self.defined[v] = eq
        tag = tag_of(op)
        number = tag is op and len(inputs) == 2 and isinstance(inputs[1], Literal)
        self._tags[v] = with_number(op) if number else tag
        return v

    def apply_several(self, op: Op, inputs: tuple[Atom, ...], eq: Equation) -> Sequence[Atom]:
        """The same for a primitive that gives several results, or none."""
        if op.effect:
            self._keep(eq, op, inputs)
            return eq.outputs
        # the programs inside are compared only where the inputs agree
        pure = not op.opaque
        key: Any = (op.__class__ if "programs" in op.stated else op, *map(id, inputs)) if pure else None
        for before, results in self._known.get(key, ()) if pure else ():
            if before == op:
                return results
        results: Any = None
        for rewrite in self.book.candidates((op.__class__, len), op, many=True):
            results = rewrite(self, op, inputs, eq)
            if results is not None:
                results = tuple([self.fit(z, v.type) for z, v in zip(results, eq.outputs, strict=True)])
                break
        if results is None:
            self._keep(eq, op, inputs)
            results = eq.outputs
        if pure:
            self._known.setdefault(key, []).append((op, results))
        return results

    def _keep(self, eq: Equation, op: Op, inputs: tuple[Atom, ...]) -> None:
        if eq.op is not op or not self._same(eq.inputs, inputs):
            eq = Equation(op, inputs, eq.outputs, eq.location, eq.scope, eq.quiet, eq.pulled)
            self.readers.take(inputs)
        self.equations.append(eq)
        for v in eq.outputs:
            self.defined[v] = eq
            self._tags[v] = op.__class__

    def _same(self, before: tuple[Atom, ...], now: tuple[Atom, ...]) -> bool:
        for a, b in zip(before, now, strict=True):
            if a is not b and (isinstance(a, Var) or self.literal(a.value) is not b):
                return False
        return True

    def fit(self, z: Atom, kind: ArrayType) -> Atom:
        """A result in the type that is expected of it: no weak number, and spread over the shape."""
        if isinstance(z, Literal) and (z.type.weak or z.type.dtype != kind.dtype):
            z = self.literal(kind.dtype.type(z.value))
        elif isinstance(z, Var) and z.type.weak and not kind.weak:
            z = self.write(Convert(kind.dtype), (z,), ArrayType(z.type.shape, kind.dtype))
        return z if z.type.shape == kind.shape else self.spread(z, kind.shape)

    def spread(self, z: Atom, shape: tuple[Any, ...]) -> Atom:
        """z in a shape that it broadcasts to."""
        kind = z.type
        if kind.shape == shape:
            return z
        wide = ArrayType(shape, kind.dtype)
        alike = isinstance(z, Var) and kind.size == wide.size
        return self.apply(Reshape(shape) if alike else Broadcast(shape), (z,), wide)

    def inline(self, program: Program, inputs: Sequence[Atom]) -> list[Atom] | None:
        """The outputs of a program on these inputs, its equations written here; None where the types do not agree."""
        here: dict[Var, Atom] = {}
        for v, a in zip(program.inputs, inputs, strict=True):
            if a.type.shape != v.type.shape:
                return None
            number = isinstance(a, Literal) and a.type.weak
            if not number and (a.type.dtype != v.type.dtype or a.type.weak != v.type.weak):
                return None
            here[v] = self.fit(a, v.type)
        for v, value in program.constants.items():
            here[v] = self.constant(value)

        def rename(atom: Atom) -> Atom:
            return here[atom] if isinstance(atom, Var) else self.literal(atom.value)

        around = self.origin
        for eq in program.equations:
            self.origin = eq
            atoms = tuple(map(rename, eq.inputs))
            if eq.op.several:
                copy = dataclasses.replace(eq, inputs=atoms, outputs=tuple([Var(v.type) for v in eq.outputs]))
                here.update(zip(eq.outputs, self.apply_several(eq.op, atoms, copy), strict=True))
            else:
                here[eq.outputs[0]] = self.apply(eq.op, atoms, eq.outputs[0].type)
        self.origin = around
        return [self.fit(rename(a), a.type) for a in program.outputs]

    # ---- constants

    def literal(self, value: Value) -> Literal:
        """The number, as one and the same literal each time."""
        key = literal_key(value)
        literal = self._literals.get(key)
        if literal is None:
            literal = self._literals[key] = Literal(value)
        return literal

    def constant(self, value: Value, var: Var | None = None) -> Atom:
        """An atom for a plain array: a literal, a literal spread over its shape, or a constant of the program."""
        kind = type_of(value)
        if kind.shape == ():
            return self.literal(value[()] if isinstance(value, np.ndarray) else value)
        if kind.size == 0:
            return self.spread(self.literal(kind.dtype.type(0)), kind.shape)
        if (element := uniform_element(value)) is not None:
            return self.spread(self.literal(element), kind.shape)
        if value.nbytes <= MOST_BYTES:
            like = self._arrays.setdefault(kind, [])
            for other, v in like:
                if same_array(value, other):
                    return v
        else:
            like = []
        var = Var(kind) if var is None else var
        self.constants[var] = value
        like.append((value, var))
        return var

    def known_value(self, atom: Atom) -> Value | None:
        """The value of a literal, a constant or a literal spread over a shape (then one element stands for it)."""
        if isinstance(atom, Literal):
            return atom.value
        value = self.constants.get(atom)
        if value is not None:
            return value
        eq = self.defined.get(atom)
        if eq is not None and eq.op.__class__ is Broadcast and isinstance(eq.inputs[0], Literal):
            return np.broadcast_to(eq.inputs[0].value, atom.type.shape)
        return None

    def fold(self, op: Op, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
        """op(inputs) computed now, where all inputs are known and small."""
        size = kind.size
        if not isinstance(size, int) or size > MOST_ELEMENTS or op.__class__ is Count:
            return None
        values: list[Value] = []
        for a in inputs:
            value = self.known_value(a)
            if value is None:
                return None
            size += a.type.size
            values.append(value)
        if size > 2 * MOST_ELEMENTS:
            return None
        result = evaluate(op, values)
        if result is None or type_of(result) != kind:
            return None
        return self.constant(np.array(result) if kind.shape else result)

    # ---- questions of rules

    def defined_by(self, atom: Atom, kind: type | Op) -> Equation | None:
        """The equation of an atom, if this primitive, or one of this class, made it."""
        eq = self.defined.get(atom) if isinstance(atom, Var) else None
        return eq if eq is not None and (eq.op is kind or eq.op.__class__ is kind) else None

    def once(self, atom: Atom) -> bool:
        """Whether an atom is read only once, so that it goes away when its reader is written otherwise."""
        return self.readers.once(atom)
