"""What is requested of a loop, and the arrays outside that it scans.

A slice that moves along an array outside is no equation of the body: it is a row of that array. So are the results of
a loop before, and numbers that differ from iteration to iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from adjoint.ops.arrays.index import Slice
from adjoint.ops.arrays.rearrange import Broadcast, Concatenate, Reshape, Transpose
from adjoint.program.program import Atom, Equation, Literal, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType
from adjoint.simplify.reroll.moving_slices import ALL, Draft, MovingSlices
from adjoint.simplify.reroll.repetitions import Numbered
from adjoint.simplify.reroll.sources import (
    Carried,
    Gathered,
    Inner,
    Invariant,
    LoopCandidate,
    Source,
    Strided,
    WithBoundary,
)
from adjoint.simplify.reroll.stacked_literals import stack_dtype

# (primitive, draft, stack of its arguments) → the stack of its results: it only arranges elements
STACKED_VIEWS: RuleTable[Callable[[Any, Draft, Atom], Atom]] = RuleTable("views of all iterations at once")


@STACKED_VIEWS.rule(Slice)
def slice_rows(op: Slice, draft: Draft, x: Atom) -> Atom:
    return draft.write(Slice((ALL, *op.items)), x)


@STACKED_VIEWS.rule(Transpose)
def transpose_rows(op: Transpose, draft: Draft, x: Atom) -> Atom:
    return draft.write(Transpose((0, *[a + 1 for a in op.axes])), x)


@STACKED_VIEWS.rule(Reshape)
def reshape_rows(op: Reshape, draft: Draft, x: Atom) -> Atom:
    return draft.reshape(x, (x.type.shape[0], *op.shape))


class Outside(Protocol):
    """What a loop asks the program around it."""

    numbers: Numbered

    def atom(self, number: int) -> Atom:
        """The variable or literal of a number, made outside of this loop."""
        ...

    def loop(self, candidate: LoopCandidate) -> RequestedLoop:
        """The loop of an earlier candidate."""
        ...


class RequestedLoop:
    """One candidate, and what is wanted of it."""

    def __init__(self, outside: Outside, candidate: LoopCandidate) -> None:
        self.outside, self.candidate = outside, candidate
        start, period, self.iterations = candidate.repetition
        self.equations = outside.numbers.program.equations[start : start + period]
        self.results = [(q, j) for q, eq in enumerate(self.equations) for j in range(len(eq.outputs))]
        self.first = dict[int, int]()  # the first result of each equation
        for k, (q, _) in enumerate(self.results):
            self.first.setdefault(q, k)
        self.stacks: dict[int | Carried, Var] = {}
        self.singles: dict[tuple[int, int], Var] = {}  # (result, iteration)
        self.sums: dict[tuple[tuple[int, ...], tuple[int, ...]], Var] = {}  # of results, after values before the loop
        self.aliases: dict[Var, Atom] = {}
        self.before = Draft(self.equations[0])
        self.after = Draft(self.equations[0])
        self.arrays: dict[Any, Atom] = {}
        self._invariant_atoms: dict[int, Atom] = {}
        self.pure = False
        self.is_kept = False  # it was not worth it
        self.lifted: dict[tuple[int, int], Any] = {}  # literals that are operands, with their dtype

    # ---- what is wanted

    def kind(self, k: int) -> ArrayType:
        """The type of a result."""
        q, j = self.results[k]
        return self.equations[q].outputs[j].type

    def stack(self, key: int | Carried) -> Var:
        """All iterations of a result, or of what is carried in."""
        if key not in self.stacks:
            kind = self.kind(key if isinstance(key, int) else key.result)
            self.stacks[key] = Var(ArrayType((self.iterations, *kind.shape), kind.dtype))
        return self.stacks[key]

    def single(self, k: int, iteration: int) -> Var:
        """A result of one iteration."""
        return self.singles.setdefault((k, iteration), Var(self.kind(k)))

    def sum(self, results: tuple[int, ...], before: tuple[int, ...], kind: ArrayType) -> Var:
        """The sum of some results over all iterations, added one by one, after some values from before the loop."""
        return self.sums.setdefault((results, before), Var(kind))

    # ---- what stays outside

    def is_strided_read(self, q: int) -> bool:
        """Whether an equation is a slice that moves along an array outside."""
        return self.equations[q].op.is_view and bool(self.candidate.slices[q]) and self._is_outside(q)

    def _is_outside(self, q: int) -> bool:
        source = self.candidate.sources[q][0]
        if isinstance(source, Invariant):
            return source.number >= 0
        return isinstance(source, Inner) and self.is_invariant(source.result)

    def is_invariant(self, k: int) -> bool:
        """Whether a result is the same in all iterations."""
        return k in self.candidate.invariant

    def outer(self, source: Source) -> Atom | None:
        """What is read in all iterations, as it stands outside."""
        if isinstance(source, Invariant):
            return self.outside.atom(source.number)
        if not isinstance(source, Inner) or not self.is_invariant(source.result):
            return None
        if source.result not in self._invariant_atoms:
            q = self.results[source.result][0]
            eq = self.equations[q]
            inputs = tuple([a for a in map(self.outer, self.candidate.sources[q]) if a is not None])
            outputs = tuple(Var(v.type) for v in eq.outputs)
            self.before.append(eq.op, inputs, outputs, like=eq)
            self._invariant_atoms.update({self.first[q] + j: v for j, v in enumerate(outputs)})
        return self._invariant_atoms[source.result]

    def moves_only(self, q: int) -> bool:
        """Whether an equation takes rows of something that is stacked already, and only arranges their elements."""
        if self.is_strided_read(q) or self.first.get(q, -1) in self.candidate.invariant:
            return True
        if self.candidate.slices[q] or self.equations[q].op not in STACKED_VIEWS:
            return False
        return not isinstance(self.candidate.sources[q][0], Invariant | Carried)

    def is_write(self, q: int) -> bool:
        slices = self.candidate.slices[q]
        return self.equations[q].op.overwrites and bool(slices) and slices[0].distinct

    def put_in_order(self, slices: MovingSlices) -> MovingSlices:
        return slices.part(slice(None, None, -1)) if self.candidate.reverse else slices

    def stays_outside(self, k: int) -> bool:
        return self.pure or self.is_invariant(k) or self.is_strided_read(self.results[k][0])

    def outside_array(self, k: int) -> Atom:
        """All iterations of a result that is made outside."""
        if k in self.arrays:
            return self.arrays[k]
        q = self.results[k][0]
        eq, source = self.equations[q], self.candidate.sources[q][0]
        draft = self.before
        draft.like = eq
        invariant = self.outer(Inner(k))
        if invariant is not None:
            array: Atom = draft.write(Broadcast((self.iterations, *invariant.type.shape)), invariant)
        elif self.is_strided_read(q):
            x = self.outer(source)
            assert x is not None
            array = self.put_in_order(self.candidate.slices[q][0]).read(draft, x)
        else:
            array = STACKED_VIEWS[eq.op](eq.op, draft, self.array(eq, 0, source))
        self.arrays[k] = array
        return array

    def array(self, eq: Equation, slot: int, source: Source) -> Atom:
        """All iterations of what an equation reads as one operand, as an array outside."""
        if isinstance(source, Inner):
            return self.outside_array(source.result) if self.stays_outside(source.result) else self.stack(source.result)
        if isinstance(source, Carried):
            return self.stack(source)
        dtype = stack_dtype(self.outside.numbers, eq, slot, source.numbers) if isinstance(source, Gathered) else None
        key = (source, dtype)
        if key not in self.arrays:
            self.arrays[key] = self._build_array(source, dtype)
        return self.arrays[key]

    def _build_array(self, source: Source, dtype: Any) -> Atom:
        if isinstance(source, Strided):
            return self._strided_rows(source, 0, self.iterations)
        if isinstance(source, Gathered):
            return self._gathered_rows(source, dtype)
        assert isinstance(source, WithBoundary)
        core = self._strided_rows(source.core, len(source.head), self.iterations - len(source.tail))
        head, tail = ([self._one_row(self.outside.atom(n)) for n in part] for part in (source.head, source.tail))
        if self.candidate.reverse:
            head, tail = tail[::-1], head[::-1]
        return self.before.write(Concatenate(0), *head, core, *tail)

    def _strided_rows(self, source: Strided, low: int, high: int) -> Atom:
        """Rows of a stack of another loop, for the iterations from low to high."""
        other = source.candidate
        stack = self.outside.loop(other).stack(source.result if source.carried is None else source.carried)
        first, last = (other.position(source.first + source.step * t) for t in (low, high - 1))
        step = -source.step if other.reverse else source.step
        if self.candidate.reverse:
            first, step = last, -step
        return self.before.take_rows(stack, first, step, high - low)

    def _one_row(self, atom: Atom) -> Var:
        kind: Any = Broadcast if isinstance(atom, Literal) else Reshape
        return self.before.write(kind((1, *atom.type.shape)), atom)

    def _gathered_rows(self, source: Gathered, dtype: Any) -> Atom:
        program = self.outside.numbers.program
        atoms = [self.outside.atom(n) for n in (reversed(source.numbers) if self.candidate.reverse else source.numbers)]
        values = [a.value if isinstance(a, Literal) else program.constants.get(a) for a in atoms]
        if all(v is not None for v in values):
            return self.before.constant(np.stack([np.asarray(v, dtype) for v in values]))
        return self.before.write(Concatenate(0), *map(self._one_row, atoms))
