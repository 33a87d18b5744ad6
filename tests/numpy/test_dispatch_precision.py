"""Results of single precision have NumPy's and SciPy's dtype, beside Python's numbers and integers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.polynomial as polynomial
import pytest
import scipy.integrate

import adjoint as ad
from adjoint.tree import leaves

X = np.array([0.5, 1.5, 0.25, 2.0], np.float32)
M = np.array([[2.0, 0.5, 1.0, 0.0], [0.5, 3.0, 0.0, 1.0], [1.0, 0.0, 4.0, 0.5]], np.float32)
PLACES = np.array([0, 1, 3, 4])

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "linspace": lambda x, m: np.linspace(0, x[1], 5),
    "linspace of two": lambda x, m: np.linspace(x[0], x[1], 5),
    "linspace of float64": lambda x, m: np.linspace(np.float64(0), x[1], 5),
    "linspace step": lambda x, m: np.linspace(1, x, 3, retstep=True),
    "logspace": lambda x, m: np.logspace(0, x[1], 3),
    "gradient": lambda x, m: np.gradient(x, PLACES),
    "gradient of a matrix": lambda x, m: np.gradient(m, 2, PLACES),
    "lstsq": lambda x, m: np.linalg.lstsq(m.T, x),
    "polyval": lambda x, m: polynomial.polynomial.polyval(2.0, x),
    "polyval of an int": lambda x, m: polynomial.polynomial.polyval(2, x),
    "polyval of an array": lambda x, m: polynomial.polynomial.polyval(PLACES, x),
    "polyval of float64": lambda x, m: polynomial.polynomial.polyval(np.float64(2), x),
    "chebval": lambda x, m: polynomial.chebyshev.chebval(0.5, x),
    "legval": lambda x, m: polynomial.legendre.legval(0.5, x),
    "hermval": lambda x, m: polynomial.hermite.hermval(0.5, x),
    "lagval": lambda x, m: polynomial.laguerre.lagval(0.5, x),
    "polygrid2d": lambda x, m: polynomial.polynomial.polygrid2d(0.5, 2, m),
    "polyvalfromroots": lambda x, m: polynomial.polynomial.polyvalfromroots(2.0, x),
    "polyint": lambda x, m: polynomial.polynomial.polyint(x, k=1.0),
    "polyder": lambda x, m: polynomial.polynomial.polyder(x, scl=np.float64(2)),
    "polymul": lambda x, m: polynomial.polynomial.polymul(x, x),
    "chebmul": lambda x, m: polynomial.chebyshev.chebmul(x, x),
    "legmulx": lambda x, m: polynomial.legendre.legmulx(x),
    "lagmulx": lambda x, m: polynomial.laguerre.lagmulx(x),
    "polypow": lambda x, m: polynomial.polynomial.polypow(x, 2),
    "polydiv": lambda x, m: polynomial.polynomial.polydiv(x, [1.0, 2.0]),
    "polyroots": lambda x, m: polynomial.polynomial.polyroots(x),
    "chebroots": lambda x, m: polynomial.chebyshev.chebroots(x),
    "the derivative of a polynomial": lambda x, m: polynomial.Polynomial(x).deriv().coef,
    "trapezoid": lambda x, m: scipy.integrate.trapezoid(x),
    "trapezoid of places": lambda x, m: scipy.integrate.trapezoid(x, PLACES),
    "cumulative_trapezoid": lambda x, m: scipy.integrate.cumulative_trapezoid(x, dx=2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("way", ["jit", "jvp"])
def test_dtypes(name: str, way: str) -> None:
    function = FUNCTIONS[name]
    expected = leaves(function(X, M))
    found = leaves(ad.jit(function)(X, M) if way == "jit" else ad.jvp(function, (X, M), (X, M))[0])
    assert [np.asarray(v).dtype for v in found] == [np.asarray(v).dtype for v in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)
