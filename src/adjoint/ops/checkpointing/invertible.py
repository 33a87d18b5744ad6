"""Loops with an invertible body: reverse mode keeps the last carry, and recomputes the others by the inverse.

The backward pass is one loop: s_{t-1} = body⁻¹(s_t, x_t), then the iteration is taken backwards at s_{t-1}.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.base.records import record
from adjoint.ops.checkpointing.drift_check import sampled, warn_of_drift
from adjoint.ops.checkpointing.step import record_reverse_step
from adjoint.ops.control.base import Flags, zeros
from adjoint.ops.control.counted_loop import CountedLoop, inner
from adjoint.ops.effects import silent
from adjoint.program.program import Program, interpret
from adjoint.program.record import record_program
from adjoint.program.save import RECORDS
from adjoint.program.types import Value, type_of


@record
class Invertible:
    """A plan for `scan`: nothing is kept but the last carry.

    `inverse(carry, x)` gives the carry before an iteration from the one after it; without it, it is found from the
    body, if that is a composition of operations that can be undone.

    ```python
    plan = ad.memory.Invertible(lambda carry, x: carry - x)
    result = ad.grad(lambda xs: ad.scan(lambda c, x: (c + x, None), 0.0, xs, checkpoint=plan)[0])(np.ones(3))
    result  # → [1.0, 1.0, 1.0]
    ```
    """

    inverse: Callable[..., Any] | None = None


@record
class BodyInverse:
    """What a loop has instead of a plan: the inverse of its body, (constants, carry, x) → carry."""

    inverse: Program

    def __str__(self) -> str:
        return "inverse"

    def lift(self, loop: CountedLoop, programs: Any, order: int, active: Flags, flags: Flags) -> BodyInverse:
        """The inverse of the loop with derivatives is the inverse with derivatives."""
        k, n = loop.carries, len(active)
        forced = flags[:k]
        if order == 1:
            derived, has_higher = programs.jvp(self.inverse, active, forced)
        else:
            derived, has_higher = programs.jet(self.inverse, active, order, forced)
        values, higher = loop.positions_of(active, order, [loop.constants, k, n - loop.constants - k])
        inputs = [0] * len(derived.inputs)
        number = n
        for i, position in enumerate(values):
            inputs[position] = i
        for i in sorted(higher):
            for position in higher[i]:
                inputs[position] = number
                number += 1
        outputs, at = list(range(k)), k
        for j, has in enumerate(has_higher):
            outputs += range(at, at + order) if has and forced[j] else ()
            at += order * has
        return BodyInverse(
            Program(
                tuple(derived.inputs[i] for i in inputs),
                derived.equations,
                tuple(derived.outputs[j] for j in outputs),
                derived.constants,
            )
        )

    def batched(self, loop: CountedLoop, programs: Any, size: int, mapped: Flags, flags: Flags) -> BodyInverse:
        """The inverse for the whole batch at once."""
        stacked, _ = programs.batched(self.inverse, mapped, size, flags[: loop.carries])
        return BodyInverse(stacked)


RECORDS["BodyInverse"] = BodyInverse


class InvertibleRecord:
    """What reverse mode keeps of a loop with an invertible body: the arguments and the last carry."""

    def __init__(self, loop: Any, wanted: Flags, programs: Any) -> None:
        self.loop = dataclasses.replace(loop, body=silent(loop.body))
        self.wanted, self.programs = wanted, programs

    def pull(self, ct: Sequence[Value], xs: Sequence[Value], last: Sequence[Value]) -> list[Value]:
        """Cotangents of all arguments."""
        loop = self.loop
        reverse_step, wanted, seeded = record_reverse_step(
            loop, self.wanted, tuple(c is not None for c in ct), self.programs
        )
        constants, _, arrays = loop.split(xs)
        a, b, k = loop.constants, loop.constants + loop.carries, loop.carries
        positions = [i for i, w in enumerate(wanted) if w]
        summed, carried = [i for i in positions if i < a], [i for i in positions if a <= i < b]
        sums = [zeros(constants[i]) for i in summed]
        cts = [zeros(type_of(xs[i])) if ct[i - a] is None else ct[i - a] for i in carried]
        ct_ys = [c for j, c in enumerate(ct) if j >= k and seeded[j]]
        s, c, w = len(sums), len(cts), len(arrays)

        def body(*flat: Value) -> list[Value]:
            own, rest = flat[:a], flat[a:]
            state, rest = rest[:k], rest[k:]
            total, back, walked, ct_rows = rest[:s], rest[s : s + c], rest[s + c : s + c + w], rest[s + c + w :]
            before = interpret(loop.checkpoint.inverse, [*own, *state, *walked])
            cotangents = interpret(reverse_step, [*own, *before, *walked, *back, *ct_rows])
            new = [old + g for old, g in zip(total, cotangents[:s], strict=True)]
            return [*before, *new, *cotangents[s:]]

        carry = [*last, *sums, *cts]
        types = [*map(type_of, constants), *map(type_of, carry), *[inner(type_of(x)) for x in (*arrays, *ct_ys)]]
        program, _ = record_program(body, types)
        change: Any = dataclasses.replace
        scan = change(loop, body=program, constants=a, carries=len(carry), reverse=not loop.reverse, checkpoint=None)
        out = scan(*constants, *carry, *arrays, *ct_ys)
        warn_of_drift("scan(checkpoint=Invertible(…))", sampled(xs[a:b]), out[:k])
        cotangents = dict(zip(positions, out[k:], strict=True))
        return [cotangents.get(i) if w else None for i, w in enumerate(self.wanted)]

    def push(self, dxs: Sequence[Value], xs: Sequence[Value], last: Sequence[Value]) -> list[Value]:
        """Tangents of all results: the loop runs again."""
        loop = self.loop
        active = tuple(dx is not None for dx in dxs)
        lifted, active, flags = loop.lift(self.programs, 1, active, (False,) * len(loop.body.outputs))
        out = lifted(*loop.arrange_arguments(active, 1, xs, {i: [dx] for i, dx in enumerate(dxs)}))
        return [None if d is None else d[0] for d in loop.separate_results(out, flags, 1)[1]]


def save(loop: Any, xs: Sequence[Value], wanted: Flags, trace: Any) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
    """Run a loop with an invertible body and return (results, residuals)."""
    out = tuple(loop(*xs))
    return out, (InvertibleRecord(loop, wanted, trace.programs), tuple(xs), out[: loop.carries])
