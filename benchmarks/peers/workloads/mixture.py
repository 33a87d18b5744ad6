"""A mixture of k Gaussians with full covariances over n points in d dimensions, as in ADBench: gradient in the
logarithms of the weights α (k), the means μ (k, d) and the factors q (k, d(d+1)/2) of the inverse covariances.

Q_k is lower triangular with the diagonal exp q[:d]; y = Q_k (x − μ_k); t_k = α_k + Σ q_k[:d] − ½ |y|²;
f = Σ_x logsumexp t − n logsumexp α + ½ |Q|² + const. By hand, with the weights r = softmax t of each point:
∂f/∂Y = −r y, ∂f/∂Q = Σ_x ∂f/∂y (x − μ)ᵀ, ∂f/∂μ = −Qᵀ Σ_x ∂f/∂y.
"""

from __future__ import annotations

from functools import partial
from math import lgamma, log, pi
from typing import Any

import numpy as np

from benchmarks.peers import engines
from benchmarks.peers.contender import Contender, Problem, Workload


def positions(d: int) -> Any:
    """(d(d+1)/2, d²): where each entry of q stands in Q, row by row; the strict lower triangle column by column."""
    rows = [(i, i) for i in range(d)] + [(j, i) for i in range(d) for j in range(i + 1, d)]
    P = np.zeros((len(rows), d * d))
    P[np.arange(len(rows)), [i * d + j for i, j in rows]] = 1.0
    return P


def constant(n: int, d: int, k: int) -> float:
    """What does not depend on the parameters: of the density, and of the Wishart prior with γ = 1, m = 0."""
    N = d + 1
    gamma = d * (d - 1) / 4 * log(pi) + sum(lgamma(0.5 * N + 0.5 * (1 - j)) for j in range(1, d + 1))
    return -n * d * 0.5 * log(2 * pi) - k * (-N * d * 0.5 * log(2) - gamma)


def logsumexp(x: Any) -> Any:
    """Over the last axis."""
    top = np.max(x.real, axis=-1, keepdims=True)
    return top[..., 0] + np.log(np.sum(np.exp(x - top), axis=-1))


def value(alpha: Any, mu: Any, q: Any, x: Any) -> Any:
    (n, d), k = x.shape, alpha.shape[0]
    diagonal, total = np.exp(q[:, :d]), np.sum(q[:, :d], axis=1)
    Q = (np.concatenate([diagonal, q[:, d:]], axis=1) @ positions(d)).reshape(k, d, d)
    Y = (x @ Q.reshape(k * d, d).T).reshape(n, k, d) - np.einsum("kij,kj->ki", Q, mu)
    T = alpha + total - 0.5 * np.einsum("nki,nki->nk", Y, Y)
    prior = 0.5 * (np.sum(diagonal**2) + np.sum(q[:, d:] ** 2))
    return constant(n, d, k) + np.sum(logsumexp(T)) - n * logsumexp(alpha) + prior


def gradient(alpha: Any, mu: Any, q: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    (n, d), k, P = x.shape, alpha.size, positions(x.shape[1])
    diagonal, total = np.exp(q[:, :d]), q[:, :d].sum(axis=1)
    Q = (np.concatenate([diagonal, q[:, d:]], axis=1) @ P).reshape(k, d, d)
    Y = x @ Q.reshape(k * d, d).T
    Y -= np.einsum("kij,kj->ki", Q, mu).reshape(-1)
    Y3 = Y.reshape(n, k, d)
    T = alpha + total - 0.5 * np.einsum("nki,nki->nk", Y3, Y3)
    top = T.max(axis=1, keepdims=True)
    R = np.exp(T - top)
    partition = R.sum(axis=1, keepdims=True)
    prior = 0.5 * (np.sum(diagonal**2) + np.sum(q[:, d:] ** 2))
    weights = np.exp(alpha - alpha.max())
    f = np.log(partition).sum() + top.sum() - n * (log(weights.sum()) + alpha.max()) + prior + constant(n, d, k)
    R /= partition
    count = R.sum(axis=0)
    Y3 *= -R[:, :, None]
    pulled = -Y3.sum(axis=0)
    slope_Q = (Y.T @ x).reshape(k, d, d) + pulled[:, :, None] * mu[:, None, :]
    slope = slope_Q.reshape(k, d * d) @ P.T
    slope[:, :d] = slope[:, :d] * diagonal + count[:, None] + diagonal**2
    slope[:, d:] += q[:, d:]
    return f, count - n * weights / weights.sum(), np.einsum("kij,ki->kj", Q, pulled), slope


def problem(size: str) -> Problem:
    """Size: "d10 K25 n1000"."""
    d, k, n = (int(part[1:]) for part in size.split())
    draw = np.random.default_rng(0).standard_normal
    return Problem((draw(k), draw((k, d)), 0.3 * draw((k, d * (d + 1) // 2)), draw((n, d))), 3)


def written(m: Any, join: Any, logsumexp: Any, means: Any, P: Any) -> Any:
    """The objective over a namespace `m`, whose ways to join, to reduce and to multiply by μ are given."""

    def loss(alpha: Any, mu: Any, q: Any, x: Any) -> Any:
        (n, d), k = x.shape, alpha.shape[0]
        diagonal, total = m.exp(q[:, :d]), m.sum(q[:, :d], 1)
        Q = m.reshape(m.matmul(join([diagonal, q[:, d:]], 1), P), (k, d, d))
        Y = m.reshape(m.matmul(x, m.reshape(Q, (k * d, d)).T), (n, k, d)) - means(Q, mu)
        T = alpha + total - 0.5 * m.sum(Y * Y, 2)
        prior = 0.5 * (m.sum(diagonal**2) + m.sum(q[:, d:] ** 2))
        return constant(n, d, k) + m.sum(logsumexp(T, 1)) - n * logsumexp(alpha, 0) + prior

    return loss


def by_jax(problem: Problem) -> Contender:
    jax = engines.start_jax()
    jnp = jax.numpy
    means = partial(jnp.einsum, "kij,kj->ki")
    P = jnp.asarray(positions(problem.arguments[3].shape[1]))
    return engines.jax_gradient(written(jnp, jnp.concatenate, jax.nn.logsumexp, means, P), problem)


def by_torch(problem: Problem, compiled: bool = False) -> Contender:
    torch = engines.start_torch(compiled)
    means = lambda Q, mu: torch.bmm(Q, mu[:, :, None])[:, :, 0]
    P = torch.tensor(positions(problem.arguments[3].shape[1]))
    return engines.torch_gradient(written(torch, torch.cat, torch.logsumexp, means, P), problem, compiled)


def by_autograd(problem: Problem) -> Contender:
    autograd = engines.start_autograd()
    anp = autograd.numpy
    means = partial(anp.einsum, "kij,kj->ki")
    P = positions(problem.arguments[3].shape[1])
    reduce = autograd.scipy.special.logsumexp
    return engines.autograd_gradient(written(anp, anp.concatenate, reduce, means, P), problem)


def by_casadi(problem: Problem) -> Contender:
    """One point is a function of scalars, mapped over all points."""
    casadi = engines.start_casadi()
    alpha, _, q, x = problem.arguments
    (n, d), k = x.shape, alpha.size

    def write() -> tuple[list[Any], Any]:
        Qs, moved = casadi.SX.sym("Q", k * d, d), casadi.SX.sym("moved", k * d)
        shift, point = casadi.SX.sym("shift", k), casadi.SX.sym("x", d)
        y = casadi.mtimes(Qs, point) - moved
        t = shift - 0.5 * casadi.sum1(casadi.reshape(y * y, d, k)).T
        top = casadi.mmax(t)
        one = casadi.Function("one", [Qs, moved, shift, point], [top + casadi.log(casadi.sum1(casadi.exp(t - top)))])
        sym = casadi.MX.sym
        a, mu, factors, points = sym("a", k), sym("mu", d, k), sym("q", q.shape[1], k), sym("x", d, n)
        diagonal = casadi.exp(factors[:d, :])
        flat = casadi.mtimes(casadi.DM(positions(d).T), casadi.vertcat(diagonal, factors[d:, :]))
        Q = casadi.reshape(flat, d, d * k).T
        moved_all = casadi.vertcat(*[casadi.mtimes(Q[j * d : (j + 1) * d, :], mu[:, j]) for j in range(k)])
        shifts = a + casadi.sum1(factors[:d, :]).T
        total = casadi.sum2(one.map("all", "serial", n, [0, 1, 2], [])(Q, moved_all, shifts, points))
        prior = 0.5 * (casadi.sumsqr(diagonal) + casadi.sumsqr(factors[d:, :]))
        return [a, mu, factors, points], constant(n, d, k) + total - n * casadi.logsumexp(a) + prior

    return engines.casadi_gradient(write, problem, transposed=(1, 2, 3))


MIXTURE = Workload(
    name="gmm",
    title="Mixture of 25 Gaussians in 10 dimensions",
    problem=problem,
    sizes=("d10 K25 n1000", "d10 K25 n10000"),
    tiny="d3 K2 n5",
    value=value,
    by_hand=gradient,
    contenders={
        "adjoint": partial(engines.adjoint_gradient, value),
        "jax": by_jax,
        "torch": by_torch,
        "torch compiled": partial(by_torch, compiled=True),
        "autograd": by_autograd,
        "casadi": by_casadi,
        "numpy by hand": partial(engines.by_hand, gradient),
    },
)
