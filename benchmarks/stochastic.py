"""Update rules and training beside PyTorch and optax: Adam on a million parameters, an epoch of a network on digits.

One update from Python makes new arrays here and in optax, while PyTorch writes into the old ones; ten updates are one
compiled loop here (what `train` and `nn.fit` run) and in optax, and a loop of Python over fused updates in PyTorch.

    python -m benchmarks.stochastic

Needs torch, optax and scikit-learn; one thread, single precision, rounds taken alternately, the least time of each. The
ratio is ours / theirs.
"""

from __future__ import annotations

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
from benchmarks.turns import least_times

PARAMETERS, UPDATES, ROUNDS = 1_000_000, 10, 30
SIZES, BATCH, EPOCHS = (64, 128, 10), 64, 10


def adam(updates_in_a_call: int) -> dict[str, Callable[[], Any]]:
    """Some updates of Adam."""
    draw = np.random.default_rng(0).normal
    w, g = (draw(size=PARAMETERS).astype(np.float32) for _ in range(2))
    rule, theirs = updates.adam(1e-3), optax.adam(1e-3)

    def advance(w: Any, state: Any, g: Any) -> Any:
        step, state = rule.update(g, state, w)
        return updates.apply(w, step), state

    def follow(w: Any, state: Any, g: Any) -> Any:
        step, state = theirs.update(g, state, w)
        return optax.apply_updates(w, step), state

    def repeat(loop: Any, step: Any) -> Any:
        if updates_in_a_call == 1:
            return step
        return lambda w, state, g: loop(0, updates_in_a_call, lambda _, now: step(*now, g), (w, state))

    ours = ad.jit(repeat(ad.fori_loop, advance))
    move = jax.jit(repeat(jax.lax.fori_loop, follow), donate_argnums=(0, 1))
    held = {"ours": (w, rule.init(w)), "optax": (jnp.asarray(w), theirs.init(jnp.asarray(w)))}
    gradient = jnp.asarray(g)
    tensor = torch.tensor(w, requires_grad=True)
    tensor.grad = torch.tensor(g)
    optimizers = {"torch fused": torch.optim.Adam([tensor], 1e-3, fused=True),
                  "torch foreach": torch.optim.Adam([tensor], 1e-3, foreach=True)}  # fmt: skip

    def run_ours() -> None:
        held["ours"] = ours(*held["ours"], g)

    def run_optax() -> None:
        held["optax"] = jax.block_until_ready(move(*held["optax"], gradient))

    def run_torch(optimizer: Any) -> Callable[[], None]:
        def run() -> None:
            for _ in range(updates_in_a_call):
                optimizer.step()

        return run

    steps = {name: run_torch(optimizer) for name, optimizer in optimizers.items()}
    return {"adjoint": run_ours, **steps, "optax": run_optax}


def epoch(epochs: int) -> dict[str, Callable[[], Any]]:
    """Epochs of digits with Adam: order, gathering, loss, gradient and update of each batch."""
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    model = nn.MLP.init(ad.random.default_rng(0), SIZES, dtype=np.float32)

    def loss(model: Any, batch: Any) -> Any:
        return nn.metrics.log_loss.each(model(batch["x"]), batch["y"])

    data, rng, rule = ad.data.arrays(x=X, y=y), ad.random.default_rng(1), updates.adam(1e-3)
    run_ours = lambda: nn.fit(model, loss, data, rule, epochs=epochs, batch=BATCH, rng=rng, compile=True)

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

    @jax.jit
    def advance_all(params: Any, state: Any, order: Any) -> Any:
        return jax.lax.scan(lambda now, rows: (advance(*now, rows), None), (params, state), order)[0]

    held = {"steps": (params, theirs.init(params)), "scan": (params, theirs.init(params))}
    shuffle = np.random.default_rng(0)
    draw_order = lambda: shuffle.permutation(len(X))[: len(X) // BATCH * BATCH].reshape(-1, BATCH)

    def run_optax() -> None:
        now = held["steps"]
        for rows in draw_order():
            now = advance(*now, rows)
        held["steps"] = jax.block_until_ready(now)

    def run_scan() -> None:
        held["scan"] = jax.block_until_ready(advance_all(*held["scan"], draw_order()))

    def repeat(run: Callable[[], None]) -> Callable[[], None]:
        return lambda: [run() for _ in range(epochs)] and None

    return {"adjoint": run_ours, "torch fused": repeat(run_torch), "optax": repeat(run_optax),
            "optax in a scan": repeat(run_scan)}  # fmt: skip


def main() -> None:
    torch.set_num_threads(1)
    workloads = (
        ("Adam, 10⁶ parameters, one update", adam(1)),
        (f"Adam, 10⁶ parameters, {UPDATES} updates", adam(UPDATES)),
        ("an epoch of digits, 64-128-10", epoch(1)),
        (f"{EPOCHS} epochs of digits", epoch(EPOCHS)),
    )
    for title, contenders in workloads:
        for run in contenders.values():  # compile
            run()
            run()
        times = least_times(contenders, ROUNDS)
        print(title)
        for name, seconds in times.items():
            print(f"  {name:16} {1e3 * seconds:8.3f} ms   ratio {times['adjoint'] / seconds:5.2f}")


if __name__ == "__main__":
    main()
