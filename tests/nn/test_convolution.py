"""Convolution layers: as a linear map with its adjoint, and as a matrix."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import toeplitz
from sklearn.datasets import load_digits

import adjoint as ad
from adjoint import nn
from adjoint.optimize import updates
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


@dataclass(frozen=True)
class Net:
    """Two convolutions with batch normalization, and a linear layer."""

    first: nn.Conv
    first_norm: nn.BatchNorm
    second: nn.Conv
    second_norm: nn.BatchNorm
    head: nn.Linear

    @classmethod
    def init(cls, rng):
        single = {"dtype": np.float32}
        first = nn.Conv.init(rng, 1, 24, 3, padding="same", **single)
        second = nn.Conv.init(rng, 24, 48, 3, padding="same", **single)
        norms = nn.BatchNorm.init(24, **single), nn.BatchNorm.init(48, **single)
        return cls(first, norms[0], second, norms[1], nn.Linear.init(rng, 48 * 4, 10, **single))

    def __call__(self, x, *, rng=None):
        x = ad.signal.max_pool(nn.relu(self.first_norm(self.first(x), rng=rng)), (2, 2))
        x = ad.signal.max_pool(nn.relu(self.second_norm(self.second(x), rng=rng)), (2, 2))
        return self.head(nn.dropout(np.reshape(x, (len(x), -1)), 0.4, rng))


@pytest.mark.sweep
def test_digits():
    """At least 98.5 % of handwritten digits that were not seen, mean of five seeds."""
    digits, found = load_digits(), []
    images = (digits.images / 16).astype(np.float32)[:, None]
    loss = lambda model, batch, rng: nn.cross_entropy(model(batch["x"], rng=rng), batch["y"])
    for seed in range(5):
        rng = ad.random.default_rng(seed)
        train, test = ad.data.arrays(x=images, y=digits.target).split((0.75, 0.25), rng, stratify="y")
        rule = updates.adamw(updates.cosine(5e-3, 660), decay=1e-3)
        run = nn.fit(Net.init(rng), loss, train, rule, epochs=30, batch=64, rng=rng)
        found.append(nn.evaluate(run.model, test, {"accuracy": nn.accuracy})["accuracy"])
    assert np.mean(found) >= 0.985
