"""Running sums, products, extrema and linear recurrences, compiled: NumPy's numbers, without calling NumPy."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.support.sweeps import sampled

FUNCTIONS = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "maximum.accumulate": np.maximum.accumulate,
    "minimum.accumulate": np.minimum.accumulate,
}
DTYPES = [np.float64, np.complex128, np.int32, np.float16, bool]


def examples(dtype: Any) -> Any:
    rng = np.random.default_rng(1)
    for shape in ((5,), (3, 2, 19)):
        x = rng.normal(size=shape) * 2
        yield (x + 1j * x[..., ::-1] if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("name, dtype", sampled([(f, dtype) for f in FUNCTIONS for dtype in DTYPES], every=3))
def test_running(name: str, dtype: Any) -> None:
    f = FUNCTIONS[name]
    if np.dtype(dtype).kind == "c" and "accumulate" in name:
        return
    for x in examples(dtype):

        def all_axes(x: Any) -> Any:
            moved = [np.moveaxis(x, 0, -1), x[..., ::-1]]
            return [f(y, axis=axis) for axis in range(x.ndim) for y in (x, *moved)]

        compiled = ad.jit(all_axes)
        for got, want in zip(compiled(x), all_axes(x), strict=True):
            assert got.dtype == want.dtype
            eps = np.finfo(dtype).eps if np.dtype(dtype).kind in "fc" else 0
            np.testing.assert_allclose(got, want, rtol=8 * eps, atol=8 * eps)
        (specialization,) = compiled.report().specializations
        assert specialization.how == "compiled"
        assert not specialization.callbacks


def test_the_first_element_is_taken_as_it_is() -> None:
    """0 + -0.0 would lose the sign, and (1 + 0j) (inf + 0j) is a NaN."""
    for x in (np.array([-0.0, -0.0, 1.0]), np.array([-0.0, 2.0])[::-1]):
        got, want = ad.jit(lambda x: np.cumsum(x))(x), np.cumsum(x)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
    z = np.array([np.inf + 0j, 2.0])
    assert ad.jit(lambda z: np.cumprod(z))(z)[0] == z[0]
    assert ad.jit(lambda x: np.cumsum(x, axis=1))(np.zeros((3, 0))).shape == (3, 0)


def test_derivatives_of_complex_products() -> None:
    x = np.array([0.3 + 1j, 0.0, 1.2 - 0.3j, 0.7j])

    def pulled(x: Any) -> Any:
        return ad.vjp(np.cumprod, x)[1](np.array([1.0, 2j, 0.3, 1 + 1j]))[0]

    compiled = ad.jit(pulled)
    np.testing.assert_allclose(compiled(x), pulled(x), rtol=1e-14, atol=1e-15)
    assert not compiled.report().specializations[0].callbacks


@pytest.mark.parametrize("f", [np.maximum.accumulate, np.minimum.accumulate])
def test_extrema_with_nan_and_ties(f: Any) -> None:
    for x in ([1.0, np.nan, 3.0, 0.0], [2.0, 2.0, 3.0, 3.0, 1.0], [-0.0, 0.0, -0.0], [np.inf, 1.0, np.nan]):
        x = np.array(x)
        np.testing.assert_array_equal(ad.jit(f)(x), f(x))
        np.testing.assert_array_equal(ad.vjp(f, x)[0], f(x))
        g = ad.grad(lambda x: np.sum(f(x) * np.arange(1.0, x.size + 1)))
        np.testing.assert_array_equal(ad.jit(g)(x), g(x))
