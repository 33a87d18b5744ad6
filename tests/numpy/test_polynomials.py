"""Polynomials: values, products, quotients, roots and fits against NumPy and differences."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import adjoint as ad
from tests.numpy.checking import CHECKS, Case, array, check_compiled, complex_array, every_check

P, Q, XS = array(5), array(3, seed=1), np.linspace(0.0, 1.0, 7)
Y, W = array(7), array(7, seed=3)
CASES = [
    Case("polyval", np.polyval, (P, array(3, 4))),
    Case("polyval complex", np.polyval, (complex_array(3), complex_array(4))),
    Case("polyval of plain coefficients", lambda x: np.polyval([1.0, 2, 3], x), (P,)),
    Case("polyder", lambda p: np.polyder(p, 2), (P,)),
    Case("polyint", np.polyint, (P,)),
    Case("polyint twice", lambda p, k: np.polyint(p, 2, k), (P, np.array([0.3, 0.5]))),
    Case("polyadd", np.polyadd, (P, Q)),
    Case("polysub", np.polysub, (Q, P)),
    Case("polymul", np.polymul, (P, Q)),
    Case("polydiv", np.polydiv, (P, Q)),
    Case("polydiv by more", np.polydiv, (Q, P)),
    Case("polydiv by a number", lambda p, v: np.polydiv(p, v)[0], (P, np.array([0.7]))),
    Case("poly", np.poly, (np.array([0.3, 1.2, -0.7]),)),
    Case("poly complex", np.poly, (complex_array(3),)),
    Case("poly of conjugates", lambda z: np.poly(np.concatenate([z, np.conjugate(z)])), (complex_array(2),)),
    Case("poly of a matrix", np.poly, (array(3, 3) + np.diag([1.0, 3, 7]),)),
    Case("roots", np.roots, (np.poly([1.0, 2.5, -3.0]),)),
    Case("complex roots", np.roots, (complex_array(4),)),
    Case("pairs of roots", np.roots, (np.poly([1.0 + 1j, 1.0 - 1j, 3.0]),)),
    Case("polyfit", np.polyfit, (XS, Y, 2)),
    Case("polyfit of columns", lambda y: np.polyfit(XS, y, 2), (array(7, 2),)),
    Case("polyfit weights", lambda x, y, w: np.polyfit(x, y, 2, w=w), (XS, Y, W)),
    Case("polyfit covariance", lambda x, y: np.polyfit(x, y, 2, cov=True), (XS, Y)),
    Case("polyfit unscaled", lambda x, y, w: np.polyfit(x, y, 2, w=w, cov="unscaled"), (XS, Y, W)),
    Case("polyfit full", lambda x, y: np.polyfit(x, y, 2, full=True, rcond=1e-10)[:2], (XS, Y)),
    Case("polyfit covariance of columns", lambda y: np.polyfit(XS, y, 2, cov=True), (array(7, 2),)),
]
CASES = [c if c.name != "polyfit" else Case("polyfit", lambda x, y: np.polyfit(x, y, 2), (XS, Y)) for c in CASES]


@every_check(CASES, [*CHECKS[1:], check_compiled])
def test_polynomials(case, check) -> None:
    check(case)


@pytest.mark.parametrize("name", ["polyfit", "polydiv", "polymul", "polyint twice", "polyfit covariance"])
def test_recorded_without_values(name) -> None:
    CHECKS[0](next(case for case in CASES if case.name == name))


def test_zeros_at_the_ends() -> None:
    """NumPy drops leading zeros, and zeros at the end are roots at 0."""
    p = np.array([0.0, 1.0, -6.3, 11.1, 0.0, 0.0])
    for f in (np.roots, lambda p: np.polymul(p, p), lambda p: np.polydiv(p[1:], p[1:3])[1]):
        np.testing.assert_allclose(ad.jvp(f, (p,), (p,))[0], f(p))
        np.testing.assert_allclose(ad.jit(f)(p), f(p), atol=1e-12)
    for p in (np.zeros(3), np.array([2.0]), np.array([0.0, 3.0])):
        found, wanted = ad.vjp(np.roots, p)[0], np.roots(p)
        assert found.shape == wanted.shape


def test_roots_inside_a_loop() -> None:
    """Where values are not known the roots stay complex, and are right."""
    ps = np.stack([np.poly([1.0, 2.0, 5.0]), np.poly([0.5, -2.0, 4.0])])

    def f(ps):
        return ad.scan(lambda c, p: (c + np.sum(np.real(np.roots(p)) ** 2), None), 0.0, ps)[0]

    np.testing.assert_allclose(f(ps), 30 + 20.25)
    ad.check_grads(f, (ps,))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 4))
def test_division_undoes_multiplication(seed, n, m) -> None:
    rng = np.random.default_rng(seed)
    a, b, r = rng.normal(size=n), rng.normal(size=m), rng.normal(size=max(m - 1, 1)) * (m > 1)
    u = np.polyadd(np.polymul(a, b), r)
    (quotient, remainder), _ = ad.jvp(np.polydiv, (u, b), (u, b))
    wanted = np.polydiv(u, b)
    np.testing.assert_allclose(quotient, wanted[0], atol=1e-8)
    np.testing.assert_allclose(remainder, wanted[1], atol=1e-8)


def test_what_is_wrong_raises_as_in_numpy() -> None:
    p = np.ones(3)
    for message, call in {
        "must be positive": lambda p: np.polyder(p, -1),
        "k must be a scalar": lambda p: np.polyint(p, 3, [1.0, 2.0]),
        "deg >= 0": lambda p: np.polyfit(p, p, -1),
        "same length": lambda p: np.polyfit(p, p[:2], 1),
        "1-d array for weights": lambda p: np.polyfit(p, p, 1, w=np.ones((3, 1))),
        "must exceed order": lambda p: np.polyfit(np.arange(3.0) * p, p, 2, cov=True),
        "square 2d array": lambda p: np.poly(np.ones((2, 3)) * p),
    }.items():
        with pytest.raises((ValueError, TypeError), match=message):
            ad.jvp(call, (p,), (p,))
