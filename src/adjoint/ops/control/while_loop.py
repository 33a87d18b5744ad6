"""`While`: a loop that runs as long as a condition holds.

Reverse mode keeps the residuals of every iteration, however many there are.

The body may give ys, stacked as in a scan; their number of rows is known when the loop has run, so its type has a
symbolic size. Under vmap the batch elements that have finished keep their carry, and their rows of ys are zeros.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.checkpointing import scan
from adjoint.ops.control.base import Flags, Run, stacked
from adjoint.ops.control.batch_elements import block_width, has_loops_over_elements
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.conditional_loop import ConditionalLoop
from adjoint.ops.control.counted_loop import inner
from adjoint.ops.control.scan import Scan, ScanRecord, in_blocks, zero_rows, zeros_beside
from adjoint.program.evaluate import Evaluator
from adjoint.program.op import primitive
from adjoint.program.program import Program, interpret
from adjoint.program.record import record_program
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Size, Value, type_of


@primitive
class While(ConditionalLoop):
    """Results: last carry, then stacked ys."""

    condition: Program
    body: Program
    condition_constants: int
    body_constants: int
    checkpoint: Any = None
    once: bool = False  # as a rule its body runs once: elements of a batch go through it together

    def evaluate(self, *xs: Value) -> Value:
        condition, body = Evaluator(self.condition), Evaluator(self.body)
        return tuple(self.unroll(xs, lambda program, args: (body if program is self.body else condition)(args)))

    def unroll(self, xs: Sequence[Value], run: Run) -> list[Value]:
        test, constants, carry = self.parts(xs)
        rows: list[list[Value]] = []
        while bool(run(self.condition, [*test, *carry])[0]):
            out = run(self.body, [*constants, *carry])
            carry = out[: self.carries]
            rows.append(out[self.carries :])
        types = self.body.output_types[self.carries :]
        return [*carry, *[stacked([r[j] for r in rows], t) for j, t in enumerate(types)]]

    def is_determined(self, xs: Sequence[Value]) -> bool:
        return not any(isinstance(x, Tracer) for x in xs)

    def result_type(self, *types: ArrayType) -> Any:
        carry = [ArrayType(t.shape, t.dtype) for t in self.parts(types)[2]]
        iterations = Size.fresh("iterations")
        return (*carry, *[ArrayType((iterations, *t.shape), t.dtype) for t in self.body.output_types[self.carries :]])

    def vmap(self, xs: Sequence[Value], mapped: Sequence[bool], trace: Any) -> Sequence[tuple[Value, bool]]:
        is_tried = self.once and len(self.body.outputs) == self.carries
        if is_tried and self.stops_by_elements(trace.programs, trace.size, tuple(mapped)):
            return [(z, True) for z in self._first_together(xs, tuple(mapped), trace.programs, trace.size)]
        if has_loops_over_elements() and self.stops_by_elements(trace.programs, trace.size, tuple(mapped)):
            carries = self.body.input_types[self.body_constants :]
            return in_blocks(self, xs, mapped, trace, block_width(self.body, carries, trace.size))
        return super().vmap(xs, mapped, trace)

    def _first_together(self, xs: Sequence[Value], mapped: Flags, programs: Any, size: int) -> list[Value]:
        """The first iteration of all elements, and a loop for the rest only where one of them goes on."""
        every = (True,) * self.carries
        flags = (*mapped[: self.condition_constants + self.body_constants], *every)
        loop = dataclasses.replace(self.batched(programs, size, flags, every)[0], once=False)
        test, constants, carry = loop.parts(self.stack_arguments(loop, xs, mapped, flags, size))
        carry = interpret(loop.body, [*constants, *carry])
        more = interpret(loop.condition, [*test, *carry])[0]
        given = [*test, *constants, *carry]
        kinds = [type_of(x) for x in given]

        def rest(*flat: Value) -> list[Value]:
            return list(loop(*flat))

        def stay(*flat: Value) -> list[Value]:
            return list(flat[len(given) - len(carry) :])

        branches = record_program(stay, kinds)[0], record_program(rest, kinds)[0]
        return list(Cond(branches)(more.astype(np.int64), *given))

    def save(
        self, xs: Sequence[Value], wanted: Sequence[bool], trace: Any
    ) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
        if self.checkpoint is not None:
            return scan.save(self, xs, tuple(wanted), trace)
        record = WhileRecord(self, tuple(wanted), trace)
        out, going, stacked = record.run_forward(xs)
        residuals = record.gather(xs[self.condition_constants :], stacked)
        types = tuple(type_of(x) for x in xs)
        return tuple(out), (record, residuals, going, types, tuple(type_of(z) for z in out))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        if self.checkpoint is not None:
            return xs[0].pull(ct, *xs[1:])
        record, residuals, going, types, out_types = xs
        start = self.condition_constants
        cotangents = record.backward((residuals[0], (*residuals[1], going)), types[start:], out_types, ct)
        return [None] * start + cotangents

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        if self.checkpoint is not None:
            return xs[0].push(dxs, *xs[1:])[: len(self.body.outputs)]
        record, residuals, going, types, _ = xs
        start = self.condition_constants
        return record.push((residuals[0], (*residuals[1], going)), types[start:], dxs[start:])


class WhileRecord(ScanRecord):
    """A while loop read again as a scan over the iterations that it took.

    A flag beside the residuals says which iterations a batch element really took.
    """

    def __init__(self, loop: While, wanted: Flags, trace: Any) -> None:
        self.loop = loop
        super().__init__(
            Scan(loop.body, loop.body_constants, loop.carries, None), wanted[loop.condition_constants :], trace
        )

    def run_forward(self, xs: Sequence[Value]) -> tuple[list[Value], Value, list[Value]]:
        """(outputs, the flag of each iteration, stacked residuals)."""
        loop, n = self.loop, len(self.loop.body.outputs)

        def body(*flat: Value) -> list[Value]:
            return [*interpret(self.split.forward, flat), *[flat[i] for i in self.carried], np.ones((), bool)]

        program, _ = record_program(body, loop.body.input_types)
        out = While(loop.condition, program, loop.condition_constants, loop.body_constants)(*xs)
        return list(out[:n]), out[-1], list(out[n:-1])

    def backward(
        self, residuals: Any, types: Sequence[ArrayType], out_types: Sequence[ArrayType], ct: Sequence[Value]
    ) -> list[Value]:
        """Iterations that a batch element did not take pass its cotangents on unchanged."""
        scan, split, wanted = self.scan, self.split, self.wanted
        a, b = scan.constants, scan.constants + scan.carries
        constant, walked = residuals
        carry_in, const_in = [i for i in range(a, b) if wanted[i]], [i for i in range(a) if wanted[i]]
        ys = [j for j in range(scan.carries, len(out_types)) if split.active[j]]
        at_hand = (*constant, *walked, *ct)
        start = [zeros_beside(at_hand, types[i]) if ct[i - a] is None else ct[i - a] for i in carry_in] + [
            zeros_beside(at_hand, types[i]) for i in const_in
        ]
        ct_ys = [zero_rows(walked[-1], inner(out_types[j])) if ct[j] is None else ct[j] for j in ys]
        k, c, w = len(constant), len(start), len(walked)

        def body(*flat: Value) -> list[Value]:
            carry, walk = flat[k : k + c], flat[k + c : k + c + w]
            going = walk[-1]
            by_position = dict(zip(carry_in, carry, strict=False))
            seeds = [by_position[a + j] for j in range(scan.carries) if split.active[j]] + list(flat[k + c + w :])
            names = [i for i, f in enumerate(wanted) if f]
            cotangents = dict(
                zip(names, interpret(split.backward(), [*self._residuals(flat[:k], walk[:-1]), *seeds]), strict=True)
            )
            new: list[Value] = [np.where(going, cotangents[i], by_position[i]) for i in carry_in]
            sums = [
                s + np.where(going, cotangents[i], np.zeros((), cotangents[i].dtype))
                for s, i in zip(carry[len(carry_in) :], const_in, strict=True)
            ]
            return [*new, *sums]

        kinds = [*map(type_of, constant), *map(type_of, start), *[inner(type_of(x)) for x in (*walked, *ct_ys)]]
        program, _ = record_program(body, kinds)
        out = Scan(program, k, c, None, True)(*constant, *start, *walked, *ct_ys)
        cotangents = dict(zip(carry_in + const_in, out, strict=True))
        return [cotangents.get(i) for i in range(len(wanted))]

    def push(self, residuals: Any, types: Sequence[ArrayType], dxs: Sequence[Value]) -> list[Value]:
        """Iterations that a batch element did not take pass its tangents on unchanged."""
        scan, split, wanted = self.scan, self.split, self.wanted
        a, b = scan.constants, scan.constants + scan.carries
        constant, walked = residuals
        at_hand = (*constant, *walked, *dxs)
        d_const = [zeros_beside(at_hand, types[i]) if dxs[i] is None else dxs[i] for i in range(a) if wanted[i]]
        d_carry = [zeros_beside(at_hand, types[i]) if dxs[i] is None else dxs[i] for i in range(a, b) if wanted[i]]
        k, c = len(constant) + len(d_const), len(d_carry)
        carry_in = [i - a for i in range(a, b) if wanted[i]]

        def body(*flat: Value) -> list[Value]:
            walk, old = flat[k + c :], flat[k : k + c]
            values = self._residuals(flat[: len(constant)], walk[:-1])
            tangents = interpret(split.push(), [*values, *flat[len(constant) : k], *old])
            by_position = dict(zip([j for j, f in enumerate(split.active) if f], tangents, strict=True))
            new = [by_position[j] if j in by_position else np.zeros_like(d) for j, d in zip(carry_in, old, strict=True)]
            return [
                *[np.where(walk[-1], n, o) for n, o in zip(new, old, strict=True)],
                *[by_position[j] for j in by_position if j >= scan.carries],
            ]

        kinds = [*map(type_of, (*constant, *d_const, *d_carry)), *[inner(type_of(x)) for x in walked]]
        program, _ = record_program(body, kinds)
        out = Scan(program, k, c, None)(*constant, *d_const, *d_carry, *walked)
        positions = carry_in + [j for j, f in enumerate(split.active) if f and j >= scan.carries]
        tangents = dict(zip(positions, out, strict=True))
        return [tangents.get(j) for j in range(len(split.active))]
