"""`adjoint_state`: gradients of objectives under equations, by one multiplier.

    J(w) = L(s*(w), w) with c(s*, w) = 0        ∂₁c* r = -∇₁L,        ∇J = ∇₂L + ∂₂c* r

r is the multiplier of the Lagrangian L(s, w) + ⟨r, c(s, w)⟩, which is stationary in s and r at (s*, r). For a chain of
layers sₖ = fₖ(sₖ₋₁, wₖ) the equation is block bidiagonal, and its substitution backwards is reverse mode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from adjoint import tree
from adjoint.api.gradients import grad
from adjoint.base.source import user_facing
from adjoint.implicit.function import ImplicitFunction
from adjoint.implicit.roots import root

__all__ = ["AdjointState", "adjoint_state"]


@final
@dataclass(frozen=True, eq=False)
class AdjointState:
    """J(*w) = L(s*(*w), *w); `state`, `multiplier` and `lagrangian` are what it is made of.

    ```python
    J = ad.implicit.adjoint_state(lambda s, w: 2 * s - w, lambda s, w: s**2, x0=0.0)
    J.state(6.0), J(6.0)  # → (3.0, 9.0)
    ```
    """

    residual: Callable[..., Any]
    objective: Callable[..., Any]
    state: ImplicitFunction

    @user_facing
    def __call__(self, *w: Any) -> Any:
        return self.objective(self.state(*w), *w)

    @user_facing
    def multiplier(self, *w: Any) -> Any:
        """r with ∂₁c* r = -∇₁L at the state, in the structure of c(s, w).

        ```python
        J = ad.implicit.adjoint_state(lambda s, w: s**3 + s - w, lambda s, w: s**2, x0=1.0)
        J.multiplier(10.0)  # → -0.307692…
        ```
        """
        s = self.state(*w)
        c = self.residual(s, *w)
        # a small change p of the equation, c(s, w) = p, changes J by -⟨r, p⟩
        shifted = lambda s, p, *w: tree.map(lambda a, b: a - b, self.residual(s, *w), p)
        moved = ImplicitFunction(shifted, lambda p, *w: s, None, self.state.equation, False, "implicit.adjoint_state")
        zero = tree.map(lambda leaf: 0 * leaf, c)
        found = grad(lambda p: self.objective(moved(p, *w), *w))(zero)
        return tree.map(lambda leaf: -leaf, found)

    def lagrangian(self, s: Any, r: Any, *w: Any) -> Any:
        """L(s, w) + ⟨r, c(s, w)⟩.

        ```python
        J = ad.implicit.adjoint_state(lambda s, w: s**3 + s - w, lambda s, w: s**2, x0=1.0)
        ad.grad(J.lagrangian, argnums=2)(J.state(10.0), J.multiplier(10.0), 10.0)  # → 0.307692…
        ```
        """
        return self.objective(s, *w) + tree.vdot(r, self.residual(s, *w))


@user_facing
def adjoint_state(
    c: Callable[..., Any], objective: Callable[..., Any], solver: Callable[..., Any] | None = None, **options: Any
) -> AdjointState:
    """J(*w) = L(s, *w) where c(s, *w) = 0 and `solver(*w)` finds s; its gradient takes one adjoint solve.

    The options are those of `root`. `.state(*w)` is s, `.multiplier(*w)` the adjoint state r, `.lagrangian(s, r, *w)`
    the function that both make stationary.

    ```python
    J = ad.implicit.adjoint_state(lambda s, w: s**3 + s - w, lambda s, w: s**2, x0=1.0)
    J(10.0), ad.grad(J)(10.0)  # → (4.0, 0.307692…)
    ```
    """
    return AdjointState(c, objective, root(c, solver, **options))
