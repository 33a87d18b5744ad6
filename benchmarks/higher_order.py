"""Derivatives of order n of a function of one number: Taylor mode, nested gradients, jet of JAX, torch, CasADi.

    python benchmarks/higher_order.py [--orders 2 4 6 8 10] [--rounds 9] [--write]

Contenders take turns and the least time counts; compile times stand apart, answers are compared first. Contenders whose
first call takes longer than `--patience` seconds are left out at higher orders. JAX, PyTorch and CasADi take part where
they are installed. `--write` renews docs/benchmarks/higher_order.md and its picture.
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

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import adjoint as ad  # noqa: E402

X = 0.4
PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "higher_order.md"
Maker = Callable[[int], Callable[[], Any]]
Row = tuple[int, str, float, float, float]  # order, contender, relative difference, first call, later calls


def function(x: Any, xp: Any = np) -> Any:
    """A composition whose derivatives do not simplify."""
    return xp.tanh(xp.exp(xp.sin(x)) / (1 + x * x))


def nested(grad: Callable[..., Any], f: Callable[..., Any], order: int) -> Callable[..., Any]:
    """grad(grad(… f))."""
    for _ in range(order):
        f = grad(f)
    return f


def ours() -> dict[str, Maker]:
    """adjoint: eager and compiled series, and nested gradients."""

    def compiled(order: int) -> Callable[[], Any]:
        run = ad.jit(ad.derivative(function, order))
        return lambda: run(X)

    return {
        "adjoint, series, compiled": compiled,
        "adjoint, series, eager": lambda order: lambda: ad.derivative(function, order)(X),
        "adjoint, nested grad, eager": lambda order: lambda: nested(ad.grad, function, order)(X),
    }


def theirs() -> dict[str, Maker]:
    """JAX: jet and nested gradients, compiled; nothing where it is not installed."""
    try:
        import jax
        import jax.numpy as jnp
        from jax.experimental.jet import jet
    except ImportError:
        return {}
    jax.config.update("jax_enable_x64", True)
    f = lambda x: function(x, jnp)

    def series(order: int) -> Callable[[], Any]:
        zeros = [0.0] * (order - 1)
        run = jax.jit(lambda x: jet(f, (x,), ([1.0, *zeros],))[1][-1])
        return lambda: run(X).block_until_ready()

    def gradients(order: int) -> Callable[[], Any]:
        run = jax.jit(nested(jax.grad, f, order))
        return lambda: run(X).block_until_ready()

    return {"jax.experimental.jet, jit": series, "jax, nested grad, jit": gradients}


def with_torch() -> dict[str, Maker]:
    """torch.func: nested gradients, of which there are no compiled ones; nothing where it is not installed."""
    try:
        import torch
    except ImportError:
        return {}
    torch.func.grad(torch.sin)(torch.tensor(X))  # what is loaded once is nobody's time
    f = lambda x: function(x, torch)

    def gradients(order: int) -> Callable[[], Any]:
        run, x = nested(torch.func.grad, f, order), torch.tensor(X, dtype=torch.float64)
        return lambda: run(x)

    return {"torch.func, nested grad": gradients}


def with_casadi() -> dict[str, Maker]:
    """CasADi: expressions differentiated again and again; nothing where it is not installed."""
    try:
        import casadi
    except ImportError:
        return {}

    def expressions(order: int) -> Callable[[], Any]:
        x = casadi.SX.sym("x")
        y = function(x, casadi)
        for _ in range(order):
            y = casadi.gradient(y, x)
        run = casadi.Function("derivative", [x], [y])
        return lambda: run(X)

    return {"CasADi, nested gradient": expressions}


def draw(rows: list[Row], path: Path) -> None:
    """Both times against the order, one line for each contender."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for name in dict.fromkeys(row[1] for row in rows):
        mine = [row for row in rows if row[1] == name]
        for ax, which in zip(axes, (3, 4), strict=True):
            style = "-" if name.startswith("adjoint") else "--"
            ax.semilogy([row[0] for row in mine], [row[which] for row in mine], f"o{style}", ms=4, label=name)
    axes[0].set(title="first call", xlabel="order of the derivative", ylabel="seconds")
    axes[1].set(title="later calls", xlabel="order of the derivative")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def page(rows: list[Row], patience: float) -> str:
    """The page of the documentation."""
    lines = [
        "# Derivatives of high order, side by side",
        "",
        "Written by `python benchmarks/higher_order.py --write`; every figure is measured. The n-th derivative of",
        "tanh(exp(sin x) / (1 + x²)) at one number, in double precision, one thread, interleaved, minima. One power",
        "series costs about n² products for each operation, nested gradients twice as much with each order: one",
        f"whose first call took longer than {patience:g} s is not asked for higher orders.",
        "",
        "| order | contender | relative difference | first call, s | later calls, µs |",
        "|---:|---|---:|---:|---:|",
    ]
    lines += [
        f"| {o} | {name} | {error:.1e} | {first:.3f} | {least * 1e6:.1f} |" for o, name, error, first, least in rows
    ]
    return "\n".join([*lines, "", "![Times against the order](higher_order.png)", ""])


def measured(order: int, makers: dict[str, Maker], rounds: int) -> dict[str, tuple[float, float, float]]:
    """(answer, seconds of the first call, least seconds of a later one) of each contender."""
    runs, answers, firsts = {}, {}, {}
    for name, make in makers.items():
        start = time.perf_counter()
        try:
            runs[name] = make(order)
            answers[name] = float(runs[name]())
        except NotImplementedError as problem:  # rules that jet lacks
            Console().print(f"{name}, order {order}: {problem}")
            runs.pop(name, None)
            continue
        firsts[name] = time.perf_counter() - start
    least = dict.fromkeys(runs, np.inf)
    for _ in range(rounds):
        for name, run in runs.items():
            if 1.0 < least[name] < np.inf:  # once is enough
                continue
            start = time.perf_counter()
            run()
            least[name] = min(least[name], time.perf_counter() - start)
    return {name: (answers[name], firsts[name], least[name]) for name in runs}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orders", type=int, nargs="+", default=[2, 4, 6, 8, 10])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--patience", type=float, default=1.0)
    parser.add_argument("--write", action="store_true", help="renew docs/benchmarks/higher_order.md and its picture")
    options = parser.parse_args()
    makers = ours() | theirs() | with_torch() | with_casadi()
    rows: list[Row] = []
    ad.jit(np.sin)(X)  # so that loading the compiler counts for nobody
    table = Table("order", "contender", "answer, relative difference", "first call [s]", "later calls [µs]")
    for order in options.orders:
        found = measured(order, makers, options.rounds)
        reference = found["adjoint, series, eager"][0]
        for name, (answer, first, least) in found.items():
            error = abs(answer / reference - 1)
            if not error < 1e-8:
                raise SystemExit(f"order {order}: {name} differs from adjoint by {error:.1e}")
            rows.append((order, name, error, first, least))
            table.add_row(str(order), name, f"{error:.1e}", f"{first:.3f}", f"{least * 1e6:.1f}")
            if first > options.patience:
                makers.pop(name)
    Console().print(table)
    if options.write:
        draw(rows, PAGE.with_suffix(".png"))
        PAGE.write_text(page(rows, options.patience), encoding="utf-8")


if __name__ == "__main__":
    main()
