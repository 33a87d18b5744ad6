"""The functions of numpy.polynomial on traced values: one implementation, six families, against NumPy's own."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import adjoint as ad
import adjoint.numpy as adn
from adjoint import config
from tests.numpy.checking import CHECKS, Case, array, check_compiled, check_first_order, check_value

FAMILIES = {
    "polynomial": "poly",
    "chebyshev": "cheb",
    "legendre": "leg",
    "hermite": "herm",
    "hermite_e": "herme",
    "laguerre": "lag",
}
X, C, D, M, T = array(5), array(4, seed=1), array(3, seed=2), array(3, 4), array(2, 3, 4)
XS, YS = np.linspace(-1.0, 1.0, 7), array(7)


def cases(name):
    family, p = getattr(adn.polynomial, name), FAMILIES[name]
    f = lambda end: getattr(family, p + end)
    return [
        Case("val", f("val"), (X, C)),
        Case("val of plain x", lambda c: f("val")(X, c), (C,)),
        Case("val of a table", f("val"), (X, M)),
        Case("val by column", lambda x, c: f("val")(x, c, tensor=False), (array(4), M)),
        Case("val2d", f("val2d"), (X, 2 * X, M)),
        Case("val3d", f("val3d"), (X, 2 * X, X - 1, T)),
        Case("grid2d", f("grid2d"), (X, C, M)),
        Case("grid3d", f("grid3d"), (X, C, D, T)),
        Case("vander", lambda x: f("vander")(x, 3), (X,)),
        Case("vander2d", lambda x, y: f("vander2d")(x, y, [1, 2]), (X, 2 * X)),
        Case("vander3d", lambda x, y, z: f("vander3d")(x, y, z, [1, 2, 1]), (X, 2 * X, X - 1)),
        Case("add", f("add"), (C, D)),
        Case("sub", f("sub"), (D, C)),
        Case("mul", f("mul"), (C, D)),
        Case("mulx", f("mulx"), (C,)),
        Case("div", f("div"), (X, D)),
        Case("div by more", f("div"), (D, C)),
        Case("pow", lambda c: f("pow")(c, 3), (D,)),
        Case("line", f("line"), (0.3, 0.7)),
        Case("fromroots", f("fromroots"), (D,)),
        Case("der", lambda c: f("der")(c, 2, 3.0), (X,)),
        Case("der along an axis", lambda c: f("der")(c, axis=1), (M,)),
        Case("int", lambda c, a, s: f("int")(c, 2, [0.1, 0.2], a, s), (C, 0.3, 2.0)),
        Case("int along an axis", lambda c: f("int")(c, axis=1), (M,)),
        Case("fit", lambda x, y: f("fit")(x, y, 2), (XS, YS)),
        Case("fit some degrees", lambda x, y, w: f("fit")(x, y, [0, 2], w=w, full=True)[0], (XS, YS, array(7, seed=3))),
        Case("companion", f("companion"), (C,)),
        Case("roots", f("roots"), (f("fromroots")([0.3, 1.7, -1.2]),)),
        *([] if p == "poly" else [Case("from powers", getattr(family, f"poly2{p}"), (C,))]),
        *([] if p == "poly" else [Case("to powers", getattr(family, f"{p}2poly"), (C,))]),
        *([Case("value from roots", family.polyvalfromroots, (X, C))] if p == "poly" else []),
    ]


ALL = [(name, case) for name in FAMILIES for case in cases(name)]


@pytest.mark.parametrize("case", [case for _, case in ALL], ids=[f"{name} {case.name}" for name, case in ALL])
def test_first_order(case) -> None:
    check_value(case)
    check_first_order(case)


@pytest.mark.parametrize("check", [*CHECKS[3:], check_compiled], ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "case", cases("legendre")[::4] + cases("laguerre")[2::4] + cases("polynomial")[-1:], ids=lambda case: case.name
)
def test_other_transformations(case, check) -> None:
    check(case)


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(list(FAMILIES)), st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 6))
def test_against_numpy(name, seed, n, m) -> None:
    rng = np.random.default_rng(seed)
    a, b, p = rng.normal(size=n), rng.normal(size=m), FAMILIES[name]
    for end in ("mul", "add", "div", "val"):
        ours, numpys = (getattr(getattr(place.polynomial, name), p + end) for place in (adn, np))
        found, wanted = ad.jvp(ours, (a, b), (a, b))[0], numpys(a, b)
        for part, expected in zip(found, wanted, strict=True) if end == "div" else [(found, wanted)]:
            np.testing.assert_allclose(part, expected, rtol=1e-7, atol=1e-7 * (1 + np.max(np.abs(expected))))


def test_the_rest_is_numpys() -> None:
    assert issubclass(adn.polynomial.Chebyshev, np.polynomial.Chebyshev)
    np.testing.assert_array_equal(adn.polynomial.legendre.leggauss(3), np.polynomial.legendre.leggauss(3))
    np.testing.assert_array_equal(
        adn.polynomial.chebyshev.chebval(0.3, [1, 2]), np.polynomial.chebyshev.chebval(0.3, [1, 2])
    )
    assert "chebval" in dir(adn.polynomial.chebyshev)
    assert "chebyshev" in repr(adn.polynomial.chebyshev)
    assert "Hermite" in dir(adn.polynomial)
    with pytest.raises(AttributeError):
        adn.polynomial.chebyshev.nothing


def test_numpys_own_functions_name_ours() -> None:
    for f, ours in (
        (lambda x: np.polynomial.legendre.legval(x, x), r"adjoint\.numpy\.polynomial\.legendre\.legval"),
        (lambda x: np.polynomial.polynomial.polyfit(x, x, 1), r"adjoint\.numpy\.polynomial\.polynomial\.polyfit"),
        (lambda x: np.polynomial.Polynomial([1.0, 2.0])(x), r"adjoint\.numpy\.polynomial\.polynomial\.polyval"),
    ):
        with config.override(convert=False), pytest.raises(TypeError, match=ours):
            ad.grad(lambda x, f=f: np.sum(f(x)))(X)
        slope = (np.sum(f(X + 1e-6)) - np.sum(f(X - 1e-6))) / 2e-6
        assert np.sum(ad.grad(lambda x, f=f: np.sum(f(x)))(X)) == pytest.approx(slope, rel=1e-6, abs=1e-8)
    f = lambda x: np.polynomial.polynomial.polyval2d(x, x, M)  # NumPy hands this one over
    np.testing.assert_allclose(ad.vjp(f, X)[0], f(X))


def test_what_is_wrong_raises_as_in_numpy() -> None:
    p = adn.polynomial.polynomial
    for message, call in {
        "non-negative integer": lambda c: p.polypow(c, -1),
        "too large": lambda c: p.polypow(c, 5, 4),
        "derivation": lambda c: p.polyder(c, -1),
        "integration must": lambda c: p.polyint(c, -1),
        "Too many": lambda c: p.polyint(c, 1, [1, 2]),
        "one shape": lambda c: p.polyval2d(c, c[:2], M),
        "integers": lambda c: p.polyfit(c, c, -1),
        "as many y's": lambda c: p.polyfit(c, c[1:], 1),
        "at least 1": lambda c: p.polycompanion(c[:1]),
        "by the series 0": lambda c: p.polydiv(c, 0 * c),
        "deg must be": lambda c: p.polyvander(c, -1),
        "degrees are needed": lambda c: p.polyvander2d(c, c, [1]),
    }.items():
        with pytest.raises((ValueError, TypeError, ZeroDivisionError), match=message):
            ad.jvp(call, (C,), (C,))
