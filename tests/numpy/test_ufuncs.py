"""Ufunc calls with keywords, several outputs, and gufuncs."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import TraceError, UnsupportedError
from tests.numpy.checking import Case, array, complex_array, every_check, signed


def with_out(x):
    y = np.zeros_like(x)
    z = np.multiply(x, 3.0, out=y)
    assert z is y
    return y * x


CASES = [
    Case("where", lambda x: np.sin(x, where=x > 0, out=np.zeros_like(x)), (signed(5),)),
    Case("where outside the domain", lambda x: np.log(x, where=x > 0, out=np.ones_like(x)), (signed(5),)),
    Case("where with out", lambda x, y: np.add(x, y, where=np.arange(4) > 1, out=x * 2), (array(4), array(4, seed=1))),
    Case("out", with_out, (array(4),)),
    Case("dtype", lambda x: np.add(x, 1, dtype=np.float64) * x, (array(4),)),
    Case("dtype complex", lambda x: np.exp(x, dtype=np.complex128), (array(4),)),
    Case("signature", lambda x: np.multiply(x, x, signature="dd->d"), (array(4),)),
    Case("order and subok", lambda x: np.add(x, x, order="C", subok=False, casting="safe"), (array(4),)),
    Case("divmod", lambda x, y: np.divmod(x, y), (signed(4), array(4, seed=1, low=0.3))),
    Case("divmod operator", lambda x: divmod(x, 0.37), (signed(4),)),
    Case("modf", lambda x: np.modf(x * 1.3), (signed(5),)),
    Case("frexp", lambda x: np.frexp(x)[0], (np.array([0.3, -0.7, 1.3, -5.2, 900.0]),)),
    Case("vecdot", np.vecdot, (array(2, 3), array(2, 3, seed=1))),
    Case("vecdot axis", lambda x, y: np.vecdot(x, y, axis=0, keepdims=True), (array(3, 2), array(3, 2, seed=1))),
    Case("vecdot complex", np.vecdot, (complex_array(2, 3), complex_array(2, 3, seed=1))),
    Case("matvec", lambda a, v: np.matvec(a, v), (array(2, 3, 4), array(2, 4, seed=1))),
    Case("vecmat", lambda v, a: np.vecmat(v, a), (complex_array(3), complex_array(2, 3, 4, seed=1))),
    Case("sign of complex", np.sign, (complex_array(4),)),
    Case("absolute of complex", np.absolute, (complex_array(4),)),
    Case("matmul with out", lambda a, b: np.matmul(a, b, out=np.zeros_like(a)), (array(2, 2), array(2, 2, seed=1))),
    Case("outer", lambda x, y: np.multiply.outer(x, y), (array(2, 2), array(3, seed=1))),
    Case("arctan2 outer", lambda x, y: np.arctan2.outer(x, y), (array(2), array(3, seed=1))),
]


@every_check(CASES)
def test_ufuncs(case, check) -> None:
    check(case)


def test_integer_outputs_are_those_of_numpy() -> None:
    x = np.array([0.3, -5.2, 1024.0])
    exponents = []
    ad.grad(lambda x: np.sum(x) + (exponents.append(np.frexp(x)[1]) or 0.0))(x)
    np.testing.assert_array_equal(exponents[0], np.frexp(x)[1])


def test_flat_results_go_into_plain_arrays() -> None:
    mask = np.zeros(3, bool)

    def f(x):
        np.greater(x, 0.5, out=mask)
        return np.sum(x * mask)

    np.testing.assert_array_equal(ad.grad(f)(np.array([0.1, 0.7, 0.9])), [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(mask, [False, True, True])


def test_writing_into_a_plain_array_is_refused() -> None:
    plain = np.zeros(3)
    with pytest.raises(TraceError, match=r"np\.sin\(out=.*Write to a copy"):
        ad.grad(lambda x: np.sum(np.sin(x, out=plain)))(np.ones(3))

    def in_place(x):
        total = plain
        total += x
        return np.sum(total)

    with pytest.raises(TraceError, match="total \\+= x"):
        ad.grad(in_place)(np.ones(3))
    np.testing.assert_array_equal(plain, 0.0)


def test_unknown_ufuncs_and_keywords_raise() -> None:
    strange = np.frompyfunc(lambda x: x, 1, 1)
    with pytest.raises(UnsupportedError, match=r"vectorized.*arrays of objects"):
        ad.grad(lambda x: strange(x))(1.0)
    with pytest.raises(TypeError, match=r"cannot cast|Cannot cast"):
        ad.grad(lambda x: np.add(x, 1, dtype=np.int64))(1.0)
    with pytest.raises((TypeError, UnsupportedError)):
        ad.grad(lambda x: np.sum(np.matmul(x, x, axes=[(0, 1), (1, 0), (0, 1)])))(np.eye(2))
