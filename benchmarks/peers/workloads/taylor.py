"""All derivatives up to order k of f(x) = exp(sin x) log(1 + x²) + tanh(x cos x), at n points: an array (k + 1, n).

By hand: the recurrences of power series, r_m = Σ j u_j r_{m−j} / m for r = exp u, and the like for log and tanh. They
are checked by the complex step from one order to the next.
"""

from __future__ import annotations

from functools import partial
from math import factorial
from typing import Any

import numpy as np

from benchmarks.peers import engines
from benchmarks.peers.contender import STEP, Contender, Problem, Workload


def written(m: Any, x: Any) -> Any:
    """f over a namespace `m`."""
    return m.exp(m.sin(x)) * m.log(1.0 + x * x) + m.tanh(x * m.cos(x))


def value(x: Any, order: Any) -> Any:
    return written(np, x)


def convolved(a: Any, b: Any, m: int) -> Any:
    """Coefficient m of the product of two series."""
    return np.einsum("jn,jn->n", a[: m + 1], b[m::-1])


def derivatives(x: Any, order: Any) -> list[Any]:
    k = int(order)
    u, s, c, e, q, g, p, t, w = np.zeros((9, k + 1, x.size), x.dtype)
    j = np.arange(k + 1.0)[:, None]
    u[0], u[1:2] = x, 1.0
    s[0], c[0] = np.sin(x), np.cos(x)
    for m in range(1, k + 1):
        s[m], c[m] = c[m - 1] / m, -s[m - 1] / m
    for m in range(k + 1):
        q[m], p[m] = convolved(u, u, m), convolved(u, c, m)
    q[0] += 1.0
    e[0], g[0], t[0] = np.exp(s[0]), np.log(q[0]), np.tanh(p[0])
    w[0] = 1.0 - t[0] ** 2
    ds, dp = j * s, j * p
    for m in range(1, k + 1):
        e[m] = np.einsum("jn,jn->n", ds[1 : m + 1], e[m - 1 :: -1]) / m
        g[m] = (m * q[m] - np.einsum("jn,jn->n", (j * g)[1:m], q[m - 1 : 0 : -1])) / (m * q[0])
        t[m] = np.einsum("jn,jn->n", dp[1 : m + 1], w[m - 1 :: -1]) / m
        w[m] = -convolved(t, t, m)
    return [(convolved(e, g, m) + t[m]) * float(factorial(m)) for m in range(k + 1)]


def problem(size: str) -> Problem:
    """Size: "order 10, 1000 points"."""
    order, points = size.split(", ")
    n = int(points.split()[0])
    return Problem((np.array([0.7]) if n == 1 else np.linspace(-2.0, 2.0, n) + 0.0137, int(order.split()[1])))


def check(problem: Problem) -> float:
    """f itself, and each derivative against the complex step of the one before."""
    x, order = problem.arguments
    found = derivatives(x, order)
    stepped = [d.imag / STEP for d in derivatives(x + 1j * STEP, order)[:-1]]
    expected = [value(x, order), *stepped]
    return max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in zip(found, expected, strict=True))


def by_adjoint(problem: Problem) -> Contender:
    x, order = problem.arguments

    def write(ad: Any) -> Any:
        def series(x: Any) -> Any:
            one, zero = np.ones_like(x), np.zeros_like(x)
            first, rest = ad.jet(partial(written, np), (x,), ([one] + [zero] * (order - 1),))
            return np.stack([first, *rest])

        return series

    return engines.adjoint_call(write, Problem((x,)), list)


def by_jax(problem: Problem, mode: str) -> Contender:
    """`mode`: its experimental `jet`, or forward mode nested."""
    jax = engines.start_jax()
    jnp = jax.numpy
    x, order = problem.arguments
    f = partial(written, jnp)

    def series(x: Any) -> Any:
        from jax.experimental.jet import jet

        first, rest = jet(f, (x,), ([jnp.ones_like(x)] + [jnp.zeros_like(x)] * (order - 1),))
        return jnp.stack([first, *rest])

    def nested(x: Any) -> Any:
        functions = [f]
        for _ in range(order):
            functions.append(lambda x, g=functions[-1]: jax.jvp(g, (x,), (jnp.ones_like(x),))[1])
        return jnp.stack([g(x) for g in functions])

    return engines.jax_call(series if mode == "jet" else nested, Problem((x,)), list)


def by_torch(problem: Problem) -> Contender:
    torch = engines.start_torch()
    x, order = problem.arguments
    leaf = torch.tensor(x, requires_grad=True)

    def call() -> Any:
        slope = written(torch, leaf)
        found = [slope.detach()]
        for _ in range(order):
            (slope,) = torch.autograd.grad(slope.sum(), leaf, create_graph=True)
            found.append(slope.detach())
        return found

    return Contender(lambda: call, lambda found: [d.numpy() for d in found])


def by_autograd(problem: Problem) -> Contender:
    autograd = engines.start_autograd()
    x, order = problem.arguments

    def build() -> Any:
        functions = [partial(written, autograd.numpy)]
        for _ in range(order):
            functions.append(autograd.elementwise_grad(functions[-1]))
        return lambda: [g(x) for g in functions]

    return Contender(build, list)


def by_casadi(problem: Problem, generated_c: bool = False) -> Contender:
    """A function of one number, mapped over the points."""
    casadi = engines.start_casadi()
    x, order = problem.arguments

    def build() -> Any:
        symbol = casadi.SX.sym("x")
        found = [written(casadi, symbol)]
        for _ in range(order):
            found.append(casadi.cse(casadi.gradient(found[-1], symbol)))
        options = engines.C_OPTIONS if generated_c else {"cse": True}
        one = casadi.Function("one", [symbol], [casadi.vertcat(*found)], options)
        return engines.buffered(one.map(x.size) if x.size > 1 else one, [x])

    return Contender(build, lambda results: list(results[0].reshape(x.size, order + 1).T))


SIZES = ("order 10, 1 point", "order 10, 1000 points", "order 5, 1000 points")
EXPLODES = "derivatives of derivatives of order 10 take more than a minute"

TAYLOR = Workload(
    name="taylor",
    title="All derivatives up to an order",
    problem=problem,
    sizes=SIZES,
    tiny="order 3, 4 points",
    value=value,
    by_hand=derivatives,
    contenders={
        "adjoint": by_adjoint,
        "jax jet": partial(by_jax, mode="jet"),
        "jax nested": partial(by_jax, mode="nested"),
        "torch": by_torch,
        "autograd": by_autograd,
        "casadi": by_casadi,
        "casadi C": partial(by_casadi, generated_c=True),
        "numpy by hand": partial(engines.by_hand, derivatives),
    },
    left_out={(size, name): EXPLODES for size in SIZES[:2] for name in ("jax nested", "torch", "autograd", "casadi C")},
    check=check,
)
