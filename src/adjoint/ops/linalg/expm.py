"""The exponential of a matrix, eᴬ = Σ Aʲ / j!."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportMissingTypeStubs=false
# (SciPy has no types.)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import adjoint_matrix
from adjoint.ops.calculus import Differential
from adjoint.ops.linalg.matrices import Stacked, check_square, factor_dtype, to_factor_dtype
from adjoint.ops.linalg.workspace import measured_workspace
from adjoint.program.op import primitive
from adjoint.program.types import ArrayType, Value


@primitive
class MatrixExponential(Stacked, Differential):
    """Z = eᴬ. Block triangular matrices carry derivatives: the upper right block of exp [A Ȧ; 0 A] is Ż.

    In the same way the first row of blocks of exp T, where T has the Taylor coefficients A₀, A₁, … of A along its
    block diagonals, holds those of Z: such matrices multiply as power series do.
    """

    @property
    def title(self) -> str:
        return "expm"

    def evaluate(self, *xs: Value) -> Value:
        import scipy.linalg

        a = to_factor_dtype(self.title, xs[0])
        return scipy.linalg.expm(a) if a.size else a.copy()

    def result_type(self, *types: ArrayType) -> Any:
        (a,) = types
        check_square(self.title, a)
        return ArrayType(a.shape, factor_dtype(self.title, a))

    def keep(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return (True,), False

    def push(self, xs: Sequence[Value], z: Value, dxs: Sequence[Value]) -> Value:
        return self(toeplitz([xs[0], dxs[0]]))[..., : xs[0].shape[-1], xs[0].shape[-1] :]

    def pull(self, ct: Value, xs: Sequence[Value], z: Value, wanted: Sequence[bool]) -> Sequence[Value]:
        return (
            self.push([adjoint_matrix(xs[0])], None, [ct]),
        )  # the adjoint of the derivative at A is the derivative at Aᴴ

    def coefficient(self, k: int, xs: Sequence[Any], z: Any) -> Value:
        terms = [xs[0].get(j) for j in range(k + 1)]
        if all(term is None for term in terms[1:]):
            return None
        n = terms[0].shape[-1]
        return self(toeplitz(terms))[..., :n, k * n :]

    def workspace(self, types: Sequence[ArrayType], results: Sequence[ArrayType]) -> float:
        return measured_workspace(results, (6.5, 5.5))


def toeplitz(terms: Sequence[Value]) -> Value:
    """The block upper triangular matrix with terms[j] on its j-th block diagonal; None is zero."""
    zero = np.zeros(terms[0].shape, terms[0].dtype)
    blocks = [zero if term is None else term for term in terms]
    rows = [np.concatenate([zero] * i + blocks[: len(blocks) - i], axis=-1) for i in range(len(blocks))]
    return np.concatenate(rows, axis=-2)
