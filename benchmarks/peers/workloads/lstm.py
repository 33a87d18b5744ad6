"""The LSTM of ADBench, whose gates go element by element: gradient in the weights of the layers, of input and output.

A layer with input x, hidden state h and cell c has z = [x h x h] ∘ w + v, gates f, i, o = σ(z), g = tanh z, and goes to
c' = c f + i g, h' = o tanh c'. The prediction y = h' e₁ + e₂ is scored by Σ gold (y − log(Σ exp y + 2)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import engines
from benchmarks.peers.contender import Contender, Problem, Workload


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def layer(m: Any, sigma: Any, x: Any, h: Any, cell: Any, w: Any, v: Any) -> tuple[Any, Any]:
    """(h', c') over a namespace `m`."""
    b = h.shape[0]
    z = m.concatenate((x, h, x, h)) * w + v
    gates = sigma(z[: 3 * b])
    cell = cell * gates[:b] + gates[b : 2 * b] * m.tanh(z[3 * b :])
    return gates[2 * b :] * m.tanh(cell), cell


def step(m: Any, sigma: Any, main: Any, extra: Any, state: Any, x: Any, gold: Any) -> tuple[tuple[Any, ...], Any]:
    """The next state, and the score of a prediction."""
    x, after = x * extra[0], []
    for i in range(len(state) // 2):
        x, cell = layer(m, sigma, x, state[2 * i], state[2 * i + 1], main[2 * i], main[2 * i + 1])
        after += [x, cell]
    y = x * extra[1] + extra[2]
    return tuple(after), m.sum(gold * (y - m.log(m.sum(m.exp(y)) + 2.0)))


def looped(m: Any, sigma: Any, main: Any, extra: Any, state: Any, text: Any) -> Any:
    """A loop of Python's."""
    steps, bits = text.shape[0] - 1, text.shape[1]
    state = tuple(state[i] for i in range(state.shape[0]))
    total = 0.0
    for t in range(steps):
        state, score = step(m, sigma, main, extra, state, text[t], text[t + 1])
        total = total + score
    return -total / (steps * bits)


value: Callable[..., Any] = partial(looped, np, sigmoid)


def gradient(main: Any, extra: Any, state: Any, text: Any) -> tuple[Any, Any, Any]:
    steps, b, layers = text.shape[0] - 1, text.shape[1], main.shape[0] // 2
    s, tape, last = list(state), [], np.empty((steps, b))
    for t in range(steps):
        x, kept = text[t] * extra[0], []
        for i in range(layers):
            h, cell = s[2 * i], s[2 * i + 1]
            z = np.concatenate((x, h, x, h))
            a = z * main[2 * i] + main[2 * i + 1]
            gates, candidate = sigmoid(a[: 3 * b]), np.tanh(a[3 * b :])
            after = cell * gates[:b] + gates[b : 2 * b] * candidate
            shown = np.tanh(after)
            kept.append((z, gates, candidate, cell, shown))
            x = gates[2 * b :] * shown
            s[2 * i], s[2 * i + 1] = x, after
        last[t] = x
        tape.append(kept)
    y, gold = last * extra[1] + extra[2], text[1:]
    e, counts = np.exp(y), gold.sum(axis=1)
    partition, scale = e.sum(axis=1) + 2.0, -1.0 / (steps * b)
    loss = scale * (np.sum(gold * y) - np.sum(counts * np.log(partition)))
    slope_y = scale * (gold - (counts / partition)[:, None] * e)
    in_main, in_extra = np.zeros_like(main), np.zeros_like(extra)
    in_extra[1], in_extra[2] = np.sum(slope_y * last, axis=0), slope_y.sum(axis=0)
    in_x, in_h, in_c, in_a = slope_y * extra[1], np.zeros((layers, b)), np.zeros((layers, b)), np.empty(4 * b)
    for t in reversed(range(steps)):
        dx = in_x[t]
        for i in reversed(range(layers)):
            z, gates, candidate, cell, shown = tape[t][i]
            d = in_h[i] + dx
            dc = in_c[i] + d * gates[2 * b :] * (1 - shown * shown)
            in_a[:b], in_a[b : 2 * b], in_a[2 * b : 3 * b] = dc * cell, dc * candidate, d * shown
            in_a[: 3 * b] *= gates * (1 - gates)
            in_a[3 * b :] = dc * gates[b : 2 * b] * (1 - candidate * candidate)
            in_c[i] = dc * gates[:b]
            in_main[2 * i] += in_a * z
            in_main[2 * i + 1] += in_a
            dz = in_a * main[2 * i]
            dx, in_h[i] = dz[:b] + dz[2 * b : 3 * b], dz[b : 2 * b] + dz[3 * b :]
        in_extra[0] += dx * text[t]
    return loss, in_main, in_extra


def problem(size: str) -> Problem:
    """Size: "2 layers, 1024 characters, 14 bits"."""
    layers, characters, bits = (int(part.split()[0]) for part in size.split(", "))
    draw = np.random.default_rng(0).random
    text = (draw((characters, bits)) < 0.25).astype(np.float64)
    return Problem((draw((2 * layers, 4 * bits)), draw((3, bits)), draw((2 * layers, bits)), text), 2)


def by_adjoint(problem: Problem) -> Contender:
    def write(ad: Any) -> Any:
        def loss(main: Any, extra: Any, state: Any, text: Any) -> Any:
            once = lambda s, pair: step(np, sigmoid, main, extra, s, *pair)
            scores = ad.scan(once, tuple(state), (text[:-1], text[1:]))[1]
            return -np.sum(scores) / scores.shape[0] / text.shape[1]

        return ad.value_and_grad(loss, argnums=(0, 1))

    return engines.adjoint_call(write, problem)


def by_numba(jit: Any) -> Any:
    @jit
    def forward(main: Any, extra: Any, text: Any, st: Any, X: Any, H: Any, G: Any, C: Any, B: Any, S: Any) -> float:
        steps, b, layers = text.shape[0] - 1, text.shape[1], main.shape[0] // 2
        x, total = np.empty(b), 0.0
        for t in range(steps):
            for j in range(b):
                x[j] = text[t, j] * extra[0, j]
            for i in range(layers):
                w, v = main[2 * i], main[2 * i + 1]
                for j in range(b):
                    h, cell = st[2 * i, j], st[2 * i + 1, j]
                    f = 1.0 / (1.0 + math.exp(-(x[j] * w[j] + v[j])))
                    p = 1.0 / (1.0 + math.exp(-(h * w[b + j] + v[b + j])))
                    o = 1.0 / (1.0 + math.exp(-(x[j] * w[2 * b + j] + v[2 * b + j])))
                    g = math.tanh(h * w[3 * b + j] + v[3 * b + j])
                    after = cell * f + p * g
                    X[t, i, j], H[t, i, j], C[t, i, j], B[t, i, j] = x[j], h, g, cell
                    G[t, i, 0, j], G[t, i, 1, j], G[t, i, 2, j] = f, p, o
                    S[t, i, j] = math.tanh(after)
                    x[j] = o * S[t, i, j]
                    st[2 * i, j], st[2 * i + 1, j] = x[j], after
            partition, score, count = 2.0, 0.0, 0.0
            for j in range(b):
                X[t, layers, j] = x[j]
                y = x[j] * extra[1, j] + extra[2, j]
                partition += math.exp(y)
                score += text[t + 1, j] * y
                count += text[t + 1, j]
            total += score - count * math.log(partition)
        return -total / (steps * b)

    @jit
    def backward(
        main: Any, extra: Any, text: Any, X: Any, H: Any, G: Any, C: Any, B: Any, S: Any, gm: Any, ge: Any
    ) -> None:
        steps, b, layers = text.shape[0] - 1, text.shape[1], main.shape[0] // 2
        dh, dc, dx, e = np.zeros((layers, b)), np.zeros((layers, b)), np.empty(b), np.empty(b)
        scale = -1.0 / (steps * b)
        for t in range(steps - 1, -1, -1):
            partition, count = 2.0, 0.0
            for j in range(b):
                e[j] = math.exp(X[t, layers, j] * extra[1, j] + extra[2, j])
                partition += e[j]
                count += text[t + 1, j]
            for j in range(b):
                d = scale * (text[t + 1, j] - count / partition * e[j])
                ge[1, j] += d * X[t, layers, j]
                ge[2, j] += d
                dx[j] = d * extra[1, j]
            for i in range(layers - 1, -1, -1):
                w = main[2 * i]
                for j in range(b):
                    f, p, o, g, s = G[t, i, 0, j], G[t, i, 1, j], G[t, i, 2, j], C[t, i, j], S[t, i, j]
                    d = dh[i, j] + dx[j]
                    back = dc[i, j] + d * o * (1 - s * s)
                    df, dp = back * B[t, i, j] * f * (1 - f), back * g * p * (1 - p)
                    do, dg = d * s * o * (1 - o), back * p * (1 - g * g)
                    dc[i, j] = back * f
                    x, h = X[t, i, j], H[t, i, j]
                    gm[2 * i, j] += df * x
                    gm[2 * i, b + j] += dp * h
                    gm[2 * i, 2 * b + j] += do * x
                    gm[2 * i, 3 * b + j] += dg * h
                    gm[2 * i + 1, j] += df
                    gm[2 * i + 1, b + j] += dp
                    gm[2 * i + 1, 2 * b + j] += do
                    gm[2 * i + 1, 3 * b + j] += dg
                    dx[j], dh[i, j] = df * w[j] + do * w[2 * b + j], dp * w[b + j] + dg * w[3 * b + j]
            for j in range(b):
                ge[0, j] += dx[j] * text[t, j]

    def call(main: Any, extra: Any, state: Any, text: Any) -> tuple[Any, Any, Any]:
        steps, b, layers = text.shape[0] - 1, text.shape[1], main.shape[0] // 2
        X, H, G = np.empty((steps, layers + 1, b)), np.empty((steps, layers, b)), np.empty((steps, layers, 3, b))
        C, B, S = np.empty((3, steps, layers, b))
        loss = forward(main, extra, text, state.copy(), X, H, G, C, B, S)
        in_main, in_extra = np.zeros_like(main), np.zeros_like(extra)
        backward(main, extra, text, X, H, G, C, B, S, in_main, in_extra)
        return loss, in_main, in_extra

    return call


def by_jax(problem: Problem, checkpoint: bool = False) -> Contender:
    jax = engines.start_jax()
    jnp = jax.numpy

    def loss(main: Any, extra: Any, state: Any, text: Any) -> Any:
        once = lambda s, pair: step(jnp, jax.nn.sigmoid, main, extra, s, *pair)
        body = jax.checkpoint(once) if checkpoint else once
        scores = jax.lax.scan(body, tuple(state), (text[:-1], text[1:]))[1]
        return -jnp.sum(scores) / scores.shape[0] / text.shape[1]

    return engines.jax_gradient(loss, problem)


def by_torch(problem: Problem) -> Contender:
    torch = engines.start_torch()
    return engines.torch_gradient(partial(looped, torch, torch.sigmoid), problem)


def by_autograd(problem: Problem) -> Contender:
    anp = engines.start_autograd().numpy
    return engines.autograd_gradient(partial(looped, anp, lambda x: 1.0 / (1.0 + anp.exp(-x))), problem)


def by_casadi(problem: Problem, generated_c: bool = False) -> Contender:
    """`fold` keeps the loop a loop; the step is a graph of scalars, with the score as a last column of the state."""
    casadi = engines.start_casadi()
    state, text = problem.data
    steps, b, n = text.shape[0] - 1, text.shape[1], state.shape[0]
    sigma = lambda x: 1.0 / (1.0 + casadi.exp(-x))

    def write() -> tuple[list[Any], Any]:
        s, pair = casadi.SX.sym("s", b, n + 1), casadi.SX.sym("pair", b, 2)
        w, e = casadi.SX.sym("w", 4 * b, n), casadi.SX.sym("e", b, 3)
        x, after = pair[:, 0] * e[:, 0], []
        for i in range(n // 2):
            h, cell = s[:, 2 * i], s[:, 2 * i + 1]
            z = casadi.vertcat(x, h, x, h) * w[:, 2 * i] + w[:, 2 * i + 1]
            gates = sigma(z[: 3 * b])
            cell = cell * gates[:b] + gates[b : 2 * b] * casadi.tanh(z[3 * b :])
            x = gates[2 * b :] * casadi.tanh(cell)
            after += [x, cell]
        y = x * e[:, 1] + e[:, 2]
        score = casadi.sum1(pair[:, 1] * (y - casadi.log(casadi.sum1(casadi.exp(y)) + 2.0)))
        column = casadi.vertcat(s[0, n] + score, casadi.SX(b - 1, 1))
        once = casadi.Function("once", [s, pair, w, e], [casadi.horzcat(*after, column)])
        M, E = casadi.MX.sym("M", 4 * b, n), casadi.MX.sym("E", b, 3)
        S, T = casadi.MX.sym("S", b, n), casadi.MX.sym("T", b, steps + 1)
        pairs = casadi.reshape(casadi.vertcat(T[:, :-1], T[:, 1:]), b, 2 * steps)
        start = casadi.horzcat(S, casadi.DM.zeros(b, 1))
        end = once.fold(steps)(start, pairs, casadi.repmat(M, 1, steps), casadi.repmat(E, 1, steps))
        return [M, E, S, T], -end[0, n] / (steps * b)

    return engines.casadi_gradient(write, problem, generated_c, transposed=(0, 1, 2, 3))


LSTM = Workload(
    name="lstm",
    title="LSTM, element by element",
    problem=problem,
    sizes=("2 layers, 1024 characters, 14 bits",),
    tiny="2 layers, 5 characters, 3 bits",
    value=value,
    by_hand=gradient,
    contenders={
        "adjoint": by_adjoint,
        "adjoint, plain loop": partial(engines.adjoint_gradient, value),
        "jax": by_jax,
        "jax checkpoint": partial(by_jax, checkpoint=True),
        "torch": by_torch,
        "autograd": by_autograd,
        "casadi": by_casadi,
        "casadi C": partial(by_casadi, generated_c=True),
        "numpy by hand": partial(engines.by_hand, gradient),
        "numba by hand": partial(engines.numba_call, by_numba),
    },
)
