"""Integrals over intervals: against closed forms and SciPy, and their derivatives in integrands, ends and points."""

import numpy as np
import pytest
import scipy.integrate
import scipy.special

import adjoint as ad
from adjoint import integrate


def test_a_jump_without_a_breakpoint_is_still_integrated() -> None:
    assert float(integrate.quad(lambda x: np.floor(10 * x) / 10, 0.0, 1.0).value) == pytest.approx(0.45, abs=1e-9)


@pytest.mark.parametrize("f, a, b, value", [
    (lambda x: np.exp(-x), 0.0, np.inf, 1.0),
    (lambda x: np.exp(x), -np.inf, 0.0, 1.0),
    (lambda x: np.exp(-(x**2)), -np.inf, np.inf, np.sqrt(np.pi)),
    (lambda x: 1 / (1 + x * x), 1.0, np.inf, np.pi / 4),
    (lambda x: np.exp(-((x - 3.0) ** 2)), -np.inf, np.inf, np.sqrt(np.pi)),
])  # fmt: skip
def test_infinite_ends(f, a: float, b: float, value: float) -> None:
    assert float(integrate.quad(f, a, b).value) == pytest.approx(value, abs=1e-9)
    assert float(integrate.quad(f, b, a).value) == pytest.approx(-value, abs=1e-9)


def test_singular_ends() -> None:
    found = integrate.quad(lambda x: np.log(x) / np.sqrt(x), 0.0, 1.0, method="tanh-sinh")
    assert float(found.value) == pytest.approx(-4.0, abs=1e-9)


@pytest.mark.parametrize("power", [1.0, 1.5])
def test_a_kink_is_no_accident_of_two_levels(power) -> None:
    found = integrate.quad(lambda x: np.abs(x - 0.37) ** power, 0.0, 1.0, method="tanh-sinh")
    exact = (0.37 ** (power + 1) + 0.63 ** (power + 1)) / (power + 1)
    assert abs(float(found.value) - exact) <= float(found.error)


def test_an_infinite_value_at_an_end_that_moves_is_told_of() -> None:
    f = lambda a: integrate.quad(lambda x: (x - a) ** -0.5, a, 1.0, method="tanh-sinh").value
    with pytest.warns(RuntimeWarning, match="not finite at the end x = 0.2"):
        ad.grad(f)(0.2)
    g = lambda a: integrate.quad(lambda s: s**-0.5, 0.0, 1.0 - a, method="tanh-sinh").value  # the remedy
    assert ad.grad(g)(0.2) == pytest.approx(-(0.8**-0.5), rel=1e-12)


def test_trees_and_complex_numbers() -> None:
    found = integrate.quad(lambda x: {"a": np.exp(1j * x), "b": np.array([x, x * x])}, 0.0, 2.0).value
    assert found["a"] == pytest.approx((np.exp(2j) - 1) / 1j, abs=1e-12)
    np.testing.assert_allclose(found["b"], [2.0, 8 / 3], atol=1e-12)


@pytest.mark.row("12.1-a")
def test_leibniz_in_parameters_and_ends() -> None:
    f = lambda theta: integrate.quad(lambda y: np.exp(-theta * y), 0.0, np.inf).value
    for theta in (0.5, 1.0, 3.0):
        assert f(theta) == pytest.approx(1 / theta, rel=1e-10)
        assert ad.grad(f)(theta) == pytest.approx(-1 / theta**2, rel=1e-9)
    assert ad.derivative(f, 3)(3.0) == pytest.approx(-6 / 3.0**4, rel=1e-8)
    g = lambda a, b: integrate.quad(np.sin, a, b).value
    assert ad.grad(g, argnums=(0, 1))(0.3, 1.1) == pytest.approx((-np.sin(0.3), np.sin(1.1)), abs=1e-12)
    np.testing.assert_allclose(ad.hessian(lambda ab: g(ab[0], ab[1]))(np.array([0.3, 1.1])),
                               np.diag([-np.cos(0.3), np.cos(1.1)]), atol=1e-10)  # fmt: skip


def phi(z):
    return np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)


@pytest.mark.row("12.1-b")
def test_kinks_are_allowed_and_jumps_are_told_of() -> None:
    relu = lambda theta: integrate.quad(lambda z: np.maximum(theta + z, 0.0) * phi(z), -np.inf, np.inf).value
    step = lambda theta: integrate.quad(lambda z: np.where(theta + z > 0, 1.0, 0.0) * phi(z), -np.inf, np.inf).value
    named = lambda theta: (
        integrate.quad(lambda z: np.where(theta + z > 0, 1.0, 0.0) * phi(z), -np.inf, np.inf, points=(-theta,)).value
    )
    theta = 0.4
    assert ad.grad(relu)(theta) == pytest.approx(scipy.special.ndtr(theta), abs=1e-8)
    with pytest.warns(RuntimeWarning, match=r"f jumps near x = -0.4"):
        ad.grad(step)(theta)
    for jump in (np.sign, lambda x: np.heaviside(x, 0.5), np.floor, lambda x: np.remainder(x, 1.0)):
        moved = lambda theta, jump=jump: integrate.quad(lambda z: jump(z - theta), 0.0, 0.9).value
        with pytest.warns(RuntimeWarning, match=r"f jumps near x = 0.4"):
            ad.jvp(moved, (theta,), (1.0,))
    with pytest.warns(RuntimeWarning, match=r"f jumps near x = -0.4"):
        ad.jit(ad.grad(step))(theta)
    with pytest.warns(RuntimeWarning, match=r"f jumps near x = -0.4"):
        ad.vmap(ad.grad(step))(np.array([theta, theta]))
    assert ad.grad(named)(theta) == pytest.approx(phi(theta), abs=1e-9)
    assert ad.jit(ad.grad(named))(theta) == pytest.approx(phi(theta), abs=1e-9)


@pytest.mark.row("12.1-c")
def test_gauss_rules_are_exact_for_polynomials() -> None:
    cases = {"legendre": (1, 0), "hermite": (0, np.inf), "normal": (0, np.inf), "laguerre": (0, np.inf)}
    for kind in cases:
        nodes, weights = integrate.gauss(kind, 7)
        weight = {"legendre": lambda x: 1.0 + 0 * x, "hermite": lambda x: np.exp(-x * x),
                  "normal": lambda x: np.exp(-x * x / 2), "laguerre": lambda x: np.exp(-x)}[kind]  # fmt: skip
        ends = {"legendre": (-1.0, 1.0), "laguerre": (0.0, np.inf)}.get(kind, (-np.inf, np.inf))
        for degree in (0, 3, 8, 13):
            exact = integrate.quad(lambda x, d=degree, w=weight: w(x) * x**d, *ends).value
            np.testing.assert_allclose(np.sum(weights * nodes**degree), exact, rtol=1e-9, atol=1e-8)
    expected = lambda mean: np.sum(
        integrate.gauss("normal", 40).weights * np.sin(mean + integrate.gauss("normal", 40).nodes)
    )
    scale = np.sqrt(2 * np.pi)
    assert ad.grad(expected)(0.3) / scale == pytest.approx(np.cos(0.3) * np.exp(-0.5), abs=1e-12)


def test_transformations() -> None:
    g = lambda c: integrate.quad(lambda x: np.sin(c * x) * np.exp(-x), 0.0, np.inf).value  # c / (1 + c²)
    cs = np.array([0.5, 1.0, 4.0])
    exact, first = cs / (1 + cs**2), (1 - cs**2) / (1 + cs**2) ** 2
    np.testing.assert_allclose(ad.vmap(g)(cs), exact, atol=1e-10)
    np.testing.assert_allclose(ad.jit(ad.vmap(g))(cs), exact, atol=1e-10)
    np.testing.assert_allclose(ad.jit(ad.vmap(ad.grad(g)))(cs), first, atol=1e-9)
    np.testing.assert_allclose(ad.vmap(lambda c: ad.jvp(g, (c,), (1.0,))[1])(cs), first, atol=1e-9)
    assert ad.jacfwd(ad.grad(g))(2.0) == pytest.approx(ad.jacrev(ad.grad(g))(2.0), abs=1e-9)
    _, (slope, second) = ad.jet(g, (2.0,), ((1.0, 0.0),))
    assert slope == pytest.approx(ad.grad(g)(2.0), abs=1e-9)
    assert second == pytest.approx(0.032, abs=1e-8)


def test_integrals_inside_integrals() -> None:
    double = lambda c: (
        integrate.quad(lambda x: integrate.quad(lambda y: np.exp(-c * x * y), 0.0, x).value, 0.0, 1.0).value
    )
    exact = scipy.integrate.dblquad(lambda y, x: np.exp(-x * y), 0, 1, 0, lambda x: x)[0]
    slope = -scipy.integrate.dblquad(lambda y, x: x * y * np.exp(-x * y), 0, 1, 0, lambda x: x)[0]
    assert double(1.0) == pytest.approx(exact, abs=1e-9)
    assert ad.grad(double)(1.0) == pytest.approx(slope, abs=1e-9)


def test_statuses_and_bad_input() -> None:
    few = integrate.quad(lambda x: np.sin(1 / x), 1e-4, 1.0, max_intervals=5)
    assert few.status == "max intervals"
    assert "max_intervals" in few.advice
    with pytest.raises(ad.SolveError, match="max intervals"):
        few.raise_if_failed()
    assert integrate.quad(lambda x: 1 / x, 0.0, 1.0, method="clenshaw-curtis").status == "not finite"
    with pytest.raises(ValueError, match="method='simpson'"):
        integrate.quad(np.sin, 0.0, 1.0, method="simpson")
    with pytest.raises(ad.DtypeError, match="floating-point numbers"):
        integrate.quad(lambda x: 1, 0.0, 1.0)
    with pytest.raises(ad.DtypeError, match="an end is one real number"):
        integrate.quad(np.sin, np.zeros(2), 1.0)
    with pytest.raises(ValueError, match="a is NaN"):
        integrate.quad(np.sin, np.nan, 1.0)
    with pytest.raises(ValueError, match="both ends are inf"):
        integrate.quad(np.sin, np.inf, np.inf)
    with pytest.raises(ValueError, match="one of them must be above zero"):
        integrate.quad(np.sin, 0.0, 1.0, rtol=0.0, atol=0.0)
    with pytest.raises(TypeError, match="integrand is a float"):
        integrate.quad(1.0, 0.0, 1.0)


def _exact_step(p, a, b):
    """p ∫ₐᵇ (1 where x < p, else 3) x dx, by pieces."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    cut = np.clip(p, low, high)
    return np.where(a <= b, p, -p) * ((cut**2 - low**2) + 3.0 * (high**2 - cut**2)) / 2.0


@pytest.mark.parametrize(
    "ends", [(2.0, 0.0), *[pytest.param(e, marks=pytest.mark.sweep) for e in ((0.0, 2.0), (-1.0, 0.5), (3.0, 1.0))]]
)
def test_breakpoints_count_inside_and_in_the_direction_of_the_ends(ends):
    def step(v):
        p, a, b = v[0], v[1], v[2]
        return integrate.quad(lambda x: np.where(x < p, 1.0, 3.0) * x * p, a, b, points=(p,)).value

    v = np.array([0.7, *ends])
    exact = lambda v: _exact_step(v[0], v[1], v[2])
    assert np.allclose(ad.grad(step)(v), ad.grad(exact)(v), atol=1e-9)
    assert np.allclose(ad.jit(ad.hessian(step))(v), ad.hessian(exact)(v), atol=1e-9)


def test_breakpoints_may_coincide_and_stand_in_any_order():
    same = lambda p: integrate.quad(lambda x: np.where(x < p, 1.0, 3.0) * x, 0.0, 2.0, points=(p, p)).value
    assert np.isclose(ad.grad(same)(0.7), -1.4)

    def two(p, q):
        f = lambda x: np.where(x < p, 1.0, np.where(x < q, 3.0, -2.0)) * np.exp(x)
        return integrate.quad(f, -np.inf, 2.0, points=(q, 5.0, p)).value

    assert np.allclose(ad.grad(two, argnums=(0, 1))(0.7, 1.2), (-2.0 * np.exp(0.7), 5.0 * np.exp(1.2)))
    pole = lambda p: integrate.quad(lambda x: p / np.sqrt(x), 0.0, 1.0, points=(p - 1.0,)).value
    assert np.isclose(ad.grad(pole)(0.5), 2.0)


def test_a_derivative_that_is_not_found_is_told_of():
    f = lambda c: integrate.quad(lambda x: (x + c) ** 0.01, 0.0, 1.0).value  # that of x^-0.99 / 100 is 1
    with pytest.warns(RuntimeWarning, match="integral of the derivative"):
        ad.grad(f)(0.0)
    with pytest.warns(RuntimeWarning, match="integral of the derivative"):
        ad.jvp(f, (0.0,), (1.0,))
    root = lambda c: integrate.quad(lambda x: np.sqrt(np.abs(x - c)), 0.0, 1.0, points=(c,)).value
    exact = lambda c: (c**1.5 + (1 - c) ** 1.5) / 1.5
    assert ad.grad(root)(0.3) == pytest.approx(ad.grad(exact)(0.3), rel=1e-6)


def test_from_infinity_to_an_end_that_moves() -> None:
    """-∫ₖ^∞ exp(-k x) dx = -exp(-k²) / k, and the same from the other side."""
    down = lambda k: integrate.quad(lambda x: np.exp(-k * x), np.inf, k).value
    up = lambda k: integrate.quad(lambda x: np.exp(k * x), -k, -np.inf).value
    exact = lambda k: np.exp(-k * k) * (2 + 1 / k**2)
    for f in (down, up):
        assert f(1.3) == pytest.approx(-np.exp(-1.69) / 1.3, rel=1e-9)
        assert ad.grad(f)(1.3) == pytest.approx(exact(1.3), rel=1e-9)
        assert ad.jit(ad.grad(f))(1.3) == pytest.approx(exact(1.3), rel=1e-9)
