"""Python's ints have any size; in compiled loops they have 64 bits, and never wrap around in silence."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad


def step(x: Any, n: Any) -> Any:
    return x + np.sin(x) * 1e-3 * np.cos(x) * n


def powers(x: Any) -> Any:
    s = 1
    for _ in range(50):
        s = s * 3
        x = step(x, s / 3**50)
    return x


def powers_by_while(x: Any) -> Any:
    k, s = 0, 1
    while k < 60:
        s = s * 5
        k += 1
        x = step(x, s % 11)
    return x


def generator(x: Any) -> Any:
    """The linear congruential generator of a well-known table: its products have 127 bits."""
    s = 7
    for _ in range(100):
        s = (s * 6364136223846793005 + 1442695040888963407) % 2**64
        x = step(x, s / 2**64)
    return x


def shifts(x: Any) -> Any:
    s = 1
    for _ in range(70):
        s = s << 1
        x = step(x, (s >> 3) % 7)
    return x


def fibonacci(x: Any) -> Any:
    a, b = 0, 1
    for _ in range(120):
        a, b = b, a + b
        x = step(x, a % 7)
    return x


def factorials(x: Any) -> Any:
    f = 1
    for k in range(1, 40):
        f *= k
        x = x + np.cos(x) * 1000 / f
    return x


def powers_of_the_counter(x: Any) -> Any:
    for k in range(1, 40):
        x = step(x, k**15 % 11 + 2**k / 2**40)
    return x


def large_from_the_start(x: Any) -> Any:
    p, q = math.factorial(200), 30
    for _ in range(40):
        p = p // 2
        x = step(x, p % 1009 / 1009)
    p = math.factorial(30)
    while p > 3:
        p, q = p // 5, q + 1
        x = step(x, p % 7)
    return x * q


def in_a_branch(x: Any) -> Any:
    s = 1
    for k in range(60):
        if np.sin(x * k) > -0.5:
            s = s * 7
        x = step(x, s % 13)
    return x


@pytest.mark.parametrize(
    "f",
    [powers, powers_by_while, generator, shifts, fibonacci, factorials, powers_of_the_counter, large_from_the_start,
     in_a_branch],
)  # fmt: skip
def test_ints_of_any_size(f: Callable[[Any], Any]) -> None:
    compiled, gradient = ad.jit(f), ad.jit(ad.grad(f))
    for x in (0.3, 0.7):
        assert compiled(x) == pytest.approx(f(x), rel=1e-12)
        assert gradient(x) == pytest.approx(ad.grad(f)(x), rel=1e-10)
    np.testing.assert_allclose(ad.jit(ad.vmap(f))(np.array([0.3, 0.7])), [f(0.3), f(0.7)], rtol=1e-12)


def test_small_ints_stay_in_the_loop() -> None:
    """Counters, sums of counters and remainders have a bound: nothing is checked, and the loop is kept."""

    def f(x: Any) -> Any:
        total, s, before = 0, 1, 0
        for k in range(200):
            total += k
            s = (31 * s + 7) % 1009
            before, x = k, step(x, 1e-3 * (total % 5 + s + before + k * k))
        return x

    compiled = ad.jit(f)
    assert compiled(0.3) == pytest.approx(f(0.3), rel=1e-12)
    assert "raise" not in str(ad.trace(compiled)(0.3).program).lower()
    assert "plain Python" not in str(compiled.report())


def test_the_report_says_that_an_int_has_outgrown() -> None:
    compiled = ad.jit(powers)
    compiled(0.3)
    assert "more than 64 bits" in str(compiled.report())
