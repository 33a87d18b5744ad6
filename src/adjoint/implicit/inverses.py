"""`inverse`: f⁻¹ as a differentiable function, and the logarithm of its volume factor.

w = f⁻¹(ω):   F(w, ω) = f(w) - ω,      ∂f⁻¹(ω) = ∂f(w)⁻¹,      log |det ∂f⁻¹(ω)| = -log |det ∂f(w)|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.jacobians import jacobian
from adjoint.base.errors import SolveError
from adjoint.base.source import user_facing
from adjoint.debug import check as check_now
from adjoint.implicit.function import ImplicitFunction
from adjoint.implicit.iterations import newton_root, picard
from adjoint.implicit.roots import root
from adjoint.implicit.vectors import to_arrays, to_vector
from adjoint.linear.functions.determinants import slogdet
from adjoint.linear.operators.structures import matrix
from adjoint.program.types import Value, type_of

__all__ = ["Inverse", "inverse"]


@final
@dataclass(frozen=True, eq=False)
class Inverse:
    """ω ↦ w with f(w, *θ) = ω.

    ```python
    g = ad.implicit.inverse(lambda w: 2.0 * w)
    g(3.0)  # → 1.5
    ```
    """

    function: Callable[..., Any]
    solution: ImplicitFunction

    @user_facing
    def __call__(self, omega: Any, *args: Any, **kwargs: Any) -> Any:
        return self.solution(omega, *args, **kwargs)

    @user_facing
    def log_det(self, omega: Any, *args: Any, **kwargs: Any) -> Any:
        """log |det ∂f⁻¹(ω)|: what a density gains when its variable goes through f.

        ```python
        ad.implicit.inverse(lambda w: 2.0 * w).log_det(np.ones(3))  # → -2.0794415…
        ```
        """
        w = self.solution(omega, *args, **kwargs)
        leaves, structure = tree.flatten(w)
        types = [type_of(v) for v in leaves]

        def flat(vector: Value) -> Value:
            found = tree.leaves(self.function(tree.unflatten(structure, to_arrays(vector, types)), *args, **kwargs))
            return to_vector(found, [type_of(v) for v in found])

        return -slogdet(matrix(jacobian(flat)(to_vector(leaves, types))))[1]


@user_facing
def inverse(f: Callable[..., Any], solver: Any = "newton", **options: Any) -> Inverse:
    """f⁻¹ of a function w ↦ f(w, *θ) whose values are of the kind of w; `.log_det(ω)` is log |det ∂f⁻¹(ω)|.

    `solver(ω, *θ)` finds w; or "newton", or "contraction": w ← w - f(w) + ω, for f close to the identity
    (‖∂f - I‖ < 1), which is refused where it is not one. Both start at ω. The options are those of `root`.

    ```python
    g = ad.implicit.inverse(lambda w: w + w**3)
    g(2.0), ad.grad(g)(2.0)  # → (1.0, 0.25)
    ```
    """
    F = partial(_subtract_omega, f)
    if solver == "newton":
        found: Callable[..., Any] = partial(_run_newton, F)
    elif solver == "contraction":
        found = partial(_contract, F)
    elif callable(solver):
        found = solver
    else:
        raise ValueError(
            f"implicit.inverse: solver={solver!r}; it is 'newton', 'contraction' or a function (ω, *θ) ↦ w."
        )
    return Inverse(f, root(F, found, **options))


def _subtract_omega(f: Callable[..., Any], w: Any, omega: Any, *args: Any, **kwargs: Any) -> Any:
    return tree.map(lambda a, b: a - b, f(w, *args, **kwargs), omega)


def _run_newton(F: Callable[..., Any], omega: Any, *args: Any, **kwargs: Any) -> Any:
    return newton_root(F)(_as_floating(omega), omega, *args, **kwargs)


def _contract_once(F: Callable[..., Any], w: Any, omega: Any, *args: Any, **kwargs: Any) -> Any:
    return tree.map(lambda a, b: a - b, w, F(w, omega, *args, **kwargs))


def _contract(F: Callable[..., Any], omega: Any, *args: Any, **kwargs: Any) -> Any:
    """w ← w - f(w) + ω until it stays; refused where it does not."""
    w = picard(partial(_contract_once, F))(_as_floating(omega), omega, *args, **kwargs)
    with np.errstate(all="ignore"):
        left, size = tree.norm(F(w, omega, *args, **kwargs)), 1.0 + tree.norm(w)
    words = "implicit.inverse: w ← w - f(w) + ω does not settle (‖f(w) - ω‖ = {}): f is no contraction away from "
    words += "the identity. Use solver='newton', or one of your own."
    try:
        check_now(np.isfinite(left) & (left <= 1e-6 * size), words, left)
    except ValueError as problem:
        raise SolveError(str(problem)) from None
    return w


def _as_floating(omega: Any) -> Any:
    return tree.map(lambda v: v if hasattr(v, "dtype") else np.float64(v), omega)
