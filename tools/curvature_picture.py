"""Draws docs/pictures/curvature.png: the Hessian of a small network beside what is cheaper than it.

Run it from anywhere: `python tools/curvature_picture.py`.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import curvature
from adjoint.curvature.arrangement import matrix_of, ravel_leaves, size_of

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "curvature.png"
RNG = np.random.default_rng(3)
INPUTS = RNG.normal(size=(20, 3))
LABELS = np.argmax(INPUTS, axis=1)
WEIGHTS = [RNG.normal(size=(m, n)) / np.sqrt(m) for m, n in pairwise([3, 4, 4, 3])]


def model(weights: list[Any]) -> Any:
    x = INPUTS
    for W in weights[:-1]:
        x = np.tanh(x @ W)
    return x @ weights[-1]


def loss(z: Any) -> Any:
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(20), LABELS])


def whole(weights: list[Any]) -> Any:
    return loss(model(weights))


def block_matrix(blocks: list[Any]) -> Any:
    """Blocks on the diagonal of a matrix of zeros."""
    n = size_of(WEIGHTS)
    out, start = np.zeros((n, n)), 0
    for W, block in zip(WEIGHTS, blocks, strict=True):
        out[start : start + W.size, start : start + W.size] = block.reshape(W.size, W.size)
        start += W.size
    return out


def panels() -> dict[str, Any]:
    """Matrices by title."""
    exact = matrix_of(ad.hessian(whole)(WEIGHTS), WEIGHTS, WEIGHTS)
    diagonal = ravel_leaves(curvature.diagonal_hessian(model, loss=loss)(WEIGHTS).diagonal)
    return {
        "Hessian": exact,
        "Gauss-Newton": matrix_of(curvature.gauss_newton(loss, model)(WEIGHTS), WEIGHTS, WEIGHTS),
        "blocks of the Hessian": block_matrix(curvature.block_hessian(whole)(WEIGHTS)),
        "diagonal, by the recursion": np.diag(diagonal),
    }


def draw(path: Path = PICTURE) -> None:
    """Write the picture."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = panels()
    limit = np.quantile(np.abs(found["Hessian"]), 0.98)
    figure, axes = plt.subplots(1, len(found), figsize=(12, 3.3), layout="constrained")
    for axis, (title, matrix) in zip(axes, found.items(), strict=True):
        shown = axis.imshow(matrix, cmap="RdBu_r", vmin=-limit, vmax=limit)
        edges = np.cumsum([W.size for W in WEIGHTS])[:-1] - 0.5
        for edge in edges:
            axis.axhline(edge, color="0.6", linewidth=0.5)
            axis.axvline(edge, color="0.6", linewidth=0.5)
        axis.set_title(title, fontsize=10)
        axis.set_xticks([])
        axis.set_yticks([])
    figure.colorbar(shown, ax=axes, shrink=0.8)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    draw()
