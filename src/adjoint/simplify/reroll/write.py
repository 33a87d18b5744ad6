"""A loop candidate written as a `Scan`.

The program is rewritten from its end to its beginning. So when a candidate is reached, all that is wanted of it is
known: stacks of what its iterations computed or carried in, values of single iterations, sums over all iterations. Only
what these need goes into the body. Writes that move along an array which is carried for them alone, hs[t] = h, do not:
they are one write behind the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from adjoint.base.records import record
from adjoint.ops.arrays.index import Key, ScatterSet, ScatterSum, Slice
from adjoint.ops.arrays.rearrange import Broadcast
from adjoint.ops.control.scan import Scan
from adjoint.ops.elementwise.arithmetic import add
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType
from adjoint.simplify.dead_code import acts
from adjoint.simplify.reroll.arrays import RequestedLoop
from adjoint.simplify.reroll.moving_slices import Draft
from adjoint.simplify.reroll.sources import Carried, Inner, Source

NOTHING = -(1 << 62)  # the number of a start that nobody reads


@record(frozen=False)
class _Body:
    """The body of a loop while it is written."""

    draft: Draft
    constants: dict[Any, tuple[Atom, Var]] = field(default_factory=dict[Any, tuple[Atom, Var]])  # outside and inside
    carries: dict[Carried, Var] = field(default_factory=dict[Carried, Var])
    scanned: list[tuple[Atom, Var]] = field(default_factory=list[tuple[Atom, Var]])  # (array outside, row inside)
    rows: dict[Any, Var] = field(default_factory=dict[Any, Var])  # of scanned arrays, by source
    results: dict[int, Atom] = field(default_factory=dict[int, Atom])


class Loop(RequestedLoop):
    """One candidate as a loop."""

    def write(self) -> list[Equation]:
        """The equations of the loop, and around it."""
        chains = self._chains()
        behind = {q for _, chain in chains for q in chain}
        # no loop at all is left where rows of something are only arranged, and written
        self.pure = not self.sums and all(q in behind or self.moves_only(q) for q in range(len(self.equations)))
        if self.pure and not chains and not self.stacks:
            return self._keep_equations()
        for carried, chain in chains:
            x = self.outside.atom(carried.starts[0])
            for q in chain:
                x = self._write_after(q, x)
            self.aliases[self.singles.pop((carried.result, self.iterations - 1))] = x
        finals = self._settle_singles()
        body = _Body(Draft(self.equations[0]))
        needed = self._needed(finals)
        for q in range(len(self.equations)):
            if q in needed:
                self._write_equation(body, q)
        scan = self._scan(body, finals) if needed or finals or self.stacks or self.sums else []
        return [*self.before.equations, *scan, *self.after.equations]

    def _keep_equations(self) -> list[Equation]:
        """The equations as they were."""
        self.is_kept = True
        numbers, (start, period, iterations) = self.outside.numbers, self.candidate.repetition
        written: list[Equation] = []
        for at in range(start, start + period * iterations):
            eq = numbers.program.equations[at]
            reads = numbers.reads[numbers.first_read[at] : numbers.first_read[at + 1]].tolist()
            inputs = [numbers.atom(n) if n >= self.candidate.base else self.outside.atom(n) for n in reads]
            written.append(Equation(eq.op, tuple(inputs), eq.outputs, eq.location, eq.scope, eq.quiet, eq.pulled))
        for (k, iteration), v in self.singles.items():
            self.aliases[v] = numbers.atom(self.candidate.base + self.candidate.width * iteration + k)
        return written

    def _chains(self) -> list[tuple[Carried, list[int]]]:
        """The arrays that are carried only to be written to, of which the last is wanted alone; and their writes."""
        chains: list[tuple[Carried, list[int]]] = []
        for carried in self.candidate.carried.values():
            chain = self._chain(carried)
            written = {self.first[q] for q in chain}
            wanted = [(k, iteration) for k, iteration in self.singles if k in written]
            if wanted == [(carried.result, self.iterations - 1)] and not any(
                k in self.stacks for k in (carried, *written)
            ):
                chains.append((carried, chain))
        return chains

    def _chain(self, carried: Carried) -> list[int]:
        """The equations x[…] = … through which alone a carried array goes."""
        readers: dict[Source, list[tuple[int, int]]] = {}
        for q, sources in enumerate(self.candidate.sources):
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
            if k == carried.result:
                break
            source = Inner(k)
        others = [s for s in readers if isinstance(s, Carried | Inner) and s.result == carried.result and s != carried]
        return chain if not others and self._apart(chain) else []

    def _apart(self, chain: list[int]) -> bool:
        """Whether no two of some equations write to the same position."""
        if len(chain) == 1:
            return True
        slices = [self.candidate.slices[q][0] for q in chain]
        if any(p.spans != slices[0].spans for p in slices):
            return False
        fixed = [s is None for s in slices[0].spans]
        points = np.concatenate([p.positions[:, fixed] for p in slices])
        return len(np.unique(points, axis=0)) == len(points)

    def _write_after(self, q: int, x: Atom) -> Atom:
        """All writes of one equation at once."""
        eq, source = self.equations[q], self.candidate.sources[q][1]
        slices = self.put_in_order(self.candidate.slices[q][0])
        draft = self.after
        draft.like = eq
        value = self.outer(source)
        if value is not None:
            stacked = draft.write(Broadcast((self.iterations, *value.type.shape)), value)
        else:
            stacked = self.array(eq, 1, source)
        key, values, indices = slices.write(draft, stacked)
        if key == ("slice", ()) and values is stacked and values.type == x.type:
            return values
        return draft.write(ScatterSet(key), x, values, *indices)

    def _settle_singles(self) -> dict[Carried, Var]:
        """Decide where values of single iterations come from; give the carries whose last value is wanted."""
        finals: dict[Carried, Var] = {}
        by_result: dict[int, list[int]] = {}
        for k, iteration in self.singles:
            by_result.setdefault(k, []).append(iteration)
        longest: dict[int, Carried] = {}
        for source in (s for row in self.candidate.sources for s in row):
            if isinstance(source, Carried) and (
                source.result not in longest or source.delay > longest[source.result].delay
            ):
                longest[source.result] = source
        for k, iterations in by_result.items():
            invariant = self.outer(Inner(k))
            if invariant is not None:
                self.aliases.update({self.singles[k, iteration]: invariant for iteration in iterations})
                continue
            at_hand = longest[k].delay if k in longest else 0
            back = self.iterations - min(iterations)
            if self.stays_outside(k):
                stack: Atom | None = self.outside_array(k)
            elif k in self.stacks or back > max(2, at_hand):
                stack = self.stack(k)
            else:
                stack = None
            for iteration in iterations:
                v, back = self.singles[k, iteration], self.iterations - iteration
                if stack is None or (back <= at_hand and not self.stays_outside(k)):
                    starts = longest[k].starts if at_hand >= back else (NOTHING,) * back
                    finals[Carried(k, starts[-back:])] = v
                else:
                    self.after.like = self.equations[self.results[k][0]]
                    self.after.append(Slice((self.candidate.position(iteration),)), (stack,), (v,))
        return finals

    def _needed(self, finals: dict[Carried, Var]) -> set[int]:
        """The equations that the body must have."""
        queue: list[int] = [q for q, eq in enumerate(self.equations) if acts(eq)]
        queue += [self.results[c.result][0] for c in finals]
        for key, v in list(self.stacks.items()):
            if isinstance(key, int) and self.stays_outside(key):
                self.aliases[v] = self.outside_array(key)
                del self.stacks[key]
            else:
                queue.append(self.results[key if isinstance(key, int) else key.result][0])
        queue += [self.results[k][0] for results, _ in self.sums for k in results]
        needed: set[int] = set()
        while queue:
            q = queue.pop()
            if q in needed or (self.stays_outside(self.first.get(q, 0)) and not acts(self.equations[q])):
                continue
            needed.add(q)
            queue += [self.results[s.result][0] for s in self.candidate.sources[q] if isinstance(s, Inner | Carried)]
        return needed

    # ---- the body

    def _read(self, body: _Body, q: int, slot: int, source: Source) -> Atom:
        """What an equation of the body reads."""
        invariant = self.outer(source)
        if invariant is not None:
            return self._constant(body, invariant, self.lifted.get((q, slot)))
        if isinstance(source, Carried):
            return self._carry(body, source)
        if isinstance(source, Inner):
            return self._result(body, source.result)
        return self._row(body, source, self.array(self.equations[q], slot, source))

    def _result(self, body: _Body, k: int) -> Atom:
        invariant = self.outer(Inner(k))
        if invariant is not None:
            return self._constant(body, invariant, None)
        return self._row(body, k, self.outside_array(k)) if self.stays_outside(k) else body.results[k]

    def _constant(self, body: _Body, atom: Atom, dtype: Any) -> Atom:
        """What is the same in all iterations; a number stands in the body itself, unless it is given a dtype."""
        if isinstance(atom, Literal):
            if dtype is None:
                return atom
            atom = Literal(dtype.type(atom.value))
        key = atom.key() if isinstance(atom, Literal) else atom
        return body.constants.setdefault(key, (atom, Var(ArrayType(atom.type.shape, atom.type.dtype))))[1]

    def _carry(self, body: _Body, carried: Carried) -> Var:
        for back in range(1, carried.delay + 1):  # one for each iteration of the delay
            body.carries.setdefault(Carried(carried.result, carried.starts[-back:]), Var(self.kind(carried.result)))
        return body.carries[carried]

    def _row(self, body: _Body, key: Any, array: Atom) -> Var:
        key = (key, array)
        if key not in body.rows:
            body.rows[key] = Var(ArrayType(array.type.shape[1:], array.type.dtype))
            body.scanned.append((array, body.rows[key]))
        return body.rows[key]

    def _write_equation(self, body: _Body, q: int) -> None:
        eq, slices = self.equations[q], self.candidate.slices[q]
        inputs = [self._read(body, q, i, source) for i, source in enumerate(self.candidate.sources[q])]
        body.draft.like = eq
        if slices:
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
        for number, p in enumerate(self.candidate.slices[q]):
            if p.moving:  # all others stay as they are
                indices += self.index_rows(body, q, number, p.front)
                keys[number] = ("gather", len(p.front))
                parts[number] = p.align_one(body.draft, parts[number])
        return keys, [*parts, *indices]

    def index_rows(self, body: _Body, q: int, number: int, axes: Any) -> list[Atom]:
        slices = self.candidate.slices[q][number]
        rows: list[Atom] = []
        for axis, array in zip(axes, self.put_in_order(slices).indices(axes), strict=True):
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
            after.append(
                self._result(body, c.result) if c.delay == 1 else body.carries[Carried(c.result, c.starts[1:])]
            )
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
            (*[v for _, v in body.constants.values()], *inside, *[row for _, row in body.scanned]),
            tuple(body.draft.equations),
            (*after, *stacks),
            body.draft.constants,
        )
        op = Scan(program, len(body.constants), len(inside), self.iterations, self.candidate.reverse)
        inputs = (*[a for a, _ in body.constants.values()], *starts, *[array for array, _ in body.scanned])
        first = self.equations[0]
        quiet = all(eq.quiet for eq in self.equations)
        return [Equation(op, inputs, (*lasts, *self.stacks.values()), first.location, first.scope, quiet, first.pulled)]

    def _start(self, carried: Carried) -> Atom:
        """What is carried into the first iteration."""
        number = carried.starts[0]
        if number != NOTHING:
            return self.outside.atom(number)
        kind = self.kind(carried.result)
        return Literal(kind.dtype.type(0)) if not kind.shape else self.before.constant(kind.zeros())


# (primitive, loop, body, its number in the body, inputs) → its result, where the position depends on the iteration: by
# index arrays, a row of them in each iteration
MOVING: RuleTable[Callable[[Any, Loop, _Body, int, list[Atom]], Atom]] = RuleTable("slices that move")


@MOVING.rule(Slice)
def read_moving(op: Slice, loop: Loop, body: _Body, q: int, inputs: list[Atom]) -> Atom:
    (slices,) = loop.candidate.slices[q]
    return slices.read_one(body.draft, inputs[0], loop.index_rows(body, q, 0, slices.moving))


@MOVING.rule(ScatterSet)
def write_moving(op: ScatterSet, loop: Loop, body: _Body, q: int, inputs: list[Atom]) -> Atom:
    (key,), values = loop.moving_keys(body, q, [op.key()], inputs[1:])
    return body.draft.write(ScatterSet(key), inputs[0], *values)


@MOVING.rule(ScatterSum)
def add_moving(op: ScatterSum, loop: Loop, body: _Body, q: int, inputs: list[Atom]) -> Atom:
    keys, values = loop.moving_keys(body, q, op.keys, inputs)
    return body.draft.write(ScatterSum(op.shape, op.dtype, tuple(keys)), *values)
