"""Sets of numbers: NumPy's values, and the derivative of the element that each one is."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import adjoint as ad
from adjoint.base.errors import ControlFlowError

A, B = np.array([1.0, 2.0, 2.0, 3.0, 1.0, 0.5]), np.array([2.0, 7.0, 1.0])
FUNCTIONS = {
    "unique": lambda a, b: np.unique(a),
    "unique rows": lambda a, b: np.unique(np.stack([a, a % 2], axis=1), axis=0),
    "unique columns": lambda a, b: np.unique(np.stack([a, a % 2]), axis=-1),
    "union1d": np.union1d,
    "intersect1d": np.intersect1d,
    "setdiff1d": np.setdiff1d,
    "setdiff1d of plain numbers": lambda a, b: np.setdiff1d(A, b),
    "setxor1d": np.setxor1d,
    "unique sets": lambda a, b: np.setxor1d(a[2:], b, assume_unique=True),
    "intersection of unique sets": lambda a, b: np.intersect1d(a[2:], b, assume_unique=True),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_elements_keep_their_derivative(name) -> None:
    """The tangent 10 + k marks element k: the result holds the tangents of the elements that were chosen."""
    f = FUNCTIONS[name]
    marks = 10.0 + np.arange(len(A)), 100.0 + np.arange(len(B))
    (value, tangent), wanted = ad.jvp(f, (A, B), marks), f(A, B)
    np.testing.assert_array_equal(value, wanted)
    for v, t in zip(np.ravel(value), np.ravel(tangent), strict=True):
        sources = [m for x, m in zip(A, marks[0], strict=True) if v in (x, x % 2)]
        sources += [m for x, m in zip(B, marks[1], strict=True) if x == v]
        assert t in ([0.0] if "plain" in name else sources)
    gradient = ad.grad(lambda a, b: np.sum(f(a, b) ** 2), (0, 1))
    slope = sum(np.vdot(g, m) for g, m in zip(gradient(A, B), marks, strict=True))
    np.testing.assert_allclose(slope, np.sum(2 * value * tangent))
    np.testing.assert_array_equal(ad.jit(f)(A, B), wanted)
    for found, expected in zip(ad.jit(gradient)(A, B), gradient(A, B), strict=True):
        np.testing.assert_allclose(found, expected)


def test_all_that_unique_and_intersect1d_return() -> None:
    for f in (lambda a: np.unique(a, True, True, True), np.unique_all, np.unique_counts, np.unique_inverse):
        for found, wanted in zip(ad.vjp(f, A)[0], f(A), strict=True):
            np.testing.assert_array_equal(found, wanted)
    f = lambda a, b: np.intersect1d(a, b, return_indices=True)
    for found, wanted in zip(ad.vjp(f, A, B)[0], f(A, B), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("equal_nan", [True, False])
def test_nan_is_one_element_or_many(equal_nan) -> None:
    x = np.array([np.nan, 1.0, np.nan, 0.0, 1.0])
    f = lambda x: np.unique(x, equal_nan=equal_nan)
    np.testing.assert_array_equal(ad.jvp(f, (x,), (x,))[0], f(x))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.integers(0, 6))
def test_against_numpy(seed, n, m) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 5, n) / 2.0, rng.integers(0, 5, m) / 2.0
    for f in (np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d, np.isin):
        np.testing.assert_array_equal(ad.jvp(lambda a, b, f=f: 1.0 * f(a, b), (a, b), (a, b))[0], f(a, b))


def test_many_elements_are_searched_for_in_order() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2000, 500) / 2.0, rng.integers(0, 2000, 300) / 2.0
    a[3] = b[5] = np.nan
    for invert in (False, True):
        f = lambda a, b, invert=invert: a * np.isin(a, b, invert=invert)
        np.testing.assert_array_equal(ad.jvp(f, (a, b), (a, b))[0], f(a, b))
    found = ad.vmap(lambda a, b: np.isin(a, b))(np.stack([a, a + 1]), np.stack([b, b]))
    np.testing.assert_array_equal(found, np.stack([np.isin(a, b), np.isin(a + 1, b)]))


@pytest.mark.parametrize("f", [np.unique, lambda x: np.intersect1d(x, B, assume_unique=True)])
def test_sets_in_loops(f) -> None:
    xs = np.stack([A, A[::-1] + 1.0])
    found = ad.jit(lambda xs: ad.scan(lambda c, x: (c + np.sum(f(x) ** 2), None), 0.0, xs)[0])(xs)
    np.testing.assert_allclose(found, sum(np.sum(f(x) ** 2) for x in xs), rtol=1e-14)


def test_where_values_are_not_known_it_says_so() -> None:
    with pytest.raises(ControlFlowError, match=r"np\.concatenate.*np\.where"):
        ad.scan(lambda c, x: (c + np.sum(np.setxor1d(x, B)), None), 0.0, np.stack([A, A]))
