"""Equations driven by a path: closed forms, SciPy's splines, derivatives in the data."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import adjoint as ad
from adjoint.integrate import Path, solve_cde

TIMES, VALUES = np.array([0.0, 0.7, 1.5, 2.0]), np.array([[0.0, 1.0], [1.0, 0.3], [0.2, -0.4], [0.6, 0.1]])


def test_paths_go_through_their_points():
    for kind in ("linear", "hermite", "cubic"):
        X = Path(TIMES, VALUES, kind)
        np.testing.assert_allclose(np.stack([X(t) for t in TIMES]), VALUES, atol=1e-14)
        step = 1e-6
        np.testing.assert_allclose(X.derivative(1.1), (X(1.1 + step) - X(1.1 - step)) / (2 * step), atol=1e-8)
    spline = CubicSpline(TIMES, VALUES, bc_type="natural")
    np.testing.assert_allclose(Path(TIMES, VALUES, "cubic")(1.23), spline(1.23), rtol=1e-13)
    early = Path(TIMES[:3], VALUES[:3], "hermite")(1.2)
    np.testing.assert_allclose(Path(TIMES, VALUES, "hermite")(1.2), early, rtol=1e-14)  # causal


@pytest.mark.parametrize("kind", ["cubic", *[pytest.param(k, marks=pytest.mark.sweep) for k in ("linear", "hermite")]])
def test_closed_form_and_derivative_in_the_data(kind):
    """dy = y (dX₀ + 2 dX₁): y = y₀ exp(ΔX₀ + 2 ΔX₁), whatever the path is between."""

    def end(values):
        f = lambda t, y: y[..., None] * np.array([1.0, 2.0])
        return solve_cde(f, Path(TIMES, values, kind), 0.5, rtol=1e-9, atol=1e-10, method="dopri5").last

    exact = 0.5 * np.exp((VALUES[-1] - VALUES[0]) @ [1.0, 2.0])
    assert abs(end(VALUES) - exact) < 1e-7
    expected = np.zeros((4, 2))
    expected[0], expected[-1] = [-exact, -2 * exact], [exact, 2 * exact]
    np.testing.assert_allclose(ad.grad(end)(VALUES), expected, atol=1e-6)


def test_refusals():
    with pytest.raises(ValueError, match="increase"):
        Path(np.array([0.0, 0.0]), np.zeros(2))
    with pytest.raises(ValueError, match="kind"):
        Path(TIMES, VALUES, "quintic")
    with pytest.raises(ValueError, match="with this path"):
        solve_cde(lambda t, y: y, Path(TIMES, VALUES), 1.0)
