"""Which repetitions of a program become loops.

Short periods come first, so loops inside loops are found from the inside out; a repetition that is not understood makes
way for a longer one. Where an iteration begins is a matter of choice: at the cut that the fewest values cross.
"""

from __future__ import annotations

from itertools import chain

import numpy as np

from adjoint.simplify.costs import code_length
from adjoint.simplify.reroll.arrays import STACKED_VIEWS
from adjoint.simplify.reroll.repetitions import Integers, Numbered, Repetition, find_repetitions
from adjoint.simplify.reroll.sources import LoopCandidate, LoopCandidates, RepetitionAnalysis, Unknown

# how many periods one iteration may have, where equal equations alternate in what they read
MULTIPLES = range(2, 9)
ATTEMPTS = 6

Stretch = tuple[int, int, int]  # start, stop, period


class Search:
    """Repetitions of at least `fewest` iterations, as long as `least` equations, turned into loop candidates."""

    def __init__(self, numbers: Numbered, fewest: int, least: int) -> None:
        self.numbers, self.fewest, self.least = numbers, fewest, least
        self.candidates = LoopCandidates()
        # a repetition that only arranges elements goes away altogether, so it need not be long
        arranges = [eq.op.overwrites or eq.op in STACKED_VIEWS for eq in numbers.program.equations]
        self._works = np.concatenate([[0], np.cumsum(~np.array(arranges, bool))])
        self._lengths = np.concatenate([[0], np.cumsum([code_length(eq) for eq in numbers.program.equations])])

    def find(self) -> LoopCandidates:
        """The loop candidates, none over another."""
        stretches = [c for c in find_repetitions(self.numbers.tokens, self.fewest) if self._pays(*c)]
        hopeless: set[Stretch] = set()
        for _ in range(ATTEMPTS):
            self.candidates = LoopCandidates()
            pieces = self._pieces([c for c in stretches if c not in hopeless])
            good: set[Stretch] = set()
            for piece, stretch in sorted(pieces):
                if self._roll_up(piece):
                    good.add(stretch)
            bad = {stretch for _, stretch in pieces} - good
            if not bad:
                break
            hopeless |= bad
        return self.candidates

    def _pieces(self, stretches: list[Stretch]) -> list[tuple[Stretch, Stretch]]:
        """Parts of candidates that do not overlap, each with its candidate."""
        taken = np.zeros(len(self.numbers.tokens) + 2, bool)  # shifted by one, with an end on each side
        taken[0] = taken[-1] = True
        pieces: list[tuple[Stretch, Stretch]] = []
        for stretch in stretches:
            start, stop, period = stretch
            part = taken[start : stop + 2].copy()
            part[0] = part[-1] = True
            edges = np.flatnonzero(np.diff(part.astype(np.int8)))
            for a, b in edges.reshape(-1, 2).tolist():  # free from a to b
                if self._pays(start + a, start + b, period):
                    pieces.append(((start + a, start + b, period), stretch))
                    taken[start + a + 1 : start + b + 1] = True
        return pieces

    def _pays(self, start: int, stop: int, period: int) -> bool:
        """Whether a stretch is long enough."""
        if stop - start < self.fewest * period:
            return False
        return (
            self._lengths[stop] - self._lengths[start] >= self.least
            or self._works[start + period] == self._works[start]
        )

    def _roll_up(self, stretch: Stretch) -> bool:
        """Turn a stretch, or parts of it, into loop candidates; say whether any was found."""
        queue, success = [stretch], False
        while queue:
            start, stop, period = queue.pop()
            candidate = self._first_success(start, stop, period) if self._pays(start, stop, period) else None
            if candidate is not None:
                success = True
                self.candidates.add(candidate)
                begin, width, iterations = candidate.repetition
                queue += [(start, begin, period), (begin + width * iterations, stop, period)]
        return success

    def _first_success(self, start: int, stop: int, period: int) -> LoopCandidate | None:
        whole = [(1, False), *[(m, False) for m in MULTIPLES], (1, True)]
        part = [(1, False), *[(m, False) for m in MULTIPLES], *[(m, True) for m in MULTIPLES]]
        for (multiple, lenient), share in chain(((w, 0.5) for w in whole), ((p, 0.0) for p in part)):
            if self._pays(start, stop, period * multiple):
                candidate = self._attempt(start, stop, period * multiple, lenient)
                if candidate is not None and candidate.repetition.period * candidate.repetition.iterations >= share * (
                    stop - start
                ):
                    return candidate
        return None

    def _attempt(self, start: int, stop: int, period: int, lenient: bool) -> LoopCandidate | None:
        start += self._best_cut(start, stop, period)
        repetition = Repetition(start, period, (stop - start) // period)
        joining = lenient and bool(self._works[start + period] > self._works[start])  # not to arrange what was copied
        try:
            while repetition.iterations > 0 and self._pays(
                repetition.start, repetition.start + period * repetition.iterations, period
            ):
                outcome = RepetitionAnalysis(
                    self.numbers, self.candidates, repetition, lenient=lenient, joining=joining
                ).analyze()
                if isinstance(outcome, LoopCandidate):
                    return outcome
                low, high = outcome
                repetition = Repetition(repetition.start + low * period, period, high - low)
        except Unknown:
            return None
        return None

    def _best_cut(self, start: int, stop: int, period: int) -> int:
        """The offset at which an iteration begins: the fewest values cross it, and the most iterations are left."""
        cuts = crossings(self.numbers, start, stop, period)
        return min(range(period), key=lambda o: (cuts[o], -((stop - start - o) // period), o))


def crossings(numbers: Numbered, start: int, stop: int, period: int) -> Integers:
    """For each position in a period the number of values that go from before it to behind it."""
    base = start + period * max((stop - start) // period // 2 - 1, 0)
    end = min(base + 3 * period, stop)
    first, stop_number = int(numbers.first_result[base]), int(numbers.first_result[base + period])
    last: dict[int, int] = {}
    for y in range(base, end):
        for n in numbers.reads[numbers.first_read[y] : numbers.first_read[y + 1]].tolist():
            if first <= n < stop_number:
                last[n] = y
    steps = np.zeros(3 * period + 1, np.int64)
    for n, y in last.items():
        x = int(np.searchsorted(numbers.first_result, n, "right")) - 1
        steps[x + 1 - base] += 1
        steps[y + 1 - base] -= 1
    return np.cumsum(steps[:-1]).reshape(3, period).sum(axis=0)


def find_candidates(numbers: Numbered, fewest: int, least: int) -> LoopCandidates:
    """The loop candidates of a program: repetitions of at least `fewest` iterations, as long as `least` equations."""
    return Search(numbers, fewest, least).find()
