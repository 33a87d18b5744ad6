"""Common subexpressions of two loops over the same iterations.

The rule of a primitive may compute in the backward pass what its value was made of (exponentials, an order, a mask).
Where that depends on rows and constants that the first loop has too, it need not: the first loop can store it. Whether
it should is weighed with all other residuals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from adjoint.program.program import Atom, Equation, Var
from adjoint.program.types import Value
from adjoint.simplify.loops.parts import Loop, acts

LARGEST_COMPARED = 1 << 10  # elements of a constant that is known by its value


def find_shared_work(forward: Loop, backward: Loop, rows: Mapping[Var, Var]) -> dict[Var, Var]:
    """Variables of the second loop that are variables of the first one, and which; `rows` are known to be."""
    outside = {atom: v for v, atom in forward.constants}
    same: dict[Var, Any] = dict(rows)
    same.update({v: outside[atom] for v, atom in backward.constants if atom in outside})
    same.update({v: _content(v, value) for v, value in backward.values.items()})
    names: dict[Var, Any] = {v: _content(v, value) for v, value in forward.values.items()}
    by_key: dict[Any, Equation] = {}
    for eq in forward.equations:
        key = _key(eq, names, None)
        if key is not None:
            by_key.setdefault(key, eq)
    shared: dict[Var, Var] = {}
    for eq in backward.equations:
        key = _key(eq, same, same)
        twin = by_key.get(key) if key is not None else None
        if twin is not None:
            for v, w in zip(eq.outputs, twin.outputs, strict=True):
                same[v] = shared[v] = w
    return shared


def _key(eq: Equation, names: Mapping[Var, Any], known: Mapping[Var, Any] | None) -> Any:
    """What an equation says; None if that cannot be compared, or if it reads what is not `known`."""
    if acts(eq.op) or not eq.outputs:
        return None
    reads: list[Any] = []
    for a in eq.inputs:
        if not isinstance(a, Var):
            reads.append(a.key())
        elif known is not None and a not in known:
            return None
        else:
            reads.append(names.get(a, a))
    key = (eq.op, *reads, *[(v.type.shape, v.type.dtype, v.type.weak) for v in eq.outputs])
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _content(v: Var, value: Value) -> Any:
    """A constant by its value, where it is small."""
    array: Any = np.asarray(value)
    return v if array.size > LARGEST_COMPARED else (array.shape, array.dtype.str, v.type.weak, array.tobytes())


def is_among(eq: Equation, variables: Mapping[Var, Any]) -> bool:
    """Whether an equation makes these variables."""
    return any(v in variables for v in eq.outputs)


def reads_of(loop: Loop) -> set[Atom]:
    """What is read inside a loop."""
    return {a for eq in loop.equations for a in eq.inputs} | {c.next for c in loop.carries} | {a for a, _ in loop.ys}
