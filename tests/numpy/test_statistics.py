"""Averages and correlations."""

import numpy as np

from tests.numpy.checking import Case, array, complex_array, every_check

X, V, W = array(3, 4), array(5), array(4, seed=1)
CASES = [
    Case("ptp", np.ptp, (X,)),
    Case("ptp axis", lambda x: np.ptp(x, axis=1, keepdims=True), (X,)),
    Case("average", np.average, (X,)),
    Case("average weights", lambda x, w: np.average(x, axis=1, weights=w), (X, W)),
    Case("average returned", lambda x, w: np.average(x, axis=-1, weights=w, returned=True, keepdims=True), (X, X + 1)),
    Case("average of axes", lambda x, w: np.average(x, axis=(2, 0), weights=w), (array(2, 3, 2), array(2, 2, seed=1))),
    Case("cov", np.cov, (X,)),
    Case("cov of two", lambda x, y: np.cov(x, y, rowvar=False), (X, X * X)),
    Case("cov weights", lambda x: np.cov(x, fweights=[1, 2, 1, 3], aweights=[0.5, 1, 2, 1], ddof=0), (X,)),
    Case("cov of one", lambda x: np.cov(x, bias=True), (V,)),
    Case("cov complex", np.cov, (complex_array(2, 4),)),
    Case("corrcoef", np.corrcoef, (X,)),
    Case("corrcoef of two", lambda x, y: np.corrcoef(x, y), (V, np.sin(V * 3))),
]


@every_check(CASES)
def test_statistics(case, check) -> None:
    check(case)
