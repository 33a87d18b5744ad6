"""Filling and copying memory."""

import numpy as np
import pytest

import adjoint as ad
from tests.random_programs.running import agrees

rng = np.random.default_rng(23)


@pytest.mark.parametrize("dtype", ["float64", "float16", "complex64", "int8", "bool"])
@pytest.mark.parametrize("n", [0, 1, 3, 8, 9, 200])
def test_copies_of_little_and_much(dtype, n) -> None:
    """Branches copy their operands, loops of no iterations their carry, assignments what they are made of."""
    x = (rng.normal(size=n) * 2).astype(dtype)
    y = x.copy()

    def f(x, y):
        z = x[::-1].copy()
        z[:1] = y[:1]
        carried = ad.fori_loop(0, 0, lambda k, c: c[::-1], y[::-1])
        return [ad.cond(np.any(x), lambda a, b: a, lambda a, b: b[::-1], x, y), z, carried]

    agrees(f, x, y)


@pytest.mark.parametrize("n", [1, 5, 70])
def test_fills(n) -> None:
    """Zeros by memset, other numbers one by one, sums that begin at their neutral element."""
    x = rng.normal(size=(n, 3))
    i = rng.integers(0, n, 6)

    def f(x, i):
        total = ad.grad(lambda x: np.sum(x[i] ** 2))(x)
        joined = np.concatenate([x, x * 2.0])
        return [total, np.prod(joined, axis=0), np.min(joined, axis=0), np.max(x[i][::2], axis=0)]

    agrees(f, x, i)
