"""Update rules and training beside PyTorch and optax: Adam on a million parameters, an epoch of a network on digits.

    PYTHONPATH=src:. python benchmarks/stochastic.py

Needs torch, optax and scikit-learn; one thread, single precision, rounds taken alternately, the least time of each. The
ratio is ours / theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from sklearn.datasets import load_digits

import adjoint as ad
from adjoint import nn
from adjoint.optimize import updates

PARAMETERS, ROUNDS = 1_000_000, 40
SIZES, BATCH = (64, 128, 10), 64


def least_times(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least processor seconds of each, in alternating rounds."""
    times = dict.fromkeys(contenders, np.inf)
    for _ in range(rounds):
        for name, run in contenders.items():
            start = time.process_time()
            run()
            times[name] = min(times[name], time.process_time() - start)
    return times


def adam() -> dict[str, Callable[[], Any]]:
    """One update of Adam."""
    draw = np.random.default_rng(0).normal
    w, g = (draw(size=PARAMETERS).astype(np.float32) for _ in range(2))
    rule = updates.adam(1e-3)
    step = ad.jit(lambda w, state, g: (lambda u: (updates.apply(w, u[0]), u[1]))(rule.update(g, state, w)))
    ours = {"now": (w, rule.init(w))}

    def run_ours() -> None:
        ours["now"] = step(*ours["now"], g)

    tensor = torch.tensor(w, requires_grad=True)
    tensor.grad = torch.tensor(g)
    optimizers = {"torch fused": torch.optim.Adam([tensor], 1e-3, fused=True),
                  "torch foreach": torch.optim.Adam([tensor], 1e-3, foreach=True)}  # fmt: skip
    theirs = optax.adam(1e-3)
    move = jax.jit(lambda w, s, g: (lambda u: (optax.apply_updates(w, u[0]), u[1]))(theirs.update(g, s, w)),
                   donate_argnums=(0, 1))  # fmt: skip
    held = {"now": (jnp.asarray(w), theirs.init(jnp.asarray(w)))}
    slope = jnp.asarray(g)

    def run_optax() -> None:
        held["now"] = jax.block_until_ready(move(*held["now"], slope))

    steps = {name: optimizer.step for name, optimizer in optimizers.items()}
    return {"adjoint": run_ours, **steps, "optax": run_optax}


def epoch() -> dict[str, Callable[[], Any]]:
    """One epoch of digits with Adam: gathering, loss, gradient and update of each batch."""
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    model = nn.MLP.init(ad.random.default_rng(0), SIZES, dtype=np.float32)

    def loss(model: Any, batch: Any) -> Any:
        return nn.metrics.log_loss.each(model(batch["x"]), batch["y"])

    data, rng, rule = ad.data.arrays(x=X, y=y), ad.random.default_rng(1), updates.adam(1e-3)
    run_ours = lambda: nn.fit(model, loss, data, rule, epochs=1, batch=BATCH, rng=rng, compile=True)

    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.Adam(net.parameters(), 1e-3, fused=True)
    tx, ty = torch.tensor(X), torch.tensor(y)

    def run_torch() -> None:
        order = torch.randperm(len(tx))
        for rows in order.split(BATCH):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(tx[rows]), ty[rows]).backward()
            optimizer.step()

    params = [(jnp.asarray(layer.weight), jnp.asarray(layer.bias)) for layer in model.layers]
    theirs = optax.adam(1e-3)
    jx, jy = jnp.asarray(X), jnp.asarray(y)

    def mean(params: Any, x: Any, y: Any) -> Any:
        (A, a), (B, b) = params
        return optax.softmax_cross_entropy_with_integer_labels(jax.nn.relu(x @ A + a) @ B + b, y).mean()

    @jax.jit
    def advance(params: Any, state: Any, rows: Any) -> Any:
        step, state = theirs.update(jax.grad(mean)(params, jx[rows], jy[rows]), state, params)
        return optax.apply_updates(params, step), state

    held = {"now": (params, theirs.init(params))}
    shuffle = np.random.default_rng(0)

    def run_optax() -> None:
        order = shuffle.permutation(len(X))[: len(X) // BATCH * BATCH].reshape(-1, BATCH)
        now = held["now"]
        for rows in order:
            now = advance(*now, rows)
        held["now"] = jax.block_until_ready(now)

    return {"adjoint": run_ours, "torch fused": run_torch, "optax": run_optax}


def main() -> None:
    torch.set_num_threads(1)
    for title, contenders in (("Adam, 10⁶ parameters", adam()), ("an epoch of digits, 64-128-10", epoch())):
        for run in contenders.values():  # compile
            run()
            run()
        times = least_times(contenders, ROUNDS)
        print(title)
        for name, seconds in times.items():
            print(f"  {name:14} {1e3 * seconds:8.3f} ms   ratio {times['adjoint'] / seconds:5.2f}")


if __name__ == "__main__":
    main()
