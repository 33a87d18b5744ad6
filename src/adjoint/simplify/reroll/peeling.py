"""Turns at the ends of a loop from which something is missing are completed, so that the loop has them too.

The first turn of a sum has nothing to add to, and the first turn of a way back adds to no cotangent yet: where a turn
of the roll computes carry + v, it has v alone. (-0.0) + v is v, in every bit; so it gets this addition. A start that is
a Python number becomes a number of the carry's dtype. The last turn of a way back does not compute what no turn is left
to read, and reads constants that were computed while it was recorded: what is missing is put in, from operands that are
there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import MatMul
from adjoint.ops.arrays.index import Slice
from adjoint.ops.arrays.rearrange import Broadcast, Reshape, Transpose
from adjoint.ops.arrays.reduce import Sum
from adjoint.ops.elementwise.arithmetic import add
from adjoint.ops.elementwise.pointwise import MaskedProduct, ProductUfunc
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType, Value
from adjoint.simplify.reroll.candidates import crossings
from adjoint.simplify.reroll.moving_slices import INDEXED, MovingPlaces
from adjoint.simplify.reroll.repetitions import Numbered, Run
from adjoint.simplify.reroll.sources import (
    Carried,
    Inner,
    Roll,
    Rolls,
    Same,
    Source,
    Turns,
    Unknown,
    Walked,
)
from adjoint.simplify.reroll.stacked_literals import stack_dtype

LARGEST_COMPUTED = 1 << 12  # elements of a constant that is computed again to be compared
SHARE = 0.5  # of a turn must be there
TRIED = 64  # places where a turn might begin as well
ENOUGH = 4  # turns that show what a turn reads
# What may be computed though nobody reads it: it takes no time to speak of beside the other turns, and cannot fail.
HARMLESS: RuleTable[bool] = RuleTable("harmless operations")
HARMLESS.update(dict.fromkeys((Reshape, Transpose, Broadcast, Slice, Sum, MatMul, MaskedProduct, ProductUfunc), True))


def completed(numbers: Numbered, rolls: Rolls) -> Program | None:
    """The program with the turns beside its rolls completed; None where there is nothing to complete."""
    edits = _Edits()
    for roll in rolls:
        if not _First(numbers, roll, edits).complete():
            any(_First(numbers, other, edits).complete() for other in _shifted(numbers, rolls, roll))
        _Last(numbers, roll, edits).complete()
    return edits.applied(numbers.program) if edits.inserted or edits.replaced else None


def _shifted(numbers: Numbered, rolls: Rolls, roll: Roll) -> Iterator[Roll]:
    """The roll with its turns begun elsewhere, where no more values cross: a few turns of it."""
    start, period, turns = roll.run
    cuts = crossings(numbers, start, start + period * turns, period)
    for offset in [o for o in range(1, period) if cuts[o] <= cuts[0]][:TRIED]:
        run = Run(start + offset, period, min(turns - 1, ENOUGH))
        try:
            found = Turns(numbers, rolls, run, lenient=True, joining=True).understood()
        except Unknown:
            return
        if isinstance(found, Roll):
            yield found


@dataclass
class _Edits:
    """Equations to put in, and operands to replace."""

    inserted: dict[int, list[Equation]] = field(default_factory=dict[int, list[Equation]])  # before equation i
    replaced: dict[tuple[int, int], Atom] = field(default_factory=dict[tuple[int, int], Atom])  # (equation, operand)
    constants: dict[Var, Value] = field(default_factory=dict[Var, Value])

    def take(self, other: _Edits) -> None:
        for position, equations in other.inserted.items():
            self.inserted.setdefault(position, []).extend(equations)
        self.replaced.update(other.replaced)
        self.constants.update(other.constants)

    def applied(self, program: Program) -> Program:
        changed = {position for position, _ in self.replaced}
        equations: list[Equation] = []
        for position, eq in enumerate(program.equations):
            equations += self.inserted.get(position, ())
            if position in changed:
                inputs = tuple([self.replaced.get((position, i), a) for i, a in enumerate(eq.inputs)])
                eq = Equation(eq.op, inputs, eq.outputs, eq.location, eq.scope, eq.quiet, eq.pulled)
            equations.append(eq)
        return Program(program.inputs, tuple(equations), program.outputs, {**program.constants, **self.constants})


class _Turn:
    """One turn beside a roll."""

    def __init__(self, numbers: Numbered, roll: Roll, edits: _Edits) -> None:
        self.numbers, self.roll, self.edits = numbers, roll, edits
        start, self.period, self.turns = roll.run
        self.start, self.stop = start, start + self.period * self.turns
        self.body = numbers.program.equations[start : start + self.period]
        self.first = (numbers.first_made[start : start + self.period] - roll.made).tolist()  # first result of each
        self.mine = _Edits()

    def reads(self, position: int) -> list[int]:
        numbers = self.numbers
        return numbers.reads[numbers.first_read[position] : numbers.first_read[position + 1]].tolist()

    def alike(self, q: int, position: int) -> bool:
        """Whether an equation of the program says the same as one of the body."""
        return bool(self.numbers.tokens[position] == self.numbers.tokens[self.start + q])

    def new(self, eq: Equation, op: Op, inputs: tuple[Atom, ...], position: int) -> Var:
        v = Var(eq.outputs[0].type)
        made = Equation(op, inputs, (v,), eq.location, eq.scope, eq.quiet, eq.pulled)
        self.mine.inserted.setdefault(position, []).append(made)
        return v


class _First(_Turn):
    """The turn before a roll, read backwards from what it must give to the next one."""

    def complete(self) -> bool:
        """Whether it could be completed."""
        roll = self.roll
        expected: dict[int, int] = {}  # the numbers of its results, where they are read
        for source in (s for row in roll.sources for s in row):
            start = source.starts[-1] if isinstance(source, Carried) else None
            if isinstance(source, Carried) and expected.setdefault(source.made, source.starts[-1]) != start:
                return False
        position = self.start - 1
        matched: dict[int, int] = {}
        missing: dict[int, tuple[int, int]] = {}  # equation: (operand that is carried, where it stands)
        weak: list[tuple[int, int, int]] = []
        for q in range(self.period - 1, -1, -1):
            number = expected.get(self.first[q])
            found = position >= 0 and self._stands_at(q, position, expected)
            slot = self._strengthened(q, position) if found and not self.alike(q, position) else None
            if found and (self.alike(q, position) or slot is not None):
                if not self._expect(q, position, expected):
                    return False
                if slot is not None:
                    weak.append((position, slot, q))
                matched[q] = position
                position -= 1
            elif (slot := self._missing(q)) is not None and number is not None and self._made_by(number, position):
                other = roll.sources[q][1 - slot]
                if isinstance(other, Inner) and expected.setdefault(other.made, number) != number:
                    return False
                missing[q] = (slot, position + 1)
            else:
                return False
        if not (missing or weak) or len(matched) < SHARE * self.period:
            return False
        self._write(matched, missing, weak, expected)
        return True

    def _made_by(self, number: int, position: int) -> bool:
        """Whether a value is there after an equation."""
        return number < self.numbers.first_made[position + 1]

    def _stands_at(self, q: int, position: int, expected: dict[int, int]) -> bool:
        """Whether an equation makes what is expected of one of the body."""
        made = int(self.numbers.first_made[position])
        return all(expected.get(self.first[q] + j, made + j) == made + j for j in range(len(self.body[q].outputs)))

    def _expect(self, q: int, position: int, expected: dict[int, int]) -> bool:
        """Note what an equation reads of its own turn; say whether it reads what it should."""
        for n, source in zip(self.reads(position), self.roll.sources[q], strict=True):
            if isinstance(source, Inner) and expected.setdefault(source.made, n) != n:
                return False
            if isinstance(source, Same) and source.number != n:
                return False
        return True

    def _missing(self, q: int) -> int | None:
        """Which operand of an addition is carried."""
        eq, sources = self.body[q], self.roll.sources[q]
        if eq.op is not add or eq.inputs[0].type != eq.inputs[1].type or eq.inputs[0].type.dtype.kind not in "fc":
            return None
        carried = [i for i, s in enumerate(sources) if isinstance(s, Carried) and s.delay == 1]
        return carried[0] if len(carried) == 1 else None

    def _strengthened(self, q: int, position: int) -> int | None:
        """The operand that is a Python number, where the body carries a value that it can be."""
        ours, theirs = self.body[q], self.numbers.program.equations[position]
        if ours.op is not theirs.op or ours.quiet != theirs.quiet or len(ours.outputs) != 1:
            return None
        if ours.outputs[0].type != theirs.outputs[0].type:
            return None
        differing = [i for i, (a, b) in enumerate(zip(ours.inputs, theirs.inputs, strict=True)) if a.type != b.type]
        if len(differing) != 1 or not isinstance(self.roll.sources[q][differing[0]], Carried):
            return None
        a, b = ours.inputs[differing[0]], theirs.inputs[differing[0]]
        number = self.reads(position)[differing[0]]
        if not isinstance(b, Literal) or not b.type.weak or a.type.shape:
            return None
        return differing[0] if stack_dtype(self.numbers, theirs, differing[0], [number]) == a.type.dtype else None

    def _write(
        self,
        matched: dict[int, int],
        missing: dict[int, tuple[int, int]],
        weak: list[tuple[int, int, int]],
        expected: dict[int, int],
    ) -> None:
        mine, numbers = self.mine, self.numbers
        for position, slot, q in weak:
            kind = self.body[q].inputs[slot].type
            literal: Any = numbers.program.equations[position].inputs[slot]
            mine.replaced[position, slot] = Literal(kind.dtype.type(literal.value))
        instead: dict[int, Var] = {}  # by result
        for q in sorted(missing):
            slot, position = missing[q]
            eq, k = self.body[q], self.first[q]
            other = self.roll.sources[q][1 - slot]
            value = instead[other.made] if isinstance(other, Inner) and other.made in instead else None
            atoms: list[Atom] = [self._nothing(eq.outputs[0].type)] * 2
            atoms[1 - slot] = numbers.atom(expected[k]) if value is None else value
            instead[k] = self.new(eq, add, (atoms[0], atoms[1]), position)
        for q, position in matched.items():
            for i, source in enumerate(self.roll.sources[q]):
                if isinstance(source, Inner) and source.made in instead:
                    mine.replaced[position, i] = instead[source.made]
        for q, sources in enumerate(self.roll.sources):
            for i, source in enumerate(sources):
                if isinstance(source, Carried) and source.made in instead:
                    mine.replaced[self.start + q + self.period * (source.delay - 1), i] = instead[source.made]
        self.edits.take(mine)

    def _nothing(self, kind: ArrayType) -> Atom:
        """What added to anything gives just that."""
        zero = kind.dtype.type(complex(-0.0, -0.0) if kind.dtype.kind == "c" else -0.0)
        if not kind.shape:
            return Literal(zero)
        v = Var(ArrayType(kind.shape, kind.dtype))
        self.mine.constants[v] = np.full(kind.shape, zero)
        return v


class _Last(_Turn):
    """The turn behind a roll, read forwards from what it has of the turn before."""

    def complete(self) -> None:
        position, end = self.stop, len(self.numbers.program.equations)
        self.values: dict[int, Atom] = {}  # its results
        self.constants: dict[Var, Value] = {}  # what is known of those that were put in
        matched, put_in = 0, 0
        for q, eq in enumerate(self.body):
            if position < end and self.alike(q, position) and self._agrees(q, position):
                for j, v in enumerate(self.numbers.program.equations[position].outputs):
                    self.values[self.first[q] + j] = v
                position += 1
                matched += 1
            elif self._put_in(q, eq, position):
                put_in += 1
            else:
                return
        if put_in and matched >= SHARE * self.period:
            self.edits.take(self.mine)

    def _operand(self, source: Source) -> Atom | None:
        """What the turn reads by the rule of a column."""
        roll, numbers = self.roll, self.numbers
        if isinstance(source, Same):
            return numbers.atom(source.number)
        if isinstance(source, Inner):
            return self.values.get(source.made)
        if isinstance(source, Carried):
            turn = self.turns - source.delay
            number = roll.made + roll.width * turn + source.made if turn >= 0 else source.starts[self.turns]
            return numbers.atom(number)
        if isinstance(source, Walked):
            other, turn = source.roll, source.first + source.step * self.turns
            if source.carried is not None:
                turn -= 1
            if 0 <= turn < other.run.turns:
                return numbers.atom(other.made + other.width * turn + source.made)
            carried = other.carried.get(source.made)
            return numbers.atom(carried.starts[0]) if turn == -1 and carried is not None else None
        return None

    def _agrees(self, q: int, position: int) -> bool:
        """Whether an equation reads what the turn should read; constants that are the same value count as the same."""
        eq, roll = self.numbers.program.equations[position], self.roll
        replaced: dict[tuple[int, int], Atom] = {}
        for i, (a, n, source) in enumerate(zip(eq.inputs, self.reads(position), roll.sources[q], strict=True)):
            wanted = self._operand(source)
            if wanted is None:
                if isinstance(source, Inner | Same):
                    return False
                continue  # whether it goes on in this way is found out later
            if self.numbers.atom(n) is not wanted:
                if isinstance(source, Carried) or not self._same_value(a, wanted):
                    return False
                replaced[position, i] = wanted
        for i, places in enumerate(roll.places[q]):
            keys, _ = INDEXED[eq.op](eq.op, eq)
            found = MovingPlaces.of([keys[i]], places.shape)
            step = places.positions[-1] - places.positions[-2]
            if found is None or np.any(found.positions[0] != places.positions[-1] + step):
                return False
        self.mine.replaced.update(replaced)
        return True

    def _value(self, atom: Atom) -> Value | None:
        if isinstance(atom, Literal):
            return np.asarray(atom.value)
        known = self.numbers.program.constants.get(atom)
        return np.asarray(known) if known is not None else self.constants.get(atom)

    def _same_value(self, a: Atom, b: Atom) -> bool:
        x, y = self._value(a), self._value(b)
        if x is None or y is None or a.type != b.type or x.size > LARGEST_COMPUTED:
            return False
        return x.tobytes() == y.tobytes()

    def _put_in(self, q: int, eq: Equation, position: int) -> bool:
        """Put in an equation that is missing, if it is harmless and its operands are there."""
        op = eq.op
        if not (eq.quiet and (op is add or op in HARMLESS)) or self.roll.places[q]:
            return False
        operands = [self._operand(s) for s in self.roll.sources[q]]
        if any(a is None for a in operands):
            return False
        inputs = tuple([a for a in operands if a is not None])
        v = self.new(eq, op, inputs, position)
        self.values[self.first[q]] = v
        known = [self._value(a) for a in inputs]
        if v.type.size <= LARGEST_COMPUTED and all(x is not None and x.size <= LARGEST_COMPUTED for x in known):
            with np.errstate(all="ignore"):
                self.constants[v] = np.asarray(op.evaluate(*known))
        return True
