"""The eigenvalues and eigenvectors of symmetric tridiagonal matrices, which give Fourier and Legendre series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.calculus import Implicit, total
from adjoint.ops.linalg.matrices import Stacked, check_square, diagonal, factor_dtype, hermitian, spread_diagonal
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value, real_dtype


@primitive
class TridiagonalEigh(Stacked, Implicit):
    """A V = V diag(w) for a symmetric tridiagonal A without zeros beside its diagonal, or with distinct numbers on it.

    Then the w, which ascend, are distinct. The largest element of each vector is positive. With M = Vᵀ Ȧ V, of the
    symmetric part of Ȧ: ẇ = diag(M), V̇ = V (F ∘ M), F[i, j] = 1 / (wⱼ - wᵢ) off the diagonal.
    """

    several = True

    def evaluate(self, *xs: Value) -> Value:
        return self.expand(*xs)

    def expand(self, a: Value) -> Value:
        w, v = np.linalg.eigh(a)
        largest = np.take_along_axis(v, np.expand_dims(np.argmax(np.abs(v), axis=-2), -2), -2)
        return w, np.where(largest < 0, -v, v)

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_square(self.title, a)
        dtype = factor_dtype(self.title, a)
        return ArrayType(a.shape[:-1], real_dtype(dtype)), ArrayType(a.shape, dtype)

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        w, v = z
        m = np.matmul(_turned(v), np.matmul(hermitian(dxs[0]), v))
        return diagonal(m), np.matmul(v, _inverse_gaps(w) * m)

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        (w_bar, v_bar), (w, v) = ct, z
        m: Value = None if w_bar is None else spread_diagonal(w_bar)
        if v_bar is not None:
            m = total(m, _inverse_gaps(w) * np.matmul(_turned(v), v_bar))
        return (hermitian(np.matmul(v, np.matmul(m, _turned(v)))),)


def _turned(v: Value) -> Value:
    return np.swapaxes(v, -1, -2)


def _inverse_gaps(w: Value) -> Value:
    """1 / (wⱼ - wᵢ), 0 on the diagonal."""
    same = np.eye(w.shape[-1], dtype=bool)
    return np.where(same, 0.0, 1.0 / np.where(same, 1.0, np.expand_dims(w, -2) - np.expand_dims(w, -1)))
