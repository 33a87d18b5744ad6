"""Normalization: printed values, statistics, and gradients through mean and variance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint import nn

R = np.random.default_rng(0)


def test_batch_of_two():
    norm = nn.BatchNorm.init(2, eps=0.0)
    x = np.array([[1.0, 2.0], [3.0, 6.0]])
    assert_allclose(norm(x, rng=ad.random.default_rng(0)), [[-1, -1], [1, 1]], atol=1e-14)


@pytest.mark.row("B4.5.c")
def test_four_features():
    norm = nn.LayerNorm.init(4, eps=0.0)
    exact = [-1.3416408, -0.4472136, 0.4472136, 1.3416408]
    assert_allclose(norm(np.array([1.0, 2.0, 3.0, 4.0])), exact, atol=5e-8)
    moved = nn.LayerNorm(np.full(4, 2.0), np.ones(4), 0.0)
    assert_allclose(moved(np.array([1.0, 2.0, 3.0, 4.0])), 2 * np.array(exact) + 1, atol=1e-7)
    rows = R.normal(size=(6, 4))
    assert_allclose(norm(rows), [(row - row.mean()) / row.std() for row in rows], rtol=1e-12)


@pytest.mark.row("B4.5.d")
def test_the_gradient_sees_the_statistics():
    """With ε = 0 it is orthogonal to 1 (shifts do not matter) and to the normalized x (scales do not matter)."""
    x, c = R.normal(size=(7, 3)), R.normal(size=(7, 3))
    rng = ad.random.default_rng(0)
    norm = nn.BatchNorm.init(3, eps=0.0)
    gradient = ad.grad(lambda x: np.sum(c * norm(x, rng=rng)))(x)
    made = (x - x.mean(0)) / x.std(0)
    assert_allclose(gradient.sum(0), 0, atol=1e-13)
    assert_allclose((gradient * made).sum(0), 0, atol=1e-13)
    h = 1e-6
    plain = lambda x: np.sum(c * (x - x.mean(0)) / x.std(0))
    for i in range(3):
        e = np.zeros((7, 3))
        e[2, i] = h
        assert gradient[2, i] == pytest.approx((plain(x + e) - plain(x - e)) / (2 * h), rel=1e-6)
    layer = nn.LayerNorm.init(3)
    ad.check_grads(lambda layer, x: np.sum(c * layer(x)), (layer, x))
    ad.check_grads(lambda x: np.sum(np.sin(nn.RMSNorm.init(3)(x))), (x,))


def test_groups():
    x = R.normal(size=(2, 6, 4, 5))
    norm = nn.GroupNorm.init(6, 3, eps=0.0)
    parts = x.reshape(2, 3, -1)
    expected = ((parts - parts.mean(-1, keepdims=True)) / parts.std(-1, keepdims=True)).reshape(x.shape)
    assert_allclose(norm(x), expected, rtol=1e-12)
    last = nn.GroupNorm.init(6, 3, eps=0.0, axis=-1)
    assert_allclose(last(np.moveaxis(x, 1, -1)), np.moveaxis(expected, 1, -1), rtol=1e-12)


def test_channels_last():
    x = R.normal(size=(3, 4, 5, 2))
    rng = ad.random.default_rng(0)
    first, last = nn.BatchNorm.init(2), nn.BatchNorm.init(2, axis=-1)
    assert_allclose(np.moveaxis(first(np.moveaxis(x, -1, 1), rng=rng), 1, -1), last(x, rng=rng), rtol=1e-13)
    assert_array_equal(first.statistics.mean, last.statistics.mean)


def test_a_constant_row_has_a_finite_gradient():
    layer = nn.LayerNorm.init(3)
    value, gradient = ad.value_and_grad(lambda x: np.sum(layer(x) ** 2))(np.full(3, 7.0))
    assert value == 0
    assert np.all(np.isfinite(gradient))
