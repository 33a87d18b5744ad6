"""Whether undoing what was done leads back: a few elements of the first state are kept and compared.

Gradients through layers that are undone are taken at the states that the inverse finds. If it is not the inverse of the
layer, or loses digits, they are derivatives at other points, which nothing else would tell.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.program.trace import Tracer
from adjoint.program.types import Value

SAMPLES = 64  # elements of each array that are compared
ALLOWED = 0.25  # of the digits may be lost: differences up to eps ** ALLOWED, relative to the largest element


def sampled(state: Sequence[Value]) -> list[Any]:
    """Some elements of every plain array of a state; None for others."""
    return [None if isinstance(x, Tracer) else _some(x) for x in state]


def _some(x: Value) -> Any:
    flat: Any = np.asarray(x).reshape(-1)
    if flat.dtype.kind not in "fc":
        return None
    return flat[:: max(1, -(-flat.size // SAMPLES))].copy()


def warn_of_drift(name: str, kept: Sequence[Any], state: Sequence[Value]) -> None:
    """Warn if a state that was found by undoing is another than the one of which samples were kept."""
    for before, x in zip(kept, sampled(state), strict=True):
        if before is None or x is None or not before.size:
            continue
        with np.errstate(all="ignore"):
            size = float(np.max(np.abs(before)))
            gap = float(np.max(np.abs(x - before)))
        if np.isfinite(size) and not gap <= size * float(np.finfo(before.dtype).eps) ** ALLOWED:
            warnings.warn(
                f"{name}: going back by the inverse led to another first state than the one given: off by {gap:.2g}, "
                f"where the largest element is {size:.2g}. The gradient is taken at such states. Check that "
                "inverse(f(x)) = x, and that it keeps enough digits; ad.checkpoint needs no inverse.",
                RuntimeWarning,
                stacklevel=2,
            )
            return
