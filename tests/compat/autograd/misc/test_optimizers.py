"""Optimizers, containers as vectors and fixed points against autograd's."""

import autograd
import autograd.misc.fixed_points
import autograd.misc.optimizers
import autograd.numpy as anp
import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import RuleError
from adjoint.compat.autograd.misc import const_graph, fixed_points, flatten, optimizers
from adjoint.compat.autograd.misc.flatten import flatten_func

X = np.array([0.3, 1.2, -0.7])
TREE = {"b": np.ones((2, 2)), "a": [1.5, (np.arange(3.0), np.float64(2.0))]}


@pytest.mark.parametrize("name", ["sgd", "rmsprop", "adam"])
def test_steps(name) -> None:
    slopes = lambda p, i: {"w": 2.0 * p["w"] + i, "b": p["b"] - 1.0}
    start = {"w": X, "b": 2.0}
    runs = []
    for module in (autograd.misc.optimizers, optimizers):
        calls = []
        end = getattr(module, name)(slopes, start, lambda p, i, g, calls=calls: calls.append((p["w"], i, g["b"])), 7)
        runs.append((end, calls))
    (expected, seen), (found, mine) = runs
    np.testing.assert_allclose(found["w"], expected["w"])
    np.testing.assert_allclose(found["b"], expected["b"])
    assert len(mine) == len(seen) == 7
    for a, b in zip(mine, seen, strict=True):
        for p, q in zip(a, b, strict=True):
            np.testing.assert_allclose(p, q)


def test_an_optimizer_is_differentiated() -> None:
    """The end of training, in the size of its steps."""
    end = lambda h: np.sum(optimizers.sgd(lambda x, i: 2.0 * x, X, num_iters=4, step_size=h) ** 2)
    ad.check_grads(end, (0.1,))


def test_vectors_of_containers() -> None:
    vector, back = flatten(TREE)
    expected, _ = autograd.misc.flatten(TREE)
    np.testing.assert_allclose(vector, expected)
    again = back(2.0 * vector)
    assert list(again) == list(TREE)
    assert ad.tree.structure(again) == ad.tree.structure(TREE)
    np.testing.assert_allclose(again["a"][1][0], 2.0 * np.arange(3.0))
    np.testing.assert_allclose(ad.grad(lambda t: np.sum(flatten(t)[0] ** 2))(TREE)["b"], 2.0)
    np.testing.assert_allclose(ad.grad(lambda v: np.sum(back(v)["b"] ** 2))(vector)[-4:], 2.0)
    squared, _, start = flatten_func(lambda t: {"b": t["b"] ** 2}, TREE)
    np.testing.assert_allclose(squared(2.0 * start), 4.0)
    assert flatten([])[0].shape == (0,)


def test_fixed_points() -> None:
    gap = lambda x, y: np.max(np.abs(x - y))
    weights = np.array([[0.2, -0.3], [0.1, 0.4]])

    def solved(module, n):
        step = lambda a: lambda x: n.tanh(n.dot(weights, x) + a)
        return lambda a: n.sum(module.fixed_point(step, a, np.zeros(2), gap, 1e-14) ** 2)

    mine, theirs = solved(fixed_points, np), solved(autograd.misc.fixed_points, anp)
    a = np.array([0.3, -0.8])
    np.testing.assert_allclose(ad.grad(mine)(a), autograd.grad(theirs)(a), rtol=1e-10)
    ad.check_grads(mine, (a,), order=2)
    with pytest.raises(RuleError, match="fixed_point: it reads a traced value that is none of its arguments"):
        ad.grad(lambda b: fixed_points.fixed_point(lambda a: lambda x: 0.5 * x + a * b, b, 1.0, gap, 1e-12))(2.0)


def test_constant_graphs() -> None:
    scaled = const_graph(lambda k, x: np.sum(np.sin(x) * k), 2.0)
    for x in (X, -X):
        assert scaled(x) == pytest.approx(2.0 * np.sum(np.sin(x)))
        np.testing.assert_allclose(ad.grad(scaled)(x), 2.0 * np.cos(x))
