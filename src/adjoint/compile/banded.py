"""Equations with banded matrices, by LAPACK; recursive filters, which are equations with triangular Toeplitz ones."""

# A primitive's parameters are read by its class.
# pyright: basic

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.compile import vectors
from adjoint.compile.callbacks import write_callback
from adjoint.compile.elements import write
from adjoint.compile.emit import Emitter, Operand, lowers
from adjoint.compile.expand import RULES, constant_of_nothing
from adjoint.compile.ir import Value
from adjoint.compile.lapack_calls import call_lapack, each_matrix, fits, transpose
from adjoint.compile.statuses import INDEFINITE, SINGULAR
from adjoint.compile.views import strides_of
from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.elementwise.arithmetic import divide, multiply, subtract
from adjoint.ops.linalg.banded import BandedSolve
from adjoint.ops.signal.recursive_filter import AllPole
from adjoint.program.program import Equation
from adjoint.program.types import ArrayType


@RULES.rule(BandedSolve, AllPole)
def _conversion_rule(eq: Equation) -> Callable[..., Any] | None:
    """Operands in the dtype of the result."""
    dtype = eq.outputs[0].type.dtype
    if all(0 in a.type.shape for a in eq.inputs):
        return constant_of_nothing
    if all(a.type.dtype == dtype for a in eq.inputs):
        return None
    return lambda op, *xs: op(*[x if x.dtype == dtype else Convert(dtype)(x) for x in xs])


@lowers(BandedSolve, strided=True)
def write_banded_solve(emitter: Emitter, op: BandedSolve, eq: Equation) -> None:
    """X with a X = B: xGBSV with row exchanges, xPBSV for positive definite matrices."""
    out = eq.outputs[0].type
    if not fits(eq):
        return write_callback(emitter, eq)
    band, b = (emitter.view(x) for x in eq.inputs)
    n, m = out.shape[-2:]
    # by columns, in memory of its own; elimination needs room for `low` diagonals above the others
    above = 0 if op.positive else op.low
    kept = op.up + 1 if op.positive else op.low + op.up + 1
    lead = kept + above
    matrix = emitter.allocate(lead * n * out.dtype.itemsize)
    columns = emitter.allocate(n * m * out.dtype.itemsize)
    pivots = emitter.allocate(4 * n)
    f = emitter.f
    own = strides_of((n, lead))

    def solve(pointers: Sequence[Value]) -> None:
        source, right, target = pointers
        with f.loop(f.index(0), f.index(n)) as j, f.loop(f.index(0), f.index(kept)) as i:
            at = f.add(f.mul(i, f.index(band.strides[-2])), f.mul(j, f.index(band.strides[-1])))
            value = vectors.load(f, out.dtype, source, at, 1, 1)
            to = f.add(f.mul(j, f.index(own[0])), f.add(i, f.index(above)))
            vectors.store(f, out.dtype, value, matrix, to, 1, 1)
        emitter.copy_strided(columns, transpose(Operand(right, b.strides[-2:], ArrayType((n, m), out.dtype))))
        if op.positive:
            arguments = ["U", n, op.up, m, matrix, lead, columns, n]
            call_lapack(emitter, out.dtype, "pbsv", arguments, INDEFINITE)
        else:
            arguments = [n, op.low, op.up, m, matrix, lead, pivots, columns, n]
            call_lapack(emitter, out.dtype, "gbsv", arguments, SINGULAR)
        emitter.copy_strided(target, Operand(columns, (1, n), ArrayType((n, m), out.dtype)))

    target = Operand(emitter.pointer(eq.outputs[0]), strides_of(out.shape), out)
    each_matrix(emitter, out.shape[:-2], [band, b, target], solve)
    for buffer in (matrix, columns, pivots):
        emitter.free(buffer)
    emitter.shared.work += emitter.times * math.prod(out.shape[:-2]) * (4.0 * n * lead * (op.low + m) + 500)
    emitter.shared.steps.append(f"{op.title} {n}×{n}, {lead} diagonals: LAPACK")
    return None


@lowers(AllPole, strided=True)
def write_all_pole(emitter: Emitter, op: AllPole, eq: Equation) -> None:
    """y[t] = (v[t] - Σₖ a[k] y[t-k]) / a[0], one after the other; backwards in time when `reverse`."""
    f, out = emitter.f, eq.outputs[0].type
    a, v = (emitter.view(x) for x in eq.inputs)
    if any(x.dtype != out.dtype for x in (a, v)) or out.dtype.kind not in "fc":
        return write_callback(emitter, eq)
    if 0 in out.shape:
        return None
    target, own, kind = emitter.pointer(eq.outputs[0]), strides_of(out.shape), ArrayType((), out.dtype)
    (rows, lines, steps), taps = out.shape, a.shape[1]
    one = f.index(1)

    def number(base: Value, at: Value) -> Any:
        return vectors.load(f, out.dtype, base, at, 1, 1)

    def apply(op: Any, x: Any, y: Any) -> Any:
        return write(f, op, (kind, kind), kind, [x, y])

    total = f.allocate("i8", out.dtype.itemsize)
    with (
        f.loop(f.index(0), f.index(rows)) as r,
        f.loop(f.index(0), f.index(lines)) as line,
        f.loop(f.index(0), f.index(steps)) as iteration,
    ):
        t = f.sub(f.index(steps - 1), iteration) if op.reverse else iteration
        row = f.add(f.mul(r, f.index(own[0])), f.mul(line, f.index(own[1])))
        positions = [f.mul(i, f.index(s)) for i, s in zip((r, line, t), v.strides, strict=True)]
        drive = number(v.pointer, f.add(f.add(positions[0], positions[1]), positions[2]))
        vectors.store(f, out.dtype, drive, total, f.index(0), 1, 1)
        last = f.intrinsic("smin", f.add(iteration, one), f.index(taps))
        filter_row = f.mul(line, f.index(a.strides[0]))
        with f.loop(one, last) as k:
            before = f.add(t, k) if op.reverse else f.sub(t, k)
            coefficient = number(a.pointer, f.add(filter_row, f.mul(k, f.index(a.strides[1]))))
            term = apply(multiply, coefficient, number(target, f.add(row, before)))
            vectors.store(f, out.dtype, apply(subtract, number(total, f.index(0)), term), total, f.index(0), 1, 1)
        result = apply(divide, number(total, f.index(0)), number(a.pointer, filter_row))
        vectors.store(f, out.dtype, result, target, f.add(row, t), 1, 1)
    emitter.shared.work += emitter.times * 6.0 * out.size * taps
    emitter.shared.steps.append(f"recursive filter of {out}")
    return None


__all__ = ["write_all_pole", "write_banded_solve"]
