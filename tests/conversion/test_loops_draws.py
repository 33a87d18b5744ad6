"""Loops and branches that draw from generators of NumPy which the function makes itself: as plain Python does."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import TraceError

OUTSIDE = np.random.default_rng(0)


def for_loop(x: Any) -> Any:
    rng = np.random.default_rng(1)
    for _ in range(200):
        x = 0.9 * np.sin(x) + 0.1 * rng.normal()
    return x


def while_loop(x: Any) -> Any:
    rng = np.random.RandomState(2)
    while x * x > 0.01:
        x = x * (0.8 + 0.1 * rng.uniform())
    return x


def branch(x: Any) -> Any:
    rng = np.random.Generator(np.random.Philox(3))
    x = x + rng.normal() if x > 0 else 2 * x - rng.normal()
    return x * rng.normal()


class Walk:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(4)

    def run(self, x: Any) -> Any:
        for _ in range(20):
            for _ in range(10):
                x = 0.9 * x + self.rng.normal()
        return x


@pytest.mark.parametrize("f", [for_loop, while_loop, branch, lambda x: Walk().run(x)])
def test_numbers_are_those_of_plain_python(f: Any) -> None:
    expected = f(0.3)
    np.testing.assert_allclose(ad.jit(f)(0.3), expected, rtol=1e-14)
    np.testing.assert_allclose(ad.jit(ad.vmap(f))(np.array([0.3, -0.7])), [expected, f(-0.7)], rtol=1e-14)
    slope = (f(0.3 + 1e-6) - f(0.3 - 1e-6)) / 2e-6
    np.testing.assert_allclose(ad.jit(ad.grad(f))(0.3), slope, rtol=1e-6, atol=1e-9)


def test_generators_from_outside_are_refused() -> None:
    def f(x: Any) -> Any:
        for _ in range(200):
            x = np.sin(x) + OUTSIDE.normal()
        return x

    with pytest.raises(TraceError, match="drew from NumPy's Generator"):
        ad.jit(f)(0.3)


def test_the_report_tells_that_such_loops_are_unrolled() -> None:
    g = ad.jit(for_loop)
    g(0.3)
    assert any("draws from a generator of NumPy" in remark for remark in g.report().specializations[0].remarks)
