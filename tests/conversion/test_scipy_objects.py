"""Interpolants of SciPy that were made of plain numbers are called with traced ones."""

from typing import Any

import numpy as np
import pytest
import scipy.interpolate as si

import adjoint as ad

T = np.linspace(0.0, 3.0, 7)
Y = np.sin(T)
INTERPOLANTS = {
    "CubicSpline": si.CubicSpline(T, Y),
    "PchipInterpolator": si.PchipInterpolator(T, Y),
    "Akima1DInterpolator": si.Akima1DInterpolator(T, Y),
    "BSpline": si.make_interp_spline(T, Y),
    "interp1d": si.interp1d(T, Y),
    "UnivariateSpline": si.UnivariateSpline(T, Y, s=0.0),
}


@pytest.mark.parametrize("name", INTERPOLANTS)
def test_derivatives_in_the_point(name: str) -> None:
    made: Any = INTERPOLANTS[name]
    f = lambda x: made(x) * 2.0
    expected = (f(1.3 + 1e-5) - f(1.3 - 1e-5)) / 2e-5
    for gradient in (ad.grad(f), ad.jit(ad.grad(f))):
        np.testing.assert_allclose(gradient(1.3), expected, rtol=1e-8)


def test_grids_and_derivatives_of_splines() -> None:
    grid = si.RegularGridInterpolator((T, T), np.outer(Y, Y))
    point = np.array([1.3, 0.4])
    f = lambda x: np.sum(grid(x))
    expected = [(f(point + e) - f(point - e)) / 2e-5 for e in 1e-5 * np.eye(2)]
    np.testing.assert_allclose(ad.grad(f)(point), expected, rtol=1e-7)

    def made(x: Any) -> Any:
        s = si.CubicSpline(T, Y)
        return s(x) + s(x, 1) + s.derivative()(x) + s.integrate(0.0, x)

    np.testing.assert_allclose(ad.grad(made)(1.3), (made(1.3 + 1e-5) - made(1.3 - 1e-5)) / 2e-5, rtol=1e-8)
