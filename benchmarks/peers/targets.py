"""What is to be reached, and whether it was: computed from the figures, never written by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.peers.growth import LINEAR, SERIES, exponent
from benchmarks.peers.results import Results
from benchmarks.peers.table import best, best_peer, by_numba, number_text, ours, ratio

COMPILE_FLOOR = 0.040  # seconds: compiling faster than this is fast enough, whatever JAX needs
MICRO, MILLI = 1e-6, 1e-3


@dataclass(frozen=True)
class Verdict:
    """One target with the figure found: None where something is missing to compute it."""

    subject: str  # workload and size, or what is looked at
    what: str
    figure: float | None
    bound: float
    at_least: bool
    workload: str = ""
    size: str = ""

    @property
    def reached(self) -> bool | None:
        if self.figure is None:
            return None
        return self.figure >= self.bound if self.at_least else self.figure <= self.bound

    @property
    def word(self) -> str:
        return {True: "reached", False: "missed", None: "not measured"}[self.reached]

    @property
    def wanted(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}"

    def line(self) -> str:
        return f"{self.word:>12}  {self.subject}: {self.what} {number_text(self.figure)}, wanted {self.wanted}"


# (workload, size) -> how many times the best peer is to be slower
FASTER_THAN_PEERS = {
    ("rosen", "10"): 1.0,
    ("rosen", "1000"): 5.0,
    ("rosen", "1000000"): 3.0,
    ("rosen hvp", "10"): 1.0,
    ("rosen hvp", "1000"): 1.0,
    ("rosen hvp", "1000000"): 1.0,
    ("elementwise", "f64 1000000"): 3.5,
    ("elementwise", "f32 1000000"): 3.5,
    ("rnn", "T1000 H32"): 4.0,
    ("lstm", "2 layers, 1024 characters, 14 bits"): 1.0,
    ("ode", "2000"): 1.2,
    ("crf", "T200 K20"): 4.0,
    ("mlp", "f32"): 1.0,
    ("mlp", "f64"): 1.0,
    ("logreg", "1797 x 64 x 10"): 1.3,
    ("logreg", "100000 x 200 x 10"): 1.3,
    ("gmm", "d10 K25 n1000"): 1.0,
    ("gmm", "d10 K25 n10000"): 1.0,
    ("attention", "f32 b8 s128 d128 h4"): 1.0,
    ("hessian", "10-42-1 m100"): 1.0,
    ("ba", "49 cameras, 7776 points, 31843 seen"): 1.0,
    ("taylor", "order 10, 1 point"): 1.0,
    ("taylor", "order 10, 1000 points"): 1.0,
    ("taylor", "order 5, 1000 points"): 1.0,
}

# (workload, size) -> microseconds of a call
FAST_CALLS = {("rosen", "10"): 0.5, ("call arrays", "3"): 0.5, ("call dict", "3"): 2.0}

NUMBA = 1.2  # times the hand-written loops
BY_HAND = {("hessian", "10-42-1 m100"): 1.0}  # (workload, size) -> times a derivation by hand in NumPy
DISK = 10.0  # milliseconds in a second process, beyond tracing


def calls(results: Results) -> Iterator[Verdict]:
    for (workload, size), bound in FAST_CALLS.items():
        mine = ours(results.of(workload, size))
        figure = None if mine is None or mine.seconds is None else mine.seconds / MICRO
        yield Verdict(f"{workload} {size}", "µs a call", figure, bound, False, workload, size)


def peers(results: Results) -> Iterator[Verdict]:
    for (workload, size), bound in FASTER_THAN_PEERS.items():
        rows = results.of(workload, size)
        peer = best_peer(rows)
        what = f"best peer ({peer.contender if peer else 'none'}) / ours"
        yield Verdict(f"{workload} {size}", what, ratio(peer, ours(rows)), bound, True, workload, size)


def ceilings(results: Results) -> Iterator[Verdict]:
    for workload, size in results.pairs():
        rows = results.of(workload, size)
        numba = by_numba(rows)
        if numba is not None and not workload.startswith("call"):
            figure = ratio(ours(rows), numba)
            yield Verdict(f"{workload} {size}", "ours / numba by hand", figure, NUMBA, False, workload, size)


def formulas(results: Results) -> Iterator[Verdict]:
    for (workload, size), bound in BY_HAND.items():
        rows = results.of(workload, size)
        hand = best([row for row in rows if row.contender == "numpy by hand"])
        yield Verdict(
            f"{workload} {size}", "ours / NumPy by hand", ratio(ours(rows), hand), bound, False, workload, size
        )


def compiling(results: Results) -> Iterator[Verdict]:
    """Ours against half of JAX's or the floor, whichever is larger. JAX's is the least of its variants."""
    for workload, size in results.pairs():
        rows = results.of(workload, size)
        mine = ours(rows)
        theirs = [row.compile for row in rows if row.library == "jax" and row.compile is not None]
        bound = max([COMPILE_FLOOR, *([min(theirs) / 2] if theirs else [])]) / MILLI
        figure = None if mine is None or mine.compile is None else mine.compile / MILLI
        what = "ms to compile (half of JAX's, or 40)"
        yield Verdict(f"{workload} {size}", what, figure, round(bound), False, workload, size)


def disk(results: Results) -> Iterator[Verdict]:
    for entry in results.second:
        figure = None if entry.beyond_tracing is None else entry.beyond_tracing / MILLI
        yield Verdict(f"{entry.workload} {entry.size}", "ms beyond tracing", figure, DISK, False)


def linear(results: Results) -> Iterator[Verdict]:
    for series in SERIES:
        rows = results.growth.get(series.name, [])
        mine = next((name for name in series.contenders if name.startswith("adjoint")), "adjoint")
        for compile_time in (False, True):
            what = f"exponent of {'compile time' if compile_time else 'time'} over {series.axis}"
            figure = exponent(series.points(rows, mine, compile_time))
            yield Verdict(f"growth, {series.name}", what, figure, LINEAR, False)


GROUPS: dict[str, Callable[[Results], Iterator[Verdict]]] = {
    "A call": calls,
    "Against the best peer": peers,
    "Against hand-written numba": ceilings,
    "Against formulas by hand": formulas,
    "Compiling": compiling,
    "From the disk cache": disk,
    "Growth": linear,
}


def judged(results: Results) -> list[Verdict]:
    return [verdict for group in GROUPS.values() for verdict in group(results)]
