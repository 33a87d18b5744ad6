"""Taylor coefficients of a function of numbers at many points at once, for primitives that are given a function."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.program.trace import running
from adjoint.program.types import Value
from adjoint.transform.taylor import Known, Taylor, TaylorTracer


def expansion(function: Callable[..., Any], x: Value, order: int) -> Sequence[Value]:
    """f⁽ᵏ⁾(x) / k! for k = 0 … order, element by element."""
    trace = Taylor(order)
    with running(trace):
        y = function(TaylorTracer(trace, Known([x, np.ones_like(x)])))
        mine = isinstance(y, TaylorTracer) and y._trace is trace
        found = trace.coefficients(y._series) if mine else [y]  # pyright: ignore[reportAttributeAccessIssue]
    zero = np.zeros_like(x)
    terms = [zero if c is None else np.broadcast_to(np.asarray(c), x.shape) for c in found]
    return [*terms, *[zero] * (order + 1 - len(terms))]
