"""Convolution layers: as a linear map with its adjoint, and as a matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import toeplitz

import adjoint as ad
from adjoint import nn
from adjoint.testing import dot_test


@pytest.mark.row("B4.3.b")
def test_a_convolution_is_a_linear_map():
    """⟨Ax, u⟩ = ⟨x, Aᵀu⟩, and A is a Toeplitz matrix; any linear map with parameters fits where a layer does."""
    layer = nn.Conv.init(ad.random.default_rng(0), 1, 1, 3, axes=1, bias=False)
    x = np.random.default_rng(0).normal(size=(1, 8))
    w = layer.weight[0, 0]
    matrix = toeplitz(np.r_[w[0], np.zeros(5)], np.r_[w, np.zeros(5)])
    assert_allclose(layer(x)[0], matrix @ x[0], rtol=1e-13)
    dot_test(layer, x)
    assert_allclose(ad.jacobian(lambda x: layer(x)[0])(x)[:, 0], matrix, rtol=1e-13)
    model = nn.Sequential((layer, np.tanh, nn.Linear.init(ad.random.default_rng(1), 6, 2)))
    assert model(x).shape == (1, 2)


def test_layouts_and_leading_axes():
    rng = ad.random.default_rng(0)
    first = nn.Conv.init(rng, 3, 4, (3, 2), stride=2, padding="same")
    last = nn.Conv(np.transpose(first.weight, (2, 3, 1, 0)), first.bias, 2, "same", channels="last")
    x = np.random.default_rng(0).normal(size=(2, 5, 3, 7, 6))
    assert_allclose(last(np.moveaxis(x, 2, -1)), np.moveaxis(first(x), 2, -1), rtol=1e-12)
    assert_allclose(first(x)[1, 2], first(x[1, 2]), rtol=1e-12)
    plain, up = nn.Conv(first.weight, None, 2), nn.ConvTranspose(first.weight, None, 2)
    x, u = x[..., :7, :6], np.random.default_rng(1).normal(size=plain(x).shape)
    assert_allclose(np.sum(plain(x) * u), np.sum(x * up(u)), rtol=1e-12)  # the transpose
    with pytest.raises(
        ad.ShapeError, match=r"Conv 3 → 4, 3 x 2\): x is \(2, 4, 7, 6\); its 3. from the end axis must be 3"
    ):
        first(np.ones((2, 4, 7, 6)))
