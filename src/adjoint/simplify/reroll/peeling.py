"""Boundary iterations of a loop from which something is missing are completed, so that the loop has them too.

The first iteration of a sum has nothing to add to, and the first iteration of a backward pass adds to no cotangent yet:
where an iteration of the candidate computes carry + v, it has v alone. (-0.0) + v is v, in every bit; so it gets this
addition. A start that is a Python number becomes a number of the carry's dtype. The last iteration of a backward pass
does not compute what no iteration is left to read, and reads constants that were computed while it was recorded: what
is missing is inserted, from operands that are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

import numpy as np

from adjoint.base.records import record
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
from adjoint.simplify.reroll.moving_slices import INDEXED, MovingSlices
from adjoint.simplify.reroll.repetitions import Numbered, Repetition
from adjoint.simplify.reroll.sources import (
    Carried,
    Inner,
    Invariant,
    LoopCandidate,
    LoopCandidates,
    RepetitionAnalysis,
    Source,
    Strided,
    Unknown,
)
from adjoint.simplify.reroll.stacked_literals import stack_dtype

LARGEST_COMPUTED = 1 << 12  # elements of a constant that is computed again to be compared
SHARE = 0.5  # of an iteration must be there
TRIED = 64  # positions where an iteration might begin as well
ENOUGH = 4  # iterations that show what an iteration reads
# What may be computed though nobody reads it: it takes hardly any time beside the other iterations, and cannot fail.
HARMLESS: RuleTable[bool] = RuleTable("harmless operations")
HARMLESS.update(dict.fromkeys((Reshape, Transpose, Broadcast, Slice, Sum, MatMul, MaskedProduct, ProductUfunc), True))


def complete_iterations(numbers: Numbered, candidates: LoopCandidates) -> Program | None:
    """The program with the iterations beside its loop candidates completed; None where there is nothing to complete."""
    edits = _Edits()
    for candidate in candidates:
        if not _First(numbers, candidate, edits).complete():
            any(_First(numbers, other, edits).complete() for other in _shift(numbers, candidates, candidate))
        _Last(numbers, candidate, edits).complete()
    return edits.apply(numbers.program) if edits.inserted or edits.replaced else None


def _shift(numbers: Numbered, candidates: LoopCandidates, candidate: LoopCandidate) -> Iterator[LoopCandidate]:
    """The candidate with its iterations begun elsewhere, where no more values cross: a few iterations of it."""
    start, period, iterations = candidate.repetition
    cuts = crossings(numbers, start, start + period * iterations, period)
    for offset in [o for o in range(1, period) if cuts[o] <= cuts[0]][:TRIED]:
        repetition = Repetition(start + offset, period, min(iterations - 1, ENOUGH))
        try:
            outcome = RepetitionAnalysis(numbers, candidates, repetition, lenient=True, joining=True).analyze()
        except Unknown:
            return
        if isinstance(outcome, LoopCandidate):
            yield outcome


@record(frozen=False)
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

    def apply(self, program: Program) -> Program:
        changed = {position for position, _ in self.replaced}
        equations: list[Equation] = []
        for position, eq in enumerate(program.equations):
            equations += self.inserted.get(position, ())
            if position in changed:
                inputs = tuple([self.replaced.get((position, i), a) for i, a in enumerate(eq.inputs)])
                eq = Equation(eq.op, inputs, eq.outputs, eq.location, eq.scope, eq.quiet, eq.pulled)
            equations.append(eq)
        return Program(program.inputs, tuple(equations), program.outputs, {**program.constants, **self.constants})


class _PartialIteration:
    """One iteration beside a candidate."""

    def __init__(self, numbers: Numbered, candidate: LoopCandidate, edits: _Edits) -> None:
        self.numbers, self.candidate, self.edits = numbers, candidate, edits
        start, self.period, self.iterations = candidate.repetition
        self.start, self.stop = start, start + self.period * self.iterations
        self.body = numbers.program.equations[start : start + self.period]
        # the first result of each equation
        self.first = (numbers.first_result[start : start + self.period] - candidate.base).tolist()
        self.mine = _Edits()

    def reads(self, position: int) -> list[int]:
        numbers = self.numbers
        return numbers.reads[numbers.first_read[position] : numbers.first_read[position + 1]].tolist()

    def is_alike(self, q: int, position: int) -> bool:
        """Whether an equation of the program says the same as one of the body."""
        return bool(self.numbers.tokens[position] == self.numbers.tokens[self.start + q])

    def new(self, eq: Equation, op: Op, inputs: tuple[Atom, ...], position: int) -> Var:
        v = Var(eq.outputs[0].type)
        equation = Equation(op, inputs, (v,), eq.location, eq.scope, eq.quiet, eq.pulled)
        self.mine.inserted.setdefault(position, []).append(equation)
        return v


class _First(_PartialIteration):
    """The iteration before a candidate, read backwards from what it must give to the next one."""

    def complete(self) -> bool:
        """Whether it could be completed."""
        candidate = self.candidate
        expected: dict[int, int] = {}  # the numbers of its results, where they are read
        for source in (s for row in candidate.sources for s in row):
            start = source.starts[-1] if isinstance(source, Carried) else None
            if isinstance(source, Carried) and expected.setdefault(source.result, source.starts[-1]) != start:
                return False
        position = self.start - 1
        matched: dict[int, int] = {}
        missing: dict[int, tuple[int, int]] = {}  # equation: (operand that is carried, where it stands)
        weak: list[tuple[int, int, int]] = []
        for q in range(self.period - 1, -1, -1):
            number = expected.get(self.first[q])
            stands = position >= 0 and self._stands_at(q, position, expected)
            slot = self._find_weak_operand(q, position) if stands and not self.is_alike(q, position) else None
            if stands and (self.is_alike(q, position) or slot is not None):
                if not self._expect(q, position, expected):
                    return False
                if slot is not None:
                    weak.append((position, slot, q))
                matched[q] = position
                position -= 1
            elif (
                (slot := self._carried_operand(q)) is not None
                and number is not None
                and self._is_available(number, position)
            ):
                other = candidate.sources[q][1 - slot]
                if isinstance(other, Inner) and expected.setdefault(other.result, number) != number:
                    return False
                missing[q] = (slot, position + 1)
            else:
                return False
        if not (missing or weak) or len(matched) < SHARE * self.period:
            return False
        self._write(matched, missing, weak, expected)
        return True

    def _is_available(self, number: int, position: int) -> bool:
        """Whether a value is there after an equation."""
        return number < self.numbers.first_result[position + 1]

    def _stands_at(self, q: int, position: int, expected: dict[int, int]) -> bool:
        """Whether an equation makes what is expected of one of the body."""
        first = int(self.numbers.first_result[position])
        return all(expected.get(self.first[q] + j, first + j) == first + j for j in range(len(self.body[q].outputs)))

    def _expect(self, q: int, position: int, expected: dict[int, int]) -> bool:
        """Note what an equation reads of its own iteration; say whether it reads what it should."""
        for n, source in zip(self.reads(position), self.candidate.sources[q], strict=True):
            if isinstance(source, Inner) and expected.setdefault(source.result, n) != n:
                return False
            if isinstance(source, Invariant) and source.number != n:
                return False
        return True

    def _carried_operand(self, q: int) -> int | None:
        """Which operand of an addition is carried."""
        eq, sources = self.body[q], self.candidate.sources[q]
        if eq.op is not add or eq.inputs[0].type != eq.inputs[1].type or eq.inputs[0].type.dtype.kind not in "fc":
            return None
        carried = [i for i, s in enumerate(sources) if isinstance(s, Carried) and s.delay == 1]
        return carried[0] if len(carried) == 1 else None

    def _find_weak_operand(self, q: int, position: int) -> int | None:
        """The operand that is a Python number, where the body carries a value that it can be."""
        ours, theirs = self.body[q], self.numbers.program.equations[position]
        if ours.op is not theirs.op or ours.quiet != theirs.quiet or len(ours.outputs) != 1:
            return None
        if ours.outputs[0].type != theirs.outputs[0].type:
            return None
        differing = [i for i, (a, b) in enumerate(zip(ours.inputs, theirs.inputs, strict=True)) if a.type != b.type]
        if len(differing) != 1 or not isinstance(self.candidate.sources[q][differing[0]], Carried):
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
            other = self.candidate.sources[q][1 - slot]
            value = instead[other.result] if isinstance(other, Inner) and other.result in instead else None
            atoms: list[Atom] = [self._additive_identity(eq.outputs[0].type)] * 2
            atoms[1 - slot] = numbers.atom(expected[k]) if value is None else value
            instead[k] = self.new(eq, add, (atoms[0], atoms[1]), position)
        for q, position in matched.items():
            for i, source in enumerate(self.candidate.sources[q]):
                if isinstance(source, Inner) and source.result in instead:
                    mine.replaced[position, i] = instead[source.result]
        for q, sources in enumerate(self.candidate.sources):
            for i, source in enumerate(sources):
                if isinstance(source, Carried) and source.result in instead:
                    mine.replaced[self.start + q + self.period * (source.delay - 1), i] = instead[source.result]
        self.edits.take(mine)

    def _additive_identity(self, kind: ArrayType) -> Atom:
        """What added to anything gives just that."""
        zero = kind.dtype.type(complex(-0.0, -0.0) if kind.dtype.kind == "c" else -0.0)
        if not kind.shape:
            return Literal(zero)
        v = Var(ArrayType(kind.shape, kind.dtype))
        self.mine.constants[v] = np.full(kind.shape, zero)
        return v


class _Last(_PartialIteration):
    """The iteration behind a candidate, read forwards from what it has of the iteration before."""

    def complete(self) -> None:
        position, end = self.stop, len(self.numbers.program.equations)
        self.values: dict[int, Atom] = {}  # its results
        self.constants: dict[Var, Value] = {}  # what is known of those that were put in
        matched, inserted = 0, 0
        for q, eq in enumerate(self.body):
            if position < end and self.is_alike(q, position) and self._agrees(q, position):
                for j, v in enumerate(self.numbers.program.equations[position].outputs):
                    self.values[self.first[q] + j] = v
                position += 1
                matched += 1
            elif self._insert(q, eq, position):
                inserted += 1
            else:
                return
        if inserted and matched >= SHARE * self.period:
            self.edits.take(self.mine)

    def _operand(self, source: Source) -> Atom | None:
        """What the iteration reads by the rule of a column."""
        candidate, numbers = self.candidate, self.numbers
        if isinstance(source, Invariant):
            return numbers.atom(source.number)
        if isinstance(source, Inner):
            return self.values.get(source.result)
        if isinstance(source, Carried):
            iteration = self.iterations - source.delay
            number = (
                candidate.base + candidate.width * iteration + source.result
                if iteration >= 0
                else source.starts[self.iterations]
            )
            return numbers.atom(number)
        if isinstance(source, Strided):
            other, iteration = source.candidate, source.first + source.step * self.iterations
            if source.carried is not None:
                iteration -= 1
            if 0 <= iteration < other.repetition.iterations:
                return numbers.atom(other.base + other.width * iteration + source.result)
            carried = other.carried.get(source.result)
            return numbers.atom(carried.starts[0]) if iteration == -1 and carried is not None else None
        return None

    def _agrees(self, q: int, position: int) -> bool:
        """Whether an equation reads what the iteration should read; constants of the same value count as the same."""
        eq, candidate = self.numbers.program.equations[position], self.candidate
        replaced: dict[tuple[int, int], Atom] = {}
        for i, (a, n, source) in enumerate(zip(eq.inputs, self.reads(position), candidate.sources[q], strict=True)):
            wanted = self._operand(source)
            if wanted is None:
                if isinstance(source, Inner | Invariant):
                    return False
                continue  # whether it continues so is checked later
            if self.numbers.atom(n) is not wanted:
                if isinstance(source, Carried) or not self._same_value(a, wanted):
                    return False
                replaced[position, i] = wanted
        for i, slices in enumerate(candidate.slices[q]):
            keys, _ = INDEXED[eq.op](eq.op, eq)
            own = MovingSlices.of([keys[i]], slices.shape)
            step = slices.positions[-1] - slices.positions[-2]
            if own is None or np.any(own.positions[0] != slices.positions[-1] + step):
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

    def _insert(self, q: int, eq: Equation, position: int) -> bool:
        """Put in an equation that is missing, if it is harmless and its operands are there."""
        op = eq.op
        if not (eq.quiet and (op is add or op in HARMLESS)) or self.candidate.slices[q]:
            return False
        operands = [self._operand(s) for s in self.candidate.sources[q]]
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
