"""Random nests of loops and branches, whose numbers of iterations depend on the data."""

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad

Step = Callable[[Any, Any], Any]  # (a number, a parameter) → a number of moderate size


def smooth(random: np.random.Generator) -> Step:
    """A formula without loops."""
    a, b, c = np.round(random.uniform(0.3, 1.5, 3), 3)
    return [
        lambda x, p: np.sin(a * x + b * p) + c,
        lambda x, p: x / (1.0 + b * x * x) + c * p,
        lambda x, p: np.tanh(a * x * p) - b * x,
        lambda x, p: np.exp(-a * x * x) * p + b * np.cos(x),
    ][random.integers(4)]


def while_nest(random: np.random.Generator, depth: int) -> Step:
    """Goes on until a clock, which runs at a pace of its own, has passed: from no iteration to some ten."""
    inner = nest(random, depth - 1)
    begin, pace, until = np.round(random.uniform([0.2, 1.2, 0.1], [1.0, 2.0, 6.0]), 3)

    def body(s: Any, p: Any) -> Any:
        x, clock = s
        y = inner(x, p)
        return 0.5 * x + 0.4 * y, clock * pace + 0.05 * np.abs(y)

    def run(x: Any, p: Any) -> Any:
        start = (x, begin + 0.3 * np.abs(x))
        y, clock = ad.while_loop(lambda s: s[1] < until, lambda s: body(s, p), start)
        return y + 0.01 * clock * p

    return run


def scan_nest(random: np.random.Generator, depth: int) -> Step:
    inner = nest(random, depth - 1)
    xs = np.round(random.uniform(-1.0, 1.0, int(random.integers(0, 4))), 3)
    backwards = bool(random.integers(2))

    def run(x: Any, p: Any) -> Any:
        def step(c: Any, t: Any) -> Any:
            y = inner(np.sin(c + t), p)
            return 0.7 * c + 0.3 * y, y * t

        last, ys = ad.scan(step, x, xs, reverse=backwards)
        return last + 0.1 * np.sum(ys)

    return run


def cond_nest(random: np.random.Generator, depth: int) -> Step:
    yes, no = nest(random, depth - 1), nest(random, depth - 1)
    at = round(random.uniform(-0.5, 0.5), 3)
    return lambda x, p: ad.cond(x > at, lambda y: yes(y, p), lambda y: no(y, p), x)


def vector_nest(random: np.random.Generator, depth: int) -> Step:
    """A while loop over arrays beside a number, so that its rows are not all of one size."""
    inner = nest(random, depth - 1)
    weights = np.round(random.uniform(-1.0, 1.0, int(random.integers(1, 40))), 3)
    until = round(random.uniform(0.5, 4.0), 3)

    def run(x: Any, p: Any) -> Any:
        def body(s: Any) -> Any:
            v, clock = s
            y = inner(np.sum(v * weights) / weights.size, p)
            return 0.8 * np.sin(v) + 0.2 * y * weights, clock + 0.7 + 0.1 * np.abs(y)

        v, clock = ad.while_loop(lambda s: s[1] < until, body, (weights * x, 0.1 * p * p))
        return np.sum(v) / weights.size + 0.1 * clock

    return run


def nest(random: np.random.Generator, depth: int) -> Step:
    """A random nest of so many levels at most."""
    if depth == 0:
        return smooth(random)
    kinds = [while_nest, scan_nest, cond_nest, vector_nest, while_nest]
    first = kinds[random.integers(len(kinds))](random, depth)
    second = smooth(random)
    return lambda x, p: second(first(x, p), p)
