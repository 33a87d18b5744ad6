"""All ways to compute a convolution give what the sum says, written out as a loop."""

import itertools

import numpy as np
import pytest

from adjoint.ops.signal import convolution_algorithms
from adjoint.ops.signal.convolution import Convolution


def by_loop(op, x, w):
    z = np.zeros((*x.shape[:2], w.shape[1], *op.lengths), np.result_type(x, w))
    for p in itertools.product(*map(range, op.lengths)):
        for k in itertools.product(*map(range, w.shape[3:])):
            t = [b * q + d * j + e for b, q, d, j, e in zip(op.stride, p, op.dilation, k, op.start, strict=True)]
            i = [s // a for s, a in zip(t, op.spread, strict=True)]
            whole = all(s % a == 0 for s, a in zip(t, op.spread, strict=True))
            if whole and all(0 <= j < n for j, n in zip(i, x.shape[3:], strict=True)):
                z[(..., *p)] += np.einsum("ngc,goc->ngo", x[(..., *i)], w[(..., *k)])
    return z


def random_convolution(rng):
    n = rng.integers(1, 4)
    signs = rng.choice([-1, 1], (3, n))
    numbers = rng.integers(1, 4, (3, n)) * np.where(rng.random((3, 1)) < 0.5, 0, 1)
    stride, dilation, spread = np.where(numbers == 0, 1, numbers * signs).tolist()
    start, lengths = rng.integers(-6, 7, n).tolist(), rng.integers(0, 7, n).tolist()
    op = Convolution(tuple(stride), tuple(dilation), tuple(spread), tuple(start), tuple(lengths))
    count, groups, channels, out = rng.integers(1, 4, 4) if rng.random() < 0.7 else (2, 3, 1, 1)
    size = rng.integers(1, 9 if rng.random() < 0.3 else 4, n)
    return op, (count, groups, channels, *rng.integers(1, 7, n)), (groups, out, channels, *size)


def array(rng, shape):
    return rng.normal(size=shape) + (1j * rng.normal(size=shape) if rng.random() < 0.3 else 0)


@pytest.mark.parametrize("budget", [20, 200, 1 << 21])
@pytest.mark.parametrize("fourier", [False, True])
def test_every_way_against_a_loop(budget, fourier, monkeypatch):
    monkeypatch.setattr(convolution_algorithms, "BUDGET", budget)
    monkeypatch.setattr(convolution_algorithms, "fourier_pays", lambda *_: fourier)
    rng = np.random.default_rng(budget + fourier)
    for _ in range(60):
        op, *shapes = random_convolution(rng)
        x, w = (array(rng, shape) for shape in shapes)
        z = op.evaluate(x, w)
        wanted = by_loop(op, x, w)
        assert (z.shape, z.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(z, wanted, atol=1e-10, err_msg=str(op))
        u = rng.normal(size=z.shape).astype(z.dtype)
        for i, v in enumerate((x, w)):  # linear in each argument: ⟨u, z⟩ = ⟨adjoint, argument⟩
            np.testing.assert_allclose(np.vdot(op.adjoint(i, u, [x, w]), v).real, np.vdot(u, z).real, atol=1e-9)


def test_long_kernels_go_through_fourier_transforms_and_keep_their_digits():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 1, 1, 3000)), rng.normal(size=(1, 1, 1, 800))
    assert convolution_algorithms.fourier_pays(x, w, [3000], [2201])
    op = Convolution((1,), (1,), (1,), (0,), (2201,))
    wanted = np.stack([np.correlate(row[0, 0], w[0, 0, 0], "valid") for row in x])[:, None, None]
    np.testing.assert_allclose(op.evaluate(x, w), wanted, rtol=1e-11, atol=1e-11)
    assert op.evaluate(x.astype(np.float32), w.astype(np.float32)).dtype == np.float32
    x[1, 0, 0, 0] = np.inf  # one number that is not finite stays where it is
    z = op.evaluate(x, w)
    assert np.isfinite(z[1, 0, 0, 1:]).all()
    assert not np.isfinite(z[1, 0, 0, 0])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float16, np.float32, np.complex64])
def test_dtypes_are_kept(dtype):
    x, w = np.ones((1, 1, 2, 5), dtype), np.ones((1, 2, 2, 3), dtype)
    z = Convolution((1,), (1,), (1,), (0,), (3,)).evaluate(x, w)
    assert z.dtype == dtype
    np.testing.assert_array_equal(z, np.full((1, 1, 2, 3), 6).astype(dtype))
