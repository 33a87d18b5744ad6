"""Primitives that gather the results of all iterations: a join of rows, a sum of parts of a gradient.

In ScatterSum the order of additions at each element is kept: parts of one kind (result k of every iteration) are added
in one go only where this leaves at every element the order as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from adjoint.base.records import record
from adjoint.ops.arrays.index import ScatterSum
from adjoint.ops.arrays.rearrange import Broadcast, Concatenate
from adjoint.program.program import Atom, Equation
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType
from adjoint.simplify.reroll.arrays import RequestedLoop
from adjoint.simplify.reroll.moving_slices import Draft, MovingSlices
from adjoint.simplify.reroll.sources import LoopCandidate


class Outside(Protocol):
    """The program around."""

    def atom(self, number: int) -> Atom: ...
    def loop(self, candidate: LoopCandidate) -> RequestedLoop: ...
    def candidate_of(self, number: int) -> LoopCandidate | None: ...
    def kind(self, number: int) -> ArrayType: ...


@record
class Part:
    """An operand: result k of one iteration of a candidate, or (without a candidate) anything."""

    number: int
    candidate: LoopCandidate | None
    result: int = 0
    iteration: int = 0


def parts_of(outside: Outside, numbers: Sequence[int]) -> list[Part]:
    """Where operands come from."""
    parts: list[Part] = []
    for n in numbers:
        candidate = outside.candidate_of(n) if n >= 0 else None
        parts.append(Part(n, None) if candidate is None else Part(n, candidate, *candidate.at(n)))
    return parts


def _stretches(parts: Sequence[Part], fewest: int) -> list[list[Part]]:
    """Consecutive parts that are one result in consecutive iterations, up or down; all others stand alone."""
    groups: list[list[Part]] = []
    for part in parts:
        last = groups[-1] if groups else []
        if (
            last
            and part.candidate is not None
            and (part.candidate, part.result) == (last[-1].candidate, last[-1].result)
        ):
            step = part.iteration - last[-1].iteration
            if abs(step) == 1 and (len(last) == 1 or step == last[-1].iteration - last[-2].iteration):
                last.append(part)
                continue
        groups.append([part])
    return [s for group in groups for s in ([group] if len(group) >= fewest else [[p] for p in group])]


def _rows(outside: Outside, draft: Draft, group: Sequence[Part]) -> Atom:
    """The stack of a group of parts, in its order."""
    candidate = group[0].candidate
    assert candidate is not None
    first, second = candidate.position(group[0].iteration), candidate.position(group[1].iteration)
    return draft.take_rows(outside.loop(candidate).stack(group[0].result), first, second - first, len(group))


# (primitive, program around, equation, operands, draft, fewest iterations) → its result from stacks, or None
GATHERED: RuleTable[Callable[[Any, Outside, Equation, Sequence[int], Draft, int], Atom | None]] = RuleTable(
    "results of all iterations"
)


@GATHERED.rule(Concatenate)
def join_stretches(
    op: Concatenate, outside: Outside, eq: Equation, numbers: Sequence[int], draft: Draft, fewest: int
) -> Atom | None:
    """A concatenation with each stretch of results as one operand; None where there is none."""
    axis = op.axis
    groups = _stretches(parts_of(outside, numbers), fewest)
    if all(len(g) == 1 for g in groups):
        return None
    operands: list[Atom] = []
    for group in groups:
        if len(group) == 1:
            operands.append(outside.atom(group[0].number))
            continue
        rows = draft.move_axis(_rows(outside, draft, group), 0, axis)
        shape = rows.type.shape
        operands.append(draft.reshape(rows, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])))
    if len(operands) == 1 and operands[0].type == eq.outputs[0].type:
        return operands[0]
    return draft.write(op, *operands)


@GATHERED.rule(ScatterSum)
def sum_groups(
    op: ScatterSum, outside: Outside, eq: Equation, numbers: Sequence[int], draft: Draft, fewest: int
) -> Atom | None:
    """A ScatterSum with parts of one kind together; None where there is nothing to gain."""
    count = len(op.keys)
    if len(numbers) != count:  # keys with index arrays
        return None
    parts = parts_of(outside, numbers)
    groups = _Grouping(outside, op, parts, draft, fewest).groups()
    if groups is None:
        return None
    keys: list[Any] = []
    operands: list[Atom] = []
    indices: list[Atom] = []
    for group in groups:
        key, values, arrays = group
        keys.append(key)
        operands.append(values)
        indices += arrays
    return draft.write(ScatterSum(op.shape, op.dtype, tuple(keys)), *operands, *indices)


Written = tuple[Any, Atom, list[Atom]]  # key, values, index arrays


class _Grouping:
    """Parts of a ScatterSum, put together by kind."""

    def __init__(self, outside: Outside, op: ScatterSum, parts: list[Part], draft: Draft, fewest: int) -> None:
        self.outside, self.op, self.parts, self.draft, self.fewest = outside, op, parts, draft, fewest
        self.slices = MovingSlices.of(op.keys, op.shape)

    def groups(self) -> list[Written] | None:
        """What to add, in order."""
        by_cell = self._by_cell() if self.slices is not None and self._cells_are_apart(self.slices) else None
        return by_cell if by_cell is not None else self._by_iterations()

    def _cells_are_apart(self, slices: MovingSlices) -> bool:
        """Whether two keys name the same elements or no common one."""
        for axis, span in enumerate(slices.spans):
            column = slices.positions[:, axis]
            if span is not None and np.any((column - column[0]) % (span[0] * span[1] or 1)):
                return False
        return True

    def _alone(self, at: int) -> Written:
        return self.op.keys[at], self.outside.atom(self.parts[at].number), []

    def _together(self, at: Sequence[int]) -> Written:
        candidate = self.parts[at[0]].candidate
        assert candidate is not None
        at = sorted(at, key=lambda i: candidate.position(self.parts[i].iteration))
        slices = MovingSlices.of([self.op.keys[i] for i in at], self.op.shape)
        assert slices is not None
        return slices.write(self.draft, _rows(self.outside, self.draft, [self.parts[i] for i in at]))

    def _by_iterations(self) -> list[Written] | None:
        """Only neighbors are put together, iteration after iteration: no order changes."""
        iterations: list[list[int]] = []  # parts of one iteration each
        for i, part in enumerate(self.parts):
            last = self.parts[iterations[-1][0]] if iterations else None
            if (
                last is not None
                and part.candidate is not None
                and (part.candidate, part.iteration) == (last.candidate, last.iteration)
            ):
                iterations[-1].append(i)
            else:
                iterations.append([i])
        stretches: list[list[list[int]]] = []
        for iteration in iterations:
            if not (stretches and self._follows(stretches[-1], iteration)):
                stretches.append([])
            stretches[-1].append(iteration)
        groups: list[Written] = []
        for stretch in stretches:
            together = self._in_order(stretch) if len(stretch) >= self.fewest else None
            groups += [self._alone(i) for iteration in stretch for i in iteration] if together is None else [together]
        return groups if len(groups) < len(self.parts) else None

    def _follows(self, stretch: list[list[int]], iteration: list[int]) -> bool:
        """Whether an iteration has the same parts as those before, and is the next one."""
        here, before = ([self.parts[i] for i in t] for t in (iteration, stretch[-1]))
        step = here[0].iteration - before[0].iteration
        if here[0].candidate is None or here[0].candidate is not before[0].candidate or step not in (1, -1):
            return False
        return [p.result for p in here] == [p.result for p in before] and (
            len(stretch) == 1 or step == before[0].iteration - self.parts[stretch[-2][0]].iteration
        )

    def _in_order(self, stretch: list[list[int]]) -> Written | None:
        """All parts of some iterations at once, one after another where they meet."""
        flat = [i for iteration in stretch for i in iteration]
        slices = MovingSlices.of([self.op.keys[i] for i in flat], self.op.shape)
        if slices is None or not slices.shape:
            return None
        if len(stretch[0]) == 1 and slices.distinct:
            return self._together(flat)
        columns: list[Atom] = []
        for column in zip(*stretch, strict=True):
            rows = _rows(self.outside, self.draft, [self.parts[i] for i in column])
            rows = slices.align(self.draft, rows, (len(stretch),))
            outer = tuple(s[1] for s in slices.spans if s is not None)
            if rows.type.shape[1:] != outer:
                rows = self.draft.write(Broadcast((len(stretch), *outer)), rows)
            columns.append(self.draft.reshape(rows, (len(stretch), 1, *outer)))
        values = columns[0] if len(columns) == 1 else self.draft.write(Concatenate(1), *columns)
        # one more axis of size one: so the elements are added one by one, whatever they are added to
        values = self.draft.reshape(values, (len(flat), 1, *values.type.shape[2:]))
        front = slices.front or [0]  # keys that name the whole array: its rows, one by one
        arrays = [array.reshape(len(array), 1, *array.shape[1:]) for array in slices.indices(front)]
        return ("gather", len(front)), values, [self.draft.constant(array) for array in arrays]

    def _by_cell(self) -> list[Written] | None:
        """Parts of one kind are put together, if one order of the kinds is the order at every element."""
        assert self.slices is not None
        cells: dict[tuple[int, ...], list[int]] = {}
        for i, row in enumerate(self.slices.positions.tolist()):
            cells.setdefault(tuple(row), []).append(i)
        kinds: dict[Any, list[int]] = {}
        sums: list[Written] = []
        for at in cells.values():
            total, rest = self._total(at)
            if total is not None:
                sums.append(total)
            for i in rest:
                part = self.parts[i]
                kinds.setdefault((part.candidate, part.result) if part.candidate is not None else i, []).append(i)
        units: list[list[int]] = []  # each is added in one go
        for group in kinds.values():
            stretches = self._evenly(sorted(group))
            if stretches is None:
                return None
            units += stretches
        if not sums and all(len(u) == 1 for u in units):
            return None
        order = self._order(units, cells)
        if order is None:
            return None
        written = [self._together(u) if len(u) > 1 else self._alone(u[0]) for u in order]
        return sums + written

    def _evenly(self, group: list[int]) -> list[list[int]] | None:
        """Parts of one kind as stretches of consecutive iterations; None where they meet at a position."""
        units: list[list[int]] = []
        at = 0
        for stretch in _stretches([self.parts[i] for i in group], self.fewest):
            unit = group[at : at + len(stretch)]
            at += len(stretch)
            slices = MovingSlices.of([self.op.keys[i] for i in unit], self.op.shape)
            if len(unit) > 1 and not (slices is not None and slices.distinct):
                return None
            units.append(unit)
        return units

    def _order(self, units: list[list[int]], cells: dict[tuple[int, ...], list[int]]) -> list[list[int]] | None:
        """The units in an order that keeps the order of parts in every cell; None if there is none."""
        unit_of = {i: u for u, unit in enumerate(units) for i in unit}
        after: dict[int, set[int]] = {u: set() for u in range(len(units))}
        for at in cells.values():
            row = [unit_of[i] for i in at if i in unit_of]
            for first, second in pairwise(row):
                if first == second:
                    return None
                after[first].add(second)
        waiting = [0] * len(units)
        for later in after.values():
            for u in later:
                waiting[u] += 1
        ready = sorted((u for u in after if not waiting[u]), key=lambda u: -units[u][0])
        order: list[list[int]] = []
        while ready:
            u = ready.pop()
            order.append(units[u])
            for later in after[u]:
                waiting[later] -= 1
                if not waiting[later]:
                    ready.append(later)
        return order if len(order) == len(units) else None

    def _total(self, at: list[int]) -> tuple[Written | None, list[int]]:
        """Parts that all iterations add at the same position: a sum that the loop carries; and parts that follow."""
        candidates = {self.parts[i].candidate for i in at}
        candidate = next((r for r in candidates if r is not None), None)
        inside = [i for i in at if self.parts[i].candidate is candidate]
        if (
            candidate is None
            or len(inside) < max(self.fewest, candidate.repetition.iterations)
            or len(inside) % candidate.repetition.iterations
        ):
            return None, at
        results = [self.parts[i].result for i in inside[: len(inside) // candidate.repetition.iterations]]
        wanted = [(k, t) for t in range(candidate.repetition.iterations) for k in results]
        first, last = at.index(inside[0]), at.index(inside[-1])
        kind = ArrayType(self._row_shape(), self.op.dtype)
        if (
            [(self.parts[i].result, self.parts[i].iteration) for i in inside] != wanted
            or at[first : last + 1] != inside
            or any(self.outside.loop(candidate).kind(k) != kind for k in results)
        ):
            return None, at
        before = [self.parts[i].number for i in at[:first]]  # iterations that stand before the loop
        if any(n >= candidate.base or self.outside.kind(n) != kind for n in before):
            return None, at
        total = self.outside.loop(candidate).sum(tuple(results), tuple(before), kind)
        return (self.op.keys[at[0]], total, []), at[last + 1 :]

    def _row_shape(self) -> tuple[int, ...]:
        assert self.slices is not None
        return self.slices.outer
