"""Chapter 11, envelope theorems: optimal values, conjugates, saddle points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import implicit

B, C = 3.0, 1.0
quadratic = lambda w, lam: 0.5 * lam * w * w + B * w + C


@pytest.mark.row("11.2-a", "11.2-b", "11.2-g")
@pytest.mark.parametrize("sense", ["min", "max"])
def test_a_value_function_to_second_order(sense):
    sign = 1.0 if sense == "min" else -1.0
    h = implicit.value(lambda w, lam: sign * quadratic(w, lam), lambda lam: -B / lam, sense=sense)
    assert_allclose([h(2.0), ad.grad(h)(2.0), ad.grad(ad.grad(h))(2.0)], np.multiply(sign, [-1.25, 1.125, -1.125]))
    assert_allclose(ad.jacfwd(ad.jacrev(h))(2.0), -1.125 * sign, rtol=1e-12)
    assert_allclose(ad.derivative(h, 3)(2.0), sign * 3 * B**2 / 2.0**4, rtol=1e-12)  # of -b² / (2 λ) + c
    assert_allclose(ad.jit(ad.grad(h))(2.0), 1.125 * sign)
    assert_allclose(ad.vmap(ad.grad(h))(np.array([2.0, 3.0])), np.multiply(sign, [1.125, 0.5]))


@pytest.mark.row("11.2-a")
def test_the_first_derivative_solves_no_linear_equation_and_solves_once():
    linear, solves = [], []

    def solver(lam):
        solves.append(lam)
        return -B / float(lam)

    h = implicit.value(quadratic, solver, linear=lambda A, b: linear.append(b) or ad.linear.solve(A, b))
    ad.value_and_grad(h)(2.0)
    ad.jvp(h, (2.0,), (1.0,))
    assert not linear
    plain = [lam for lam in solves if isinstance(lam, float)]
    assert len(plain) == 2
    ad.grad(ad.grad(h))(2.0)
    assert len(linear) >= 1


@pytest.mark.row("11.2-c")
def test_a_maximizer_that_is_not_unique_is_flagged():
    h = implicit.value(lambda w, lam: w * lam, lambda lam: np.sign(lam) + (lam == 0.0), sense="max")
    assert -1.0 <= ad.grad(h)(0.0) <= 1.0
    assert not h.is_unique(0.0)
    warned = implicit.value(lambda w, lam: w * lam, lambda lam: np.sign(lam), sense="max", check="warn")
    with pytest.warns(implicit.DerivativeWarning, match="not unique"):
        assert -1.0 <= ad.grad(warned)(0.0) <= 1.0
    assert implicit.value(quadratic, lambda lam: -B / lam).is_unique(2.0)


@pytest.mark.row("11.2-d")
def test_the_conjugate_of_the_negative_entropy_on_the_simplex():
    lam = np.array([1.0, 2.0, 0.5])

    def softargmax(lam):
        e = np.exp(lam - np.max(lam))
        return e / np.sum(e)

    objective = lambda w, lam: w @ lam - np.sum(w * np.log(w))
    conjugate = implicit.value(objective, softargmax, sense="max")
    assert_allclose(conjugate(lam), 2.4643687841, atol=6e-11)
    assert_allclose(ad.grad(conjugate)(lam), [0.2312239, 0.6285317, 0.1402444], atol=6e-8)
    # of second order the simplex counts: its conditions are stated, and the Hessian is that of log-sum-exp
    rules = implicit.Constraints(equality=lambda w, lam: np.sum(w) - 1.0)
    constrained = implicit.value(objective, softargmax, sense="max", subject_to=rules)
    p = softargmax(lam)
    assert_allclose(ad.hessian(constrained)(lam), np.diag(p) - np.outer(p, p), atol=1e-12)


@pytest.mark.row("11.2-e")
def test_a_saddle_point_by_gradients_of_the_value():
    A = np.array([[1.0, 2.0], [-0.5, 1.0]])
    b, c = np.array([1.0, -1.0]), np.array([0.5, 2.0])
    # min over x, max over y of ½‖x‖² + xᵀA y - ½‖y‖² + bᵀx - cᵀy
    game = lambda y, x: 0.5 * x @ x + x @ (A @ y) - 0.5 * y @ y + b @ x - c @ y
    h = implicit.value(game, lambda x: A.T @ x - c, sense="max")
    x = np.zeros(2)
    for _ in range(300):
        x = x - 0.1 * ad.grad(h)(x)
    saddle = np.linalg.solve(np.block([[np.eye(2), A], [-A.T, np.eye(2)]]), np.concatenate([-b, -c]))
    assert_allclose(x, saddle[:2], atol=1e-10)
    assert_allclose(h.optimizer(x), saddle[2:], atol=1e-10)


@pytest.mark.row("11.2-f")
def test_a_maximizer_that_is_unique_without_concavity():
    f = lambda w, lam: np.sin(3 * w + lam) - 0.1 * (w - lam) ** 2
    grid = np.linspace(-4.0, 4.0, 2001)

    def solver(lam):
        w = grid[np.argmax(f(grid, lam))]
        for _ in range(30):
            w = w - ad.grad(f)(w, lam) / ad.grad(ad.grad(f))(w, lam)
        return w

    h = implicit.value(f, solver, sense="max")
    lam, step = 0.7, 1e-5
    expected = (h(lam + step) - h(lam - step)) / (2 * step)
    assert_allclose(ad.grad(h)(lam), expected, rtol=1e-8)
    second = (h(lam + 1e-4) - 2 * h(lam) + h(lam - 1e-4)) / 1e-8
    assert_allclose(ad.grad(ad.grad(h))(lam), second, rtol=1e-5)
