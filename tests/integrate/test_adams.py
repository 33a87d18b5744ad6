"""Adams' methods: published weights, orders, steps that change."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.integrate import Adams, solve
from adjoint.integrate.adams import _weights

EXACT = lambda t: 1.5 * np.exp(-t) + 0.5 * (np.sin(t) - np.cos(t))
FORCED = lambda t, y: -y + np.sin(t)


def test_weights_are_the_published_ones():
    np.testing.assert_allclose(
        _weights(np.array([0.0, -1.0, -2.0, -3.0])), np.array([55, -59, 37, -9]) / 24, rtol=1e-12
    )
    np.testing.assert_allclose(_weights(np.array([1.0, 0.0, -1.0, -2.0])), np.array([9, 19, -5, 1]) / 24, rtol=1e-12)


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_orders(order):
    errors = [abs(solve(FORCED, (0.0, 2.0), 1.0, method=f"adams-bashforth{order}", first_step=h).last - EXACT(2.0))
              for h in (0.05, 0.025)]  # fmt: skip
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.3


@pytest.mark.parametrize("order", [3, 6])
def test_steps_follow_the_tolerance(order):
    for tol in (1e-4, 1e-8):
        times = np.linspace(0.1, 3.0, 7)
        path = solve(FORCED, (0.0, 3.0), 1.0, method=Adams(order), rtol=tol, atol=tol, save=times)
        assert np.max(np.abs(path.values - EXACT(times))) < 20 * tol


def test_gradient_and_refusal():
    end = lambda k: solve(lambda t, y: -k * y * y, (0.0, 2.0), 1.0, method="adams-moulton4", rtol=1e-8, atol=1e-10).last
    assert abs(ad.grad(end)(0.7) + 2.0 / (1 + 1.4) ** 2) < 1e-6
    with pytest.raises(ValueError, match="order"):
        Adams(9)
