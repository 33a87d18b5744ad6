"""Norms: ℓ1, elastic net, ℓ2, groups, ℓ∞, the maximum, sorted ℓ1 (OWL), nuclear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.numpy.indexing import take
from adjoint.optimize.proximal.term import Term, check_positive, soft
from adjoint.optimize.sets.eigenvalues import apply_to_singular_values
from adjoint.optimize.sets.pooling import average_blocks, find_blocks
from adjoint.optimize.sets.set import as_numbers, face, safe_norm
from adjoint.optimize.sets.simplices import project_simplex
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["elastic_net", "group", "l1", "l2", "linf", "maximum", "nuclear", "owl"]


def _size(x: Value) -> Value:
    """|x|, with derivative 0 at 0."""
    return np.where(face(x) < 0, -x, np.where(face(x) > 0, x, 0.0 * x))


@final
@dataclass(frozen=True, eq=False)
class L1(Term):
    """λ ‖x‖₁, with one λ or one for each number."""

    factor: Any = 1.0
    name: ClassVar[str] = "l1"
    elementwise: ClassVar[bool] = True
    spread: ClassVar[tuple[str, ...]] = ("factor",)

    def _value(self, x: Value) -> Value:
        return np.sum(self.factor * _size(x))

    def _prox(self, x: Value, step: Any) -> Value:
        return soft(x, step * self.factor)


@final
@dataclass(frozen=True, eq=False)
class ElasticNet(Term):
    """λ ‖x‖₁ + μ/2 ‖x‖²."""

    factor: Any = 1.0
    square: Any = 1.0
    name: ClassVar[str] = "elastic_net"
    elementwise: ClassVar[bool] = True
    factors: ClassVar[tuple[str, ...]] = ("factor", "square")
    spread: ClassVar[tuple[str, ...]] = ("factor", "square")

    def _value(self, x: Value) -> Value:
        return np.sum(self.factor * _size(x)) + 0.5 * np.sum(self.square * x * x)

    def _prox(self, x: Value, step: Any) -> Value:
        return soft(x, step * self.factor) / (1.0 + step * self.square)


@final
@dataclass(frozen=True, eq=False)
class L2(Term):
    """λ ‖x‖₂."""

    factor: Any = 1.0
    name: ClassVar[str] = "l2"

    def _value(self, x: Value) -> Value:
        return self.factor * safe_norm(x)

    def _prox(self, x: Value, step: Any) -> Value:
        return _shrink(x, safe_norm(x), step * self.factor)


def _shrink(x: Value, size: Value, threshold: Any) -> Value:
    """max(1 - t / ‖x‖, 0) x, and 0 where x is 0."""
    outside = face(size) > face(threshold + np.zeros((), x.dtype))
    kept = x * (1.0 - threshold / np.where(outside, size, 1.0))
    return np.where(outside, kept, np.where(np.isnan(face(size)), x, 0.0))


@final
@dataclass(frozen=True, eq=False)
class Group(Term):
    """λ Σ_g ‖x_g‖₂ over groups of numbers, given by a label for each number."""

    factor: Any
    labels: tuple[int, ...] = field(metadata={"static": True})
    count: int = field(metadata={"static": True})
    name: ClassVar[str] = "group"
    axes: ClassVar[int | None] = 1

    def _sizes(self, x: Value) -> tuple[Value, Value]:
        if len(self.labels) != x.size:
            raise ShapeError(f"proximal.group: there are labels for {len(self.labels)} numbers, and x has {x.size}.")
        labels = np.array(self.labels, int)
        square = np.bincount(labels, weights=x * x, minlength=self.count)
        here = face(square) > 0
        return np.where(here, np.sqrt(np.where(here, square, 1.0)), 0.0 * square), labels

    def _value(self, x: Value) -> Value:
        return np.sum(self.factor * self._sizes(x)[0])

    def _prox(self, x: Value, step: Any) -> Value:
        sizes, labels = self._sizes(x)
        threshold = np.broadcast_to(step * self.factor, (self.count,))
        outside = face(sizes) > face(threshold)
        scale = np.where(outside, 1.0 - threshold / np.where(outside, sizes, 1.0), 0.0 * face(sizes))
        return x * scale[labels]


@final
@dataclass(frozen=True, eq=False)
class LInf(Term):
    """λ ‖x‖∞: prox is x minus the projection onto the ℓ1 ball of radius γλ."""

    factor: Any = 1.0
    name: ClassVar[str] = "linf"

    def _value(self, x: Value) -> Value:
        if not x.size:
            return self.factor * np.sum(x)
        first = np.argmax(np.abs(face(x)))
        return self.factor * take(_size(np.reshape(x, (-1,))), first)

    def _prox(self, x: Value, step: Any) -> Value:
        if not x.size:
            return x
        flat = np.reshape(x, (-1,))
        sign = np.where(face(flat) < 0, -1.0, 1.0)
        radius = step * self.factor
        inside = np.sum(np.abs(face(flat))) <= face(radius)
        p = flat - sign * project_simplex(sign * flat, radius)
        return np.reshape(np.where(inside, 0.0, p), x.shape)


@final
@dataclass(frozen=True, eq=False)
class Maximum(Term):
    """λ max x: prox is x minus the projection onto the simplex of total γλ."""

    factor: Any = 1.0
    name: ClassVar[str] = "maximum"

    def _read(self, what: str, x: Any) -> Any:
        x = super()._read(what, x)
        if not x.size:
            raise ShapeError(f"proximal.maximum.{what}: x has shape {x.shape}; of no numbers none is the largest.")
        return x

    def _value(self, x: Value) -> Value:
        flat = np.reshape(x, (-1,))
        return self.factor * take(flat, np.argmax(face(flat)))

    def _prox(self, x: Value, step: Any) -> Value:
        flat = np.reshape(x, (-1,))
        return np.reshape(flat - project_simplex(flat, step * self.factor), x.shape)


@final
@dataclass(frozen=True, eq=False)
class OWL(Term):
    """Σ wᵢ |x|₍ᵢ₎ with the sizes in falling order, and weights that fall: sorted ℓ1, SLOPE."""

    weights: Any
    name: ClassVar[str] = "owl"
    factors: ClassVar[tuple[str, ...]] = ("weights",)
    axes: ClassVar[int | None] = 1

    def _exists(self) -> Any:
        answer = super()._exists()
        if not isinstance(self.weights, TRACED):
            return answer
        return np.logical_and(answer, np.all(face(self.weights)[1:] <= face(self.weights)[:-1]))

    def _read(self, what: str, x: Any) -> Any:
        x = super()._read(what, x)
        if np.shape(self.weights) != x.shape:
            raise ShapeError(f"proximal.owl: there are {np.shape(self.weights)} weights, and x has shape {x.shape}.")
        return x

    def _value(self, x: Value) -> Value:
        size = _size(x)
        return np.sum(self.weights * size[np.argsort(-face(size), kind="stable")])

    def _prox(self, x: Value, step: Any) -> Value:
        sign = np.where(face(x) < 0, -1.0, 1.0)
        order = np.argsort(-np.abs(face(x)), kind="stable")
        falling = (sign * x)[order] - step * self.weights
        blocks = find_blocks(face(falling), np.ones_like(face(falling)))
        p = average_blocks(falling, np.ones_like(face(falling)), blocks)
        p = np.where(face(p) <= 0, 0.0, p)
        return sign * p[np.argsort(order, kind="stable")]


@final
@dataclass(frozen=True, eq=False)
class Nuclear(Term):
    """λ Σ σᵢ(X), the sum of the singular values."""

    factor: Any = 1.0
    name: ClassVar[str] = "nuclear"
    axes: ClassVar[int | None] = 2

    def _value(self, x: Value) -> Value:
        return self.factor * np.sum(np.linalg.svd(x, compute_uv=False))

    def _prox(self, x: Value, step: Any) -> Value:
        return apply_to_singular_values(soft, x, step * self.factor + np.zeros((), x.dtype))


def l1(factor: Any = 1.0) -> L1:
    """λ ‖x‖₁; `factor` λ is a number, or an array with one for each number of x.

    ```python
    ad.optimize.proximal.l1(1.0).prox(np.array([3.0, -0.5, -2.2]))  # → [2.0, 0.0, -1.2]
    ```
    """
    factor = as_numbers(factor)
    check_positive("l1", "factor", factor)
    return L1(factor)


def elastic_net(factor: Any = 1.0, square: Any = 1.0) -> ElasticNet:
    """λ ‖x‖₁ + μ/2 ‖x‖²: `factor` λ and `square` μ.

    ```python
    ad.optimize.proximal.elastic_net(1.0, 1.0).prox(np.array([3.0, -0.5]))  # → [1.0, 0.0]
    ```
    """
    factor, square = as_numbers(factor), as_numbers(square)
    check_positive("elastic_net", "factor", factor)
    check_positive("elastic_net", "square", square)
    return ElasticNet(factor, square)


def l2(factor: Any = 1.0) -> L2:
    """λ ‖x‖₂, not squared: it shrinks x as a whole, to 0 where ‖x‖ ≤ γλ.

    ```python
    ad.optimize.proximal.l2(1.0).prox(np.array([3.0, 4.0]))  # → [2.4, 3.2]
    ```
    """
    check_positive("l2", "factor", factor, single=True)
    return L2(factor)


def group(factor: Any, groups: Any) -> Group:
    """λ Σ_g ‖x_g‖₂: `groups` has a label for each number of x, or is a list of lists of positions.

    `factor` is a number, or has one for each group, in the order of the labels.

    ```python
    ad.optimize.proximal.group(1.0, [0, 0, 1]).prox(np.array([3.0, 4.0, 0.5]))  # → [2.4, 3.2, 0.0]
    ad.optimize.proximal.group(1.0, [[0, 1], [2]]).prox(np.array([0.0, 0.0, 2.0]))  # → [0.0, 0.0, 1.0]
    ```
    """
    factor = as_numbers(factor)
    check_positive("group", "factor", factor)
    if len(groups) and isinstance(groups[0], Sequence | np.ndarray) and not isinstance(groups[0], str):
        size = sum(len(g) for g in groups)
        labels = np.full(size, -1)
        for label, positions in enumerate(groups):
            for i in positions:
                if not 0 <= i < size or labels[i] >= 0:
                    raise ValueError(f"proximal.group: the groups must hold each position of x once; {i} is not so.")
                labels[i] = label
    else:
        labels = np.unique(np.asarray(groups), return_inverse=True)[1]
    count = int(np.max(labels)) + 1 if len(labels) else 0
    if not isinstance(factor, TRACED) and np.ndim(factor) and len(factor) != count:
        raise ShapeError(f"proximal.group: there are {count} groups, and {len(factor)} factors.")
    return Group(factor, tuple(int(v) for v in labels), count)


def linf(factor: Any = 1.0) -> LInf:
    """λ ‖x‖∞; exact, in O(n log n).

    ```python
    ad.optimize.proximal.linf(1.0).prox(np.array([3.0, -1.0]))  # → [2.0, -1.0]
    ```
    """
    check_positive("linf", "factor", factor, single=True)
    return LInf(factor)


def maximum(factor: Any = 1.0) -> Maximum:
    """λ max x; exact, in O(n log n).

    ```python
    ad.optimize.proximal.maximum(1.0).prox(np.array([3.0, 2.5]))  # → [2.25, 2.25]
    ```
    """
    check_positive("maximum", "factor", factor, single=True)
    return Maximum(factor)


def owl(weights: Any) -> OWL:
    """Σ wᵢ |x|₍ᵢ₎, the sizes in falling order, with weights that fall too (sorted ℓ1 norm, SLOPE); in O(n log n).

    ```python
    ad.optimize.proximal.owl(np.array([2.0, 1.0])).prox(np.array([2.5, -3.0]))  # → [1.25, -1.25]
    ```
    """
    weights = as_numbers(weights)
    check_positive("owl", "weights", weights)
    if not isinstance(weights, TRACED) and (np.ndim(weights) != 1 or np.any(np.diff(weights) > 0)):
        raise ValueError("proximal.owl: the weights are a vector that falls; with others the term is not convex.")
    return OWL(weights)


def nuclear(factor: Any = 1.0) -> Nuclear:
    """λ times the sum of the singular values of a matrix.

    ```python
    np.round(ad.optimize.proximal.nuclear(1.0).prox(np.diag([3.0, 0.5])), 12)  # → [[2.0, 0.0], [0.0, 0.0]]
    ```
    """
    check_positive("nuclear", "factor", factor, single=True)
    return Nuclear(factor)
