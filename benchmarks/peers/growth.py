"""Time and compile time against the amount of work: steps of a loop, equations of a program, numbers of an array.

The exponent of a curve is the slope of a straight line through log time over log work, in the upper half of the sizes,
where constant costs no longer count: 1 is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.peers.rounds import Effort, Measured, chosen, compare
from benchmarks.peers.workloads import WORKLOADS

EFFORT = Effort(rounds=12, sample=0.01, budget=0.4, patience=120.0)
LINEAR = 1.2  # the largest exponent that still counts as linear: caches bend the curves


@dataclass(frozen=True)
class Series:
    name: str
    axis: str
    workload: str
    work: tuple[int, ...]
    size: Callable[[int], str]
    contenders: tuple[str, ...] = ("adjoint", "jax")
    # compiling, as opposed to running, does not depend on the work: an exponent would be one of noise
    same_program: bool = False

    def points(self, rows: Sequence[Measured], contender: str, compiling: bool = False) -> list[tuple[int, float]]:
        """(work, seconds) of one contender."""
        found = {row.size: row.compile if compiling else row.seconds for row in rows if row.contender == contender}
        pairs = [(work, found.get(self.size(work))) for work in self.work]
        return [(work, seconds) for work, seconds in pairs if seconds]


LOOP = tuple(125 * 2**k for k in range(7))

SERIES = (
    Series("scan", "steps of the loop", "rnn", LOOP, lambda n: f"T{n} H32", ("adjoint", "jax"), same_program=True),
    Series("plain loop", "steps of the loop", "rnn", LOOP, lambda n: f"T{n} H32", ("adjoint, plain loop",)),
    Series("equations", "equations", "chain", tuple(50 * 2**k for k in range(6)), str),
    Series("numbers", "numbers in the array", "rosen", tuple(10**k for k in range(2, 8)), str, same_program=True),
)


def exponent(points: Sequence[tuple[int, float]]) -> float | None:
    """Slope of log seconds over log work in the upper half; None for fewer than three points."""
    upper = points[len(points) // 2 - 1 :] if len(points) > 3 else points
    if len(upper) < 3:
        return None
    work, seconds = np.log(np.array(upper, np.float64)).T
    return float(np.polyfit(work, seconds, 1)[0])


def measured(core: int | None, say: Callable[[str], None] = lambda text: None) -> dict[str, list[Measured]]:
    """All series, by name."""
    found: dict[str, list[Measured]] = {}
    for series in SERIES:
        workload = WORKLOADS[series.workload]
        names = [name for name in chosen(workload, None) if name in series.contenders]
        found[series.name] = [
            row
            for work in series.work
            for row in compare(workload, series.size(work), names, EFFORT, core, lambda text: say(f"growth, {text}"))
        ]
    return found
