"""Sparse Jacobians and Hessians, and a dense Hessian: adjoint beside asdex, sparsejac, CasADi, JAX and PyTorch.

    python benchmarks/sparse.py [part of a name …] [--rounds 5] [--write]

For each contender: the seconds until the first result (pattern, coloring, compilation) and the least time of one
evaluation afterwards, interleaved with the others. Results are compared first. `--write` renews
docs/benchmarks/sparse.md and its picture. The coloring is found once, by all; adjoint's answer is a SciPy matrix, that
of the others an array of theirs. sparsejac is given the pattern, as it finds none; CasADi writes the
derivative out as expressions.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np  # noqa: E402
import scipy.sparse  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import adjoint as ad  # noqa: E402

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "sparse.png"
PEERS = {"asdex": "asdex", "sparsejac": "sparsejac", "CasADi": "casadi", "JAX": "jax", "PyTorch": "torch"}
RNG = np.random.default_rng(0)


def band(np: Any, x: Any) -> Any:
    """Three neighbors: a step of Burgers' equation."""
    flux = 0.5 * x * x
    inner = x[1:-1] + 0.1 * (flux[2:] - flux[:-2]) - 0.05 * (x[2:] - 2 * x[1:-1] + x[:-2])
    return np.concatenate([x[:1], inner, x[-1:]])


def rosenbrock(np: Any, x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def square(np: Any, x: Any) -> Any:
    """The Brusselator on a square, periodic: six nonzeros in a row."""
    n = int((x.shape[0] // 2) ** 0.5)
    u, v = x[: n * n].reshape(n, n), x[n * n :].reshape(n, n)
    spread = lambda w: np.roll(w, 1, 0) + np.roll(w, -1, 0) + np.roll(w, 1, 1) + np.roll(w, -1, 1) - 4 * w
    both = (1 + u**2 * v - 4.4 * u + 10 * spread(u), 3.4 * u - u**2 * v + 10 * spread(v))
    return np.concatenate([w.reshape(-1) for w in both])


FEATURES, LABELS = RNG.normal(size=(400, 150)), np.sign(RNG.normal(size=400))


def logistic(np: Any, x: Any) -> Any:
    """Logistic regression: a full Hessian."""
    return np.sum(np.logaddexp(0.0, -np.asarray(LABELS) * (np.asarray(FEATURES) @ x))) + 0.5 * np.sum(x * x)


CAMERAS, POINTS, SEEN = 49, 7776, 31843
CAMERA, POINT = (
    RNG.integers(0, CAMERAS, SEEN),
    np.concatenate([np.arange(POINTS), RNG.integers(0, POINTS, SEEN - POINTS)]),
)


def bundles(np: Any, x: Any) -> Any:
    """Bundle adjustment in the size of ADBench's smallest: points turned, moved, projected and distorted."""
    cameras, points = x[: 11 * CAMERAS].reshape(CAMERAS, 11)[CAMERA], x[11 * CAMERAS :].reshape(POINTS, 3)[POINT]
    r, away = cameras[:, :3], points - cameras[:, 3:6]
    angle = np.sqrt(np.sum(r * r, axis=1, keepdims=True))
    axis = r / angle
    part = lambda i, j: axis[:, i] * away[:, j] - axis[:, j] * away[:, i]
    cross = np.stack([part(1, 2), part(2, 0), part(0, 1)], axis=1)
    along = np.sum(axis * away, axis=1, keepdims=True)
    z = away * np.cos(angle) + cross * np.sin(angle) + axis * along * (1 - np.cos(angle))
    flat = z[:, :2] / z[:, 2:]
    radius = np.sum(flat**2, axis=1, keepdims=True)
    return (
        cameras[:, 7:9] + cameras[:, 6:7] * flat * (1 + cameras[:, 9:10] * radius + cameras[:, 10:] * radius**2)
    ).reshape(-1)


ENDS = ((1, -6.0), (1, 500.0), (2, 250.0), (2, 1e-2))  # distance, focal length, middle of the picture, distortion


def bundle_start() -> Any:
    columns = (0.2 * RNG.normal(size=(CAMERAS, 5)), *[np.full((CAMERAS, k), v) for k, v in ENDS])
    views = np.concatenate(columns, axis=1)
    return np.concatenate([views.ravel(), RNG.normal(size=3 * POINTS)])


# name → (function, order, start, contenders beside adjoint)
WORKLOADS: dict[str, tuple[Callable[[Any, Any], Any], int, Any, tuple[str, ...]]] = {
    "Jacobian, band, n = 10⁴": (band, 1, RNG.normal(size=10_000), ("asdex", "sparsejac", "CasADi")),
    "Jacobian, band, n = 10⁵": (band, 1, RNG.normal(size=100_000), ("asdex", "CasADi")),
    "Jacobian, square 64 × 64 × 2": (square, 1, RNG.normal(size=2 * 64 * 64), ("asdex", "sparsejac", "CasADi")),
    "Jacobian, bundle adjustment": (bundles, 1, bundle_start(), ("asdex",)),
    "Hessian, Rosenbrock, n = 10⁴": (rosenbrock, 2, RNG.normal(size=10_000), ("asdex", "CasADi")),
    "Hessian, Rosenbrock, n = 10⁵": (rosenbrock, 2, RNG.normal(size=100_000), ("asdex", "CasADi")),
    "dense Hessian, logistic, n = 150": (logistic, 2, RNG.normal(size=150), ("JAX", "PyTorch", "CasADi")),
}  # fmt: skip

Run = Callable[[], Any]


def with_adjoint(f: Any, order: int, x: Any, dense: bool) -> Run:
    if dense:
        second = ad.jit(ad.hessian(lambda x: f(np, x)))
        return lambda: second(x)
    make = ad.sparse.jacobian if order == 1 else ad.sparse.hessian
    function = lambda x: f(np, x)
    derivative = make(function, coloring=make(function).coloring(x), jit=True)
    return lambda: derivative(x)


def _jax() -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax


def with_asdex(f: Any, order: int, x: Any, dense: bool) -> Run:
    import asdex

    jax = _jax()
    given = jax.numpy.asarray(x)
    make = asdex.jacobian if order == 1 else asdex.hessian
    derivative = jax.jit(make(lambda x: f(jax.numpy, x), given))
    return lambda: _from_bcoo(derivative(given))


def with_sparsejac(f: Any, order: int, x: Any, dense: bool) -> Run:
    import sparsejac
    from jax.experimental.sparse import BCOO

    jax = _jax()
    given = jax.numpy.asarray(x)
    pattern = ad.sparse.pattern(lambda x: f(np, x))(x)
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    places = jax.numpy.stack([jax.numpy.asarray(rows), jax.numpy.asarray(pattern.indices)], axis=1)
    mask = BCOO((jax.numpy.ones(pattern.nnz), places), shape=pattern.shape)
    derivative = jax.jit(sparsejac.jacfwd(lambda x: f(jax.numpy, x), mask))
    return lambda: _from_bcoo(derivative(given))


def _from_bcoo(found: Any) -> Any:
    found.data.block_until_ready()
    return found


def with_jax(f: Any, order: int, x: Any, dense: bool) -> Run:
    jax = _jax()
    given = jax.numpy.asarray(x)
    second = jax.jit(jax.hessian(lambda x: f(jax.numpy, x)))
    return lambda: second(given).block_until_ready()


def with_pytorch(f: Any, order: int, x: Any, dense: bool) -> Run:
    import torch

    torch.set_num_threads(1)
    features, labels, given = torch.tensor(FEATURES), torch.tensor(LABELS), torch.tensor(x)

    def g(x: Any) -> Any:
        return torch.sum(torch.logaddexp(torch.zeros_like(labels), -labels * (features @ x))) + 0.5 * torch.sum(x * x)

    return lambda: torch.func.hessian(g)(given)


def with_casadi(f: Any, order: int, x: Any, dense: bool) -> Run:
    import casadi

    v = casadi.SX.sym("x", x.size)
    y = CASADI[f.__name__](casadi, v)
    made = casadi.jacobian(y, v) if order == 1 else casadi.hessian(y, v)[0]
    function = casadi.Function("derivative", [v], [made])
    return lambda: function(x)


def _casadi_band(c: Any, x: Any) -> Any:
    flux = 0.5 * x * x
    inner = x[1:-1] + 0.1 * (flux[2:] - flux[:-2]) - 0.05 * (x[2:] - 2 * x[1:-1] + x[:-2])
    return c.vertcat(x[0], inner, x[-1])


def _casadi_square(c: Any, x: Any) -> Any:
    n = int((x.shape[0] // 2) ** 0.5)
    u, v = c.reshape(x[: n * n], n, n), c.reshape(x[n * n :], n, n)
    around = [*range(1, n), 0], [n - 1, *range(n - 1)]
    spread = lambda w: w[around[0], :] + w[around[1], :] + w[:, around[0]] + w[:, around[1]] - 4 * w
    both = (1 + u**2 * v - 4.4 * u + 10 * spread(u), 3.4 * u - u**2 * v + 10 * spread(v))
    return c.vertcat(*[c.vec(w) for w in both])


CASADI: dict[str, Callable[[Any, Any], Any]] = {
    "band": _casadi_band,
    "square": _casadi_square,
    "rosenbrock": lambda c, x: c.sumsqr(10 * (x[1:] - x[:-1] ** 2)) + c.sumsqr(1 - x[:-1]),
    "logistic": lambda c, x: c.sum1(c.log1p(c.exp(-c.DM(LABELS) * (c.DM(FEATURES) @ x)))) + 0.5 * c.sumsqr(x),
}
MAKERS = {
    "adjoint": with_adjoint, "asdex": with_asdex, "sparsejac": with_sparsejac, "CasADi": with_casadi, "JAX": with_jax,
    "PyTorch": with_pytorch,
}  # fmt: skip


def as_matrix(found: Any) -> Any:
    """Any contender's answer as a sparse matrix."""
    if hasattr(found, "indices") and hasattr(found, "todense") and not scipy.sparse.issparse(found):
        places = np.asarray(found.indices)
        return scipy.sparse.coo_array((np.asarray(found.data), (places[:, 0], places[:, 1])), shape=found.shape).tocsr()
    if hasattr(found, "sparsity"):
        return scipy.sparse.csr_array(found.sparse())
    if hasattr(found, "numpy"):
        found = found.numpy()
    return found.tocsr() if scipy.sparse.issparse(found) else scipy.sparse.csr_array(np.asarray(found))


def raced(name: str, rounds: int) -> dict[str, tuple[float, float]]:
    """(seconds until the first result, least seconds of one evaluation) of each contender."""
    f, order, x, peers = WORKLOADS[name]
    present = [p for p in peers if importlib.util.find_spec(PEERS[p]) is not None]
    runs: dict[str, Run] = {}
    first: dict[str, float] = {}
    expected: Any = None
    for contender in ("adjoint", *present):
        began = time.process_time()
        runs[contender] = MAKERS[contender](f, order, x, name.startswith("dense"))
        answer = runs[contender]()
        first[contender] = time.process_time() - began
        found = as_matrix(answer)
        expected = found if expected is None else expected
        error = abs(found - expected).max() / abs(expected).max()
        if not error < 1e-9:
            raise SystemExit(f"{name}: {contender} differs from adjoint by {error:.1e}")
    best = dict.fromkeys(runs, np.inf)
    for _ in range(rounds):
        for contender, run in runs.items():
            count = 1 if best[contender] > 0.05 else 10
            began = time.process_time()
            for _ in range(count):
                run()
            best[contender] = min(best[contender], (time.process_time() - began) / count)
    return {c: (first[c], best[c]) for c in runs}


def draw(results: dict[str, dict[str, tuple[float, float]]], path: Path) -> None:
    """Bars of both times, for each workload and contender."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained", sharey=True)
    colors = dict(zip(MAKERS, plt.get_cmap("tab10").colors, strict=False))
    for ax, which, title in zip(axes, (0, 1), ("until the first result", "one evaluation"), strict=True):
        place, ticks = 0.0, []
        for rows in results.values():
            ticks.append(place + 0.4 * (len(rows) - 1))
            for contender, times in rows.items():
                ax.barh(place, times[which], 0.75, color=colors[contender])
                place += 0.8
            place += 0.7
        ax.set(xscale="log", xlabel="seconds", title=title)
        ax.set_yticks(ticks, list(results), fontsize=8)
        ax.grid(axis="x", alpha=0.3)
    axes[0].invert_yaxis()
    used = [c for c in MAKERS if any(c in rows for rows in results.values())]
    figure.legend([plt.Rectangle((0, 0), 1, 1, color=colors[c]) for c in used], used, loc="outside lower center",
                  ncols=len(used))  # fmt: skip
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)


def page(results: dict[str, dict[str, tuple[float, float]]]) -> str:
    """The page of the documentation."""
    used = [c for c in MAKERS if any(c in rows for rows in results.values())]
    lines = [
        "# Sparse derivatives, side by side",
        "",
        "Written by `python benchmarks/sparse.py --write`; every figure is measured. Seconds of one processor until",
        "the first result (pattern, coloring, compilation) / of one evaluation; all answers agree to 1e-9. Libraries",
        "without sparse derivatives compute dense ones where that is possible.",
        "",
        f"| | {' | '.join(used)} |",
        f"|---|{'---:|' * len(used)}",
    ]
    for name, rows in results.items():
        cells = [f"{rows[c][0]:.2g} / {rows[c][1]:.2g}" if c in rows else "" for c in used]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"![Both times of each]({PICTURE.name})", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    ad.jit(np.sin)(np.ones(3))  # what is loaded once is nobody's time
    if importlib.util.find_spec("jax") is not None:
        _jax().jit(lambda x: 2 * x)(1.0)
    table = Table(title="Seconds of one processor: until the first result / one evaluation")
    for column in ("", *MAKERS):
        table.add_column(column, justify="right")
    results = {}
    for name in WORKLOADS:
        if given.names and not any(part in name for part in given.names):
            continue
        rows = results[name] = raced(name, given.rounds)
        shown = [f"{rows[c][0]:.2g} / {rows[c][1]:.2g}" if c in rows else "" for c in MAKERS]
        table.add_row(name, *shown)
    Console(width=140).print(table)
    if given.write:
        draw(results, PICTURE)
        PICTURE.with_suffix(".md").write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
