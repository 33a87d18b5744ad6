"""Calls of LAPACK from a kernel: arguments by address, matrices by columns, one matrix of a stack after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.compile import blas
from adjoint.compile.emit import Emitter, Operand
from adjoint.compile.gemm import LETTERS
from adjoint.compile.ir import Value
from adjoint.program.program import Equation
from adjoint.program.types import ArrayType


def fits(eq: Equation) -> bool:
    """Whether all operands have the type that LAPACK computes in, and there is something to compute."""
    out = eq.outputs[0].type
    return out.dtype.name in LETTERS and out.size > 0 and all(a.type.dtype == out.dtype for a in eq.inputs)


def transpose(x: Operand) -> Operand:
    """The same elements with rows and columns exchanged."""
    return Operand(x.pointer, x.strides[::-1], ArrayType(x.shape[::-1], x.dtype))


def each_matrix(
    emitter: Emitter, stack: Sequence[int], operands: Sequence[Operand], visit: Callable[..., None]
) -> None:
    """The addresses of the matrices of each operand, for each element of the stack; shorter stacks are broadcast."""
    f = emitter.f

    def walk(axis: int, pointers: Sequence[Value]) -> None:
        if axis == len(stack):
            visit(pointers)
            return
        with f.loop(f.index(0), f.index(stack[axis])) as i:
            moved: list[Value] = []
            for x, pointer in zip(operands, pointers, strict=True):
                own = axis - len(stack) + len(x.shape) - 2
                step = x.strides[own] if own >= 0 and x.shape[own] != 1 else 0
                at = f.mul(i, f.index(step * x.dtype.itemsize)) if step else f.index(0)
                moved.append(f.element(pointer, at, "i8"))
            walk(axis + 1, moved)

    walk(0, [x.pointer for x in operands])


def call_lapack(
    emitter: Emitter, dtype: np.dtype[Any], name: str, arguments: Sequence[Any], status: int | None
) -> Value:
    """Call a routine: letters and numbers go by address, and so does what it reports; leave when it has failed.

    The result is the address of its report, zero where all is well.
    """
    f = emitter.f
    full = f"adjoint_lapack_{LETTERS[dtype.name]}{name}"
    emitter.shared.symbols[full] = blas.address(full)
    pointers: list[Value] = []
    for argument in arguments:
        if isinstance(argument, Value):
            pointers.append(argument)
            continue
        buffer = f.allocate("i32", align=8)
        f.store(f.constant("i32", ord(argument) if isinstance(argument, str) else argument), buffer)
        pointers.append(buffer)
    info = f.allocate("i32", align=8)
    f.store(f.constant("i32", 0), info)
    f.call(full, "void", *pointers, info, declared=True)
    if status is not None:
        emitter.leave_if(f.icmp("ne", f.load("i32", info, 4), f.constant("i32", 0)), status)
    return info
