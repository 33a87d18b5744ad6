"""Diagonals of Hessians on every graph, against the same recursion with whole Jacobians and Hessians of the nodes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.curvature import block_hessian, diagonal_hessian
from adjoint.curvature.graph import record_graph
from tests.curvature.functions import FUNCTIONS, POINT, layers, network

X, Y = np.array([0.3, -0.8, 0.5, 1.1]), np.array([0.4, -0.6])


def local(node):
    """The node as a function of its distinct variables, to one vector, and their values."""
    places = [node.positions(parent) for parent in node.parents]
    kept = [k for k, o in enumerate(node.outputs) if o >= 0]

    def call(*ys):
        xs = list(node.xs)
        for y, positions in zip(ys, places, strict=True):
            for k in positions:
                xs[k] = y
        z = node.op(*xs)
        parts = list(z) if node.op.several else [z]
        return np.concatenate([np.reshape(parts[k], (-1,)) for k in kept])

    return call, [node.xs[positions[0]] for positions in places]


def walked(f, x, add):
    """Gradients and curvatures of all variables, by `add`, which is given whole matrices."""
    graph = record_graph(lambda active: f(*active), [x])
    r, c = [None] * graph.size, [None] * graph.size
    if graph.outputs[0] < 0:
        return np.zeros(4), None
    r[graph.outputs[0]] = np.ones(())
    for node in reversed(graph.nodes):
        kept = [o for o in node.outputs if o >= 0]
        sizes = [graph.types[o].size for o in kept]
        u = np.concatenate([np.zeros(n) if r[o] is None else np.ravel(r[o]) for o, n in zip(kept, sizes, strict=True)])
        call, values = local(node)
        for a, (parent, value) in enumerate(zip(node.parents, values, strict=True)):
            n = graph.types[parent].size
            alone = lambda y, a=a: call(*[y if k == a else v for k, v in enumerate(values)])  # noqa: B023
            J = np.reshape(ad.jacfwd(alone)(value), (len(u), n))
            H = np.reshape(ad.jacfwd(ad.jacfwd(lambda y, alone=alone, u=u: u @ alone(y)))(value), (n, n))
            blocks = [c[o] for o in kept]
            added = add(J, H, blocks, sizes)
            c[parent] = added if c[parent] is None else c[parent] + added
            g = np.reshape(u @ J, graph.types[parent].shape)
            r[parent] = g if r[parent] is None else r[parent] + g
    return r[0], c[0]


def of_diagonals(J, H, blocks, sizes):
    d = np.concatenate([np.zeros(n) if b is None else b for b, n in zip(blocks, sizes, strict=True)])
    return np.diag(H) + d @ J**2


def of_blocks(J, H, blocks, sizes):
    R = np.zeros((sum(sizes), sum(sizes)))
    start = 0
    for block, n in zip(blocks, sizes, strict=True):
        if block is not None:
            R[start : start + n, start : start + n] = block
        start += n
    return H + J.T @ R @ J


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "constant"])
def test_the_recursion_on_every_graph(name):
    r, d = walked(FUNCTIONS[name], POINT, of_diagonals)
    found = diagonal_hessian(FUNCTIONS[name])(POINT)
    assert_allclose(found.gradient, r, rtol=1e-11, atol=1e-12)
    assert_allclose(found.diagonal, d, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "constant"])
def test_blocks_without_terms_between_variables(name):
    _, R = walked(FUNCTIONS[name], POINT, of_blocks)
    assert_allclose(block_hessian(FUNCTIONS[name], cross=False)(POINT), R, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", ["chain", "broadcasting", "solutions", "loop", "pieces", "contraction", "convolution"])
def test_compiled_batched_and_differentiated(name):
    f = FUNCTIONS[name]
    d = lambda x: diagonal_hessian(f)(x).diagonal
    assert_allclose(ad.jit(d)(POINT), d(POINT), rtol=1e-11, atol=1e-12)
    points = np.stack([POINT, POINT * 1.2])
    assert_allclose(ad.vmap(d)(points), [d(x) for x in points], rtol=1e-11, atol=1e-12)
    v, h = np.array([0.5, -1.0, 0.3, 0.8]), 1e-5
    slope = (d(POINT + h * v) - d(POINT - h * v)) / (2 * h)
    assert_allclose(ad.jvp(d, (POINT,), (v,))[1], slope, rtol=1e-5, atol=1e-5)
    assert_allclose(ad.grad(lambda x: np.sum(d(x)))(POINT) @ v, np.sum(slope), rtol=1e-5, atol=1e-5)


def test_constants_integers_and_trees():
    assert np.array_equal(diagonal_hessian(lambda x: 2.0)(POINT).diagonal, np.zeros(4))
    p = {"x": POINT, "n": 3}
    found = diagonal_hessian(lambda p: np.sum(p["x"] ** p["n"]))(p)
    assert_allclose(found.diagonal["x"], 6 * POINT)
    assert found.diagonal["n"] == 0


@pytest.mark.parametrize("last", ["exact", "diagonal"])
def test_a_network_with_offsets(last):
    """The last layer has an offset and a softmax: whole through both when it is exact."""
    parameters = layers(4, 3, 2, seed=5)
    model = lambda p: network(p, X)
    loss = lambda z: np.log(np.sum(np.exp(z))) - z[0]
    H = ad.hessian(lambda p: loss(model(p)))(parameters)
    found = diagonal_hessian(model, loss=loss, last=last)(parameters).diagonal
    for k in range(2):
        for j in range(2):
            n = parameters[k][j].size
            exact = np.diag(np.reshape(H[k][j][k][j], (n, n))).reshape(parameters[k][j].shape)
            agrees = np.allclose(found[k][j], exact, rtol=1e-11, atol=1e-13)
            assert agrees == (k == 1 or last == "exact")


def test_whole_hessians_through_what_only_moves_elements():
    """Reshaped, reversed and repeated outputs keep the Hessian of the loss whole up to the first matrix product."""
    W = np.arange(12.0).reshape(6, 2) / 10
    model = lambda w: np.reshape(np.tanh(W @ w)[::-1], (2, 3)).T[[0, 1, 1, 2]]
    loss = lambda z: np.log(np.sum(np.exp(z * np.arange(1.0, 3.0)))) + np.prod(z)
    w = np.array([0.5, -0.3])
    exact = np.diag(ad.hessian(lambda w: loss(model(w)))(w))
    assert_allclose(diagonal_hessian(model, loss=loss)(w).diagonal, exact, rtol=1e-11)
    spread = lambda w: w * np.ones((3, 2))  # broadcast: what reaches w is the diagonal
    exact = np.diag(ad.hessian(lambda w: loss(spread(w)))(w))
    assert_allclose(diagonal_hessian(spread, loss=loss)(w).diagonal, exact, rtol=1e-11)
