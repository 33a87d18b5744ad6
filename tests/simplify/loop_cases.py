"""Loops as people write them: (name, function of T, arguments for T). Each function returns a number."""

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad
import adjoint.numpy as anp

Case = Callable[[int], tuple[Callable[..., Any], tuple[Any, ...]]]
CASES: dict[str, Case] = {}


def case(make: Case) -> Case:
    CASES[make.__name__] = make
    return make


def random(*shape: int) -> Any:
    return np.random.default_rng(sum(shape) + len(shape)).normal(size=shape)


@case
def recurrent_network(T):
    def f(W, U, b, v, X, y):
        A = X @ U.T + b
        h = np.zeros(3)
        hs = np.empty_like(A)
        for t in range(T):
            h = np.tanh(W @ h + A[t])
            hs[t] = h
        r = hs @ v - y
        return 0.5 * np.sum(r * r) / T

    return f, (random(3, 3), random(3, 2), random(3), random(3), random(T, 2), random(T))


@case
def two_scalars(T):
    def f(th, y0):
        a, b = th
        x, y = y0
        for _ in range(T):
            x, y = x + 0.1 * (a * x - b * x * y), y + 0.1 * (a * x * y - b * y)
        return x * x + y

    return f, (np.array([0.5, 0.4]), np.array([1.0, 0.7]))


@case
def runge_kutta(T):
    def step(x, y, a, b):
        k, l = a * x - b * x * y, b * x * y - a * y
        u, v = x + 0.05 * k, y + 0.05 * l
        return x + 0.1 * (a * u - b * u * v), y + 0.1 * (b * u * v - a * v)

    def f(p):
        x, y = p[0], p[1]
        for _ in range(T):
            x, y = step(x, y, p[2], p[3])
        return (x - 2.0) ** 2 + y**2

    return f, (random(4),)


@case
def neighbors(T):
    def f(x):
        s = 0.0
        for i in range(T):
            s = s + x[i] * x[i + 1]
        return s

    return f, (random(T + 1),)


@case
def recursive_filter(T):
    def f(x):
        y = anp.zeros(T)
        for t in range(1, T):
            y[t] = 0.5 * y[t - 1] + 0.2 * x[t]
        return np.sum(y**2)

    return f, (random(T),)


@case
def second_order_filter(T):
    def f(x):
        y = anp.zeros(T + 2)
        y[0] = x[0]
        for t in range(2, T):
            y[t] = 0.5 * y[t - 1] - 0.3 * y[t - 2] + np.sin(x[t])
        return np.sum(y**2)

    return f, (random(T),)


@case
def rows_of_states(T):
    def f(u0):
        u = anp.zeros((T + 1, 3))
        u[0] = u0
        for t in range(T):
            u[t + 1] = u[t] + 0.1 * np.sin(u[t]) * u[t, 0]
        return np.sum(u * u)

    return f, (random(3),)


@case
def stacked_list(T):
    def f(x):
        found, h = [], x[0]
        for t in range(T):
            h = np.sin(h) * x[t]
            found.append(h)
        return np.sum(np.stack(found) ** 2)

    return f, (random(T),)


@case
def stacked_last(T):
    def f(x):
        found, h = [], x[0]
        for t in range(T):
            h = np.sin(h) * x[t]
            found.append(h)
        return np.sum(np.stack(found, axis=-1) ** 2)

    return f, (random(T, 2),)


@case
def joined_list(T):
    def f(x):
        rows = list(x)
        return np.sum(np.concatenate([np.sin(r) * np.cos(r) for r in rows]) ** 2)

    return f, (random(T, 3),)


@case
def descent(T):
    def f(w, A):
        for _ in range(T):
            w = w - 0.1 * ad.grad(lambda w: np.sum(np.sin(A @ w) ** 2))(w)
        return np.sum(w)

    return f, (random(2), random(3, 2))


@case
def numbers_of_the_step(T):
    def f(x):
        for i in range(T):
            x = np.sin(x * (0.1 * i) + i) + 1.0 / (i + 1)
        return np.sum(x)

    return f, (random(3),)


@case
def parameters_read_inside(T):
    def f(p, x):
        for _ in range(T):
            x = p[0] * np.sin(x) + p[1] * x * p[0]
        return np.sum(x)

    return f, (random(2), random(3))


@case
def horner(T):
    def f(c, x):
        s = c[T - 1]
        for i in range(T - 1):
            s = s * x + c[T - 2 - i]
        return np.sum(s)

    return f, (random(T), random(2))


@case
def columns_and_blocks(T):
    def f(x, y, z):
        h = 0.0
        for i in range(T):
            h = np.cos(h + x[:, i] * y[3 * i : 3 * i + 3] * z[i, 1])
        return np.sum(h)

    return f, (random(3, T), random(3 * T), random(T, 2))


@case
def windows(T):
    def f(x):
        s = 0.0
        for i in range(T):
            s = s + np.sin(np.sum(x[i : i + 3]))
        return s

    return f, (random(T + 3),)


@case
def two_steps_back(T):
    def f(x):
        a, b = x, x * 1.1
        for _ in range(T):
            a, b = b, np.sin(a + 0.3 * b)
        return b

    return f, (0.3,)


@case
def leapfrog(T):
    def f(q, p):
        for _ in range(T):
            p = p - 0.05 * q**3
            q = q + 0.1 * p
            p = p - 0.05 * q**3
        return q * p

    return f, (0.3, 0.4)


@case
def two_writes(T):
    def f(x):
        y, h = anp.zeros((T, 2)), x[0]
        for t in range(T):
            h = np.sin(h + x[t])
            y[t, 0] = h
            y[t, 1] = h * h
        return np.sum(y * y * y)

    return f, (random(T),)


@case
def written_columns(T):
    def f(x):
        y, h = anp.zeros((3, T)), x[0]
        for t in range(T):
            h = np.sin(h + x[t])
            y[:, t] = h
        return np.sum(y * y * y)

    return f, (random(T, 3),)


@case
def any_order(T):
    def f(x):
        s = 1.0
        for i in np.random.default_rng(3).permutation(T).tolist():
            s = np.sin(s * x[i])
        return s

    return f, (random(T),)


@case
def backwards(T):
    def f(x, y):
        h = y[0] * 0.0
        for t in reversed(range(T)):
            h = np.tanh(h + x[t] * y[t])
        return np.sum(h)

    return f, (random(T, 3), random(T, 3))


@case
def running_product(T):
    def f(x):
        s, total = 1.0, 0.0
        for t in range(T):
            s = s * x[t]
            total = total + s
        return total

    return f, (random(T),)


@case
def single_precision(T):
    def f(x):
        h = x[0]
        for t in range(T):
            h = np.tanh(h * 1.1 + 0.3 * t) * x[t]
        return np.sum(h)

    return f, (random(T, 3).astype(np.float32),)


@case
def complex_numbers(T):
    def f(x):
        h = x[0]
        for t in range(T):
            h = h * h * (0.5 + 0.1j) + x[t]
        return np.sum(np.abs(h) ** 2)

    return f, (0.3 * (random(T, 3) + 1j * random(3, T).T),)


@case
def loops_in_a_loop(T):
    def f(x, h):
        for i in range(T):
            for j in range(12):
                h = np.tanh(h + x[i, j])
            h = h * 1.1
        return h

    return f, (random(T, 12), 1.0)


@case
def double_sum(T):
    def f(x, y):
        s = 0.0
        for i in range(T):
            for j in range(9):
                s = s + x[i, j] * y[j]
        return s

    return f, (random(T, 9), random(9))


@case
def numbers_of_both_loops(T):
    def f(x):
        s = 0.0
        for i in range(T):
            for j in range(12):
                s = s + np.sin(0.1 * i * x[j]) * (i + j)
        return s

    return f, (random(12),)


@case
def rows_and_columns(T):
    def f(x, y):
        D = anp.zeros((T + 1, 13))
        for i in range(1, T + 1):
            for j in range(1, 13):
                D[i, j] = (x[i - 1] - y[j - 1]) ** 2 + np.minimum(D[i - 1, j], D[i, j - 1])
        return D[T, 12]

    return f, (random(T), random(12))
