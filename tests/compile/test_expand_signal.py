"""Cosine and sine transforms and resampling in compiled programs: SciPy's transforms, and products with matrices."""

from typing import Any

import numpy as np
import pytest
import scipy.fft

from adjoint.ops.signal.cosine_transforms import TrigonometricTransform
from adjoint.ops.signal.resampling import WeightedTaps
from tests.compile.test_ufuncs import compiled_without_callbacks

R = np.random.default_rng(4)


@pytest.mark.parametrize("kind", ["dct", "dst"])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_transforms(kind: str, number: int) -> None:
    for shape, axis in (((2,), 0), ((7, 3), 0), ((2, 16), 1)):
        for dtype in (np.float64, np.complex128, np.float32):
            x = R.normal(size=shape) + (1j * R.normal(size=shape) if dtype == np.complex128 else 0)
            x = x.astype(dtype)
            op = TrigonometricTransform(kind, number, axis)
            got = compiled_without_callbacks(lambda x, op=op: op(x), x)
            want: Any = getattr(scipy.fft, kind)(x, number, axis=axis)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-13 * 50 if dtype != np.float32 else 1e-4)


def test_resampling() -> None:
    index, weight = R.integers(0, 6, (4, 3)), R.normal(size=(4, 3))
    matrix = np.zeros((4, 6))
    np.add.at(matrix, (np.arange(4)[:, None], index), weight)
    x, y = R.normal(size=(2, 6, 5)), R.normal(size=(2, 4, 5))
    there = compiled_without_callbacks(lambda x, i, w: WeightedTaps(1, 6)(x, i, w), x, index, weight)
    np.testing.assert_allclose(there, np.einsum("pi,aib->apb", matrix, x), rtol=1e-12, atol=1e-12)
    back = compiled_without_callbacks(lambda y, i, w: WeightedTaps(1, 6, transposed=True)(y, i, w), y, index, weight)
    np.testing.assert_allclose(back, np.einsum("pi,apb->aib", matrix, y), rtol=1e-12, atol=1e-12)
