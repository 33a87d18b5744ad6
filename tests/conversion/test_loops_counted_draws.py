"""Loops that draw from the library's own generators, traced once: the numbers of plain Python, from the start."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad


def for_loop(x: Any, rng: Any) -> Any:
    for _ in range(30):
        x = x + 0.05 * (-x * np.sin(x)) + 0.3 * rng.normal(size=2)
    return x


def while_loop(x: Any, rng: Any) -> Any:
    total = 0.0  # plain before the first iteration
    while total < 20.0:
        total, x = total + np.sum(x * x), 0.9 * x + rng.normal(size=2)
    return x


def branch_in_loop(x: Any, rng: Any) -> Any:
    for i in range(40):
        if i % 7 == 0:
            rng.normal()
        x = 0.9 * x + rng.normal(size=2) if x[0] > 0 else x * np.sin(x) - rng.uniform()
    return x


@pytest.mark.parametrize("f", [for_loop, while_loop, branch_in_loop])
def test_an_iteration_that_is_undone_gives_its_numbers_back(f: Any) -> None:
    x = np.array([0.3, -0.7])

    def own(x: Any) -> Any:
        return f(x, ad.random.default_rng(5))

    expected, plain, compiled = own(x), ad.random.default_rng(5), ad.random.default_rng(5)
    np.testing.assert_allclose(ad.jit(own)(x), expected, rtol=1e-13)
    np.testing.assert_allclose(ad.jit(f)(x, compiled), f(x, plain), rtol=1e-13)
    assert compiled.counter == plain.counter
    np.testing.assert_allclose(ad.jit(ad.vmap(own))(np.stack([x, -x])), [expected, own(-x)], rtol=1e-13)
