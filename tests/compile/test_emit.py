"""Memory of emitted programs: the arguments of a loop stay, and nothing is written beyond the end of a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

import adjoint as ad


def test_the_arguments_of_a_loop_are_there_in_every_iteration() -> None:
    """A constant of a loop that the body reads before it makes temporaries of its own: they do not take its place."""

    def wandering(x: Any, n: int = 6) -> Any:
        weights = np.sin(x)  # in memory, since the loop reads it

        def iteration(carry: Any, _: Any) -> Any:
            moved = carry[::-1] * weights
            ordered = np.sort(moved)  # a buffer for a result, after the last read of the weights
            return np.cumsum(ordered) / 100 + carry[0], None

        return ad.scan(iteration, x, None, length=n)[0]

    x = np.linspace(0.1, 3.0, 200)
    assert_allclose(ad.jit(wandering)(x), wandering(x), rtol=1e-12)


def heat(u: Any, k: Any, steps: int) -> Any:
    """Steps of the heat equation, in place."""
    u = u.copy()
    for _ in range(steps):
        inner = u[1:-1, 1:-1]
        u[1:-1, 1:-1] = inner + k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner)
    return u


def test_gradients_of_the_heat_equation() -> None:
    gradient: Callable[..., Any] = ad.grad(lambda u, k: np.sum(heat(u, k, 12) ** 2), argnums=(0, 1))
    u = np.random.default_rng(0).normal(size=(20, 20))
    for actual, expected in zip(ad.jit(gradient)(u, 0.1), gradient(u, 0.1), strict=True):
        assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)


def splines(knots: Any, x: Any, degree: int) -> Any:
    """B-splines by their recursion."""
    n = len(knots) - 1
    basis = [np.where((x >= knots[i]) & (x < knots[i + 1]), 1.0, 0.0) for i in range(n)]
    for d in range(1, degree + 1):
        basis = [
            (x - knots[i]) / (knots[i + d] - knots[i]) * basis[i]
            + (knots[i + d + 1] - x) / (knots[i + d + 1] - knots[i + 1]) * basis[i + 1]
            for i in range(len(basis) - 1)
        ]
    return np.stack(basis, 1)


def test_results_that_end_early_in_a_nest_with_many_windows() -> None:
    """Results of 10, 11 and 12 rows in one nest that is not cut at every window."""
    x, knots = np.linspace(0.5, 9.5, 60), np.arange(-3.0, 14.0)
    weights = np.random.default_rng(0).normal(size=(60, 13))
    gradient = ad.grad(lambda t: np.sum(weights * splines(t, x, 3)))
    assert_allclose(ad.jit(gradient)(knots), gradient(knots), rtol=1e-10, atol=1e-12)
