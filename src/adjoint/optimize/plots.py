"""Pictures of functions of two unknowns: level lines, the minimum, bounds, and the way there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.gradients import vmap
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.implicit.vectors import named_element, to_arrays, to_vector
from adjoint.optimize.optimum import Optimum
from adjoint.program.types import type_of

__all__ = ["contours"]

LEVELS = 24


@user_facing
def contours(
    f: Callable[..., Any], found: Optimum, *args: Any, path: Sequence[Any] = (), window: Any = None, points: int = 120,
    axes: Any = None,
) -> Any:  # fmt: skip
    """Level lines of f(x, *args) around what `minimize` found, for two unknowns; a Matplotlib axes.

    The levels are closer together near the minimum. `path` is a list of `Iterate`s, as `callback=seen.append` collects
    them, or of points; `window` is ((low, high), (low, high)), by default what holds the path and the minimum. Points
    where f is not finite stay white.

    ```python
    import matplotlib
    matplotlib.use("Agg")
    f, seen = lambda x: (x[0] - 1) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2, []
    found = ad.optimize.minimize(f, np.array([-1.0, 1.0]), callback=seen.append)
    ad.optimize.contours(f, found, path=seen).get_xlabel()  # → x[0]
    ```
    """
    import matplotlib.pyplot as plt

    leaves, structure = tree.flatten(found.value)
    types = [type_of(np.asarray(leaf)) for leaf in leaves]
    flatten = lambda x: np.asarray(to_vector([np.asarray(leaf) for leaf in tree.leaves(x)], types))
    best = flatten(found.value)
    if best.shape != (2,):
        raise ShapeError(f"contours: x has {best.size} numbers, and a picture has two axes. Draw a function of two of "
                         "them.")  # fmt: skip
    trail = np.array([*[flatten(getattr(point, "x", point)) for point in path], best])
    low, high = np.min(trail, axis=0), np.max(trail, axis=0)
    margin = np.where(high > low, 0.15 * (high - low), np.maximum(1.0, np.abs(best)))
    sides = list(zip(low - margin, high + margin, strict=True)) if window is None else list(window)
    across, up = (np.linspace(a, b, points) for a, b in sides)
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    with np.errstate(all="ignore"):
        values = np.asarray(vmap(lambda v: f(tree.unflatten(structure, to_arrays(v, types)), *args))(grid))
    values = np.reshape(values, (points, points))
    above = np.where(np.isfinite(values), values - np.nanmin(np.where(np.isfinite(values), values, np.nan)), np.nan)
    spread = float(np.nanmax(above))
    axes = plt.subplots()[1] if axes is None else axes
    if spread > 0:
        levels = spread * np.linspace(0.0, 1.0, LEVELS + 1)[1:] ** 3
        axes.contour(across, up, above, levels=levels, linewidths=0.8, cmap="viridis")
    if len(trail) > 1:
        axes.plot(trail[:, 0], trail[:, 1], "o-", color="0.3", markersize=3, linewidth=1)
    axes.plot(*best, "*", color="crimson", markersize=12)
    names = [named_element(i, types, structure.paths()) for i in (0, 1)]
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    axes.set_xlim(sides[0])
    axes.set_ylim(sides[1])
    return axes
