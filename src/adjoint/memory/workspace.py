"""What operations take while they run: the workspace of primitives and of control flow, and the peak of a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.compile.code import NUMPYS_LOOP
from adjoint.jit.executable import Executable
from adjoint.jit.pipeline import build_executable
from adjoint.memory.sizes import EQUATION, WRITING
from adjoint.ops.checkpointing.reverse import CheckpointedReverse
from adjoint.ops.checkpointing.scan import CheckpointedScan, CheckpointedWhile
from adjoint.ops.checkpointing.schedule import OnlineCheckpoints
from adjoint.ops.control.base import Control
from adjoint.ops.control.call import Call
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.counted_loop import CountedLoop
from adjoint.ops.control.while_loop import While
from adjoint.ops.signal.fourier import Fourier, FromHalfSpectrum, HalfSpectrum
from adjoint.program.op import Op
from adjoint.program.program import Equation, Program, Var, last_uses
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType

LONGEST = 100_000  # iterations of a loop whose backward pass is gone through
Types = Sequence[ArrayType]
# (primitive, types of its arguments and results, iterations where a condition decides them and they are known) → bytes
WORKSPACE: RuleTable[Callable[[Any, Types, Types, int | None], int]] = RuleTable("memory_report")
# Which results are in files: the states that a loop keeps there.
IN_FILES: RuleTable[Callable[[Any], range]] = RuleTable("memory_report")
# Bytes of Python objects of a program that is written for one call: a loop, or its backward pass.
OVERHEAD: RuleTable[Callable[[Any], int]] = RuleTable("memory_report")


def workspace(op: Op, types: Types, results: Types, iterations: int | None = None) -> int:
    """Bytes that an operation on these types needs while it runs, beside its arguments and results.

    `iterations` of a loop that goes on as long as a condition holds, where they are known.
    """
    return WORKSPACE[op](op, types, results, iterations)


@WORKSPACE.rule(Op)
def _state_sizes(op: Op, types: Types, results: Types, iterations: int | None) -> int:
    return int(op.workspace(types, results))


@WORKSPACE.rule(Control)
def _inside(op: Control, types: Types, results: Types, iterations: int | None) -> int:
    """The largest program inside, which makes the results."""
    return max(max(map(program_peak, op.programs().values())) - sum(t.nbytes for t in results), 0)


@WORKSPACE.rule(Call)
def _call(op: Call, types: Types, results: Types, iterations: int | None) -> int:
    return kernel_memory(build_executable(op.program))


@WORKSPACE.rule(CountedLoop)
def _loop(op: CountedLoop, types: Types, results: Types, iterations: int | None) -> int:
    return program_peak(op.body)


@WORKSPACE.rule(While)
def _while(op: While, types: Types, results: Types, iterations: int | None) -> int:
    """Rows are listed, then stacked."""
    return max(sum(t.nbytes for t in results[op.carries :]), program_peak(op.body))


@IN_FILES.rule(Op)
def _none_in_files(op: Op) -> range:
    return range(0)


@IN_FILES.rule(CheckpointedScan, CheckpointedWhile)
def _states_in_files(op: CheckpointedScan | CheckpointedWhile) -> range:
    first = len(op.body.outputs)
    return range(0) if op.checkpoint.disk is None else range(first, first + op.carries)


@OVERHEAD.rule(Op)
def _no_overhead(op: Op) -> int:
    return 0


@OVERHEAD.rule(CountedLoop, CheckpointedReverse, Cond)
def _program_objects(op: Control) -> int:
    return WRITING + EQUATION * sum(len(program.equations) for program in op.programs().values())


@WORKSPACE.rule(CheckpointedReverse)
def _reverse(op: CheckpointedReverse, types: Types, results: Types, iterations: int | None) -> int:
    """States that are not among those that the loop has kept, and an iteration backwards or forwards."""
    loop, plan = op.loop, op.loop.checkpoint
    state = sum(t.nbytes for t in loop.body.input_types[loop.constants : loop.constants + loop.carries])
    back, ahead = program_peak(op.reverse_step), program_peak(op.advancing())
    if plan.disk is not None:
        return state + max(back, ahead + state)
    length = iterations if loop.has_condition else loop.length
    if length is None or length > LONGEST:
        return plan.capacity(length or 0) * state + max(back, ahead)
    if loop.has_condition:
        keeper = OnlineCheckpoints(plan.capacity(0))
        for iteration in range(length):
            keeper.next(iteration)
        checkpoints = keeper.positions
    else:
        checkpoints = plan.stored(length)
    held = len({*checkpoints, length - 1})  # the state before the last iteration has a row too
    most = fresh = 0
    stack = [False] * held  # which states are new
    for step in plan.reversal(length, checkpoints, plan.capacity(length)) if length else ():
        if step.advance:
            most = max(most, fresh * state + ahead + (state if step.advance > 1 else 0))
            stack.append(True)
            fresh += 1
        if step.reversed is not None:
            most = max(most, fresh * state + back)
            fresh -= stack.pop()
    return most


def kernel_memory(compiled: Executable) -> int:
    """Bytes that a compiled program takes beside arguments and results; its workspace stays for later calls."""
    if compiled.kernel is None:
        return program_peak(compiled.program)
    return compiled.kernel.workspace + callbacks(compiled)


def callbacks(compiled: Executable) -> int:
    """Bytes that what machine code leaves to NumPy takes while it runs; the results then go to the workspace."""
    most = 0
    notes = compiled.kernel.notes if compiled.kernel is not None else {}
    calls = notes.get("callbacks", ())
    transforms_by_numpy = any(NUMPYS_LOOP in step for step in notes.get("steps", ()))
    for eq in compiled.program.equations:
        if (eq.op.title, eq.location) in calls:
            types, results = [a.type for a in eq.inputs], [v.type for v in eq.outputs]
            most = max(most, sum(t.nbytes for t in results) + workspace(eq.op, types, results))
        elif transforms_by_numpy and isinstance(
            eq.op, _TRANSFORMS
        ):  # in machine code they take what they take in NumPy
            most = max(most, workspace(eq.op, [a.type for a in eq.inputs], [v.type for v in eq.outputs]))
    return most


_TRANSFORMS = (Fourier, HalfSpectrum, FromHalfSpectrum)


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
        shared = eq.op.is_view or eq.op.returns_arguments
        for v in eq.outputs:
            bases[v] = _bases(eq, bases) if shared else {v}
            now += 0 if shared else v.type.nbytes
            holders.update(bases[v])
        peak = max(peak, now + extra)
        for v in last.get(position, ()):
            for base in bases.pop(v, ()):
                holders[base] -= 1
                now -= 0 if holders[base] else base.type.nbytes
    return peak


def _bases(eq: Equation, bases: dict[Var, set[Var]]) -> set[Var]:
    return set().union(*[bases.get(a, set[Var]()) for a in eq.inputs if isinstance(a, Var)])
