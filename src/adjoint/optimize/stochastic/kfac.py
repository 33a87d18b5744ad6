"""K-FAC: natural gradients of layers, whose Fisher matrices are taken for Kronecker products.

    W⁺ = W - γ (A ⊗ G + η I)⁻¹ ∇L(W; S)        A ⊗ G from another batch S', and from those before

With A = U diag(a) Uᵀ and G = V diag(g) Vᵀ the inverse is exact: U ((Uᵀ X V) / (a gᵀ + η)) Vᵀ, for X = ∇L(W).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.curvature.kronecker_factors import Factors, kronecker_factors
from adjoint.optimize.stochastic.curved import Composed, draw_for_curvature
from adjoint.optimize.stochastic.methods import report_of
from adjoint.optimize.stochastic.objectives import FiniteSum
from adjoint.optimize.stochastic.stepping import Report
from adjoint.optimize.updates.rule import apply, like
from adjoint.program.types import Value

__all__ = ["KFAC"]


@final
@dataclass(frozen=True)
class KFAC(Composed):
    """w⁺ = w - γ (A ⊗ G + η I)⁻¹ g(w; S) for each layer that is a product with a matrix, for `train`.

    `model(w, x)` and `outer(z, y)` are of one example; the loss for `train` is `method.loss`. A and G are moving means
    over batches of their own, which forget by `decay`. Parameters that are in no product (biases, scales) have the
    inverse of their own block. See `curvature.kronecker_gauss_newton` for what counts as a product.

    ```python
    x = np.random.default_rng(0).normal(size=(40, 2))
    y = x @ np.array([[1.0, 0.0], [2.0, -1.0]])
    method = ad.optimize.KFAC(lambda W, x: x @ W, lambda z, y: 0.5 * np.sum((z - y) ** 2), 0.8)
    found = ad.optimize.train(method.loss, np.zeros((2, 2)), (x, y), method, epochs=20, rng=ad.random.default_rng(0))
    np.round(found.value, 4) + 0.0  # → [[1.0, 0.0], [2.0, -1.0]]
    ```
    """

    model: Callable[..., Any] = field(metadata={"static": True})
    outer: Callable[..., Any] = field(metadata={"static": True})
    learning_rate: Any = 1.0
    damping: Any = 1e-3
    curvature_batch: int | None = field(default=None, metadata={"static": True})
    decay: Any = 0.95

    def init(self, mean: FiniteSum, params: Any) -> Any:
        """Factors of zeros: the first batch replaces them."""
        super().init(mean, params)
        one = kronecker_factors(self.outer, self.model, params, tuple(mean.batch(np.arange(1))[0]))
        return [tuple(0 * part for part in parts) for parts in one]

    def step(
        self, mean: FiniteSum, params: Any, state: Any, indices: Value, weight: Any, rng: Any, count: Value
    ) -> tuple[Any, Any, Report]:
        """One step."""
        drawn = draw_for_curvature(self, mean, indices, rng)
        new = kronecker_factors(self.outer, self.model, params, tuple(mean.batch(drawn)[0]))
        rate, damping, decay = (self.number(name, count) for name in ("learning_rate", "damping", "decay"))
        kept = np.minimum(decay, count / (count + 1.0))  # a plain mean at first
        mix = lambda old, part: like(kept, part) * old + like(1.0 - kept, part) * part
        factors = [tuple(map(mix, old, parts)) for old, parts in zip(state, new, strict=True)]
        gradient, structure = tree.flatten(mean.gradient(params, indices, weight))
        steps = [like(rate, g) * divide(parts, g, damping) for parts, g in zip(factors, gradient, strict=True)]
        return apply(params, tree.unflatten(structure, steps)), factors, report_of(mean, params, indices, weight)


def divide(parts: Factors, g: Value, damping: Any) -> Value:
    """(C + η I)⁻¹ g of a leaf."""
    if len(parts) == 2:
        (a, U), (b, V) = (np.linalg.eigh(part) for part in parts)
        curvature = np.maximum(a, 0.0)[:, None] * np.maximum(b, 0.0) + like(damping, g)
        return U @ ((U.T @ g @ V) / curvature) @ V.T
    (block,) = parts
    flat = np.reshape(g, (-1,))
    if np.ndim(block) == 1:
        return np.reshape(flat / (block + like(damping, g)), np.shape(g))
    identity = np.eye(np.shape(flat)[0], dtype=g.dtype)
    return np.reshape(np.linalg.solve(block + like(damping, g) * identity, flat), np.shape(g))
