"""Stacks of matrices: types, and the maps that every rule needs. The last two axes are rows and columns."""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# (NumPy types results by their arguments, which may be anything here.)

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ControlFlowError, DtypeError, ShapeError
from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import fit
from adjoint.program.layout import Strides, compact
from adjoint.program.op import Op
from adjoint.program.record import RecordTracer
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value, result_dtype, type_of

FLOAT64 = np.dtype(np.float64)


def factor_dtype(title: str, *types: ArrayType) -> np.dtype[Any]:
    """The dtype in which LAPACK computes: integers become float64, half precision has no routines."""
    dtype = result_dtype(*types)
    if dtype.kind in "biu":
        return FLOAT64
    if dtype.char not in "fdFD":
        raise DtypeError(
            f"{title}: there are no matrix factorizations in {dtype.name}. Use .astype(np.float32) or float64."
        )
    return dtype


def to_factor_dtype(title: str, x: Value) -> Value:
    """A plain array in the dtype in which LAPACK computes; SciPy would choose single precision for small integers."""
    return x.astype(factor_dtype(title, type_of(x)), copy=False)


def check_matrix(title: str, a: ArrayType) -> None:
    """Refuse what has no rows and columns."""
    if a.ndim < 2:
        raise ShapeError(f"{title}: {a} is not a matrix or a stack of matrices; it needs at least two axes.")


def check_square(title: str, a: ArrayType) -> None:
    """Refuse matrices that are not square."""
    check_matrix(title, a)
    if a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"{title}: the matrices of {a} are not square: {a.shape[-2]} rows, {a.shape[-1]} columns.")


def stack_shape(title: str, a: ArrayType, b: ArrayType) -> tuple[Any, ...]:
    """The common stack of two stacks of matrices."""
    try:
        return np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ShapeError(f"{title}: the stacks of {a} and {b} do not broadcast. Reshape one of them.") from None


class Stacked(Op):
    """How a function of one matrix treats axes: a stack in front is a longer stack."""

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        x = xs[0]
        check_matrix(self.title, ArrayType(x.shape[1:], x.dtype))  # or the batch elements would pass for rows
        return self(x)

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return compact(result)


def is_plain(x: Value) -> bool:
    """Whether a value is an array of NumPy's own, so that a rule may look at it."""
    return not isinstance(x, Tracer)


def is_final(x: Value) -> bool:
    """Whether nothing will be differentiated again: a plain array, or what stands for one."""
    return not isinstance(x, Tracer) or x._trace.counts  # pyright: ignore[reportPrivateUsage]


def diagonal(x: Value) -> Value:
    """The diagonal of each matrix; for a wide or tall one, of its square part. x[…, m, n] -> […, min(m, n)]."""
    if is_plain(x):
        return np.diagonal(x, axis1=-2, axis2=-1)
    m, n = x.shape[-2:]
    k = min(m, n)
    part = x if m == n else x[..., :k, :k]
    return np.sum(np.where(np.eye(k, dtype=bool), part, x.dtype.type(0)), axis=-1)


def spread_diagonal(d: Value) -> Value:
    """Diagonal matrices with the given diagonals. d[…, n] -> […, n, n]."""
    return np.expand_dims(d, -1) * np.eye(d.shape[-1], dtype=d.dtype)


def hermitian(x: Value) -> Value:
    """The Hermitian part (x + xᴴ) / 2, which is its own adjoint as a map."""
    return (x + adjoint_matrix(x)) / 2


def half_triangle(x: Value, lower: bool = True) -> Value:
    """Φ(x): one triangle with half of the diagonal. Nothing comes from the other one, not even NaN."""
    n, number = x.shape[-1], x.dtype if x.dtype.kind in "fc" else FLOAT64
    inside = np.tri(n, dtype=bool)
    return np.where(inside if lower else inside.T, x, x.dtype.type(0)) * (1 - np.eye(n, dtype=number) / 2)


def from_triangle(x: Value, lower: bool = True, other: Callable[[Value], Value] = adjoint_matrix) -> Value:
    """The Hermitian matrix that one triangle of x stands for: Φ(x) + Φ(x)ᴴ. It has the real part of the diagonal.

    What LAPACK makes of a Hermitian argument, of which it reads one triangle. `other` is the adjoint, or the transpose
    for symmetric matrices.
    """
    half = half_triangle(x, lower)
    return half + other(half)


def onto_triangle(x: Value, lower: bool = True, other: Callable[[Value], Value] = adjoint_matrix) -> Value:
    """The adjoint of `from_triangle` as a map, Φ(x + xᴴ): what each number of the triangle did at both positions."""
    return half_triangle(x + other(x), lower)


def skew(x: Value) -> Value:
    """The skew-Hermitian part (x - xᴴ) / 2, also its own adjoint."""
    return (x - adjoint_matrix(x)) / 2


def real_diagonal(x: Value) -> Value:
    """The real part of the diagonal, as real numbers."""
    d = diagonal(x)
    return np.real(d) if d.dtype.kind == "c" else d


def reciprocal_of(gap: Value, scale: Value) -> Value:
    """1 / gap, and 0 where the gap is nothing but rounding beside `scale`."""
    eps = np.finfo(gap.dtype).eps
    none = np.abs(gap) <= scale * eps
    return np.where(none, gap.dtype.type(0), 1 / np.where(none, gap.dtype.type(1), gap))


def largest(x: Value) -> Value:
    """max |x| over the last axis, kept; 0 for none."""
    return np.max(np.abs(x), axis=-1, keepdims=True, initial=0)


def folded_product(left: Value, right: Value, target: Any) -> Value:
    """left rightᴴ in the type of `target`; where one matrix served a whole stack, the product itself sums the stack."""
    if len(target.shape) == 2 and left.ndim > 2 and left.shape[:-2] == right.shape[:-2]:
        left, right = as_columns(left), as_columns(right)
    return fit(np.matmul(left, adjoint_matrix(right)), target)


def as_columns(b: Value) -> Value:
    """A stack of matrices side by side, as one wide matrix. b[…, n, k] -> [n, … · k]."""
    order = (b.ndim - 2, *range(b.ndim - 2), b.ndim - 1)
    return np.reshape(np.transpose(b, order), (b.shape[-2], math.prod(b.shape[:-2]) * b.shape[-1]))


def from_columns(x: Value, shape: tuple[int, ...]) -> Value:
    """The inverse of `as_columns`: [n, … · k] -> `shape` = […, n, k]."""
    n, stack, k = shape[-2], shape[:-2], shape[-1]
    order = (*range(1, len(stack) + 1), 0, len(stack) + 1)
    return np.transpose(np.reshape(x, (n, *stack, k)), order)


def complement_push(dq: Value, q: Value, rest: Value) -> Value:
    """The tangent of columns that complete q to a basis: -q q̇ᴴ rest, the smallest change that keeps them orthogonal."""
    return -np.matmul(q, np.matmul(adjoint_matrix(dq), rest))


def complement_pull(rest_bar: Value, q: Value, rest: Value) -> Value:
    """What the cotangent of the completing columns adds to that of q: -rest rest̄ᴴ q."""
    return -np.matmul(rest, np.matmul(adjoint_matrix(rest_bar), q))


def each_matrix(op: Op, call: Callable[..., Any], xs: Sequence[Value], *, or_nan: bool = False) -> Value:
    """Results of `op` whose library function `call` takes one matrix of each argument at a time; stacks broadcast.

    A matrix that is not finite gives NaN: LAPACK need not come to an end on it. With `or_nan`, so does one of a stack
    for which there is no result, and the others have theirs; a matrix alone raises.
    """
    types = op.result_type(*[type_of(x) for x in xs])
    results = [np.zeros(t.shape, t.dtype) for t in (types if op.several else (types,))]
    if all(r.size for r in results):
        stack = np.broadcast_shapes(*[x.shape[:-2] for x in xs])
        matrices = [np.broadcast_to(x, (*stack, *x.shape[-2:])) for x in xs]
        for at in np.ndindex(*stack):
            arguments = [x[at] for x in matrices]
            parts = [np.nan if r.dtype.kind in "fc" else 0 for r in results]
            if all(np.all(np.isfinite(x)) for x in arguments):
                try:
                    parts = call(*arguments) if op.several else [call(*arguments)]
                except np.linalg.LinAlgError:
                    if not (or_nan and stack):
                        raise
            for result, part in zip(results, parts, strict=True):
                result[at] = part
    return tuple(results) if op.several else results[0]


def underlying(x: Value) -> Value:
    """The plain array that a value holds, with its batch axes; None where a program is being recorded."""
    while isinstance(x, Tracer):
        if isinstance(x, RecordTracer):
            return None
        x = x._value  # pyright: ignore[reportPrivateUsage]
    return x


def is_counted(x: Value) -> bool:
    """Whether a value has no elements and stands for an array that has: its memory is counted, whatever they are."""
    while isinstance(x, Tracer):
        if x._trace.counts:  # pyright: ignore[reportPrivateUsage]
            return True
        x = x._value  # pyright: ignore[reportPrivateUsage]
    return False


def answer(question: Callable[[Value], Value], x: Value) -> bool | None:
    """What a question about the value of x has as an answer; None where the value is not known yet.

    Of batch elements, whether any of them answers yes.
    """
    value = underlying(x)
    if value is not None:
        return bool(np.any(question(value)))
    try:
        return bool(np.any(question(x)))
    except ControlFlowError:  # in the body of a loop or a branch, which is for all values
        return None
