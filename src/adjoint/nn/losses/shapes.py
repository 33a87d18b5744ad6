"""Predictions and targets must fit: (n, 1) against (n,) would be an n × n table of differences, in silence."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["as_array", "match_shapes"]


def as_array(value: Any) -> Value:
    """An array, or a traced value as it is."""
    return value if isinstance(value, TRACED) else np.asarray(value)


def match_shapes(title: str, prediction: Any, target: Any, owner: str = "losses") -> tuple[Value, Value]:
    """Both as arrays of one shape; a number fits everything. Predictions are floating-point numbers: 200 - 210 is no
    difference of bytes.
    """
    f, y = as_array(prediction), as_array(target)
    if f.shape != y.shape and f.shape != () and y.shape != ():
        raise ShapeError(
            f"{owner}.{title}: the predictions have shape {f.shape} and the targets {y.shape}; there must be one "
            "target for each prediction. Take an axis away with f[:, 0], or add one with y[:, None]."
        )
    return (f * 1.0 if f.dtype.kind in "iub" else f), y
