"""Second-order steps with batches of their own for gradient and curvature.

    w⁺ = w - γ (C(w; S') + η I)⁻¹ ∇L(w; S)        S' independent of S, and of another size

C is the Hessian (Newton), the mean of JᵀQJ of the examples (Gauss-Newton), or the Fisher matrix whose outcomes are
drawn from the model (natural gradient). With few parameters C is a matrix, else conjugate gradients multiply by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import grad, jvp, vmap
from adjoint.api.jacobians import jacobian
from adjoint.curvature import empirical_fisher_product, fisher_product, gauss_newton_product
from adjoint.linear.solvers.solving import solve
from adjoint.optimize.stochastic.methods import StochasticMethod, report_of
from adjoint.optimize.stochastic.objectives import FiniteSum
from adjoint.optimize.stochastic.stepping import Report
from adjoint.optimize.updates.rule import apply, like
from adjoint.program.types import Value

__all__ = ["Composed", "NaturalGradient", "StochasticGaussNewton", "StochasticNewton", "draw_for_curvature"]

DENSE = 200  # parameters: up to so many the matrix is formed


def draw_for_curvature(method: Any, mean: FiniteSum, indices: Value, rng: Any) -> Value:
    """The examples S' of the curvature, as many as `curvature_batch` says or as the gradient has."""
    if rng is None:
        raise TypeError(f"{type(method).__name__}: the batch of the curvature is drawn at random: give train rng=.")
    size = method.curvature_batch or np.shape(indices)[0]
    if size > mean.size:
        raise ValueError(f"{type(method).__name__}: curvature_batch={size}, and there are {mean.size} examples.")
    return mean.sample(rng, size)


def _curved_step(
    method: Any, mean: FiniteSum, params: Any, indices: Value, weight: Any, rng: Any, count: Value, product: Any
) -> tuple[Any, Any, Report]:
    """The step with C given as (drawn examples, w, v) → C(w) v."""
    drawn = draw_for_curvature(method, mean, indices, rng)
    gradient = mean.gradient(params, indices, weight)
    rate, damping = method.number("learning_rate", count), method.number("damping", count)
    flat, unravel = tree.ravel(gradient)
    point = tree.ravel(params)[0]
    damped = lambda v: tree.ravel(product(drawn, unravel(point), unravel(v)))[0] + like(damping, v) * v
    if np.shape(flat)[0] <= DENSE:
        matrix = jacobian(damped)(np.zeros_like(flat))
        direction = np.linalg.solve(matrix, flat)
    else:
        direction = solve(damped, flat, method="cg", max_iterations=method.iterations).value
    moved = apply(params, tree.map(lambda d: like(rate, d) * d, unravel(direction)))
    return moved, (), report_of(mean, params, indices, weight)


@final
@dataclass(frozen=True)
class StochasticNewton(StochasticMethod):
    """w⁺ = w - γ (H(w; S') + η I)⁻¹ g(w; S), for `train`.

    ```python
    x = np.array([1.0, 2.0, 6.0, 3.0])
    method = ad.optimize.StochasticNewton(1.0, damping=0.0, curvature_batch=2)
    found = ad.optimize.train(lambda w, x: (w - x) ** 2, 0.0, x, method, rng=ad.random.default_rng(0))
    float(np.round(found.value, 6))  # → 3.0
    ```
    """

    learning_rate: Any = 1.0
    damping: Any = 1e-3
    curvature_batch: int | None = field(default=None, metadata={"static": True})
    iterations: int = field(default=20, metadata={"static": True})  # of conjugate gradients

    def init(self, mean: FiniteSum, params: Any) -> Any:
        """Nothing is kept."""
        return ()

    def step(
        self, mean: FiniteSum, params: Any, state: Any, indices: Value, weight: Any, rng: Any, count: Value
    ) -> tuple[Any, Any, Report]:
        """One step."""
        product = lambda drawn, w, v: jvp(grad(lambda w: mean.value(w, drawn)), (w,), (v,))[1]
        return _curved_step(self, mean, params, indices, weight, rng, count, product)


class Composed(StochasticMethod):
    """Methods for losses of the form ℓ(f(w, x), y), one example at a time; data are pairs (x, y)."""

    model: Callable[..., Any]
    outer: Callable[..., Any]

    def loss(self, params: Any, batch: Any) -> Value:
        """ℓ(f(w, x), y) of each example: the loss to give to `train`."""
        x, y = batch
        return vmap(lambda x, y: self.outer(self.model(params, x), y))(x, y)

    def init(self, mean: FiniteSum, params: Any) -> Any:
        """Nothing is kept."""
        if not (isinstance(mean.data, tuple | list) and len(mean.data) == 2):
            raise TypeError(f"{type(self).__name__}: data are a pair (x, y) of inputs and labels.")
        return ()


@final
@dataclass(frozen=True)
class StochasticGaussNewton(Composed):
    """w⁺ = w - γ (G(w; S') + η I)⁻¹ g(w; S), where G is the mean of JᵀQJ over examples, for `train`.

    `model(w, x)` and `outer(z, y)` are of one example; the loss for `train` is `method.loss`.

    ```python
    x = np.linspace(0.0, 1.0, 8)
    method = ad.optimize.StochasticGaussNewton(lambda w, x: np.exp(w * x), lambda z, y: (z - y) ** 2, damping=1e-6)
    found = ad.optimize.train(method.loss, 0.0, (x, np.exp(x)), method, epochs=30, rng=ad.random.default_rng(0))
    float(np.round(found.value, 6))  # → 1.0
    ```
    """

    model: Callable[..., Any] = field(metadata={"static": True})
    outer: Callable[..., Any] = field(metadata={"static": True})
    learning_rate: Any = 1.0
    damping: Any = 1e-3
    curvature_batch: int | None = field(default=None, metadata={"static": True})
    iterations: int = field(default=20, metadata={"static": True})

    def step(
        self, mean: FiniteSum, params: Any, state: Any, indices: Value, weight: Any, rng: Any, count: Value
    ) -> tuple[Any, Any, Report]:
        """One step."""
        product = lambda drawn, w, v: gauss_newton_product(
            self.outer, self.model, (w,), (v,), samples=tuple(mean.batch(drawn)[0])
        )
        return _curved_step(self, mean, params, indices, weight, rng, count, product)


@final
@dataclass(frozen=True)
class NaturalGradient(Composed):
    """w⁺ = w - γ (F(w; S') + η I)⁻¹ g(w; S) with the Fisher matrix of a batch of its own, for `train`.

    `outer(θ, y)` is -log q(y; θ). Outcomes are all of `support` with their probabilities (exact), drawn from the model
    by `draw(rng, θ)` (unbiased), or with `empirical=True` the labels of the data, which is another matrix.

    ```python
    x = np.linspace(-1.0, 1.0, 8)
    outer = lambda theta, y: np.logaddexp(0.0, theta) - y * theta
    method = ad.optimize.NaturalGradient(lambda w, x: w * x, outer, support=(0.0, 1.0), damping=0.0)
    y = 1 / (1 + np.exp(-2 * x))
    found = ad.optimize.train(method.loss, 0.0, (x, y), method, epochs=8, rng=ad.random.default_rng(0))
    abs(float(found.value) - 2.0) < 0.2  # → True
    ```
    """

    model: Callable[..., Any] = field(metadata={"static": True})
    outer: Callable[..., Any] = field(metadata={"static": True})
    learning_rate: Any = 1.0
    damping: Any = 1e-3
    curvature_batch: int | None = field(default=None, metadata={"static": True})
    iterations: int = field(default=20, metadata={"static": True})
    support: tuple[Any, ...] | None = field(default=None, metadata={"static": True})
    draw: Callable[..., Any] | None = field(default=None, metadata={"static": True})
    draws: int = field(default=1, metadata={"static": True})
    empirical: bool = field(default=False, metadata={"static": True})

    def step(
        self, mean: FiniteSum, params: Any, state: Any, indices: Value, weight: Any, rng: Any, count: Value
    ) -> tuple[Any, Any, Report]:
        """One step."""
        if [self.support is None, self.draw is None, not self.empirical].count(False) != 1:
            raise TypeError("NaturalGradient: give one of support= (all outcomes), draw=, or empirical=True.")
        noise = None if rng is None else rng.at(1)

        def product(drawn: Value, w: Any, v: Any) -> Any:
            x, y = mean.batch(drawn)[0]
            if self.empirical:
                return empirical_fisher_product(self.outer, self.model, (w,), (v,), (x, y))
            if self.support is not None:
                outcomes: dict[str, Any] = {"support": np.array(self.support)}
            else:
                theta = vmap(lambda x: self.model(params, x))(x)
                size = np.shape(drawn)[0]
                draw = lambda theta, key: self.draw(key, theta)  # type: ignore[misc]
                rows = [vmap(draw)(theta, noise.at(k).split(size)) for k in range(self.draws)]  # type: ignore[union-attr]
                outcomes = {"samples": np.stack(rows, axis=1)}
            return fisher_product(self.outer, self.model, (w,), (v,), inputs=x, **outcomes)

        return _curved_step(self, mean, params, indices, weight, rng, count, product)
