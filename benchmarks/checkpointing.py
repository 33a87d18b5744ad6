"""The gradient of a long loop as the number of slots varies: time and memory, beside the theory and jax.checkpoint.

    python benchmarks/checkpointing.py [--turns 1000] [--size 20000] [--slots 2 3 5 …] [--rounds 5] [--write]

The loop is an explicit step of a reaction, repeated; all contenders are compiled. Runs are interleaved and the least
time counts, after answers were compared. Memory is the largest resident size while a gradient runs, beyond what
there was before, each in a process of its own (Linux only). The theory: C*(K, S) turns forwards and K backwards, with
the times of a turn taken from the value and from the gradient that stores everything (measured, like the rest); S slots
and the state that is being worked on. What is beyond that is cotangents and next values. JAX takes part where it is
installed: as it is, with jax.checkpoint around the body, around stretches of √K iterations, and around both. All run on
one thread, and time is that of the processor. `--write` renews docs/benchmarks/checkpointing.md and its picture.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
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

Run = Callable[[], Any]
HEADINGS = ("", "seconds", "theory", "states at once", "theory")
PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "checkpointing.md"
STRETCHES = ("stretches", "both")  # kinds of jax.checkpoint around √K turns


def step(x: Any, a: Any, xp: Any) -> Any:
    return x + 0.01 * xp.sin(a * x)


def arguments(size: int) -> tuple[np.ndarray, np.ndarray]:
    return np.linspace(0.5, 2.0, size), np.linspace(0.1, 1.0, size)


def ours(plan: Any, turns: int, size: int) -> Run:
    """A gradient by adjoint."""
    x, a = arguments(size)

    def loss(x: Any, a: Any) -> Any:
        return np.sum(ad.fori_loop(0, turns, lambda i, x: step(x, a, np), x, checkpoint=plan) ** 2)

    run = ad.jit(ad.grad(loss, argnums=(0, 1)))
    return lambda: run(x, a)


def value(turns: int, size: int) -> Run:
    x, a = arguments(size)
    run = ad.jit(lambda x, a: np.sum(ad.fori_loop(0, turns, lambda i, x: step(x, a, np), x) ** 2))
    return lambda: run(x, a)


def theirs(kind: str, turns: int, size: int) -> Run:
    """A gradient by JAX."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    x, a = map(jnp.asarray, arguments(size))
    stretch = int(turns**0.5) if kind in STRETCHES else 1

    def loss(x: Any, a: Any) -> Any:
        def body(x: Any, _: Any) -> Any:
            return step(x, a, jnp), None

        one = jax.checkpoint(body) if kind in ("body", "both") else body

        def many(x: Any, _: Any) -> Any:
            return jax.lax.scan(one, x, None, length=stretch)

        outer = jax.checkpoint(many) if kind in STRETCHES else one
        x, _ = jax.lax.scan(outer, x, None, length=turns // stretch)
        return jnp.sum(jax.lax.scan(one, x, None, length=turns % stretch)[0] ** 2)

    run = jax.jit(jax.grad(loss, argnums=(0, 1)))
    return lambda: jax.block_until_ready(run(x, a))


def contenders(slots: list[int], has_jax: bool) -> dict[str, tuple[str, Any]]:
    """Name → (library, what it keeps)."""
    found: dict[str, tuple[str, Any]] = {f"adjoint, {s} slots": ("adjoint", s) for s in slots}
    found |= {"adjoint, halving": ("adjoint", "halving"), "adjoint, everything": ("adjoint", None)}
    if has_jax:
        found |= {"jax, everything": ("jax", None)}
        found |= {f"jax.checkpoint, {kind}": ("jax", kind) for kind in ("body", *STRETCHES)}
    return found


def made(library: str, plan: Any, turns: int, size: int) -> Run:
    return ours(plan, turns, size) if library == "adjoint" else theirs(plan, turns, size)


def resident(name: str) -> int:
    """A line of this process's status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {name} in the status of a process: memory is measured on Linux only")


def memory_of(library: str, plan: Any, turns: int, size: int) -> int:
    """The largest resident size of a call beyond that before it."""
    run = made(library, plan, turns, size)
    run()
    gc.collect()
    # what the first call has freed may still be resident: it would hide as much of the second one's peak
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins anew
    before = resident("VmRSS")
    run()
    return resident("VmHWM") - before


def memory_elsewhere(library: str, plan: Any, turns: int, size: int) -> int:
    task = json.dumps([library, plan, turns, size])
    command = [sys.executable, __file__, "--one", task]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def page(shown: list[tuple[str, ...]], turns: int, size: int, seconds: float) -> str:
    """The page of the documentation."""
    peers = [importlib.metadata.version(name) for name in ("jax",) if importlib.util.find_spec(name) is not None]
    lines = [
        "# Checkpointed loops, side by side",
        "",
        "Written by `python benchmarks/checkpointing.py --write`; every figure is measured. The gradient of a loop,",
        f"xᵢ ← xᵢ + 0.01 sin(aᵢ xᵢ) in {turns} iterations with {size} numbers, with respect to start and a, compiled;",
        f"its value alone takes {seconds:.3f} seconds. One thread, interleaved, least processor time. Memory is the",
        "largest resident size beyond that before, in states of the loop (each in a process of its own).",
        "",
        "The theory is that of the [schedules](../memory.md): C\\*(K, S) iterations forwards, and as many seconds for",
        "the backward pass as the gradient takes that keeps everything; S slots and one state. Cotangents of x and",
        "a, and the next values of an iteration, come on top of it.",
        *(
            [
                f"JAX {v} has no slots; `jax.checkpoint` is around the body, stretches of √K iterations, or both."
                for v in peers
            ]
        ),
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|---|---:|---:|---:|---:|",
        *("| " + " | ".join(row) + " |" for row in shown),
        "",
        "![Time and memory as the slots vary](checkpointing.png)",
        "",
    ]
    return "\n".join(lines)


def draw(
    path: Path, rows: list[tuple[str, Any, float, float]], theory: dict[int, float], turns: int, state: int
) -> None:
    """Time and memory against the number of slots."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
    mine = [(plan, seconds, nbytes) for name, plan, seconds, nbytes in rows if isinstance(plan, int)]
    left.plot([s for s, _, _ in mine], [t for _, t, _ in mine], "o-", label="adjoint, S slots")
    left.plot(list(theory), list(theory.values()), "k--", lw=1, label="theory: C*(K, S) + K turns,\nS + 1 states")
    right.plot([s for s, _, _ in mine], [m / state for _, _, m in mine], "o-", color="C0")
    right.plot([s for s, _, _ in mine], [s + 1 for s, _, _ in mine], "k--", lw=1)
    others = [row for row in rows if not isinstance(row[1], int)]
    for number, (name, _, seconds, nbytes) in enumerate(others):
        look = {"color": f"C{number + 1}", "lw": 1.2, "ls": "-" if name.startswith("adjoint") else "-."}
        left.axhline(seconds, label=name, **look)
        right.axhline(nbytes / state, **look)
    left.set(xscale="log", yscale="log", xlabel="slots", ylabel="seconds", title=f"gradient of {turns} turns")
    right.set(xscale="log", yscale="log", xlabel="slots", ylabel="states at once", title="memory")
    figure.legend(loc="outside right center", fontsize=8)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--slots", type=int, nargs="+", default=[2, 3, 5, 8, 13, 21, 34, 55, 89])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="renew docs/benchmarks/checkpointing.md and its picture")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(memory_of(*json.loads(given.one)))
        return
    turns, size = given.turns, given.size
    chosen = contenders(given.slots, importlib.util.find_spec("jax") is not None)
    runs = {name: made(*what, turns, size) for name, what in chosen.items()}
    forward = value(turns, size)
    answers = {name: [np.asarray(g) for g in run()] for name, run in runs.items()}
    for name, found in answers.items():
        for g, expected in zip(found, answers["adjoint, everything"], strict=True):
            np.testing.assert_allclose(g, expected, rtol=1e-8, err_msg=name)
    forward()
    least = dict.fromkeys([*runs, "value"], float("inf"))
    for _ in range(given.rounds):
        for name, run in [*runs.items(), ("value", forward)]:
            begin = time.process_time()
            run()
            least[name] = min(least[name], time.process_time() - begin)
    back = least["adjoint, everything"] - least["value"]
    per_turn = least["value"] / turns
    theory = {s: per_turn * (ad.memory.fewest_calls(turns, s) + 1) + back for s in given.slots}
    table = Table(title=f"gradient of {turns} turns of {size} numbers; the value alone: {least['value']:.3f} s")
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading else "left")
    rows: list[tuple[str, Any, float, float]] = []
    shown: list[tuple[str, ...]] = []
    for name, (library, plan) in chosen.items():
        nbytes = memory_elsewhere(library, plan, turns, size)
        rows.append((name, plan, least[name], nbytes))
        expected = (f"{theory[plan]:.3f}", f"{plan + 1}") if plan in theory else ("", "")
        shown.append((name, f"{least[name]:.3f}", expected[0], f"{nbytes / (8 * size):.1f}", expected[1]))
        table.add_row(*shown[-1])
    Console(width=120).print(table)
    if given.write:
        PAGE.write_text(page(shown, turns, size, least["value"]), encoding="utf-8")
        draw(PAGE.with_suffix(".png"), rows, theory, turns, 8 * size)


if __name__ == "__main__":
    main()
