"""Quadratic models of a function around a point.

q(v) = L(w) + ⟨∇L(w), v⟩ + ½⟨v, B v⟩,        B = ∇²L(w), or the Gauss-Newton matrix of L = ℓ∘f
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from adjoint import tree
from adjoint.api import Function, Transformed, linearize, value_and_grad
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


def quadratic_model(function: Function, *, loss: Callable[..., Any] | None = None) -> Transformed:
    """The second-order Taylor polynomial of a scalar function: `quadratic_model(f)(w)(v)` is near f(w + v).

    With `loss` the function is a model and q is that of loss(function(w)), with its Gauss-Newton matrix for B: for a
    convex loss it is bounded below.
    """
    return Transformed(_quadratic_model, function, {"loss": loss})


def _quadratic_model(function: Function, options: dict[str, Any], args: Any, kwargs: Any) -> QuadraticModel:
    (w,), loss = args, options["loss"]
    if loss is not None:
        value, gradient = value_and_grad(lambda w: loss(function(w)))(w)
        return QuadraticModel(value, gradient, lambda v: gauss_newton_product(loss, function, (w,), (v,)))
    (value, gradient), pushed = linearize(value_and_grad(function), w)
    return QuadraticModel(value, gradient, lambda v: pushed(v)[1])
