"""Quadratic programs with their gradients beside qpax and Clarabel.

    python -m benchmarks.programs

Needs jax, qpax and clarabel; double precision, one thread, rounds taken alternately, the least processor time. A
batch of 64 programs with 30 unknowns and 40 inequalities: solutions, and the gradient of their sum of squares in q.
Clarabel solves only, one program at a time. qpax smooths its gradient on purpose (target_kappa), so that it is not
that of the solution: both are held against differences. The ratio is ours / theirs.
"""

from __future__ import annotations

from typing import Any

import clarabel
import jax
import jax.numpy as jnp
import numpy as np
import qpax
from scipy import sparse

import adjoint as ad
from adjoint import optimize
from benchmarks.turns import least_times

BATCH, UNKNOWNS, INEQUALITIES, ROUNDS = 64, 30, 40, 10


def programs() -> tuple[np.ndarray, ...]:
    """P, q, G, h of a batch with a point within all inequalities."""
    draw = np.random.default_rng(0).normal
    root = draw(size=(BATCH, UNKNOWNS, UNKNOWNS))
    P = root @ np.swapaxes(root, 1, 2) / UNKNOWNS + 0.1 * np.eye(UNKNOWNS)
    G = draw(size=(BATCH, INEQUALITIES, UNKNOWNS))
    inside = draw(size=(BATCH, UNKNOWNS))
    h = np.einsum("bij,bj->bi", G, inside) + np.abs(draw(size=(BATCH, INEQUALITIES)))
    return P, 3.0 * draw(size=(BATCH, UNKNOWNS)), G, h


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    P, q, G, h = programs()
    none = jnp.zeros((0, UNKNOWNS)), jnp.zeros(0)

    def ours(P: Any, q: Any, G: Any, h: Any) -> Any:
        return optimize.qp(P, q, G=G, h=h).value

    def theirs(P: Any, q: Any, G: Any, h: Any) -> Any:
        return qpax.solve_qp_primal(P, q, *none, G, h)

    total = lambda solve: lambda P, q, G, h: (solve(P, q, G, h) ** 2).sum()
    our_solve = ad.jit(ad.vmap(ours))
    our_gradient = ad.jit(ad.vmap(ad.grad(total(ours), 1)))
    their_solve = jax.jit(jax.vmap(theirs))
    their_gradient = jax.jit(jax.vmap(jax.grad(total(theirs), 1)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False

    def one_by_one() -> np.ndarray:
        cones = [clarabel.NonnegativeConeT(INEQUALITIES)]
        rows = []
        for i in range(BATCH):
            upper, rules = sparse.csc_matrix(np.triu(P[i])), sparse.csc_matrix(G[i])
            rows.append(clarabel.DefaultSolver(upper, q[i], rules, h[i], cones, settings).solve().x)
        return np.array(rows)

    x = our_solve(P, q, G, h)
    for name, other in (("qpax", np.asarray(their_solve(P, q, G, h))), ("clarabel", one_by_one())):
        print(f"solutions differ from {name}'s by {np.max(np.abs(x - other)):.1e}")
    direction, step = np.random.default_rng(1).normal(size=q.shape), 1e-6
    squares = lambda q: np.sum(our_solve(P, q, G, h) ** 2, axis=1)
    differences = (squares(q + step * direction) - squares(q - step * direction)) / (2 * step)
    for name, gradient in (("our", our_gradient(P, q, G, h)), ("qpax's", np.asarray(their_gradient(P, q, G, h)))):
        away = np.abs(np.sum(gradient * direction, axis=1) - differences) / (1.0 + np.abs(differences))
        print(f"{name} gradients differ from differences by {np.median(away):.1e}, at most {np.max(away):.1e}")
    times = least_times(
        {
            "solve, ours": lambda: our_solve(P, q, G, h),
            "solve, qpax": lambda: their_solve(P, q, G, h).block_until_ready(),
            "solve, clarabel": one_by_one,
            "gradient, ours": lambda: our_gradient(P, q, G, h),
            "gradient, qpax": lambda: their_gradient(P, q, G, h).block_until_ready(),
        },
        ROUNDS,
    )
    for name, seconds in times.items():
        what = name.split(",")[0]
        print(f"{name:18s} {1e6 * seconds / BATCH:9.1f} µs each   ratio {times[f'{what}, ours'] / seconds:6.2f}")


if __name__ == "__main__":
    main()
