"""Medians and quantiles: all methods, weights, traced places."""

import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import adjoint as ad
from adjoint.numpy.quantiles import CHOOSING, CONTINUOUS, SMALL, STEPS
from tests.numpy.checking import Case, array, check_compiled, every_check

X, V = array(3, 4), array(5)
W = np.array([0.5, 1, 2, 1, 0.3, 0.7])
WW = np.stack([W, W[::-1]], axis=1)
QS = [0.0, 0.13, 0.5, 0.81, 1.0]
CASES = [
    Case("median odd", np.median, (V,)),
    Case("median even", lambda x: np.median(x, axis=1), (X,)),
    Case("median axes", lambda x: np.median(x, axis=(0, 1), keepdims=True), (X,)),
    Case("quantile", lambda x: np.quantile(x, 0.3), (X,)),
    Case("quantile several", lambda x: np.quantile(x, [0.1, 0.77, 1.0], axis=0), (X,)),
    Case("quantile keepdims", lambda x: np.quantile(x, np.array([[0.0, 0.2]]), axis=1, keepdims=True), (X,)),
    Case("quantile of q", np.quantile, (V, 0.33)),
    Case("percentile", lambda x: np.percentile(x, [12, 88.0], axis=1), (X,)),
    *[
        Case(
            f"quantile {m}",
            lambda x, m=m: np.quantile(x, [0.0, 0.13, 0.45, 0.5, 0.81, 1.0], axis=0, method=m),
            (array(6, 2),),
        )
        for m in (*CONTINUOUS, *STEPS)
    ],
    Case("weights", lambda x: np.quantile(x, QS, axis=0, method="inverted_cdf", weights=W), (array(6, 2),)),
    Case("weights of all", lambda x: np.percentile(x, 40, method="inverted_cdf", weights=WW), (array(6, 2),)),
    Case("traced weights", lambda x, w: np.quantile(x, 0.45, method="inverted_cdf", weights=w), (array(6), W)),
    Case("nan weights", lambda x: np.nanquantile(x, QS, axis=0, method="inverted_cdf", weights=WW), (array(6, 2),)),
    Case("many", lambda x: np.quantile(x, [0.1, 0.9], axis=0), (array(SMALL + 1),)),
    Case("median of many", np.median, (array(SMALL + 2),)),
]


@every_check(CASES)
def test_quantiles(case, check) -> None:
    check(case)


@pytest.mark.parametrize("name", ["median axes", "quantile keepdims", "quantile of q", "weights", "many"])
def test_compiled(name) -> None:
    check_compiled(next(case for case in CASES if case.name == name))


def test_nan_makes_medians_and_quantiles_nan() -> None:
    x = np.array([[1.0, np.nan, 2.0], [3.0, 4.0, 5.0]])
    for f in (lambda x: np.median(x, axis=1), lambda x: np.quantile(x, 0.4, axis=1)):
        np.testing.assert_array_equal(ad.jvp(f, (x,), (np.ones((2, 3)),))[0], f(x))


@settings(deadline=None, max_examples=120)
@given(
    st.sampled_from(["quantile", "nanquantile", "percentile", "nanpercentile"]),
    st.sampled_from([*CONTINUOUS, *STEPS]),
    st.data(),
)
def test_against_numpy(function, method, data) -> None:
    """Any number of elements, shares that hit elements, NaN, whole numbers, and the dtypes of all of them."""
    f, n = getattr(np, function), data.draw(st.integers(1, 7))
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 9, (n, 2)).astype(data.draw(st.sampled_from([np.float32, np.float64])))
    x[rng.random((n, 2)) < 0.2] = np.nan
    share = data.draw(st.sampled_from([0.5, [0.0, 0.25, 1 / 3, 1.0], np.float32(0.75), 1]))
    q = share if function.endswith("quantile") else np.multiply(share, 100).tolist()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of slices without numbers
        wanted = f(x, q, axis=0, method=method)
        found = ad.jvp(lambda x: f(x, q, axis=0, method=method), (x,), (x,))[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert found.dtype == wanted.dtype


def test_weights_of_nan_do_not_count() -> None:
    x = array(6, 2)
    x[1, 0] = x[4, 1] = np.nan
    for f in (np.quantile, np.nanquantile):
        g = lambda x, w, f=f: f(x, QS, axis=0, method="inverted_cdf", weights=w)
        np.testing.assert_array_equal(ad.jvp(g, (x, WW), (x, WW))[0], g(x, WW))
    zeros = np.where(np.arange(6)[:, None] < 2, 0.0, WW)
    g = lambda x: np.quantile(np.nan_to_num(x), QS, axis=0, method="inverted_cdf", weights=zeros)
    np.testing.assert_array_equal(ad.jvp(g, (x,), (x,))[0], g(x))


def test_whole_numbers_stay_whole_when_one_is_chosen() -> None:
    x = np.arange(6)[::-1]
    for method in CHOOSING:
        f = lambda x, method=method: np.quantile(x, 0.4, method=method)
        found = ad.jit(f)(x)
        assert found == f(x)
        assert np.asarray(found).dtype == f(x).dtype


def test_what_is_wrong_raises_as_in_numpy() -> None:
    for message, call in {
        "range": lambda x: np.quantile(x, 1.5),
        "not a valid method": lambda x: np.quantile(x, 0.5, method="best"),
        "inverted_cdf": lambda x: np.quantile(x, 0.5, weights=x),
        "non-negative": lambda x: np.quantile(x, 0.5, weights=-x, method="inverted_cdf"),
        "all zero": lambda x: np.quantile(x, 0.5, weights=0 * x, method="inverted_cdf"),
        "Axis must be specified": lambda x: np.quantile(X * x[0], 0.5, weights=x, method="inverted_cdf"),
        "consistent with": lambda x: np.quantile(X * x[0], 0.5, axis=1, weights=x, method="inverted_cdf"),
    }.items():
        with pytest.raises((ValueError, TypeError), match=message), np.errstate(invalid="ignore"):
            ad.jvp(call, (np.ones(3),), (np.ones(3),))


def test_quantiles_of_plain_data_at_traced_places() -> None:
    data, q = np.array([1.0, 3.0, 4.0, 9.0]), np.array([0.2, 0.55])
    f = lambda q: np.quantile(data, q)
    np.testing.assert_allclose(ad.vmap(f)(q), f(q))
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(q), (f(q + 1e-6) - f(q - 1e-6)) / 2e-6, rtol=1e-8)
    np.testing.assert_allclose(ad.trace(f)(q)(q), f(q))
