"""Bundle adjustment: cameras and points in space from where the points are seen in pictures, by Levenberg-Marquardt.

    python examples/bundle_adjustment.py [cameras points observations]

The sizes and the model are those of the benchmark ADBench (the smallest: 49 7776 31843). Each coordinate of an
observation depends on ten of the eleven numbers of a camera, on one point (3) and on its own weight: the Jacobian has
14 nonzeros in a row, and 14 products find all of it, however many cameras and points there are.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import scipy.sparse

import adjoint as ad


def rotated(r: Any, x: Any) -> Any:
    """x turned about the axis r by the angle |r| (Rodrigues), for a stack of both."""
    square = np.sum(r * r, axis=1, keepdims=True)
    angle = np.sqrt(np.where(square > 0, square, 1.0))
    axis = r / angle
    along = np.sum(axis * x, axis=1, keepdims=True)
    turned = x * np.cos(angle) + np.cross(axis, x) * np.sin(angle) + axis * along * (1 - np.cos(angle))
    return np.where(square > 0, turned, x + np.cross(r, x))


def projected(cameras: Any, points: Any) -> Any:
    """Where each camera sees the point beside it: turn and move it, project, distort, scale."""
    turn, centre, focal, middle, radial = np.split(cameras, [3, 6, 7, 9], axis=1)
    x = rotated(turn, points - centre)
    flat = x[:, :2] / x[:, 2:]
    radius = np.sum(flat**2, axis=1, keepdims=True)
    return middle + focal * flat * (1 + radial[:, :1] * radius + radial[:, 1:] * radius**2)


def residuals(unknown: Any, seen: Any, camera: Any, point: Any) -> Any:
    """Weighted errors of the projections, and how far the weights are from one."""
    cameras, points, weights = unknown
    errors = weights[:, None] * (projected(cameras[camera], points[point]) - seen)
    return errors, 1 - weights**2


def problem(cameras: int, points: int, observations: int, seed: int = 0) -> tuple[Any, tuple[Any, ...], Any]:
    """(a first guess, (pictures, which camera, which point), the truth), with random numbers."""
    rng = np.random.default_rng(seed)
    space = rng.normal(size=(points, 3))
    turn = 0.2 * rng.normal(size=(cameras, 3))
    centre = np.column_stack([0.5 * rng.normal(size=(cameras, 2)), -6 + 0.3 * rng.normal(size=cameras)])
    inside = np.column_stack([np.full(cameras, 500.0), np.full((cameras, 2), 250.0), 1e-2 * np.ones((cameras, 2))])
    views = np.concatenate([turn, centre, inside], axis=1)
    point = np.concatenate([np.arange(points), rng.integers(0, points, observations - points)])
    camera = rng.integers(0, cameras, observations)
    seen = projected(views[camera], space[point]) + 0.1 * rng.normal(size=(observations, 2))
    guess = views + np.array([2e-3] * 6 + [1.0] * 3 + [0.0] * 2) * rng.normal(size=views.shape)
    start = (guess, space + 5e-3 * rng.normal(size=space.shape), np.ones(observations))
    return start, (seen, camera, point), (views, space)


def solved(matrix: Any, error: Any, cameras: int, damping: float) -> Any:
    """The step of Levenberg-Marquardt, (JᵀJ + damping) d = -Jᵀe, where points are eliminated first.

    No two points share an observation, so their part of JᵀJ has blocks of 3 × 3 and nothing else.
    """
    by_camera, by_point = matrix[:, :cameras], matrix[:, cameras:]
    a, c = (by_camera.T @ by_camera).toarray(), (by_point.T @ by_point).tobsr((3, 3))
    b = (by_camera.T @ by_point).tobsr((11, 3))
    right, low = -(by_camera.T @ error), -(by_point.T @ error)
    blocks = np.linalg.inv(c.data + damping * np.eye(3) * c.data)
    inverse = scipy.sparse.bsr_array((blocks, c.indices, c.indptr), shape=c.shape)
    carried = b @ inverse
    first = np.linalg.solve(a + damping * np.diag(np.diag(a)) - (carried @ b.T).toarray(), right - carried @ low)
    return np.concatenate([first, inverse @ (low - b.T @ first)])


def adjusted(start: Any, data: tuple[Any, ...], steps: int = 4) -> tuple[Any, list[float]]:
    """Levenberg-Marquardt on cameras and points; the weights stay one. (The solution, costs.)"""

    def f(free: Any) -> Any:
        return residuals((*free, start[2]), *data)[0]

    jacobian = ad.sparse.jacobian(f, with_value=True, jit=True)
    free, damping, costs = list(start[:2]), 1e-3, []
    for _ in range(steps):
        error, matrix = jacobian(free)
        costs.append(float(np.sum(error**2)))
        step = solved(matrix, np.ravel(error), free[0].size, damping)
        parts = np.split(step, [free[0].size])
        moved = [x + d.reshape(x.shape) for x, d in zip(free, parts, strict=True)]
        better = float(np.sum(f(moved) ** 2)) < costs[-1]
        free, damping = (moved, damping / 10) if better else (free, damping * 10)
    return free, [*costs, float(np.sum(f(free) ** 2))]


def main(cameras: int = 49, points: int = 7776, observations: int = 31843) -> None:
    start, data, _ = problem(cameras, points, observations)
    unknowns = sum(np.size(x) for x in start)
    print(f"{cameras} cameras, {points} points, {observations} observations: {unknowns} unknowns")

    jacobian = ad.sparse.jacobian(residuals, jit=True)
    began = time.perf_counter()
    coloring = jacobian.coloring(start, *data)
    print(f"pattern and coloring: {time.perf_counter() - began:.2f} s\n  {coloring!r}")
    assert len(coloring) <= 14  # eleven numbers of a camera and three of a point; blocks need fewer
    matrix = jacobian(start, *data)
    began = time.perf_counter()
    matrix = jacobian(start, *data)
    print(f"Jacobian: {time.perf_counter() - began:.3f} s, {matrix.nnz} nonzeros")

    rng = np.random.default_rng(1)
    direction = [rng.normal(size=np.shape(x)) for x in start]
    _, pushed = ad.jvp(lambda u: residuals(u, *data), (start,), (tuple(direction),))
    flat = lambda tree: np.concatenate([np.ravel(x) for x in tree])
    product = matrix @ flat(direction)
    assert np.allclose(product, flat(pushed), rtol=1e-9, atol=1e-9 * np.abs(product).max())
    print("✓ it does to a random direction what forward mode does")

    began = time.perf_counter()
    _, costs = adjusted(start, data)
    print(f"Levenberg-Marquardt: {time.perf_counter() - began:.2f} s; cost {' → '.join(f'{c:.4g}' for c in costs)}")
    assert costs[-1] < 1.05 * 2 * observations * 0.1**2
    print("✓ what is left is the noise of the pictures")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
