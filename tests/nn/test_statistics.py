"""Running statistics through every transformation, and which leaves are trained."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint import nn

X = np.random.default_rng(0).normal(1.0, 2.0, (6, 3))


def network(seed=0):
    rng = ad.random.default_rng(seed)
    return nn.Sequential((nn.Linear.init(rng, 3, 3), nn.BatchNorm.init(3), np.tanh))


def loss(model, x, rng):
    return np.sum(model(x, rng=rng) ** 2)


def statistics(model):
    return model.layers[1].statistics


def expected(model, times=1):
    """Mean 0 and variance 1, moved towards those of the batch, in plain NumPy."""
    inner = model.layers[0]
    h = X @ inner.weight + inner.bias
    mean, variance = np.zeros(3), np.ones(3)
    for _ in range(times):
        mean, variance = 0.9 * mean + 0.1 * h.mean(0), 0.9 * variance + 0.1 * h.var(0, ddof=1)
    return mean, variance


TRANSFORMATIONS = {
    "plain": lambda f: f,
    "jit": ad.jit,
    "grad": ad.grad,
    "jit of grad": lambda f: ad.jit(ad.value_and_grad(f)),
    "checkpoint": lambda f: ad.grad(ad.checkpoint(f)),
    "jvp": lambda f: lambda m, x, r: ad.jvp(lambda x: f(m, x, r), (x,), (x,)),
    "vjp": lambda f: lambda m, x, r: ad.vjp(lambda m: f(m, x, r), m)[1](1.0),
    "hvp": lambda f: lambda m, x, r: ad.hvp(lambda x: f(m, x, r), (x,), (x,)),
    "cond": lambda f: (
        lambda m, x, r: ad.jit(lambda m, x, r, b: ad.cond(b, f, lambda m, x, r: 0.0, m, x, r))(m, x, r, True)
    ),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_the_callers_statistics_change_once(name):
    model = network()
    TRANSFORMATIONS[name](loss)(model, X, ad.random.default_rng(1))
    mean, variance = expected(model)
    assert type(statistics(model).mean) is np.ndarray
    assert_allclose(statistics(model).mean, mean, rtol=1e-12)
    assert_allclose(statistics(model).variance, variance, rtol=1e-12)


def test_they_are_constants_of_the_gradient():
    model = network()
    rng = ad.random.default_rng(1)
    gradient = ad.grad(loss)(model, X, rng)
    assert_array_equal(statistics(gradient).mean, np.zeros(3))
    assert [bool(flag) for flag in ad.tree.leaves(nn.trainable(model))] == [True] * 4 + [False] * 2
    evaluated = ad.grad(lambda model: np.sum(model(X) ** 2))(model)  # read, not changed
    assert_array_equal(statistics(evaluated).variance, np.zeros(3))
    tangent = ad.tree.map(np.ones_like, model)
    with pytest.raises(ad.DtypeError, match=r"statistics.mean is state that the function changes"):
        ad.jvp(lambda m: loss(m, X, rng), (model,), (tangent,))


def test_evaluation_uses_them_and_leaves_them():
    model = network()
    loss(model, X, ad.random.default_rng(1))
    mean, variance = expected(model)
    h = X @ model.layers[0].weight + model.layers[0].bias
    assert_allclose(model(X), np.tanh((h - mean) / np.sqrt(variance + 1e-5)), rtol=1e-12)
    assert_allclose(model(X[:1]), model(X)[:1], rtol=1e-13)  # also one example
    assert_allclose(statistics(model).mean, mean)


def test_a_compiled_closure_is_never_stale():
    model = network()
    compiled = ad.jit(lambda x: model(x))
    first = compiled(X)
    loss(model, X, ad.random.default_rng(1))
    assert_allclose(compiled(X), model(X), rtol=1e-13)
    assert np.max(np.abs(compiled(X) - first)) > 0.01
    with pytest.raises(ad.TraceError, match="Pass the model in as an argument"):
        ad.jit(lambda x: model(x, rng=ad.random.default_rng(2)))(X)


def test_in_a_stack_each_layer_has_its_own():
    layers = [network(seed) for seed in range(3)]
    stack = nn.Stack.of(copy.deepcopy(layers))
    rng = ad.random.default_rng(3)
    ad.jit(ad.grad(loss))(stack, X, rng)
    x = X
    for i, layer in enumerate(layers):
        x = layer(x, rng=rng)
        assert_allclose(stack.layers.layers[1].statistics.mean[i], statistics(layer).mean, rtol=1e-12)
        assert_allclose(stack.layers.layers[1].statistics.variance[i], statistics(layer).variance, rtol=1e-12)


def test_ensembles_map_over_stacked_statistics():
    models = [network(seed) for seed in range(3)]
    together = nn.Stack.of(copy.deepcopy(models)).layers
    rng = ad.random.default_rng(3)
    values = ad.vmap(lambda m: loss(m, X, rng))(together)
    assert_allclose(values, [loss(m, X, rng) for m in models], rtol=1e-12)
    assert_allclose(statistics(together).mean, [statistics(m).mean for m in models], rtol=1e-12)


def test_bad_uses():
    model, rng = network(), ad.random.default_rng(0)
    with pytest.raises(ad.ShapeError, match="trained inside vmap"):
        ad.vmap(lambda m, x: loss(m, x, rng), in_axes=(None, 0))(model, np.stack([X, X]))
    with pytest.raises(ad.ShapeError, match=r"model.layers\[1\] \(BatchNorm 3\): x is \(1, 3\).*larger batches"):
        loss(model, X[:1], rng)
    with pytest.raises(ad.ShapeError, match="Give None in in_axes"):
        ad.vmap(lambda m, x: loss(m, x, rng))(model, np.stack([X] * 3))


def test_copies_and_pickles_are_their_own():
    model = network()
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model.layers[1]))):
        before = statistics(model).mean.copy()
        inner = other if isinstance(other, nn.BatchNorm) else other.layers[1]
        inner(X, rng=ad.random.default_rng(0))
        assert_array_equal(statistics(model).mean, before)


def test_trainable_by_path():
    model = nn.Sequential((nn.MLP.init(ad.random.default_rng(0), [3, 4, 2]), nn.BatchNorm.init(2)))
    flags = nn.trainable(model, "layers[0].layers[-1]", "layers[1]")
    assert [bool(f) for f in ad.tree.leaves(flags)] == [False, False, True, True, True, True, False, False]
    frozen = ad.tree.map(lambda flag, leaf: leaf if flag else np.zeros_like(leaf), flags, model)
    assert isinstance(frozen, nn.Sequential)
