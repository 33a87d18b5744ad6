"""Transforms, convolutions, sorting, indexing, contractions, reductions, dtypes, special functions."""

# pyright: basic

from __future__ import annotations

import numpy as np
from memory.registry import SMALL, N, R, X, program

import adjoint as ad

# fft


@program(X)
def fft(x):
    return np.sum(np.abs(np.fft.fft(x)) ** 2)


@program(X)
def rfft(x):
    return np.sum(np.abs(np.fft.rfft(x)) ** 3)


@program(X[:57600].reshape(240, 240) + 0)
def fft2(x):
    return np.sum(np.abs(np.fft.fft2(x)) ** 3)


@program(X[:57600].reshape(240, 240) + 0)
def filter2(x):
    return np.sum(np.fft.irfft2(np.fft.rfft2(x) * np.exp(-np.arange(121.0))) ** 2)


@program(X + 1j)
def ifft_complex(x):
    return np.sum(np.abs(np.fft.ifft(x * x)) ** 2)


@program(X)
def dct(x):
    return np.sum(ad.scipy.fft.dct(x) ** 2)


@program(R.normal(size=(300, 256)))
def fft_rows(x):
    return np.sum(np.abs(np.fft.fft(x, axis=0)) ** 2)


# convolution

IMG = R.normal(size=(4, 3, 40, 40))
K = R.normal(size=(8, 3, 3, 3))


@program(K)
def conv_net(k):
    return np.sum(ad.signal.max_pool(np.maximum(ad.signal.conv(IMG, k), 0), 2) ** 2)


@program(IMG)
def conv_image(x):
    return np.sum(np.tanh(ad.signal.conv(x, K)) ** 2)


@program(IMG)
def avg_pool(x):
    return np.sum(ad.signal.avg_pool(x, 2) ** 2)


@program(IMG)
def max_pool(x):
    return np.sum(ad.signal.max_pool(x**2, 2) ** 2)


@program(IMG)
def depthwise(x):
    return np.sum(ad.signal.depthwise_conv(x, np.ones((4, 3, 3, 3))) ** 2)


@program(IMG)
def conv_transpose(x):
    return np.sum(ad.signal.conv_transpose(x, np.ones((3, 4, 3, 3))) ** 2)


@program(IMG)
def resize(x):
    return np.sum(ad.signal.resize(x, (80, 80)) ** 2)


@program(X)
def np_convolve(x):
    return np.sum(np.convolve(x, SMALL, "same") ** 2)


@program(X)
def fftconvolve(x):
    return np.sum(ad.scipy.signal.fftconvolve(x, SMALL, "same") ** 2)


@program(R.normal(size=(200, 200)))
def convolve2d(x):
    return np.sum(ad.scipy.signal.convolve2d(x, np.ones((5, 5))) ** 2)


@program(X)
def lfilter(x):
    return np.sum(ad.scipy.signal.lfilter([0.1, 0.2], [1.0, -0.5], x) ** 2)


# sorting, indexing


@program(X)
def sort(x):
    return np.sum(np.sort(np.sin(30 * x)) * np.arange(N))


@program(X)
def quantile(x):
    return np.sum(np.quantile(np.sin(30 * x), [0.1, 0.5, 0.9]))


@program(X)
def topk(x):
    return np.sum(np.partition(x, -100)[-100:] ** 2)


@program(X)
def argsort_take(x):
    return np.sum(np.take(x, np.argsort(-x))[:1000] ** 2)


IDX = R.integers(0, N, 90_000)


@program(X)
def gather(x):
    return np.sum(np.sin(x[IDX]) ** 2)


@program(X)
def gather_twice(x):
    return np.sum(x[IDX] * x[IDX[::-1]])


@program(X)
def add_at(x):
    y = 0 * x[:1000]
    np.add.at(y, IDX[:N] % 1000, x)
    return np.sum(y**2)


@program(X)
def mask_assign(x):
    y = x * 2
    y[y > 1] = 0.5
    return np.sum(y**2)


@program(X)
def rows_in_place(x):
    z = x.reshape(100, 600)
    y = np.zeros_like(z)
    for i in range(1, 100):
        y[i] = np.sin(y[i - 1]) + z[i]
    return np.sum(y**2)


@program(X)
def in_place_ops(x):
    y = x.copy()
    y *= 2
    y += x
    y -= 0.1
    np.sin(y, out=y)
    return np.sum(y**2)


@program(X)
def slices(x):
    return np.sum((x[1:] - x[:-1]) ** 2) + np.sum((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2)


@program(X)
def rolled(x):
    return np.sum(np.roll(x, 1) * x - np.roll(x, -1) ** 2)


@program(X)
def stacked(x):
    return np.sum(np.stack([x, np.sin(x), x**2], axis=1) ** 2)


@program(X)
def where(x):
    return np.sum(np.where(x > 0.5, np.sin(x), np.cos(x)) * x)


@program(X)
def histogram_like(x):
    return np.sum(np.exp(-((x[:600, None] - SMALL) ** 2))) + np.sum(x)


@program(X[:300] + 0)
def pairwise(x):
    d = x[:, None] - x[None, :]
    return np.sum(np.exp(-(d**2)))


# einsum


@program(R.normal(size=(60, 60)))
def einsum_chain(a):
    return np.sum(np.einsum("ij,jk,kl->il", a, a, a) ** 2)


@program(R.normal(size=(8, 4, 64, 32)))
def attention(q):
    s = np.einsum("bhqd,bhkd->bhqk", q, q) / 6
    s = np.exp(s - np.max(s, axis=-1, keepdims=True))
    p = s / np.sum(s, axis=-1, keepdims=True)
    return np.sum(np.einsum("bhqk,bhkd->bhqd", p, q) ** 2)


@program(R.normal(size=(20, 30, 40)))
def tensordot(a):
    return np.sum(np.tensordot(a, a, axes=([0, 1], [0, 1])) ** 2)


@program(R.normal(size=(100, 100)))
def trace_outer(a):
    return np.sum(np.outer(a[0], a[1]) ** 2) + np.trace(a @ a)


# dtype


@program(X.astype(np.float32))
def float32(x):
    return np.sum(np.exp(np.sin(x)) * x)


@program(X)
def cast32(x):
    return np.sum(np.exp(x.astype(np.float32)) ** 2)


@program(X + 1j * X)
def complex128(z):
    return np.sum(np.abs(np.exp(z) * z) ** 2)


@program(X)
def to_complex(x):
    return np.sum(np.real(np.exp(1j * x) * x) ** 2)


@program((X + 1j * X).astype(np.complex64))
def complex64(z):
    return np.sum(np.real(np.sin(z) * np.conj(z)))


# special

sp = ad.scipy.special


def summed(function):
    return lambda x: np.sum(function(x))


for name in (
    "gammaln",
    "erf",
    "expit",
    "digamma",
    "j0",
    "i0",
    "ndtr",
    "log_ndtr",
    "logit",
    "ndtri",
    "erfcx",
    "k1",
    "spence",
):
    program(X * 0.9, "special_" + name)(summed(getattr(sp, name)))


@program(X * 0.9)
def special_xlogy(x):
    return np.sum(sp.xlogy(x, x))


@program(X * 0.9)
def special_beta(x):
    return np.sum(sp.betainc(2 + x, 3.0, x))


@program(X * 0.9)
def special_gammainc(x):
    return np.sum(sp.gammainc(2.0, x))


@program(X * 0.9)
def special_jv(x):
    return np.sum(sp.jv(1.5, x))


@program(X.reshape(200, 300) + 0)
def special_logsumexp(x):
    return np.sum(sp.logsumexp(x, axis=1)) + np.sum(sp.softmax(x, axis=1) ** 2)


# reductions


@program(X)
def reductions(x):
    return np.linalg.norm(x) + np.var(x) + np.prod(x[:100]) + np.max(x) + np.mean(x) * np.std(x)


@program(X.reshape(200, 300) + 0)
def layernorm(x):
    m = np.mean(x, axis=1, keepdims=True)
    v = np.var(x, axis=1, keepdims=True)
    return np.sum(((x - m) / np.sqrt(v + 1e-5)) ** 3)


@program(X)
def cumulative(x):
    return np.sum(np.cumsum(x) ** 2) + np.sum(np.cumprod(1 + x[:1000] / 1000))


@program(X)
def trapz(x):
    return np.trapezoid(np.sin(x) ** 2, dx=0.1) + np.sum(np.diff(x) ** 2) + np.sum(np.gradient(x) ** 2)


@program(X.reshape(200, 300) + 0)
def cov(x):
    return np.sum(np.cov(x[:50]) ** 2) + np.sum(np.corrcoef(x[:20] ** 2 * np.arange(300)))


@program(X)
def interp(x):
    return np.sum(np.interp(x, np.linspace(0, 1, 100), np.sin(np.linspace(0, 1, 100))) ** 2)


@program(X)
def polyval(x):
    return np.sum(np.polyval([1.0, 2.0, 3.0, 4.0], x))


@program(X.reshape(200, 300) + 0)
def median_axis(x):
    return np.sum(np.median(x * np.sin(9 * x), axis=1) ** 2)
