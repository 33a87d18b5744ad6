"""`Scan`: a loop with a known number of iterations. carry, yₜ = body(constants, carry, xₜ).

Its derivative is again a scan: forwards with tangents in the carry; backwards over the residuals of each iteration,
with the cotangents of carry and constants in the carry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ControlFlowError
from adjoint.ops.arrays.rearrange import Reshape
from adjoint.ops.checkpointing import invertible, scan
from adjoint.ops.control.base import Flags, Run, zeros
from adjoint.ops.control.batch_elements import has_loops_over_elements, note_blocks, noted_blocks, wide_block
from adjoint.ops.control.counted_loop import Columns, CountedLoop, inner
from adjoint.program.evaluate import Evaluator
from adjoint.program.op import primitive
from adjoint.program.program import Program, interpret
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType, Value, type_of


@primitive
class Scan(CountedLoop):
    """Arguments: constants, initial carry, then arrays whose first axis is walked along.

    Results: last carry, then stacked ys.
    """

    size_fields = ("length",)

    body: Program
    constants: int
    carries: int
    length: Any  # int, or None for the length of the arrays (a loop whose number of iterations was found while running)
    reverse: bool = False
    checkpoint: Any = None

    def programs(self) -> dict[str, Program]:
        return {"body": self.body}

    def __str__(self) -> str:
        kept = f", checkpoint={self.checkpoint}" if self.checkpoint is not None else ""
        return f"scan[length={self.length}{', reverse' if self.reverse else ''}{kept}]"

    def evaluate(self, *xs: Value) -> Value:
        body = Evaluator(self.body)
        return tuple(self.unroll(xs, lambda _, args: body(args)))

    def unroll(self, xs: Sequence[Value], run: Run) -> list[Value]:
        constants, carry, arrays = self.split(xs)
        length = self.length if self.length is not None else len(arrays[0])
        columns = Columns(self.body.output_types[self.carries :], length)
        for t in range(length - 1, -1, -1) if self.reverse else range(length):
            out = run(self.body, [*constants, *carry, *[a[t] for a in arrays]])
            carry = out[: self.carries]
            columns.put(t, out[self.carries :])
        return [*carry, *columns.finished()]

    def is_determined(self, xs: Sequence[Value]) -> bool:
        return isinstance(self.length, int) or isinstance(np.shape(self.split(xs)[2][0])[0], int)

    def result_type(self, *types: ArrayType) -> Any:
        _, carry, arrays = self.split(types)
        length = self.length if self.length is not None else arrays[0].shape[0]
        outs = self.body.output_types
        return (
            *[ArrayType(c.shape, c.dtype) for c in carry],
            *[ArrayType((length, *t.shape), t.dtype) for t in outs[self.carries :]],
        )

    def vmap(self, xs: Sequence[Value], mapped: Sequence[bool], trace: Any) -> Sequence[tuple[Value, bool]]:
        walked = self.constants + self.carries
        stacks = [type_of(x) for x, m in zip(xs[walked:], mapped[walked:], strict=True) if m]
        width = noted_blocks(stacks, trace.batch) if self.length is None else None
        if width is not None:  # they have a number of rows of their own
            return in_blocks(self, xs, mapped, trace, width if trace.size % width == 0 else 1)
        if self.carries and isinstance(self.length, int) and has_loops_over_elements():
            width = wide_block(self.body, trace.size, self.length)
            if width is not None:
                return in_blocks(self, xs, mapped, trace, width)
        return super().vmap(xs, mapped, trace)

    def save(
        self, xs: Sequence[Value], wanted: Sequence[bool], trace: Any
    ) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
        if self.checkpoint is not None:
            keep = invertible.save if isinstance(self.checkpoint, invertible.BodyInverse) else scan.save
            return keep(self, xs, tuple(wanted), trace)
        record = ScanRecord(self, tuple(wanted), trace)
        out, stacked = record.forward(xs)
        residuals = record.gather(xs, stacked)
        return tuple(out), (record, residuals, tuple(type_of(x) for x in xs), tuple(type_of(z) for z in out))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        if self.checkpoint is not None:
            return xs[0].pull(ct, *xs[1:])
        record, residuals, types, out_types = xs
        return record.backward(residuals, types, out_types, ct)

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        if self.checkpoint is not None:
            return xs[0].push(dxs, *xs[1:])[: len(self.body.outputs)]
        record, residuals, types, _ = xs
        return record.push(residuals, types, dxs)


def in_parts(
    branch: Any, xs: Sequence[Value], mapped: Sequence[bool], trace: Any, width: int
) -> Sequence[tuple[Value, bool]]:
    """A branch on blocks of elements of a batch, and on the elements that are left."""
    whole = trace.size - trace.size % width
    if whole in (0, trace.size):
        return in_blocks(branch, xs, mapped, trace, width if whole else max(trace.size, 1))
    first, rest = (
        [x[part] if m else x for x, m in zip(xs, mapped, strict=True)] for part in (np.s_[:whole], np.s_[whole:])
    )
    blocks = in_blocks(branch, first, mapped, trace, width, whole)
    others = branch.together(rest, tuple(mapped), trace.programs, trace.size - whole)
    return [(np.concatenate([z, y]), True) for (z, _), (y, _) in zip(blocks, others, strict=True)]


def in_blocks(
    loop: Any, xs: Sequence[Value], mapped: Sequence[bool], trace: Any, width: int, size: int | None = None
) -> Sequence[tuple[Value, bool]]:
    """A loop or a branch on blocks of elements of a batch: a loop over them, each by itself."""
    total: int = trace.size if size is None else size
    count = total // width
    results = len([*loop.programs().values()][-1].outputs)  # of the body, or of a branch
    order = sorted(range(len(xs)), key=lambda i: mapped[i])
    shared = len(xs) - sum(mapped)

    def body(*flat: Value) -> list[Value]:
        by_position = dict(zip(order, flat, strict=True))
        rows = [by_position[i] for i in range(len(xs))]
        if width == 1:
            return list(loop(*rows))
        if loop.is_loop and loop.has_condition and results == loop.carries:
            return loop.until_one_is_left(rows, tuple(mapped), trace.programs, width)
        return [z for z, _ in loop.together(rows, tuple(mapped), trace.programs, width, (True,) * results)]

    blocks = [xs[i] if width == 1 or not mapped[i] else _in_shape(xs[i], count, width) for i in order]
    kinds = [inner(type_of(x)) if mapped[i] else type_of(x) for i, x in zip(order, blocks, strict=True)]
    program, _ = record_program(body, kinds)
    out = Scan(program, shared, 0, count)(*blocks)
    note_blocks([inner(type_of(z)) for z in out], trace.batch, width)
    return [(z if width == 1 else Reshape((total, *type_of(z).shape[2:]))(z), True) for z in out]


def _in_shape(x: Value, *leading: int) -> Value:
    """An array with its first axis split."""
    return Reshape((*leading, *type_of(x).shape[1:]))(x)


class ScanRecord:
    """How the halves of a differentiated loop fit together: which residuals are constants, which are walked along."""

    def __init__(self, scan: Scan, wanted: Flags, trace: Any) -> None:
        self.scan = scan
        a, b = scan.constants, scan.constants + scan.carries
        while True:  # a carry is differentiated as soon as anything differentiated flows into it
            split = trace.programs.split(scan.body, wanted)
            grown = (
                wanted[:a]
                + tuple(w or o for w, o in zip(wanted[a:b], split.active[: scan.carries], strict=True))
                + wanted[b:]
            )
            if grown == wanted:
                break
            wanted = grown
        self.split, self.wanted = split, wanted
        # residuals that are the carry itself must be stacked, one for each iteration; constants and xs are at hand
        self.carried = [at for kind, at in split.sources if kind == "input" and a <= at < b]

    def forward(self, xs: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        """The loop with its residuals as further ys: (outputs, stacked residuals)."""
        scan, n = self.scan, len(self.scan.body.outputs)

        def body(*flat: Value) -> list[Value]:
            return [*interpret(self.split.forward, flat), *[flat[i] for i in self.carried]]

        program, _ = record_program(body, scan.body.input_types)
        out = Scan(program, scan.constants, scan.carries, scan.length, scan.reverse)(*xs)
        return list(out[:n]), list(out[n:])

    def gather(self, xs: Sequence[Value], stacked: Sequence[Value]) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
        """(constant residuals, walked residuals), in the order of the split's sources."""
        scan = self.scan
        a, b = scan.constants, scan.constants + scan.carries
        constant: list[Value] = []
        walked: list[Value] = []
        for kind, at in self.split.sources:
            if kind == "output":
                walked.append(stacked[at])
            elif a <= at < b:
                walked.append(stacked[self.split.extra + self.carried.index(at)])
            else:
                (constant if at < a else walked).append(xs[at])
        if scan.length is None and not walked:  # the arrays alone say how often the loop runs
            walked += xs[b : b + 1]
        return tuple(constant), tuple(walked)

    def _residuals(self, constant: Sequence[Value], walked: Sequence[Value]) -> list[Value]:
        """The residuals of one iteration, in the order of the split's sources."""
        first, second = iter(constant), iter(walked)
        return [
            next(first) if kind == "input" and at < self.scan.constants else next(second)
            for kind, at in self.split.sources
        ]

    def backward(
        self, residuals: Any, types: Sequence[ArrayType], out_types: Sequence[ArrayType], ct: Sequence[Value]
    ) -> list[Value]:
        """Cotangents of all arguments: a scan the other way round."""
        scan, split, wanted = self.scan, self.split, self.wanted
        a, b = scan.constants, scan.constants + scan.carries
        constant, walked = residuals
        carry_in = [i for i in range(a, b) if wanted[i]]
        const_in = [i for i in range(a) if wanted[i]]
        ys = [j for j in range(scan.carries, len(out_types)) if split.active[j]]
        at_hand = (*constant, *walked, *ct)
        start = [zeros_beside(at_hand, types[i]) if ct[i - a] is None else ct[i - a] for i in carry_in] + [
            zeros_beside(at_hand, types[i]) for i in const_in
        ]
        ct_ys = [zeros_beside(at_hand, out_types[j]) if ct[j] is None else ct[j] for j in ys]
        k, c, w = len(constant), len(start), len(walked)

        def body(*flat: Value) -> list[Value]:
            carry, walk = flat[k : k + c], flat[k + c : k + c + w]
            by_position = dict(zip(carry_in, carry, strict=False))
            seeds = [by_position[a + j] for j in range(scan.carries) if split.active[j]] + list(flat[k + c + w :])
            cotangents = dict(
                zip(
                    [i for i, f in enumerate(wanted) if f],
                    interpret(split.backward(), [*self._residuals(flat[:k], walk), *seeds]),
                    strict=True,
                )
            )
            new = [cotangents[i] for i in carry_in]
            sums = [s + cotangents[i] for s, i in zip(carry[len(carry_in) :], const_in, strict=True)]
            return [*new, *sums, *[cotangents[i] for i in range(b, len(wanted)) if wanted[i]]]

        kinds = [*map(type_of, constant), *map(type_of, start), *[inner(type_of(x)) for x in (*walked, *ct_ys)]]
        program, _ = record_program(body, kinds)
        out = list(Scan(program, k, c, scan.length, not scan.reverse)(*constant, *start, *walked, *ct_ys))
        order = carry_in + const_in + [i for i in range(b, len(wanted)) if wanted[i]]
        cotangents = dict(zip(order, out, strict=True))
        return [cotangents.get(i) for i in range(len(wanted))]

    def push(self, residuals: Any, types: Sequence[ArrayType], dxs: Sequence[Value]) -> list[Value]:
        """Tangents of all outputs: a scan the same way round."""
        scan, split, wanted = self.scan, self.split, self.wanted
        a, b = scan.constants, scan.constants + scan.carries
        constant, walked = residuals
        at_hand = (*constant, *walked, *dxs)
        moving = [zeros_beside(at_hand, types[i]) if dxs[i] is None else dxs[i] for i, f in enumerate(wanted) if f]
        d_const, d_carry = moving[: sum(wanted[:a])], moving[sum(wanted[:a]) : sum(wanted[:b])]
        d_xs = moving[sum(wanted[:b]) :]
        k, c, w = len(constant) + len(d_const), len(d_carry), len(walked)
        carry_in = [i - a for i in range(a, b) if wanted[i]]

        def body(*flat: Value) -> list[Value]:
            walk = flat[k + c : k + c + w]
            values = self._residuals(flat[: len(constant)], walk)
            tangents = interpret(
                split.push(), [*values, *flat[len(constant) : k], *flat[k : k + c], *flat[k + c + w :]]
            )
            by_position = dict(zip([j for j, f in enumerate(split.active) if f], tangents, strict=True))
            carry = [
                by_position[j] if j in by_position else np.zeros_like(d)
                for j, d in zip(carry_in, flat[k : k + c], strict=True)
            ]
            return [*carry, *[by_position[j] for j in range(scan.carries, len(split.active)) if split.active[j]]]

        kinds = [*map(type_of, (*constant, *d_const, *d_carry)), *[inner(type_of(x)) for x in (*walked, *d_xs)]]
        program, _ = record_program(body, kinds)
        out = list(Scan(program, k, c, scan.length, scan.reverse)(*constant, *d_const, *d_carry, *walked, *d_xs))
        positions = carry_in + [j for j in range(scan.carries, len(split.active)) if split.active[j]]
        tangents = dict(zip(positions, out, strict=True))
        return [tangents.get(j) for j in range(len(split.active))]


def zeros_beside(others: Sequence[Value], kind: ArrayType) -> Value:
    """The zero of a type; a size that is not known yet (how often a loop runs) is that of another value."""
    unknown = [axis for axis, n in enumerate(kind.shape) if not isinstance(n, int)]
    if not unknown:
        return zeros(kind)
    axis, size = unknown[0], kind.shape[unknown[0]]
    rows = next((x for x in others if x is not None and size in type_of(x).shape), None)
    if rows is None:
        raise ControlFlowError(
            f"a zero of type {kind} is needed, where {size} is known only when a while loop has run. Take fori_loop or "
            "scan, whose number of iterations is fixed."
        )
    rows = np.moveaxis(rows, type_of(rows).shape.index(size), 0)
    row = ArrayType((*kind.shape[:axis], *kind.shape[axis + 1 :]), kind.dtype)
    if len(unknown) == 1:
        return np.moveaxis(zero_rows(rows, row), 0, axis)
    zero = zeros_beside(others, row)

    def body(value: Value, _: Value) -> list[Value]:
        return [value]

    program, _ = record_program(body, [type_of(zero), inner(type_of(rows))])
    return np.moveaxis(Scan(program, 1, 0, None)(zero, rows)[0], 0, axis)


def zero_rows(others: Value, kind: ArrayType) -> Value:
    """The zero of a type once for each row of another value."""

    def body(_: Value) -> list[Value]:
        return [np.zeros(kind.shape, kind.dtype)]

    program, _ = record_program(body, [inner(type_of(others))])
    return Scan(program, 0, 0, None)(others)[0]
