"""Inner products of one's own; vectors and covectors, pushforward, pullback, adjoint; gradients on surfaces."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear, tree

RNG = np.random.default_rng(41)
N, M = 4, 3


def positive_definite(n):
    root = RNG.normal(size=(n, n))
    return root @ root.T + np.eye(n)


def f(w):
    return np.sum(np.sin(w) * w[::-1] ** 2)


W, v = RNG.normal(size=(2, N))


@pytest.mark.row("2.3.2b", "B2.3.d")
@pytest.mark.parametrize("seed", range(3))
def test_gradients_in_an_inner_product_of_ones_own(seed):
    """⟨u, v⟩_A = uᵀAv has ∇_A f = A⁻¹ ∇f, and ∂f(w)[v] = ⟨∇_A f, v⟩_A."""
    A = positive_definite(N)
    product = linear.inner_product(A)
    g = linear.gradient(f, product)(W)
    assert_allclose(g, np.linalg.solve(A, ad.grad(f)(W)), rtol=1e-12)
    v = np.random.default_rng(seed).normal(size=N)
    assert product(g, v) == pytest.approx(ad.jvp(f, (W,), (v,))[1], rel=1e-12)
    assert product(v, v) == pytest.approx(v @ A @ v, rel=1e-13)
    assert product(v, W) == pytest.approx(product(W, v), rel=1e-13)
    assert product.norm(v) == pytest.approx(np.sqrt(v @ A @ v), rel=1e-13)


@pytest.mark.row("B2.3.d")
def test_adjoints_in_inner_products_of_ones_own():
    """⟨l v, u⟩_F = ⟨v, l* u⟩_E with a metric in each space."""
    l = linear.matrix(RNG.normal(size=(M, N)))
    E, F = linear.inner_product(positive_definite(N)), linear.inner_product(positive_definite(M))
    back = linear.adjoint(l, E, F)
    u = RNG.normal(size=M)
    assert F(l @ v, u) == pytest.approx(E(v, back @ u), rel=1e-11)
    # over containers, with weights
    weights = {"w": np.array([[1.0, 2.0], [3.0, 4.0]]), "b": 0.5}
    product = linear.inner_product(weights)
    h = lambda p: np.sum(p["w"] ** 3) * p["b"]
    p = {"w": RNG.normal(size=(2, 2)), "b": 1.5}
    direction = {"w": RNG.normal(size=(2, 2)), "b": -0.3}
    slope = linear.gradient(h, product)(p)
    assert product(slope, direction) == pytest.approx(ad.jvp(h, (p,), (direction,))[1], rel=1e-12)
    assert_allclose(slope["w"], ad.grad(h)(p)["w"] / weights["w"])


def g(w):
    return np.stack([np.exp(w[0]) * w[1], np.sin(w[2]) + w[3] ** 2, w[0] * w[3]])


@pytest.mark.row("2.6.3", "B2.6.d")
def test_pullbacks_need_no_metric_and_adjoints_do():
    """(pullback u)[v] = u[pushforward v]; with ∂β(g(w)) = u it is ∂(β∘g)(w); metrics change the adjoint alone."""
    u = linear.Covector(RNG.normal(size=M))
    push, pull = linear.pushforward(g)(W), linear.pullback(g)(W)
    assert push.shape == (M, N)
    assert pull(u)(v) == pytest.approx(u(push @ v), rel=1e-12)
    beta = lambda y: u(y) + np.sum((y - g(W)) ** 2)  # ∂β(g(w)) = u
    composed = linear.differential(lambda w: beta(g(w)))(W)
    assert_allclose(composed.components, pull(u).components, rtol=1e-12)
    # the adjoint takes vectors to vectors, and depends on the metrics
    E, F = linear.inner_product(positive_definite(N)), linear.inner_product(positive_definite(M))
    vector = RNG.normal(size=M)
    plain, weighted = linear.adjoint(push), linear.adjoint(push, E, F)
    assert np.max(np.abs(plain @ vector - weighted @ vector)) > 0.1
    assert F(push @ v, vector) == pytest.approx(E(v, weighted @ vector), rel=1e-11)
    # with a metric, the adjoint is the pullback between lowering and raising
    assert_allclose(weighted @ vector, E.upper(pull(F.lower(vector))), rtol=1e-10)
    assert_allclose(E.upper(E.lower(v)), v, rtol=1e-12)
    assert_allclose(E.lower(E.upper(linear.Covector(v))).components, v, rtol=1e-12)


def sphere(w):
    return w @ w - 1.0


@pytest.mark.row("2.6.3b", "B2.6.e")
def test_riemannian_gradients_on_the_sphere():
    """∂f(w)[v] = ⟨∇f, v⟩_w for all tangent v: (I - wwᵀ)∇f̄. For f = ⟨a, w⟩, a = (1, 2, 3), w = e₁ it is (0, 2, 3)."""
    a = np.array([1.0, 2.0, 3.0])
    at_e1 = linear.gradient(lambda w: a @ w, constraint=sphere)(np.array([1.0, 0.0, 0.0]))
    assert_allclose(at_e1, [0.0, 2.0, 3.0], atol=1e-15)
    w = W / np.linalg.norm(W)
    found = linear.gradient(f, constraint=sphere)(w)
    assert abs(found @ w) <= 1e-14
    assert_allclose(found, ad.grad(f)(w) - (w @ ad.grad(f)(w)) * w, rtol=1e-12)
    for _ in range(3):
        t = RNG.normal(size=N)
        t -= (t @ w) * w
        assert found @ t == pytest.approx(ad.jvp(f, (w,), (t,))[1], rel=1e-12)
    # another extension of the same function has the same gradient
    extended = lambda w: f(w) + (sphere(w)) * np.sum(np.cos(w))
    assert_allclose(linear.gradient(extended, constraint=sphere)(w), found, atol=1e-13)


@pytest.mark.row("2.6.3b", "B2.6.e")
def test_riemannian_gradients_in_a_metric_that_depends_on_the_point():
    """g is tangent, and ⟨g, t⟩_w = ∂f(w)[t] for all tangent t, in the metric at w."""
    A = positive_definite(N)
    metric = lambda w: linear.inner_product(A * (1 + w @ w))
    w = W / np.linalg.norm(W)
    both = lambda w: np.stack([w @ w - 1.0, w[0] * w[1] - w[2]])  # two equations
    found = linear.gradient(f, metric, constraint=both)(w)
    normals = ad.jacobian(both)(w)
    assert_allclose(normals @ found, 0.0, atol=1e-13)
    tangents = np.linalg.svd(normals)[2][2:]
    for t in tangents:
        assert metric(w)(found, t) == pytest.approx(ad.jvp(f, (w,), (t,))[1], rel=1e-10)


@pytest.mark.row("2.3.9")
def test_functional_gradients_do_not_depend_on_the_mesh():
    """J[a] = ∫ a² dx has the functional gradient 2a(x): the Euclidean one divided by the weights of the quadrature."""
    for n in (11, 21, 41):
        x = np.linspace(0.0, 1.0, n)
        h = np.full(n, 1.0 / (n - 1))
        h[[0, -1]] /= 2
        J = lambda a, h=h: np.sum(h * a**2)
        L2 = linear.inner_product(h)
        values = np.sin(3 * x)
        found = linear.gradient(J, L2)(values)
        assert_allclose(found, 2 * values, rtol=1e-13)
        phi = np.cos(x)
        assert L2(found, phi) == pytest.approx(ad.jvp(J, (values,), (phi,))[1], rel=1e-13)
        # a continuous form: |l[φ]| ≤ C ‖φ‖ with C = ‖gradient‖, on every mesh
        assert abs(ad.jvp(J, (values,), (phi,))[1]) <= L2.norm(found) * L2.norm(phi)
        assert L2.norm(found) == pytest.approx(2 * np.sqrt(0.5 - np.sin(6) / 12), abs=0.01)


@pytest.mark.row("V1.c")
def test_the_pulled_back_metric():
    """‖∂f[x]‖² = xᵀ(∇fᵀ∇f)x: f = ½x₁ + ½x₂ gives G = [[.25, .25], [.25, .25]], and 4 at (1, 3)."""
    half = lambda x: 0.5 * x[0] + 0.5 * x[1]
    x = np.array([1.0, 3.0])
    product = linear.pulled_back_metric(half)(x)
    assert_allclose(product.gram.to_dense(), [[0.25, 0.25], [0.25, 0.25]])
    assert product(x, x) == pytest.approx(4.0)
    assert tree.vdot(product.gram @ x, x) == pytest.approx(4.0)
