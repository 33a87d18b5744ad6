"""The product of a sparse matrix, given by its entries and their positions, with vectors."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false
# (NumPy types results by their arguments, which may be anything here; SciPy has no types.)

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.arrays.index import Gather, ScatterSum
from adjoint.ops.calculus import Multilinear, arithmetic_flops, fit
from adjoint.ops.linalg.matrices import check_matrix
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, result_dtype


def read_rows(x: Value, index: Value) -> Value:
    """x[…, index, :], where either may be traced."""
    return np.moveaxis(Gather(1)(np.moveaxis(x, -2, 0), index), 0, -2)


def conjugate(x: Value) -> Value:
    """The conjugate; real numbers as they are."""
    return np.conjugate(x) if x.dtype.kind == "c" else x


def aligned_stacks(xs: Sequence[Value], mapped: Sequence[bool], size: int) -> tuple[Value, Value]:
    """Entries [size, …, nnz] and vectors [size, …, n, k] whose stacks inside a batch element line up."""
    inner = [x.ndim - own - m for x, own, m in zip(xs, (1, 2), mapped, strict=True)]
    data, x = (
        np.reshape(x, (size, *(1,) * (max(inner) - own), *x.shape[1:])) if m else x
        for x, own, m in zip(xs, inner, mapped, strict=True)
    )
    return data, x


def in_blocks(stacks: Sequence[Value], shape: tuple[int, int]) -> tuple[Value, ...]:
    """Matrices with patterns of their own, stacked in front, as the blocks of one; and the vectors for it."""
    data, x, rows, columns = stacks
    size = rows.shape[0]
    steps = np.arange(size)[:, None]
    data, x = np.moveaxis(data, 0, -2), np.moveaxis(x, 0, -3)
    return (
        np.reshape(data, (*data.shape[:-2], size * data.shape[-1])),
        np.reshape(x, (*x.shape[:-3], size * x.shape[-2], x.shape[-1])),
        np.reshape(rows + shape[0] * steps, (rows.size,)),
        np.reshape(columns + shape[1] * steps, (rows.size,)),
    )


def out_of_blocks(z: Value, size: int, rows: int) -> Value:
    """The results of the blocks, of so many rows each, stacked in front."""
    return np.moveaxis(np.reshape(z, (*z.shape[:-2], size, rows, z.shape[-1])), -3, 0)


@primitive
class SparseProduct(Multilinear):
    """Z = A X for entries a[…, nnz] at positions that are parameters: zᵢ = Σ aᵢⱼ xⱼ, for x[…, n, k].

    āᵢⱼ = Σ z̄ᵢ conj(xⱼ) at the positions of the entries alone,   X̄ = Aᴴ Z̄.
    """

    contracts = True
    size: int  # of rows
    size_fields = ("size",)

    @property
    def title(self) -> str:
        return "sparse_product"

    @property
    def parameters(self) -> int:
        return 2

    def evaluate(self, *xs: Value) -> Value:
        from scipy.sparse import coo_array

        data, x, rows, columns = xs
        dtype = np.result_type(data.dtype, x.dtype)
        n, k = x.shape[-2:]
        stack = np.broadcast_shapes(data.shape[:-1], x.shape[:-2])
        shape = (self.size, n)
        if data.ndim == 1:  # one product for all
            side = math.prod(stack) * k
            flat = np.reshape(np.moveaxis(x, -2, 0), (n, side))
            flat = flat[:, 0] if side == 1 else np.ascontiguousarray(flat)
            z = coo_array((data, (rows, columns)), shape=shape) @ flat  # a number, of one row and one vector
            z = np.moveaxis(np.reshape(z, (self.size, *stack, k)), 0, -2)
            return np.ascontiguousarray(z, dtype)
        out = np.empty((*stack, self.size, k), dtype)
        entries, sides = np.broadcast_to(data, (*stack, data.shape[-1])), np.broadcast_to(x, (*stack, n, k))
        for position in np.ndindex(*stack):
            matrix = coo_array((entries[position], (rows, columns)), shape=shape)
            out[position] = np.reshape(matrix @ np.ascontiguousarray(sides[position]), (self.size, k))
        return out

    def expand(self, *xs: Value) -> Value:
        data, x, rows, columns = xs
        terms = np.moveaxis(np.expand_dims(data, -1) * read_rows(x, columns), -2, 0)
        sums = ScatterSum((self.size, *terms.shape[1:]), terms.dtype, (("gather", 1),))(terms, rows)
        return np.moveaxis(sums, 0, -2)

    def result_type(self, *types: ArrayType) -> Any:
        data, x, rows, columns = types
        check_matrix(self.title, x)
        if not (data.shape[-1:] == rows.shape == columns.shape):
            raise ShapeError(f"{self.title}: {data} entries at {rows} rows and {columns} columns.")
        stack = np.broadcast_shapes(data.shape[:-1], x.shape[:-2])
        return ArrayType((*stack, self.size, x.shape[-1]), result_dtype(data, x))

    def adjoint(self, i: int, ct: Value, xs: Sequence[Value]) -> Value:
        data, x, rows, columns = xs
        if i == 1:
            return fit(SparseProduct(x.shape[-2])(conjugate(data), ct, columns, rows), x)
        return fit(np.sum(read_rows(ct, rows) * conjugate(read_rows(x, columns)), axis=-1), data)

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        if mapped[2] or mapped[3]:
            stacks = [x if m else np.broadcast_to(x, (size, *x.shape)) for x, m in zip(xs, mapped, strict=True)]
            blocks = in_blocks(stacks, (self.size, stacks[1].shape[-2]))
            return out_of_blocks(SparseProduct(size * self.size)(*blocks), size, self.size)
        return self(*aligned_stacks(xs[:2], mapped[:2], size), *xs[2:])

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, 2 * np.shape(xs[0])[-1] * np.size(zs[0]) / max(self.size, 1))
