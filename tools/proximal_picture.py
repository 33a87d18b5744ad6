"""Draws docs/pictures/projections.png and docs/pictures/lasso_path.png.

Run it from anywhere: `python tools/proximal_picture.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import optimize
from adjoint.optimize import proximal, sets

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"


def draw_projections(plt: Any) -> Any:
    """Points around six sets of the plane, and the nearest points in them."""
    shown = {
        "box": sets.box(-1.0, 1.0),
        "l1_ball": sets.l1_ball(1.2),
        "l2_ball": sets.l2_ball(1.1),
        "mahalanobis_ball": sets.mahalanobis_ball(np.array([[2.0, 1.2], [1.2, 1.5]])),
        "half_space": sets.half_space(np.array([1.0, 2.0]), 0.3),
        "second_order_cone": sets.second_order_cone(),
    }
    figure, axes = plt.subplots(2, 3, figsize=(9, 6), sharex=True, sharey=True)
    angles = np.linspace(0, 2 * np.pi, 36, endpoint=False)
    points = 2.4 * np.stack([np.cos(angles), np.sin(angles)], 1)
    grid = np.stack(np.meshgrid(np.linspace(-2.7, 2.7, 160), np.linspace(-2.7, 2.7, 160)), -1).reshape(-1, 2)
    for axis, (name, the_set) in zip(axes.flat, shown.items(), strict=True):
        inside = ad.jit(ad.vmap(lambda x, s=the_set: np.sum((s.project(x) - x) ** 2)))(grid) < 1e-18
        axis.contourf(grid[:160, 0], grid[:160, 0], inside.reshape(160, 160), levels=[0.5, 1.5], colors=["#c9d8ee"])
        for x, p in zip(points, ad.vmap(the_set.project)(points), strict=True):
            axis.plot([x[0], p[0]], [x[1], p[1]], color="#999999", lw=0.7)
            axis.plot(*p, ".", color="#c04030", ms=4)
        axis.set_title(name, fontsize=10)
        axis.set_aspect("equal")
    figure.tight_layout()
    return figure


def draw_path(plt: Any) -> Any:
    """The lasso on the diabetes data: coefficients, and their derivatives in log λ, over the path."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes()
    X, y = data.data, data.target - np.mean(data.target)
    squares = lambda w: 0.5 * np.sum((X @ w - y) ** 2)
    solve = lambda lam: (
        optimize.minimize(
            squares, np.zeros(10), method=optimize.FISTA(proximal.l1(lam)), tol=1e-8, max_iterations=5000
        ).value
    )
    factors = np.logspace(np.log10(np.max(np.abs(X.T @ y))) - 1e-3, 0.5, 120)
    path, derivatives = ad.jit(ad.vmap(lambda lam: (solve(lam), ad.jacobian(solve)(lam))))(factors)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True)
    left.semilogx(factors, path, lw=1.2, label=data.feature_names)
    right.semilogx(factors, derivatives * factors[:, None], lw=1.2)
    left.set_ylabel("coefficients")
    right.set_ylabel("derivative in log λ")
    for axis in (left, right):
        axis.set_xlabel("λ")
    left.legend(fontsize=7, ncols=2)
    figure.tight_layout()
    return figure


def main() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    draw_projections(plt).savefig(PICTURES / "projections.png", dpi=110)
    draw_path(plt).savefig(PICTURES / "lasso_path.png", dpi=110)
    plt.close("all")


if __name__ == "__main__":
    main()
