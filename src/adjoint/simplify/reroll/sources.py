"""What a turn of a run reads, as a function of the turn: the same value, one of the turn before, a row of a stack.

Every place at which the equations of a run read something is a column: the numbers of what is read there, turn by turn.
With n results in each turn, result k of turn t has the number made + n t + k, so all questions are about arithmetic
progressions. A column that follows its rule only from some turn on, or up to some turn, shortens the run.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from adjoint.program.types import is_whole
from adjoint.simplify.dead_code import acts
from adjoint.simplify.reroll.moving_slices import INDEXED, MovingPlaces
from adjoint.simplify.reroll.repetitions import Numbered, Run, Whole
from adjoint.simplify.reroll.stacked_literals import stack_dtype

LONGEST_DELAY = 8  # turns back that a value may be read
MOST_STACKED = 1 << 16  # elements of constants that are copied into a stack in any case
MOST_DIFFERENT = 1 << 24  # elements of constants that are, if most are different
MOST_JOINED = 1 << 11  # elements of values from anywhere that are
WIDEST_EDGE = 2  # turns at the ends that may read something else than the turns between
MOST_EDGED = 1 << 12  # elements of a stack that is copied for that


@dataclass(frozen=True)
class Same:
    """One value in all turns."""

    number: int


@dataclass(frozen=True)
class Inner:
    """Result k of the same turn."""

    made: int


@dataclass(frozen=True)
class Carried:
    """Result k of `delay` turns before; in the first turns, one of `starts`."""

    made: int
    starts: tuple[int, ...]

    @property
    def delay(self) -> int:
        return len(self.starts)


@dataclass(frozen=True)
class Walked:
    """Result k of turn `first + step t` of an earlier roll; or what that turn carried in."""

    roll: Roll
    made: int
    first: int
    step: int
    carried: Carried | None = None


@dataclass(frozen=True)
class Listed:
    """Literals, constants or values from anywhere, turn by turn."""

    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Edged:
    """Results of an earlier roll, and other values in the first and last turns."""

    head: tuple[int, ...]
    core: Walked  # `first` is for turn 0, which may be one of the head
    tail: tuple[int, ...]


Source: TypeAlias = Same | Inner | Carried | Walked | Edged | Listed


@dataclass(eq=False)
class Roll:
    """A run whose turns are understood."""

    run: Run
    made: int  # the number of its first result
    width: int  # how many results each turn has
    sources: list[list[Source]]  # what each equation of a turn reads
    places: list[list[MovingPlaces]]  # the keys of those equations that have some
    reverse: bool = False  # turn t stands at place turns - 1 - t of every stack
    carried: dict[int, Carried] = field(default_factory=dict[int, Carried])  # by result, what is carried for one turn
    still: set[int] = field(default_factory=set[int])  # results that are the same in all turns

    @property
    def stop(self) -> int:
        """The number behind its last result."""
        return self.made + self.width * self.run.turns

    def at(self, number: int) -> tuple[int, int]:
        """(result, turn) of a number."""
        turn, k = divmod(number - self.made, self.width)
        return k, turn

    def place(self, turn: int) -> int:
        """Where a turn stands in a stack."""
        return self.run.turns - 1 - turn if self.reverse else turn


class Rolls:
    """The rolls found so far, by number."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._rolls: list[Roll] = []

    def add(self, roll: Roll) -> None:
        at = bisect_right(self._starts, roll.made)
        self._starts.insert(at, roll.made)
        self._rolls.insert(at, roll)

    def holding(self, number: int) -> Roll | None:
        """The roll that makes a number."""
        at = bisect_right(self._starts, number) - 1
        return self._rolls[at] if at >= 0 and number < self._rolls[at].stop else None

    def __iter__(self) -> Any:
        return iter(self._rolls)


class Turns:
    """One attempt to understand a run: slices may move anyhow if lenient, values come from anywhere if joining."""

    def __init__(self, numbers: Numbered, rolls: Rolls, run: Run, *, lenient: bool, joining: bool) -> None:
        self.numbers, self.rolls, self.run, self.lenient, self.joining = numbers, rolls, run, lenient, joining
        start, period, turns = run
        self.equations = numbers.program.equations[start : start + period]
        first = numbers.first_read[start : start + period + 1]
        self.bounds = (first - first[0]).tolist()
        self.matrix = numbers.reads[first[0] : first[0] + turns * self.bounds[-1]].reshape(turns, -1)
        self.made = int(numbers.first_made[start])
        self.width = int(numbers.first_made[start + period]) - self.made
        self.inputs = len(numbers.program.inputs)
        self.roots = int(numbers.first_made[0])  # inputs and constants

    def understood(self) -> Roll | tuple[int, int]:
        """The roll, or the turns (from, to) that a shorter run may have."""
        low, high = 0, self.run.turns
        places = self._places()
        for column in range(self.matrix.shape[1]):
            a, b = self._extent(self.matrix[:, column])
            low, high = max(low, a), min(high, b)
        if not self.lenient:
            for p in (p for row in places for p in row):
                a, b = _even_extent(p.positions)
                low, high = max(low, a), min(high, b)
        if (low, high) != (0, self.run.turns):
            return low, high
        sources: list[list[Source]] = []
        for q, eq in enumerate(self.equations):
            found: list[Source] = []
            for i in range(self.bounds[q], self.bounds[q + 1]):
                source = self._source(self.matrix[:, i])
                if (
                    isinstance(source, Listed)
                    and stack_dtype(self.numbers, eq, i - self.bounds[q], source.numbers) is None
                ):
                    return 0, 0
                found.append(source)
            sources.append(found)
        roll = Roll(self.run, self.made, self.width, sources, places)
        for source in (s for row in sources for s in row):
            if isinstance(source, Carried) and source.delay == 1:
                roll.carried.setdefault(source.made, source)
        roll.still = self._still(roll)
        roll.reverse = self._runs_down(roll)
        return roll

    def _still(self, roll: Roll) -> set[int]:
        """The results that depend on nothing that changes from turn to turn."""
        still: set[int] = set()
        k = 0
        for eq, sources, places in zip(self.equations, roll.sources, roll.places, strict=True):
            same = all(isinstance(s, Same) or (isinstance(s, Inner) and s.made in still) for s in sources)
            if same and not places and not acts(eq):
                still.update(range(k, k + len(eq.outputs)))
            k += len(eq.outputs)
        return still

    def _places(self) -> list[list[MovingPlaces]]:
        """The keys of each equation of a turn, where they move."""
        found: list[list[MovingPlaces]] = []
        start, period, turns = self.run
        for q, eq in enumerate(self.equations):
            found.append([])
            if eq.op in INDEXED:
                column = self.numbers.program.equations[start + q : start + period * turns : period]
                if all(e.op is eq.op or e.op == eq.op for e in column):
                    continue
                indexed = [INDEXED[e.op](e.op, e) for e in column]
                shape = indexed[0][1]
                for keys in zip(*[keys for keys, _ in indexed], strict=True):
                    places = MovingPlaces.of(keys, shape)
                    if places is None:  # index arrays, which are read as operands
                        raise Unknown
                    found[-1].append(places)
                if not any(places.moving for places in found[-1]):  # x[0:n] is x[:n]
                    found[-1] = []
        return found

    def _extent(self, column: Whole) -> tuple[int, int]:
        """The turns around the middle one in which a column follows one rule."""
        turns = len(column)
        middle = (turns - 1) // 2
        x, step = int(column[middle]), int(column[middle + 1] - column[middle])
        if x < 0:
            return _around(column < 0, middle)
        if x >= self.made and step == 0:  # what one turn computed for all after it
            low, high = _around(column == x, middle)
            return max(low, (x - self.made) // self.width + 1), high
        if x >= self.made:
            return self._carried_extent(column, middle)
        if step == 0 and not np.any(column != x):
            return 0, turns
        constant = (column >= self.inputs) & (column < self.roots)
        if constant[middle]:
            a, b = _around(constant, middle)
            different = 2 * len(np.unique(column[a:b])) > b - a
            if (b - a) * self._size(x) <= (MOST_DIFFERENT if different else MOST_STACKED):
                return a, b
        if step == 0:
            return _around(column == x, middle)
        walked = self._walked_extent(column, middle)
        if walked is not None and turns * self._size(x) <= MOST_EDGED:
            return self._with_edges(column, *walked)
        if walked is None and self.joining and turns * self._size(x) <= MOST_JOINED:
            return _around(column < self.made, middle)
        return walked or (middle, middle)

    def _size(self, number: int) -> int:
        kind = self.numbers.atoms[number].type
        return kind.size if is_whole(kind) else MOST_DIFFERENT + 1

    def _carried_extent(self, column: Whole, middle: int) -> tuple[int, int]:
        turns = len(column)
        k, turn = (int(column[middle]) - self.made) % self.width, (int(column[middle]) - self.made) // self.width
        delay = middle - turn
        if delay > LONGEST_DELAY:
            return middle, middle
        own = self.made + self.width * np.arange(turns)  # the first number of each turn
        low, high = _around(column == own - self.width * delay + k, middle)
        # before, any values will do that are there before the loop begins
        start = low
        while start > max(low - delay, 0) and np.all(column[start - 1 : low] < own[start - 1]):
            start -= 1
        return start, high

    def _walked_extent(self, column: Whole, middle: int) -> tuple[int, int] | None:
        turns = len(column)
        roll = self.rolls.holding(int(column[middle]))
        step = int(column[middle + 1] - column[middle])
        if roll is None or step % roll.width:
            return None
        line = column[middle] + step * (np.arange(turns) - middle)
        low, high = _around((column == line) & (line >= roll.made) & (line < roll.stop), middle)
        carried = roll.carried.get(roll.at(int(column[middle]))[0])
        if carried is not None:  # one turn further, where the start of the carry is read
            before = carried.starts[0]
            if high < turns and line[high] == self._first(roll, carried) and column[high] == before:
                high += 1
            elif low > 0 and line[low - 1] == self._first(roll, carried) and column[low - 1] == before:
                low -= 1
            if self._ends_at_both(roll, line[low:high]):
                return None if high - low < 2 else (low, high - 1) if step < 0 else (low + 1, high)
        return low, high

    def _with_edges(self, column: Whole, low: int, high: int) -> tuple[int, int]:
        """Some turns more, in which anything from before the run is read."""
        a, b = max(low - WIDEST_EDGE, 0), min(high + WIDEST_EDGE, len(column))
        while np.any(column[a:low] >= self.made):
            a += 1
        while np.any(column[high:b] >= self.made):
            b -= 1
        return a, b

    def _first(self, roll: Roll, carried: Carried) -> int:
        """The number that the start of a carry would have as a result."""
        return roll.made - roll.width + carried.made

    def _ends_at_both(self, roll: Roll, line: Whole) -> bool:
        """Whether turns before the first and the last one are read: no stack has both."""
        return bool(line.min() < roll.made and line.max() >= roll.stop - roll.width)

    def _source(self, column: Whole) -> Source:
        """The rule of a column that follows one in all turns."""
        numbers: list[int] = column.tolist()
        x = numbers[0]
        if not np.any(column != x):
            return Same(x)
        last = numbers[-1]
        if last >= self.made:
            k, turn = (last - self.made) % self.width, (last - self.made) // self.width
            delay = len(numbers) - 1 - turn
            return Inner(k) if delay == 0 else Carried(k, tuple(numbers[:delay]))
        middle = (len(numbers) - 1) // 2
        x, step = numbers[middle], numbers[middle + 1] - numbers[middle]
        roll = self.rolls.holding(x)
        core = self._walked_extent(column, middle) if roll is not None and step % roll.width == 0 else None
        if roll is None or core is None or (core[0] > WIDEST_EDGE or len(numbers) - core[1] > WIDEST_EDGE):
            return Listed(tuple(numbers))
        low, high = core
        k, turn = roll.at(x)
        first, step = turn - middle * (step // roll.width), step // roll.width
        if min(first + step * low, first + step * (high - 1)) < 0:
            walked = Walked(roll, k, first + 1, step, roll.carried[k])
        else:
            walked = Walked(roll, k, first, step)
        if core != (0, len(numbers)):
            return Edged(tuple(numbers[:low]), walked, tuple(numbers[high:]))
        return Same(roll.made + k) if k in roll.still else walked

    def _runs_down(self, roll: Roll) -> bool:
        """Whether more elements are read in falling order than in rising order."""
        votes = 0
        for eq, sources, places in zip(self.equations, roll.sources, roll.places, strict=True):
            for a, source in zip(eq.inputs, sources, strict=True):
                source = source.core if isinstance(source, Edged) else source
                if isinstance(source, Walked):
                    up = (source.step > 0) != source.roll.reverse
                    votes += (a.type.size + 1) * (1 if up else -1)
            for p in places:
                even = p.even()
                if even is not None:
                    votes += (int(np.prod(p.outer)) + 1) * (1 if even[1] > 0 else -1)
        return votes < 0


class Unknown(Exception):
    """Raised where a run cannot be understood at all."""


def _around(holds: Any, middle: int) -> tuple[int, int]:
    """The stretch around the middle in which something holds."""
    if not holds[middle]:
        return middle, middle
    below = np.flatnonzero(~holds[:middle])
    above = np.flatnonzero(~holds[middle:])
    return int(below[-1]) + 1 if len(below) else 0, middle + int(above[0]) if len(above) else len(holds)


def _even_extent(positions: Whole) -> tuple[int, int]:
    """The turns around the middle in which all positions advance by equal steps."""
    turns = len(positions)
    middle = (turns - 1) // 2
    steps = np.diff(positions, axis=0)
    a, b = _around(np.all(steps == steps[middle], axis=1), middle)
    return a, b + 1
