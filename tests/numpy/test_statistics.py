"""Averages, quantiles, correlations."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from adjoint.numpy.statistics import CONTINUOUS, STEPS
from tests.numpy.checking import CHECKS, Case, array, complex_array

X, V, W = array(3, 4), array(5), array(4, seed=1)
CASES = [
    Case("ptp", np.ptp, (X,)),
    Case("ptp axis", lambda x: np.ptp(x, axis=1, keepdims=True), (X,)),
    Case("average", np.average, (X,)),
    Case("average weights", lambda x, w: np.average(x, axis=1, weights=w), (X, W)),
    Case("average returned", lambda x, w: np.average(x, axis=-1, weights=w, returned=True, keepdims=True), (X, X + 1)),
    Case("average of axes", lambda x, w: np.average(x, axis=(2, 0), weights=w), (array(2, 3, 2), array(2, 2, seed=1))),
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
    Case("cov", np.cov, (X,)),
    Case("cov of two", lambda x, y: np.cov(x, y, rowvar=False), (X, X * X)),
    Case("cov weights", lambda x: np.cov(x, fweights=[1, 2, 1, 3], aweights=[0.5, 1, 2, 1], ddof=0), (X,)),
    Case("cov of one", lambda x: np.cov(x, bias=True), (V,)),
    Case("cov complex", np.cov, (complex_array(2, 4),)),
    Case("corrcoef", np.corrcoef, (X,)),
    Case("corrcoef of two", lambda x, y: np.corrcoef(x, y), (V, np.sin(V * 3))),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_statistics(case, check) -> None:
    check(case)


def test_nan_makes_medians_and_quantiles_nan() -> None:
    x = np.array([[1.0, np.nan, 2.0], [3.0, 4.0, 5.0]])
    for f in (lambda x: np.median(x, axis=1), lambda x: np.quantile(x, 0.4, axis=1)):
        np.testing.assert_array_equal(ad.jvp(f, (x,), (np.ones((2, 3)),))[0], f(x))


def test_what_has_no_meaning_raises() -> None:
    with pytest.raises(UnsupportedError, match="weights"):
        ad.grad(lambda x: np.quantile(x, 0.5, weights=np.ones(3), method="inverted_cdf"))(np.ones(3))
    with pytest.raises(ValueError, match="range"):
        ad.grad(lambda x: np.quantile(x, 1.5))(np.ones(3))
    with pytest.raises(ValueError, match="not a valid method"):
        ad.grad(lambda x: np.quantile(x, 0.5, method="best"))(np.ones(3))
    with pytest.raises(UnsupportedError, match="bincount"):
        ad.grad(lambda x: np.sum(np.histogram(x)[1]))(np.ones(3))


def test_quantiles_of_plain_data_at_traced_places() -> None:
    data, q = np.array([1.0, 3.0, 4.0, 9.0]), np.array([0.2, 0.55])
    f = lambda q: np.quantile(data, q)
    np.testing.assert_allclose(ad.vmap(f)(q), f(q))
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(q), (f(q + 1e-6) - f(q - 1e-6)) / 2e-6, rtol=1e-8)
    np.testing.assert_allclose(ad.trace(f)(q)(q), f(q))
