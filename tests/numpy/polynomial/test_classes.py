"""NumPy's series classes with traced coefficients, in code as users write it: against differences of NumPy's own."""

import numpy as np
import pytest

import adjoint as ad
import adjoint.numpy as adn

P = np.polynomial
X = np.array([0.13, -0.82, 0.64, 0.41, -0.35, 0.93])
MADE = P.Chebyshev([1.0, 2.0, 0.5, 0.3], domain=[-2.0, 3.0])  # outside, of plain numbers
CASES = {
    "product and derivative": lambda x: (P.Polynomial(x).deriv() * P.Polynomial(x))(0.3),
    "integrals": lambda x: P.Polynomial(x).integ()(1.0) - P.Polynomial(x).integ(lbnd=x[0])(x[1]),
    "fits": lambda x: (
        P.Polynomial.fit(np.arange(6.0), x, 2)(2.5) + P.Chebyshev.fit(np.arange(6.0) + x, np.cos(x), 3)(0.7)
    ),
    "plain series at traced points": lambda x: np.sum(MADE(x)) + MADE.deriv()(x[0]) * MADE.integ()(x[2]),
    "numbers": lambda x: (x[0] * P.Legendre(x[1:]) + P.Legendre([1, 2.0]) * x[3] - x[2])(0.2),
    "division": lambda x: (
        (P.Polynomial(x) ** 2 // P.Polynomial([1, x[0], 1.0]))(0.3)
        + divmod(P.Polynomial(x), P.Polynomial([1.0, 2.0]))[1].coef[0]
        + (P.Polynomial(x) / x[1])(2.0)
        + (P.Polynomial(x) % P.Polynomial([1.0, 2.0, 1.0]))(0.1)
    ),
    "roots": lambda x: np.sum(np.abs(P.Polynomial(x[:4] + np.array([0, 0, 0, 5.0])).roots()) ** 2),
    "one in another": lambda x: P.Hermite(x)(P.Hermite(x[:2]))(0.1) + MADE(P.Chebyshev(x[:3]))(0.2),
    "other kinds": lambda x: P.HermiteE(x).convert(kind=P.Polynomial)(0.2) + P.Laguerre.basis(2)(x[0]),
    "from roots": lambda x: P.Polynomial.fromroots(x)(0.1) + P.Laguerre.fromroots(x[:3], domain=[0.0, 2.0])(0.4),
    "with a plain one": lambda x: (
        (MADE * P.Chebyshev(x, domain=[-2, 3]))(1.1) + (P.Chebyshev(x, domain=[-2, 3]) - MADE)(1.1)
    ),
    "parts": lambda x: (
        sum(P.Polynomial(x))
        + P.Polynomial(x).cutdeg(2)(0.3)
        + (-P.Polynomial(x)).truncate(2)(0.3)
        + P.Polynomial(x).trim()(0.4)
        + P.Polynomial(x).linspace(3)[1][1]
        + len(P.Polynomial(x))
    ),
    "functions": lambda x: (
        P.chebyshev.chebval(0.3, x)
        + P.legendre.legval(x[0], [1, 2, 3.0])
        + P.hermite.hermfit(np.arange(6.0), x, 2)[1]
        + P.polynomial.polyfromroots(x)[2]
    ),
}


@pytest.mark.parametrize("f", CASES.values(), ids=CASES)
def test_derivatives(f):
    steps = 1e-6 * np.eye(6)
    differences = [(f(X + h) - f(X - h)) / 2e-6 for h in steps]
    gradient = ad.grad(f)(X)
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(X), gradient, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(ad.jacfwd(f)(X), gradient, rtol=1e-11, atol=1e-12)
    several = np.stack([X, 0.9 * X])
    expected = [gradient, ad.grad(f)(0.9 * X)]
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(several), expected, rtol=1e-11, atol=1e-12)


def test_plain_coefficients_give_what_numpy_gives():
    for name in ("Polynomial", "Chebyshev", "Legendre", "Hermite", "HermiteE", "Laguerre"):
        ours, numpys = (getattr(place.polynomial, name)([1, 2, 3], domain=[-1, 2]) for place in (adn, np))
        assert isinstance(ours, type(numpys))
        np.testing.assert_allclose(ours(X), numpys(X), rtol=1e-13)
        np.testing.assert_allclose(ours.deriv()(X), numpys.deriv()(X), rtol=1e-13)
        np.testing.assert_allclose((ours * numpys)(X), (numpys * numpys)(X), rtol=1e-12)
        np.testing.assert_allclose((numpys - 2 * ours)(X), -numpys(X), rtol=1e-12)
        np.testing.assert_allclose(np.sort_complex(ours.roots()), np.sort_complex(numpys.roots()), rtol=1e-10)
        assert name in repr(ours)


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match=r"Chebyshev: coef has shape \(2, 3\)"):
        adn.polynomial.Chebyshev(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"domain has shape \(3,\)"):
        adn.polynomial.Polynomial([1.0], domain=[1, 2, 3])
    with pytest.raises(TypeError, match="Domains differ"):
        adn.polynomial.Polynomial([1.0], domain=[0, 1]) + P.Polynomial([1.0])
    with pytest.raises(TypeError, match="types differ"):
        adn.polynomial.Polynomial([1.0]) * P.Chebyshev([1.0])
    assert adn.polynomial.Polynomial([1.0, 1e-9]).trim(1e-8).degree() == 0
