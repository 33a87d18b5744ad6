"""f(x) = Σ tanh(x) exp(−x²) + log1p(x²) sin(x) on a million numbers: vector mathematics and memory traffic.

∂f/∂x = (1 − tanh²x − 2x tanh x) exp(−x²) + 2x sin(x) / (1 + x²) + log1p(x²) cos(x).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import engines
from benchmarks.peers.contender import Contender, Problem, Workload


def value(x: Any) -> Any:
    return np.sum(np.tanh(x) * np.exp(-(x**2)) + np.log1p(x**2) * np.sin(x))


def gradient(x: Any) -> tuple[Any, Any]:
    square = x * x
    t, e, l, s = np.tanh(x), np.exp(-square), np.log1p(square), np.sin(x)
    slope = e * (1.0 - t * (t + 2.0 * x)) + 2.0 * x * s / (1.0 + square) + l * np.cos(x)
    return t @ e + l @ s, slope


def problem(size: str) -> Problem:
    """Size: "f64 1000000"."""
    kind, n = size.split()
    x = np.random.default_rng(0).standard_normal(int(n))
    return Problem((x.astype({"f32": np.float32, "f64": np.float64}[kind]),))


def by_numba(jit: Any) -> Any:
    """One fused loop over the scalar functions of the C library."""

    @jit
    def kernel(x: Any, g: Any) -> float:
        total = 0.0
        for i in range(x.size):
            a = x[i]
            square = a * a
            t, e, l, s = math.tanh(a), math.exp(-square), math.log1p(square), math.sin(a)
            total += t * e + l * s
            g[i] = e * (1 - t * (t + 2 * a)) + 2 * a * s / (1 + square) + l * math.cos(a)
        return total

    def call(x: Any) -> tuple[float, Any]:
        g = np.empty_like(x)
        return kernel(x, g), g

    return call


def by_jax(problem: Problem) -> Contender:
    jnp = engines.start_jax().numpy
    return engines.jax_gradient(
        lambda x: jnp.sum(jnp.tanh(x) * jnp.exp(-(x**2)) + jnp.log1p(x**2) * jnp.sin(x)), problem
    )


def by_torch(problem: Problem, compiled: bool = False) -> Contender:
    torch = engines.start_torch(compiled)
    return engines.torch_gradient(
        lambda x: (torch.tanh(x) * torch.exp(-(x**2)) + torch.log1p(x**2) * torch.sin(x)).sum(), problem, compiled
    )


def by_autograd(problem: Problem) -> Contender:
    anp = engines.start_autograd().numpy
    return engines.autograd_gradient(
        lambda x: anp.sum(anp.tanh(x) * anp.exp(-(x**2)) + anp.log1p(x**2) * anp.sin(x)), problem
    )


def by_casadi(problem: Problem, generated_c: bool = False) -> Contender:
    casadi = engines.start_casadi()

    def write() -> tuple[list[Any], Any]:
        x = casadi.MX.sym("x", problem.arguments[0].size)
        wave = casadi.tanh(x) * casadi.exp(-(x**2)) + casadi.log1p(x**2) * casadi.sin(x)
        return [x], casadi.sum1(wave)

    return engines.casadi_gradient(write, problem, generated_c)


SIZES = ("f64 1000000", "f32 1000000")

ELEMENTWISE = Workload(
    name="elementwise",
    title="tanh, exp, log1p, sin on 10⁶ numbers",
    problem=problem,
    sizes=SIZES,
    tiny="f64 9",
    value=value,
    by_hand=gradient,
    contenders={
        "adjoint": partial(engines.adjoint_gradient, value),
        "jax": by_jax,
        "torch": by_torch,
        "torch compiled": partial(by_torch, compiled=True),
        "autograd": by_autograd,
        "casadi": by_casadi,
        "casadi C": partial(by_casadi, generated_c=True),
        "numpy by hand": partial(engines.by_hand, gradient),
        "numba by hand": partial(engines.numba_call, by_numba),
    },
    left_out={(SIZES[1], name): "CasADi computes in float64 only" for name in ("casadi", "casadi C")},
)
