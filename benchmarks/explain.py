"""Explanations of long programs: seconds of one processor, sizes of what is written, and how they grow.

    python benchmarks/explain.py [--rounds 5]

A Python loop of so many turns, with five operations in each, is explained (reverse mode), printed, drawn and written as
a page. The least of several rounds counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import adjoint as ad

TURNS = (20, 200, 2000)
WANTED_SECONDS, WANTED_BYTES = 2.0, 5_000_000  # of explaining 10 000 operations and writing the page


def loop_of(turns: int) -> Callable[[float], Any]:
    """The function that is explained."""

    def walk(x: Any) -> Any:
        for _ in range(turns):
            x = np.sin(x) * 0.5 + x * x * 0.1
        return x

    return walk


def least(rounds: int, act: Callable[[], Any]) -> tuple[float, Any]:
    """The least processor time of several rounds, and the last result."""
    times, result = [], None
    for _ in range(rounds):
        start = time.process_time()
        result = act()
        times.append(time.process_time() - start)
    return min(times), result


def measure(rounds: int, folder: Path) -> list[dict[str, float]]:
    """One row for each length."""
    rows: list[dict[str, float]] = []
    for turns in TURNS:
        explaining, explained = least(rounds, lambda turns=turns: ad.explain(loop_of(turns))(0.3))
        page = folder / "page.html"
        both, _ = least(rounds, lambda turns=turns, page=page: ad.explain(loop_of(turns))(0.3).html(page))
        rows.append({
            "operations": len(explained.model.events),
            "explain": explaining,
            "page": both,
            "print": least(rounds, lambda explained=explained: str(explained))[0],
            "picture": least(rounds, lambda turns=turns: ad.explain(loop_of(turns))(0.3).svg())[0],
            "bytes": page.stat().st_size,
        })  # fmt: skip
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    with TemporaryDirectory() as folder:
        rows = measure(parser.parse_args().rounds, Path(folder))
    titles = ("operations", "explain [s]", "and page [s]", "and picture [s]", "print [s]", "page [MB]")
    table = Table(*titles, title="Explanations")
    for row in rows:
        times = [f"{row[k]:.3f}" for k in ("explain", "page", "picture", "print")]
        table.add_row(f"{row['operations']:,}", *times, f"{row['bytes'] / 1e6:.2f}")
    console = Console()
    console.print(table)
    last = rows[-1]
    spent = last["page"]
    within = spent <= WANTED_SECONDS and last["bytes"] <= WANTED_BYTES
    console.print(
        f"{last['operations']:,} operations: explained and written in {spent:.2f} s (wanted {WANTED_SECONDS:g}), "
        f"{last['bytes'] / 1e6:.2f} MB (wanted {WANTED_BYTES / 1e6:g}): {'reached' if within else 'missed'}"
    )


if __name__ == "__main__":
    main()
