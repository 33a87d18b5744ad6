"""The interface of loops: what goes in and out that never changes, or that stands there twice.

| inside the loop | becomes |
|---|---|
| a carry that every iteration passes on as it was | a constant; its result is its start |
| a carry that starts as a number and that every iteration makes the same number | that number |
| two carries with equal starts and equal next values | one |
| a constant or array passed twice | one |
| a constant that is a number | a literal |
| an array all of whose rows are equal | a constant |
| a stack of one value | a broadcast behind the loop |
| a stack that is there already (twice, or the rows of an array scanned) | that one |
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from adjoint.ops.arrays.rearrange import Broadcast, Reshape
from adjoint.program.layout import is_sized
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.types import ArrayType, Value, type_of
from adjoint.simplify.loops.known_numbers import steady_carries
from adjoint.simplify.loops.parts import (
    Carry,
    Loop,
    Renaming,
    literal_of,
    open_loop,
    resolve,
)

SETTLED = "_plain_interface"  # on an equation: there is nothing to do, as long as it is this equation
LARGEST_COMPARED = 1 << 20  # elements of a constant whose rows or values are compared
SMALL = 64  # elements of a constant that is known by its value


class _Outside:
    """A program that is being read forwards: what its variables are called now, and what is known of them."""

    def __init__(self, program: Program) -> None:
        self.inputs = frozenset(program.inputs)
        self.constants = dict(program.constants)
        self.renaming: Renaming = {}
        self.makers: dict[Var, Equation] = {}
        self.rows: dict[Var, Atom] = {}  # stacks of which every row is this
        self.equations: list[Equation] = []
        self._keys: dict[Var, Hashable] = {}

    def put(self, eq: Equation) -> None:
        self.equations.append(eq)
        for v in eq.outputs:
            self.makers[v] = eq

    def has(self, atom: Atom) -> bool:
        """Whether an atom may be read here: what nobody else read may have gone since it was noted."""
        return isinstance(atom, Literal) or atom in self.makers or atom in self.constants or atom in self.inputs

    def new(self, op: Any, atom: Atom, like: Equation) -> Var:
        """One more equation of one argument; the variable that it binds."""
        out = Var(op.result_type(atom.type))
        self.put(Equation(op, (atom,), (out,), like.location, like.scope, like.quiet))
        return out

    def constant(self, value: Value) -> Var:
        v = Var(type_of(value))
        self.constants[v] = value
        return v

    def number(self, atom: Atom) -> Literal | None:
        """The number that an atom is, if it is one."""
        if isinstance(atom, Literal):
            return atom
        value = self.constants.get(atom)
        return Literal(np.asarray(value)[()]) if value is not None and np.ndim(value) == 0 else None

    def key(self, atom: Atom) -> Hashable:
        """Equal for atoms that are known to have the same value."""
        if isinstance(atom, Literal):
            return _value_key(np.asarray(atom.value))
        key = self._keys.get(atom)
        if key is None:
            value = self.constants.get(atom)
            key = atom if value is None or np.size(value) > SMALL else _value_key(np.asarray(value))
            self._keys[atom] = key
        return key

    def stacks(self, eq: Equation) -> frozenset[Atom]:
        """The arguments of a loop that stack one value: its own constants aside, which are what they are."""
        spread = lambda a: a in self.rows or (a in self.makers and isinstance(self.makers[a].op, Broadcast))
        return frozenset([a for a in eq.inputs if isinstance(a, Var) and spread(a)])

    def row(self, atom: Atom, eq: Equation) -> tuple[Atom, tuple[Any, ...]] | None:
        """(value, shape) if every row of a stack is that value, broadcast to that shape."""
        if not isinstance(atom, Var):
            return None
        if atom in self.rows:
            return self.rows[atom], atom.type.shape[1:]
        if atom in self.constants:
            row = _equal_row(self.constants[atom])
            return None if row is None else (self.constant(row), atom.type.shape[1:])
        maker = self.makers.get(atom)
        if maker is None or not isinstance(maker.op, Broadcast):
            return None
        x, shape = maker.inputs[0], maker.op.shape
        if x.type.ndim == len(shape):
            if x.type.shape[0] != 1:
                return None
            x = self.new(Reshape(tuple(x.type.shape[1:])), x, eq)
        return x, tuple(shape[1:])


def _value_key(value: Any) -> Hashable:
    return value.dtype, value.shape, value.tobytes()


def _equal_row(value: Any) -> Value | None:
    """The row of an array all of whose rows are equal, bit by bit."""
    array = np.asarray(value)
    if len(array) == 0 or not 0 < array.size <= LARGEST_COMPARED:
        return None
    if array[0].tobytes() != array[-1].tobytes():
        return None
    rows = np.ascontiguousarray(array).reshape(len(array), -1).view(np.uint8)
    return np.array(array[0]) if (rows == rows[0]).all() else None


def simplify_interfaces(program: Program) -> Program:
    """The program with loops that take and give each value once, and only what varies from iteration to iteration."""
    outside = _Outside(program)
    changed = False
    for eq in program.equations:
        inputs = tuple([resolve(a, outside.renaming) for a in eq.inputs])
        if any(a is not b for a, b in zip(inputs, eq.inputs, strict=True)):
            eq = dataclasses.replace(eq, inputs=inputs)
            changed = True
        rows, stacks = eq.__dict__.get(SETTLED, ({}, None))
        # what another loop stacks may have become one value since
        loop = open_loop(eq) if stacks is None or not outside.stacks(eq) <= stacks else None
        if loop is None:
            outside.put(eq)
            outside.rows.update({v: atom for v, atom in rows.items() if outside.has(atom)})
            continue
        _merge_constants(loop, outside)
        _merge_scanned(loop, outside)
        _fix_carries(loop, outside)
        _merge_carries(loop, outside)
        _share_results(loop, outside)
        behind = _merge_ys(loop, outside)
        changed |= loop.changed
        closed = loop.close()
        outside.put(closed)
        rows = {v: outside.rows[v] for _, v in loop.ys if v in outside.rows}
        closed.__dict__[SETTLED] = rows, outside.stacks(closed)
        for extra in behind:
            outside.put(extra)
    if not changed:
        return program
    outputs = tuple([resolve(a, outside.renaming) for a in program.outputs])
    return Program(program.inputs, tuple(outside.equations), outputs, outside.constants)


def _unique(pairs: Iterable[tuple[Var, Atom]], outside: _Outside, renaming: Renaming) -> list[tuple[Var, Atom]]:
    """Pairs (inside, outside) with numbers as literals and each value once; `renaming` learns the rest."""
    kept: dict[Hashable, Var] = {}
    out: list[tuple[Var, Atom]] = []
    for v, atom in pairs:
        number, key = outside.number(atom), outside.key(atom)
        if number is not None:
            renaming[v] = literal_of(number.value, v.type)
        elif key in kept:
            renaming[v] = kept[key]
        else:
            kept[key] = v
            out.append((v, atom))
    return out


def _merge_constants(loop: Loop, outside: _Outside) -> None:
    renaming: Renaming = {}
    loop.constants = _unique(loop.constants, outside, renaming)
    loop.substitute(renaming)
    if loop.test is not None:
        test, renaming = loop.test, {}
        test.constants = _unique(test.constants, outside, renaming)
        substitute_test(loop, renaming)


def substitute_test(loop: Loop, renaming: Renaming) -> None:
    """Read other atoms in place of variables of the condition."""
    test = loop.test
    if test is not None and renaming:
        test.equations = [
            dataclasses.replace(eq, inputs=tuple([resolve(a, renaming) for a in eq.inputs])) for eq in test.equations
        ]
        test.output = resolve(test.output, renaming)
        loop.changed = True


def _merge_scanned(loop: Loop, outside: _Outside) -> None:
    """Arrays scanned twice are scanned once; an array of equal rows is a constant."""
    kept: dict[Hashable, Var] = {}
    renaming: Renaming = {}
    scanned: list[tuple[Var, Atom]] = []
    prologue: list[Equation] = []
    for v, atom in loop.scanned:
        key = outside.key(atom)
        if key in kept:
            renaming[v] = kept[key]
            continue
        equal_rows = outside.row(atom, loop.equation)
        if equal_rows is None or (loop.needs_rows and not scanned and len(loop.scanned) == 1 and _unread(loop, v)):
            kept[key] = v
            scanned.append((v, atom))
            continue
        value, shape = equal_rows
        if tuple(value.type.shape) != tuple(shape) and not is_sized(v.type):  # spread over what nobody knows yet
            kept[key] = v
            scanned.append((v, atom))
            continue
        number = outside.number(value)
        inner: Atom
        if number is not None:
            inner = literal_of(number.value, ArrayType((), v.type.dtype))
        else:
            inner = Var(value.type)
            loop.constants.append((inner, value))
        if tuple(value.type.shape) != tuple(shape):
            row = Var(v.type)
            at = loop.equation
            prologue.append(Equation(Broadcast(tuple(shape)), (inner,), (row,), at.location, at.scope, at.quiet))
            inner = row
        renaming[v] = inner
    if loop.needs_rows and not scanned:
        v, atom = loop.scanned[0]
        scanned = [(Var(v.type), atom)]
    if renaming:
        loop.scanned = scanned
        loop.substitute(renaming)
        loop.equations[:0] = prologue


def _unread(loop: Loop, v: Var) -> bool:
    read = {a for eq in loop.equations for a in eq.inputs if isinstance(a, Var)}
    return v not in read and all(v is not c.next for c in loop.carries) and all(v is not a for a, _ in loop.ys)


def _fix_carries(loop: Loop, outside: _Outside) -> None:
    """Carries that never change: assume it of all, drop those whose next value is not their start, until it holds."""
    constants = dict(loop.constants)
    fixed = {c.inside: c for c in loop.carries}
    numbers = {
        c.inside: n for c in loop.carries if c.next is not c.inside and (n := outside.number(c.start)) is not None
    }
    steady = steady_carries(loop, numbers, {})

    def outer(atom: Atom) -> Hashable:
        if isinstance(atom, Literal):
            return outside.key(atom)
        if atom in fixed:
            return outside.key(fixed[atom].start)
        return outside.key(constants[atom]) if atom in constants else None

    while True:
        failed = [
            v for v, c in fixed.items() if c.next is not v and v not in steady and outer(c.next) != outside.key(c.start)
        ]
        if not failed:
            break
        for v in failed:
            del fixed[v]
    if not fixed:
        return
    loop.carries = [c for c in loop.carries if c.inside not in fixed]
    renaming: Renaming = {}
    tested: Renaming = {}
    for v, c in fixed.items():
        number = outside.number(c.start)
        if number is not None:
            renaming[v] = literal_of(number.value, v.type)
        else:
            loop.constants.append((v, c.start))
        outside.renaming[c.result] = renaming.get(v, c.start)
        if c.tested is not None and loop.test is not None:
            if number is not None:
                tested[c.tested] = renaming[v]
            else:
                loop.test.constants.append((c.tested, c.start))
    loop.changed = True
    loop.substitute(renaming)
    substitute_test(loop, tested)


def _merge_carries(loop: Loop, outside: _Outside) -> None:
    """Carries equal in every iteration: classes of equal starts, split until members have equal next values."""
    if len(loop.carries) < 2:
        return
    group: dict[Var, Hashable] = {c.inside: (outside.key(c.start), c.inside.type) for c in loop.carries}
    count = len(set(group.values()))
    if count == len(loop.carries):
        return

    def following(atom: Atom) -> Hashable:
        return atom.key() if isinstance(atom, Literal) else group.get(atom, atom)

    while True:
        numbers: dict[Hashable, int] = {}
        refined = {
            c.inside: numbers.setdefault((group[c.inside], following(c.next)), len(numbers)) for c in loop.carries
        }
        group = dict(refined)
        if len(numbers) == count:
            break
        count = len(numbers)
    first: dict[Hashable, Carry] = {}
    renaming: Renaming = {}
    tested: Renaming = {}
    for c in loop.carries:
        kept = first.setdefault(group[c.inside], c)
        if kept is not c:
            renaming[c.inside] = kept.inside
            outside.renaming[c.result] = kept.result
            if c.tested is not None and kept.tested is not None:
                tested[c.tested] = kept.tested
    loop.carries = list(first.values())
    loop.substitute(renaming)
    substitute_test(loop, tested)


def _share_results(loop: Loop, outside: _Outside) -> None:
    """Carries with the same next value end alike, however they start, if there is an iteration at all."""
    first: dict[Atom, Carry] = {}
    for c in loop.carries if loop.length else ():
        kept = first.setdefault(c.next, c)
        if kept is not c and kept.result.type == c.result.type:
            outside.renaming[c.result] = kept.result
            loop.changed = True


def _merge_ys(loop: Loop, outside: _Outside) -> list[Equation]:
    """Stacks that are known outside; returns the equations that make them, to stand behind the loop."""
    constants, scanned = dict(loop.constants), dict(loop.scanned)
    kept: dict[Hashable, Var] = {}
    ys: list[tuple[Atom, Var]] = []
    behind: list[Equation] = []
    for atom, v in loop.ys:
        key: Hashable = atom.key() if isinstance(atom, Literal) else atom
        value: Atom | None = atom if isinstance(atom, Literal) else constants.get(atom)
        if isinstance(atom, Var) and atom in loop.values:
            constant = loop.values[atom]
            if np.ndim(constant) == 0:
                value = literal_of(np.asarray(constant)[()], atom.type)
            else:
                value = outside.constant(constant)
        if isinstance(atom, Var) and atom in scanned:
            outside.renaming[v] = scanned[atom]
        elif key in kept:
            outside.renaming[v] = kept[key]
        elif value is not None and loop.length is not None and is_sized(v.type):
            at = loop.equation
            op = Broadcast(tuple(v.type.shape))
            behind.append(Equation(op, (value,), (v,), at.location, at.scope, at.quiet))
        else:
            if value is not None:
                outside.rows[v] = value
            kept[key] = v
            ys.append((atom, v))
    loop.changed |= len(ys) != len(loop.ys)
    loop.ys = ys
    return behind
