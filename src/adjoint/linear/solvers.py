"""Linear equations without a matrix: cg, minres, gmres, bicgstab, and `solve`, which chooses among them.

    x = A⁻¹ b,    ẋ = A⁻¹ (ḃ - Ȧ x),    b̄ = A⁻* x̄

Each is differentiable in b and in everything that A is made of, its closure included, by the equation itself: the same
solver runs once more for a derivative. Where it starts and what preconditions it has no derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index as operator_index
from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.linear.equation import Method, solved
from adjoint.linear.iteration import Limits
from adjoint.linear.krylov import conjugate_gradients, minimal_residuals
from adjoint.linear.krylov_general import generalized_minimal_residuals, stabilized_biconjugate_gradients
from adjoint.linear.operator import operator
from adjoint.linear.operator import preconditioner as read_preconditioner
from adjoint.linear.solution import Solution
from adjoint.linear.telling import Teller
from adjoint.program.types import Value

__all__ = ["bicgstab", "cg", "gmres", "limits_for", "minres", "options_in"]


def limits_for(title: str, dtype: Any, size: int, options: dict[str, Any]) -> Limits:
    """The limits, with defaults: tol 1e-10 in double precision, 1e-5 in single; 10 iterations for each unknown."""
    tol, most = options["tol"], options["max_iterations"]
    if tol is None:
        tol = 1e-10 if np.finfo(dtype).eps < 1e-10 else 1e-5
    if np.shape(tol) != () or np.shape(options["atol"]) != ():
        raise ShapeError(f"{title}: tol and atol must be numbers. For a stack of equations use vmap.")
    most = 10 * size if most is None else operator_index(most)
    if most < 0:
        raise ValueError(f"{title}: max_iterations is {most}; it cannot be negative.")
    teller = Teller.of(options["callback"], options["progress"], title, most)
    return Limits(tol, options["atol"], most, teller, options["history"])


def _krylov(
    title: str, method: Method, A: Any, b: Any, x0: Any, options: dict[str, Any], *, symmetric: bool
) -> Solution:
    made, b, x0 = operator(A, b, x0, title)
    if made.domain.size != made.range.size:
        raise ShapeError(f"{title}: the operator has shape {(made.range.size, made.domain.size)}; it must have as many "
                         "rows as columns. Use lsmr for least squares.")  # fmt: skip
    M = read_preconditioner(options["preconditioner"], made, title)
    limits = limits_for(title, made.domain.dtype, made.domain.size, options)
    limits = limits._replace(restart=options.get("restart", limits.restart))
    return solved(title, method, made, M, b, x0, limits, symmetric=symmetric, unrolled=options["unrolled"])


@user_facing
def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Value | None = None,
    atol: Value = 0.0,
    max_iterations: int | None = None,
    preconditioner: Any = None,
    callback: Callable[[Any, Any], object] | None = None,
    progress: bool = False,
    history: bool = False,
    unrolled: bool = False,
) -> Solution:
    """x with A x = b by conjugate gradients: A symmetric (Hermitian) and positive definite.

    ```python
    A = ad.linear.from_function(lambda x: 2 * x, 3, "positive definite")
    solution = ad.linear.cg(A, np.ones(3))
    solution.value, solution.iterations  # → ([0.5, 0.5, 0.5], 1)
    ```
    """
    return _krylov("cg", conjugate_gradients, A, b, x0, options_in(locals()), symmetric=True)


@user_facing
def minres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Value | None = None,
    atol: Value = 0.0,
    max_iterations: int | None = None,
    preconditioner: Any = None,
    callback: Callable[[Any, Any], object] | None = None,
    progress: bool = False,
    history: bool = False,
    unrolled: bool = False,
) -> Solution:
    """x with A x = b by minimal residuals: A symmetric (Hermitian), of any signs; the preconditioner is positive.

    ```python
    ad.linear.minres(np.diag([1.0, -2.0]), np.ones(2)).value  # → [1.0, -0.5]
    ```
    """
    return _krylov("minres", minimal_residuals, A, b, x0, options_in(locals()), symmetric=True)


@user_facing
def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    restart: int = 30,
    tol: Value | None = None,
    atol: Value = 0.0,
    max_iterations: int | None = None,
    preconditioner: Any = None,
    callback: Callable[[Any, Any], object] | None = None,
    progress: bool = False,
    history: bool = False,
    unrolled: bool = False,
) -> Solution:
    """x with A x = b by generalized minimal residuals: any invertible A; keeps `restart` + 1 vectors.

    ```python
    ad.linear.gmres(np.array([[1.0, 2.0], [0.0, 4.0]]), np.array([3.0, 4.0])).value  # → [1.0, 1.0]
    ```
    """
    if operator_index(restart) < 1:
        raise ValueError(f"gmres: restart is {restart}; it must be at least 1.")
    return _krylov("gmres", generalized_minimal_residuals, A, b, x0, options_in(locals()), symmetric=False)


@user_facing
def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Value | None = None,
    atol: Value = 0.0,
    max_iterations: int | None = None,
    preconditioner: Any = None,
    callback: Callable[[Any, Any], object] | None = None,
    progress: bool = False,
    history: bool = False,
    unrolled: bool = False,
) -> Solution:
    """x with A x = b by stabilized biconjugate gradients: any invertible A, a few vectors, two products a step.

    ```python
    ad.linear.bicgstab(np.array([[1.0, 2.0], [0.0, 4.0]]), np.array([3.0, 4.0])).value  # → [1.0, 1.0]
    ```
    """
    return _krylov("bicgstab", stabilized_biconjugate_gradients, A, b, x0, options_in(locals()), symmetric=False)


_NAMES = ("tol", "atol", "max_iterations", "preconditioner", "callback", "progress", "history", "unrolled", "restart")


def options_in(given: dict[str, Any]) -> dict[str, Any]:
    """The options that all methods share, among the arguments of one."""
    return {name: given[name] for name in _NAMES if name in given}
