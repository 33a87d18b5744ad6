"""Bilinear maps against contractions of tensors; second derivatives as bilinear maps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear, tree
from adjoint.base.errors import ShapeError

RNG = np.random.default_rng(29)
T = RNG.normal(size=(2, 3, 4))
x, y = RNG.normal(size=3), RNG.normal(size=4)


def contraction(T, x, y):
    return np.einsum("kij,i,j->k", T, x, y)


def test_slots_and_tensors():
    b = linear.bilinear(contraction, 3, 4, parameters=(T,))
    assert b.shape == (2, 3, 4)
    assert_allclose(b(x, y), contraction(T, x, y))
    assert_allclose(b.fix_first(x).to_dense(), np.einsum("kij,i->kj", T, x))
    assert_allclose(b.fix_second(y).to_dense(), np.einsum("kij,j->ki", T, y))
    assert_allclose(b.fix_second(y).T @ np.ones(2), np.einsum("kij,j->i", T, y))
    assert_allclose(b.swapped(y, x), b(x, y))
    assert_allclose(b.swapped.to_dense(), np.moveaxis(T, 1, 2))
    assert "bilinear map contraction" in repr(b)
    with pytest.raises(ShapeError):
        b(y, x)
    with pytest.raises(ShapeError, match="only a form"):
        b.as_map()


def test_bilinear_maps_under_transformations():
    b = linear.bilinear(contraction, 3, 4, parameters=(T,))
    assert_allclose(ad.jit(lambda b, x, y: b(x, y))(b, x, y), contraction(T, x, y), rtol=1e-12)
    slope = ad.grad(lambda T: np.sum(linear.bilinear(contraction, 3, 4, parameters=(T,))(x, y)))(T)
    assert_allclose(slope, np.broadcast_to(np.multiply.outer(x, y), T.shape))
    xs = np.stack([x, 2 * x])
    assert_allclose(ad.vmap(lambda x: b(x, y))(xs), np.stack([b(x, y), 2 * b(x, y)]))


def test_the_second_derivative():
    """∂²f(x)[u, v] is the contraction of the tensor of second derivatives, and symmetric."""
    f = lambda p: np.stack([np.sin(p["a"][0]) * p["b"], p["a"][1] ** 2 * p["a"][0], np.exp(p["b"])])
    p = {"a": np.array([0.4, -1.2]), "b": 0.3}
    b = linear.second_derivative(f)(p)
    u, v = ({"a": RNG.normal(size=2), "b": RNG.normal()} for _ in range(2))
    flat, unravel = tree.ravel(p)
    tensor = ad.hessian(lambda w: f(unravel(w)))(flat)
    assert_allclose(b.to_dense(), tensor, rtol=1e-10, atol=1e-12)
    assert_allclose(b(u, v), np.einsum("kij,i,j->k", tensor, tree.ravel(u)[0], tree.ravel(v)[0]), rtol=1e-10)
    assert_allclose(b(u, v), b(v, u), rtol=1e-12)
    assert b.symmetric
    assert b.swapped is b
    assert "symmetric bilinear map" in repr(b)


def test_forms():
    A = linear.matrix(T[0])
    form = linear.bilinear_form(A)
    assert form(x, y) == pytest.approx(x @ T[0] @ y)
    assert_allclose(form.as_map().to_dense(), T[0])
    S = linear.matrix(np.eye(3) * 2, "symmetric")
    assert linear.bilinear_form(S).symmetric
    assert linear.bilinear_form(S).as_map().has("symmetric")
