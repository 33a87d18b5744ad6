"""A net hung up at its four corners: Newton's method on its energy, without a matrix.

    python examples/hanging_net.py [knots per side]

The energy is that of springs between neighbors, and of weight. Each Newton step solves H d = -g by conjugate gradients,
with H as a linear map: products with the Hessian, never the Hessian.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import adjoint as ad

STIFFNESS, WEIGHT = 60.0, 0.02


def energy(inner: Any, net: Any, free: Any) -> Any:
    """Springs of natural length zero stretch, knots fall, and what has fallen far is held back."""
    knots = ad.numpy.array(net)
    knots[free] = inner
    stretch = np.sum(np.diff(knots, axis=0) ** 2) + np.sum(np.diff(knots, axis=1) ** 2)
    depth = -knots[..., 2]
    return 0.5 * STIFFNESS / net.shape[0] ** 2 * stretch - WEIGHT * np.sum(depth) + 0.05 * np.sum(depth**4)


def flat_net(n: int) -> tuple[Any, Any]:
    """(knots of shape (n, n, 3) in a plane, which of them are free)."""
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n), indexing="ij")
    free = np.ones((n, n), bool)
    free[[0, 0, -1, -1], [0, -1, 0, -1]] = False
    return np.stack([x, y, np.zeros((n, n))], axis=-1), free


def hang(n: int, tolerance: float = 1e-8) -> tuple[Any, list[float]]:
    """(the net at rest, the norms of the gradients on the way there)."""
    net, free = flat_net(n)
    inner, norms = net[free], []
    f = lambda inner: energy(inner, net, free)
    for _ in range(30):
        gradient = ad.grad(f)(inner)
        norms.append(float(np.linalg.norm(gradient)))
        if norms[-1] < tolerance:
            break
        hessian = ad.linear.hessian(f, 0, "positive definite")(inner)
        inner = inner - ad.linear.cg(hessian, gradient, tol=1e-8).value
    net[free] = inner
    return net, norms


def main(n: int = 12) -> None:
    net, norms = hang(n)
    print(f"{(n * n - 4) * 3} unknowns; gradients {', '.join(f'{g:.1e}' for g in norms)}")
    assert norms[-1] < 1e-8
    assert np.min(net[..., 2]) < 0
    print(f"✓ at rest; the middle hangs {-np.min(net[..., 2]):.2f} below the corners")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
