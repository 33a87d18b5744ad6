"""Inverse Hessians times vectors: ∇²f(x)⁻¹ u, by iterations of Hessian-vector products or by factors of the matrix.

iterative:  a product for each iteration; at most P of them in exact arithmetic, P the number of unknowns
direct:     P products for the matrix, O(P³) for its factors, once; then O(P²) for each u
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adjoint import tree
from adjoint.api.function import Options
from adjoint.api.gradients import Function, Transformed
from adjoint.api.hessian_products import predicted_hvp_costs
from adjoint.base.source import user_facing
from adjoint.curvature.arrangement import size_of
from adjoint.linear.factorizations.factors import factored
from adjoint.linear.operators.derivative_maps import hessian
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.structures import matrix, scaling
from adjoint.linear.solvers.solution import Solution
from adjoint.linear.solvers.solving import solve
from adjoint.program.types import Value, type_of

__all__ = ["factored_hessian", "inverse_hvp", "inverse_hvp_costs"]

SMALL = 256  # unknowns: below it the whole matrix is made and factored


@user_facing
def inverse_hvp(
    function: Function,
    primals: Sequence[tree.Tree],
    u: tree.Tree,
    *facts: str,
    method: str = "auto",
    damping: Value = 0.0,
    **options: Any,
) -> Solution:
    """v with (∇²f(x) + damping I)[v] = u, in `.value`: a tree like u, which is like the result of `hvp`.

    Methods: "direct", "cg" (positive definite Hessians), "minres" (symmetric ones of any signs), "gmres", "bicgstab";
    "auto" takes the direct one for a few hundred real unknowns, else "cg" if the `facts` say "positive definite", or
    "minres". Options (tol, x0, preconditioner, max_iterations …) and the answer are those of `adjoint.linear.solve`.
    Differentiable in everything, by the equation itself.

    ```python
    f = lambda x: np.sum(np.array([1.0, 2.0]) * x**2)
    ad.curvature.inverse_hvp(f, (np.ones(2),), np.ones(2)).value  # → [0.5, 0.25]
    ```
    """
    primals = tuple(primals)
    if method == "auto":
        # a Hessian in complex numbers is linear over the real ones alone, and has no matrix
        real = all(type_of(leaf).dtype.kind != "c" for leaf in tree.leaves(primals))
        method = "direct" if real and size_of(primals) <= SMALL else "auto"
    return solve(_damp(function, primals, damping), u, *facts, method=method, **options)


def _damp(function: Function, primals: tuple[Any, ...], damping: Value) -> LinearMap:
    argnums = tuple(range(len(primals))) if len(primals) > 1 else 0
    A: LinearMap = hessian(function, argnums)(*primals)
    return A if isinstance(damping, int | float) and damping == 0 else A + scaling(damping, A.domain)


def factored_hessian(function: Function, *facts: str, damping: Value = 0.0) -> Transformed:
    """∇²f(x) + damping I with its factors, for many right sides: `factored_hessian(f)(x).solve(u)`.

    Cholesky where the `facts` say "positive definite", else LU.

    ```python
    f = lambda x: np.sum(np.array([1.0, 2.0]) * x**2)
    H = ad.curvature.factored_hessian(f, "positive definite")(np.ones(2))
    H.solve(np.ones(2))  # → [0.499999…, 0.25]
    ```
    """
    return Transformed(_factored_hessian, function, _FactorOptions(facts, damping))


@dataclass(frozen=True)
class _FactorOptions(Options):
    """The options of `factored_hessian`."""

    facts: tuple[str, ...]
    damping: Value


def _factored_hessian(function: Function, options: _FactorOptions, args: Any, kwargs: Any) -> LinearMap:
    A = _damp(functools.partial(function, **kwargs) if kwargs else function, args, options.damping)
    return factored(matrix(A.to_dense(), "symmetric", *options.facts, domain=A.domain, range=A.range))


def inverse_hvp_costs(
    function: Function, primals: Sequence[tree.Tree], *, right_sides: int = 1, iterations: int | None = None
) -> dict[str, float]:
    """What `right_sides` solutions cost directly and iteratively, in units of one addition, as the programs predict it.

    `iterations` is how many each iterative one takes: P of them (the default) is the most in exact arithmetic, the
    number of distinct eigenvalues what it is at best.

    ```python
    f = lambda x: np.sum(np.cosh(x) * x[::-1])
    sorted(ad.curvature.inverse_hvp_costs(f, (np.ones(50),)))  # → ['direct', 'iterative']
    ```
    """
    primals = tuple(primals)
    n = size_of(primals)
    costs = predicted_hvp_costs(function, primals, compiled=True)
    product = min(costs.values()) if costs else 10.0 * n
    count = n if iterations is None else iterations
    return {
        "direct": n * product + n**3 / 6 + right_sides * n**2,
        "iterative": right_sides * count * (product + 5.0 * n),
    }
