"""Scan, while and cond as native loops and branches.

A carry of few numbers lives in registers (on the stack, from where LLVM takes it). A larger one is updated in place
when the body reads it only element by element, and changes between two buffers otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from adjoint.compile import vectors
from adjoint.compile.attention import Watch
from adjoint.compile.emit import Emitter, Operand, lowers
from adjoint.compile.histories import Stacks, walk
from adjoint.compile.ir import FORESEEN, Value
from adjoint.compile.overwriting import takes_over, updates_in_place
from adjoint.compile.plan import Single
from adjoint.compile.products import wants_packing
from adjoint.compile.regions import may_cut, region
from adjoint.compile.runtime_sizes import open_axes
from adjoint.compile.symbolic_sizes import expected, is_found_later, plain
from adjoint.ops.checkpointing.unwritten import Undefined, Unwritten
from adjoint.ops.control.cond import Cond
from adjoint.ops.control.remat import Checkpoint
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.program.program import Atom, Equation, Program, Var

LEAST = 8  # iterations that threads share; of fewer, each is shared
IN_REGISTERS = 8  # elements of a carry that may live in registers: what is copied every time, one by one
UNKNOWN = 1e12  # iterations of a loop whose number is not known


def _in_registers(emitter: Emitter, body: Emitter, atoms: Sequence[Atom]) -> dict[Var, Value]:
    """Where a body reads its first inputs, which do not change: few numbers are copied beside the loop."""
    pointers: dict[Var, Value] = {}
    for position, (v, x) in enumerate(zip(body.program.inputs, atoms, strict=False)):
        pointers[v] = source = emitter.view(x).pointer
        nbytes = emitter.nbytes(v.type)
        if emitter.is_small(2 * nbytes):
            pointers[v] = emitter.allocate(nbytes)
            emitter.copy(pointers[v], source, v.type, whole=reads_whole(body, position))
    return pointers


def _copy_again(emitter: Emitter, body: Emitter, constants: dict[Var, Value]) -> dict[Var, Value]:
    """The same for a region, which has registers of its own."""
    pointers: dict[Var, Value] = {}
    for position, (v, source) in enumerate(constants.items()):
        nbytes = emitter.nbytes(v.type)
        if emitter.is_small(2 * nbytes):
            pointers[v] = emitter.allocate(nbytes)
            emitter.copy(pointers[v], source, v.type, whole=reads_whole(body, position))
    return pointers


class Carry:
    """One carried value: where it is read, where the body writes the next one."""

    def __init__(self, emitter: Emitter, body: Emitter, position: int, k: int, start: Atom, result: Var) -> None:
        self.emitter, self.kind = emitter, result.type
        self.begun = takes_over(emitter, start, result)
        self.result = emitter.pointer(result)
        nbytes = emitter.nbytes(self.kind)
        self.small = emitter.is_small(nbytes)
        self.unchanged = body.program.outputs[k] is body.program.inputs[position]
        self.whole = self.small and reads_whole(body, position)
        in_memory = not self.small or math.prod(self.kind.shape) > IN_REGISTERS
        self.in_place = self.unchanged or (in_memory and updates_in_place(body.plan, position, k))
        f = emitter.f
        if self.small or self.in_place:
            self.current = emitter.allocate(nbytes) if self.small else self.result
            self.next = self.current if self.in_place else emitter.allocate(nbytes)
            self._begin(start, self.current)
            return
        self.spare = emitter.allocate(nbytes)
        self._begin(start, self.result)
        self._now, self._then = f.allocate("ptr", align=8), f.allocate("ptr", align=8)
        f.store(self.result, self._now)
        f.store(self.spare, self._then)

    def _begin(self, start: Atom, buffer: Value) -> None:
        if self.begun:
            return
        source = self.emitter.view(start)
        if source.pointer.text == buffer.text:  # a loop inside a loop, which updates the same memory
            return
        if source.dtype == self.kind.dtype:
            self.emitter.copy(buffer, source.pointer, self.kind, whole=self.whole)
            return
        f = self.emitter.f  # a number of another type
        value = vectors.load(f, source.dtype, source.pointer, f.index(0), 1, 1)
        converted = self.emitter.convert(value, source.dtype, self.kind.dtype)
        vectors.store(f, self.kind.dtype, converted, buffer, f.index(0), 1, 1)

    def enter(self) -> tuple[Value, Value]:
        """(where this iteration reads it, where it writes the next one)."""
        if self.small or self.in_place:
            return self.current, self.next
        f = self.emitter.f
        return f.load("ptr", self._now, 8), f.load("ptr", self._then, 8)

    def advance(self, now: Value, then: Value) -> None:
        """The iteration is over."""
        if self.in_place:
            return
        if self.small:
            self.emitter.copy(self.current, self.next, self.kind, whole=self.whole)
            return
        self.emitter.f.store(then, self._now)
        self.emitter.f.store(now, self._then)

    def leave(self) -> None:
        """The loop is over: the last value goes where the result is expected."""
        emitter, f = self.emitter, self.emitter.f
        if self.small:
            emitter.copy(self.result, self.current, self.kind, whole=self.whole)
        elif not self.in_place:
            now = f.load("ptr", self._now, 8)
            with f.when(f.icmp("ne", now, self.result)):
                emitter.copy(self.result, now, self.kind)
            emitter.free(self.spare)


def reads_whole(body: Emitter, position: int) -> bool:
    """Whether a body reads one of its inputs as a vector, element after element, and nowhere a single one of them."""
    old = body.program.inputs[position]
    steps = [step for step in body.plan.steps if old in body.plan.reads(step)]
    graphs = [step.graph for step in steps if not isinstance(step, Single) and step.graph is not None]
    return len(graphs) == len(steps) and all(n.axes for g in graphs for n in g.nodes if n.var is old)


@lowers(Scan, any_size=True)
def write_scan(emitter: Emitter, op: Scan, eq: Equation) -> None:
    """carry, y = body(constants, carry, x) for every row of the xs."""
    f, body_program = emitter.f, op.body
    a, b = op.constants, op.constants + op.carries
    atoms = eq.inputs
    length = op.length if op.length is not None else atoms[b].type.shape[0]
    body = Emitter(emitter.shared, body_program, emitter.times * max(expected(length), 1))
    inputs = body_program.inputs
    constants = _in_registers(emitter, body, atoms[:a])
    carries = [Carry(emitter, body, a + k, k, atoms[a + k], eq.outputs[k]) for k in range(op.carries)]
    buffers = _pack(emitter, body, constants)
    arrays = list(zip(inputs[b:], [(x, emitter.view(x).pointer) for x in atoms[b:]], strict=True))
    stop = emitter.number(length)
    stacks = Stacks(emitter, eq, body, op.carries, stop)
    _hand_levels(emitter, body, inputs[:b], atoms[:b])
    known = dict(emitter.shared.sizes)

    def iterate(first: Value, last: Value) -> None:
        with f.loop(first, last) as i:
            row = f.sub(f.sub(stop, i), f.index(1)) if op.reverse else i
            pointers = {**constants, **walk(emitter, body, arrays, row)}
            targets = stacks.enter(i, row)
            states = [c.enter() for c in carries]
            for k, (now, then) in enumerate(states):
                pointers[inputs[a + k]] = now
                if not carries[k].unchanged:
                    targets[k] = then
            watch = Watch(emitter, body.times)
            body.emit(pointers, targets)
            for carry, (now, then) in zip(carries, states, strict=True):
                carry.advance(now, then)
            stacks.advance()
            watch.write(length if type(length) is int else UNKNOWN)

    is_free = not op.carries and not stacks.storages and not is_found_later(length)  # in any order
    if is_free and may_cut(emitter) and expected(length) >= LEAST:
        with region(emitter, length, None, f"loop of {plain(length)} iterations") as one:
            constants.update(_copy_again(emitter, body, constants))
            iterate(one.first, one.last)
    else:
        iterate(f.index(0), stop)
    emitter.shared.sizes = known
    for carry in carries:
        carry.leave()
    stacks.leave(stop)
    for buffer in buffers:
        emitter.free(buffer)
    emitter.shared.steps.append(f"loop of {plain(length)} iterations")


def _hand_levels(emitter: Emitter, inner: Emitter, names: Sequence[Var], atoms: Sequence[Atom]) -> None:
    """What is known of rows of different lengths, inside too."""
    for v, x in zip(names, atoms, strict=True):
        if x in emitter.levels:
            inner.levels[v], inner.begins[v] = emitter.levels[x], emitter.begins[x]


def _pack(emitter: Emitter, body: Emitter, constants: dict[Var, Value]) -> list[Value]:
    """Lay out anew, before the loop, matrices that the body multiplies with in every iteration."""
    buffers: list[Value] = []
    f = emitter.f
    for step in body.plan.steps:
        wanted = wants_packing(step.equation, body.plan.view) if isinstance(step, Single) else None
        if wanted is None or not isinstance(step, Single):
            continue
        k, view = wanted
        if view.base not in constants:
            continue
        kind = step.equation.inputs[k].type
        (rows, columns), (down, across) = kind.shape, view.strides
        source = emitter.offset(constants[view.base], kind.dtype, view.offset)
        buffer = emitter.allocate(emitter.nbytes(kind))
        strides = (1, rows) if k == 0 else (columns, 1)
        with f.loop(f.index(0), f.index(rows)) as i, f.loop(f.index(0), f.index(columns)) as j:
            position = f.add(f.mul(i, f.index(down)), f.mul(j, f.index(across)))
            at = f.add(f.mul(i, f.index(strides[0])), f.mul(j, f.index(strides[1])))
            vectors.store(f, kind.dtype, vectors.load(f, kind.dtype, source, position, 1, 1), buffer, at, 1, 1)
        body.packed[step.equation, k] = Operand(buffer, strides, kind)
        buffers.append(buffer)
    return buffers


@lowers(While, any_size=True)
def write_while(emitter: Emitter, op: While, eq: Equation) -> None:
    """carry = body(constants, carry) as long as condition(constants, carry) holds."""
    f = emitter.f
    a, b = op.condition_constants, op.condition_constants + op.body_constants
    body = Emitter(emitter.shared, op.body, emitter.times * 100)
    condition = Emitter(emitter.shared, op.condition, emitter.times * 100)
    test = _in_registers(emitter, condition, eq.inputs[:a])
    constants = _in_registers(emitter, body, eq.inputs[a:b])
    carries = [
        Carry(emitter, body, op.body_constants + k, k, eq.inputs[b + k], eq.outputs[k]) for k in range(op.carries)
    ]
    stacks = Stacks(emitter, eq, body, op.carries, None)
    _hand_levels(emitter, condition, op.condition.inputs[:a], eq.inputs[:a])
    _hand_levels(emitter, body, op.body.inputs[: op.body_constants], eq.inputs[a:b])
    known = dict(emitter.shared.sizes)
    answer = emitter.allocate(1)
    number = f.allocate("i64", align=8)
    f.store(f.index(0), number)
    head, iteration, done = (f.new_block(h) for h in ("while", "iteration", "done"))
    f.jump(head)
    f.begin(head)
    states = [c.enter() for c in carries]
    now = {v: s[0] for v, s in zip(op.condition.inputs[a:], states, strict=True)}
    condition.emit({**test, **now}, {0: answer})
    f.branch(vectors.load(f, op.condition.outputs[0].type.dtype, answer, f.index(0), 1, 1), iteration, done)
    f.begin(iteration)
    now = {v: s[0] for v, s in zip(op.body.inputs[op.body_constants :], states, strict=True)}
    count = f.load("i64", number, 8)
    targets = stacks.enter(count, count)
    targets.update((k, s[1]) for k, s in enumerate(states) if not carries[k].unchanged)
    watch = Watch(emitter, body.times)
    body.emit({**constants, **now}, targets)
    for carry, (old, new) in zip(carries, states, strict=True):
        carry.advance(old, new)
    stacks.advance()
    watch.write(UNKNOWN)
    f.store(f.add(count, f.index(1)), number)
    f.jump(head)
    f.begin(done)
    emitter.shared.sizes = known
    for carry in carries:
        carry.leave()
    stacks.leave(f.load("i64", number, 8))
    emitter.shared.steps.append("while loop")


@lowers(Cond, any_size=True)
def write_cond(emitter: Emitter, op: Cond, eq: Equation) -> None:
    """The branch that an index chooses; indices beyond the ends choose the first or the last."""
    f = emitter.f
    chosen = emitter.view(eq.inputs[0])
    index = vectors.load(f, chosen.dtype, chosen.pointer, f.index(0), 1, 1)
    index = f.cast("zext" if chosen.dtype.kind in "bu" else "sext", index, "i64")
    known = dict(emitter.shared.sizes)
    done = f.new_block("done")
    for x in eq.inputs[1:]:
        emitter.view(x)  # in memory, whichever branch is taken
    for v in eq.outputs:
        emitter.pointer(v)
    for k, program in enumerate(op.branches):
        last = k == len(op.branches) - 1
        other = f.new_block("branch")
        if not last:
            mine = f.new_block("branch")
            f.branch(f.icmp("sle", index, f.index(k)), mine, other, FORESEEN)
            f.begin(mine)
        inline(emitter, program, eq.inputs[1:], eq.outputs, in_branch=True)
        emitter.shared.sizes = dict(known)
        f.jump(done)
        if not last:
            f.begin(other)
    f.begin(done)
    emitter.shared.steps.append(f"cond of {len(op.branches)} branches")


@lowers(Checkpoint, any_size=True)
def write_checkpoint(emitter: Emitter, op: Checkpoint, eq: Equation) -> None:
    """Nothing is left to recompute in a program that is final: its equations, as they are."""
    (program,) = op.programs().values()
    inline(emitter, program, eq.inputs, eq.outputs)


@lowers(Undefined)
def leave_undefined(emitter: Emitter, op: Undefined, eq: Equation) -> None:
    """Whoever reads it finds what is there: memory that is taken here, before the loops of its readers begin."""
    if eq.outputs[0] in emitter.plan.uses:
        emitter.pointer(eq.outputs[0])


@lowers(Unwritten)
def write_nothing(emitter: Emitter, op: Unwritten, eq: Equation) -> None:
    """A buffer: pages of memory are taken when they are written to."""
    emitter.pointer(eq.outputs[0])


def inline(
    emitter: Emitter, program: Program, atoms: Sequence[Atom], results: Sequence[Var], in_branch: bool = False
) -> None:
    """Write a program inside another, from memory into memory."""
    operands = [emitter.view(x).pointer for x in atoms]
    given = dict(zip(program.inputs, operands, strict=True))
    there = {  # what it hands on as it is, in the very memory where it is wanted
        k
        for k, (a, v) in enumerate(zip(program.outputs, results, strict=True))
        if isinstance(a, Var) and a in given and v in emitter.pointers and given[a].text == emitter.pointers[v].text
    }
    nothing = {eq.outputs[0] for eq in program.equations if isinstance(eq.op, Undefined)}
    there.update(k for k, a in enumerate(program.outputs) if a in nothing)
    inner = Emitter(emitter.shared, program, emitter.times, there)
    inner.in_branch = in_branch or emitter.in_branch
    _hand_levels(emitter, inner, program.inputs, atoms)
    found = {k for k, v in enumerate(results) if open_axes(v.type)}  # in memory that the program itself finds
    outputs = [inner.plan.aliases.get(k, a) for k, a in enumerate(program.outputs)]
    inner.given = {outputs[k]: emitter.given[results[k]] for k in found if results[k] in emitter.given}  # type: ignore[misc]
    targets = {k: emitter.pointer(v) for k, v in enumerate(results) if k not in found and k not in there}
    inner.emit(given, targets)
    for k in found:
        out, v = outputs[k], results[k]
        emitter.pointers[v] = inner.pointers[out]  # type: ignore[index]
        tables = ("levels", "begins", "extents")
        for inside, here in [(getattr(inner, name), getattr(emitter, name)) for name in tables]:
            if out in inside:
                here[v] = inside[out]  # type: ignore[index,assignment]
