"""Sliding windows of traced arrays."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.testing import check_grads

windows = np.lib.stride_tricks.sliding_window_view
X = np.random.default_rng(0).normal(size=(4, 5))


@pytest.mark.parametrize(
    "options", [((2, 3),), (2, 0), (3, -1), ((2, 2), (0, 1)), ((2, 2), (1, 0)), ((2, 2), (1, 1)), (1, 0)]
)
def test_values_and_derivatives(options):
    f = lambda x: windows(x, *options)
    np.testing.assert_array_equal(ad.jvp(f, (X,), (X,))[0], windows(X, *options))
    np.testing.assert_array_equal(ad.jvp(f, (X,), (X,))[1], windows(X, *options))
    check_grads(lambda x: np.sum(f(x) ** 3), (X,))


def test_refusals():
    for options, problem in (
        ((9, 0), "larger"),
        ((-1, 0), "negative"),
        (((2,),), "all dimensions"),
        (((2, 2), 0), "matching"),
    ):
        with pytest.raises(ValueError, match=problem):
            ad.grad(lambda x, o=options: np.sum(windows(x, *o)))(X)

    def write(x):
        w = windows(x, 2, 0)
        w[...] = 0.0
        return np.sum(w)

    with pytest.raises(ValueError, match="read-only: a sliding window"):
        ad.grad(write)(X)
