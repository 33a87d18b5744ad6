"""Results that have no derivative: whole numbers and truth values."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import DtypeError
from adjoint.compat import autograd

X = np.array([1.0, 3.0, 2.0])
NUMBERS = {
    "argmax": np.argmax,
    "any": lambda x: np.any(x > 2),
    "count": lambda x: np.sum(x > 1),
    "count_nonzero": np.count_nonzero,
    "searchsorted": lambda x: np.searchsorted(X, x[0]),
    "astype": lambda x: np.sum(x).astype(int),
    "truth": lambda x: bool(x[0] > 0),
}
ARRAYS = {"argsort": np.argsort, "greater": lambda x: x > 1, "sign": np.signbit}
OF_NUMBERS: dict[str, Any] = {
    "grad": lambda f: ad.grad(f)(X),
    "value_and_grad": lambda f: ad.value_and_grad(f)(X),
    "has_aux": lambda f: ad.grad(lambda x: (f(x), x), has_aux=True)(X),
    "hessian": lambda f: ad.hessian(f)(X),
    "hvp": lambda f: ad.hvp(f, (X,), (X,)),
    "jit": lambda f: ad.jit(ad.grad(f))(X),
    "vmap": lambda f: ad.vmap(ad.grad(f))(np.stack([X, X])),
    "jit of vmap": lambda f: ad.jit(ad.vmap(ad.grad(f)))(np.stack([X, X])),
    "partials": lambda f: ad.partials(f, 2)(X),
    "sparse hessian": lambda f: ad.sparse.hessian(f)(X),
    "backpropagate": lambda f: ad.curvature.backpropagate(f)(X),
    "autograd": lambda f: autograd.grad(f)(X),
}
OF_ARRAYS: dict[str, Any] = {
    "jacrev": lambda f: ad.jacrev(f)(X),
    "jacfwd": lambda f: ad.jacfwd(f)(X),
    "jacobian": lambda f: ad.jacobian(f)(X),
    "jit": lambda f: ad.jit(ad.jacobian(f))(X),
    "vjp": lambda f: ad.vjp(f, X),
    "sparse jacobian": lambda f: ad.sparse.jacobian(f)(X),
    "laplacian": lambda f: ad.laplacian(f)(X),
}


@pytest.mark.parametrize("name", NUMBERS | ARRAYS)
def test_a_whole_result_has_no_derivative(name: str) -> None:
    f = (NUMBERS | ARRAYS)[name]
    dtype = np.asarray(f(X)).dtype
    for transform in OF_ARRAYS | (OF_NUMBERS if name in NUMBERS else {}):
        with pytest.raises(DtypeError, match=f"a result of dtype {dtype} has no derivative.*has_aux"):
            (OF_NUMBERS | OF_ARRAYS)[transform](f)


def test_derivatives_of_higher_order() -> None:
    with pytest.raises(DtypeError, match="derivative: the function returned bool"):
        ad.derivative(lambda x: x > 0, 2)(1.0)


def test_forward_mode_gives_zero_tangents() -> None:
    """As jax.jvp, whose tangents of whole numbers are zeros of a type of their own."""
    for f in (NUMBERS | ARRAYS).values():
        value, tangent = ad.jvp(f, (X,), (X,))
        np.testing.assert_array_equal(value, f(X))
        np.testing.assert_array_equal(tangent, np.zeros_like(f(X)))


def test_beside_others_and_as_constants() -> None:
    f = lambda x: {"value": x**2, "place": np.argmax(x)}
    np.testing.assert_allclose(ad.jacobian(f)(X)["value"], np.diag(2 * X))
    _, pullback = ad.vjp(f, X)
    np.testing.assert_allclose(pullback({"value": np.ones(3), "place": None})[0], 2 * X)
    (slope, place) = ad.grad(lambda x: (np.max(x), np.argmax(x)), has_aux=True)(X)
    np.testing.assert_array_equal(slope, [0.0, 1.0, 0.0])
    assert place == 1
    assert ad.grad(lambda x: 0)(1.0) == 0.0  # a constant, as a sum of no terms gives
    mixed = {"w": X, "n": np.array([2, 3])}
    np.testing.assert_allclose(ad.hessian(lambda p: np.sum(p["w"] ** 2) * p["n"][0])(mixed)["w"]["w"], 4 * np.eye(3))
