"""An inverse that does not undo its layer is told; one that does, to rounding, is not."""

import numpy as np
import pytest

import adjoint as ad

X = np.linspace(-1.0, 2.0, 300)


def loss_of(inverse, dtype=np.float64):
    layer = ad.reversible(lambda x, w: 2.0 * x + w, inverse=inverse)
    return lambda x: np.sum(np.sin(layer(x, np.ones_like(x)).astype(dtype)))


def test_a_wrong_inverse_is_told():
    with pytest.warns(RuntimeWarning, match="another first state"):
        ad.grad(loss_of(lambda y, w: y / 2.0 - w))(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_is_not(dtype):
    x = X.astype(dtype)
    g = ad.grad(loss_of(lambda y, w: (y - w) / 2.0))(x)
    np.testing.assert_allclose(g, 2.0 * np.cos(2.0 * x + 1.0), rtol=1e-4)


def test_a_wrong_inverse_of_a_loop_is_told():
    def end(x, inverse):
        turn = lambda c, t: (c + np.sin(t), None)
        return np.sum(ad.scan(turn, x, X[:5], checkpoint=ad.memory.Invertible(inverse))[0] ** 2)

    np.testing.assert_allclose(
        ad.grad(end)(X, lambda c, t: c - np.sin(t)), 2.0 * (X + np.sum(np.sin(X[:5]))), rtol=1e-12
    )
    with pytest.warns(RuntimeWarning, match="another first state"):
        ad.grad(end)(X, lambda c, t: c - t)


def test_other_transformations_are_as_before():
    f = loss_of(lambda y, w: (y - w) / 2.0)
    right = 2.0 * np.cos(2.0 * X + 1.0)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(X), right, rtol=1e-12)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(X[:6].reshape(2, 3)).ravel(), right[:6], rtol=1e-12)
    np.testing.assert_allclose(ad.jvp(ad.grad(f), (X,), (X,))[1], -4.0 * np.sin(2.0 * X + 1.0) * X, rtol=1e-10)
