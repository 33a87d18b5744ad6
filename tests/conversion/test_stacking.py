"""Lists of many numbers that a loop writes to, as arrays: equal to Python, and traced once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjoint as ad

N = 40
W = [3, 1, 7, 4, 9, 2, 5, 8, 6, 11, 10, 12]


def knapsack(values: Any) -> Any:
    """The best value below a capacity, in one row."""
    best = [0.0] * (N + 1)
    for k in range(len(W)):
        for room in range(N, W[k] - 1, -1):
            if best[room - W[k]] + values[k] > best[room]:
                best[room] = best[room - W[k]] + values[k]
    return best[-1]


def tree_of_prices(p: Any) -> Any:
    """Backwards through a tree, in a list that becomes shorter by its use."""
    v = [max(p[0] - 1.02**j, 0.0) for j in range(N)]
    for i in range(N - 2, -1, -1):
        for j in range(i + 1):
            v[j] = max(0.98 * (p[1] * v[j + 1] + (1 - p[1]) * v[j]), p[0] - 1.02 ** (2 * j - i))
    return v[0]


def integers_first(x: Any) -> Any:
    """A list of integers in which floats take their positions."""
    table = [0] * 20
    table[0] = 1
    for i in range(1, 20):
        table[i] = table[i - 1] * x[0] + i * x[1]
    return table[19] + sum(table)


def counts(x: Any) -> Any:
    """Integers stay integers."""
    seen = [0] * 15
    for i in range(30):
        seen[(i * i) % 15] += 1
        seen[-1] += 2 if x[0] * i > 5.0 else 1
    total = 0.0
    for i in range(15):
        total += x[1] * seen[i] ** 1.5
    return total + float(seen[4] // 2)


def two_names(x: Any) -> Any:
    """A list under two names, one of them inside an object, written to by a function."""
    row = [x[0] * k for k in range(12)]
    both = {"row": row}

    def smooth(i: Any) -> None:
        both["row"][i] = 0.5 * (row[i - 1] + row[(i + 1) % 12])

    for _ in range(10):
        for i in range(12):
            smooth(i)
    return np.sum(np.array(row) * np.arange(12)) + x[1] * row[3]


def swapped(x: Any) -> Any:
    """Two lists that change their names."""
    old, new = [x[0] * k for k in range(12)], [0.0] * 12
    for _ in range(9):
        for i in range(12):
            new[i] = 0.4 * old[i - 1] + 0.6 * old[i]
        old, new = new, old
    return sum(v * v for v in old) * x[1]


def gone_through(x: Any) -> Any:
    """A list that the body goes through as well: written out."""
    row = [x[0]] * 12
    for i in range(12):
        row[i] = 0.5 * x[1] + 0.1 * sum(row)
    return row[11]


def with_break(x: Any) -> Any:
    """Until a tolerance."""
    row = [0.0] * 16
    for _ in range(200):
        change = 0.0
        for i in range(1, 15):
            new = 0.5 * (row[i - 1] + row[i + 1]) * 0.9 + 0.1 * x[0]
            change = max(change, abs(new - row[i]))
            row[i] = new
        if change < 1e-6:
            break
    return row[7] * x[1]


def sorted_by_exchanges(x: Any) -> Any:
    """Items that change their positions on one side of a branch."""
    v, work = [x[0] * math.sin(3.0 * k) + 0.1 * x[1] * k for k in range(12)], 0.0
    for i in range(len(v)):
        for j in range(len(v) - 1 - i):
            if v[j] > v[j + 1]:
                v[j], v[j + 1] = v[j + 1], v[j]
                work += v[j + 1] - v[j]
    return work + v[0] * v[-1]


PROGRAMS = [
    sorted_by_exchanges,
    knapsack,
    tree_of_prices,
    integers_first,
    counts,
    two_names,
    swapped,
    gone_through,
    with_break,
]
ARGUMENTS = {knapsack: np.linspace(0.7, 2.9, 12) ** 1.1, tree_of_prices: np.array([1.1, 0.53])}


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_list_of_many_numbers(f: Any) -> None:
    x = ARGUMENTS.get(f, np.array([0.9, 0.4]))
    h = 1e-6
    differences = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))]
    value, gradient = ad.jit(ad.value_and_grad(f))(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(ad.jit(f)(x), f(x), rtol=1e-12)
    batch = np.stack([x, 1.03 * x])
    np.testing.assert_allclose(ad.vmap(f)(batch), [f(b) for b in batch], rtol=1e-12)


@pytest.mark.parametrize("f", [knapsack, tree_of_prices, counts, two_names, with_break], ids=lambda f: f.__name__)
def test_the_loop_is_traced_once(f: Any) -> None:
    compiled = ad.jit(f)
    compiled(ARGUMENTS.get(f, np.array([0.9, 0.4])))
    assert "unrolled" not in str(compiled.report())


def test_an_index_beyond_the_end_is_python_s_error() -> None:
    def f(x):
        row = [0.0] * 12
        for i in range(20):
            row[i] = x * i
        return row[3]

    with pytest.raises(IndexError):
        ad.jit(f)(1.0)


def test_single_precision_stays() -> None:
    def f(x):
        row = [x[0] * 0.0] * 12
        for i in range(1, 12):
            row[i] = row[i - 1] * 0.5 + x[1]
        return row[11]

    x = np.array([0.5, 0.25], np.float32)
    assert ad.jit(f)(x).dtype == np.float32
    assert ad.jit(f)(x) == f(x)
