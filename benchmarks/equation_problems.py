"""The equations of the benchmarks, each once, in the functions of a library: NumPy, jax.numpy, torch or CasADi."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["POLLUTION", "STARS", "CasadiNames", "brusselator_start", "right_side"]

STARS = [3.0, 3, -1, -3, 2, -2, 2, 3, -3, 2, 0, 0, -4, 4, 0, 0, 0, 0, 0, 1.75, -1.5, 0, 0, 0, -1.25, 1, 0, 0]
POLLUTION = [
    0.35, 26.6, 12300.0, 8.6e-4, 8.2e-4, 15000.0, 1.3e-4, 24000.0, 16500.0, 9000.0, 0.022, 12000.0, 1.88, 16300.0,
    4.8e6, 3.5e-4, 0.0175, 1e8, 4.44e11, 1240.0, 2.1, 5.78, 0.0474, 1780.0, 3.12,
]  # fmt: skip


class CasadiNames:
    """The few functions that the equations call, of CasADi's vectors."""

    def stack(self, parts: list[Any]) -> Any:
        import casadi

        return casadi.vertcat(*parts)

    concatenate = stack


def right_side(name: str, library: Any) -> Callable[..., Any]:
    """f(t, y, p) of an equation."""
    stack = library.stack

    def prey(t: Any, y: Any, w: Any) -> Any:
        return stack([w[0] * y[0] - w[1] * y[0] * y[1], -w[2] * y[1] + w[3] * y[0] * y[1]])

    def kepler(t: Any, y: Any, w: Any) -> Any:
        r3 = (y[0] ** 2 + y[1] ** 2) ** 1.5
        return stack([y[2], y[3], -w[0] * y[0] / r3, -w[0] * y[1] / r3])

    def pleiades(t: Any, y: Any, mass: Any) -> Any:
        """Seven stars in a plane (Hairer, Nørsett and Wanner, II.10): y has x, y and their velocities."""
        x, z = y[:7], y[7:14]
        dx, dz = x[None, :] - x[:, None], z[None, :] - z[:, None]
        r3 = (dx**2 + dz**2 + library.eye(7)) ** 1.5  # a star does not pull itself: its distance only must not be 0
        return library.concatenate([y[14:], (dx / r3) @ mass, (dz / r3) @ mass])

    def robertson(t: Any, y: Any, k: Any) -> Any:
        a, b, c = y[0], y[1], y[2]
        return stack([-k[0] * a + k[2] * b * c, k[0] * a - k[2] * b * c - k[1] * b**2, k[1] * b**2])

    def hires(t: Any, y: Any, p: Any) -> Any:
        r = [p[0] * y[i] for i in range(8)]
        meeting = 280 * r[5] * y[7]
        return stack([
            -1.71 * r[0] + 0.43 * r[1] + 8.32 * r[2] + 0.0007 * p[0], 1.71 * r[0] - 8.75 * r[1],
            -10.03 * r[2] + 0.43 * r[3] + 0.035 * r[4], 8.32 * r[1] + 1.71 * r[2] - 1.12 * r[3],
            -1.745 * r[4] + 0.43 * r[5] + 0.43 * r[6],
            -meeting + 0.69 * r[3] + 1.71 * r[4] - 0.43 * r[5] + 0.69 * r[6], meeting - 1.81 * r[6],
            -meeting + 1.81 * r[6],
        ])  # fmt: skip

    def pollution(t: Any, y: Any, k: Any) -> Any:
        (a, b, c, d, e, f, g, _, i, j, m, _, n, o, _, p, q, _, s, u) = [y[i] for i in range(20)]
        r = [a, b * d, e * b, g, g, g * f, i, i * f, m * b, m * a, n, j * b, o, a * f, c, d, d, p, p, q * f, s, s,
             a * d, s * a, u]  # fmt: skip
        r = [None, *[k[i] * rate for i, rate in enumerate(r)]]
        return stack([
            -r[1] - r[10] - r[14] - r[23] - r[24] + r[2] + r[3] + r[9] + r[11] + r[12] + r[22] + r[25],
            -r[2] - r[3] - r[9] - r[12] + r[1] + r[21], -r[15] + r[1] + r[17] + r[19] + r[22],
            -r[2] - r[16] - r[17] - r[23] + r[15], -r[3] + 2 * r[4] + r[6] + r[7] + r[13] + r[20],
            -r[6] - r[8] - r[14] - r[20] + r[3] + 2 * r[18], -r[4] - r[5] - r[6] + r[13],
            r[4] + r[5] + r[6] + r[7], -r[7] - r[8], -r[12] + r[7] + r[9], -r[9] - r[10] + r[8] + r[11], r[9],
            -r[11] + r[10], -r[13] + r[12], r[14], -r[18] - r[19] + r[16], -r[20], r[20],
            -r[21] - r[22] - r[24] + r[23] + r[25], -r[25] + r[24],
        ])  # fmt: skip

    def brusselator(t: Any, y: Any, p: Any) -> Any:
        """Two species on a torus."""
        count = y.shape[0] // 2
        size = round(count**0.5)
        u, v = y[:count], y[count:]
        grid = np.arange(count).reshape(size, size)
        if library is np:
            near = lambda w, shift, axis: np.roll(w.reshape(size, size), shift, axis).reshape(-1)
        else:
            near = lambda w, shift, axis: w[np.roll(grid, shift, axis).ravel().tolist()]
        spread = lambda w: (near(w, 1, 0) + near(w, -1, 0) + near(w, 1, 1) + near(w, -1, 1) - 4 * w) * (p[2] * count)
        return library.concatenate([p[1] + u * u * v - (p[0] + 1) * u + spread(u), p[0] * u - u * u * v + spread(v)])

    return locals()[name]


def brusselator_start(size: int) -> Any:
    """The state at t = 0 on size² points."""
    x = np.arange(size) / size
    X, Y = np.meshgrid(x, x, indexing="ij")
    return np.concatenate([(22 * Y * (1 - Y) ** 1.5).ravel(), (27 * X * (1 - X) ** 1.5).ravel()])
