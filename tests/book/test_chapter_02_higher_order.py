"""Second and higher derivatives: curvature, Hessians, multilinear forms, Taylor expansions, and curves on spheres."""

import itertools
import math

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import tree
from adjoint.testing import check_linear, complex_step, count_calls, finite_difference
from tests.book.recording import recorded, shapes
from tests.support.steps import steps

RNG = np.random.default_rng(24)


def shared(x):
    """x₂ e^{x₁} √(x₁ + x₂ e^{x₁}), the chapter's example of a program with a shared value."""
    a = x[1] * np.exp(x[0])
    return a * np.sqrt(x[0] + a)


POINT = np.array([1.0, 2.0])
HESSIAN = [[29.962294772216198, 14.713287637930092], [14.713287637930092, 2.2974770650941654]]
V, V2 = RNG.normal(size=(2, 2))


def second(f, x, v, v2):
    """∂²f(x)[v, v2]: the derivative along v2 of the derivative along v."""
    return ad.jvp(lambda x: ad.jvp(f, (x,), (v,))[1], (x,), (v2,))[1]


def nth(f, *directions):
    """x ↦ ∂ⁿf(x)[v₁, …, v_n], by nesting."""
    for v in directions:
        f = lambda x, inner=f, v=v: ad.jvp(inner, (x,), (v,))[1]
    return f


@pytest.mark.row("2.4.1", "B2.4.a")
def test_second_derivatives_of_functions_of_one_number():
    """sin'' = -sin, exp'' = exp, and the curvature of a parabola is constant; nested derivatives do not confuse."""
    for w in (-0.7, 0.4, 2.0):
        assert_allclose(ad.grad(ad.grad(np.sin))(w), -math.sin(w), rtol=1e-15)
        assert_allclose(ad.grad(ad.grad(np.exp))(w), math.exp(w), rtol=1e-15)
        assert ad.grad(ad.grad(lambda w: 3 * w**2 - w))(w) == 6.0
    assert ad.grad(lambda x: x * ad.grad(lambda y: x + y)(2.0))(1.0) == 1.0
    assert ad.jvp(lambda x: x * ad.jvp(lambda y: x + y, (2.0,), (1.0,))[1], (1.0,), (1.0,))[1] == 1.0


@pytest.mark.row("2.4.2", "B2.4.b")
def test_second_directional_derivatives():
    """∂²f[v, v'] = ⟨v, H v'⟩: symmetric, bilinear, and ∂²f[eᵢ, eⱼ] are the second partials."""
    H = np.array(HESSIAN)
    both = lambda v, v2: second(shared, POINT, v, v2)
    assert_allclose(both(V, V2), V @ H @ V2, rtol=1e-13)
    assert_allclose(both(V, V2), both(V2, V), rtol=1e-13)
    check_linear(lambda v: both(v, V2), V)
    check_linear(lambda v: both(V, v), V2)
    for i, j in itertools.product(range(2), repeat=2):
        assert_allclose(both(np.eye(2)[i], np.eye(2)[j]), H[i, j], rtol=1e-14)
    slopes = lambda x: ad.jvp(shared, (x,), (V,))[1]
    assert_allclose(both(V, V2), finite_difference(slopes, POINT, V2, accuracy=4), rtol=1e-9)


@pytest.mark.row("2.4.3", "B2.4.c")
def test_hessians():
    """∇²f = ∂(∇f), symmetric: [[29.96, 14.71], [14.71, 2.297]] for the example at (1, 2); A + Aᵀ for ⟨w, A w⟩."""
    for H in (ad.hessian(shared)(POINT), ad.jacfwd(ad.grad(shared))(POINT), ad.jacrev(ad.grad(shared))(POINT)):
        assert_allclose(H, HESSIAN, rtol=1e-14)
        assert np.max(np.abs(H - H.T)) <= 1e-12 * np.max(np.abs(H))
    A = RNG.normal(size=(5, 5))
    assert_allclose(ad.hessian(lambda w: w @ A @ w)(RNG.normal(size=5)), A + A.T, rtol=1e-14, atol=1e-15)


@pytest.mark.row("2.4.4", "B2.4.e")
def test_products_of_hessians_with_vectors_on_trees():
    """⟨v', ∇²f[v]⟩ = ∂²f[v, v'] = ⟨v, ∇²f[v']⟩, shaped like w; the four ways to nest two modes agree."""
    w = {"A": RNG.normal(size=(3, 2)), "b": (0.4, RNG.normal(size=3))}
    f = lambda w: np.sum(np.tanh(w["A"] @ np.array([0.5, -1.0]) + w["b"][1]) * np.exp(w["b"][0]))
    v, v2 = (tree.map(lambda leaf: RNG.normal(size=np.shape(leaf))[()], w) for _ in range(2))
    product = ad.hvp(f, (w,), (v,))
    assert tree.structure(product) == tree.structure(w)
    assert_allclose(tree.vdot(v2, product), second(f, w, v, v2), rtol=1e-12)
    assert_allclose(tree.vdot(v2, product), tree.vdot(v, ad.hvp(f, (w,), (v2,))), rtol=1e-12)
    by_step = finite_difference(ad.grad(f), w, v, accuracy=4)
    for mode in ("forward-over-reverse", "reverse-over-reverse", "reverse-over-forward", "forward-over-forward"):
        ours = ad.hvp(f, (w,), (v,), mode=mode)
        for a, b in zip(tree.leaves(ours), tree.leaves(by_step), strict=True):
            assert_allclose(a, b, rtol=1e-8, atol=1e-9)
    # no matrix of second derivatives on the way
    wide = recorded(lambda x, v: ad.hvp(lambda x: np.sum(np.sin(x) * x), (x,), (v,)), np.ones(60), np.ones(60))
    assert set(shapes(wide)) <= {(60,), ()}


def field(x):
    return np.stack([shared(x), np.sin(x[0] * x[1]), x[0] ** 3 - x[1]])


@pytest.mark.row("2.4.5", "B2.4.f")
def test_second_order_jacobians():
    """∂²f[v, v'] = (⟨v, ∇²fⱼ v'⟩)ⱼ; the tensor (M, P, P) stacks the Hessians of the components."""
    T = ad.hessian(field)(POINT)
    assert T.shape == (3, 2, 2)
    assert_allclose(T[0], HESSIAN, rtol=1e-13)
    assert_allclose(T[2], [[6.0, 0.0], [0.0, 0.0]], atol=1e-15)
    x, y = POINT
    s, c = math.sin(x * y), math.cos(x * y)
    assert_allclose(T[1], [[-y * y * s, c - x * y * s], [c - x * y * s, -x * x * s]], rtol=1e-13)
    f = count_calls(field)
    assert_allclose(second(f, POINT, V, V2), np.einsum("jpq,p,q->j", T, V, V2), rtol=1e-12)
    assert f.calls == 1


@pytest.mark.row("2.5.1", "B2.5.a")
def test_nth_derivatives():
    """sin has period four, by nesting and by Taylor mode; all derivatives of exp at 0.3 are 1.349858807576003."""
    cycle = [math.cos(0.4), -math.sin(0.4), -math.cos(0.4), math.sin(0.4)]
    derivative = np.sin
    _, series = ad.jet(np.sin, (0.4,), ([1.0] + [0.0] * 19,))
    for n in range(20):
        if n < 10:
            derivative = ad.grad(derivative)
            assert_allclose(derivative(0.4), cycle[n % 4], rtol=1e-13)
        assert_allclose(series[n], cycle[n % 4], rtol=1e-13)
    assert_allclose(ad.jet(np.exp, (0.3,), ([1.0] + [0.0] * 19,))[1], 1.349858807576003, rtol=1e-14)


@pytest.mark.row("2.5.1")
def test_the_cost_of_taylor_mode_is_polynomial_in_the_order():
    """f⁽ⁿ⁾ takes about n² steps, not 2ⁿ: four times the order is sixteen times the work."""
    f = count_calls(lambda x: np.exp(np.sin(x) * x) * np.sqrt(x) / (1 + x * x))
    work = {order: steps(lambda order=order: ad.jet(f, (0.4,), ([1.0] + [0.0] * (order - 1),))) for order in (15, 60)}
    assert f.calls == 2
    assert work[60] < 20 * work[15]  # n² is 16, n³ 64


@pytest.mark.row("2.5.2", "B2.5.b")
def test_nth_derivatives_along_distinct_directions():
    """∂³f[v₁, v₂, v₃] is linear in each, unchanged by permutations, and what Taylor mode gives by polarization."""
    vs = RNG.normal(size=(3, 2))
    value = nth(shared, *vs)(POINT)
    a, b = sympy.symbols("a b")
    formula = b * sympy.exp(a) * sympy.sqrt(a + b * sympy.exp(a))
    at = {a: 1, b: 2}
    exact = sum(
        vs[0][i] * vs[1][j] * vs[2][k] * float(sympy.diff(formula, (a, b)[i], (a, b)[j], (a, b)[k]).subs(at).evalf(30))
        for i, j, k in itertools.product(range(2), repeat=3)
    )
    assert_allclose(value, exact, rtol=1e-12)
    for order in itertools.permutations(vs):
        assert_allclose(nth(shared, *order)(POINT), value, rtol=1e-12)
    for slot in range(3):
        check_linear(lambda v, slot=slot: nth(shared, *vs[:slot], v, *vs[slot + 1 :])(POINT), vs[slot], rtol=1e-10)
    cube = lambda v: ad.jet(shared, (POINT,), ([v, 0 * v, 0 * v],))[1][2]
    signs = itertools.product([1, -1], repeat=3)
    polarized = sum(p * q * r * cube(p * vs[0] + q * vs[1] + r * vs[2]) for p, q, r in signs) / (8 * 6)
    assert_allclose(polarized, exact, rtol=1e-11)


@pytest.mark.row("2.5.2b", "2.5.3", "B2.5.c")
def test_tensors_of_nth_derivatives():
    """∇³f has shape (P, P, P), ∂³ of a field (M, P, P, P); both symmetric, and contracted they give ∂³f[v₁, v₂, v₃]."""
    cubic = lambda x: x[0] ** 2 * x[1] * x[2] + x[2] ** 3
    T = ad.jacfwd(ad.jacfwd(ad.jacfwd(cubic)))(np.array([2.0, 3.0, 5.0]))
    assert T.shape == (3, 3, 3)
    expected = np.zeros((3, 3, 3))
    for at, value in (((0, 0, 1), 10.0), ((0, 0, 2), 6.0), ((0, 1, 2), 4.0), ((2, 2, 2), 6.0)):
        for order in set(itertools.permutations(at)):
            expected[order] = value
    assert_allclose(T, expected, atol=1e-14)
    T = ad.jacfwd(ad.hessian(field))(POINT)
    assert T.shape == (3, 2, 2, 2)
    for axes in itertools.permutations((1, 2, 3)):
        assert_allclose(np.transpose(T, (0, *axes)), T, rtol=1e-12, atol=1e-12)
    vs = RNG.normal(size=(3, 2))
    assert_allclose(np.einsum("mijk,i,j,k->m", T, *vs), nth(field, *vs)(POINT), rtol=1e-11)


def taylor(f, w, v, order):
    """The terms ∂ʲf(w)[v, …, v] / j! for j = 0, …, order."""
    value, derivatives = ad.jet(f, (w,), ([v] + [np.zeros_like(v)] * (order - 1),))
    return [value, *[d / math.factorial(j) for j, d in enumerate(derivatives, 1)]]


@pytest.mark.row("2.5.4", "B2.5.d")
def test_taylor_expansions():
    """f(w + v) = Σ ∂ʲf(w)[v, …, v] / j! + o(‖v‖ⁿ): halving v divides the error by 2ⁿ⁺¹; polynomials are exact."""
    coefficients = [
        0.2913126124515909, 0.9151369618266292, -0.2665909391007272,
        -0.227384351016854, 0.1551035756922383, 0.0509475327662763,
    ]  # fmt: skip
    assert_allclose(taylor(np.tanh, 0.3, 1.0, 5), coefficients, rtol=1e-13)
    w, v = np.array([0.4, 0.9]), np.array([0.2, 0.1])
    for order in (1, 2, 5):
        errors = [abs(shared(w + t * v) - sum(taylor(shared, w, t * v, order))) for t in (0.5, 0.25)]
        assert_allclose(math.log2(errors[0] / errors[1]), order + 1, atol=0.1)
    quintic = lambda x: x[0] ** 5 - 3 * x[0] ** 2 * x[1] ** 3 + x[1]
    w2 = np.array([-1.0, 2.0])
    assert_allclose(sum(taylor(quintic, w, w2 - w, 5)), quintic(w2), rtol=1e-13)
    assert taylor(quintic, w, w2 - w, 7)[6:] == [0.0, 0.0]
    # orders 1 and 2 from gradient and Hessian
    terms = taylor(shared, POINT, V, 2)
    assert_allclose(terms[1], complex_step(shared, POINT, V), rtol=1e-13)
    assert_allclose(terms[2], 0.5 * V @ np.array(HESSIAN) @ V, rtol=1e-13)


def on_sphere(w):
    return w / np.sqrt(w @ w)


@pytest.mark.row("2.6.1", "B2.6.a")
def test_functions_between_spheres_are_differentiated_through_any_extension():
    """Two functions that agree on the sphere push a tangent vector to the same one, and it is tangent to the image."""
    A = RNG.normal(size=(3, 3))
    f = lambda w: on_sphere(A @ w)
    other = lambda w: on_sphere(A @ w * np.exp(w @ w)) + (w @ w - 1) * np.array([5.0, -2.0, 1.0]) * (w @ w - 1)
    w = on_sphere(RNG.normal(size=3))
    v = RNG.normal(size=3)
    v = v - (v @ w) * w
    y, pushed = ad.jvp(f, (w,), (v,))
    assert_allclose(y @ pushed, 0.0, atol=1e-14)
    assert_allclose(ad.jvp(other, (w,), (v,))[1], pushed, rtol=1e-12, atol=1e-14)
    skewed = lambda w: f(w) + (w @ w - 1) * np.array([5.0, -2.0, 1.0])
    assert_allclose(ad.jvp(skewed, (w,), (v,))[1], pushed, rtol=1e-12, atol=1e-14)
    assert np.linalg.norm(ad.jvp(skewed, (w,), (w,))[1] - ad.jvp(f, (w,), (w,))[1]) > 1  # but not across the sphere


@pytest.mark.row("2.6.2", "B2.6.c")
def test_the_pushforward_is_the_velocity_of_the_image_of_a_curve():
    """∂f(w)[α'(0)] = (f∘α)'(0), whichever curve α with that point and velocity is taken."""
    w = on_sphere(np.array([1.0, -2.0, 0.5]))
    v = np.array([0.4, 0.3, 0.4])
    v = v - (v @ w) * w
    speed = np.linalg.norm(v)
    great_circle = lambda t: np.cos(speed * t) * w + np.sin(speed * t) / speed * v
    projected = lambda t: on_sphere(w + t * v + t**2 * np.array([1.0, 7.0, -3.0]))
    f = lambda w: np.stack([w[0] * w[1], np.exp(w[2])])
    pushed = ad.jvp(f, (w,), (v,))[1]
    for curve in (great_circle, projected):
        point, velocity = ad.jvp(curve, (0.0,), (1.0,))
        assert_allclose(point, w, rtol=1e-14)
        assert_allclose(velocity, v, rtol=1e-13)
        assert_allclose(ad.jvp(lambda t, curve=curve: f(curve(t)), (0.0,), (1.0,))[1], pushed, rtol=1e-13)
    g = lambda w: on_sphere(np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [3.0, 0.0, 1.0]]) @ w)
    y, image = ad.jvp(g, (w,), (v,))
    assert_allclose(y @ image, 0.0, atol=1e-14)


@pytest.mark.row("B2.6.f")
def test_a_chart_of_the_sphere():
    """ψ(v) = (v, √(1 - ⟨v, v⟩)) satisfies c = ⟨w, w⟩ - 1 = 0; its pushes are tangent: ∂c(w)[t] = 2⟨w, t⟩ = 0."""
    ψ = lambda v: np.concatenate([v, [np.sqrt(1 - v @ v)]])
    c = lambda w: w @ w - 1
    v, u = np.array([0.3, -0.5]), RNG.normal(size=2)
    w, t = ad.jvp(ψ, (v,), (u,))
    assert_allclose(c(w), 0.0, atol=1e-15)
    direction = RNG.normal(size=3)
    assert_allclose(ad.jvp(c, (w,), (direction,))[1], 2 * w @ direction, rtol=1e-14)
    assert_allclose(w @ t, 0.0, atol=1e-15)
    assert_allclose(ad.jvp(c, (w,), (t,))[1], 0.0, atol=1e-15)
