"""Products of matrices that stand in memory at any strides."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.support.sweeps import sampled

TYPES = [np.float32, np.float64, np.complex64, np.complex128]


@pytest.mark.parametrize("n, dtype", sampled(product([3, 20, 70], TYPES), every=3))
def test_products_of_strided_matrices(n: int, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    x = rng.normal(size=(2 * n, 2 * n, 3)).astype(dtype)
    x = x + 1j * x[::-1] if x.dtype.kind == "c" else x
    cuts = [
        lambda x: x[:n, :n, 0],
        lambda x: x[::2, ::2, 1],
        lambda x: x[::-2, :n, 2].T,
        lambda x: x[:n, 0, 0][:, None] * np.ones((1, n), x.dtype),
        lambda x: np.broadcast_to(x[:n, 1, 1], (n, n)),
    ]

    def f(x: Any) -> Any:
        return [a(x) @ b(x) for a in cuts for b in cuts]

    compiled = ad.jit(f)
    for got, want in zip(compiled(x), f(x), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=0, atol=n * np.finfo(dtype).eps * np.max(np.abs(want)))
    (specialization,) = compiled.report().specializations
    assert specialization.how == "compiled"
    assert not specialization.callbacks


def test_many_products_of_one_size_share_their_code() -> None:
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(24, 24)), [rng.normal(size=(24, 24)) / 24 for _ in range(20)]

    def f(x: Any, weights: Any) -> Any:
        for w in weights:
            x = np.tanh(x @ w)
        return x

    few, many = (ad.jit(f).lower(x, weights[:n]).llvm for n in (2, 20))
    assert "noinline" not in few.split("@adjoint_product", 1)[1].split("\n", 1)[0]
    heads = [line for line in many.split("\n") if line.startswith("define") and "@adjoint_product" in line]
    assert len(heads) == 1
    assert "noinline" in heads[0]
    np.testing.assert_allclose(ad.jit(f)(x, weights), f(x, weights), rtol=1e-11, atol=1e-14)
