"""Lotka-Volterra by the classical Runge-Kutta method: gradient of |s(T) − target|² / 2 in the rates and the start.

x' = a x − b x y, y' = d x y − c y. A step has the stages s₁ = s, s₂ = s + h/2 k₁, s₃ = s + h/2 k₂, s₄ = s + h k₃ with
k_i = F(s_i), and s⁺ = s + h/6 (k₁ + 2 k₂ + 2 k₃ + k₄). Backwards, with c the cotangent of s⁺ and u_i = F'(s_i)ᵀ c_i:
c₄ = h/6 c, c₃ = h/3 c + h u₄, c₂ = h/3 c + h/2 u₃, c₁ = h/6 c + h/2 u₂, and s receives c + u₁ + u₂ + u₃ + u₄.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import engines
from benchmarks.peers.contender import Contender, Problem, Workload

h = 0.005  # length of a step


def field(x: Any, y: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return a * x - b * x * y, d * x * y - c * y


def as_it_is(function: Any) -> Any:
    """In place of a compiler."""
    return function


def write_step(jit: Any) -> Any:
    slope = jit(field)

    @jit
    def step(x: Any, y: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        p1, q1 = slope(x, y, a, b, c, d)
        p2, q2 = slope(x + 0.5 * h * p1, y + 0.5 * h * q1, a, b, c, d)
        p3, q3 = slope(x + 0.5 * h * p2, y + 0.5 * h * q2, a, b, c, d)
        p4, q4 = slope(x + h * p3, y + h * q3, a, b, c, d)
        return x + h / 6.0 * (p1 + 2.0 * (p2 + p3) + p4), y + h / 6.0 * (q1 + 2.0 * (q2 + q3) + q4)

    return step


step = write_step(as_it_is)


def solution(steps: int, rates: Any, start: Any, target: Any) -> Any:
    """The plain Python loop."""
    a, b, c, d = rates
    x, y = start
    for _ in range(steps):
        x, y = step(x, y, a, b, c, d)
    return 0.5 * ((x - target[0]) ** 2 + (y - target[1]) ** 2)


def value(rates: Any, start: Any, target: Any, steps: Any) -> Any:
    return solution(int(steps), rates, start, target)


def write_step_back(jit: Any) -> Any:
    """x̄, ȳ before a step, and what the four rates receive, from x̄, ȳ after it."""
    slope = jit(field)

    @jit
    def pull(x: Any, y: Any, a: Any, b: Any, c: Any, d: Any, p: Any, q: Any) -> Any:
        return p * (a - b * y) + q * d * y, q * (d * x - c) - p * b * x, p * x, -p * x * y, -q * y, q * x * y

    @jit
    def back(x: Any, y: Any, a: Any, b: Any, c: Any, d: Any, u: Any, v: Any) -> Any:
        p1, q1 = slope(x, y, a, b, c, d)
        x2, y2 = x + 0.5 * h * p1, y + 0.5 * h * q1
        p2, q2 = slope(x2, y2, a, b, c, d)
        x3, y3 = x + 0.5 * h * p2, y + 0.5 * h * q2
        p3, q3 = slope(x3, y3, a, b, c, d)
        x4, y4 = x + h * p3, y + h * q3
        p, q = h / 6.0 * u, h / 6.0 * v
        u4, v4, a4, b4, c4, d4 = pull(x4, y4, a, b, c, d, p, q)
        u3, v3, a3, b3, c3, d3 = pull(x3, y3, a, b, c, d, 2.0 * p + h * u4, 2.0 * q + h * v4)
        u2, v2, a2, b2, c2, d2 = pull(x2, y2, a, b, c, d, 2.0 * p + 0.5 * h * u3, 2.0 * q + 0.5 * h * v3)
        u1, v1, a1, b1, c1, d1 = pull(x, y, a, b, c, d, p + 0.5 * h * u2, q + 0.5 * h * v2)
        state = u + u1 + u2 + u3 + u4, v + v1 + v2 + v3 + v4
        return *state, a1 + a2 + a3 + a4, b1 + b2 + b3 + b4, c1 + c2 + c3 + c4, d1 + d2 + d3 + d4

    return back


def gradient(rates: Any, start: Any, target: Any, steps: Any) -> tuple[Any, Any, Any]:
    """In Python's own floats: arrays of two numbers would be slower."""
    back = write_step_back(as_it_is)
    (a, b, c, d), path = rates.tolist(), [tuple(start.tolist())]
    for _ in range(int(steps)):
        path.append(step(*path[-1], a, b, c, d))
    (x, y), (x_goal, y_goal) = path.pop(), target.tolist()
    u, v = x - x_goal, y - y_goal
    loss, a_bar, b_bar, c_bar, d_bar = 0.5 * (u * u + v * v), 0.0, 0.0, 0.0, 0.0
    for x, y in reversed(path):
        u, v, a_part, b_part, c_part, d_part = back(x, y, a, b, c, d, u, v)
        a_bar, b_bar, c_bar, d_bar = a_bar + a_part, b_bar + b_part, c_bar + c_part, d_bar + d_part
    return loss, np.array([a_bar, b_bar, c_bar, d_bar]), np.array([u, v])


def by_numba(jit: Any) -> Any:
    forward, back = write_step(jit), write_step_back(jit)

    @jit
    def call(rates: Any, start: Any, target: Any, steps: Any) -> Any:
        a, b, c, d = rates[0], rates[1], rates[2], rates[3]
        n = int(steps)
        path = np.empty((n + 1, 2))
        x, y = start[0], start[1]
        for t in range(n):
            path[t, 0], path[t, 1] = x, y
            x, y = forward(x, y, a, b, c, d)
        u, v = x - target[0], y - target[1]
        loss, bar = 0.5 * (u * u + v * v), np.zeros(4)
        for t in range(n - 1, -1, -1):
            u, v, a_part, b_part, c_part, d_part = back(path[t, 0], path[t, 1], a, b, c, d, u, v)
            bar[0] += a_part
            bar[1] += b_part
            bar[2] += c_part
            bar[3] += d_part
        return loss, bar, np.array([u, v])

    return call


def problem(size: str) -> Problem:
    """Size: the number of steps. It is an argument for those who loop in Python, and a fact for the others."""
    rates, start, target = np.array([1.5, 1.0, 3.0, 1.0]), np.array([1.0, 1.0]), np.array([2.0, 0.5])
    return Problem((rates, start, target, np.int64(size)), 2, {"steps": int(size)})


def fixed(problem: Problem) -> Problem:
    """Without the number of steps among the arguments."""
    return Problem(problem.arguments[:3], problem.active, problem.facts)


def by_adjoint(problem: Problem) -> Contender:
    def write(ad: Any) -> Any:
        def loss(rates: Any, start: Any, target: Any) -> Any:
            body = lambda state, _: (step(*state, *rates), None)
            (x, y), _ = ad.scan(body, (start[0], start[1]), length=problem.facts["steps"])
            return 0.5 * ((x - target[0]) ** 2 + (y - target[1]) ** 2)

        return ad.value_and_grad(loss, argnums=(0, 1))

    return engines.adjoint_call(write, fixed(problem))


def by_adjoint_plain(problem: Problem) -> Contender:
    return engines.adjoint_gradient(partial(solution, problem.facts["steps"]), fixed(problem))


def by_jax(problem: Problem, unroll: int = 1, checkpoint: bool = False) -> Contender:
    """The state as two numbers: as one array of two it is slower, in all variants."""
    jax = engines.start_jax()

    def loss(rates: Any, start: Any, target: Any) -> Any:
        body = lambda state, _: (step(*state, *rates), None)
        body = jax.checkpoint(body) if checkpoint else body
        (x, y), _ = jax.lax.scan(body, (start[0], start[1]), length=problem.facts["steps"], unroll=unroll)
        return 0.5 * ((x - target[0]) ** 2 + (y - target[1]) ** 2)

    return engines.jax_gradient(loss, fixed(problem))


def by_torch(problem: Problem, compiled: bool = False) -> Contender:
    """The state as one tensor of two numbers: fewer calls. Compiled: the step alone."""
    torch = engines.start_torch(compiled)

    def plain_step(s: Any, linear: Any, mixed: Any) -> Any:
        slope = lambda s: linear * s + mixed * (s[0] * s[1])
        k1 = slope(s)
        k2 = slope(s + 0.5 * h * k1)
        k3 = slope(s + 0.5 * h * k2)
        k4 = slope(s + h * k3)
        return s + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)

    one = torch.compile(plain_step) if compiled else plain_step

    def loss(rates: Any, start: Any, target: Any) -> Any:
        linear, mixed = torch.stack([rates[0], -rates[2]]), torch.stack([-rates[1], rates[3]])
        s = start
        for _ in range(problem.facts["steps"]):
            s = one(s, linear, mixed)
        return 0.5 * ((s - target) ** 2).sum()

    return engines.torch_gradient(loss, fixed(problem))


def by_autograd(problem: Problem) -> Contender:
    """Rates and start as tuples of numbers, which autograd handles faster than elements of arrays."""
    rates, start, target = (tuple(a.tolist()) for a in fixed(problem).arguments)
    loss = partial(solution, problem.facts["steps"])
    return engines.autograd_gradient(loss, Problem((rates, start, target), 2))


def by_casadi(problem: Problem, generated_c: bool = False) -> Contender:
    """`fold` keeps the loop a loop; the step is a graph of scalars."""
    casadi = engines.start_casadi()
    n = problem.facts["steps"]

    def write() -> tuple[list[Any], Any]:
        s, r = casadi.SX.sym("s", 2), casadi.SX.sym("r", 4)
        one = casadi.Function("step", [s, r], [casadi.vertcat(*step(s[0], s[1], r[0], r[1], r[2], r[3]))])
        rates, start, target = (casadi.MX.sym(name, k) for name, k in (("rates", 4), ("start", 2), ("target", 2)))
        last = one.fold(n)(start, casadi.repmat(rates, 1, n))
        return [rates, start, target], 0.5 * casadi.sumsqr(last - target)

    return engines.casadi_gradient(write, fixed(problem), generated_c)


ODE = Workload(
    name="ode",
    title="Lotka-Volterra, 2000 Runge-Kutta steps",
    problem=problem,
    sizes=("2000",),
    tiny="6",
    value=value,
    by_hand=gradient,
    contenders={
        "adjoint": by_adjoint,
        "adjoint, plain loop": by_adjoint_plain,
        "jax": by_jax,
        "jax checkpoint": partial(by_jax, checkpoint=True),
        "jax unrolled": partial(by_jax, unroll=2),  # unrolled 4 times, XLA's code is 40 times slower
        "torch": by_torch,
        "torch compiled": partial(by_torch, compiled=True),
        "autograd": by_autograd,
        "casadi": by_casadi,
        "casadi C": partial(by_casadi, generated_c=True),
        "numpy by hand": partial(engines.by_hand, gradient),
        "numba by hand": partial(engines.numba_call, by_numba),
    },
)
