"""One iteration of a loop, taken backwards: the forward and the backward half of the body, one after the other."""

from __future__ import annotations

from typing import Any

from adjoint.ops.control.base import Flags, zeros
from adjoint.ops.control.counted_loop import CountedLoop
from adjoint.program.program import Program, Var, interpret
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType, Value


def close_wanted(loop: CountedLoop, wanted: Flags, programs: Any) -> tuple[Any, Flags]:
    """A carry is differentiated as soon as anything differentiated flows into it: (halves of the body, wanted)."""
    a, b = loop.constants, loop.constants + loop.carries
    while True:
        split = programs.split(loop.body, wanted)
        flowing = zip(wanted[a:b], split.active[: loop.carries], strict=True)
        grown = wanted[:a] + tuple(w or o for w, o in flowing) + wanted[b:]
        if grown == wanted:
            return split, wanted
        wanted = grown


def record_reverse_step(loop: Any, wanted: Flags, seeded: Flags, programs: Any) -> tuple[Program, Flags, Flags]:
    """One iteration taken backwards, and the arguments and results that it really is about.

    (arguments of the body, cotangents of the wanted carries and seeded ys) → cotangents of the wanted arguments.
    """
    split, wanted = close_wanted(loop, wanted, programs)
    seeded = tuple(g and a for g, a in zip(seeded, split.active, strict=True))
    a, k, n, m = loop.constants, loop.carries, len(loop.body.inputs), len(loop.body.outputs)

    def reverse_step(*flat: Value) -> list[Value]:
        values, cts = flat[:n], iter(flat[n:])
        carried = {j: next(cts) for j in range(k) if wanted[a + j]}
        seeds: list[Value] = []
        for j in range(m):
            if split.active[j]:
                known = carried[j] if j < k else next(cts) if seeded[j] else None
                seeds.append(zeros(loop.body.output_types[j]) if known is None else known)
        out = interpret(split.forward, values)
        residuals = [values[at] if kind == "input" else out[m + at] for kind, at in split.sources]
        return interpret(split.backward(), [*residuals, *seeds])

    types = loop.body.input_types
    ct_types = [strong_type(types[a + j]) for j in range(k) if wanted[a + j]]
    ct_types += [strong_type(loop.body.output_types[j]) for j in range(k, m) if seeded[j]]
    program, _ = record_program(reverse_step, [*types, *ct_types])
    return prune(program), wanted, seeded


def strong_type(kind: ArrayType) -> ArrayType:
    """The type of cotangents: never that of a Python number."""
    return ArrayType(kind.shape, kind.dtype)


def prune(program: Program) -> Program:
    """The program without equations that nobody reads."""
    live = {v for v in program.outputs if isinstance(v, Var)}
    kept: list[Any] = []
    for eq in reversed(program.equations):
        if eq.op.effect or any(v in live for v in eq.outputs):
            live.update(v for v in eq.inputs if isinstance(v, Var))
            kept.append(eq)
    constants = {v: value for v, value in program.constants.items() if v in live}
    return Program(program.inputs, tuple(reversed(kept)), program.outputs, constants)
