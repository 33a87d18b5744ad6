"""Quadratic models of a function around a point.

q(v) = L(w) + ⟨∇L(w), v⟩ + ½⟨v, B v⟩,        B = ∇²L(w), or the Gauss-Newton matrix of L = ℓ∘f
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from adjoint import tree
from adjoint.api import Function, linearize, value_and_grad
from adjoint.base.source import user_facing
from adjoint.curvature.gauss_newton import gauss_newton_product
from adjoint.program.types import Value

__all__ = ["QuadraticModel", "quadratic_model"]


@final
@dataclass(frozen=True, eq=False)
class QuadraticModel:
    """q(v) = value + ⟨gradient, v⟩ + ½⟨v, B v⟩; `product` is v ↦ B v."""

    value: Value
    gradient: Any
    product: Callable[[Any], Any]

    @user_facing
    def __call__(self, v: Any) -> Value:
        """The model at the displacement v, a tree like the point."""
        return self.value + tree.vdot(self.gradient, v) + 0.5 * tree.vdot(v, self.product(v))


def quadratic_model(
    function: Function, *, loss: Callable[..., Any] | None = None
) -> Callable[[tree.Tree], QuadraticModel]:
    """The second-order Taylor polynomial of a scalar function: `quadratic_model(f)(w)(v)` is near f(w + v).

    With `loss` the function is a model and q is that of loss(function(w)), with its Gauss-Newton matrix for B: for a
    convex loss it is bounded below.
    """

    @user_facing
    def at(w: tree.Tree) -> QuadraticModel:
        if loss is not None:
            ending = loss
            value, gradient = value_and_grad(lambda w: ending(function(w)))(w)
            return QuadraticModel(value, gradient, lambda v: gauss_newton_product(ending, function, (w,), (v,)))
        (value, gradient), pushed = linearize(value_and_grad(function), w)
        return QuadraticModel(value, gradient, lambda v: pushed(v)[1])

    return at
