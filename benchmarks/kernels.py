"""Value and gradient of numerical kernels from many fields: adjoint and JAX, interleaved on one core.

    python -m benchmarks.kernels [part of a name …] [--rounds 5] [--write]

The same text runs with NumPy's names and with JAX's; loops are `ad.scan` and `lax.scan`. Values and gradients are
compared first. The least time of all rounds counts; compiling is CPU time of the first call. `--write` writes
docs/benchmarks/kernels.md.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import adjoint as ad  # noqa: E402
from benchmarks.kernel_programs import KERNELS, Kernel, Library  # noqa: E402

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "kernels.md"
HEAD = """# Numerical kernels

Written by `python -m benchmarks.kernels --write`. Value and gradient in double precision on one core, adjoint and JAX
interleaved, least of {rounds} rounds; the same text runs with NumPy's names and with JAX's. Values and gradients agree
to {worst:.0e}. Compiling is processor time of the first call, without a cache on disk.

"""


def least(f: Callable[..., Any], arguments: Any, seconds: float) -> float:
    """The least time of a call, in runs of some milliseconds."""
    begin = time.perf_counter()
    f(*arguments)
    repeats = max(1, int(0.004 / max(time.perf_counter() - begin, 1e-8)))
    found, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(repeats):
            f(*arguments)
        found = min(found, (time.perf_counter() - begin) / repeats)
    return float(found)


def measure(one: Kernel, rounds: int) -> tuple[float, float, float, float, float]:
    """Seconds of both, of compiling both, and how far the answers are apart."""
    import jax

    jax.config.update("jax_enable_x64", True)
    ours = Library(np, ad.scan, ad.vmap, ad.grad, ad.jacobian)
    theirs = Library(jax.numpy, jax.lax.scan, jax.vmap, jax.grad, jax.jacrev)
    numbers = tuple(k for k, x in enumerate(one.arguments) if np.asarray(x).dtype.kind == "f")
    f = ad.jit(ad.value_and_grad(lambda *xs: one.function(ours, *xs), argnums=numbers))
    compiled = jax.jit(jax.value_and_grad(lambda *xs: one.function(theirs, *xs), argnums=numbers))
    g = lambda *xs: jax.block_until_ready(compiled(*xs))
    given = [jax.numpy.asarray(x) for x in one.arguments]
    marks, answers = [time.process_time()], []
    with ad.config.override(cache=False):
        for call, arguments in ((f, one.arguments), (g, given)):
            value, gradients = call(*arguments)
            answers.append([np.asarray(x) for x in (value, *gradients)])
            marks.append(time.process_time())
    apart = max(float(np.max(np.abs(a - b)) / (1e-300 + np.max(np.abs(b)))) for a, b in zip(*answers, strict=True))
    times = [(least(f, one.arguments, 0.06), least(g, given, 0.06)) for _ in range(rounds)]
    return min(t for t, _ in times), min(t for _, t in times), marks[1] - marks[0], marks[2] - marks[1], apart


def _spoken(seconds: float) -> str:
    unit, scale = next((u, s) for u, s in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("µs", 0.0)) if seconds >= s)
    return f"{seconds / (scale or 1e-6):.3g} {unit}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    heads = ["kernel", "field", "adjoint", "JAX", "JAX / ours", "compiling", "JAX"]
    table, lines, worst = Table(), [], 0.0
    for k, head in enumerate([heads[0], *heads[2:]]):
        table.add_column(head, justify="right" if k else "left", no_wrap=k > 0)
    chosen = {n: k for n, k in KERNELS.items() if not options.parts or any(part in n for part in options.parts)}
    for name, one in chosen.items():
        a, b, first, other, apart = measure(one, options.rounds)
        if not apart < 1e-9:
            raise SystemExit(f"{name}: the answers differ by {apart:.1e}")
        worst = max(worst, apart)
        shown = [_spoken(a), _spoken(b), f"{b / a:.3g}", _spoken(first), _spoken(other)]
        table.add_row(name, *shown)
        lines.append(f"| {name} | {one.field} | {' | '.join(shown)} |")
    Console().print(table)
    if options.write:
        rule = "|---|---|---:|---:|---:|---:|---:|"
        text = HEAD.format(rounds=options.rounds, worst=worst) + "\n".join([f"| {' | '.join(heads)} |", rule, *lines])
        PAGE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
