"""Tolerances, counts and methods that users give: what they may be, and which error says so."""

from __future__ import annotations

from operator import index as operator_index
from typing import Any

import numpy as np

from adjoint.base.errors import TraceError
from adjoint.program.trace import TRACED

__all__ = ["check_tolerance", "is_method", "read_count"]


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


def is_method(title: str, method: Any) -> bool:
    """Whether it is an object that can be stepped."""
    if isinstance(method, type):
        raise TypeError(f"{title}: method is the class {method.__name__}; write {method.__name__}(), with its options.")
    return all(hasattr(method, name) for name in ("init", "step", "done", "needs"))
