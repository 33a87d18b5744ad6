"""Factors: SciPy's values, derivatives under every transformation, equal eigenvalues and singular values, edges."""

import numpy as np
import pytest
import scipy.linalg

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.scipy import linalg
from tests.numpy.checking import Case, complex_array, every_check, signed
from tests.scipy.matrices import adjoint, apart, compared, complex_apart, complex_regular, hermitian, regular

A, Z = regular(3, 3), complex_regular(3, 3)
TURNED = np.array([[1.0, 2.0, 0.3], [-1.5, 1.2, 0.4], [0.1, 0.2, 3.0]])  # has a pair of complex eigenvalues
TWICE = np.block([[TURNED[:2, :2], 0.3 * np.ones((2, 2))], [0.1 * np.ones((2, 2)), 2 * TURNED[:2, :2]]])
INDEFINITE = np.array([[0.0, 3, 0.2, 0.1], [3, 0.1, 0.3, 0.2], [0.1, 0.2, 0.1, 5], [0.3, 0.2, 5, 0.2]])


CASES = [
    Case("ldl", lambda a: linalg.ldl(a + a.T)[:2], (apart(3, 3, values=(1, -2, 4)),)),
    Case("ldl stack", lambda a: linalg.ldl(hermitian(a))[:2], (complex_apart(2, 3, 3, values=(1, -2, 4)),)),
    Case("ldl symmetric", lambda a: linalg.ldl(a + a.T, hermitian=False)[:2], (complex_apart(3, 3),)),
    Case("ldl blocks", lambda a: linalg.ldl(hermitian(a), lower=False)[:2], (INDEFINITE + 0.1j * signed(4, 4),)),
    Case("polar", linalg.polar, (A,)),
    Case("polar tall", linalg.polar, (complex_regular(4, 2),)),
    Case("polar wide left", lambda a: linalg.polar(a, "left"), (complex_regular(2, 3),)),
    Case("polar of equal singular values", linalg.polar, (2.0 * np.eye(3),)),
    Case("schur", linalg.schur, (apart(3, 3),)),
    Case("schur with a pair", linalg.schur, (TURNED,)),
    Case("schur sorted", lambda a: linalg.schur(a, sort="lhp")[:2], (apart(3, 3, values=(1, -2, 4)),)),
    Case("schur complex", lambda a: tuple(map(np.abs, linalg.schur(a))), (complex_apart(3, 3),)),
    Case("rsf2csf", lambda a: linalg.rsf2csf(*linalg.schur(a)), (TURNED,)),
    Case("qr pivoting", lambda a: linalg.qr(a, mode="economic", pivoting=True)[:2], (np.flip(regular(4, 3), -1),)),
    Case("qr r", lambda a: linalg.qr(a, mode="r")[0], (complex_regular(4, 3),)),
    Case("rq", lambda a: linalg.rq(a, mode="economic"), (complex_regular(3, 3),)),
    Case("qr_multiply", linalg.qr_multiply, (regular(4, 3), signed(2, 4))),
]


@every_check(CASES)
def test_derivatives(case, check) -> None:
    check(case)


@pytest.mark.parametrize("a", [TURNED, TWICE, complex_apart(3, 3)], ids=["pair", "pairs", "complex"])
def test_functions_of_a_schur_form_that_do_not_depend_on_its_signs(a) -> None:
    """Z T T Zᴴ = a a, and the derivative of T is that of the eigenvalues."""

    def squared(a):
        t, z = linalg.schur(a)
        return z @ t @ t @ adjoint(z)

    v = complex_array(*a.shape) if a.dtype.kind == "c" else signed(*a.shape)
    value, slope = ad.jvp(squared, (a,), (v,))
    np.testing.assert_allclose(value, a @ a, atol=1e-12)
    np.testing.assert_allclose(slope, a @ v + v @ a, atol=1e-12)
    u = np.cos(np.arange(a.size)).reshape(a.shape)
    gradient = lambda a: ad.grad(lambda a: np.sum(np.abs(squared(a) - u) ** 2))(a)
    plain = lambda a: ad.grad(lambda a: np.sum(np.abs(a @ a - u) ** 2))(a)
    np.testing.assert_allclose(gradient(a), plain(a), atol=1e-10)
    for derivative in (lambda g: ad.jvp(g, (a,), (v,))[1], lambda g: ad.vjp(g, a)[1](v)[0]):
        np.testing.assert_allclose(derivative(gradient), derivative(plain), atol=1e-8)


@pytest.mark.parametrize("a", [A, Z, TURNED], ids=["real", "complex", "pair"])
def test_values_are_scipys(a) -> None:
    for options in ({}, {"output": "complex"}, {"sort": "rhp"}):
        compared(linalg.schur(a, **options), scipy.linalg.schur(a, **options))
    compared(linalg.rsf2csf(*linalg.schur(a)), scipy.linalg.rsf2csf(*scipy.linalg.schur(a)))
    for options in ({}, {"lower": False}, {"hermitian": False}):
        s = a + a.T if "hermitian" in options else hermitian(a)
        compared(linalg.ldl(s, **options), scipy.linalg.ldl(s, **options))
    for b in (a, a[:, :2], a[:2]):
        for side in ("right", "left"):
            compared(linalg.polar(b, side), scipy.linalg.polar(b, side))
        for options in ({}, {"mode": "economic"}, {"mode": "r"}, {"pivoting": True}, {"mode": "r", "pivoting": True}):
            compared(linalg.qr(b, **options), scipy.linalg.qr(b, **options))
        for mode in ("full", "r", "economic"):
            ours, theirs = linalg.rq(b, mode=mode), scipy.linalg.rq(b, mode=mode)
            compared(np.abs(ours if mode == "r" else ours[0]), np.abs(theirs if mode == "r" else theirs[0]))
    packed, r = linalg.qr(a, mode="raw")
    wanted, wanted_r = scipy.linalg.qr(a, mode="raw")
    compared([*packed, r], [*wanted, wanted_r])
    for options in ({}, {"mode": "left"}, {"conjugate": True}, {"pivoting": True}):
        compared(linalg.qr_multiply(a, a.T, **options), scipy.linalg.qr_multiply(a, a.T, **options))


def test_rotations_have_a_polar_factor_to_second_order() -> None:
    """Near a rotation Q all singular values are equal: d²/dt² of the factor of Q e^(tK) is that of Q e^(tK)."""
    q, k = np.linalg.qr(signed(3, 3))[0], signed(3, 3) - signed(3, 3).T
    along = lambda f: ad.jvp(lambda t: ad.jvp(f, (t,), (1.0,))[1], (0.0,), (1.0,))[1]
    found = along(lambda t: linalg.polar(q @ linalg.expm(t * k))[0])
    np.testing.assert_allclose(found, q @ k @ k, atol=1e-12)


def test_compiled_values_and_gradients_are_the_same() -> None:
    def f(a):
        low, d, _ = linalg.ldl(a + a.T)
        u, p = linalg.polar(a)
        t, z = linalg.schur(a)
        return np.sum(np.sin(low @ d)) + np.sum(u * p) + np.sum(np.cos(t) * np.abs(z))

    for g in (f, ad.grad(f)):
        compared(ad.jit(g)(apart(3, 3)), g(apart(3, 3)), 1e-11)


@pytest.mark.parametrize("call, error, words", [
    (lambda: ad.grad(lambda a: np.sum(linalg.schur(a)[0]))(np.eye(3)), np.linalg.LinAlgError, "twice"),
    (lambda: ad.grad(lambda a: np.sum(linalg.polar(a)[0]))(np.ones((2, 2))), np.linalg.LinAlgError, "full rank"),
    (lambda: linalg.polar(A, "up"), ValueError, "side"),
    (lambda: linalg.qr(A, mode="some"), ValueError, "Mode"),
    (lambda: linalg.schur(A, sort="up"), ValueError, "sort"),
    (lambda: ad.grad(lambda a: np.sum(linalg.hessenberg(a)))(A), UnsupportedError, "hessenberg.*schur"),
    (lambda: ad.grad(lambda a: np.sum(linalg.qz(a, A)[0]))(A), UnsupportedError, "eig"),
])  # fmt: skip
def test_wrong_calls_raise(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()
