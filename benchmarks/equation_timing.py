"""Solvers side by side at equal achieved error: a ladder of tolerances, interleaved rounds, processor time.

A solver is a value and a gradient as functions of a tolerance. Its row is that of the loosest tolerance whose answer is
near enough to the exact one; the gradient is taken at the same tolerance and compared with ours. The first call of
each, which compiles, is timed apart. Processor time counts all threads of the process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import numpy as np  # noqa: E402

import adjoint as ad  # noqa: E402

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "differential_equations.md"
TOLERANCES = [10.0 ** (-k / 2) for k in range(6, 27)]
SLOW = 1.0  # seconds: what takes longer runs in few rounds
HEAD = "| workload | | error | value | ratio | with gradient | ratio | first calls |"


class Solver(NamedTuple):
    """A peer: value(tol), gradient(tol) or None."""

    value: Callable[[float], Any]
    gradient: Callable[[float], Any] | None = None


class Row(NamedTuple):
    workload: str
    who: str
    error: float | None
    value: float | None
    gradient: float | None
    first: tuple[float, ...]  # seconds of the first calls


class _Reached(NamedTuple):
    solver: Solver
    tol: float
    error: float


def largest_error(found: Any, expected: Any) -> float:
    """The largest error, beside the largest number."""
    return float(np.max(np.abs(np.asarray(found) - expected)) / np.max(np.abs(expected)))


def relative_error(found: Any, expected: Any) -> float:
    """The largest relative error, of components that are not tiny."""
    scale = np.abs(expected) + 1e-6 * np.max(np.abs(expected))
    return float(np.max(np.abs(np.asarray(found) - expected) / scale))


def timed(run: Callable[[], Any]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def least_time(run: Callable[[], Any], once: float) -> float:
    """The mean of a few calls that take a hundredth of a second together."""
    count = max(1, int(0.01 / max(once, 1e-7)))
    return timed(lambda: [run() for _ in range(count)]) / count


def _reach(
    solver: Solver, exact: Any, wanted: float, error: Any, tolerances: list[float]
) -> tuple[_Reached | None, float]:
    first = 0.0
    for i, tol in enumerate(tolerances):
        begin = time.process_time()
        try:
            found = solver.value(tol)
        except Exception as reason:  # a peer that gives up at this tolerance
            print(f"      at {tol:.1e}: {type(reason).__name__} {str(reason).splitlines()[-1:]}", flush=True)
            continue
        if not i:
            first = time.process_time() - begin
        off = error(found, exact)
        if off <= wanted:
            return _Reached(solver, tol, off), first
    return None, first


def compare(
    title: str, contenders: dict[str, Callable[[], Solver]], exact: Any, wanted: float, error: Any = largest_error,
    rounds: int = 7, near: float = 1e-3, tolerances: list[float] = TOLERANCES,
) -> list[Row]:  # fmt: skip
    """Rows of a workload; those whose name begins with `adjoint` come first, and the quickest of them is ours."""
    reached: dict[str, _Reached | None] = {}
    firsts: dict[str, list[float]] = {}
    slopes: dict[str, Any] = {}
    with ad.config.override(cache=False):
        for name, make in contenders.items():
            found, first = _reach(make(), exact, wanted, error, tolerances)
            reached[name], firsts[name] = found, [first]
            if found and found.solver.gradient:
                begin = time.process_time()
                try:
                    slopes[name] = np.asarray(found.solver.gradient(found.tol))
                except Exception as reason:  # a peer whose gradient gives up
                    print(f"      gradient of {name}: {type(reason).__name__} {str(reason)[-120:]}", flush=True)
                    reached[name] = found._replace(solver=Solver(found.solver.value))
                firsts[name].append(time.process_time() - begin)
    ours = next(iter(slopes.values()), None)
    for name, slope in slopes.items():
        if not np.allclose(slope, ours, rtol=near, atol=near * np.max(np.abs(ours))):
            raise AssertionError(f"{title}: the gradient of {name} is {slope}, ours {ours}")
    least: dict[tuple[str, int], float] = {}
    for round_ in range(rounds):
        for name, found in reached.items():
            if found is None:
                continue
            for k, run in enumerate((found.solver.value, found.solver.gradient)):
                before = least.get((name, k), np.inf)
                if run is not None and (before < SLOW or round_ < 2):
                    call = lambda run=run, tol=found.tol: run(tol)
                    once = timed(call) if before == np.inf else before
                    least[name, k] = min(once, least_time(call, once), before)
    rows = [
        Row(title, name, found and found.error, least.get((name, 0)), least.get((name, 1)), tuple(firsts[name]))
        for name, found in reached.items()
    ]
    ours_first = sorted(rows, key=lambda row: (not row.who.startswith("adjoint"), row.value or np.inf))
    for row in ours_first:
        print("  ".join(f"{cell:>18}" for cell in cells(row, ours_first)), flush=True)
    return ours_first


def shown_time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return (
        f"{seconds * 1e6:.1f} µs"
        if seconds < 1e-3
        else f"{seconds * 1e3:.2f} ms"
        if seconds < 1
        else f"{seconds:.2f} s"
    )


def cells(row: Row, rows: list[Row]) -> list[str]:
    """Texts of a row; ratios are to our best ones."""
    own = [r for r in rows if r.who.startswith("adjoint")]
    best = [min((v for r in own if (v := r[k]) is not None), default=None) for k in (3, 4)]
    ratios = [f"{t / b:.3g}" if t and b else "-" for t, b in zip(row[3:5], best, strict=True)]
    first = " + ".join(f"{v:.1f}" for v in row.first) + " s"
    error = "-" if row.error is None else f"{row.error:.0e}"
    return [row.workload, row.who, error, shown_time(row.value), ratios[0], shown_time(row.gradient), ratios[1], first]


def write(rows: list[Row]) -> None:
    """The table of the page: rows of the workloads that were measured are replaced, what else is there stays."""
    above, table, below = _parts(PAGE.read_text(encoding="utf-8"))
    kept: dict[str, list[str]] = {}
    for line in table:
        kept.setdefault(line.split("|")[1].strip(), []).append(line)
    for title in dict.fromkeys(row.workload for row in rows):
        own = [row for row in rows if row.workload == title]
        kept[title] = [f"| {' | '.join(cells(row, own))} |" for row in own]
    lines = [HEAD, "|" + "---|" * 8, *[line for group in kept.values() for line in group]]
    PAGE.write_text(above + "\n".join(lines) + "\n" + below, encoding="utf-8")


def _parts(text: str) -> tuple[str, list[str], str]:
    above, _, rest = text.partition(HEAD)
    lines = rest.split("\n")[2:]
    count = next((i for i, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return above, lines[:count], "\n".join(lines[count:])
