"""A tanh network over T steps, batch 1: h_t = tanh(W h_{t-1} + U x_t + b), loss = mean_t (v·h_t − y_t)² / 2.

Backwards, with r_t = (v·h_t − y_t) / T: d_t = (Wᵀ d_{t+1} + r_t v) (1 − h_t²); ∂/∂W = Σ d_t h_{t-1}ᵀ,
∂/∂U = Σ d_t x_tᵀ, ∂/∂b = Σ d_t, ∂/∂v = Σ r_t h_t. Everybody forms X Uᵀ + b before the loop.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import engines
from benchmarks.peers.contender import Contender, Problem, Workload


def value(W: Any, U: Any, b: Any, v: Any, X: Any, y: Any) -> Any:
    """The plain Python loop."""
    drive = X @ U.T + b
    h, total = np.zeros(b.shape), 0.0
    for t in range(y.shape[0]):
        h = np.tanh(W @ h + drive[t])
        total = total + (v @ h - y[t]) ** 2
    return 0.5 * total / y.shape[0]


def gradient(W: Any, U: Any, b: Any, v: Any, X: Any, y: Any) -> tuple[Any, ...]:
    T = y.size
    drive = X @ U.T + b
    hs = np.zeros((T + 1, b.size))  # hs[t + 1] = h_t
    for t in range(T):
        np.tanh(W @ hs[t] + drive[t], out=hs[t + 1])
    after = hs[1:]
    r = (after @ v - y) / T
    slopes, pulls = 1.0 - after * after, np.outer(r, v)
    ds, d, transposed = np.empty_like(drive), np.zeros(b.size), np.ascontiguousarray(W.T)
    for t in reversed(range(T)):
        d = (transposed @ d + pulls[t]) * slopes[t]
        ds[t] = d
    return 0.5 * T * (r @ r), ds.T @ hs[:-1], ds.T @ X, ds.sum(axis=0), r @ after


def problem(size: str) -> Problem:
    """Size: "T1000 H32"."""
    T, H = (int(part[1:]) for part in size.split())
    generator = np.random.default_rng(0)
    normal, scale = generator.standard_normal, 1.0 / np.sqrt(H)
    W, U, b, v = 0.9 * scale * normal((H, H)), scale * normal((H, H)), 0.1 * normal(H), scale * normal(H)
    return Problem((W, U, b, v, normal((T, H)), normal(T)), 4)


def by_adjoint(problem: Problem) -> Contender:
    def write(ad: Any) -> Any:
        def loss(W: Any, U: Any, b: Any, v: Any, X: Any, y: Any) -> Any:
            def step(h: Any, drive: Any) -> Any:
                h = np.tanh(W @ h + drive)
                return h, h

            _, hs = ad.scan(step, np.zeros(b.shape), X @ U.T + b)
            return 0.5 * np.mean((hs @ v - y) ** 2)

        return ad.value_and_grad(loss, argnums=(0, 1, 2, 3))

    return engines.adjoint_call(write, problem)


def by_numba(jit: Any) -> Any:
    """Matrix times vector column by column, so that the inner loop runs along memory and is vectorized."""

    @jit
    def forward(columns: Any, drive: Any, v: Any, y: Any, hs: Any) -> float:
        T, H = drive.shape
        a, total = np.empty(H), 0.0
        for t in range(T):
            a[:] = drive[t]
            for j in range(H):
                h = hs[t, j]
                for i in range(H):
                    a[i] += columns[j, i] * h
            output = 0.0
            for i in range(H):
                hs[t + 1, i] = np.tanh(a[i])
                output += v[i] * hs[t + 1, i]
            total += (output - y[t]) ** 2
        return 0.5 * total / T

    @jit
    def backward(W: Any, v: Any, y: Any, hs: Any, ds: Any) -> Any:
        T, H = ds.shape
        d, a, v_bar = np.zeros(H), np.empty(H), np.zeros(H)
        for t in range(T - 1, -1, -1):
            output = 0.0
            for i in range(H):
                output += v[i] * hs[t + 1, i]
            r = (output - y[t]) / T
            for i in range(H):
                a[i] = r * v[i]
                v_bar[i] += r * hs[t + 1, i]
            for j in range(H):
                for i in range(H):
                    a[i] += W[j, i] * d[j]
            for i in range(H):
                d[i] = a[i] * (1.0 - hs[t + 1, i] ** 2)
                ds[t, i] = d[i]
        return v_bar

    def call(W: Any, U: Any, b: Any, v: Any, X: Any, y: Any) -> tuple[Any, ...]:
        hs, ds = np.zeros((y.size + 1, b.size)), np.empty((y.size, b.size))
        loss = forward(np.ascontiguousarray(W.T), X @ U.T + b, v, y, hs)
        v_bar = backward(W, v, y, hs, ds)
        return loss, ds.T @ hs[:-1], ds.T @ X, ds.sum(axis=0), v_bar

    return call


def by_jax(problem: Problem, unroll: int = 1, checkpoint: bool = False) -> Contender:
    jax = engines.start_jax()
    jnp = jax.numpy

    def loss(W: Any, U: Any, b: Any, v: Any, X: Any, y: Any) -> Any:
        def step(h: Any, drive: Any) -> Any:
            h = jnp.tanh(W @ h + drive)
            return h, h

        body = jax.checkpoint(step) if checkpoint else step
        _, hs = jax.lax.scan(body, jnp.zeros(b.shape), X @ U.T + b, unroll=unroll)
        return 0.5 * jnp.mean((hs @ v - y) ** 2)

    return engines.jax_gradient(loss, problem)


def by_torch(problem: Problem, compiled: bool = False) -> Contender:
    """Compiled: the step alone. The whole loop would be unrolled."""
    torch = engines.start_torch(compiled)

    def plain_step(W: Any, h: Any, drive: Any) -> Any:
        return torch.tanh(torch.addmv(drive, W, h))

    step = torch.compile(plain_step) if compiled else plain_step

    def loss(W: Any, U: Any, b: Any, v: Any, X: Any, y: Any) -> Any:
        h, hs = torch.zeros_like(b), []
        for drive in torch.addmm(b, X, U.T).unbind(0):
            h = step(W, h, drive)
            hs.append(h)
        return 0.5 * ((torch.stack(hs) @ v - y) ** 2).mean()

    return engines.torch_gradient(loss, problem)


def by_autograd(problem: Problem) -> Contender:
    anp = engines.start_autograd().numpy

    def loss(W: Any, U: Any, b: Any, v: Any, X: Any, y: Any) -> Any:
        drive = anp.dot(X, U.T) + b
        h, total = anp.zeros(b.shape), 0.0
        for t in range(y.size):
            h = anp.tanh(anp.dot(W, h) + drive[t])
            total = total + (anp.dot(v, h) - y[t]) ** 2
        return 0.5 * total / y.size

    return engines.autograd_gradient(loss, problem)


def by_casadi(problem: Problem, generated_c: bool = False) -> Contender:
    """`mapaccum` keeps the loop a loop."""
    casadi = engines.start_casadi()
    T, H = problem.arguments[4].shape

    def write() -> tuple[list[Any], Any]:
        h, drive, W = casadi.MX.sym("h", H), casadi.MX.sym("drive", H), casadi.MX.sym("W", H, H)
        step = casadi.Function("step", [h, drive, W], [casadi.tanh(casadi.mtimes(W, h) + drive)])
        U, b, v = casadi.MX.sym("U", H, H), casadi.MX.sym("b", H), casadi.MX.sym("v", H)
        X, y = casadi.MX.sym("X", H, T), casadi.MX.sym("y", T)
        drives = casadi.mtimes(U, X) + casadi.repmat(b, 1, T)
        hs = step.mapaccum("loop", T)(casadi.DM.zeros(H), drives, casadi.repmat(W, 1, T))
        return [W, U, b, v, X, y], 0.5 * casadi.sumsqr(casadi.mtimes(hs.T, v) - y) / T

    return engines.casadi_gradient(write, problem, generated_c, transposed=(4,))


RNN = Workload(
    name="rnn",
    title="Recurrent network, 1000 steps, 32 units",
    problem=problem,
    sizes=("T1000 H32",),
    tiny="T5 H3",
    value=value,
    by_hand=gradient,
    contenders={
        "adjoint": by_adjoint,
        "adjoint, plain loop": partial(engines.adjoint_gradient, value),
        "jax": by_jax,
        "jax checkpoint": partial(by_jax, checkpoint=True),
        "jax unrolled": partial(by_jax, unroll=8),
        "jax checkpoint unrolled": partial(by_jax, unroll=8, checkpoint=True),
        "torch": by_torch,
        "torch compiled": partial(by_torch, compiled=True),
        "autograd": by_autograd,
        "casadi": by_casadi,
        "casadi C": partial(by_casadi, generated_c=True),
        "numpy by hand": partial(engines.by_hand, gradient),
        "numba by hand": partial(engines.numba_call, by_numba),
    },
)
