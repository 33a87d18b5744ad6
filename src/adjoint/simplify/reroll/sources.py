"""What an iteration reads, as a function of the induction variable t: an invariant, a carried value, a row of a stack.

Every operand of the equations of a repetition is a column: the numbers of what is read there, iteration by iteration.
With n results in each iteration, result k of iteration t has the number base + n t + k, so all questions are about
arithmetic progressions. A column that follows its rule only from some iteration on, or up to some iteration, shortens
the repetition.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np

from adjoint.base.records import record
from adjoint.program.types import is_whole
from adjoint.simplify.dead_code import acts
from adjoint.simplify.reroll.moving_slices import INDEXED, MovingSlices
from adjoint.simplify.reroll.repetitions import Integers, Numbered, Repetition
from adjoint.simplify.reroll.stacked_literals import stack_dtype

LONGEST_DELAY = 8  # iterations back that a value may be read
MOST_STACKED = 1 << 16  # elements of constants that are copied into a stack in any case
MOST_DIFFERENT = 1 << 24  # elements of constants that are, if most are different
MOST_JOINED = 1 << 11  # elements of values from anywhere that are
WIDEST_BOUNDARY = 2  # iterations at the ends that may read something else than the iterations between
MOST_WITH_BOUNDARY = 1 << 12  # elements of a stack that is copied for that


@record
class Invariant:
    """A loop invariant: one value in all iterations."""

    number: int


@record
class Inner:
    """Result k of the same iteration."""

    result: int


@record
class Carried:
    """Result k of `delay` iterations before; in the first iterations, one of `starts`."""

    result: int
    starts: tuple[int, ...]

    @property
    def delay(self) -> int:
        return len(self.starts)


@record
class Strided:
    """Result k of iteration `first + step t` of an earlier candidate (t: induction variable), or what it carried in."""

    candidate: LoopCandidate
    result: int
    first: int
    step: int
    carried: Carried | None = None


@record
class Gathered:
    """Literals, constants or values from anywhere, iteration by iteration."""

    numbers: tuple[int, ...]


@record
class WithBoundary:
    """Results of an earlier candidate, and other values in the first and last iterations."""

    head: tuple[int, ...]
    core: Strided  # `first` is for iteration 0, which may be one of the head
    tail: tuple[int, ...]


Source: TypeAlias = Invariant | Inner | Carried | Strided | WithBoundary | Gathered


@record(eq=False, frozen=False)
class LoopCandidate:
    """A repetition whose iterations are understood: it can be a loop."""

    repetition: Repetition
    base: int  # the number of its first result
    width: int  # how many results each iteration has
    sources: list[list[Source]]  # what each equation of an iteration reads
    slices: list[list[MovingSlices]]  # the keys of those equations that have some
    reverse: bool = False  # iteration t stands at position iterations - 1 - t of every stack
    # by result, what is carried for one iteration
    carried: dict[int, Carried] = field(default_factory=dict[int, Carried])
    invariant: set[int] = field(default_factory=set[int])  # results that are the same in all iterations

    @property
    def stop(self) -> int:
        """The number behind its last result."""
        return self.base + self.width * self.repetition.iterations

    def at(self, number: int) -> tuple[int, int]:
        """(result, iteration) of a number."""
        iteration, k = divmod(number - self.base, self.width)
        return k, iteration

    def position(self, iteration: int) -> int:
        """Where an iteration stands in a stack."""
        return self.repetition.iterations - 1 - iteration if self.reverse else iteration


class LoopCandidates:
    """The loop candidates found so far, by number."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._candidates: list[LoopCandidate] = []

    def add(self, candidate: LoopCandidate) -> None:
        at = bisect_right(self._starts, candidate.base)
        self._starts.insert(at, candidate.base)
        self._candidates.insert(at, candidate)

    def candidate_of(self, number: int) -> LoopCandidate | None:
        """The candidate that makes a number."""
        at = bisect_right(self._starts, number) - 1
        return self._candidates[at] if at >= 0 and number < self._candidates[at].stop else None

    def __iter__(self) -> Any:
        return iter(self._candidates)


class RepetitionAnalysis:
    """One attempt to understand a repetition.

    Slices may move anyhow if lenient, values come from anywhere if joining.
    """

    def __init__(
        self, numbers: Numbered, candidates: LoopCandidates, repetition: Repetition, *, lenient: bool, joining: bool
    ) -> None:
        self.numbers, self.candidates, self.repetition = numbers, candidates, repetition
        self.lenient, self.joining = lenient, joining
        start, period, iterations = repetition
        self.equations = numbers.program.equations[start : start + period]
        first = numbers.first_read[start : start + period + 1]
        self.bounds = (first - first[0]).tolist()
        self.matrix = numbers.reads[first[0] : first[0] + iterations * self.bounds[-1]].reshape(iterations, -1)
        self.base = int(numbers.first_result[start])
        self.width = int(numbers.first_result[start + period]) - self.base
        self.inputs = len(numbers.program.inputs)
        self.roots = int(numbers.first_result[0])  # inputs and constants

    def analyze(self) -> LoopCandidate | tuple[int, int]:
        """The candidate, or the iterations (from, to) that a shorter repetition may have."""
        low, high = 0, self.repetition.iterations
        slices = self._moving_slices()
        for column in range(self.matrix.shape[1]):
            a, b = self._extent(self.matrix[:, column])
            low, high = max(low, a), min(high, b)
        if not self.lenient:
            for p in (p for row in slices for p in row):
                a, b = _even_extent(p.positions)
                low, high = max(low, a), min(high, b)
        if (low, high) != (0, self.repetition.iterations):
            return low, high
        sources: list[list[Source]] = []
        for q, eq in enumerate(self.equations):
            row: list[Source] = []
            for i in range(self.bounds[q], self.bounds[q + 1]):
                source = self._source(self.matrix[:, i])
                if (
                    isinstance(source, Gathered)
                    and stack_dtype(self.numbers, eq, i - self.bounds[q], source.numbers) is None
                ):
                    return 0, 0
                row.append(source)
            sources.append(row)
        candidate = LoopCandidate(self.repetition, self.base, self.width, sources, slices)
        for source in (s for row in sources for s in row):
            if isinstance(source, Carried) and source.delay == 1:
                candidate.carried.setdefault(source.result, source)
        candidate.invariant = self._invariant_results(candidate)
        candidate.reverse = self._runs_down(candidate)
        return candidate

    def _invariant_results(self, candidate: LoopCandidate) -> set[int]:
        """The results that depend on nothing that changes from iteration to iteration."""
        invariant: set[int] = set()
        k = 0
        for eq, sources, slices in zip(self.equations, candidate.sources, candidate.slices, strict=True):
            same = all(isinstance(s, Invariant) or (isinstance(s, Inner) and s.result in invariant) for s in sources)
            if same and not slices and not acts(eq):
                invariant.update(range(k, k + len(eq.outputs)))
            k += len(eq.outputs)
        return invariant

    def _moving_slices(self) -> list[list[MovingSlices]]:
        """The keys of each equation of an iteration, where they move."""
        moving: list[list[MovingSlices]] = []
        start, period, iterations = self.repetition
        for q, eq in enumerate(self.equations):
            moving.append([])
            if eq.op in INDEXED:
                column = self.numbers.program.equations[start + q : start + period * iterations : period]
                if all(e.op is eq.op or e.op == eq.op for e in column):
                    continue
                indexed = [INDEXED[e.op](e.op, e) for e in column]
                shape = indexed[0][1]
                for keys in zip(*[keys for keys, _ in indexed], strict=True):
                    slices = MovingSlices.of(keys, shape)
                    if slices is None:  # index arrays, which are read as operands
                        raise Unknown
                    moving[-1].append(slices)
                if not any(slices.moving for slices in moving[-1]):  # x[0:n] is x[:n]
                    moving[-1] = []
        return moving

    def _extent(self, column: Integers) -> tuple[int, int]:
        """The iterations around the middle one in which a column follows one rule."""
        iterations = len(column)
        middle = (iterations - 1) // 2
        x, step = int(column[middle]), int(column[middle + 1] - column[middle])
        if x < 0:
            return _around(column < 0, middle)
        if x >= self.base and step == 0:  # what one iteration computed for all after it
            low, high = _around(column == x, middle)
            return max(low, (x - self.base) // self.width + 1), high
        if x >= self.base:
            return self._carried_extent(column, middle)
        if step == 0 and not np.any(column != x):
            return 0, iterations
        constant = (column >= self.inputs) & (column < self.roots)
        if constant[middle]:
            a, b = _around(constant, middle)
            different = 2 * len(np.unique(column[a:b])) > b - a
            if (b - a) * self._size(x) <= (MOST_DIFFERENT if different else MOST_STACKED):
                return a, b
        if step == 0:
            return _around(column == x, middle)
        strided = self._strided_extent(column, middle)
        if strided is not None and iterations * self._size(x) <= MOST_WITH_BOUNDARY:
            return self._with_boundary(column, *strided)
        if strided is None and self.joining and iterations * self._size(x) <= MOST_JOINED:
            return _around(column < self.base, middle)
        return strided or (middle, middle)

    def _size(self, number: int) -> int:
        kind = self.numbers.atoms[number].type
        return kind.size if is_whole(kind) else MOST_DIFFERENT + 1

    def _carried_extent(self, column: Integers, middle: int) -> tuple[int, int]:
        iterations = len(column)
        k, iteration = (int(column[middle]) - self.base) % self.width, (int(column[middle]) - self.base) // self.width
        delay = middle - iteration
        if delay > LONGEST_DELAY:
            return middle, middle
        own = self.base + self.width * np.arange(iterations)  # the first number of each iteration
        low, high = _around(column == own - self.width * delay + k, middle)
        # before, any values will do that are there before the loop begins
        start = low
        while start > max(low - delay, 0) and np.all(column[start - 1 : low] < own[start - 1]):
            start -= 1
        return start, high

    def _strided_extent(self, column: Integers, middle: int) -> tuple[int, int] | None:
        iterations = len(column)
        candidate = self.candidates.candidate_of(int(column[middle]))
        step = int(column[middle + 1] - column[middle])
        if candidate is None or step % candidate.width:
            return None
        line = column[middle] + step * (np.arange(iterations) - middle)
        low, high = _around((column == line) & (line >= candidate.base) & (line < candidate.stop), middle)
        carried = candidate.carried.get(candidate.at(int(column[middle]))[0])
        if carried is not None:  # one iteration further, where the start of the carry is read
            before = carried.starts[0]
            if high < iterations and line[high] == self._first(candidate, carried) and column[high] == before:
                high += 1
            elif low > 0 and line[low - 1] == self._first(candidate, carried) and column[low - 1] == before:
                low -= 1
            if self._ends_at_both(candidate, line[low:high]):
                return None if high - low < 2 else (low, high - 1) if step < 0 else (low + 1, high)
        return low, high

    def _with_boundary(self, column: Integers, low: int, high: int) -> tuple[int, int]:
        """Some iterations more, in which anything from before the repetition is read."""
        a, b = max(low - WIDEST_BOUNDARY, 0), min(high + WIDEST_BOUNDARY, len(column))
        while np.any(column[a:low] >= self.base):
            a += 1
        while np.any(column[high:b] >= self.base):
            b -= 1
        return a, b

    def _first(self, candidate: LoopCandidate, carried: Carried) -> int:
        """The number that the start of a carry would have as a result."""
        return candidate.base - candidate.width + carried.result

    def _ends_at_both(self, candidate: LoopCandidate, line: Integers) -> bool:
        """Whether iterations before the first and the last one are read: no stack has both."""
        return bool(line.min() < candidate.base and line.max() >= candidate.stop - candidate.width)

    def _source(self, column: Integers) -> Source:
        """The rule of a column that follows one in all iterations."""
        numbers: list[int] = column.tolist()
        x = numbers[0]
        if not np.any(column != x):
            return Invariant(x)
        last = numbers[-1]
        if last >= self.base:
            k, iteration = (last - self.base) % self.width, (last - self.base) // self.width
            delay = len(numbers) - 1 - iteration
            return Inner(k) if delay == 0 else Carried(k, tuple(numbers[:delay]))
        middle = (len(numbers) - 1) // 2
        x, step = numbers[middle], numbers[middle + 1] - numbers[middle]
        candidate = self.candidates.candidate_of(x)
        core = self._strided_extent(column, middle) if candidate is not None and step % candidate.width == 0 else None
        if candidate is None or core is None or (core[0] > WIDEST_BOUNDARY or len(numbers) - core[1] > WIDEST_BOUNDARY):
            return Gathered(tuple(numbers))
        low, high = core
        k, iteration = candidate.at(x)
        first, step = iteration - middle * (step // candidate.width), step // candidate.width
        if min(first + step * low, first + step * (high - 1)) < 0:
            strided = Strided(candidate, k, first + 1, step, candidate.carried[k])
        else:
            strided = Strided(candidate, k, first, step)
        if core != (0, len(numbers)):
            return WithBoundary(tuple(numbers[:low]), strided, tuple(numbers[high:]))
        return Invariant(candidate.base + k) if k in candidate.invariant else strided

    def _runs_down(self, candidate: LoopCandidate) -> bool:
        """Whether more elements are read in falling order than in rising order."""
        votes = 0
        for eq, sources, slices in zip(self.equations, candidate.sources, candidate.slices, strict=True):
            for a, source in zip(eq.inputs, sources, strict=True):
                source = source.core if isinstance(source, WithBoundary) else source
                if isinstance(source, Strided):
                    up = (source.step > 0) != source.candidate.reverse
                    votes += (a.type.size + 1) * (1 if up else -1)
            for p in slices:
                even = p.even()
                if even is not None:
                    votes += (int(np.prod(p.outer)) + 1) * (1 if even[1] > 0 else -1)
        return votes < 0


class Unknown(Exception):
    """Raised where a repetition cannot be understood at all."""


def _around(holds: Any, middle: int) -> tuple[int, int]:
    """The stretch around the middle in which something holds."""
    if not holds[middle]:
        return middle, middle
    below = np.flatnonzero(~holds[:middle])
    above = np.flatnonzero(~holds[middle:])
    return int(below[-1]) + 1 if len(below) else 0, middle + int(above[0]) if len(above) else len(holds)


def _even_extent(positions: Integers) -> tuple[int, int]:
    """The iterations around the middle in which all positions advance by equal steps."""
    iterations = len(positions)
    middle = (iterations - 1) // 2
    steps = np.diff(positions, axis=0)
    a, b = _around(np.all(steps == steps[middle], axis=1), middle)
    return a, b + 1
