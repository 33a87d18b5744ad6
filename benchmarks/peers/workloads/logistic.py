"""Logistic regression with k classes: mean cross-entropy of softmax(X W + b), gradient in W (d, k) and b (k).

With P = softmax(Z), Z = X W + b and the one-hot labels Y: ∂/∂Z = (P − Y) / n, ∂/∂W = Xᵀ ∂/∂Z, ∂/∂b = its column sums.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import engines
from benchmarks.peers.contender import Contender, Problem, Workload


def value(W: Any, b: Any, X: Any, y: Any) -> Any:
    Z = X @ W + b
    top = np.max(Z, axis=1)
    log_partition = top + np.log(np.sum(np.exp(Z - top[:, None]), axis=1))
    return np.mean(log_partition - Z[np.arange(y.size), y])


def gradient(W: Any, b: Any, X: Any, y: Any) -> tuple[Any, Any, Any]:
    """In place where it can be: Z becomes exp(Z − top), then the softmax, then the cotangent."""
    n, rows = y.size, np.arange(y.size)
    Z = X @ W
    Z += b
    chosen = Z[rows, y].sum()
    top = Z.max(axis=1, keepdims=True)
    Z -= top
    np.exp(Z, out=Z)
    partition = Z.sum(axis=1, keepdims=True)
    loss = (np.log(partition).sum() + top.sum() - chosen) / n
    Z /= partition * n
    Z[rows, y] -= 1.0 / n
    return loss, X.T @ Z, Z.sum(axis=0)


def problem(size: str) -> Problem:
    """Size: "1797 x 64 x 10", which is n x d x k."""
    n, d, k = (int(part) for part in size.split(" x "))
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((n, d)), generator.integers(0, k, n)
    W, b = 0.1 * generator.standard_normal((d, k)), 0.1 * generator.standard_normal(k)
    return Problem((W, b, X, y), 2)


def with_one_hot(problem: Problem) -> Problem:
    """The same problem, its labels as rows of 0 and 1: for peers whose indexing is slow or missing."""
    W, b, X, y = problem.arguments
    return replace(problem, arguments=(W, b, X, np.eye(b.size)[y]))


def by_adjoint_logsumexp(problem: Problem) -> Contender:
    """The same with the library's logsumexp in place of its formula."""

    def write(ad: Any) -> Any:
        def loss(W: Any, b: Any, X: Any, y: Any) -> Any:
            Z = X @ W + b
            return np.mean(ad.scipy.special.logsumexp(Z, axis=1) - Z[np.arange(y.size), y])

        return ad.value_and_grad(loss, argnums=(0, 1))

    return engines.adjoint_call(write, problem)


def by_jax(problem: Problem) -> Contender:
    jax = engines.start_jax()
    jnp = jax.numpy

    def loss(W: Any, b: Any, X: Any, y: Any) -> Any:
        Z = X @ W + b
        return jnp.mean(jax.nn.logsumexp(Z, axis=1) - jnp.take_along_axis(Z, y[:, None], axis=1)[:, 0])

    return engines.jax_gradient(loss, problem)


def by_torch(problem: Problem, compiled: bool = False) -> Contender:
    torch = engines.start_torch(compiled)
    entropy = torch.nn.functional.cross_entropy
    return engines.torch_gradient(lambda W, b, X, y: entropy(torch.addmm(b, X, W), y), problem, compiled)


def by_autograd(problem: Problem) -> Contender:
    autograd = engines.start_autograd()
    anp, logsumexp = autograd.numpy, autograd.scipy.special.logsumexp

    def loss(W: Any, b: Any, X: Any, Y: Any) -> Any:
        Z = anp.dot(X, W) + b
        return (anp.sum(logsumexp(Z, axis=1)) - anp.sum(Y * Z)) / Y.shape[0]

    return engines.autograd_gradient(loss, with_one_hot(problem))


def by_casadi(problem: Problem, generated_c: bool = False) -> Contender:
    casadi = engines.start_casadi()
    problem = with_one_hot(problem)

    def write() -> tuple[list[Any], Any]:
        W, b, X, Y = (
            casadi.MX.sym(name, *(a.shape if a.ndim == 2 else (1, a.size)))
            for name, a in zip("WbXY", problem.arguments)
        )
        n = Y.shape[0]
        Z = casadi.mtimes(X, W) + casadi.repmat(b, n, 1)
        return [W, b, X, Y], (casadi.sum1(casadi.log(casadi.sum2(casadi.exp(Z)))) - casadi.dot(Y, Z)) / n

    return engines.casadi_gradient(write, problem, generated_c)


SIZES = ("1797 x 64 x 10", "100000 x 200 x 10")

LOGISTIC = Workload(
    name="logreg",
    title="Logistic regression with 10 classes",
    problem=problem,
    sizes=SIZES,
    tiny="13 x 4 x 3",
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
    left_out={(size, "casadi C"): "gcc needs more than 150 s for the code that CasADi writes" for size in SIZES},
)
