"""A ball that is to bounce twice and then pass a ring: aimed by its gradient, through both bounces.

    python examples/bouncing_ball.py [rings]

    x″ = -k |v| v - g        at the floor: v → (s vₓ, -r v_y)

Where and when the ball comes to the plane of the ring depends on its first velocity through events that change its
state. The derivative of all this is exact, so that Newton's method aims in a few throws: two unknowns (the velocity),
and two conditions (height and time at the ring).
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import integrate

GRAVITY, DRAG, RING = 9.81, 0.02, 8.0
FLOOR = np.array([0.92, 0.78])  # what is left of the speed along the floor, and of that against it
FIRST = np.array([4.0, 3.8])  # a throw that bounces twice before it comes to the ring


def fly(t: Any, y: Any, floor: Any) -> Any:
    """Position (x, height) and velocity, with air drag."""
    speed = np.sqrt(y[2] ** 2 + y[3] ** 2)
    return np.stack([y[2], y[3], -DRAG * speed * y[2], -DRAG * speed * y[3] - GRAVITY])


BOUNCE = integrate.Event(
    lambda t, y, floor: y[1], direction=-1, terminal=False,
    change=lambda t, y, floor: np.stack([y[0], 0.0 * y[1], floor[0] * y[2], -floor[1] * y[3]]),
)  # fmt: skip
AT_RING = integrate.Event(lambda t, y, floor: y[0] - RING, direction=1)


def throw(velocity: Any, floor: Any = FLOOR, save: Any = None) -> Any:
    start = np.concatenate([np.array([0.0, 1.5]), velocity])
    return integrate.solve(fly, (0.0, 10.0), start, args=(floor,), events=[BOUNCE, AT_RING], save=save,
                           method="tsit5", rtol=1e-10, atol=1e-12)  # fmt: skip


def arrival(velocity: Any, floor: Any = FLOOR) -> Any:
    """Height and time at the ring."""
    ring = throw(velocity, floor).events[1]
    return np.stack([ring.value[1], ring.time])


def aim(wanted: Any, velocity: Any = FIRST, floor: Any = FLOOR, throws: int = 8) -> Any:
    """Newton's method for arrival(velocity) = wanted: the velocities of all throws."""

    def better(velocity: Any, _: Any) -> Any:
        step = np.linalg.solve(ad.jacfwd(arrival)(velocity, floor), wanted - arrival(velocity, floor))
        velocity = velocity + step
        return velocity, velocity

    return ad.scan(better, velocity, None, length=throws)[1]


def main(rings: int = 20) -> None:
    wanted = np.array([0.6, 2.5])
    throws = np.concatenate([FIRST[None], ad.jit(aim)(wanted)])
    misses = [np.max(np.abs(arrival(v) - wanted)) for v in throws]
    print("throw    velocity            height at the ring     after     miss")
    for k, v in enumerate(throws[:6]):
        height, time = arrival(v)
        print(f"{k:5d}    ({v[0]:.5f}, {v[1]:.5f})  {height:14.6f} m {time:12.6f} s   {misses[k]:.1e}")
    path = throw(throws[-1])
    bounces = path.events[0]
    assert path.status == "event"
    assert int(bounces.count) == 2
    assert misses[-1] < 1e-9
    print(f"✓ it bounces at {bounces.values[0, 0]:.2f} m and {bounces.values[1, 0]:.2f} m, then flies through the ring")

    v, h = throws[-1], 1e-4
    exact = ad.jacfwd(arrival)(v)
    differences = np.stack([(arrival(v + h * e) - arrival(v - h * e)) / (2 * h) for e in np.eye(2)], axis=1)
    error = np.max(np.abs(exact - differences) / np.abs(differences))
    print(f"the derivative through both bounces: {error:.1e} from differences")
    assert error < 1e-6
    print("✓ the gradient")

    # What a softer floor asks of the throw: from the equation arrival(v, floor) = wanted, without aiming again.
    by_floor = -np.linalg.solve(exact, ad.jacfwd(arrival, argnums=1)(v, FLOOR))
    softer = FLOOR - np.array([0.0, 0.0002])
    predicted, aimed = v - 0.0002 * by_floor[:, 1], ad.jit(aim)(wanted, v, softer)[-1]
    print(f"a floor with r = {softer[1]:.4f} asks for ({aimed[0]:.6f}, {aimed[1]:.6f}), "
          f"predicted ({predicted[0]:.6f}, {predicted[1]:.6f})")  # fmt: skip
    assert np.max(np.abs(predicted - aimed)) < 0.01 * np.max(np.abs(aimed - v))
    print("✓ the derivative of the aim itself")

    heights = np.linspace(0.52, 0.66, rings)
    found = ad.jit(ad.vmap(lambda height: aim(np.stack([height, 2.5]), v)[-1]))(heights)
    worst = np.max(np.abs(np.stack([arrival(w)[0] for w in found]) - heights))
    print(
        f"{rings} rings from {heights[0]:.2f} m to {heights[-1]:.2f} m in one compiled call: {worst:.1e} m off at most"
    )
    assert worst < 1e-8
    print("✓ many at once")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
