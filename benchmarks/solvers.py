"""Krylov solvers, value and gradient: adjoint (compiled and eager), JAX and SciPy if they are installed, on one core.

    python benchmarks/solvers.py [part of a name …] [--rounds 7] [--write]

All solve to the same tolerance, interleaved, and the least processor time counts; solutions and gradients are compared
first. SciPy has no derivatives: its gradient is the adjoint solve written by hand. `--write` renews
docs/benchmarks/solvers.md and its picture.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import adjoint as ad  # noqa: E402
from adjoint import linear  # noqa: E402

FOLDER = Path(__file__).parents[1] / "docs" / "benchmarks"
TOL = 1e-8
Pair = tuple[Callable[[], Any], Callable[[], Any]]  # the solution; the gradient of ½‖x‖² in (parameters of A, b)


class Workload(NamedTuple):
    """x with A(θ) x = b; `product(np, θ, v)` is written for NumPy and jax.numpy alike."""

    method: str
    product: Callable[[Any, Any, Any], Any]
    theta: Any
    b: Any
    lanes: bool = False  # b is a stack of right sides


def dense(xp: Any, theta: Any, v: Any) -> Any:
    return theta @ v


def laplace(xp: Any, theta: Any, v: Any) -> Any:
    """Diffusion on a square grid with zero outside, by differences of a padded array."""
    u = xp.pad(v, 1)
    return (4 + theta) * v - u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2] - u[1:-1, 2:]


def carried(xp: Any, theta: Any, v: Any) -> Any:
    """The same with a wind."""
    u = xp.pad(v, 1)
    return laplace(xp, theta, v) + 0.5 * (u[1:-1, 1:-1] - u[1:-1, :-2])


def workloads() -> dict[str, Workload]:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(300, 300)) / np.sqrt(300)
    positive, general = noise @ noise.T + 0.1 * np.eye(300), noise + 1.5 * np.eye(300)
    small = rng.normal(size=(40, 40)) / np.sqrt(40)
    few = small @ small.T + 0.2 * np.eye(40)
    grid = lambda n: (0.01 + 0.1 * rng.uniform(size=(n, n)), rng.normal(size=(n, n)))
    return {
        "cg, matrix 300": Workload("cg", dense, positive, rng.normal(size=300)),
        "cg, grid 32x32": Workload("cg", laplace, *grid(32)),
        "cg, grid 128x128": Workload("cg", laplace, *grid(128)),
        "cg, matrix 40, 64 right sides": Workload("cg", dense, few, rng.normal(size=(64, 40)), True),
        "gmres, matrix 300": Workload("gmres", dense, general, rng.normal(size=300)),
        "gmres, grid 32x32": Workload("gmres", carried, *grid(32)),
        "bicgstab, matrix 300": Workload("bicgstab", dense, general, rng.normal(size=300)),
        "bicgstab, grid 128x128": Workload("bicgstab", carried, *grid(128)),
    }


def with_adjoint(work: Workload, compiled: bool) -> Pair:
    method = getattr(linear, work.method)

    def solution(theta: Any, b: Any) -> Any:
        one = lambda b: method(lambda v: work.product(np, theta, v), b, tol=TOL).value
        return (ad.vmap(one) if work.lanes else one)(b)

    gradient: Any = ad.grad(lambda theta, b: 0.5 * np.sum(solution(theta, b) ** 2), (0, 1))
    value: Any = ad.jit(solution) if compiled else solution
    gradient = ad.jit(gradient) if compiled else gradient
    return lambda: value(work.theta, work.b), lambda: gradient(work.theta, work.b)


def with_jax(work: Workload) -> Pair:
    import jax

    jax.config.update("jax_enable_x64", True)
    method = getattr(jax.scipy.sparse.linalg, work.method)
    options = {"restart": 30} if work.method == "gmres" else {}

    def solution(theta: Any, b: Any) -> Any:
        one = lambda b: method(lambda v: work.product(jax.numpy, theta, v), b, tol=TOL, **options)[0]
        return (jax.vmap(one) if work.lanes else one)(b)

    value = jax.jit(solution)
    gradient = jax.jit(jax.grad(lambda theta, b: 0.5 * jax.numpy.sum(solution(theta, b) ** 2), (0, 1)))
    theta, b = jax.numpy.asarray(work.theta), jax.numpy.asarray(work.b)
    return lambda: np.asarray(value(theta, b)), lambda: [np.asarray(g) for g in gradient(theta, b)]


def with_scipy(work: Workload) -> Pair:
    import scipy.sparse.linalg as peer

    shape = work.b.shape[1:] if work.lanes else work.b.shape
    n = int(np.prod(shape))
    product = lambda v: work.product(np, work.theta, v.reshape(shape)).ravel()
    if work.product is dense:
        back: Any = lambda u: work.theta.T @ u
    elif work.product is laplace:
        back = product
    else:

        def back(u: Any) -> Any:
            u = u.reshape(shape)
            return (laplace(np, work.theta, u) + 0.5 * (u - np.pad(u, 1)[1:-1, 2:])).ravel()

    method: Any = getattr(peer, work.method)
    options: dict[str, Any] = {"restart": 30, "maxiter": 1000} if work.method == "gmres" else {}

    def solve(apply: Any, b: Any) -> Any:
        operator: Any = peer.LinearOperator((n, n), matvec=apply, dtype=float)
        return method(operator, b.ravel(), rtol=TOL, **options)[0].reshape(shape)

    def value() -> Any:
        return np.stack([solve(product, b) for b in work.b]) if work.lanes else solve(product, work.b)

    def gradient() -> Any:
        x = value()
        b_bar = np.stack([solve(back, row) for row in x]) if work.lanes else solve(back, x)
        if work.product is dense:
            return [-np.atleast_2d(b_bar).T @ np.atleast_2d(x), b_bar]
        return [-b_bar * x, b_bar]

    return value, gradient


CONTENDERS: dict[str, Callable[[Workload], Pair]] = {
    "adjoint": lambda work: with_adjoint(work, True),
    "adjoint, eager": lambda work: with_adjoint(work, False),
    "jax": with_jax,
    "scipy": with_scipy,
}


def best(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Milliseconds of processor time, the least of several rounds in turn."""
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            run()
            least[name] = min(least[name], time.process_time() - start)
    return {name: 1e3 * t for name, t in least.items()}


def measured(work: Workload, rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Times of solutions and of gradients."""
    values: dict[str, Callable[[], Any]] = {}
    gradients: dict[str, Callable[[], Any]] = {}
    for name, make in CONTENDERS.items():
        try:
            values[name], gradients[name] = make(work)
        except ImportError:
            continue
    for runs in (values, gradients):
        answers = {name: run() for name, run in runs.items()}
        for name, answer in answers.items():
            pairs = (
                zip(answer, answers["adjoint"], strict=True) if runs is gradients else [(answer, answers["adjoint"])]
            )
            for found, wanted in pairs:
                scale = float(np.max(np.abs(wanted)))
                np.testing.assert_allclose(found, wanted, atol=1e-4 * scale, rtol=0, err_msg=name)
    return best(values, rounds), best(gradients, rounds)


Times = tuple[dict[str, float], dict[str, float]]


def cells(times: Times) -> list[str]:
    """Solution / gradient of each contender, and how the best peer compares."""
    value, gradient = times
    shown = [f"{value[name]:.2f} / {gradient[name]:.2f}" if name in value else "–" for name in CONTENDERS]
    peers = [name for name in value if not name.startswith("adjoint")]
    ratios = [f"{min(t[p] for p in peers) / t['adjoint']:.2f}" for t in times] if peers else ["–"]
    return [*shown, " / ".join(ratios)]


def page(results: dict[str, Times]) -> str:
    """The page of the documentation."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "scipy", "jax")]
    lines = [
        "# Linear solvers, side by side",
        "",
        "Written by `python benchmarks/solvers.py --write`; every figure is measured. Milliseconds of one processor",
        f"in double precision, solution / gradient of ½‖x‖² in A and b, all to the tolerance {TOL:g}; the least of",
        "several interleaved rounds, and all answers were compared. adjoint and JAX are compiled, unless it says",
        "*eager*.",
        "SciPy has no derivatives: its gradient is the adjoint solve, written by hand.",
        "",
        ", ".join(versions) + ".",
        "",
        "| | " + " | ".join((*CONTENDERS, "best peer / ours")) + " |",
        "|---|" + "---:|" * (len(CONTENDERS) + 1),
        *(f"| {title} | " + " | ".join(cells(times)) + " |" for title, times in results.items()),
        "",
        "![Times of all contenders](solvers.png)",
        "",
    ]
    return "\n".join(lines)


def draw(results: dict[str, Times], path: Path) -> None:
    """Bars for solutions and for gradients."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained", sharey=True)
    colors = dict(zip(CONTENDERS, plt.get_cmap("tab10").colors, strict=False))
    for ax, which, title in zip(axes, (0, 1), ("solution", "gradient"), strict=True):
        for place, times in enumerate(results.values()):
            for k, (name, t) in enumerate(times[which].items()):
                ax.barh(place + 0.2 * k - 0.3, t, 0.18, color=colors[name])
        ax.set(xscale="log", xlabel="milliseconds", title=title, xlim=(0.01, None))
        ax.set_yticks(range(len(results)), list(results), fontsize=8)
        ax.grid(axis="x", alpha=0.3)
    axes[0].invert_yaxis()
    bars = [plt.Rectangle((0, 0), 1, 1, color=colors[name]) for name in CONTENDERS]
    figure.legend(bars, list(CONTENDERS), loc="outside lower center", ncols=len(CONTENDERS))
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of workloads; all by default")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="renew docs/benchmarks/solvers.md and its picture")
    chosen = parser.parse_args()
    table = Table(title=f"milliseconds, one core, tol {TOL}: solution / gradient")
    table.add_column("workload")
    for name in (*CONTENDERS, "best peer / ours"):
        table.add_column(name, justify="right")
    results: dict[str, Times] = {}
    for title, work in workloads().items():
        if chosen.names and not any(part in title for part in chosen.names):
            continue
        results[title] = measured(work, chosen.rounds)
        table.add_row(title, *cells(results[title]))
    Console().print(table)
    if chosen.write:
        FOLDER.mkdir(exist_ok=True)
        draw(results, FOLDER / "solvers.png")
        (FOLDER / "solvers.md").write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
