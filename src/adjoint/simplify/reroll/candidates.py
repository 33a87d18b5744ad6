"""Which runs of a program become loops.

Short periods come first, so loops inside loops are found from the inside out; a run that is not understood gives its
place to a longer one. Where a turn begins is a matter of choice: at the cut that the fewest values cross.
"""

from __future__ import annotations

from itertools import chain

import numpy as np

from adjoint.simplify.reroll.arrays import STACKED_VIEWS
from adjoint.simplify.reroll.repetitions import Numbered, Run, Whole, runs
from adjoint.simplify.reroll.sources import Roll, Rolls, Turns, Unknown

MULTIPLES = range(2, 9)  # how many periods one turn may have, where equal equations read different things by turns
ATTEMPTS = 6

Stretch = tuple[int, int, int]  # start, stop, period


class Search:
    """Runs of at least `fewest` turns and `least` equations, turned into rolls."""

    def __init__(self, numbers: Numbered, fewest: int, least: int) -> None:
        self.numbers, self.fewest, self.least = numbers, fewest, least
        self.rolls = Rolls()
        # a run that only arranges elements goes away altogether, so it need not be long
        arranges = [eq.op.overwrites or eq.op in STACKED_VIEWS for eq in numbers.program.equations]
        self._works = np.concatenate([[0], np.cumsum(~np.array(arranges, bool))])

    def found(self) -> Rolls:
        """The rolls, none over another."""
        candidates = [c for c in runs(self.numbers.tokens, self.fewest) if self._pays(*c)]
        hopeless: set[Stretch] = set()
        for _ in range(ATTEMPTS):
            self.rolls = Rolls()
            pieces = self._pieces([c for c in candidates if c not in hopeless])
            good: set[Stretch] = set()
            for piece, candidate in sorted(pieces):
                if self._rolled(piece):
                    good.add(candidate)
            bad = {candidate for _, candidate in pieces} - good
            if not bad:
                break
            hopeless |= bad
        return self.rolls

    def _pieces(self, candidates: list[Stretch]) -> list[tuple[Stretch, Stretch]]:
        """Parts of candidates that do not overlap, each with its candidate."""
        taken = np.zeros(len(self.numbers.tokens) + 2, bool)  # shifted by one, with an end on each side
        taken[0] = taken[-1] = True
        pieces: list[tuple[Stretch, Stretch]] = []
        for candidate in candidates:
            start, stop, period = candidate
            part = taken[start : stop + 2].copy()
            part[0] = part[-1] = True
            edges = np.flatnonzero(np.diff(part.astype(np.int8)))
            for a, b in edges.reshape(-1, 2).tolist():  # free from a to b
                if self._pays(start + a, start + b, period):
                    pieces.append(((start + a, start + b, period), candidate))
                    taken[start + a + 1 : start + b + 1] = True
        return pieces

    def _pays(self, start: int, stop: int, period: int) -> bool:
        """Whether a stretch is long enough."""
        if stop - start < self.fewest * period:
            return False
        return stop - start >= self.least or self._works[start + period] == self._works[start]

    def _rolled(self, stretch: Stretch) -> bool:
        """Turn a stretch, or parts of it, into rolls; say whether any was found."""
        queue, found = [stretch], False
        while queue:
            start, stop, period = queue.pop()
            roll = self._first_success(start, stop, period) if self._pays(start, stop, period) else None
            if roll is not None:
                found = True
                self.rolls.add(roll)
                begin, width, turns = roll.run
                queue += [(start, begin, period), (begin + width * turns, stop, period)]
        return found

    def _first_success(self, start: int, stop: int, period: int) -> Roll | None:
        whole = [(1, False), *[(m, False) for m in MULTIPLES], (1, True)]
        part = [(1, False), *[(m, False) for m in MULTIPLES], *[(m, True) for m in MULTIPLES]]
        for (multiple, lenient), share in chain(((w, 0.5) for w in whole), ((p, 0.0) for p in part)):
            if self._pays(start, stop, period * multiple):
                roll = self._attempt(start, stop, period * multiple, lenient)
                if roll is not None and roll.run.period * roll.run.turns >= share * (stop - start):
                    return roll
        return None

    def _attempt(self, start: int, stop: int, period: int, lenient: bool) -> Roll | None:
        start += self._best_cut(start, stop, period)
        run = Run(start, period, (stop - start) // period)
        joining = lenient and bool(self._works[start + period] > self._works[start])  # not to arrange what was copied
        try:
            while run.turns > 0 and self._pays(run.start, run.start + period * run.turns, period):
                found = Turns(self.numbers, self.rolls, run, lenient=lenient, joining=joining).understood()
                if isinstance(found, Roll):
                    return found
                low, high = found
                run = Run(run.start + low * period, period, high - low)
        except Unknown:
            return None
        return None

    def _best_cut(self, start: int, stop: int, period: int) -> int:
        """The offset at which a turn begins: the fewest values cross it, and the most turns are left."""
        cuts = crossings(self.numbers, start, stop, period)
        return min(range(period), key=lambda o: (cuts[o], -((stop - start - o) // period), o))


def crossings(numbers: Numbered, start: int, stop: int, period: int) -> Whole:
    """For each place in a period the number of values that go from before it to behind it."""
    base = start + period * max((stop - start) // period // 2 - 1, 0)
    end = min(base + 3 * period, stop)
    made = int(numbers.first_made[base]), int(numbers.first_made[base + period])
    last: dict[int, int] = {}
    for y in range(base, end):
        for n in numbers.reads[numbers.first_read[y] : numbers.first_read[y + 1]].tolist():
            if made[0] <= n < made[1]:
                last[n] = y
    steps = np.zeros(3 * period + 1, np.int64)
    for n, y in last.items():
        x = int(np.searchsorted(numbers.first_made, n, "right")) - 1
        steps[x + 1 - base] += 1
        steps[y + 1 - base] -= 1
    return np.cumsum(steps[:-1]).reshape(3, period).sum(axis=0)


def rolls_of(numbers: Numbered, fewest: int, least: int) -> Rolls:
    """The rolls of a program: runs of at least `fewest` turns and `least` equations."""
    return Search(numbers, fewest, least).found()
