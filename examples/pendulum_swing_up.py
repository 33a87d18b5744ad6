"""Swing a pendulum up: the torque of every step from the gradient of the whole simulation.

    python examples/pendulum_swing_up.py

θ'' = -sin θ - 0.1 θ' + torque, 200 steps of 0.05 s in one `ad.scan`; the loss asks for θ = π and rest at the end, and
for little torque. Value and gradient are compiled together, and SciPy's L-BFGS does the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

import adjoint as ad

STEP = 0.05


def simulate(torque: Any) -> Any:
    """The angles and velocities after each step, from hanging at rest."""

    def advance(state: Any, push: Any) -> Any:
        angle, velocity = state
        velocity = velocity + STEP * (push - np.sin(angle) - 0.1 * velocity)
        angle = angle + STEP * velocity
        return (angle, velocity), (angle, velocity)

    return ad.scan(advance, (0.0, 0.0), torque)[1]


def loss(torque: Any) -> Any:
    angle, velocity = simulate(torque)
    return 50 * (angle[-1] - np.pi) ** 2 + 50 * velocity[-1] ** 2 + STEP * np.sum(torque**2)


def swing_up(steps: int = 200) -> tuple[Any, Any]:
    """(torques, angles) of the best swing found."""
    start = 0.1 * np.sin(STEP * np.arange(steps))
    result = minimize(ad.jit(ad.value_and_grad(loss)), start, jac=True, method="L-BFGS-B")
    return result.x, simulate(result.x)[0]


def main(steps: int = 200) -> None:
    torque, angle = swing_up(steps)
    print(f"greatest torque {np.max(np.abs(torque)):.3f} (1 would hold it level); the last angle is {angle[-1]:.4f}")
    assert abs(angle[-1] - np.pi) < 0.05
    print("✓ it stands")


if __name__ == "__main__":
    main()
