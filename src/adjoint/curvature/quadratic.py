"""Quadratic models of a function around a point.

q(v) = L(w) + ⟨∇L(w), v⟩ + ½⟨v, B v⟩,        B = ∇²L(w), or the Gauss-Newton matrix of L = ℓ∘f
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.function import Options
from adjoint.api.gradients import Function, Transformed, grad, linearize, value_and_grad
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.curvature.arrangement import one_argument
from adjoint.curvature.gauss_newton import gauss_newton_product
from adjoint.program.trace import live_trace
from adjoint.program.types import Value

__all__ = ["QuadraticModel", "quadratic_model"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class QuadraticModel:
    """q(v) = value + ⟨gradient, v⟩ + ½⟨v, B v⟩; `product(v)` is B v.

    It is a tree: it goes through jit, vmap and grad, and is differentiable in v, in the point and in what f closes
    over.

    ```python
    q = ad.curvature.quadratic_model(lambda x: np.sum(x**3))(np.ones(2))
    q.product(np.ones(2))  # → [6.0, 6.0]
    ```
    """

    function: Callable[..., Any] = field(metadata={"static": True})
    loss: Callable[..., Any] | None = field(metadata={"static": True})
    point: Any
    value: Value
    gradient: Any

    @functools.cached_property
    def _kept(self) -> list[Any]:
        """(the trace in which the record of the gradient was made, the record); made again where it does not run."""
        return []

    def product(self, v: Any) -> Any:
        """B v, for a displacement v."""
        if self.loss is not None:
            return gauss_newton_product(self.loss, self.function, (self.point,), (v,))
        live = live_trace()
        if not self._kept or self._kept[0] is not live:
            self._kept[:] = [live, linearize(grad(self.function), self.point)[1]]
        return self._kept[1](v)

    @user_facing
    def __call__(self, v: Any) -> Value:
        """The model at the displacement v, a tree like the point."""
        if np.ndim(self.value):
            raise ShapeError("QuadraticModel: this is a stack of models, as vmap returns it. Map over it, too: "
                             "vmap(lambda q, v: q(v))(stack, vs).")  # fmt: skip
        return self.value + tree.vdot(self.gradient, v) + 0.5 * tree.vdot(v, self.product(v))

    def __getstate__(self) -> dict[str, Any]:
        """What was computed from the fields is computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        name = getattr(getattr(self.function, "func", self.function), "__name__", "a function")
        return f"<quadratic model of {name}{'' if self.loss is None else ', Gauss-Newton'}>"


def quadratic_model(function: Function, *, loss: Callable[..., Any] | None = None) -> Transformed:
    """The second-order Taylor polynomial of a scalar function: `quadratic_model(f)(w)(v)` is near f(w + v).

    With `loss` the function is a model and q is that of loss(function(w)), with its Gauss-Newton matrix for B: for a
    convex loss it is bounded below.

    ```python
    q = ad.curvature.quadratic_model(np.exp)(0.0)
    q(0.1)  # → 1.105
    ```
    """
    return Transformed(_quadratic_model, function, _ModelOptions(loss))


@dataclass(frozen=True)
class _ModelOptions(Options):
    """The options of `quadratic_model`."""

    loss: Function | None


def _quadratic_model(function: Function, options: _ModelOptions, args: Any, kwargs: Any) -> QuadraticModel:
    (w, function), loss = one_argument("quadratic_model", function, args, kwargs), options.loss
    if loss is not None:
        value, gradient = value_and_grad(lambda w: loss(function(w)))(w)
        return QuadraticModel(function, loss, w, value, gradient)
    (value, gradient), pushed = linearize(value_and_grad(function), w)
    model = QuadraticModel(function, None, w, value, gradient)
    model._kept[:] = [live_trace(), lambda v: pushed(v)[1]]  # pyright: ignore[reportPrivateUsage]
    return model
