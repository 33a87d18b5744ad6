"""Compile time of straight-line code: the steps of a small ODE, no two of them alike, so that nothing is rolled up.

    python benchmarks/straight_line.py [--steps 250 500 1000 2000] [--write]

Processor seconds of each stage for the value and its gradient; the ratio is that of the total to the row before, two
where the time is in proportion to the number of steps. `--write` renews docs/benchmarks/straight_line.md.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import adjoint as ad  # noqa: E402
from adjoint.compile.expand import expand_program  # noqa: E402
from adjoint.compile.lower import LoweredCode  # noqa: E402
from adjoint.compile.machine import compile_object  # noqa: E402
from adjoint.simplify import simplify  # noqa: E402

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "straight_line.md"
START = np.array([0.3, 0.4, 0.5])
A = np.random.default_rng(0).normal(size=(3, 3)) * 0.1
STAGES = ("trace", "simplify", "write", "LLVM")
Row = tuple[str, int, int, dict[str, float], float]  # what, steps, equations, seconds by stage, ratio


def integrated(steps: int) -> Callable[[Any], Any]:
    """y after some steps, each of them one of four kinds, in an order without a period."""
    draw = random.Random(0)
    kinds = [draw.randrange(4) for _ in range(steps)]

    def f(y: Any) -> Any:
        for kind in kinds:
            if kind == 0:
                y = y + 0.01 * np.sin(y)
            elif kind == 1:
                y = y + 0.01 * (A @ y)
            elif kind == 2:
                y = y * np.cos(0.01 * y[::-1])
            else:
                y = y - 0.01 * y * np.sum(y)
        return np.sum(y)

    return f


def measured(f: Callable[[Any], Any]) -> tuple[int, dict[str, float]]:
    """(equations as traced, processor seconds of each stage)."""
    times = [time.process_time()]
    with ad.config.override(convert=False):  # which would keep the loop
        program = ad.trace(f)(START).program
    times.append(time.process_time())
    simple = simplify(program)
    times.append(time.process_time())
    code = LoweredCode(expand_program(simple))
    times.append(time.process_time())
    compile_object(code.text)
    times.append(time.process_time())
    return len(program.equations), dict(zip(STAGES, np.diff(times).tolist(), strict=True))


def rows(steps: Sequence[int]) -> Iterator[Row]:
    """All measurements."""
    for what, transform in (("value", lambda f: f), ("gradient", ad.grad)):
        before = 0.0
        for n in steps:
            equations, seconds = measured(transform(integrated(n)))
            total = sum(seconds.values())
            yield what, n, equations, seconds, total / before if before else float("nan")
            before = total


def cells(row: Row) -> list[str]:
    """A row of the table, as text."""
    what, steps, equations, seconds, ratio = row
    numbers = [*[seconds[stage] for stage in STAGES], sum(seconds.values())]
    return [what, str(steps), str(equations), *[f"{t:.2f}" for t in numbers], "" if np.isnan(ratio) else f"{ratio:.1f}"]


HEADINGS = ("", "steps", "equations", *[f"{stage}, s" for stage in STAGES], "total, s", "ratio")


def page(measurements: Sequence[Row]) -> str:
    """The page of the documentation."""
    lines = [
        "# Compile time of straight-line code",
        "",
        "Written by `python benchmarks/straight_line.py --write`; every figure is measured, in processor seconds of",
        "one thread. The program makes steps of an ODE of three numbers. They follow each other without a period, so",
        "they cannot be rolled up into a loop, and the machine code is as long as the program. The ratio compares with",
        "the row before: it is two where the time grows in proportion to the number of steps. Steps that are alike",
        "become a loop, whose machine code does not grow; `ad.scan` and `ad.fori_loop` are traced once.",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|---|" + "---:|" * (len(HEADINGS) - 1),
        *["| " + " | ".join(cells(row)) + " |" for row in measurements],
    ]
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--steps", type=int, nargs="+", default=[250, 500, 1000, 2000])
    parser.add_argument("--write", action="store_true", help="renew docs/benchmarks/straight_line.md")
    options = parser.parse_args()
    measured(integrated(8))  # so that loading the compiler counts for nobody
    table = Table(*HEADINGS)
    found: list[Row] = []
    for row in rows(options.steps):
        found.append(row)
        table.add_row(*cells(row))
    Console().print(table)
    if options.write:
        PAGE.write_text(page(found))


if __name__ == "__main__":
    main()
