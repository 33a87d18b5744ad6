"""Draws docs/pictures/sparse.png: sparsity patterns of four functions, each nonzero in the color of its product.

Run it from anywhere: `python tools/sparse_picture.py`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import adjoint as ad

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "sparse.png"


def band(x: np.ndarray) -> np.ndarray:
    return x[2:] * x[:-2] - x[1:-1] ** 2


def arrow(x: np.ndarray) -> np.ndarray:
    return np.concatenate([np.sum(x**2, keepdims=True), x[1:] * x[0]])


def membrane(u: np.ndarray) -> float:
    """The area of a surface over a square: its Hessian joins neighbors."""
    dx, dy = np.diff(u, axis=0)[:, :-1], np.diff(u, axis=1)[:-1]
    return np.sum(np.sqrt(1 + dx**2 + dy**2))


def views(cameras: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Six cameras look at twelve points."""
    camera, point = np.arange(24) % 6, np.arange(24) * 5 % 12
    away = points[point] - cameras[camera]
    return away[:, :2] / away[:, 2:]


def draw(path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    line = np.linspace(1, 2, 24)
    found = [
        ("neighbors on a line", ad.sparse.jacobian(band).coloring(line)),
        ("a full row and a full column", ad.sparse.jacobian(arrow).coloring(line)),
        ("Hessian of a surface's area, star", ad.sparse.hessian(membrane).coloring(np.ones((5, 5)))),
        (
            "cameras (left) and points",
            ad.sparse.jacobian(views, argnums=(0, 1)).coloring(np.ones((6, 3)), np.ones((12, 3)) * 3),
        ),
    ]
    figure, axes = plt.subplots(1, 4, figsize=(13, 4), layout="constrained")
    for ax, (title, coloring) in zip(axes, found, strict=True):
        coloring.plot(ax, title=f"{title}\n{coloring.number} products for {coloring.shape[1]} columns")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    draw(PICTURE)
