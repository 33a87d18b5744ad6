"""Exponential and elliptic integrals, the dilogarithm, Wright's omega, ζ and Kolmogorov's distribution in a page."""

import numpy as np
import pytest

from tests.show.evaluating import Case, check

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


def test_zeta(opened):
    s = [*ENDS, *wide(1e-3, 150), *[1 + x for x in wide(1e-9, 0.5)], -3.0, -4.0, -60.0]
    check(opened, Case(s, 2e-13).of("riemann_zeta"), Case(s, 2e-13).of("zetac"))


def test_kolmogorov(opened):
    p = [*wide(1e-300, 1, signed=False), *[1 - x for x in wide(1e-12, 1, signed=False)]]
    check(opened, Case([*ENDS, *wide(0.05, 15)], 1e-13).of("kolmogorov"), Case([*ENDS, *p], 1e-14).of("kolmogi"))
