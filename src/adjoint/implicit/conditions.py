"""Residual functions F(x, *θ) whose zeros are solutions of other problems, for `implicit.root`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.gradients import grad
from adjoint.base.errors import ShapeError, TreeError
from adjoint.implicit.constraints import Constraints, lagrangian

__all__ = ["fixed_point", "kkt", "least_squares", "projected", "proximal", "stationary"]

Function = Callable[..., Any]


def stationary(f: Function) -> Function:
    """∇ₓf(x, *θ): zero where f is smallest, largest, or has a saddle.

    ```python
    F = ad.implicit.conditions.stationary(lambda x, a: (x - a) ** 2)
    F(3.0, 1.0)  # → 4.0
    ```
    """
    return grad(f)


def fixed_point(T: Function) -> Function:
    """x - T(x, *θ).

    ```python
    F = ad.implicit.conditions.fixed_point(lambda x, a: a * x)
    F(3.0, 2.0)  # → -3.0
    ```
    """
    return partial(_subtract_step, T)


def _subtract_step(T: Function, x: Any, *args: Any, **kwargs: Any) -> Any:
    return subtract_like("fixed_point", x, T(x, *args, **kwargs))


def subtract_like(title: str, x: Any, image: Any) -> Any:
    """x - T(x), which are trees of one structure."""
    try:
        return tree.map(partial(_subtract_same, title), x, image)
    except TreeError as problem:
        difference = str(problem).partition(": ")[2]
        raise TreeError(
            f"{title}: x, which the solver or x0 gives, and T(x) are trees of one structure; {difference} (x is the "
            "first, T(x) the other)."
        ) from None


def _subtract_same(title: str, x: Any, image: Any) -> Any:
    if isinstance(image, dict | list | tuple):  # below a number of x
        raise TreeError(f"{title}: the first has a number or an array where the other has a {type(image).__name__}.")
    if np.shape(x) != np.shape(image) and np.shape(image) != ():
        raise ShapeError(f"{title}: x has shape {np.shape(x)}, and T(x) has {np.shape(image)}.")
    return x - image


def make_projected_step(f: Function, projection: Function, step: float) -> Function:
    """P(x - η ∇ₓf(x, *θ))."""
    return partial(_project_step, f, projection, step, _count_arguments(projection) > 1)


def _project_step(
    f: Function, projection: Function, step: float, takes_theta: bool, x: Any, *args: Any, **kw: Any
) -> Any:
    y = tree.map(lambda a, b: a - step * b, x, grad(f)(x, *args, **kw))
    return projection(y, *args, **kw) if takes_theta else projection(y)


def make_proximal_step(f: Function, prox: Function, step: float) -> Function:
    """prox(x - η ∇ₓf(x, *θ), η)."""
    return partial(_apply_prox, f, prox, step, _count_arguments(prox) > 2)


def _apply_prox(f: Function, prox: Function, step: float, takes_theta: bool, x: Any, *args: Any, **kwargs: Any) -> Any:
    y = tree.map(lambda a, b: a - step * b, x, grad(f)(x, *args, **kwargs))
    return prox(y, step, *args, **kwargs) if takes_theta else prox(y, step)


def projected(f: Function, projection: Function, step: float = 1.0) -> Function:
    """x - P(x - η ∇ₓf(x, *θ)), for any η > 0: zero where f is smallest on the set that P projects onto.

    The projection takes a point, and θ too if it has more arguments.

    ```python
    F = ad.implicit.conditions.projected(lambda x, a: (x - a) ** 2, lambda y: np.maximum(y, 0.0))
    F(0.0, -1.0), F(2.0, 2.0)  # → (0.0, 0.0)
    ```
    """
    return fixed_point(make_projected_step(f, projection, step))


def proximal(f: Function, prox: Function, step: float = 1.0) -> Function:
    """x - prox_{ηg}(x - η ∇ₓf(x, *θ)), for any η > 0: zero where f + g is smallest.

    `prox(y, η)`, or `prox(y, η, *θ)`, is the proximal operator of ηg.

    ```python
    soft = lambda y, step, a: np.sign(y) * np.maximum(np.abs(y) - step * a, 0.0)
    F = ad.implicit.conditions.proximal(lambda x, a: 0.5 * (x - 3.0) ** 2, soft)
    F(2.0, 1.0)  # → 0.0
    ```
    """
    return fixed_point(make_proximal_step(f, prox, step))


def least_squares(residual: Function) -> Function:
    """∂ₓr* r(x, *θ), the gradient of ½ ‖r‖²: zero where the residuals are as small as they can be.

    ```python
    F = ad.implicit.conditions.least_squares(lambda x, y: x - y)
    F(1.0, np.array([0.0, 1.0, 5.0]))  # → -3.0
    ```
    """
    return grad(partial(_halve_square, residual))


def _halve_square(residual: Function, x: Any, *args: Any, **kwargs: Any) -> Any:
    leaves = tree.leaves(residual(x, *args, **kwargs))
    return 0.5 * sum(np.sum(np.real(np.conj(r) * r)) for r in leaves)


def kkt(f: Function, constraints: Constraints, smoothing: float = 0.0) -> Function:
    """The conditions of Karush, Kuhn and Tucker, a function of z = {"x", "equality", "inequality", "slack", "cone"}.

        ∇ₓf + ∂h* ν + ∂g* μ - ∂G* y = 0,     h = 0,     g + s = 0,     s μ = τ,     G - P(G - y) = 0

    h(x) = 0, g(x) ≤ 0 and G(x) ∈ K are the constraints, bounds are among g, and P projects onto the cone K. With
    τ = `smoothing` > 0 the conditions are those of an interior point. A constraint with s = 0 and μ = 0 holds without
    pressing; its condition is μ = 0, that is, it is left out.

    ```python
    positive = ad.implicit.Constraints(inequality=lambda x, a: -x)
    F = ad.implicit.conditions.kkt(lambda x, a: 0.5 * (x - a) ** 2, positive)
    z = {"x": 0.0, "equality": None, "inequality": {"given": 2.0}, "slack": {"given": 0.0}, "cone": None}
    F(z, -2.0)["x"]  # → 0.0
    ```
    """
    return partial(_evaluate_kkt, f, constraints, smoothing)


def _evaluate_kkt(f: Function, constraints: Constraints, smoothing: float, z: Any, *args: Any, **kwargs: Any) -> Any:
    x = z["x"]
    found = constraints.at(x, *args, **kwargs)
    L = lambda x: lagrangian(f, constraints, x, z, args, kwargs)

    def complementary(s: Any, m: Any) -> Any:
        return np.where((s == 0) & (m == 0), m, s * m - smoothing)

    cone = None
    if constraints.cone is not None:
        inside = tree.map(lambda a, b: a - b, found["cone"], z["cone"])
        cone = tree.map(lambda a, b: a - b, found["cone"], constraints.cone[1](inside))
    return {
        "x": grad(L)(x),
        "equality": found["equality"],
        "inequality": tree.map(lambda a, b: a + b, found["inequality"], z["slack"]),
        "slack": tree.map(complementary, z["slack"], z["inequality"]),
        "cone": cone,
    }


def _count_arguments(function: Function) -> int:
    """How many arguments in order a function takes; many, if that is not known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 99
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in parameters)
