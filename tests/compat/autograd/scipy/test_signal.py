"""Convolution over chosen axes, against autograd's."""

import autograd.scipy.signal
import numpy as np
import pytest

import adjoint as ad
from adjoint.compat.autograd.scipy.signal import convolve

SHAPES = [
    ((5,), (3,), None, ((), ())),
    ((3,), (5,), None, ((), ())),
    ((4,), (4,), None, ((), ())),
    ((4, 5, 6), (5, 3, 2), ((1,), (1,)), ((), ())),
    ((2, 3, 6, 7), (4, 3, 3, 2), ([2, 3], [2, 3]), ([1], [1])),
]


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_values_and_derivatives(shapes, mode) -> None:
    first, second, axes, dots = shapes
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=first), rng.normal(size=second)
    f = lambda a, b: convolve(a, b, axes=axes, dot_axes=dots, mode=mode)
    expected = autograd.scipy.signal.convolve(a, b, axes=axes, dot_axes=dots, mode=mode)
    np.testing.assert_allclose(f(a, b), expected, atol=1e-12)
    ad.check_grads(f, (a, b), order=1)


def test_errors() -> None:
    with pytest.raises(ValueError, match="none of valid"):
        convolve(np.ones(3), np.ones(2), mode="half")
    with pytest.raises(ValueError, match="the longer one along all axes"):
        convolve(np.ones((3, 1)), np.ones((1, 3)), mode="valid")
    with pytest.raises(ValueError, match="as many of A's"):
        convolve(np.ones((3, 1)), np.ones((1, 3)), axes=([0], [0, 1]))
