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
    assert ad.grad(lambda h: value(c, [h, 1.7]))(0.8) == pytest.approx(faces[0], rel=1e-7)
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
    with pytest.raises(ValueError, match="ranges is empty"):
        integrate.nquad(np.sin, [])
    with pytest.raises(ValueError, match="no rule"):
        integrate.gauss("legender", 3)
    with pytest.raises(ValueError, match="at least two points"):
        integrate.monte_carlo(np.sum, np.zeros(2), np.ones(2), 1, ad.random.default_rng(0))


def test_infinite_corners() -> None:
    f = lambda x: np.exp(-np.sum((x - 0.3) ** 2))
    g = lambda high: integrate.cubature(f, np.array([-np.inf, 0.0]), high, rtol=1e-6).value
    erf = scipy.special.erf
    one = lambda a, b: np.sqrt(np.pi) / 2 * (erf(b - 0.3) - erf(a - 0.3))
    corners = np.array([[np.inf, 1.0], [-1.0, np.inf], [2.0, 3.0], [0.5, -np.inf]])
    expected = [one(-np.inf, b) * one(0.0, c) for b, c in corners]
    np.testing.assert_allclose([g(h) for h in corners], expected, rtol=1e-6)
    np.testing.assert_allclose(ad.jit(ad.vmap(g))(corners), expected, rtol=1e-6)
    density = lambda b: np.exp(-((b - 0.3) ** 2))
    slopes = [[density(b) * one(0.0, c), density(c) * one(-np.inf, b)] for b, c in corners]
    np.testing.assert_allclose(ad.vmap(ad.grad(g))(corners), slopes, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(ad.jit(ad.jacfwd(g))(corners[0]), slopes[0], rtol=1e-6, atol=1e-12)
    bell = lambda x, c: np.exp(-c * np.sum(x**2))
    whole = lambda c: integrate.cubature(bell, [-np.inf] * 2, [np.inf] * 2, args=(c,), rtol=1e-5).value
    assert ad.grad(whole)(2.0) == pytest.approx(-np.pi / 4, rel=1e-5)


def test_inner_integrals_that_fail_are_told_of() -> None:
    lost = integrate.nquad(lambda x, y: 1 / x, [(0.0, 1.0), (0.0, 1.0)])
    assert lost.status == "no further progress"
    assert lost.error > 1.0
    fine = integrate.nquad(lambda x, y, z: x * y / np.sqrt(z), [(0.0, 1.0), (0.0, 1.0), (0.0, 1.0)], rtol=1e-5)
    assert fine.status == "converged"
    assert fine.value == pytest.approx(0.5, rel=1e-5)
    tree = integrate.nquad(lambda x, y: {"a": x * y, "b": x + 1j * y}, [(0.0, 1.0), (0.0, 2.0)])
    assert tree.value["a"] == pytest.approx(1.0)
    assert tree.value["b"] == pytest.approx(1.0 + 2.0j)


BAD = {
    "an integer": (lambda: integrate.cubature(lambda x: 1, np.zeros(2), np.ones(2)), "floating-point"),
    "a truth": (lambda: integrate.cubature(lambda x: x[0] > 0.5, np.zeros(2), np.ones(2)), "floating-point"),
    "no function": (lambda: integrate.cubature(3.0, np.zeros(2), np.ones(2)), "integrand is a float"),
    "below zero": (lambda: integrate.cubature(np.sum, np.zeros(2), np.ones(2), rtol=-1.0), "none below"),
    "no box": (lambda: integrate.cubature(np.sum, np.zeros(2), np.ones(2), max_boxes=0), "max_boxes is 0"),
    "NaN": (lambda: integrate.cubature(np.sum, np.zeros(2), [1.0, np.nan]), "NaN in it"),
    "complex": (lambda: integrate.cubature(np.sum, np.zeros(2) + 1j, np.ones(2)), "low is"),
    "too many": (lambda: integrate.cubature(np.sum, np.zeros(30), np.ones(30)), "30 dimensions"),
    "same side": (lambda: integrate.cubature(np.sum, [0.0, np.inf], [1.0, np.inf]), "nothing between"),
    "traced": (
        lambda: ad.jit(lambda r: integrate.cubature(np.sum, np.zeros(2), np.ones(2), rtol=r).value)(1e-3),
        "rtol is traced",
    ),
    "traced atol": (lambda: ad.grad(lambda r: integrate.quad(np.sin, 0.0, 1.0, atol=r).value)(1e-3), "atol is traced"),
    "two tolerances": (lambda: integrate.quad(np.sin, 0.0, 1.0, rtol=np.ones(2)), "it is one number"),
    "one point": (lambda: integrate.quad(np.sin, 0.0, 1.0, points=0.5), "points is 0.5"),
    "one argument": (lambda: integrate.quad(lambda x, c: c * x, 0.0, 1.0, args=2.0), "args is a float"),
    "nothing": (lambda: integrate.quad(lambda x: None, 0.0, 1.0), "returned no number"),
    "intervals": (lambda: integrate.quad(np.sin, 0.0, 1.0, max_intervals=2.5), "max_intervals is 2.5"),
    "a pair": (lambda: integrate.nquad(np.sin, (0.0, 1.0)), r"ranges\[1\] is 1.0"),
    "three ends": (lambda: integrate.nquad(np.sin, [(0.0, 1.0, 2.0)]), r"ranges\[0\] is"),
    "one end": (lambda: integrate.nquad(lambda x, y: x, [lambda y: y, (0.0, 1.0)]), r"ranges\[0\] returned"),
    "no generator": (lambda: integrate.qmc(np.sum, np.zeros(2), np.ones(2), 8, None), "rng is None"),
    "infinite": (
        lambda: integrate.monte_carlo(np.sum, np.zeros(2), [1.0, np.inf], 8, ad.random.default_rng(0)),
        "not finite",
    ),
    "parameters": (lambda: integrate.gauss("jacobi", 3), "2 parameters, and 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name: str) -> None:
    run, words = BAD[name]
    with pytest.raises((TypeError, ValueError), match=f"integrate..*{words}"):
        run()


def test_samples_that_are_not_finite_are_told_of() -> None:
    with np.errstate(all="ignore"):
        found = integrate.monte_carlo(lambda x: np.log(x[0] - 0.5), [0.0], [1.0], 64, ad.random.default_rng(0))
    assert found.status == "not finite"


def test_a_thin_ridge_is_followed_to_its_ends() -> None:
    """It falls between the nodes of large boxes: ∫∫ δ(x + y - s) is min(s, 2 - s)."""
    ridge = lambda s: integrate.cubature(
        lambda x: (1.0 - np.tanh((x[0] + x[1] - s) / 0.01) ** 2) / 0.02, np.zeros(2), np.ones(2), rtol=1e-3, atol=1e-6
    )
    found = ad.jit(ridge)(0.86)
    assert found.converged
    assert found.value == pytest.approx(0.86, rel=1e-3)
