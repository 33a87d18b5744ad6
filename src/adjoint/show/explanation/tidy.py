"""Formulas without what does nothing: times one, plus zero, conversions.

A primitive from which a formula can be freed has a rule here, by its class, or by itself where it is one of NumPy's
ufuncs, many of which share a class.
"""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.logsumexp import LogSumExp
from adjoint.ops.arrays.rearrange import Convert, Real, Reshape
from adjoint.ops.arrays.reduce import Reduction
from adjoint.ops.elementwise.arithmetic import ConjugateUfunc
from adjoint.ops.elementwise.pointwise import MaskedProduct
from adjoint.ops.elementwise.ufuncs import BY_NAME
from adjoint.ops.elementwise.weak_types import Weaken
from adjoint.ops.signal.fourier import Fourier
from adjoint.program.op import Op
from adjoint.program.program import Equation
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType
from adjoint.show.explanation.expressions import Apply, Formula, Number

__all__ = ["covers", "is_conversion", "passes_on", "tidy"]

ADD, SUBTRACT, MULTIPLY, DIVIDE = (BY_NAME[name] for name in ("add", "subtract", "multiply", "divide"))
NEGATIVE, POWER = BY_NAME["negative"], BY_NAME["power"]
MASKED_PRODUCT = MaskedProduct()

# Whether an equation has the same elements as its argument, as far as the chain rule is concerned.
PASSES_ON: RuleTable[Callable[[Equation], bool]] = RuleTable("formulas")
# The axes that a primitive goes over.
AXES: RuleTable[Callable[[Any], tuple[int, ...]]] = RuleTable("axes of formulas")
CONVERSIONS: RuleTable[bool] = RuleTable("conversions")
CONVERSIONS.update({Convert: True, Weaken: True})


@PASSES_ON.rule(Reshape)
def _only_ones_differ(eq: Equation) -> bool:
    """Axes of length one are the machine's business, not the chain rule's."""
    before, after = eq.inputs[0].type.shape, eq.outputs[0].type.shape
    return [n for n in before if n != 1] == [n for n in after if n != 1]


@PASSES_ON.rule(Real, ConjugateUfunc)
def _is_real(eq: Equation) -> bool:
    return eq.inputs[0].type.dtype.kind != "c"


def passes_on(eq: Equation) -> bool:
    """Whether an equation stands for its first argument."""
    rule = PASSES_ON.get(eq.op)
    return rule is not None and rule(eq)


@AXES.rule(Reduction, LogSumExp, Fourier)
def _axes(op: Any) -> tuple[int, ...]:
    return op.axes


def covers(op: Op, types: Sequence[ArrayType]) -> bool:
    """Whether an operation goes over all axes of its argument."""
    rule = AXES.get(op)
    return rule is not None and len(rule(op)) == len(types[0].shape)


def is_conversion(op: Op) -> bool:
    """Whether an operation gives the same numbers in another type."""
    return op in CONVERSIONS


def tidy(op: Op, parts: tuple[Formula, ...], *, whole: bool = False) -> Formula:
    """An operation on formulas, without what does nothing."""
    if op.pointwise and all(isinstance(p, Number) and np.ndim(p.value) == 0 for p in parts):
        with np.errstate(all="ignore"):
            z = op.evaluate(*[p.value for p in parts if isinstance(p, Number)])
        if len(f"{z:.12g}") <= 6:  # 1.5 - 1 is 0.5, but 1 / 3 stays
            return Number(z)
    if is_conversion(op):
        return parts[0]
    op = MULTIPLY if op == MASKED_PRODUCT else op
    rule = SHORTER.get(id(op))
    shorter = None if rule is None else rule(*parts)
    return Apply(op, parts, whole) if shorter is None else shorter


def _is(formula: Formula, number: float) -> bool:
    return isinstance(formula, Number) and np.ndim(formula.value) == 0 and formula.value == number


def _product(x: Formula, y: Formula) -> Formula | None:
    if _is(x, 0) or _is(y, 0):
        return Number(0.0)
    for one, other in ((x, y), (y, x)):
        if _is(one, 1):
            return other
    for one, other in ((y, x), (x, y)):
        if _is(one, -1):
            return Apply(NEGATIVE, (other,))
    if isinstance(y, Apply) and y.op is NEGATIVE:
        return tidy(NEGATIVE, (tidy(MULTIPLY, (x, y.parts[0])),))
    if isinstance(y, Apply) and y.op is DIVIDE and _is(y.parts[0], 1):
        return Apply(DIVIDE, (x, y.parts[1]))
    return None


def _sum(x: Formula, y: Formula) -> Formula | None:
    if _is(x, 0) or _is(y, 0):
        return y if _is(x, 0) else x
    if isinstance(x, Apply) and x.op is SUBTRACT and isinstance(y, Number):
        before, number = x.parts
        if isinstance(number, Number) and _is(number, y.value):
            return before  # a - 1 + 1
    if isinstance(y, Apply) and y.op is NEGATIVE:
        return Apply(SUBTRACT, (x, y.parts[0]))
    return None


def _difference(x: Formula, y: Formula) -> Formula | None:
    return x if _is(y, 0) else None


def _power(x: Formula, y: Formula) -> Formula | None:
    return x if _is(y, 1) else None


def _negation(x: Formula) -> Formula | None:
    return x.parts[0] if isinstance(x, Apply) and x.op is NEGATIVE else None


# By identity: what others declare may have no hash.
SHORTER: dict[int, Callable[..., Formula | None]] = {
    id(MULTIPLY): _product, id(ADD): _sum, id(SUBTRACT): _difference, id(POWER): _power, id(NEGATIVE): _negation,
}  # fmt: skip
