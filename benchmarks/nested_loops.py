"""Loops inside loops and batches of loops, value and gradient: adjoint beside numba by hand, if it is installed.

    python benchmarks/nested_loops.py [part of a name …] [--rounds 200]

One core. Values and gradients are compared first; of all rounds the quickest counts. The numba functions are what one
writes by hand: a history that grows, the backward pass over it, no mask.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402

import adjoint as ad  # noqa: E402

HAS_NUMBA = importlib.util.find_spec("numba") is not None


class Workload(NamedTuple):
    """A function of arrays, its arguments, and value and gradient by hand (None: there is none)."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    by_hand: Callable[..., Any] | None


def newton(a: Any) -> Any:
    """x with x³ + x = a."""
    going = lambda x: np.abs(x * x * x + x - a) > 1e-12 * (1.0 + np.abs(a))
    return ad.while_loop(going, lambda x: x - (x * x * x + x - a) / (3.0 * x * x + 1.0), a)


def newton_in_scan(p: Any, xs: Any) -> Any:
    """A while loop in every iteration of a scan, which starts where the last one has ended."""

    def step(c: Any, x: Any) -> Any:
        y = newton(x * p + 0.1 * c)
        return c + y, y

    c, ys = ad.scan(step, 0.0 * p, xs)
    return c + np.sum(ys * ys)


def while_in_while(p: Any, xs: Any) -> Any:
    """Three levels: a scan, a while loop, a while loop."""

    def inner(u: Any, limit: Any) -> Any:
        return ad.while_loop(lambda s: s < limit, lambda s: 1.4 * s + 0.1 * u * p, 0.3 + 0.0 * u)

    def step(c: Any, x: Any) -> Any:
        body = lambda s: (0.5 * s[0] + 0.1 * inner(s[0], 2.0 + x), 1.5 * s[1])
        u = ad.while_loop(lambda s: s[1] < 4.0 + x, body, (c, 0.5 + 0.0 * c))[0]
        return 0.5 * c + u, u

    c, ys = ad.scan(step, 0.3 * p, xs)
    return c + np.sum(ys)


def batch_of_newton(p: Any, xs: Any) -> Any:
    return np.sum(ad.vmap(newton)(p * xs))


def uneven_batch(p: Any, ns: Any) -> Any:
    """Few iterations, and very many for some elements."""

    def one(n: Any) -> Any:
        return ad.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1.0, 0.9 * s[1] + 0.1 * p), (0.0 * n, 0.01 * n))[1]

    return np.sum(ad.vmap(one)(ns))


def by_hand() -> dict[str, Callable[..., Any]]:
    """(value, gradient in p) of each, compiled by numba."""
    if not HAS_NUMBA:
        return {}
    import numba

    @numba.njit
    def grown(history: Any) -> Any:
        larger = np.empty(2 * history.size)
        larger[: history.size] = history
        return larger

    @numba.njit
    def newton_in_scan(p: float, xs: Any) -> Any:
        n = xs.size
        history, first, ys = np.empty(1024), np.empty(n + 1, np.int64), np.empty(n)
        k, c, total = 0, 0.0, 0.0
        for t in range(n):
            a = xs[t] * p + 0.1 * c
            x = a
            first[t] = k
            while abs(x * x * x + x - a) > 1e-12 * (1.0 + abs(a)):
                if k == history.size:
                    history = grown(history)
                history[k] = x
                k += 1
                x = x - (x * x * x + x - a) / (3.0 * x * x + 1.0)
            c += x
            ys[t] = x
            total += x * x
        first[n] = k
        dc, dp = 1.0, 0.0
        for t in range(n - 1, -1, -1):
            dx, da, after = dc + 2.0 * ys[t], 0.0, ys[t]
            for i in range(first[t + 1] - 1, first[t] - 1, -1):
                x = history[i]
                slope = 3.0 * x * x + 1.0
                da += dx / slope
                dx = dx * (x - after) * 6.0 * x / slope
                after = x
            da += dx
            dc += 0.1 * da
            dp += da * xs[t]
        return c + total, dp

    @numba.njit
    def while_in_while(p: float, xs: Any) -> Any:
        n = xs.size
        us, counts, outer = np.empty(1024), np.empty(1024), np.empty(n + 1, np.int64)
        k, c, total = 0, 0.3 * p, 0.0
        for t in range(n):
            outer[t] = k
            u, clock = c, 0.5
            while clock < 4.0 + xs[t]:
                if k == us.size:
                    us, counts = grown(us), grown(counts)
                s, m = 0.3, 0
                while s < 2.0 + xs[t]:
                    s = 1.4 * s + 0.1 * u * p
                    m += 1
                us[k], counts[k] = u, m
                k += 1
                u = 0.5 * u + 0.1 * s
                clock *= 1.5
            c = 0.5 * c + u
            total += u
        outer[n] = k
        dc, dp = 1.0, 0.0
        for t in range(n - 1, -1, -1):
            du = dc + 1.0
            for i in range(outer[t + 1] - 1, outer[t] - 1, -1):
                ds, d_product = 0.1 * du, 0.0
                for _ in range(int(counts[i])):
                    d_product += 0.1 * ds
                    ds *= 1.4
                du = 0.5 * du + d_product * p
                dp += d_product * us[i]
            dc = 0.5 * dc + du
        return c + total, dp + 0.3 * dc

    @numba.njit
    def batch_of_newton(p: float, xs: Any) -> Any:
        history = np.empty(64)
        value, dp = 0.0, 0.0
        for t in range(xs.size):
            a = xs[t] * p
            x, k = a, 0
            while abs(x * x * x + x - a) > 1e-12 * (1.0 + abs(a)):
                if k == history.size:
                    history = grown(history)
                history[k] = x
                k += 1
                x = x - (x * x * x + x - a) / (3.0 * x * x + 1.0)
            value += x
            dx, da, after = 1.0, 0.0, x
            for i in range(k - 1, -1, -1):
                x = history[i]
                slope = 3.0 * x * x + 1.0
                da += dx / slope
                dx = dx * (x - after) * 6.0 * x / slope
                after = x
            dp += (da + dx) * xs[t]
        return value, dp

    @numba.njit
    def uneven_batch(p: float, ns: Any) -> Any:
        value, dp = 0.0, 0.0
        for t in range(ns.size):
            clock, s, m = 0.0, 0.01 * ns[t], 0
            while clock < ns[t]:
                clock += 1.0
                s = 0.9 * s + 0.1 * p
                m += 1
            value += s
            ds = 1.0
            for _ in range(m):
                dp += 0.1 * ds
                ds *= 0.9
        return value, dp

    return {f.__name__: f for f in (newton_in_scan, while_in_while, batch_of_newton, uneven_batch)}


def workloads() -> dict[str, Workload]:
    hand = by_hand()
    xs = np.linspace(1.0, 10.0, 300)
    ns = np.where(np.arange(1000) % 50 == 0, 2000.0, 5.0)
    return {
        "newton in scan, 300 × ~10": Workload(newton_in_scan, (1.3, xs), hand.get("newton_in_scan")),
        "while in while in scan, 300 × ~6 × ~5": Workload(while_in_while, (1.3, xs), hand.get("while_in_while")),
        "batch of newton, 1000": Workload(
            batch_of_newton, (1.3, np.linspace(1.0, 10.0, 1000)), hand.get("batch_of_newton")
        ),
        "uneven batch, 1000": Workload(uneven_batch, (1.3, ns), hand.get("uneven_batch")),
    }


def quickest(call: Callable[[], Any], rounds: int) -> float:
    """The least time of a call, in microseconds."""
    call()
    times: list[float] = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return 1e6 * min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    print(f"{'':40s} {'adjoint':>9s} {'numba':>9s} {'ratio':>6s}   µs, value and gradient")
    for name, (function, arguments, hand) in workloads().items():
        if options.names and not any(part in name for part in options.names):
            continue
        compiled = ad.jit(ad.value_and_grad(function))
        mine = compiled(*arguments)
        ours = quickest(lambda f=compiled, xs=arguments: f(*xs), options.rounds)
        if hand is None:
            print(f"{name:40s} {ours:9.1f}")
            continue
        np.testing.assert_allclose(mine, hand(*arguments), rtol=1e-9)
        theirs = quickest(lambda f=hand, xs=arguments: f(*xs), options.rounds)
        print(f"{name:40s} {ours:9.1f} {theirs:9.1f} {ours / theirs:6.2f}")


if __name__ == "__main__":
    main()
