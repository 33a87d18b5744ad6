"""Jacobian, Hessian, Gauss-Newton and Fisher maps against dense derivatives, differences and enumeration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear, tree
from adjoint.base.errors import ShapeError
from adjoint.testing import count_calls

RNG = np.random.default_rng(5)
X = RNG.normal(size=(6, 3))
LABELS = np.array([0, 2, 1, 1, 0, 2])
W = {"w": RNG.normal(size=(3, 3)) * 0.5, "b": RNG.normal(size=3)}


def model(p):
    return np.tanh(X @ p["w"] + p["b"])


def cross_entropy(y):
    return np.sum(np.log(np.sum(np.exp(y), axis=1)) - y[np.arange(6), LABELS])


def loss(p):
    return cross_entropy(model(p))


def flat_jacobian(f, p):
    """Central differences along every unit vector."""
    h = 1e-6
    sides = [(tree.add(p, tree.scale(h, e)), tree.subtract(p, tree.scale(h, e))) for e in tree.basis(p)]
    return np.stack([(tree.ravel(f(q))[0] - tree.ravel(f(r))[0]) / (2 * h) for q, r in sides], axis=1)


def test_jacobian_map():
    J = linear.jacobian(model)(W)
    assert J.shape == (18, 12)
    assert_allclose(J.to_dense(), flat_jacobian(model, W), rtol=1e-6, atol=1e-8)
    v, u = J.domain.random(RNG), J.range.random(RNG)
    assert_allclose(J @ v, ad.jvp(model, (W,), (v,))[1], rtol=1e-12)
    pulled = ad.vjp(model, W)[1](u)[0]
    assert_allclose((J.T @ u)["w"], pulled["w"], rtol=1e-12)
    assert_allclose(J.value, model(W))
    assert "Derivative of model 18×12" in repr(J)


def test_the_function_runs_once():
    counted = count_calls(model)
    J = linear.jacobian(counted)(W)
    for _ in range(3):
        J(J.domain.random(RNG))
        J.adjoint(J.range.random(RNG))
    J.to_dense()
    assert counted.calls == 1


def test_several_arguments_and_keywords():
    f = lambda a, b, *, c: c * np.sin(a) * b**2
    a, b = RNG.normal(size=(2, 3))
    assert_allclose(linear.jacobian(f, 1)(a, b, c=2.0).to_dense(), np.diag(4 * np.sin(a) * b))
    assert_allclose(linear.jacobian(f, -1)(a, b, c=2.0).to_dense(), np.diag(4 * np.sin(a) * b))
    both = linear.jacobian(f, (1, 0))(a, b, c=2.0)
    assert_allclose(both.to_dense(), np.hstack([np.diag(4 * np.sin(a) * b), np.diag(2 * np.cos(a) * b**2)]))
    assert_allclose(linear.hessian(f_sum, (0, 1))(a, b).to_dense(), dense_hessian(f_sum, a, b), rtol=1e-9)
    with pytest.raises(ShapeError, match="argnums=3"):
        linear.jacobian(f, 3)(a, b, c=1.0)


def f_sum(a, b):
    return np.sum(np.sin(a) * b**2)


def dense_hessian(f, a, b):
    blocks = ad.hessian(f, (0, 1))(a, b)
    return np.block([[blocks[i][j] for j in (0, 1)] for i in (0, 1)])


def test_hessian_map():
    H = linear.hessian(loss)(W)
    assert H.has("symmetric")
    linear.check_facts(H, "symmetric")
    assert_allclose(H.to_dense(), flat_jacobian(ad.grad(loss), W), rtol=1e-5, atol=1e-7)
    assert linear.hessian(loss, 0, "positive definite")(W).method == "cholesky"


def test_gauss_newton_map():
    G = linear.gauss_newton(cross_entropy, model)(W)
    J = flat_jacobian(model, W)
    curvature = ad.hessian(cross_entropy)(model(W)).reshape(18, 18)
    assert_allclose(G.to_dense(), J.T @ curvature @ J, rtol=1e-6, atol=1e-8)
    assert G.has("positive semidefinite")
    linear.check_facts(G)
    damped = G + 0.1 * linear.identity(W)
    step = damped.solve(ad.grad(loss)(W))
    assert_allclose(damped(step)["w"], ad.grad(loss)(W)["w"], rtol=1e-8)
    assert not linear.gauss_newton(cross_entropy, model, convex=False)(W).has("positive semidefinite")


def test_fisher_map_of_a_categorical_distribution():
    """With logits θ the Fisher information is diag(p) - p pᵀ; p = (.5, .3, .2) has the diagonal (.25, .21, .16)."""
    p = np.array([0.5, 0.3, 0.2])
    logits = np.log(p)
    log_q = lambda theta, y: theta[y] - np.log(np.sum(np.exp(theta)))
    F = linear.fisher(log_q)(logits, np.arange(3), p)
    assert_allclose(F.to_dense(), np.diag(p) - np.outer(p, p), atol=1e-12)
    assert_allclose(F.diagonal(), [0.25, 0.21, 0.16])
    assert F.has("positive semidefinite")
    drawn = np.random.default_rng(0).choice(3, size=4000, p=p)
    assert_allclose(linear.fisher(log_q)(logits, drawn).to_dense(), F.to_dense(), atol=0.02)
    with pytest.raises(ShapeError, match="3 samples need 3 weights"):
        linear.fisher(log_q)(logits, np.arange(3), np.ones(2))


def test_maps_of_functions_under_transformations():
    """Inside jit, grad and vmap, and as arguments of compiled functions."""
    v = tree.map(lambda leaf: RNG.normal(size=leaf.shape), W)

    def curvature_along(p):
        return tree.vdot(v, linear.hessian(loss)(p) @ v)

    expected = ad.jvp(lambda p: ad.jvp(loss, (p,), (v,))[1], (W,), (v,))[1]
    assert curvature_along(W) == pytest.approx(expected, rel=1e-10)
    assert ad.jit(curvature_along)(W) == pytest.approx(expected, rel=1e-10)
    third = ad.grad(lambda p: ad.jvp(lambda q: ad.jvp(loss, (q,), (v,))[1], (p,), (v,))[1])(W)
    for slope in (ad.grad(curvature_along)(W), ad.jit(ad.grad(curvature_along))(W)):
        assert_allclose(slope["w"], third["w"], rtol=1e-8, atol=1e-10)
    points = np.stack([W["b"], 2 * W["b"], -W["b"]])
    square = lambda b: np.sum(np.tanh(b) ** 3)
    found = ad.vmap(lambda b: linear.hessian(square)(b) @ v["b"])(points)
    assert_allclose(found, [ad.hessian(square)(b) @ v["b"] for b in points], rtol=1e-10)
    applied = ad.jit(lambda H, v: H @ v)
    for p in (W, tree.scale(2.0, W)):
        H = linear.hessian(loss)(p)
        assert_allclose(applied(H, v)["w"], (H @ v)["w"], rtol=1e-9)


def test_a_record_made_inside_a_transformation_is_made_again_outside():
    J = linear.jacobian(lambda x: np.sin(x) * x)(np.arange(3.0))
    inside = ad.jit(lambda v: J @ v)(np.ones(3))
    assert_allclose(inside, J @ np.ones(3))
    assert_allclose(ad.vmap(lambda v: J @ v)(np.eye(3)), J.to_dense().T)
    assert_allclose(ad.grad(lambda v: np.sum(J @ v))(np.ones(3)), J.to_dense().sum(0))
