"""The notes on machine learning: derivatives of products, Jacobians, and of linear and logistic regression."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import adjoint as ad
from adjoint.base.errors import ShapeError
from adjoint.scipy.special import logsumexp
from adjoint.testing import (
    check_grads,
    complex_step,
    complex_step_gradient,
    difference_jacobian,
)
from tests.book.recording import names, recorded, shapes

RNG = np.random.default_rng(12)
X, Y, U = RNG.normal(size=(2, 3)), RNG.normal(size=(3, 4)), RNG.normal(size=(2, 4))


@pytest.mark.row("A2.1.c")
def test_products_of_matrices():
    """X Y pulls U back to (U Yᵀ, Xᵀ U); the Hadamard product X ∘ Z pulls V back to (V ∘ Z, V ∘ X)."""
    to_X, to_Y = ad.vjp(np.matmul, X, Y)[1](U)
    assert_allclose(to_X, [[sum(U[i, k] * Y[j, k] for k in range(4)) for j in range(3)] for i in range(2)])
    assert_allclose(to_Y, [[sum(X[k, i] * U[k, j] for k in range(2)) for j in range(4)] for i in range(3)])
    V, Z = RNG.normal(size=(2, 2, 3))
    to_X, to_Z = ad.vjp(np.multiply, X, Z)[1](V)
    for i in np.ndindex(2, 3):
        assert (to_X[i], to_Z[i]) == (V[i] * Z[i], V[i] * X[i])


@pytest.mark.row("A2.1.c")
def test_a_template_matches_best_along_itself():
    """⟨x, w⟩ over unit w is largest at x / ‖x‖: ascent along the gradient, brought back to length one, ends there."""
    x, w = np.array([3.0, -4.0]), np.array([1.0, 0.0])
    for _ in range(200):
        w = w + 0.1 * ad.grad(lambda w: np.dot(x, w))(w)
        w = w / np.linalg.norm(w)
    assert_allclose(w, [0.6, -0.8], rtol=1e-12)


@pytest.mark.row("A2.1.d")
def test_batched_products_broadcast_and_their_gradients_are_summed():
    """(n, a, b) @ (b, c) is a loop over n; the gradient of the operand that all share is the sum over the loop."""
    stack, u = RNG.normal(size=(5, 2, 3)), RNG.normal(size=(5, 2, 4))
    assert_allclose(stack @ Y, np.stack([A @ Y for A in stack]))
    y, pullback = ad.vjp(np.matmul, stack, Y)
    assert_allclose(y, np.stack([A @ Y for A in stack]))
    to_stack, to_Y = pullback(u)
    one_by_one = [ad.vjp(np.matmul, A, Y)[1](v) for A, v in zip(stack, u, strict=True)]
    assert_allclose(to_stack, np.stack([pair[0] for pair in one_by_one]))
    assert_allclose(to_Y, sum(pair[1] for pair in one_by_one))
    check_grads(lambda a, b: np.sum(np.tanh(a @ b), axis=(0, 2)), (stack, Y))


def bumps(x):
    return np.sin(x[0] * x[1]) + x[2] ** 3 / (1 + x[0] ** 2)


@pytest.mark.row("A2.2.a")
def test_a_directional_derivative_is_the_gradient_times_the_direction():
    """D_v f = ∇f·v, which is what forward mode pushes out."""
    x, v = np.array([0.5, -1.2, 0.7]), np.array([1.0, 0.3, -2.0])
    slope = complex_step(bumps, x, v)
    assert_allclose(ad.grad(bumps)(x) @ v, slope, rtol=1e-14)
    assert_allclose(ad.jvp(bumps, (x,), (v,))[1], slope, rtol=1e-14)


def curve(x):
    return np.stack([bumps(x), np.exp(x[1]) * x[2]])


@pytest.mark.row("A2.2.b")
def test_a_jacobian_has_a_row_for_each_output_and_a_column_for_each_input():
    """Shape (c, d): row i is the gradient of output i, column j the effect of input j; for c = d = 1 just a number."""
    x = np.array([0.5, -1.2, 0.7])
    J = ad.jacobian(curve)(x)
    assert J.shape == (2, 3)
    for i in range(2):
        assert_allclose(J[i], complex_step_gradient(lambda x, i=i: curve(x)[i], x), rtol=1e-13)
    for j in range(3):
        assert_allclose(J[:, j], complex_step(curve, x, np.eye(3)[j]), rtol=1e-13)
    assert ad.jacobian(lambda x: curve(x)[:1])(x).shape == (1, 3)
    assert_allclose(ad.jacobian(lambda x: curve(x)[:1])(x)[0], ad.grad(bumps)(x))
    assert_allclose(ad.jacobian(np.sin)(0.5), np.cos(0.5))
    assert np.shape(ad.jacobian(np.sin)(0.5)) == ()


@pytest.mark.row("A2.2.c")
def test_the_jacobian_of_a_composition_is_the_product():
    """J(g∘f)(x) = J_g(f(x)) J_f(x), to 1e-10 and better."""
    g = lambda y: np.stack([y[0] * y[1], np.tanh(y[0]), y[1] ** 2, np.exp(-y[0])])
    x = np.array([0.5, -1.2, 0.7])
    product = ad.jacobian(g)(curve(x)) @ ad.jacobian(curve)(x)
    assert_allclose(ad.jacobian(lambda x: g(curve(x)))(x), product, rtol=1e-13)
    assert_allclose(product, difference_jacobian(lambda x: g(curve(x)), x, accuracy=4), rtol=1e-9, atol=1e-10)


@pytest.mark.row("A2.2.d")
def test_linearization():
    """f = x² - 1.5x at ½: f(0.51) = -0.5049, and the tangent there gives -0.5050."""
    f = lambda x: x**2 - 1.5 * x
    value, slope = ad.linearize(f, 0.5)
    assert_allclose(f(0.51), -0.5049, rtol=1e-12)
    assert_allclose(value + slope(0.51 - 0.5), -0.5050, rtol=1e-12)


@pytest.mark.row("A3.2.b")
def test_a_loss_is_one_number_and_risk_the_mean_over_examples():
    """The gradient of (1/n) Σ l(yᵢ, f(xᵢ, w)) is the mean of the examples' gradients; a vector as loss is refused."""
    xs, ys, w = RNG.normal(size=(6, 3)), RNG.normal(size=6), RNG.normal(size=3)
    one = lambda w, x, y: (np.tanh(x @ w) - y) ** 2
    risk = lambda w: np.mean((np.tanh(xs @ w) - ys) ** 2)
    each = ad.vmap(ad.grad(one), in_axes=(None, 0, 0))(w, xs, ys)
    assert each.shape == (6, 3)
    assert_allclose(np.mean(each, axis=0), ad.grad(risk)(w), rtol=1e-13)
    assert_allclose(each[4], complex_step_gradient(lambda w: one(w, xs[4], ys[4]), w), rtol=1e-12)
    with pytest.raises(ShapeError, match=r"scalar output.*float64\[6\]"):
        ad.grad(lambda w: (np.tanh(xs @ w) - ys) ** 2)(w)


DESIGN, TARGET = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([1.0, 2.0, 3.0])


def least_squares(w, b):
    return np.mean((TARGET - DESIGN @ w - b) ** 2)


@pytest.mark.row("A4.1.f")
def test_gradient_of_least_squares():
    """(1/n)‖y - Xw - 1b‖² has the gradient (2/n) Xᵀ(Xw + 1b - y) in w; it vanishes at w = (0, ½), b = 0."""
    to_w, to_b = ad.grad(least_squares, (0, 1))(np.array([0.0, 0.5]), 0.0)
    assert_allclose(to_w, [0.0, 0.0], atol=1e-15)
    assert_allclose(to_b, 0.0, atol=1e-15)
    to_w, to_b = ad.grad(least_squares, (0, 1))(np.array([1.0, -1.0]), 0.5)
    # residuals Xw + b - y are -1.5, -2.5, -3.5
    assert_allclose(to_w, 2 / 3 * np.array([-26.5, -34.0]), rtol=1e-14)
    assert_allclose(to_b, 2 / 3 * -7.5, rtol=1e-14)


@pytest.mark.row("A4.1.k")
def test_the_gradient_of_least_squares_never_forms_the_gram_matrix():
    """Xᵀ(Xw - y) is two products with a vector, O(nc): nothing of size c × c appears, however large c is."""
    for n, c in ((7, 50), (7, 500)):
        program = recorded(ad.grad(lambda w, X, y: np.sum((X @ w - y) ** 2)), np.ones(c), np.ones((n, c)), np.ones(n))
        assert names(program)["matmul"] == 2
        assert (c, c) not in shapes(program)
        assert max(int(np.prod(shape)) for shape in shapes(program)) == n * c


@pytest.mark.row("A4.3.b")
def test_gradient_of_logistic_regression():
    """w = (0.5, -0.25), x = (1, 2), b = 0.1, y = 1: loss 0.6443967, f = 0.5249792, ∇w = (f - y) x, ∇b = f - y."""
    x = np.array([1.0, 2.0])

    def loss(w, b):
        z = w @ x + b
        return np.logaddexp(0.0, z) - z

    w, b = np.array([0.5, -0.25]), 0.1
    assert_allclose(expit(w @ x + b), 0.5249792, atol=5e-8)
    value, (to_w, to_b) = ad.value_and_grad(loss, (0, 1))(w, b)
    assert_allclose(value, 0.6443967, atol=5e-8)
    assert_allclose(to_w, [-0.4750208, -0.9500416], atol=5e-8)
    assert_allclose(to_b, -0.4750208, atol=5e-8)


@pytest.mark.row("A4.3.d")
def test_logsumexp_is_stable():
    """lse(p) = lse(p - c) + c: (1000, 1000) gives 1000.6931472, and the gradient is the softmax."""
    large = np.array([1000.0, 1000.0])
    value, gradient = ad.value_and_grad(logsumexp)(large)
    assert_allclose(value, 1000.6931472, atol=5e-8)
    assert_allclose(gradient, [0.5, 0.5])
    p = np.array([1.0, 2.0, 3.0])
    assert_allclose(ad.grad(logsumexp)(p + 1e4), [0.0900306, 0.2447285, 0.6652410], atol=5e-8)
    assert_allclose(logsumexp(p - 7.0) + 7.0, logsumexp(p), rtol=1e-15)
