"""What an equation costs, roughly, in units of one addition of two elements in registers.

The figures decide between computing a value again, storing it, and moving it out of a loop; only their ratios matter.
They are not those of one operation on its own but what was found in compiled loops, where waiting for one value hides
the work on others: gradients of an equation of motion, of a chain of labels and of a recurrent network were timed with
many choices of what is stored.
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ops.arrays.contract import Einsum, MatMul
from adjoint.ops.arrays.index import ScatterSet, ScatterSum, Slice
from adjoint.ops.arrays.rearrange import Broadcast, Concatenate, Convert, Imag, Pad, Real, Reshape, Transpose
from adjoint.ops.arrays.reduce import ArgSort, Reduction
from adjoint.ops.control.base import Cond
from adjoint.ops.control.scan import Scan
from adjoint.ops.elementwise.pointwise import Pointwise, Ufunc
from adjoint.ops.elementwise.select import Select, StopGradient
from adjoint.program.op import Op
from adjoint.program.program import Equation, Program
from adjoint.program.types import ArrayType

# They name elements of their argument in another order: reading through them costs nothing.
VIEWS: tuple[type[Op], ...] = (Reshape, Transpose, Slice, Broadcast, StopGradient, Real, Imag)
COPIES: tuple[type[Op], ...] = (Concatenate, Pad, ScatterSum, ScatterSet, Convert, Select)

CHEAP = frozenset(
    [
        *("add", "subtract", "multiply", "negative", "positive", "absolute", "fabs", "square", "conjugate", "sign"),
        *("maximum", "minimum", "fmax", "fmin", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
        *("logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"),
        *("invert", "left_shift", "right_shift", "isfinite", "isnan", "isinf", "signbit", "copysign", "floor", "ceil"),
        *("trunc", "rint", "heaviside"),
    ]
)
DIVISIONS = frozenset(["divide", "reciprocal", "sqrt", "floor_divide", "remainder", "fmod"])
EXPONENTIALS = frozenset(["exp", "exp2", "log", "log2", "expm1", "log1p", "cbrt"])
TRIGONOMETRIC = frozenset(["sin", "cos", "tan", "tanh", "sinh", "cosh", "arctan", "arcsin", "arccos", "expit"])
SIZE_UNKNOWN = 16  # elements along an axis whose size is known only when the program runs
TURNS_UNKNOWN = 64


def elements(kind: ArrayType) -> int:
    """The number of elements of a type, a guess where it is known only later."""
    return math.prod(n if isinstance(n, int) else SIZE_UNKNOWN for n in kind.shape)


def size_in_bytes(kind: ArrayType) -> int:
    """The memory that a value of a type takes."""
    return elements(kind) * kind.dtype.itemsize


def cost(eq: Equation) -> float:
    """The cost of an equation; infinite for what is not known to be cheap, such as decompositions and draws."""
    op, outputs = eq.op, eq.outputs
    if isinstance(op, VIEWS) or not outputs:
        return 0.0
    size = float(elements(outputs[0].type))
    if isinstance(op, Pointwise):
        scale = 4.0 if outputs[0].type.dtype.kind == "c" else 1.0
        return scale * size * price(op)
    if isinstance(op, COPIES):
        return size
    if isinstance(op, Reduction) and not isinstance(op, ArgSort):
        return 0.75 * elements(eq.inputs[0].type)
    if isinstance(op, MatMul):
        return 0.5 * size * elements(ArrayType(eq.inputs[0].type.shape[-1:], eq.inputs[0].type.dtype))
    if isinstance(op, Einsum):
        sizes = op.sizes([a.type for a in eq.inputs]).values()
        return 0.5 * math.prod(n if isinstance(n, int) else SIZE_UNKNOWN for n in sizes)
    if isinstance(op, Scan):
        turns = op.length if isinstance(op.length, int) else TURNS_UNKNOWN
        return turns * (4.0 + 3.0 * program_cost(op.body))  # a turn waits for the one before
    if isinstance(op, Cond):
        return 4.0 + max(map(program_cost, op.branches))
    return math.inf


def price(op: Any) -> float:
    """The cost of one element of an elementwise operation."""
    if not isinstance(op, Ufunc):
        return 1.5  # a product with a mask
    name = op.name
    if name in CHEAP:
        return 0.5
    if name in DIVISIONS:
        return 2.0
    return 12.0 if name in EXPONENTIALS else 20.0 if name in TRIGONOMETRIC else 60.0


def program_cost(program: Program) -> float:
    """The cost of running a program once."""
    cached = program.__dict__.get("_cost")
    if cached is None:
        cached = program.__dict__["_cost"] = sum(map(cost, program.equations))
    return cached
