"""Constants: arrays of equal elements become numbers, equal arrays become one, and what follows is computed now.

Nothing large is made: a result is computed only when it, and what it is computed from, is small, or when all its
elements are equal and one of them is enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.program.op import Op
from adjoint.program.types import Value

MOST_ELEMENTS = 4096  # of a constant that is computed here, and of all it is computed from together
MOST_BYTES = 1 << 20  # constants up to this size are compared with each other

_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.uint64}


def literal_key(value: Value) -> Any:
    """What makes two literals equal: NaN equals itself, 0.0 is not -0.0, 1 is not 1.0."""
    return value.__class__, repr(value)


def uniform_element(array: Value) -> Value | None:
    """The one element that an array consists of, bit by bit; None when there are several, or none at all."""
    size = array.size
    if size == 0:
        return None
    first = array[(0,) * array.ndim]
    if size > 1:
        words = np.ascontiguousarray(array).reshape(-1).view(_WORDS[array.dtype.itemsize])
        step = 2 if array.dtype.itemsize == 16 else 1
        if not np.array_equal(words[:step], words[-step:]):
            return None
        if not all((words[k::step] == words[k]).all() for k in range(step)):
            return None
    return first[()]


def evaluate(op: Op, values: list[Value]) -> Value | None:
    """What a primitive gives on plain values; None when it refuses them: then it shall do so when the program runs."""
    with np.errstate(all="ignore"):
        try:
            return op.evaluate(*values)
        except Exception:
            return None


def same_array(a: Value, b: Value) -> bool:
    """Whether two arrays of one type are equal bit by bit."""
    return a is b or a.tobytes() == b.tobytes()
