"""Second derivatives in saved times: at the start, inside and at the end, against differences of SciPy's solutions."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import adjoint as ad
from adjoint import integrate

START, POINT = np.array([0.5, 0.1]), np.array([0.0, 0.45, 1.5, 0.9])  # three times, and a parameter
DIRECTION = np.array([0.3, -0.5, 0.4, 0.2])


def pendulum(t, y, k):
    return np.stack([1.1 * y[1], -k * np.sin(y[0]) + 0.1 * np.cos(t)])


def by_scipy(x):
    paths = [
        solve_ivp(pendulum, (0.0, t), START, args=(x[3],), method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
        if t
        else START
        for t in x[:3]
    ]
    return np.sum(np.sin(paths))


def second_difference(f, x, h=0.02):
    """∂/∂x of the derivative along DIRECTION, extrapolated."""

    def one(e, h):
        e, w = e * h, DIRECTION * h
        return (f(x + e + w) - f(x + e - w) - f(x - e + w) + f(x - e - w)) / (4 * h * h)

    return np.array([(4 * one(e, h / 2) - one(e, h)) / 3 for e in np.eye(4)])


@pytest.mark.parametrize("method, adjoint", [
    ("bosh3", "discretize"),
    pytest.param(integrate.Reversible("bosh3"), "reversible", marks=pytest.mark.sweep),
    *[pytest.param("bosh3", a, marks=pytest.mark.sweep)
      for a in ("interpolate", "quadrature", "backsolve", "bvp", "forward")],
])  # fmt: skip
def test_second_derivatives_in_saved_times(method, adjoint):
    f = lambda x: np.sum(np.sin(integrate.solve(pendulum, (0.0, 1.5), START, args=(x[3],), save=x[:3], adjoint=adjoint,
                                                method=method, rtol=1e-8, atol=1e-9).values))  # fmt: skip
    found = ad.jvp(ad.grad(f), (POINT,), (DIRECTION,))[1]
    np.testing.assert_allclose(found, second_difference(by_scipy, POINT), atol=2e-4)
