"""Activations against SciPy, mpmath and PyTorch's formulas in high precision, and under every transformation."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

import adjoint as ad
from adjoint import nn

X = np.array([-40.0, -3.0, -1.0, -0.1, 0.2, 1.0, 2.5, 30.0])

# The functions in numbers of 40 digits.
EXACT = {
    "relu": lambda x: max(x, mpmath.mpf(0)),
    "leaky_relu": lambda x: x if x > 0 else x / 100,
    "elu": lambda x: x if x > 0 else mpmath.expm1(x),
    "selu": lambda x: (
        mpmath.mpf("1.0507009873554805") * (x if x > 0 else mpmath.mpf("1.6732632423543772") * mpmath.expm1(x))
    ),
    "silu": lambda x: x / (1 + mpmath.exp(-x)),
    "gelu": lambda x: x * mpmath.ncdf(x),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "logistic": lambda x: 1 / (1 + mpmath.exp(-x)),
}


@pytest.mark.parametrize("name", EXACT)
def test_value_and_derivatives(name):
    f = getattr(nn, name)
    with mpmath.workdps(40):
        exact = [[float(v) for v in mpmath.taylor(EXACT[name], mpmath.mpf(float(x)), 2)] for x in X]
    values, slopes, halves = np.array(exact).T
    assert_allclose(f(X), values, rtol=1e-13, atol=1e-300)
    assert_allclose(ad.grad(lambda x: np.sum(f(x)))(X), slopes, rtol=1e-12, atol=1e-30)
    assert_allclose(ad.jvp(f, (X,), (np.ones_like(X),))[1], slopes, rtol=1e-12, atol=1e-30)
    assert_allclose(ad.jit(ad.vmap(ad.grad(f)))(X), slopes, rtol=1e-12, atol=1e-30)
    second = [ad.derivative(f, 2)(x) for x in X]
    assert_allclose(second, 2 * halves, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("name", [*EXACT, "step", "softargmax", "log_softargmax", "hardmax", "glu", "swiglu"])
def test_single_precision_stays(name):
    f = getattr(nn, name)
    x = X.astype(np.float32)
    program = ad.trace(ad.grad(lambda x: np.sum(f(x) * f(x))))(x)
    assert f(x).dtype == np.float32
    assert ad.jit(f)(x).dtype == np.float32
    assert "float64" not in str(program)
    assert_allclose(f(x), f(x.astype(float)), rtol=2e-5, atol=1e-9)


def test_tanh_form_of_gelu():
    u = np.sqrt(2 / np.pi) * (X + 0.044715 * X**3)
    assert_allclose(nn.gelu(X, approximate=True)[1:], (0.5 * X * (1 + np.tanh(u)))[1:], rtol=1e-10)


def test_at_the_kink():
    for f, slope in ((nn.relu, 0.0), (nn.leaky_relu, 0.01), (nn.elu, 1.0), (nn.step, 0.0)):
        assert ad.grad(f)(0.0) == slope
        assert ad.jit(ad.grad(f))(0.0) == slope
    assert np.isnan(nn.relu(np.nan))
    assert np.isnan(nn.elu(np.nan))


@pytest.mark.row("L3.a", "A5.4.c")
def test_rectifiers():
    """max(0, s), s or a·s with a = 0.01, and a to be learned."""
    assert_array_equal(ad.vmap(ad.grad(nn.relu))(np.array([-2.0, -1e-9, 1e-9, 2.0])), [0, 0, 1, 1])
    assert nn.leaky_relu(-2.0) == pytest.approx(-0.02)
    by_slope = ad.jacobian(lambda a: nn.prelu(np.array([-2.0, 3.0, -0.5]), a))(np.array([0.1, 0.2, 0.3]))
    assert_array_equal(by_slope, np.diag([-2.0, 0.0, -0.5]))


@pytest.mark.row("A5.4.a", "B4.4.g", "B4.4.h")
def test_step_and_logistic():
    assert nn.step(0.0) == 1.0
    assert ad.grad(nn.step)(0.3) == 0.0
    assert nn.logistic(0.1, slope=100) > 0.9999
    assert nn.logistic(2.0) == pytest.approx(0.8807971, abs=5e-8)
    assert_allclose(nn.logistic(-X), 1 - nn.logistic(X), atol=1e-15)
    assert_allclose(nn.logistic(X), 0.5 + 0.5 * np.tanh(X / 2), rtol=1e-12, atol=1e-16)
    assert_allclose(ad.vmap(ad.grad(nn.logistic))(X), special.expit(X) * special.expit(-X), rtol=1e-13)


@pytest.mark.row("B4.4.a", "A5.4.f", "A5.4.g")
def test_softplus_and_elu():
    assert nn.softplus(2.0) == pytest.approx(2.1269280, abs=5e-8)
    assert nn.softplus(0.0) == pytest.approx(0.6931472, abs=5e-8)
    assert_array_equal(nn.softplus(np.array([-800.0, 800.0])), [0.0, 800.0])
    assert_allclose(ad.vmap(ad.grad(nn.softplus))(X), special.expit(X), rtol=1e-13)
    assert nn.elu(-1.0) == pytest.approx(-0.6321206, abs=5e-8)
    assert nn.elu(-1e-12) == pytest.approx(-1e-12, rel=1e-11)
    assert ad.grad(nn.power)(1.5, 3) == pytest.approx(3 * 1.5**2)


@pytest.mark.row("B4.4.d", "B4.4.e")
def test_soft_maximum():
    u = np.array([1.0, 2.0, 3.0])
    values = {1.0: 3.4076060, 0.5: 3.0714658, 0.1: 3.0000045}
    for temperature, value in values.items():
        assert nn.logsumexp(u, temperature=temperature) == pytest.approx(value, abs=5e-8)
        assert 3 <= nn.logsumexp(u, temperature=temperature) <= 3 + temperature * np.log(3)
    assert nn.logsumexp(u + 1e4) == pytest.approx(nn.logsumexp(u) + 1e4, rel=1e-15)
    assert nn.logsumexp(np.array([2.0, 0.0])) == pytest.approx(nn.softplus(2.0))


@pytest.mark.row("B4.4.c")
def test_maximum_as_a_pooling():
    """The subgradient is one-hot at the largest element; equal ones share, so it sums to 1."""
    assert_array_equal(ad.grad(np.max)(np.array([1.0, 4.0, 2.0])), [0, 1, 0])
    assert_array_equal(ad.grad(np.max)(np.array([4.0, 4.0, 2.0])), [0.5, 0.5, 0])


@pytest.mark.row("B4.4.i")
def test_hardmax():
    assert_array_equal(nn.hardmax(np.array([[1.0, 3.0, 3.0], [2.0, 0.0, 1.0]])), [[0, 1, 0], [1, 0, 0]])
    assert_array_equal(nn.hardmax(np.array([[1.0, 3.0], [2.0, 0.0]]), axis=0), [[0, 1], [1, 0]])
    x = np.random.default_rng(0).normal(size=(4, 3, 5))
    for axis in range(3):
        assert_array_equal(nn.hardmax(x, axis=axis), (x == x.max(axis, keepdims=True)).astype(float))
        assert_array_equal(ad.jit(nn.hardmax, static_argnames="axis")(x, axis=axis), nn.hardmax(x, axis=axis))
    assert_array_equal(ad.grad(lambda x: np.sum(x * nn.hardmax(x)))(np.array([1.0, 3.0])), [0, 1])


@pytest.mark.row("B4.4.j", "B4.4.k")
def test_softargmax():
    u = np.array([1.0, 2.0, 3.0])
    p = nn.softargmax(u)
    assert_allclose(p, [0.0900306, 0.2447285, 0.6652410], atol=5e-8)
    assert_allclose(ad.grad(nn.logsumexp)(u), p, rtol=1e-14)
    assert nn.softargmax(np.array([2.0, 0.0]))[0] == pytest.approx(nn.logistic(2.0))
    assert_allclose(nn.softargmax_inverse(p), [-1, 0, 1], atol=1e-14)
    assert_allclose(nn.softargmax_inverse(nn.softargmax(u + 7.0)), [-1, 0, 1], atol=1e-14)
    # τ → ∞ gives 1/m for m classes, τ → 0 the one-hot vector of the largest
    assert_allclose(nn.softargmax(u, temperature=1e9), np.full(3, 1 / 3), rtol=1e-8)
    assert_array_equal(nn.softargmax(u, temperature=1e-3), [0, 0, 1])
    with pytest.raises(ValueError, match="temperature must be positive"):
        nn.softargmax(u, temperature=0.0)


@pytest.mark.row("B4.4.l")
def test_derivative_of_softargmax_needs_no_matrix():
    """(diag π - ππᵀ) v by vectors alone: no value of the program has M² elements."""
    u, v = np.random.default_rng(1).normal(size=(2, 300))
    p = special.softmax(u)
    exact = (np.diag(p) - np.outer(p, p)) @ v
    push = ad.jvp(nn.softargmax, (u,), (v,))[1]
    pull = ad.vjp(nn.softargmax, u)[1](v)[0]
    assert_allclose(push, exact, atol=1e-16)
    assert_allclose(pull, exact, atol=1e-16)
    program = ad.trace(lambda u, v: ad.vjp(nn.softargmax, u)[1](v))(u, v).program
    assert max(variable.type.size for equation in program.equations for variable in equation.outputs) == 300


@pytest.mark.row("B4.4.m")
def test_gelu():
    assert nn.gelu(1.0) == pytest.approx(0.8413447, abs=5e-8)
    assert_allclose(nn.gelu(X), X * stats.norm.cdf(X), rtol=1e-13)


def test_gated_units():
    x = np.random.default_rng(2).normal(size=(3, 8))
    assert_allclose(nn.glu(x), x[:, :4] * special.expit(x[:, 4:]), rtol=1e-14)
    assert_allclose(nn.swiglu(x), x[:, :4] * special.expit(x[:, :4]) * x[:, 4:], rtol=1e-14)
    with pytest.raises(ad.ShapeError, match="7 elements"):
        nn.glu(x[:, 1:])
