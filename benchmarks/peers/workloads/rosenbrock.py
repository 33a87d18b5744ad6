"""The chained Rosenbrock function, f(x) = Σ 100 (x[i+1] − x[i]²)² + (1 − x[i])²: gradient, and Hessian times vector.

With a = x[:-1], b = x[1:] and the gap t = b − a²:  ∂f/∂a = −400 a t − 2 (1 − a),  ∂f/∂b = 200 t.
Along v: t' = v_b − 2 a v_a, so H v has the parts −400 (v_a t + a t') + 2 v_a and 200 t'.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import engines
from benchmarks.peers.contender import STEP, Contender, Problem, Workload, relative_error

LARGEST_SCALAR_GRAPH = 5000  # CasADi: a graph of scalars up to here (fast for few), of vectors beyond


def value(x: Any) -> Any:
    a, b = x[:-1], x[1:]
    return np.sum(100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2)


def gradient(x: Any) -> tuple[Any, Any]:
    a, b = x[:-1], x[1:]
    t, u = b - a * a, 1.0 - a
    g = np.empty_like(x)
    g[-1] = 0.0
    g[:-1] = -400.0 * a * t - 2.0 * u
    g[1:] += 200.0 * t
    return 100.0 * (t @ t) + u @ u, g


def hessian_times(x: Any, v: Any) -> tuple[Any]:
    a, va = x[:-1], v[:-1]
    t, dt = x[1:] - a * a, v[1:] - 2.0 * a * va
    h = np.empty_like(x)
    h[-1] = 0.0
    h[:-1] = 2.0 * va - 400.0 * (va * t + a * dt)
    h[1:] += 200.0 * dt
    return (h,)


def problem(size: str, vectors: int = 1) -> Problem:
    """`vectors` = 2: also a direction."""
    generator = np.random.default_rng(0)
    return Problem(tuple(generator.standard_normal(int(size)) for _ in range(vectors)))


def check_product(problem: Problem) -> float:
    """H v against the complex step of the gradient along v."""
    x, v = problem.arguments
    return relative_error([gradient(x + 1j * STEP * v)[1].imag / STEP], hessian_times(x, v))


# The gradient


def by_numba(jit: Any) -> Any:
    """One pass: element i needs the gap on its left and the gap on its right."""

    @jit
    def kernel(x: Any, g: Any) -> float:
        n = x.size
        t, u = x[1] - x[0] * x[0], 1.0 - x[0]
        total = 100.0 * t * t + u * u
        g[0] = -400.0 * x[0] * t - 2.0 * u
        for i in range(1, n - 1):
            before = x[i] - x[i - 1] * x[i - 1]
            t, u = x[i + 1] - x[i] * x[i], 1.0 - x[i]
            total += 100.0 * t * t + u * u
            g[i] = 200.0 * before - 400.0 * x[i] * t - 2.0 * u
        g[n - 1] = 200.0 * (x[n - 1] - x[n - 2] * x[n - 2])
        return total

    def call(x: Any) -> tuple[float, Any]:
        g = np.empty_like(x)
        return kernel(x, g), g

    return call


def by_jax(problem: Problem) -> Contender:
    jnp = engines.start_jax().numpy
    return engines.jax_gradient(lambda x: jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2), problem)


def torch_value(x: Any) -> Any:
    a, b = x[:-1], x[1:]
    return (100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2).sum()


def by_autograd(problem: Problem) -> Contender:
    anp = engines.start_autograd().numpy
    return engines.autograd_gradient(
        lambda x: anp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2), problem
    )


def casadi_value(n: int, vectors: int) -> tuple[list[Any], Any]:
    """Symbols of length n, and f of the first."""
    casadi = engines.start_casadi()
    kind = casadi.SX if n <= LARGEST_SCALAR_GRAPH else casadi.MX
    symbols = [kind.sym(name, n) for name in "xv"[:vectors]]
    a, b = symbols[0][:-1], symbols[0][1:]
    return symbols, casadi.sum1(100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2)


def by_casadi(problem: Problem, generated_c: bool = False) -> Contender:
    return engines.casadi_gradient(lambda: casadi_value(problem.arguments[0].size, 1), problem, generated_c)


# Hessian times vector


def product_by_numba(jit: Any) -> Any:
    @jit
    def kernel(x: Any, v: Any, h: Any) -> None:
        n = x.size
        h[0] = (1200.0 * x[0] * x[0] - 400.0 * x[1] + 2.0) * v[0] - 400.0 * x[0] * v[1]
        for i in range(1, n - 1):
            diagonal = 1200.0 * x[i] * x[i] - 400.0 * x[i + 1] + 202.0
            h[i] = diagonal * v[i] - 400.0 * (x[i] * v[i + 1] + x[i - 1] * v[i - 1])
        h[n - 1] = 200.0 * v[n - 1] - 400.0 * x[n - 2] * v[n - 2]

    def call(x: Any, v: Any) -> tuple[Any]:
        h = np.empty_like(x)
        kernel(x, v, h)
        return (h,)

    return call


def product_by_adjoint(problem: Problem) -> Contender:
    return engines.adjoint_call(lambda ad: lambda x, v: ad.hvp(value, (x,), (v,)), problem, lambda h: [h])


def product_by_jax(problem: Problem) -> Contender:
    jax = engines.start_jax()
    jnp = jax.numpy
    slope = jax.grad(lambda x: jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))
    return engines.jax_call(lambda x, v: jax.jvp(slope, (x,), (v,))[1], problem, lambda h: [h])


def product_by_torch(problem: Problem, compiled: bool = False) -> Contender:
    """Eager: reverse over reverse. Compiled: forward over reverse in torch.func, which torch.compile takes whole."""
    torch = engines.start_torch(compiled)

    def twice_back(x: Any, v: Any) -> Any:
        x = x.detach().requires_grad_(True)
        (slope,) = torch.autograd.grad(torch_value(x), x, create_graph=True)
        return torch.autograd.grad(slope, x, v)[0]

    def forward_over_reverse(x: Any, v: Any) -> Any:
        return torch.func.jvp(torch.func.grad(torch_value), (x,), (v,))[1]

    function = forward_over_reverse if compiled else twice_back
    return engines.torch_call(function, problem, lambda h: [h.detach().numpy()], compiled)


def product_by_autograd(problem: Problem) -> Contender:
    autograd = engines.start_autograd()
    anp = autograd.numpy
    f = lambda x: anp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
    x, v = problem.arguments

    def build() -> Any:
        make = autograd.make_hvp(f)
        return lambda: make(x)[0](v)

    return Contender(build, lambda h: [h])


def product_by_casadi(problem: Problem, generated_c: bool = False) -> Contender:
    casadi = engines.start_casadi()

    def write() -> tuple[Any, Any]:
        (x, v), f = casadi_value(problem.arguments[0].size, 2)
        return (x, v), (casadi.jtimes(casadi.gradient(f, x), x, v),)

    return engines.casadi_call(write, problem.arguments, list, generated_c)


SIZES = ("10", "1000", "1000000")

GRADIENT = Workload(
    name="rosen",
    title="Rosenbrock, value and gradient",
    problem=problem,
    sizes=SIZES,
    tiny="7",
    value=value,
    by_hand=gradient,
    contenders={
        "adjoint": partial(engines.adjoint_gradient, value),
        "jax": by_jax,
        "torch": partial(engines.torch_gradient, torch_value),
        "torch compiled": partial(engines.torch_gradient, torch_value, compiled=True),
        "autograd": by_autograd,
        "casadi": by_casadi,
        "casadi C": partial(by_casadi, generated_c=True),
        "numpy by hand": partial(engines.by_hand, gradient),
        "numba by hand": partial(engines.numba_call, by_numba),
    },
)

PRODUCT = Workload(
    name="rosen hvp",
    title="Rosenbrock, Hessian times vector",
    problem=partial(problem, vectors=2),
    sizes=SIZES,
    tiny="7",
    value=value,
    by_hand=hessian_times,
    contenders={
        "adjoint": product_by_adjoint,
        "jax": product_by_jax,
        "torch": product_by_torch,
        "torch compiled": partial(product_by_torch, compiled=True),
        "autograd": product_by_autograd,
        "casadi": product_by_casadi,
        "casadi C": partial(product_by_casadi, generated_c=True),
        "numpy by hand": partial(engines.by_hand, hessian_times),
        "numba by hand": partial(engines.numba_call, product_by_numba),
    },
    check=check_product,
)
