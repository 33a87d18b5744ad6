"""Kinks of equations at their solutions, where the equation has loops."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import implicit
from adjoint.implicit.diagnosis import DerivativeWarning


def halved(rectify: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """F(x, a) = x + c₃ - a with c₀ = x, cₖ₊₁ = ½ (cₖ + rectify(cₖ - a)), by a loop."""

    def F(x: Any, a: Any) -> Any:
        step = lambda state: (state[0] + 1, 0.5 * (state[1] + rectify(state[1] - a)))
        return ad.while_loop(lambda state: state[0] < 3, step, (0, x))[1] + x - a

    return F


def solve_by_bisection(F: Callable[[Any, Any], Any]) -> Callable[[Any], float]:
    def solver(a: Any) -> float:
        low, high = -10.0, 10.0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if F(middle, a) < 0 else (low, middle)
        return (low + high) / 2

    return solver


@pytest.mark.parametrize("transform", [lambda f: f, ad.jit], ids=["eager", "compiled"])
def test_kink_inside_a_loop(transform: Any) -> None:
    F = halved(lambda v: np.maximum(v, 0.0))
    x = implicit.root(F, solve_by_bisection(F))
    gradient = transform(ad.grad(x))
    with pytest.warns(DerivativeWarning, match="kink"):  # x = 0 = a, where the maximum has a tie
        assert np.isnan(gradient(0.0))
    # cₖ - a is negative: x/8 + x = a
    np.testing.assert_allclose(gradient(0.9), 8 / 9, rtol=1e-9)
