"""Programs inside networks: a layer that solves quadratic programs, and a path of lasso fits, with their gradients.

    python -m benchmarks.layers

Needs jax, jaxopt, torch, cvxpy and cvxpylayers; double precision, one thread, rounds taken alternately, the least
processor time. The layer solves 32 programs with 20 unknowns, 5 equations and 30 inequalities and gives the gradient of
its output, times fixed numbers, in q, b and h. The path is 50 fits of the diabetes data and the gradient of their total
loss on other data in the penalties. The gradients are compared first, with differences and with the
formula on the supports that scikit-learn finds; the ratio is ours / theirs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import cvxpy as cp  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import jaxopt  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from cvxpylayers.torch import CvxpyLayer  # noqa: E402
from sklearn.datasets import load_diabetes  # noqa: E402
from sklearn.linear_model import Lasso  # noqa: E402

import adjoint as ad  # noqa: E402
from adjoint import optimize  # noqa: E402
from adjoint.optimize import proximal  # noqa: E402
from benchmarks.turns import least_times  # noqa: E402

BATCH, UNKNOWNS, EQUATIONS, INEQUALITIES = 32, 20, 5, 30
FITS, ROUNDS = 50, 7


Contenders = dict[str, Callable[[], Any]]


def differences(f: Callable[..., Any], args: tuple[Any, ...], step: Any) -> np.ndarray:
    """The derivative of f in each number of its arguments, by differences."""
    found = []
    for i, part in enumerate(args):
        for at in range(part.size):
            moved = np.zeros(part.size)
            moved[at] = np.broadcast_to(step, part.size)[at]
            shifted = lambda sign, i=i, part=part, moved=moved: (*args[:i], part + sign * moved.reshape(part.shape),
                                                                 *args[i + 1 :])  # fmt: skip
            found.append((f(*shifted(1.0)) - f(*shifted(-1.0))) / (2 * moved[at]))
    return np.array(found)


def report(title: str, compared: tuple[Contenders, np.ndarray]) -> None:
    """Compare the gradients with those expected, then the times."""
    contenders, expected = compared
    print(title)
    for name, run in contenders.items():
        found = np.concatenate([np.ravel(np.asarray(part)) for part in run()])
        away = np.abs(found - expected) / np.max(np.abs(expected))
        print(f"  {name:14} differs by {np.median(away):.0e}, at most {np.max(away):.0e}")
    times = least_times(contenders, ROUNDS)
    for name, seconds in times.items():
        print(f"  {name:14} {1e3 * seconds:9.2f} ms   ratio {times['adjoint'] / seconds:6.3f}")


def layer() -> tuple[Contenders, np.ndarray]:
    """The gradient of a layer of quadratic programs."""
    draw = np.random.default_rng(0).normal
    root = draw(size=(UNKNOWNS, UNKNOWNS)) / np.sqrt(UNKNOWNS)
    P = root @ root.T + 0.1 * np.eye(UNKNOWNS)
    A, G = draw(size=(EQUATIONS, UNKNOWNS)), draw(size=(INEQUALITIES, UNKNOWNS))
    inside = draw(size=(BATCH, UNKNOWNS))
    q, b, h = 3.0 * draw(size=(BATCH, UNKNOWNS)), inside @ A.T, inside @ G.T + np.abs(draw(size=(BATCH, INEQUALITIES)))
    factors = draw(size=(BATCH, UNKNOWNS))

    def ours(q: Any, b: Any, h: Any) -> Any:
        solve = ad.vmap(lambda q, b, h: optimize.qp(P, q, A=A, b=b, G=G, h=h).value)
        return np.sum(factors * solve(q, b, h))

    our_gradient = ad.jit(ad.grad(ours, (0, 1, 2)))

    def by_jaxopt(solver: Any) -> Callable[[], Any]:
        def solve(q: Any, b: Any, h: Any) -> Any:
            one = lambda q, b, h: solver.run(None, (P, q), (A, b), (G, h)).params.primal
            return jnp.sum(factors * jax.vmap(one)(q, b, h))

        gradient = jax.jit(jax.grad(solve, (0, 1, 2)))
        return lambda: jax.block_until_ready(gradient(q, b, h))

    x = cp.Variable(UNKNOWNS)
    parameters = [cp.Parameter(UNKNOWNS), cp.Parameter(EQUATIONS), cp.Parameter(INEQUALITIES)]
    objective = 0.5 * cp.sum_squares(np.linalg.cholesky(P).T @ x) + parameters[0] @ x
    problem = cp.Problem(cp.Minimize(objective), [A @ x == parameters[1], G @ x <= parameters[2]])
    their_layer = CvxpyLayer(problem, parameters=parameters, variables=[x])
    given = [torch.tensor(part, requires_grad=True) for part in (q, b, h)]

    def by_cvxpylayers() -> Any:
        (found,) = their_layer(*given)
        return torch.autograd.grad(torch.sum(torch.tensor(factors) * found), given)

    contenders = {"adjoint": lambda: our_gradient(q, b, h), "cvxpylayers": by_cvxpylayers,
                  "jaxopt, OSQP": by_jaxopt(jaxopt.OSQP(tol=1e-8, maxiter=20000))}  # fmt: skip
    return contenders, differences(ad.jit(ours), (q, b, h), 1e-6)


def lasso() -> tuple[Contenders, np.ndarray]:
    """The gradient of the losses of a path of lasso fits on held out data, in the penalties."""
    X, y = load_diabetes(return_X_y=True)
    X, y = X / np.std(X, axis=0), (y - np.mean(y)) / np.std(y)
    X, y, held_X, held_y = X[:300], y[:300], X[300:], y[300:]
    penalties = np.geomspace(0.5, 1e-3, FITS)
    squares = lambda w, X, y: ((X @ w - y) ** 2).mean() / 2

    def ours(penalties: Any) -> Any:
        def fit(w: Any, penalty: Any) -> Any:
            method = optimize.FISTA(proximal.l1(penalty))
            w = optimize.minimize(squares, w, X, y, method=method, tol=1e-9, max_iterations=5000).value
            return w, squares(w, held_X, held_y)

        return np.sum(ad.scan(fit, np.zeros(X.shape[1]), penalties)[1])

    our_gradient = ad.jit(ad.grad(ours))
    solver = jaxopt.ProximalGradient(squares, jaxopt.prox.prox_lasso, tol=1e-9, maxiter=5000)

    def by_jaxopt(penalties: Any) -> Any:
        def fit(w: Any, penalty: Any) -> Any:
            w = solver.run(w, penalty, X, y).params
            return w, squares(w, held_X, held_y)

        return jnp.sum(jax.lax.scan(fit, jnp.zeros(X.shape[1]), penalties)[1])

    gradient = jax.jit(jax.grad(by_jaxopt))
    w, scale = cp.Variable(X.shape[1]), cp.Parameter(nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(X @ w - y) / (2 * len(y)) + scale * cp.norm1(w)))
    their_layer = CvxpyLayer(problem, parameters=[scale], variables=[w])
    given = torch.tensor(penalties, requires_grad=True)
    more_X, more_y = torch.tensor(held_X), torch.tensor(held_y)

    def by_cvxpylayers() -> Any:
        (found,) = their_layer(given)
        return torch.autograd.grad((((found @ more_X.T - more_y) ** 2).mean(1) / 2).sum(), [given])

    contenders = {"adjoint": lambda: [our_gradient(penalties)], "cvxpylayers": by_cvxpylayers,
                  "jaxopt": lambda: [jax.block_until_ready(gradient(penalties))]}  # fmt: skip
    expected = []
    for penalty in penalties:  # w(λ) moves by -(X_SᵀX_S / n)⁻¹ sign(w_S) on its support S
        w = Lasso(alpha=penalty, fit_intercept=False, tol=1e-15, max_iter=10**7).fit(X, y).coef_
        own = X[:, w != 0]
        moved = -np.linalg.solve(own.T @ own / len(y), np.sign(w[w != 0]))
        expected.append((held_X @ w - held_y) @ held_X[:, w != 0] @ moved / len(held_y))
    return contenders, np.array(expected)


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    torch.set_num_threads(1)
    report("a layer of quadratic programs, with its gradient", layer())
    report(f"a path of {FITS} lasso fits, with its gradient", lasso())


if __name__ == "__main__":
    main()
