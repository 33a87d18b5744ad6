"""Questions that NumPy itself asks of values, because the shape or the dtype of a result depends on the answer."""

from __future__ import annotations

from adjoint.base.errors import ControlFlowError
from adjoint.program.trace import Trace, Tracer
from adjoint.program.types import Value


def settled(condition: Value) -> bool | None:
    """The truth of one condition; None where values are not known, as in the body of a loop or a branch.

    While a function is compiled the answer becomes a guard: the program is for it. Lanes of a program may have
    different answers each time it runs, and a shape for each cannot be had.
    """
    if isinstance(condition, Tracer) and not condition._trace.records and _is_recorded(condition._trace):
        return None
    try:
        return bool(condition)
    except ControlFlowError:
        return None


def _is_recorded(trace: Trace | None) -> bool:
    while trace is not None and not trace.records:
        trace = trace.outer
    return trace is not None


def without_leading_zeros(p: Value, end: int = 0, tol: float = 0.0) -> Value:
    """p without zeros (up to `tol`) in front (`end` 0) or behind (-1), as far as they are known; one element stays."""
    while p.shape[0] > 1 and settled(abs(p[end]) <= tol if tol else p[end] == 0):
        p = p[1:] if end == 0 else p[:-1]
    return p
