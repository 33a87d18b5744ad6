"""Lists and dicts that the body of a loop makes: carried where they have one name, Python's own where not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad

N = 300


def row_of_an_iteration(x: Any) -> Any:
    total = 0.0
    for i in range(N):
        row = [0.0, 0.0]
        row[0] = x * i
        row[1] += row[0] ** 2
        total = total + 1e-6 * row[0] * row[1]
    return total


def appended_in_an_iteration(x: Any) -> Any:
    total = 0.0
    for i in range(N):
        row = []
        for k in range(3):
            row.append(x * k + 0.01 * i)
        total = total + row[0] * row[2] - sum(row)
    return total


def dict_of_an_iteration(x: Any) -> Any:
    total = 0.0
    for i in range(N):
        seen = {"a": x * i}
        seen["b"] = 0.5 * seen["a"] + total
        total = 0.9 * seen["b"]
    return total


def made_by_a_function(x: Any) -> Any:
    def halves(a: Any, b: Any) -> Any:
        pair = [a, b]
        pair[1] = 0.5 * (pair[0] + pair[1])
        return pair

    low, high = 0.0, x
    for _ in range(N):
        low, high = halves(0.9 * low, high)
        low = low + 0.1 * high
    return low * high


def handed_on(x: Any) -> Any:
    state = [x, 2.0 * x]
    for _ in range(N):
        state = [0.9 * state[0], state[1]]
        state[1] = state[0] + 0.5 * state[1]
    state[0] = state[0] + 1.0
    return state[0] * state[1]


def two_rows(x: Any) -> Any:
    before = [0.1 * j for j in range(30)]
    for i in range(1, 40):
        now = [0.3 * i * x] + [0.0] * 29
        for j in range(1, 30):
            now[j] = min(before[j] + 0.3, now[j - 1] + 0.3, before[j - 1] + abs(x * i - 0.5 * j))
        before = now
    return before[29]


def copied_row(x: Any) -> Any:
    cells = [0.0] * 12
    cells[6] = x
    for _ in range(40):
        following = cells[:]
        for i in range(1, 11):
            following[i] = 0.3 * cells[i - 1] + 0.5 * cells[i] + 0.1 * x * cells[i + 1]
        cells = following
    return sum(c * i for i, c in enumerate(cells))


SERVED = [
    copied_row, row_of_an_iteration, appended_in_an_iteration, dict_of_an_iteration, made_by_a_function, handed_on,
    two_rows,
]  # fmt: skip


def two_names(x: Any) -> Any:
    state = [x, 2.0 * x]
    for _ in range(40):
        state = [0.9 * state[0], state[1] + 0.1]
        other = state
    other[0] = 5.0
    return state[0] * state[1] + other[1]


def named_before(x: Any) -> Any:
    first = [x, 2.0 * x]
    state = first
    for i in range(40):
        state[0] = state[0] * 0.9
        state = [state[0], state[1] + 0.01 * i]
    return first[0] + 10.0 * state[0] + state[1]


def kept_in_a_history(x: Any) -> Any:
    state, history = [x, 2.0 * x], [[0.0, 0.0]]
    for _ in range(40):
        state = [0.9 * state[0], state[1]]
        history.append(state)
    state[1] = 7.0 * x
    return sum(row[0] * row[1] for row in history)


def kept_in_an_object(x: Any) -> Any:
    class Keeper:
        row: Any = None

    keeper = Keeper()
    row = [x, x]
    for i in range(40):
        row = [row[0] * 0.9, row[1] + 0.1 * i]
        keeper.row = row
    row[0] = 3.0 * x
    return keeper.row[0] * keeper.row[1]


def swapped(x: Any) -> Any:
    old, new = [x, 2.0 * x, 3.0 * x], [0.0, 0.0, 0.0]
    for _ in range(41):
        for i in range(3):
            new[i] = 0.4 * old[i - 1] + 0.54 * old[i]
        old, new = new, old
    return sum(old) * x + new[0]


def made_on_one_side(x: Any) -> Any:
    first = [x, 2.0 * x]
    state = first
    s = x
    for _ in range(40):
        s = 0.9 * s
        if s < 0.2:
            state = [s, state[1]]
    state[1] = 5.0 * x
    return first[1] + state[0]


def no_iteration(x: Any) -> Any:
    first = [x, 2.0 * x]
    state, s = first, abs(x)
    while s < 0.5:
        state, s = [2.0 * state[0], state[1]], 2.0 * s
    state[1] = 5.0 * x
    return first[1] + state[0]


ASKED = [two_names, named_before, kept_in_a_history, kept_in_an_object, swapped, made_on_one_side, no_iteration]


@pytest.mark.parametrize("f", [*SERVED, *ASKED], ids=lambda f: f.__name__)
def test_containers_of_a_body(f: Any) -> None:
    for x in (0.7, 0.3):
        slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        np.testing.assert_allclose(ad.jit(f)(x), f(x), rtol=1e-11)
        np.testing.assert_allclose(ad.jit(ad.grad(f))(x), slope, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(ad.vmap(f)(np.array([0.7, 0.3])), [f(0.7), f(0.3)], rtol=1e-11)


@pytest.mark.parametrize("f", SERVED, ids=lambda f: f.__name__)
def test_the_loop_is_traced_once(f: Any) -> None:
    compiled = ad.jit(f)
    compiled(0.7)
    assert "unrolled" not in str(compiled.report())


def grown(functions: Any, values: Any) -> Any:
    values = list(values)
    for f in functions:
        values.append(f(values))
    return values[-1]


def by_a_copied_list(x: Any) -> Any:
    y = grown([lambda v: np.sin(v[0])], [x]) if x > 0 else x
    if x > 0.5:
        y = grown([lambda v: np.cos(v[0])], [x])
    else:
        y = y + grown([lambda v: 2 * v[0], lambda v: v[0] * v[1]], [x])
    return y


def by_a_copied_dict(x: Any) -> Any:
    names = {"a": x}
    if x > 0.5:
        mine = dict(names)
        mine["b"] = 2 * x
        y = mine["b"]
    else:
        mine = names.copy()
        mine["c"] = 3 * x
        y = mine["c"] + mine["a"]
    return y


def by_a_sorted_list(x: Any) -> Any:
    if x > 0.5:
        weights = sorted([3.0, 1.0])
        weights.append(5.0)
        y = x * weights[0] + weights[-1]
    else:
        y = x * x
    return y


@pytest.mark.parametrize("f", [by_a_copied_list, by_a_copied_dict, by_a_sorted_list])
def test_a_copy_that_one_side_of_a_branch_makes_is_its_own(f: Any) -> None:
    """Inside a scan both sides are traced: what each appends to a list of its own is no difference between them."""
    x = np.array([0.3, 0.7, 0.5])
    along = lambda x: ad.scan(lambda c, t: (c, f(t)), 0.0, x)[1]
    expected = [f(float(t)) for t in x]
    np.testing.assert_allclose(ad.jit(along)(x), expected)
    slopes = [(f(float(t) + 1e-6) - f(float(t) - 1e-6)) / 2e-6 for t in x[:2]]
    np.testing.assert_allclose(ad.jit(ad.grad(lambda x: np.sum(along(x))))(x)[:2], slopes, rtol=1e-6)
