"""Bessel functions of orders 0 and 1, Kelvin's, Airy's, their integrals in a page, beside SciPy's and mpmath's."""

import functools

import mpmath
import numpy as np
import pytest

from tests.show.evaluating import Case, check, check_against

pytestmark = pytest.mark.browser
INF, NAN = float("inf"), float("nan")
ENDS = [0.0, -0.0, 1.0, -1.0, 1e-300, -1e-300, INF, -INF, NAN]
rng = np.random.default_rng(0)


def wide(low, high, count=150, signed=True):
    sizes = 10 ** rng.uniform(np.log10(low), np.log10(high), count)
    return (sizes * rng.choice([-1.0, 1.0], count) if signed else sizes).tolist()


def test_bessel_functions(opened):
    x = [*ENDS, *wide(1e-12, 1e3), *wide(1, 40)]
    waves = [Case(x, 1e-14, 3e-15).of(name) for name in ("j0", "j1")]
    waves += [Case(x, 1e-14, 5e-15).of(name) for name in ("y0", "y1")]
    moderate = [*ENDS, *wide(1e-12, 600), *wide(1, 40)]
    rest = [Case(moderate, 1e-14).of(name) for name in ("i0", "i1", "k0", "k1")]
    far = [*x, 1e5, 1e15, 1e300, -1e300]
    check(opened, *waves, *rest, *[Case(far, 1e-14).of(name) for name in ("i0e", "i1e", "k0e", "k1e")])


def test_waves_far_out(opened):  # SciPy rounds x - π/4 there
    x = wide(1e3, 1e12, 8)
    check_against(opened, "j0", [x], lambda x: mpmath.besselj(0, x), 1e-15, 1e-16)
    check_against(opened, "y1", [np.abs(x)], lambda x: mpmath.bessely(1, x), 1e-15, 1e-16)


@functools.cache
def kelvin(x):
    turn = mpmath.exp(1j * mpmath.pi / 4)
    z = turn * x
    first, second = mpmath.besseli(0, z), turn * mpmath.besseli(1, z)
    return first, mpmath.besselk(0, z), second, -turn * mpmath.besselk(1, z)


def test_kelvin_functions(opened):
    """SciPy's have twelve digits at most."""
    x = wide(1e-3, 60, 16, signed=False)
    check_against(opened, "kelvin", [x], kelvin, 2e-14)
    for name, place, part in (
        ("ber", 0, "real"), ("bei", 0, "imag"), ("berp", 2, "real"), ("beip", 2, "imag"),
        ("ker", 1, "real"), ("kei", 1, "imag"), ("kerp", 3, "real"), ("keip", 3, "imag"),
    ):  # fmt: skip
        value = lambda x, place=place, part=part: getattr(kelvin(x)[place], part)
        check_against(opened, name, [x], value, 1e-12)
    names = ("ber", "bei", "berp", "beip", "ker", "kei", "kerp", "keip", "kelvin")
    check(opened, *[Case([*ENDS[:4], *ENDS[6:], -2.0, -17.0, 1e300, 800.0], 1e-9).of(name) for name in names])


def test_airy_functions(opened):
    x = [*ENDS, *wide(1e-12, 100, signed=False), *wide(-1e-9 * -1, 60, signed=False)]
    x += [-t for t in wide(1e-6, 100, signed=False)]
    z = [r * complex(np.exp(1j * a)) for r, a in zip(wide(1e-3, 15), rng.uniform(-3.1, 3.1, 150), strict=True)]
    rows = [Case(x, 2e-13, 1e-13).of(name) for name in ("airy", "airye")]
    check(opened, *rows, *[Case(z, 1e-12).of(name) for name in ("airy", "airye")])
    small = wide(0.1, 60, 60, signed=False)
    check_against(opened, "airy", [small], airy, 3e-13)


def airy(x):
    return tuple(f(x, derivative=k) for f in (mpmath.airyai, mpmath.airybi) for k in (0, 1))


def test_integrals_of_airy_functions(opened):
    """SciPy's have eight digits at first, and none near x = 9."""

    def integrals(x):
        return tuple(sign * f(sign * x, derivative=-1) for sign in (1, -1) for f in (mpmath.airyai, mpmath.airybi))

    check_against(opened, "itairy", [wide(1e-2, 30, 25)], integrals, 1e-13, 1e-14)
    check(opened, Case([*ENDS, *wide(1e-2, 1)], 1e-6, 1e-7).of("itairy"))


def series(x, sign, weight, start=0):
    """Σ (±1)ᵏ (x/2)²ᵏ/k!² weight(k, log(x/2) + γ - 1 - 1/2 - … - 1/k)."""
    term, rest, total = mpmath.mpf(1), mpmath.log(x / 2) + mpmath.euler, mpmath.mpf(0)
    for k in range(300):
        if k:
            term *= sign * (x / 2) ** 2 / k**2
            rest -= mpmath.mpf(1) / k
        total += term * weight(k, rest) if k >= start else 0
        if k > x and abs(term) < 1e-90:
            break
    return total


def from_zero(x, sign):
    """∫₀ˣ of J₀ and π/2 Y₀, or of I₀ and -K₀."""
    first = x * series(x, sign, lambda k, rest: mpmath.mpf(1) / (2 * k + 1))
    return first, x * series(x, sign, lambda k, rest: (rest - mpmath.mpf(1) / (2 * k + 1)) / (2 * k + 1))


def over_t(x, sign):
    """∫₀ˣ (J₀ - 1)/t dt and -∫ₓ^∞ π/2 Y₀/t dt, or ∫₀ˣ (I₀ - 1)/t dt and ∫ₓ^∞ K₀/t dt."""
    first = series(x, sign, lambda k, rest: mpmath.mpf(1) / (2 * k), 1)
    near = series(x, sign, lambda k, rest: (rest - mpmath.mpf(1) / (2 * k)) / (2 * k), 1)
    start = (mpmath.log(x / 2) + mpmath.euler) ** 2 / 2
    return first, start + near + (mpmath.pi**2 / 24 if sign > 0 else -(mpmath.pi**2) / 12)


def test_integrals_of_bessel_functions(opened):
    """SciPy's have nine to twelve digits, and none in places: it2i0k0 between 12 and 15, itstruve0 from 30 on."""
    x = wide(1e-2, 38, 9, signed=False) + wide(41, 80, 4, signed=False)
    against = lambda name, exact, atol=0.0: check_against(opened, name, [x], exact, 2e-13, atol, digits=120)
    against("itj0y0", lambda x: (from_zero(x, -1)[0], from_zero(x, -1)[1] * 2 / mpmath.pi), 3e-15)
    against("iti0k0", lambda x: (from_zero(x, 1)[0], -from_zero(x, 1)[1]))
    against("it2j0y0", lambda x: (-over_t(x, -1)[0], -over_t(x, -1)[1] * 2 / mpmath.pi), 1e-14)
    against("it2i0k0", lambda x: over_t(x, 1))
    half = mpmath.mpf(3) / 2
    odd = lambda x, sign: x * x / mpmath.pi * mpmath.hyper([1, 1], [half, half, 2], sign * x * x / 4)
    against("itstruve0", lambda x: odd(x, -1))
    against("itmodstruve0", lambda x: odd(x, 1))
    by_t = lambda x: 2 * x / mpmath.pi * mpmath.hyper([0.5, 1], [half, half, half], -x * x / 4)
    against("it2struve0", lambda x: mpmath.pi / 2 - by_t(x), 1e-15)


def test_integrals_of_bessel_functions_at_the_ends(opened):
    names = ("itj0y0", "it2j0y0", "iti0k0", "it2i0k0", "itmodstruve0", "it2struve0", "itstruve0")
    x = [*ENDS[:4], *ENDS[6:], *wide(1e-2, 5, 40)]
    check(opened, *[Case(x, 1e-7, 1e-8).of(name) for name in names])
