"""Inner products of one's own, and what depends on them: gradients, adjoints; vectors, covectors, and between them.

An inner product is ⟨u, v⟩_G = ⟨u, G v⟩ with a positive definite map G. A derivative ∂f(x)[v] needs none, its
representation by a vector does:

    ∂f(x)[v] = ⟨∇f, v⟩_G  ⇒  ∇f = G⁻¹ ∂f(x),         ⟨A v, u⟩_H = ⟨v, A* u⟩_G  ⇒  A* = G⁻¹ Aᵀ H

Covectors (linear forms) are pulled back without a metric, (f* c)[v] = c[∂f(x)[v]]; G turns vectors into covectors
(`lower`), its inverse covectors into vectors (`upper`).
"""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import grad
from adjoint.base.errors import ShapeError
from adjoint.linear.operators.algebra import Identity
from adjoint.linear.operators.derivative_maps import At, jacobian
from adjoint.linear.operators.from_function import Derivative
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.operations import congruence
from adjoint.linear.operators.spaces import Space
from adjoint.linear.operators.structures import diagonal, matrix
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

__all__ = ["Covector", "InnerProduct", "Metric", "adjoint", "differential", "euclidean", "gradient", "inner_product",
           "pullback", "pulled_back_metric", "pushforward"]  # fmt: skip


@final
@dataclass(frozen=True, eq=False)
class Covector:
    """A linear form v ↦ c[v] on a space, by its components in the basis of unit vectors: c[v] = ⟨components, v⟩.

    ```python
    ad.linear.Covector(np.array([2.0, 3.0]))(np.array([1.0, 1.0]))  # → 5.0
    ```
    """

    components: Any

    def __call__(self, v: Any) -> Value:
        space = Space.of(self.components)
        return tree.vdot(self.components, space.checked(v, "Covector: the vector"))

    def __add__(self, other: Covector) -> Covector:
        return Covector(tree.add(self.components, other.components))

    def __sub__(self, other: Covector) -> Covector:
        return Covector(tree.subtract(self.components, other.components))

    def __mul__(self, factor: Any) -> Covector:
        return Covector(tree.scale(factor, self.components))

    __rmul__ = __mul__


def _covector(value: Any, what: str) -> Covector:
    if not isinstance(value, Covector):
        raise TypeError(f"{what}: takes a covector; got {type(value).__name__}. Make one of its components: "
                        "linear.Covector(components).")  # fmt: skip
    return value


@final
@dataclass(frozen=True, eq=False)
class InnerProduct:
    """⟨u, v⟩_G = ⟨u, G v⟩, for a positive definite map G.

    ```python
    ad.linear.InnerProduct(ad.linear.diagonal(np.array([1.0, 4.0]))).norm(np.array([0.0, 1.0]))  # → 2.0
    ```
    """

    gram: LinearMap

    @property
    def space(self) -> Space:
        """The space on which it is defined."""
        return self.gram.domain

    def __call__(self, u: Any, v: Any) -> Value:
        return tree.vdot(self.space.checked(u, "InnerProduct: the first vector"), self.gram(v))

    def norm(self, v: Any) -> Value:
        """√⟨v, v⟩_G."""
        return np.sqrt(self(v, v))

    def lower(self, v: Any) -> Covector:
        """The covector ⟨v, ·⟩_G."""
        return Covector(self.gram(v))

    def upper(self, covector: Covector) -> Any:
        """The vector that represents a covector: c[v] = ⟨upper(c), v⟩_G."""
        return self.gram.solve(_covector(covector, "upper").components)


# An inner product, or one for each point.
Metric = InnerProduct | Callable[[Any], InnerProduct]


def inner_product(gram: Any) -> InnerProduct:
    """⟨u, v⟩ = ⟨u, G v⟩ for a positive definite map G, a symmetric positive definite matrix G, or weights w:
    ⟨u, v⟩ = Σ wᵢ uᵢ vᵢ, where w is a tree like the elements (the weights of a quadrature, say).

    ```python
    weighted = ad.linear.inner_product(np.array([1.0, 4.0]))
    weighted(np.array([1.0, 1.0]), np.array([1.0, 1.0]))  # → 5.0
    ```
    """
    if isinstance(gram, LinearMap):
        if gram.domain != gram.range:
            raise ShapeError(f"inner_product: G goes from {gram.domain} to {gram.range}; both must be the same space.")
        return InnerProduct(gram._claiming(frozenset({"positive definite"})))
    if getattr(gram, "ndim", 0) == 2:
        if gram.shape[0] != gram.shape[1]:
            raise ShapeError(f"inner_product: G has shape {gram.shape}; it must have as many rows as columns.")
        _check_gram(gram)
        return InnerProduct(matrix(gram, "positive definite"))
    weights = diagonal(gram)
    plain = not any(isinstance(leaf, Tracer) for leaf in tree.leaves(weights))
    if plain and not weights.has("positive definite"):
        raise ValueError(
            "inner_product: some weights are not positive, so ⟨v, v⟩ could be zero or less. Weights are > 0."
        )
    return InnerProduct(weights._claiming(frozenset({"positive definite"})))


def _check_gram(gram: Any) -> None:
    """What a glance shows; whether G is positive definite shows when an equation is solved with it."""
    if isinstance(gram, Tracer):
        return
    gap, size = np.max(np.abs(gram - gram.conj().T), initial=0.0), np.max(np.abs(gram), initial=0.0)
    if gap > 1e-6 * size or np.any(np.real(np.diagonal(gram)) <= 0):
        raise ValueError("inner_product: G is not symmetric and positive definite, so ⟨u, G v⟩ is no inner product.")


def euclidean(space: Any) -> InnerProduct:
    """Re Σ conj(a) b, the inner product that everything else here has by default.

    ```python
    ad.linear.euclidean(2)(np.array([1.0, 2.0]), np.array([3.0, 4.0]))  # → 11.0
    ```
    """
    return InnerProduct(Identity(Space.of(space)))


def _product_at(metric: Metric | None, point: Any) -> InnerProduct:
    if metric is None:
        return euclidean(tree.map(lambda leaf: float(leaf) if isinstance(leaf, int) else leaf, point))
    return metric if isinstance(metric, InnerProduct) else metric(point)


def differential(function: Callable[..., Any]) -> Callable[..., Covector]:
    """The derivative of a scalar function as a covector: differential(f)(x)[v] = ∂f(x)[v]. It needs no metric.

    ```python
    ad.linear.differential(lambda x: np.sum(x**2))(np.ones(2))(np.array([1.0, 0.0]))  # → 2.0
    ```
    """
    return lambda x, *rest: Covector(grad(function)(x, *rest))


def gradient(
    function: Callable[..., Any], metric: Metric | None = None, *, constraint: Callable[[Any], Any] | None = None
) -> Callable[..., Any]:
    """gradient(f, metric)(x): the vector g with ∂f(x)[v] = ⟨g, v⟩ for all v, in the inner product of `metric` at x.

    `metric` is an InnerProduct, or a function from points to them (a Riemannian metric). With a `constraint` c, x lies
    on {c = 0}: g is the tangent vector (∂c(x)[g] = 0) with that property for all tangent v,

        g = G⁻¹(∂f - Jᵀλ),   (J G⁻¹ Jᵀ) λ = J G⁻¹ ∂f,   J = ∂c(x),

    for a metric and any extension of f around the constraint's surface.

    ```python
    weighted = ad.linear.inner_product(np.array([1.0, 4.0]))
    ad.linear.gradient(lambda x: np.sum(x**2), weighted)(np.ones(2))  # → [2.0, 0.5]
    sphere = lambda x: np.sum(x**2) - 1
    ad.linear.gradient(lambda x: x[0], constraint=sphere)(np.array([0.6, 0.8]))  # → [0.64, -0.48]
    ```
    """

    def at(x: Any, *rest: Any) -> Any:
        product = _product_at(metric, x)
        free = product.upper(Covector(grad(function)(x, *rest)))
        if constraint is None:
            return free
        pushed = Derivative(constraint, x)
        normal = pushed @ product.gram.inverse @ pushed.adjoint
        back = (pushed.adjoint)(normal.solve(pushed(free)))
        return tree.subtract(free, product.upper(Covector(back)))

    return at


def adjoint(a: LinearMap, domain: InnerProduct | None = None, range: InnerProduct | None = None) -> LinearMap:
    """A* with respect to inner products of the domain and the range: ⟨A v, u⟩_range = ⟨v, A* u⟩_domain.

    ```python
    A = ad.linear.matrix(np.array([[1.0, 1.0], [0.0, 1.0]]))
    result = ad.linear.adjoint(A, domain=ad.linear.inner_product(np.array([1.0, 2.0]))).to_dense()
    result  # → [[1.0, 0.0], [0.5, 0.5]]
    ```
    """
    found = a.adjoint if range is None else a.adjoint @ range.gram
    return found if domain is None else domain.gram.inverse @ found


def pushforward(function: Callable[..., Any]) -> At:
    """∂f(x) as a map of tangent vectors.

    ```python
    ad.linear.pushforward(lambda x: x**2)(np.array([1.0, 2.0])) @ np.ones(2)  # → [2.0, 4.0]
    ```
    """
    return jacobian(function)


def pullback(function: Callable[..., Any]) -> Callable[..., Callable[[Covector], Covector]]:
    """pullback(f)(x) takes a covector at f(x) to one at x: (f* c)[v] = c[∂f(x)[v]]. It needs no metric.

    ```python
    form = ad.linear.Covector(np.array([1.0, 1.0]))
    ad.linear.pullback(lambda x: x**2)(np.array([1.0, 2.0]))(form).components  # → [2.0, 4.0]
    ```
    """

    def at(*args: Any) -> Callable[[Covector], Covector]:
        back = jacobian(function)(*args).adjoint
        return lambda covector: Covector(back(_covector(covector, "pullback").components))

    return at


def pulled_back_metric(function: Callable[..., Any], metric: Metric | None = None) -> Callable[[Any], InnerProduct]:
    """x ↦ the inner product ⟨∂f(x)[u], ∂f(x)[v]⟩ in the metric at f(x): lengths measured after f.

    ```python
    polar = lambda p: p[0] * np.stack([np.cos(p[1]), np.sin(p[1])])
    ad.linear.pulled_back_metric(polar)(np.array([2.0, 0.0])).norm(np.array([0.0, 1.0]))  # → 2.0
    ```
    """

    def at(x: Any) -> InnerProduct:
        pushed = Derivative(function, x)
        return InnerProduct(congruence(pushed, _product_at(metric, pushed.value).gram))

    return at
