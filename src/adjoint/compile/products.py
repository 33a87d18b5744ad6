"""Matrix products: tiles in registers for small ones, BLAS for the rest.

C[m, n] = Σₖ A[m, k] B[k, n], operands at any strides, so transposes cost nothing. Three forms:
*rows*: vectors along n, B read by rows and elements of A spread over the lanes; *columns*: the same for Cᵀ = Bᵀ Aᵀ;
*dots*: vectors along k, folded at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.compile.callbacks import write_callback
from adjoint.compile.emit import Emitter, Operand, lowers
from adjoint.compile.ir import Value
from adjoint.compile.matrices import Matrix
from adjoint.compile.product_regions import product, time_of_product, uses_tiles, write_in_parts
from adjoint.compile.regions import cut_items, may_cut, pays, region
from adjoint.compile.symbolic_sizes import expected, plain
from adjoint.compile.views import View
from adjoint.ops.arrays.contract import MatMul
from adjoint.program.program import Equation, Var


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
    is_known = may_cut(emitter) and all(type(size) is int for size in (*stack, m, k, n))
    nanoseconds = time_of_product(m, k, n, out.type.dtype) * math.prod(stack) if is_known else 0.0
    cut = max(range(len(stack)), key=lambda axis: stack[axis], default=None) if is_known else None
    if cut is not None and not pays(stack[cut], nanoseconds):
        cut = None
    if not stack and is_known and pays(2, nanoseconds):
        matrices = (_matrix(emitter, a, left, (), ()), _matrix(emitter, b, right, (), ()), Matrix(target, m, n, n, 1))
        write_in_parts(emitter, out.type.dtype, *matrices, nanoseconds)
        return None

    def each(axis: int, span: tuple[Value, Value] | None) -> None:
        if axis < len(stack):
            all_of_it = emitter.f.index(0), emitter.number(stack[axis])
            first, last = span if span is not None and axis == cut else all_of_it
            with emitter.f.loop(first, last) as i:
                counters.append(i)
                each(axis + 1, span)
                counters.pop()
            return
        one, other = (_matrix(emitter, x, parts, stack, counters) for x, parts in ((a, left), (b, right)))
        pointer = _advance(
            emitter, target, out.type.dtype, [(c, _step(stack, j, m * n)) for j, c in enumerate(counters)]
        )
        product(emitter, out.type.dtype, one, other, Matrix(pointer, m, n, n, 1))
        while emitter.until_done:
            emitter.free(emitter.until_done.pop())

    if cut is None:
        each(0, None)
    else:
        chunks = cut_items(emitter, stack[cut], nanoseconds)
        with region(emitter, stack[cut], chunks, f"stack of {stack[cut]} products") as one:
            each(0, (one.first, one.last))
    return None


def wants_packing(eq: Equation, view: Callable[[Var], View | None]) -> tuple[int, View] | None:
    """Which operand of a product in a loop is a matrix that is better laid out anew before it, and where it stands.

    A matrix times a vector is best read by columns (no dot products, so nothing to fold), a vector times a matrix by
    rows; and from the start of a cache line. A matrix on the right of tiles is copied by rows unless it stands so.
    """
    out = eq.outputs[0].type if isinstance(eq.op, MatMul) else None
    if out is None or out.dtype.name not in ("float32", "float64") or any(a.type.dtype != out.dtype for a in eq.inputs):
        return None
    for k, x in enumerate(eq.inputs):
        other = eq.inputs[1 - k].type
        if x.type.ndim != 2 or not isinstance(x, Var) or not all(type(n) is int for n in (*x.type.shape, *other.shape)):
            continue
        operand = view(x)
        if operand is None or x.type.size < 4:
            continue
        if other.ndim == 1 and x.type.size <= 2**16:
            return k, operand
        rows, columns = x.type.shape
        is_right = k == 1 and other.ndim > 1 and operand.strides[1] != 1
        if is_right and uses_tiles(other.shape[-2], rows, columns, out.dtype):
            return k, operand
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
