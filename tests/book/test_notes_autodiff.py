"""The notes on machine learning: automatic differentiation over chains.

A chain is hᵢ = fᵢ(hᵢ₋₁, wᵢ) with h₀ = x, and y is the sum of the last h.
"""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import adjoint as ad
from adjoint import tree
from adjoint.testing import (
    complex_step,
    count_calls,
    difference_gradient,
    difference_jacobian,
    finite_difference,
)
from tests.book.recording import operands, recorded, shapes

RNG = np.random.default_rng(12)
SIZES = [(3, 4), (4, 5), (5, 2)]


def weights(seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(o, i)) for i, o in SIZES]


def chain(ws, x):
    for W in ws:
        x = np.tanh(W @ x)
    return x


START = np.array([0.2, -0.4, 0.9])


@pytest.mark.row("A6.1.a")
def test_all_weights_of_a_chain_get_their_derivative():
    """hᵢ = fᵢ(hᵢ₋₁, wᵢ), y = Σ h_l: one call returns ∂y/∂wᵢ for all i, each shaped like wᵢ."""
    y = lambda ws: np.sum(chain(ws, START))
    for ours, theirs in zip(ad.grad(y)(weights()), difference_gradient(y, weights(), accuracy=4), strict=True):
        assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.row("A6.1.c")
def test_numerical_differentiation_has_errors_of_first_and_second_order():
    """(f(x + h) - f(x)) / h errs by O(h), the central quotient by O(h²): halving h divides by 2 and by 4."""
    exact = ad.grad(lambda x: np.exp(np.sin(x)))(0.7)
    for kind, factor in (("forward", 2.0), ("central", 4.0)):
        errors = [
            abs(finite_difference(lambda x: np.exp(np.sin(x)), 0.7, 1.0, kind=kind, step=h) - exact)
            for h in (1e-2, 5e-3, 2.5e-3)
        ]
        assert_allclose(np.divide(errors[:-1], errors[1:]), factor, rtol=0.05)


@pytest.mark.row("A6.2.a")
def test_forward_mode_gives_the_same_derivatives_of_all_weights():
    """Ŵᵢ, carried along to the end, has shape (d_final, d_out, d_in), and equals what reverse mode finds."""
    forward = ad.jacfwd(lambda ws: chain(ws, START))(weights())
    reverse = ad.jacrev(lambda ws: chain(ws, START))(weights())
    for ours, theirs, (i, o) in zip(forward, reverse, SIZES, strict=True):
        assert ours.shape == (2, o, i)
        assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)
    assert_allclose(np.sum(forward[0], axis=0), ad.grad(lambda ws: np.sum(chain(ws, START)))(weights())[0], rtol=1e-12)


def peak(f):
    """The most memory that f holds at a time, in bytes."""
    f()
    tracemalloc.start()
    try:
        f()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def deep(x, depth):
    for _ in range(depth):
        x = np.tanh(x)
    return x


@pytest.mark.row("A6.2.a", "A6.3.b")
def test_forward_mode_forgets_and_reverse_mode_stores_all_intermediates():
    """Memory of a push does not depend on the depth; that of a pull grows by one vector for each layer."""
    x = np.linspace(0.1, 1.0, 20_000)
    forward = [peak(lambda d=d: ad.jvp(lambda x: deep(x, d), (x,), (x,))) / x.nbytes for d in (10, 100)]
    reverse = [peak(lambda d=d: ad.grad(lambda x: np.sum(deep(x, d)))(x)) / x.nbytes for d in (10, 100)]
    assert forward[1] < 1.1 * forward[0] < 10
    assert 85 < reverse[1] - reverse[0] < 95


@pytest.mark.row("A6.3.a")
def test_reverse_mode_over_a_chain_step_by_step():
    """h̃ = 1; for i = l, …, 1: ∂y/∂wᵢ = h̃ ∂hᵢ/∂wᵢ, then h̃ ← h̃ ∂hᵢ/∂hᵢ₋₁; each h̃ is one row."""
    ws, layer = weights(), lambda W, h: np.tanh(W @ h)
    states = [START]
    for W in ws:
        states.append(layer(W, states[-1]))
    row, found = np.ones((1, 2)), []
    for W, h in zip(ws[::-1], states[-2::-1], strict=True):
        to_W, to_h = difference_jacobian(lambda p: layer(*p), (W, h), accuracy=4)
        found.insert(0, np.tensordot(row[0], to_W, 1))
        assert row.shape == (1, W.shape[0])
        row = row @ to_h
    for ours, theirs in zip(ad.grad(lambda ws: np.sum(chain(ws, START)))(ws), found, strict=True):
        assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.row("A6.3.b")
def test_the_way_back_through_a_chain_multiplies_matrices_with_vectors_only():
    """Every product of the backward sweep has a vector on one side: n³ never appears."""
    program = recorded(ad.grad(lambda x, ws: np.sum(chain(ws, x))), START, weights())
    products = operands(program, "matmul")
    assert len(products) == 2 * len(SIZES)
    for left, right in products:
        assert max(left) == np.prod(left) or max(right) == np.prod(right)


@pytest.mark.row("A6.4.a")
def test_pullbacks_of_input_and_weights():
    """∂y/∂w = vjp_{f,w}(h̃) and h̃ ← vjp_{f,h}(h̃), from one evaluation of f, and adjoint to the push."""
    layer = count_calls(lambda W, h: np.tanh(W @ h))
    W, h, u = weights()[0], START, RNG.normal(size=4)
    _, pullback = ad.vjp(layer, W, h)
    to_W, to_h = pullback(u)
    assert layer.calls == 1
    dW, dh = RNG.normal(size=W.shape), RNG.normal(size=3)
    pushed = complex_step(lambda p: np.tanh(p[0] @ p[1]), (W, h), (dW, dh))
    assert_allclose(u @ pushed, tree.vdot((to_W, to_h), (dW, dh)), rtol=1e-12)


@pytest.mark.row("A6.4.c")
def test_a_jacobian_by_rows():
    """The pullbacks of e₁, …, e_c', stacked, are what forward mode finds column by column."""
    f = lambda x: chain(weights(), x)
    _, pullback = ad.vjp(f, START)
    rows = np.stack([pullback(e)[0] for e in np.eye(2)])
    assert_allclose(rows, ad.jacfwd(f)(START), rtol=1e-13)
    assert_allclose(rows, difference_jacobian(f, START, accuracy=4), rtol=1e-8, atol=1e-11)


@pytest.mark.row("A6.4.d")
def test_projections_and_elementwise_functions_have_pullbacks_without_large_arrays():
    """W x pulls v back to (Wᵀv, v xᵀ); φ(x) pulls it back to v ∘ φ'(x): no tensor of rank three, no diagonal matrix."""
    W, x, v = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([1.0, -1.0, 2.0]), np.array([10.0, 1.0])
    to_W, to_x = ad.vjp(np.matmul, W, x)[1](v)
    assert_allclose(to_x, [14.0, 25.0, 36.0])
    assert_allclose(to_W, [[10.0, -10.0, 20.0], [1.0, -1.0, 2.0]])
    assert_allclose(ad.vjp(np.exp, v)[1](np.array([0.0, 3.0]))[0], [0.0, 3 * np.e], rtol=1e-15)
    large = recorded(
        lambda W, x, v: ad.vjp(lambda W, x: np.sin(W @ x), W, x)[1](v), np.ones((6, 5)), np.ones(5), np.ones(6)
    )
    assert max(int(np.prod(shape)) for shape in shapes(large)) == 6 * 5
    assert max(len(shape) for shape in shapes(large)) == 2
    assert (6, 6) not in shapes(large)


@pytest.mark.row("A6.4.f")
def test_gradients_vanish_and_explode_with_the_product_of_the_layers_jacobians():
    """Fifty sigmoids shrink a derivative by at least ¼ each, to less than 1e-20; fifty gains above one make it grow."""

    def layers_norms(f, x, depth):
        norms = []
        for _ in range(depth):
            norms.append(np.linalg.norm(ad.jacobian(f)(x), 2))
            x = f(x)
        return np.array(norms)

    def through(f, depth):
        def repeated(x):
            for _ in range(depth):
                x = f(x)
            return x

        return repeated

    x = np.array([0.3, -0.2])
    grows = lambda x: 1.3 * x + 0.1 * np.sin(x)  # every slope is between 1.2 and 1.4
    for f in (expit, grows, lambda x: np.array([[1.5, 0.2], [0.2, 1.5]]) @ np.arctan(x)):
        norms = layers_norms(f, x, 50)
        assert np.linalg.norm(ad.jacobian(through(f, 50))(x), 2) <= np.prod(norms) * (1 + 1e-12)
    assert np.all(layers_norms(expit, x, 50) <= 0.25)
    assert np.linalg.norm(ad.jacobian(through(expit, 50))(x)) < 1e-20
    assert 1.2**50 <= ad.grad(through(grows, 50))(0.3) <= 1.4**50


@pytest.mark.row("A6.4.j")
def test_derivative_of_the_rectifier():
    """max(0, s): 0 left of zero, 1 right of it, ½ (an element of [0, 1]) at zero; zero where s is negative."""
    slope = ad.vmap(ad.grad(lambda s: np.maximum(s, 0.0)))
    assert_allclose(slope(np.array([-2.0, -1e-300, 0.0, 1e-300, 3.0])), [0.0, 0.0, 0.5, 1.0, 1.0])
    s = RNG.normal(size=1000)
    gradient = ad.grad(lambda s: np.sum(np.maximum(s, 0.0)))(s)
    assert np.mean(gradient == 0) == np.mean(s < 0)
    # the choice that gives 0 at the kink is a branch
    assert ad.grad(lambda s: np.where(s > 0, s, 0.0))(0.0) == 0.0


@pytest.mark.row("A6.1.d")
def test_the_derivative_shares_what_occurs_twice():
    """a sin x + b x sin x: one sine and one cosine, however often the rules ask for them."""
    a, b = 1.5, -0.7
    f = lambda x: a * np.sin(x) + b * x * np.sin(x)
    both = ad.explain(f)(0.4).programs.derivative_simplified
    titles = [eq.op.title for eq in both.equations]
    assert titles.count("sin") == 1
    assert titles.count("cos") == 1
    slope = lambda x: a * np.cos(x) + b * np.sin(x) + b * x * np.cos(x)
    assert_allclose(both(0.4), [f(0.4), slope(0.4)], rtol=1e-14)
