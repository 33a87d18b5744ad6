"""What is wanted of a loop, and the arrays outside that it walks along.

A slice that moves along an array outside is no equation of the body: it is a row of that array. So are the results of
a loop before, and numbers that differ from turn to turn.
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
from adjoint.simplify.reroll.moving_slices import ALL, Draft, MovingPlaces
from adjoint.simplify.reroll.repetitions import Numbered
from adjoint.simplify.reroll.sources import Carried, Edged, Inner, Listed, Roll, Same, Source, Walked
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
    return draft.reshaped(x, (x.type.shape[0], *op.shape))


class Outside(Protocol):
    """What a loop asks the program around it."""

    numbers: Numbered

    def atom(self, number: int) -> Atom:
        """The variable or literal of a number, made outside of this loop."""
        ...

    def loop(self, roll: Roll) -> Wanted:
        """The loop of an earlier roll."""
        ...


class Wanted:
    """One roll, and what is wanted of it."""

    def __init__(self, outside: Outside, roll: Roll) -> None:
        self.outside, self.roll = outside, roll
        start, period, self.turns = roll.run
        self.equations = outside.numbers.program.equations[start : start + period]
        self.made = [(q, j) for q, eq in enumerate(self.equations) for j in range(len(eq.outputs))]
        self.first = dict[int, int]()  # the first result of each equation
        for k, (q, _) in enumerate(self.made):
            self.first.setdefault(q, k)
        self.stacks: dict[int | Carried, Var] = {}
        self.singles: dict[tuple[int, int], Var] = {}  # (result, turn)
        self.sums: dict[tuple[tuple[int, ...], tuple[int, ...]], Var] = {}  # of results, after values before the loop
        self.aliases: dict[Var, Atom] = {}
        self.before = Draft(self.equations[0])
        self.after = Draft(self.equations[0])
        self.arrays: dict[Any, Atom] = {}
        self._still_atoms: dict[int, Atom] = {}
        self.pure = False
        self.left_alone = False  # it was not worth it
        self.lifted: dict[tuple[int, int], Any] = {}  # literals that are operands, with their dtype

    # ---- what is wanted

    def kind(self, k: int) -> ArrayType:
        """The type of a result."""
        q, j = self.made[k]
        return self.equations[q].outputs[j].type

    def stack(self, key: int | Carried) -> Var:
        """All turns of a result, or of what is carried in."""
        if key not in self.stacks:
            kind = self.kind(key if isinstance(key, int) else key.made)
            self.stacks[key] = Var(ArrayType((self.turns, *kind.shape), kind.dtype))
        return self.stacks[key]

    def single(self, k: int, turn: int) -> Var:
        """A result of one turn."""
        return self.singles.setdefault((k, turn), Var(self.kind(k)))

    def sum(self, results: tuple[int, ...], before: tuple[int, ...], kind: ArrayType) -> Var:
        """The sum of some results over all turns, added one by one, after some values from before the loop."""
        return self.sums.setdefault((results, before), Var(kind))

    # ---- what stays outside

    def is_walk(self, q: int) -> bool:
        """Whether an equation is a slice that moves along an array outside."""
        return self.equations[q].op.is_view and bool(self.roll.places[q]) and self._is_outside(q)

    def _is_outside(self, q: int) -> bool:
        source = self.roll.sources[q][0]
        if isinstance(source, Same):
            return source.number >= 0
        return isinstance(source, Inner) and self.is_still(source.made)

    def is_still(self, k: int) -> bool:
        """Whether a result is the same in all turns."""
        return k in self.roll.still

    def outer(self, source: Source) -> Atom | None:
        """What is read in all turns, as it stands outside."""
        if isinstance(source, Same):
            return self.outside.atom(source.number)
        if not isinstance(source, Inner) or not self.is_still(source.made):
            return None
        if source.made not in self._still_atoms:
            q = self.made[source.made][0]
            eq = self.equations[q]
            inputs = tuple([a for a in map(self.outer, self.roll.sources[q]) if a is not None])
            outputs = tuple(Var(v.type) for v in eq.outputs)
            self.before.append(eq.op, inputs, outputs, like=eq)
            self._still_atoms.update({self.first[q] + j: v for j, v in enumerate(outputs)})
        return self._still_atoms[source.made]

    def moves_only(self, q: int) -> bool:
        """Whether an equation takes rows of something that is stacked already, and only arranges their elements."""
        if self.is_walk(q) or self.first.get(q, -1) in self.roll.still:
            return True
        if self.roll.places[q] or self.equations[q].op not in STACKED_VIEWS:
            return False
        return not isinstance(self.roll.sources[q][0], Same | Carried)

    def is_write(self, q: int) -> bool:
        places = self.roll.places[q]
        return self.equations[q].op.overwrites and bool(places) and places[0].distinct

    def ordered(self, places: MovingPlaces) -> MovingPlaces:
        return places.part(slice(None, None, -1)) if self.roll.reverse else places

    def stays_outside(self, k: int) -> bool:
        return self.pure or self.is_still(k) or self.is_walk(self.made[k][0])

    def moved_array(self, k: int) -> Atom:
        """All turns of a result that is made outside."""
        if k in self.arrays:
            return self.arrays[k]
        q = self.made[k][0]
        eq, source = self.equations[q], self.roll.sources[q][0]
        draft = self.before
        draft.like = eq
        still = self.outer(Inner(k))
        if still is not None:
            made: Atom = draft.write(Broadcast((self.turns, *still.type.shape)), still)
        elif self.is_walk(q):
            x = self.outer(source)
            assert x is not None
            made = self.ordered(self.roll.places[q][0]).read(draft, x)
        else:
            made = STACKED_VIEWS[eq.op](eq.op, draft, self.array(eq, 0, source))
        self.arrays[k] = made
        return made

    def array(self, eq: Equation, slot: int, source: Source) -> Atom:
        """All turns of what an equation reads at a place, as an array outside."""
        if isinstance(source, Inner):
            return self.moved_array(source.made) if self.stays_outside(source.made) else self.stack(source.made)
        if isinstance(source, Carried):
            return self.stack(source)
        dtype = stack_dtype(self.outside.numbers, eq, slot, source.numbers) if isinstance(source, Listed) else None
        key = (source, dtype)
        if key not in self.arrays:
            self.arrays[key] = self._made(source, dtype)
        return self.arrays[key]

    def _made(self, source: Source, dtype: Any) -> Atom:
        if isinstance(source, Walked):
            return self._walked(source, 0, self.turns)
        if isinstance(source, Listed):
            return self._listed(source, dtype)
        assert isinstance(source, Edged)
        core = self._walked(source.core, len(source.head), self.turns - len(source.tail))
        head, tail = ([self._one_row(self.outside.atom(n)) for n in part] for part in (source.head, source.tail))
        if self.roll.reverse:
            head, tail = tail[::-1], head[::-1]
        return self.before.write(Concatenate(0), *head, core, *tail)

    def _walked(self, source: Walked, low: int, high: int) -> Atom:
        """Rows of a stack of another loop, for the turns from low to high."""
        other = source.roll
        stack = self.outside.loop(other).stack(source.made if source.carried is None else source.carried)
        first, last = (other.place(source.first + source.step * t) for t in (low, high - 1))
        step = -source.step if other.reverse else source.step
        if self.roll.reverse:
            first, step = last, -step
        return self.before.sliced(stack, first, step, high - low)

    def _one_row(self, atom: Atom) -> Var:
        kind: Any = Broadcast if isinstance(atom, Literal) else Reshape
        return self.before.write(kind((1, *atom.type.shape)), atom)

    def _listed(self, source: Listed, dtype: Any) -> Atom:
        program = self.outside.numbers.program
        atoms = [self.outside.atom(n) for n in (reversed(source.numbers) if self.roll.reverse else source.numbers)]
        values = [a.value if isinstance(a, Literal) else program.constants.get(a) for a in atoms]
        if all(v is not None for v in values):
            return self.before.constant(np.stack([np.asarray(v, dtype) for v in values]))
        return self.before.write(Concatenate(0), *map(self._one_row, atoms))
