"""A continuous flow: the density of two crescents, as a Gaussian that a differential equation carries there.

    python examples/two_moons.py [steps]

    y′ = network(y, t)        log p(x) = log N(y(0)) - ∫ tr ∂network/∂y dt,  y(1) = x

The likelihood is exact: going back from x, the trace of the Jacobian adds up to the change of volume. Each point has
its own steps of the solver, all in one compiled program with the gradient in the weights.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import integrate, nn
from adjoint.optimize import updates

NOISE, BATCH = 0.1, 128
SCALE = np.array([0.87, 0.5])


def moons(rng: Any, count: int) -> Any:
    """Points of two half circles that reach into each other, about of mean 0 and deviation 1."""
    angle, upper = np.pi * rng.random(count), rng.integers(0, 2, count) == 1
    x = np.where(upper, np.cos(angle), 1 - np.cos(angle)) - 0.5
    y = np.where(upper, np.sin(angle), 0.5 - np.sin(angle)) - 0.25
    return (np.stack([x, y], axis=-1) + NOISE * rng.normal(size=(count, 2))) / SCALE


def true_log_density(x: Any) -> Any:
    """log p of the points that `moons` draws: the Gaussian noise, averaged over the angle by the midpoint rule."""
    angle = np.pi * (np.arange(400) + 0.5) / 400
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    centers = np.concatenate([upper, np.array([1.0, 0.5]) - upper]) - np.array([0.5, 0.25])
    squares = np.sum((x[:, None] * SCALE - centers) ** 2, axis=-1) / (2 * NOISE**2)
    return np.log(np.mean(np.exp(-squares), axis=1) / (2 * np.pi * NOISE**2) * np.prod(SCALE))


def pushed(t: Any, y: Any, model: Any) -> Any:
    return model(np.concatenate([y, np.reshape(t, (1,))]))


def flow(model: Any, tol: float = 1e-4) -> Any:
    return integrate.flow(pushed, (0.0, 1.0), args=(model,), method="tsit5", rtol=tol, atol=tol)


def log_density(model: Any, x: Any, tol: float = 1e-4) -> Any:
    """log p of each point."""

    def one(x: Any) -> Any:
        z, change = flow(model, tol).inverse_and_log_det(x)
        return -0.5 * np.sum(z**2) - np.log(2 * np.pi) + change

    return ad.vmap(one)(x)


def train(steps: int) -> Any:
    rng = np.random.default_rng(0)
    model = nn.MLP.init(ad.random.default_rng(1), [3, 32, 32, 2], activation=np.tanh)
    rule = updates.adam(updates.cosine(0.01, steps))
    state = rule.init(model)

    @ad.jit
    def step(model: Any, state: Any, x: Any) -> Any:
        loss, gradient = ad.value_and_grad(lambda model: -np.mean(log_density(model, x)))(model)
        change, state = rule.update(gradient, state, model)
        return updates.apply(model, change), state, loss

    for k in range(steps):
        model, state, loss = step(model, state, moons(rng, BATCH))
        if k % 250 == 0 or k == steps - 1:
            print(f"{k:6d} steps: {loss:.3f} nats")
    return model


def main(steps: int = 1000) -> None:
    began = time.perf_counter()
    model = train(steps)
    print(f"{time.perf_counter() - began:.0f} s of training")
    fresh = moons(np.random.default_rng(5), 1000)
    density = ad.jit(log_density)
    own, true = density(model, fresh), true_log_density(fresh)
    normal = -0.5 * np.sum(fresh**2, axis=1) - np.log(2 * np.pi)
    print("mean log-likelihood of fresh points")
    for name, values in (("one Gaussian", normal), ("flow", own), ("what drew them", true)):
        print(f"{name:>16} {np.mean(values):8.3f} ± {np.std(values) / np.sqrt(len(fresh)):.3f}")
    gap = np.mean(true - own)
    print(f"the flow is {gap:.3f} nats from the true density")
    assert 0 < gap < 0.6 * np.mean(true - normal)
    print("✓ it has learned the moons")

    x, y = np.linspace(-5.0, 5.0, 121), np.linspace(-5.0, 5.0, 121)
    grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    total = np.sum(np.exp(density(model, grid))) * (x[1] - x[0]) * (y[1] - y[0])
    print(f"the density integrates to {total:.4f}")
    assert abs(total - 1) < 0.01
    print("✓ it is a density")

    def there_and_back(x: Any) -> Any:
        z, back = flow(model, 1e-9).inverse_and_log_det(x)
        again, forth = flow(model, 1e-9).forward_and_log_det(z)
        by_jacobian = np.log(np.abs(np.linalg.det(ad.jacfwd(flow(model, 1e-9).forward)(z))))
        return np.max(np.abs(again - x)), np.abs(back + forth), np.abs(forth - by_jacobian)

    worst = [float(np.max(v)) for v in ad.jit(ad.vmap(there_and_back))(fresh[:20])]
    print(f"there and back: {worst[0]:.1e} off, log-determinants {worst[1]:.1e}, "
          f"and {worst[2]:.1e} from that of the whole Jacobian")  # fmt: skip
    assert max(worst) < 1e-6
    print("✓ the map, its inverse and its change of volume")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
