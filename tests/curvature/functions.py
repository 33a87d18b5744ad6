"""Functions of every make, for walks through their graphs: fan-in, fan-out, broadcasting, loops, branches."""

from itertools import pairwise

import numpy as np

import adjoint as ad
from adjoint.numpy import zeros

RNG = np.random.default_rng(90)
A = RNG.normal(size=(4, 4))
POINT = np.array([0.7, -0.4, 1.3, 0.2])


def written(x):
    """Assigned to in place, and read again."""
    out = zeros(4)
    out[:2] = x[2:] * x[0]
    out[3] = np.sin(x[1])
    out[0] += x[0] ** 2
    return np.sum(out**3) + out[0] * x[3]


def branching(x):
    return np.sum(x**4) * x[1] if x[0] > 0 else np.sum(np.exp(x))


def looping(x):
    carry, ys = ad.scan(lambda c, t: (np.sin(c * t) + c, c * c), x, np.arange(1.0, 4.0))
    return np.sum(carry) ** 2 + np.sum(ys[1] * ys[2])


def turning(x):
    """A loop whose number of turns depends on x."""
    return np.sum(
        ad.while_loop(lambda s: s[1] < 5.0, lambda s: (np.sin(s[0]) + x, s[1] + 1.5 * x[0]), (x, 0.0))[0] ** 2
    )


FUNCTIONS = {
    "chain": lambda x: np.sum(np.tanh(A @ np.tanh(A @ x)) ** 2),
    "log-sum-exp": lambda x: np.log(np.sum(np.exp(x))),
    "quadratic form": lambda x: x @ A @ x,
    "powers": lambda x: np.prod(x) + np.sum(np.abs(x) ** 3.5),
    "fan-out": lambda x: np.sum(np.outer(np.sin(x), x) @ x * x) + x[0] * x[1] * np.max(x),
    "norms and sums": lambda x: np.linalg.norm(x) + np.sum(np.cumsum(x) ** 2) * np.mean(x),
    "broadcasting": lambda x: np.sum((np.exp(x[:, None]) * x[None, :] + np.mean(x)) ** 2 * np.sum(x)),
    "spectra": lambda x: np.sum(np.linalg.eigvalsh(A + A.T + np.diag(x)) ** 3),
    "solutions": lambda x: np.sum(np.linalg.solve(5 * np.eye(4) + np.outer(x, x), np.cos(x)) ** 2),
    "several results": lambda x: np.sum(np.linalg.qr(A + np.outer(x, x))[1] ** 3),
    "choice": lambda x: np.sum(np.where(x > 0, np.sqrt(np.abs(x)), x**2) * x),
    "pieces": lambda x: np.sum(np.concatenate([x, x * x, np.sin(x)[::-1]]) ** 3) * np.sum(x[[0, 0, 2]] ** 2),
    "contraction": lambda x: np.einsum("i,ij,j,j->", x, A, np.sin(x), x),
    "convolution": lambda x: np.sum(np.convolve(x, np.tanh(x)) ** 2),
    "Fourier": lambda x: np.sum(np.fft.irfft(np.fft.rfft(np.ones(4)).real * 1.0) * x**3),
    "written in place": written,
    "branch": branching,
    "loop": looping,
    "loop of unknown length": turning,
    "cond": lambda x: ad.cond(x[0] > 0, lambda x: np.sum(x**3) * x[1], lambda x: np.sum(x), x),
    "checkpoint": lambda x: ad.checkpoint(lambda x: np.sum(np.sin(x) * x[::-1]) ** 2)(x),
    "compiled inside": ad.jit(lambda x: np.sum(np.sin(x) * x[::-1]) ** 2),
    "custom rule": lambda x: np.sum(CUBE(x) * x),
    "linear": lambda x: 3.0 * np.sum(x) - x[1],
    "constant": lambda x: 2.0,
}
CUBE = ad.custom_rule(lambda x: x**3, vjp=lambda x: (x**3, lambda u: (3 * x**2 * u,)))


def network(parameters, x):
    """tanh(W x + b), layer by layer."""
    for W, b in parameters:
        x = np.tanh(W @ x + b)
    return x


def layers(*sizes, seed=0):
    """Weights and offsets of a network."""
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(n, m)) / np.sqrt(m), rng.normal(size=n) / 3) for m, n in pairwise(sizes)]
