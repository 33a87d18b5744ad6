"""Integrands that jump along the path: their derivative warns; a number that an event switches has the right one."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.integrate import Event, solve


def time_above(level, k, **options):
    """How long y = exp(-k t) is above a level."""
    above = lambda t, y, level, k: 1.0 if y > level else 0.0
    return solve(lambda t, y, level, k: -k * y, (0.0, 1.0), 1.0, args=(level, k), integrand=above, **options).integrals


@pytest.mark.parametrize("adjoint", ["discretize", pytest.param("interpolate", marks=pytest.mark.sweep)])
def test_a_jump_that_moves_is_told(adjoint):
    options = {"adjoint": adjoint, "max_steps": 100, "method": "bosh3"}
    gradient = ad.jit(ad.grad(lambda k: time_above(0.7, k, **options)))
    with pytest.warns(RuntimeWarning, match=r"the integrand jumps near t = 0\.3566.*Event"):
        gradient(1.0)
    gradient(0.1)  # y stays above


@pytest.mark.parametrize("integrand", [
    lambda t, y, k: np.maximum(y - 0.7, 0.0), lambda t, y, k: y - 0.7 if y > 0.7 else 0.0,
    lambda t, y, k: np.where(t < 0.5, k * y, 0.0),
])  # fmt: skip
def test_what_is_continuous_or_stands_still_is_not(integrand):
    f = lambda k: solve(
        lambda t, y, k: -k * y, (0.0, 1.0), 1.0, args=(k,), integrand=integrand, stops=(0.5,), method="bosh3",
        rtol=1e-8, max_step=0.01,
    ).integrals  # fmt: skip
    np.testing.assert_allclose(ad.grad(f)(1.0), (f(1.0 + 1e-4) - f(1.0 - 1e-4)) / 2e-4, atol=1e-3)


def test_a_number_that_an_event_switches():
    """∫ 1 over y > level is -log(level) / k."""
    switch = Event(lambda t, y, k: y[0] - 0.7, terminal=False, change=lambda t, y, k: y * np.array([1.0, 0.0]))
    f = lambda k: solve(
        lambda t, y, k: -k * y * np.array([1.0, 0.0]), (0.0, 1.0), np.ones(2), args=(k,), events=[switch],
        integrand=lambda t, y, k: 1.0 if y[1] > 0.5 else 0.0, rtol=1e-9, method="bosh3",
    ).integrals  # fmt: skip
    np.testing.assert_allclose(ad.value_and_grad(f)(1.0), [-np.log(0.7), np.log(0.7)], rtol=1e-7)


def test_python_code_beside_an_integrand():
    """np.array of traced numbers and `if` are converted in f as without an integrand."""

    def f(t, y, k):
        rate = k if t < 2.0 else 0.0
        return np.array([-rate * y[0], y[0] - y[1]])

    path = solve(f, (0.0, 1.0), np.array([1.0, 0.0]), args=(0.5,), integrand=lambda t, y, k: np.array([y[0], t])[0])
    np.testing.assert_allclose(path.integrals, (1 - np.exp(-0.5)) / 0.5, rtol=1e-5)
