"""Derivatives of order n of a function of one number: Taylor mode against nested gradients and jax.experimental.jet.

    python benchmarks/higher_order.py [--orders 2 4 6 8 10] [--rounds 9]

Contenders take turns and the least time counts; compile times stand apart, answers are compared first. Contenders whose
first call takes longer than `--patience` seconds are left out at higher orders. JAX takes part where it is installed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import adjoint as ad  # noqa: E402

X = 0.4
Maker = Callable[[int], Callable[[], Any]]


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
    parser.add_argument("--patience", type=float, default=10.0)
    options = parser.parse_args()
    makers = ours() | theirs()
    ad.jit(np.sin)(X)  # so that loading the compiler counts for nobody
    table = Table("order", "contender", "answer, relative difference", "first call [s]", "later calls [µs]")
    for order in options.orders:
        found = measured(order, makers, options.rounds)
        reference = found["adjoint, series, eager"][0]
        for name, (answer, first, least) in found.items():
            table.add_row(str(order), name, f"{abs(answer / reference - 1):.1e}", f"{first:.3f}", f"{least * 1e6:.1f}")
            if first > options.patience:
                makers.pop(name)
    Console().print(table)


if __name__ == "__main__":
    main()
