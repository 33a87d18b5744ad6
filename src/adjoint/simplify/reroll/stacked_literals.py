"""Numbers that differ from turn to turn, as an array: of which dtype its elements do what the numbers did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.index import ScatterSet
from adjoint.ops.effects import Callback, Check, Print
from adjoint.program.program import Equation
from adjoint.program.types import promotion_token
from adjoint.simplify.reroll.repetitions import Numbered


def stack_dtype(numbers: Numbered, eq: Equation, slot: int, listed: Sequence[int]) -> np.dtype[Any] | None:
    """The dtype of a stack of literals, or of values, that an equation may read instead; None where it may not.

    A Python number gives way to the arrays beside it; an element of an array does not. So the stack has the dtype to
    which the primitive itself converts the number.
    """
    kind = eq.inputs[slot].type
    if not kind.weak:
        return kind.dtype
    op: Any = eq.op
    types = [a.type for a in eq.inputs]
    if isinstance(op, ScatterSet) and slot == 1:
        return types[0].dtype
    if isinstance(op, Callback) or (isinstance(op, Print | Check) and "!" not in op.label):
        return kind.dtype  # printed, a number is the same of either kind
    ufunc = getattr(op, "ufunc", None)
    if ufunc is None:
        return None
    tokens = [promotion_token(t) for t in types]
    dtypes = ufunc.resolve_dtypes((*tokens, *[None] * ufunc.nout))
    strong = [*tokens[:slot], dtypes[slot], *tokens[slot + 1 :]]
    if ufunc.resolve_dtypes((*strong, *[None] * ufunc.nout)) != dtypes:
        return None
    for n in listed:
        value: Any = numbers.atom(n).value  # type: ignore[union-attr]
        if dtypes[slot].kind in "iu" and not _fits(value, dtypes[slot]):
            return None
    return dtypes[slot]


def _fits(value: int, dtype: np.dtype[Any]) -> bool:
    info = np.iinfo(dtype)
    return int(info.min) <= value <= int(info.max)
