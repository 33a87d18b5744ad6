"""log Σ exp(x) with its derivatives, eager and compiled, also where x is infinite."""

import numpy as np
import pytest
import scipy.special
from scipy.special import softmax

import adjoint as ad

logsumexp = ad.scipy.special.logsumexp
INF = np.inf
COMPILED = ad.jit(ad.value_and_grad(logsumexp))
EXTREME = [
    [-INF, -INF], [-INF, 0.0, 1.0], [INF, 0.0], [INF, INF, 3.0], [INF, -INF], [0.0, -40.0], [-1000.0, -1001.0],
    [700.0, 710.0], [2.0, 2.0], [5.0], [1e-20, 0.0],
]  # fmt: skip


def limit(x):
    """Of the softmax: infinite elements share alike; -inf everywhere has none."""
    if np.all(x == -INF):
        return np.zeros_like(x)
    return (x == INF) / np.sum(x == INF) if np.any(x == INF) else softmax(x)


@pytest.mark.parametrize("x", EXTREME)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_extreme_values_in_every_way(x, dtype):
    x = np.array(x, dtype)
    tolerance = 4 * np.finfo(dtype).eps
    for value_and_grad in (ad.value_and_grad(logsumexp), COMPILED):
        value, slope = value_and_grad(x)
        np.testing.assert_allclose(value, scipy.special.logsumexp(x), rtol=tolerance)
        np.testing.assert_allclose(slope, limit(x), rtol=tolerance)
        assert value.dtype == slope.dtype == dtype
    direction = np.arange(1.0, 1.0 + x.size).astype(dtype)
    tangent = ad.jvp(logsumexp, (x,), (direction,))[1]
    np.testing.assert_allclose(tangent, limit(x) @ direction, rtol=tolerance)


def test_nan_stays_nan():
    for f in (ad.value_and_grad(logsumexp), COMPILED):
        value, slope = f(np.array([np.nan, 1.0]))
        assert np.isnan(value)
        assert np.all(np.isnan(slope))


def test_an_element_at_the_limit_has_no_curvature():
    x = np.array([-INF, 0.3, 1.0, 1.0])
    p = limit(x)
    for hessian in (ad.hessian(logsumexp), ad.jit(ad.hessian(logsumexp))):
        np.testing.assert_allclose(hessian(x), np.diag(p) - np.outer(p, p), rtol=1e-14, atol=1e-16)
    for x in ([-INF, -INF], [INF, 0.0, 1.0]):
        assert not np.any(ad.hessian(logsumexp)(np.array(x)))


def test_no_elements():
    x = np.zeros((3, 0))
    f = lambda x: np.sum(x) + np.sum(np.exp(logsumexp(x, axis=1)))
    assert ad.grad(f)(x).shape == (3, 0)
    assert ad.jit(f)(x) == 0.0


@pytest.mark.parametrize("axis", [0, 1, (0, 1), None])
def test_second_derivatives_along_axes(axis):
    """Of log Σ exp: diag(p) - p pᵀ, with p the shares of one line; lines do not meet."""
    x = np.array([[0.3, -0.7, 1.1], [1.2, 0.4, -0.6]])
    f = lambda x: np.sum(logsumexp(x, axis=axis))
    p = softmax(x, axis=axis)
    whole = axis in (None, (0, 1))
    lines = (
        np.ones((6, 6))
        if whole
        else np.kron(np.ones((2, 2)), np.eye(3))
        if axis == 0
        else np.kron(np.eye(2), np.ones((3, 3)))
    )
    wanted = np.diag(p.ravel()) - np.outer(p, p) * lines
    for hessian in (ad.hessian(f), ad.jit(ad.hessian(f)), ad.jacrev(ad.grad(f))):
        np.testing.assert_allclose(hessian(x).reshape(6, 6), wanted, atol=1e-14)
    v = np.arange(6.0).reshape(2, 3)
    _, pushed = ad.linearize(lambda x: logsumexp(x, axis=axis), x)
    np.testing.assert_allclose(pushed(v), np.sum(p * v, axis=axis), rtol=1e-13)
