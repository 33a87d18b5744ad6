"""The dense Hessian of ½ mean (tanh(X W + b) v + c − y)² in all parameters θ = (W, b, v, c): 505 of them, 100 samples.

With H = tanh(X W + b), S = 1 − H², e = (H v + c − y) / m and X₁ = [X 1]: the Jacobian of the residuals is
J = [X₁ ⊗ (S v)  H  1] row by row, and the Hessian JᵀJ / m plus Σ e H'' in the blocks of one unit, and X₁ᵀ(S e) between
the weights into a unit and the one out of it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import engines
from benchmarks.peers.contender import STEP, Contender, Problem, Workload, relative_error


def split(theta: Any, inputs: int) -> tuple[Any, Any, Any, Any]:
    """W, b, v, c."""
    units = (theta.shape[0] - 1) // (inputs + 2)
    first, second = inputs * units, (inputs + 1) * units
    return theta[:first].reshape(inputs, units), theta[first:second], theta[second:-1], theta[-1]


def value(theta: Any, X: Any, y: Any) -> Any:
    W, b, v, c = split(theta, X.shape[1])
    return 0.5 * np.mean((np.tanh(X @ W + b) @ v + c - y) ** 2)


def slope(theta: Any, X: Any, y: Any) -> Any:
    W, b, v, c = split(theta, X.shape[1])
    H = np.tanh(X @ W + b)
    e = (H @ v + c - y) / y.size
    D = e[:, None] * v * (1 - H * H)
    return np.concatenate([(X.T @ D).ravel(), D.sum(axis=0), H.T @ e, [e.sum()]])


def hessian(theta: Any, X: Any, y: Any) -> tuple[Any]:
    W, b, v, c = split(theta, X.shape[1])
    m, units = y.size, v.size
    H = np.tanh(X @ W + b)
    S, e = 1 - H * H, (H @ v + c - y) / m
    X1 = np.concatenate([X, np.ones((m, 1))], axis=1)
    J = np.concatenate([(X1[:, :, None] * (S * v)[:, None, :]).reshape(m, -1), H, np.ones((m, 1))], axis=1)
    result = J.T @ J / m
    n, k = (X.shape[1] + 1) * units, np.arange(units)
    corner = result[:n, :n].reshape(-1, units, X.shape[1] + 1, units)
    corner[:, k, :, k] += np.einsum("mi,mk,mj->kij", X1, -2 * H * S * v * e[:, None], X1, optimize=True)
    result[:n, :n] = corner.reshape(n, n)
    between = np.zeros((X.shape[1] + 1, units, units))
    between[:, k, k] = X1.T @ (S * e[:, None])
    result[:n, n : n + units] += between.reshape(n, units)
    result[n : n + units, :n] += between.reshape(n, units).T
    return (result,)


def problem(size: str) -> Problem:
    """Size: "10-42-1 m100": inputs, units, samples."""
    layers, samples = size.split()
    inputs, units, _ = (int(part) for part in layers.split("-"))
    m = int(samples[1:])
    generator = np.random.default_rng(0)
    theta = 0.5 * generator.standard_normal((inputs + 2) * units + 1)
    return Problem((theta, generator.standard_normal((m, inputs)), generator.standard_normal(m)))


def check(problem: Problem) -> float:
    """Against the complex step of the gradient, column by column."""
    theta, X, y = problem.arguments
    columns = [slope(theta + 1j * STEP * unit, X, y).imag / STEP for unit in np.eye(theta.size)]
    return relative_error([np.stack(columns, axis=1)], hessian(theta, X, y))


def alone(result: Any) -> list[Any]:
    return [result]


def by_adjoint(problem: Problem) -> Contender:
    return engines.adjoint_call(lambda ad: ad.hessian(value), problem, alone)


def by_jax(problem: Problem) -> Contender:
    jax = engines.start_jax()
    jnp = jax.numpy

    def loss(theta: Any, X: Any, y: Any) -> Any:
        W, b, v, c = split(theta, X.shape[1])
        return 0.5 * jnp.mean((jnp.tanh(X @ W + b) @ v + c - y) ** 2)

    return engines.jax_call(jax.hessian(loss), problem, alone)


def by_torch(problem: Problem, compiled: bool = False) -> Contender:
    torch = engines.start_torch(compiled)

    def loss(theta: Any, X: Any, y: Any) -> Any:
        W, b, v, c = split(theta, X.shape[1])
        return 0.5 * ((torch.tanh(X @ W + b) @ v + c - y) ** 2).mean()

    return engines.torch_call(torch.func.hessian(loss), problem, lambda h: [h.detach().numpy()], compiled)


def by_autograd(problem: Problem) -> Contender:
    autograd = engines.start_autograd()
    anp = autograd.numpy

    def loss(theta: Any, X: Any, y: Any) -> Any:
        inputs = X.shape[1]
        units = (theta.shape[0] - 1) // (inputs + 2)
        W = anp.reshape(theta[: inputs * units], (inputs, units))
        b, v = theta[inputs * units : -units - 1], theta[-units - 1 : -1]
        return 0.5 * anp.mean((anp.dot(anp.tanh(anp.dot(X, W) + b), v) + theta[-1] - y) ** 2)

    return Contender(lambda: partial(autograd.hessian(loss), *problem.arguments), alone)


def by_casadi(problem: Problem) -> Contender:
    casadi = engines.start_casadi()
    theta, X, y = problem.arguments
    m, inputs = X.shape
    units = (theta.size - 1) // (inputs + 2)

    def write() -> tuple[list[Any], list[Any]]:
        t = casadi.MX.sym("theta", theta.size)
        W = casadi.reshape(t[: inputs * units], units, inputs).T
        b, v = t[inputs * units : (inputs + 1) * units].T, t[(inputs + 1) * units : -1]
        H = casadi.tanh(casadi.mtimes(casadi.DM(X), W) + casadi.repmat(b, m, 1))
        e = casadi.mtimes(H, v) + t[-1] - casadi.DM(y)
        return [t], [casadi.hessian(0.5 * casadi.sumsqr(e) / m, t)[0]]

    answers = lambda results: [results[0].reshape(theta.size, theta.size)]
    return engines.casadi_call(write, [theta], answers)


HESSIAN = Workload(
    name="hessian",
    title="Dense Hessian of a network with 505 parameters",
    problem=problem,
    sizes=("10-42-1 m100",),
    tiny="3-4-1 m5",
    value=value,
    by_hand=hessian,
    contenders={
        "adjoint": by_adjoint,
        "jax": by_jax,
        "torch": by_torch,
        "torch compiled": partial(by_torch, compiled=True),
        "autograd": by_autograd,
        "casadi": by_casadi,
        "numpy by hand": partial(engines.by_hand, hessian),
    },
    check=check,
)
