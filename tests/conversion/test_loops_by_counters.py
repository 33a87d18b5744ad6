"""While loops whose test is Python's own, and short loops that ask: they are kept where they are long."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad


def bubbles(x: Any) -> Any:
    """Two loops of plain counters, with a branch inside."""
    x, i = x.copy(), 0
    while i < len(x):
        j = 0
        while j < len(x):
            if x[i] > x[j]:
                x[i] = 0.5 * x[j] + 0.25 * x[i]
            j += 1
        i += 1
    return np.sum(x * np.arange(len(x)))


def by_time(x: Any) -> Any:
    t, h, v = 0.0, 0.05, x * 1.0
    while t < 4.0:
        v = v + h * np.cos(v) * np.sin(t)
        if np.sum(v) > 3:
            v = 0.5 * v
        t += h
    return np.sum(v) + t


def with_a_flag(x: Any) -> Any:
    done, k, total = False, 0, 0.0
    while not done:
        total = total + np.sum(np.sin(x * k)) * np.sum(np.cos(x) ** 2) + np.sum(np.tanh(x))
        k += 1
        done = k * k > 900
    return total * k


def bisection(x: Any) -> Any:
    """The plain ends of an interval decide how long; the values are traced."""
    low, high, found = 0.0, 4.0, []
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        if middle * middle < 2:
            low = middle
        else:
            high = middle
        found.append(np.sum(np.sin(x * middle)) * np.cos(middle))
    return sum(found) + len(found)


@pytest.mark.parametrize("f", [bubbles, by_time, with_a_flag, bisection])
def test_values_and_derivatives(f: Any) -> None:
    xs = np.sin(np.arange(24.0)).reshape(2, 12) + 0.1
    compiled, gradient = ad.jit(f), ad.jit(ad.grad(f))
    for x in xs:
        assert compiled(x) == pytest.approx(f(x), rel=1e-11)
        np.testing.assert_allclose(gradient(x), ad.grad(f)(x), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(ad.jit(ad.vmap(f))(xs), [f(x) for x in xs], rtol=1e-11)


@pytest.mark.parametrize("f", [bubbles, by_time])
def test_long_ones_are_kept(f: Any) -> None:
    program = ad.jit(f).lower(np.sin(np.arange(40.0))).program
    assert len(program.equations) < 250  # those of a few iterations, which are written out


def test_a_test_that_the_loop_is_not_known_to_change_keeps_it_in_python() -> None:
    class Clock:
        def __init__(self) -> None:
            self.ticks = iter(range(60))

        def runs(self) -> bool:
            return next(self.ticks) < 50

    def f(x: Any) -> Any:
        clock = Clock()
        while clock.runs():
            x = x + 0.01 * np.sin(x) * np.cos(3 * x) ** 2 + 1e-3 * np.tanh(x)
        return x

    assert ad.jit(f)(0.3) == pytest.approx(f(0.3), rel=1e-12)
    assert ad.jit(ad.grad(f))(0.3) == pytest.approx(ad.grad(f)(0.3), rel=1e-12)


def test_what_short_loops_ask_is_part_of_the_program() -> None:
    """Positions in loops of a few iterations, many times: no guard for each of them."""

    def f(u: Any, a: Any) -> Any:
        k = 0
        while k < 30:
            for i in range(4):
                for j in range(4):
                    a = 0.5 * a + np.sum(np.nonzero(u * a[i, j] > 0)[0]) * 0.1
            k += 1
        return np.sum(a)

    u, a = np.array([0.1, -1.0, 2.0, -0.3]), np.cos(np.arange(16.0)).reshape(4, 4)
    compiled = ad.jit(f)
    assert compiled(u, a) == pytest.approx(f(u, a), rel=1e-12)
    assert compiled(-u, a) == pytest.approx(f(-u, a), rel=1e-12)
    assert len(compiled.report().specializations) == 1
    np.testing.assert_allclose(ad.jit(ad.grad(f, argnums=1))(u, a), ad.grad(f, argnums=1)(u, a), rtol=1e-12)
