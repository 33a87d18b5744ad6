"""Initial value problems: derivatives in start, times and parameters, in both modes and to second order."""

import numpy as np
import pytest
import scipy.integrate

import adjoint as ad
from adjoint.compat.autograd.scipy.integrate import odeint

T, START = np.linspace(0.3, 1.5, 4), np.array([1.0, 0.5])
WEIGHTS = np.array([[0.3, -1.0], [0.7, 0.2], [-0.4, 1.1], [0.9, -0.6]])
EXACT = {"rtol": 1e-11, "atol": 1e-11}


def motion(y, t, p, q):
    return np.stack([p * y[1] * np.cos(t), -q["a"] * y[0] + t * q["b"]])


def loss(y0, t, p, q):
    return np.sum(WEIGHTS * odeint(motion, y0, t, (p, q), **EXACT))


def test_plain_values_are_scipys() -> None:
    q = {"a": 1.3, "b": 0.7}
    expected = scipy.integrate.odeint(motion, START, T, (0.8, q))
    np.testing.assert_array_equal(odeint(motion, START, T, (0.8, q)), expected)


def test_derivatives() -> None:
    q = {"a": 1.3, "b": 0.7}
    ad.check_grads(loss, (START, T, 0.8, q), order=1, rtol=1e-6)
    slope = ad.grad(lambda p: loss(START, T, p, q))
    assert ad.grad(slope)(0.8) == pytest.approx((slope(0.801) - slope(0.799)) / 2e-3, rel=1e-5)


def test_exact_solutions() -> None:
    """y' = -k y: y₀ exp(-k (t - t₀)); the function may ask for t first, and take what is no array."""
    y = lambda k, t: odeint(lambda t, y, k, name: -k * y, 2.0, t, (k, "decay"), tfirst=True, **EXACT)[-1, 0]
    t = np.array([0.5, 1.0, 2.0])
    end = 2.0 * np.exp(-0.7 * 1.5)
    assert ad.grad(y)(0.7, t) == pytest.approx(-1.5 * end, rel=1e-7)
    np.testing.assert_allclose(ad.grad(y, 1)(0.7, t), [0.7 * end, 0.0, -0.7 * end], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(ad.jacfwd(y, 1)(0.7, t), [0.7 * end, 0.0, -0.7 * end], rtol=1e-7, atol=1e-8)


def test_closures_are_differentiated_and_reports_are_given() -> None:
    """What func closes over has derivatives like args; full_output gives the report of the steps beside the values."""
    times = np.array([0.0, 1.0])
    end = lambda k: odeint(lambda y, t: -k * y, 1.0, times, **EXACT)[-1, 0]
    assert ad.grad(end)(0.3) == pytest.approx(-np.exp(-0.3), rel=1e-6)

    def with_report(k):
        values, report = odeint(lambda y, t, k: -k * y, 1.0, times, (k,), full_output=1, **EXACT)
        assert "nst" in report
        return values[-1, 0]

    assert ad.grad(with_report)(0.3) == pytest.approx(-np.exp(-0.3), rel=1e-6)
