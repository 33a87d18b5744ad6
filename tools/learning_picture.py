"""Draws pictures of learning into docs/pictures: losses, a training run, reliability, coverage.

Run it from anywhere: `python tools/learning_picture.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats

import adjoint as ad
from adjoint import nn
from adjoint.nn import calibration, conformal, losses
from adjoint.optimize import updates

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"


def draw_losses(figure: Any) -> None:
    """Margin losses, their derivatives, what they estimate, and what a small risk says about errors."""
    parts = figure.subplots(1, 4)
    m, eta, theta = np.linspace(-2, 3, 400), np.linspace(0.02, 0.98, 300), np.linspace(0, 1, 200)
    for name, loss in losses.MARGIN_LOSSES.items():
        parts[0].plot(m, loss.value(m), lw=1.3, label=name)
        parts[1].plot(m, ad.vmap(ad.grad(loss.value))(m), lw=1.3)
        parts[2].plot(eta, loss.minimizer(eta), lw=1.3)
        parts[3].plot(theta, loss.psi(theta), lw=1.3)
    parts[0].legend(frameon=False, fontsize=7)
    parts[0].set(title="loss of the margin", ylim=(-0.1, 4), xlabel="y f")
    parts[1].set(title="its derivative", ylim=(-4, 1), xlabel="y f")
    parts[2].set(title="what it estimates", ylim=(-3, 3), xlabel="chance of class 1")
    parts[3].set(title="least risk for an error (ψ)", xlabel="error above the least")


def digits() -> tuple[Any, Any]:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    source = ad.data.arrays(x=(x / 16).astype(np.float32), y=y)
    train, test = source.split((0.5, 0.5), ad.random.default_rng(0), stratify="y")
    return train, test


def train_model(dropout: float, epochs: int) -> tuple[Any, Any]:
    train, test = digits()
    model = nn.MLP.init(ad.random.default_rng(1), [64, 128, 10], dropout=dropout, dtype=np.float32)
    loss = lambda model, batch, rng: nn.cross_entropy(model(batch["x"], rng=rng), batch["y"])
    run = nn.fit(model, loss, train, updates.adam(3e-3), epochs=epochs, batch=64, rng=ad.random.default_rng(2),
                 validation=test, metrics={"accuracy": nn.accuracy})  # fmt: skip
    return run, test


def draw_training(figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    for dropout in (0.0, 0.5):
        run, _ = train_model(dropout, 60)
        line = left.plot(run.history["epoch"], run.history["loss"], lw=1, ls=":")[0]
        left.plot(
            run.history["epoch"], run.history["validation"], lw=1.4, color=line.get_color(), label=f"dropout {dropout}"
        )
        right.plot(run.history["epoch"], run.history["accuracy"], lw=1.4)
    left.legend(frameon=False, fontsize=8)
    left.set(title="loss: training dotted, validation full", yscale="log", xlabel="epoch")
    right.set(title="validation accuracy", ylim=(0.9, 1.0), xlabel="epoch")


def draw_reliability(figure: Any) -> None:
    """Scores that are too sure; a temperature, found on half of the examples, repairs them."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(6000, 4)) * 1.5
    p = np.exp(z) / np.sum(np.exp(z), axis=1, keepdims=True)
    y = np.sum(np.cumsum(p, axis=1) < rng.random((len(z), 1)), axis=1)
    z = 2.5 * z  # too sure
    found = calibration.temperature(z[:3000], y[:3000])
    shown = {"as trained": nn.softargmax(z), "with a temperature": found(z)}
    for axes, (title, q) in zip(figure.subplots(1, 2, sharey=True), shown.items(), strict=True):
        calibration.reliability(q[3000:], y[3000:], bins=12).plot(axes)
        axes.set(title=f"{title}: ece {calibration.ece(q[3000:], y[3000:], bins=12):.3f}", xlim=(0.2, 1), ylim=(0, 1))


def draw_coverage(figure: Any) -> None:
    """Coverage of many splits beside its law, and sets of classes."""
    left, right = figure.subplots(1, 2)
    rng, c = np.random.default_rng(0), np.linspace(0.7, 1, 400)
    for n in (20, 99, 1000):
        k = int(np.ceil((n + 1) * 0.9))
        seen = [conformal.quantile(rng.random(n), 0.9) for _ in range(2000)]
        left.hist(seen, 40, density=True, alpha=0.3, color=(color := f"C{(20, 99, 1000).index(n)}"))
        left.plot(c, scipy.stats.beta(k, n + 1 - k).pdf(c), color=color, lw=1.3, label=f"n = {n}")
    left.legend(frameon=False, fontsize=8)
    left.set(title="coverage of 2000 splits, promised 0.9", xlim=(0.7, 1), yticks=[])
    run, test = train_model(0.0, 12)
    whole = test[:]
    p = nn.softargmax(run.model(whole["x"]))
    half = len(p) // 2
    for score in (conformal.scores.lac, conformal.scores.aps, conformal.scores.raps):
        sizes = []
        promised = np.linspace(0.8, 0.995, 14)
        for coverage in promised:
            split = conformal.Split(coverage).calibrate(score(p[:half], whole["y"][:half]))
            sizes.append(np.mean(np.sum(split.sets(score(p[half:])), axis=1)))
        right.plot(promised, sizes, lw=1.4, label=score.__name__)
    right.legend(frameon=False, fontsize=8)
    right.set(title="digits: mean size of the sets", xlabel="promised coverage")


DRAWINGS = {
    "losses.png": (draw_losses, (12, 3)), "training.png": (draw_training, (8, 3)),
    "reliability.png": (draw_reliability, (7, 3.2)), "coverage.png": (draw_coverage, (8, 3)),
}  # fmt: skip


def draw() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    for name, (drawing, size) in DRAWINGS.items():
        figure = plt.figure(figsize=size, layout="constrained")
        drawing(figure)
        figure.savefig(PICTURES / name, dpi=100)
        plt.close(figure)


if __name__ == "__main__":
    draw()
