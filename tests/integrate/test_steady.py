"""Steady states against roots by SciPy, with implicit derivatives."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import root

import adjoint as ad
from adjoint import integrate
from tests.integrate.stiff_problems import hires


def gene(t, y, p):
    return np.stack([p[0] / (1 + y[1] ** 2) - y[0], y[0] - p[1] * y[1]])


def test_roots_and_derivatives():
    p = np.array([3.0, 1.0])
    found = integrate.steady_state(gene, np.ones(2), args=(p,))
    assert found.status == "converged"
    np.testing.assert_allclose(found.value, root(lambda y: gene(0.0, y, p), np.ones(2), tol=1e-14).x, rtol=1e-10)
    value = lambda p: integrate.steady_state(gene, np.ones(2), args=(p,)).value[0]
    step = 1e-4
    expected = [(value(p + e) - value(p - e)) / (2 * step) for e in step * np.eye(2)]
    np.testing.assert_allclose(ad.grad(value)(p), expected, rtol=1e-6)
    second = [(ad.grad(value)(p + e) - ad.grad(value)(p - e)) / (2 * step) for e in step * np.eye(2)]
    np.testing.assert_allclose(ad.hessian(value)(p), second, rtol=1e-5)
    many = ad.vmap(lambda p: integrate.steady_state(gene, np.ones(2), args=(p,)).value)(np.stack([p, 2 * p]))
    np.testing.assert_allclose(many[0], found.value, rtol=1e-12)


def test_the_state_that_the_solution_comes_to():
    # a stiff Brusselator at rest: (a, b / a)
    f = lambda t, y: np.stack([1.0 - 2.5 * y[0] + y[0] ** 2 * y[1], 1.5 * y[0] - y[0] ** 2 * y[1], 1e5 * (y[0] - y[2])])
    start = np.array([3.0, 0.2, 7.0])
    far = solve_ivp(f, (0.0, 1e3), start, method="BDF", rtol=1e-9, atol=1e-12).y[:, -1]
    found = integrate.steady_state(f, start)
    np.testing.assert_allclose(found.value, far, rtol=1e-6)
    np.testing.assert_allclose(found.value, (1.0, 1.5, 1.0), rtol=1e-12)


def test_failures_are_named():
    runs = integrate.steady_state(lambda t, y: 1.0 + y**2, 0.0, max_steps=50)
    assert runs.status in ("max steps", "not finite")
    assert runs.advice
    kept = integrate.steady_state(hires, np.array([1.0, 0, 0, 0, 0, 0, 0, 0.0057]))
    assert kept.status == "not isolated"
    assert "total mass" in kept.advice


def test_failures_have_no_derivative():
    found = lambda k: integrate.steady_state(lambda t, y, k: -k - y**2, 1.0, args=(k,), max_steps=50)
    value = lambda k: found(k).value  # √-k
    for derivative in (ad.grad(value), ad.jit(ad.grad(value)), ad.jacfwd(value)):
        with pytest.raises(ValueError, match="steady_state: a solution that failed has no derivative"):
            derivative(1.0)
    with pytest.raises(ValueError, match="batch element 1"):
        ad.vmap(ad.grad(value))(np.array([-1.0, 1.0]))
    masked = lambda k: np.where(found(k).converged, found(k).value, 0.0)
    many = np.array([-1.0, 1.0, -4.0])
    np.testing.assert_allclose(ad.vmap(ad.grad(masked))(many), [-0.5, 0.0, -0.25], rtol=1e-9)
