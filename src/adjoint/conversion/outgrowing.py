"""Ints of Python's in a body that is traced once: there they have 64 bits, and what may outgrow them is checked.

    |z| ≤ the bound of z: of a literal itself, of a counter its range, of arithmetic what follows from its operands

An int that a loop carries is taken to stay below `USUAL`; where an iteration leaves a larger bound than a `LITTLE`
more, it may have any size. Arithmetic whose bound is beyond 2⁶² is followed by a check, so that what is wrong is never
silent: a compiled function runs as plain Python then.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.base.source import describe, here
from adjoint.ops.effects import Raise, Unchanged
from adjoint.program.op import Op
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value
from adjoint.transform.guards import LARGEST, Outgrown, size_of

USUAL, LITTLE = 2.0**31, 2.0**24


def is_int(kind: ArrayType | None) -> bool:
    """Whether a type is that of an int of Python's."""
    return kind is not None and kind.weak and kind.dtype.kind == "i"


def bound_of(value: Value) -> float:
    """A bound of an int, traced or plain."""
    if not isinstance(value, Tracer):
        return float(min(abs(value), 1 << 200))
    bounds = getattr(value._trace, "bounds", None)
    return USUAL if bounds is None else bounds.get(value._var, USUAL)  # type: ignore[attr-defined]


def set_bound(value: Value, bound: float) -> Value:
    """Note a bound of a traced int, where it is a variable of a body."""
    bounds = getattr(value._trace, "bounds", None) if isinstance(value, Tracer) else None
    if bounds is not None:
        bounds[value._var] = bound  # type: ignore[union-attr]
    return value


def is_large(value: Value) -> bool:
    """Whether an int at the end of an iteration may be more than a little larger than the usual ones."""
    return bound_of(value) > USUAL + LITTLE


def check_size(op: Op, args: Sequence[Value], made: Value) -> None:
    """Note the bound of an int that was computed; check its size where there is none."""
    bound = _after(op.title, [bound_of(a) for a in args])
    if bound >= LARGEST:
        fits = size_of(op, args) < LARGEST
        problem = Outgrown(
            f"an int of Python's outgrows the 64 bits that it has in a compiled loop, at {describe(here())}. Compute "
            "with floats or with arrays of NumPy's ints, which have a size of their own."
        )
        Raise(Unchanged(problem), (), 1)(np.logical_not(fits), np.int64(0))
    set_bound(made, min(bound, LARGEST))


def _after(title: str, bounds: list[float]) -> float:
    first, second = bounds[0], bounds[-1]
    if title in ("add", "subtract"):
        return first + second
    if title in ("multiply", "square"):
        return first * second
    if title == "power":
        return 1.0 if first <= 1.0 else np.inf if second * np.log2(first) >= 62.0 else first**second
    if title == "left_shift":
        return np.inf if second >= 62.0 else first * 2.0**second
    if title.startswith("bitwise"):
        return 2.0 * max(first, second)
    return second if title == "remainder" else first
