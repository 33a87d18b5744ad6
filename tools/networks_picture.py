"""Draws docs/pictures/activations.png (functions and derivatives) and docs/pictures/attention.png (who looks where).

Run it from anywhere: `python tools/networks_picture.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import nn

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"


def activations(figure: Any) -> None:
    x = np.linspace(-4, 4, 400)
    left, right = figure.subplots(1, 2, sharex=True)
    for f in (nn.relu, nn.elu, nn.softplus, nn.silu, nn.gelu, nn.logistic):
        left.plot(x, f(x), lw=1.3, label=f.__name__)
        right.plot(x, ad.vmap(ad.grad(f))(x), lw=1.3)
    left.legend(frameon=False, fontsize=8)
    left.set(title="activation", ylim=(-1.2, 4))
    right.set(title="derivative", ylim=(-0.3, 1.3))


def attention(figure: Any) -> None:
    """Weights of one head: values that are the identity show them."""
    r = np.random.default_rng(3)
    q, k = r.normal(size=(2, 24, 16))
    where, identity = np.arange(24), np.eye(24)
    rows = nn.packed([list(range(1, n + 1)) for n in (9, 7, 11)], 24)
    turned = nn.rope(np.ones((24, 16)), where)
    shown = {
        "all": nn.attention(2 * q, k, identity),
        "causal": nn.attention(2 * q, k, identity, causal=True),
        "packed": nn.attention(2 * q, k, identity, causal=True, mask=rows.mask[0]),
        "rotary positions": nn.attention(3 * turned, turned, identity, causal=True),
        "by distance (alibi)": nn.attention(q, k, identity, causal=True, bias=4 * nn.alibi(2, 24)[0]),
    }
    for ax, (title, weights) in zip(figure.subplots(1, 5), shown.items(), strict=True):
        ax.imshow(weights, cmap="Blues", vmin=0, vmax=0.4)
        ax.set(title=title, xticks=[], yticks=[])
        ax.set_xlabel("keys")
    figure.axes[0].set_ylabel("queries")


def draw() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    for name, drawing, size in (("activations.png", activations, (8, 3)), ("attention.png", attention, (11, 2.6))):
        figure = plt.figure(figsize=size, layout="constrained")
        drawing(figure)
        figure.savefig(PICTURES / name, dpi=100)
        plt.close(figure)


if __name__ == "__main__":
    draw()
