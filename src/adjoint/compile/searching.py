"""Places in sorted vectors: halves of the vector, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.compile import lanes
from adjoint.compile.block import Block, lowers
from adjoint.compile.callbacks import write_callback
from adjoint.compile.elements import convert
from adjoint.compile.ir import Function, Value
from adjoint.ops.search import SearchSorted
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
        x: Any = convert(f, lanes.load(f, v.dtype, wanted, i, 1, 1), v.dtype, common)
        count = f.index(0)
        for k in reversed(range(n.bit_length())):
            more = f.add(count, f.index(2**k))
            there = f.icmp("sle", more, f.index(n))
            place = f.sub(f.select(there, more, f.index(n)), f.index(1))
            y: Any = convert(f, lanes.load(f, a.dtype, sorted_numbers, place, 1, 1), a.dtype, common)
            count = f.select(f.binary("and", there, _before(f, common, y, x, op.side)), more, count)
        f.store(count, f.element(target, i, "i64"), 8)
    block.shared.work += block.times * v.size * 8.0 * n.bit_length()
    block.shared.steps.append(f"search in {a}")
    return None


def _before(f: Function, dtype: np.dtype[Any], y: Value, x: Value, side: str) -> Value:
    """Whether y stands before x: y < x, or with side right y ≤ x; NaN stands after all numbers."""
    if dtype.kind == "f":
        if side == "right":
            return f.binary("or", f.fcmp("ole", y, x), f.fcmp("uno", x, x))
        return f.binary("and", f.fcmp("ult", y, x), f.fcmp("ord", y, y))
    signed = "s" if dtype.kind == "i" else "u"
    return f.icmp(f"{signed}{'le' if side == 'right' else 'lt'}", y, x)


__all__ = ["write_search"]
