"""Choosing by condition: where, select, clip."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.numpy.dispatch import NO_VALUE, as_array, implements, into, refuse_keywords
from adjoint.ops.elementwise.select import Select
from adjoint.ops.operators import coerced
from adjoint.program.trace import Tracer, bind
from adjoint.program.types import Value


@implements(np.where)
def where(condition: Value, x: Any = None, y: Any = None, /) -> Value:
    if x is None and y is None:
        return np.nonzero(condition)
    condition = condition if isinstance(condition, Tracer) else np.asarray(condition)
    if condition.dtype.kind != "b":
        condition = np.not_equal(condition, 0)
    return bind(Select(), coerced("where", x), coerced("where", y), condition)


@implements(np.clip)
def clip(
    a: Value, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **kwargs: Any
) -> Value:
    refuse_keywords("np.clip", kwargs)
    a = as_array(a)
    low, high = (
        given if given is not None and given is not NO_VALUE else other for given, other in ((min, a_min), (max, a_max))
    )
    z = a if low is None or low is NO_VALUE else np.maximum(a, low)
    z = z if high is None or high is NO_VALUE else np.minimum(z, high)
    return into(out, +z if z is a else z)


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Value:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    for position, condition in enumerate(condlist):
        if as_array(condition).dtype.kind != "b":
            raise TypeError(f"np.select: invalid entry {position} in condlist: should be boolean ndarray, as x != 0 is")
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = np.where(condition, choice, result)
    return result
