"""Layers that are linear in their input, against explicit sums."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import nn
from adjoint.testing import dot_test

R = np.random.default_rng(0)


@pytest.mark.row("B4.3.a")
def test_dense_layer():
    """activation(x W + b); the affine part and the activation are apart, and the value between them can be had."""
    layer = nn.Linear.init(ad.random.default_rng(0), 4, 3)
    x = R.normal(size=(5, 4))
    before = np.array(
        [[sum(x[n, i] * layer.weight[i, o] for i in range(4)) + layer.bias[o] for o in range(3)] for n in range(5)]
    )
    assert_allclose(layer(x), before, rtol=1e-13)
    dense = nn.Sequential((layer, np.tanh))
    assert_allclose(dense(x), np.tanh(before), rtol=1e-13)
    output, values = nn.taps(dense, "layers[0]")(x)
    assert_allclose(values["layers[0]"], before)
    assert_allclose(output, np.tanh(before))
    ad.check_grads(lambda layer, x: np.sum(np.tanh(layer(x))), (layer, x))
    assert nn.summary(nn.Linear.init(ad.random.default_rng(0), 7, 5)).parameters == (7 + 1) * 5


def test_the_gradient_is_the_adjoint():
    layer = nn.Linear.init(ad.random.default_rng(0), 4, 3, bias=False)
    dot_test(layer, R.normal(size=(5, 4)))


def test_bilinear():
    layer = nn.Bilinear.init(ad.random.default_rng(0), (3, 4), 2)
    x, y = R.normal(size=(5, 3)), R.normal(size=(5, 4))
    assert_allclose(layer(x, y), np.einsum("ni,ijo,nj->no", x, layer.weight, y) + layer.bias, rtol=1e-12)
    with pytest.raises(ad.ShapeError, match=r"Bilinear 3 x 4 → 2\): y is \(5, 3\); its last axis must be 4"):
        layer(x, x)


@pytest.mark.row("B4.3.d")
def test_a_generalized_linear_model_is_one_layer():
    """softargmax(x W + b) is multinomial logistic regression: fitted, it is scikit-learn's."""
    from sklearn.linear_model import LogisticRegression

    x, labels = R.normal(size=(80, 3)), R.integers(0, 3, 80)

    def risk(model):
        log_p = nn.log_softargmax(model(x))
        return -np.sum(log_p[np.arange(80), labels]) + 0.5 * np.sum(model.weight**2)

    start = nn.Linear(np.zeros((3, 3)), np.zeros(3))
    found = ad.optimize.minimize(risk, start, tol=1e-10).value
    theirs = LogisticRegression(C=1.0, tol=1e-12, max_iter=10000).fit(x, labels)
    assert_allclose(nn.softargmax(found(x)), theirs.predict_proba(x), atol=1e-5)
