"""Transformations of programs: what traces give to loops, branches and other primitives with programs inside.

Each re-reads the program under the transformation's own trace while a symbolic record writes the result down. Programs
are values, so results are remembered on them.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from adjoint.ops.control.base import zeros
from adjoint.ops.control.remat import Checkpoint
from adjoint.ops.control.scan import zeros_beside
from adjoint.program.program import Program, interpret
from adjoint.program.record import Record, RecordTracer, record_program
from adjoint.program.trace import Tracer, running
from adjoint.program.types import ArrayType, Size, Value, type_of
from adjoint.transform.batch import Batch, BatchTracer
from adjoint.transform.expansion import expansion
from adjoint.transform.forward import Forward, ForwardTracer
from adjoint.transform.lines import LinedTape, lining, pins_restored
from adjoint.transform.nonfinite import is_locating, new_tape
from adjoint.transform.reverse import replay, sweep
from adjoint.transform.tape import TapeTracer
from adjoint.transform.taylor import Known, Taylor, TaylorTracer

Flags = tuple[bool, ...]
R = TypeVar("R")


def remember(program: Program, key: Any, make: Callable[[], R]) -> R:
    """Compute once for each program and key."""
    store = program.__dict__.setdefault("_derived", {})
    if key not in store:
        store[key] = make()
    return store[key]


def jvp_program(program: Program, active: Flags, forced: Flags) -> tuple[Program, Flags]:
    """(x…, ẋ of the active…) → (z…, ż of those flagged…), and the flags.

    `forced` outputs get a tangent even if it is zero.
    """

    def make() -> tuple[Program, Flags]:
        n = len(program.inputs)
        flags: list[bool] = []

        def both(*flat: Value) -> list[Value]:
            tangents = iter(flat[n:])
            with running(Forward()) as trace:
                inputs = [
                    ForwardTracer(trace, x, next(tangents)) if a else x for x, a in zip(flat[:n], active, strict=True)
                ]
                results = interpret(program, inputs)
            mine = [isinstance(z, ForwardTracer) and z._trace is trace for z in results]
            zs = [z._value if m else z for z, m in zip(results, mine, strict=True)]
            dzs = [z._tangent if m else None for z, m in zip(results, mine, strict=True)]
            flags.extend(dz is not None or f for dz, f in zip(dzs, forced, strict=True))
            return zs + [zeros(z) if dz is None else dz for z, dz, f in zip(zs, dzs, flags, strict=True) if f]

        tangent_types = [strong(t) for t, a in zip(program.input_types, active, strict=True) if a]
        made, _ = record_program(both, [*program.input_types, *tangent_types])
        return made, tuple(flags)

    return remember(program, ("jvp", active, forced), make)


def strong(kind: ArrayType) -> ArrayType:
    """The type of tangents: never weak."""
    return ArrayType(kind.shape, kind.dtype)


def batched_program(
    program: Program, mapped: Flags, size: int, forced: Flags, batch: int | None = None
) -> tuple[Program, Flags]:
    """The program on stacked inputs where flagged, and which outputs are stacked.

    `forced` ones are stacked in any case. `batch` is the number of the batch, where loops depend on it.
    """

    def make() -> tuple[Program, Flags]:
        flags: list[bool] = []

        def run_batched(*flat: Value) -> list[Value]:
            with running(Batch(size, batch)) as trace:
                inputs = [BatchTracer(trace, x) if m else x for x, m in zip(flat, mapped, strict=True)]
                results = interpret(program, inputs)
            out: list[Value] = []
            for z, force in zip(results, forced, strict=True):
                mine = isinstance(z, BatchTracer) and z._trace is trace
                stacked, value = mine and z._mapped, z._value if mine else z
                flags.append(stacked or force)
                out.append(
                    np.broadcast_to(_traced_array(value), (size, *np.shape(value))) if force and not stacked else value
                )
            return out

        types = [
            ArrayType((size, *t.shape), t.dtype) if m else t for t, m in zip(program.input_types, mapped, strict=True)
        ]
        made, _ = record_program(run_batched, types)
        return made, tuple(flags)

    # blocks of elements are noted for sizes that loops find: where there are none, one batch is like another
    key = ("batch", mapped, size, forced)
    known = program.__dict__.get("_derived", {}).get(key)
    if known is None:
        known = remember(program, (*key, batch), make)
        if not (finds_sizes(program) or finds_sizes(known[0])):
            remember(program, key, lambda: known)
    return known


def finds_sizes(program: Program) -> bool:
    """Whether sizes that loops find occur in a program."""
    known = program.__dict__.get("_finds_sizes")
    if known is None:
        listed = (*program.input_types, *[v.type for eq in program.equations for v in eq.outputs])
        known = any(isinstance(n, Size) for t in listed for n in t.shape)
        known = known or any(finds_sizes(sub) for eq in program.equations for sub in eq.op.programs().values())
        program.__dict__["_finds_sizes"] = known
    return known


def _traced_array(value: Value) -> Value:
    return value if isinstance(value, Tracer) else np.asarray(value)


def jet_program(program: Program, active: Flags, order: int, forced: Flags) -> tuple[Program, Flags]:
    """(x…, then x₁ … x_order of each active input) → (z…, then z₁ … z_order of each flagged output).

    The xₖ and zₖ are coefficients of powers.
    """

    def make() -> tuple[Program, Flags]:
        n = len(program.inputs)
        flags: list[bool] = []

        def series(*flat: Value) -> list[Value]:
            higher = iter(flat[n:])
            with running(Taylor(order)) as trace:
                inputs = [
                    TaylorTracer(trace, Known([x, *[next(higher) for _ in range(order)]])) if a else x
                    for x, a in zip(flat[:n], active, strict=True)
                ]
                results = interpret(program, inputs)
                mine = [isinstance(z, TaylorTracer) and z._trace is trace for z in results]
                found = [trace.coefficients(z._series) if m else [z] for z, m in zip(results, mine, strict=True)]
            out = [c[0] for c in found]
            for c, force in zip(found, forced, strict=True):
                moving = force or any(term is not None for term in c[1:])
                flags.append(moving)
                if moving:
                    out += [zeros(c[0]) if k >= len(c) or c[k] is None else c[k] for k in range(1, order + 1)]
            return out

        higher_types = [strong(t) for t, a in zip(program.input_types, active, strict=True) if a for _ in range(order)]
        made, _ = record_program(series, [*program.input_types, *higher_types])
        return made, tuple(flags)

    return remember(program, ("jet", active, order, forced), make)


class Slot:
    """The place of a residual in the pattern of a record."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Split:
    """A program cut in two for reverse mode.

    `forward` computes the outputs and the residuals, `backward` reads residuals and cotangents.

    `sources[i]` says where residual i comes from: ("input", j) is input j itself, ("output", j) the j-th extra output
    of `forward`.
    """

    def __init__(self, program: Program, wanted: Flags) -> None:
        self.wanted = wanted
        with running(Record(purpose="the body of a loop or branch")) as record:
            inputs = [record.input(t) for t in program.input_types]
            with running(new_tape(outlives_call=True)) as tape:
                positions = [tape.input(x) if w else x for x, w in zip(inputs, wanted, strict=True)]
                results = interpret(program, positions)
            mine = [isinstance(z, TapeTracer) and z._trace is tape for z in results]
            values = [z._value if m else z for z, m in zip(results, mine, strict=True)]
            self.positions = [z._index if m else -1 for z, m in zip(results, mine, strict=True)]
            self.active: Flags = tuple(p >= 0 for p in self.positions)
            self.sources: list[tuple[str, int]] = []
            self.residual_types: list[ArrayType] = []
            extra: list[Value] = []
            known: dict[Any, Slot] = {}
            variables = {x._var: j for j, x in enumerate(inputs)}

            def slot(value: RecordTracer) -> Slot:
                found = known.get(value._var)
                if found is None:
                    found = known[value._var] = Slot(len(self.sources))
                    at = variables.get(value._var)
                    self.sources.append(("output", len(extra)) if at is None else ("input", at))
                    self.residual_types.append(value.type)
                    if at is None:
                        extra.append(value)
                return found

            self.entries = [(e[0], *substitute(e[1:], RecordTracer, slot)) for e in tape.entries]
            # a zero cotangent or tangent has the size of its variable: where nothing else knows it, that is kept
            sized = [x for x, w in zip(inputs, wanted, strict=True) if w]
            for value in (*sized, *[z for z, active in zip(values, self.active, strict=True) if active]):
                known_sizes = {n for t in self.residual_types for n in t.shape}
                if any(not isinstance(n, int) and n not in known_sizes for n in type_of(value).shape):
                    slot(value)
            self._value_types = [type_of(value) for value in values]  # with the sizes of this reading
            self._lines = tape.lines if isinstance(tape, LinedTape) else None
            self.forward, _ = record.program(inputs, [*values, *extra])
        self.input_types = program.input_types
        self.output_types = program.output_types
        self._backward: Program | None = None
        self._push: dict[Flags, tuple[Program, Flags]] = {}

    @property
    def extra(self) -> int:
        """How many extra outputs `forward` has."""
        return sum(kind == "output" for kind, _ in self.sources)

    def backward(self) -> Program:
        """(residuals…, cotangents of the active outputs…) → cotangents of the wanted inputs…"""
        if self._backward is None:
            count = len(self.residual_types)

            def pulled(*flat: Value) -> list[Value]:
                cts = iter(flat[count:])
                seeds: dict[int, Value] = {}
                for position in self.positions:
                    if position >= 0:
                        ct = next(cts)
                        seeds[position] = ct if position not in seeds else seeds[position] + ct
                with pins_restored():
                    found = sweep(self._fill(flat), sum(self.wanted), seeds, consume=True)
                types = [t for t, w in zip(self.input_types, self.wanted, strict=True) if w]
                return [zeros_beside(flat, t) if ct is None else ct for ct, t in zip(found, types, strict=True)]

            ct_types = [strong(t) for t, a in zip(self.output_types, self.active, strict=True) if a]
            self._backward, _ = record_program(pulled, [*self.residual_types, *ct_types])
        return self._backward

    def push(self) -> Program:
        """(residuals…, tangents of the wanted inputs…) → tangents of the active outputs…"""
        key: Flags = ()
        if key not in self._push:
            count = len(self.residual_types)

            def pushed(*flat: Value) -> list[Value]:
                ds = replay(self._fill(flat), flat[count:], self.positions)
                types = self._value_types
                return [
                    zeros_beside(flat, t) if ds[p] is None else ds[p]
                    for p, t in zip(self.positions, types, strict=True)
                    if p >= 0
                ]

            tangent_types = [strong(t) for t, w in zip(self.input_types, self.wanted, strict=True) if w]
            made, _ = record_program(pushed, [*self.residual_types, *tangent_types])
            self._push[key] = made, self.active
        return self._push[key][0]

    def _fill(self, residuals: Sequence[Value]) -> list[Any]:
        filled = [(e[0], *substitute(e[1:], Slot, lambda s: residuals[s.number])) for e in self.entries]
        return filled if self._lines is None else self._lines.like(filled)


def substitute(entry: Any, kind: type, replace: Callable[[Any], Any]) -> Any:
    """An entry of a record with all objects of a kind replaced, inside tuples and lists too."""
    if isinstance(entry, kind):
        return replace(entry)
    if type(entry) is tuple:
        return tuple(substitute(e, kind, replace) for e in entry)  # pyright: ignore[reportUnknownVariableType]
    if type(entry) is list:
        return [substitute(e, kind, replace) for e in entry]  # pyright: ignore[reportUnknownVariableType]
    return entry


def halves_of(thing: Any) -> list[Program]:
    """The programs that a split has been made into so far; none of anything else."""
    if not isinstance(thing, Split):
        return []
    pushed = [made for made, _ in thing._push.values()]
    return [thing.forward, *([] if thing._backward is None else [thing._backward]), *pushed]


def split_program(program: Program, wanted: Flags) -> Split:
    """The forward and backward halves of a program, for cotangents of the wanted inputs."""
    kind = ("split", wanted, is_locating(), lining() is not None)
    return remember(program, kind, lambda: Split(program, wanted))


def split_fixed(program: Program, wanted: Flags) -> Split:
    """The halves of a program, with residuals whose sizes are known beforehand.

    Where a loop inside finds its number of iterations while it runs, the program keeps its inputs alone and is run
    again in the backward pass.
    """
    split = split_program(program, wanted)
    if all(isinstance(n, int) for t in split.residual_types for n in t.shape):
        return split

    def forgetful() -> Program:
        return record_program(lambda *xs: list(Checkpoint(program)(*xs)), program.input_types)[0]

    return split_program(remember(program, "forgetful", forgetful), wanted)


def pulled(program: Program, xs: Sequence[Value], wanted: Sequence[bool], cts: Sequence[Value]) -> list[Value]:
    """Run a program again at xs and pull cotangents of its outputs back to the wanted inputs (None: zero)."""
    with running(new_tape()) as tape:
        inputs = [tape.input(x) if w else x for x, w in zip(xs, wanted, strict=True)]
        results = interpret(program, inputs)
        seeds: dict[int, Value] = {}
        for z, ct in zip(results, cts, strict=True):
            if ct is not None and isinstance(z, TapeTracer) and z._trace is tape and z._index >= 0:
                seeds[z._index] = seeds[z._index] + ct if z._index in seeds else ct
        entries, tape.entries = tape.entries, []
        with pins_restored(), tape.below():
            found = iter(sweep(entries, sum(wanted), seeds, consume=True))
    return [next(found) if w else None for w in wanted]


class Transformations:
    """What a trace hands to primitives with programs inside."""

    pulled = staticmethod(pulled)

    jvp = staticmethod(jvp_program)
    batched = staticmethod(batched_program)
    jet = staticmethod(jet_program)
    split = staticmethod(split_program)
    split_fixed = staticmethod(split_fixed)
    expansion = staticmethod(expansion)

    @staticmethod
    def of_batch(batch: int) -> BatchTransformations:
        """The same for the traces of one batch."""
        return BatchTransformations(batch)


class BatchTransformations(Transformations):
    """What a trace of a batch hands over: programs on stacked inputs are of this batch too."""

    def __init__(self, batch: int) -> None:
        self._batch = batch

    def batched(  # type: ignore[override]
        self, program: Program, mapped: Flags, size: int, forced: Flags
    ) -> tuple[Program, Flags]:
        return batched_program(program, mapped, size, forced, self._batch)


def provided() -> type[Transformations]:
    """What traces hand over."""
    return Transformations
