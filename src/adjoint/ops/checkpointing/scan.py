"""Loops that store checkpoints for the backward pass: `CheckpointedScan` and `CheckpointedWhile`.

The results are those of the loop, and then stacks of the carries with one row for each slot and one more: the state
before the last iteration, which is being worked on when the loop ends, is in a row of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.checkpointing.reverse import make_reverse
from adjoint.ops.checkpointing.schedule import OnlineCheckpoints, Plan
from adjoint.ops.control.base import Flags, Run
from adjoint.ops.control.conditional_loop import ConditionalLoop
from adjoint.ops.control.counted_loop import Columns, CountedLoop
from adjoint.ops.effects import silent
from adjoint.program.evaluate import Evaluator, evaluated_by
from adjoint.program.op import primitive
from adjoint.program.program import Program
from adjoint.program.types import ArrayType, Value

WHOLE = np.dtype(np.int64)


class StateStacks:
    """Stacks of states, in memory or in files."""

    def __init__(self, plan: Plan, types: Sequence[ArrayType], count: int) -> None:
        allocate = np.empty if plan.disk is None else plan.disk.allocate
        self.stacks = [allocate((count, *t.shape), t.dtype) for t in types]

    def put(self, row: int, state: Sequence[Value]) -> None:
        for stack, value in zip(self.stacks, state, strict=True):
            stack[row] = value


class CheckpointRecord:
    """What reverse mode keeps of a loop with checkpoints, and how it uses it."""

    def __init__(self, loop: Any, wanted: Flags, programs: Any) -> None:
        self.loop, self.programs = loop.silent(), programs
        self.wanted = wanted[loop.tests :]

    def pull(self, ct: Sequence[Value], xs: Sequence[Value], kept: Sequence[Value]) -> list[Value]:
        """Cotangents of all arguments."""
        loop = self.loop
        outputs = ct[: len(loop.body.outputs)]
        back = make_reverse(loop, self.wanted, tuple(c is not None for c in outputs), self.programs)
        cotangents = back(*kept, *xs, *[c for c, g in zip(outputs, back.seeded, strict=True) if g])
        by_position = dict(zip([i for i, w in enumerate(back.wanted) if w], cotangents, strict=True))
        return [None] * loop.tests + [by_position.get(i) if w else None for i, w in enumerate(self.wanted)]

    def push(self, dxs: Sequence[Value], xs: Sequence[Value], kept: Sequence[Value]) -> list[Value]:
        """Tangents of all results, what was kept among them: the loop runs again."""
        loop, t = self.loop, self.loop.tests
        active = tuple(dx is not None for dx in dxs[t:])
        lifted, active, flags = loop.lift(self.programs, 1, active, (False,) * len(loop.body.outputs))
        results = lifted(*xs[:t], *loop.arrange_arguments(active, 1, xs[t:], {i: [dx] for i, dx in enumerate(dxs[t:])}))
        return [None if d is None else d[0] for d in loop.separate_results(results, flags, 1)[1]]


class CheckpointedLoop:
    """Loops that store checkpoints: reverse mode needs nothing else."""

    unrolls = False  # the states go to buffers

    def unroll(self, xs: Sequence[Value], run: Run) -> list[Value]:
        loop: Any = self
        with evaluated_by(run):
            return list(loop.evaluate(*xs))

    def save(
        self, xs: Sequence[Value], wanted: Sequence[bool], trace: Any
    ) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
        loop: Any = self
        out = loop(*xs)
        return tuple(out), (
            CheckpointRecord(self, tuple(wanted), trace.programs),
            tuple(xs),
            tuple(out[len(loop.body.outputs) :]),
        )

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return xs[0].pull(ct, *xs[1:])

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return xs[0].push(dxs, *xs[1:])


@primitive
class CheckpointedScan(CheckpointedLoop, CountedLoop):
    """A `Scan`; results: last carry, stacked ys, and the stack of each carry."""

    body: Program
    constants: int
    carries: int
    length: int
    reverse: bool
    checkpoint: Plan

    def programs(self) -> dict[str, Program]:
        return {"body": self.body}

    def silent(self) -> Any:
        """The same without effects."""
        return dataclasses.replace(self, body=silent(self.body))

    def __str__(self) -> str:
        direction = ", reverse" if self.reverse else ""
        return f"{self.title}[length={self.length}{direction}, checkpoint={self.checkpoint}]"

    @property
    def title(self) -> str:
        return "checkpointed_scan"

    def evaluate(self, *xs: Value) -> Value:
        constants, carry, arrays = self.split(xs)
        columns = Columns(self.body.output_types[self.carries :], self.length)
        slots = self.checkpoint.capacity(self.length)
        row_of = {position: row for row, position in enumerate(self.checkpoint.stored(self.length))}
        row_of.setdefault(self.length - 1, slots)
        rows = StateStacks(
            self.checkpoint, self.body.input_types[self.constants : self.constants + self.carries], slots + 1
        )
        body = Evaluator(self.body)
        for t in range(self.length):
            if t in row_of:
                rows.put(row_of[t], carry)
            at = self.length - 1 - t if self.reverse else t
            out = body([*constants, *carry, *[a[at] for a in arrays]])
            carry = out[: self.carries]
            columns.put(at, out[self.carries :])
        return (*carry, *columns.finished(), *rows.stacks)

    def result_type(self, *types: ArrayType) -> Any:
        carry = [ArrayType(c.shape, c.dtype) for c in self.split(types)[1]]
        rows = self.checkpoint.capacity(self.length) + 1
        return (
            *carry,
            *[ArrayType((self.length, *t.shape), t.dtype) for t in self.body.output_types[self.carries :]],
            *[ArrayType((rows, *c.shape), c.dtype) for c in carry],
        )


@primitive
class CheckpointedWhile(CheckpointedLoop, ConditionalLoop):
    """A `While`; results: last carry, the stack of each carry, and what is known of the stack.

    These are, in order of time, the iterations of the checkpoints and their rows, how many they are, and the
    number of iterations.
    """

    condition: Program
    body: Program
    condition_constants: int
    body_constants: int
    checkpoint: Plan

    def silent(self) -> Any:
        """The same without effects."""
        return dataclasses.replace(self, condition=silent(self.condition), body=silent(self.body))

    @property
    def title(self) -> str:
        return "checkpointed_while"

    @property
    def slots(self) -> int:
        return self.checkpoint.capacity(0)

    def evaluate(self, *xs: Value) -> Value:
        test, constants, carry = self.parts(xs)
        checkpoints = OnlineCheckpoints(self.slots)
        rows = StateStacks(self.checkpoint, self.body.input_types[self.constants :], self.slots + 1)
        condition, body = Evaluator(self.condition), Evaluator(self.body)
        iterations = 0
        while bool(condition([*test, *carry])[0]):
            rows.put(checkpoints.next(iterations), carry)
            carry = body([*constants, *carry])
            iterations += 1
        count = len(checkpoints.positions)
        free = [row for row in range(self.slots + 1) if row not in checkpoints.rows]
        positions = np.array([*checkpoints.positions, *[0] * len(free)], WHOLE)
        return (
            *carry,
            *rows.stacks,
            positions,
            np.array([*checkpoints.rows, *free], WHOLE),
            np.int64(count),
            np.int64(iterations),
        )

    def result_type(self, *types: ArrayType) -> Any:
        carry = [ArrayType(t.shape, t.dtype) for t in self.parts(types)[2]]
        rows = self.slots + 1
        return (
            *carry,
            *[ArrayType((rows, *c.shape), c.dtype) for c in carry],
            *[ArrayType((rows,), WHOLE), ArrayType((rows,), WHOLE), ArrayType((), WHOLE), ArrayType((), WHOLE)],
        )


def make_checkpointed(loop: Any) -> Any:
    """The loop that stores checkpoints as its plan says."""
    if loop.has_condition:
        values = (loop.condition, loop.body, loop.condition_constants, loop.body_constants, loop.checkpoint)
        return CheckpointedWhile(*values)
    return CheckpointedScan(loop.body, loop.constants, loop.carries, loop.length, loop.reverse, loop.checkpoint)


def save(loop: Any, xs: Sequence[Value], wanted: Flags, trace: Any) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
    """Run a loop with a plan and return (results, residuals)."""
    out, residuals = make_checkpointed(loop).save(xs, wanted, trace)
    return out[: len(loop.body.outputs)], residuals
