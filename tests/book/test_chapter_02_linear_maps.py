"""Derivatives as linear maps between spaces of arrays and trees: pushes, their adjoints, chains, fan-in, fan-out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import tree
from adjoint.base.errors import NotLinear
from adjoint.testing import check_frechet, check_linear, complex_step, count_calls, difference_gradient
from tests.book.recording import names, operands, recorded, shapes

RNG = np.random.default_rng(23)
M, D = 3, 4
W, V = RNG.normal(size=(2, M, D))
x, v = RNG.normal(size=(2, D))
u = RNG.normal(size=M)


@pytest.mark.row("2.3.1", "B2.3.a")
def test_functions_of_matrices_are_differentiated_without_flattening():
    """f(W) = W x has ∂f(W)[V] = V x: one product with MD multiplications, equal to V @ x in every bit."""
    f = lambda W: W @ x
    assert np.array_equal(ad.jvp(f, (W,), (V,))[1], V @ x)
    program = recorded(lambda V: ad.jvp(f, (W,), (V,))[1], V)
    assert names(program) == {"matmul": 1}
    assert operands(program, "matmul") == [((M, D), (D,))]
    # the flattened Jacobian has M · MD entries, and MD of them are not zero
    J = ad.jacobian(f)(W).reshape(M, M * D)
    assert np.count_nonzero(J) == M * D
    assert_allclose(J @ V.ravel(), V @ x, rtol=1e-14)


def vec(W):
    """The columns of W, one below the other."""
    return np.reshape(W, -1, order="F")


@pytest.mark.row("2.3.1b", "B2.3.b")
def test_vec_stacks_columns():
    """vec([[1, 2], [3, 4]]) = (1, 3, 2, 4); vec⁻¹ brings it back; both are linear and differentiable, like `ravel`."""
    assert_allclose(vec(np.array([[1, 2], [3, 4]])), [1, 3, 2, 4])
    unvec = lambda y: np.reshape(y, (M, D), order="F")
    assert np.array_equal(unvec(vec(W)), W)
    check_linear(vec, W)
    value, pushed = ad.jvp(vec, (W,), (V,))
    assert np.array_equal(value, vec(W))
    assert np.array_equal(pushed, vec(V))
    assert np.array_equal(ad.linear_transpose(vec, W)(vec(V))[0], V)
    # vec(A W B) = (Bᵀ ⊗ A) vec W holds for stacked columns only
    A, B = RNG.normal(size=(M, M)), RNG.normal(size=(D, D))
    J = ad.jacobian(lambda y: vec(A @ unvec(y) @ B))(vec(W))
    assert_allclose(J, np.kron(B.T, A), rtol=1e-13, atol=1e-15)
    flat, unravel = tree.ravel({"W": W, "b": u})
    gradient = ad.grad(lambda flat: np.sum(np.sin(unravel(flat)["W"])) + unravel(flat)["b"] @ u)(flat)
    assert_allclose(unravel(gradient)["W"], np.cos(W))
    assert_allclose(unravel(gradient)["b"], u)


@pytest.mark.row("B2.3.f")
def test_adjoints_of_linear_maps():
    """⟨l[v], u⟩ = ⟨v, l*[u]⟩: Aᵀ for a matrix, (aᵀu) b for (a bᵀ) v; l** = l; what is not linear is refused."""
    a, b = RNG.normal(size=M), RNG.normal(size=D)
    rank_one = lambda v: (b @ v) * a
    for l, transposed in ((lambda v: W @ v, W.T @ u), (rank_one, (a @ u) * b)):
        adjoint = ad.linear_transpose(l, v)
        assert_allclose(adjoint(u)[0], transposed, rtol=1e-14)
        assert_allclose(l(v) @ u, v @ adjoint(u)[0], rtol=1e-12)
        twice = ad.linear_transpose(lambda u, adjoint=adjoint: adjoint(u)[0], u)
        assert_allclose(twice(v)[0], l(v), rtol=1e-14)
    assert max(np.prod(s) for s in shapes(recorded(lambda u: ad.linear_transpose(rank_one, v)(u)[0], u))) < M * D
    with pytest.raises(NotLinear, match="square is not linear"):
        ad.linear_transpose(lambda v: v**2, v)(v)


def layer(p):
    """A function between trees."""
    z = np.tanh(p["W"] @ p["x"])
    return {"z": z, "norm": np.sum(z**2) + p["x"][0]}


PARAMETERS, DIRECTION = {"W": W, "x": x}, {"W": V, "x": v}


@pytest.mark.row("2.3.4", "B2.3.g")
def test_the_derivative_is_a_linear_map_that_is_made_once():
    """∂f(w): E → F is linear, its Fréchet remainder is o(‖v‖), and it is applied many times for one evaluation of f."""
    f = count_calls(layer)
    value, push = ad.linearize(f, PARAMETERS)
    directions = [tree.map(lambda leaf: RNG.normal(size=leaf.shape), PARAMETERS) for _ in range(10)]
    for direction in directions:
        pushed, by_step = push(direction), complex_step(layer, PARAMETERS, direction)
        assert_allclose(pushed["z"], by_step["z"], rtol=1e-12)
        assert_allclose(pushed["norm"], by_step["norm"], rtol=1e-12)
    assert f.calls == 1
    assert_allclose(value["z"], layer(PARAMETERS)["z"])
    check_linear(push, DIRECTION, rtol=1e-13)
    ratios = check_frechet(layer, PARAMETERS, derivative=push, radii=(1e-2, 5e-3, 2.5e-3, 1.25e-3))
    assert_allclose(np.divide(ratios[:-1], ratios[1:]), 2.0, rtol=0.05)


@pytest.mark.row("2.3.4b", "B2.3.h")
def test_a_gradient_is_an_element_of_the_input_space():
    """∇f has the structure, the shapes and the element types of w, and ⟨∇f, v⟩ = ∂f(w)[v]."""
    w = {"deep": [(W, np.float32(0.5))], "b": u.astype(np.float32), "scale": 2.0}

    def f(w):
        A, c = w["deep"][0]
        return w["scale"] * np.sum(np.sin(A @ x + c) * w["b"])

    gradient = ad.grad(f)(w)
    assert tree.structure(gradient) == tree.structure(w)
    types = lambda t: [(np.shape(leaf), np.asarray(leaf).dtype) for leaf in tree.leaves(t)]
    assert types(gradient) == types(w)
    doubles = tree.map(np.float64, w)
    direction = tree.map(lambda leaf: RNG.normal(size=np.shape(leaf))[()], doubles)
    slope = complex_step(f, doubles, direction)
    assert_allclose(tree.vdot(ad.grad(f)(doubles), direction), slope, rtol=1e-12)


@pytest.mark.row("2.3.5", "B2.3.i")
def test_the_pullback_is_the_adjoint_of_the_pushforward():
    """∂f(w)*[u] = ∇⟨u, f⟩(w), and ⟨u, ∂f(w)[v]⟩ = ⟨∂f(w)*[u], v⟩."""
    cotangent = {"z": u, "norm": 0.7}
    _, pullback = ad.vjp(layer, PARAMETERS)
    (pulled,) = pullback(cotangent)
    paired = lambda p: tree.vdot(cotangent, layer(p))
    for ours in (ad.grad(paired)(PARAMETERS), difference_gradient(paired, PARAMETERS, accuracy=4)):
        assert_allclose(ours["W"], pulled["W"], rtol=1e-8, atol=1e-10)
        assert_allclose(ours["x"], pulled["x"], rtol=1e-8, atol=1e-10)
    pushed = ad.jvp(layer, (PARAMETERS,), (DIRECTION,))[1]
    assert_allclose(tree.vdot(cotangent, pushed), tree.vdot(pulled, DIRECTION), rtol=1e-12)


@pytest.mark.row("2.3.6", "B2.3.j")
def test_the_chain_rule_composes_maps_and_forms_no_jacobian():
    """∂g[∂f[v]] forwards, ∂f*[∂g*[u]] backwards, ∂f*[∇g] for scalar g: equal to products of Jacobians, without them."""
    n = 40
    f, g, h = (lambda x: np.sin(x) * x), (lambda y: np.cumsum(y) ** 2), (lambda z: np.sum(np.exp(-z)))
    x, v, u = np.linspace(0.1, 1.0, n), *RNG.normal(size=(2, n))
    J_f, J_g = ad.jacobian(f)(x), ad.jacobian(g)(f(x))
    assert_allclose(ad.jvp(lambda x: g(f(x)), (x,), (v,))[1], J_g @ (J_f @ v), rtol=1e-12)
    assert_allclose(ad.jvp(g, *[(part,) for part in ad.jvp(f, (x,), (v,))])[1], J_g @ (J_f @ v), rtol=1e-12)
    assert_allclose(ad.vjp(lambda x: g(f(x)), x)[1](u)[0], (u @ J_g) @ J_f, rtol=1e-12, atol=1e-12)
    inner = ad.grad(h)(g(f(x)))
    assert_allclose(ad.grad(lambda x: h(g(f(x))))(x), (inner @ J_g) @ J_f, rtol=1e-12, atol=1e-15)
    for program in (
        recorded(lambda x, v: ad.jvp(lambda x: g(f(x)), (x,), (v,)), x, v),
        recorded(lambda x, u: ad.vjp(lambda x: g(f(x)), x)[1](u), x, u),
    ):
        assert max(len(shape) for shape in shapes(program)) == 1


def product(x, W):
    return W @ x


@pytest.mark.row("2.3.7", "B2.3.k")
def test_several_inputs():
    """f(x, W) = W x: the push is W v + V x, the sum over the arguments; the pull is the pair (Wᵀu, u xᵀ)."""
    expected = [sum(W[i, j] * v[j] + V[i, j] * x[j] for j in range(D)) for i in range(M)]
    assert_allclose(ad.jvp(product, (x, W), (v, V))[1], expected, rtol=1e-13)
    each = ad.jvp(product, (x, W), (v, 0 * V))[1] + ad.jvp(product, (x, W), (0 * v, V))[1]
    assert_allclose(each, expected, rtol=1e-13)
    to_x, to_W = ad.vjp(product, x, W)[1](u)
    assert_allclose(to_x, [sum(W[i, j] * u[i] for i in range(M)) for j in range(D)], rtol=1e-13)
    assert_allclose(to_W, [[u[i] * x[j] for j in range(D)] for i in range(M)], rtol=1e-13)
    scalar = lambda x, W: np.sum(np.sin(product(x, W)))
    both = ad.grad(scalar, argnums=(0, 1))(x, W)
    assert np.array_equal(ad.grad(scalar, argnums=1)(x, W), both[1])
    assert np.array_equal(ad.grad(scalar, argnums="x")(x, W), both[0])


@pytest.mark.row("2.3.7b", "B2.3.l", "B2.3.m")
def test_nested_and_hidden_inputs():
    """∇L(w; x, y) is in W, ∇L(w, x, y) in W × X × Y; a hidden argument costs nothing on the way back."""

    def loss(w, x, y):
        (A, b), c = w
        return np.sum((A @ x + b - y) ** 2) * c

    w, y = ((W, u), 0.5), RNG.normal(size=M)
    alone = ad.grad(loss)(w, x, y)
    assert tree.structure(alone) == tree.structure(w)
    everything = ad.grad(loss, argnums=(0, 1, 2))(w, x, y)
    assert tree.structure(everything) == tree.structure((w, x, y))
    for ours, theirs in zip(tree.leaves(alone), tree.leaves(everything[0]), strict=True):
        assert np.array_equal(ours, theirs)
    differences = difference_gradient(lambda args: loss(*args), (w, x, y), accuracy=4)
    for ours, theirs in zip(tree.leaves(everything), tree.leaves(differences), strict=True):
        assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)
    # one leaf of w alone: the others are closed over
    only_b = ad.grad(lambda b: loss(((W, b), 0.5), x, y))(u)
    assert_allclose(only_b, alone[0][1])
    # Aᵀ(…), the pullback to x, is computed only when x is asked for
    products = lambda argnums: names(recorded(ad.grad(loss, argnums=argnums), w, x, y))["matmul"]
    assert products("x") == products(("w", "x")) - 1 == products(("w", "x", "y")) - 1
    assert products("w") == products("x")
    assert products("y") == products("w") - 1


@pytest.mark.row("2.3.8", "B2.3.n")
def test_several_outputs():
    """The push of (f₁, f₂) is a pair, its pull the sum Σ ∂fᵢ*[uᵢ]; a missing cotangent is zero."""
    first, second = (lambda x: W @ x), (lambda x: np.exp(x))
    both = lambda x: (first(x), second(x))
    u2 = RNG.normal(size=D)
    pushed = ad.jvp(both, (x,), (v,))[1]
    assert isinstance(pushed, tuple)
    assert_allclose(pushed[0], W @ v, rtol=1e-14)
    assert_allclose(pushed[1], np.exp(x) * v, rtol=1e-14)
    _, pullback = ad.vjp(both, x)
    parts = W.T @ u, np.exp(x) * u2
    assert_allclose(pullback((u, u2))[0], parts[0] + parts[1], rtol=1e-13)
    assert_allclose(pullback((u, None))[0], parts[0], rtol=1e-13)
    assert_allclose(pullback((None, u2))[0], parts[1], rtol=1e-13)


@pytest.mark.row("2.3.8", "B2.3.o")
def test_fan_out_then_fan_in():
    """h = g(f₁, …, f_T): ∂h[v] = Σ ∂ᵢg[∂fᵢ[v]], and the pull is Σ ∂fᵢ*[∂ᵢg*[u]]."""
    parts = [np.sin, lambda x: x**2, lambda x: np.cumsum(x)]
    g = lambda a, b, c: a * b - np.exp(-c)
    h = lambda x: g(*[f(x) for f in parts])
    u = RNG.normal(size=D)
    values = [f(x) for f in parts]
    forward = 0.0
    for i, f in enumerate(parts):
        one = tuple(ad.jvp(f, (x,), (v,))[1] if i == j else np.zeros(D) for j in range(3))
        forward = forward + ad.jvp(g, tuple(values), one)[1]
    pulled = ad.vjp(g, *values)[1](u)
    backward = sum(ad.vjp(f, x)[1](ct)[0] for f, ct in zip(parts, pulled, strict=True))
    exact = complex_step(h, x, v)
    assert_allclose(forward, exact, rtol=1e-12)
    assert_allclose(ad.jvp(h, (x,), (v,))[1], exact, rtol=1e-12)
    assert_allclose(ad.vjp(h, x)[1](u)[0], backward, rtol=1e-13)
    assert_allclose(backward @ v, u @ exact, rtol=1e-12)
