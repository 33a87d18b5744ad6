"""Draws docs/pictures/solvers.png: the residuals of Krylov methods, with and without preconditioners.

Run it from anywhere: `python tools/solvers_picture.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from adjoint import linear

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "solvers.png"
SIZE = 24


def heat(wind: float) -> Any:
    """Diffusion on a square grid of uneven conductivity, with a wind that makes it asymmetric."""
    import scipy.sparse

    line = scipy.sparse.diags_array([-np.ones(SIZE - 1), 2 * np.ones(SIZE), -np.ones(SIZE - 1)], offsets=[-1, 0, 1])
    drift = scipy.sparse.diags_array([-np.ones(SIZE - 1), np.ones(SIZE)], offsets=[-1, 0])
    one = scipy.sparse.eye_array(SIZE)
    grid = scipy.sparse.kron(line, one) + scipy.sparse.kron(one, line) + wind * scipy.sparse.kron(one, drift)
    weights = scipy.sparse.diags_array(10 ** (1.5 * np.sin(0.37 * np.arange(SIZE * SIZE))))
    root = weights.sqrt()
    return (root @ grid @ root).tocsr()


def draw(path: Path) -> None:
    """Left: cg with preconditioners. Right: methods for any operator."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    symmetric, skew = heat(0.0), heat(1.0)
    b = np.ones(SIZE * SIZE)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
    helpers = {
        "no preconditioner": None,
        "jacobi": linear.jacobi(symmetric),
        "block_jacobi, 24": linear.block_jacobi(symmetric, SIZE),
        "incomplete_cholesky": linear.incomplete_cholesky(symmetric, drop_tol=1e-2),
    }
    for name, helper in helpers.items():
        found = linear.cg(symmetric, b, preconditioner=helper, history=True)
        left.loglog(1 + np.arange(len(found.history)), found.history / found.history[0], label=name)
    jacobi = linear.jacobi(skew)
    runs = {
        "gmres(30)": linear.gmres(skew, b, preconditioner=jacobi, history=True),
        "gmres(100)": linear.gmres(skew, b, preconditioner=jacobi, restart=100, history=True),
        "bicgstab (2 products each)": linear.bicgstab(skew, b, preconditioner=jacobi, history=True),
    }
    for name, found in runs.items():
        right.semilogy(found.history / found.history[0], label=name)
    left.set(xlabel="iteration", ylabel="‖b − A x‖ / ‖b‖", title="cg: diffusion on a grid", ylim=(1e-11, 1e2))
    right.set(xlabel="iteration", title="the same with a wind, scaled by its diagonal")
    left.legend(fontsize=8)
    right.legend(fontsize=8)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    draw(PICTURE)
