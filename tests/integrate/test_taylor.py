"""Taylor's method: mpmath as judge, dense output, derivatives."""

import mpmath
import numpy as np
import pytest

import adjoint as ad
from adjoint.integrate import Taylor, solve


def test_few_steps_to_rounding_against_mpmath():
    f = lambda t, y: np.stack([y[1], (1 - y[0] ** 2) * y[1] - y[0]])  # van der Pol
    path = solve(f, (0.0, 2.0), np.array([2.0, 0.0]), method=Taylor(18), rtol=1e-14, atol=1e-14, save=[0.37, 2.0])
    with mpmath.workdps(30):
        exact = mpmath.odefun(lambda t, y: [y[1], (1 - y[0] ** 2) * y[1] - y[0]], 0, [2, 0])
        found = np.array([[float(v) for v in exact(t)] for t in (0.37, 2.0)])
    np.testing.assert_allclose(path.values, found, rtol=1e-13, atol=1e-14)
    assert path.steps < 30
    assert path.rejections == 0


def test_derivatives():
    end = lambda k: solve(lambda t, y: -k * y * y, (0.0, 2.0), 1.0, method=Taylor(8), rtol=1e-10, atol=1e-12).last
    assert abs(end(0.7) - 1 / 2.4) < 1e-11
    assert abs(ad.grad(end)(0.7) + 2.0 / 2.4**2) < 1e-9
    assert abs(ad.jvp(end, (0.7,), (1.0,))[1] + 2.0 / 2.4**2) < 1e-9


def test_polynomials_and_refusal():
    path = solve(lambda t, y: 3 * t**2 + 0 * y, (0.0, 2.0), 1.0, method="taylor")
    assert abs(path.last - 9.0) < 1e-13
    with pytest.raises(ValueError, match="order"):
        Taylor(1)
