"""`Call`: a program as one primitive, so that what is compiled stays compiled under every transformation.

The derivative of a call is a call of the derivative: each transformation is mapped over the program, and the programs
that come out are run as this one is. Who runs them is said by `run_with`; by default they are read. In a program that
is being recorded a call is what its program does.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.ops.control.base import Control, Guard, Run, active_series, flat_series, grouped_series, zeros
from adjoint.ops.control.batch_elements import loops_over_elements
from adjoint.program.op import primitive
from adjoint.program.program import Program, interpret
from adjoint.program.record import Record
from adjoint.program.trace import Tracer, bind
from adjoint.program.types import ArrayType, Value

Runner = Callable[[Program, Sequence[Value]], Sequence[Value]]
_runner: list[Runner] = [interpret]


def run_with(runner: Runner) -> None:
    """From now on programs that are called with plain values are run by `runner`."""
    _runner[0] = runner


@primitive
class Call(Control):
    """program(*xs)."""

    masks = True  # there may be a select or a scatter inside

    program: Program

    def programs(self) -> dict[str, Program]:
        return {"program": self.program}

    def guarded(self, guard: Guard) -> tuple[Control, int | None]:
        return Call(guard(self.program)), None

    def __call__(self, *xs: Value) -> Value:
        top = max((x._trace for x in xs if isinstance(x, Tracer)), key=lambda trace: trace.level, default=None)
        written_out = isinstance(top, Record) and top.records
        return tuple(interpret(self.program, xs)) if written_out else bind(self, *xs)

    def evaluate(self, *xs: Value) -> Value:
        return tuple(_runner[0](self.program, xs))

    def unroll(self, xs: Sequence[Value], run: Run) -> list[Value]:
        return run(self.program, xs)

    def result_type(self, *types: ArrayType) -> Any:
        return self.program.output_types

    def jvp(self, xs: Sequence[Value], dxs: Sequence[Value], trace: Any) -> tuple[Sequence[Value], Sequence[Value]]:
        active = tuple(dx is not None for dx in dxs)
        n = len(self.program.outputs)
        derived, flags = trace.programs.jvp(self.program, active, (False,) * n)
        out = Call(derived)(*xs, *[dx for dx in dxs if dx is not None])
        tangents = iter(out[n:])
        return out[:n], [next(tangents) if f else None for f in flags]

    def vmap(self, xs: Sequence[Value], mapped: Sequence[bool], trace: Any) -> Sequence[tuple[Value, bool]]:
        with loops_over_elements():
            derived, flags = trace.programs.batched(
                self.program, tuple(mapped), trace.size, (False,) * len(self.program.outputs)
            )
        return list(zip(Call(derived)(*xs), flags, strict=True))

    def jet(self, series: Sequence[list[Value]], trace: Any) -> Sequence[list[Value]]:
        active = active_series(series)
        derived, flags = trace.programs.jet(self.program, active, trace.order, (False,) * len(self.program.outputs))
        return grouped_series(Call(derived)(*flat_series(series, active)), flags, trace.order)

    def save(
        self, xs: Sequence[Value], wanted: Sequence[bool], trace: Any
    ) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
        split = trace.programs.split_fixed(self.program, tuple(wanted))
        n = len(self.program.outputs)
        flat = Call(split.forward)(*xs)
        residuals = tuple(
            trace.captured.hold(xs[at]) if kind == "input" else flat[n + at] for kind, at in split.sources
        )
        return tuple(flat[:n]), (split, residuals)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        split, residuals = xs
        pairs = zip(ct, self.program.output_types, split.active, strict=True)
        cotangents = iter(Call(split.backward())(*residuals, *[zeros(t) if c is None else c for c, t, a in pairs if a]))
        return [next(cotangents) if w else None for w in split.wanted]

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        split, residuals = xs
        pairs = zip(dxs, self.program.input_types, split.wanted, strict=True)
        tangents = iter(Call(split.push())(*residuals, *[zeros(t) if d is None else d for d, t, w in pairs if w]))
        return [next(tangents) if a else None for a in split.active]
