"""Windows in compiled programs: pooling with strides, dilations and padding, against windows taken one by one."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.signal.windows import WindowArgExtremum, WindowExtremum, WindowShare, WindowSum
from tests.compile.test_ufuncs import compiled_without_callbacks

R = np.random.default_rng(3)
# (size, stride, dilation, start, length, elements)
CASES = [(1, 1, 1, 0, 5, 5), (3, 1, 1, -1, 7, 7), (2, 2, 1, 0, 4, 8), (7, 2, 1, -3, 6, 11), (13, 1, 2, -5, 9, 20)]


def windows(x: Any, case: tuple[int, ...]) -> list[Any]:
    size, stride, dilation, start, length, n = case
    places = [[stride * p + dilation * k + start for k in range(size)] for p in range(length)]
    return [x[..., [i for i in place if 0 <= i < n]] for place in places]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_along_one_axis(case: tuple[int, ...]) -> None:
    size, stride, dilation, start, length, n = case
    fields: Any = (size,), (stride,), (dilation,), (start,), (length,)
    x = R.permutation(3 * n).reshape(3, n).astype(float)
    x[0, 0] = np.nan
    found = windows(x, case)
    total = compiled_without_callbacks(lambda x: WindowSum(*fields, space=(n,))(x), x)
    np.testing.assert_allclose(total, np.stack([np.sum(w, axis=-1) for w in found], axis=-1))
    for kind, extremum, position in (("max", np.max, np.argmax), ("min", np.min, np.argmin)):
        got = compiled_without_callbacks(lambda x, k=kind: WindowExtremum(k, *fields)(x), x)
        initial = -np.inf if kind == "max" else np.inf
        np.testing.assert_array_equal(got, np.stack([extremum(w, axis=-1, initial=initial) for w in found], axis=-1))
        where = compiled_without_callbacks(lambda x, k=kind: WindowArgExtremum(k, *fields)(x), x)
        for p, w in enumerate(found):
            for row in range(3):
                value = x[row, where[row, p]] if w.shape[-1] else np.nan
                assert w.shape[-1] == 0 or np.array_equal(value, w[row, position(w[row])], equal_nan=True)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_transposes(case: tuple[int, ...]) -> None:
    """⟨y, A x⟩ = ⟨Aᵀ y, x⟩, of sums and of the shares of ties."""
    size, stride, dilation, start, length, n = case
    fields: Any = (size,), (stride,), (dilation,), (start,), (length,)
    x, y = R.normal(size=(2, n)), R.normal(size=(2, length))
    forwards, backwards = WindowSum(*fields, space=(n,)), WindowSum(*fields, space=(n,), transposed=True)
    there = compiled_without_callbacks(lambda x: forwards(x), x)
    back = compiled_without_callbacks(lambda y: backwards(y), y)
    np.testing.assert_allclose(np.sum(y * there), np.sum(back * x))
    tied = R.integers(0, 2, (2, n)).astype(float)
    top = WindowExtremum("max", *fields).evaluate(tied)
    share = compiled_without_callbacks(lambda d: WindowShare(*fields)(d, tied, top), x)
    back = compiled_without_callbacks(lambda d: WindowShare(*fields, transposed=True)(d, tied, top), y)
    np.testing.assert_allclose(np.sum(y * share), np.sum(back * x), atol=1e-12)
    np.testing.assert_allclose(np.sum(back), np.sum(y[np.isfinite(top)]))  # shares of a window add up to one


def test_pooling_of_images() -> None:
    x = R.normal(size=(2, 6, 8))
    op = WindowExtremum("max", (2, 2), (2, 2), (1, 1), (0, 0), (3, 4))
    pooled = compiled_without_callbacks(lambda x: op(x), x)
    np.testing.assert_array_equal(pooled, np.max(np.reshape(x, (2, 3, 2, 4, 2)), axis=(2, 4)))
    slope = compiled_without_callbacks(ad.grad(lambda x: np.sum(op(x))), x)
    np.testing.assert_array_equal(slope, np.isin(x, pooled).astype(float))


@pytest.mark.parametrize("seed", range(12))
def test_windows_beside_each_other(seed: int) -> None:
    """No gaps, no overlap, something left at the end; ties, and NaN in one window."""
    rng = np.random.default_rng(seed)
    axes = 1 + seed % 3
    size = tuple(int(n) for n in rng.integers(1, 4, axes))
    lengths = tuple(int(n) for n in rng.integers(1, 5, axes))
    space = tuple(m * k + int(rng.integers(0, 3)) for m, k in zip(lengths, size, strict=True))
    ones, zeros = (1,) * axes, (0,) * axes
    x = rng.integers(0, 4, (2, 3, *space)).astype(np.float32 if seed % 2 else np.float64)
    if seed % 4 == 0:
        x[0, 1, *zeros] = np.nan
    pools = [
        lambda x: WindowExtremum("max", size, size, ones, zeros, lengths)(x),
        lambda x: WindowExtremum("min", size, size, ones, zeros, lengths)(x),
        lambda x: WindowSum(size, size, ones, zeros, lengths, space)(x),
    ]
    weights = rng.normal(size=(2, 3, *lengths)).astype(x.dtype)
    for pool in pools:
        slope = ad.grad(lambda x, pool=pool: np.sum(weights * pool(x) ** 2))
        np.testing.assert_allclose(compiled_without_callbacks(slope, x), slope(x), rtol=1e-5)
        pushed = lambda x, t, pool=pool: ad.jvp(pool, (x,), (t,))[1]
        t = rng.normal(size=x.shape).astype(x.dtype)
        np.testing.assert_allclose(compiled_without_callbacks(pushed, x, t), pushed(x, t), rtol=1e-5)
