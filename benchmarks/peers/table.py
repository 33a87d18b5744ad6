"""Figures as text: times and sizes with fitting units, and the comparison in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from benchmarks.peers.rounds import Measured


def time_text(seconds: float | None) -> str:
    """Three digits and a unit: 0.412 µs, 3.90 ms."""
    if seconds is None:
        return "-"
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale or unit == "µs":
            return f"{digits(seconds / scale)} {unit}"
    raise AssertionError


def digits(number: float) -> str:
    """Three significant digits, without an exponent."""
    if number >= 100:
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2f}" if number >= 1 else f"{number:.3f}"


def memory_text(row: Measured) -> str:
    return "-" if row.peak is None else f"{row.peak:.0f} ({row.above:.0f})"


def best(rows: Sequence[Measured]) -> Measured | None:
    """The fastest of those that have a figure."""
    timed = [row for row in rows if row.seconds is not None]
    return min(timed, key=lambda row: row.seconds or 0.0) if timed else None


def ours(rows: Sequence[Measured]) -> Measured | None:
    """The contender `adjoint`; its variants stand in the tables, and decide nothing."""
    return best([row for row in rows if row.contender == "adjoint"])


def best_peer(rows: Sequence[Measured]) -> Measured | None:
    return best([row for row in rows if row.is_peer])


def by_numba(rows: Sequence[Measured]) -> Measured | None:
    return best([row for row in rows if row.contender == "numba by hand"])


def ratio(numerator: Measured | None, denominator: Measured | None) -> float | None:
    if numerator is None or denominator is None or not numerator.seconds or not denominator.seconds:
        return None
    return numerator.seconds / denominator.seconds


def number_text(number: float | None) -> str:
    return "-" if number is None else digits(number)


def in_terminal(title: str, rows: Sequence[Measured]) -> Table:
    """All contenders of one workload and size; below the table, why some have no figure."""
    table = Table(title=title, title_justify="left")
    table.add_column("contender", no_wrap=True)
    for column in ("time", "/ adjoint", "compile CPU", "peak MB (above)", "error", "quiet"):
        table.add_column(column, justify="right")
    mine = ours(rows)
    for row in sorted(rows, key=lambda row: row.seconds or float("inf")):
        if row.seconds is None:
            continue
        table.add_row(
            row.contender,
            time_text(row.seconds),
            number_text(ratio(row, mine)),
            time_text(row.compile) if row.compiles else "-",
            memory_text(row),
            "-" if row.error is None else f"{row.error:.1e}",
            f"{row.quiet}/{row.samples}",
            style="bold" if row.is_ours else None,
        )
    table.caption = "\n".join(f"{row.contender}: {escape(row.note)}" for row in rows if row.seconds is None) or None
    table.caption_justify = "left"
    return table
