"""Gradients through minimizers: adjoint (compiled and eager) and jaxopt if it is installed, on one core.

    python benchmarks/implicit.py [--rounds 7]

Both run the same solver for the inner problem and conjugate gradients to the same tolerance for the linear equation of
the derivative; they are interleaved, the least processor time counts, and gradients are compared first.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import adjoint as ad  # noqa: E402
from adjoint import implicit  # noqa: E402

TOL = 1e-10
RNG = np.random.default_rng(0)


def penalties(xp: Any, loop: Any) -> tuple[Any, Any, Any]:
    """65 penalties of a ridge regression of 150 rows: (f, solver, λ)."""
    A, y = xp.asarray(DATA[0]), xp.asarray(DATA[1])
    f = lambda w, lam: 0.5 * xp.mean((A @ w - y) ** 2) + 0.5 * xp.sum(xp.exp(lam) * w**2)
    gram, right = A.T @ A / 150, A.T @ y / 150
    solver = lambda lam: xp.linalg.solve(gram + xp.diag(xp.exp(lam)), right)
    return f, solver, np.zeros(65)


def smoothed(xp: Any, loop: Any) -> tuple[Any, Any, Any]:
    """10⁵ penalties of the differences of a signal, smoothed by a fixed number of gradient steps with momentum."""
    y = xp.asarray(SIGNAL)
    f = lambda w, lam: 0.5 * xp.sum((w - y) ** 2) + 0.5 * xp.sum(xp.exp(lam) * (w[1:] - w[:-1]) ** 2)

    def gradient(w: Any, lam: Any) -> Any:
        pull = xp.exp(lam) * (w[1:] - w[:-1])
        zero = xp.zeros(1)
        return w - y + xp.concatenate([zero, pull]) - xp.concatenate([pull, zero])

    def solver(lam: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            w, before = state
            ahead = w + 0.45 * (w - before)
            return ahead - 0.2 * gradient(ahead, lam), w

        return loop(0, 60, step, (y, y))[0]

    return f, solver, np.full(99_999, -0.5)


DATA = RNG.normal(size=(150, 65)), RNG.normal(size=150)
SIGNAL = RNG.normal(size=100_000)
WORKLOADS = {"65 penalties": penalties, "10⁵ penalties": smoothed}


def ours(make: Any) -> tuple[Callable[[Any], Any], Any]:
    f, solver, lam = make(np, ad.fori_loop)
    linear = lambda A, b: ad.linear.cg(A, b, tol=TOL)
    w = implicit.argmin(f, solver, linear=linear)
    return ad.grad(lambda lam: np.sum(w(lam) ** 2)), lam


def jaxopts(make: Any) -> Callable[[Any], Any] | None:
    try:
        import jax
        import jax.numpy as jnp
        from jaxopt import implicit_diff, linear_solve
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    f, solver, _ = make(jnp, jax.lax.fori_loop)
    cg = lambda matvec, b, **_: linear_solve.solve_cg(matvec, b, tol=TOL, maxiter=1000)
    w = implicit_diff.custom_root(jax.grad(f), solve=cg)(lambda _, lam: solver(lam))
    return jax.jit(jax.grad(lambda lam: jnp.sum(w(None, lam) ** 2)))


def least(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least processor time of each, in milliseconds, of five calls after another, interleaved."""
    found = dict.fromkeys(runs, np.inf)
    for _ in range(rounds):
        for name, run in runs.items():
            began = time.process_time()
            for _ in range(5):
                run()
            found[name] = min(found[name], 1e3 * (time.process_time() - began) / 5)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    table = Table("workload", "first call, s", "compiled, ms", "eager, ms", "jaxopt first, s", "jaxopt, ms", "ratio")
    for name, make in WORKLOADS.items():
        gradient, lam = ours(make)
        compiled, theirs = ad.jit(gradient), jaxopts(make)
        began = time.perf_counter()
        expected = compiled(lam)
        first, first_theirs = time.perf_counter() - began, np.nan
        runs = {"compiled": lambda c=compiled, p=lam: c(p), "eager": lambda g=gradient, p=lam: g(p)}
        if theirs is not None:
            began = time.perf_counter()
            found = np.asarray(theirs(lam))
            first_theirs = time.perf_counter() - began
            np.testing.assert_allclose(expected, found, rtol=1e-6, atol=1e-8 * np.max(np.abs(found)))
            runs["jaxopt"] = lambda t=theirs, p=lam: np.asarray(t(p))
        np.testing.assert_allclose(expected, gradient(lam), rtol=1e-7, atol=1e-9)
        times = least(runs, rounds)
        peer = times.get("jaxopt", np.nan)
        table.add_row(name, f"{first:.2f}", f"{times['compiled']:.2f}", f"{times['eager']:.2f}", f"{first_theirs:.2f}",
                      f"{peer:.2f}", f"{times['compiled'] / peer:.2f}")  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    main()
