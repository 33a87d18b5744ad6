"""The order of the elements along an axis: all of it, or so much that some of them stand where sorting would put them.

Numbers become integers of 64 bits in the same order (NaN the largest, -0 as 0), so that one routine sorts all dtypes.
Runs of a few elements are sorted by insertion, then merged in pairs from both ends at once, stably: of two runs of one
length, half of the elements come from the front and half from the back, so nothing is tested but which one is next.
Long rows are sorted by NumPy's functions in C, if they are found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.compile import numpy_sorting, vectors
from adjoint.compile.callbacks import write_callback
from adjoint.compile.elements import convert
from adjoint.compile.emit import Emitter, lowers
from adjoint.compile.ir import Function, Module, Value
from adjoint.compile.views import strides_of
from adjoint.ops.arrays.reduce import ArgSort
from adjoint.ops.arrays.search import ArgPartition
from adjoint.program.program import Equation

SHORT = 4  # elements of a run that is sorted by insertion
MANY = 128  # elements: NumPy's functions in C are quicker
LARGEST = 2**63 - 1
SORT, SELECT = "adjoint_sort", "adjoint_select"


def runs_of(n: int) -> tuple[int, int]:
    """(length of a run, how often runs are merged), for at least n elements."""
    merges = max(0, math.ceil(math.log2(n / SHORT))) if n > SHORT else 0
    return -(-n // 2**merges), merges


@lowers(ArgSort, strided=True)
def write_order(emitter: Emitter, op: ArgSort, eq: Equation) -> None:
    """The order of the elements of each row."""
    n = eq.inputs[0].type.shape[op.axis]
    short, merges = runs_of(n)
    by_numpy = n >= MANY and not emitter.shared.standalone and bool(numpy_sorting.symbols())
    capacity = n if by_numpy else short * 2**merges

    def sort(f: Function, keys: Value, order: Value) -> Value:
        if by_numpy:
            emitter.shared.symbols.update(numpy_sorting.symbols())
            _sort_by_numpy(f, keys, order, n)
            return order
        ends = [f.element(x, f.index(capacity), "i64") for x in (keys, order)]
        if SORT not in f.module.parts:
            _write_sort(f.module)
        f.call(SORT, "void", keys, order, *ends, f.index(short), f.index(merges))
        return ends[1] if merges % 2 else order

    if not _write_rows(emitter, eq, op.axis, capacity, capacity if by_numpy else 2 * capacity, sort):
        return write_callback(emitter, eq)
    emitter.shared.work += emitter.times * 4.0 * eq.inputs[0].type.size * (merges + 3)
    return None


def _sort_by_numpy(f: Function, keys: Value, order: Value, n: int) -> None:
    """NumPy's order, which may exchange equal elements; their positions are sorted then."""
    nothing = Value("null", "ptr")
    f.call(f"{numpy_sorting.NAME}argsort", "i32", keys, order, f.index(n), nothing, declared=True)
    row, start = Row(f, keys, order), Counter(f, f.index(0))
    key_of = lambda i: row.key(f.load("i64", f.element(order, i, "i64"), 8))
    with f.loop(f.index(1), f.index(n + 1)) as i:
        before = f.sub(i, f.index(1))
        here = f.intrinsic("smin", i, f.index(n - 1))
        ends = f.binary("or", f.icmp("eq", i, f.index(n)), f.icmp("ne", key_of(here), key_of(before)))
        with f.when(ends):
            first = start.get()
            count = f.sub(i, first)
            with f.when(f.icmp("sgt", count, f.index(1))):
                positions = f.element(order, first, "i64")
                f.call(f"{numpy_sorting.NAME}sort", "i32", positions, count, nothing, declared=True)
            start.set(i)


@lowers(ArgPartition, strided=True)
def write_partition(emitter: Emitter, op: ArgPartition, eq: Equation) -> None:
    """Some elements of each row where sorting would put them: smaller ones before, larger ones behind."""
    n = eq.inputs[0].type.shape[op.axis]

    def select(f: Function, keys: Value, order: Value) -> Value:
        if SELECT not in f.module.parts:
            _write_select(f.module)
        first = 0
        for k in sorted({k % n for k in op.kth}):
            f.call(SELECT, "void", keys, order, f.index(first), f.index(n - 1), f.index(k))
            first = k + 1
        return order

    if not _write_rows(emitter, eq, op.axis, n, n, select):
        return write_callback(emitter, eq)
    emitter.shared.work += emitter.times * 10.0 * eq.inputs[0].type.size
    return None


def _write_rows(
    emitter: Emitter,
    eq: Equation,
    axis: int,
    filled: int,
    capacity: int,
    sort: Callable[[Function, Value, Value], Value],
) -> bool:
    """Put the keys and positions of each row into memory, `filled` of them, sort, and copy the order; False: cannot."""
    f, x, out = emitter.f, emitter.view(eq.inputs[0]), eq.outputs[0].type
    if x.dtype.kind not in "fiub" or x.dtype.itemsize > 8:
        return False
    if 0 in out.shape:
        return True
    target, own, n = emitter.pointer(eq.outputs[0]), strides_of(out.shape), out.shape[axis]
    keys, order = emitter.allocate(8 * capacity), emitter.allocate(8 * capacity)
    others = [a for a in range(out.ndim) if a != axis]

    def walk(k: int, here: Value, there: Value) -> None:
        if k < len(others):
            with f.loop(f.index(0), f.index(out.shape[others[k]])) as i:
                a = others[k]
                walk(
                    k + 1, f.add(here, f.mul(i, f.index(x.strides[a]))), f.add(there, f.mul(i, f.index(own[a])))
                )  # fmt: skip
            return
        with f.loop(f.index(0), f.index(n)) as i:
            at = f.add(here, f.mul(i, f.index(x.strides[axis])))
            f.store(_key(f, x.dtype, vectors.load(f, x.dtype, x.pointer, at, 1, 1)), f.element(keys, i, "i64"), 8)
            f.store(i, f.element(order, i, "i64"), 8)
        with f.loop(f.index(n), f.index(filled)) as i:  # behind all others, where they stay
            f.store(f.index(LARGEST), f.element(keys, i, "i64"), 8)
            f.store(i, f.element(order, i, "i64"), 8)
        result = sort(f, keys, order)
        with f.loop(f.index(0), f.index(n)) as i:
            at = f.add(there, f.mul(i, f.index(own[axis])))
            f.store(f.load("i64", f.element(result, i, "i64"), 8), f.element(target, at, "i64"), 8)

    walk(0, f.index(0), f.index(0))
    for buffer in (keys, order):
        emitter.free(buffer)
    emitter.shared.steps.append(f"{eq.op.title} of {eq.inputs[0].type}")
    return True


def _key(f: Function, dtype: np.dtype[Any], x: Any) -> Value:
    """A number as a signed integer that is ordered as numbers are; NaN behind all."""
    if dtype.kind != "f":
        wide = x if dtype.itemsize == 8 else f.cast("sext" if dtype.kind == "i" else "zext", x, "i64")
        return f.binary("xor", wide, f.index(-(2**63))) if dtype.kind == "u" and dtype.itemsize == 8 else wide
    number: Any = convert(f, x, dtype, np.dtype(np.float64))
    number = f.fadd(number, f.same(number, 0.0))  # -0 + 0 = 0
    bits = f.cast("bitcast", number, "i64")
    negative = f.binary("ashr", bits, f.index(63))
    key = f.binary("xor", bits, f.binary("and", negative, f.index(LARGEST)))
    return f.select(f.fcmp("uno", number, number), f.index(LARGEST), key)


class Row:
    """Keys and the positions that belong to them."""

    def __init__(self, f: Function, keys: Value, order: Value) -> None:
        self.f, self.keys, self.order = f, keys, order

    def key(self, i: Value) -> Value:
        return self.f.load("i64", self.f.element(self.keys, i, "i64"), 8)

    def get(self, i: Value) -> tuple[Value, Value]:
        return self.key(i), self.f.load("i64", self.f.element(self.order, i, "i64"), 8)

    def put(self, i: Value, pair: tuple[Value, Value]) -> None:
        self.f.store(pair[0], self.f.element(self.keys, i, "i64"), 8)
        self.f.store(pair[1], self.f.element(self.order, i, "i64"), 8)


class Counter:
    """An integer that changes."""

    def __init__(self, f: Function, start: Value) -> None:
        self.f, self.slot = f, f.allocate("i64", align=8)
        self.set(start)

    def get(self) -> Value:
        return self.f.load("i64", self.slot, 8)

    def set(self, value: Value) -> None:
        self.f.store(value, self.slot, 8)

    def add(self, step: Value) -> None:
        self.set(self.f.add(self.get(), step))


def _while(f: Function, condition: Callable[[], Value], body: Callable[[], None]) -> None:
    test, inside, done = (f.new_block(h) for h in ("test", "inside", "done"))
    f.jump(test)
    f.begin(test)
    f.branch(condition(), inside, done)
    f.begin(inside)
    body()
    f.jump(test)
    f.begin(done)


def _write_sort(module: Module) -> None:
    """sort(keys, order, keys′, order′, length of a run, merges): the result is in the first pair if merges is even."""
    f = Function(module, SORT, ["ptr", "ptr", "ptr", "ptr", "i64", "i64"], "void", attributes="noinline nounwind")
    keys, order, other_keys, other_order, short, merges = f.params
    total = f.binary("shl", short, merges)
    row, one = Row(f, keys, order), f.index(1)
    with f.loop(f.index(0), total, short) as start, f.loop(one, short) as k:
        moving = row.get(f.add(start, k))
        hole = Counter(f, f.add(start, k))

        def is_behind(start: Value = start, moving: Any = moving, hole: Counter = hole) -> Value:
            at = hole.get()
            before = f.select(f.icmp("sgt", at, start), f.sub(at, one), start)
            return f.binary("and", f.icmp("sgt", at, start), f.icmp("sgt", row.key(before), moving[0]))

        def shift(hole: Counter = hole) -> None:
            at = hole.get()
            row.put(at, row.get(f.sub(at, one)))
            hole.set(f.sub(at, one))

        _while(f, is_behind, shift)
        row.put(hole.get(), moving)
    slots = [f.allocate("ptr", align=8) for _ in range(4)]
    for slot, pointer in zip(slots, (keys, order, other_keys, other_order), strict=True):
        f.store(pointer, slot)
    length = Counter(f, short)
    with f.loop(f.index(0), merges):
        a_keys, a_order, b_keys, b_order = (f.load("ptr", slot, 8) for slot in slots)
        source, target, half = Row(f, a_keys, a_order), Row(f, b_keys, b_order), length.get()
        with f.loop(f.index(0), total, f.mul(half, f.index(2))) as start:
            _merge(f, source, target, start, half)
        for slot, pointer in zip(slots, (b_keys, b_order, a_keys, a_order), strict=True):
            f.store(pointer, slot)
        length.set(f.mul(half, f.index(2)))
    f.ret()
    f.finish()


def _merge(f: Function, source: Row, target: Row, start: Value, half: Value) -> None:
    """Two runs of `half` elements each, from both ends at once."""
    one = f.index(1)
    middle = f.add(start, half)
    end = f.sub(f.add(middle, half), one)
    left, right = Counter(f, start), Counter(f, middle)
    left_last, right_last = Counter(f, f.sub(middle, one)), Counter(f, end)
    with f.loop(f.index(0), half) as k:
        i, j = left.get(), right.get()
        from_left = _take(f, source, target, f.add(start, k), i, j, "smin")
        left.set(f.add(i, from_left))
        right.set(f.add(j, f.sub(one, from_left)))
        i, j = left_last.get(), right_last.get()
        from_right = _take(f, source, target, f.sub(end, k), i, j, "smax")
        right_last.set(f.sub(j, from_right))
        left_last.set(f.sub(i, f.sub(one, from_right)))


def _take(f: Function, source: Row, target: Row, to: Value, i: Value, j: Value, which: str) -> Value:
    """Put the smaller or the larger one of two elements; 1 if they are in order. A branch would be guessed wrong."""
    (a, own), (b, other) = source.get(i), source.get(j)
    in_order = f.cast("zext", f.icmp("sle", a, b), "i64")
    first = in_order if which == "smin" else f.sub(f.index(1), in_order)
    target.put(to, (f.intrinsic(which, a, b), f.add(other, f.mul(first, f.sub(own, other)))))
    return in_order


def _write_select(module: Module) -> None:
    """select(keys, order, first, last, k): Hoare's quickselect, the pivot the median of three."""
    f = Function(module, SELECT, ["ptr", "ptr", "i64", "i64", "i64"], "void", attributes="noinline nounwind")
    keys, order, first, last, k = f.params
    row, one = Row(f, keys, order), f.index(1)
    low, high = Counter(f, first), Counter(f, last)

    def partition() -> None:
        a, b = low.get(), high.get()
        middle = f.add(a, f.binary("lshr", f.sub(b, a), one))
        x, y, z = (row.key(i) for i in (a, middle, b))
        least, most = f.intrinsic("smin", x, y), f.intrinsic("smax", x, y)
        pivot = f.intrinsic("smax", least, f.intrinsic("smin", most, z))
        i, j = Counter(f, a), Counter(f, b)

        def swap() -> None:
            _while(f, lambda: f.icmp("slt", row.key(i.get()), pivot), lambda: i.add(one))
            _while(f, lambda: f.icmp("sgt", row.key(j.get()), pivot), lambda: j.add(f.index(-1)))
            with f.when(f.icmp("sle", i.get(), j.get())):
                here, there = i.get(), j.get()
                one_pair, other_pair = row.get(here), row.get(there)
                row.put(here, other_pair)
                row.put(there, one_pair)
                i.add(one)
                j.add(f.index(-1))

        _while(f, lambda: f.icmp("sle", i.get(), j.get()), swap)
        # now [a, j] ≤ pivot ≤ [i, b], and what is between is the pivot
        below, above = f.icmp("sle", k, j.get()), f.icmp("sge", k, i.get())
        low.set(f.select(below, a, f.select(above, i.get(), k)))
        high.set(f.select(below, j.get(), f.select(above, b, k)))

    _while(f, lambda: f.icmp("slt", low.get(), high.get()), partition)
    f.ret()
    f.finish()


__all__ = ["write_order", "write_partition"]
