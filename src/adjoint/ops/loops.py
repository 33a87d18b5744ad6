"""`While`: a loop that runs as long as a condition holds.

Reverse mode keeps the residuals of every turn, however many there are.

The body may give ys, stacked as in a scan; their number of rows is known when the loop has run, so its type has a
symbolic size. Under vmap the lanes that have finished keep their carry, and their rows of ys are zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.control import Control, Derive, Flags, Guard, active_series, rearranged, stacked, zeros
from adjoint.ops.effects import guarded, has_effects, silent
from adjoint.ops.scan import Scan, ScanRecord, inner
from adjoint.program.evaluate import Evaluator
from adjoint.program.op import primitive
from adjoint.program.program import Program, interpret
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType, Size, Value, type_of


@primitive
class While(Control):
    """Arguments: constants of the condition, constants of the body, initial carry.

    Results: last carry, then stacked ys.
    """

    condition: Program
    body: Program
    condition_constants: int
    body_constants: int

    def programs(self) -> dict[str, Program]:
        return {"condition": self.condition, "body": self.body}

    def guarded(self, guard: Guard) -> tuple[Control, int | None]:
        body = guard(self.body)
        n = len(body.inputs) - 1
        body = rearranged(body, [n, *range(n)], range(len(body.outputs)))
        return While(self.condition, body, self.condition_constants, self.body_constants + 1), self.condition_constants

    @property
    def carries(self) -> int:
        return len(self.condition.inputs) - self.condition_constants

    def _split(self, values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        a, b = self.condition_constants, self.condition_constants + self.body_constants
        return list(values[:a]), list(values[a:b]), list(values[b:])

    def evaluate(self, *xs: Value) -> Value:
        test, constants, carry = self._split(xs)
        rows: list[list[Value]] = []
        goes_on, turn = Evaluator(self.condition), Evaluator(self.body)
        while bool(goes_on([*test, *carry])[0]):
            out = turn([*constants, *carry])
            carry = out[: self.carries]
            rows.append(out[self.carries :])
        types = self.body.output_types[self.carries :]
        ys = [stacked([r[j] for r in rows], t) for j, t in enumerate(types)]
        return (*carry, *ys)

    def result_type(self, *types: ArrayType) -> Any:
        carry = [ArrayType(t.shape, t.dtype) for t in self._split(types)[2]]
        turns = Size.fresh("turns")
        return (*carry, *[ArrayType((turns, *t.shape), t.dtype) for t in self.body.output_types[self.carries :]])

    def _closed(self, active: Flags, make: Derive) -> tuple[Program, Flags, Flags]:
        """Grow the active carries until the body maps active to active."""
        a = self.body_constants
        forced = active[a:] + (False,) * (len(self.body.outputs) - self.carries)
        while True:
            made, flags = make(active, forced)
            if flags[: self.carries] == active[a:]:
                return made, active, flags
            active = active[:a] + flags[: self.carries]
            forced = flags[: self.carries] + forced[self.carries :]

    def _widened_condition(self, extra: Sequence[ArrayType]) -> Program:
        """The condition, which does not look at the derivatives in the carry."""
        return record_program(
            lambda *flat: interpret(self.condition, flat[: len(self.condition.inputs)]),
            [*self.condition.input_types, *extra],
        )[0]

    def _derived(
        self,
        made: Program,
        active: Flags,
        flags: Flags,
        order: int,
        values: list[Value],
        higher: dict[int, list[Value]],
    ) -> tuple[list[Value], list[Any]]:
        """Run the loop with derivatives behind constants and carry; (values, derivatives) of the outputs."""
        a, n, m = self.body_constants, len(active), len(flags)
        movers = [i for i, f in enumerate(active) if f]
        place = {i: list(range(n + order * j, n + order * (j + 1))) for j, i in enumerate(movers)}
        inputs = [
            *range(a),
            *[e for i in movers if i < a for e in place[i]],
            *range(a, n),
            *[e for i in movers if i >= a for e in place[i]],
        ]
        out_movers = [j for j, f in enumerate(flags) if f]
        out_place = {j: list(range(m + order * k, m + order * (k + 1))) for k, j in enumerate(out_movers)}
        outputs = [
            *range(self.carries), *[e for j in out_movers if j < self.carries for e in out_place[j]],
            *range(self.carries, m), *[e for j in out_movers if j >= self.carries for e in out_place[j]],
        ]  # fmt: skip
        body = rearranged(made, inputs, outputs)
        test, constants, carry = self._split(values)
        d_constants = [d for i in movers if i < a for d in higher[i]]
        d_carry = [d for i in movers if i >= a for d in higher[i]]
        loop = While(
            self._widened_condition([type_of(d) for d in d_carry]), body, self.condition_constants, a + len(d_constants)
        )
        out = list(loop(*test, *constants, *d_constants, *carry, *d_carry))
        width = self.carries + order * sum(flags[: self.carries])
        head, tail = out[:width], out[width:]
        rest = iter([*head[self.carries :], *tail[m - self.carries :]])
        found = [head[j] if j < self.carries else tail[j - self.carries] for j in range(m)]
        return found, [[next(rest) for _ in range(order)] if f else None for f in flags]

    def jvp(self, xs: Sequence[Value], dxs: Sequence[Value], trace: Any) -> tuple[Sequence[Value], Sequence[Value]]:
        start = self.condition_constants
        active = tuple(dx is not None for dx in dxs[start:])
        made, active, flags = self._closed(active, lambda a, f: trace.programs.jvp(self.body, a, f))
        higher = {
            i: [zeros(xs[start + i]) if dxs[start + i] is None else dxs[start + i]] for i, f in enumerate(active) if f
        }
        values, found = self._derived(made, active, flags, 1, list(xs), higher)
        return values, [None if d is None else d[0] for d in found]

    def jet(self, series: Sequence[list[Value]], trace: Any) -> Sequence[list[Value]]:
        order, start = trace.order, self.condition_constants
        active = active_series(series[start:])
        made, active, flags = self._closed(active, lambda a, f: trace.programs.jet(self.body, a, order, f))
        higher = {
            i: [zeros(series[start + i][0]) if c is None else c for c in series[start + i][1 : order + 1]]
            for i, f in enumerate(active)
            if f
        }
        values, found = self._derived(made, active, flags, order, [s[0] for s in series], higher)
        return [[v, *([None] * order if d is None else d)] for v, d in zip(values, found, strict=True)]

    def vmap(self, xs: Sequence[Value], mapped: Sequence[bool], trace: Any) -> Sequence[tuple[Value, bool]]:
        size = trace.size
        test_mapped, constants_mapped, carry_mapped = (tuple(m) for m in self._split(mapped))
        made, closed, flags = self._closed(
            (*constants_mapped, *carry_mapped), lambda m, f: trace.programs.batched(self.body, m, size, f)
        )
        lanes_test = (*test_mapped, *closed[self.body_constants :])
        condition, (lanes_differ,) = trace.programs.batched(self.condition, lanes_test, size, (False,))
        if lanes_differ:
            return [(z, True) for z in self._masked(xs, mapped, trace)]
        test, constants, carry = self._split(xs)
        grown = [
            _stacked(x, m, c, size) for x, m, c in zip(carry, carry_mapped, closed[self.body_constants :], strict=True)
        ]
        out = While(condition, made, self.condition_constants, self.body_constants)(*test, *constants, *grown)
        return [
            (np.moveaxis(z, 1, 0) if f and j >= self.carries else z, f)
            for j, (z, f) in enumerate(zip(out, flags, strict=True))
        ]

    def _masked(self, xs: Sequence[Value], mapped: Sequence[bool], trace: Any) -> list[Value]:
        """Lanes finish at different turns: the loop runs while any goes on, and the others keep what they have."""
        size = trace.size
        test_mapped, constants_mapped, _ = (tuple(m) for m in self._split(mapped))
        every = (True,) * self.carries
        outputs = len(self.body.outputs)
        condition, _ = trace.programs.batched(self.condition, (*test_mapped, *every), size, (True,))
        watched = has_effects(self.body)
        mine, flags = (guarded(self.body), (True,)) if watched else (self.body, ())
        body, _ = trace.programs.batched(mine, (*constants_mapped, *every, *flags), size, (True,) * outputs)
        again, _ = trace.programs.batched(silent(self.condition), (*test_mapped, *every), size, (True,))
        a, b = self.condition_constants, self.body_constants

        def step(*flat: Value) -> list[Value]:
            going = interpret(again, [*flat[:a], *flat[a + b :]])[0]
            out = interpret(body, [*flat[a:], going] if watched else flat[a:])
            old = [*flat[a + b :], *[np.zeros(np.shape(y), type_of(y).dtype) for y in out[self.carries :]]]
            return [
                np.where(np.reshape(going, (size,) + (1,) * (np.ndim(o) - 1)), y, o)
                for y, o in zip(out, old, strict=True)
            ]

        test, constants, carry = self._split(xs)
        stacked = [_stacked(x, m, True, size) for x, m in zip(carry, self._split(mapped)[2], strict=True)]
        carry_types = [type_of(c) for c in stacked]
        any_lane, _ = record_program(
            lambda *flat: [np.any(interpret(condition, flat)[0])], [*map(type_of, test), *carry_types]
        )
        with np.errstate(all="ignore"):  # lanes that have finished warn of nothing
            masked, _ = record_program(step, [*map(type_of, test), *map(type_of, constants), *carry_types])
        out = While(any_lane, masked, a, a + b)(*test, *test, *constants, *stacked)
        return [np.moveaxis(z, 1, 0) if j >= self.carries else z for j, z in enumerate(out)]

    def save(
        self, xs: Sequence[Value], wanted: Sequence[bool], trace: Any
    ) -> tuple[tuple[Value, ...], tuple[Any, ...]]:
        record = WhileRecord(self, tuple(wanted), trace)
        out, going, stacked = record.run_forward(xs)
        residuals = record.gather(xs[self.condition_constants :], stacked)
        types = tuple(type_of(x) for x in xs)
        return tuple(out), (record, residuals, going, types, tuple(type_of(z) for z in out))

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        record, residuals, going, types, out_types = xs
        start = self.condition_constants
        found = record.backward((residuals[0], (*residuals[1], going)), types[start:], out_types, ct)
        return [None] * start + found

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        record, residuals, going, types, _ = xs
        start = self.condition_constants
        return record.push((residuals[0], (*residuals[1], going)), types[start:], dxs[start:])


def _stacked(x: Value, mapped: bool, want: bool, size: int) -> Value:
    return (
        x if mapped or not want else np.broadcast_to(x if hasattr(x, "shape") else np.asarray(x), (size, *np.shape(x)))
    )


class WhileRecord(ScanRecord):
    """A while loop read again as a scan over the turns that it took.

    A flag beside the residuals says which turns a lane really took.
    """

    def __init__(self, loop: While, wanted: Flags, trace: Any) -> None:
        self.loop = loop
        super().__init__(
            Scan(loop.body, loop.body_constants, loop.carries, None), wanted[loop.condition_constants :], trace
        )

    def run_forward(self, xs: Sequence[Value]) -> tuple[list[Value], Value, list[Value]]:
        """(outputs, the flag of each turn, stacked residuals)."""
        loop, n = self.loop, len(self.loop.body.outputs)

        def body(*flat: Value) -> list[Value]:
            return [*interpret(self.split.forward, flat), *[flat[i] for i in self.carried], np.ones((), bool)]

        program, _ = record_program(body, loop.body.input_types)
        out = While(loop.condition, program, loop.condition_constants, loop.body_constants)(*xs)
        return list(out[:n]), out[-1], list(out[n:-1])

    def backward(
        self, residuals: Any, types: Sequence[ArrayType], out_types: Sequence[ArrayType], ct: Sequence[Value]
    ) -> list[Value]:
        """Turns that a lane did not take pass its cotangents on unchanged."""
        scan, split, wanted = self.scan, self.split, self.wanted
        a, b = scan.constants, scan.constants + scan.carries
        constant, walked = residuals
        carry_in, const_in = [i for i in range(a, b) if wanted[i]], [i for i in range(a) if wanted[i]]
        ys = [j for j in range(scan.carries, len(out_types)) if split.active[j]]
        start = [zeros(types[i]) if ct[i - a] is None else ct[i - a] for i in carry_in] + [
            zeros(types[i]) for i in const_in
        ]
        if any(ct[j] is not None for j in ys):
            ct_ys = [zeros(out_types[j]) if ct[j] is None else ct[j] for j in ys]
        else:
            ct_ys = [_zero_rows(walked[-1], inner(out_types[j])) for j in ys]
        k, c, w = len(constant), len(start), len(walked)

        def body(*flat: Value) -> list[Value]:
            carry, walk = flat[k : k + c], flat[k + c : k + c + w]
            going = walk[-1]
            by_place = dict(zip(carry_in, carry, strict=False))
            seeds = [by_place[a + j] for j in range(scan.carries) if split.active[j]] + list(flat[k + c + w :])
            names = [i for i, f in enumerate(wanted) if f]
            found = dict(
                zip(names, interpret(split.backward(), [*self._residuals(flat[:k], walk[:-1]), *seeds]), strict=True)
            )
            new: list[Value] = [np.where(going, found[i], by_place[i]) for i in carry_in]
            sums = [
                s + np.where(going, found[i], np.zeros((), found[i].dtype))
                for s, i in zip(carry[len(carry_in) :], const_in, strict=True)
            ]
            return [*new, *sums]

        kinds = [*map(type_of, constant), *map(type_of, start), *[inner(type_of(x)) for x in (*walked, *ct_ys)]]
        program, _ = record_program(body, kinds)
        out = Scan(program, k, c, None, True)(*constant, *start, *walked, *ct_ys)
        found = dict(zip(carry_in + const_in, out, strict=True))
        return [found.get(i) for i in range(len(wanted))]

    def push(self, residuals: Any, types: Sequence[ArrayType], dxs: Sequence[Value]) -> list[Value]:
        """Turns that a lane did not take pass its tangents on unchanged."""
        scan, split, wanted = self.scan, self.split, self.wanted
        a, b = scan.constants, scan.constants + scan.carries
        constant, walked = residuals
        d_const = [zeros(types[i]) if dxs[i] is None else dxs[i] for i in range(a) if wanted[i]]
        d_carry = [zeros(types[i]) if dxs[i] is None else dxs[i] for i in range(a, b) if wanted[i]]
        k, c = len(constant) + len(d_const), len(d_carry)
        carry_in = [i - a for i in range(a, b) if wanted[i]]

        def body(*flat: Value) -> list[Value]:
            walk, old = flat[k + c :], flat[k : k + c]
            values = self._residuals(flat[: len(constant)], walk[:-1])
            found = interpret(split.push(), [*values, *flat[len(constant) : k], *old])
            by_place = dict(zip([j for j, f in enumerate(split.active) if f], found, strict=True))
            new = [by_place[j] if j in by_place else np.zeros_like(d) for j, d in zip(carry_in, old, strict=True)]
            return [
                *[np.where(walk[-1], n, o) for n, o in zip(new, old, strict=True)],
                *[by_place[j] for j in by_place if j >= scan.carries],
            ]

        kinds = [*map(type_of, (*constant, *d_const, *d_carry)), *[inner(type_of(x)) for x in walked]]
        program, _ = record_program(body, kinds)
        out = Scan(program, k, c, None)(*constant, *d_const, *d_carry, *walked)
        places = carry_in + [j for j, f in enumerate(split.active) if f and j >= scan.carries]
        found = dict(zip(places, out, strict=True))
        return [found.get(j) for j in range(len(split.active))]


def _zero_rows(like: Value, kind: ArrayType) -> Value:
    """Zeros of a type, one row for each row of `like`, whose number may be symbolic."""
    return np.multiply(np.reshape(like, (-1,) + (1,) * len(kind.shape)), np.zeros(kind.shape, kind.dtype))
