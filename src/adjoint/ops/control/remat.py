"""`Checkpoint`: a program whose intermediate values are dropped, and recomputed in the backward pass.

With a policy (see `adjoint.ops.checkpointing.policies`) some results are kept all the same. What the backward pass
reads is traced back to them and to the inputs; only what stands between is computed again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from adjoint.ops.checkpointing.policies import Mark, Policy
from adjoint.ops.control.base import Control, Flags, Guard, Run, active_series, flat_series, grouped_series, zeros
from adjoint.ops.effects import silent, silent_operation
from adjoint.program.op import primitive
from adjoint.program.program import Equation, Program, Var, interpret
from adjoint.program.types import ArrayType, Value


@primitive
class Checkpoint(Control):
    """program(*xs); reverse mode keeps the xs, and what the policy says."""

    program: Program
    policy: Policy | None = None

    def programs(self) -> dict[str, Program]:
        return {"program": self.program}

    def guarded(self, guard: Guard) -> tuple[Control, int | None]:
        return Checkpoint(guard(self.program), self.policy), None

    def remember(self, xs: Sequence[Value], outputs: Sequence[Value]) -> Checkpoint:
        """The outputs for these very inputs are known already: the next evaluation takes them."""
        object.__setattr__(self, "_known", (tuple(xs), tuple(outputs)))
        return self

    def evaluate(self, *xs: Value) -> Value:
        attributes: Any = self.__dict__
        known = attributes.pop("_known", None)
        if known is not None and all(x is k for x, k in zip(xs, known[0], strict=True)):
            return known[1]
        return tuple(interpret(self.program, xs))

    def unroll(self, xs: Sequence[Value], run: Run) -> list[Value]:
        return run(self.program, xs)

    def result_type(self, *types: ArrayType) -> Any:
        return self.program.output_types

    def jvp(self, xs: Sequence[Value], dxs: Sequence[Value], trace: Any) -> tuple[Sequence[Value], Sequence[Value]]:
        active = tuple(dx is not None for dx in dxs)
        n = len(self.program.outputs)
        derived, flags = trace.programs.jvp(self.program, active, (False,) * n)
        out = Checkpoint(derived, self.policy)(*xs, *[dx for dx in dxs if dx is not None])
        tangents = iter(out[n:])
        return out[:n], [next(tangents) if f else None for f in flags]

    def vmap(self, xs: Sequence[Value], mapped: Sequence[bool], trace: Any) -> Sequence[tuple[Value, bool]]:
        derived, flags = trace.programs.batched(
            self.program, tuple(mapped), trace.size, (False,) * len(self.program.outputs)
        )
        return list(zip(Checkpoint(derived, self.policy)(*xs), flags, strict=True))

    def jet(self, series: Sequence[list[Value]], trace: Any) -> Sequence[list[Value]]:
        active = active_series(series)
        derived, flags = trace.programs.jet(self.program, active, trace.order, (False,) * len(self.program.outputs))
        return grouped_series(Checkpoint(derived, self.policy)(*flat_series(series, active)), flags, trace.order)

    def save(
        self, xs: Sequence[Value], wanted: Sequence[bool], trace: Any
    ) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
        held = tuple(trace.captured.hold(x) for x in xs)
        if self.policy is None:
            return tuple(self(*xs)), (held, trace.programs)
        parts = PolicySplit(self.program, tuple(wanted), self.policy, trace.programs)
        out = Checkpoint(parts.forward, self.policy)(*xs)
        n = len(self.program.outputs)
        return tuple(out[:n]), (held, parts, parts.store(out[n:]))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        if self.policy is not None:
            values, parts, kept = xs
            return parts.pull(values, kept, ct)
        values, programs = xs
        return programs.pulled(silent(self.program), values, wanted, ct)

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        if self.policy is not None:
            values, parts, kept = xs
            return parts.push(values, kept, dxs)
        values, programs = xs
        active = tuple(dx is not None for dx in dxs)
        n = len(self.program.outputs)
        derived, flags = programs.jvp(silent(self.program), active, (False,) * n)
        tangents = iter(interpret(derived, [*values, *[dx for dx in dxs if dx is not None]])[n:])
        return [next(tangents) if f else None for f in flags]


class PolicySplit:
    """A program in two halves, of which the second has what a policy keeps and computes the rest again."""

    def __init__(self, program: Program, wanted: Flags, policy: Policy, programs: Any) -> None:
        self.split = programs.split(program, wanted)
        self.files = policy.files
        whole = self.split.forward
        n = len(program.outputs)
        residuals = [whole.inputs[at] if kind == "input" else whole.outputs[n + at] for kind, at in self.split.sources]
        makers = {v: eq for eq in whole.equations for v in eq.outputs}
        saved: set[Var] = {v for eq in whole.equations if policy.saves(eq) for v in eq.outputs}
        for eq in reversed(whole.equations):  # a value with a name is the one that was given it
            if isinstance(eq.op, Mark) and eq.outputs[0] in saved and isinstance(eq.inputs[0], Var):
                saved.add(eq.inputs[0])
        kept: dict[Var, None] = {}
        again: set[Equation] = set()
        waiting = list(residuals)
        while waiting:
            v = waiting.pop()
            if not isinstance(v, Var) or v not in makers or v in kept or makers[v] in again:
                continue
            source = makers[v]
            if v in saved and not (isinstance(source.op, Mark) and source.inputs[0] in saved):
                kept[v] = None
            else:
                again.add(source)
                waiting += source.inputs
        self.forward = Program(whole.inputs, whole.equations, (*whole.outputs[:n], *kept), whole.constants)
        equations = tuple(dataclasses.replace(eq, op=silent_operation(eq.op)) for eq in whole.equations if eq in again)
        self.rest = Program((*whole.inputs, *kept), equations, tuple(residuals), whole.constants)

    def store(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """What is kept, in memory or in files."""
        if self.files is None:
            return tuple(values)
        return tuple(self.files.store(v) for v in values)

    def pull(self, values: Sequence[Value], kept: Sequence[Value], ct: Sequence[Value]) -> list[Value]:
        """Cotangents of all inputs."""
        split = self.split
        residuals = interpret(self.rest, [*values, *kept])
        pairs = zip(ct, split.output_types, split.active, strict=True)
        seeds = [zeros(t) if c is None else c for c, t, a in pairs if a]
        cotangents = iter(interpret(split.backward(), [*residuals, *seeds]))
        return [next(cotangents) if w else None for w in split.wanted]

    def push(self, values: Sequence[Value], kept: Sequence[Value], dxs: Sequence[Value]) -> list[Value]:
        """Tangents of all outputs."""
        split = self.split
        residuals = interpret(self.rest, [*values, *kept])
        pairs = zip(dxs, split.input_types, split.wanted, strict=True)
        moving = [zeros(t) if d is None else d for d, t, w in pairs if w]
        tangents = iter(interpret(split.push(), [*residuals, *moving]))
        return [next(tangents) if a else None for a in split.active]
