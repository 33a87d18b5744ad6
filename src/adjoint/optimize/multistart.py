"""`multistart`: the same problem from many starts at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.gradients import vmap
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.optimize.minimizing import minimize
from adjoint.optimize.optimum import Optimum
from adjoint.program.trace import TRACED

__all__ = ["best_of", "multistart"]


@user_facing
def multistart(f: Callable[..., Any], starts: Any, *args: Any, **options: Any) -> Optimum:
    """The minima that `minimize` finds from many starts in one batch: they stand along the first axis of `starts`.

    All of them are kept, each with its status and counts; `best_of` picks the lowest one that converged. The options
    are those of `minimize`.

    ```python
    f = lambda x: np.cos(3 * x) + 0.1 * x**2
    found = ad.optimize.multistart(f, np.linspace(-4.0, 4.0, 9))
    len(found.fun), round(float(ad.optimize.best_of(found).fun), 4)  # → (9, -0.8927)
    ```
    """
    sizes = {np.shape(leaf)[:1] for leaf in tree.leaves(starts)}
    if len(sizes) != 1 or sizes == {()}:
        raise ShapeError(
            "multistart: each array of starts has the starts along its first axis, as many as the others; the shapes "
            f"are {', '.join(str(np.shape(leaf)) for leaf in tree.leaves(starts))}."
        )
    solve: Any = vmap(lambda x0: minimize(f, x0, *args, **options))
    return solve(starts)


def best_of(found: Optimum) -> Optimum:
    """The lowest of the minima of a batch: of those that converged, or of all if none did.

    ```python
    found = ad.optimize.multistart(lambda x: (x * x - 1) ** 2 + 0.1 * x, np.array([-2.0, 2.0]))
    bool(ad.optimize.best_of(found).value < 0)  # → True
    ```
    """
    value = np.where(np.isfinite(found.fun), found.fun, np.inf)
    ranked = np.where(np.logical_or(found.converged, np.logical_not(np.any(found.converged))), value, np.inf)
    at = np.argmin(ranked)
    at = at if isinstance(at, TRACED) else int(at)
    count = len(found.fun)
    return tree.map(lambda leaf: leaf[at] if np.shape(leaf)[:1] == (count,) else leaf, found)
