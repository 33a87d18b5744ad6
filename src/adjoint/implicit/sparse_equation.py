"""∂ₓF as a sparse matrix: its nonzeros from few products, by coloring, and one factorization for all right sides."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from adjoint.base.errors import SolveError
from adjoint.base.loading import deferred
from adjoint.implicit.vectors import to_arrays, to_vector
from adjoint.ops.control.recorded import call_program
from adjoint.program.program import Program
from adjoint.program.types import Value

if TYPE_CHECKING:
    from adjoint.scipy.sparse import csr_array
    from adjoint.scipy.sparse.linalg import splu
    from adjoint.sparse.derivatives import SparseDerivative, jacobian
else:
    csr_array = deferred("adjoint.scipy.sparse", "csr_array")
    splu = deferred("adjoint.scipy.sparse.linalg", "splu")
    jacobian = deferred("adjoint.sparse.derivatives", "jacobian")

__all__ = ["factor_sparse"]

REMEMBERED = 16  # equations whose pattern and coloring are known


@lru_cache(maxsize=REMEMBERED)
def _make_derivative(residual: Program, count: int) -> SparseDerivative:
    """∂ₓF of an equation with `count` arrays in θ; the same for equal programs, so that they are colored once."""
    unknown, types = residual.input_types[count:], residual.output_types

    def F(vector: Value, *theta: Value) -> Value:
        return to_vector(call_program(residual, [*theta, *to_arrays(vector, unknown)]), types)

    return jacobian(F)


def factor_sparse(residual: Program, theta: Sequence[Value], x: Sequence[Value]) -> Any:
    """What solves ∂ₓF t = b: an object with `solve(b, trans)`."""
    derivative = _make_derivative(residual, len(theta))
    vector = to_vector(x, residual.input_types[len(theta) :])
    pattern = derivative.coloring(vector, *theta).pattern
    entries = derivative.values(vector, *theta)
    made = csr_array((entries, pattern.indices, pattern.indptr), shape=pattern.shape).tocsc()
    try:
        return splu(made)
    except RuntimeError as problem:
        raise SolveError(
            "The derivative of a solution: ∂ₓF is singular there, so the implicit function theorem does not hold. Use "
            "linear='least squares' if the unknowns are few, or add a ridge to the equation."
        ) from problem
