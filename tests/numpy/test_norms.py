"""Norms and condition numbers: NumPy's values for every order, derivatives, and zero at the origin."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.numpy.checking import Case, array, complex_array, every_check, signed

linalg, inf = np.linalg, np.inf
VECTOR_ORDERS = [None, 0, 1, 2, 3, 2.5, 0.5, inf, -inf, -1, -2]
MATRIX_ORDERS = [None, "fro", "nuc", 1, -1, 2, -2, inf, -inf]

CASES = [
    *[Case(f"vector norm {o}", lambda x, o=o: linalg.norm(x, o), (signed(4),)) for o in VECTOR_ORDERS],
    *[
        Case(f"vector norm {o} along an axis", lambda x, o=o: linalg.norm(x, o, axis=0), (complex_array(3, 2),))
        for o in VECTOR_ORDERS
    ],
    *[Case(f"matrix norm {o}", lambda x, o=o: linalg.norm(x, o), (signed(3, 2),)) for o in MATRIX_ORDERS],
    *[
        Case(f"matrix norm {o} along axes", lambda x, o=o: linalg.norm(x, o, (2, 0), keepdims=True), (signed(2, 2, 3),))
        for o in MATRIX_ORDERS
    ],
    *[Case(f"vector_norm {o}", lambda x, o=o: linalg.vector_norm(x, ord=o), (signed(2, 3),)) for o in (1, 2, 3, inf)],
    Case("vector_norm axes", lambda x: linalg.vector_norm(x, axis=(2, 0), keepdims=True, ord=3), (signed(2, 2, 3),)),
    Case("vector_norm axis", lambda x: linalg.vector_norm(x, axis=-1), (complex_array(2, 3),)),
    Case("matrix_norm", lambda x: linalg.matrix_norm(x, keepdims=True), (complex_array(2, 2, 3),)),
    Case("norm of all", lambda x: linalg.norm(x, keepdims=True), (signed(2, 2, 3),)),
    *[
        Case(f"cond {p}", lambda x, p=p: linalg.cond(x, p), (signed(2, 2) + 2 * np.eye(2),))
        for p in (None, 2, -2, 1, inf, "fro")
    ],
    Case("cond of a stack", linalg.cond, (complex_array(2, 3, 2),)),
]


@every_check(CASES)
def test_norms(case, check) -> None:
    check(case)


@pytest.mark.parametrize("order", [None, 0, 1, 2, 3, 0.5, inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_zero_at_the_origin(order, dtype) -> None:
    x = np.zeros(3, dtype)
    gradient = ad.grad(lambda x: linalg.norm(x, order))
    np.testing.assert_array_equal(gradient(x), x)
    assert gradient(x).dtype == dtype
    np.testing.assert_array_equal(ad.jvp(lambda x: linalg.norm(x, order), (x,), (x + 1,))[1], 0)
    if dtype is not np.complex128 or order not in (1, inf):  # these are made of the |x| of complex numbers
        np.testing.assert_array_equal(ad.jvp(gradient, (x,), (x + 1,))[1], x)


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, 2, inf])
def test_zero_at_the_origin_of_matrices(order) -> None:
    np.testing.assert_array_equal(ad.grad(lambda x: linalg.norm(x, order))(np.zeros((2, 3))), np.zeros((2, 3)))


@pytest.mark.parametrize("order", [3, 0.5])
def test_a_zero_among_others(order) -> None:
    """Elements that are zero have derivative zero, the others what they have without them."""
    x = np.array([0.0, 1.0, -2.0])
    gradient = ad.grad(lambda x: linalg.norm(x, order))
    np.testing.assert_allclose(gradient(x), [0, *gradient(x[1:])], rtol=1e-14)


def test_nuclear_norm_of_low_rank_has_the_smallest_slope() -> None:
    """U Vᴴ over the singular values that are not zero."""
    x = np.outer([1.0, 2.0], [2.0, 1.0, 2.0])
    found = ad.grad(lambda x: linalg.norm(x, "nuc"))(x)
    np.testing.assert_allclose(found, x / linalg.norm(x), atol=1e-12)


def test_integers_become_floats() -> None:
    value = ad.vjp(lambda x: linalg.norm(np.arange(3) * x), 2.0)[0]
    np.testing.assert_allclose(value, 2 * np.sqrt(5))
    assert linalg.norm(np.arange(3), 1) == ad.vmap(lambda x: linalg.norm(x, 1))(np.arange(3)[None])[0]


@pytest.mark.parametrize("call", [
    lambda x: linalg.norm(x, "nuc", axis=0),
    lambda x: linalg.norm(x, 3),
    lambda x: linalg.norm(x, axis=(0, 0)),
    lambda x: linalg.norm(x[None], 2),
    lambda x: linalg.cond(x[:, :0]),
    lambda x: linalg.norm(x, axis=5),
])  # fmt: skip
def test_wrong_calls_raise(call) -> None:
    with pytest.raises(ValueError):
        ad.jvp(call, (array(2, 2),), (array(2, 2),))


@pytest.mark.parametrize("p", [None, -2])
def test_the_condition_of_zero_is_infinite_in_compiled_code_too(p: Any) -> None:
    x = np.stack([np.zeros((2, 2)), np.diag([1.0, 4.0]), np.diag([1.0, 0.0])])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ad.jit(lambda x: linalg.cond(x, p))(x), linalg.cond(x, p))
