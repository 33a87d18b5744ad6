"""The book's introduction: programs written for a functional interface."""

import pytest
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
import adjoint.numpy as np
from adjoint import tree


def predict(params, inputs):
    for W, b in params:
        outputs = np.dot(inputs, W) + b
        inputs = np.tanh(outputs)
    return outputs


def loss(params, batch):
    inputs, targets = batch
    return np.sum((predict(params, inputs) - targets) ** 2)


def example(seed=0):
    rng = ad.random.default_rng(seed)
    sizes = [(3, 5), (5, 2)]
    params = [(rng.standard_normal(size), rng.standard_normal(size[1])) for size in sizes]
    return params, (rng.standard_normal((4, 3)), rng.standard_normal((4, 2)))


@pytest.mark.row("B1.1.a")
def test_a_network_over_a_list_of_pairs():
    params, batch = example()
    plain, compiled = ad.grad(loss)(params, batch), ad.jit(ad.grad(loss))(params, batch)
    assert tree.structure(plain) == tree.structure(params) == tree.structure(compiled)
    for a, b in zip(tree.leaves(plain), tree.leaves(compiled), strict=True):
        assert_allclose(a, b, rtol=1e-11)
    step, last = 1e-6, params[-1][1]
    moved = lambda h: loss([params[0], (params[1][0], last + np.array([h, 0.0]))], batch)
    assert_allclose(plain[-1][1][0], (moved(step) - moved(-step)) / (2 * step), rtol=1e-7)


@pytest.mark.row("B1.1.b")
def test_two_calls_give_the_same_bits():
    first, second = example(7), example(7)
    assert [x.tobytes() for x in tree.leaves(first)] == [x.tobytes() for x in tree.leaves(second)]
    compiled = ad.jit(ad.grad(loss))
    for function in (ad.grad(loss), compiled):
        before = [x.copy() for x in tree.leaves(first)]
        a, b = function(*first), function(*first)
        assert [x.tobytes() for x in tree.leaves(a)] == [x.tobytes() for x in tree.leaves(b)]
        for x, y in zip(tree.leaves(first), before, strict=True):
            assert_array_equal(x, y)  # nothing was written to
