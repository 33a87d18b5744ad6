"""Draws docs/pictures/taylor.png: Taylor polynomials approaching a function, and their errors.

Run it from anywhere: `python tools/taylor_picture.py`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import adjoint as ad

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "taylor.png"
ORDERS = (1, 3, 5, 9, 17)


def function(x: np.ndarray) -> np.ndarray:
    """What is approached: analytic on the line, with poles at ±i, so the series converges up to distance 1."""
    return np.sin(3 * x) / (1 + x**2)


def draw(path: Path) -> None:
    """Left: the function and its polynomials at 0. Right: true errors (lines) and `remainder` (dots)."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    xs = np.linspace(-1.6, 1.6, 401)
    near = np.geomspace(0.05, 1.5, 30)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    left.plot(xs, function(xs), "k", lw=2.5, label="sin 3x / (1 + x²)")
    for order, color in zip(ORDERS, plt.get_cmap("viridis")(np.linspace(0.05, 0.85, len(ORDERS))), strict=True):
        polynomial = ad.taylor(function, 0.0, order)
        left.plot(xs, polynomial(xs), color=color, lw=1.3, label=f"order {order}")
        right.loglog(near, np.abs(function(near) - polynomial(near)) + 1e-17, color=color)
        # odd function: the leading term that is left has order + 2
        estimate = np.abs([ad.taylor(function, 0.0, order + 1).remainder(x) for x in near])
        right.loglog(near, estimate + 1e-17, ".", color=color, ms=4)
    left.axvspan(-1, 1, color="0.93", zorder=0)
    left.set(ylim=(-1.6, 1.6), xlabel="x", title="Taylor polynomials at 0; gray: where the series converges")
    left.legend(fontsize=8, loc="upper left")
    right.set(ylim=(1e-17, 1e3), xlabel="x", title="errors (lines) and their estimates (dots)")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    draw(PICTURE)
