"""Exponential and elliptic integrals, the dilogarithm, Wright's omega, ζ and Kolmogorov's distribution in a page."""

import mpmath
import numpy as np
import pytest

from tests.show.evaluating import Case, check, check_against

pytestmark = pytest.mark.browser
INF, NAN = float("inf"), float("nan")
ENDS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 1e-300, -1e-300, 1e300, -1e300, INF, -INF, NAN]
rng = np.random.default_rng(0)


def wide(low, high, count=150, signed=True):
    sizes = 10 ** rng.uniform(np.log10(low), np.log10(high), count)
    return (sizes * rng.choice([-1.0, 1.0], count) if signed else sizes).tolist()


def plane(low, high, count=150):
    """Complex numbers of these sizes, of all angles."""
    angles = rng.uniform(-3.1, 3.1, count)
    return (np.array(wide(low, high, count)) * np.exp(1j * angles)).tolist()


def test_exponential_integrals(opened):
    x = [*ENDS, *wide(1e-12, 690), *wide(0.2, 60)]
    z = [*plane(1e-3, 100), *[complex(a, b) for a, b in zip(wide(0.5, 100), wide(1e-3, 3), strict=True)]]
    rows = [Case(x, 3e-14, 1e-16).of(name) for name in ("exp1", "expi", "sici", "shichi")]
    check(opened, *rows, *[Case(z, 1e-12).of(name) for name in ("exp1", "expi", "sici", "shichi")])


def test_elliptic_integrals(opened):
    near_one = [1 - x for x in wide(1e-15, 1, signed=False)]
    left = [-x for x in wide(1e-10, 1e300, signed=False)]
    check(
        opened,
        Case([*ENDS, *near_one, *left], 1e-14).of("ellipk"),
        Case([*ENDS, *near_one, *left[:40], *wide(1e-10, 1e10)], 1e-14).of("ellipe"),
        Case([*ENDS, *wide(1e-300, 1e300)], 1e-14).of("ellipkm1"),
    )


def test_the_dilogarithm_and_omega(opened):
    check(
        opened,
        Case([*ENDS, *wide(1e-12, 1e10), *[1 + x for x in wide(1e-12, 0.1)]], 2e-15).of("spence"),
        Case([*plane(1e-3, 1e3), *[1 + w for w in plane(1e-9, 0.1)]], 1e-14).of("spence"),
        Case([*ENDS, *wide(1e-3, 1e10), *wide(1e-3, 700)], 1e-14).of("wrightomega"),
    )


def test_omega_and_lambert_of_complex_numbers(opened):
    grid = [complex(x, y) for x, y in zip(rng.uniform(-6, 4, 150), rng.uniform(-7, 7, 150), strict=True)]
    cuts = [complex(x, y) for x in (-1.0, -5.0, -0.5, -50.0) for y in (np.pi, -np.pi, 3.1, 3.2, -3.2)]
    check(opened, Case([*plane(1e-3, 100), *grid, *cuts, -800 + 1j, 1e10j, 3 + 0j], 2e-14).of("wrightomega"))
    numbers = [
        *plane(1e-9, 1e9),
        *plane(0.05, 3),
        -0.2 + 0j,
        -0.3 + 0j,
        -3 + 0j,
        2 + 0j,
        -0.36 + 1e-3j,
        complex(NAN, 0),
    ]
    samples = [(z, k, 1e-8) for z in numbers for k in (0, -1, 1, 3)] + [(0j, 0, 1e-8), (0j, 1, 1e-8)]
    types = ("complex128", "int64", "float64")
    check(opened, Case(samples, 1e-13, dtypes=types).of("lambertw"))


def test_zeta_of_complex_numbers(opened):
    near = [complex(2, 1e-9), complex(-3, 0.1), complex(0.5, 100), complex(-20.3, 40), 3 + 0j]
    check(opened, Case([*plane(1e-2, 30), *near], 1e-12).of("riemann_zeta"))
    two = [(2 + 1j, 1.0), (-2 + 3j, 1.0), (0.5 + 0j, 1.0), (3 + 0j, 2.5), (2 + 1j, 2.0), (-1.5 + 0j, 2.0)]
    check(opened, Case(two, 1e-12, dtypes=("complex128", "float64")).of("zeta"))
    beside = [complex(1, 1e-6), complex(1 + 1e-9, 1e-5), complex(0.9, 300.5)]  # SciPy's loses digits near the pole
    check_against(opened, "riemann_zeta", [beside], mpmath.zeta, 1e-13)


def test_zeta(opened):
    s = [*ENDS, *wide(1e-3, 150), *[1 + x for x in wide(1e-9, 0.5)], -3.0, -4.0, -60.0]
    check(opened, Case(s, 2e-13).of("riemann_zeta"), Case(s, 2e-13, 1e-38).of("zetac"))


def test_kolmogorov(opened):
    p = [*wide(1e-300, 1, signed=False), *[1 - x for x in wide(1e-12, 1, signed=False)]]
    check(opened, Case([*ENDS, *wide(0.05, 15)], 1e-13).of("kolmogorov"), Case([*ENDS, *p], 1e-14).of("kolmogi"))
