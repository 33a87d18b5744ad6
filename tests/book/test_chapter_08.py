"""Automatic differentiation of chains and networks: the two sweeps, their memory, full Jacobians, and layers."""

import itertools
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import tree
from adjoint.testing import complex_step, count_calls, difference_gradient
from tests.book.recording import names, recorded

RNG = np.random.default_rng(8)


def softplus(x):
    return np.logaddexp(0.0, x)


def logistic(x):
    """The derivative of softplus, as the text has it: eˣ / (1 + eˣ)."""
    return np.exp(x) / (1 + np.exp(x))


A1, B1, A2, B2 = RNG.normal(size=(4, 3)), RNG.normal(size=4), RNG.normal(size=(2, 4)), RNG.normal(size=2)
S0 = np.array([0.5, -1.0, 0.25])


def mlp(s):
    return A2 @ softplus(A1 @ s + B1) + B2


@pytest.mark.row("8.1-ex")
def test_the_two_sweeps_through_a_small_network():
    """t₁ = σ'(A₁s₀ + b₁) ∘ A₁t₀, t₂ = A₂t₁ forwards; r₁ = A₂ᵀr₂, r₀ = A₁ᵀ(σ'(A₁s₀ + b₁) ∘ r₁) backwards."""
    t0, r2 = RNG.normal(size=3), RNG.normal(size=2)
    slope = logistic(A1 @ S0 + B1)
    assert_allclose(ad.jvp(mlp, (S0,), (t0,))[1], A2 @ (slope * (A1 @ t0)), rtol=1e-14)
    assert_allclose(ad.vjp(mlp, S0)[1](r2)[0], A1.T @ (slope * (A2.T @ r2)), rtol=1e-14)
    assert_allclose(ad.jvp(mlp, (S0,), (t0,))[1], complex_step(lambda s: A2 @ np.log(1 + np.exp(A1 @ s + B1)), S0, t0))


def chain(widths, seed=0):
    """Functions tanh(A s) through spaces of the given dimensions."""
    rng = np.random.default_rng(seed)
    layers = [rng.normal(size=(o, i)) / np.sqrt(i) for i, o in itertools.pairwise(widths)]
    return [lambda s, A=A: np.tanh(A @ s) for A in layers]


def composed(functions):
    def f(s):
        for function in functions:
            s = function(s)
        return s

    return f


@pytest.mark.row("8.1.0")
def test_the_jacobian_of_a_chain_is_the_product_of_the_layers_jacobians():
    """∂f = ∂f_K … ∂f₁, multiplied out from either end, is what both modes find without matrices of the layers."""
    functions = chain([4, 6, 5, 3])
    s, jacobians = np.linspace(-1.0, 1.0, 4), []
    f, start = composed(functions), s
    for function in functions:
        jacobians.append(ad.jacobian(function)(s))
        s = function(s)
    product = jacobians[2] @ jacobians[1] @ jacobians[0]
    exact = np.stack([complex_step(f, start, e) for e in np.eye(4)], axis=1)
    assert_allclose(product, exact, rtol=1e-12)
    for transform in (ad.jacfwd, ad.jacrev):
        assert_allclose(transform(f)(start), exact, rtol=1e-12)


def repeated(K, step=np.sin):
    return composed([step] * K)


def peak(f):
    """The most memory that f holds at a time, in bytes; what a first call sets up is not counted."""
    f()
    tracemalloc.start()
    try:
        f()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.row("8.1.1")
def test_forward_mode_releases_what_it_has_used():
    """t_k = ∂f_k(s_{k-1})[t_{k-1}]: memory is about twice that of f, however long the chain."""
    s, t = np.linspace(0.1, 1.0, 50_000), np.ones(50_000)
    plain = peak(lambda: repeated(10)(s))
    short, long = (peak(lambda K=K: ad.jvp(repeated(K), (s,), (t,))) for K in (10, 500))
    assert long < 1.05 * short
    assert short <= 2.6 * plain  # s, t, and the factor between them
    exact = complex_step(repeated(10), s[:5], t[:5])
    assert_allclose(ad.jvp(repeated(10), (s,), (t,))[1][:5], exact, rtol=1e-13)


def probe(held, size):
    """The identity, which notes how many arrays of one size are alive when it is passed forwards and backwards."""

    def note(value):
        held.append(round(tracemalloc.get_traced_memory()[0] / size))
        return value

    return ad.custom_rule(lambda s: s, vjp=lambda s: (note(s), lambda r: (note(r),)))


@pytest.mark.row("8.1.2")
def test_reverse_mode_fills_memory_forwards_and_empties_it_backwards():
    """The memory over time is a triangle: up by one state for each of K steps, then down, each freed after its use."""
    K, s, held = 30, np.linspace(0.1, 1.0, 20_000), []
    passed = probe(held, s.nbytes)
    tracemalloc.start()
    try:
        gradient = ad.grad(lambda s: np.sum(repeated(K, lambda s: passed(np.sin(s)))(s)))(s)
    finally:
        tracemalloc.stop()
    assert_allclose(gradient[:5], complex_step(repeated(K), s[:5], np.ones(5)), rtol=1e-12)
    up, down = np.array(held[:K]), np.array(held[K:])
    assert len(down) == K
    assert np.all(np.diff(up) == 1)
    assert np.all(np.diff(down)[1:] == -1)
    assert down[-1] <= 4
    short, long = (peak(lambda K=K: ad.grad(lambda s: np.sum(repeated(K)(s)))(s)) for K in (10, 110))
    assert 95 <= (long - short) / s.nbytes <= 105


@pytest.mark.row("8.1.2")
def test_a_gradient_costs_one_sweep_each_way_whatever_the_dimension():
    """f and its gradient are as many operations for many inputs as for few; the gradient is at most three times f."""
    f = lambda s: np.sum(repeated(20)(s))
    counts = {
        n: (len(recorded(f, np.ones(n)).equations), len(recorded(ad.grad(f), np.ones(n)).equations)) for n in (2, 2000)
    }
    assert counts[2] == counts[2000]
    assert counts[2][1] <= 3 * counts[2][0]


@pytest.mark.row("8.1.2b")
def test_one_evaluation_serves_many_directions():
    """forward(f, s₀) = (f(s₀), ∂f(s₀)*), then ten pulls; `linearize`, then ten pushes: f runs once."""
    f = count_calls(composed(chain([3, 5, 4])))
    value, pullback = ad.vjp(f, S0)
    for u in RNG.normal(size=(10, 4)):
        assert_allclose(pullback(u)[0] @ S0, u @ complex_step(f.function, S0, S0), rtol=1e-11, atol=1e-13)
    assert f.reset() == 1
    again, push = ad.linearize(f, S0)
    for v in RNG.normal(size=(10, 3)):
        assert_allclose(push(v), complex_step(f.function, S0, v), rtol=1e-12)
    assert f.reset() == 1
    assert_allclose(value, again)


def counting_step(seen):
    """x ↦ x³, whose rules count the directions that they are given."""

    def product(kind):
        def on_lanes(x, v):
            seen[kind] += len(v)
            return 3 * x**2 * v

        return ad.custom_rule(lambda x, v: 3 * x**2 * v, batch=on_lanes)

    push, pull = product("pushed"), product("pulled")
    jvp = lambda xs, vs: (xs[0] ** 3, push(xs[0], vs[0]))
    return ad.custom_rule(lambda x: x**3, jvp=jvp, vjp=lambda x: (x**3, lambda u: (pull(x, u),)))


@pytest.mark.row("8.1.3")
@pytest.mark.parametrize("D, M", [(7, 3), (3, 7), (4, 4), (1, 6), (6, 1)])
def test_jacobians_take_d_pushes_or_m_pulls(D, M):
    """`jacfwd` pushes D directions, `jacrev` pulls M, and `jacobian` goes backwards only when M < D."""
    A, B, x = RNG.normal(size=(5, D)), RNG.normal(size=(M, 5)), RNG.normal(size=D)
    expected = B @ np.diag(3 * (A @ x) ** 2) @ A

    def directions(transform):
        seen = {"pushed": 0, "pulled": 0}
        step = counting_step(seen)
        assert_allclose(transform(lambda x: B @ step(A @ x))(x), expected, rtol=1e-12, atol=1e-13)
        return seen

    assert directions(ad.jacfwd) == {"pushed": D, "pulled": 0}
    assert directions(ad.jacrev) == {"pushed": 0, "pulled": M}
    assert directions(ad.jacobian) == directions(ad.jacrev if M < D else ad.jacfwd)


@pytest.mark.row("8.8")
@pytest.mark.parametrize(
    "P, M, mode", [(3, 20, "forward"), (20, 21, "forward"), (21, 20, "reverse"), (20, 3, "reverse")]
)
def test_the_mode_follows_the_shape(P, M, mode):
    """Forwards for tall Jacobians (M ≥ P), backwards for wide ones (P ≥ M); a square one may go either way."""
    A, B, x = RNG.normal(size=(5, P)), RNG.normal(size=(M, 5)), RNG.normal(size=P)

    def directions(mode):
        seen = {"pushed": 0, "pulled": 0}
        step = counting_step(seen)
        found = ad.jacobian(lambda x: B @ step(A @ x), mode=mode)(x)
        assert_allclose(found, B @ np.diag(3 * (A @ x) ** 2) @ A, rtol=1e-12, atol=1e-13)
        return seen

    assert directions("forward") == {"pushed": P, "pulled": 0}
    assert directions("reverse") == {"pushed": 0, "pulled": M}
    assert directions("auto") == directions(mode)
    assert sum(directions("auto").values()) == min(P, M)


def layer(s, w):
    A, b = w
    return np.tanh(A @ s + b)


def parameters(widths=(3, 4, 4, 2)):
    return [(RNG.normal(size=(o, i)), RNG.normal(size=o)) for i, o in itertools.pairwise(widths)]


def network(s, ws):
    for w in ws:
        s = layer(s, w)
    return s


@pytest.mark.row("8.2.1")
def test_the_adjoint_of_the_layers_recursion():
    """(r_{k-1}, g_k) = ∂f_k(s_{k-1}, w_k)*[r_k] from k = K down to 1: r₀ and all g_k, as by one pull of the whole."""
    ws, u = parameters(), RNG.normal(size=2)
    pulls, s = [], S0
    for w in ws:
        s, pullback = ad.vjp(layer, s, w)
        pulls.append(pullback)
    r, gradients = u, []
    for pullback in reversed(pulls):
        r, g = pullback(r)
        gradients.insert(0, g)
    whole_r, whole_g = ad.vjp(network, S0, ws)[1](u)
    assert_allclose(r, whole_r, rtol=1e-13)
    differences = difference_gradient(lambda ws: u @ network(S0, ws), ws, accuracy=4)
    for ours, whole, exact in zip(*map(tree.leaves, (gradients, whole_g, differences)), strict=True):
        assert_allclose(ours, whole, rtol=1e-13)
        assert_allclose(ours, exact, rtol=1e-7, atol=1e-9)


@pytest.mark.row("8.2.2")
def test_back_propagation_returns_loss_and_gradients_and_skips_what_nobody_asks_for():
    """L and (g₁, …, g_K) come from one call; without r₀ the product A₁ᵀ(…) of the first layer is not computed."""
    ws, y = parameters(), np.array([0.2, -0.3])
    loss = count_calls(lambda ws, x: np.sum((network(x, ws) - y) ** 2))
    value, gradients = ad.value_and_grad(loss)(ws, S0)
    assert loss.calls == 1
    assert value == loss(ws, S0)
    assert tree.structure(gradients) == tree.structure(ws)
    for ours, exact in zip(
        tree.leaves(gradients), tree.leaves(difference_gradient(lambda ws: loss(ws, S0), ws)), strict=True
    ):
        assert_allclose(ours, exact, rtol=1e-6, atol=1e-8)
    products = lambda argnums: names(recorded(ad.grad(loss, argnums=argnums), ws, S0))["matmul"]
    assert products((0, 1)) == products(0) + 1
