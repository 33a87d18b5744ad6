"""The Brusselator on a square: a stiff equation, stepped implicitly with sparse Newton steps.

    python examples/reaction_diffusion.py [points per side]

    u' = 1 + u²v - 4.4 u + α Δu        v' = 3.4 u - u²v + α Δv        (periodic)

Each value depends on its neighbors and on the other substance in its place: the Jacobian of an implicit step has six
nonzeros in a row. It is found from the code of the step, and a few products fill it.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from scipy.sparse.linalg import splu

import adjoint as ad

ALPHA = 0.1


def laplacian(u: Any, h: float) -> Any:
    around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
    return (around - 4 * u) / h**2


def rate(state: Any) -> Any:
    """The right-hand side, for a state of shape (2, n, n)."""
    u, v = state
    h = 1 / u.shape[0]
    reaction = u**2 * v
    return np.stack([1 + reaction - 4.4 * u + ALPHA * laplacian(u, h), 3.4 * u - reaction + ALPHA * laplacian(v, h)])


def start(n: int) -> Any:
    x, y = np.meshgrid(np.arange(n) / n, np.arange(n) / n, indexing="ij")
    return np.stack([22 * y * (1 - y) ** 1.5, 27 * x * (1 - x) ** 1.5])


def defect(new: Any, old: Any, step: float) -> Any:
    """What implicit Euler wants to be zero."""
    return new - old - step * rate(new)


def stepped(state: Any, step: float, jacobian: Any, tolerance: float = 1e-10) -> tuple[Any, int]:
    """One implicit step by Newton's method; (the new state, how many iterations)."""
    new = state
    for iteration in range(1, 20):
        value, matrix = jacobian(new, state, step)
        move = splu(matrix.tocsc()).solve(-np.ravel(value))
        new = new + move.reshape(new.shape)
        if np.max(np.abs(move)) < tolerance:
            return new, iteration
    raise RuntimeError("Newton's method does not converge; take a smaller step")


def main(n: int = 48, steps: int = 5, step: float = 0.02) -> None:
    state = start(n)
    print(f"{2 * n * n} unknowns")
    jacobian = ad.sparse.jacobian(defect, with_value=True, jit=True, order="smallest last")
    began = time.perf_counter()
    coloring = jacobian.coloring(state, state, step)
    print(f"pattern and coloring: {time.perf_counter() - began:.2f} s\n  {coloring!r}")
    assert coloring.pattern.nnz == 6 * state.size

    began, iterations = time.perf_counter(), 0
    for _ in range(steps):
        state, taken = stepped(state, step, jacobian)
        iterations += taken
    print(f"{steps} steps, {iterations} Newton iterations: {time.perf_counter() - began:.2f} s")

    # against many small explicit steps
    check, small = start(n), 0.2 / (4 * ALPHA * n * n)
    for _ in range(int(np.ceil(steps * step / small))):
        check = check + (steps * step / np.ceil(steps * step / small)) * rate(check)
    error = np.max(np.abs(check - state)) / np.max(np.abs(check))
    print(f"explicit steps, {np.ceil(steps * step / small):.0f} of them, differ by {100 * error:.2f} %")
    assert error < 0.05
    print("✓ both arrive at the same place")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
