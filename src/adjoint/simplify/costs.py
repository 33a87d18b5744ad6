"""What an equation costs, roughly, in units of one addition of two elements in registers.

The figures decide between computing a value again, storing it, and moving it out of a loop; only their ratios matter.
They are not those of one operation on its own but what was found in compiled loops, where waiting for one value hides
the work on others: gradients of an equation of motion, of a chain of labels and of a recurrent network were timed with
many choices of what is stored.
"""

from __future__ import annotations

import math

from adjoint.ops.arrays.contract import Einsum, MatMul
from adjoint.ops.arrays.index import ScatterSet, ScatterSum
from adjoint.ops.arrays.rearrange import Concatenate, Convert, Pad
from adjoint.ops.arrays.reduce import ArgSort, Reduction
from adjoint.ops.control.base import Cond
from adjoint.ops.control.scan import Scan
from adjoint.ops.elementwise.pointwise import Pointwise
from adjoint.ops.elementwise.select import Select
from adjoint.program.op import Op
from adjoint.program.program import Equation, Program
from adjoint.program.types import ArrayType

COPIES: tuple[type[Op], ...] = (Concatenate, Pad, ScatterSum, ScatterSet, Convert, Select)

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
    if op.is_view or not outputs:
        return 0.0
    size = float(elements(outputs[0].type))
    if isinstance(op, Pointwise):
        scale = 4.0 if outputs[0].type.dtype.kind == "c" else 1.0
        return scale * size * op.work.price
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


def program_cost(program: Program) -> float:
    """The cost of running a program once."""
    cached = program.__dict__.get("_cost")
    if cached is None:
        cached = program.__dict__["_cost"] = sum(map(cost, program.equations))
    return cached
