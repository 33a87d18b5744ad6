"""Matrix products: tiles in registers for small ones, BLAS for the rest.

C[m, n] = Σₖ A[m, k] B[k, n], operands at any strides, so transposes cost nothing. Three forms:
*rows*: vectors along n, B read by rows and elements of A spread over the lanes; *columns*: the same for Cᵀ = Bᵀ Aᵀ;
*dots*: vectors along k, folded at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.compile.callbacks import write_callback
from adjoint.compile.emit import Emitter, Operand, lowers
from adjoint.compile.gemm import write_gemm
from adjoint.compile.ir import Value
from adjoint.compile.matrices import Matrix, by_rows
from adjoint.compile.symbolic_sizes import expected, plain
from adjoint.compile.tiles import write_any_size, write_dots, write_rows
from adjoint.ops.arrays.contract import MatMul
from adjoint.program.program import Equation, Var
from adjoint.program.types import ArrayType

SMALL = 30_000  # products: below, a call of BLAS costs more than it saves
NEAR = 3 * 2**14  # bytes that stay close to the processor


@lowers(MatMul, strided=True, any_size="standalone")
def write_matmul(emitter: Emitter, op: MatMul, eq: Equation) -> None:
    """The product of two matrices, or of stacks of them."""
    kinds = [a.type for a in eq.inputs]
    out = eq.outputs[0]
    if (
        not all(isinstance(a, Var) and a.type.dtype == out.type.dtype for a in eq.inputs)
        or out.type.dtype.kind not in "fc"
    ):
        return write_callback(emitter, eq)
    if out.type.dtype == np.float16:
        return write_callback(emitter, eq)
    a, b = (emitter.packed.get((eq, k)) or emitter.view(x) for k, x in enumerate(eq.inputs))
    target = emitter.pointer(out)
    if math.prod(out.type.shape) == 0:
        return None
    left = _as_stack(a, row=True)
    right = _as_stack(b, row=False)
    m, k, n = left[1][0], left[1][1], right[1][1]
    stack = out.type.shape[: out.type.ndim - (kinds[0].ndim > 1) - (kinds[1].ndim > 1)]
    emitter.shared.work += emitter.times * 2.0 * expected(math.prod(stack) * m * k * n)
    emitter.shared.steps.append(f"matmul {plain(m)}×{plain(k)}×{plain(n)}{' of a stack' if stack else ''}")
    counters: list[Value] = []

    def each(axis: int) -> None:
        if axis < len(stack):
            with emitter.f.loop(emitter.f.index(0), emitter.number(stack[axis])) as i:
                counters.append(i)
                each(axis + 1)
                counters.pop()
            return
        first = _matrix(emitter, a, left, stack, counters)
        second = _matrix(emitter, b, right, stack, counters)
        pointer = _advance(
            emitter, target, out.type.dtype, [(c, _step(stack, j, m * n)) for j, c in enumerate(counters)]
        )
        product(emitter, out.type.dtype, first, second, Matrix(pointer, m, n, n, 1))
        while emitter.until_done:
            emitter.free(emitter.until_done.pop())

    each(0)
    return None


def wants_packing(eq: Equation) -> int | None:
    """Which operand of a product in a loop is a matrix that is better laid out anew before it.

    A matrix times a vector is best read by columns (no dot products, so nothing to fold), a vector times a matrix by
    rows; and from the start of a cache line.
    """
    if not isinstance(eq.op, MatMul) or eq.outputs[0].type.dtype.kind != "f" or eq.outputs[0].type.ndim != 1:
        return None
    for k, x in enumerate(eq.inputs):
        matrix = x.type.ndim == 2 and eq.inputs[1 - k].type.ndim == 1 and isinstance(x, Var)
        if matrix and all(type(n) is int for n in x.type.shape) and 4 <= x.type.size <= 2**16:
            return k
    return None


def _step(stack: Sequence[Any], axis: int, size: Any) -> Any:
    return math.prod(stack[axis + 1 :]) * size


def _as_stack(x: Operand, row: bool) -> tuple[tuple[Any, ...], tuple[Any, Any], tuple[Any, Any]]:
    """(shape of the stack, rows and columns, their strides); a vector is a row on the left, a column on the right."""
    if len(x.shape) == 1:
        (n,), (s,) = x.shape, x.strides
        return (), ((1, n) if row else (n, 1)), ((0, s) if row else (s, 0))
    return x.shape[:-2], x.shape[-2:], x.strides[-2:]  # type: ignore[return-value]


def _matrix(emitter: Emitter, x: Operand, parts: Any, stack: Sequence[Any], counters: Sequence[Value]) -> Matrix:
    own, (rows, columns), (down, across) = parts
    lead = len(stack) - len(own)
    moves = [(counters[lead + j], x.strides[j]) for j, n in enumerate(own) if n != 1]
    return Matrix(_advance(emitter, x.pointer, x.dtype, moves), rows, columns, down, across)


def _advance(emitter: Emitter, pointer: Value, dtype: np.dtype[Any], moves: Sequence[tuple[Value, Any]]) -> Value:
    f = emitter.f
    for counter, step in moves:
        pointer = f.element(pointer, f.mul(counter, emitter.number(step * dtype.itemsize)), "i8")
    return pointer


def product(emitter: Emitter, dtype: np.dtype[Any], a: Matrix, b: Matrix, c: Matrix) -> None:
    """C = A B."""
    m, k, n = a.rows, a.columns, b.columns
    if any(type(size) is not int for size in (m, k, n)):
        write_any_size(emitter, dtype, a, b, c)
        return
    if k == 0:
        emitter.fill(c.pointer, ArrayType((m * n,), dtype), 0)
        return
    if dtype.kind == "c":
        write_gemm(emitter, dtype, a, b, c)
    elif n == 1 and a.down == 1 and m > 1:
        write_rows(emitter, dtype, b.transposed, a.transposed, c.transposed)
    elif (m == 1 or n == 1) and a.across == 1 and b.down == 1:
        write_dots(emitter, dtype, a, b, c)
    elif _is_ours(m, k, n, dtype.itemsize):
        write_rows(emitter, dtype, a, b if b.across == 1 or n == 1 else by_rows(emitter, dtype, b), c)
    else:
        write_gemm(emitter, dtype, a, b, c)


def _is_ours(m: Any, k: Any, n: Any, itemsize: int) -> bool:
    """Whether tiles beat BLAS: for little work, and when one factor or the result stays in the innermost cache."""
    return m * k * n <= SMALL or min(k * n, m * n) * itemsize <= NEAR
