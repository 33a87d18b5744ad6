"""Published sets of integrals: Kahaner's 21, SciPy's own, Genz's families; and peaks that are easily missed."""

import numpy as np
import pytest
import scipy.integrate
import scipy.special

import adjoint as ad
from adjoint import integrate


def _sech(z):
    return 1.0 / np.cosh(z)


# Kahaner's test set (1971): integrand, ends, value (closed form, or mpmath with 30 digits).
KAHANER = {
    "1 exp": (np.exp, 0.0, 1.0, np.e - 1),
    "2 step": (lambda x: np.where(x > 0.3, 1.0, 0.0), 0.0, 1.0, 0.7),
    "3 sqrt": (np.sqrt, 0.0, 1.0, 2 / 3),
    "4 cosh": (lambda x: 0.92 * np.cosh(x) - np.cos(x), -1.0, 1.0, 2 * (0.92 * np.sinh(1) - np.sin(1))),
    "5 rational": (lambda x: 1 / (x**4 + x**2 + 0.9), -1.0, 1.0, 1.5822329637296729),
    "6 x^1.5": (lambda x: x**1.5, 0.0, 1.0, 0.4),
    "7 x^-0.5": (lambda x: x**-0.5, 0.0, 1.0, 2.0),
    "8 1/(1+x^4)": (lambda x: 1 / (1 + x**4), 0.0, 1.0, 0.8669729873399110),
    "9 2/(2+sin)": (lambda x: 2 / (2 + np.sin(10 * np.pi * x)), 0.0, 1.0, 2 / np.sqrt(3)),
    "10 1/(1+x)": (lambda x: 1 / (1 + x), 0.0, 1.0, np.log(2)),
    "11 1/(1+exp)": (lambda x: 1 / (np.exp(x) + 1), 0.0, 1.0, 1 + np.log(2) - np.log(1 + np.e)),
    "12 x/(exp-1)": (
        lambda x: np.where(x == 0, 1.0, x / np.expm1(np.where(x == 0, 1.0, x))), 0.0, 1.0, 0.7775046341122483
    ),
    "13 sin(100 pi x)/(pi x)": (lambda x: np.sin(100 * np.pi * x) / (np.pi * x), 0.1, 1.0, 0.009098637539166843),
    "14 bell": (lambda x: np.sqrt(50.0) * np.exp(-50 * np.pi * x * x), 0.0, 10.0, 0.5),
    "15 decay": (lambda x: 25 * np.exp(-25 * x), 0.0, 10.0, 1.0),
    "16 cauchy": (lambda x: 50 / (np.pi * (2500 * x * x + 1)), 0.0, 10.0, np.arctan(500) / np.pi),
    "17 sinc": (lambda x: 50 * (np.sin(50 * np.pi * x) / (50 * np.pi * x)) ** 2, 0.01, 1.0, 0.11213930374163741),
    "18 oscillating": (
        lambda x: np.cos(np.cos(x) + 3 * np.sin(x) + 2 * np.cos(2 * x) + 3 * np.sin(2 * x) + 3 * np.cos(3 * x)),
        0.0, np.pi, 0.8386763426944296,
    ),
    "19 log": (np.log, 0.0, 1.0, -1.0),
    "20 rational": (lambda x: 1 / (x * x + 1.005), -1.0, 1.0, 1.5643964440690498),
    "21 three peaks": (
        lambda x: _sech(10 * (x - 0.2)) ** 2 + _sech(100 * (x - 0.4)) ** 4 + _sech(1000 * (x - 0.6)) ** 6,
        0.0, 1.0, 0.21080273550054928,
    ),
}  # fmt: skip

# What a method is not for: jumps and narrow peaks without breakpoints after tanh-sinh, poles at nodes of the ends.
REFUSED = {"tanh-sinh": ("2 step", "21 three peaks"), "clenshaw-curtis": ("7 x^-0.5", "19 log")}


@pytest.mark.parametrize("method", ["gauss-kronrod", "clenshaw-curtis", "tanh-sinh"])
@pytest.mark.parametrize("name", KAHANER)
def test_kahaner(name: str, method: str) -> None:
    f, a, b, value = KAHANER[name]
    found = integrate.quad(f, a, b, method=method)
    if name in REFUSED.get(method, ()):
        assert found.status in ("max intervals", "not finite")
        return
    assert found.status == "converged", found
    assert abs(found.value - value) <= max(10 * found.error, 1e-9)


def _singular(x):
    return np.where(x < 2.5, np.sin(x), np.where(x < 5.0, np.exp(-x), 0.0))


OMEGA = 2**3.4
# Integrals of SciPy's tests of quad, and one over the line (mpmath): integrand, ends, points, value.
SCIPY = {
    "bessel": (lambda x: np.cos(2 * x - 1.8 * np.sin(x)) / np.pi, 0.0, np.pi, (), 0.30614353532540297),
    "exponential": (lambda x: -np.exp(-x), 0.0, np.inf, (), -1.0),
    "breakpoints": (_singular, 0.0, 10.0, (2.5, 5.0), 1 - np.cos(2.5) + np.exp(-2.5) - np.exp(-5.0)),
    "sine weight": (
        lambda x: np.exp(20 * (x - 1)) * np.sin(OMEGA * x), 0.0, 1.0, (),
        (20 * np.sin(OMEGA) - OMEGA * np.cos(OMEGA) + OMEGA * np.exp(-20)) / (400 + OMEGA**2),
    ),
    "sine weight to infinity": (lambda x: np.exp(-4 * x) * np.sin(3 * x), 0.0, np.inf, (), 3 / 25),
    "cosine weight from infinity": (
        lambda x: np.exp(2.5 * x) * np.cos(2.3 * x), -np.inf, 0.0, (), 2.5 / (2.5**2 + 2.3**2)
    ),
    "line": (lambda x: np.exp(-np.abs(x)) / (1 + x * x), -np.inf, np.inf, (), 1.2428992484716267),
}  # fmt: skip


@pytest.mark.parametrize("name", SCIPY)
def test_integrals_of_scipys_tests(name: str) -> None:
    f, a, b, points, value = SCIPY[name]
    found = integrate.quad(f, a, b, points=points)
    assert found.status == "converged", found
    assert found.value == pytest.approx(value, rel=1e-10, abs=1e-11)
    compiled = ad.jit(lambda a, b: integrate.quad(f, a, b, points=points).value)  # ends that are known later
    assert compiled(a, b) == pytest.approx(value, rel=1e-10, abs=1e-11)


def _genz_1d(c: float, w: float) -> dict:
    return {
        "oscillatory": (
            lambda x: np.cos(2 * np.pi * w + c * x), (np.sin(2 * np.pi * w + c) - np.sin(2 * np.pi * w)) / c
        ),
        "product peak": (lambda x: 1 / (c**-2 + (x - w) ** 2), c * (np.arctan(c * (1 - w)) + np.arctan(c * w))),
        "corner peak": (lambda x: (1 + c * x) ** -2, 1 / (1 + c)),
        "gaussian": (
            lambda x: np.exp(-(c**2) * (x - w) ** 2),
            np.sqrt(np.pi) / (2 * c) * (scipy.special.erf(c * (1 - w)) + scipy.special.erf(c * w)),
        ),
        "continuous": (lambda x: np.exp(-c * np.abs(x - w)), (2 - np.exp(-c * w) - np.exp(-c * (1 - w))) / c),
        "discontinuous": (lambda x: np.where(x > w, 0.0, np.exp(c * x)), np.expm1(c * w) / c),
    }  # fmt: skip


@pytest.mark.parametrize("c, w", [(1.7, 0.31), (40.0, 0.66)])
@pytest.mark.parametrize("name", _genz_1d(1.0, 0.5))
def test_genz_in_one_dimension(name: str, c: float, w: float) -> None:
    f, value = _genz_1d(c, w)[name]
    found = integrate.quad(f, 0.0, 1.0)
    assert found.status == "converged", found
    assert found.value == pytest.approx(value, rel=1e-9)


PEAKS = {
    "gaussian": (lambda x, c, w: np.exp(-(((x - c) / w) ** 2)), lambda c, w: w * np.sqrt(np.pi)),
    "sech": (lambda x, c, w: _sech(np.minimum(np.abs(x - c) / w, 300.0)) ** 2, lambda c, w: 2 * w),
    "cauchy": (
        lambda x, c, w: 1 / (1 + ((x - c) / w) ** 2), lambda c, w: w * (np.arctan((1 - c) / w) + np.arctan(c / w))
    ),
}  # fmt: skip


@pytest.mark.parametrize("width", [*[pytest.param(w, marks=pytest.mark.sweep) for w in (1e-2, 1e-3)], 1e-4])
@pytest.mark.parametrize("name", PEAKS)
def test_narrow_peaks_are_found(name: str, width: float) -> None:
    f, exact = PEAKS[name]
    centers = np.random.default_rng(5).uniform(0.1, 0.9, 12)
    one = lambda c, w: integrate.quad(f, 0.0, 1.0, args=(c, w))
    found = ad.jit(ad.vmap(one, in_axes=(0, None)))(centers, width)
    assert np.all(found.converged)
    np.testing.assert_allclose(found.value, exact(centers, width), rtol=1e-8)


def test_the_derivative_of_a_narrow_peak_is_found_as_well() -> None:
    f, _ = PEAKS["gaussian"]
    mass = lambda w: integrate.quad(f, 0.0, 1.0, args=(0.3, w)).value
    assert ad.grad(mass)(1e-4) == pytest.approx(np.sqrt(np.pi), rel=1e-8)


def test_a_peak_is_resolved_or_told_of_after_tanh_sinh() -> None:
    f, _ = PEAKS["gaussian"]
    for width in (1e-2, 1e-3, 3e-4, 1e-4):
        found = integrate.quad(f, 0.0, 1.0, args=(0.3, width), method="tanh-sinh")
        right = abs(found.value / (width * np.sqrt(np.pi)) - 1) < 1e-8
        assert right if found.status == "converged" else found.status == "max intervals"


@pytest.mark.parametrize("f, a, b, value, status", [
    (lambda x: 1 / np.sqrt(x), 0.0, 1.0, 2.0, "converged"),
    (lambda x: 1 / np.sqrt(1 - x), 0.0, 1.0, 2.0, "no further progress"),  # 1 - x is 1e-16 at least
    (lambda x: np.log(1 - x), 0.0, 1.0, -1.0, "converged"),
    (lambda x: 1 / (np.sqrt(x) * (1 + x)), 0.0, np.inf, np.pi, "no further progress"),
    (lambda x: np.exp(-x) / np.sqrt(x), 0.0, np.inf, np.sqrt(np.pi), "converged"),
    (lambda x: x**-0.9, 0.0, 1.0, 10.0, "no further progress"),
])  # fmt: skip
def test_what_is_lost_at_a_singular_end_is_part_of_the_error(f, a, b, value, status) -> None:
    found = integrate.quad(f, a, b, method="tanh-sinh")
    assert found.status == status, found
    assert abs(found.value - value) <= found.error + 1e-12


def test_points_on_both_sides_show_a_peak_above_a_background() -> None:
    f = lambda x: np.cos(x) + np.exp(-(((x - 0.3) / 1e-5) ** 2))
    found = integrate.quad(f, 0.0, 1.0, points=(0.3 - 1e-4, 0.3 + 1e-4))
    assert found.value == pytest.approx(np.sin(1.0) + 1e-5 * np.sqrt(np.pi), abs=1e-11)


def test_smooth_functions_cost_two_rules_and_nothing_costs_a_bounded_look() -> None:
    assert integrate.quad(np.sin, 0.0, np.pi).evaluations == 42
    assert integrate.quad(lambda x: 1e-20 * np.sin(x), 0.0, np.pi).evaluations == 42
    assert integrate.quad(np.sin, -1.0, 1.0).evaluations == 42
    nothing = integrate.quad(lambda x: 0.0 * x, 0.0, 1.0)
    assert nothing.value == 0.0
    assert nothing.status == "converged"
    assert nothing.evaluations < 3000
    noise = integrate.quad(lambda x: 1e-20 * np.sin(1e6 * x), 0.0, 1.0)  # atol says that it does not matter
    assert noise.status == "converged"
    assert abs(noise.value) < 1e-12
    assert integrate.quad(lambda x: 0.0 * x, 1.0, 1.0).evaluations == 42


@pytest.mark.parametrize("width", [0.1, 1e-2, 3e-3])
def test_narrow_peaks_in_a_box_are_found(width: float) -> None:
    f = lambda x: np.exp(-np.sum(((x - 0.4) / width) ** 2))
    found = integrate.cubature(f, np.zeros(2), np.ones(2), atol=1e-13)
    assert found.status == "converged"
    side = np.sqrt(np.pi) / 2 * width * (scipy.special.erf(0.6 / width) + scipy.special.erf(0.4 / width))
    assert found.value == pytest.approx(side**2, rel=1e-6)


ENDS = [(0.0, 1.0), (1.0, 0.0), (0.5, np.inf), (np.inf, 0.5), (-np.inf, 1.0), (1.0, -np.inf), (-np.inf, np.inf),
        (np.inf, -np.inf)]  # fmt: skip


@pytest.mark.parametrize("method", ["gauss-kronrod", "tanh-sinh"])
def test_ends_that_are_infinite_when_the_program_runs(method: str) -> None:
    f = lambda x, c: np.exp(-c * x * x) * (2.0 + np.sin(x))
    g = lambda a, b, c: integrate.quad(f, a, b, args=(c,), method=method).value
    value, slopes = ad.jit(g), ad.jit(ad.grad(g, argnums=(0, 1, 2)))
    for a, b in ENDS:
        expected = scipy.integrate.quad(f, a, b, args=(1.3,), epsabs=1e-13)[0]
        third = scipy.integrate.quad(lambda x: -x * x * f(x, 1.3), a, b, epsabs=1e-13)[0]
        at = lambda x: f(x, 1.3) if np.isfinite(x) else 0.0
        assert value(a, b, 1.3) == pytest.approx(expected, abs=1e-10)
        np.testing.assert_allclose(slopes(a, b, 1.3), (-at(a), at(b), third), atol=1e-9)
        np.testing.assert_allclose(ad.grad(g, argnums=(0, 1, 2))(a, b, 1.3), (-at(a), at(b), third), atol=1e-9)


def test_ends_that_are_infinite_in_some_elements_of_a_batch() -> None:
    step = lambda x, p: np.where(x < p, 1.0, 3.0) * np.exp(-np.abs(x))
    mass = lambda a, b, p: integrate.quad(step, a, b, args=(p,), points=(p,)).value
    a, b, p = np.array([0.0, 0.0, -np.inf, -np.inf]), np.array([2.0, np.inf, 2.0, np.inf]), 0.7
    tail = lambda x: np.exp(-x)  # ∫ from x on
    exact = [1 - tail(p) + 3 * (tail(p) - tail(2)), 1 + 2 * tail(p), 2 - tail(p) + 3 * (tail(p) - tail(2)),
             2 + 2 * tail(p)]  # fmt: skip
    every = ad.vmap(mass, in_axes=(0, 0, None))
    np.testing.assert_allclose(every(a, b, p), exact, atol=1e-10)
    np.testing.assert_allclose(ad.jit(every)(a, b, p), exact, atol=1e-10)
    moved = ad.jit(ad.vmap(ad.grad(mass, argnums=2), in_axes=(0, 0, None)))(a, b, p)
    np.testing.assert_allclose(moved, np.full(4, -2 * tail(p)), atol=1e-10)
    curved = ad.jit(ad.hessian(lambda v: mass(v[0], v[1], 0.7)))(np.array([1.0, np.inf]))
    np.testing.assert_allclose(curved, [[3 * np.exp(-1.0), 0.0], [0.0, 0.0]], atol=1e-9)
