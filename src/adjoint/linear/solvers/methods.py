"""Linear equations without a matrix: cg, minres, gmres, bicgstab.

    x = A⁻¹ b,    ẋ = A⁻¹ (ḃ - Ȧ x),    b̄ = A⁻* x̄

Each is differentiable in b and in everything that A is made of, its closure included, by the equation itself: the same
solver runs once more for a derivative. Where it starts and what preconditions it has no derivative.
"""

from __future__ import annotations

from operator import index as operator_index
from typing import Any, Unpack

from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.linear.operators.operator import operator
from adjoint.linear.operators.operator import preconditioner as read_preconditioner
from adjoint.linear.solvers.equation import Method, solved
from adjoint.linear.solvers.krylov import conjugate_gradients, minimal_residuals
from adjoint.linear.solvers.krylov_general import generalized_minimal_residuals, stabilized_biconjugate_gradients
from adjoint.linear.solvers.options import Options, SolverOptions, takes_options
from adjoint.linear.solvers.solution import Solution

__all__ = ["bicgstab", "cg", "gmres", "minres"]


def _krylov(
    title: str,
    method: Method,
    problem: tuple[Any, Any, Any],
    options: SolverOptions,
    *,
    symmetric: bool,
    restart: int = 30,
) -> Solution:
    """The solution of A x = b from x₀, for problem (A, b, x₀)."""
    given = Options.read(title, options)
    made, b, x0 = operator(*problem, title)
    if made.domain.size != made.range.size:
        raise ShapeError(f"{title}: the operator has shape {(made.range.size, made.domain.size)}; it must have as many "
                         "rows as columns. Use lsmr for least squares.")  # fmt: skip
    M = read_preconditioner(given.preconditioner, made, title)
    limits = given.limits(title, made.domain.dtype, made.domain.size, restart)
    return solved(title, method, made, M, b, x0, limits, symmetric=symmetric, unrolled=given.unrolled)


@user_facing
@takes_options
def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    **options: Unpack[SolverOptions],
) -> Solution:
    """x with A x = b by conjugate gradients: A symmetric (Hermitian) and positive definite.

    ```python
    A = ad.linear.from_function(lambda x: 2 * x, 3, "positive definite")
    solution = ad.linear.cg(A, np.ones(3))
    solution.value, solution.iterations  # → ([0.5, 0.5, 0.5], 1)
    ```
    """
    return _krylov("cg", conjugate_gradients, (A, b, x0), options, symmetric=True)


@user_facing
@takes_options
def minres(
    A: Any,
    b: Any,
    x0: Any = None,
    **options: Unpack[SolverOptions],
) -> Solution:
    """x with A x = b by minimal residuals: A symmetric (Hermitian), of any signs; the preconditioner is positive.

    ```python
    ad.linear.minres(np.diag([1.0, -2.0]), np.ones(2)).value  # → [1.0, -0.5]
    ```
    """
    return _krylov("minres", minimal_residuals, (A, b, x0), options, symmetric=True)


@user_facing
@takes_options
def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    restart: int = 30,
    **options: Unpack[SolverOptions],
) -> Solution:
    """x with A x = b by generalized minimal residuals: any invertible A; keeps `restart` + 1 vectors.

    ```python
    ad.linear.gmres(np.array([[1.0, 2.0], [0.0, 4.0]]), np.array([3.0, 4.0])).value  # → [1.0, 1.0]
    ```
    """
    if operator_index(restart) < 1:
        raise ValueError(f"gmres: restart is {restart}; it must be at least 1.")
    return _krylov("gmres", generalized_minimal_residuals, (A, b, x0), options, symmetric=False, restart=restart)


@user_facing
@takes_options
def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    **options: Unpack[SolverOptions],
) -> Solution:
    """x with A x = b by stabilized biconjugate gradients: any invertible A, a few vectors, two products a step.

    ```python
    ad.linear.bicgstab(np.array([[1.0, 2.0], [0.0, 4.0]]), np.array([3.0, 4.0])).value  # → [1.0, 1.0]
    ```
    """
    return _krylov("bicgstab", stabilized_biconjugate_gradients, (A, b, x0), options, symmetric=False)
