"""What operations take while they run: the workspace of primitives and of control flow, and the peak of a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from adjoint.jit.executable import Executable
from adjoint.jit.pipeline import build_executable
from adjoint.memory.algebra import algebra_workspace, is_algebra
from adjoint.memory.primitives import primitive_workspace
from adjoint.memory.sizes import EQUATION, WRITING, size_of
from adjoint.ops.checkpointing.chain import Reversible
from adjoint.ops.checkpointing.reverse import CheckpointedReverse
from adjoint.ops.checkpointing.scan import CheckpointedScan, CheckpointedWhile
from adjoint.ops.checkpointing.schedule import OnlineCheckpoints
from adjoint.ops.control.base import Cond
from adjoint.ops.control.call import Call
from adjoint.ops.control.while_loop import While
from adjoint.ops.custom import Attach
from adjoint.ops.linalg.spectral import FramedEigh, FramedSVD
from adjoint.program.program import Equation, Program, Var, last_uses
from adjoint.program.types import ArrayType

GIVEN = (Attach, FramedEigh, FramedSVD)  # their results are some of their arguments
WRITTEN = (Reversible,)  # they are read equation by equation, so that each of them can be counted by itself
LONGEST = 100_000  # turns of a loop whose way back is gone through


def in_files(op: Any) -> slice:
    """Which of an operation's results are in files: the states that a loop keeps there."""
    if not isinstance(op, CheckpointedScan | CheckpointedWhile) or op.checkpoint.disk is None:
        return slice(0, 0)
    first = len(op.body.outputs)
    return slice(first, first + op.carries)


def workspace(op: Any, types: Sequence[ArrayType], kinds: Sequence[ArrayType], turns: int | None = None) -> int:
    """Bytes that an operation on these types needs while it runs, beside its arguments and results.

    `turns` of a loop that goes on as long as a condition holds, where they are known.
    """
    known = primitive_workspace(op, types, kinds)
    if known is not None:
        return known
    if is_algebra(op):
        return algebra_workspace(op, types, kinds)
    if not op.is_control:
        return 0
    if isinstance(op, Call):
        return kernel_memory(build_executable(op.program))
    results = sum(map(size_of, kinds))
    if isinstance(op, CheckpointedReverse):
        return _checkpointed_reverse(op, turns)
    if isinstance(op, Cond):
        return max(max(map(program_peak, op.branches)) - results, 0)
    if isinstance(op, While):  # rows are listed, then stacked
        return max(sum(map(size_of, kinds[op.carries :])), program_peak(op.body))
    if op.is_loop:
        return program_peak(op.body)
    return max(max(map(program_peak, op.programs().values())) - results, 0)


def overhead(op: Any) -> int:
    """Bytes of Python's objects of a program that is written for one call: a loop, or its way back."""
    if not op.is_loop and not isinstance(op, CheckpointedReverse | Cond):
        return 0
    return WRITING + EQUATION * sum(len(program.equations) for program in op.programs().values())


def _checkpointed_reverse(op: CheckpointedReverse, turns: int | None) -> int:
    """States that are not among those that the loop has kept, and a turn backwards or forwards."""
    loop, plan = op.loop, op.loop.checkpoint
    state = sum(map(size_of, loop.body.input_types[loop.constants : loop.constants + loop.carries]))
    back, ahead = program_peak(op.reverse_step), program_peak(op.advancing())
    if plan.disk is not None:
        return state + max(back, ahead + state)
    length = turns if loop.has_condition else loop.length
    if length is None or length > LONGEST:
        return plan.capacity(length or 0) * state + max(back, ahead)
    if loop.has_condition:
        keeper = OnlineCheckpoints(plan.capacity(0))
        for turn in range(length):
            keeper.next(turn)
        places = keeper.places
    else:
        places = plan.stored(length)
    held = len({*places, length - 1})  # the state before the last turn has a row too
    most = fresh = 0
    stack = [False] * held  # which states are new
    for step in plan.reversal(length, places, plan.capacity(length)) if length else ():
        if step.advance:
            most = max(most, fresh * state + ahead + (state if step.advance > 1 else 0))
            stack.append(True)
            fresh += 1
        if step.reversed is not None:
            most = max(most, fresh * state + back)
            fresh -= stack.pop()
    return most


def kernel_memory(made: Executable) -> int:
    """Bytes that a compiled program takes beside arguments and results; its workspace stays for later calls."""
    if made.kernel is None:
        return program_peak(made.program)
    return made.kernel.workspace + callbacks(made)


def callbacks(made: Executable) -> int:
    """Bytes that what machine code leaves to NumPy takes while it runs; the results then go to the workspace."""
    found = [0]
    calls = made.kernel.notes["callbacks"] if made.kernel is not None else ()
    for eq in made.program.equations:
        if (eq.op.title, eq.location) in calls:
            types, kinds = [a.type for a in eq.inputs], [v.type for v in eq.outputs]
            found.append(sum(map(size_of, kinds)) + workspace(eq.op, types, kinds))
    return max(found)


def program_peak(program: Program) -> int:
    """The most bytes that reading a program takes at once, its results among them, its inputs not."""
    cached = program.__dict__.get("_memory_peak")
    if cached is None:
        cached = program.__dict__["_memory_peak"] = _program_peak(program)
    return cached


def _program_peak(program: Program) -> int:
    last = last_uses(program)
    bases: dict[Var, set[Var]] = {}
    holders: Counter[Var] = Counter()
    now = peak = 0
    for position, eq in enumerate(program.equations):
        extra = workspace(eq.op, [a.type for a in eq.inputs], [v.type for v in eq.outputs])
        shared = eq.op.is_view or isinstance(eq.op, GIVEN)
        for v in eq.outputs:
            bases[v] = _bases(eq, bases) if shared else {v}
            now += 0 if shared else size_of(v.type)
            holders.update(bases[v])
        peak = max(peak, now + extra)
        for v in last.get(position, ()):
            for base in bases.pop(v, ()):
                holders[base] -= 1
                now -= 0 if holders[base] else size_of(base.type)
    return peak


def _bases(eq: Equation, bases: dict[Var, set[Var]]) -> set[Var]:
    return set().union(*[bases.get(a, set[Var]()) for a in eq.inputs if isinstance(a, Var)])
