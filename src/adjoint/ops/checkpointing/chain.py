"""`Reversible`: a chain of layers that can be undone, so that reverse mode keeps the last state alone.

    forwards     sₖ = fₖ(sₖ₋₁)
    backwards    sₖ₋₁ = fₖ⁻¹(sₖ),   rₖ₋₁ = ∂fₖ(sₖ₋₁)ᵀ rₖ

Where the derivatives are orthonormal, ∂fₖᵀ = ∂fₖ⁻¹ = ∂(fₖ⁻¹), the second is the tangent of the first: one pass through
the inverse with (sₖ, rₖ) gives both, and no layer is taken backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.checkpointing.drift_check import sampled, warn_of_drift
from adjoint.ops.control.base import Control, Flags, Guard, Run, active_series, rearranged, zeros
from adjoint.ops.effects import silent
from adjoint.program.op import primitive
from adjoint.program.program import Program, interpret
from adjoint.program.types import ArrayType, Value


@primitive
class Reversible(Control):
    """Arguments: the parameters of each layer in turn, then the first state. Results: the last state.

    Layer k is a program (parameters, state) → state, and its inverse one of the same kind.
    """

    layers: tuple[Program, ...]
    inverses: tuple[Program, ...]
    counts: tuple[int, ...]  # of parameters
    orthonormal: bool = False

    def programs(self) -> dict[str, Program]:
        return {f"layer {k}": p for k, p in enumerate(self.layers)}

    def __str__(self) -> str:
        return f"reversible[{len(self.layers)} layers]"

    def guarded(self, guard: Guard) -> tuple[Control, int | None]:
        """Effects in layers happen in any case: they have no place for a condition."""
        raise TypeError("reversible layers have no effects")

    def layer_arguments(self, xs: Sequence[Any]) -> tuple[list[list[Any]], list[Any]]:
        """The parameters of each layer, and the state."""
        out: list[list[Any]] = []
        at = 0
        for count in self.counts:
            out.append(list(xs[at : at + count]))
            at += count
        return out, list(xs[at:])

    def evaluate(self, *xs: Value) -> Value:
        return tuple(self.unroll(xs, interpret))

    def unroll(self, xs: Sequence[Value], run: Run) -> list[Value]:
        parameters, state = self.layer_arguments(xs)
        for layer, own in zip(self.layers, parameters, strict=True):
            state = run(layer, [*own, *state])
        return state

    def result_type(self, *types: ArrayType) -> Any:
        return self.layers[-1].output_types

    # Transformations are mapped over layers and inverses alike.

    def _lift(self, order: int, active: Flags, programs: Any) -> tuple[Reversible, list[Flags]]:
        """The chain that also computes derivatives; which parameters and states of each layer have some."""
        layers: list[Program] = []
        inverses: list[Program] = []
        flags: list[Flags] = []
        parts, _ = self.layer_arguments(active)
        for layer, inverse, own in zip(self.layers, self.inverses, parts, strict=True):
            moving = tuple(t.differentiable for t in layer.input_types[len(own) :])
            flags.append((*own, *moving))
            for target, program in ((layers, layer), (inverses, inverse)):
                mine = (*own, *[t.differentiable for t in program.input_types[len(own) :]])
                out = tuple(t.differentiable for t in program.output_types)
                lifted, _ = programs.jvp(program, mine, out) if order == 1 else programs.jet(program, mine, order, out)
                target.append(rearranged(lifted, _own_first(mine, len(own), order), range(len(lifted.outputs))))
        counts = tuple(count + order * sum(own) for count, own in zip(self.counts, parts, strict=True))
        return Reversible(tuple(layers), tuple(inverses), counts, False), flags

    def _series(self, series: Sequence[list[Value]], order: int, programs: Any) -> list[list[Value]]:
        chain, flags = self._lift(order, active_series(series), programs)
        parameters, state = self.layer_arguments(series)
        flat: list[Value] = []
        for own, moving in zip(parameters, flags, strict=True):
            flat += _with_higher(own, moving, order)
        flat += _with_higher(state, flags[0][self.counts[0] :], order)
        out = chain(*flat)
        types = self.layers[-1].output_types
        higher = iter(out[len(types) :])
        return [
            [z, *([next(higher) for _ in range(order)] if t.differentiable else [None] * order)]
            for z, t in zip(out, types, strict=False)
        ]

    def jvp(self, xs: Sequence[Value], dxs: Sequence[Value], trace: Any) -> tuple[Sequence[Value], Sequence[Value]]:
        series = [[x] if dx is None else [x, dx] for x, dx in zip(xs, dxs, strict=True)]
        results = self._series(series, 1, trace.programs)
        return [s[0] for s in results], [s[1] for s in results]

    def jet(self, series: Sequence[list[Value]], trace: Any) -> Sequence[list[Value]]:
        return self._series(series, trace.order, trace.programs)

    def vmap(self, xs: Sequence[Value], mapped: Sequence[bool], trace: Any) -> Sequence[tuple[Value, bool]]:
        size, programs = trace.size, trace.programs
        flags, _ = self.layer_arguments(mapped)
        values, state = self.layer_arguments(list(zip(xs, mapped, strict=True)))

        def batched(program: Program, own: Sequence[bool]) -> Program:
            count = len(program.inputs) - len(own)
            return programs.batched(program, (*own, *[True] * count), size, (True,) * len(program.outputs))[0]

        chain = Reversible(
            tuple(batched(p, own) for p, own in zip(self.layers, flags, strict=True)),
            tuple(batched(p, own) for p, own in zip(self.inverses, flags, strict=True)),
            self.counts,
            self.orthonormal,
        )
        first = [x if m else np.broadcast_to(np.asarray(x), (size, *np.shape(x))) for x, m in state]
        return [(z, True) for z in chain(*[x for own in values for x, _ in own], *first)]

    def save(
        self, xs: Sequence[Value], wanted: Sequence[bool], trace: Any
    ) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
        parameters, first = self.layer_arguments(xs)
        out = tuple(self(*xs))
        held = tuple(tuple(trace.captured.hold(x) for x in own) for own in parameters)
        return out, (held, out, trace.programs, sampled(first))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        parameters, state, programs, kept = xs
        flags, first = self.layer_arguments(wanted)
        own_cts: list[Value] = []
        cts = list(ct)
        for k in range(len(self.layers) - 1, -1, -1):
            own, layer, inverse = parameters[k], silent(self.layers[k]), self.inverses[k]
            moving = [t.differentiable for t in layer.input_types[len(own) :]]
            moving = [w and m for w, m in zip(first, moving, strict=True)] if k == 0 and not any(flags[0]) else moving
            if self.orthonormal:
                state, back = self._together(inverse, own, state, cts, programs)
            else:
                state, back = interpret(inverse, [*own, *state]), None
            asked = [*flags[k], *([False] * len(moving) if self.orthonormal else moving)]
            pulled = programs.pulled(layer, [*own, *state], asked, cts) if any(asked) else [None] * len(asked)
            own_cts = [*pulled[: len(own)], *own_cts]
            cts = pulled[len(own) :] if back is None else back
        warn_of_drift("reversible", kept, state)
        return [*own_cts, *[c if w else None for c, w in zip(cts, first, strict=True)]]

    def _together(
        self, inverse: Program, own: Sequence[Value], state: Sequence[Value], cts: Sequence[Value], programs: Any
    ) -> tuple[list[Value], list[Value]]:
        """The state before a layer, and its cotangent as the tangent of the inverse along the cotangent behind it."""
        active = (*[False] * len(own), *[c is not None for c in cts])
        n = len(inverse.outputs)
        derived, flags = programs.jvp(inverse, active, (False,) * n)
        out = interpret(derived, [*own, *state, *[c for c in cts if c is not None]])
        tangents = iter(out[n:])
        return out[:n], [next(tangents) if f else None for f in flags]

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        parameters, state, programs, _ = xs
        for own, inverse in zip(reversed(parameters), reversed(self.inverses), strict=True):
            state = interpret(inverse, [*own, *state])
        values = [*[x for own in parameters for x in own], *state]
        series = [[x] if dx is None else [x, dx] for x, dx in zip(values, dxs, strict=True)]
        return [s[1] for s in self._series(series, 1, programs)]


def _own_first(active: Flags, own: int, order: int) -> list[int]:
    """Inputs of a derived program with the derivatives of the parameters behind them, those of the state behind it."""
    n = len(active)
    moved = list(range(n, n + order * sum(active[:own])))
    return [*range(own), *moved, *range(own, n), *range(n + len(moved), n + order * sum(active))]


def _with_higher(series: Sequence[Sequence[Value]], flags: Sequence[bool], order: int) -> list[Value]:
    """Values, then derivatives of those that have some."""
    out = [s[0] for s in series]
    for s, moving in zip(series, flags, strict=False):
        if moving:
            out += [zeros(s[0]) if k >= len(s) or s[k] is None else s[k] for k in range(1, order + 1)]
    return out
