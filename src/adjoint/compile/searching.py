"""Positions: in sorted vectors, by bisection; of elements that are not zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.compile import vectors
from adjoint.compile.callbacks import write_callback
from adjoint.compile.elements import convert, register_type
from adjoint.compile.emit import Emitter, lowers
from adjoint.compile.ir import Function, Value
from adjoint.ops.arrays.search import Nonzero, SearchSorted
from adjoint.program.program import Equation

MANY = 32  # searches side by side


@lowers(SearchSorted)
def write_search(emitter: Emitter, op: SearchSorted, eq: Equation) -> None:
    """For each v the number of elements of a before it: by bisection, in as many steps for all."""
    f = emitter.f
    a, v = (x.type for x in eq.inputs)
    common = np.result_type(a.dtype, v.dtype)
    if common.kind not in "fiub":
        return write_callback(emitter, eq)
    (n,) = a.shape
    sorted_numbers, wanted = (emitter.view(x).pointer for x in eq.inputs)
    target = emitter.pointer(eq.outputs[0])

    def read(dtype: np.dtype[Any], base: Value, at: Value) -> Any:
        return convert(f, vectors.load_at(f, dtype, base, at, None), dtype, common)

    def count_halving(x: Any, before: Callable[[Any, Any], Value]) -> Value:
        """In each lane, how many stand before x: from `low` to `low` + `length`, which is halved."""
        low, length = f.spread(f.index(0), x.width), n
        while length:
            half = max(1, length // 2)
            y = read(a.dtype, sorted_numbers, f.binary("add", low, f.same(low, half - 1)))
            low = f.binary("add", low, f.binary("and", f.cast("sext", before(y, x), "i64"), f.same(low, half)))
            length -= half
        return low

    def count_summing(x: Any) -> Value:
        """The sum of all 2ᵏ, k falling, that leave only such behind: LLVM makes branches of halving in one lane."""
        count = f.index(0)
        for k in reversed(range(n.bit_length())):
            more = f.add(count, f.index(2**k))
            there = f.icmp("sle", more, f.index(n))
            y = read(a.dtype, sorted_numbers, f.sub(f.select(there, more, f.index(n)), f.index(1)))
            count = f.select(f.binary("and", there, _before(f, common, y, x, op.side)), more, count)
        return count

    size, whole = emitter.number(v.size), f.index(0)
    if n and not (type(v.size) is int and v.size < MANY):  # side by side: each search waits for what it reads
        whole = f.binary("and", size, f.index(-MANY))
        behind = None if common.kind != "f" else count_summing(f.constant(register_type(common), np.nan))
        with f.loop(f.index(0), whole, f.index(MANY)) as i:
            x: Any = convert(f, vectors.load(f, v.dtype, wanted, i, 1, MANY), v.dtype, common)
            count = count_halving(x, lambda y, x: _compare(f, common, y, x, op.side))
            if behind is not None:
                count = f.select(f.fcmp("uno", x, x), f.spread(behind, MANY), count)
            f.store(count, f.element(target, i, "i64"), 8)
    with f.loop(whole, size) as i:
        f.store(count_summing(read(v.dtype, wanted, i)), f.element(target, i, "i64"), 8)
    emitter.shared.work += emitter.times * v.size * 8.0 * n.bit_length()
    emitter.shared.steps.append(f"search in {a}")
    return None


@lowers(Nonzero, strided=True)
def write_nonzero(emitter: Emitter, op: Nonzero, eq: Equation) -> None:
    """The counters of the loops over x wherever an element is not zero. A guard has counted these elements already."""
    f, x = emitter.f, emitter.view(eq.inputs[0])
    if x.dtype.kind not in "fiub":
        return write_callback(emitter, eq)
    targets = [emitter.pointer(v) for v in eq.outputs]
    number = f.allocate("i64", align=8)
    f.store(f.index(0), number)
    counters: list[Value] = []

    def walk(axis: int, position: Value) -> None:
        if axis < len(x.shape):
            with f.loop(f.index(0), f.index(x.shape[axis])) as i:
                counters.append(i)
                walk(axis + 1, f.add(position, f.mul(i, f.index(x.strides[axis]))))
                counters.pop()
            return
        value: Any = vectors.load(f, x.dtype, x.pointer, position, 1, 1)
        zero = f.same(value, 0)
        is_nonzero = f.fcmp("une", value, zero) if x.dtype.kind == "f" else f.icmp("ne", value, zero)
        at = f.load("i64", number, 8)
        with f.when(f.binary("and", is_nonzero, f.icmp("slt", at, f.index(op.count)))):
            for target, i in zip(targets, counters, strict=True):
                f.store(i, f.element(target, at, "i64"), 8)
            f.store(f.add(at, f.index(1)), number)

    walk(0, f.index(0))
    emitter.shared.work += emitter.times * 3.0 * eq.inputs[0].type.size
    emitter.shared.steps.append(f"positions in {eq.inputs[0].type}")
    return None


def _before(f: Function, dtype: np.dtype[Any], y: Value, x: Value, side: str) -> Value:
    """Whether y stands before x: y < x, or with side right y ≤ x; NaN stands after all numbers."""
    if dtype.kind == "f":
        if side == "right":
            return f.binary("or", f.fcmp("ole", y, x), f.fcmp("uno", x, x))
        return f.binary("and", f.fcmp("ult", y, x), f.fcmp("ord", y, y))
    return _compare(f, dtype, y, x, side)


def _compare(f: Function, dtype: np.dtype[Any], y: Value, x: Value, side: str) -> Value:
    """The same for a number x."""
    if dtype.kind == "f":
        return f.fcmp("ole" if side == "right" else "olt", y, x)
    signed = "s" if dtype.kind == "i" else "u"
    return f.icmp(f"{signed}{'le' if side == 'right' else 'lt'}", y, x)


__all__ = ["write_nonzero", "write_search"]
