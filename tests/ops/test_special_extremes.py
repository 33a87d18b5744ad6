"""Special functions of one variable at the ends of their range: compiled values, and first derivatives by mpmath."""

import mpmath as mp
import numpy as np
import pytest
from scipy import special

import adjoint as ad

NAMES = [
    name
    for name in dir(special)
    if isinstance(f := getattr(special, name), np.ufunc) and f.nin == f.nout == 1 and "d->d" in f.types
]
NUMBERS = [0.0, 5e-324, 2.3e-308, 1e-300, 1e-100, 1e-17, 1e-8, 0.5, 1.0, 2.0, 3.0, 100.5, 170.0, 171.5, 200.0, 709.0]
NUMBERS += [1e3, 1e5, 2.0**52, 1e17, 1e100, 1.3e154, 1.5e154, 1e200, 2.6e305, 1e307, 1.7e308, np.inf]
POINTS = np.array([*NUMBERS, *np.negative(NUMBERS), np.nan])
# where SciPy gives up early, and the exact value is given; and erfinv is odd
EXACT = {("gammaln", 5e-324), ("gammaln", -5e-324), ("loggamma", 5e-324), ("rgamma", 5e-324), ("rgamma", -5e-324)}
EXACT |= {("erfinv", -0.0)}


@pytest.mark.parametrize("name", NAMES)
def test_compiled_values_are_scipys(name) -> None:
    f = getattr(special, name)
    with np.errstate(all="ignore"):
        found, wanted = ad.jit(lambda x: f(x))(POINTS), f(POINTS)
    plain = [i for i, x in enumerate(POINTS) if (name, x) not in EXACT]
    np.testing.assert_allclose(found[plain], wanted[plain], rtol=1e-11, atol=1e-307)
    zeros = [i for i in plain if wanted[i] == 0]
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(wanted[zeros]))


def slope_of_exprel(x):
    return (mp.exp(x) * (x - 1) + 1) / x**2


# the derivative, and where it is asked for
SLOPES = {
    "spence": (lambda x: -mp.log(x) / (x - 1), [5e-324, 1e-300, 1e-17, 1e-16, 1e-8, 0.3, 0.69, 0.71, 1.31, 1e5, 1e300]),
    "exprel": (slope_of_exprel, [-1e300, -1e10, -1e3, -2.0, -1.01, 0.9, 0.99, 1.01, 30.0, 500.0, 709.0]),
    "zetac": (lambda s: mp.zeta(s, 1, 1), [-4.0, -99.0, -172.0, 99.5, 101.0]),
    "rgamma": (lambda x: mp.diff(mp.rgamma, x), [-1.0, -2.0, -2.5, -20.0, -100.0, -170.0, 0.5, 20.0, 170.0]),
    "cotdg": (lambda x: -mp.pi / 180 / mp.sinpi(x / 180) ** 2, [1e-100, 1e-17, 1e-10, -1e-5, 1.0, 91.0, 179.0]),
    "expm1": (mp.exp, [-700.0, -100.0, -38.0, -20.0, -1.0, 1e-300, 1.0, 700.0]),
    "ellipk": (lambda m: (mp.ellipe(m) / (1 - m) - mp.ellipk(m)) / (2 * m), [-1e200, -1e100, -1e5, -1.0, 0.5, 0.999]),
    "ellipe": (lambda m: (mp.ellipe(m) - mp.ellipk(m)) / (2 * m), [-1.7e308, -1e300, -1e5, -1.0, 0.5, 0.999]),
    "log_ndtr": (lambda x: mp.npdf(x) / mp.ncdf(x), [-30.0, -5.0, 0.0, 5.0, 30.0]),
    "gammaln": (mp.digamma, [1e-300, -1e-300, 1e-17, 0.5, -0.5, -100.5, 1e300]),
}  # fmt: skip


@pytest.mark.parametrize("name", SLOPES)
def test_first_derivatives_by_mpmath(name) -> None:
    f, (slope, points) = getattr(special, name), SLOPES[name]
    with mp.workdps({"exprel": 400, "spence": 400, "zetac": 20}.get(name, 60)):
        wanted = [float(slope(mp.mpf(x))) for x in points]
    for gradient in (ad.vmap(ad.grad(f)), ad.jit(ad.vmap(ad.grad(f)))):
        np.testing.assert_allclose(gradient(np.array(points)), wanted, rtol=1e-12, atol=0)


def slopes(f, points, order=1):
    for _ in range(order):
        f = ad.grad(f)
    with np.errstate(all="ignore"):
        eager, compiled = (g(np.array(points)) for g in (ad.vmap(f), ad.jit(ad.vmap(f))))
    np.testing.assert_array_equal(compiled, eager)
    return eager


def test_derivatives_that_overflow_are_infinite() -> None:
    assert np.all(slopes(special.exprel, [720.0, 1e3, 1e300, np.inf]) == np.inf)
    assert np.all(slopes(special.exprel, [1e3], 2) == np.inf)
    n = np.array([172.0, 173.0, 200.0, 201.0, 1e5, 1e17])
    infinite = np.where(n % 2, -np.inf, np.inf)  # 1/Γ is (-1)ⁿ n! (x + n - ψ(n + 1) (x + n)² …) near -n
    np.testing.assert_array_equal(slopes(special.rgamma, -n), infinite)
    np.testing.assert_array_equal(slopes(special.rgamma, -n, 2), -infinite)
    n = np.array([130.0, 131.0, 500.0, 1e15])  # ζ′(-2n) has the sign (-1)ⁿ
    np.testing.assert_array_equal(slopes(special.zetac, -2 * n), np.where(n % 2, -np.inf, np.inf))
    np.testing.assert_array_equal(slopes(special.zetac, [1e5, 1e17, np.inf]), 0)


def test_signs_of_zero() -> None:
    zeros = np.array([0.0, -0.0])
    with np.errstate(all="ignore"):
        for f in (special.gamma, special.rgamma, special.psi, special.gammaln):
            np.testing.assert_array_equal(1 / ad.jit(f)(zeros), 1 / f(zeros))
            for x in zeros:
                assert ad.jit(f)(x) == f(x)
