"""Series of determinants against exact arithmetic: regular, nearly singular and singular, eager and compiled."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import adjoint as ad

ORDER = 12


def matrices(n: int, smallest: float | None, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng([seed, n])
    a, b = rng.normal(size=(2, n, n))
    if smallest is not None:
        u, s, vh = np.linalg.svd(a)
        a = (u * np.append(s[:-1], smallest)) @ vh
    return a, b


def exact(terms: Sequence[Any], order: int) -> list[float]:
    """The coefficients of det(Σ tʲ Aⱼ) by Fractions, without a division of series: row by row."""
    n = len(terms[0])
    entry = [[[Fraction(float(a[i, j])) for a in terms] for j in range(n)] for i in range(n)]
    minors: dict[int, list[Fraction]] = {0: [Fraction(1)]}  # of the rows done, by the set of columns
    for i in range(n):
        following: dict[int, list[Fraction]] = {}
        for columns, value in minors.items():
            for j in range(n):
                if not columns >> j & 1:
                    sign = -1 if (columns >> j).bit_count() % 2 else 1
                    found = following.setdefault(columns | 1 << j, [Fraction(0)] * (order + 1))
                    for p, x in enumerate(value):
                        for q, y in enumerate(entry[i][j]):
                            if p + q <= order:
                                found[p + q] += sign * x * y
        minors = following
    (value,) = minors.values()
    return [float(c) for c in value]


def series(terms: Sequence[Any], order: int) -> Any:
    """The coefficients by jet, whose terms are derivatives."""
    a, *rest = terms
    given = [math.factorial(j + 1) * (rest[j] if j < len(rest) else 0 * a) for j in range(order)]
    value, found = ad.jet(np.linalg.det, (a,), (given,))
    return np.stack([value, *[c / math.factorial(j + 1) for j, c in enumerate(found)]])


compiled = ad.jit(series, static_argnames="order")


@pytest.mark.parametrize("n, way", [(3, series), (4, series), (5, series), (4, compiled)])
@pytest.mark.parametrize("smallest", [None, 1e-3, 1e-8, 0.0])
def test_along_a_line(n: int, smallest: float | None, way: Any) -> None:
    terms = matrices(n, smallest)
    wanted = exact(terms, ORDER)
    np.testing.assert_allclose(way(terms, order=ORDER), wanted, rtol=0, atol=1e-12 * np.max(np.abs(wanted)))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_along_a_curve_of_any_speed(scale: float) -> None:
    (a, b), (c, _) = matrices(4, 1e-5), matrices(4, None, 1)
    wanted = exact((a, b, c), ORDER)
    found = series((a, b * scale, c * scale**2), ORDER)
    np.testing.assert_allclose(found / scale ** np.arange(13.0), wanted, rtol=0, atol=1e-11 * np.max(np.abs(wanted)))


def test_matrices_of_other_kinds() -> None:
    terms = [np.stack([matrices(4, s)[i] for s in (None, 1e-4, 0.0)]) for i in range(2)]
    each = np.array([exact([t[lane] for t in terms], 8) for lane in range(3)]).T
    bound = 1e-12 * np.max(np.abs(each))
    np.testing.assert_allclose(series(terms, 8), each, rtol=0, atol=bound)
    lanes = ad.vmap(lambda a, b: series((a, b), 8))(*terms)
    np.testing.assert_allclose(lanes, each.T, rtol=0, atol=bound)
    single = series([t.astype("f4") for t in terms], 6)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, each[:7], rtol=0, atol=1e-4 * np.max(np.abs(each)))
    turned = series([t * 1j for t in terms], 8)  # det(i A) = iⁿ det(A), and n is 4
    np.testing.assert_allclose(turned, each, rtol=0, atol=bound)


def test_what_does_not_move() -> None:
    a, b = matrices(4, 1e-3)
    np.testing.assert_allclose(series((a, 0 * b), 6)[1:], np.zeros(6), atol=1e-15)
    np.testing.assert_allclose(series((0 * a, b), 6), [0, 0, 0, 0, np.linalg.det(b), 0, 0], atol=1e-13)


@pytest.mark.parametrize("k", [4, 6])
def test_gradients_of_coefficients(k: int) -> None:
    """Against the exact polynomial: the coefficient is one of a polynomial in one element too, so differences of it."""
    a, b = matrices(5, 1e-6)
    e = np.zeros((5, 5))
    e[1, 2] = 1.0
    slope = ad.grad(lambda a: series((a, b), k)[k] if k <= 5 else series((a, b, b), k)[k])(a)[1, 2]
    rest = (b,) if k <= 5 else (b, b)
    up, down = (exact((a + sign * e, *rest), k)[k] for sign in (1.0, -1.0))  # linear in each element
    assert slope == pytest.approx((up - down) / 2, rel=1e-9)
