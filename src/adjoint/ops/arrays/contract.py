"""Matrix products and general contractions: linear in each factor, and closed under transposition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.ops.calculus import Multilinear, arithmetic_flops, fit
from adjoint.program.layout import Strides, probe_strides
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, result_dtype


def adjoint_matrix(x: Value) -> Value:
    """The conjugate transpose over the last two axes."""
    x = x.T if len(x.shape) == 2 else np.swapaxes(x, -1, -2)
    return np.conjugate(x) if x.dtype.kind == "c" else x


@primitive
class MatMul(Multilinear):
    """C[…, i, j] = Σₜ A[…, i, t] B[…, t, j] with NumPy's rules.

    Stacks broadcast; a vector is a row on the left and a column on the right.
    """

    contracts = True

    def evaluate(self, *xs: Value) -> Value:
        return np.matmul(*xs)

    def result_type(self, *types: ArrayType) -> Any:
        a, b = types
        if a.ndim == 0 or b.ndim == 0:
            raise ShapeError(f"matmul (@): {a} and {b}: a number has no rows or columns; use * instead.")
        rows = b.shape[-2] if b.ndim > 1 else b.shape[0]
        if a.shape[-1] != rows:
            raise ShapeError(
                f"matmul (@): {a} has {a.shape[-1]} columns but {b} has {rows} rows. Transpose one of them (.T), or "
                "exchange the two."
            )
        try:
            stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        except ValueError:
            raise ShapeError(f"matmul (@): the stacks of {a} and {b} do not broadcast. Reshape one of them.") from None
        shape = (*stack, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ()))
        return ArrayType(shape, result_dtype(a, b))

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        return probe_strides(self.evaluate, types, strides, result)

    def adjoint(self, i: int, ct: Value, xs: Sequence[Value]) -> Value:
        a, b = xs
        if len(a.shape) == 2 and len(b.shape) == 2:
            return fit(np.matmul(ct, adjoint_matrix(b)) if i == 0 else np.matmul(adjoint_matrix(a), ct), xs[i])
        if a.ndim == 1 and b.ndim == 1:
            other = xs[1 - i]
            return fit(ct * (np.conjugate(other) if other.dtype.kind == "c" else other), xs[i])
        if a.ndim == 1:
            ct = np.expand_dims(ct, -2)
        if b.ndim == 1:
            ct = np.expand_dims(ct, -1)
        if i == 0:
            column = np.expand_dims(b, -1) if b.ndim == 1 else b
            return fit(np.matmul(ct, adjoint_matrix(column)), _as_matrix(a, row=True)).reshape(a.shape)  # Ā = C̄ Bᴴ
        row = np.expand_dims(a, 0) if a.ndim == 1 else a
        if len(b.shape) <= 2 and row.ndim > 2:  # one B for a whole stack: fold the stack into the rows
            row, ct = np.reshape(row, (-1, row.shape[-1])), np.reshape(ct, (-1, ct.shape[-1]))
        return fit(np.matmul(adjoint_matrix(row), ct), _as_matrix(b, row=False)).reshape(b.shape)  # B̄ = Aᴴ C̄

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        a, b = xs
        vector_a, vector_b = np.ndim(a) - mapped[0] == 1, np.ndim(b) - mapped[1] == 1
        if vector_b and mapped[1] and not mapped[0] and np.ndim(a) == 2:
            return np.matmul(b, np.swapaxes(a, -1, -2))  # one matrix on a stack of vectors is one product
        if vector_a and mapped[0] and not mapped[1] and np.ndim(b) == 2:
            return np.matmul(a, b)
        a = np.expand_dims(a, -2) if vector_a else a
        b = np.expand_dims(b, -1) if vector_b else b
        inner = max(np.ndim(a) - mapped[0], np.ndim(b) - mapped[1])
        a, b = (
            np.reshape(x, (size,) + (1,) * (inner + 1 - x.ndim) + x.shape[1:]) if m else x
            for x, m in zip((a, b), mapped, strict=True)
        )
        c = np.matmul(a, b)
        if vector_a:
            c = np.squeeze(c, -2)
        return np.squeeze(c, -1) if vector_b else c

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        return arithmetic_flops(self, xs, np.size(zs[0]) * max(2 * np.shape(xs[0])[-1] - 1, 0))

    def may_raise(self, *types: ArrayType) -> bool:
        return False


def _as_matrix(x: Any, *, row: bool) -> ArrayType:
    """The type of a factor with a vector written as a matrix."""
    if len(x.shape) != 1:
        return ArrayType(x.shape, x.dtype)
    return ArrayType((1, *x.shape) if row else (*x.shape, 1), x.dtype)


def _is_large(xs: Sequence[Value]) -> bool:
    """Whether planning a contraction of two operands (so that it can go to BLAS) costs less than it saves."""
    return len(xs) == 2 and min(np.size(x) for x in xs) > 1024


@primitive
class Einsum(Multilinear):
    """A sum of products over named indices, `ij,jk->ik`.

    The output is always named, and no operand repeats an index.
    """

    contracts = True
    spec: str

    def _parts(self) -> tuple[list[str], str]:
        inputs, output = self.spec.split("->")
        return inputs.split(","), output

    def evaluate(self, *xs: Value) -> Value:
        if len(xs) <= 2 and not _is_large(xs):
            return np.asarray(np.einsum(self.spec, *xs))[()]
        dtype = np.result_type(*xs)  # in any other order a partial sum would be one of the operand's own dtype
        return np.asarray(np.einsum(self.spec, *[np.asarray(x, dtype) for x in xs], optimize=True))[()]

    def sizes(self, xs: Sequence[Any]) -> dict[str, Any]:
        """The size of each index."""
        sizes: dict[str, Any] = {}
        for letters, x in zip(self._parts()[0], xs, strict=True):
            for letter, n in zip(letters, x.shape, strict=True):
                if sizes.setdefault(letter, n) != n:
                    if sizes[letter] != 1 and n != 1:
                        raise ShapeError(f"einsum {self.spec}: index {letter} has sizes {sizes[letter]} and {n}.")
                    sizes[letter] = max(sizes[letter], n)
        return sizes

    def result_type(self, *types: ArrayType) -> Any:
        inputs, output = self._parts()
        for letters, t in zip(inputs, types, strict=True):
            if len(letters) != t.ndim:
                raise ShapeError(f"einsum {self.spec}: {letters!r} names {len(letters)} axes, but {t} has {t.ndim}.")
        sizes = self.sizes(types)
        return ArrayType(tuple(sizes[letter] for letter in output), result_dtype(*types))

    def layout(self, types: Sequence[ArrayType], strides: Sequence[Strides], result: ArrayType) -> Strides | None:
        (first, *others), output = self._parts()
        if not others and len(output) == len(first):
            return tuple(strides[0][first.index(letter)] for letter in output)
        return probe_strides(self.evaluate, types, strides, result)

    def adjoint(self, i: int, ct: Value, xs: Sequence[Value]) -> Value:
        inputs, output = self._parts()
        others = [j for j in range(len(xs)) if j != i]
        known = output + "".join(inputs[j] for j in others)
        missing = [
            letter for letter in inputs[i] if letter not in known
        ]  # summed over xᵢ alone: the cotangent is spread along them
        letters = [letter for letter in inputs[i] if letter in known]
        spec = f"{','.join([output, *[inputs[j] for j in others]])}->{''.join(letters)}"
        factors = [np.conjugate(xs[j]) if xs[j].dtype.kind == "c" else xs[j] for j in others]
        part = Einsum(spec)(ct, *factors)
        sizes = dict(zip(inputs[i], xs[i].shape, strict=True))
        if missing:
            part = np.reshape(part, tuple(part.shape[letters.index(c)] if c in letters else 1 for c in inputs[i]))
        if any(
            n == 1 and sizes[c] != 1 for c, n in zip(inputs[i], part.shape, strict=True)
        ):  # also where the others have size one
            part = np.broadcast_to(
                part, tuple(sizes[c] if n == 1 else n for c, n in zip(inputs[i], part.shape, strict=True))
            )
        return fit(part, xs[i])

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        inputs, output = self._parts()
        new = next(c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba" if c not in self.spec)
        parts = [new + letters if m else letters for letters, m in zip(inputs, mapped, strict=True)]
        return Einsum(f"{','.join(parts)}->{new}{output}")(*xs)

    def flops(self, xs: Sequence[Any], zs: Sequence[Any]) -> tuple[float, float] | None:
        sizes: dict[str, int] = {}
        for letters, x in zip(self._parts()[0], xs, strict=True):
            sizes.update(zip(letters, np.shape(x), strict=True))
        terms = math.prod(sizes.values())
        return arithmetic_flops(self, xs, terms * (len(xs) - 1) + terms - np.size(zs[0]))

    def may_raise(self, *types: ArrayType) -> bool:
        return False
