"""Derivatives of functions as linear maps, without a matrix: Jacobian, Hessian, Gauss-Newton, Fisher.

jacobian(f)(x) = ∂f(x),    hessian(f)(x) = ∂(∇f)(x),    gauss_newton(ℓ, f)(x) = ∂f(x)* ∇²ℓ(f(x)) ∂f(x),
fisher(log q)(x, y, p) = Σᵢ pᵢ sᵢ sᵢ*,   sᵢ = ∇ₓ log q(x, yᵢ)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import grad, vmap
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.linear.operators.from_function import Derivative
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.operations import congruence
from adjoint.linear.operators.structures import diagonal, scaling
from adjoint.program.types import Value

__all__ = ["At", "fisher", "gauss_newton", "hessian", "jacobian"]

Argnums = int | Sequence[int]


@final
class At:
    """A linear map for every point: called with the arguments of a function, it gives the map there."""

    def __init__(self, name: str, make: Callable[..., LinearMap], function: Any) -> None:
        self._name, self._make, self._function = name, make, function

    @user_facing
    def __call__(self, *args: Any, **kwargs: Any) -> LinearMap:
        return self._make(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self._name} of {getattr(self._function, '__qualname__', self._function)}>"


@dataclass(frozen=True)
class _Gradient:
    """∇f, equal to another one of the same function."""

    function: Callable[..., Any]
    positions: int | tuple[int, ...]

    @property
    def __name__(self) -> str:
        return f"the gradient of {getattr(self.function, '__name__', 'a function')}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return grad(self.function, self.positions)(*args, **kwargs)


@dataclass(frozen=True)
class _EachSample:
    """x ↦ (log q(x, y₁), log q(x, y₂), …)."""

    function: Callable[..., Any]

    def __call__(self, x: Any, samples: Any) -> Any:
        return vmap(lambda y: self.function(x, y))(samples)


def _derivative(function: Callable[..., Any], argnums: Argnums, args: Any, kwargs: Any, *facts: str) -> Derivative:
    positions = argnums if isinstance(argnums, int) else tuple(argnums)
    chosen = (positions,) if isinstance(positions, int) else positions
    wanted = [i % len(args) if -len(args) <= i < len(args) else None for i in chosen] if args else [None]
    if None in wanted:
        raise ShapeError(f"argnums={argnums} does not fit a call with {len(args)} arguments.")
    positions = wanted[0] if isinstance(positions, int) else tuple(i for i in wanted if i is not None)
    point = tuple(tree.map(_inexact, args[i]) for i in wanted if i is not None)
    others = tuple(arg for i, arg in enumerate(args) if i not in wanted)
    return Derivative(
        function,
        point[0] if isinstance(argnums, int) else point,
        positions if positions is not None else 0,
        others,
        dict(kwargs),
        claims=frozenset(facts),
    )


def _inexact(leaf: Any) -> Value:
    return float(leaf) if isinstance(leaf, int) and not isinstance(leaf, bool) else leaf


def jacobian(function: Callable[..., Any], argnums: Argnums = 0) -> At:
    """∂f(x) as a map: `jacobian(f)(x) @ v` pushes, `jacobian(f)(x).adjoint @ u` pulls. f is run once.

    ```python
    J = ad.linear.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    J @ np.ones(2), J.adjoint @ np.array([1.0, 0.0])  # → ([2.0, 4.0], [2.0, 0.0])
    ```
    """
    return At("jacobian", lambda *args, **kwargs: _derivative(function, argnums, args, kwargs), function)


def hessian(function: Callable[..., Any], argnums: Argnums = 0, *facts: str) -> At:
    """∇²f(x) as a symmetric map. `facts` are what you know besides: "positive definite", of a strictly convex f.

    ```python
    H = ad.linear.hessian(lambda x: np.sum(x**4))(np.array([1.0, 2.0]))
    H.has("symmetric"), H.to_dense()  # → (True, [[12.0, 0.0], [0.0, 48.0]])
    ```
    """
    positions = argnums if isinstance(argnums, int) else tuple(argnums)

    def make(*args: Any, **kwargs: Any) -> LinearMap:
        positive = positions if not isinstance(positions, int) else positions % max(len(args), 1)
        return _derivative(_Gradient(function, positive), argnums, args, kwargs, "symmetric", *facts)

    return At("hessian", make, function)


def gauss_newton(loss: Callable[..., Any], model: Callable[..., Any], argnums: int = 0, *, convex: bool = True) -> At:
    """∂f(x)* ∇²ℓ(f(x)) ∂f(x), the Hessian of ℓ∘f without the curvature of f.

    It is positive semidefinite when the loss ℓ is convex in its argument, as most losses are; say so if it is not.

    ```python
    G = ad.linear.gauss_newton(lambda z: np.sum(z**2), lambda x: x**2)(np.array([1.0, 2.0]))
    G.to_dense()  # → [[8.0, 0.0], [0.0, 32.0]]
    ```
    """

    def make(*args: Any, **kwargs: Any) -> LinearMap:
        pushed = _derivative(model, argnums, args, kwargs)
        curvature = hessian(loss, 0, *(["positive semidefinite"] if convex else []))(pushed.value)
        return congruence(pushed, curvature)

    return At("gauss_newton", make, model)


def fisher(log_probability: Callable[..., Any]) -> At:
    """fisher(log q)(x, samples, weights): Σᵢ pᵢ sᵢ sᵢ*, where sᵢ is the gradient in x of log q(x, yᵢ).

    With all possible y as samples and their probabilities under the model as weights it is the Fisher information;
    with samples drawn from the model and no weights (1/n each) an unbiased estimate of it; with the labels of data,
    the empirical Fisher matrix, which is something else.

    ```python
    log_q = lambda theta, y: y * theta - np.logaddexp(0.0, theta)      # a coin with log-odds theta
    F = ad.linear.fisher(log_q)(0.0, np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    F @ 1.0  # → 0.25
    ```
    """

    def make(x: Any, samples: Any, weights: Any = None) -> LinearMap:
        count = np.shape(tree.leaves(samples)[0])[0]
        scores = Derivative(_EachSample(log_probability), tree.map(_inexact, x), 0, (samples,))
        if weights is None:
            inner = scaling(1.0 / count, scores.range)
        else:
            inner = diagonal(weights)
            if inner.domain != scores.range:
                raise ShapeError(f"fisher: {count} samples need {count} weights of the same type; got {inner.domain}.")
        return congruence(scores, inner)

    return At("fisher", make, log_probability)
