"""Scan, while and cond as native loops and branches.

A carry of few numbers lives in registers (on the stack, from where LLVM takes it). A larger one is updated in place
when the body reads it only element by element, and changes between two buffers otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.compile import vectors
from adjoint.compile.callbacks import Watch
from adjoint.compile.emit import Block, Operand, lowers
from adjoint.compile.ir import Value
from adjoint.compile.plan import Single
from adjoint.compile.products import wants_packing
from adjoint.compile.symbolic_sizes import plain
from adjoint.compile.views import identity, linear, strides_of
from adjoint.ops.arrays.index import ScatterSet
from adjoint.ops.control.base import Cond
from adjoint.ops.control.remat import Checkpoint
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.program.types import Size

UNKNOWN = 1e12  # turns of a loop that ends when it ends


def _in_registers(block: Block, atom: Atom, kind: Any) -> Value:
    """Where a loop reads something that does not change: few numbers are copied beside the loop."""
    source = block.view(atom).pointer
    if any(isinstance(n, Size) for n in kind.shape):
        return source
    nbytes = block.nbytes(kind)
    if not block.is_small(2 * nbytes):
        return source
    room = block.room(nbytes)
    block.copy(room, source, kind)
    return room


class Carry:
    """One carried value: where it is read, where the body writes the next one."""

    def __init__(self, block: Block, body: Block, position: int, k: int, start: Atom, result: Var) -> None:
        self.block, self.kind = block, result.type
        self.begun = takes_over(block, start, result)
        self.result = block.pointer(result)
        nbytes = block.nbytes(self.kind)
        self.small = block.is_small(nbytes)
        self.unchanged = body.program.outputs[k] is body.program.inputs[position]
        self.in_place = self.unchanged or (not self.small and updates_in_place(body, position, k))
        f = block.f
        if self.small or self.in_place:
            self.current = block.room(nbytes) if self.small else self.result
            self.next = self.current if self.in_place else block.room(nbytes)
            self._begin(start, self.current)
            return
        self.spare = block.room(nbytes)
        self._begin(start, self.result)
        self._now, self._then = f.allocate("ptr", align=8), f.allocate("ptr", align=8)
        f.store(self.result, self._now)
        f.store(self.spare, self._then)

    def _begin(self, start: Atom, room: Value) -> None:
        if self.begun:
            return
        source = self.block.view(start)
        if source.pointer.text == room.text:  # a loop inside a loop, which updates the same memory
            return
        if source.dtype == self.kind.dtype:
            self.block.copy(room, source.pointer, self.kind)
            return
        f = self.block.f  # a number of another type
        value = vectors.load(f, source.dtype, source.pointer, f.index(0), 1, 1)
        converted = self.block.converted(value, source.dtype, self.kind.dtype)
        vectors.store(f, self.kind.dtype, converted, room, f.index(0), 1, 1)

    def enter(self) -> tuple[Value, Value]:
        """(where this turn reads it, where it writes the next one)."""
        if self.small or self.in_place:
            return self.current, self.next
        f = self.block.f
        return f.load("ptr", self._now, 8), f.load("ptr", self._then, 8)

    def advance(self, now: Value, then: Value) -> None:
        """The turn is over."""
        if self.in_place:
            return
        if self.small:
            self.block.copy(self.current, self.next, self.kind)
            return
        self.block.f.store(then, self._now)
        self.block.f.store(now, self._then)

    def leave(self) -> None:
        """The loop is over: the last value goes where the result is expected."""
        block, f = self.block, self.block.f
        if self.small:
            block.copy(self.result, self.current, self.kind)
        elif not self.in_place:
            now = f.load("ptr", self._now, 8)
            with f.when(f.icmp("ne", now, self.result)):
                block.copy(self.result, now, self.kind)
            block.free(self.spare)


def takes_over(block: Block, start: Atom, result: Var) -> bool:
    """Whether a carry may begin in the memory of its start, because nobody reads that any more; if so, it does."""
    if not isinstance(start, Var) or result in block.pointers or start not in block.pointers:
        return False
    at = block.plan.step_of[result]
    step = block.plan.steps[at]
    pointer = block.pointers[start]
    if (
        start.type != result.type
        or start not in block.ends.get(at, ())
        or not isinstance(step, Single)
        or step.reads.count(start) != 1
        or pointer.text not in block.shared.offsets
    ):
        return False
    block.pointers[result] = block.pointers.pop(start)
    return True


def updates_in_place(body: Block, position: int, k: int) -> bool:
    """Whether the body may write output k over input `position`: it reads each element only where it writes it."""
    plan = body.plan
    out, old = body.program.outputs[k], body.program.inputs[position]
    if not isinstance(out, Var) or k in plan.aliases or sum(1 for a in body.program.outputs if a is out) > 1:
        return False
    at = plan.step_of.get(out)
    if at is None or any(old in plan.reads(later) for later in plan.steps[at + 1 :]):
        return False
    if any(plan.program.outputs[j] is old for j in plan.aliases):  # it is copied at the end
        return False
    step = plan.steps[at]
    if isinstance(step, Single):  # an assignment into the carry itself, or a loop inside that begins with it
        eq = step.equation
        op: Any = eq.op
        if isinstance(op, Scan | While):
            first = len(eq.inputs) - (len(op.body.inputs) - op.constants)
            j = eq.outputs.index(out)
            return j < op.carries and eq.inputs[first + j] is old and step.reads.count(old) == 1
        return isinstance(op, ScatterSet) and eq.inputs[0] is old and step.reads.count(old) == 1
    if out not in plan.definitions or step.domain != out.type.shape:
        return False
    assert step.graph is not None
    own = linear(identity(out.type.ndim), strides_of(out.type.shape))
    for node in step.graph.nodes:
        if node.var is old and (node.kind == "gather" or (node.kind == "load" and node.place != own)):
            return False
    return True


@lowers(Scan, any_size=True)
def write_scan(block: Block, eq: Equation) -> None:
    """carry, y = body(constants, carry, x) for every row of the xs."""
    op: Any = eq.op
    f, body_program = block.f, op.body
    a, b = op.constants, op.constants + op.carries
    atoms = eq.inputs
    length = op.length if op.length is not None else atoms[b].type.shape[0]
    turns = plain(length) if isinstance(length, int) else UNKNOWN
    body = Block(block.shared, body_program, block.times * max(min(turns, 1000) if turns == UNKNOWN else turns, 1))
    inputs = body_program.inputs
    constants = {v: _in_registers(block, x, v.type) for v, x in zip(inputs[:a], atoms[:a], strict=True)}
    carries = [Carry(block, body, a + k, k, atoms[a + k], eq.outputs[k]) for k in range(op.carries)]
    rooms = _packed(block, body, constants)
    arrays = [block.view(x).pointer for x in atoms[b:]]
    stacks = [block.pointer(v) for v in eq.outputs[op.carries :]]
    stop = block.number(length)
    with f.loop(f.index(0), stop) as turn:
        row = f.sub(f.sub(stop, turn), f.index(1)) if op.reverse else turn
        pointers = dict(constants)
        targets: dict[int, Value] = {}
        states = [c.enter() for c in carries]
        for k, (now, then) in enumerate(states):
            pointers[inputs[a + k]] = now
            if not carries[k].unchanged:
                targets[k] = then
        for v, base in zip(inputs[b:], arrays, strict=True):
            pointers[v] = f.element(base, f.mul(row, block.number(block.nbytes(v.type))), "i8")
        for j, base in enumerate(stacks):
            kind = body_program.outputs[op.carries + j].type
            targets[op.carries + j] = f.element(base, f.mul(row, block.number(block.nbytes(kind))), "i8")
        watch = Watch(block, body.times)
        body.emit(pointers, targets)
        for carry, (now, then) in zip(carries, states, strict=True):
            carry.advance(now, then)
        watch.write(length if type(length) is int else UNKNOWN)
    for carry in carries:
        carry.leave()
    for room in rooms:
        block.free(room)
    block.shared.steps.append(f"loop of {plain(length)} iterations")


def _packed(block: Block, body: Block, constants: dict[Var, Value]) -> list[Value]:
    """Matrices that the body multiplies with in every turn, laid out anew before the loop."""
    rooms: list[Value] = []
    f = block.f
    for step in body.plan.steps:
        k = wants_packing(step.equation) if isinstance(step, Single) else None
        if k is None or not isinstance(step, Single):
            continue
        kind = step.equation.inputs[k].type
        view = body.plan.view(step.equation.inputs[k])  # type: ignore[arg-type]
        if view is None or view.base not in constants:
            continue
        (rows, columns), (down, across) = kind.shape, view.strides
        source = block.offset(constants[view.base], kind.dtype, view.offset)
        room = block.room(block.nbytes(kind))
        strides = (1, rows) if k == 0 else (columns, 1)
        with f.loop(f.index(0), f.index(rows)) as i, f.loop(f.index(0), f.index(columns)) as j:
            place = f.add(f.mul(i, f.index(down)), f.mul(j, f.index(across)))
            at = f.add(f.mul(i, f.index(strides[0])), f.mul(j, f.index(strides[1])))
            vectors.store(f, kind.dtype, vectors.load(f, kind.dtype, source, place, 1, 1), room, at, 1, 1)
        body.packed[step.equation, k] = Operand(room, strides, kind)
        rooms.append(room)
    return rooms


@lowers(While, any_size=True)
def write_while(block: Block, eq: Equation) -> None:
    """carry = body(constants, carry) as long as condition(constants, carry) holds."""
    op: Any = eq.op
    f = block.f
    a, b = op.condition_constants, op.condition_constants + op.body_constants
    body = Block(block.shared, op.body, block.times * 100)
    condition = Block(block.shared, op.condition, block.times * 100)
    test = {v: _in_registers(block, x, v.type) for v, x in zip(op.condition.inputs[:a], eq.inputs[:a], strict=True)}
    constants = {
        v: _in_registers(block, x, v.type)
        for v, x in zip(op.body.inputs[: op.body_constants], eq.inputs[a:b], strict=True)
    }
    carries = [Carry(block, body, op.body_constants + k, k, eq.inputs[b + k], eq.outputs[k]) for k in range(op.carries)]
    rows = Rows(block, op.body.outputs[op.carries :], eq.outputs[op.carries :])
    answer = block.room(1)
    number = f.allocate("i64", align=8)
    f.store(f.index(0), number)
    head, turn, done = (f.new_block(h) for h in ("while", "turn", "done"))
    f.jump(head)
    f.place(head)
    states = [c.enter() for c in carries]
    now = {v: s[0] for v, s in zip(op.condition.inputs[a:], states, strict=True)}
    condition.emit({**test, **now}, {0: answer})
    f.branch(vectors.load(f, op.condition.outputs[0].type.dtype, answer, f.index(0), 1, 1), turn, done)
    f.place(turn)
    now = {v: s[0] for v, s in zip(op.body.inputs[op.body_constants :], states, strict=True)}
    targets = {k: s[1] for k, s in enumerate(states) if not carries[k].unchanged}
    count = f.load("i64", number, 8)
    targets.update((op.carries + j, room) for j, room in enumerate(rows.next(count)))
    watch = Watch(block, body.times)
    body.emit({**constants, **now}, targets)
    for carry, (old, new) in zip(carries, states, strict=True):
        carry.advance(old, new)
    watch.write(UNKNOWN)
    f.store(f.add(count, f.index(1)), number)
    f.jump(head)
    f.place(done)
    for carry in carries:
        carry.leave()
    rows.finish(f.load("i64", number, 8))
    block.shared.steps.append("while loop")


class Rows:
    """Rows that a while loop stacks up, however many there are: memory that doubles when it is full."""

    def __init__(self, block: Block, inner: Sequence[Atom], results: Sequence[Var]) -> None:
        self.block, self.results = block, results
        self.sizes = [block.nbytes(a.type) for a in inner]
        if not results:
            return
        f = block.f
        self.slots = [f.allocate("ptr", align=8) for _ in results]
        self.capacity = f.allocate("i64", align=8)
        for slot in self.slots:
            f.initialize(Value("null", "ptr"), slot)
        f.initialize(f.index(0), self.capacity)
        block.shared.releases += self.slots

    def next(self, count: Value) -> list[Value]:
        """Where the next rows go."""
        if not self.results:
            return []
        block, f = self.block, self.block.f
        room = f.load("i64", self.capacity, 8)
        with f.when(f.icmp("sge", count, room)):
            larger = f.intrinsic("smax", f.binary("mul", room, f.index(2)), f.index(64))
            for slot, size in zip(self.slots, self.sizes, strict=True):
                old = f.load("ptr", slot, 8)
                nbytes = f.binary("mul", larger, f.index(max(size, 1)))
                new = f.call("realloc", "ptr", old, nbytes, declared=True)
                block.leave_if(f.icmp("eq", new, Value("null", "ptr")), -4)
                f.store(new, slot)
            f.store(larger, self.capacity)
        return [
            f.element(f.load("ptr", slot, 8), f.mul(count, block.number(size)), "i8")
            for slot, size in zip(self.slots, self.sizes, strict=True)
        ]

    def finish(self, count: Value) -> None:
        """The loop is over: the number of rows is known."""
        f = self.block.f
        for var, slot in zip(self.results, self.slots if self.results else (), strict=True):
            self.block.pointers[var] = f.load("ptr", slot, 8)
            self.block.shared.sizes[var.type.shape[0]] = count


@lowers(Cond, any_size=True)
def write_cond(block: Block, eq: Equation) -> None:
    """The branch that an index chooses; indices beyond the ends choose the first or the last."""
    op: Any = eq.op
    f = block.f
    chosen = block.view(eq.inputs[0])
    index = vectors.load(f, chosen.dtype, chosen.pointer, f.index(0), 1, 1)
    index = f.cast("zext" if chosen.dtype.kind in "bu" else "sext", index, "i64")
    operands = [block.view(x).pointer for x in eq.inputs[1:]]
    results = [block.pointer(v) for v in eq.outputs]
    done = f.new_block("done")
    for k, program in enumerate(op.branches):
        last = k == len(op.branches) - 1
        other = f.new_block("branch")
        if not last:
            mine = f.new_block("branch")
            f.branch(f.icmp("sle", index, f.index(k)), mine, other)
            f.place(mine)
        inlined(block, program, operands, results)
        f.jump(done)
        if not last:
            f.place(other)
    f.place(done)
    block.shared.steps.append(f"cond of {len(op.branches)} branches")


@lowers(Checkpoint, any_size=True)
def write_checkpoint(block: Block, eq: Equation) -> None:
    """Nothing is left to recompute in a program that is final: its equations, as they are."""
    (program,) = eq.op.programs().values()  # type: ignore[attr-defined]
    inlined(block, program, [block.view(x).pointer for x in eq.inputs], [block.pointer(v) for v in eq.outputs])


def inlined(block: Block, program: Program, operands: list[Value], results: list[Value]) -> None:
    """A program inside another, from memory into memory."""
    inner = Block(block.shared, program, block.times)
    inner.emit(dict(zip(program.inputs, operands, strict=True)), dict(enumerate(results)))
