"""Numbers that differ from iteration to iteration, as an array: of which dtype its elements do what the numbers did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.index import ScatterSet
from adjoint.ops.effects import Callback, Check, Print
from adjoint.ops.elementwise.pointwise import Pointwise
from adjoint.program.program import Atom, Equation, Literal
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import promotion_token
from adjoint.simplify.reroll.repetitions import Numbered


def stack_dtype(numbers: Numbered, eq: Equation, slot: int, listed: Sequence[int]) -> np.dtype[Any] | None:
    """The dtype of a stack of literals, or of values, that an equation may read instead; None where it may not.

    A Python number yields to the arrays beside it; an element of an array does not. So the stack has the dtype to
    which the primitive itself converts the number.
    """
    kind = eq.inputs[slot].type
    if not kind.weak:
        return kind.dtype
    rule = DTYPES.get(eq.op)
    return None if rule is None else rule(eq.op, eq, slot, [numbers.atom(n) for n in listed])


# (primitive, equation, operand, literals) → the dtype to which the primitive converts them; None: not known
DTYPES: RuleTable[Callable[[Any, Equation, int, list[Atom]], np.dtype[Any] | None]] = RuleTable("dtypes of literals")


@DTYPES.rule(ScatterSet)
def written_dtype(op: ScatterSet, eq: Equation, slot: int, literals: list[Atom]) -> np.dtype[Any] | None:
    return eq.inputs[0].type.dtype if slot == 1 else None


@DTYPES.rule(Callback)
def passed_dtype(op: Callback, eq: Equation, slot: int, literals: list[Atom]) -> np.dtype[Any]:
    return eq.inputs[slot].type.dtype


@DTYPES.rule(Print, Check)
def printed_dtype(op: Print | Check, eq: Equation, slot: int, literals: list[Atom]) -> np.dtype[Any] | None:
    """Printed, a number is the same of either kind, unless its representation is asked for."""
    return None if "!" in op.label else eq.inputs[slot].type.dtype


@DTYPES.rule(Pointwise)
def promoted_dtype(op: Pointwise, eq: Equation, slot: int, literals: list[Atom]) -> np.dtype[Any] | None:
    ufunc = op.ufunc
    tokens = [promotion_token(a.type) for a in eq.inputs]
    dtypes = ufunc.resolve_dtypes((*tokens, *[None] * ufunc.nout))
    strong = [*tokens[:slot], dtypes[slot], *tokens[slot + 1 :]]
    if ufunc.resolve_dtypes((*strong, *[None] * ufunc.nout)) != dtypes:
        return None
    if dtypes[slot].kind in "iu" and not all(isinstance(a, Literal) and _fits(a.value, dtypes[slot]) for a in literals):
        return None  # of a number that is computed it is not known
    return dtypes[slot]


def _fits(value: int, dtype: np.dtype[Any]) -> bool:
    info = np.iinfo(dtype)
    return int(info.min) <= value <= int(info.max)
