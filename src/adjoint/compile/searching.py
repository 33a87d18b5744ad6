"""Places: in sorted vectors, by halves of the vector one after the other; of elements that are not zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.compile import vectors
from adjoint.compile.callbacks import write_callback
from adjoint.compile.elements import convert
from adjoint.compile.emit import Block, lowers
from adjoint.compile.ir import Function, Value
from adjoint.ops.arrays.search import Nonzero, SearchSorted
from adjoint.program.program import Equation


@lowers(SearchSorted)
def write_search(block: Block, eq: Equation) -> None:
    """For each v the number of elements of a before it: the sum of all 2ᵏ, k falling, that leave only such behind."""
    f, op = block.f, eq.op
    assert isinstance(op, SearchSorted)
    a, v = (x.type for x in eq.inputs)
    common = np.result_type(a.dtype, v.dtype)
    if common.kind not in "fiub":
        return write_callback(block, eq)
    (n,) = a.shape
    sorted_numbers, wanted = (block.view(x).pointer for x in eq.inputs)
    target = block.pointer(eq.outputs[0])
    with f.loop(f.index(0), block.number(v.size)) as i:
        x: Any = convert(f, vectors.load(f, v.dtype, wanted, i, 1, 1), v.dtype, common)
        count = f.index(0)
        for k in reversed(range(n.bit_length())):
            more = f.add(count, f.index(2**k))
            there = f.icmp("sle", more, f.index(n))
            place = f.sub(f.select(there, more, f.index(n)), f.index(1))
            y: Any = convert(f, vectors.load(f, a.dtype, sorted_numbers, place, 1, 1), a.dtype, common)
            count = f.select(f.binary("and", there, _before(f, common, y, x, op.side)), more, count)
        f.store(count, f.element(target, i, "i64"), 8)
    block.shared.work += block.times * v.size * 8.0 * n.bit_length()
    block.shared.steps.append(f"search in {a}")
    return None


@lowers(Nonzero, strided=True)
def write_nonzero(block: Block, eq: Equation) -> None:
    """The counters of the loops over x wherever an element is not zero. A guard has counted these elements already."""
    f, op, x = block.f, eq.op, block.view(eq.inputs[0])
    assert isinstance(op, Nonzero)
    if x.dtype.kind not in "fiub":
        return write_callback(block, eq)
    targets = [block.pointer(v) for v in eq.outputs]
    number = f.allocate("i64", align=8)
    f.store(f.index(0), number)
    counters: list[Value] = []

    def walk(axis: int, place: Value) -> None:
        if axis < len(x.shape):
            with f.loop(f.index(0), f.index(x.shape[axis])) as i:
                counters.append(i)
                walk(axis + 1, f.add(place, f.mul(i, f.index(x.strides[axis]))))
                counters.pop()
            return
        value: Any = vectors.load(f, x.dtype, x.pointer, place, 1, 1)
        zero = f.same(value, 0)
        found = f.fcmp("une", value, zero) if x.dtype.kind == "f" else f.icmp("ne", value, zero)
        at = f.load("i64", number, 8)
        with f.when(f.binary("and", found, f.icmp("slt", at, f.index(op.count)))):
            for target, i in zip(targets, counters, strict=True):
                f.store(i, f.element(target, at, "i64"), 8)
            f.store(f.add(at, f.index(1)), number)

    walk(0, f.index(0))
    block.shared.work += block.times * 3.0 * eq.inputs[0].type.size
    block.shared.steps.append(f"places in {eq.inputs[0].type}")
    return None


def _before(f: Function, dtype: np.dtype[Any], y: Value, x: Value, side: str) -> Value:
    """Whether y stands before x: y < x, or with side right y ≤ x; NaN stands after all numbers."""
    if dtype.kind == "f":
        if side == "right":
            return f.binary("or", f.fcmp("ole", y, x), f.fcmp("uno", x, x))
        return f.binary("and", f.fcmp("ult", y, x), f.fcmp("ord", y, y))
    signed = "s" if dtype.kind == "i" else "u"
    return f.icmp(f"{signed}{'le' if side == 'right' else 'lt'}", y, x)


__all__ = ["write_nonzero", "write_search"]
