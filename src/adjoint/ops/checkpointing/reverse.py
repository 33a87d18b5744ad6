"""`CheckpointedReverse`: the backward pass through a loop that has stored checkpoints.

For a loop y = F(x), where x are its constants, first carry and arrays, it computes P(x, ȳ) = F′(x)ᵀ ȳ: from the last
iteration to the first, a state is taken from the nearest slot or computed from it, and one iteration is taken
backwards.

Its own derivatives are backward passes as well. Let F_d be the loop that carries Taylor coefficients up to order d
along, (x₀ … x_d) ↦ (y₀ … y_d). Since ∂yₖ/∂xⱼ is the coefficient k-j of F′(x(t)), the backward pass through F_d with the
cotangent ȳ_{d-k} for yₖ gives for xⱼ

    Σₖ (F′)ᵀ_{k-j} ȳ_{d-k} = coefficient d-j of P(x(t), ȳ(t)):

all coefficients of P at once, in reverse order. (d = 1: tangents.) And for a cotangent w of P,

    ⟨w, P(x, ȳ)⟩ = ⟨F′(x) w, ȳ⟩

is the tangent of F₁ along w, which is linear in ȳ and goes back to x as any other loop. So derivatives of every order
keep as few states as the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ops.checkpointing.step import prune, record_reverse_step, strong_type
from adjoint.ops.control.base import Control, Flags, Guard, Run, active_series, zeros
from adjoint.ops.control.call import Call
from adjoint.ops.control.counted_loop import Higher, inner, with_batch_axis
from adjoint.program.evaluate import Evaluator, evaluated_by
from adjoint.program.op import primitive
from adjoint.program.program import Program
from adjoint.program.types import ArrayType, Value, type_of

ABOUT_STACKS = 4  # results of a loop of unknown length: positions, rows, how many, number of iterations


def make_reverse(loop: Any, wanted: Flags, seeded: Flags, programs: Any, stored: bool = True) -> CheckpointedReverse:
    """The backward pass for the wanted arguments of the body, when cotangents of the given results are known."""
    return CheckpointedReverse(loop, *record_reverse_step(loop, wanted, seeded, programs), stored)


@primitive
class CheckpointedReverse(Control):
    """Arguments: what the loop has kept (if `stored`), the arguments of the loop, cotangents of the given results.

    Results: cotangents of the wanted arguments of the body.
    """

    loop: Any  # a CheckpointedScan or CheckpointedWhile, without effects
    reverse_step: Program  # (arguments of the body, cotangents of the wanted carries and given ys) → cotangents
    wanted: Flags
    seeded: Flags  # the results that have cotangents
    stored: bool
    stretch: Program | None = (
        None  # many iterations at once: (first iteration, how many, constants, carry, arrays) → carry
    )

    unrolls = False  # the states are read from buffers

    def programs(self) -> dict[str, Program]:
        return {"body": self.loop.body, "reverse step": self.reverse_step}

    def unroll(self, xs: Sequence[Value], run: Run) -> list[Value]:
        with evaluated_by(run):
            return list(self.evaluate(*xs))

    def guarded(self, guard: Guard) -> tuple[Control, int | None]:
        raise TypeError("the backward pass has no effects")

    def __str__(self) -> str:
        return f"{self.title}[checkpoint={self.loop.checkpoint}]"

    @property
    def title(self) -> str:
        return "checkpointed_reverse"

    @property
    def _numbers(self) -> int:
        return ABOUT_STACKS if self.loop.has_condition else 0

    def parts(self, xs: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """(what was kept, arguments of the loop, cotangents) of a list of arguments."""
        a = self.loop.carries + self._numbers if self.stored else 0
        b = a + self.loop.tests + len(self.loop.body.inputs)
        return list(xs[:a]), list(xs[a:b]), list(xs[b:])

    def result_type(self, *types: ArrayType) -> Any:
        args = self.parts(types)[1][self.loop.tests :]
        return tuple(strong_type(t) for t, w in zip(args, self.wanted, strict=True) if w)

    def carried(self, cts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Cotangents (None: zero) of the wanted carries, and those of the given ys."""
        rest = iter(cts)
        known = [next(rest) if g else None for g in self.seeded[: self.loop.carries]]
        a = self.loop.constants
        return [ct for j, ct in enumerate(known) if self.wanted[a + j]], list(rest)

    def evaluate(self, *xs: Value) -> Value:
        kept, args, cts = self.parts(xs)
        loop, plan = self.loop, self.loop.checkpoint
        if not self.stored:
            kept = self._kept(args)
        stacks, numbers = kept[: loop.carries], kept[loop.carries :]
        if loop.has_condition:
            positions, rows, count, iterations = [np.asarray(x).tolist() for x in numbers]
            positions, rows = positions[:count], rows[:count]
        else:
            iterations = loop.length
            positions = [*plan.stored(iterations)]
            rows = [*range(len(positions)), plan.capacity(iterations)]
        constants, _, arrays = loop.split(args[loop.tests :])
        advance, reverse = Evaluator(self.advancing()), self._reverse_evaluator()
        states = [[stack[row] for stack in stacks] for row in rows]
        carried, stacks_of_cts = self.carried(cts)
        results = _Results(self, carried, args[loop.tests :], iterations)

        def at(t: int) -> int:
            return iterations - 1 - t if loop.reverse else t

        for step in plan.reversal(iterations, positions, plan.capacity(iterations)):
            state = states[step.slot]
            if self.stretch is not None:
                state = self._stretched(step.start, step.advance, constants, state, arrays)
            else:
                for t in range(step.start, step.start + step.advance):
                    state = advance([*constants, *state, *[x[at(t)] for x in arrays]])
            if step.advance:
                states.append(state if plan.disk is None else [plan.disk.store(v) for v in state])
            if step.reversed is not None:
                states.pop()
                row = at(step.reversed)
                walked = [x[row] for x in (*arrays, *stacks_of_cts)]
                mine, rows_of_cts = walked[: len(arrays)], walked[len(arrays) :]
                results.take(row, reverse([*constants, *state, *mine, *results.carry, *rows_of_cts]))
        return results.finished()

    def _kept(self, args: Sequence[Value]) -> list[Value]:
        """What the loop keeps when it runs once more."""
        loop = self.loop
        if self.stretch is None:
            return list(loop.evaluate(*args))[len(loop.body.outputs) :]
        constants, state, arrays = loop.split(args)
        plan, iterations = loop.checkpoint, loop.length
        stacks = [plan.disk.allocate((plan.capacity(iterations) + 1, *np.shape(x)), type_of(x).dtype) for x in state]
        positions = [*plan.stored(iterations), iterations - 1]
        rows = [*range(len(positions) - 1), plan.capacity(iterations)]
        at = 0
        for row, position in zip(rows, positions, strict=True):
            state, at = self._stretched(at, position - at, constants, state, arrays), position
            for stack, value in zip(stacks, state, strict=True):
                stack[row] = value
        return stacks

    def _reverse_evaluator(self) -> Callable[[Sequence[Value]], Sequence[Value]]:
        if self.stretch is None:
            return Evaluator(self.reverse_step)
        call = Call(self.reverse_step)
        return lambda values: call.evaluate(*values)

    def _stretched(
        self, start: int, count: int, constants: Sequence[Value], state: Sequence[Value], arrays: Sequence[Value]
    ) -> list[Value]:
        if count <= 0 or self.stretch is None:
            return list(state)
        return list(Call(self.stretch).evaluate(np.int64(start), np.int64(count), *constants, *state, *arrays))

    def advancing(self) -> Program:
        """One iteration forwards, for the carry alone."""
        body = self.loop.body
        return _remembered(body, lambda: prune(_first_outputs(body, self.loop.carries)))

    @property
    def order(self) -> tuple[list[int], list[int], list[int]]:
        """The wanted constants, carries and arrays."""
        a, b = self.loop.constants, self.loop.constants + self.loop.carries
        positions = [i for i, w in enumerate(self.wanted) if w]
        return [i for i in positions if i < a], [i for i in positions if a <= i < b], [i for i in positions if i >= b]

    # Derivatives and batches: see above.

    def _lift(
        self,
        programs: Any,
        order: int,
        args: Sequence[Value],
        higher: Higher,
        kept: tuple[Sequence[Value], Sequence[Any]] | None,
        cts: Sequence[Sequence[Value]],
    ) -> list[list[Value]]:
        """Coefficients of the results; `higher` are those of the arguments of the body, `cts` of the cotangents.

        `kept` is what the loop has kept, and its higher coefficients (None: zero); without it the loop runs again.
        """
        loop, t = self.loop, self.loop.tests
        a, k, n, m = loop.constants, loop.carries, len(loop.body.inputs), len(loop.body.outputs)
        active = tuple(w or i in higher for i, w in enumerate(self.wanted))
        lifted, active, flags = loop.lift(programs, order, active, self.seeded)
        new_args = [*args[:t], *loop.arrange_arguments(active, order, args[t:], higher)]
        in_value, in_higher = loop.positions_of(active, order, [a, k, n - a - k])
        out_value, out_higher = loop.positions_of(flags, order, [k, m - k])
        if kept is None:
            store = list(lifted(*new_args))[len(lifted.body.outputs) :]
        else:
            values, tangents = kept
            store = list(values[:k])
            for j in range(k):
                if flags[j]:
                    store += (
                        [zeros(values[j])] * order if tangents[j] is None else _filled(tangents[j], values[j], order)
                    )
            store += values[k:]
        wanted = [False] * len(lifted.body.inputs)
        for i, w in enumerate(self.wanted):
            for position in (in_value[i], *in_higher[i]) if w else ():
                wanted[position] = True
        seeds: dict[int, Value] = {}
        for j, series in zip([j for j, g in enumerate(self.seeded) if g], cts, strict=True):
            for position, ct in zip((out_value[j], *out_higher[j]), reversed(series), strict=True):
                if ct is not None:
                    seeds[position] = ct
        seeded_outputs = tuple(j in seeds for j in range(len(lifted.body.outputs)))
        back = make_reverse(lifted, tuple(wanted), seeded_outputs, programs)
        out = back(*store, *new_args, *[seeds[j] for j, g in enumerate(back.seeded) if g])
        position_of = {i: number for number, i in enumerate(i for i, w in enumerate(back.wanted) if w)}
        return [
            [out[position_of[p]] for p in reversed((in_value[i], *in_higher[i]))]
            for i, w in enumerate(self.wanted)
            if w
        ]

    def jvp(self, xs: Sequence[Value], dxs: Sequence[Value], trace: Any) -> tuple[Sequence[Value], Sequence[Value]]:
        series = self._series(
            [[x] if dx is None else [x, dx] for x, dx in zip(xs, dxs, strict=True)], 1, trace.programs
        )
        return [c[0] for c in series], [c[1] for c in series]

    def jet(self, series: Sequence[list[Value]], trace: Any) -> Sequence[list[Value]]:
        return self._series(series, trace.order, trace.programs)

    def _series(self, series: Sequence[list[Value]], order: int, programs: Any) -> list[list[Value]]:
        kept, args, cts = self.parts(series)
        active = active_series(args[self.loop.tests :])
        higher = {i: s[1:] for i, s in enumerate(args[self.loop.tests :]) if active[i]}
        moving = [s[1:] if any(c is not None for c in s[1:]) else None for s in kept]
        store = ([s[0] for s in kept], moving) if self.stored else None
        full = [[*ct, *[None] * (order + 1 - len(ct))] for ct in cts]
        return self._lift(programs, order, [s[0] for s in args], higher, store, full)

    def vmap(self, xs: Sequence[Value], mapped: Sequence[bool], trace: Any) -> Sequence[tuple[Value, bool]]:
        loop, t, size = self.loop, self.loop.tests, trace.size
        a, k = loop.constants, loop.carries
        kept, args, cts = self.parts(list(zip(xs, mapped, strict=True)))
        mapped_args = tuple(m for _, m in args)
        # every batch element has cotangents of its own, so what they belong to is batched too
        flags = [m or w for m, w in zip(mapped_args[t:], self.wanted, strict=True)]
        for j in range(k if self.stored else 0):
            flags[a + j] = flags[a + j] or kept[j][1]
        batched_loop, wanted, outs = loop.batched(trace.programs, size, (*mapped_args[:t], *flags), self.seeded)
        new_args = loop.stack_arguments(batched_loop, [x for x, _ in args], mapped_args, wanted, size)
        store = [with_batch_axis(x, m, wanted[t + a + j], size, 1) for j, (x, m) in enumerate(kept[:k])] + [
            x for x, _ in kept[k:]
        ]
        shift = batched_loop.constants - loop.constants  # a body that reads the condition has its constants first
        back = make_reverse(batched_loop, (False,) * shift + self.wanted, self.seeded, trace.programs, self.stored)
        walked = [j for j, g in enumerate(self.seeded) if g]
        kept_cts = [j for j, g in enumerate(back.seeded) if g]
        seeds = {
            j: with_batch_axis(x, m, True, size, 1 if j >= k else 0) for j, (x, m) in zip(walked, cts, strict=True)
        }
        assert all(outs[j] for j in kept_cts)
        out = back(*store, *new_args, *[seeds[j] for j in kept_cts])
        positions = [i - shift for i, w in enumerate(back.wanted) if w]
        results = {i: np.moveaxis(z, 1, 0) if i >= a + k else z for i, z in zip(positions, out, strict=True)}
        return [(results[i], True) for i, w in enumerate(self.wanted) if w]

    def save(
        self, xs: Sequence[Value], wanted: Sequence[bool], trace: Any
    ) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
        return tuple(self(*xs)), (trace.programs, tuple(xs))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        programs, values = xs
        kept, args, cts = self.parts(values)
        _, arg_flags, ct_flags = self.parts(wanted)
        loop, t = self.loop, self.loop.tests
        a, k, n, m = loop.constants, loop.carries, len(loop.body.inputs), len(loop.body.outputs)
        along = {i: [w] for i, w in zip([i for i, w in enumerate(self.wanted) if w], ct, strict=True) if w is not None}
        outputs = [j for j, g in enumerate(self.seeded) if g]
        lifted, active, flags = loop.lift(programs, 1, tuple(i in along for i in range(n)), self.seeded)
        new_args = [*args[:t], *loop.arrange_arguments(active, 1, args[t:], along)]
        out = list(lifted(*new_args))
        _, out_higher = loop.positions_of(flags, 1, [k, m - k])
        in_value, _ = loop.positions_of(active, 1, [a, k, n - a - k])
        ct_tangents = [out[out_higher[j][0]] if f else None for j, f in zip(outputs, ct_flags, strict=True)]
        arg_cts: list[Value] = [None] * n
        if any(arg_flags[t:]):
            positions = [in_value[i] for i in range(n) if arg_flags[t + i]]
            seeds = {out_higher[j][0]: c for j, c in zip(outputs, cts, strict=True)}
            back = make_reverse(
                lifted,
                tuple(i in positions for i in range(len(lifted.body.inputs))),
                tuple(j in seeds for j in range(len(lifted.body.outputs))),
                programs,
            )
            store = out[len(lifted.body.outputs) :]
            results = back(*store, *new_args, *[seeds[j] for j, g in enumerate(back.seeded) if g])
            by_position = dict(zip([i for i, w in enumerate(back.wanted) if w], results, strict=True))
            arg_cts = [by_position[in_value[i]] if f else None for i, f in enumerate(arg_flags[t:])]
        return [None] * len(kept) + [None] * t + arg_cts + ct_tangents

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        programs, values = xs
        _, args, cts = self.parts(values)
        _, d_args, d_cts = self.parts(dxs)
        higher = {i: [d] for i, d in enumerate(d_args[self.loop.tests :]) if d is not None}
        series = self._lift(programs, 1, args, higher, None, [[c, d] for c, d in zip(cts, d_cts, strict=True)])
        return [c[1] for c in series]


def _filled(coefficients: Sequence[Value], value: Value, order: int) -> list[Value]:
    return [
        zeros(value) if j >= len(coefficients) or coefficients[j] is None else coefficients[j] for j in range(order)
    ]


def _first_outputs(program: Program, count: int) -> Program:
    return Program(program.inputs, program.equations, program.outputs[:count], program.constants)


def _remembered(program: Program, make: Callable[[], Program]) -> Program:
    if "_advancing" not in program.__dict__:
        program.__dict__["_advancing"] = make()
    return program.__dict__["_advancing"]


class _Results:
    """Cotangents as they grow: carried, summed over the iterations, or one row for each iteration."""

    def __init__(self, op: CheckpointedReverse, carry: Sequence[Value], args: Sequence[Value], iterations: int) -> None:
        self.order = op.order
        types = [type_of(x) for x in args]
        constants, carries, arrays = self.order
        self.carry = [zeros(types[i])[()] if ct is None else ct for i, ct in zip(carries, carry, strict=True)]
        self.sums: list[Any] = [None] * len(constants)
        self.rows = [np.zeros((iterations, *inner(types[i]).shape), types[i].dtype) for i in arrays]
        self.types = [types[i] for i in constants]

    def take(self, row: int, cts: Sequence[Value]) -> None:
        """What an iteration gives: cotangents of the constants, carry and arrays."""
        c, k = len(self.sums), len(self.carry)
        for i, g in enumerate(cts[:c]):
            old = self.sums[i]
            if isinstance(old, np.ndarray):
                old += g
            else:
                self.sums[i] = np.array(g) if old is None else np.array(old + g)
        self.carry = list(cts[c : c + k])
        for stack, g in zip(self.rows, cts[c + k :], strict=True):
            stack[row] = g

    def finished(self) -> tuple[Value, ...]:
        sums = [zeros(t) if s is None else s for s, t in zip(self.sums, self.types, strict=True)]
        return (*[s[()] if not np.ndim(s) else s for s in sums], *self.carry, *self.rows)
