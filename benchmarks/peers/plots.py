"""The plots of the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.growth import SERIES, Series
from benchmarks.peers.results import Results
from benchmarks.peers.rounds import Measured, library_of
from benchmarks.peers.table import best_peer, ours

COLORS = {
    "adjoint": "#c1121f",
    "jax": "#1d70b8",
    "torch": "#f08c00",
    "autograd": "#7b4fa3",
    "casadi": "#2f8f4e",
    "numpy": "#8a8a8a",
    "numba": "#111111",
}
MARKERS = ("o", "s", "^", "D", "v")


def pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def draw(results: Results, folder: Path) -> dict[str, str]:
    """Draw all that there are figures for; name of the plot -> file, relative to docs/."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for name, figure in (
        ("times", ratios(results, "seconds", "time / time of adjoint")),
        ("compiling", ratios(results, "compile", "compile CPU time, seconds", relative=False)),
        ("growth", growth(results)),
    ):
        if figure is not None:
            file = folder / f"{name}.png"
            figure.savefig(file, dpi=110)
            drawn[name] = f"{folder.name}/{file.name}"
    return drawn


def ratios(results: Results, figure: str, label: str, relative: bool = True) -> Any:
    """A line for each workload and size, a dot for each contender; relative to ours (to the best peer without ours)."""
    pairs = results.pairs()
    if not pairs:
        return None
    plt = pyplot()
    picture, axes = plt.subplots(figsize=(9, 0.42 * len(pairs) + 1.6))
    labels: dict[str, Any] = {}
    for line, (workload, size) in enumerate(pairs):
        rows = results.of(workload, size)
        unit = ours(rows) or best_peer(rows)
        one = getattr(unit, figure) if relative and unit is not None else 1.0
        for row in rows:
            amount = getattr(row, figure)
            if amount and one and (figure != "compile" or row.compiles):
                variant = len([r for r in rows[: rows.index(row)] if r.library == row.library])
                dots = axes.scatter(
                    amount / one,
                    line,
                    color=COLORS[row.library],
                    marker=MARKERS[variant % len(MARKERS)],
                    s=46 if row.is_ours else 30,
                    zorder=3 if row.is_ours else 2,
                )
                labels.setdefault(row.contender if variant == 0 else f"{row.library}, other variants", dots)
    axes.set_yticks(range(len(pairs)), [f"{workload} {size}" for workload, size in pairs])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel(label)
    axes.grid(axis="both", color="0.9", zorder=0)
    if relative:
        axes.axvline(1.0, color=COLORS["adjoint"], lw=1, zorder=1)
    axes.legend(labels.values(), labels.keys(), loc="upper center", bbox_to_anchor=(0.4, -0.09), ncols=4, frameon=False)
    picture.tight_layout()
    return picture


def growth(results: Results) -> Any:
    """Two rows of panels: time and compile time of each series, over the work."""
    present = [series for series in SERIES if results.growth.get(series.name)]
    if not present:
        return None
    plt = pyplot()
    picture, panels = plt.subplots(2, len(present), figsize=(3.4 * len(present), 5.8), squeeze=False, sharex="col")
    for column, series in enumerate(present):
        for line, compiling in enumerate((False, True)):
            curves(panels[line][column], series, results.growth[series.name], compiling)
    picture.tight_layout()
    return picture


def curves(axes: Any, series: Series, rows: Sequence[Measured], compiling: bool) -> None:
    """The contenders of one series, and a dotted line of slope 1 through our last point."""
    for name in series.contenders:
        points = series.points(rows, name, compiling)
        if points:
            axes.plot(*zip(*points), "o-", ms=4, color=COLORS[library_of(name)], label=name)
    mine = series.points(rows, series.contenders[0], compiling)
    if mine:
        last, seconds = mine[-1]
        work = [work for work, _ in mine]
        axes.plot(work, [seconds * w / last for w in work], ":", color="0.6", label="linear")
    axes.set(xscale="log", yscale="log", title=f"{series.name}: {'compiling' if compiling else 'a call'}, seconds")
    axes.set_xlabel(series.axis if compiling else "")
    axes.minorticks_off()
    axes.set_xticks(series.work[::2], [f"{n:,}".replace(",", " ") if n < 1e5 else f"{n:.0e}" for n in series.work[::2]])
    axes.grid(color="0.92")
    axes.legend(fontsize=8, frameon=False)
