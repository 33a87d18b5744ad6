"""Histograms: weights, densities and edges against NumPy and differences."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import adjoint as ad
from adjoint.numpy.histograms import WIDTHS
from tests.numpy.checking import CHECKS, Case, array, check_compiled, every_check

DATA = np.array([0.1, 0.4, 0.35, 0.8, 0.95, 0.2])
X, W = array(6), array(6, seed=1)
SCATTERED = np.random.default_rng(3).random((6, 3))


def flat(result):
    """(counts, [edges, …]) as one list."""
    counts, edges = result
    return [counts, *edges]


CASES = [
    Case("weights", lambda w: np.histogram(DATA, bins=4, range=(0, 1), weights=w), (W,)),
    Case("weights, edges given", lambda w: np.histogram(DATA, bins=[0, 0.3, 0.5, 0.9], weights=w), (W,)),
    Case("density", lambda w: np.histogram(DATA, bins=[0, 0.3, 0.5, 1], weights=w, density=True), (W,)),
    Case("data", lambda x: np.histogram(x, bins=3), (X,)),
    Case("density of data and weights", lambda x, w: np.histogram(x, 3, weights=w, density=True), (X, W)),
    Case("edges", lambda e: np.histogram(DATA, bins=e, density=True), (np.array([0, 0.3, 0.5, 1]),)),
    Case("complex weights", lambda w: np.histogram(DATA, bins=4, weights=w)[0], (W + 1j * X,)),
    Case("two axes", lambda x, w: np.histogram2d(x, DATA, bins=3, weights=w, density=True), (X, W)),
    Case("bins by axis", lambda w: np.histogram2d(DATA, DATA[::-1], [[0, 0.3, 1], [0, 0.6, 1]], weights=w)[0], (W,)),
    Case("same bins", lambda w: np.histogram2d(DATA, DATA[::-1], [0, 0.3, 0.7, 1], weights=w)[0], (W,)),
    Case("three axes", lambda x, w: flat(np.histogramdd(x, bins=(2, 3, 2), weights=w)), (SCATTERED, W)),
    Case("density in three", lambda x: flat(np.histogramdd(x, bins=2, density=True)), (SCATTERED,)),
    Case("list of columns", lambda x, y: flat(np.histogramdd((x, y), bins=2, density=True)), (X, W)),
    Case("edges of a range", lambda x: x[:4] * np.histogram_bin_edges(x, bins=3, range=(0, 2)), (X,)),
    *[Case(f"edges {name}", lambda x, name=name: np.histogram_bin_edges(x, name), (array(16),)) for name in WIDTHS],
]


@every_check(CASES, [*CHECKS[1:], check_compiled])
def test_histograms(case, check) -> None:
    check(case)


@pytest.mark.parametrize("case", [case for case in CASES if "edges " not in case.name], ids=lambda case: case.name)
def test_recorded_without_values(case) -> None:
    CHECKS[0](case)


def test_the_number_of_bins_by_trying_out() -> None:
    x = np.random.default_rng(1).normal(size=40)
    f = lambda x: np.histogram_bin_edges(x, "stone")
    np.testing.assert_allclose(ad.jvp(f, (x,), (x,))[0], f(x))
    np.testing.assert_allclose(ad.jit(f)(x), f(x))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.booleans(), st.sampled_from([None, (0.1, 0.8)]))
def test_against_numpy(seed, bins, density, ends) -> None:
    """Elements on edges and outside of the range are counted as NumPy counts them."""
    rng = np.random.default_rng(seed)
    x, w = np.round(rng.random(12), 1), rng.random(12)
    wanted = np.histogram(x, bins, ends, density, w)
    counts, edges = ad.jvp(lambda w: np.histogram(x + 0 * w[0], bins, ends, density, w), (w,), (w,))[0]
    np.testing.assert_allclose(counts, wanted[0])
    np.testing.assert_allclose(edges, wanted[1])
    if not density:
        plain = np.histogram(x, bins, ends)[0]
        found = ad.vmap(lambda x: np.histogram(x, bins, ends)[0])(np.stack([x, x]))
        np.testing.assert_array_equal(found, [plain, plain])
        assert found.dtype == plain.dtype


def test_what_is_wrong_raises_as_in_numpy() -> None:
    x = np.ones(3)
    for call, message in {
        "max must be larger": lambda x: np.histogram(x, range=(1, 0)),
        "must be positive": lambda x: np.histogram(x, bins=0),
        "increase monotonically": lambda x: np.histogram(x, bins=[1, 0, 2]),
        "same shape as a": lambda x: np.histogram(x, weights=x[:2]),
        "not a valid estimator": lambda x: np.histogram(x, bins="best"),
        "weighted data": lambda x: np.histogram(x, bins="fd", weights=x),
        "is not finite": lambda x: np.histogram(x * np.nan),
        "dimension of bins": lambda x: np.histogramdd([x, x], bins=[1, 2, 3]),
        "one entry per dimension": lambda x: np.histogramdd([x, x], range=[(0, 1)]),
        "must have the same length": lambda x: np.histogram2d(x, x[:2]),
    }.items():
        with pytest.raises((ValueError, TypeError), match=call):
            ad.jvp(message, (x,), (x,))


def test_empty_and_constant_data() -> None:
    for x in (np.zeros(0), np.full(3, 2.0)):
        f = lambda x: np.histogram(x, bins=2)
        (counts, edges), wanted = ad.vjp(f, x)[0], f(x)
        np.testing.assert_array_equal(counts, wanted[0])
        np.testing.assert_array_equal(edges, wanted[1])
