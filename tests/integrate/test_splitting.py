"""A split right side: the same solution as of the sum, with equations for the stiff part alone."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import integrate

SPLIT = integrate.Split(
    lambda t, y, k: np.stack([-k * (y[0] - np.cos(t)), -0.1 * k * y[1]]),
    lambda t, y, k: np.stack([np.sin(y[1]), y[0] * y[1]]),
)
START = np.array([0.0, 1.0])


def end(k, method, f=SPLIT, **options):
    return integrate.solve(f, (0.0, 1.0), START, args=(k,), method=method, **options).last


@pytest.mark.parametrize(
    "method", ["kencarp4", *[pytest.param(m, marks=pytest.mark.sweep) for m in ("kencarp3", "kencarp5")]]
)
def test_as_the_sum(method):
    expected = end(1e3, "rodas5p", rtol=1e-11, atol=1e-11)
    for tol in (1e-5, 1e-8):
        np.testing.assert_allclose(end(1e3, method, rtol=tol, atol=tol), expected, atol=30 * tol)
    found = ad.grad(lambda k: end(k, method, rtol=1e-8, atol=1e-8)[0])(1e3)
    assert abs(found / ad.grad(lambda k: end(k, "rodas5p", rtol=1e-10, atol=1e-10)[0])(1e3) - 1) < 1e-4


def test_orders_of_the_pair():
    f = integrate.Split(lambda t, y: -y, lambda t, y: np.sin(t) * y)
    exact = np.exp(-2.0 + 1.0 - np.cos(2.0))
    for method in ("kencarp3", "kencarp4"):
        chosen = integrate.choose(method, error=None)
        errors = [
            abs(integrate.solve(f, (0.0, 2.0), 1.0, method=chosen, first_step=h).last - exact) for h in (0.05, 0.025)
        ]
        assert abs(np.log2(errors[0] / errors[1]) - chosen.order) < 0.4


def test_parts_have_the_form_of_y():
    with pytest.raises(ValueError, match="returned float64"):
        integrate.solve(integrate.Split(lambda t, y: -y, lambda t, y: np.ones(3)), (0.0, 1.0), np.ones(2))
