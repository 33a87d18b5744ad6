"""Writing into parts of arrays: slices, index arrays with repetitions, many parts, every dtype."""

import numpy as np
import pytest

import adjoint as ad
from tests.random_programs.running import agrees

rng = np.random.default_rng(5)
X = rng.normal(size=(7, 9))

WRITES = {
    "a slice": (slice(1, -1), slice(None, None, 2)),
    "backwards": (slice(None, None, -2), slice(8, 1, -3)),
    "numbers": (2, -1),
    "an ellipsis": (Ellipsis, 3),
    "a new axis": (None, 1),
    "nothing": (slice(3, 3),),
    "rows": (np.array([1, 4, -1]),),
    "columns": (slice(None), np.array([[0, 2], [-3, 5]])),
    "both": (np.array([0, 3, 6]), np.array([1, -1, 1])),
    "a mask": (rng.random(7) < 0.5,),
}


@pytest.mark.parametrize("index", WRITES.values(), ids=WRITES)
def test_assignments_sums_and_their_gradients(index) -> None:
    def f(x, v):
        y, z = x.copy(), x * 2.0
        y[index] = np.sin(v)
        z[index] += v * x[0, 0]
        return [y, z]

    def total(x, v):
        y, z = f(x, v)
        return np.sum(y * X[::-1]) + np.sum(z * z)

    agrees(f, X, np.float64(0.7))
    agrees(ad.grad(total, argnums=(0, 1)), X, np.float64(0.7))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex64", "int8", "uint32", "bool"])
def test_repeated_indices_add_up_in_order(dtype) -> None:
    x = (rng.normal(size=6) * 3).astype(dtype)
    i = np.array([0, 2, 2, 5, -1, 0, 2])
    v = (rng.normal(size=7) * 2).astype(dtype)

    def f(x, i, v):
        y, z = x.copy(), x.copy()
        np.add.at(y, i, v)
        z[i] = v
        return [y, z]

    agrees(f, x, i, v, rounding=1e-2 if dtype == "float16" else 1e-5)


def test_a_negative_index_counts_from_the_end_and_one_beyond_is_refused() -> None:
    def f(x, i):
        y = x.copy()
        y[i] = 1.0
        return y

    kernel = agrees(f, X, np.array([-7, 6]))
    for bad in (7, -8):
        with pytest.raises(IndexError, match=rf"index {bad} is out of bounds for an axis of size 7.*test_scatter"):
            kernel.run([X, np.array([0, bad])])


def test_broadcast_values_and_parts_of_parts() -> None:
    def f(x, row, column):
        y = x.copy()
        y[1:4] = row
        y[:, 2:4] += column
        y[::3][:, ::4] = row[:3] * 0.5
        y.T[5, 1:] -= 1.0
        return y

    agrees(f, X, X[6], X[:, :1])
    agrees(ad.grad(lambda *xs: np.sum(np.tanh(f(*xs))), argnums=(0, 1, 2)), X, X[6], X[:, :1])
