"""A roll written as a `Scan`.

The program is rewritten from its end to its beginning. So when the turn comes to a roll, all that is wanted of it is
known: stacks of what its turns computed or carried in, values of single turns, sums over all turns. Only what these
need goes into the body. Writes that move along an array which is carried for them alone, hs[t] = h, do not: they are
one write behind the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.ops.arrays.index import Key, ScatterSet, ScatterSum, Slice
from adjoint.ops.arrays.rearrange import Broadcast
from adjoint.ops.control.scan import Scan
from adjoint.ops.elementwise.arithmetic import add
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType
from adjoint.simplify.dead_code import acts
from adjoint.simplify.reroll.arrays import Wanted
from adjoint.simplify.reroll.moving_slices import Draft
from adjoint.simplify.reroll.sources import Carried, Inner, Source

NOTHING = -(1 << 62)  # the number of a start that nobody reads


@dataclass
class _Body:
    """The body of a loop while it is written."""

    draft: Draft
    constants: dict[Any, tuple[Atom, Var]] = field(default_factory=dict[Any, tuple[Atom, Var]])  # outside and inside
    carries: dict[Carried, Var] = field(default_factory=dict[Carried, Var])
    walks: list[tuple[Atom, Var]] = field(default_factory=list[tuple[Atom, Var]])  # (array outside, row inside)
    rows: dict[Any, Var] = field(default_factory=dict[Any, Var])  # what is walked along, by source
    results: dict[int, Atom] = field(default_factory=dict[int, Atom])


class Loop(Wanted):
    """One roll as a loop."""

    def write(self) -> list[Equation]:
        """The equations of the loop, and around it."""
        chains = self._chains()
        behind = {q for _, chain in chains for q in chain}
        # no loop at all is left where rows of something are only arranged, and written
        self.pure = not self.sums and all(q in behind or self.moves_only(q) for q in range(len(self.equations)))
        if self.pure and not chains and not self.stacks:
            return self._left_alone()
        for carried, chain in chains:
            x = self.outside.atom(carried.starts[0])
            for q in chain:
                x = self._written_after(q, x)
            self.aliases[self.singles.pop((carried.made, self.turns - 1))] = x
        finals = self._settle_singles()
        body = _Body(Draft(self.equations[0]))
        needed = self._needed(finals)
        for q in range(len(self.equations)):
            if q in needed:
                self._write_equation(body, q)
        scan = self._scan(body, finals) if needed or finals or self.stacks or self.sums else []
        return [*self.before.equations, *scan, *self.after.equations]

    def _left_alone(self) -> list[Equation]:
        """The equations as they were."""
        self.left_alone = True
        numbers, (start, period, turns) = self.outside.numbers, self.roll.run
        written: list[Equation] = []
        for at in range(start, start + period * turns):
            eq = numbers.program.equations[at]
            reads = numbers.reads[numbers.first_read[at] : numbers.first_read[at + 1]].tolist()
            inputs = [numbers.atom(n) if n >= self.roll.made else self.outside.atom(n) for n in reads]
            written.append(Equation(eq.op, tuple(inputs), eq.outputs, eq.location, eq.scope, eq.quiet, eq.pulled))
        for (k, turn), v in self.singles.items():
            self.aliases[v] = numbers.atom(self.roll.made + self.roll.width * turn + k)
        return written

    def _chains(self) -> list[tuple[Carried, list[int]]]:
        """The arrays that are carried only to be written to, of which the last is wanted alone; and their writes."""
        found: list[tuple[Carried, list[int]]] = []
        for carried in self.roll.carried.values():
            chain = self._chain(carried)
            made = {self.first[q] for q in chain}
            wanted = [(k, turn) for k, turn in self.singles if k in made]
            if wanted == [(carried.made, self.turns - 1)] and not any(k in self.stacks for k in (carried, *made)):
                found.append((carried, chain))
        return found

    def _chain(self, carried: Carried) -> list[int]:
        """The equations x[…] = … through which alone a carried array goes."""
        readers: dict[Source, list[tuple[int, int]]] = {}
        for q, sources in enumerate(self.roll.sources):
            for i, source in enumerate(sources):
                readers.setdefault(source, []).append((q, i))
        chain: list[int] = []
        source: Source = carried
        while True:
            at = readers.get(source, [])
            if len(at) != 1 or at[0][1] != 0 or not self.is_write(at[0][0]):
                return []
            chain.append(at[0][0])
            k = self.first[at[0][0]]
            if k == carried.made:
                break
            source = Inner(k)
        others = [s for s in readers if isinstance(s, Carried | Inner) and s.made == carried.made and s != carried]
        return chain if not others and self._apart(chain) else []

    def _apart(self, chain: list[int]) -> bool:
        """Whether no two of some equations write to the same place."""
        if len(chain) == 1:
            return True
        places = [self.roll.places[q][0] for q in chain]
        if any(p.spans != places[0].spans for p in places):
            return False
        fixed = [s is None for s in places[0].spans]
        points = np.concatenate([p.positions[:, fixed] for p in places])
        return len(np.unique(points, axis=0)) == len(points)

    def _written_after(self, q: int, x: Atom) -> Atom:
        """All writes of one equation at once."""
        eq, source = self.equations[q], self.roll.sources[q][1]
        places = self.ordered(self.roll.places[q][0])
        draft = self.after
        draft.like = eq
        value = self.outer(source)
        if value is not None:
            stacked = draft.write(Broadcast((self.turns, *value.type.shape)), value)
        else:
            stacked = self.array(eq, 1, source)
        key, values, indices = places.write(draft, stacked)
        if key == ("slice", ()) and values is stacked and values.type == x.type:
            return values
        return draft.write(ScatterSet(key), x, values, *indices)

    def _settle_singles(self) -> dict[Carried, Var]:
        """Decide where values of single turns come from; give the carries whose last value is wanted."""
        finals: dict[Carried, Var] = {}
        by_result: dict[int, list[int]] = {}
        for k, turn in self.singles:
            by_result.setdefault(k, []).append(turn)
        longest: dict[int, Carried] = {}
        for source in (s for row in self.roll.sources for s in row):
            if isinstance(source, Carried) and (
                source.made not in longest or source.delay > longest[source.made].delay
            ):
                longest[source.made] = source
        for k, turns in by_result.items():
            still = self.outer(Inner(k))
            if still is not None:
                self.aliases.update({self.singles[k, turn]: still for turn in turns})
                continue
            at_hand = longest[k].delay if k in longest else 0
            back = self.turns - min(turns)
            if self.stays_outside(k):
                stack: Atom | None = self.moved_array(k)
            elif k in self.stacks or back > max(2, at_hand):
                stack = self.stack(k)
            else:
                stack = None
            for turn in turns:
                v, back = self.singles[k, turn], self.turns - turn
                if stack is None or (back <= at_hand and not self.stays_outside(k)):
                    starts = longest[k].starts if at_hand >= back else (NOTHING,) * back
                    finals[Carried(k, starts[-back:])] = v
                else:
                    self.after.like = self.equations[self.made[k][0]]
                    self.after.append(Slice((self.roll.place(turn),)), (stack,), (v,))
        return finals

    def _needed(self, finals: dict[Carried, Var]) -> set[int]:
        """The equations that the body must have."""
        queue: list[int] = [q for q, eq in enumerate(self.equations) if acts(eq)]
        queue += [self.made[c.made][0] for c in finals]
        for key, v in list(self.stacks.items()):
            if isinstance(key, int) and self.stays_outside(key):
                self.aliases[v] = self.moved_array(key)
                del self.stacks[key]
            else:
                queue.append(self.made[key if isinstance(key, int) else key.made][0])
        queue += [self.made[k][0] for results, _ in self.sums for k in results]
        needed: set[int] = set()
        while queue:
            q = queue.pop()
            if q in needed or (self.stays_outside(self.first.get(q, 0)) and not acts(self.equations[q])):
                continue
            needed.add(q)
            queue += [self.made[s.made][0] for s in self.roll.sources[q] if isinstance(s, Inner | Carried)]
        return needed

    # ---- the body

    def _read(self, body: _Body, q: int, slot: int, source: Source) -> Atom:
        """What an equation of the body reads."""
        still = self.outer(source)
        if still is not None:
            return self._constant(body, still, self.lifted.get((q, slot)))
        if isinstance(source, Carried):
            return self._carry(body, source)
        if isinstance(source, Inner):
            return self._result(body, source.made)
        return self._row(body, source, self.array(self.equations[q], slot, source))

    def _result(self, body: _Body, k: int) -> Atom:
        still = self.outer(Inner(k))
        if still is not None:
            return self._constant(body, still, None)
        return self._row(body, k, self.moved_array(k)) if self.stays_outside(k) else body.results[k]

    def _constant(self, body: _Body, atom: Atom, dtype: Any) -> Atom:
        """What is the same in all turns; a number stands in the body itself, unless it is given a dtype."""
        if isinstance(atom, Literal):
            if dtype is None:
                return atom
            atom = Literal(dtype.type(atom.value))
        key = atom.key() if isinstance(atom, Literal) else atom
        return body.constants.setdefault(key, (atom, Var(ArrayType(atom.type.shape, atom.type.dtype))))[1]

    def _carry(self, body: _Body, carried: Carried) -> Var:
        for back in range(1, carried.delay + 1):  # one for each turn of the delay
            body.carries.setdefault(Carried(carried.made, carried.starts[-back:]), Var(self.kind(carried.made)))
        return body.carries[carried]

    def _row(self, body: _Body, key: Any, array: Atom) -> Var:
        key = (key, array)
        if key not in body.rows:
            body.rows[key] = Var(ArrayType(array.type.shape[1:], array.type.dtype))
            body.walks.append((array, body.rows[key]))
        return body.rows[key]

    def _write_equation(self, body: _Body, q: int) -> None:
        eq, places = self.equations[q], self.roll.places[q]
        inputs = [self._read(body, q, i, source) for i, source in enumerate(self.roll.sources[q])]
        body.draft.like = eq
        if places:
            body.results[self.first[q]] = MOVING[eq.op](eq.op, self, body, q, inputs)
            return
        outputs = tuple(Var(v.type) for v in eq.outputs)
        body.draft.append(eq.op, tuple(inputs), outputs)
        for j, v in enumerate(outputs):
            body.results[self.first[q] + j] = v

    def moving_keys(self, body: _Body, q: int, keys: Sequence[Key], parts: list[Atom]) -> tuple[list[Key], list[Atom]]:
        """Keys by index arrays, and what is written as they take it, with the index arrays behind."""
        indices: list[Atom] = []
        keys, parts = list(keys), parts[: len(keys)]
        for number, p in enumerate(self.roll.places[q]):
            if p.moving:  # all others stay as they are
                indices += self.index_rows(body, q, number, p.front)
                keys[number] = ("gather", len(p.front))
                parts[number] = p.written_one(body.draft, parts[number])
        return keys, [*parts, *indices]

    def index_rows(self, body: _Body, q: int, number: int, axes: Any) -> list[Atom]:
        places = self.roll.places[q][number]
        rows: list[Atom] = []
        for axis, array in zip(axes, self.ordered(places).indices(axes), strict=True):
            if len(array) == 1 or not np.any(array != array[:1]):
                one = array[0]
                rows.append(Literal(one) if np.ndim(one) == 0 else body.draft.constant(one))
            else:
                key = ("index", q, number, axis)
                if key not in self.arrays:
                    self.arrays[key] = self.before.constant(array)
                rows.append(self._row(body, key, self.arrays[key]))
        return rows

    def _scan(self, body: _Body, finals: dict[Carried, Var]) -> list[Equation]:
        for carried in [*finals, *[key for key in self.stacks if isinstance(key, Carried)]]:
            self._carry(body, carried)
        carries = list(body.carries)
        starts = [self._start(c) for c in carries]
        after: list[Atom] = []
        for c in carries:
            after.append(self._result(body, c.made) if c.delay == 1 else body.carries[Carried(c.made, c.starts[1:])])
        lasts = [finals.get(c, Var(body.carries[c].type)) for c in carries]
        inside = [body.carries[c] for c in carries]
        body.draft.like = self.equations[0]
        for (results, before), v in self.sums.items():
            start: Atom = self.before.constant(np.zeros(v.type.shape, v.type.dtype))
            for n in before:
                start = self.before.write(add, start, self.outside.atom(n))
            inside.append(Var(v.type))
            total: Atom = inside[-1]
            for k in results:
                total = body.draft.write(add, total, self._result(body, k))
            after.append(total)
            lasts.append(v)
            starts.append(start)
        stacks = [body.carries[key] if isinstance(key, Carried) else self._result(body, key) for key in self.stacks]
        program = Program(
            (*[v for _, v in body.constants.values()], *inside, *[row for _, row in body.walks]),
            tuple(body.draft.equations),
            (*after, *stacks),
            body.draft.constants,
        )
        op = Scan(program, len(body.constants), len(inside), self.turns, self.roll.reverse)
        inputs = (*[a for a, _ in body.constants.values()], *starts, *[array for array, _ in body.walks])
        first = self.equations[0]
        quiet = all(eq.quiet for eq in self.equations)
        return [Equation(op, inputs, (*lasts, *self.stacks.values()), first.location, first.scope, quiet, first.pulled)]

    def _start(self, carried: Carried) -> Atom:
        """What is carried into the first turn."""
        number = carried.starts[0]
        if number != NOTHING:
            return self.outside.atom(number)
        kind = self.kind(carried.made)
        return Literal(kind.dtype.type(0)) if not kind.shape else self.before.constant(kind.zeros())


# (primitive, loop, body, its number in the body, inputs) → its result, where the position depends on the iteration: by
# index arrays, a row of them in each iteration
MOVING: RuleTable[Callable[[Any, Loop, _Body, int, list[Atom]], Atom]] = RuleTable("slices that move")


@MOVING.rule(Slice)
def read_moving(op: Slice, loop: Loop, body: _Body, q: int, inputs: list[Atom]) -> Atom:
    (places,) = loop.roll.places[q]
    return places.read_one(body.draft, inputs[0], loop.index_rows(body, q, 0, places.moving))


@MOVING.rule(ScatterSet)
def write_moving(op: ScatterSet, loop: Loop, body: _Body, q: int, inputs: list[Atom]) -> Atom:
    (key,), values = loop.moving_keys(body, q, [op.key()], inputs[1:])
    return body.draft.write(ScatterSet(key), inputs[0], *values)


@MOVING.rule(ScatterSum)
def add_moving(op: ScatterSum, loop: Loop, body: _Body, q: int, inputs: list[Atom]) -> Atom:
    keys, values = loop.moving_keys(body, q, op.keys, inputs)
    return body.draft.write(ScatterSum(op.shape, op.dtype, tuple(keys)), *values)
