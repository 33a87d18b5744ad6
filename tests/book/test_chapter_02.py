"""Differentiation of functions of one and of several numbers: the definitions, the rules, and the first examples."""

import math

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.scipy.special import logsumexp, softmax
from adjoint.testing import check_grads, complex_step, complex_step_gradient, difference_jacobian, finite_difference
from tests.book.recording import recorded, shapes
from tests.ops.examples import examples

RNG = np.random.default_rng(2)


@pytest.mark.row("B2.1.a")
@pytest.mark.parametrize("n", range(1, 7))
def test_derivatives_of_powers(n):
    """wⁿ has the derivative n wⁿ⁻¹, which is also the limit of (f(w + δ) - f(w)) / δ."""
    for w in (-1.5, 0.5, 2.0):
        slope = ad.grad(lambda w: w**n)(w)
        assert_allclose(slope, n * w ** (n - 1), rtol=1e-15)
        quotients = [((w + δ) ** n - w**n) / δ for δ in (1e-3, 1e-4, 1e-5)]
        errors = np.abs(np.subtract(quotients, slope))
        assert np.all(errors <= n * (n - 1) * 4.0**n * np.array([1e-3, 1e-4, 1e-5]) + 1e-10)


W = sympy.Symbol("w", positive=True)
TABLE = {
    np.exp: sympy.exp(W),
    np.exp2: 2**W,
    np.expm1: sympy.exp(W) - 1,
    np.log: sympy.log(W),
    np.log2: sympy.log(W, 2),
    np.log10: sympy.log(W, 10),
    np.log1p: sympy.log(1 + W),
    np.sqrt: sympy.sqrt(W),
    np.cbrt: sympy.cbrt(W),
    np.reciprocal: 1 / W,
    np.square: W**2,
    np.sin: sympy.sin(W),
    np.cos: sympy.cos(W),
    np.tan: sympy.tan(W),
    np.arcsin: sympy.asin(W),
    np.arccos: sympy.acos(W),
    np.arctan: sympy.atan(W),
    np.sinh: sympy.sinh(W),
    np.cosh: sympy.cosh(W),
    np.tanh: sympy.tanh(W),
    np.arcsinh: sympy.asinh(W),
    np.arctanh: sympy.atanh(W),
}


@pytest.mark.row("B2.1.b")
@pytest.mark.parametrize("f", TABLE, ids=lambda f: f.__name__)
def test_table_of_elementary_derivatives(f):
    """The first, second and third derivative of every elementary function, against symbolic ones."""
    for w in (0.2, 0.45, 0.9):
        derivative = f
        for order in (1, 2, 3):
            derivative = ad.grad(derivative)
            expected = float(sympy.diff(TABLE[f], W, order).subs(W, sympy.Float(w, 30)).evalf(30))
            assert_allclose(derivative(w), expected, rtol=1e-13, atol=1e-15)


@pytest.mark.row("B2.1.b")
def test_every_elementwise_primitive_agrees_with_differences_to_second_order():
    """Inside its domain each one has the derivatives that differences find, by both modes."""
    tried = set()
    for example in examples():
        op = example.op
        args = tuple(example.args[i] for i in example.active)
        if not hasattr(op, "factors") or op.flat or not example.smooth or op.title in tried:
            continue
        if len(args) != len(example.args) or any(x.dtype.char != "d" for x in args):
            continue
        check_grads(op, args, order=2, rtol=1e-5)
        tried.add(op.title)
    assert {f.__name__ for f in TABLE} <= tried


@pytest.mark.row("B2.1.c")
def test_secant_tangent_and_descent():
    """The slope of the secant tends to f' at the rate δ; w ← w - γ f'(w) takes (w - 3)² to its minimum at 3."""
    f = lambda w: np.exp(w) * np.sin(w)
    value, tangent = ad.linearize(f, 0.5)
    secants = [finite_difference(f, 0.5, 1.0, kind="forward", step=δ) for δ in (1e-2, 1e-3, 1e-4)]
    assert_allclose(np.abs(np.subtract(secants, tangent(1.0))) / [1e-2, 1e-3, 1e-4], f_second(0.5) / 2, rtol=0.01)
    assert_allclose(value + tangent(1e-4), f(0.5 + 1e-4), rtol=0, atol=1e-7)
    w = 0.0
    for _ in range(100):
        w = w - 0.25 * ad.grad(lambda w: (w - 3) ** 2)(w)
    assert_allclose(w, 3.0, rtol=1e-14)


def f_second(w):
    """(eʷ sin w)'' = 2 eʷ cos w"""
    return 2 * math.exp(w) * math.cos(w)


PIECES = {
    "sin": np.sin,
    "tanh": np.tanh,
    "square": np.square,
    "wave": lambda w: np.exp(-w * w),
    "ratio": lambda w: w / (1 + w * w),
}


@pytest.mark.row("B2.1.g")
@given(
    st.lists(st.sampled_from(sorted(PIECES)), min_size=2, max_size=5),
    st.floats(-1.5, 1.5),
    st.floats(-2, 2),
    st.floats(-2, 2),
)
def test_rules_of_calculus(chosen, w, a, b):
    """(a f + b g)' = a f' + b g', (f g)' = f' g + f g', (g∘f)' = (g'∘f) f', for random compositions."""

    def f(w):
        for name in chosen:
            w = PIECES[name](w)
        return w

    g = PIECES[chosen[0]]
    df, dg = complex_step(f, w, 1.0), complex_step(g, w, 1.0)
    close = lambda ours, theirs: assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)
    close(ad.grad(f)(w), df)
    close(ad.grad(lambda w: a * f(w) + b * g(w))(w), a * df + b * dg)
    close(ad.grad(lambda w: f(w) * g(w))(w), df * g(w) + f(w) * dg)
    close(ad.grad(lambda w: g(f(w)))(w), complex_step(g, f(w), 1.0) * df)


@pytest.mark.row("B2.1.h")
@pytest.mark.parametrize("w, value, slope", [(1.0, 0.5403023, 1.0353399), (2.0, 4.4680598, 11.8434414)])
def test_example_of_the_rules(w, value, slope):
    """f = eʷ ln w + cos w²: f(1) = 0.5403023, f'(1) = 1.0353399; f(2) = 4.4680598, f'(2) = 11.8434414."""
    f = lambda w: np.exp(w) * np.log(w) + np.cos(w**2)
    assert_allclose(ad.value_and_grad(f)(w), (value, slope), atol=5e-8)
    assert_allclose(ad.jvp(f, (w,), (1.0,)), (value, slope), atol=5e-8)


class Dual:
    """a + ε b with ε² = 0."""

    def __init__(self, a, b=0.0):
        self.a, self.b = a, b

    def __add__(self, other):
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.a + other.a, self.b + other.b)

    def __mul__(self, other):
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.a * other.a, self.a * other.b + self.b * other.a)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other):
        return Dual(self.a / other.a, (self.b * other.a - self.a * other.b) / other.a**2)


@pytest.mark.row("B2.1.i")
def test_forward_mode_is_the_arithmetic_of_dual_numbers():
    """f(w + ε) = f(w) + ε f'(w): carrying pairs through +, ×, ÷ gives what jvp gives, to the last bit or two."""
    f = lambda w: (w * w * w + 2 * w) / (w * w + 1) * w
    for w, v in ((0.7, 1.0), (-1.3, 2.5)):
        dual = f(Dual(w, v))
        assert_allclose(ad.jvp(f, (w,), (v,)), (dual.a, dual.b), rtol=1e-15)
    # du/dw = du/dv · dv/dw
    v, u = np.sin, np.exp
    assert_allclose(
        ad.jvp(u, (v(0.4),), ad.jvp(v, (0.4,), (1.0,))[1:])[1], ad.jvp(lambda w: u(v(w)), (0.4,), (1.0,))[1]
    )


def bowl(w):
    return np.exp(w[0]) * w[1] ** 2 + np.sin(w[1] * w[2])


POINT = np.array([0.3, -0.8, 1.4])


@pytest.mark.row("B2.2.a")
def test_directional_derivatives_are_limits_and_linear_in_the_direction():
    """∂f(w)[v] = lim (f(w + δv) - f(w)) / δ, and ∂f(w)[a v + b v'] = a ∂f(w)[v] + b ∂f(w)[v']."""
    v, v2 = RNG.normal(size=(2, 3))
    along = lambda v: ad.jvp(bowl, (POINT,), (v,))[1]
    assert_allclose(along(v), complex_step(bowl, POINT, v), rtol=1e-14)
    assert_allclose(along(2.5 * v - 3 * v2), 2.5 * along(v) - 3 * along(v2), rtol=1e-13)


@pytest.mark.row("B2.2.b")
def test_partial_derivatives_are_entries_of_the_gradient():
    """∂ᵢf = ∂f(w)[eᵢ]; for a function of several arguments `argnums` names the one that moves."""
    gradient = ad.grad(bowl)(POINT)
    for i, e in enumerate(np.eye(3)):
        assert_allclose(ad.jvp(bowl, (POINT,), (e,))[1], gradient[i], rtol=1e-14)
    spread = lambda a, b, c: bowl([a, b, c])
    for i in range(3):
        assert_allclose(ad.grad(spread, argnums=i)(*POINT), gradient[i], rtol=1e-14)
    assert_allclose(ad.grad(spread, argnums="b")(*POINT), gradient[1], rtol=1e-14)


@pytest.mark.row("B2.2.f")
def test_the_gradient_represents_the_derivative_and_is_linear_in_the_function():
    """⟨v, ∇f⟩ = ∂f[v]; ∇⟨a, w⟩ = a; ∇(Σ uᵢ fᵢ) = Σ uᵢ ∇fᵢ."""
    a, v = RNG.normal(size=(2, 3))
    assert_allclose(ad.grad(lambda w: a @ w)(POINT), a)
    assert_allclose(v @ ad.grad(bowl)(POINT), complex_step(bowl, POINT, v), rtol=1e-13)
    parts = [bowl, lambda w: np.prod(w), lambda w: np.sum(np.cos(w))]
    u = RNG.normal(size=3)
    total = ad.grad(lambda w: sum(c * f(w) for c, f in zip(u, parts, strict=True)))(POINT)
    assert_allclose(total, sum(c * complex_step_gradient(f, POINT) for c, f in zip(u, parts, strict=True)), rtol=1e-13)


@pytest.mark.row("B2.2.g")
def test_gradient_of_the_logistic_loss():
    """ℓ = -⟨y, θ⟩ + lse(θ) with θ = (1, 2, 3), y = e₂: 1.4076060, and ∇ = softargmax(θ) - y."""
    θ, y = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.0])
    value, gradient = ad.value_and_grad(lambda θ: -y @ θ + logsumexp(θ))(θ)
    assert_allclose(value, 1.4076060, atol=5e-8)
    assert_allclose(gradient, [0.0900306, -0.7552715, 0.6652410], atol=5e-8)
    assert_allclose(gradient, softmax(θ) - y, rtol=1e-14)


@pytest.mark.row("B2.2.i")
def test_the_gradient_is_the_steepest_direction_and_normal_to_level_sets():
    """No unit vector climbs faster than ∇f/‖∇f‖; ⟨v, ∇f⟩ < 0 goes down; on circles x² + y² = r² it is normal."""
    gradient = ad.grad(bowl)(POINT)
    steepest = ad.jvp(bowl, (POINT,), (gradient / np.linalg.norm(gradient),))[1]
    _, along = ad.linearize(bowl, POINT)
    for v in RNG.normal(size=(200, 3)):
        slope = along(v / np.linalg.norm(v))
        assert slope < steepest
        assert slope * (v @ gradient) > 0
        assert bowl(POINT + 1e-6 * np.sign(v @ gradient) * v) > bowl(POINT)
    for angle in (0.1, 1.7, 4.0):
        circle = lambda t: 2.0 * np.stack([np.cos(t), np.sin(t)])
        point, velocity = ad.jvp(circle, (angle,), (1.0,))
        assert_allclose(ad.grad(lambda p: p @ p)(point) @ velocity, 0.0, atol=1e-14)


@pytest.mark.row("B2.2.k")
def test_derivatives_of_functions_with_several_outputs():
    """A curve t ↦ (cos t, sin t) has the velocity (-sin t, cos t); each coordinate is differentiated on its own."""
    y, velocity = ad.jvp(lambda t: np.stack([np.cos(t), np.sin(t)]), (0.6,), (1.0,))
    assert_allclose(y, [math.cos(0.6), math.sin(0.6)])
    assert_allclose(velocity, [-math.sin(0.6), math.cos(0.6)])
    f = lambda w: np.stack([bowl(w), np.prod(w)])
    v = RNG.normal(size=3)
    each = [ad.jvp(lambda w, i=i: f(w)[i], (POINT,), (v,))[1] for i in range(2)]
    assert_allclose(ad.jvp(f, (POINT,), (v,))[1], each, rtol=1e-14)
    assert_allclose(each, complex_step(f, POINT, v), rtol=1e-13)


@pytest.mark.row("B2.2.l")
def test_jacobians_and_their_special_cases():
    """f = A w has J = A; columns ∂ᵢf, rows gradients; (1, P) for one output, (M, 1) for one input, () for both."""
    A = RNG.normal(size=(2, 3))
    for transform in (ad.jacfwd, ad.jacrev, ad.jacobian):
        assert_allclose(transform(lambda w: A @ w)(POINT), A)
        assert transform(lambda w: A[:1] @ w)(POINT).shape == (1, 3)
        assert transform(lambda w: A[:, :1] @ w)(POINT[:1]).shape == (2, 1)
        assert np.shape(transform(lambda w: w**3)(0.5)) == ()
        f = lambda w: np.stack([bowl(w), np.prod(w), np.sum(w**2), np.exp(w[0])])
        assert_allclose(transform(f)(POINT), difference_jacobian(f, POINT, accuracy=4), rtol=1e-9, atol=1e-10)


@pytest.mark.row("B2.2.n")
def test_elementwise_functions_have_diagonal_jacobians():
    """softplus at (0, 1): diag(0.5, 0.7310586); pushing a vector through is an elementwise product, no matrix."""
    softplus = lambda w: np.logaddexp(0.0, w)
    w = np.array([0.0, 1.0])
    assert_allclose(ad.jacobian(softplus)(w), np.diag([0.5, 0.7310586]), atol=5e-8)
    assert_allclose(ad.jvp(softplus, (w,), (np.array([2.0, 10.0]),))[1], [1.0, 7.310586], atol=5e-7)
    program = recorded(lambda w, v: ad.jvp(softplus, (w,), (v,))[1], np.ones(50), np.ones(50))
    assert set(shapes(program)) <= {(50,), ()}


@pytest.mark.row("B2.2.o")
def test_chain_rule_in_matrices():
    """∂(g∘f) = ∂g ∂f; for scalar g: ∇(g∘f) = ∂fᵀ ∇g."""
    f = lambda w: np.stack([bowl(w), np.prod(w), np.sum(w**2), np.exp(w[0])])
    g = lambda y: np.stack([y[0] * y[3], np.sin(y[1]) + y[2]])
    scalar = lambda y: np.sum(np.tanh(y))
    J, y = ad.jacobian(f)(POINT), f(POINT)
    exact = np.stack([complex_step(lambda w: g(f(w)), POINT, e) for e in np.eye(3)], axis=1)
    assert_allclose(ad.jacobian(g)(y) @ J, exact, rtol=1e-13)
    assert_allclose(ad.jacobian(lambda w: g(f(w)))(POINT), exact, rtol=1e-13)
    assert_allclose(J.T @ ad.grad(scalar)(y), ad.grad(lambda w: scalar(f(w)))(POINT), rtol=1e-13)


@pytest.mark.row("B2.2.p")
def test_gradient_of_linear_regression():
    """X = [[1, 2], [3, 4], [5, 6]], y = (1, 2, 3), w = (½, -½): ‖Xw - y‖² = 20.75, ∇ = (-53, -68)."""
    X, y = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([1.0, 2.0, 3.0])
    value, gradient = ad.value_and_grad(lambda w: np.sum((X @ w - y) ** 2))(np.array([0.5, -0.5]))
    assert value == 20.75
    assert_allclose(gradient, [-53.0, -68.0], rtol=1e-15)
