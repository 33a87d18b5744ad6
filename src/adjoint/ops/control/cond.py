"""`Cond`: one of several programs, chosen by an index.

Under vmap with an index that differs between batch elements, each branch runs on its own elements; while a program is
recorded, all branches run on all of them, and the results are selected (where a branch may raise, an element that takes
it stands in for those that do not). Where it becomes machine code, elements go in blocks if a branch is long, and a
block leaves out the branches that none of its elements takes; if a branch is dear, one element after the other takes
its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import CheckError
from adjoint.ops.checkpointing.unwritten import undefined
from adjoint.ops.control.base import (
    Control,
    Flags,
    Guard,
    Run,
    active_series,
    flat_series,
    grouped_series,
    zeros,
)
from adjoint.ops.control.batch_elements import (
    WIDEST,
    guard_indices,
    has_loops_over_elements,
    is_dear,
    is_fragile,
    is_long,
    needs_indices,
    spreads_nan,
    stand_in,
)
from adjoint.ops.control.scan import in_blocks, in_parts
from adjoint.ops.effects import guarded, has_effects
from adjoint.program.layout import is_sized
from adjoint.program.op import primitive
from adjoint.program.program import Program, interpret
from adjoint.program.record import record_program
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value, type_of


@primitive
class Cond(Control):
    """branches[i](*operands): the arguments are the index i, then the operands. All branches have the same types."""

    branches: tuple[Program, ...]

    def programs(self) -> dict[str, Program]:
        return {f"branch {i}": p for i, p in enumerate(self.branches)}

    def guarded(self, guard: Guard) -> tuple[Control, int | None]:
        return Cond(tuple(map(guard, self.branches))), None

    def chosen(self, index: Value) -> int:
        """The number of the branch that is taken."""
        return min(max(int(index), 0), len(self.branches) - 1)

    def evaluate(self, *xs: Value) -> Value:
        return tuple(self.unroll(xs, interpret))

    def unroll(self, xs: Sequence[Value], run: Run) -> list[Value]:
        return run(self.branches[self.chosen(xs[0])], xs[1:])

    def is_determined(self, xs: Sequence[Value]) -> bool:
        return not isinstance(xs[0], Tracer)

    def result_type(self, *types: ArrayType) -> Any:
        return self.branches[0].output_types

    def jvp(self, xs: Sequence[Value], dxs: Sequence[Value], trace: Any) -> tuple[Sequence[Value], Sequence[Value]]:
        active = tuple(dx is not None for dx in dxs[1:])
        forced = (False,) * len(self.branches[0].outputs)
        derived: list[tuple[Program, Flags]] = []
        for _ in range(2):  # first see which tangents any branch has, then give them to all
            derived = [trace.programs.jvp(p, active, forced) for p in self.branches]
            forced = tuple(map(any, zip(*[flags for _, flags in derived], strict=True)))
        flat = Cond(tuple(p for p, _ in derived))(*xs, *[dx for dx in dxs[1:] if dx is not None])
        n = len(forced)
        higher = iter(flat[n:])
        return flat[:n], [next(higher) if f else None for f in forced]

    def vmap(self, xs: Sequence[Value], mapped: Sequence[bool], trace: Any) -> Sequence[tuple[Value, bool]]:
        index, *operands = xs
        outputs = len(self.branches[0].outputs)
        if mapped[0] and has_loops_over_elements() and not any(map(has_effects, self.branches)):
            if any(map(is_dear, self.branches)):
                return in_blocks(self, xs, mapped, trace, 1)
            if any(map(is_long, self.branches)) and all(is_sized(type_of(x)) for x in operands):
                return in_parts(self, xs, mapped, trace, WIDEST)
        if mapped[0] and not isinstance(index, Tracer):
            return [(z, True) for z in self._by_groups(index, operands, tuple(mapped[1:]), trace)]
        if mapped[0]:
            return self.together(xs, tuple(mapped), trace.programs, trace.size)
        forced = (False,) * outputs
        derived: list[tuple[Program, Flags]] = []
        for _ in range(2):
            derived = [trace.programs.batched(p, tuple(mapped[1:]), trace.size, forced) for p in self.branches]
            forced = tuple(map(any, zip(*[flags for _, flags in derived], strict=True)))
        return list(zip(Cond(tuple(p for p, _ in derived))(*xs), forced, strict=True))

    def _by_groups(self, index: Value, operands: list[Value], mapped: Flags, trace: Any) -> list[Value]:
        """Each branch runs on its own batch elements alone; then these are put back in order."""
        if not trace.size:
            return [np.zeros((0, *t.shape), t.dtype) for t in self.branches[0].output_types]
        which = np.clip(index, 0, len(self.branches) - 1)
        groups = [np.flatnonzero(which == i) for i in range(len(self.branches))]
        parts: list[list[Value]] = []
        for program, members in zip(self.branches, groups, strict=True):
            if len(members):
                forced = (True,) * len(program.outputs)
                derived, _ = trace.programs.batched(program, mapped, len(members), forced)
                try:
                    parts.append(
                        interpret(
                            derived,
                            [np.take(x, members, axis=0) if m else x for x, m in zip(operands, mapped, strict=True)],
                        )
                    )
                except CheckError as problem:
                    raise problem.among(members.tolist()) from None
        order = np.argsort(np.concatenate(groups), kind="stable")
        return [np.take(np.concatenate(column, axis=0), order, axis=0) for column in zip(*parts, strict=True)]

    def together(
        self, xs: Sequence[Value], mapped: Flags, programs: Any, size: int, forced: Flags = ()
    ) -> Sequence[tuple[Value, bool]]:
        """The results of all branches on a whole batch are selected, so nothing leaks from branches not taken.

        A long one runs only if an element takes it.
        """
        index, *operands = xs
        stacked = (True,) * len(self.branches[0].outputs)
        results: list[list[Value]] = []
        for i, p in enumerate(self.branches):
            mine, flags, values = p, mapped[1:], operands
            watched, indexed = has_effects(p), needs_indices(p)
            if watched or indexed:
                last = len(self.branches) - 1
                taken = np.equal(np.clip(index, 0, last), i)
                mine = guarded(p) if watched else guard_indices(p)
                flags, values = (*flags, True), [*operands, taken]
            with np.errstate(all="ignore"):  # batch elements of the other branches warn of nothing
                derived = programs.batched(mine, flags, size, stacked)[0]
                fragile = (is_fragile(p) and (watched or not indexed)) or spreads_nan(p)
                if (fragile or (is_long(p) and not watched)) and all(map(is_sized, derived.output_types)):
                    own = (*mapped[1:], False) if mine is not p else mapped[1:]  # the flag is each element's own
                    results.append(self._where_taken(index, i, derived, values, own if fragile else ()))
                else:
                    results.append(interpret(derived, values))
        out: list[Value] = list(results[-1])
        for i in reversed(range(len(results) - 1)):
            chosen = np.less_equal(index, i)
            out = [
                np.where(np.reshape(chosen, chosen.shape + (1,) * (np.ndim(a) - 1)), a, b)
                for a, b in zip(results[i], out, strict=True)
            ]
        return [(z, True) for z in out]

    def _where_taken(self, index: Value, i: int, branch: Program, values: list[Value], mapped: Flags) -> list[Value]:
        """The results of a branch if it is taken, else anything; an element that takes it stands in for mapped ones."""

        def run(taken: Value, *args: Value) -> list[Value]:
            return interpret(branch, stand_in(taken, args, mapped) if mapped else args)

        def leave_out(*args: Value) -> list[Value]:
            return [undefined(t, args, zeros) for t in branch.output_types]

        taken = np.equal(np.clip(index, 0, len(self.branches) - 1), i)
        types = [type_of(x) for x in (taken, *values)]
        programs = tuple(record_program(half, types)[0] for half in (leave_out, run))
        return list(Cond(programs)(np.any(taken).astype(np.int64), taken, *values))

    def jet(self, series: Sequence[list[Value]], trace: Any) -> Sequence[list[Value]]:
        active = active_series(series[1:])
        forced = (False,) * len(self.branches[0].outputs)
        derived: list[tuple[Program, Flags]] = []
        for _ in range(2):
            derived = [trace.programs.jet(p, active, trace.order, forced) for p in self.branches]
            forced = tuple(map(any, zip(*[flags for _, flags in derived], strict=True)))
        flat = Cond(tuple(p for p, _ in derived))(series[0][0], *flat_series(series[1:], active))
        return grouped_series(flat, forced, trace.order)

    def save(
        self, xs: Sequence[Value], wanted: Sequence[bool], trace: Any
    ) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
        index, *operands = xs
        splits = [trace.programs.split_fixed(p, tuple(wanted[1:])) for p in self.branches]
        n = len(self.branches[0].outputs)
        slots = [t for s in splits for t in s.forward.output_types[n:]]
        forwards: list[Program] = []
        start = 0
        for s in splits:  # every branch fills its own residual slots, and zeros elsewhere: a batch computes with them
            stop = start + s.extra

            def filled(*args: Value, s: Any = s, start: int = start, stop: int = stop) -> list[Value]:
                results = interpret(s.forward, args)
                return results[:n] + [
                    results[n + j - start] if start <= j < stop else zeros(t) for j, t in enumerate(slots)
                ]

            forwards.append(record_program(filled, self.branches[0].input_types)[0])
            start = stop
        flat = Cond(tuple(forwards))(index, *operands)
        return flat[:n], (CondRecord(self, splits, n), index, tuple(operands), tuple(flat[n:]))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        record, index, operands, residuals = xs
        return [None, *record.run("backward", index, operands, residuals, ct)]

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        record, index, operands, residuals = xs
        return record.run("push", index, operands, residuals, dxs[1:])

    masks = True


class CondRecord:
    """How the halves of a differentiated `Cond` fit together."""

    def __init__(self, cond: Cond, splits: list[Any], outputs: int) -> None:
        self.cond, self.splits, self.outputs = cond, splits, outputs
        self.wanted: Flags = splits[0].wanted
        self.active = tuple(map(any, zip(*[s.active for s in splits], strict=True)))

    def run(
        self,
        half: str,
        index: Value,
        operands: tuple[Value, ...],
        residuals: tuple[Value, ...],
        directions: Sequence[Value],
    ) -> list[Value]:
        """One half of the derivative, read from the record of the run.

        backward: cotangents of all operands from those of the outputs. push: tangents of the outputs from those of the
        operands.
        """
        into, out_of = (self.active, self.wanted) if half == "backward" else (self.wanted, self.active)
        in_types = self.cond.branches[0].output_types if half == "backward" else self.cond.branches[0].input_types
        out_types = self.cond.branches[0].input_types if half == "backward" else self.cond.branches[0].output_types
        movers = [zeros(t) if g is None else g for g, t, f in zip(directions, in_types, into, strict=True) if f]
        n, r = len(operands), len(residuals)
        programs: list[Program] = []
        start = 0
        for s in self.splits:

            def one(*flat: Value, s: Any = s, start: int = start) -> list[Value]:
                values = [flat[at] if kind == "input" else flat[n + start + at] for kind, at in s.sources]
                mine_in, mine_out = (s.active, s.wanted) if half == "backward" else (s.wanted, s.active)
                moving = iter(flat[n + r :])
                kept = [
                    m for f, own in zip(into, mine_in, strict=True) if f and ((m := next(moving)) is not None) and own
                ]
                results = iter(interpret(s.backward() if half == "backward" else s.push(), [*values, *kept]))
                return [
                    next(results) if own else zeros(t)
                    for f, own, t in zip(out_of, mine_out, out_types, strict=True)
                    if f
                ]

            types = [*map(type_of, operands), *map(type_of, residuals), *map(type_of, movers)]
            programs.append(record_program(one, types)[0])
            start += s.extra
        results = iter(Cond(tuple(programs))(index, *operands, *residuals, *movers))
        return [next(results) if f else None for f in out_of]
