"""Hessian-vector products in their modes, whole Hessians, Gauss-Newton products: adjoint, JAX, torch.func, CasADi.

    python benchmarks/second_order.py [part of a name …] [--rounds 9] [--write]

One core, double precision. Contenders take turns and the least processor time counts; answers are compared first.
`--write` renews docs/benchmarks/second_order.md and its picture.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import adjoint as ad  # noqa: E402
from adjoint import curvature  # noqa: E402

FOLDER = Path(__file__).parents[1] / "docs" / "benchmarks"
MODES = ("forward-over-reverse", "reverse-over-reverse", "reverse-over-forward")
RNG = np.random.default_rng(0)


class Problem(NamedTuple):
    """loss(model(w)), written once for any array library `xp`, with a point and a direction."""

    model: Callable[[Any, list[Any]], Any]
    loss: Callable[[Any, Any], Any]
    point: list[Any]
    casadi: tuple[Callable[[Any, list[Any]], Any], Callable[[Any, Any], Any]]  # the same for its matrices

    @property
    def direction(self) -> list[Any]:
        return [np.cos(np.arange(w.size, dtype=float)).reshape(w.shape) for w in self.point]


def _network(*sizes: int, batch: int) -> Problem:
    inputs = RNG.normal(size=(batch, sizes[0]))
    weights = [RNG.normal(size=(m, n)) / np.sqrt(m) for m, n in pairwise(sizes)]

    def model(xp: Any, ws: list[Any]) -> Any:
        h = xp.asarray(inputs)
        for W in ws[:-1]:
            h = xp.tanh(h @ W)
        return h @ ws[-1]

    def loss(xp: Any, z: Any) -> Any:
        return xp.sum(xp.log(xp.sum(xp.exp(z), 1)) - z[:, 0]) / batch

    def casadi_model(c: Any, ws: list[Any]) -> Any:
        h = c.DM(inputs)
        for W in ws[:-1]:
            h = c.tanh(h @ W)
        return h @ ws[-1]

    def casadi_loss(c: Any, z: Any) -> Any:
        return c.sum1(c.log(c.sum2(c.exp(z))) - z[:, 0]) / batch

    return Problem(model, loss, weights, (casadi_model, casadi_loss))


def _valley(n: int) -> Problem:
    def model(xp: Any, ws: list[Any]) -> Any:
        (x,) = ws
        return xp.stack([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]])

    def casadi_model(c: Any, ws: list[Any]) -> Any:
        (x,) = ws
        return c.vertcat(10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1])

    casadi = casadi_model, lambda c, z: c.sumsqr(z)
    return Problem(model, lambda xp, z: xp.sum(z**2), [RNG.normal(size=n)], casadi)


def _elementwise(n: int) -> Problem:
    return Problem(
        lambda xp, ws: xp.exp(-(ws[0] ** 2)) * xp.sin(3.0 * ws[0]),
        lambda xp, z: xp.sum(z**2) * xp.sum(z),
        [RNG.normal(size=n)],
        (lambda c, ws: c.exp(-(ws[0] ** 2)) * c.sin(3.0 * ws[0]), lambda c, z: c.sumsqr(z) * c.sum1(z)),
    )


PRODUCTS = {
    "network 20-20-5, batch 8": _network(20, 20, 5, batch=8),
    "network 256-256-256-10, batch 64": _network(256, 256, 256, 10, batch=64),
    "valley 1000": _valley(1000),
    "elementwise 100000": _elementwise(100_000),
}
HESSIANS = {
    "valley 20": _valley(20),
    "valley 200": _valley(200),
    "elementwise 200": _elementwise(200),
    "network 6-8-3, batch 4": _network(6, 8, 3, batch=4),
}


def with_adjoint(problem: Problem) -> dict[str, Callable[..., Any]]:
    model = lambda ws: problem.model(np, ws)
    loss = lambda z: problem.loss(np, z)
    f = lambda ws: loss(model(ws))
    made: dict[str, Callable[..., Any]] = {
        mode: ad.jit(lambda w, v, mode=mode: ad.hvp(f, (w,), (v,), mode=mode)) for mode in MODES
    }
    made["eager, measured"] = lambda w, v: ad.hvp(f, (w,), (v,), mode="measure")
    made["gauss-newton"] = ad.jit(lambda w, v: curvature.gauss_newton_product(loss, model, (w,), (v,)))
    made["hessian"] = ad.jit(ad.hessian(f))
    made["hessian, backpropagated"] = ad.jit(lambda w: curvature.backpropagate(f)(w).hessian)
    return made


def with_jax(problem: Problem) -> dict[str, Callable[..., Any]]:
    import jax

    jax.config.update("jax_enable_x64", True)
    xp = jax.numpy
    model = lambda ws: problem.model(xp, ws)
    loss = lambda z: problem.loss(xp, z)
    f = lambda ws: loss(model(ws))

    def gauss_newton(w: Any, v: Any) -> Any:
        z, slope = jax.jvp(model, (w,), (v,))
        return jax.vjp(model, w)[1](jax.jvp(jax.grad(loss), (z,), (slope,))[1])[0]

    made = {
        "forward-over-reverse": lambda w, v: jax.jvp(jax.grad(f), (w,), (v,))[1],
        "reverse-over-reverse": lambda w, v: jax.vjp(jax.grad(f), w)[1](v)[0],
        "reverse-over-forward": lambda w, v: jax.grad(lambda w: jax.jvp(f, (w,), (v,))[1])(w),
        "gauss-newton": gauss_newton,
        "hessian": jax.hessian(f),
    }
    return {name: _waited(jax, jax.jit(run)) for name, run in made.items()}


def _waited(jax: Any, run: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: jax.block_until_ready(run(*args))


def with_torch(problem: Problem) -> dict[str, Callable[..., Any]]:
    import torch

    torch.set_num_threads(1)
    xp: Any = torch
    model = lambda ws: problem.model(xp, ws)
    loss = lambda z: problem.loss(xp, z)
    f = lambda ws: loss(model(ws))
    t: Any = torch.func

    def gauss_newton(w: Any, v: Any) -> Any:
        z, slope = t.jvp(model, (w,), (v,))
        return t.vjp(model, w)[1](t.jvp(t.grad(loss), (z,), (slope,))[1])[0]

    return {
        "forward-over-reverse": lambda w, v: t.jvp(t.grad(f), (w,), (v,))[1],
        "reverse-over-reverse": lambda w, v: t.vjp(t.grad(f), w)[1](v)[0],
        "reverse-over-forward": lambda w, v: t.grad(lambda w: t.jvp(f, (w,), (v,))[1])(w),
        "gauss-newton": gauss_newton,
        "hessian": t.hessian(f),
    }


def with_casadi(problem: Problem) -> dict[str, Callable[..., Any]]:
    """Functions of one vector: SX (numbers) for small problems, MX (matrices) for large ones."""
    import casadi as c

    shapes = [w.shape for w in problem.point]
    sizes = [w.size for w in problem.point]
    kind = c.SX if sum(sizes) <= 2000 else c.MX
    w, v = kind.sym("w", sum(sizes)), kind.sym("v", sum(sizes))
    ends = np.cumsum([0, *sizes])
    ws = [
        w[int(a) : int(b)] if len(shape) == 1 else c.reshape(w[int(a) : int(b)], *shape[::-1]).T
        for (a, b), shape in zip(pairwise(ends), shapes, strict=True)
    ]
    model, loss = problem.casadi
    z = model(c, ws)
    f = loss(c, z)
    slope = c.gradient(f, w)
    at = kind.sym("z", *z.shape)
    u = kind.sym("u", *z.shape)
    turn = c.Function("turn", [at, u], [c.jtimes(c.gradient(loss(c, at), at), at, u)])
    pushed = c.reshape(c.jtimes(c.vec(z), w, v), *z.shape)
    tasks: dict[str, Callable[[], Any]] = {
        "forward-over-reverse": lambda: c.jtimes(slope, w, v),
        "reverse-over-reverse": lambda: c.jtimes(slope, w, v, True),
        "reverse-over-forward": lambda: c.gradient(c.jtimes(f, w, v), w),
        "gauss-newton": lambda: c.jtimes(c.vec(z), w, c.vec(turn(z, pushed)), True),
        "hessian": lambda: c.hessian(f, w)[0],
    }
    return {name: _buffered(c, name, [w] if name == "hessian" else [w, v], make) for name, make in tasks.items()}


def _buffered(c: Any, name: str, symbols: list[Any], make: Callable[[], Any]) -> Callable[..., Any]:
    """A function of vectors that is called through its buffers; built when it is first called."""
    made: list[Any] = []

    def run(*vectors: Any) -> Any:
        if not made:
            function = c.Function(name.replace("-", "_"), symbols, [c.densify(make())])
            buffer, call = function.buffer()
            rows, columns = function.size_out(0)
            out = np.zeros((columns, rows)) if columns > 1 else np.zeros(rows)
            buffer.set_res(0, memoryview(out))
            made.extend([buffer, call, out])
        buffer, call, out = made
        for place, vector in enumerate(vectors):
            buffer.set_arg(place, memoryview(vector))
        call()
        return out

    return run


def arrays_for(name: str, arrays: Sequence[Any]) -> Any:
    """The arguments as the contender has them."""
    if name == "torch":
        import torch

        return [torch.tensor(a) for a in arrays]
    if name == "jax":
        import jax

        return [jax.numpy.asarray(a) for a in arrays]
    if name == "casadi":
        return np.concatenate([a.ravel() for a in arrays])
    return list(arrays)


CONTENDERS: dict[str, Callable[[Problem], dict[str, Callable[..., Any]]]] = {
    "adjoint": with_adjoint,
    "jax": with_jax,
    "torch": with_torch,
    "casadi": with_casadi,
}


def best(runs: dict[Any, Callable[[], Any]], rounds: int) -> dict[Any, float]:
    """Microseconds of processor time for one run, the least of several rounds in turn."""
    least = dict.fromkeys(runs, float("inf"))
    repeats: dict[Any, int] = {}
    for name, run in runs.items():
        start = time.process_time()
        run()
        repeats[name] = max(1, min(200, int(2e-3 / max(time.process_time() - start, 1e-6))))
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            for _ in range(repeats[name]):
                run()
            least[name] = min(least[name], (time.process_time() - start) / repeats[name])
    return {name: 1e6 * t for name, t in least.items()}


def flat(tree: Any) -> list[Any]:
    """The arrays of nested lists."""
    if isinstance(tree, list | tuple):
        return [leaf for part in tree for leaf in flat(part)]
    return [np.asarray(tree)]


def whole(answer: Any, problem: Problem, kind: str) -> Any:
    """A product as one vector, a Hessian as one matrix."""
    if isinstance(answer, np.ndarray):
        return answer
    if kind != "hessian":
        return np.concatenate([a.ravel() for a in flat(answer)])
    sizes = [w.size for w in problem.point]
    return np.block([[np.asarray(b).reshape(m, n) for b, n in zip(row, sizes, strict=True)]
                     for row, m in zip(answer, sizes, strict=True)])  # fmt: skip


def measured(problem: Problem, tasks: Sequence[str], rounds: int) -> dict[tuple[str, str], float]:
    """Times by (task, contender); all answers to a kind of task are the same."""
    runs: dict[Any, Callable[[], Any]] = {}
    for name, make in CONTENDERS.items():
        try:
            made = make(problem)
        except ImportError:
            continue
        point, direction = arrays_for(name, problem.point), arrays_for(name, problem.direction)
        for task in tasks:
            if task in made:
                args = (point,) if task.startswith("hessian") else (point, direction)
                runs[task, name] = lambda run=made[task], args=args: run(*args)
    answers: dict[str, Any] = {}
    for (task, name), run in runs.items():
        kind = "hessian" if task.startswith("hessian") else "gauss-newton" if task == "gauss-newton" else "product"
        found = whole(run(), problem, kind)
        wanted = answers.setdefault(kind, np.array(found))
        scale = 1.0 + float(np.max(np.abs(wanted)))
        np.testing.assert_allclose(found, wanted, atol=1e-9 * scale, rtol=1e-8, err_msg=f"{task}, {name}")
    return best(runs, rounds)


def show(console: Console, title: str, times: dict[tuple[str, str], float], tasks: Sequence[str]) -> None:
    table = Table(title=f"{title}: microseconds")
    table.add_column("task")
    for name in CONTENDERS:
        table.add_column(name, justify="right")
    for task in tasks:
        table.add_row(task, *[f"{times[task, c]:.1f}" if (task, c) in times else "–" for c in CONTENDERS])
    console.print(table)


Results = dict[str, dict[tuple[str, str], float]]


def page(results: Results) -> str:
    """The page of the documentation."""
    lines = [
        "# Second order, side by side",
        "",
        "Written by `python benchmarks/second_order.py --write`; every figure is measured. Microseconds of one",
        "processor in double precision, the least of several rounds that take turns; all answers were compared.",
        "adjoint and JAX are compiled (*eager, measured* is not), `torch.func` is eager, CasADi has its own machine,",
        "called through its buffers. The formulas are the same for all, arguments are converted beforehand.",
        "",
        ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "jax", "torch", "casadi")) + ".",
        "",
    ]
    for title, times in results.items():
        lines += [f"## {title}", "", "| | " + " | ".join(CONTENDERS) + " | best peer / ours |",
                  "|---|" + "---:|" * (len(CONTENDERS) + 1)]  # fmt: skip
        for task in dict.fromkeys(task for task, _ in times):
            row = {name: times[task, name] for name in CONTENDERS if (task, name) in times}
            peers = [t for name, t in row.items() if name != "adjoint"]
            ratio = f"{min(peers) / row['adjoint']:.2f}" if peers else "–"
            cells = [f"{row[name]:.1f}" if name in row else "–" for name in CONTENDERS]
            lines.append(f"| {task} | " + " | ".join(cells) + f" | {ratio} |")
        lines.append("")
    return "\n".join([*lines, "![Times of all contenders](second_order.png)", ""])


def draw(results: Results, path: Path) -> None:
    """A panel for each problem, a group of bars for each task."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(-(-len(results) // 2), 2, figsize=(11, 1.9 * len(results)), layout="constrained",
                                  squeeze=False)  # fmt: skip
    colors = dict(zip(CONTENDERS, plt.get_cmap("tab10").colors, strict=False))
    for ax in panels.flat[len(results) :]:
        ax.axis("off")
    for ax, (title, times) in zip(panels.flat, results.items(), strict=False):
        tasks = list(dict.fromkeys(task for task, _ in times))
        for place, task in enumerate(tasks):
            for k, name in enumerate(CONTENDERS):
                if (task, name) in times:
                    ax.barh(place + 0.2 * k - 0.3, times[task, name], 0.18, color=colors[name])
        ax.set_yticks(range(len(tasks)), tasks, fontsize=8)
        decade = 10.0 ** np.floor(np.log10(min(times.values())) - 0.1)
        ax.set(xscale="log", title=title, xlabel="microseconds", xlim=(decade, None), ylim=(len(tasks) - 0.5, -0.5))
        ax.xaxis.set_minor_formatter("")
        ax.grid(axis="x", alpha=0.3)
    bars = [plt.Rectangle((0, 0), 1, 1, color=colors[name]) for name in CONTENDERS]
    figure.legend(bars, list(CONTENDERS), loc="outside lower center", ncols=len(CONTENDERS))
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of problems; all by default")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", action="store_true", help="renew docs/benchmarks/second_order.md and its picture")
    chosen = parser.parse_args()
    console = Console()
    kinds = (
        (PRODUCTS, (*MODES, "eager, measured", "gauss-newton")),
        (HESSIANS, ("hessian", "hessian, backpropagated")),
    )
    results: Results = {}
    for problems, tasks in kinds:
        for title, problem in problems.items():
            if not chosen.names or any(part in title for part in chosen.names):
                found = measured(problem, tasks, chosen.rounds)
                results[title if problems is PRODUCTS else f"Hessian, {title}"] = found
                show(console, title, found, tasks)
    if chosen.write:
        FOLDER.mkdir(exist_ok=True)
        draw(results, FOLDER / "second_order.png")
        (FOLDER / "second_order.md").write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
