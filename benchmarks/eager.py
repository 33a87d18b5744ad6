"""Eager gradients of small-array code: adjoint, HIPS autograd, PyTorch eager, reverse code by hand in NumPy.

    python benchmarks/eager.py [--write]        prints tables; --write also renews docs/benchmarks/eager.md and its plot

Contenders run interleaved and the minimum counts; their answers are compared first.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import adjoint as ad

LENGTH = 100  # links of a chain


def best(contenders: dict[str, Callable[[], Any]], rounds: int = 40) -> dict[str, float]:
    """The least time of each contender, in seconds; they take turns, and none pays for the garbage of another."""
    for run in contenders.values():
        run()
        run()
    least = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, run in contenders.items():
            gc.collect()
            run()  # what the others have driven out of the caches comes back
            start = time.perf_counter()
            run()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


# Three chains. Each is written once over a namespace `m` (numpy, autograd.numpy or torch), and once by hand with its
# derivative.


def wave(m: Any, x: Any) -> Any:
    for _ in range(LENGTH):
        x = m.sin(x) * 1.1 + m.tanh(x) * x
    return m.sum(x)


def wave_by_hand(x: Any) -> Any:
    saved = []
    for _ in range(LENGTH):
        t = np.tanh(x)
        saved.append((x, t))
        x = np.sin(x) * 1.1 + t * x
    ct = np.ones_like(x)
    for x, t in reversed(saved):
        ct = ct * 1.1 * np.cos(x) + ct * t + ct * x * (1 - t * t)
    return ct


def products(m: Any, x: Any) -> Any:
    y = x
    for _ in range(LENGTH):
        y = y * x + x
        y = y - y * 0.5
    return m.sum(y)


def products_by_hand(x: Any) -> Any:
    saved, y = [], x
    for _ in range(LENGTH):
        saved.append(y)
        y = y * x + x
        y = y - y * 0.5
    ct, total = np.ones_like(x), np.zeros_like(x)
    for y in reversed(saved):
        ct = ct - ct * 0.5
        total = total + ct + ct * y
        ct = ct * x
    return total + ct


def ratios(m: Any, x: Any) -> Any:
    y = x
    for _ in range(LENGTH):
        y = m.exp(-y) / (1.0 + m.sqrt(y * y + x))
    return m.sum(y)


def ratios_by_hand(x: Any) -> Any:
    saved, y = [], x
    for _ in range(LENGTH):
        e, r = np.exp(-y), np.sqrt(y * y + x)
        q = 1.0 + r
        z = e / q
        saved.append((y, e, r, q, z))
        y = z
    ct, total = np.ones_like(x), np.zeros_like(x)
    for y, e, r, q, z in reversed(saved):
        inner = -ct * z / q * 0.5 / r
        total = total + inner
        ct = -ct / q * e + inner * 2.0 * y
    return total + ct


CHAINS = {  # name -> (function, by hand, primitives in one link)
    "sin, tanh, products": (wave, wave_by_hand, 5),
    "products and sums": (products, products_by_hand, 4),
    "exp, sqrt, quotients": (ratios, ratios_by_hand, 7),
}


def chain_contenders(function: Any, by_hand: Any, x: Any) -> dict[str, Callable[[], Any]]:
    """The gradient of one chain by everyone who is installed."""
    gradient = ad.grad(lambda v: function(np, v))
    found: dict[str, Callable[[], Any]] = {"by hand": lambda: by_hand(x), "adjoint": lambda: gradient(x)}
    try:
        import autograd
        import autograd.numpy as anp

        other = autograd.grad(lambda v: function(anp, v))
        found["autograd"] = lambda: other(x)
    except ImportError:
        pass
    try:
        import torch

        torch.set_num_threads(1)

        def with_torch() -> Any:
            v = torch.from_numpy(x.copy()).requires_grad_(True)
            function(torch, v).backward()
            return v.grad.numpy()

        found["torch"] = with_torch
    except ImportError:
        pass
    return found


def chains(size: int) -> list[dict[str, Any]]:
    """Microseconds for each primitive, forward and backward together."""
    rows: list[dict[str, Any]] = []
    x = np.linspace(0.1, 0.9, size)
    for name, (function, by_hand, ops) in CHAINS.items():
        contenders = chain_contenders(function, by_hand, x)
        answers = {who: run() for who, run in contenders.items()}
        for who, answer in answers.items():
            np.testing.assert_allclose(answer, answers["by hand"], rtol=1e-9, err_msg=who)
        times = best(contenders)
        rows.append({"chain": name, **{who: t / (LENGTH * ops) * 1e6 for who, t in times.items()}})
    return rows


def indexing() -> list[tuple[int, float, float]]:
    """Microseconds for each element of a loop that reads x[i], and of one that also writes z[i]."""

    def read(x: Any) -> Any:
        total = 0.0
        for i in range(x.shape[0]):
            total = total + x[i] * x[i]
        return total

    def write(x: Any) -> Any:
        z = np.zeros_like(x)
        for i in range(1, x.shape[0]):
            z[i] = z[i - 1] * 0.5 + x[i]
        return np.sum(z)

    rows = []
    for n in (250, 1000, 4000, 16000):
        x = np.linspace(0.0, 1.0, n)
        times = best({"read": lambda x=x: ad.grad(read)(x), "write": lambda x=x: ad.grad(write)(x)}, rounds=3)
        rows.append((n, times["read"] / n * 1e6, times["write"] / n * 1e6))
    return rows


class HeapUse(ctypes.Structure):
    """glibc's account of the heap."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


def in_use() -> float:
    """Megabytes of the heap that are in use: where NumPy keeps the elements of arrays. Freed ones do not count."""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = HeapUse
    use = mallinfo()
    return (use.uordblks + use.hblkhd) / 2**20


def long_loop(count: int, marks: int = 100) -> tuple[float, list[tuple[float, float]]]:
    """Seconds for the gradient of a loop of `count` primitives on 64 numbers, and memory at marks.

    (position, MB over the start).
    """
    curve: list[tuple[float, float]] = []
    gc.collect()
    start_memory = in_use()

    def note(position: float) -> None:
        curve.append((position, in_use() - start_memory))

    def marked(position: float) -> Callable[[Any], Any]:
        """The identity, whose pullback notes the memory in the backward pass."""

        def pullback(ct: Any) -> Any:
            note(2.0 - position)
            return (ct,)

        return ad.custom_rule(lambda v: v * 1.0, vjp=lambda v: (v * 1.0, pullback))

    def loop(x: Any) -> Any:
        for i in range(count):
            x = np.sin(x)
            if i % (count // marks) == 0:
                note(i / count)
                x = marked(i / count)(x)
        return np.sum(x)

    start = time.perf_counter()
    g = ad.grad(loop)(np.ones(64))
    elapsed = time.perf_counter() - start
    x, expected = 1.0, 1.0
    for _ in range(count):
        x, expected = math.sin(x), expected * math.cos(x)
    np.testing.assert_allclose(g, expected, rtol=1e-6)
    return elapsed, sorted(curve)


def network() -> tuple[float, float, float]:
    """Primal and gradient of matmul-heavy code (milliseconds), and their ratio."""
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(512, 512)) / 23 for _ in range(4)]
    x = rng.normal(size=(512, 512))

    def loss(weights: Any) -> Any:
        h = x
        for w in weights:
            h = np.tanh(h @ w)
        return np.sum(h * h)

    gradient = ad.value_and_grad(loss)
    times = best({"primal": lambda: loss(weights), "gradient": lambda: gradient(weights)}, rounds=15)
    return times["primal"] * 1e3, times["gradient"] * 1e3, times["gradient"] / times["primal"]


def untraced() -> tuple[float, float]:
    """Nanoseconds of np.sin on a plain array, outside and inside a live transformation: both times NumPy's own code."""
    plain = np.ones(10)
    inside: list[float] = []

    def timed() -> float:
        return best({"sin": lambda: [np.sin(plain) for _ in range(1000)]}, rounds=30)["sin"] / 1000 * 1e9

    outside = timed()
    ad.grad(lambda x: (inside.append(timed()), x)[1])(1.0)
    return outside, inside[0]


def main() -> None:
    """Measure, print, and with --write renew the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew docs/benchmarks/eager.md and its plot")
    parser.add_argument("--size", type=int, default=10, help="length of the small arrays")
    write = (arguments := parser.parse_args()).write
    console = Console()

    rows = chains(arguments.size)
    names = [name for name in rows[0] if name != "chain"]
    table = Table(title=f"gradient of {LENGTH}-link chains on {arguments.size} numbers, µs per primitive")
    for column in ("chain", *names, "autograd / adjoint", "adjoint / by hand"):
        table.add_column(column, justify="left" if column == "chain" else "right")
    lines = []
    for row in rows:
        ours = row["adjoint"]
        cells = [row["chain"], *[f"{row[n]:.2f}" for n in names]]
        cells += [f"{row['autograd'] / ours:.1f}" if "autograd" in row else "-", f"{ours / row['by hand']:.2f}"]
        table.add_row(*cells)
        lines.append("| " + " | ".join(cells) + " |")
    console.print(table)

    steps = indexing()
    loops = {n: long_loop(n) for n in (10_000, 100_000, 1_000_000)}
    primal, gradient, ratio = network()
    outside, inside = untraced()
    facts = [
        *[f"x[i] read in a loop of {n}: {r:.1f} µs each; z[i] written and read: {w:.1f} µs each" for n, r, w in steps],
        *[
            f"loop of {n} recorded primitives: {t:.2f} s, {t / n * 1e6:.2f} µs each, peak {max(m for _, m in c):.0f} MB"
            for n, (t, c) in loops.items()
        ],
        f"4 layers of 512 x 512 matmul and tanh: primal {primal:.1f} ms, value and gradient {gradient:.1f} ms, ratio "
        f"{ratio:.2f}",
        f"np.sin of a plain array: {outside:.0f} ns outside, {inside:.0f} ns inside a transformation",
    ]
    for fact in facts:
        console.print("•", fact, markup=False)
    if write:
        header = ["chain", *names, "autograd / adjoint", "adjoint / by hand"]
        publish(header, lines, facts, loops[1_000_000][1], arguments.size)


def publish(header: list[str], lines: list[str], facts: list[str], curve: list[tuple[float, float]], size: int) -> None:
    """Write the page and the memory curve."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder = Path(__file__).parent.parent / "docs" / "benchmarks"
    folder.mkdir(exist_ok=True)
    figure, axes = plt.subplots(figsize=(7, 3.2))
    axes.plot([p for p, _ in curve], [m for _, m in curve])
    axes.axvline(1.0, color="0.7", lw=1)
    axes.set(
        xlabel="forward: 0 → 1, backward: 1 → 2",
        ylabel="MB over the start",
        title="Memory of a gradient through 10⁶ primitives",
    )
    figure.tight_layout()
    figure.savefig(folder / "eager-memory.png", dpi=120)
    text = [
        "# Eager gradients, side by side",
        "",
        f"Written by `python benchmarks/eager.py --write`. Chains of {LENGTH} links on {size} float64 numbers, one "
        "core, interleaved, minima;",
        "microseconds for each primitive, forward and backward together.",
        "",
        "| " + " | ".join(header) + " |",
        "|" + "---|" * len(header),
        *lines,
        "",
        *[f"* {fact}" for fact in facts],
        "",
        "![Memory rises in the forward pass and falls in the backward pass](eager-memory.png)",
        "",
    ]
    (folder / "eager.md").write_text("\n".join(text))


if __name__ == "__main__":
    main()
