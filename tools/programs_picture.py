"""Draws docs/pictures/constraints.png and docs/pictures/schedules.png.

Run it from anywhere: `python tools/programs_picture.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import optimize
from adjoint.optimize import updates

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"


def fit_below(figure: Any) -> None:
    """A curve that may only rise, below a cap: how it follows the cap, and what the cap costs."""
    n = 24
    t = np.linspace(0.0, 1.0, n)
    y = 1 / (1 + np.exp(8 * (0.45 - t))) + 0.09 * np.random.default_rng(5).normal(size=n)
    rises = np.eye(n) - np.eye(n, k=1)  # xᵢ - xᵢ₊₁ ≤ 0, and the last one at most the cap
    solve = lambda cap: optimize.qp(2 * np.eye(n), -2 * y, G=rises, h=np.append(np.zeros(n - 1), cap))
    curve, cost = (lambda cap: solve(cap).value), (lambda cap: solve(cap).fun + y @ y)
    left, right = figure.subplots(1, 2, width_ratios=(1.4, 1))
    at = 0.85
    left.plot(t, y, "k.", ms=5)
    left.plot(t, curve(at), "C0", label=f"never falls, at most {at}")
    left.plot(t, curve(10.0), "C0", ls=":", label="without the cap")
    left.quiver(t, curve(at), 0 * t, ad.jacobian(curve)(at), color="C3", scale=12, width=0.005, label="∂ fit / ∂ cap")
    left.set(title="a fit and how it follows its cap", xlabel="t")
    left.legend(frameon=False, fontsize=8)
    caps = np.linspace(0.5, 1.15, 131)
    right.plot(caps, ad.vmap(cost)(caps), "k", label="squares J(cap)")
    price = ad.jit(ad.vmap(lambda cap: -ad.grad(cost)(cap)))
    right.plot(caps, price(caps), "C3", label="price of the cap, -dJ / d cap")
    right.set(title="what the cap costs", xlabel="cap", ylim=(0, 3))
    right.legend(frameon=False, fontsize=8)


def schedules(figure: Any) -> None:
    """Rates over steps; losses of rules on the same batches."""
    left, right = figure.subplots(1, 2)
    steps = np.arange(400)
    for name, rate in {
        "cosine": updates.cosine(0.1, 400),
        "cosine with restarts": updates.cosine_restarts(0.1, 100),
        "warm-up, then cosine": updates.warm_up(60, updates.cosine(0.1, 340)),
        "one cycle": updates.one_cycle(0.1, 400),
        "exponential": updates.exponential(0.1, 0.99),
    }.items():
        left.plot(steps, [rate(step) for step in steps], label=name)
    left.set(title="rates", xlabel="step", ylim=(0.0, 0.14))
    left.legend(frameon=False, fontsize=7, ncols=2)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(512, 8)) * np.logspace(0, 1.5, 8)
    y = x @ rng.normal(size=8) + rng.normal(size=512)
    loss = lambda w, x, y: 0.5 * (x @ w - y) ** 2
    for name, rule in {
        "sgd": updates.sgd(5e-4),
        "momentum": updates.momentum(5e-4, 0.9),
        "adam": updates.adam(0.05),
        "adam, cosine": updates.adam(updates.cosine(0.2, 640)),
    }.items():
        found = optimize.train(loss, np.zeros(8), (x, y), rule, batch=32, epochs=40, rng=ad.random.default_rng(1))
        right.semilogy(np.mean(found.history["fun"].reshape(40, -1), axis=1), label=name)
    right.axhline(np.min(0.5 * np.mean((x @ np.linalg.lstsq(x, y)[0] - y) ** 2)), color="0.7", lw=1)
    right.set(title="mean loss of an epoch", xlabel="epoch")
    right.legend(frameon=False, fontsize=8)


DRAWN = {"constraints.png": fit_below, "schedules.png": schedules}


def main() -> None:
    """Draw both."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    for name, draw in DRAWN.items():
        figure = plt.figure(figsize=(9, 3.4), layout="constrained")
        draw(figure)
        figure.savefig(PICTURES / name, dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    main()
