"""Freezes what torch.optim and optax do in 200 steps into tests/data/updates.json; run it with them installed.

python tools/update_references.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax
import torch

STEPS = 200
START = [1.0, -2.0, 0.5, 3.0, 0.0]
CURVATURE = [0.1, 1.0, 3.0, 0.5, 2.0]

TORCH: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"lr": 0.1, "weight_decay": 0.01}),
    "momentum": ("SGD", {"lr": 0.03, "momentum": 0.9}),
    "momentum dampened": ("SGD", {"lr": 0.03, "momentum": 0.9, "dampening": 0.5}),
    "nesterov": ("SGD", {"lr": 0.03, "momentum": 0.9, "nesterov": True}),
    "adagrad": ("Adagrad", {"lr": 0.1}),
    "adadelta": ("Adadelta", {"lr": 1.0}),
    "rmsprop": ("RMSprop", {"lr": 0.01}),
    "rmsprop centered": ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.9}),
    "adam": ("Adam", {"lr": 0.05}),
    "adam penalty": ("Adam", {"lr": 0.05, "weight_decay": 0.1}),
    "adamw": ("AdamW", {"lr": 0.05, "weight_decay": 0.1}),
    "amsgrad": ("Adam", {"lr": 0.05, "amsgrad": True}),
    "nadam": ("NAdam", {"lr": 0.05}),
    "radam": ("RAdam", {"lr": 0.05}),
    "adamax": ("Adamax", {"lr": 0.05}),
    "accumulated": ("Adam", {"lr": 0.05}),
}


def in_double(schedule: Any) -> Any:
    """A schedule of optax's that counts in double precision: of an int32 it computes in single."""
    return lambda count: schedule(jax.numpy.asarray(count, dtype="float64"))


OPTAX: dict[str, Any] = {
    "sgd": lambda: optax.sgd(0.1),
    "momentum": lambda: optax.sgd(0.03, momentum=0.9),
    "nesterov": lambda: optax.sgd(0.03, momentum=0.9, nesterov=True),
    "adagrad": lambda: optax.adagrad(0.1, initial_accumulator_value=0.1, eps=1e-7),
    "adadelta": lambda: optax.adadelta(1.0, rho=0.9, eps=1e-6),
    "rmsprop": lambda: optax.rmsprop(0.01, decay=0.9, eps=1e-8),
    "adam": lambda: optax.adam(0.05, eps_root=1e-6),
    "adamw": lambda: optax.adamw(0.05, weight_decay=0.1),
    "nadam": lambda: optax.nadam(0.05),
    "adamax": lambda: optax.adamax(0.05),
    "lion": lambda: optax.lion(0.01, weight_decay=0.1),
    "lamb": lambda: optax.lamb(0.01, weight_decay=0.1),
    "clipped": lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.05)),
    "cosine": lambda: optax.adam(optax.cosine_decay_schedule(0.05, 150, alpha=0.1)),
    "warm-up": lambda: optax.sgd(in_double(optax.warmup_cosine_decay_schedule(0.0, 0.1, 20, 180, end_value=0.01))),
    "plateau": lambda: optax.chain(
        optax.sgd(0.1), optax.contrib.reduce_on_plateau(factor=0.5, patience=3, rtol=1e-1, cooldown=2)
    ),
}
SCHEDULES: dict[str, Any] = {
    "cosine": lambda: optax.cosine_decay_schedule(0.3, 50, alpha=0.1),
    "exponential": lambda: optax.exponential_decay(0.3, 10, 0.7, staircase=True, end_value=0.05),
    "polynomial": lambda: optax.polynomial_schedule(0.3, 0.02, 2.0, 50),
    "piecewise": lambda: optax.piecewise_constant_schedule(0.3, {10: 0.5, 30: 0.1}),
    "warm-up": lambda: optax.warmup_cosine_decay_schedule(0.0, 0.3, 10, 50, end_value=0.03),
    "one-cycle": lambda: optax.cosine_onecycle_schedule(60, 0.3),
    "restarts": lambda: optax.sgdr_schedule(
        [{"init_value": 0.3, "peak_value": 0.3, "warmup_steps": 0, "decay_steps": 10 * 2**i} for i in range(3)]
    ),
}


def gradient(w: Any, sine: Any, k: int) -> Any:
    """Of Σ c w²/2 - cos w, with a disturbance that changes from step to step."""
    c = np.array(CURVATURE)
    noise = 0.1 * np.sin(np.arange(len(START)) + 0.7 * k)
    return c * w + sine(w) + noise


def run_torch(name: str) -> list[list[float]]:
    kind, options = TORCH[name]
    w = torch.tensor(START, dtype=torch.float64, requires_grad=True)
    optimizer = getattr(torch.optim, kind)([w], **options)
    seen = []
    for k in range(STEPS):
        value = w.detach().numpy().copy()
        now = torch.tensor(gradient(value, np.sin, k))
        if name == "accumulated":
            w.grad = now / 4 if k % 4 == 0 or w.grad is None else w.grad + now / 4
        else:
            w.grad = now
        if name != "accumulated" or k % 4 == 3:
            optimizer.step()
        if k % 20 == 19 or k < 3:
            seen.append(w.detach().numpy().tolist())
    return seen


def run_optax(name: str) -> list[list[float]]:
    rule = OPTAX[name]()
    w = np.array(START)
    state = rule.init(w)
    extra = optax.with_extra_args_support(rule) if name == "plateau" else rule
    seen = []
    for k in range(STEPS):
        g = gradient(w, np.sin, k)
        more = {"value": float(np.sum(np.array(CURVATURE) * w * w))} if name == "plateau" else {}
        update, state = extra.update(jax.numpy.asarray(g), state, jax.numpy.asarray(w), **more)
        w = w + np.asarray(update)
        if k % 20 == 19 or k < 3:
            seen.append(w.tolist())
    return seen


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    torch.set_default_dtype(torch.float64)  # NAdam keeps a number of its own in it
    found = {
        "versions": {"torch": torch.__version__.split("+")[0], "optax": optax.__version__},
        "start": START,
        "curvature": CURVATURE,
        "torch": {name: run_torch(name) for name in TORCH},
        "optax": {name: run_optax(name) for name in OPTAX},
        "schedules": {name: [float(in_double(make())(t)) for t in range(0, 80, 3)] for name, make in SCHEDULES.items()},
    }
    path = Path(__file__).resolve().parent.parent / "tests/data/updates.json"
    path.write_text(json.dumps(found, indent=None, separators=(",", ":")) + "\n")
    print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
