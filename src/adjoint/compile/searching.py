"""Positions: in sorted vectors, by bisection; of elements that are not zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.compile import vectors
from adjoint.compile.callbacks import write_callback
from adjoint.compile.elements import convert
from adjoint.compile.emit import Emitter, lowers
from adjoint.compile.ir import Function, Value
from adjoint.ops.arrays.search import Nonzero, SearchSorted
from adjoint.program.program import Equation


@lowers(SearchSorted)
def write_search(emitter: Emitter, op: SearchSorted, eq: Equation) -> None:
    """For each v the number of elements of a before it: the sum of all 2ᵏ, k falling, that leave only such behind."""
    f = emitter.f
    a, v = (x.type for x in eq.inputs)
    common = np.result_type(a.dtype, v.dtype)
    if common.kind not in "fiub":
        return write_callback(emitter, eq)
    (n,) = a.shape
    sorted_numbers, wanted = (emitter.view(x).pointer for x in eq.inputs)
    target = emitter.pointer(eq.outputs[0])
    with f.loop(f.index(0), emitter.number(v.size)) as i:
        x: Any = convert(f, vectors.load(f, v.dtype, wanted, i, 1, 1), v.dtype, common)
        count = f.index(0)
        for k in reversed(range(n.bit_length())):
            more = f.add(count, f.index(2**k))
            there = f.icmp("sle", more, f.index(n))
            position = f.sub(f.select(there, more, f.index(n)), f.index(1))
            y: Any = convert(f, vectors.load(f, a.dtype, sorted_numbers, position, 1, 1), a.dtype, common)
            count = f.select(f.binary("and", there, _before(f, common, y, x, op.side)), more, count)
        f.store(count, f.element(target, i, "i64"), 8)
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
    signed = "s" if dtype.kind == "i" else "u"
    return f.icmp(f"{signed}{'le' if side == 'right' else 'lt'}", y, x)


__all__ = ["write_nonzero", "write_search"]
