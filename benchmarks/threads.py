"""Compiled programs on one thread and on several: value and gradient, the quickest of many rounds.

    python benchmarks/threads.py [part of a name …] [--threads 2] [--rounds 40]

Rounds on one thread and on several alternate, in one process and on the same machine code; results are compared to the
bit first. On a machine that others use, only the quickest rounds tell something.
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

import adjoint as ad  # noqa: E402

RNG = np.random.default_rng(0)
draw = RNG.normal


def logistic_regression(w: Any, x: Any, y: Any) -> Any:
    """The mean logarithmic loss."""
    z = x @ w
    return np.mean(np.maximum(z, 0.0) - y * z + np.log1p(np.exp(-np.abs(z))))


def network(weights: Any, x: Any, y: Any) -> Any:
    """Two hidden layers."""
    h = np.tanh(np.tanh(x @ weights[0]) @ weights[1])
    return np.mean((h @ weights[2] - y) ** 2)


def mixture(means: Any, log_scales: Any, logits: Any, x: Any) -> Any:
    """The log likelihood of a mixture of Gaussians with diagonal covariances."""
    z = (x[:, None, :] - means) * np.exp(-log_scales)
    each = logits - 0.5 * np.sum(z * z, axis=2) - np.sum(log_scales, axis=1)
    largest = np.max(each, axis=1, keepdims=True)
    return np.sum(largest[:, 0] + np.log(np.sum(np.exp(each - largest), axis=1)))


def predator_and_prey(p: Any) -> Any:
    """100 steps of the classical method of Runge and Kutta."""
    h = 0.05

    def slope(u: Any) -> Any:
        return np.stack([p[0] * u[0] - p[1] * u[0] * u[1], p[2] * u[0] * u[1] - p[3] * u[1]])

    def step(u: Any, _: Any) -> Any:
        a = slope(u)
        b = slope(u + h / 2 * a)
        c = slope(u + h / 2 * b)
        return u + h / 6 * (a + 2 * b + 2 * c + slope(u + h * c)), None

    return ad.scan(step, np.array([1.0, 0.5]), None, length=100)[0]


def root(a: Any) -> Any:
    """Newton's method, which stops by itself."""
    going = lambda x: np.abs(x * x * x + x - a) > 1e-12 * (1.0 + np.abs(a))
    return ad.while_loop(going, lambda x: x - (x * x * x + x - a) / (3.0 * x * x + 1.0), a)


def workloads() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    x = draw(size=10**6)
    layers = [0.05 * draw(size=s) for s in ((784, 512), (512, 512), (512, 10))]
    stack = draw(size=(1000, 20, 20)) + 10 * np.eye(20)
    images, kernels = draw(size=(16, 16, 32, 32)), draw(size=(32, 16, 3, 3))
    return {
        "elementwise 10⁶": (lambda x: np.exp(-x * x) * np.sin(x) + x, (x,)),
        "elementwise 10⁶, gradient": (ad.value_and_grad(lambda x: np.sum(np.log1p(np.exp(x)) * np.sin(x))), (x,)),
        "an addition 10⁶": (lambda x: x + 1.0, (x,)),
        "sum 10⁶": (lambda x: np.sum(np.tanh(x)), (x,)),
        "logistic regression 10⁵ × 200": (
            ad.value_and_grad(logistic_regression),
            (0.01 * draw(size=200), draw(size=(10**5, 200)), (draw(size=10**5) > 0) * 1.0),
        ),
        "network 784-512-512, batch 256": (
            ad.value_and_grad(network), (layers, draw(size=(256, 784)), draw(size=(256, 10)))
        ),
        "mixture 10⁴ × 8, 25 components": (
            ad.value_and_grad(mixture),
            (draw(size=(25, 8)), 0.1 * draw(size=(25, 8)), draw(size=25), draw(size=(10**4, 8))),
        ),
        "10⁴ differential equations": (ad.vmap(predator_and_prey), (np.abs(1 + 0.1 * draw(size=(10**4, 4))),)),
        "10⁴ differential equations, gradients": (
            ad.vmap(ad.grad(lambda p: np.sum(predator_and_prey(p) ** 2))), (np.abs(1 + 0.1 * draw(size=(10**4, 4))),)
        ),
        "10⁵ roots": (ad.vmap(root), (draw(size=10**5),)),
        "product 600": (lambda a, b: a @ b, (draw(size=(600, 600)), draw(size=(600, 600)))),
        "1000 equations of 20": (np.linalg.solve, (stack, draw(size=(1000, 20, 1)))),
        "sort 300 × 1000": (lambda x: np.sort(x, axis=1), (draw(size=(300, 1000)),)),
        "convolution 16 × 16 × 32²": (ad.signal.conv, (images, kernels)),
        "normal draws 10⁶": (lambda rng: rng.normal(size=10**6), (ad.random.default_rng(0),)),
        "below 50 µs": (lambda x: np.sum(np.exp(x)), (x[:10_000],)),
    }  # fmt: skip


def call_times(
    function: Callable[..., Any], args: tuple[Any, ...], counts: tuple[int, ...], rounds: int
) -> list[float]:
    """The quickest call on so many threads each, in microseconds."""
    best = [float("inf")] * len(counts)
    for _ in range(rounds):
        for k, count in enumerate(counts):
            ad.config.threads = count
            function(*args)  # wakes the threads up
            begin = time.perf_counter()
            function(*args)
            best[k] = min(best[k], time.perf_counter() - begin)
    return [1e6 * t for t in best]


def region_time(threads: int) -> float:
    """What a region costs beside its work, in microseconds: beyond its share of what one thread takes."""
    compiled = ad.jit(lambda x: np.sum(np.exp(np.sin(x))))
    x = draw(size=40_000)
    one, several = call_times(compiled, (x,), (1, threads), 3000)
    return several - one / threads


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=max(2, ad.config.threads))
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    print(f"| | one thread, µs | {options.threads} threads, µs | |\n|---|---|---|---|")
    for name, (function, args) in workloads().items():
        if options.names and not any(part in name for part in options.names):
            continue
        compiled = ad.jit(function)
        found = []
        for count in (1, options.threads):
            ad.config.threads = count
            found.append([np.asarray(leaf) for leaf in ad.tree.leaves(compiled(*args)) if isinstance(leaf, np.ndarray)])
        if name != "normal draws 10⁶":  # a generator moves on
            assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True)), name
        one, several = call_times(compiled, args, (1, options.threads), options.rounds)
        print(f"| {name} | {one:.0f} | {several:.0f} | {one / several:.2f} × |", flush=True)
    print(f"\nA region costs {region_time(options.threads):.2f} µs beside its work.")


if __name__ == "__main__":
    main()
