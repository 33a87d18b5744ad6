"""A single truth value as an index adds an axis of length one or zero, as in NumPy, in reads and writes."""

import numpy as np
import pytest

import adjoint as ad

X = np.arange(6.0).reshape(2, 3)
MASK = np.array([[True, False, True], [False, True, True]])
INDICES = [
    (True,), (False,), (np.True_,), (True, 0), (slice(None), True), (0, True), (Ellipsis, True),
    (True, Ellipsis, [0, 1]), (True, MASK), ([0, 1], True, [1, 2]), (False, slice(1, None)),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_read_and_write(index):
    value, tangent = ad.jvp(lambda x: x[index], (X,), (X,))
    np.testing.assert_array_equal(value, X[index])
    np.testing.assert_array_equal(tangent, X[index])

    def write(x):
        y = x.copy()
        y[index] = 7.0
        return y

    np.testing.assert_array_equal(ad.jvp(write, (X,), (X,))[0], write(X))
    kept = write(np.ones_like(X)) == 1.0
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(write(x)))(X), np.where(kept, 1.0, 0.0))


def test_scalars():
    assert ad.grad(lambda x: np.sum(x[True] ** 2))(3.0) == 6.0
    assert ad.grad(lambda x: np.sum(x[np.False_] ** 2))(3.0) == 0.0
