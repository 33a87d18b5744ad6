"""Running sums, products, extrema, linear recurrences: a loop along one axis, vectors along another if there is one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from adjoint.base.records import record
from adjoint.compile import vectors
from adjoint.compile.callbacks import write_callback
from adjoint.compile.elements import convert, write
from adjoint.compile.emit import Emitter, Operand, lowers
from adjoint.compile.ir import Function, Value
from adjoint.compile.machine import vector_bits
from adjoint.compile.views import strides_of
from adjoint.ops.arrays.cumulative import ArgCumExtremum, CumProd, CumSum, LinearRecurrence
from adjoint.ops.elementwise.arithmetic import add, maximum, minimum, multiply
from adjoint.program.op import Op
from adjoint.program.program import Equation
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType

Run = Callable[..., None]  # (emitter, op, type of the result, columns): the loop along the axis


@record(frozen=False)
class Columns:
    """What a loop along the axis reads and writes: one element of each row, or a vector of them."""

    operands: Sequence[Operand]
    strides: Sequence[Any]  # of the operands, over the axes of the result
    positions: Sequence[Value]  # where each operand begins, then the result
    target: Value
    width: int
    vector: int | None  # the axis of the lanes


class Recurrence(NamedTuple):
    """zₖ from zₖ₋₁ and the xₖ."""

    step: Callable[[Callable[..., Any], Any, list[Any]], Any]  # (apply(op, a, b), zₖ₋₁, the xₖ)
    from_zero: bool = False  # z₋₁ = 0; else z₀ = x₀


RECURRENCES: RuleTable[Recurrence] = RuleTable("recurrences", of="evaluate")
RECURRENCES.update(
    {
        CumSum: Recurrence(lambda apply, z, xs: apply(add, z, xs[0])),
        CumProd: Recurrence(lambda apply, z, xs: apply(multiply, z, xs[0])),
        LinearRecurrence: Recurrence(lambda apply, z, xs: apply(add, apply(multiply, xs[0], z), xs[1]), from_zero=True),
    }
)


@lowers(CumSum, CumProd, LinearRecurrence, strided=True)
def write_running(emitter: Emitter, op: CumSum | CumProd | LinearRecurrence, eq: Equation) -> None:
    """zₖ = zₖ₋₁ + xₖ, zₖ₋₁ xₖ, or aₖ zₖ₋₁ + bₖ."""
    _write(emitter, op, eq, _recur)


@lowers(ArgCumExtremum, strided=True)
def write_running_extremum(emitter: Emitter, op: ArgCumExtremum, eq: Equation) -> None:
    """The position of the largest (or smallest) xⱼ so far."""
    if eq.inputs[0].type.dtype.kind == "c":
        write_callback(emitter, eq)
    else:
        _write(emitter, op, eq, _extremum)


def _write(emitter: Emitter, op: Any, eq: Equation, run: Run) -> None:
    out = eq.outputs[0].type
    if out.ndim == 0:
        write_callback(emitter, eq)
        return
    operands = [emitter.view(x) for x in eq.inputs]
    target = emitter.pointer(eq.outputs[0])
    if math.prod(out.shape) == 0:
        return
    strides = [_align_strides(x, out.ndim) for x in operands]
    axis = op.axis % out.ndim
    others = [a for a in range(out.ndim) if a != axis]
    last = others[-1] if others else None
    width = vector_bits() // 8 // max(out.dtype.itemsize, 1)
    wide = last is not None and last == out.ndim - 1 and all(s[last] in (0, 1) for s in strides)
    emitter.shared.work += emitter.times * 4.0 * math.prod(out.shape)
    emitter.shared.steps.append(f"{op.title} of {out}")
    starts = [emitter.f.index(0) for _ in (*operands, target)]
    columns = Columns(operands, strides, starts, target, width, last if wide else None)
    _loop_over(emitter, op, out, others[:-1] if wide else others, columns, run)


def _align_strides(x: Operand, ndim: int) -> tuple[Any, ...]:
    lead = ndim - len(x.shape)
    return (0,) * lead + tuple(0 if n == 1 else s for n, s in zip(x.shape, x.strides, strict=True))


def _loop_over(emitter: Emitter, op: Any, out: ArrayType, loops: Sequence[int], columns: Columns, run: Run) -> None:
    """Loops over the other axes; then the running loop, for one element or for a vector of them."""
    f = emitter.f
    own = strides_of(out.shape)

    def shift(counter: Value, axis: int, width: int = columns.width) -> Columns:
        steps = [s[axis] for s in columns.strides] + [own[axis]]
        positions = [f.add(p, f.mul(counter, emitter.number(s))) for p, s in zip(columns.positions, steps, strict=True)]
        return replace(columns, positions=positions, width=width)

    if loops:
        with f.loop(f.index(0), emitter.number(out.shape[loops[0]])) as i:
            _loop_over(emitter, op, out, loops[1:], shift(i, loops[0]), run)
        return
    if columns.vector is None:
        run(emitter, op, out, replace(columns, width=1))
        return
    n, width = out.shape[columns.vector], columns.width
    whole = n // width * width
    if whole:
        with f.loop(f.index(0), f.index(whole), f.index(width)) as i:
            run(emitter, op, out, shift(i, columns.vector))
    if whole < n:
        run(emitter, op, out, shift(f.index(whole), columns.vector, n - whole))


class State:
    """What is carried along the axis: an element for each lane, real or complex."""

    def __init__(self, f: Function, start: Any) -> None:
        self.f = f
        self.parts = (start,) if isinstance(start, Value) else start
        self.buffers = [f.allocate(part.type) for part in self.parts]
        self.set(start)

    def set(self, value: Any) -> None:
        for part, buffer in zip((value,) if isinstance(value, Value) else value, self.buffers, strict=True):
            self.f.store(part, buffer)

    def get(self) -> Any:
        loaded = tuple(self.f.load(part.type, buffer) for part, buffer in zip(self.parts, self.buffers, strict=True))
        return loaded[0] if len(loaded) == 1 else loaded


def _row(emitter: Emitter, columns: Columns, axis: int, k: Value) -> list[Any]:
    """Row k of the operands."""
    f, width, vector = emitter.f, columns.width, columns.vector
    values: list[Any] = []
    for x, s, p in zip(columns.operands, columns.strides, columns.positions, strict=False):
        at = f.add(p, f.mul(k, emitter.number(s[axis])))
        step = 1 if vector is None else s[vector]
        values.append(vectors.spread(f, vectors.load(f, x.dtype, x.pointer, at, 1, width if step else 1), width))
    return values


def _put(emitter: Emitter, columns: Columns, axis: int, out: ArrayType, k: Value, value: Any) -> None:
    """Write row k of the result."""
    f = emitter.f
    at = f.add(columns.positions[-1], f.mul(k, emitter.number(strides_of(out.shape)[axis])))
    vectors.store(f, out.dtype, value, columns.target, at, 1, columns.width)


def _recur(emitter: Emitter, op: CumSum | CumProd | LinearRecurrence, out: ArrayType, columns: Columns) -> None:
    f = emitter.f
    axis = op.axis % out.ndim
    kind = ArrayType((), out.dtype)
    n = out.shape[axis]
    rule = RECURRENCES[op]

    def element(iteration: Value) -> tuple[Value, list[Any]]:
        k = f.sub(f.sub(emitter.number(n), iteration), f.index(1)) if op.reverse else iteration
        row = zip(_row(emitter, columns, axis, k), columns.operands, strict=True)
        return k, [v if x.dtype == out.dtype else convert(f, v, x.dtype, out.dtype) for v, x in row]

    def apply(op: Op, a: Any, b: Any) -> Any:
        return write(f, op, (kind, kind), kind, [a, b])

    state = State(f, vectors.number(f, out.dtype, 0, columns.width))
    first = f.index(0)
    if not rule.from_zero:
        # the first one as it is, as NumPy does: 0 + -0.0 would lose the sign, and (1 + 0j) · (inf + 0j) is a NaN
        with f.when(f.icmp("sgt", emitter.number(n), first)):
            k, (value,) = element(first)
            state.set(value)
            _put(emitter, columns, axis, out, k, value)
        first = f.index(1)
    with f.loop(first, emitter.number(n)) as iteration:
        k, values = element(iteration)
        now = rule.step(apply, state.get(), values)
        state.set(now)
        _put(emitter, columns, axis, out, k, now)


def _extremum(emitter: Emitter, op: ArgCumExtremum, out: ArrayType, columns: Columns) -> None:
    """The positions at which the best so far changes; the first NaN is the best of all."""
    f, width, dtype = emitter.f, columns.width, columns.operands[0].dtype
    axis = op.axis % out.ndim
    kind = ArrayType((), dtype)
    best = State(f, _row(emitter, columns, axis, f.index(0))[0])
    position = State(f, f.constant(f.spread(f.index(0), width).type, 0))
    better = maximum if op.kind == "max" else minimum
    with f.loop(f.index(0), emitter.number(out.shape[axis])) as k:
        before = best.get()
        now: Any = write(f, better, (kind, kind), kind, [before, _row(emitter, columns, axis, k)[0]])
        if dtype.kind == "f":
            new = f.binary("and", f.fcmp("une", now, before), f.fcmp("ord", before, before))
        else:
            new = f.icmp("ne", now, before)
        position.set(f.select(new, f.spread(k, width), position.get()))
        best.set(now)
        _put(emitter, columns, axis, out, k, position.get())
