"""Random words: Philox4x32-10 in vectors, a block of two words in each lane."""

from __future__ import annotations

import math

from adjoint.compile.emit import Emitter, lowers
from adjoint.compile.ir import Function, Value, vector_of
from adjoint.compile.machine import vector_bits
from adjoint.compile.regions import cut_items, may_cut, pays, region
from adjoint.ops.philox import INCREMENTS, MULTIPLIERS, ROUNDS, WORD, RandomBlocks
from adjoint.program.program import Equation

NANOSECONDS = 3.0  # for a block of two words


@lowers(RandomBlocks)
def write_random_blocks(emitter: Emitter, op: RandomBlocks, eq: Equation) -> None:
    """The words of each stream, one after the other."""
    f = emitter.f
    key, first = (emitter.view(x).pointer for x in eq.inputs)
    target = emitter.pointer(eq.outputs[0])
    streams = math.prod(eq.inputs[1].type.shape)
    if not streams * op.blocks:
        return
    width = min(2 * vector_bits() // 64, 2 ** (op.blocks.bit_length() - 1))
    whole = op.blocks // width * width
    with f.loop(f.index(0), f.index(streams)) as s:
        halves = [
            f.cast("zext", f.load("i32", f.element(key, f.add(f.mul(s, f.index(2)), f.index(k)), "i32"), 4), "i64")
            for k in range(2)
        ]
        start = f.load("i64", f.element(first, s, "i64"), 8)
        row = f.element(target, f.mul(s, f.index(2 * op.blocks)), "i64")

        def write(first: Value, last: Value) -> None:
            with f.loop(first, last, f.index(width)) as i:
                _write_words(f, halves, f.add(start, i), op.attempt, f.element(row, f.mul(i, f.index(2)), "i64"), width)

        if may_cut(emitter) and pays(whole, NANOSECONDS * whole):
            cut = cut_items(emitter, whole, NANOSECONDS * whole, width)
            with region(emitter, whole, cut, f"{2 * whole} random words") as one:
                write(one.first, one.last)
        else:
            write(f.index(0), f.index(whole))
        with f.loop(f.index(whole), f.index(op.blocks)) as i:
            _write_words(f, halves, f.add(start, i), op.attempt, f.element(row, f.mul(i, f.index(2)), "i64"), 1)
    emitter.shared.work += emitter.times * 40.0 * streams * op.blocks
    emitter.shared.steps.append(f"{2 * streams * op.blocks} random words")


def _write_words(f: Function, key: list[Value], position: Value, attempt: int, target: Value, width: int) -> None:
    kind = vector_of("i64", width)
    number = lambda n: f.constant(kind, n)
    at = f.add(f.spread(position, width), f.lane_numbers(width)) if width > 1 else position
    at = f.binary("and", at, number(2**63 - 1))
    low, half = number(WORD), number(32)
    k0, k1 = (f.spread(k, width) for k in key)
    c0, c1 = f.binary("and", at, low), f.binary("lshr", at, half)
    c2, c3 = number(attempt), number(0)
    for n in range(ROUNDS):
        if n:
            k0, k1 = (f.binary("and", f.add(k, number(w)), low) for k, w in zip((k0, k1), INCREMENTS, strict=True))
        p0, p1 = (f.binary("mul", c, number(m)) for c, m in zip((c0, c2), MULTIPLIERS, strict=True))
        c0, c1, c2, c3 = (
            f.binary("xor", f.binary("xor", f.binary("lshr", p1, half), c1), k0),
            f.binary("and", p1, low),
            f.binary("xor", f.binary("xor", f.binary("lshr", p0, half), c3), k1),
            f.binary("and", p0, low),
        )
    first, second = (f.binary("or", x, f.binary("shl", y, half)) for x, y in ((c0, c1), (c2, c3)))
    if width == 1:
        f.store(first, target, 8)
        f.store(second, f.element(target, f.index(1), "i64"), 8)
        return
    f.store(f.shuffle(first, second, [lane for i in range(width) for lane in (i, width + i)]), target, 8)


__all__ = ["write_random_blocks"]
