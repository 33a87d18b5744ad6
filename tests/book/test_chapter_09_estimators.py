"""Randomized estimators: traces, diagonals, products of gradients, and gradients from forward mode."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear
from adjoint.testing import count_calls

RNG = np.random.default_rng(98)
B = RNG.normal(size=(5, 5))
A = (B + B.T) / 2
P = np.array([0.5, 0.3, 0.2])
THETA = np.log(P)


def logistic_loss(theta, y):
    return np.log(np.sum(np.exp(theta))) - theta @ y


def softplus(x):
    return np.logaddexp(0.0, x)


X = RNG.normal(size=2)


def network(w):
    return np.sum(w[6:] * softplus(w[:6].reshape(3, 2) @ X)) ** 2


W = RNG.normal(size=9)


def signs(n):
    return np.array(list(itertools.product([-1.0, 1.0], repeat=n)))


@pytest.mark.row("9.8.1a")
def test_the_trace_has_the_stated_mean_and_variance():
    """All 2⁵ signs: the mean is the trace, the variance 2(‖A‖² - Σ Aᵢᵢ²); normal probes: 2‖A‖²."""
    values = np.array([w @ A @ w for w in signs(5)])
    assert np.mean(values) == pytest.approx(np.trace(A), abs=1e-13)
    variance = 2 * (np.sum(A**2) - np.sum(np.diagonal(A) ** 2))
    assert np.var(values) == pytest.approx(variance, rel=1e-13)
    for probes, expected in (("signs", variance), ("normal", 2 * np.sum(A**2))):
        found = linear.estimate_trace(A, 0, 20_000, method="hutchinson", probes=probes)
        assert found.error == pytest.approx(np.sqrt(expected / 20_000), rel=0.05)
        assert abs(found.value - np.trace(A)) < 4 * found.error


@pytest.mark.row("9.8.1b")
def test_the_diagonal_has_the_stated_mean_and_variance():
    values = np.array([w * (A @ w) for w in signs(5)])
    assert_allclose(np.mean(values, axis=0), np.diagonal(A), atol=1e-13)
    variance = np.sum(A**2, axis=1) - np.diagonal(A) ** 2
    assert_allclose(np.var(values, axis=0), variance, rtol=1e-12)
    found = linear.estimate_diagonal(A, 1, 20_000, method="bekas")
    assert_allclose(found.error, np.sqrt(variance / 20_000), rtol=0.05)
    assert np.all(np.abs(found.value - np.diagonal(A)) < 4.5 * found.error)
    d = np.array([3.0, -1.0, 0.5])
    assert_allclose(linear.estimate_diagonal(np.diag(d), 0, 1, method="bekas").value, d)


@pytest.mark.row("9.8.1c")
def test_less_variance_at_equal_products():
    """On a spectrum that decays: root mean squares of the errors over 30 seeds."""
    q = np.linalg.qr(RNG.normal(size=(40, 40)))[0]
    matrix = q * np.arange(1.0, 41.0) ** -2 @ q.T

    def worst(estimate, exact, **options):
        found = [estimate(matrix, seed, 24, **options).value - exact for seed in range(30)]
        return np.sqrt(np.mean(np.sum(np.square(found).reshape(30, -1), axis=1)))

    trace, diagonal = np.trace(matrix), np.diagonal(matrix)
    plain = worst(linear.estimate_trace, trace, method="hutchinson")
    assert worst(linear.estimate_trace, trace, method="hutch++") < plain / 5
    assert worst(linear.estimate_trace, trace, method="xtrace") < plain / 5
    assert (
        worst(linear.estimate_diagonal, diagonal, method="xdiag")
        < worst(linear.estimate_diagonal, diagonal, method="bekas") / 5
    )


@pytest.mark.row("9.8.1d")
def test_on_products_with_the_hessian_of_a_network():
    """By linear maps, and by a plain function v ↦ ∇²f(w) v; never a matrix."""
    exact = np.diagonal(ad.hessian(network)(W))
    for operator in (linear.hessian(network)(W), lambda v: ad.hvp(network, (W,), (v,))):
        found = linear.estimate_diagonal(operator, 0, 400, method="bekas", like=W)
        assert np.all(np.abs(found.value - exact) < 4.5 * found.error)
        assert linear.estimate_trace(operator, 0, 9, like=W).value == pytest.approx(np.sum(exact))


@pytest.mark.row("9.8.2")
def test_products_of_gradients_are_the_gauss_newton_matrix():
    """GN = diag(p) - p pᵀ: exact with all labels weighted by p(y), not with equal weights; converging with samples."""
    exact = np.diag(P) - np.outer(P, P)
    weighted = linear.bartlett(logistic_loss, THETA, np.eye(3), P)
    assert_allclose(weighted.map.to_dense(), exact, atol=1e-15)
    assert np.max(np.abs(linear.bartlett(logistic_loss, THETA, np.eye(3)).map.to_dense() - exact)) > 0.05
    labels = np.eye(3)[np.random.default_rng(0).choice(3, 20_000, p=P)]
    sampled = linear.bartlett(logistic_loss, THETA, labels)
    assert_allclose(sampled.map.to_dense(), exact, atol=0.01)
    v = np.array([1.0, -2.0, 0.5])
    g = np.array([ad.grad(logistic_loss)(THETA, y) for y in labels[:50]])
    few = linear.bartlett(logistic_loss, THETA, labels[:50])
    assert_allclose(few.map @ v, np.mean(g * (g @ v)[:, None], axis=0), rtol=1e-12)


@pytest.mark.row("9.8.3a")
def test_the_diagonal_from_individual_gradients():
    found = linear.bartlett(logistic_loss, THETA, np.eye(3), P).diagonal()
    assert_allclose(found.value, [0.25, 0.21, 0.16], rtol=1e-14)
    equal = linear.bartlett(logistic_loss, THETA, np.eye(3)).diagonal().value
    assert_allclose(equal, [0.25, 0.2233, 0.24], atol=5e-5)  # all labels once: not the diagonal


@pytest.mark.row("9.8.3b")
def test_the_diagonal_from_the_averaged_loss():
    """The mean over all pairs of labels of (∇ mean L)², weighted, is half the diagonal; times S = 2, the diagonal."""
    total = np.zeros(3)
    for i, j in itertools.product(range(3), repeat=2):
        total += P[i] * P[j] * linear.bartlett_diagonal(logistic_loss, THETA, np.eye(3)[[i, j]]).value
    assert_allclose(total / 2, [0.125, 0.105, 0.08], rtol=1e-13)
    assert_allclose(total, [0.25, 0.21, 0.16], rtol=1e-13)
    found = linear.bartlett_diagonal(logistic_loss, THETA, np.eye(3)).value
    assert_allclose(found, [0.083, 0.0033, 0.053], atol=5e-4)  # all labels once: not the diagonal either


@pytest.mark.row("8.7")
def test_gradients_from_forward_mode_are_unbiased():
    """E‖ĝ‖² is (P + 2)‖∇f‖² for normal directions and P‖∇f‖² for signs; one pass forwards for each sample."""
    f = lambda x: np.sum(np.sin(x) * x)
    x = RNG.normal(size=5)
    exact = ad.grad(f)(x)
    for probes, factor in (("normal", 7.0), ("signs", 5.0)):
        found = ad.forward_gradient(f, samples=20_000, probes=probes)(0, x)
        assert np.all(np.abs(found.value - exact) < 4.5 * found.error)
        # the error of the mean, squared and summed, is the total variance over S: (factor - 1)‖∇f‖²/S
        assert np.sum(found.error**2) * 20_000 == pytest.approx((factor - 1) * exact @ exact, rel=0.05)
    counted = count_calls(f)
    ad.forward_gradient(counted, samples=3)(0, x)
    assert counted.calls == 1  # the directions side by side
