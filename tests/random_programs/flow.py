"""Steps that are loops and branches, with random bodies, also inside one another."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import adjoint as ad
from tests.random_programs.indexing import an_indexing_loop
from tests.random_programs.steps import Pool, Step, cast, pick

LONGEST = 120  # iterations of a loop: NumPy takes its time, and loops stand inside loops
Grow = Callable[[Random, Pool, int], list[Step]]  # steps drawn for a pool


def after(steps: list[Step], pool: Pool) -> Pool:
    """The pool after some steps."""
    pool = list(pool)
    for step in steps:
        pool.append(step.run(pool))
    return pool


def like(y: Any, x: Any, mixed: bool = False) -> Any:
    """Something of the shape and dtype of x in which y has a part; `mixed`: elements of x from other places too."""
    if mixed and x.ndim:
        x = np.where(np.real(x) > 0, np.flip(x), np.roll(x, 1))
    if x.dtype.kind == "b":
        return np.logical_xor(x, np.any(y))
    try:
        fits = np.broadcast_shapes(np.shape(y), x.shape) == x.shape
    except ValueError:
        fits = False
    z = y if fits else np.sum(y)
    if x.dtype.kind in "iu":
        return x + (cast(z, x.dtype.name) if z.dtype.kind != "b" else z.astype(x.dtype))
    z = np.real(z) if x.dtype.kind == "f" else z
    return (0.5 * x + 0.5 * np.tanh(z)).astype(x.dtype)


def a_scan(r: Random, pool: Pool, grow: Grow) -> Step:
    i, j = pick(r, pool), pick(r, pool, ndim=1)
    reverse, stacked, pair, mixed = r.random() < 0.3, r.random() < 0.5, r.random() < 0.3, r.random() < 0.4
    if len(pool[j]) > LONGEST:
        raise ValueError("too many iterations")
    row = pool[j][0] if pool[j].shape[0] else np.zeros(pool[j].shape[1:], pool[j].dtype)
    steps = grow(r, [*pool, pool[i], np.asarray(row)], r.randint(1, 3))
    start = len(pool)

    def run(p: Pool) -> Any:
        def body(carry: Any, x: Any) -> Any:
            c, d = carry if pair else (carry, x)
            inner = after(steps, [*p, c, d])
            out = like(inner[-1], inner[start], mixed)
            return ((out, like(c, d)) if pair else out), (inner[-1] if stacked else None)

        xs = p[j]
        carry, ys = ad.scan(body, (p[i], np.zeros_like(xs[0])) if pair else p[i], xs, reverse=reverse)
        state = carry[0] if pair else carry
        return state if not stacked else ys if r_stack else state + np.sum(np.real(ys)).astype(state.dtype)

    r_stack = r.random() < 0.6
    inside = "; ".join(s.text for s in steps)
    return Step(f"scan x{i} along x{j} reverse={reverse} stacked={stacked} pair={pair} mixed={mixed}: [{inside}]", run)


def a_counted(r: Random, pool: Pool, grow: Grow) -> Step:
    i, iterations = pick(r, pool), r.choice([0, 1, 2, 3, 5, 9])
    traced, mixed = r.random() < 0.4, r.random() < 0.4
    steps = grow(r, [*pool, pool[i], np.asarray(1)], r.randint(1, 3))
    start = len(pool)

    def run(p: Pool) -> Any:
        def body(k: Any, x: Any) -> Any:
            return like(after(steps, [*p, x, k])[-1], x, mixed)

        stop = iterations + 0 * cast(np.sum(p[0]), "int64") if traced else iterations
        return ad.fori_loop(0, stop, body, p[i])

    inside = "; ".join(s.text for s in steps)
    return Step(f"fori {iterations} traced={traced} mixed={mixed} x{i} (as x{start}): [{inside}]", run)


def a_while(r: Random, pool: Pool, grow: Grow) -> Step:
    i, limit = pick(r, pool, kinds="fc"), r.choice([0, 1, 3, 7, 70])
    steps = grow(r, [*pool, pool[i]], r.randint(1, 2))
    bound, mixed = r.choice([0.5, 2.0, 1e9]), r.random() < 0.4

    def run(p: Pool) -> Any:
        def condition(state: Any) -> Any:
            return np.logical_and(state[0] < limit, np.sum(np.absolute(state[1])) < bound)

        def body(state: Any) -> Any:
            return state[0] + 1, like(after(steps, [*p, state[1]])[-1], state[1], mixed)

        count, x = ad.while_loop(condition, body, (np.int64(0), p[i]))
        return x + count.astype(x.dtype)

    return Step(f"while x{i} limit={limit} bound={bound} mixed={mixed}: [{'; '.join(s.text for s in steps)}]", run)


def a_cond(r: Random, pool: Pool, grow: Grow) -> Step:
    i, j = pick(r, pool), pick(r, pool)
    bodies = [grow(r, [*pool, pool[i]], r.randint(1, 2)) for _ in range(r.choice([2, 2, 3]))]

    def run(p: Pool) -> Any:
        branches = [lambda x, steps=steps: like(after(steps, [*p, x])[-1], x) for steps in bodies]
        question = np.sum(np.real(p[j]))
        if len(branches) == 2:
            return ad.cond(question > 0.2, *branches, p[i])
        return ad.switch(cast(question, "int64"), branches, p[i])

    inside = " | ".join("; ".join(s.text for s in steps) for steps in bodies)
    return Step(f"cond on x{j} of x{i}: [{inside}]", run)


def a_checkpoint(r: Random, pool: Pool, grow: Grow) -> Step:
    i = pick(r, pool)
    steps = grow(r, [*pool, pool[i]], r.randint(1, 3))
    return Step(
        f"checkpoint x{i}: [{'; '.join(s.text for s in steps)}]",
        lambda p: ad.checkpoint(lambda x: after(steps, [*p, x])[-1])(p[i]),
    )


def a_map(r: Random, pool: Pool, grow: Grow) -> Step:
    i = pick(r, pool, ndim=1)
    if len(pool[i]) > LONGEST:
        raise ValueError("too many iterations")
    row = pool[i][0] if pool[i].shape[0] else np.zeros(pool[i].shape[1:], pool[i].dtype)
    steps = grow(r, [*pool, np.asarray(row)], r.randint(1, 3))
    mapped = ad.vmap if r.random() < 0.5 else None
    return Step(
        f"{'vmap' if mapped else 'map'} x{i}: [{'; '.join(s.text for s in steps)}]",
        lambda p: (
            mapped(lambda x: after(steps, [*p, x])[-1])(p[i])
            if mapped
            else ad.map(lambda x: after(steps, [*p, x])[-1], p[i])
        ),
    )


def refuse_recursion(text: str, *steps: Step) -> None:
    """The same lines of Python inside themselves are a function that calls itself, which no program is made of."""
    if any(text in step.text for step in steps):
        raise ValueError("recursion")


def a_branch_of_python(r: Random, pool: Pool, grow: Grow) -> Step:
    """if and else, decided by a number that is traced."""
    i, j = pick(r, pool), pick(r, pool)
    first, second = (grow(r, [*pool, pool[i]], r.randint(1, 2)) for _ in range(2))
    refuse_recursion("if x", *first, *second)

    def run(p: Pool) -> Any:
        x = p[i]
        if np.sum(np.real(p[j])) > 0.2:
            y = like(after(first, [*p, x])[-1], x)
        else:
            y = like(after(second, [*p, x])[-1], x)
        return y

    inside = " | ".join("; ".join(s.text for s in steps) for steps in (first, second))
    return Step(f"if x{j} of x{i}: [{inside}]", run)


def a_loop_of_python(r: Random, pool: Pool, grow: Grow) -> Step:
    """while, as long as a number that is traced is small; rows of an array are written on the way."""
    i, limit = pick(r, pool, ndim=1, kinds="fc"), r.choice([0, 1, 2, 5])
    steps = grow(r, [*pool, pool[i]], 1)
    refuse_recursion("Python's while", *steps)
    rows = len(pool[i])
    if not rows:
        raise ValueError("nothing to write to")
    bound = r.choice([0.5, 2.0, 1e9])

    def run(p: Pool) -> Any:
        x, count = p[i].copy(), 0
        while count < limit and np.sum(np.absolute(x)) < bound:
            x[count % rows] = 0.5 * like(after(steps, [*p, x])[-1], x)[count % rows]
            count += 1
        return x * (1 + count)

    return Step(f"Python's while x{i} limit={limit} bound={bound}: [{'; '.join(s.text for s in steps)}]", run)


FLOW = [a_scan, a_scan, a_counted, a_while, a_cond, a_checkpoint, a_map, an_indexing_loop, an_indexing_loop]
NESTED_FLOW = [
    a_scan, a_scan, a_counted, a_while, a_while, a_cond, a_checkpoint, a_map, a_map, an_indexing_loop,
    a_branch_of_python, a_loop_of_python,
]  # fmt: skip
