"""Model predictive control: a quadratic program at every step of a loop, and gradients through all of them.

    python examples/model_predictive_control.py [steps]

A cart is to stop at a mark, with a bounded force. At each time the controller plans N steps ahead,

    minimize Σ ρ p² + σ v² + u²     subject to   x⁺ = A x + B u,   |u| ≤ 1,   |v| ≤ 0.6

applies the first force, and starts the next program from the answer to this one. The whole run is one compiled scan;
its gradient in the weights of the plan goes through the active constraints of every program.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import optimize

HORIZON, STEP = 12, 0.2
A = np.array([[1.0, STEP], [0.0, 1.0]])
B = np.array([0.5 * STEP**2, STEP])
FORCE, SPEED = 1.0, 0.6

# positions and speeds of the plan are linear in the state and in the forces: x = F x₀ + M u
F = np.stack([np.linalg.matrix_power(A, k + 1) for k in range(HORIZON)])
M = np.zeros((HORIZON, 2, HORIZON))
for _k in range(HORIZON):
    for _j in range(_k + 1):
        M[_k, :, _j] = np.linalg.matrix_power(A, _k - _j) @ B


def plan(state: Any, weights: Any, warm: Any) -> Any:
    """The forces of the next N steps, by a quadratic program."""
    W = np.exp(weights)  # of position and speed
    free = F @ state
    P = 2 * (np.eye(HORIZON) + np.einsum("i,kij,kil->jl", W, M, M))
    q = 2 * np.einsum("i,ki,kij->j", W, free, M)
    G = np.concatenate([M[:, 1], -M[:, 1]])
    h = np.concatenate([SPEED - free[:, 1], SPEED + free[:, 1]])
    return optimize.qp(P, q, G=G, h=h, lower=-FORCE, upper=FORCE, warm=warm)


def drive(weights: Any, start: Any, steps: int) -> tuple[Any, Any, Any]:
    """States, forces and iterations of a run."""
    nothing = {"x": np.zeros(HORIZON), "equality": np.zeros(0), "inequality": np.zeros(4 * HORIZON)}

    def step(carry: Any, _: Any) -> Any:
        state, warm = carry
        found = plan(state, weights, warm)
        u = found.value[0]
        after = A @ state + B * u
        return (after, found.state), (after, u, found.iterations)

    return ad.scan(step, (start, nothing), np.zeros(steps))[1]


def cost(weights: Any, start: Any, steps: int) -> Any:
    """What the run is really judged by: being away from the mark, and force."""
    states, forces, _ = drive(weights, start, steps)
    return STEP * (np.sum(states[:, 0] ** 2) + 0.02 * np.sum(forces**2))


def tuned(start: Any, steps: int) -> tuple[Any, Any]:
    """Weights of the plan before and after some steps along the gradient of the cost."""
    gradient = ad.jit(lambda w: ad.grad(cost)(w, start, steps))
    before = weights = np.array([0.0, 0.0])
    for _ in range(8):
        way = gradient(weights)
        weights = weights - 0.1 * way / np.linalg.norm(way)
    return before, weights


def main(steps: int = 40) -> None:
    start = np.array([2.0, 0.0])
    states, forces, iterations = ad.jit(lambda w: drive(w, start, steps))(np.zeros(2))
    print(f"{steps} programs of {HORIZON} unknowns and {4 * HORIZON} inequalities: "
          f"{np.sum(iterations)} factorizations in all, at most {np.max(iterations)} for one")  # fmt: skip
    assert np.max(np.abs(forces)) <= FORCE + 1e-9
    assert np.max(np.abs(states[:, 1])) <= SPEED + 1e-9
    assert np.isclose(np.min(states[:, 1]), -SPEED)
    assert np.median(iterations) <= 2
    print("✓ all limits are kept, one of them is reached, and most programs start from the answer before")

    gradient = ad.jit(lambda w: ad.grad(cost)(w, start, steps))(np.zeros(2))
    way, h = np.array([0.6, -0.8]), 1e-5
    plain = ad.jit(lambda w: cost(w, start, steps))
    difference = (plain(h * way) - plain(-h * way)) / (2 * h)
    error = abs(gradient @ way - difference) / abs(difference)
    print(f"the gradient through {steps} programs: {error:.1e} from differences")
    assert error < 1e-5
    print("✓ the gradient of the run")

    before, after = tuned(start, steps)
    shown = [f"{plain(w):.4f} with weights {np.round(np.exp(w), 2)}" for w in (before, after)]
    print(f"cost {shown[0]}, {shown[1]}")
    assert plain(after) < plain(before) - 1e-3
    print("✓ weights that plan better")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
