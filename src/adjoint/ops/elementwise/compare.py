"""Comparisons, rounding, tests and bit operations: piecewise constant, so their derivative is zero."""

from typing import Any

import numpy as np

from adjoint.ops import kinks
from adjoint.ops.calculus import Flat
from adjoint.ops.elementwise.pointwise import FlatUfunc, Pointwise
from adjoint.ops.elementwise.work import CHEAP, FREE, REMAINDER
from adjoint.program.op import primitive
from adjoint.program.types import Value

for _function in (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal):
    FlatUfunc(_function, work=CHEAP, kinks=kinks.CONDITION)
for _function in (
    *(np.logical_and, np.logical_or, np.logical_xor, np.logical_not, np.isnan, np.isinf, np.isfinite),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift, np.bitwise_count),
):
    FlatUfunc(_function, work=FREE)
for _function in (np.spacing, np.gcd, np.lcm):
    FlatUfunc(_function)
FlatUfunc(np.signbit, work=FREE, kinks=kinks.SIGN)
for _function in (np.floor, np.ceil):
    FlatUfunc(_function, work=CHEAP, kinks=kinks.STEP)
FlatUfunc(np.rint, work=CHEAP, kinks=kinks.ROUNDING)
FlatUfunc(np.trunc, work=CHEAP, kinks=kinks.TRUNCATION)
FlatUfunc(np.floor_divide, work=REMAINDER, kinks=kinks.QUOTIENT)


@primitive
class Exponent(Pointwise, Flat):
    """The e of x = m 2ᵉ with ½ ≤ |m| < 1: the second output of frexp."""

    @property
    def ufunc(self) -> Any:
        return np.frexp

    def evaluate(self, *xs: Value) -> Value:
        return np.frexp(xs[0])[1]
