"""Rules for samples: SciPy's values in every form, derivatives in samples and points."""

import numpy as np
import pytest
import scipy.integrate

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import integrate
from tests.numpy.checking import Case, array, every_check, signed
from tests.scipy.signal.agreement import CHECKS, same_in_every_form

Y = signed(2, 6)
X = np.array([0.0, 0.4, 1.1, 1.5, 2.5, 2.9])
CASES = [
    Case("trapezoid", lambda y, x: integrate.trapezoid(y, x), (Y, X)),
    Case("trapezoid dx", lambda y, dx: integrate.trapezoid(y, dx=dx, axis=0), (Y, np.float64(0.3))),
    Case("simpson odd", lambda y, x: integrate.simpson(y, x), (Y[:, :5], X[:5])),
    Case("simpson even", lambda y, x: integrate.simpson(y, x), (Y, X)),
    Case("simpson dx", lambda y, dx: integrate.simpson(y, dx=dx), (Y, np.float64(0.3))),
    Case("cumulative_trapezoid", lambda y, x: integrate.cumulative_trapezoid(y, x, initial=0), (Y, X)),
    Case("cumulative_simpson", lambda y, x: integrate.cumulative_simpson(y, x=x), (Y, X)),
    Case("cumulative_simpson dx", lambda y, dx: integrate.cumulative_simpson(y, dx=dx), (Y, np.float64(0.3))),
    Case("romb", lambda y, dx: integrate.romb(y, dx), (signed(2, 9), np.float64(0.3))),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9])
def test_values_in_every_form(n):
    y = signed(n, n, 2)
    at = np.cumsum(array(n))
    for name in ("trapezoid", "simpson", "cumulative_trapezoid"):
        same_in_every_form(getattr(integrate, name), getattr(scipy.integrate, name), y, axis=[0, 1, -2], x=[None, at])
        same_in_every_form(getattr(integrate, name), getattr(scipy.integrate, name), y, axis=[0, 1], dx=[0.25])
    positions = np.cumsum(array(n, n, 2), axis=1)
    for name in ("trapezoid", "simpson"):
        same_in_every_form(getattr(integrate, name), getattr(scipy.integrate, name), y, positions, axis=[1])
    same_in_every_form(
        integrate.cumulative_simpson,
        scipy.integrate.cumulative_simpson,
        y,
        axis=[0, 1],
        x=[None, at],
        initial=[None, 2.0],
    )
    full = lambda f: lambda y, x: f(y, x=x, axis=1)
    same_in_every_form(full(integrate.cumulative_simpson), full(scipy.integrate.cumulative_simpson), y, positions)
    if n in (2, 3, 5, 9):
        same_in_every_form(integrate.romb, scipy.integrate.romb, y, axis=[0, 1], dx=[1.0, 0.2])


def test_equal_points_count_nothing():
    x = np.array([0.0, 0.0, 1.0, 2.0, 2.0])
    value, slope = ad.value_and_grad(lambda y: integrate.simpson(y, x))(Y[0, :5])
    assert value == pytest.approx(scipy.integrate.simpson(Y[0, :5], x), abs=1e-14)
    unit = [scipy.integrate.simpson(e, x) for e in np.eye(5)]  # the rule is linear in y
    np.testing.assert_allclose(slope, unit, atol=1e-14)


def test_fixed_quad_has_derivatives_in_limits_and_in_what_the_integrand_holds():
    f = lambda a, b, s: integrate.fixed_quad(lambda x: np.exp(s * x), a, b, n=12)[0]
    a, b, s = 0.2, 1.3, -0.7
    assert f(a, b, s) == pytest.approx(scipy.integrate.fixed_quad(lambda x: np.exp(s * x), a, b, n=12)[0], rel=1e-14)
    exact = lambda t: np.exp(s * t) * (s * t - 1) / s**2  # d/ds of exp(s t) / s
    assert ad.grad(f, argnums=(0, 1, 2))(a, b, s) == pytest.approx((-np.exp(s * a), np.exp(s * b), exact(b) - exact(a)))
    assert ad.jit(ad.grad(f, argnums=2))(a, b, s) == pytest.approx(exact(b) - exact(a))
    with pytest.raises(ValueError, match="finite limits"):
        integrate.fixed_quad(np.exp, 0.0, np.inf)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="as long as y"):
        ad.grad(lambda y: integrate.simpson(y, X[:3]))(Y[0])
    with pytest.raises(ValueError, match="power of 2"):
        ad.grad(integrate.romb)(Y[0])
    with pytest.raises(ValueError, match="strictly increasing"):
        ad.grad(lambda x: np.sum(integrate.cumulative_simpson(Y[0], x=x)))(X[::-1].copy())
    with pytest.raises(ValueError, match="initial"):
        ad.grad(lambda y: np.sum(integrate.cumulative_trapezoid(y, initial=1.0)))(Y[0])
    with pytest.raises(UnsupportedError, match="log=True has no derivative"):
        ad.grad(lambda b: integrate.qmc_quad(np.exp, 0.0, b, log=True).integral)(1.0)


def test_the_module_shows_all_of_scipy_integrate():
    assert {"trapezoid", "quad", "RK45"} <= set(dir(integrate))
    assert integrate.quad(np.exp, 0.0, 1.0)[0] == pytest.approx(np.e - 1)
