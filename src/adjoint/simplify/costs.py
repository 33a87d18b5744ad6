"""What an equation costs, roughly, in units of one addition of two elements in registers.

The figures decide between computing a value again, storing it, and moving it out of a loop; only their ratios matter.
They are not those of one operation on its own but what was measured in compiled loops, where waiting for one value
hides the work on others: gradients of an equation of motion, of a chain of labels and of a recurrent network were timed
with many choices of what is stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from adjoint.ops.arrays.contract import Einsum, MatMul
from adjoint.ops.arrays.index import ScatterSet, ScatterSum
from adjoint.ops.arrays.rearrange import Concatenate, Convert, Pad
from adjoint.ops.arrays.reduce import Reduction
from adjoint.ops.arrays.scatter_add import ScatterAdd
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.scan import Scan
from adjoint.ops.elementwise.pointwise import Pointwise
from adjoint.ops.elementwise.select import Select
from adjoint.program.op import Op
from adjoint.program.program import Equation, Program
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType

# (primitive, equation) → cost
COSTS: RuleTable[Callable[[Any, Equation], float]] = RuleTable("the cost model of simplification")

SIZE_UNKNOWN = 16  # elements along an axis whose size is known only when the program runs
ITERATIONS_UNKNOWN = 64


def elements(kind: ArrayType) -> int:
    """The number of elements of a type, a guess where it is known only later."""
    return math.prod(n if isinstance(n, int) else SIZE_UNKNOWN for n in kind.shape)


def size_in_bytes(kind: ArrayType) -> int:
    """The memory that a value of a type takes."""
    return elements(kind) * kind.dtype.itemsize


def cost(eq: Equation) -> float:
    """The cost of an equation; infinite for what is not known to be cheap, such as decompositions and draws."""
    if eq.op.is_view or not eq.outputs:
        return 0.0
    rule = COSTS.get(eq.op)
    return math.inf if rule is None else rule(eq.op, eq)


DECOMPOSITION = 12  # equations whose machine code is as long as that of a decomposition, a solve, a sort
PRODUCT = 6  # that of a product of matrices which are not tiny
TINY = 512  # multiplications


def code_length(eq: Equation) -> int:
    """How long the machine code of an equation is, in that of elementwise ones."""
    if isinstance(eq.op, Pointwise):
        return 1
    if eq.op.several and (inner := eq.op.programs()):
        return 1 + sum(map(program_length, inner.values()))
    price = cost(eq)
    if math.isinf(price):
        return DECOMPOSITION
    return PRODUCT if isinstance(eq.op, MatMul | Einsum) and price > 0.5 * TINY else 1


def program_length(program: Program) -> int:
    """How long the machine code of a program is; found once."""
    length = program.__dict__.get("_code_length")
    if length is None:
        length = program.__dict__["_code_length"] = sum(map(code_length, program.equations))
    return length


def is_as_long(program: Program, least: int) -> bool:
    """Whether the machine code of a program is as long as that of so many equations."""
    length = len(program.equations)
    return length >= least or (DECOMPOSITION * length >= least and program_length(program) >= least)


@COSTS.rule(Pointwise)
def pointwise_cost(op: Pointwise, eq: Equation) -> float:
    kind = eq.outputs[0].type
    return (4.0 if kind.dtype.kind == "c" else 1.0) * elements(kind) * op.work.price


@COSTS.rule(Concatenate, Pad, ScatterSum, ScatterSet, ScatterAdd, Convert, Select)
def copy_cost(op: Op, eq: Equation) -> float:
    return float(elements(eq.outputs[0].type))


@COSTS.rule(Reduction)
def reduction_cost(op: Reduction, eq: Equation) -> float:
    return 0.75 * elements(eq.inputs[0].type)


@COSTS.rule(MatMul)
def product_cost(op: MatMul, eq: Equation) -> float:
    first = eq.inputs[0].type
    return 0.5 * elements(eq.outputs[0].type) * elements(ArrayType(first.shape[-1:], first.dtype))


@COSTS.rule(Einsum)
def contraction_cost(op: Einsum, eq: Equation) -> float:
    sizes = op.sizes([a.type for a in eq.inputs]).values()
    return 0.5 * math.prod(n if isinstance(n, int) else SIZE_UNKNOWN for n in sizes)


@COSTS.rule(Scan)
def loop_cost(op: Scan, eq: Equation) -> float:
    iterations = op.length if isinstance(op.length, int) else ITERATIONS_UNKNOWN
    return iterations * (4.0 + 3.0 * program_cost(op.body))  # an iteration waits for the one before


@COSTS.rule(Cond)
def branch_cost(op: Cond, eq: Equation) -> float:
    return 4.0 + max(map(program_cost, op.branches))


def program_cost(program: Program) -> float:
    """The cost of running a program once."""
    cached = program.__dict__.get("_cost")
    if cached is None:
        cached = program.__dict__["_cost"] = sum(map(cost, program.equations))
    return cached
