"""Loops that read and write elements of large arrays by computed indices, in branches and in loops inside."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import adjoint as ad
from tests.random_programs.steps import Pool, Step, pick

Read = Callable[[Any, Any], Any]  # (array, counter) → number
Write = Callable[[Any, Any, Any], Any]  # (array, counter, number) → array

VECTORS: dict[str, Read] = {
    "x[i]": lambda x, i: x[i % x.shape[0]],
    "x[-i]": lambda x, i: x[-(i % x.shape[0])],
    "x[1:][i]": lambda x, i: x[1:][i % (x.shape[0] - 1)],
    "x[::-2][i]": lambda x, i: x[::-2][i % (x.shape[0] // 2)],
    "window": lambda x, i: np.sum(x[(np.arange(3) + i) % x.shape[0]] * np.array([1, -2, 3], x.dtype)),
    "of a product": lambda x, i: (x * x[0])[(3 * i) % x.shape[0]],
    "sum of slice": lambda x, i: np.sum(x[2:5]) * x[i % x.shape[0]],
}
MATRICES: dict[str, Read] = {
    "x[i, j]": lambda x, i: x[i % x.shape[0], (2 * i) % x.shape[1]],
    "x[i][j]": lambda x, i: x[i % x.shape[0]][(i + 1) % x.shape[1]],
    "x[i, :]": lambda x, i: np.sum(np.sin(np.real(x[i % x.shape[0], :]))).astype(x.dtype),
    "x[:, j]": lambda x, i: np.sum(x[:, i % x.shape[1]] * x[0, 0]),
    "x.T[i]": lambda x, i: x.T[i % x.shape[1]][1] * x[1:, 1][0],
    "flat": lambda x, i: x.reshape(-1)[(7 * i) % x.size],
}
WRITES: dict[str, Write] = {
    "z[i] = v": lambda z, i, v: assigned(z, i % z.shape[0], v),
    "z[i] += v": lambda z, i, v: assigned(z, i % z.shape[0], z[i % z.shape[0]] + v),
    "z[i] = z[j] * v": lambda z, i, v: assigned(z, (3 * i) % z.shape[0], z[(i + 5) % z.shape[0]] * v),
    "z[idx] = v": lambda z, i, v: assigned(z, (np.arange(3) * 2 + i) % z.shape[0], v),
    "z[2:4] = v": lambda z, i, v: assigned(z, slice(2, 4), v),
    "swap": lambda z, i, v: assigned(assigned(z, 0, z[i % z.shape[0]]), i % z.shape[0], z[0]),
    "whole": lambda z, i, v: z[::-1] * np.real(v).astype(z.dtype),
    "none": lambda z, i, v: z,
}


def assigned(z: Any, index: Any, v: Any) -> Any:
    """A copy with elements written."""
    out = z.copy()
    out[index] = v
    return out


def a_body(r: Random, ndim: int, depth: int) -> tuple[str, Callable[[Any, Any, Any, Any], tuple[Any, Any]]]:
    """(text, f(x, c, z, i) → c, z): reads of x and z, a write to z; inside a branch or another loop."""
    reads = {**(VECTORS if ndim == 1 else MATRICES)}
    names = [r.choice(sorted(reads)) for _ in range(r.randint(1, 2))]
    own, write = r.choice(sorted(VECTORS)), r.choice(sorted(WRITES))
    looks = r.random() < 0.6

    def plain(x: Any, c: Any, z: Any, i: Any) -> tuple[Any, Any]:
        total = c * 0.5
        for name in names:
            total = total + np.tanh(np.real(reads[name](x, i))).astype(c.dtype)
        if looks:
            total = total - 0.1 * np.sin(VECTORS[own](z, i))
        return total.astype(c.dtype), WRITES[write](z, i, np.tanh(total).astype(z.dtype))

    text = f"{' + '.join(names)}{' - ' + own + ' of z' if looks else ''}, {write}"
    form = r.choice(["plain", "plain", "cond", "scan", "while"]) if depth else "plain"
    if form == "plain":
        return text, plain
    inner_text, inner = a_body(r, ndim, depth - 1)

    def branch(x: Any, c: Any, z: Any, i: Any) -> tuple[Any, Any]:
        return ad.cond(z[i % z.shape[0]] > c, lambda c, z: inner(x, c, z, i), lambda c, z: plain(x, c, z, i), c, z)

    def scan(x: Any, c: Any, z: Any, i: Any) -> tuple[Any, Any]:
        c, z = plain(x, c, z, i)
        return ad.scan(lambda s, j: (inner(x, *s, i + j), None), (c, z), np.arange(3))[0]

    def loop(x: Any, c: Any, z: Any, i: Any) -> tuple[Any, Any]:
        step = lambda s: (s[0] + 1, *inner(x, s[1], s[2], i + s[0]))
        going = lambda s: np.logical_and(s[0] < 4, s[1] < 1.0)
        _, c, z = ad.while_loop(going, step, (np.int64(0), c, z))
        return plain(x, c, z, i)

    return f"{form} of ({text}) and ({inner_text})", {"cond": branch, "scan": scan, "while": loop}[form]


def an_indexing_loop(r: Random, pool: Pool, grow: Any) -> Step:
    """A scan over counters: a number and an array are carried, another array is read."""
    i = pick(r, pool, ndim=1, kinds="fc")
    ndim = 2 if pool[i].ndim > 1 else 1
    shape = (9, 7) if ndim == 2 else (r.choice([33, 40, 65]),)
    text, body = a_body(r, ndim, 2)
    iterations, batch, keeps = r.choice([1, 2, 7, 20]), r.random() < 0.2, r.random() < 0.5

    def run(p: Pool) -> Any:
        x = np.resize(np.reshape(p[i], -1), shape) if p[i].size else np.zeros(shape, p[i].dtype)
        start = np.real(np.reshape(x, -1))[:36] if ndim == 2 else np.real(x)

        def f(scale: Any) -> Any:
            step = lambda s, k: (body(x, *s, k), s[0] if keeps else None)
            (c, z), ys = ad.scan(step, (scale, start * scale), np.arange(iterations))
            return c + np.sum(z) + (np.sum(ys) if keeps else 0)

        one = np.ones((), start.dtype)
        return ad.vmap(f)(np.linspace(0.5, 1.5, 3).astype(start.dtype)) if batch else f(one)

    return Step(f"indexing loop of {iterations} on x{i} {shape} batch={batch} keeps={keeps}: {text}", run)
