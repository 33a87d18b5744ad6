"""docs/benchmarks.md, out of the figures of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchmarks.peers import plots
from benchmarks.peers.growth import LINEAR, SERIES, exponent
from benchmarks.peers.results import Results, worst_error
from benchmarks.peers.rounds import ROOT, Measured
from benchmarks.peers.table import best, best_peer, by_numba, memory_text, number_text, ours, ratio, time_text
from benchmarks.peers.targets import GROUPS, Verdict, judged
from benchmarks.peers.workloads import WORKLOADS

PAGE = ROOT / "docs" / "benchmarks.md"
REMARKS = ROOT / "benchmarks" / "peers" / "remarks.md"

OPENING = """\
# Compiled code, side by side

Written by `make bench` (`python -m benchmarks.peers --write`); every figure and every verdict is computed, none is
typed in. Value and gradient of the same program by adjoint (`ad.jit(ad.value_and_grad(f))` on plain NumPy), by its
peers, and by hand. Smaller times are better; a ratio says how many times slower the peer is.

* **One core, one thread, side by side.** Each contender has a process of its own; all are pinned to the same core and
  are interleaved, some milliseconds each, in up to 40 rounds. The least time counts.
* **The same answer.** Values and gradients are compared with a derivative by hand, which is itself checked by the
  complex step. An error beyond rounding makes the run fail.
* **Each peer at its best.** Arguments are converted beforehand (JAX has device arrays, PyTorch tensors), CasADi is
  called through its buffers, JAX is tried with `jax.checkpoint` on the step of a loop and with unrolled loops as well.
  The best variant of all peers counts. Of adjoint, plain NumPy counts, with `ad.scan` for loops; *plain loop* is the
  Python loop as it is, and *logsumexp* has `ad.scipy.special.logsumexp` in place of its formula.
* **Compiling** is CPU time of building and first call less a steady call, with C compilers where they are called,
  caches empty, each compiler warmed on a trivial function. **Memory** is the peak of the process in MB; in brackets,
  how much of that imports and arguments do not explain.
* *numpy by hand* and *numba by hand* are derivatives written by hand: no peers, but a measure of what there is to gain.
"""


def lines(results: Results, drawn: Mapping[str, str]) -> Iterator[str]:
    """The page, with the plots that were drawn: name -> file."""
    yield from OPENING.splitlines()
    yield ""
    yield f"{results.processor}; " + ", ".join(f"{name} {version}" for name, version in results.versions.items()) + "."
    for processor, names in results.elsewhere().items():
        yield f"Measured on {processor}, all contenders: {', '.join(names)}."
    if missing := results.missing():
        yield f"Not installed, so left out: {', '.join(missing)}."
    yield ""
    yield from overview(results)
    if "times" in drawn:
        yield from ("", f"![Times of all contenders, relative to adjoint]({drawn['times']})")
    yield from targets(results)
    yield from details(results)
    if "compiling" in drawn:
        yield from ("", f"![Compile time of all contenders]({drawn['compiling']})")
    yield from growth(results, drawn.get("growth"))
    yield from second(results)
    yield from missed(results)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> Iterator[str]:
    """A table whose first `words` columns are words, the others figures."""
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * words + "---:|" * (len(header) - words)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def overview(results: Results) -> Iterator[str]:
    header = (
        "program",
        "adjoint",
        "best peer",
        "",
        "best peer / ours",
        "numba by hand",
        "ours / numba",
        "numpy by hand",
    )
    rows = []
    for workload, size in results.pairs():
        found = results.of(workload, size)
        mine, peer, numba = ours(found), best_peer(found), by_numba(found)
        plain = best([row for row in found if row.contender == "numpy by hand"])
        rows.append(
            (
                f"{workload} {size}",
                seconds_text(mine),
                peer.contender if peer else "-",
                seconds_text(peer),
                number_text(ratio(peer, mine)),
                seconds_text(numba),
                number_text(ratio(mine, numba)),
                seconds_text(plain),
            )
        )
    yield from table(header, rows)
    if any(row.seconds is not None and not row.quiet for row in results.rows):
        yield from (
            "",
            "~ others had the core in all samples of this figure, so it is CPU time.",
        )


def seconds_text(row: Measured | None) -> str:
    if row is None or row.seconds is None:
        return "-"
    return ("" if row.quiet else "~ ") + time_text(row.seconds)


def targets(results: Results) -> Iterator[str]:
    verdicts = judged(results)
    counted = [sum(v.reached is answer for v in verdicts) for answer in (True, False, None)]
    yield from ("", "## Targets", "")
    yield f"{counted[0]} reached, {counted[1]} missed, {counted[2]} not measured."
    for title, group in GROUPS.items():
        found = list(group(results))
        if not found:
            continue
        yield from ("", f"### {title}", "")
        header = ("program", "figure", "found", "wanted", "")
        bold = lambda v: f"**{v.word}**" if v.reached is False else v.word
        yield from table(header, [(v.subject, v.what, number_text(v.figure), v.wanted, bold(v)) for v in found], 2)


def details(results: Results) -> Iterator[str]:
    yield from ("", "## All figures")
    for workload, size in results.pairs():
        rows = results.of(workload, size)
        yield from ("", f"### {WORKLOADS[workload].title}: {size}", "")
        header = ("contender", "time", "/ adjoint", "compile CPU", "peak MB (above)", "error")
        ranked = sorted((row for row in rows if row.seconds is not None), key=lambda row: row.seconds or 0.0)
        yield from table(header, [detail(row, ours(rows)) for row in ranked])
        for row in rows:
            if row.seconds is None:
                yield from ("", f"{row.contender}: {row.note}.")


def detail(row: Measured, mine: Measured | None) -> tuple[str, ...]:
    name = f"**{row.contender}**" if row.is_ours else row.contender
    compiled = time_text(row.compile) if row.compiles else "-"
    error = "-" if row.error is None else f"{row.error:.1e}" + ("" if row.error <= worst_error(row) else " **wrong**")
    return name, seconds_text(row), number_text(ratio(row, mine)), compiled, memory_text(row), error


def growth(results: Results, plot: str | None) -> Iterator[str]:
    if not any(results.growth.values()):
        return
    yield from ("", "## Growth with the work", "")
    yield "The exponent is the slope of log time over log work, in the upper half of the sizes: 1 is linear, and up to "
    yield f"{LINEAR:g} counts as linear. Dotted in the plot: linear growth."
    yield ""
    rows = []
    for series in SERIES:
        for name in series.contenders:
            found = results.growth.get(series.name, [])
            exponents = [exponent(series.points(found, name, compiling)) for compiling in (False, True)]
            rows.append((series.name, series.axis, name, *[number_text(e) for e in exponents]))
    yield from table(("series", "work", "contender", "exponent of time", "exponent of compile time"), rows, 3)
    if plot:
        yield from ("", f"![Time and compile time over the work]({plot})")


def second(results: Results) -> Iterator[str]:
    if not results.second:
        return
    yield from ("", "## A second process, from the disk cache", "")
    yield "CPU time of tracing, of compiling in a process that finds the cache empty, and in a second one."
    yield ""
    header = ("program", "tracing", "compiling, first process", "second process", "beyond tracing")
    yield from table(
        header,
        [
            (f"{e.workload} {e.size}", *map(time_text, (e.trace, e.first, e.second, e.beyond_tracing)))
            for e in results.second
        ],
    )
    for entry in results.second:
        if entry.note:
            yield from ("", f"{entry.workload} {entry.size}: {entry.note}.")


def remarks() -> dict[str, str]:
    """What was found out about missed targets: text under `## workload size` in remarks.md."""
    if not REMARKS.exists():
        return {}
    parts = REMARKS.read_text(encoding="utf-8").split("\n## ")[1:]
    return {part.split("\n", 1)[0].strip(): part.split("\n", 1)[1].strip() for part in parts}


def missed(results: Results) -> Iterator[str]:
    """Each program with a missed target: what is known of it, and the compiler's own account."""
    known = remarks()
    subjects: dict[str, list[Verdict]] = {}
    for verdict in judged(results):
        if verdict.reached is False:
            subjects.setdefault(verdict.subject, []).append(verdict)
    if not subjects:
        return
    yield from ("", "## Where a target is missed")
    for subject, verdicts in subjects.items():
        yield from ("", f"### Missed: {subject}", "")
        yield "; ".join(f"{v.what} {number_text(v.figure)}, wanted {v.wanted}" for v in verdicts) + "."
        if subject in known:
            yield from ("", known[subject])
        row = ours(results.of(verdicts[0].workload, verdicts[0].size))
        if row is not None and row.report:
            yield from ("", "```text", *row.report.strip().splitlines(), "```")


def write(results: Results) -> None:
    results.store()
    drawn = plots.draw(results, PAGE.parent / "benchmarks")
    PAGE.write_text("\n".join(lines(results, drawn)).rstrip() + "\n", encoding="utf-8")
