"""Functions that write into their first argument."""

import contextlib

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import TraceError
from adjoint.testing import difference_gradient
from tests.numpy.checking import Case, array, every_check


def into_copy(write):
    def f(x, v):
        y = x.copy()
        write(y, v)
        return y * y

    return f


X, V = array(3, 4), array(3, seed=1)
MASK = np.arange(12).reshape(3, 4) % 3 == 0
CASES = [
    Case("copyto", into_copy(lambda y, v: np.copyto(y, v[:, None])), (X, V)),
    Case("copyto where", into_copy(lambda y, v: np.copyto(y, v[0], where=MASK)), (X, V)),
    Case("put", into_copy(lambda y, v: np.put(y, [0, 5, 5], v)), (X, V)),
    Case("put cycles", into_copy(lambda y, v: np.put(y, [1, 2, 3, 4, 9], v)), (X, V)),
    Case("put clip", into_copy(lambda y, v: np.put(y, [99, -99], v, mode="clip")), (X, V)),
    Case("put wrap", into_copy(lambda y, v: np.put(y, [13, -1], v, mode="wrap")), (X, V)),
    Case("place", into_copy(lambda y, v: np.place(y, MASK, v)), (X, V)),
    Case("putmask", into_copy(lambda y, v: np.putmask(y, MASK, v)), (X, V)),
    Case("fill_diagonal", into_copy(lambda y, v: np.fill_diagonal(y, v[0])), (X, V)),
    Case("fill_diagonal wrap", into_copy(lambda y, v: np.fill_diagonal(y, v, wrap=True)), (array(7, 2), V)),
    Case("fill_diagonal cube", into_copy(lambda y, v: np.fill_diagonal(y, v)), (array(3, 3, 3), V)),
    Case(
        "put_along_axis",
        into_copy(lambda y, v: np.put_along_axis(y, np.array([[1], [0], [3]]), v[:, None], axis=1)),
        (X, V),
    ),
    Case(
        "put_along_axis flat", into_copy(lambda y, v: np.put_along_axis(y, np.array([1, 7, 4]), v, axis=None)), (X, V)
    ),
    Case("nan_to_num in place", into_copy(lambda y, v: np.nan_to_num(y, copy=False)), (X, V)),
    Case("fill", into_copy(lambda y, v: y.fill(v[1])), (X, V)),
    Case("sort in place", into_copy(lambda y, v: y.sort(axis=0)), (X, V)),
    Case("put method", into_copy(lambda y, v: y.put([3], v[0])), (X, V)),
    Case("flat", into_copy(lambda y, v: setattr(y, "flat", v)), (X, V)),
]


@every_check(CASES)
def test_writing(case, check) -> None:
    check(case)


@pytest.mark.parametrize(
    "write",
    [
        lambda a, x: np.copyto(a, x),
        lambda a, x: np.put(a, [0], x[0]),
        lambda a, x: np.place(a, a > 1, x),
        lambda a, x: np.putmask(a, a > 1, x),
        lambda a, x: np.put_along_axis(a, np.array([0]), x[:1], 0),
        lambda a, x: np.add.at(a, [0], x[0]),
        lambda a, x: np.full_like(a, x[0]),
        lambda a, x: np.nan_to_num(a * np.nan, nan=x[0]),
        lambda a, x: np.fill_diagonal(np.eye(2), x[0]),
        lambda a, x: a.fill(x[0]),
        lambda a, x: a.put([0], x[0]),
        lambda a, x: np.concatenate([x], out=a),
        lambda a, x: np.sum(x, out=np.array(0.0)),
        lambda a, x: np.cumsum(x, out=a),
        lambda a, x: np.clip(x, 0, 1, out=a),
        lambda a, x: np.einsum("i->i", x, out=a),
        lambda a, x: np.take(x, [0, 1, 2], out=a),
        lambda a, x: np.dot(np.eye(3), x, out=a),
    ],
)
def test_plain_arrays_are_never_written_to(write) -> None:
    plain = np.array([0.0, 1.0, 2.0])

    def f(x):
        write(plain, x)
        return np.sum(x)

    with config.override(convert=False):
        with pytest.raises(TraceError, match=r"adjoint\.numpy"):
            ad.grad(f)(np.ones(3))
        with pytest.raises(TraceError, match=r"adjoint\.numpy"):
            ad.vmap(f)(np.ones((2, 3)))
    np.testing.assert_array_equal(plain, [0.0, 1.0, 2.0])
    with contextlib.suppress(TraceError):  # converted code may write into arrays that it has made, not into this one
        ad.grad(f)(np.ones(3))
    np.testing.assert_array_equal(plain, [0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    "write", [lambda a, x: a.fill(x[0]), lambda a, x: a.put([0], x[0]), lambda a, x: np.copyto(a, x)]
)
def test_writes_into_arrays_of_the_caller_are_not_lost(write) -> None:
    def f(x):
        made = np.zeros(3)
        write(made, x)
        return np.sum(made)

    np.testing.assert_allclose(ad.grad(f)(np.ones(3)), difference_gradient(f, np.ones(3)), rtol=1e-6, atol=1e-8)
