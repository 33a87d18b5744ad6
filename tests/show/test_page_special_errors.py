"""Error functions, their inverses and Fresnel's integrals in a page, beside SciPy's and mpmath's."""

import mpmath
import numpy as np
import pytest
from scipy import special

from tests.show.evaluating import Case, check, check_against

pytestmark = pytest.mark.browser
INF, NAN = float("inf"), float("nan")
ENDS = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 1e-300, -1e-300, 1e300, -1e300, INF, -INF, NAN]
rng = np.random.default_rng(0)


def wide(low, high, count=150, signed=True):
    """Sizes from low to high, all orders of magnitude alike."""
    sizes = 10 ** rng.uniform(np.log10(low), np.log10(high), count)
    return (sizes * rng.choice([-1.0, 1.0], count) if signed else sizes).tolist()


def plane(low, high, count=150):
    """Complex numbers of these sizes, of all angles."""
    angles = rng.uniform(-3.1, 3.1, count)
    return (np.array(wide(low, high, count)) * np.exp(1j * angles)).tolist()


def test_error_functions(opened):
    near_one = [1 - x for x in wide(1e-15, 1, signed=False)]
    check(
        opened,
        Case([*ENDS, *wide(1e-12, 26)], 1e-13).of("erfi"),
        Case([*ENDS, *wide(1e-12, 1e12)], 1e-13).of("dawsn"),
        Case([*ENDS, *wide(1e-300, 1), *near_one], 1e-14).of("erfinv"),
        Case([*ENDS, *wide(1e-300, 2, signed=False), *[1 + x for x in near_one]], 1e-14, 1e-16).of("erfcinv"),
        Case([*ENDS, *wide(1e-300, 1, signed=False), *near_one], 1e-14, 1e-15).of("ndtri"),
        Case([*ENDS[2:], 0.0, *[-y for y in wide(1e-14, 600, signed=False)]], 1e-13, 1e-15).of("ndtri_exp"),
        Case([*ENDS, 0.5, -0.5, -1.5, -2.5, -3.0, 7.2], 0).of("gammasgn"),
    )


def test_error_functions_of_complex_numbers(opened):
    z = [*plane(1e-3, 20), *[complex(x, y) for x, y in zip(wide(1e-3, 30), wide(1e-10, 1), strict=True)]]
    names = ("wofz", "erf", "erfc", "erfi", "erfcx", "dawsn", "ndtr")
    moderate = {
        name: [w for w, v in zip(z, getattr(special, name)(np.array(z)), strict=True) if 1e-250 < abs(v) < 1e250]
        for name in names
    }
    check(opened, *[Case(moderate[name], 2e-13).of(name) for name in names])
    logarithm = lambda z: mpmath.log(mpmath.erfc(-z / mpmath.sqrt(2)) / 2)
    check_against(opened, "log_ndtr", [z[:60]], logarithm, 1e-13, digits=120)  # SciPy's loses digits on the right


def test_fresnel_integrals(opened):
    z = plane(1e-3, 8)
    real = [*ENDS[:8], INF, -INF, NAN, *wide(1e-12, 1e3)]
    check(opened, Case(real, 1e-13).of("fresnel"), Case(z, 2e-13).of("fresnel"))


def test_modified_fresnel_integrals(opened):
    """SciPy's F are wrong to the left of zero."""
    right = [0.0, 1.0, NAN, INF, *wide(1e-6, 50, signed=False)]
    check(opened, *[Case(right, 1e-12, 1e-14).of(name) for name in ("modfresnelp", "modfresnelm")])
    for name, i in (("modfresnelp", 1j), ("modfresnelm", -1j)):

        def integrals(x, i=i):
            turn = mpmath.exp(i * mpmath.pi / 4)
            value = mpmath.erfc(x / turn) / 2
            return mpmath.sqrt(mpmath.pi) * turn * value, mpmath.exp(-i * x * x) * value

        check_against(opened, name, [wide(1e-6, 30, 30)], integrals, 1e-13)
