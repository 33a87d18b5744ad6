"""Loops with checkpoints, and the backward passes through them, written as plain loops with buffers for the states.

    CheckpointedScan        one loop; each iteration writes its state into a row of the buffer
    CheckpointedWhile       the same; the row is chosen by levels (see `adjoint.ops.checkpointing.schedule.Online`)
    CheckpointedReverse     for each iteration, from the last to the first:
                                while the state before it is not in the topmost slot:
                                    l iterations on from the topmost slot, into the next one
                                reverse the iteration; the topmost slot is free again
    Reversible              its layers

l comes from a formula (or a table), so no schedule stands in the program. To be applied when no transformation follows.
"""

# The rules are written in plain NumPy on values that are being recorded.
# pyright: basic

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ops.checkpointing.chain import Reversible
from adjoint.ops.checkpointing.reverse import CheckpointedReverse
from adjoint.ops.checkpointing.scan import CheckpointedScan, CheckpointedWhile
from adjoint.ops.checkpointing.schedule import FIRST, CheckpointsAt, Halving, Plan, Recompute
from adjoint.ops.checkpointing.unwritten import Unwritten
from adjoint.ops.control.base import rearranged, zeros
from adjoint.ops.control.counted_loop import inner
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Program, Var, interpret
from adjoint.program.record import record_program
from adjoint.program.rule_table import RuleTable
from adjoint.program.trace import live_trace
from adjoint.program.types import Value, type_of

INT = np.int64

# (primitive, arguments) → results, by plain loops
EXPANSIONS: RuleTable[Callable[[Any, Sequence[Value]], list[Value]]] = RuleTable("loops that keep states")
PLANS: RuleTable[Callable[[Any], Plan]] = RuleTable("plans of checkpoints")
PLAIN: RuleTable[Callable[[Any], Scan | While]] = RuleTable("loops without their states")


def expand_checkpoints(program: Program) -> Program:
    """The program with such loops written out."""
    if not any(eq.op in EXPANSIONS for eq in program.equations):
        return program
    instead: dict[Var, Atom] = {}
    constants = dict(program.constants)
    kept: list[Equation] = []

    def read(atom: Atom) -> Atom:
        return instead.get(atom, atom) if isinstance(atom, Var) else atom

    changed = False
    for eq in _without_files(program):
        write = EXPANSIONS.get(eq.op)
        inputs = tuple(map(read, eq.inputs))
        if write is None or _is_on_disk(eq.op):
            changed = changed or eq not in program.equations
            kept.append(eq if inputs == eq.inputs else dataclasses.replace(eq, inputs=inputs))
            continue
        changed = True
        body, _ = record_program(lambda *xs, write=write, op=eq.op: write(op, xs), [a.type for a in inputs])
        here: dict[Var, Atom] = dict(zip(body.inputs, inputs, strict=True))
        constants.update(body.constants)
        for equation in body.equations:
            operands = tuple(here.get(a, a) if isinstance(a, Var) else a for a in equation.inputs)
            kept.append(Equation(equation.op, operands, equation.outputs, eq.location, eq.scope, eq.quiet, eq.pulled))
        instead.update(
            (v, here.get(a, a) if isinstance(a, Var) else a) for v, a in zip(eq.outputs, body.outputs, strict=True)
        )
    return Program(program.inputs, tuple(kept), tuple(map(read, program.outputs)), constants) if changed else program


PLANS.update(
    {
        CheckpointedScan: lambda op: op.checkpoint,
        CheckpointedWhile: lambda op: op.checkpoint,
        CheckpointedReverse: lambda op: op.loop.checkpoint,
    }
)


def _is_on_disk(op: Op) -> bool:
    """Whether a loop keeps its states in files."""
    plan = PLANS.get(op)
    return plan is not None and plan(op).disk is not None


def _without_files(program: Program) -> list[Equation]:
    """States in files are not passed from one equation to another: the backward pass makes them itself."""
    equations: list[Equation] = []
    for eq in program.equations:
        op = eq.op
        if isinstance(op, CheckpointedReverse) and op.stored and _is_on_disk(op):
            _, args, cts = op.parts(eq.inputs)
            stretch = None if op.loop.has_condition else _stretch(op)
            op = dataclasses.replace(op, stored=False, stretch=stretch)
            eq = dataclasses.replace(eq, op=op, inputs=(*args, *cts))
        equations.append(eq)
    read = {a for eq in equations for a in eq.inputs} | set(program.outputs)
    for position, eq in enumerate(equations):
        plain = PLAIN.get(eq.op)
        if plain is not None and _is_on_disk(eq.op):
            op = plain(eq.op)
            n = len(op.body.outputs)
            if not read & set(eq.outputs[n:]):
                equations[position] = dataclasses.replace(eq, op=op, outputs=eq.outputs[:n])
    return equations


@PLAIN.rule(CheckpointedScan)
def plain_scan(op: CheckpointedScan) -> Scan:
    return Scan(op.body, op.constants, op.carries, op.length, op.reverse)


@PLAIN.rule(CheckpointedWhile)
def plain_while(op: CheckpointedWhile) -> While:
    return While(op.condition, op.body, op.condition_constants, op.body_constants)


def _stretch(op: CheckpointedReverse) -> Program:
    """(first iteration, how many, constants, state, arrays) → state after them."""
    loop = op.loop
    a, k = loop.constants, loop.carries
    advance = op.advancing()

    def run(start: Value, count: Value, *flat: Value) -> list[Value]:
        return _advance(loop, advance, flat[:a], flat[a : a + k], flat[a + k :], start, count)

    types = loop.body.input_types
    length = loop.length
    arrays = [dataclasses.replace(t, shape=(length, *t.shape)) for t in types[a + k :]]
    whole = type_of(INT(0))
    return record_program(run, [whole, whole, *types[: a + k], *arrays])[0]


def repeat(going: Callable[..., Value], step: Callable[..., Sequence[Value]], carry: Sequence[Value]) -> list[Value]:
    """while going(*carry): carry = step(*carry)."""
    types = [dataclasses.replace(type_of(c), weak=False) for c in carry]
    condition, test = record_program(lambda *state: [going(*state)], types)
    body, constants = record_program(lambda *state: list(step(*state)), types)
    n = len(carry)
    condition, body = (
        rearranged(p, [*range(n, len(p.inputs)), *range(n)], range(len(p.outputs))) for p in (condition, body)
    )
    return list(While(condition, body, len(test), len(constants))(*test, *constants, *carry))


def _scan(
    body: Callable[..., list[Value]],
    types: Sequence[Any],
    loop: Any,
    constants: Sequence[Value],
    carry: Sequence[Value],
    arrays: Sequence[Value],
    reverse: bool,
) -> list[Value]:
    """A loop with as many iterations as another one."""
    program, captured = record_program(body, types)
    n = len(types)
    program = rearranged(program, [*range(n, len(program.inputs)), *range(n)], range(len(program.outputs)))
    scan = Scan(program, len(captured) + len(constants), len(carry), loop.length, reverse)
    return list(scan(*captured, *constants, *carry, *arrays))


def _advance(
    loop: Any,
    advance: Program,
    constants: Sequence[Value],
    state: Sequence[Value],
    arrays: Sequence[Value],
    start: Value,
    count: Value,
) -> list[Value]:
    """The state `count` iterations after iteration `start`."""

    def step(i: Value, *state: Value) -> list[Value]:
        row = loop.length - 1 - i if loop.reverse else i
        return [i + 1, *interpret(advance, [*constants, *state, *[x[row] for x in arrays]])]

    end = start + count
    return repeat(lambda i, *_: i < end, step, [start + INT(0), *state])[1:]


def _table(numbers: Sequence[int]) -> Value:
    """Integers that are read at positions which are known later."""
    trace = live_trace()
    assert trace is not None
    return trace.constant(np.array(numbers, INT))


def _rows(state: Sequence[Value], count: int) -> list[Value]:
    """Buffers for so many states."""
    return [Unwritten(count)(x) for x in state]


def _put(stacks: Sequence[Value], row: Value, state: Sequence[Value]) -> None:
    for stack, value in zip(stacks, state, strict=True):
        stack[row] = value


@EXPANSIONS.rule(CheckpointedScan)
def write_checkpointed_scan(op: CheckpointedScan, xs: Sequence[Value]) -> list[Value]:
    constants, carry, arrays = op.split(xs)
    positions = op.checkpoint.stored(op.length)
    slots, k, last = op.checkpoint.capacity(op.length), op.carries, len(positions) - 1
    stored = _table(positions)

    def body(*flat: Value) -> list[Value]:
        held, (iteration, number), rest = (
            flat[: op.constants],
            flat[op.constants : op.constants + 2],
            flat[op.constants + 2 :],
        )
        stacks, state, scanned = list(rest[:k]), rest[k : 2 * k], rest[2 * k :]
        here = (iteration == stored[np.minimum(number, last)]) & (number <= last) if last else iteration == 0
        _put(stacks, np.where(here, number, slots), state)
        out = interpret(op.body, [*held, *state, *scanned])
        return [iteration + 1, np.where(here, number + 1, number), *stacks, *out]

    start = [INT(0), INT(0), *_rows(carry, slots + 1), *carry]
    types = [*map(type_of, constants), *map(type_of, start), *[inner(type_of(x)) for x in arrays]]
    out = _scan(body, types, op, constants, start, arrays, op.reverse)
    return [*out[2 + k :], *out[2 : 2 + k]]


@EXPANSIONS.rule(CheckpointedWhile)
def write_checkpointed_while(op: CheckpointedWhile, xs: Sequence[Value]) -> list[Value]:
    tests, constants, carry = op.parts(xs)
    n, k = op.slots + 1, op.carries

    def step(positions: Value, levels: Value, rows: Value, count: Value, iteration: Value, *rest: Value) -> list[Value]:
        stacks, state = list(rest[:k]), rest[k:]
        full = count >= n
        gone = _given_up(levels, full)
        last = gone == n - 1
        level = np.where(full, np.where(last, levels[n - 1] + 1, 0), np.where(count == 0, FIRST, 0))
        row = np.where(full, rows[gone], count)
        positions, levels, rows = _closed(gone, full, positions, levels, rows)
        at = np.minimum(count, n - 1)
        positions[at], levels[at], rows[at] = iteration, level, row
        _put(stacks, row, state)
        out = interpret(op.body, [*constants, *state])
        return [positions, levels, rows, np.minimum(count + 1, n), iteration + 1, *stacks, *out]

    none = np.zeros(n, INT)
    start = [none, none, np.arange(n, dtype=INT), INT(0), INT(0), *_rows(carry, n), *carry]
    out = repeat(lambda *s: interpret(op.condition, [*tests, *s[-k:]])[0], step, start)
    positions, _, rows, count, iterations = out[:5]
    return [*out[5 + k :], *out[5 : 5 + k], positions, rows, count, iterations]


def _given_up(levels: Value, full: Value) -> Value:
    """The first state but one that has a later one of a higher level, or else the last; nothing is read before all
    slots are taken."""
    last = np.shape(levels)[0] - 1

    def look(i: Value, highest: Value, gone: Value) -> list[Value]:
        level = levels[i]
        return [i - 1, np.maximum(highest, level), np.where(level < highest, i, gone)]

    start = [np.where(full, INT(last - 1), INT(0)), levels[last], INT(last)]
    return repeat(lambda i, highest, gone: i > 0, look, start)[2]


def _closed(gone: Value, full: Value, *columns: Value) -> list[Value]:
    """Columns without a row that was given up: those behind it move up."""
    last = np.shape(columns[0])[0] - 1

    def move(i: Value, *columns: Value) -> list[Value]:
        for column in columns:
            column[i] = column[i + 1]
        return [i + 1, *columns]

    return repeat(lambda i, *_: i < last, move, [np.where(full, gone, INT(last)), *columns])[1:]


@EXPANSIONS.rule(CheckpointedReverse)
def write_reverse(op: CheckpointedReverse, xs: Sequence[Value]) -> list[Value]:
    return _Reversal(op, xs).run()


@EXPANSIONS.rule(Reversible)
def write_reversible(op: Reversible, xs: Sequence[Value]) -> list[Value]:
    return op.unroll(xs, interpret)


class _Reversal:
    """The loops of a backward pass."""

    def __init__(self, op: CheckpointedReverse, xs: Sequence[Value]) -> None:
        store, args, cts = op.parts(xs)
        self.op, self.loop, self.plan = op, op.loop, op.loop.checkpoint
        self.constants, _, self.arrays = self.loop.split(args[self.loop.tests :])
        self.k = self.loop.carries
        self.stacks, numbers = store[: self.k], store[self.k :]
        self.advance = op.advancing()
        if self.loop.has_condition:
            self.slots, self.table = self.plan.capacity(0), None
            self.positions, self.rows, count, self.iterations = numbers
            self.top = count - 1
        else:
            self.iterations: Any = INT(self.loop.length)
            self.slots = self.plan.capacity(self.loop.length)
            self._known_positions()
        carried, self.ct_ys = op.carried(cts)
        wanted = [self.loop.body.input_types[i] for i in op.order[1]]
        self.cts = [zeros(t) if ct is None else ct for ct, t in zip(carried, wanted, strict=True)]
        self.sums = [zeros(type_of(self.constants[i])) for i in op.order[0]]

    def _known_positions(self) -> None:
        length = self.loop.length
        positions = list(self.plan.stored(length))
        rows = [*range(len(positions)), self.slots, *range(len(positions), self.slots)]
        positions += [] if positions[-1] == length - 1 else [length - 1]
        self.top: Any = INT(len(positions) - 1)
        self.positions = _table([*positions, *[0] * (self.slots + 1 - len(positions))])
        self.rows = _table(rows) if rows != sorted(rows) else None
        table = self.plan.table(length)
        self.table = None if table is None else _table([*table[len(self.plan.stored(length)) - 1 :], 0])

    def row(self, slot: Value) -> Value:
        """Where the state of a slot is."""
        return slot if self.rows is None else self.rows[slot]

    def run(self) -> list[Value]:
        """Cotangents of constants, carry and arrays."""
        state = [self.positions, self.top, INT(0), self.iterations, *self.sums, *self.cts, *self.stacks]
        if self.loop.has_condition:
            out = repeat(lambda *s: s[3] > 0, lambda *s: self._reverse_iteration(list(s), [], []), state)
            rows = []
        else:
            count = len(self.arrays)
            scanned = [*self.arrays, *self.ct_ys]
            types = [*map(type_of, state), *[inner(type_of(x)) for x in scanned]]

            def body(*flat: Value) -> list[Value]:
                own, rows_read = list(flat[: len(state)]), flat[len(state) :]
                return self._reverse_iteration(own, rows_read[:count], rows_read[count:])

            flat = _scan(body, types, self.loop, [], state, scanned, not self.loop.reverse)
            out, rows = flat[: len(state)], flat[len(state) :]
        return [*out[4 : 4 + len(self.sums) + len(self.cts)], *rows]

    def _reverse_iteration(self, state: list[Value], scanned: Sequence[Value], ct_rows: Sequence[Value]) -> list[Value]:
        """Have the state before the last iteration that is left, and take the iteration backwards."""
        s, c = len(self.sums), len(self.cts)
        positions, top, used, end = state[:4]
        sums, cts, stacks = state[4 : 4 + s], state[4 + s : 4 + s + c], state[4 + s + c :]
        descended = repeat(
            lambda positions, top, *_: positions[top] < end - 1,
            lambda *own: self._descend(end, *own),
            [positions, top, used, *stacks],
        )
        positions, top, used, stacks = descended[0], descended[1], descended[2], descended[3:]
        row = self.row(top)
        cotangents = interpret(
            self.op.reverse_step, [*self.constants, *[x[row] for x in stacks], *scanned, *cts, *ct_rows]
        )
        new_sums = [old + g for old, g in zip(sums, cotangents[:s], strict=True)]
        return [positions, top - 1, used, end - 1, *new_sums, *cotangents[s : s + c], *stacks, *cotangents[s + c :]]

    def _descend(self, end: Value, positions: Value, top: Value, used: Value, *stacks: Value) -> list[Value]:
        """From the topmost slot some iterations on, into the next one."""
        start, slots = positions[top], self.slots - top
        far, used = self._distance(end - start, slots, used)
        row = self.row(top)
        state = _advance(self.loop, self.advance, self.constants, [x[row] for x in stacks], self.arrays, start, far)
        top = top + 1
        positions[top] = start + far
        _put(stacks, self.row(top), state)
        return [positions, top, used, *stacks]

    def _distance(self, iterations: Value, slots: Value, used: Value) -> tuple[Value, Value]:
        """How far on the next state is kept."""
        plan = self.plan
        if isinstance(plan, Recompute | CheckpointsAt):
            return iterations - 1, used
        alone = slots == 1
        if isinstance(plan, Halving):
            return np.where(alone, iterations - 1, iterations // 2), used
        if self.table is not None:
            return np.where(alone, iterations - 1, self.table[used]), np.where(alone, used, used + 1)

        def larger(r: Value, before: Value, reach: Value) -> list[Value]:
            return [r + 1, reach, reach * (slots + r + 1) // (r + 1)]

        one = INT(1)
        r, before, _ = repeat(lambda r, before, reach: (reach < iterations) & (slots > 1), larger, [INT(0), one, one])
        within = np.maximum(slots + r - 1, 1)  # no division by zero where the result is not used
        return np.where(alone, iterations - 1, np.minimum(before, iterations - before * slots // within)), used
