"""The slides on vector calculus: gradients, backpropagation, automatic differentiation, Taylor series."""

import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import adjoint as ad
from adjoint import tree
from adjoint.curvature import fisher, fisher_product, gauss_newton, gauss_newton_product
from adjoint.testing import check_grads, count_calls, difference_gradient
from tests.book.recording import names, recorded

HALF = np.array([0.5, 0.5])


@pytest.mark.row("V1.a")
def test_a_row_times_a_column():
    """[1 1][2; 2] = 4, and each factor is the gradient of the product in the other."""
    row, column = np.array([[1.0, 1.0]]), np.array([[2.0], [2.0]])
    y, pullback = ad.vjp(np.matmul, row, column)
    assert y.item() == 4.0
    to_row, to_column = pullback(np.ones((1, 1)))
    assert_allclose(to_row, [[2.0, 2.0]])
    assert_allclose(to_column, [[1.0], [1.0]])


@pytest.mark.row("V1.b")
def test_a_linear_functional_is_its_gradient():
    """f = ½x₁ + ½x₂ has the gradient (½, ½) everywhere, so f(1, 3) = ∇f·(1, 3) = 2."""
    f = lambda x: HALF @ x
    x = np.array([1.0, 3.0])
    assert_allclose(ad.grad(f)(x), HALF)
    assert_allclose(ad.grad(f)(-7 * x), HALF)
    assert f(x) == ad.grad(f)(x) @ x == 2.0


@pytest.mark.row("V1.c")
def test_gradient_outer_product():
    """‖∇f x‖² = xᵀ G x with G = ∇fᵀ∇f: all entries ¼ for the functional above, and the value 4 at (1, 3)."""
    x = np.array([1.0, 3.0])
    J = ad.jacobian(lambda x: np.reshape(HALF @ x, (1,)))(x)
    G = J.T @ J
    assert_allclose(G, [[0.25, 0.25], [0.25, 0.25]])
    assert_allclose(x @ G @ x, 4.0)
    # the same from a push and a pull, without G
    _, push = ad.linearize(lambda x: HALF @ x, x)
    _, pull = ad.vjp(lambda x: HALF @ x, x)
    assert_allclose(pull(push(x))[0] @ x, 4.0)


@pytest.mark.row("V1.d")
def test_fisher_information_of_a_categorical_distribution():
    """E[∇log p ∇log pᵀ] under the model: diag(π) - ππᵀ in the logits, and JᵀFJ v in the weights behind them."""
    loss = lambda z, y: np.log(np.sum(np.exp(z))) - z[y]
    z, labels = np.log([1.0, 2.0, 5.0]), np.arange(3)
    π = np.array([0.125, 0.25, 0.625])
    F = np.diag(π) - np.outer(π, π)
    assert_allclose(fisher(loss, lambda z: z, support=labels)(z), F, atol=1e-15)
    assert_allclose(gauss_newton(lambda z: loss(z, 0), lambda z: z)(z), F, atol=1e-15)
    scores = np.stack([-ad.grad(loss)(z, y) for y in labels])
    assert_allclose(np.einsum("y,yi,yj->ij", π, scores, scores), F, atol=1e-15)
    # behind a model with 400 weights: products only, no matrix of 400 × 400 or 3 × 400
    rng = np.random.default_rng(1)
    A, w, v = rng.normal(size=(3, 400)), rng.normal(size=400) / 20, rng.normal(size=400)
    model = lambda w: np.tanh(A @ w)
    J, π = ad.jacobian(model)(w), np.exp(model(w)) / np.sum(np.exp(model(w)))
    expected = J.T @ ((np.diag(π) - np.outer(π, π)) @ (J @ v))
    by_fisher = lambda w, v: fisher_product(loss, model, (w,), (v,), support=labels)
    by_hessian = lambda w, v: gauss_newton_product(lambda z: loss(z, 0), model, (w,), (v,))
    for product in (by_fisher, by_hessian, ad.jit(by_hessian)):
        assert_allclose(product(w, v), expected, rtol=1e-12, atol=1e-13)
    for product in (by_fisher, by_hessian):
        made = [out.type.shape for eq in ad.trace(product)(w, v).program.equations for out in eq.outputs]
        assert max(map(math.prod, made)) == 400


def network(parameters, x, activation):
    for A, b in parameters:
        x = activation(A @ x + b)
    return x


def parameters():
    rng = np.random.default_rng(0)
    return [(rng.normal(size=(o, i)), rng.normal(size=o)) for i, o in ((3, 4), (4, 4), (4, 2))]


X, Y = np.array([0.3, -0.5, 0.8]), np.array([0.2, 0.7])


@pytest.mark.row("V2.a", "V2.b", "V2.c")
@pytest.mark.parametrize("activation", [expit, np.tanh, lambda z: np.maximum(z, 0.0)])
def test_gradient_of_a_composition_in_the_parameters_of_every_layer(activation):
    """fᵢ = σ(Aᵢ fᵢ₋₁ + bᵢ): ‖y - f_K(x)‖² has one gradient for each A and b, shaped like it."""
    θ = parameters()
    loss = lambda θ: np.sum((Y - network(θ, X, activation)) ** 2)
    gradient = ad.grad(loss)(θ)
    assert tree.structure(gradient) == tree.structure(θ)
    expected = difference_gradient(loss, θ, accuracy=4)
    for ours, theirs in zip(tree.leaves(gradient), tree.leaves(expected), strict=True):
        assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


def layer_with_counter(pulls, number):
    """tanh(A x + b), noting each time its Jacobian is applied."""

    def vjp(A, b, x):
        y = np.tanh(A @ x + b)

        def pullback(u):
            pulls.append(number)
            v = u * (1 - y**2)
            return np.outer(v, x), v, A.T @ v

        return y, pullback

    return ad.custom_rule(lambda A, b, x: np.tanh(A @ x + b), vjp=vjp)


@pytest.mark.row("V2.d")
def test_layers_share_the_products_of_the_layers_above():
    """The gradients of all layers need every layer's Jacobian once: three products for three layers, from the top."""
    θ, pulls = parameters(), []

    def loss(θ):
        x = X
        for number, (A, b) in enumerate(θ):
            x = layer_with_counter(pulls, number)(A, b, x)
        return np.sum((Y - x) ** 2)

    gradient = ad.grad(loss)(θ)
    assert pulls == [2, 1, 0]
    plain = ad.grad(lambda θ: np.sum((Y - network(θ, X, np.tanh)) ** 2))(θ)
    for ours, theirs in zip(tree.leaves(gradient), tree.leaves(plain), strict=True):
        assert_allclose(ours, theirs, rtol=1e-13)


@pytest.mark.row("V3.a")
def test_derivatives_are_exact_to_machine_precision():
    """Compositions of sin, cos, exp, log, √, +, ×: a few units in the last place from 50 digits."""

    def f(x, lib):
        return lib.sqrt(x * x + lib.exp(x)) * lib.log(1 + x * x) + lib.sin(lib.cos(x) / x)

    with mpmath.workdps(50):
        for x in (0.3, 0.7, 1.9, 5.2, 11.0):
            exact = float(mpmath.diff(lambda t: f(t, mpmath.mp), mpmath.mpf(x)))
            for ours in (ad.grad(lambda t: f(t, np))(x), ad.jvp(lambda t: f(t, np), (x,), (1.0,))[1]):
                assert abs(ours - exact) <= 8 * np.spacing(abs(exact))


@pytest.mark.row("V3.b")
def test_both_orders_of_association():
    """dy/dx = (dy/db db/da) da/dx backwards, dy/db (db/da da/dx) forwards: one value, other shapes on the way."""
    a, b, y = (lambda x: np.outer(x, x).ravel()), np.sin, (lambda b: np.sum(b**2))
    x = np.array([0.4, -0.9, 1.3])
    J_a, J_b, g = ad.jacobian(a)(x), ad.jacobian(b)(a(x)), ad.grad(y)(b(a(x)))
    reverse, forward = (g @ J_b) @ J_a, g @ (J_b @ J_a)
    chain = lambda x: y(b(a(x)))
    assert_allclose(ad.jacrev(chain)(x), reverse, rtol=1e-14)
    assert_allclose(ad.jacfwd(chain)(x), forward, rtol=1e-14)
    # one direction of 9 numbers backwards, three forwards: the products cos(a) · direction have these sizes
    sizes = {
        mode: [eq.outputs[0].type.shape for eq in recorded(transform(chain), x).equations]
        for mode, transform in (("forward", ad.jacfwd), ("reverse", ad.jacrev))
    }
    assert (3, 9) in sizes["forward"]
    assert (3, 9) not in sizes["reverse"]
    assert (9,) in sizes["reverse"] or (1, 9) in sizes["reverse"]


@pytest.mark.row("V3.c")
def test_the_mode_is_chosen_by_the_numbers_of_inputs_and_outputs():
    """1000 inputs and one output: one pull instead of 1000 pushes; and the other way round."""
    inputs = np.linspace(0.0, 1.0, 1000)
    for f, x, widest in (
        (lambda x: np.sum(np.sin(x)), inputs, 1000),
        (lambda t: np.sin(t * inputs), np.float64(0.7), 1000),
    ):
        program = recorded(ad.jacobian(f), x)
        assert max(math.prod(v.type.shape) for eq in program.equations for v in eq.outputs) == widest
        other = ad.jacfwd if f(x).ndim == 0 else ad.jacrev
        program = recorded(other(f), x)
        assert max(math.prod(v.type.shape) for eq in program.equations for v in eq.outputs) == widest**2
    assert_allclose(ad.jacobian(lambda x: np.sum(np.sin(x)))(inputs), np.cos(inputs))


def example(x, moved=(0.0, 0.0, 0.0)):
    """f = √(x² + e^{x²}) + cos(x² + e^{x²}), with names for what is shared."""
    a = x**2 + moved[0]
    b = np.exp(a) + moved[1]
    c = a + b + moved[2]
    d, e = np.sqrt(c), np.cos(c)
    return a, b, c, d, e, d + e


@pytest.mark.row("V4.a")
def test_worked_example_forwards():
    """At x = 1: a = 1, b = 2.7182818, c = 3.7182818, d = 1.9282847, e = -0.8382725, f = 1.0900122."""
    expected = [1.0, 2.7182818, 3.7182818, 1.9282847, -0.8382725, 1.0900122]
    assert_allclose(example(1.0), expected, atol=5e-8)
    assert_allclose(ad.jvp(example, (1.0,), (1.0,))[0], expected, atol=5e-8)
    assert_allclose(ad.value_and_grad(lambda x: example(x)[-1])(0.5), (1.2753204, -1.3604311), atol=5e-8)


@pytest.mark.row("V4.b")
def test_worked_example_backwards():
    """At x = 1: f_c = f_b = 0.8045494, f_a = 2.9915413, f_x = 5.9830826."""
    to_a, to_b, to_c = ad.grad(lambda moved: example(1.0, moved)[-1])(np.zeros(3))
    assert_allclose([to_c, to_b, to_a], [0.8045494, 0.8045494, 2.9915413], atol=5e-8)
    assert_allclose(ad.grad(lambda x: example(x)[-1])(1.0), 5.9830826, atol=5e-8)


@pytest.mark.row("V4.c")
def test_a_shared_expression_is_computed_once():
    """c is used twice and made once: the function has six nodes, and its derivative computes e^{x²} only once too."""
    f = lambda x: example(x, moved=(0, 0, 0))[-1]

    def bare(x):
        a = x**2
        c = a + np.exp(a)
        return np.sqrt(c) + np.cos(c)

    assert f(1.0) == bare(1.0)
    assert len(recorded(bare, 1.0).equations) == 6
    used = names(recorded(ad.value_and_grad(bare), 1.0))
    assert (used["exp"], used["sqrt"], used["cos"], used["sin"]) == (1, 1, 1, 1)


def taylor_terms(f, x0, δ, order):
    """f(x0), D f[δ], D²f[δ, δ] / 2, …: the terms of the Taylor polynomial, by one run of Taylor mode."""
    value, derivatives = ad.jet(f, (x0,), ([δ] + [np.zeros_like(δ)] * (order - 1),))
    return [value] + [d / math.factorial(k) for k, d in enumerate(derivatives, 1)]


def wave(p):
    """eˣ sin y"""
    return np.exp(p[0]) * np.sin(p[1])


def cubic(p):
    """x² + 2xy + y³"""
    return p[0] ** 2 + 2 * p[0] * p[1] + p[1] ** 3


@pytest.mark.row("V5.a")
def test_higher_and_mixed_partials():
    """∂²f/∂y∂x is first x, then y; nesting goes on to any order: x³y² has ∂⁴/∂y∂x²∂y = 12x, ∂²/∂y∂x = 6x²y."""
    f = lambda x, y: x**3 * y**2
    x, y = 1.5, -0.5
    d_x = ad.grad(f, 0)
    assert_allclose(ad.grad(d_x, 1)(x, y), 6 * x**2 * y, rtol=1e-15)
    d_yxxy = ad.grad(ad.grad(ad.grad(ad.grad(f, 1), 0), 0), 1)
    assert_allclose(d_yxxy(x, y), 12 * x, rtol=1e-15)
    assert ad.grad(ad.grad(ad.grad(f, 1), 1), 1)(x, y) == 0.0


@pytest.mark.row("V5.b")
def test_second_derivatives_commute():
    """∂²f/∂x∂y = ∂²f/∂y∂x: the Hessian is symmetric to 1e-12, and so are the two nested gradients."""
    f = lambda p: wave(p) * np.log(1 + p[2] ** 2) + p[0] ** p[3]
    H = ad.hessian(f)(np.array([0.8, 0.3, -0.6, 1.7]))
    assert np.any(np.abs(H - np.diag(np.diag(H))) > 0.1)
    assert np.max(np.abs(H - H.T)) < 1e-12
    g = lambda x, y: np.sin(x * y) / (1 + x * x)
    assert_allclose(ad.grad(ad.grad(g, 0), 1)(0.7, 1.1), ad.grad(ad.grad(g, 1), 0)(0.7, 1.1), rtol=1e-13)


@pytest.mark.row("V5.c")
def test_hessians_of_functions_and_of_vector_fields():
    """Shape (n, n) for f: Rⁿ → R, and (m, n, n) for a field Rⁿ → Rᵐ: each slice is the Hessian of one component."""
    field = lambda p: np.stack([wave(p), cubic(p), p[0] / p[1]])
    p = np.array([1.0, 2.0])
    assert_allclose(ad.hessian(cubic)(p), [[2.0, 2.0], [2.0, 12.0]])
    H = ad.hessian(field)(p)
    assert H.shape == (3, 2, 2)
    e, s, c = math.e, math.sin(2.0), math.cos(2.0)
    assert_allclose(H[0], [[e * s, e * c], [e * c, -e * s]], rtol=1e-14)
    assert_allclose(H[1], [[2.0, 2.0], [2.0, 12.0]])
    assert_allclose(H[2], [[0.0, -0.25], [-0.25, 0.25]], atol=1e-15)


@pytest.mark.row("V6.a")
def test_univariate_taylor_polynomial():
    """T₄ of exp about 0 is within 1e-7 of e^0.1, and T_n about 1 is as exact as the next term allows."""
    assert abs(sum(taylor_terms(np.exp, 0.0, 0.1, 4)) - math.exp(0.1)) < 1e-7
    for n in range(1, 12):
        error = abs(sum(taylor_terms(np.log, 1.0, 0.1, n)) - math.log(1.1))
        assert error <= 0.1 ** (n + 1) / (n + 1) + 1e-15


@pytest.mark.row("V6.b")
def test_maclaurin_series():
    """exp: 1/k!; sin and cos: the odd and the even ones with alternating sign; their sums converge to the functions."""
    inverse = [1 / math.factorial(k) for k in range(13)]
    assert_allclose(taylor_terms(np.exp, 0.0, 1.0, 12), inverse, rtol=1e-14)
    signs = np.array([0, 1, 0, -1] * 4)
    assert_allclose(taylor_terms(np.sin, 0.0, 1.0, 12), signs[:13] * inverse, rtol=1e-14, atol=0)
    assert_allclose(taylor_terms(np.cos, 0.0, 1.0, 12), signs[1:14] * inverse, rtol=1e-14, atol=0)
    for f, exact in ((np.exp, math.exp(2)), (np.sin, math.sin(2)), (np.cos, math.cos(2))):
        assert_allclose(sum(taylor_terms(f, 0.0, 2.0, 30)), exact, rtol=1e-14)


@pytest.mark.row("V6.c")
def test_local_linear_approximation():
    """f(x₀) + ∇f(x₀)δ: halving δ divides the error by four."""
    x0, δ = np.array([0.4, 0.9]), np.array([0.1, -0.07])
    value, gradient = ad.value_and_grad(wave)(x0)
    errors = [abs(wave(x0 + t * δ) - value - gradient @ (t * δ)) for t in (1.0, 0.5, 0.25, 0.125)]
    assert_allclose(np.divide(errors[:-1], errors[1:]), 4.0, rtol=0.08)


@pytest.mark.row("V6.d")
def test_outer_powers():
    """δ² = δδᵀ, δ³[i, j, k] = δᵢδⱼδₖ: symmetric, and differentiable like every product."""
    δ = np.array([0.5, -2.0, 3.0])
    square = np.multiply.outer(δ, δ)
    cube = np.multiply.outer(square, δ)
    assert_allclose(square, [[0.25, -1.0, 1.5], [-1.0, 4.0, -6.0], [1.5, -6.0, 9.0]])
    assert cube[0, 1, 2] == cube[2, 1, 0] == cube[1, 2, 0] == -3.0
    power = lambda δ: np.multiply.outer(np.multiply.outer(δ, δ), δ)
    check_grads(power, (δ,), order=3)
    assert_allclose(ad.jvp(power, (δ,), (δ,))[1], 3 * cube, rtol=1e-15)  # homogeneous of degree 3


@pytest.mark.row("V6.e")
def test_contractions_of_derivatives_need_no_tensor():
    """Σ Dᵏf[i₁…i_k] δ[i₁]…δ[i_k] from Taylor mode and from nested pushes equals the contraction of the whole tensor."""
    x0, δ = np.array([0.4, 0.9]), np.array([0.3, -0.7])
    D3 = ad.jacfwd(ad.hessian(wave))(x0)
    assert D3.shape == (2, 2, 2)
    contracted = np.einsum("ijk,i,j,k->", D3, δ, δ, δ)
    along = wave
    for _ in range(3):
        along = lambda x, inner=along: ad.jvp(inner, (x,), (δ,))[1]
    assert_allclose(along(x0), contracted, rtol=1e-13)
    assert_allclose(6 * taylor_terms(wave, x0, δ, 3)[3], contracted, rtol=1e-13)
    # eˣ sin y = Im e^{x + iy}, and so its third derivative along δ is Im((δ₁ + iδ₂)³ e^{x + iy})
    assert_allclose(contracted, ((0.3 - 0.7j) ** 3 * np.exp(0.4 + 0.9j)).imag, rtol=1e-13)
    called = count_calls(wave)
    taylor_terms(called, x0, δ, 9)
    assert called.calls == 1


@pytest.mark.row("V6.f")
def test_multivariate_taylor_polynomial():
    """eˣ sin y about 0 with δ = (0.1, 0.2): 0.2, 0.22, 0.2196667 to orders 1, 2, 3; the function is 0.2195636 there."""
    δ = np.array([0.1, 0.2])
    sums = np.cumsum(taylor_terms(wave, np.zeros(2), δ, 3))
    assert_allclose(sums, [0.0, 0.2, 0.22, 0.2196667], atol=5e-8)
    assert_allclose(sum(taylor_terms(wave, np.zeros(2), δ, 12)), 0.2195636, atol=5e-8)


@pytest.mark.row("V6.g")
def test_the_terms_of_a_cubic():
    """x² + 2xy + y³ at (1, 2): 13, ∇ = (6, 14), H = [[2, 2], [2, 12]], f_yyy = 6; to order 3 it is exact."""
    p, δ = np.array([1.0, 2.0]), np.array([0.1, -0.2])
    assert cubic(p) == 13.0
    assert_allclose(ad.grad(cubic)(p), [6.0, 14.0])
    H = ad.hessian(cubic)(p)
    assert_allclose(H, [[2.0, 2.0], [2.0, 12.0]])
    D3 = ad.jacfwd(ad.hessian(cubic))(p)
    assert_allclose(D3.ravel(), [0, 0, 0, 0, 0, 0, 0, 6.0])
    terms = taylor_terms(cubic, p, δ, 4)
    assert_allclose(terms[2], 0.5 * np.trace(H @ np.outer(δ, δ)), rtol=1e-14)
    assert terms[4] == 0.0
    assert_allclose(sum(terms), 11.002, rtol=1e-14)
    assert_allclose(cubic(p + δ), 11.002, rtol=1e-14)
