"""Loops that read and write elements of arrays by computed indices: f(x) → number, for x of any length."""

from typing import Any

import numpy as np

import adjoint as ad

BATCH = np.array([1, 1.1, 0.9, 0.3, 0.6, 1.4, 1.2, 0.5, 0.7])


def scan(body: Any, carry: Any, n: int) -> Any:
    """The last carry of body(carry, i) → carry for i = 0 … n - 1."""
    return ad.scan(lambda c, i: (body(c, i), None), carry, np.arange(n))[0]


def square(x: Any) -> tuple[Any, int]:
    """As many elements as a square matrix has, as that matrix."""
    n = int(np.sqrt(x.size))
    return x[: n * n].reshape(n, n), n


def element(x: Any) -> Any:
    return scan(lambda c, i: c + np.sin(x[i]) * c * 0.1, 1.0, x.size)


def element_in_while(x: Any) -> Any:
    step = lambda s: (s[0] + 1, s[1] + np.sin(x[s[0]]) * s[1] * 0.1)
    return ad.while_loop(lambda s: s[0] < x.size, step, (0, 1.0))[1]


def rows_and_columns(x: Any) -> Any:
    a, n = square(x)
    return scan(lambda c, i: c + np.sum(np.sin(a[:, i]) * a[i, :]) * 0.1 + a[i, i] * c * 0.01, 1.0, n)


def element_of_row(x: Any) -> Any:
    a, n = square(x)
    return scan(lambda c, i: c + np.sin(a[i][n - 1 - i]) * c, 1.0, n)


def element_of_slices(x: Any) -> Any:
    return scan(lambda c, i: c + np.sin(x[3:][i]) * c * 0.1 + x[::-1][i] ** 2, 1.0, x.size - 3)


def element_of_transposed(x: Any) -> Any:
    a, n = square(x)
    return scan(lambda c, i: np.tanh(c + a.T[1:][i - 1, 0] - a.T[i, i] * c + a.reshape(-1)[n + i]), 0.1, n)


def several_elements(x: Any) -> Any:
    a, n = square(x)
    chosen = np.arange(n)[::-1].copy()
    return scan(lambda c, i: c + np.sum(np.sin(a[chosen[:3], (chosen[3:6] + i) % n])) * c * 0.1, 1.0, n)


def window(x: Any) -> Any:
    return np.sum(scan(lambda c, i: np.tanh(c + x[np.arange(4) + i] * 0.3), np.ones(4), x.size - 4))


def nested(x: Any) -> Any:
    inner = lambda d, j, i: d + np.sin(x[(i + j) % x.size]) * d * 0.1 + x[j]
    return scan(lambda c, i: scan(lambda d, j: inner(d, j, i), c, 5) * 0.9, 1.0, x.size)


def nested_while(x: Any) -> Any:
    def outer(c: Any, i: Any) -> Any:
        step = lambda s: (s[0] + 1, s[1] * 0.9 + np.sin(x[(i + s[0]) % x.size]))
        return ad.while_loop(lambda s: (s[0] < 3) | ((s[0] < 8) & (s[1] > 0.8)), step, (0, c))[1]

    return scan(outer, 1.0, x.size)


def branches(x: Any) -> Any:
    def body(c: Any, i: Any) -> Any:
        small = lambda c: ad.cond(x[i] > 0.3, lambda c: c + x[i] ** 2, lambda c: c * 0.5, c)
        return ad.cond(x[i] > 0.5, lambda c: c * np.sin(x[i]) + x[i - 1], small, c)

    return scan(body, 1.0, x.size)


def two_sums(x: Any) -> Any:
    def body(s: Any, i: Any) -> Any:
        a, b = s
        return (a + x[i] * b, b * np.cos(x[i - 1]) + a * 0.01), a * x[i]

    (a, b), ys = ad.scan(body, (0.5, 1.0), np.arange(x.size))
    return a + b + np.sum(ys * x)


def written(x: Any) -> Any:
    def body(z: Any, i: Any) -> Any:
        v = np.sin(z[i - 1]) + x[i] * z[(i * 7) % x.size]
        z = z.copy()
        z[i] = v
        return z

    z = scan(body, np.zeros_like(x), x.size)
    return np.sum(z * np.cos(z))


def written_rows(x: Any) -> Any:
    a, n = square(x)

    def body(z: Any, i: Any) -> Any:
        z = z.copy()
        z[i, :] = np.sin(x[i] * z[i - 1, :]) + z[:, i]
        z[(i + 1) % n, i] += x[i]
        return z

    return np.sum(scan(body, a * 0.3, n) ** 2)


def sweeps(x: Any) -> Any:
    """Gauss-Seidel: a loop inside a loop writes, and reads what it has written."""

    def relax(z: Any, i: Any) -> Any:
        v = 0.3 * (z[i - 1] + z[(i + 1) % x.size]) + x[i]
        z = z.copy()
        z[i] = np.tanh(v)
        return z

    return np.sum(scan(lambda z, k: scan(relax, z, x.size), x * 0.1, 3) * x)


def histogram(x: Any) -> Any:
    def body(h: Any, i: Any) -> Any:
        h = h.copy()
        h[(i * i) % x.size] += np.sin(x[i]) * h[i]
        return h

    return np.sum(scan(body, x * 1.0, x.size) ** 2)


def checkpointed(x: Any) -> Any:
    return scan(ad.checkpoint(lambda c, i: c + np.sin(x[i]) * c * 0.1), 1.0, x.size)


def batch(x: Any) -> Any:
    return np.sum(ad.vmap(element)(np.stack([x, x * 1.1, x * 0.9])))


def batch_of_while(x: Any) -> Any:
    def f(x: Any, most: Any) -> Any:
        def body(s: Any) -> Any:
            i, c, z = s
            z = z.copy()
            z[i] = c
            return i + 1, c + np.sin(x[i] + z[i - 1]) * c * 0.1, z

        _, c, z = ad.while_loop(lambda s: (s[1] < most) & (s[0] < x.size), body, (0, 1.0, x * 0.1))
        return c + np.sum(z)

    return np.sum(ad.vmap(f)(np.outer(BATCH, x), np.linspace(1.5, 6.0, len(BATCH))))


LOOPS = [
    *(element, element_in_while, rows_and_columns, element_of_row, element_of_slices, element_of_transposed),
    *(several_elements, window, nested, nested_while, branches, two_sums, written, written_rows, sweeps, histogram),
    *(checkpointed, batch, batch_of_while),
]
