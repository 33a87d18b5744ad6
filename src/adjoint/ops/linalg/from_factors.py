"""What follows from the factors of a matrix, P A = L U, once they are there: determinants, the inverse."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# (NumPy types the results of linear algebra by their arguments, which may be anything here.)

from __future__ import annotations

import numpy as np

from adjoint.ops.arrays.rearrange import Convert
from adjoint.ops.linalg.solve import TriangularSolve
from adjoint.program.types import Value, real_dtype


def diagonal_of(packed: Value) -> Value:
    """The diagonal of U."""
    return np.diagonal(packed, axis1=-2, axis2=-1)


def _sign_of_exchanges(packed: Value, pivots: Value) -> Value:
    """det(P)."""
    stays = np.equal(pivots, np.arange(packed.shape[-1], dtype=np.int32))
    one = real_dtype(packed.dtype).type(1)
    return np.prod(np.where(stays, one, -one), axis=-1)


def determinant(packed: Value, pivots: Value) -> Value:
    """det(A) = det(P) Π uᵢᵢ."""
    return _sign_of_exchanges(packed, pivots) * np.prod(diagonal_of(packed), axis=-1)


def sign_and_logarithm(packed: Value, pivots: Value) -> tuple[Value, Value]:
    """det(P) Π uᵢᵢ / |uᵢᵢ| and Σ log |uᵢᵢ|."""
    u = diagonal_of(packed)
    sizes = np.abs(u)
    if u.dtype.kind == "c":
        signs = np.where(np.equal(sizes, 0), u, u / np.where(np.equal(sizes, 0), sizes.dtype.type(1), sizes))
    else:
        signs = np.where(np.less(u, 0), -np.ones((), u.dtype), np.not_equal(u, 0))  # that of NaN is one, as in NumPy
    sign = _sign_of_exchanges(packed, pivots) * np.prod(signs, axis=-1)
    return sign, np.sum(np.log(sizes), axis=-1)


def inverse(packed: Value, order: Value) -> Value:
    """A⁻¹ = U⁻¹ L⁻¹ P."""
    exchanges = Convert(packed.dtype)(np.equal(np.expand_dims(order, -1), np.arange(packed.shape[-1])))
    return TriangularSolve(lower=False)(packed, TriangularSolve(lower=True, unit=True)(packed, exchanges))
