"""Numerical kernels from many fields, written once for NumPy's names and for JAX's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Library(NamedTuple):
    """What a kernel is written with."""

    np: Any
    scan: Any
    vmap: Any
    grad: Any
    jacobian: Any


class Kernel(NamedTuple):
    field: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


KERNELS: dict[str, Kernel] = {}
rng = np.random.default_rng(0)
normal = rng.standard_normal


def kernel(title: str, *arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a kernel under "field: name"."""

    def enter(f: Callable[..., Any]) -> Callable[..., Any]:
        field, name = title.split(": ")
        KERNELS[name] = Kernel(field, f, arguments)
        return f

    return enter


# Linear algebra


@kernel("linear algebra: three products, 512", normal((512, 512)))
def chain(lib: Library, a: Any) -> Any:
    return lib.np.sum((a @ a) @ a) / 1e6


@kernel("linear algebra: solve, 100", normal((100, 100)) + 10 * np.eye(100), normal(100))
def solve(lib: Library, a: Any, b: Any) -> Any:
    return lib.np.sum(lib.np.linalg.solve(a, b) ** 2)


@kernel("linear algebra: 1000 solves of 4 x 4", normal((1000, 4, 4)) + 4 * np.eye(4), normal((1000, 4)))
def small_solves(lib: Library, a: Any, b: Any) -> Any:
    return lib.np.sum(lib.np.linalg.solve(a, b[..., None]) ** 2)


@kernel("linear algebra: 1000 determinants of 4 x 4", normal((1000, 4, 4)))
def small_determinants(lib: Library, a: Any) -> Any:
    return lib.np.sum(lib.np.linalg.slogdet(a)[1])


@kernel("linear algebra: 500 eigh of 3 x 3", normal((500, 3, 3)))
def small_eigenvalues(lib: Library, a: Any) -> Any:
    w, v = lib.np.linalg.eigh(a + lib.np.swapaxes(a, 1, 2))
    return lib.np.sum(w**3) + lib.np.sum(v[:, 0] ** 4)


@kernel("linear algebra: eigh, 50", normal((50, 50)))
def eigenvalues(lib: Library, a: Any) -> Any:
    w, v = lib.np.linalg.eigh(a + a.T)
    return lib.np.sum(lib.np.exp(-w)) + lib.np.sum(v[0] ** 4)


@kernel("linear algebra: QR, 100", normal((100, 100)))
def orthogonal(lib: Library, a: Any) -> Any:
    q, r = lib.np.linalg.qr(a)
    return lib.np.sum(r**2 * np.arange(100)) + lib.np.sum(q**3)


@kernel("linear algebra: singular values, 100", normal((100, 100)))
def singular_values(lib: Library, a: Any) -> Any:
    return lib.np.sum(lib.np.linalg.svd(a, compute_uv=False))


@kernel("linear algebra: einsum of three", normal((30, 30, 30)), normal((30, 30)), normal((30, 30)))
def contraction(lib: Library, t: Any, a: Any, b: Any) -> Any:
    return lib.np.sum(lib.np.einsum("ijk,jl,km->ilm", t, a, b) ** 2)


@kernel("linear algebra: transposed, 700", normal((700, 700)), normal((700, 700)))
def transposed(lib: Library, a: Any, b: Any) -> Any:
    return lib.np.sum(lib.np.tanh(a.T) * b)


# Spectra, sorting, searching


@kernel("spectra: convolution, 4096", normal(4096), normal(4096))
def spectral_convolution(lib: Library, x: Any, h: Any) -> Any:
    f = lib.np.fft
    return lib.np.sum(f.irfft(f.rfft(x) * f.rfft(h)) ** 2)


@kernel("spectra: fft2, 128 x 128", normal((128, 128)))
def plane_spectrum(lib: Library, x: Any) -> Any:
    return lib.np.sum(lib.np.abs(lib.np.fft.fft2(x)) ** 2 * np.arange(128))


@kernel("spectra: log of a spectrum, 65536", normal(65536))
def log_spectrum(lib: Library, x: Any) -> Any:
    return lib.np.sum(lib.np.log(lib.np.abs(lib.np.fft.rfft(x)) ** 2 + 1))


@kernel("spectra: layer in frequencies, 8 x 64 x 64", normal((8, 64, 64)))
def spectral_layer(lib: Library, x: Any) -> Any:
    z = lib.np.fft.rfft2(x) * np.exp(-np.arange(33) / 8.0)
    return lib.np.sum(lib.np.tanh(lib.np.fft.irfft2(z)) ** 2)


@kernel("order: weighted sort, 10000", normal(10000))
def weighted_sort(lib: Library, x: Any) -> Any:
    return lib.np.sum(lib.np.sort(x) * np.arange(10000) / 10000)


@kernel("order: medians and maxima, 400 x 64", normal((20, 20, 64)))
def medians(lib: Library, x: Any) -> Any:
    return lib.np.sum(lib.np.median(x, axis=2) ** 2) + lib.np.sum(lib.np.max(x, axis=2))


@kernel("order: interp, 10000 in 100", normal(100), np.sort(rng.uniform(0, 1, 100)), rng.uniform(0.05, 0.95, 10000))
def interpolation(lib: Library, f: Any, xp: Any, x: Any) -> Any:
    return lib.np.sum(lib.np.interp(x, xp, f) ** 2)


@kernel("order: cumulative sums, 100000", normal(100000))
def cumulative(lib: Library, x: Any) -> Any:
    return lib.np.sum(lib.np.tanh(lib.np.cumsum(x) / 10) ** 2)


@kernel("order: rows of a table, 5000 of 1000", normal((1000, 8)), rng.integers(0, 1000, 5000))
def gathered(lib: Library, table: Any, i: Any) -> Any:
    return lib.np.sum(lib.np.tanh(table[i]) ** 2)


# Statistics and learning


@kernel(
    "learning: Gaussian process, 200", normal((200, 5)), np.ones(5), normal(200)
)  # fmt: skip
def gaussian_process(lib: Library, x: Any, scale: Any, y: Any) -> Any:
    n = lib.np
    z = x / scale
    distances = n.sum(z**2, 1)[:, None] + n.sum(z**2, 1)[None, :] - 2 * z @ z.T
    a = n.exp(-0.5 * distances) + 0.1 * np.eye(200)
    return 0.5 * y @ n.linalg.solve(a, y) + n.sum(n.log(n.diagonal(n.linalg.cholesky(a))))


@kernel("learning: attention, 64", normal((64, 64)), normal((64, 64)), normal((64, 64)))
def attention(lib: Library, q: Any, k: Any, v: Any) -> Any:
    s = q @ k.T / 8.0
    p = lib.np.exp(s - lib.np.max(s, axis=1, keepdims=True))
    return lib.np.sum((p / lib.np.sum(p, axis=1, keepdims=True) @ v) ** 2)


@kernel("learning: layer norm, 64 x 256", normal((64, 256)), normal(256), normal(256))
def layer_norm(lib: Library, x: Any, gain: Any, shift: Any) -> Any:
    mean, variance = lib.np.mean(x, 1, keepdims=True), lib.np.var(x, 1, keepdims=True)
    return lib.np.sum(((x - mean) / lib.np.sqrt(variance + 1e-5) * gain + shift) ** 3)


@kernel("learning: network, 64-100-50-10", normal((64, 100)), normal((100, 50)), normal(50), normal((50, 10)))
def network(lib: Library, x: Any, w: Any, b: Any, v: Any) -> Any:
    z = lib.np.tanh(x @ w + b) @ v
    return lib.np.mean(lib.np.log(lib.np.sum(lib.np.exp(z), 1)) - z[:, 0])


@kernel("learning: soft k-means, 500 x 50", normal((500, 10)), normal((50, 10)))
def soft_means(lib: Library, x: Any, c: Any) -> Any:
    distances = lib.np.sum((x[:, None] - c[None]) ** 2, -1)
    return -lib.np.sum(lib.np.log(lib.np.sum(lib.np.exp(-distances), 1)))


@kernel("learning: gradients of 50 networks", normal((50, 20)), 0.1 * normal((20, 20)), 0.1 * normal((20, 20)))
def many_gradients(lib: Library, x: Any, w: Any, v: Any) -> Any:
    f = lambda row: lib.np.sum(lib.np.tanh(v @ lib.np.tanh(w @ row)))
    return lib.np.sum(lib.vmap(lib.grad(f))(x) ** 2)


@kernel("learning: five Newton steps of a regression", normal((64, 10)), normal(10), normal(64))
def newton_regression(lib: Library, x: Any, w: Any, y: Any) -> Any:
    for _ in range(5):
        p = 1 / (1 + lib.np.exp(-(x @ w)))
        hessian = x.T @ ((p * (1 - p))[:, None] * x) + np.eye(10)
        w = w - lib.np.linalg.solve(hessian, x.T @ (p - (y > 0)) + w)
    return lib.np.sum(w**2)


@kernel("learning: hidden Markov model, 200 x 10", normal((200, 10)), normal((10, 10)))
def hidden_markov(lib: Library, emissions: Any, a: Any) -> Any:
    n = lib.np
    transitions = a - n.log(n.sum(n.exp(a), 1, keepdims=True))

    def step(forward: Any, emission: Any) -> Any:
        s = forward[:, None] + transitions
        top = n.max(s, 0)
        return top + n.log(n.sum(n.exp(s - top), 0)) + emission, None

    last, _ = lib.scan(step, emissions[0], emissions[1:])
    return n.log(n.sum(n.exp(last - n.max(last)))) + n.max(last)


@kernel("learning: volatility, 1000 days", np.array([1.0, 0.1, 0.02, 0.3]), 0.01 * normal(1000))
def volatility(lib: Library, p: Any, returns: Any) -> Any:
    def step(s: Any, r: Any) -> Any:
        s = p[1] * 0.01 + p[2] * r * r + (1 - abs(p[3])) * s
        return s, lib.np.log(s) + r * r / s

    return lib.np.sum(lib.scan(step, 1e-4 + 0 * p[0], returns)[1])


@kernel("learning: Sinkhorn, 30 x 30, 50 steps", normal((30, 30)), normal(30))
def sinkhorn(lib: Library, costs: Any, a: Any) -> Any:
    n = lib.np
    k, weights = n.exp(-n.abs(costs)), n.exp(a) / n.sum(n.exp(a))
    u, _ = lib.scan(lambda u, _: (weights / (k @ (weights / (k.T @ u))), None), np.ones(30) + 0 * a, np.arange(50))
    return n.sum(u[:, None] * k * (weights / (k.T @ u))[None] * n.abs(costs))


# Physics and engineering


@kernel("physics: 100 steps of diffusion, 64 x 64", normal((64, 64)))
def diffusion(lib: Library, u: Any) -> Any:
    roll = lib.np.roll

    def step(u: Any, _: Any) -> Any:
        around = roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1)
        return u + 0.1 * (around - 4 * u) + 0.01 * u * (1 - u * u), None

    return lib.np.sum(lib.scan(step, u, np.arange(100))[0] ** 2)


@kernel("physics: 20 steps of 40 bodies", normal((40, 3)), normal((40, 3)))
def bodies(lib: Library, x: Any, v: Any) -> Any:
    def acceleration(x: Any) -> Any:
        d = x[None] - x[:, None]
        r2 = lib.np.sum(d**2, -1) + 0.1
        return lib.np.sum(d / (r2 * lib.np.sqrt(r2))[..., None], 1)

    def step(state: Any, _: Any) -> Any:
        x, v = state
        v = v + 0.005 * acceleration(x)
        x = x + 0.01 * v
        return (x, v + 0.005 * acceleration(x)), None

    (x, v), _ = lib.scan(step, (x, v), np.arange(20))
    return lib.np.sum(x**2)


@kernel("physics: 100 equations side by side, 100 steps", 0.1 * normal((100, 7)), np.array([1.0, 2.0, 0.5]))
def equations(lib: Library, starts: Any, rates: Any) -> Any:
    def f(y: Any) -> Any:
        return lib.np.stack([rates[0] * y[0] - y[0] * y[1], -rates[1] * y[1] + rates[2] * y[0] * y[1]])

    def step(y: Any, _: Any) -> Any:
        h = 0.01
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + h * k3)), None

    last = lambda start: lib.scan(step, lib.np.abs(start[:2]) + 1, np.arange(100))[0]
    return lib.np.sum(lib.vmap(lambda start: lib.np.sum(last(start) ** 2))(starts))


@kernel("physics: conjugate gradients, 20, 15 steps", normal((20, 20)) + 20 * np.eye(20), normal(20))
def conjugate_gradients(lib: Library, a: Any, b: Any) -> Any:
    s = a @ a.T

    def step(state: Any, _: Any) -> Any:
        x, r, p, rr = state
        sp = s @ p
        x, r = x + rr / (p @ sp) * p, r - rr / (p @ sp) * sp
        return (x, r, r + (r @ r) / rr * p, r @ r), None

    return lib.np.sum(lib.scan(step, (0 * b, b, b, b @ b), np.arange(15))[0][0] ** 2)


@kernel("physics: Gauss-Newton with a Jacobian", normal((10, 5)), normal(5), normal(10))
def gauss_newton(lib: Library, x: Any, w: Any, y: Any) -> Any:
    residual = lambda w: lib.np.tanh(x @ w) - y
    for _ in range(3):
        r, j = residual(w), lib.jacobian(residual)(w)
        w = w - lib.np.linalg.solve(j.T @ j + 0.1 * np.eye(5), j.T @ r)
    return lib.np.sum(residual(w) ** 2)


@kernel("physics: distances, 1000 x 1000", normal(1000))
def distances(lib: Library, x: Any) -> Any:
    return lib.np.sum(lib.np.abs(x[:, None] - x[None]) ** 1.5)


@kernel("physics: rotations of 1000 points", normal((1000, 3)), np.array([0.1, 0.2, 0.3]))
def rotations(lib: Library, points: Any, r: Any) -> Any:
    n = lib.np
    angle = n.sqrt(n.sum(r * r) + 1e-12)
    k, c, s = r / angle, n.cos(angle), n.sin(angle)
    return n.sum((points * c + n.cross(k, points) * s + n.outer(points @ k, k) * (1 - c)) ** 3)


@kernel("finance: 100000 options", np.abs(normal(100000)) + 50, 60.0, 0.02, 0.3)
def options(lib: Library, s: Any, strike: Any, rate: Any, sigma: Any) -> Any:
    d1 = (lib.np.log(s / strike) + (rate + sigma * sigma / 2)) / sigma
    below = lambda z: 1 / (1 + lib.np.exp(-1.702 * z))
    return lib.np.sum(s * below(d1) - strike * lib.np.exp(-rate) * below(d1 - sigma))


@kernel("images: a 5 x 5 filter of 32 x 32 x 3", normal((32, 32, 3)), normal((5, 5)))
def image_filter(lib: Library, image: Any, weights: Any) -> Any:
    total = 0.0
    for i in range(5):
        for j in range(5):
            total = total + weights[i, j] * image[i : 28 + i, j : 28 + j]
    return lib.np.sum(lib.np.maximum(total, 0) ** 2)
