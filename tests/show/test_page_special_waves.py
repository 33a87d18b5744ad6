"""Spherical Bessel functions, Struve's, parabolic cylinder functions and Wright's in a page: SciPy's, or mpmath's."""

import mpmath
import numpy as np
import pytest

from adjoint.ops.special.quadrature import Placed
from adjoint.ops.special.sequences import FunctionSequence
from tests.show.evaluating import RUN, Case, check, evaluating_page, found, written

pytestmark = pytest.mark.browser
INF, NAN = float("inf"), float("nan")
SPHERICAL = ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn")
RNG = np.random.default_rng(7)
ORDERS = [-3.5, -2.3, -1.5, -1.0, -0.5, 0.0, 0.3, 1.0, 2.5, 7.0, 22.4]
ARGUMENTS = [0.03, 0.8, 3.1, 11.0, 27.3, 61.0]


def page_values(opened, name, samples):
    """What the page gives, result by result."""
    case, _ = written(*Case(samples).of(name)[:2])
    (out,) = opened(evaluating_page([case])).evaluate(RUN, [case])
    return [found(part) for part in out]


def test_spherical(opened):
    dtypes = ("int64", "float64")
    degrees, points = (0, 1, 2, 5, 17, -1), (0.0, INF, -INF, NAN, -1.0, 0.01, 0.9, 4.0, 16.3, 80.0)
    rows = [Case([(n, x) for n in degrees for x in points], 2e-13, dtypes=dtypes).of(name) for name in SPHERICAL]
    turned = [(n, r * np.exp(1j * w)) for n in (0, 1, 6) for r in (0.1, 3.0, 25.0) for w in (-2.8, -1.0, 0.4, 2.0)]
    rows += [Case(turned, 2e-13, dtypes=("int64", "complex128")).of(name) for name in SPHERICAL]
    check(opened, *rows)


def test_struve_at_the_ends(opened):
    ends = [(v, x) for v in ORDERS for x in (0.0, INF, -INF, NAN, -2.5, 1e5)]
    check(opened, *[Case(ends, 1e-12).of(name) for name in ("struve", "modstruve")])


@pytest.mark.parametrize("name, exact", [("struve", mpmath.struveh), ("modstruve", mpmath.struvel)])
def test_struve(opened, name, exact):
    samples = [(v, x) for v in ORDERS for x in ARGUMENTS]
    (got,) = page_values(opened, name, samples)
    right = [float(exact(v, x)) for v, x in samples]
    np.testing.assert_allclose(got, right, rtol=1e-12)


def test_integrals_of_powers_times_bessel_functions(opened):
    samples = [(a, k, nu) for a in (0.2, 3.0, 14.0, 31.0) for k in (-0.4, 0.0, 2.2) for nu in (0.0, 1.5, 4.0)]
    (got,) = page_values(opened, "besselpoly", samples)
    for z, (a, k, nu) in zip(got, samples, strict=True):
        with mpmath.workdps(50):
            front = mpmath.mpf(a) ** nu / (mpmath.gamma(nu + 1) * (k + nu + 1))
            s = (mpmath.mpf(k) + nu + 1) / 2
            right = float(front * mpmath.hyp1f2(s, s + 1, mpmath.mpf(nu) + 1, -(mpmath.mpf(a) ** 2)))
        np.testing.assert_allclose(z, right, rtol=1e-11, atol=1e-16)
    ends = [(0.0, 1.0, 1.0), (0.0, 1.0, 0.0), (1.0, -1.0, 0.0), (-1.0, 1.0, 1.0), (2.0, 1.0, -1.0), (2.0, 1.0, -0.5)]
    check(opened, Case([*ends, (INF, 1.0, 1.0), (NAN, 1.0, 1.0), (1.0, -2.0, 0.5)], 1e-13).of("besselpoly"))


@pytest.mark.parametrize(
    "name, exact",
    [("pbdv", mpmath.pcfd), ("pbvv", lambda v, x: mpmath.pcfv(-v - 0.5, x)), ("pbwa", mpmath.pcfw)],
)
def test_parabolic(opened, name, exact):
    samples = list(zip(RNG.uniform(-5, 5, 30).tolist(), RNG.uniform(-5, 5, 30).tolist(), strict=True))
    if name != "pbwa":
        samples += [(v, x) for v in (-39.02, -7.0, 0.0, 3.0, 40.3) for x in (-9.0, -0.17, 0.4, 6.0)]
    value, slope = page_values(opened, name, samples)
    for z, dz, (v, x) in zip(value, slope, samples, strict=True):
        with mpmath.workdps(40):
            f = lambda t, v=v: mpmath.re(exact(mpmath.mpf(v), t))
            right, rate = float(f(mpmath.mpf(x))), float(mpmath.diff(f, mpmath.mpf(x)))
            other = float(f(mpmath.mpf(-x)))  # W is a difference of two that are as large as W on the other side
        size = 1e-13 * abs(other) + 1e-12 * np.hypot(right, rate) if name == "pbwa" else 1e-12 * np.hypot(right, rate)
        assert abs(z - right) < size, (v, x, z, right)
        assert abs(dz - rate) < size, (v, x, dz, rate)


def test_parabolic_at_the_ends(opened):
    ends = [(0.5, INF), (0.5, -INF), (0.5, NAN), (NAN, 1.0), (2.0, 30.0), (0.0, 0.0), (-1.0, 0.0), (3.0, 100.0)]
    check(opened, Case(ends, 1e-12, 1e-15).of("pbdv"), Case(ends[:-1], 1e-12, 1e-15).of("pbvv"))
    check(opened, Case([(0.5, 5.0), (0.5, 5.1), (5.1, 1.0), (-5.0, -5.0), (1.0, NAN)], 1e-11).of("pbwa"))


def test_sequences_of_parabolic_functions(opened):
    x = np.array([[0.3, -1.2], [2.5, 0.0]])
    rows = [(FunctionSequence(f"{name}_seq", (v,)), [x], 1e-12, 1e-14) for name in ("pbdv", "pbvv") for v in (4.3, 0.5)]
    check(opened, *rows)


def test_wright(opened):
    samples = [
        (a, b, x) for a in (0.02, 0.5, 1.0, 3.3) for b in (0.0, 0.7, 2.0, 30.0) for x in (0.01, 1.0, 40.0, 300.0)
    ]
    ends = [(0.0, 0.0, 1.0), (0.0, 2.0, 3.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 1.0, INF), (INF, 1.0, 1.0)]
    ends += [(1.0, INF, 1.0), (NAN, 1.0, 1.0), (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (1.0, 1.0, -1.0), (0.0, 2.0, 1e3)]
    check(opened, Case(ends, 1e-13).of("wright_bessel"), Case(ends, 1e-13).of("log_wright_bessel"))
    (got,), (logs,) = (page_values(opened, name, samples) for name in ("wright_bessel", "log_wright_bessel"))
    for z, log, (a, b, x) in zip(got, logs, samples, strict=True):
        with mpmath.workdps(25):
            terms = [
                mpmath.mpf(x) ** k / mpmath.factorial(k) * mpmath.rgamma(mpmath.mpf(a) * k + b) for k in range(800)
            ]
            right = mpmath.fsum(terms)
        np.testing.assert_allclose(z, float(right), rtol=1e-12)
        np.testing.assert_allclose(log, float(mpmath.log(right)), rtol=1e-12, atol=1e-13)


def test_places_of_integrals_and_windows(opened):
    two = [(v, x) for v in (-3.2, 0.0, 0.5, 4.0, 90.0) for x in (0.1, 2.0, 30.0, 2000.0)]
    rules = ["struve.first_term", "struve.scale"]
    rules += [f"parabolic.{rule}" for rule in ("line_of_d", "height_of_d", "line_of_v", "middle_of_v")]
    rows = [Case(two, 1e-14).of(Placed(rule)) for rule in rules]
    three = [(a, b, x) for a in (0.1, 1.0, 3.0) for b in (0.0, 2.0) for x in (0.5, 30.0, 5000.0)]
    rows += [Case(three, 0.0).of(Placed(rule)) for rule in ("wright.stride", "wright.start")]
    check(opened, *rows)
