"""Hessian-vector products in their modes, whole Hessians, Gauss-Newton products: adjoint beside JAX and torch.func.

    python benchmarks/second_order.py [part of a name …] [--rounds 9]

One core, double precision. Contenders take turns and the least processor time counts; answers are compared first.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import adjoint as ad  # noqa: E402
from adjoint import curvature  # noqa: E402

MODES = ("forward-over-reverse", "reverse-over-reverse", "reverse-over-forward")
RNG = np.random.default_rng(0)


class Problem(NamedTuple):
    """loss(model(w)), written once for any array library `xp`, with a point and a direction."""

    model: Callable[[Any, list[Any]], Any]
    loss: Callable[[Any, Any], Any]
    point: list[Any]

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

    return Problem(model, loss, weights)


def _valley(n: int) -> Problem:
    def model(xp: Any, ws: list[Any]) -> Any:
        (x,) = ws
        return xp.stack([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]])

    return Problem(model, lambda xp, z: xp.sum(z**2), [RNG.normal(size=n)])


def _elementwise(n: int) -> Problem:
    return Problem(
        lambda xp, ws: xp.exp(-(ws[0] ** 2)) * xp.sin(3.0 * ws[0]),
        lambda xp, z: xp.sum(z**2) * xp.sum(z),
        [RNG.normal(size=n)],
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

    made: dict[str, Callable[..., Any]] = {
        "forward-over-reverse": lambda w, v: t.jvp(t.grad(f), (w,), (v,))[1],
        "reverse-over-reverse": lambda w, v: t.vjp(t.grad(f), w)[1](v)[0],
        "reverse-over-forward": lambda w, v: t.grad(lambda w: t.jvp(f, (w,), (v,))[1])(w),
        "gauss-newton": gauss_newton,
        "hessian": t.hessian(f),
    }
    return made


def arrays_for(name: str, arrays: Sequence[Any]) -> list[Any]:
    """The arguments as the contender has them."""
    if name == "torch":
        import torch

        return [torch.tensor(a) for a in arrays]
    if name == "jax":
        import jax

        return [jax.numpy.asarray(a) for a in arrays]
    return list(arrays)


CONTENDERS: dict[str, Callable[[Problem], dict[str, Callable[..., Any]]]] = {
    "adjoint": with_adjoint,
    "jax": with_jax,
    "torch": with_torch,
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
    answers: dict[str, list[Any]] = {}
    for (task, name), run in runs.items():
        kind = "hessian" if task.startswith("hessian") else "gauss-newton" if task == "gauss-newton" else "product"
        found = flat(run())
        for a, b in zip(found, answers.setdefault(kind, found), strict=True):
            scale = 1.0 + float(np.max(np.abs(b)))
            np.testing.assert_allclose(a, b, atol=1e-9 * scale, rtol=1e-8, err_msg=f"{task}, {name}")
    return best(runs, rounds)


def show(console: Console, title: str, times: dict[tuple[str, str], float], tasks: Sequence[str]) -> None:
    table = Table(title=f"{title}: microseconds")
    table.add_column("task")
    for name in CONTENDERS:
        table.add_column(name, justify="right")
    for task in tasks:
        table.add_row(task, *[f"{times[task, c]:.1f}" if (task, c) in times else "–" for c in CONTENDERS])
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of problems; all by default")
    parser.add_argument("--rounds", type=int, default=9)
    chosen = parser.parse_args()
    console = Console()
    kinds = (
        (PRODUCTS, (*MODES, "eager, measured", "gauss-newton")),
        (HESSIANS, ("hessian", "hessian, backpropagated")),
    )
    for problems, tasks in kinds:
        for title, problem in problems.items():
            if not chosen.names or any(part in title for part in chosen.names):
                show(console, title, measured(problem, tasks, chosen.rounds), tasks)


if __name__ == "__main__":
    main()
