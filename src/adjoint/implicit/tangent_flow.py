"""Where tangents flow through a program: from inputs that move to outputs whose derivative is asked for.

A solver inside a program computes much that has no part in the derivative: the sizes of its steps, norms that tell when
to stop, reports. An equation takes part if a tangent of a moving input reaches it, and leads on to a wanted output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from adjoint.ops.control.base import Flags
from adjoint.ops.control.call import Call
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.counted_loop import CountedLoop
from adjoint.ops.implicit_solve import ImplicitSolve
from adjoint.ops.linalg.linear_solve import LinearSolve
from adjoint.program.program import Atom, Equation, Program, Var

__all__ = ["flowing_equations", "inner_flows"]


def flowing_equations(program: Program, active: Flags, wanted: Flags) -> Iterator[tuple[int, Flags, Flags]]:
    """The equations that take part: their positions, which inputs move, which outputs are wanted."""
    moving, needed = _moving(program, active), _needed(program, wanted)
    for position, eq in enumerate(program.equations):
        inputs, outputs = _flags(eq.inputs, moving), _flags(eq.outputs, needed)
        if any(inputs) and any(outputs) and not eq.op.flat:
            yield position, inputs, outputs


def inner_flows(op: Any, active: Flags, wanted: Flags) -> list[tuple[Program, Flags, Flags]]:
    """The programs of a primitive that its derivative goes through, with what moves and what is wanted there."""
    if isinstance(op, ImplicitSolve | LinearSolve):
        equation = _equation(op)
        return [(equation, (*active[: op.constants], *[True] * op.unknowns), (True,) * len(equation.outputs))]
    if isinstance(op, CountedLoop):
        return [(op.body, _moving_in_loop(op, active)[0], _wanted_in_loop(op, wanted))]
    if isinstance(op, Cond | Call):
        return [(p, active[len(active) - len(p.inputs) :], wanted) for p in op.programs().values()]
    return [(p, (True,) * len(p.inputs), (True,) * len(p.outputs)) for p in op.programs().values()]


def _equation(op: ImplicitSolve | LinearSolve) -> Program:
    """What a solution fulfills: its derivative is that of this, not that of the solver."""
    return op.residual if isinstance(op, ImplicitSolve) else op.matrix


def _flags(atoms: Sequence[Atom], among: frozenset[Var]) -> Flags:
    return tuple(a in among for a in atoms)


def _chosen(atoms: Sequence[Atom], flags: Sequence[bool]) -> set[Var]:
    """The variables that are flagged and can have tangents."""
    return {a for a, f in zip(atoms, flags, strict=True) if f and isinstance(a, Var) and a.type.dtype.kind in "fc"}


def _moving(program: Program, active: Flags) -> frozenset[Var]:
    """The variables that have tangents."""
    known = program.__dict__.setdefault("_moving", {})
    if active not in known:
        found = _chosen(program.inputs, active)
        for eq in program.equations:
            flags = tuple(a in found for a in eq.inputs)
            if any(flags) and not eq.op.flat:
                found |= _chosen(eq.outputs, _moving_results(eq, flags))
        known[active] = frozenset(found)
    return known[active]


def _moving_results(eq: Equation, active: Flags) -> Flags:
    op: Any = eq.op
    count = len(eq.outputs)
    if isinstance(op, ImplicitSolve | LinearSolve):
        return tuple(i < op.unknowns for i in range(count))
    if isinstance(op, CountedLoop):
        return (*_moving_in_loop(op, active)[1], *[True] * count)[:count]
    if isinstance(op, Cond | Call):
        flows = [(p, _moving(p, a)) for p, a, _ in inner_flows(op, active, (True,) * count)]
        return tuple(map(any, zip(*[_flags(p.outputs, found) for p, found in flows], strict=True)))
    return (True,) * count


def _moving_in_loop(op: CountedLoop, active: Flags) -> tuple[Flags, Flags]:
    """Which inputs and outputs of the body have tangents in some iteration."""

    def make(active: Flags, forced: Flags) -> tuple[Program, Flags]:
        found = _flags(op.body.outputs, _moving(op.body, active))
        return op.body, tuple(a or b for a, b in zip(found, forced, strict=True))

    _, inputs, outputs = op.close_over_carries(active[op.tests :], (False,) * len(op.body.outputs), make)
    return inputs, outputs


def _needed(program: Program, wanted: Flags) -> frozenset[Var]:
    """The variables whose tangents lead to a wanted output."""
    known = program.__dict__.setdefault("_needed", {})
    if wanted not in known:
        found = _chosen(program.outputs, wanted)
        for eq in reversed(program.equations):
            flags = tuple(v in found for v in eq.outputs)
            if any(flags) and not eq.op.flat:
                found |= _chosen(eq.inputs, _needed_arguments(eq, flags))
        known[wanted] = frozenset(found)
    return known[wanted]


def _needed_arguments(eq: Equation, wanted: Flags) -> Flags:
    op: Any = eq.op
    count = len(eq.inputs)
    if isinstance(op, CountedLoop):
        inside = _wanted_in_loop(op, wanted)
        arguments = list(_flags(op.body.inputs, _needed(op.body, inside)))
        for i in range(op.carries):  # without an iteration a start is the result
            arguments[op.constants + i] |= inside[i]
        return (*[False] * op.tests, *arguments)
    if isinstance(op, Cond | Call):
        flows = [(p, _needed(p, w)) for p, _, w in inner_flows(op, (True,) * count, wanted)]
        needed = tuple(map(any, zip(*[_flags(p.inputs, found) for p, found in flows], strict=True)))
        return (*[False] * (count - len(needed)), *needed)
    return (True,) * count


def _wanted_in_loop(op: CountedLoop, wanted: Flags) -> Flags:
    """Which outputs of the body are wanted in some iteration: carries lead on to carries."""
    n, size = op.constants, len(op.body.outputs)
    stacked = any(wanted[size:])  # stacks of the carries follow the results
    flags = (*[w or stacked for w in wanted[: op.carries]], *wanted[op.carries : size])
    while True:
        needed = _flags(op.body.inputs, _needed(op.body, flags))[n : n + op.carries]
        grown = (*[a or b for a, b in zip(flags, needed, strict=False)], *flags[op.carries :])
        if grown == flags:
            return flags
        flags = grown
