"""Diagonals of Hessians in one walk: the recursion on chains, its first step, networks, and any graph."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.curvature import diagonal_hessian

RNG = np.random.default_rng(97)
X = RNG.normal(size=4)
LABEL = np.array([0.2, -0.5, 0.4])
squares = lambda z: np.sum((z - LABEL) ** 2)
cross_entropy = lambda z: np.log(np.sum(np.exp(z))) - z[1]


def recursion(fs, loss, x):
    """d_{k-1,i} = Σ_j r_{k,j} ∂²_{ii}f_{k,j} + Σ_j d_{k,j} (∂_i f_{k,j})², with whole matrices; and the gradient."""
    states = [x]
    for step in fs:
        states.append(step(states[-1]))
    z = states.pop()
    r, d = ad.grad(loss)(z), np.diag(ad.jacfwd(ad.jacfwd(loss))(z))
    for step in reversed(fs):
        s = states.pop()
        J = ad.jacfwd(step)(s)
        second = ad.jacfwd(ad.jacfwd(step))(s)
        d = np.einsum("j,jii->i", r, second) + d @ J**2
        r = r @ J
    return r, d


def composed(fs):
    def whole(x):
        for step in fs:
            x = step(x)
        return x

    return whole


@pytest.mark.row("9.7.1")
@pytest.mark.row("9.7.2")
@pytest.mark.parametrize("loss", [squares, cross_entropy])
def test_the_recursion_on_chains(loss):
    """Primitive by primitive it is the recursion of the chain of these primitives; the gradient comes with it."""
    W1, W2, W3 = RNG.normal(size=(5, 4)), RNG.normal(size=(3, 5)), RNG.normal(size=(3, 3))
    fs = [lambda x: W1 @ x, np.tanh, lambda x: W2 @ x, np.sin, lambda x: W3 @ x]
    r, d = recursion(fs, loss, X)
    found = diagonal_hessian(composed(fs), loss=loss, last="diagonal")(X)
    assert_allclose(found.gradient, r, rtol=1e-12)
    assert_allclose(found.diagonal, d, rtol=1e-12, atol=1e-14)
    assert_allclose(found.gradient, ad.grad(lambda x: loss(composed(fs)(x)))(X), rtol=1e-12)
    assert np.max(np.abs(d - np.diag(ad.hessian(lambda x: loss(composed(fs)(x)))(X)))) > 0.1


@pytest.mark.row("9.7.1")
def test_it_is_exact_where_hessians_are_diagonal():
    """Elementwise chains, and one linear map in front of them: diag(Wᵀ D W) needs only D."""
    W = RNG.normal(size=(6, 4))
    for f in (
        lambda x: np.sum(np.exp(np.sin(x) * 2.0) + x**3),
        lambda x: np.sum(np.tanh(W @ x) ** 2),
        lambda x: np.sum(np.cosh(np.cumsum(x))),
        lambda x: np.sum(np.sin(x[[0, 1, 1, 3]]) ** 2) + np.sum(np.exp(x[:, None] * np.ones(3))),
    ):
        exact = np.diag(ad.jacfwd(ad.jacfwd(f))(X))
        for run in (lambda g: g, ad.jit):
            assert_allclose(run(diagonal_hessian(f))(X).diagonal, exact, rtol=1e-12, atol=1e-13)


WS = [RNG.normal(size=(n, m)) / np.sqrt(m) for m, n in ((4, 6), (6, 5), (5, 3))]


def network(Ws, x):
    for W in Ws:
        x = np.tanh(W @ x)
    return x


def exact_diagonals(loss):
    found = []
    for k, W in enumerate(WS):
        H = ad.jacfwd(ad.jacfwd(lambda V, k=k: loss(network([*WS[:k], V, *WS[k + 1 :]], X))))(W)
        found.append(np.diag(H.reshape(W.size, W.size)).reshape(W.shape))
    return found


def errors(found, exact):
    return [np.max(np.abs(a - b)) for a, b in zip(found, exact, strict=True)]


@pytest.mark.row("9.7.1b")
def test_the_last_layer_exactly():
    """With the whole Hessian of the cross-entropy at the first step h₃ and h₂ are exact; h₁ still is not."""
    model = lambda Ws: network(Ws, X)
    exact = exact_diagonals(cross_entropy)
    first, second, third = errors(diagonal_hessian(model, loss=cross_entropy)(WS).diagonal, exact)
    assert third < 1e-15
    assert second < 1e-15
    assert first > 1e-4
    for run in (lambda g: g, ad.jit):
        again = run(diagonal_hessian(model, loss=cross_entropy, last="exact"))(WS).diagonal
        assert max(errors(again, diagonal_hessian(model, loss=cross_entropy)(WS).diagonal)) < 1e-15
    with pytest.raises(ValueError, match="neither"):
        diagonal_hessian(model, loss=cross_entropy, last="second")


@pytest.mark.row("9.7-ex")
@pytest.mark.parametrize("loss", [squares, cross_entropy])
def test_a_network_by_hand(loss):
    """δ_k = r_k ⊙ a'' + d_k ⊙ a'², d_{k-1} = (W_k²)ᵀ δ_k, h_k = δ_k (s²)ᵀ, r_{k-1} = W_kᵀ(a' ⊙ r_k)."""
    states, sums = [X], []
    for W in WS:
        sums.append(W @ states[-1])
        states.append(np.tanh(sums[-1]))
    r, d = ad.grad(loss)(states[-1]), np.diag(ad.jacfwd(ad.jacfwd(loss))(states[-1]))
    h, g = [None] * 3, [None] * 3
    for k in (2, 1, 0):
        a1 = 1 - np.tanh(sums[k]) ** 2
        a2 = -2 * np.tanh(sums[k]) * a1
        δ = r * a2 + d * a1**2
        h[k] = np.outer(δ, states[k] ** 2)
        g[k] = np.outer(a1 * r, states[k])
        r, d = WS[k].T @ (a1 * r), (WS[k] ** 2).T @ δ
        assert d.shape == (WS[k].shape[1],)
    found = diagonal_hessian(lambda Ws: network(Ws, X), loss=loss, last="diagonal")(WS)
    for k in range(3):
        assert_allclose(found.diagonal[k], h[k], rtol=1e-12, atol=1e-15)
        assert_allclose(found.gradient[k], g[k], rtol=1e-12, atol=1e-15)


@pytest.mark.row("9.7-ex")
def test_where_it_is_exact_and_where_not():
    """Squares: h₃ and h₂ to rounding, h₁ off by some tenths; cross-entropy from its diagonal: h₃ alone."""
    model = lambda Ws: network(Ws, X)
    exact = exact_diagonals(squares)
    found = diagonal_hessian(model, loss=squares, last="diagonal")(WS).diagonal
    first, second, third = errors(found, exact)
    assert third < 2e-15
    assert second < 2e-15
    relative = np.linalg.norm(found[0] - exact[0]) / np.linalg.norm(exact[0])
    assert 0.02 < relative < 2.0
    assert first > 1e-3
    exact = exact_diagonals(cross_entropy)
    found = diagonal_hessian(model, loss=cross_entropy, last="diagonal")(WS).diagonal
    first, second, third = errors(found, exact)
    assert third < 1e-15
    assert second > 1e-4
    assert first > 1e-5


@pytest.mark.row("9.7.2")
def test_contributions_of_children_are_added():
    """d_i += diag(∂²_{jj}f*[r]) + diag(∂_jf* Diag(d) ∂_jf): a variable with several children has the sum of them."""
    W = RNG.normal(size=(4, 4))
    children = [lambda x: np.sum(np.tanh(W @ np.sin(W @ x))), lambda x: np.sum(np.exp(x)), lambda x: np.prod(x)]
    alone = [diagonal_hessian(child)(X).diagonal for child in children]
    assert_allclose(diagonal_hessian(lambda x: sum(child(x) for child in children))(X).diagonal, sum(alone), rtol=1e-12)
    # on a graph with a join, from the formula: z = a b with a = sin(w), b = exp(w), r = d = values of the end
    end = lambda z: np.sum(z**3)
    w = X
    a, b = np.sin(w), np.exp(w)
    r, d = 3 * (a * b) ** 2, 6 * a * b
    da, db = d * b**2, d * a**2
    wanted = r * b * -np.sin(w) + da * np.cos(w) ** 2 + r * a * np.exp(w) + db * np.exp(w) ** 2
    assert_allclose(diagonal_hessian(lambda w: end(np.sin(w) * np.exp(w)))(w).diagonal, wanted, rtol=1e-12)
