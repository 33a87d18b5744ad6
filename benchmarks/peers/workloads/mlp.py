"""A network 784 → 512 → 512 → 10 with relu and softmax cross-entropy, batch of 128: gradient in all six parameters.

Backwards: D₃ = (softmax − one-hot) / n; D₂ = (D₃ W₃ᵀ) [h₂ > 0]; D₁ = (D₂ W₂ᵀ) [h₁ > 0]; ∂/∂W_k = h_{k-1}ᵀ D_k.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.peers import engines
from benchmarks.peers.contender import Contender, Problem, Workload

LAYERS = {"f32": (784, 512, 512, 10), "f64": (784, 512, 512, 10), "tiny": (5, 4, 6, 3)}
BATCH = {"f32": 128, "f64": 128, "tiny": 7}
PARAMETERS = 6


def value(W1: Any, b1: Any, W2: Any, b2: Any, W3: Any, b3: Any, x: Any, y: Any) -> Any:
    h = np.maximum(x @ W1 + b1, 0.0)
    h = np.maximum(h @ W2 + b2, 0.0)
    z = h @ W3 + b3
    top = np.max(z, axis=1)
    log_partition = top + np.log(np.sum(np.exp(z - top[:, None]), axis=1))
    return np.mean(log_partition - z[np.arange(y.size), y])


def gradient(W1: Any, b1: Any, W2: Any, b2: Any, W3: Any, b3: Any, x: Any, y: Any) -> tuple[Any, ...]:
    n, rows = y.size, np.arange(y.size)
    h1 = x @ W1
    h1 += b1
    np.maximum(h1, 0.0, out=h1)
    h2 = h1 @ W2
    h2 += b2
    np.maximum(h2, 0.0, out=h2)
    D3 = h2 @ W3
    D3 += b3
    chosen = D3[rows, y].sum()
    top = D3.max(axis=1, keepdims=True)
    D3 -= top
    np.exp(D3, out=D3)
    partition = D3.sum(axis=1, keepdims=True)
    loss = (np.log(partition).sum() + top.sum() - chosen) / n
    D3 /= partition * n
    D3[rows, y] -= 1.0 / n
    D2 = D3 @ W3.T
    D2 *= h2 > 0
    D1 = D2 @ W2.T
    D1 *= h1 > 0
    return loss, x.T @ D1, D1.sum(axis=0), h1.T @ D2, D2.sum(axis=0), h2.T @ D3, D3.sum(axis=0)


def problem(size: str) -> Problem:
    """Size: the precision, or "tiny"."""
    kind = np.float32 if size == "f32" else np.float64
    generator = np.random.default_rng(0)
    widths, n = LAYERS[size], BATCH[size]
    parameters: list[Any] = []
    for rows, columns in pairwise(widths):
        parameters.append(generator.standard_normal((rows, columns)) * np.sqrt(2.0 / rows))
        parameters.append(0.01 * generator.standard_normal(columns))
    x, y = generator.standard_normal((n, widths[0])), generator.integers(0, widths[-1], n)
    return Problem((*[p.astype(kind) for p in parameters], x.astype(kind), y), PARAMETERS)


def with_one_hot(problem: Problem) -> Problem:
    """The same problem, its labels as rows of 0 and 1: for peers whose indexing is slow or missing."""
    *front, y = problem.arguments
    classes = problem.arguments[PARAMETERS - 1]
    return replace(problem, arguments=(*front, np.eye(classes.size, dtype=classes.dtype)[y]))


def by_adjoint_logsumexp(problem: Problem) -> Contender:
    """The same with the library's logsumexp in place of its formula."""

    def write(ad: Any) -> Any:
        def loss(W1: Any, b1: Any, W2: Any, b2: Any, W3: Any, b3: Any, x: Any, y: Any) -> Any:
            h = np.maximum(x @ W1 + b1, 0.0)
            h = np.maximum(h @ W2 + b2, 0.0)
            z = h @ W3 + b3
            return np.mean(ad.scipy.special.logsumexp(z, axis=1) - z[np.arange(y.size), y])

        return ad.value_and_grad(loss, argnums=tuple(range(PARAMETERS)))

    return engines.adjoint_call(write, problem)


def by_jax(problem: Problem) -> Contender:
    jax = engines.start_jax()
    jnp, relu = jax.numpy, jax.nn.relu

    def loss(W1: Any, b1: Any, W2: Any, b2: Any, W3: Any, b3: Any, x: Any, y: Any) -> Any:
        z = relu(relu(x @ W1 + b1) @ W2 + b2) @ W3 + b3
        return jnp.mean(jax.nn.logsumexp(z, axis=1) - jnp.take_along_axis(z, y[:, None], axis=1)[:, 0])

    return engines.jax_gradient(loss, problem)


def by_torch(problem: Problem, compiled: bool = False) -> Contender:
    torch = engines.start_torch(compiled)

    def loss(W1: Any, b1: Any, W2: Any, b2: Any, W3: Any, b3: Any, x: Any, y: Any) -> Any:
        h = torch.relu(torch.addmm(b1, x, W1))
        h = torch.relu(torch.addmm(b2, h, W2))
        return torch.nn.functional.cross_entropy(torch.addmm(b3, h, W3), y)

    return engines.torch_gradient(loss, problem, compiled)


def by_autograd(problem: Problem) -> Contender:
    autograd = engines.start_autograd()
    anp, logsumexp = autograd.numpy, autograd.scipy.special.logsumexp

    def loss(W1: Any, b1: Any, W2: Any, b2: Any, W3: Any, b3: Any, x: Any, Y: Any) -> Any:
        h = anp.maximum(anp.dot(x, W1) + b1, 0.0)
        h = anp.maximum(anp.dot(h, W2) + b2, 0.0)
        z = anp.dot(h, W3) + b3
        return (anp.sum(logsumexp(z, axis=1)) - anp.sum(Y * z)) / Y.shape[0]

    return engines.autograd_gradient(loss, with_one_hot(problem))


def by_casadi(problem: Problem, generated_c: bool = False) -> Contender:
    casadi = engines.start_casadi()
    problem = with_one_hot(problem)

    def write() -> tuple[list[Any], Any]:
        symbols = [
            casadi.MX.sym(f"s{k}", *(a.shape if a.ndim == 2 else (1, a.size))) for k, a in enumerate(problem.arguments)
        ]
        W1, b1, W2, b2, W3, b3, x, Y = symbols
        n = x.shape[0]
        affine = lambda h, W, b: casadi.mtimes(h, W) + casadi.repmat(b, n, 1)
        z = affine(casadi.fmax(affine(casadi.fmax(affine(x, W1, b1), 0), W2, b2), 0), W3, b3)
        return symbols, (casadi.sum1(casadi.log(casadi.sum2(casadi.exp(z)))) - casadi.dot(Y, z)) / n

    return engines.casadi_gradient(write, problem, generated_c)


MLP = Workload(
    name="mlp",
    title="Network 784-512-512-10, batch 128",
    problem=problem,
    sizes=("f32", "f64"),
    tiny="tiny",
    value=value,
    by_hand=gradient,
    contenders={
        "adjoint": partial(engines.adjoint_gradient, value),
        "adjoint, logsumexp": by_adjoint_logsumexp,
        "jax": by_jax,
        "torch": by_torch,
        "torch compiled": partial(by_torch, compiled=True),
        "autograd": by_autograd,
        "casadi": by_casadi,
        "casadi C": partial(by_casadi, generated_c=True),
        "numpy by hand": partial(engines.by_hand, gradient),
    },
    left_out={("f32", name): "CasADi computes in float64 only" for name in ("casadi", "casadi C")},
)
