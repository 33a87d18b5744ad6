"""What loops over a body have in common: how a transformation of the body becomes one of the loop.

carry, yₜ = body(constants, carry, xₜ). The arguments are constants, initial carry, arrays that are walked along; the
results last carry and stacked ys. A derived loop (tangents, Taylor coefficients) has the derivatives of each group of
arguments and results right behind the group.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.ops.control.base import Control, Derive, Flags, Guard, active_series, rearranged, stacked, zeros
from adjoint.ops.control.batch_elements import inherit_notes
from adjoint.program.program import Program
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value, type_of

Higher = Mapping[int, Sequence[Value]]  # derivatives of arguments, by position


class CountedLoop(Control):
    """A loop over a body. Results beyond carry and ys are stacks of the carries: states that the loop has kept."""

    body: Program
    constants: int
    carries: int
    length: Any  # int, or None for the length of the arrays (a loop whose number of iterations was found while running)
    reverse: bool
    checkpoint: Any  # what reverse mode keeps (see `adjoint.ops.checkpointing.schedule`); None: all residuals

    def guarded(self, guard: Guard) -> tuple[Control, int | None]:
        body = guard(self.body)
        n = len(body.inputs) - 1
        body = rearranged(body, [n, *range(n)], range(len(body.outputs)))
        return self.with_body(body, self.constants + 1, self.carries), 0

    is_loop = True
    has_condition = False

    @property
    def tests(self) -> int:
        """How many arguments, before all others, only a condition reads."""
        return 0

    def with_body(self, body: Program, constants: int, carries: int) -> Any:
        """The same kind of loop over another body; carries that are new stand behind the others."""
        return _replaced(self, body=body, constants=constants, carries=carries)

    def split(self, values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Constants, carry and arrays of a list of arguments."""
        a, b = self.constants, self.constants + self.carries
        return list(values[:a]), list(values[a:b]), list(values[b:])

    def close_over_carries(self, active: Flags, forced: Flags, make: Derive) -> tuple[Program, Flags, Flags]:
        """Grow the active carries until the loop maps active to active: (body, active inputs, active outputs)."""
        a, b = self.constants, self.constants + self.carries
        forced = tuple(map(any, zip(active[a:b], forced[: self.carries], strict=True))) + forced[self.carries :]
        while True:
            derived, flags = make(active, forced)
            if flags[: self.carries] == active[a:b]:
                return derived, active, flags
            active = active[:a] + flags[: self.carries] + active[b:]
            forced = flags[: self.carries] + forced[self.carries :]

    def lift(self, programs: Any, order: int, active: Flags, forced: Flags) -> tuple[Any, Flags, Flags]:
        """The loop that also computes derivatives up to an order; which arguments and results have some."""

        def make(a: Flags, f: Flags) -> tuple[Program, Flags]:
            return programs.jvp(self.body, a, f) if order == 1 else programs.jet(self.body, a, order, f)

        body, active, flags = self.close_over_carries(active, forced, make)
        constants = self.constants + order * sum(active[: self.constants])
        carries = self.carries + order * sum(flags[: self.carries])
        loop = self.with_body(self._interleave(body, active, flags, order), constants, carries)
        if hasattr(self.checkpoint, "lift"):  # an inverse goes with the body
            loop = _replaced(loop, checkpoint=self.checkpoint.lift(self, programs, order, active, flags))
        return loop, active, flags

    def arrange_arguments(self, active: Flags, order: int, values: Sequence[Value], higher: Higher) -> list[Value]:
        """The arguments of a lifted loop; derivatives that are missing are zeros."""
        out: list[Value] = []
        for positions in self.split(range(len(active))):
            out += [values[i] for i in positions]
            for i in positions:
                if active[i]:
                    own = higher.get(i, ())
                    out += [zeros(values[i]) if k >= len(own) or own[k] is None else own[k] for k in range(order)]
        return out

    def positions_of(self, flags: Flags, order: int, groups: Sequence[int]) -> tuple[list[int], dict[int, list[int]]]:
        """Where values and derivatives stand when each group (sizes given) is followed by its derivatives."""
        at, start = 0, 0
        values: list[int] = []
        higher: dict[int, list[int]] = {}
        for size in groups:
            values += range(at, at + size)
            at += size
            for i in range(start, start + size):
                if flags[i]:
                    higher[i] = list(range(at, at + order))
                    at += order
            start += size
        return values, higher

    def _interleave(self, derived: Program, active: Flags, flags: Flags, order: int) -> Program:
        """The derived body with each group's derivatives right behind the group."""
        a, k = self.constants, self.carries
        groups = ((active, [a, k, len(active) - a - k]), (flags, [k, len(flags) - k]))
        orders: list[list[int]] = []
        for group_flags, sizes in groups:
            values, higher = self.positions_of(group_flags, order, sizes)
            order_of = [0] * (len(group_flags) + order * sum(group_flags))
            for i, position in enumerate(values):
                order_of[position] = i
            for number, i in enumerate(sorted(higher)):
                for j, position in enumerate(higher[i]):
                    order_of[position] = len(group_flags) + number * order + j
            orders.append(order_of)
        return rearranged(derived, *orders)

    def separate_results(self, flat: Sequence[Value], flags: Flags, order: int) -> tuple[list[Value], list[Any]]:
        """Values and derivatives (None: zero) of the results of a lifted loop."""
        k = self.carries
        groups, width = [k, len(flags) - k], len(flags) + order * sum(flags)
        if len(flat) > width:  # stacks of the carries follow, and numbers that have no derivative
            rest = len(flat) - width - k - order * sum(flags[:k])
            flags, groups = flags + flags[:k] + (False,) * rest, [*groups, k, rest]
        values, higher = self.positions_of(flags, order, groups)
        derivatives = [[flat[p] for p in higher[i]] if i in higher else None for i in range(len(flags))]
        return [flat[i] for i in values], derivatives

    def jvp(self, xs: Sequence[Value], dxs: Sequence[Value], trace: Any) -> tuple[Sequence[Value], Sequence[Value]]:
        t = self.tests
        active = tuple(dx is not None for dx in dxs[t:])
        loop, active, flags = self.lift(trace.programs, 1, active, (False,) * len(self.body.outputs))
        results = loop(*xs[:t], *self.arrange_arguments(active, 1, xs[t:], {i: [dx] for i, dx in enumerate(dxs[t:])}))
        values, tangents = self.separate_results(results, flags, 1)
        self._inherit_notes(values)
        return values, [None if d is None else d[0] for d in tangents]

    def jet(self, series: Sequence[list[Value]], trace: Any) -> Sequence[list[Value]]:
        order, t = trace.order, self.tests
        active = active_series(series[t:])
        loop, active, flags = self.lift(trace.programs, order, active, (False,) * len(self.body.outputs))
        first = [s[0] for s in series]
        higher = {i: s[1:] for i, s in enumerate(series[t:])}
        values, derivatives = self.separate_results(
            loop(*first[:t], *self.arrange_arguments(active, order, first[t:], higher)), flags, order
        )
        self._inherit_notes(values)
        return [[v, *([None] * order if h is None else h)] for v, h in zip(values, derivatives, strict=True)]

    def _inherit_notes(self, values: Sequence[Value]) -> None:
        """What is known of sizes in the rows of this loop is so of those in the rows of a lifted one."""
        k = self.carries
        rows = self.body.output_types[k:]
        inherit_notes(rows, [inner(type_of(v)) for v in values[k : k + len(rows)]])

    def batched(self, programs: Any, size: int, mapped: Flags, forced: Flags) -> tuple[Any, Flags, Flags]:
        """The loop over the whole batch at once; which arguments and results are stacked."""
        body, mapped, flags = self.close_over_carries(
            mapped, forced, lambda m, f: programs.batched(self.body, m, size, f)
        )
        loop = self.with_body(body, self.constants, self.carries)
        if hasattr(self.checkpoint, "batched"):
            loop = _replaced(loop, checkpoint=self.checkpoint.batched(self, programs, size, mapped, flags))
        return loop, mapped, flags

    def stack_arguments(
        self, loop: CountedLoop, xs: Sequence[Value], mapped: Flags, wanted: Flags, size: int
    ) -> list[Value]:
        """The arguments of a batched loop: the batch axis stands behind the one that is scanned."""
        t = self.tests
        walked = t + self.constants + self.carries
        out = [
            with_batch_axis(x, m, w, size, 1 if i >= walked else 0)
            for i, (x, m, w) in enumerate(zip(xs, mapped, wanted, strict=True))
        ]
        return out[:t] + out[: loop.constants - self.constants] + out[t:]

    def vmap(self, xs: Sequence[Value], mapped: Sequence[bool], trace: Any) -> Sequence[tuple[Value, bool]]:
        return self.together(xs, tuple(mapped), trace.programs, trace.size, (False,) * len(self.body.outputs))

    def together(
        self, xs: Sequence[Value], mapped: Flags, programs: Any, size: int, forced: Flags
    ) -> Sequence[tuple[Value, bool]]:
        """All elements of a batch through the loop at once; which results are stacked, `forced` ones in any case."""
        loop, wanted, flags = self.batched(programs, size, mapped, forced)
        out = loop(*self.stack_arguments(loop, xs, mapped, wanted, size))
        inherit_notes(self.body.output_types, loop.body.output_types)
        if len(out) > len(flags):
            flags += flags[: self.carries]
            flags += (False,) * (len(out) - len(flags))
        return [
            (np.moveaxis(z, 1, 0) if f and i >= self.carries else z, f)
            for i, (z, f) in enumerate(zip(out, flags, strict=True))
        ]


class Columns:
    """Stacks of ys, filled row by row in any order."""

    def __init__(self, types: Sequence[ArrayType], length: int) -> None:
        self.types, self.length = types, length
        self.columns: list[Any] = [None if all(isinstance(n, int) for n in t.shape) else {} for t in types]

    def put(self, row: int, ys: Sequence[Value]) -> None:
        columns = self.columns
        for j, y in enumerate(ys):
            if columns[j] is None:
                columns[j] = {} if isinstance(y, Tracer) else np.empty((self.length, *np.shape(y)), type_of(y).dtype)
            elif isinstance(y, Tracer) and type(columns[j]) is not dict:  # rows that were put before were plain
                columns[j] = {t: columns[j][t] for t in range(self.length)}
            columns[j][row] = y

    def finished(self) -> list[Value]:
        return [
            np.empty((0, *kind.shape), kind.dtype)
            if c is None
            else (stacked([c[t] for t in range(self.length)], kind) if type(c) is dict else c)
            for c, kind in zip(self.columns, self.types, strict=True)
        ]


def _replaced(loop: Any, **changes: Any) -> Any:
    return dataclasses.replace(loop, **changes)


def with_batch_axis(x: Value, mapped: bool, wanted: bool, size: int, position: int) -> Value:
    """A value with its batch axis at `position`, if it is to have one."""
    if not wanted:
        return x
    if not mapped:
        x = np.broadcast_to(x if hasattr(x, "shape") else np.asarray(x), (size, *np.shape(x)))
    return np.moveaxis(x, 0, position) if position else x


def inner(kind: ArrayType) -> ArrayType:
    """The type of one element along the first axis."""
    return ArrayType(kind.shape[1:], kind.dtype)


def row_types(values: Sequence[Value]) -> list[ArrayType]:
    """The types of the rows of arrays."""
    return [inner(type_of(x)) for x in values]
