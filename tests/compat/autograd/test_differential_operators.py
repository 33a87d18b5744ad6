"""Each operator against autograd's own, on real and complex variables and on containers."""

import importlib
from collections import OrderedDict

import autograd
import autograd.numpy as anp
import numpy as np
import pytest

import adjoint as ad
import adjoint.compat.autograd as ours
import adjoint.compat.autograd.numpy as onp

BOTH = {"autograd": (autograd, anp), "adjoint": (ours, onp)}
X, Y = np.array([0.3, 1.2, -0.7]), np.array([[0.5, 1.0, 2.0], [1.5, -1.0, 0.2]])
Z = np.array([0.4 + 0.3j, -1.1 + 0.8j])


def _product(lib, n):
    return lambda x, y: n.sum(n.sin(n.dot(y, x)) ** 2) * x[0]


# what is computed with a library and its numpy
CASES = {
    "grad": lambda a, n: a.grad(_product(a, n))(X, Y),
    "grad in another argument": lambda a, n: a.grad(_product(a, n), argnum=1)(X, Y),
    "grad in several": lambda a, n: a.grad(_product(a, n), (1, 0))(X, Y),
    "grad in a list of places": lambda a, n: a.grad(_product(a, n), [0])(X, Y),
    "grad of one element": lambda a, n: a.grad(lambda x: n.reshape(n.sum(x**2), (1, 1)))(X),
    "grad of a dict": lambda a, n: a.grad(lambda p: n.sum(p["w"] * X) * p["b"][1])({"w": X, "b": [2.0, 3.0]}),
    "grad of a complex variable": lambda a, n: a.grad(lambda z: n.real(n.sum(z**2 * (1 + 2j))))(Z),
    "grad of an absolute value": lambda a, n: a.grad(lambda z: n.sum(n.abs(z) ** 3))(Z),
    "grad through complex numbers": lambda a, n: a.grad(lambda x: n.sum(n.abs(n.fft.fft(x)) ** 2 * np.arange(3.0)))(X),
    "grad of grad, complex": lambda a, n: a.grad(lambda z: n.real(a.grad(lambda w: n.real(w**3))(z) ** 2))(0.3 + 0.4j),
    "value_and_grad": lambda a, n: a.value_and_grad(_product(a, n))(X, Y),
    "value of one element": lambda a, n: a.value_and_grad(lambda x: x[:1] ** 2)(X),
    "elementwise_grad": lambda a, n: a.elementwise_grad(lambda x, y: n.tanh(x * y))(X, Y[0]),
    "elementwise_grad, thrice": lambda a, n: a.elementwise_grad(a.elementwise_grad(a.elementwise_grad(n.tanh)))(X),
    "deriv": lambda a, n: a.deriv(n.tanh)(0.4),
    "deriv, complex": lambda a, n: a.deriv(n.sin)(0.4 + 0.1j),
    "jacobian": lambda a, n: a.jacobian(lambda x: n.outer(n.sin(x), x))(X),
    "jacobian in another argument": lambda a, n: a.jacobian(lambda x, y: n.dot(y, x) ** 2, 1)(X, Y),
    "jacobian of a scalar": lambda a, n: a.jacobian(lambda x: n.sum(x**3))(X),
    "jacobian in complex variables": lambda a, n: a.jacobian(lambda z: n.abs(z) ** 2)(Z),
    "hessian": lambda a, n: a.hessian(lambda x: n.sum(x**3) * x[0])(X),
    "hessian of a vector": lambda a, n: a.hessian(lambda x: x**3 * x[0])(X),
    "holomorphic_grad": lambda a, n: a.holomorphic_grad(lambda z: n.exp(z) * n.sin(z))(0.3 + 0.7j),
    "grad_named": lambda a, n: a.grad_named(lambda x, y: n.sum(x * y**2), "y")(X, X),
    "hessian_vector_product": lambda a, n: a.hessian_vector_product(_product(a, n))(X, Y, X),
    "hessian_tensor_product": lambda a, n: a.hessian_tensor_product(lambda y: n.sum(y**3))(Y, Y),
    "tensor_jacobian_product": lambda a, n: a.tensor_jacobian_product(lambda x: n.outer(x, x))(X, np.ones((3, 3))),
    "vector_jacobian_product": lambda a, n: a.vector_jacobian_product(lambda x: n.sin(x) * x[0])(X, X),
    "make_vjp": lambda a, n: (lambda pull, y: (y, pull(y)))(*a.make_vjp(lambda x: n.sin(x) * x[0])(X)),
    "make_vjp, complex": lambda a, n: a.make_vjp(n.exp)(0.4 + 1j)[0](2 - 1j),
    "make_vjp, real to complex": lambda a, n: a.make_vjp(lambda x: n.exp(1j * x))(0.4)[0](2 - 1j),
    "make_vjp of several": lambda a, n: a.make_vjp(lambda x, y: n.dot(y, x), (0, 1))(X, Y)[0](np.array([1.0, -2.0])),
    "make_jvp": lambda a, n: a.make_jvp(lambda x: n.sin(x) * x[0])(X)(X),
    "make_jvp, complex": lambda a, n: a.make_jvp(n.exp)(0.4 + 1j)(2 - 1j),
    "make_hvp": lambda a, n: (lambda hvp, g: (hvp(X), g))(*a.make_hvp(lambda x: n.sum(x**3) * x[1])(X)),
    "make_ggnvp": lambda a, n: a.make_ggnvp(lambda x: n.tanh(n.dot(Y, x)))(X)(X),
    "make_ggnvp, another loss": lambda a, n: a.make_ggnvp(n.sin, lambda y: n.sum(n.exp(y)))(X)(X),
    "grad_and_aux": lambda a, n: a.grad_and_aux(lambda x: a.tuple((n.sum(x**2), x * 2)))(X),
    "checkpoint": lambda a, n: a.grad(lambda x: n.sum(a.checkpoint(lambda v: n.sin(v) ** 2)(x)))(X),
    "independent of its argument": lambda a, n: a.grad(lambda x: 3.0)(X),
    "a loop that assigns": lambda a, n: a.grad(lambda x: sum(n.sin(x[i]) for i in range(3) if x[i] > 0))(X),
}


@pytest.mark.filterwarnings("ignore")  # autograd's, about outputs without derivative and NumPy
@pytest.mark.parametrize("name", CASES)
def test_operators_agree(name) -> None:
    expected, found = (CASES[name](*BOTH[lib]) for lib in ("autograd", "adjoint"))
    assert ad.tree.structure(found) == ad.tree.structure(expected)
    for a, b in zip(ad.tree.leaves(found), ad.tree.leaves(expected), strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


def test_gradients_by_name() -> None:
    """autograd's own needs a package that is not installed with it."""

    def f(x, *rest, scale=2.0, **named):
        return scale * np.sum(x**2) + rest[0] * named["more"]

    found = ours.multigrad_dict(f)(X, 3.0, more=4.0)
    assert isinstance(found, OrderedDict)
    assert list(found) == ["x", "rest", "scale", "named"]
    np.testing.assert_allclose(found["x"], 4 * X)
    assert found["rest"] == (4.0,)
    assert found["scale"] == pytest.approx(np.sum(X**2))
    assert found["named"] == {"more": 3.0}


def test_names_of_results() -> None:
    def loss(x):
        """How far."""
        return x

    assert ours.grad(loss).__name__ == autograd.grad(loss).__name__ == "grad_of_loss_wrt_argnum_0"
    assert ours.jacobian(loss, 1).__name__ == autograd.jacobian(loss, 1).__name__


def test_whole_numbers_are_made_floats() -> None:
    np.testing.assert_allclose(ours.grad(lambda x: np.sum(x**2))(np.array([1, 2, 3])), [2.0, 4.0, 6.0])
    np.testing.assert_allclose(ours.jacobian(lambda x: x**2)(np.array([1, 2])), np.diag([2.0, 4.0]))


def test_errors() -> None:
    with pytest.raises(TypeError, match="one real number"):
        ours.grad(lambda x: x)(X)
    with pytest.raises(TypeError, match="one real number"):
        ours.grad(lambda z: z * z)(1j)
    with pytest.raises(TypeError, match="real functions"):
        ours.elementwise_grad(lambda z: z * 1j)(X)
    with pytest.raises(TypeError, match="holomorphic=True"):
        ours.jacobian(lambda z: z * z)(Z)
    with pytest.raises(TypeError, match="argnum"):
        ours.grad(np.sum, "x")
    with pytest.raises(TypeError, match="by position"):
        ours.make_vjp(lambda x: x)(x=1.0)
    with pytest.raises(ValueError, match="no argument 'w'"):
        ours.grad_named(lambda x: x, "w")
    with pytest.warns(UserWarning, match="not complex"):
        ours.holomorphic_grad(np.sin)(0.3)


def test_other_transformations_take_them() -> None:
    """They are functions like others: compiled, mapped, nested with adjoint's own."""
    f = lambda x: np.sum(np.sin(x) ** 2)
    np.testing.assert_allclose(ad.jit(ours.grad(f))(X), np.sin(2 * X))
    np.testing.assert_allclose(ad.vmap(ours.grad(f))(Y), np.sin(2 * Y))
    np.testing.assert_allclose(np.diag(ad.jacfwd(ours.grad(f))(X)), 2 * np.cos(2 * X))
    check_grads = importlib.import_module("adjoint.compat.autograd.test_util").check_grads
    check_grads(f, order=2)(X)
    check_grads(lambda x, y: np.dot(y, x), argnum=(0, 1), modes=["rev"])(X, Y)
    with pytest.raises(AssertionError):
        check_grads(ad.custom_rule(f, jvp=lambda p, t: (f(*p), 2.0 * np.sum(t[0]))))(X)
