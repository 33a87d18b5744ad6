"""Lists that grow in loops, and containers that are written in branches: as plain Python leaves them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint as ad
from tests.support.everywhere import check_everywhere

V = np.array([0.5, 1.5, -0.7])


def euler(x: Any, k: Any) -> Any:
    xs, ts = [x], [0.0]
    for _ in range(60):
        xs.append(xs[-1] + 0.05 * (math.sin(ts[-1]) - k * xs[-1]))
        ts.append(ts[-1] + 0.05)
    return np.mean(np.array(xs) ** 2) + xs[5] * ts[-1] + len(xs) + sum(xs)


def verlet(x: Any, v: Any) -> Any:
    xs = [x, x + 0.1 * v]
    for _ in range(40):
        xs.append(2 * xs[-1] - xs[-2] - 0.01 * xs[-1])
    return xs[-1] + xs[0] + max(xs)


class Log:
    """What happened, by name."""

    def __init__(self) -> None:
        self.values: dict[str, list[Any]] = {"x": [], "v": []}

    def put(self, x: Any, v: Any) -> None:
        self.values["x"].append(x)
        self.values["v"].append((v, "speed"))


def logged(x: Any, v: Any) -> Any:
    log = Log()
    for _ in range(40):
        v -= 0.05 * x
        x += 0.05 * v
        if x < 0.3:
            v = v * 0.9
        log.put(x, v)
    speeds = [value for value, _ in log.values["v"]]
    return np.sum(np.array(log.values["x"]) * np.array(speeds)) + log.values["x"][-1]


def path_of_arrays(x: Any) -> Any:
    path = [x]
    for _ in range(30):
        x = x * 0.97 + 0.01 * np.roll(x, 1)
        path.append(x)
    x[0] = 5.0  # the last of the path is this very array
    points = np.array(path)
    return np.sum(points**2) + points[-1, 0]


def one_array_again_and_again(x: Any) -> Any:
    y = x.copy()
    path = [y]
    for _ in range(30):
        y *= 0.97
        path.append(y)
    return np.sum(np.array(path) ** 2)


def copies(x: Any) -> Any:
    y = x.copy()
    path = []
    for _ in range(30):
        y *= 0.97
        path.append(y.copy())
    return np.sum(np.array(path) ** 2)


def asks_for_the_length(x: Any) -> Any:
    out = [x]
    for _ in range(20):
        out.append(out[-1] * 0.9 + len(out) * 0.01 * x)
    return sum(out)


def reads_the_front(x: Any) -> Any:
    out = [x]
    for _ in range(20):
        out.append(out[-1] * 0.9 + out[0] * 0.01 + sum(out) * 0.001)
    return sum(out)


def goes_through(x: Any) -> Any:
    out = [x]
    for _ in range(20):
        out.append(x * sum(1.0 for _ in out) + out[-1] * 0.1)
    return sum(out)


def appends_here_and_there(x: Any) -> Any:
    out = [x]
    for _ in range(20):
        x = x * 0.95
        if x > 0.3:
            out.append(x)
    return sum(out) * len(out)


def leaves_early(x: Any) -> Any:
    out = [x]
    for _ in range(20):
        out.append(out[-1] * 0.9)
        if out[-1] < 0.2:
            break
    return sum(out)


def changes_the_last(x: Any) -> Any:
    out = [x, x]
    for i in range(20):
        out[-1] = out[-1] * 0.9
        out.append(x * i)
        out[0] = out[0] + x
    return sum(out)


def in_loops_in_loops(x: Any) -> Any:
    flat: list[Any] = []
    rows = []
    for i in range(10):
        row = []
        for j in range(12):
            flat.append(x * i * j)
            row.append(math.sin(x * j))
        rows.append(row)
    return np.sum(np.array(flat)) + np.sum(np.array(rows) ** 2)


class State(NamedTuple):
    x: Any
    v: Any


def tuples_and_dicts(x: Any) -> Any:
    state, pair = State(x, 1.0), (x, 2.0)
    table = {"a": x, "b": 1.0}
    values = [x, 1.0, 2.0]
    for i in range(20):
        if state.x > 0.4:
            state, pair = State(state.x * 0.9, state.v + x), (pair[1], pair[0] * x)
            table["a"] = table["a"] * 0.9
            values[1] = values[1] + x
        else:
            state = state._replace(x=state.x + 0.1 * i * x)
            table["b"] = table["b"] + x
            values[2] = values[0]
    return state.x * state.v + pair[0] + pair[1] * table["a"] + table["b"] * values[1] + values[2]


@pytest.mark.parametrize("f", [euler, verlet, logged])
def test_of_two_numbers(f: Any) -> None:
    check_everywhere(f, 0.7, 0.3)


@pytest.mark.parametrize("f", [path_of_arrays, one_array_again_and_again, copies])
def test_of_arrays(f: Any) -> None:
    check_everywhere(f, V)


@pytest.mark.parametrize(
    "f",
    [asks_for_the_length, reads_the_front, goes_through, changes_the_last, in_loops_in_loops, tuples_and_dicts],
)
def test_of_a_number(f: Any) -> None:
    check_everywhere(f, 0.7, step=1e-3)


@pytest.mark.parametrize("f", [appends_here_and_there, leaves_early])
def test_as_many_as_the_values_say(f: Any) -> None:
    fast = ad.jit(ad.value_and_grad(f))
    for x in (0.7, 0.72, 0.5):
        value, slope = fast(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        np.testing.assert_allclose(slope, (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rtol=1e-7)


@pytest.mark.parametrize("f, args", [(euler, (0.7, 0.3)), (verlet, (0.7, 0.3)), (logged, (0.7, 0.3))])
def test_such_loops_are_kept(f: Any, args: Any) -> None:
    fast = ad.jit(f)
    fast(*args)
    assert "unrolled" not in str(fast.report())
    assert "loop of" in str(fast.report())


def test_elements_of_a_batch_that_append_here_and_there() -> None:
    x = np.array([0.7, 0.72, 0.5])
    fast = ad.jit(ad.vmap(ad.grad(appends_here_and_there)))
    differences = [(appends_here_and_there(v + 1e-6) - appends_here_and_there(v - 1e-6)) / 2e-6 for v in x]
    with pytest.warns(RuntimeWarning, match="plain Python"):
        np.testing.assert_allclose(fast(x), differences, rtol=1e-7)


def appends_what_is_written(x: Any) -> Any:
    y = x * 1.0
    rows = [y]
    for _ in range(60):
        y -= 0.01 * x
        rows.append(y)  # the same array each time
    return np.sum(np.array(rows) * x)


def writes_to_what_was_appended(x: Any) -> Any:
    y, rows = x * 1.0, []
    for _ in range(60):
        y += 0.1  # the array that the iteration before has appended
        y = y * 0.5
        rows.append(y)
    return np.sum(np.array(rows) * x)


def appends_copies(x: Any) -> Any:
    y, rows = x * 1.0, []
    for _ in range(60):
        y[:] -= 0.01 * x
        rows.append(y.copy())
    return np.sum(np.array(rows) * x)


@pytest.mark.parametrize("f", [appends_what_is_written, writes_to_what_was_appended, appends_copies])
def test_lists_of_arrays_that_are_written_to(f: Any) -> None:
    x, step = np.array([0.7, 0.3]), np.array([1e-6, 0.0])
    fast = ad.jit(ad.value_and_grad(f))
    value, slope = fast(x)
    assert value == pytest.approx(f(x), rel=1e-12)
    assert slope[0] == pytest.approx((f(x + step) - f(x - step)) / 2e-6, rel=1e-7)
    assert f is not appends_copies or "loop of" in str(fast.report())
