"""A neural differential equation: a network learns the law of a pendulum from paths, and goes on where the data end.

    python examples/neural_equation.py [iterations]

    y′ = network(y)        least squares over noisy (angle, speed) of eight swings

The network knows nothing of pendulums. The loss runs the solver with adaptive steps over all paths; its gradient in all
weights is the exact one of these steps, in one compiled program.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import integrate, nn, optimize

FRICTION, NOISE, END = 0.25, 0.02, 4.0
TIMES = np.linspace(0.0, END, 25)


def pendulum(t: Any, y: Any) -> Any:
    """The law that is to be found, for many (angle, speed)."""
    return np.stack([y[..., 1], -np.sin(y[..., 0]) - FRICTION * y[..., 1]], axis=-1)


def data(rng: Any) -> tuple[Any, Any]:
    """Eight first states, and their noisy paths of shape (times, 8, 2)."""
    angle, speed = np.meshgrid(np.array([-2.2, -1.0, 1.0, 2.2]), np.array([-0.8, 0.8]))
    start = np.stack([angle.ravel(), speed.ravel()], axis=-1)
    paths = integrate.solve(pendulum, (0.0, END), start, save=TIMES, rtol=1e-9).values
    return start, paths + NOISE * rng.normal(size=paths.shape)


def learned(t: Any, y: Any, model: Any) -> Any:
    return model(y)


def run(model: Any, start: Any, times: Any, rtol: float = 1e-5) -> Any:
    return integrate.solve(learned, (0.0, times[-1]), start, args=(model,), save=times, method="tsit5", rtol=rtol,
                           atol=rtol)  # fmt: skip


def train(iterations: int) -> tuple[Any, Any, Any]:
    """The network, the first states and the data."""
    start, paths = data(np.random.default_rng(0))
    model = nn.MLP.init(ad.random.default_rng(1), [2, 24, 24, 2], activation=np.tanh)

    def loss(model: Any, until: Any) -> Any:
        """The mean square of what is off, up to a time: at first over short paths, which are easy to follow."""
        off = np.where((until >= TIMES)[:, None, None], run(model, start, TIMES).values - paths, 0.0)
        return np.mean(off**2) + 1e-7 * sum(np.sum(layer.weight**2) for layer in model.layers)

    for until, share in ((1.0, 0.3), (END, 0.7)):
        found = optimize.minimize(loss, model, until, method=optimize.LBFGS(),
                                  max_iterations=max(1, int(share * iterations)))  # fmt: skip
        model = found.value
    return model, start, paths


def main(iterations: int = 400) -> None:
    began = time.perf_counter()
    model, start, paths = train(iterations)
    off = run(model, start, TIMES).values - paths
    took, rms = time.perf_counter() - began, np.sqrt(np.mean(off**2))
    print(f"{took:.0f} s: the paths are off by {rms:.4f}, the noise is {NOISE}")
    assert rms < 1.5 * NOISE
    print("✓ the data are explained")

    fresh = np.array([[1.6, 0.0], [-0.5, 1.2]])
    longer = np.linspace(0.0, 3 * END, 61)
    true = integrate.solve(pendulum, (0.0, longer[-1]), fresh, save=longer, rtol=1e-9).values
    found = run(model, fresh, longer).values
    print("   time   pendulum from (1.6, 0)    network")
    for k in range(0, 61, 12):
        (a, b), (c, d) = true[k, 0], found[k, 0]
        print(f"{longer[k]:7.1f}   ({a:7.3f}, {b:7.3f})    ({c:7.3f}, {d:7.3f})")
    worst = np.max(np.abs(found - true))
    print(f"swings that it has not seen, three times as long: {worst:.3f} off at most")
    assert worst < 0.2
    print("✓ it goes on where the data end")

    def end(model: Any, adjoint: str) -> Any:
        path = integrate.solve(learned, (0.0, END), start, args=(model,), adjoint=adjoint, method="tsit5", rtol=1e-9)
        return np.sum(path.last**2)

    first = [ad.grad(end)(model, adjoint).layers[0].weight for adjoint in ("discretize", "backsolve")]
    distance = np.max(np.abs(first[0] - first[1])) / np.max(np.abs(first[0]))
    print(f"the gradient of the steps is {distance:.1e} from that of the adjoint equation, solved backwards")
    assert distance < 1e-5
    print("✓ both adjoints agree")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
