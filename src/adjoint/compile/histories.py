"""Where loops put their rows: stacks of a known length, and histories whose length is found on the way.

The rows of a while loop go into a `Store`, memory that doubles when it is full. A loop around it, whose iterations each
run the inner loop so and so often, has as many rows of different lengths: they stand one after the other in one store,
and two arrays of the loop around say for each of its iterations how many rows there are (counts) and which is the first
one (offsets). So it goes on to any depth: the counts and offsets of a loop in the middle are themselves rows of
different lengths. With shape (n, i, j) where i and j are found on the way,

    counts₁, offsets₁: n numbers;   counts₂, offsets₂: Σ counts₁ numbers;   elements: Σ counts₂,

and the elements of row k of row r stand from offsets₂[offsets₁[r] + k] on. The innermost loop writes at once where the
outermost one wants it. A loop that walks along such a stack, in any direction, reads counts and offsets of its row.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from adjoint.base.records import record
from adjoint.compile.emit import Emitter
from adjoint.compile.growing import Growing
from adjoint.compile.ir import RARELY, Value
from adjoint.compile.runtime_sizes import makers, open_axes, rows_begin, same_rows
from adjoint.compile.statuses import NO_MEMORY
from adjoint.compile.symbolic_sizes import Unsupported, is_found_later
from adjoint.program.program import Equation, Literal, Var
from adjoint.program.types import ArrayType

FIRST_ROWS = 64  # how many a store begins with
Level = tuple[Value, Value]  # addresses of the counts and offsets of rows


class Store:
    """Memory for rows that grows: one buffer for each kind of row, all with the same number of rows."""

    def __init__(self, emitter: Emitter) -> None:
        f = self.f = emitter.f
        self.emitter = emitter
        self.buffers: list[Growing] = []
        self.sizes: list[Any] = []  # bytes of a row
        self.capacity, self.used = f.allocate("i64", align=8), f.allocate("i64", align=8)
        f.initialize(f.index(0), self.capacity)
        f.store(f.index(0), self.used)
        self._levels: dict[Any, tuple[int, int]] = {}

    def add(self, nbytes: Any) -> int:
        """One more buffer, by its number; before the first row."""
        self.buffers.append(Growing(self.emitter.shared))
        self.sizes.append(nbytes)
        return len(self.buffers) - 1

    def add_level(self, numbers: Any) -> tuple[int, int]:
        """Buffers for counts and offsets, so many in a row; the same for all that have as many."""
        if numbers not in self._levels:
            self._levels[numbers] = self.add(8 * numbers), self.add(8 * numbers)
        return self._levels[numbers]

    def base(self, buffer: int) -> Value:
        return self.buffers[buffer].address(self.f)

    def at(self, buffer: int, row: Value) -> Value:
        """The address of a row."""
        f = self.f
        return f.element(self.base(buffer), f.mul(row, self.emitter.number(self.sizes[buffer])), "i8")

    def level(self, buffers: tuple[int, int], row: Value) -> Level:
        """The addresses of the counts and offsets of what is inside a row, and of those behind it."""
        return self.at(buffers[0], row), self.at(buffers[1], row)

    def reserve(self, rows: Value) -> None:
        """Have room for so many rows."""
        emitter, f = self.emitter, self.f
        if all(type(size) is int and size == 0 for size in self.sizes):
            return
        capacity = f.load("i64", self.capacity, 8)
        with f.when(f.icmp("sgt", rows, capacity), RARELY):
            doubled = f.intrinsic("smax", f.binary("shl", capacity, f.index(1)), f.index(FIRST_ROWS))
            larger = f.intrinsic("smax", doubled, rows)
            nbytes = [f.mul(larger, emitter.number(size)) for size in self.sizes]
            most = emitter.most_bytes()
            for wanted in nbytes:
                emitter.leave_if(f.icmp("sgt", wanted, most), NO_MEMORY)
            for buffer, wanted in zip(self.buffers, nbytes, strict=True):
                buffer.grow(emitter, self._some(wanted))
            f.store(larger, self.capacity)

    def _some(self, nbytes: Value) -> Value:
        """At least one byte: of nothing, realloc may give nothing."""
        return self.f.intrinsic("smax", nbytes, self.f.index(1)) if nbytes.text[0] == "%" else nbytes


@record(frozen=False)
class Storage:
    """Where a value with sizes found on the way goes: a store for each of its open axes."""

    axes: list[int]  # open, of the value; the first is its own where the rows of a loop are pushed
    stores: list[Store]
    levels: list[tuple[int, int]]  # the buffers of counts and offsets of open axis k + 1, in store k
    elements: int  # the buffer of the elements, in the last store
    first: Level | None = None  # counts and offsets of the first open axis, where that is not axis 0

    def inside(self, kind: ArrayType, row: Value) -> tuple[Storage, Level | None]:
        """The storage of a row, and where its own count and offset are to be noted if its first axis is open."""
        f = self.stores[0].f
        axes, stores, levels, first = self.axes, self.stores, self.levels, self.first
        if axes[0] == 0:
            first = stores[0].level(levels[0], row)
            axes, stores, levels = axes[1:], stores[1:], levels[1:]
        else:
            assert first is not None
            step = f.mul(row, stores[0].emitter.number(math.prod(kind.shape[1 : axes[0]])))
            first = f.element(first[0], step, "i64"), f.element(first[1], step, "i64")
        note = first if axes[0] == 1 else None
        return Storage([a - 1 for a in axes], stores, levels, self.elements, None if note else first), note

    def settle(self, emitter: Emitter, var: Var, start: Value | None) -> None:
        """All rows are there: the variable stands in memory, from row `start` of its own axis if that is open."""
        f, last = emitter.f, self.stores[-1]
        levels: list[Level] = [] if self.first is None else [self.first]
        for k, buffers in enumerate(self.levels):
            levels.append(self.stores[k].level(buffers, start if k == 0 and start is not None else f.index(0)))
        alone = start is not None and len(self.stores) == 1
        emitter.pointers[var] = (
            last.at(self.elements, start) if alone and start is not None else last.base(self.elements)
        )
        if levels:
            emitter.levels[var], emitter.begins[var] = levels, self.axes[-1]


def new_storage(emitter: Emitter, kind: ArrayType, axes: list[int], stores: list[Store], stored: bool) -> Storage:
    """Room for a value in stores that others use with it, or new ones if there are none; or for levels alone."""
    if not stores:
        stores += [Store(emitter) for _ in axes]
    shape = kind.shape
    levels = [stores[k].add_level(math.prod(shape[a + 1 : b])) for k, (a, b) in enumerate(itertools.pairwise(axes))]
    elements = stores[-1].add(_unit(shape[axes[-1] :]) * kind.dtype.itemsize if stored else 0)
    first: Level | None = None
    if axes[0] > 0:
        nbytes = emitter.number(8 * math.prod(shape[: axes[0]]))
        first = emitter.heap(nbytes), emitter.heap(nbytes)
    return Storage(axes, stores, levels, elements, first)


def level_axes(kind: ArrayType, begin: int | None) -> list[int]:
    """The open axes that are levels of a history; an array among its rows counts as if its open axis stood first."""
    axes = open_axes(kind)
    if begin is None:
        return axes[:1]
    if len([a for a in axes if a >= begin]) != 1:
        raise Unsupported("an array has several sizes that are found while the program runs")
    return [*[a for a in axes if a < begin], begin]


def _unit(shape: Sequence[Any]) -> Any:
    """How many elements an array has for each one along its open axis."""
    return math.prod(n for n in shape if not is_found_later(n))


class Stacks:
    """The rows that a loop gives, from iteration to iteration; `length` where it is known before."""

    def __init__(self, emitter: Emitter, eq: Equation, body: Emitter, carries: int, length: Value | None) -> None:
        self.emitter, self.body, self.carries, self.length = emitter, body, carries, length
        self.results = eq.outputs[carries:]
        self.rows = [body.plan.aliases.get(carries + j, a) for j, a in enumerate(body.program.outputs[carries:])]
        self.plain: dict[int, Value] = {}  # stacks of a known length, of rows of a known size
        self.storages: dict[int, Storage] = {}
        self.same: dict[int, Literal] = {}  # of one number in all rows, of which the levels alone are stored
        shared: dict[Any, list[Store]] = {}
        for j, v in enumerate(self.results):
            storage = emitter.given.get(v)
            axes = level_axes(v.type, rows_begin(emitter.program, v))
            number = same_rows(emitter.program, v) if self._may_miss(v) else None
            if number is not None:
                self.same[j] = number
                if isinstance(self.rows[j], Var):
                    body.unstored.add(self.rows[j])  # type: ignore[arg-type]
            if storage is None and length is not None:
                axes = [a for a in axes if a > 0]
            if storage is None and axes:
                key = (makers(body.program, self.rows[j]), v.type.shape[: axes[-1] + 1])
                storage = new_storage(emitter, v.type, axes, shared.setdefault(key, []), number is None)
            if storage is None and number is not None:
                emitter.pointers[v] = Value("null", "ptr")
            elif storage is None:
                self.plain[j] = emitter.pointer(v)
            else:
                self.storages[j] = storage
        f = emitter.f
        self.stores: list[Store] = []  # into which this loop pushes
        for storage in self.storages.values():
            if storage.axes[0] == 0 and storage.stores[0] not in self.stores:
                self.stores.append(storage.stores[0])
        self.starts = {id(s): f.load("i64", s.used, 8) for s in self.stores}
        if length is not None:
            for s in self.stores:
                s.reserve(f.add(self.starts[id(s)], length))

    def enter(self, number: Value, row: Value) -> dict[int, Value]:
        """An iteration begins, which is to write a row: where the results of the body go."""
        emitter, f = self.emitter, self.emitter.f
        if self.length is None:
            for s in self.stores:
                s.reserve(f.add(f.add(self.starts[id(s)], number), f.index(1)))
        targets: dict[int, Value] = {}
        for j, base in self.plain.items():
            nbytes = emitter.number(emitter.nbytes(self.rows[j].type))
            targets[self.carries + j] = f.element(base, f.mul(row, nbytes), "i8")
        self._notes: list[tuple[Var, Storage, Level]] = []
        for j, storage in self.storages.items():
            pushes = storage.axes[0] == 0
            at = f.add(self.starts[id(storage.stores[0])], row) if pushes else row
            if pushes and len(storage.axes) == 1:
                if j in self.same:
                    continue
                targets[self.carries + j] = storage.stores[0].at(storage.elements, at)
                continue
            out = self.rows[j]
            inside, note = storage.inside(self.results[j].type, at)
            if not isinstance(out, Var):
                raise Unsupported("a loop gives rows of different lengths that it does not compute")
            if self._is_made_by_loop(out):
                self.body.given[out] = inside
            if note is not None:
                self._notes.append((out, inside, note))
            elif out not in self.body.given:
                raise Unsupported("a loop gives rows of different lengths that no loop inside has made")
        return targets

    def _may_miss(self, var: Var) -> bool:
        """Whether nobody but this program reads a result, or who does takes it for one number too."""
        return var in self.emitter.unstored or all(a is not var for a in self.emitter.program.outputs)

    def _is_made_by_loop(self, var: Var) -> bool:
        producer = self.body.plan.producer.get(var)
        return producer is not None and producer.op.is_loop

    def advance(self) -> None:
        """The iteration is over: note how many rows its stacks have, and which is the first."""
        f = self.emitter.f
        copied: dict[int, tuple[Value, Value]] = {}
        for out, storage, (counts, offsets) in self._notes:
            start, count = self.body.extents.get(out) or self._append(out, storage, copied)
            f.store(count, counts, 8)
            f.store(start, offsets, 8)

    def _append(self, out: Var, storage: Storage, copied: dict[int, tuple[Value, Value]]) -> tuple[Value, Value]:
        """Copy rows that the body has computed otherwise."""
        body, f = self.body, self.emitter.f
        if len(storage.axes) > 1 or out in body.levels:
            raise Unsupported("a loop gives rows of different lengths that no loop inside has made")
        store = storage.stores[0]
        if id(store) not in copied:
            count = body.number(next(n for n in out.type.shape if is_found_later(n)))
            start = f.load("i64", store.used, 8)
            end = f.add(start, count)
            store.reserve(end)
            f.store(end, store.used, 8)
            copied[id(store)] = start, count
        start, count = copied[id(store)]
        body.copy(store.at(storage.elements, start), body.pointer(out), out.type)
        return start, count

    def leave(self, count: Value) -> None:
        """The loop is over: the number of rows is known."""
        emitter, f = self.emitter, self.emitter.f
        for s in self.stores:
            f.store(f.add(self.starts[id(s)], count), s.used, 8)
        for j, number in self.same.items():
            emitter.same[self.results[j]] = number
        for j, storage in self.storages.items():
            v = self.results[j]
            start = self.starts[id(storage.stores[0])] if storage.axes[0] == 0 else None
            if start is not None:
                emitter.extents[v] = start, count
            if 0 in open_axes(v.type):
                found_size(emitter, v.type.shape[0], count)
            storage.settle(emitter, v, start)


def found_size(emitter: Emitter, size: Any, count: Value) -> None:
    """From here on a size is known."""
    ((name,), _) = size.polynomial[0]
    emitter.shared.sizes[name] = count


def walk(emitter: Emitter, body: Emitter, pairs: Sequence[tuple[Var, Any]], row: Value) -> dict[Var, Value]:
    """Where a body reads its row of each array that a loop walks along, `pairs` of what it is called inside and out."""
    f = emitter.f
    pointers: dict[Var, Value] = {}
    for v, (array, base) in pairs:
        levels = emitter.levels.get(array)
        number = emitter.same.get(array)
        if number is not None and v.type.shape:
            body.same[v] = number
        elif number is not None:
            pointers[v] = emitter.constant(number).pointer
            continue
        if levels is None:
            pointers[v] = f.element(base, f.mul(row, emitter.number(emitter.nbytes(v.type))), "i8")
            continue
        begin, shape = emitter.begins[array], array.type.shape
        axes = [a for a in level_axes(array.type, begin) if a > 0]
        if axes[0] == 1:
            counts, offsets = levels[0]
            found = next(n for n in v.type.shape if is_found_later(n))  # its own, or that of the array that it is
            found_size(emitter, found, f.load("i64", f.element(counts, row, "i64"), 8))
            start = f.load("i64", f.element(offsets, row, "i64"), 8)
            axes, levels = axes[1:], levels[1:]
        else:
            start = f.mul(row, emitter.number(shape[1]))
        if not axes:
            nbytes = emitter.number(_unit(shape[begin:]) * v.type.dtype.itemsize)
            pointers[v] = f.element(base, f.mul(start, nbytes), "i8")
            continue
        start = f.mul(start, emitter.number(math.prod(shape[2 : axes[0]])))
        counts, offsets = levels[0]
        body.levels[v] = [(f.element(counts, start, "i64"), f.element(offsets, start, "i64")), *levels[1:]]
        body.begins[v] = begin - 1
        pointers[v] = base
    return pointers
