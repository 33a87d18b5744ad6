"""Second-order backpropagation: the chain rule of Hessians, fan-in and fan-out, blocks of networks and of graphs."""

import gc
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear
from adjoint.curvature import backpropagate, block_gauss_newton, block_hessian
from tests.book.recording import recorded

RNG = np.random.default_rng(95)
A, B = RNG.normal(size=(2, 3, 4))
X, V1, V2 = RNG.normal(size=(3, 4))


def f(x):
    return np.tanh(A @ x) * (B @ x)


def g(z):
    return np.stack([np.prod(z), np.sum(np.exp(z)), z[0] ** 2 * z[1]])


def along(h, u):
    """∂²h*[u] := ∇²⟨h, u⟩ at a point, by forward mode alone."""
    return ad.jacfwd(ad.jacfwd(lambda x: u @ h(x)))


@pytest.mark.row("9.5.1")
def test_the_chain_rule_of_hessians():
    """∂²(g∘f)[v₁, v₂] = ∂g[∂²f[v₁, v₂]] + ∂²g[∂f v₁, ∂f v₂]; ∂²(g∘f)*[u] = ∂²f*[∂g* u] + ∂f* ∂²g*[u] ∂f."""
    second = lambda h, x, v, w: ad.jvp(lambda x: ad.jvp(h, (x,), (v,))[1], (x,), (w,))[1]
    z, pushed = ad.linearize(f, X)
    nested = second(lambda x: g(f(x)), X, V1, V2)
    by_rule = ad.jvp(g, (z,), (second(f, X, V1, V2),))[1] + second(g, z, pushed(V1), pushed(V2))
    assert_allclose(nested, by_rule, rtol=1e-12)
    assert_allclose(linear.second_derivative(lambda x: g(f(x)))(X)(V1, V2), nested, rtol=1e-12)
    u = RNG.normal(size=3)
    J, slopes = ad.jacobian(f)(X), ad.jacobian(g)(z)
    by_rule = along(f, slopes.T @ u)(X) + J.T @ along(g, u)(z) @ J
    assert_allclose(backpropagate(lambda x: u @ g(f(x)))(X).hessian, by_rule, rtol=1e-12, atol=1e-13)
    assert_allclose(u @ nested, V1 @ by_rule @ V2, rtol=1e-12)


@pytest.mark.row("9.5-ex1")
@pytest.mark.parametrize("name", ["sin", "exp", "tanh", "square"])
def test_elementwise_functions(name):
    """∇²(ℓ∘f) = Diag(∇ℓ ⊙ f''(x)) + ∇²ℓ ⊙ (f' f'ᵀ): the bracket holds the product, not the diagonal matrix alone."""
    h = getattr(np, name)
    t = sympy.Symbol("t")
    formula = t**2 if name == "square" else getattr(sympy, name)(t)
    first, second = (sympy.lambdify(t, sympy.diff(formula, t, k), "numpy") for k in (1, 2))
    loss = lambda z: np.log(np.sum(np.exp(z))) + np.prod(z)
    found = backpropagate(lambda x: loss(h(x)))(X).hessian
    slope, curved = ad.grad(loss)(h(X)), ad.jacfwd(ad.jacfwd(loss))(h(X))
    f1, f2 = first(X) * np.ones(4), second(X) * np.ones(4)
    wanted = np.diag(slope * f2) + curved * np.outer(f1, f1)
    assert_allclose(found, wanted, rtol=1e-14, atol=1e-14)
    if name != "square":
        assert not np.allclose(np.diag(slope) * f2[:, None] + curved, found)


@pytest.mark.row("9.5-ex2")
def test_linear_functions_of_matrices():
    """f(W) = W x: ∇²(ℓ∘f)(W)[V] = H V x xᵀ with H = ∇²ℓ(W x)."""
    loss = lambda z: np.log(np.sum(np.exp(z))) + z[0] * z[2] ** 2
    whole = backpropagate(lambda W: loss(W @ X))(A).hessian
    H = ad.jacfwd(ad.jacfwd(loss))(A @ X)
    assert_allclose(np.tensordot(whole, B, 2), H @ B @ np.outer(X, X), rtol=1e-13, atol=1e-14)
    assert_allclose(ad.hvp(lambda W: loss(W @ X), (A,), (B,)), H @ B @ np.outer(X, X), rtol=1e-13, atol=1e-14)


def steps(K, P, seed):
    rng = np.random.default_rng(seed)
    return [lambda s, W=W: np.sin(W @ s) * s for W in rng.normal(size=(K, P, P)) / np.sqrt(P)]


def composed(fs, loss):
    def whole(x):
        for step in fs:
            x = step(x)
        return loss(x)

    return whole


@pytest.mark.row("9.5.2")
@pytest.mark.parametrize("K, P", [(1, 3), (3, 4), (5, 2)])
def test_chains(K, P):
    """r_{k-1} = ∂f_k*[r_k], R_{k-1} = ∂²f_k*[r_k] + ∂f_k* R_k ∂f_k, from r_K = ∇ℓ and R_K = ∇²ℓ."""
    loss = lambda z: np.sum(np.cosh(z)) + z[0] * z[1]
    fs, x = steps(K, P, K), RNG.normal(size=P)
    states = [x]
    for step in fs:
        states.append(step(states[-1]))
    r, R = ad.grad(loss)(states[-1]), ad.jacfwd(ad.jacfwd(loss))(states.pop())
    for step in reversed(fs):
        s = states.pop()
        J = ad.jacfwd(step)(s)
        r, R = J.T @ r, along(step, r)(s) + J.T @ R @ J
    whole = composed(fs, loss)
    value, gradient, H = backpropagate(whole)(x)
    assert value == whole(x)
    assert_allclose(gradient, r, rtol=1e-12)
    assert_allclose(H, R, rtol=1e-11, atol=1e-13)
    assert_allclose(H, ad.hessian(whole)(x), rtol=1e-11, atol=1e-13)


@pytest.mark.row("9.5.2")
def test_what_a_chain_has_passed_is_released():
    """A Hessian of P² numbers lives as long as its variable: ten times as many steps take no more of them."""
    loss = lambda z: np.sum(z**2)
    x = np.ones(120)
    peaks = []
    thresholds = gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # Python's own
    for K in (4, 40):
        whole = composed([lambda s: np.sin(s + np.roll(s, 1)) * s] * K, loss)
        backpropagate(whole)(x)
        tracemalloc.start()
        backpropagate(whole)(x)
        peaks.append(tracemalloc.get_traced_memory()[1] / (8 * 120 * 120))
        tracemalloc.stop()
    gc.set_threshold(*thresholds)
    assert peaks[1] < peaks[0] + 6  # of arrays like the Hessian; the states themselves are 120 times smaller


@pytest.mark.row("9.5.3a")
def test_fan_in():
    """g = f₁ f₂ with f₁ = w², f₂ = w³: 20 w³ = 8 w³ of each by itself + 12 w³ between them."""
    w = sympy.Symbol("w")
    assert sympy.diff(w**2 * w**3, w, 2) == 20 * w**3
    h = lambda w: np.square(w) * w**3
    for point in (0.5, 2.0, -1.5):
        exact = float(sympy.diff(w**5, w, 2).subs(w, point))
        assert_allclose(backpropagate(h)(point).hessian, exact, rtol=1e-14)
        alone = block_hessian(h, cross=False)(point)
        assert_allclose(alone, 8 * point**3, rtol=1e-14)
        assert_allclose(exact - alone, 12 * point**3, rtol=1e-13)


@pytest.mark.row("9.5.3a")
def test_fan_in_of_vectors():
    """Σ_i ∂²f_i*[∂_i g* u] + Σ_{i,j} ∂f_i* ∂²_{ij} g*[u] ∂f_j, three functions of the same w."""
    fs = [lambda w: np.sin(A @ w), lambda w: np.exp(0.3 * B @ w), lambda w: w[:3] ** 2]
    join = lambda a, b, c: np.stack([a @ b * c[0], np.sum(np.tanh(a) * b * c), b[0] * np.sum(c**3)])
    u = RNG.normal(size=3)
    values = [h(X) for h in fs]
    Js = [ad.jacfwd(h)(X) for h in fs]
    pairing = lambda *zs: u @ join(*zs)
    slopes = ad.grad(pairing, (0, 1, 2))(*values)
    inner = ad.hessian(pairing, (0, 1, 2))(*values)
    own = sum(along(h, s)(X) for h, s in zip(fs, slopes, strict=True))
    crossed = sum(Js[i].T @ inner[i][j] @ Js[j] for i in range(3) for j in range(3))
    found = backpropagate(lambda w: pairing(*[h(w) for h in fs]))(X).hessian
    assert_allclose(found, own + crossed, rtol=1e-12, atol=1e-13)
    without = sum(Js[i].T @ inner[i][i] @ Js[i] for i in range(3))
    assert np.max(np.abs(own + without - found)) > 0.1


@pytest.mark.row("9.5.3b")
def test_fan_out():
    """Σ_i ∂²f*[∂g_i* u_i] + Σ_i ∂f* ∂²g_i*[u_i] ∂f, with a direction u_i of its own for each g_i."""
    gs = [lambda z: np.stack([np.prod(z), z[0] ** 3]), lambda z: np.exp(z) * z[1], lambda z: np.sin(np.sum(z))[None]]
    us = [RNG.normal(size=2), RNG.normal(size=3), RNG.normal(size=1)]
    z, J = f(X), ad.jacfwd(f)(X)
    wanted = sum(along(f, ad.jacfwd(h)(z).T @ u)(X) + J.T @ along(h, u)(z) @ J for h, u in zip(gs, us, strict=True))

    def whole(x):
        z = f(x)
        return sum(u @ h(z) for h, u in zip(gs, us, strict=True))

    assert_allclose(backpropagate(whole)(X).hessian, wanted, rtol=1e-12, atol=1e-13)


# blocks


def network(parameters, x):
    for W in parameters:
        x = np.tanh(W @ x)
    return x


def weights(*sizes, seed=3):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, m)) / np.sqrt(m) for m, n in pairwise(sizes)]


WS = weights(4, 5, 3, 3)
LABEL = np.array([0.2, -0.5, 0.4])
LOSSES = {
    "squares": lambda z: np.sum((z - LABEL) ** 2),
    "cross-entropy": lambda z: np.log(np.sum(np.exp(z))) - z[1],
}


def true_block(loss, k):
    """∇² in the weights of layer k, by forward mode over forward mode."""
    other = lambda W: loss(network([*WS[:k], W, *WS[k + 1 :]], X))
    return ad.jacfwd(ad.jacfwd(other))(WS[k])


@pytest.mark.row("9.6.1a")
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("cross", [True, False])
def test_blocks_of_a_network_in_one_walk(name, cross):
    """H_k is the true block of every layer, to rounding, and R₀ the Hessian in the input x."""
    loss = LOSSES[name]
    blocks, at_input = block_hessian(lambda Ws, x: loss(network(Ws, x)), (0, 1), cross=cross)(WS, X)
    for k, H in enumerate(blocks):
        assert_allclose(H, true_block(loss, k), rtol=0, atol=2e-15)
    wanted = ad.jacfwd(ad.jacfwd(lambda x: loss(network(WS, x))))(X)
    assert_allclose(at_input, wanted, rtol=0, atol=2e-15)
    # one walk: the program grows with the number of layers, not with its square
    sizes = []
    for K in (3, 6, 12):
        Ws = weights(*[3] * (K + 1))
        program = recorded(block_hessian(lambda Ws: loss(network(Ws, np.ones(3))), cross=cross), Ws)
        sizes.append(len(program.equations))
    assert sizes[2] - sizes[1] <= 2 * (sizes[1] - sizes[0])


@pytest.mark.row("9.6.1b")
@pytest.mark.parametrize("name", LOSSES)
def test_gauss_newton_blocks_of_a_network(name):
    """J_k = R_k ⊙ (a' a'ᵀ), R_{k-1} = W_kᵀ J_k W_k, G_k = J_k ⊗ s sᵀ for rows one after another."""
    loss = LOSSES[name]
    states = [X]
    for W in WS:
        states.append(np.tanh(W @ states[-1]))
    R = ad.jacfwd(ad.jacfwd(loss))(states[-1])
    J_whole = ad.jacfwd(lambda Ws: network(Ws, X))(WS)
    found = block_gauss_newton(loss, lambda Ws: network(Ws, X))(WS)
    maps = block_gauss_newton(loss, lambda Ws: network(Ws, X), as_maps=True)(WS)
    inner = R
    for k in (2, 1, 0):
        slope = 1 - np.tanh(WS[k] @ states[k]) ** 2
        J = R * np.outer(slope, slope)
        S = np.outer(states[k], states[k])
        n = WS[k].size
        dense = np.reshape(J_whole[k], (3, n)).T @ inner @ np.reshape(J_whole[k], (3, n))
        assert_allclose(np.kron(J, S), dense, rtol=0, atol=1e-15)
        assert_allclose(found[k].reshape(n, n), dense, rtol=0, atol=1e-15)
        assert_allclose(maps[k].to_dense(), dense, rtol=0, atol=1e-15)
        assert isinstance(maps[k], type(linear.kronecker(np.eye(2), np.eye(3))))
        assert_allclose(maps[k].factors[0].to_dense(), J, rtol=1e-12, atol=1e-16)
        # with columns one after another the factors change places; the other order is off by far more than rounding
        by_columns = found[k].transpose(1, 0, 3, 2).reshape(n, n)
        assert_allclose(by_columns, np.kron(S, J), rtol=0, atol=1e-15)
        assert np.max(np.abs(np.kron(S, J) - dense)) > 1e-2 * np.max(np.abs(dense)) > 1e-6
        R = WS[k].T @ J @ WS[k]


@pytest.mark.row("9.6.1b")
def test_kronecker_products_are_solved_factor_by_factor():
    """(J ⊗ S)⁻¹ = J⁻¹ ⊗ S⁻¹, with factors averaged over samples (then S is not singular) and damped."""
    inputs = RNG.normal(size=(20, 4))
    blocks = ad.vmap(lambda x: block_gauss_newton(LOSSES["squares"], lambda Ws: network(Ws, x), as_maps=True)(WS))(
        inputs
    )
    averaged = ad.tree.map(lambda leaf: np.mean(leaf, axis=0), blocks)
    J, S = (factor.to_dense() + 1e-3 * np.eye(factor.shape[0]) for factor in averaged[0].factors)
    b = RNG.normal(size=20)
    found = linear.kronecker(J, S).solve(b)
    assert_allclose(found, np.linalg.solve(np.kron(J, S), b), rtol=1e-9)
    assert_allclose(found, np.kron(np.linalg.inv(J), np.linalg.inv(S)) @ b, rtol=1e-8)
    assert "factor by factor" in linear.kronecker(J, S).method


@pytest.mark.row("9.6.2")
def test_blocks_on_graphs():
    """R_i += ∂²_{jj}f*[r] + ∂_jf* R ∂_jf at every argument: exact on trees, 8 w³ instead of 20 w³ on f₁(w) f₂(w)."""
    assert_allclose(block_hessian(lambda w: np.square(w) * w**3, cross=False)(2.0), 64.0)
    assert_allclose(block_hessian(lambda w: np.square(w) * w**3)(2.0), 160.0)  # with the terms between: exact
    # a tree: every variable is used once, and each leaf has its own branch
    tree_ = lambda a, b, c: np.sum(np.tanh(A @ a) * np.exp(b)) + np.sum(np.sin(c)) ** 2
    args = (X, B[:, 0], V1)
    exact = ad.hessian(tree_, (0, 1, 2))(*args)
    for cross in (True, False):
        found = block_hessian(tree_, (0, 1, 2), cross=cross)(*args)
        for k in range(3):
            assert_allclose(found[k], exact[k][k], rtol=1e-12, atol=1e-14)
    # a graph with shared variables: what the scheme leaves out are the terms between different variables of a node
    shared = lambda w: np.sum(np.sin(w) * np.exp(w))
    r = np.ones(4)
    scheme = np.diag(r * np.exp(X) * -np.sin(X) + r * np.sin(X) * np.exp(X))
    assert_allclose(block_hessian(shared, cross=False)(X), scheme, rtol=1e-12, atol=1e-14)
    assert_allclose(block_hessian(shared)(X) - scheme, np.diag(2 * np.cos(X) * np.exp(X)), rtol=1e-12, atol=1e-14)
    # an argument that occurs twice is one variable
    assert block_hessian(lambda w: w * w, cross=False)(3.0) == 2.0
