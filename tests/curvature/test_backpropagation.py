"""Hessians in one walk back through a graph, against nested differentiation and differences; blocks of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.curvature import backpropagate, block_gauss_newton, block_hessian
from tests.curvature.functions import FUNCTIONS, POINT, layers, network
from tests.support.sweeps import sampled

RNG = np.random.default_rng(4)
X, Y = RNG.normal(size=4), RNG.normal(size=2)
LAYERS = layers(4, 3, 5, 2)


def same(a, b, tolerance=1e-12):
    for left, right in zip(ad.tree.leaves(a), ad.tree.leaves(b), strict=True):
        assert_allclose(left, right, rtol=tolerance, atol=tolerance)


def loss(z):
    return np.sum((z - Y) ** 2) + np.log(np.sum(np.exp(z)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_gradient_and_hessian(name):
    f = FUNCTIONS[name]
    value, gradient, H = backpropagate(f)(POINT)
    assert_allclose(value, f(POINT), rtol=1e-14)
    assert_allclose(gradient, ad.grad(f)(POINT), rtol=1e-12, atol=1e-13)
    assert_allclose(H, ad.hessian(f)(POINT), rtol=1e-10, atol=1e-11)
    e, h = np.eye(4), 1e-5
    slopes = [(ad.grad(f)(POINT + h * v) - ad.grad(f)(POINT - h * v)) / (2 * h) for v in e]
    assert_allclose(H, slopes, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["chain", "broadcasting", "fan-out", "solutions", "loop", "cond", "branch", "pieces"])
def test_compiled_batched_and_differentiated(name):
    f = FUNCTIONS[name]
    H = lambda x: backpropagate(f)(x).hessian
    assert_allclose(ad.jit(H)(POINT), ad.hessian(f)(POINT), rtol=1e-10, atol=1e-11)
    points = np.stack([POINT, POINT * 1.1, POINT[::-1].copy()])
    assert_allclose(ad.vmap(H)(points), [ad.hessian(f)(x) for x in points], rtol=1e-10, atol=1e-11)
    v = RNG.normal(size=4)
    third = ad.jvp(ad.hessian(f), (POINT,), (v,))[1]
    assert_allclose(ad.jvp(H, (POINT,), (v,))[1], third, rtol=1e-9, atol=1e-10)
    assert_allclose(ad.grad(lambda x: np.sum(H(x) * third))(POINT) @ v, np.sum(third**2), rtol=1e-9)


def test_trees_several_arguments_and_single_precision():
    f = lambda p, q: np.sum(network(p, X) ** 3) * q["s"] + np.sum(p[0][0] ** 2) * q["n"]
    q = {"s": 2.0, "n": 3}
    found = backpropagate(f, (0, 1))(LAYERS, q)
    same(found.hessian, ad.hessian(f, (0, 1))(LAYERS, q))
    same(found.gradient, ad.grad(f, (0, 1))(LAYERS, q))
    single = backpropagate(lambda x: np.sum(np.sin(x) ** 2))(X.astype(np.float32))
    assert single.hessian.dtype == np.float32
    assert backpropagate(lambda x: x**3)(2.0) == (8.0, 12.0, 12.0)
    assert backpropagate(lambda x: np.sum(x**2))(np.zeros(0)).hessian.shape == (0, 0)


def test_zero_slopes_win_over_infinite_ones():
    f = lambda x: np.sum(np.where(x > 0, np.sqrt(np.where(x > 0, x, 0.0)), 0.0) * x)
    H = backpropagate(f)(np.array([0.0, 4.0])).hessian
    assert_allclose(H, ad.hessian(f)(np.array([0.0, 4.0])), rtol=1e-14)
    assert np.all(np.isfinite(H))


def test_refusals():
    with pytest.raises(ShapeError, match="one scalar output; it returned float64"):
        backpropagate(np.sin)(X)
    with pytest.raises(ShapeError, match="2 values"):
        block_hessian(lambda x: (x[0], x[1]))(X)
    with pytest.raises(DtypeError, match="complex"):
        backpropagate(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(X)
    with pytest.raises(ValueError, match="neither"):
        block_hessian(np.sum, by="layer")(X)


@pytest.mark.parametrize("cross", [True, False])
def test_blocks_of_a_network(cross):
    """A network uses every parameter once: the blocks are exact with and without the terms between variables."""
    f = lambda p: loss(network(p, X))
    H = ad.hessian(f)(LAYERS)
    found = block_hessian(f, cross=cross)(LAYERS)
    for k, (W, b) in enumerate(found):
        assert_allclose(W, H[k][0][k][0], rtol=1e-12, atol=1e-14)
        assert_allclose(b, H[k][1][k][1], rtol=1e-12, atol=1e-14)


def test_blocks_by_child_hold_the_terms_inside_a_layer():
    f = lambda p: loss(network(p, X))
    H = ad.hessian(f)(LAYERS)
    for run in (lambda g: g, ad.jit):
        found = run(block_hessian(f, by="child"))(LAYERS)
        assert len(found) == 3
        for k, layer in enumerate(found):
            same(layer, (H[k][0][k], H[k][1][k]))
    arguments = block_hessian(lambda w, p: np.sum(w**3) * p["a"] ** 2 * p["b"], (0, 1), by="child")
    by_w, by_p = arguments(X, {"a": 2.0, "b": 3.0})
    assert_allclose(by_w, np.diag(6 * X * 12))
    assert_allclose([by_p["a"], by_p["b"]], [2 * np.sum(X**3) * 3.0, 0.0])


@pytest.mark.parametrize("name", sampled(FUNCTIONS, every=3))
def test_blocks_are_exact_on_every_graph(name):
    """Two leaves, each used in many places: the blocks of both are those of the whole Hessian."""
    f = lambda p: FUNCTIONS[name](p["a"] * p["b"][::-1] + p["a"]) + np.sum(p["b"] ** 2 * p["a"])
    p = {"a": POINT, "b": np.array([0.3, 0.2, -0.1, 0.4])}
    H = ad.hessian(f)(p)
    found = block_hessian(f)(p)
    for k in "ab":
        assert_allclose(found[k], H[k][k], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("cross", [True, False])
def test_blocks_of_the_gauss_newton_matrix(cross):
    model = lambda p: network(p, X)
    J = ad.jacobian(model)(LAYERS)
    inner = ad.hessian(loss)(model(LAYERS))
    for run in (lambda g: g, ad.jit):
        found = run(block_gauss_newton(loss, model, cross=cross))(LAYERS)
        for k in range(3):
            wanted = np.einsum("aij,ab,bkl->ijkl", J[k][0], inner, J[k][0])
            assert_allclose(found[k][0], wanted, rtol=1e-11, atol=1e-14)


def test_gauss_newton_blocks_of_trees_of_outputs():
    """Two outputs, one of them twice, and one that does not move."""
    model = lambda w: {"a": w**2, "b": (w[:2] * w[2], w**2), "c": np.ones(2)}
    two = lambda z: (
        np.sum(z["a"] ** 2 * z["b"][1]) + np.prod(z["b"][0]) * np.sum(z["c"]) + np.sum(z["a"][:2] * z["b"][0])
    )
    found = block_gauss_newton(two, model)(X)
    flat = lambda w: np.concatenate([w**2, w[:2] * w[2], w**2])
    outer = lambda z: two({"a": z[:4], "b": (z[4:6], z[6:]), "c": np.ones(2)})
    J = ad.jacobian(flat)(X)
    assert_allclose(found, J.T @ ad.hessian(outer)(flat(X)) @ J, rtol=1e-12, atol=1e-13)
