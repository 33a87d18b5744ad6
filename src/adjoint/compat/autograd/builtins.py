"""Python's containers and questions about types, on traced values.

Containers of traced values are Python's own here. `isinstance` and `type` see what stands behind a traced value.
"""

# pyright: basic

from __future__ import annotations

import builtins
from builtins import dict, list, tuple  # noqa: UP029  (to be imported from here)
from typing import Any

import numpy as np

from adjoint.program.trace import Tracer

__all__ = ["dict", "isinstance", "list", "tuple", "type"]


def type(x: Any) -> Any:  # noqa: A001
    """The type of the value behind x: an array, or a NumPy number."""
    if builtins.isinstance(x, Tracer):
        return np.ndarray if x.shape else x.dtype.type
    return builtins.type(x)


def isinstance(x: Any, kinds: Any) -> bool:  # noqa: A001
    """Whether the value behind x is one of these."""
    if builtins.isinstance(x, Tracer) and not builtins.isinstance(x, kinds):
        return issubclass(type(x), kinds)
    return builtins.isinstance(x, kinds)
