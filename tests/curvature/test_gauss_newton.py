"""Gauss-Newton, Fisher and quadratic models inside other transformations, over trees, pickled, and refused."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import curvature
from adjoint.base.errors import ShapeError

RNG = np.random.default_rng(12)
A = RNG.normal(size=(3, 4))
W, V = RNG.normal(size=(2, 4))


def model(w):
    return np.tanh(A @ w)


def loss(z):
    return np.log(np.sum(np.exp(z))) + np.sum(z**2)


def outcome_loss(z, y):
    return np.log(np.sum(np.exp(z))) - z[y]


def product(w):
    return curvature.gauss_newton_product(loss, model, (w,), (V,))


def information(w):
    return curvature.fisher_product(outcome_loss, model, (w,), (V,), support=np.arange(3))


@pytest.mark.parametrize("f", [product, information])
def test_products_are_differentiated_batched_and_compiled(f):
    h, v = 1e-5, RNG.normal(size=4)
    slope = (f(W + h * v) - f(W - h * v)) / (2 * h)
    assert_allclose(ad.jvp(f, (W,), (v,))[1], slope, rtol=1e-6, atol=1e-8)
    assert_allclose(ad.grad(lambda w: np.sum(f(w)))(W) @ v, np.sum(slope), rtol=1e-6, atol=1e-8)
    points = np.stack([W, W + 0.5])
    assert_allclose(ad.vmap(f)(points), [f(w) for w in points], rtol=1e-12)
    assert_allclose(ad.jit(f)(W), f(W), rtol=1e-12)


def test_several_arguments():
    two = lambda a, b: np.tanh(a["m"] @ b)
    primals, tangents = ({"m": A}, W), ({"m": np.ones_like(A)}, V)
    by_a, by_b = curvature.gauss_newton_product(loss, two, primals, tangents)
    J = ad.jacobian(two, (0, 1))(*primals)
    H = ad.hessian(loss)(two(*primals))
    pushed = np.tensordot(J[0]["m"], tangents[0]["m"], 2) + J[1] @ V
    assert_allclose(by_a["m"], np.tensordot(H @ pushed, J[0]["m"], 1), rtol=1e-12)
    assert_allclose(by_b, H @ pushed @ J[1], rtol=1e-12)


def test_they_have_names_and_pickle():
    for made in (
        curvature.gauss_newton(loss, model),
        curvature.hessian_split(loss, model),
        curvature.gauss_newton_factor(loss, model),
        curvature.fisher(outcome_loss, model, support=np.arange(3)),
        curvature.backpropagate(product_sum),
        curvature.block_hessian(product_sum),
        curvature.diagonal_hessian(model, loss=loss),
        curvature.block_gauss_newton(loss, model),
    ):
        again = pickle.loads(pickle.dumps(made))
        for a, b in zip(ad.tree.leaves(made(W)), ad.tree.leaves(again(W)), strict=True):
            assert np.array_equal(a, b)
        assert made.__name__ in repr(made)


def product_sum(w):
    return np.sum(model(w) ** 2)


def test_a_model_compiled_and_one_that_is_a_program():
    for other in (ad.jit(model), ad.checkpoint(model), ad.trace(model)(W)):
        assert_allclose(curvature.gauss_newton_product(loss, other, (W,), (V,)), product(W), rtol=1e-12)
        assert_allclose(
            curvature.block_gauss_newton(loss, other)(W), curvature.gauss_newton(loss, model)(W), rtol=1e-11
        )


def test_quadratic_models_inside_other_transformations():
    f = lambda w: loss(model(w))
    at = lambda w: curvature.quadratic_model(f)(w)(V)
    assert_allclose(ad.jit(at)(W), at(W), rtol=1e-12)
    h = 1e-5
    slopes = [(at(W + h * e) - at(W - h * e)) / (2 * h) for e in np.eye(4)]
    assert_allclose(ad.grad(at)(W), slopes, rtol=1e-6, atol=1e-8)
    tree = curvature.quadratic_model(lambda p: np.sum(p["a"] ** 2) * p["b"])({"a": W, "b": 2.0})
    assert_allclose(tree({"a": V, "b": 0.5}), np.sum((W + V) ** 2) * 2.5 - 0.5 * V @ V, rtol=1e-12)


def test_refusals():
    with pytest.raises(TypeError, match="pair"):
        curvature.gauss_newton(loss, model, samples=A)(W)
    with pytest.raises(ShapeError, match="one length"):
        curvature.gauss_newton_product(loss, model, (W,), (V,), samples=(A, np.ones(5)))
    with pytest.raises(ValueError, match="sums to"):
        curvature.fisher(outcome_loss, lambda w: 2 * w, support=np.arange(2))(W)
    many, inputs = lambda w, x: x * w, np.array([1.0, 2.0])
    with pytest.raises(ValueError, match="sums to"):
        curvature.fisher(outcome_loss, many, inputs=inputs, support=np.arange(2))(W)
    with pytest.raises(ValueError, match="sums to"):
        curvature.fisher_product(outcome_loss, many, (W,), (W,), inputs=inputs, support=np.arange(2))


def test_inverse_products_of_complex_arguments():
    """Linear over the real numbers alone: solved by iteration."""
    f = lambda z: np.sum(np.abs(z) ** 4) + np.sum(np.abs(z) ** 2)
    z, u = np.array([1j, 2.0, 1.0 - 1j]), np.array([1.0, 1j, 2.0 + 1j])
    found = curvature.inverse_hvp(f, (z,), u)
    assert (found.method, found.status) == ("minres", "converged")
    assert_allclose(ad.hvp(f, (z,), (found.value,)), u, rtol=1e-8)


def test_models_without_parameters():
    none = np.zeros(0)
    factor = curvature.gauss_newton_factor(lambda z: np.sum(z**2), np.sin)(none)
    assert factor.shape == (0, 0)
    assert curvature.factor_product(factor, none).shape == (0,)


def test_rounding_is_no_outcome_that_is_missing():
    logits = np.linspace(-73.5, 73.5, 200).astype(np.float32)
    loss = lambda z, y: np.log(np.sum(np.exp(z))) - z[y]
    found = curvature.output_fisher(loss, logits, support=np.arange(200))
    p = np.exp(logits - logits.max(), dtype=float)
    p /= p.sum()
    assert found.dtype == np.float32
    assert_allclose(found, np.diag(p) - np.outer(p, p), atol=1e-5)
    with pytest.raises(ValueError, match="sums to 0"):
        curvature.output_fisher(loss, logits, support=np.arange(199))


def scaled(w, scale=1.0):
    return np.sin(w) * scale


def of_inputs(w, x, scale=1.0):
    return np.sin(w) * x * scale


def test_what_is_given_by_name_reaches_the_model():
    w, inputs, labels = np.array([0.3, -0.7, 1.1]), np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]]), np.array([0, 2])
    convex = lambda z: np.sum(np.cosh(z))
    loss = lambda z, y: np.log(np.sum(np.exp(z))) - z[y]
    classes = np.arange(3)
    J, z = np.diag(3 * np.cos(w)), 3 * np.sin(w)
    p = np.exp(z) / np.sum(np.exp(z))
    wanted = J @ np.diag(np.cosh(z)) @ J
    assert_allclose(curvature.gauss_newton(convex, scaled)(w, scale=3.0), wanted)
    assert_allclose(curvature.hessian_split(convex, scaled)(w, scale=3.0).gauss_newton, wanted)
    V = curvature.gauss_newton_factor(convex, scaled)(w, scale=3.0)
    assert_allclose(V @ V.T, wanted, atol=1e-14)
    q = curvature.quadratic_model(scaled, loss=convex)(w, scale=3.0)
    assert_allclose(q.product(w), wanted @ w)
    fisher = curvature.fisher(loss, scaled, support=classes)(w, scale=3.0)
    assert_allclose(fisher, J @ (np.diag(p) - np.outer(p, p)) @ J, atol=1e-14)
    total = lambda w, scale=1.0: np.sum(np.cosh(w)) * scale
    assert_allclose(curvature.factored_hessian(total)(w, scale=3.0).solve(w), w / (3 * np.cosh(w)))
    fixed = lambda w, x: of_inputs(w, x, 3.0)
    for make in (
        lambda model: curvature.gauss_newton(loss, model, samples=(inputs, labels)),
        lambda model: curvature.fisher(loss, model, inputs=inputs, support=classes),
        lambda model: curvature.empirical_fisher(loss, model, (inputs, labels)),
    ):
        assert_allclose(make(of_inputs)(w, scale=3.0), make(fixed)(w), rtol=1e-12)
        with pytest.raises(TypeError, match=r"called with the parameters w; got 2 positional .* by name"):
            make(of_inputs)(w, 3.0)
    with pytest.raises(TypeError, match="data must be a pair"):
        curvature.empirical_fisher(loss, of_inputs, inputs[0])(w)
