"""Measure, print, and write the page: see the package's own text for what is where."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console

from benchmarks.peers import growth, page, second_process
from benchmarks.peers.results import Results
from benchmarks.peers.rounds import FULL, QUICK, Effort, a_core, chosen, compare, library_of
from benchmarks.peers.table import in_terminal
from benchmarks.peers.targets import judged
from benchmarks.peers.workloads import COMPARED, WORKLOADS

QUICK_CONTENDERS = ("adjoint", "adjoint, plain loop", "jax", "jax checkpoint", "numpy by hand", "numba by hand")
QUICK_SIZES = {"rosen": ("1000",), "elementwise": ("f64 1000000",), "mlp": ("f32",), "logreg": ("1797 x 64 x 10",)}
ALONE = ("growth", "disk")
QUICK_SKIPS = {"rosen hvp", "call dict back"}


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    words = lambda text: [word.strip() for word in text.split(",")]
    parser.add_argument("--write", action="store_true", help="renew docs/benchmarks.md, its plots and its figures")
    parser.add_argument("--quick", action="store_true", help="one size each, few contenders, under two minutes")
    parser.add_argument("--render", action="store_true", help="measure nothing: write the page again from its figures")
    parser.add_argument("--only", type=words, help=f"some of {', '.join([*WORKLOADS, *ALONE])}")
    parser.add_argument("--sizes", type=words, help="sizes by name, for instance 1000,10")
    parser.add_argument(
        "--contenders", type=words, help="by library (jax: all of its variants) or by name (jax checkpoint)"
    )
    parser.add_argument("--core", type=int, default=a_core(), help="where all of them run, one at a time")
    return parser.parse_args(given)


def selected(options: argparse.Namespace) -> list[tuple[str, tuple[str, ...]]]:
    """Workloads and sizes to be measured."""
    names = options.only or [w.name for w in COMPARED if not (options.quick and w.name in QUICK_SKIPS)]
    names = [name for name in names if name not in ALONE]
    if unknown := [name for name in names if name not in WORKLOADS]:
        sys.exit(f"no workload {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    sizes = lambda name: options.sizes or (QUICK_SIZES if options.quick else {}).get(name) or WORKLOADS[name].sizes
    return [(name, tuple(sizes(name))) for name in names]


def asked(name: str, options: argparse.Namespace) -> bool:
    """Whether a measurement that is no workload is to be made: in a full run, or by its name."""
    return name in options.only if options.only else not options.quick


def named(words: Sequence[str]) -> list[str]:
    """All contenders with these names, or of these libraries."""
    names = {name for workload in WORKLOADS.values() for name in workload.contenders}
    return [name for name in names if name in words or library_of(name) in words]


def measure(options: argparse.Namespace, console: Console, results: Results) -> None:
    """The comparison, workload by workload."""
    effort: Effort = QUICK if options.quick else FULL
    wanted = named(options.contenders) if options.contenders else QUICK_CONTENDERS if options.quick else None
    with console.status("") as status:
        for name, sizes in selected(options):
            workload = WORKLOADS[name]
            for size in sizes:
                rows = compare(workload, size, chosen(workload, wanted), effort, options.core, status.update)
                results.replace(rows)
                console.print(in_terminal(f"{workload.title}: {size}", rows))


def main(given: Sequence[str] | None = None) -> int:
    options = arguments(given)
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    results = Results.stored() if options.render or (options.write and options.only) else Results.here()
    if not options.render:
        measure(options, console, results)
        with console.status("") as status:
            if asked("growth", options):
                results.growth = growth.measured(options.core, status.update)
            if asked("disk", options):
                results.second = second_process.measured(options.core, status.update)
    for verdict in judged(results):
        if verdict.reached is not None or options.write:
            console.print(
                verdict.line(), markup=False, soft_wrap=True, style="red" if verdict.reached is False else None
            )
    if options.write or options.render:
        page.write(results)
    wrong = results.wrong()
    for row in wrong:
        console.print(f"wrong answer: {row.workload} {row.size} {row.contender}, error {row.error}", markup=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
