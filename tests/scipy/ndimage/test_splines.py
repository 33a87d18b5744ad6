"""B-splines on a grid: coefficients against SciPy's by both ways, weights that sum to one."""

import numpy as np
import pytest
import scipy.ndimage

import adjoint as ad
from adjoint.scipy import ndimage
from adjoint.scipy.ndimage import splines
from tests.scipy.ndimage.agreement import MODES


@pytest.mark.parametrize("order", [2, 3, 4, 5])
@pytest.mark.parametrize("mode", MODES)
def test_coefficients_of_short_and_long_lines(mode, order):
    for n in (1, 2, 5, splines.DENSE, splines.DENSE + 1, 400):
        x = np.cos(np.arange(2.0 * n) ** 1.3).reshape(n, 2)
        wanted = scipy.ndimage.spline_filter1d(x, order, axis=0, mode=mode)
        value, pull = ad.vjp(lambda x: ndimage.spline_filter1d(x, order, axis=0, mode=mode), x)
        np.testing.assert_allclose(value, wanted, rtol=1e-10, atol=1e-11)
        if n < 300:  # linear: the adjoint against SciPy's own products
            (back,) = pull(x)
            other = np.sin(np.arange(2.0 * n)).reshape(n, 2)
            forward = scipy.ndimage.spline_filter1d(other, order, axis=0, mode=mode)
            np.testing.assert_allclose(np.sum(back * other), np.sum(x * forward), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("order", range(6))
def test_weights_sum_to_one(order):
    found = splines.taps(np.linspace(-3.0, 9.0, 57), 5, order, "mirror")
    assert found.index.shape == (57, order + 1)
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1.0, rtol=1e-12)
    assert found.weights.min() > -1e-14
