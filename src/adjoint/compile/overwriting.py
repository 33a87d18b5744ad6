"""Which results may stand in the memory of an operand: assignments, additions, loops and branches that carry it on.

A result is written over an operand that nothing reads any more. Where one such result follows another (a loop that adds
to an array, then an assignment into it …), all of them share the memory of the last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from adjoint.compile.plan import Plan, Single
from adjoint.compile.views import identity, linear, strides_of
from adjoint.ops.arrays.index import ScatterSet
from adjoint.ops.arrays.scatter_add import ScatterAdd
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.rule_table import RuleTable

if TYPE_CHECKING:
    from adjoint.compile.emit import Emitter


def takes_over(emitter: Emitter, start: Atom, result: Var) -> bool:
    """Whether a result may begin in the memory of its start, because nobody reads that any more; if so, it does."""
    if not isinstance(start, Var) or result in emitter.pointers or start not in emitter.pointers:
        return False
    at = emitter.plan.step_of[result]
    step = emitter.plan.steps[at]
    pointer = emitter.pointers[start]
    if (
        start.type != result.type
        or start not in emitter.ends.get(at, ())
        or not isinstance(step, Single)
        or step.reads.count(start) != 1
        or pointer.text not in emitter.shared.offsets
    ):
        return False
    emitter.pointers[result] = emitter.pointers.pop(start)
    return True


def overwritten(plan: Plan, result: Var) -> Var | None:
    """The variable in whose memory a step may write a result: nothing reads it afterwards."""
    at = plan.step_of.get(result)
    step = plan.steps[at] if at is not None else None
    if at is None or not isinstance(step, Single):
        return None
    rule = OVERWRITTEN.get(step.equation.op)
    start = rule(plan, step.equation, result) if rule is not None else None
    if not isinstance(start, Var) or step.reads.count(start) != 1 or start in plan.program.outputs:
        return None
    kind, own = start.type, result.type
    if kind.shape != own.shape or kind.dtype != own.dtype or start in plan.program.constants:
        return None
    return None if any(start in plan.reads(later) for later in plan.steps[at + 1 :]) else start


def lend_memory(emitter: Emitter, output: Var) -> None:
    """The memory of an output for the results that it is written over, one after the other."""
    var = output
    while (before := overwritten(emitter.plan, var)) is not None and before not in emitter.pointers:
        emitter.pointers[before] = emitter.pointers[var]
        emitter.lent.add(before)
        var = before


def updates_in_place(plan: Plan, position: int, k: int) -> bool:
    """Whether a program may write output k over input `position`: it reads each element only where it writes it."""
    out, old = plan.program.outputs[k], plan.program.inputs[position]
    if not isinstance(out, Var) or k in plan.aliases or sum(1 for a in plan.program.outputs if a is out) > 1:
        return False
    if old in plan.program.outputs:  # it is copied at the end
        return False
    while (before := overwritten(plan, out)) is not None:
        if before is old:
            return True
        out = before
    return _writes_by_element(plan, old, out)


def _writes_by_element(plan: Plan, old: Var, out: Var) -> bool:
    """Whether a nest of loops may write a result over an input."""
    at = plan.step_of.get(out)
    if at is None or any(old in plan.reads(later) for later in plan.steps[at + 1 :]):
        return False
    step = plan.steps[at]
    if isinstance(step, Single) or out not in plan.definitions or step.domain != out.type.shape:
        return False
    assert step.graph is not None
    own = linear(identity(out.type.ndim), strides_of(out.type.shape))
    for node in step.graph.nodes:
        if node.var is old and (node.kind == "gather" or (node.kind == "load" and node.position != own)):
            return False
    return True


# (plan, equation, result) → the operand in whose memory a result may be written; None where it may in none
OVERWRITTEN: RuleTable[Callable[[Plan, Equation, Var], Atom | None]] = RuleTable("updates in place", of="evaluate")
OVERWRITTEN.update(dict.fromkeys((ScatterSet, ScatterAdd), lambda plan, eq, out: eq.inputs[0]))


@OVERWRITTEN.rule(Scan, While)
def start_of_carry(plan: Plan, eq: Equation, out: Var) -> Atom | None:
    """What the carry of a loop begins with."""
    op: Any = eq.op
    first = len(eq.inputs) - (len(op.body.inputs) - op.constants)
    k = eq.outputs.index(out)
    return eq.inputs[first + k] if k < op.carries else None


@OVERWRITTEN.rule(Cond)
def operand_of_branches(plan: Plan, eq: Equation, out: Var) -> Atom | None:
    """What every branch hands on, or writes over."""
    op: Any = eq.op
    k = eq.outputs.index(out)
    for j, x in enumerate(eq.inputs[1:]):
        same_type = x.type.shape == out.type.shape and x.type.dtype == out.type.dtype
        if same_type and isinstance(x, Var) and all(_carries_on(plan, branch, j, k) for branch in op.branches):
            return x
    return None


def _carries_on(plan: Plan, branch: Program, j: int, k: int) -> bool:
    same = branch.outputs[k] is branch.inputs[j]
    if same:
        return sum(1 for a in branch.outputs if a is branch.inputs[j]) == 1
    known = branch.__dict__.get("_plan")
    if known is None:
        known = branch.__dict__["_plan"] = Plan(branch, plan.strided)
    return updates_in_place(known, j, k)
