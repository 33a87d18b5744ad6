"""Convolutions in compiled programs: sums over the defining relation, for steps of any size and sign."""

import itertools
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.signal.convolution import Convolution
from tests.compile.test_ufuncs import compiled_without_callbacks

DTYPES: list[Any] = [np.float64, np.complex128, np.float32]


def by_definition(op: Convolution, x: Any, w: Any) -> Any:
    """Σ x[n,g,c,i] w[g,o,c,k] over c and spread·i = stride·p + dilation·k + start."""
    z = np.zeros((*x.shape[:2], w.shape[1], *op.lengths), np.result_type(x, w))
    for p in itertools.product(*map(range, op.lengths)):
        for k in itertools.product(*map(range, w.shape[3:])):
            at = [s * q + d * t + e for s, q, d, t, e in zip(op.stride, p, op.dilation, k, op.start, strict=True)]
            if any(v % a for v, a in zip(at, op.spread, strict=True)):
                continue
            i = [v // a for v, a in zip(at, op.spread, strict=True)]
            if all(0 <= v < n for v, n in zip(i, x.shape[3:], strict=True)):
                z[(..., *p)] += np.einsum("ngc,goc->ngo", x[(..., *i)], w[(..., *k)])
    return z


def draw(seed: int) -> tuple[Convolution, Any, Any]:
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))
    some = lambda low, high: tuple(int(n) for n in rng.integers(low, high, axes))
    signs = lambda: rng.choice([1, 1, 1, -1], axes)
    steps = lambda high: tuple(int(n) for n in np.array(some(1, high)) * signs())
    stride = (1,) * axes if seed % 3 == 0 else steps(4)
    spread = (1,) * axes if seed % 2 else steps(4)
    op = Convolution(stride, steps(3), spread, some(-4, 4), some(1, 6))
    count, groups, channels, out = (int(n) for n in rng.integers(1, 4, 4))
    dtype = DTYPES[seed % len(DTYPES)]

    def numbers(shape: tuple[int, ...]) -> Any:
        x = rng.normal(size=shape)
        return (x + 1j * rng.normal(size=shape) if dtype == np.complex128 else x).astype(dtype)

    return op, numbers((count, groups, channels, *some(1, 7))), numbers((groups, out, channels, *some(1, 4)))


@pytest.mark.parametrize("seed", range(30))
def test_any_steps(seed: int) -> None:
    op, x, w = draw(seed)
    tight = 1e-12 if x.dtype != np.float32 else 1e-4
    got = compiled_without_callbacks(lambda x, w: op(x, w), x, w)
    np.testing.assert_allclose(got, by_definition(op, x, w), rtol=tight, atol=tight * 10)


@pytest.mark.parametrize("channels", [(1, 1), (1, 40), (300, 2)])
def test_parts_of_large_images(channels: tuple[int, int]) -> None:
    """More windows than are held at once: rows, and channels, go part by part."""
    rng = np.random.default_rng(0)
    count, out = channels
    x, w = rng.normal(size=(1, 1, count, 20, 23)), rng.normal(size=(1, out, count, 3, 5))
    op = Convolution((1, 2), (1, 1), (1, 1), (-1, -2), (20, 12))
    np.testing.assert_allclose(
        compiled_without_callbacks(lambda x, w: op(x, w), x, w), by_definition(op, x, w), rtol=1e-11, atol=1e-10
    )


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_vectors(mode: Any) -> None:
    rng = np.random.default_rng(1)
    for n, m in ((9, 4), (4, 9), (1, 1), (5, 5), (70, 60)):
        a, v = rng.normal(size=n), rng.normal(size=m) + 1j
        got = compiled_without_callbacks(lambda a, v: np.convolve(a, v, mode), a, v)
        np.testing.assert_allclose(got, np.convolve(a, v, mode), rtol=1e-12, atol=1e-12)


def test_integers_and_nothing() -> None:
    whole = np.arange(6)
    np.testing.assert_array_equal(ad.jit(np.convolve)(whole, whole[:3]), np.convolve(whole, whole[:3]))
    op = Convolution((1,), (1,), (1,), (0,), (3,))
    np.testing.assert_array_equal(ad.jit(lambda x, w: op(x, w))(np.ones((1, 1, 0, 3)), np.ones((1, 2, 0, 1))), 0.0)


def test_gradients() -> None:
    op, x, w = draw(4)
    x, w = np.real(x).astype(float), np.real(w).astype(float)
    slopes = compiled_without_callbacks(ad.grad(lambda x, w: np.sum(op(x, w) ** 2), argnums=(0, 1)), x, w)
    rng = np.random.default_rng(2)
    dx, dw = rng.normal(size=x.shape), rng.normal(size=w.shape)
    f = lambda t: np.sum(by_definition(op, x + t * dx, w + t * dw) ** 2)
    difference = (f(1e-6) - f(-1e-6)) / 2e-6
    np.testing.assert_allclose(np.sum(slopes[0] * dx) + np.sum(slopes[1] * dw), difference, rtol=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_more_taps_than_positions(seed: int) -> None:
    """As in the derivative of a kernel: windows lie beside each other by their taps."""
    rng = np.random.default_rng(seed)
    axes = 1 + seed % 3
    some = lambda low, high: tuple(int(n) for n in rng.integers(low, high, axes))
    op = Convolution(some(1, 3), some(1, 4), some(1, 3), some(-3, 3), some(1, 4))
    count, groups, channels, out = (int(n) for n in rng.integers(1, 6, 4))
    dtype = DTYPES[seed % len(DTYPES)]
    draws = lambda shape: rng.normal(size=shape) + (1j if dtype == np.complex128 else 0) * rng.normal(size=shape)
    x = draws((count, groups, channels, *some(5, 12))).astype(dtype)
    w = draws((groups, out, channels, *some(4, 8))).astype(dtype)
    tight = 1e-11 if dtype != np.float32 else 1e-3
    got = compiled_without_callbacks(lambda x, w: op(x, w), x, w)
    np.testing.assert_allclose(got, by_definition(op, x, w), rtol=tight, atol=tight * 10)


def test_more_taps_than_fit_at_once() -> None:
    """Channels and images in parts, of which the last ones are smaller."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(7, 1, 5, 62, 63)), rng.normal(size=(1, 3, 5, 60, 60))
    op = Convolution((1, 1), (1, 1), (1, 1), (0, 1), (3, 3))
    expected = np.einsum(
        "ngcpqkl,gockl->ngopq",
        np.lib.stride_tricks.sliding_window_view(x[..., 1:], (60, 60), (-2, -1)),
        w[:, :, :, :, :],
    )
    got = compiled_without_callbacks(lambda x, w: op(x, w), x, w)
    np.testing.assert_allclose(got[..., :2], expected[..., :2], rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(got[..., 2], op(x, w)[..., 2], rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_gradients_of_strides_paddings_and_groups(seed: int) -> None:
    """Value and both gradients, compiled and eager."""
    rng = np.random.default_rng(100 + seed)
    axes = 1 + seed % 2
    groups, channels, out = (int(n) for n in rng.integers(1, 4, 3))
    several = lambda low, high: tuple(int(n) for n in rng.integers(low, high, axes))
    size, space = several(1, 5), several(9, 16)
    options: Any = {"stride": several(1, 4), "padding": several(0, 4), "dilation": several(1, 3), "groups": groups}
    x = rng.normal(size=(int(rng.integers(1, 7)), groups * channels, *space))
    w = rng.normal(size=(groups * out, channels, *size))
    f = lambda x, w: np.sum(np.sin(ad.signal.conv(x, w, **options)))
    plain = ad.value_and_grad(f, (0, 1))(x, w)
    fast = ad.jit(ad.value_and_grad(f, (0, 1)))(x, w)
    np.testing.assert_allclose(fast[0], plain[0], rtol=1e-10)
    for got, wanted in zip(fast[1], plain[1], strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-10)
