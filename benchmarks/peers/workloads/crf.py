"""A linear-chain CRF: log Z of emissions E (T, K) and transitions A (K, K); its gradient is the marginals.

α_0 = E_0, α_t = E_t + logsumexp_i(α_{t-1}[i] + A[i, :]), log Z = logsumexp(α_{T-1}).
By hand: forward and backward sums of products, rescaled at each step, so that an exponential is taken of each number of
E and A once, instead of K² at each step.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import engines
from benchmarks.peers.contender import Contender, Problem, Workload


def logsumexp(x: Any) -> Any:
    """Over the first axis."""
    top = np.max(x, axis=0)
    return top + np.log(np.sum(np.exp(x - top), axis=0))


def value(E: Any, A: Any) -> Any:
    alpha = E[0]
    for t in range(1, E.shape[0]):
        alpha = E[t] + logsumexp(alpha[:, None] + A)
    return logsumexp(alpha)


def gradient(E: Any, A: Any) -> tuple[Any, Any, Any]:
    """f_t ∝ (f_{t-1} Q) ∘ P_t with P = exp E, Q = exp A; b_t ∝ Q (P_{t+1} ∘ b_{t+1}); marginals f ∘ b."""
    T, K = E.shape
    tops, top = E.max(axis=1), A.max()
    P, Q = np.exp(E - tops[:, None]), np.exp(A - top)
    forward, logZ = np.empty((T, K)), tops.sum() + (T - 1) * top
    f = P[0]
    for t in range(T):
        f = (f @ Q) * P[t] if t else f
        scale = f.sum()
        f = f / scale
        logZ += np.log(scale)
        forward[t] = f
    nodes, edges, b = forward.copy(), np.zeros((K, K)), np.ones(K)
    for t in reversed(range(T - 1)):
        ahead = P[t + 1] * b
        b = Q @ ahead
        scale = forward[t] @ b
        b /= scale
        nodes[t] *= b
        edges += forward[t][:, None] * (ahead / scale)
    return logZ, nodes, edges * Q


def problem(size: str) -> Problem:
    """Size: "T200 K20"."""
    T, K = (int(part[1:]) for part in size.split())
    generator = np.random.default_rng(0)
    return Problem((generator.standard_normal((T, K)), generator.standard_normal((K, K))), 2)


def by_adjoint(problem: Problem, library: bool = False) -> Contender:
    """`library`: with adjoint's logsumexp in place of its formula."""

    def write(ad: Any) -> Any:
        reduce = partial(ad.scipy.special.logsumexp, axis=0) if library else logsumexp

        def log_partition(E: Any, A: Any) -> Any:
            step = lambda alpha, e: (e + reduce(alpha[:, None] + A), None)
            return reduce(ad.scan(step, E[0], E[1:])[0])

        return ad.value_and_grad(log_partition, argnums=(0, 1))

    return engines.adjoint_call(write, problem)


def by_numba(jit: Any) -> Any:
    """Rescaled forward and backward sums, as by hand in NumPy, in loops along memory."""

    @jit
    def forward(E: Any, A: Any, F: Any, P: Any, Q: Any) -> float:
        T, K = E.shape
        top = A.max()
        logZ = top * (T - 1)
        for i in range(K):
            for j in range(K):
                Q[i, j] = np.exp(A[i, j] - top)
        row = np.empty(K)
        for t in range(T):
            largest = E[t].max()
            for j in range(K):
                P[t, j] = np.exp(E[t, j] - largest)
                row[j] = 1.0 if t == 0 else 0.0
            if t > 0:
                for i in range(K):
                    f = F[t - 1, i]
                    for j in range(K):
                        row[j] += f * Q[i, j]
            scale = 0.0
            for j in range(K):
                row[j] *= P[t, j]
                scale += row[j]
            for j in range(K):
                F[t, j] = row[j] / scale
            logZ += largest + np.log(scale)
        return logZ

    @jit
    def backward(F: Any, P: Any, Q: Any, nodes: Any, edges: Any) -> None:
        T, K = F.shape
        b, ahead, row = np.ones(K), np.empty(K), np.empty(K)
        nodes[T - 1] = F[T - 1]
        for t in range(T - 2, -1, -1):
            for j in range(K):
                ahead[j] = P[t + 1, j] * b[j]
            scale = 0.0
            for i in range(K):
                total = 0.0
                for j in range(K):
                    total += Q[i, j] * ahead[j]
                row[i] = total
                scale += F[t, i] * total
            for i in range(K):
                b[i] = row[i] / scale
                nodes[t, i] = F[t, i] * b[i]
                weight = F[t, i] / scale
                for j in range(K):
                    edges[i, j] += weight * ahead[j]
        for i in range(K):
            for j in range(K):
                edges[i, j] *= Q[i, j]

    def call(E: Any, A: Any) -> tuple[Any, Any, Any]:
        F, P, nodes = np.empty_like(E), np.empty_like(E), np.empty_like(E)
        Q, edges = np.empty_like(A), np.zeros_like(A)
        logZ = forward(E, A, F, P, Q)
        backward(F, P, Q, nodes, edges)
        return logZ, nodes, edges

    return call


def by_jax(problem: Problem, unroll: int = 1, checkpoint: bool = False) -> Contender:
    jax = engines.start_jax()
    reduce = partial(jax.nn.logsumexp, axis=0)

    def log_partition(E: Any, A: Any) -> Any:
        step = lambda alpha, e: (e + reduce(alpha[:, None] + A), None)
        body = jax.checkpoint(step) if checkpoint else step
        return reduce(jax.lax.scan(body, E[0], E[1:], unroll=unroll)[0])

    return engines.jax_gradient(log_partition, problem)


def by_torch(problem: Problem, compiled: bool = False) -> Contender:
    """Compiled: the step alone. The whole loop would be unrolled."""
    torch = engines.start_torch(compiled)

    def plain_step(alpha: Any, e: Any, A: Any) -> Any:
        return e + torch.logsumexp(alpha[:, None] + A, 0)

    step = torch.compile(plain_step) if compiled else plain_step

    def log_partition(E: Any, A: Any) -> Any:
        alpha, *rest = E.unbind(0)
        for e in rest:
            alpha = step(alpha, e, A)
        return torch.logsumexp(alpha, 0)

    return engines.torch_gradient(log_partition, problem)


def by_autograd(problem: Problem) -> Contender:
    reduce = partial(engines.start_autograd().scipy.special.logsumexp, axis=0)

    def log_partition(E: Any, A: Any) -> Any:
        alpha = E[0]
        for t in range(1, E.shape[0]):
            alpha = E[t] + reduce(alpha[:, None] + A)
        return reduce(alpha)

    return engines.autograd_gradient(log_partition, problem)


def by_casadi(problem: Problem, generated_c: bool = False) -> Contender:
    """`fold` keeps the loop a loop; the step is a graph of scalars."""
    casadi = engines.start_casadi()
    T, K = problem.arguments[0].shape

    def reduce(x: Any) -> Any:
        top = casadi.mmax(x)
        return top + casadi.log(casadi.sum1(casadi.exp(x - top)))

    def write() -> tuple[list[Any], Any]:
        alpha, e, A = casadi.SX.sym("alpha", K), casadi.SX.sym("e", K), casadi.SX.sym("A", K, K)
        moved = casadi.vertcat(*[reduce(alpha + A[:, j]) for j in range(K)])
        step = casadi.Function("step", [alpha, e, A], [e + moved])
        E, A = casadi.MX.sym("E", K, T), casadi.MX.sym("A", K, K)
        last = step.fold(T - 1)(E[:, 0], E[:, 1:], casadi.repmat(A, 1, T - 1))
        return [E, A], casadi.logsumexp(last)

    return engines.casadi_gradient(write, problem, generated_c, transposed=(0,))


CRF = Workload(
    name="crf",
    title="CRF over 200 positions, 20 labels",
    problem=problem,
    sizes=("T200 K20",),
    tiny="T5 K3",
    value=value,
    by_hand=gradient,
    contenders={
        "adjoint": by_adjoint,
        "adjoint, logsumexp": partial(by_adjoint, library=True),
        "adjoint, plain loop": partial(engines.adjoint_gradient, value),
        "jax": by_jax,
        "jax checkpoint": partial(by_jax, checkpoint=True),
        "jax unrolled": partial(by_jax, unroll=8),
        "jax checkpoint unrolled": partial(by_jax, unroll=8, checkpoint=True),
        "torch": by_torch,
        "torch compiled": partial(by_torch, compiled=True),
        "autograd": by_autograd,
        "casadi": by_casadi,
        "casadi C": partial(by_casadi, generated_c=True),
        "numpy by hand": partial(engines.by_hand, gradient),
        "numba by hand": partial(engines.numba_call, by_numba),
    },
)
