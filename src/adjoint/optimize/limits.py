"""Tolerances and counts that users give: what they may be, and which error says so."""

from __future__ import annotations

from operator import index as operator_index
from typing import Any

import numpy as np

from adjoint.base.errors import TraceError
from adjoint.program.trace import TRACED

__all__ = ["check_tolerance", "read_count"]


def read_count(title: str, name: str, value: Any) -> int:
    """How often something is done at most: an integer, not negative."""
    if isinstance(value, TRACED):
        raise TraceError(f"{title}: {name} is traced; it is a plain integer, which has no derivative.")
    try:
        count = operator_index(value)
    except TypeError:
        raise TypeError(f"{title}: {name} is {value!r}; it is an integer.") from None
    if count < 0:
        raise ValueError(f"{title}: {name} is {count}; it cannot be negative.")
    return count


def check_tolerance(title: str, tol: Any) -> None:
    """A tolerance is one number, not negative; None stands for the default."""
    if tol is None or isinstance(tol, TRACED):
        return
    if isinstance(tol, str | bool) or np.ndim(tol) or np.asarray(tol).dtype.kind not in "iuf":
        raise TypeError(f"{title}: tol is {tol!r}; it is one number, such as 1e-8.")
    if not tol >= 0:
        raise ValueError(f"{title}: tol is {tol}; it cannot be negative.")
