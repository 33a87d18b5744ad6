"""A long straight line of code: k equations that all differ, for compile time against the size of a program.

Link j of the chain is one of four, drawn at random, with its own constant: y sin(c y), y + c x, tanh(c y) + x,
y / (1 + c y²). There is no pattern in them, so that nothing can be rolled up into a loop; the values stay near 1. The
derivative by hand goes back link by link.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import engines
from benchmarks.peers.contender import Contender, Problem, Workload

KINDS = np.random.default_rng(0).integers(0, 4, 100_000).tolist()
CONSTANTS = np.random.default_rng(1).uniform(0.2, 0.4, 100_000).tolist()


def link(m: Any, j: int, x: Any, y: Any) -> Any:
    """Link j over a namespace `m` (numpy or jax.numpy)."""
    kind, c = KINDS[j], CONSTANTS[j]
    if kind == 0:
        return y * m.sin(c * y)
    if kind == 1:
        return y + c * x
    if kind == 2:
        return m.tanh(c * y) + x
    return y / (1.0 + c * (y * y))


def chain(m: Any, links: int, x: Any) -> Any:
    y = x
    for j in range(links):
        y = link(m, j, x, y)
    return m.sum(y)


def slopes(j: int, x: Any, y: Any) -> tuple[Any, float]:
    """∂/∂y and ∂/∂x of link j."""
    kind, c = KINDS[j], CONSTANTS[j]
    if kind == 0:
        return np.sin(c * y) + c * y * np.cos(c * y), 0.0
    if kind == 1:
        return 1.0, c
    if kind == 2:
        return c * (1.0 - np.tanh(c * y) ** 2), 1.0
    return (1.0 - c * y * y) / (1.0 + c * y * y) ** 2, 0.0


def value(x: Any, links: Any) -> Any:
    return chain(np, int(links), x)


def gradient(x: Any, links: Any) -> tuple[Any, Any]:
    ys = [x]
    for j in range(int(links)):
        ys.append(link(np, j, x, ys[-1]))
    ct, total = np.ones_like(x), np.zeros_like(x)
    for j in reversed(range(int(links))):
        in_y, in_x = slopes(j, x, ys[j])
        total, ct = total + in_x * ct, in_y * ct
    return np.sum(ys[-1]), total + ct


def problem(size: str) -> Problem:
    """Size: the number of links."""
    return Problem((np.linspace(0.5, 1.0, 100), np.int64(size)), 1, {"links": int(size)})


def by_adjoint(problem: Problem) -> Contender:
    return engines.adjoint_gradient(partial(chain, np, problem.facts["links"]), Problem(problem.arguments[:1]))


def by_jax(problem: Problem) -> Contender:
    jnp = engines.start_jax().numpy
    return engines.jax_gradient(partial(chain, jnp, problem.facts["links"]), Problem(problem.arguments[:1]))


CHAIN = Workload(
    name="chain",
    title="Straight-line code of k different equations",
    problem=problem,
    sizes=("50", "100", "200", "400", "800", "1600"),
    tiny="9",
    value=value,
    by_hand=gradient,
    contenders={"adjoint": by_adjoint, "jax": by_jax},
)
