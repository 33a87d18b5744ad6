"""How well the ground conducts, from pressures that are measured in it: a coefficient field through its equation.

    python examples/coefficient_field.py [points per side]

    -div(exp(m) grad u) = q  in the unit square,  u = 0 on its border        u is measured with noise, m is looked for

m has as many unknowns as the grid. The equation is written as its residual; SciPy solves it with a sparse matrix that
is found from this code, and the gradient in all of m takes one more solve, with the transpose: the adjoint equation.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from scipy.sparse.linalg import splu

import adjoint as ad
from adjoint import implicit, optimize

NOISE = 0.01  # of the largest pressure
SMOOTH = 1e-3  # the weight of |grad m|², by the number of data


def residual(u: Any, m: Any) -> Any:
    """-div(exp(m) grad u) - q at the inner points; m lives at all of them and is constant across the border."""
    h = 1.0 / (u.shape[0] + 1)
    k = np.exp(np.pad(m, 1, mode="edge"))
    u = np.pad(u, 1)
    east = 0.5 * (k[1:-1, 1:] + k[1:-1, :-1]) * (u[1:-1, 1:] - u[1:-1, :-1]) / h**2
    north = 0.5 * (k[1:, 1:-1] + k[:-1, 1:-1]) * (u[1:, 1:-1] - u[:-1, 1:-1]) / h**2
    return -(east[:, 1:] - east[:, :-1]) - (north[1:] - north[:-1]) - source(m.shape[0])


def source(n: int) -> Any:
    """Four wells that press water in."""
    x, y = coordinates(n)
    wells = [(0.25, 0.3), (0.7, 0.25), (0.35, 0.75), (0.75, 0.7)]
    return sum(40.0 * np.exp(-((x - a) ** 2 + (y - b) ** 2) / 0.02) for a, b in wells)


def coordinates(n: int) -> Any:
    x = np.arange(1, n + 1) / (n + 1)
    return np.meshgrid(x, x, indexing="ij")


def true_field(n: int) -> Any:
    x, y = coordinates(n)
    return np.exp(-((x - 0.35) ** 2 + (y - 0.4) ** 2) / 0.03) - 0.8 * np.exp(-((x - 0.7) ** 2 + (y - 0.65) ** 2) / 0.02)


def solver(n: int) -> Any:
    """m ↦ u: the equation is linear in u, and its sparse matrix comes from a few products."""
    flat = lambda v, m: np.ravel(residual(np.reshape(v, (n, n)), m))
    zero = np.zeros(n * n)
    matrix = ad.sparse.jacobian(flat, coloring=ad.sparse.jacobian(flat).coloring(zero, np.zeros((n, n))), jit=True)
    return lambda m: splu(matrix(zero, m).tocsc()).solve(-flat(zero, m)).reshape(n, n)


def misfit(data: Any) -> Any:
    """The objective of (u, m): how far u is from the data, and how rough m is."""

    def objective(u: Any, m: Any) -> Any:
        rough = np.sum(np.diff(m, axis=0) ** 2) + np.sum(np.diff(m, axis=1) ** 2)
        return 0.5 * np.mean((u - data) ** 2) + SMOOTH / data.size * rough

    return objective


def recover(n: int, iterations: int) -> tuple[Any, Any, Any, Any]:
    """The true field, the data, the objective as a function of m alone, and what was found."""
    true, solve = true_field(n), solver(n)
    u = solve(true)
    data = u + NOISE * u.max() * np.random.default_rng(0).normal(size=u.shape)
    J = implicit.adjoint_state(residual, misfit(data), solve, linear="sparse")
    found = optimize.minimize(J, np.zeros((n, n)), method="lbfgs", tol=1e-9, max_iterations=iterations, scale=1.0)
    return true, data, J, found


def main(n: int = 32, iterations: int = 150) -> None:
    began = time.perf_counter()
    true, data, J, found = recover(n, iterations)
    print(f"{n * n} unknowns: {int(found.iterations)} steps, {int(found.evaluations['gradient'])} gradients, "
          f"{time.perf_counter() - began:.1f} s, {found.status}")  # fmt: skip

    direction, h = np.random.default_rng(1).normal(size=(n, n)), 1e-5
    m = 0.5 * true
    difference = (J(m + h * direction) - J(m - h * direction)) / (2 * h)
    error = abs(np.vdot(ad.grad(J)(m), direction) - difference) / abs(difference)
    print(f"the gradient in {n * n} numbers is {error:.1e} from a difference along a direction")
    assert error < 1e-5
    print("✓ one solve with the transpose gives the gradient")

    start, left = (np.sqrt(np.mean((J.state(m) - data) ** 2)) / data.max() for m in (0 * true, found.value))
    seen = np.corrcoef(true.ravel(), found.value.ravel())[0, 1]
    print(f"misfit {100 * start:.1f} % at first, {100 * left:.2f} % now, with noise of {100 * NOISE:.0f} %; "
          f"correlation with the true field {seen:.3f}")  # fmt: skip
    assert left < 1.3 * NOISE
    assert seen > 0.85
    print("✓ the field is found, up to what the noise hides")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
