"""Matrix products and einsums: columns and rows as vectors, outer products as products, einsums as matrix products."""

from __future__ import annotations

import math
from typing import Any

from adjoint.ops.arrays.contract import Einsum, MatMul
from adjoint.ops.arrays.rearrange import Broadcast, Reshape, Transpose
from adjoint.ops.arrays.reduce import Sum
from adjoint.ops.elementwise.arithmetic import multiply
from adjoint.program.program import Atom
from adjoint.program.types import ArrayType
from adjoint.simplify.rules.rule import ANY, Rule, rule
from adjoint.simplify.rules.shapes import reshape


@rule("a product over one index is an outer product", MatMul, ANY, ANY)
def outer_product(r: Any, op: MatMul, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    a, b = inputs
    if a.type.ndim < 2 or b.type.ndim < 2 or a.type.shape[-1] != 1 or kind.dtype.kind == "b":
        return None
    return r.apply(multiply, inputs)


@rule("A times a column is A times a vector", MatMul, ANY, ANY)
def column(r: Any, op: MatMul, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    a, b = inputs
    if a.type.ndim < 2 or b.type.ndim < 2 or b.type.shape[-1] != 1:
        return None
    stack, k = b.type.shape[:-2], b.type.shape[-2]
    if math.prod(stack) == 1:
        return reshape(r, r.apply(op, (a, reshape(r, b, (k,)))), kind.shape)
    if a.type.ndim == 2:  # one matrix on many columns: the columns as rows, in one product
        rows = reshape(r, b, (math.prod(stack), k))
        return reshape(r, r.apply(op, (rows, _transpose(r, a))), kind.shape)
    return None


@rule("a row times B is a vector times B", MatMul, Reshape, ANY)
def row(r: Any, op: MatMul, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    a, b = inputs
    if b.type.ndim != 2 or a.type.ndim < 2 or a.type.size != a.type.shape[-1]:
        return None
    return reshape(r, r.apply(op, (reshape(r, a, a.type.shape[-1:]), b)), kind.shape)


@rule("a stack of matrices times one matrix is one product", MatMul, ANY, ANY)
def folded_stack(r: Any, op: MatMul, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    a, b = inputs
    if a.type.ndim < 3 or b.type.ndim > 2 or not all(isinstance(n, int) for n in a.type.shape):
        return None
    inner = a
    while (eq := r.defined_by(inner, Reshape)) is not None:
        inner = eq.inputs[0]
    if r.defined_by(inner, Transpose) or r.defined_by(inner, Broadcast):
        return None  # its elements do not lie one after another: the stack would have to be copied
    rows = reshape(r, a, (math.prod(a.type.shape[:-1]), a.type.shape[-1]))
    return reshape(r, r.apply(op, (rows, b)), kind.shape)


@rule("axes of size one before a stack of matrices", MatMul, Reshape, ANY)
def left_without_ones(r: Any, op: MatMul, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    a, b = inputs
    shape = a.type.shape
    if a.type.ndim < 3 or b.type.ndim > 2 or 1 not in shape[:-2]:
        return None
    stack = tuple([n for n in shape[:-2] if n != 1])
    return reshape(r, r.apply(op, (reshape(r, a, (*stack, *shape[-2:])), b)), kind.shape)


def _transpose(r: Any, a: Atom) -> Atom:
    return r.apply(Transpose((1, 0)), (a,))


@rule("an einsum of one operand: sums, then a transpose", Einsum, ANY)
def einsum_of_one(r: Any, op: Einsum, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    left, right = op.spec.split("->")
    (x,) = inputs
    if len(set(left)) != len(left) or x.type.dtype != kind.dtype or not _sums_keep(kind):
        return None
    return _arrange(r, _sum_others(r, x, left, right), [c for c in left if c in right], list(right))


@rule("an einsum of two operands: a product, a sum of products, or a matrix product", Einsum, ANY, ANY)
def einsum_of_two(r: Any, op: Einsum, inputs: tuple[Atom, ...], kind: ArrayType) -> Atom | None:
    left, out = op.spec.split("->")
    first, second = left.split(",")
    x, y = inputs
    if any(len(set(part)) != len(part) for part in (first, second, out)) or not _sums_keep(kind):
        return None
    if x.type.dtype != kind.dtype or y.type.dtype != kind.dtype:
        return None
    sizes = dict(zip(first + second, (*x.type.shape, *y.type.shape), strict=True))
    pairs = zip((first, second), (x.type.shape, y.type.shape), strict=True)
    if any(sizes[c] != n for part, shape in pairs for c, n in zip(part, shape, strict=True)):
        return None  # an index of size one that is spread
    x, y = _sum_others(r, x, first, second + out), _sum_others(r, y, second, first + out)
    first = "".join(c for c in first if c in second + out)
    second = "".join(c for c in second if c in first + out)
    batch = [c for c in out if c in first and c in second]
    summed = [c for c in first if c in second and c not in out]
    rows = [c for c in out if c in first and c not in second]
    columns = [c for c in out if c in second and c not in first]
    if summed and ((rows and columns) or not batch):
        return _by_matmul(r, (x, first), (y, second), (batch, rows, summed, columns), out, sizes)
    order = _natural_order(first, second, out) or [*out, *summed]
    product = r.apply(multiply, (_spread_out(r, x, first, order), _spread_out(r, y, second, order)))
    return (
        r.apply(Sum(tuple(order.index(c) for c in sorted(summed, key=order.index))), (product,)) if summed else product
    )


def _natural_order(first: str, second: str, out: str) -> list[str] | None:
    """The order of axes of an operand that has them all, where the result has them in that order too."""
    for letters in (first, second):
        if set(letters) == {*first, *second} and [c for c in letters if c in out] == list(out):
            return list(letters)
    return None


def _sums_keep(kind: ArrayType) -> bool:
    """Whether sums of this dtype have it too; those of small integers and truth values are wider."""
    return kind.dtype.kind in "fc" or (kind.dtype.kind in "iu" and kind.dtype.itemsize == 8)


def _sum_others(r: Any, x: Atom, letters: str, kept: str) -> Atom:
    """x summed over the indices that occur nowhere else."""
    axes = tuple(a for a, c in enumerate(letters) if c not in kept)
    return r.apply(Sum(axes), (x,)) if axes else x


def _arrange(r: Any, x: Atom, letters: list[str], order: list[str]) -> Atom:
    """x with its axes in this order."""
    return x if letters == order else r.apply(Transpose(tuple(letters.index(c) for c in order)), (x,))


def _spread_out(r: Any, x: Atom, letters: str, order: list[str]) -> Atom:
    """x with its axes in this order, and axes of size one for the indices that it does not have."""
    own = [c for c in order if c in letters]
    x = _arrange(r, x, list(letters), own)
    sizes = dict(zip(own, x.type.shape, strict=True))
    return reshape(r, x, tuple(sizes.get(c, 1) for c in order))


def _by_matmul(
    r: Any,
    left: tuple[Atom, str],
    right: tuple[Atom, str],
    groups: tuple[list[str], list[str], list[str], list[str]],
    out: str,
    sizes: dict[str, int],
) -> Atom:
    """C[b, i, j] = Σₜ A[b, i, t] B[b, t, j], where each letter may be several indices, or none."""
    batch, rows, summed, columns = groups
    size = lambda letters: math.prod(sizes[c] for c in letters)
    stack = tuple(sizes[c] for c in batch)
    a = _factor(r, left, batch, rows, summed)
    b = _factor(r, right, batch, summed, columns)
    a = reshape(r, a, (*stack, *([size(rows)] if rows or batch else []), size(summed)))
    b = reshape(r, b, (*stack, size(summed), *([size(columns)] if columns or batch else [])))
    product = r.apply(MatMul(), (a, b))
    letters = [*batch, *rows, *columns]
    product = reshape(r, product, tuple(sizes[c] for c in letters))
    return _arrange(r, product, letters, list(out))


def _factor(r: Any, operand: tuple[Atom, str], *groups: list[str]) -> Atom:
    x, letters = operand
    return _arrange(r, x, list(letters), [c for group in groups for c in group])


RULES: list[Rule] = [outer_product, column, row, folded_stack, left_without_ones, einsum_of_one, einsum_of_two]
