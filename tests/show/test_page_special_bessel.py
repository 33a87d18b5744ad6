"""Bessel functions in a page beside SciPy's, and their derivatives in the order beside the library's."""

import mpmath
import numpy as np
import pytest

from adjoint.ops.special.parameters import ParameterDerivative
from tests.show.evaluating import RUN, Case, check, evaluating_page, found, written

pytestmark = pytest.mark.browser
INF, NAN = float("inf"), float("nan")
WAVES = ("jv", "yv", "jve", "yve")
GROWING = ("iv", "kv", "ive", "kve")
THIRD = ("hankel1", "hankel2", "hankel1e", "hankel2e")


def pairs(seed, count=60):
    """Orders and arguments, x > 0: small, alike, large; whole and half orders; some negative."""
    rng = np.random.default_rng(seed)
    orders = np.concatenate(
        [rng.uniform(-4, 4, count), 10 ** rng.uniform(-2, 2.2, count), rng.integers(-9, 30, count) / 2]
    )
    arguments = np.concatenate(
        [10 ** rng.uniform(-3, 1.5, count), 10 ** rng.uniform(-2, 2.4, count), 10 ** rng.uniform(-1, 2, count)]
    )
    return list(zip(orders.tolist(), arguments.tolist(), strict=True))


def away_from_zeros(samples):
    """J and Y are compared relatively, so not where they nearly vanish between their zeros."""
    from scipy import special

    kept = []
    for v, x in samples:
        j, y = special.jv(v, x), special.yv(v, x)
        if abs(v) >= x or min(abs(j), abs(y)) > 0.05 * np.hypot(j, y):
            kept.append((v, x))
    return [s for s in kept if all(1e-250 < abs(f(*s)) < 1e250 for f in (special.jv, special.yv, special.iv))]


def test_values_of_real_arguments(opened):
    samples = away_from_zeros(pairs(0))
    rows = [Case(samples, 3e-13).of(name) for name in (*WAVES, *GROWING)]
    whole = [(n, x) for n in (0, 1, 2, 7, -3) for x in (0.01, 0.7, 3.0, 12.0, 151.0)]
    rows += [Case(whole, 3e-13, dtypes=("int64", "float64")).of(name) for name in ("yn", "kn")]
    check(opened, *rows)


def test_values_at_the_ends(opened):
    orders = (0.0, 1.0, 2.0, -1.0, -2.0, 0.5, -0.5, 1.5, 2.3, -2.3, NAN)
    ends = [(v, x) for v in orders for x in (0.0, INF, -INF, NAN, -1.0, -2.5, 1e5)]
    check(opened, *[Case(ends, 1e-12).of(name) for name in (*WAVES, *GROWING)])
    tiny = [(v, 1e-300) for v in (0.0, 1.0, 0.5, 0.3)]
    check(opened, *[Case(tiny, 1e-12).of(name) for name in ("jv", "yv", "kv", "kve", "ive")])
    check(opened, *[Case([(v, 1e300) for v in (0.0, 0.5)], 1e-12).of(name) for name in ("kv", "ive", "kve", "jve")])


def test_values_of_complex_arguments(opened):
    rng = np.random.default_rng(1)
    z = 10 ** rng.uniform(-2, 2.2, 80) * np.exp(1j * rng.uniform(-np.pi, np.pi, 80))
    v = np.concatenate([rng.uniform(-4, 4, 40), rng.integers(-6, 25, 40)])
    samples = list(zip(v.tolist(), z.tolist(), strict=True))
    samples += [(0.3, 2.5 + 0j), (2.0, -2.5 + 0j), (40.0, 12 + 1j), (1.0, complex(NAN, 1))]
    rows = [Case(samples, 2e-13).of(name) for name in (*WAVES, *GROWING, *THIRD)]
    rows += [Case([(0.0, 0j), (1.5, 0j)]).of(name) for name in (*WAVES, *GROWING)]
    rows += [Case(away_from_zeros(pairs(2, 20)), 3e-13).of(name) for name in THIRD]  # real arguments, complex values
    check(opened, *rows)


@pytest.mark.parametrize("name", [*WAVES, *GROWING, *THIRD])
def test_derivatives_in_the_order(opened, name):
    samples = away_from_zeros(pairs(3, 16))
    z = np.exp(1j * np.linspace(-3, 3, 24)) * np.geomspace(0.1, 90, 24)
    complex_samples = [(float(v), complex(w)) for v, w in zip(np.linspace(-3.3, 20, 24), z, strict=True)]
    rows = [Case(complex_samples, 2e-12).of(ParameterDerivative(name, (n, 0))) for n in (1, 2)]
    if name not in THIRD:
        samples += [(2.0, 0.0), (0.0, 3.0), (0.0, 0.0), (1.0, -1.0), (1.0, NAN)]
        rows += [Case(samples, 1e-10, 1e-13).of(ParameterDerivative(name, (n, 0))) for n in (1, 2, 5)]
    check(opened, *rows)


@pytest.mark.parametrize(
    "name, exact",
    [("jv", mpmath.besselj), ("yv", mpmath.bessely), ("iv", mpmath.besseli), ("kv", mpmath.besselk)],
)
def test_values_are_those_of_more_digits(opened, name, exact):
    rng = np.random.default_rng(5)
    samples = list(zip(rng.uniform(-30, 60, 40).tolist(), (10 ** rng.uniform(-1, 2.2, 40)).tolist(), strict=True))
    case, _ = written(*Case(samples).of(name)[:2])
    (out,) = opened(evaluating_page([case])).evaluate(RUN, [case])
    with mpmath.workdps(40):
        errors = []
        for a, (v, x) in zip(found(out[0]).tolist(), samples, strict=True):
            z = size = exact(v, x)
            if name in WAVES and abs(v) < x:
                size = mpmath.hypot(mpmath.besselj(v, x), mpmath.bessely(v, x))
            errors.append(float(abs((a - z) / size)))
    assert max(errors) < 1e-13
