"""Integrals in several dimensions: Genz's families in closed form, moving boxes, random points."""

import numpy as np
import pytest
import scipy.special

import adjoint as ad
from adjoint import integrate

C, W = np.array([1.1, 0.7, 0.4]), np.array([0.3, 0.5, 0.8])


def product_peak():
    return np.prod(C * (np.arctan(C * (1 - W)) + np.arctan(C * W)))


def oscillatory():
    return np.real(np.exp(2j * np.pi * W[0]) * np.prod((np.exp(1j * C) - 1) / (1j * C)))


def corner_peak():
    total = 0.0
    for signs in np.ndindex(2, 2, 2):
        total += (-1) ** sum(signs) / (1 + np.sum(C * np.array(signs)))
    return total / (6 * np.prod(C))


def gaussian():
    return np.prod(np.sqrt(np.pi) / (2 * C) * (scipy.special.erf(C * (1 - W)) + scipy.special.erf(C * W)))


# Genz's six families of test integrals over the unit cube (1984).
GENZ = {
    "oscillatory": (lambda x: np.cos(2 * np.pi * W[0] + np.sum(C * x)), oscillatory()),
    "product peak": (lambda x: np.prod(1 / (C**-2 + (x - W) ** 2)), product_peak()),
    "corner peak": (lambda x: (1 + np.sum(C * x)) ** -4, corner_peak()),
    "gaussian": (lambda x: np.exp(-np.sum(C**2 * (x - W) ** 2)), gaussian()),
    "continuous": (
        lambda x: np.exp(-np.sum(C * np.abs(x - W))),
        np.prod((2 - np.exp(-C * W) - np.exp(-C * (1 - W))) / C),
    ),
}


@pytest.mark.parametrize("name", GENZ)
def test_genz(name: str) -> None:
    f, value = GENZ[name]
    found = integrate.cubature(f, np.zeros(3), np.ones(3), rtol=1e-5)
    assert found.status == "converged"
    assert abs(found.value - value) <= 2e-5 * abs(value)


def test_genz_with_jumps() -> None:
    c, w = C[:2], np.array([0.31, 0.57])
    f = lambda x: np.where((x[0] > w[0]) | (x[1] > w[1]), 0.0, np.exp(np.sum(c * x)))
    value = np.prod(np.expm1(c * w) / c)
    found = integrate.cubature(f, np.zeros(2), np.ones(2), rtol=1e-3)
    assert found.status == "converged"
    assert abs(found.value - value) <= 2e-3 * value
    # one dimension after the other, the jumps are named
    inner = lambda y: integrate.quad(lambda x: f([x, y]), 0.0, 1.0, points=(w[0],)).value
    assert integrate.quad(inner, 0.0, 1.0, points=(w[1],)).value == pytest.approx(value, rel=1e-10)


def test_derivatives_in_parameters_and_corners() -> None:
    f = lambda x, c: np.exp(-c * np.sum(x**2))
    value = lambda c, high: integrate.cubature(f, np.zeros(2), high, args=(c,), rtol=1e-9).value
    one = lambda c, h: np.sqrt(np.pi / c) / 2 * scipy.special.erf(np.sqrt(c) * h)
    c, high = 1.3, np.array([0.8, 1.7])
    assert value(c, high) == pytest.approx(one(c, 0.8) * one(c, 1.7), rel=1e-8)
    step = 1e-5
    rough = (one(c + step, 0.8) * one(c + step, 1.7) - one(c - step, 0.8) * one(c - step, 1.7)) / (2 * step)
    assert ad.grad(value)(c, high) == pytest.approx(rough, rel=1e-6)
    faces = [np.exp(-c * 0.64) * one(c, 1.7), np.exp(-c * 2.89) * one(c, 0.8)]
    np.testing.assert_allclose(ad.grad(value, argnums=1)(c, high), faces, rtol=1e-7)
    np.testing.assert_allclose(ad.jit(ad.jacfwd(value, argnums=1))(c, high), faces, rtol=1e-7)
    corner = ad.hessian(value, argnums=1)(c, high)[0, 1]
    assert corner == pytest.approx(np.exp(-c * (0.64 + 2.89)), rel=1e-6)


def test_ends_that_are_functions() -> None:
    def volume(radius):
        top = lambda y: (0.0, np.sqrt(np.maximum(radius**2 - y * y, 0.0)))
        return integrate.nquad(lambda x, y: x * y, [top, (0.0, radius)]).value

    assert volume(1.0) == pytest.approx(1 / 8, abs=1e-9)
    assert ad.grad(volume)(1.0) == pytest.approx(1 / 2, abs=1e-6)


@pytest.mark.parametrize("how", ["monte_carlo", "qmc"])
def test_random_points(how: str) -> None:
    rng = ad.random.default_rng(3)
    sample = getattr(integrate, how)
    found = sample(lambda x: np.sum(x**2), np.zeros(3), 2 * np.ones(3), 1024, rng)
    assert abs(found.value - 32.0) < 5 * found.error + 1e-9
    slope = ad.grad(
        lambda c: sample(lambda x: np.sum(c * x), np.zeros(2), np.ones(2), 512, ad.random.default_rng(0)).value
    )
    assert slope(2.0) == pytest.approx(1.0, abs=0.1)
    moved = ad.grad(lambda h: sample(lambda x: 1.0 + 0 * x[0], np.zeros(1), h, 64, ad.random.default_rng(0)).value)
    np.testing.assert_allclose(moved(np.array([2.0])), [1.0])


def test_bad_input() -> None:
    with pytest.raises(ad.ShapeError, match="vectors of one length"):
        integrate.cubature(np.sum, np.zeros(2), np.ones(3))
    with pytest.raises(ValueError, match="not finite"):
        integrate.cubature(np.sum, np.zeros(2), np.array([1.0, np.inf]))
    with pytest.raises(ValueError, match="ranges is empty"):
        integrate.nquad(np.sin, [])
    with pytest.raises(ValueError, match="no rule"):
        integrate.gauss("legender", 3)
    with pytest.raises(ValueError, match="at least two points"):
        integrate.monte_carlo(np.sum, np.zeros(2), np.ones(2), 1, ad.random.default_rng(0))
