"""What a manifold can do: tangent vectors by coordinates, steps along them, the tangent part of a gradient.

    embed(x, ξ)        the tangent vector at x with the coordinates ξ in an orthonormal frame
    retract(x, v)      a point of the manifold near x + v
    tangent_part(x, g) the gradient along the manifold, from the one around it

Coordinates carry vectors from one point to another: a vector keeps its numbers while the frame moves with the point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from adjoint.base.errors import ShapeError, TreeError
from adjoint.program.types import Value

__all__ = ["Manifold", "Product", "grassmann", "product", "rotations", "spd", "sphere", "stiefel"]


class Manifold(ABC):
    """A smooth set of arrays; `optimize.manifolds` has them by name.

    ```python
    isinstance(ad.optimize.manifolds.sphere(), ad.optimize.manifolds.Manifold)  # → True
    ```
    """

    name: ClassVar[str] = "manifold"

    @abstractmethod
    def project(self, x: Any) -> Any:
        """A point of the manifold near x."""

    @abstractmethod
    def tangent_part(self, x: Any, g: Any) -> Any:
        """The part of g along the manifold at x."""

    @abstractmethod
    def retract(self, x: Any, v: Any) -> Any:
        """The point to which a step v along the manifold leads from x."""

    @abstractmethod
    def dimension(self, x: Any) -> int:
        """How many coordinates a tangent vector has."""

    @abstractmethod
    def embed(self, x: Any, coordinates: Value) -> Any:
        """The tangent vector at x with these coordinates."""

    def contains(self, x: Any, tol: float = 1e-8) -> Any:
        """Whether x lies on the manifold."""
        return np.max(np.abs(self.project(x) - x)) <= tol

    def transport(self, x: Any, y: Any, v: Any) -> Any:
        """A tangent vector at x as one at y near by: its part along the manifold there."""
        return self.tangent_part(y, v)


def _check_matrix(title: str, x: Any, square: bool = False) -> None:
    if x.ndim != 2 or x.shape[0] < x.shape[1] or (square and x.shape[0] != x.shape[1]):
        form = "a square matrix" if square else "a matrix with at least as many rows as columns"
        raise ShapeError(f"manifolds.{title}: x has shape {x.shape}; it is {form}.")


def _skew(coordinates: Value, p: int) -> Value:
    """The skew matrix with these numbers above its diagonal, over √2."""
    rows, columns = np.triu_indices(p, 1)
    A = np.zeros((p * p,)) + 0 * np.sum(coordinates)
    A[rows * p + columns] = coordinates
    A = np.reshape(A, (p, p))
    return (A - A.T) / np.sqrt(2.0)


def _orthogonalize(x: Value) -> Value:
    """Q of x = Q R with a positive diagonal of R."""
    Q, R = np.linalg.qr(x)
    return Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)


def _complement(x: Value) -> Value:
    """Orthonormal columns that are orthogonal to those of x."""
    n, p = x.shape
    return np.linalg.qr(x, mode="complete")[0][:, p:] if n > p else np.zeros((n, 0))


@final
@dataclass(frozen=True, eq=False)
class Sphere(Manifold):
    """‖x‖ = 1."""

    name: ClassVar[str] = "sphere"

    def project(self, x: Any) -> Value:
        return x / np.sqrt(np.sum(x * x))

    def tangent_part(self, x: Any, g: Any) -> Value:
        return g - x * np.sum(x * g)

    def retract(self, x: Any, v: Any) -> Value:
        return self.project(x + v)

    def dimension(self, x: Any) -> int:
        return x.size - 1

    def embed(self, x: Any, coordinates: Value) -> Value:
        flat = np.reshape(x, (-1,))
        first = np.arange(x.size) == 0
        # the reflection that takes x to ±e₁ takes the other unit vectors to tangent ones
        w = flat + np.where(first, np.where(flat[0] < 0, -1.0, 1.0), 0.0)
        v = np.concatenate([np.zeros(1), coordinates])
        return np.reshape(v - w * (2.0 * np.sum(w * v) / np.sum(w * w)), x.shape)


@final
@dataclass(frozen=True, eq=False)
class Stiefel(Manifold):
    """XᵀX = I."""

    name: ClassVar[str] = "stiefel"

    def project(self, x: Any) -> Value:
        _check_matrix(self.name, x)
        return _orthogonalize(x)

    def contains(self, x: Any, tol: float = 1e-8) -> Any:
        return np.max(np.abs(x.T @ x - np.eye(x.shape[1]))) <= tol

    def tangent_part(self, x: Any, g: Any) -> Value:
        inner = x.T @ g
        return g - x @ (0.5 * (inner + inner.T))

    def retract(self, x: Any, v: Any) -> Value:
        return _orthogonalize(x + v)

    def dimension(self, x: Any) -> int:
        n, p = x.shape
        return n * p - p * (p + 1) // 2

    def embed(self, x: Any, coordinates: Value) -> Value:
        n, p = x.shape
        k = p * (p - 1) // 2
        return x @ _skew(coordinates[:k], p) + _complement(x) @ np.reshape(coordinates[k:], (n - p, p))


@final
@dataclass(frozen=True, eq=False)
class Grassmann(Manifold):
    """Subspaces, by matrices X with XᵀX = I that span them; X and X Q stand for the same."""

    name: ClassVar[str] = "grassmann"
    project = Stiefel.project
    contains = Stiefel.contains
    retract = Stiefel.retract

    def tangent_part(self, x: Any, g: Any) -> Value:
        return g - x @ (x.T @ g)

    def dimension(self, x: Any) -> int:
        n, p = x.shape
        return (n - p) * p

    def embed(self, x: Any, coordinates: Value) -> Value:
        n, p = x.shape
        return _complement(x) @ np.reshape(coordinates, (n - p, p))


@final
@dataclass(frozen=True, eq=False)
class Rotations(Manifold):
    """XᵀX = I with determinant 1."""

    name: ClassVar[str] = "rotations"
    tangent_part = Stiefel.tangent_part

    def project(self, x: Any) -> Value:
        _check_matrix(self.name, x, square=True)
        Q = _orthogonalize(x)
        last = np.arange(x.shape[0]) == x.shape[0] - 1
        return Q * np.where(last & (np.linalg.det(Q) < 0), -1.0, 1.0)

    def contains(self, x: Any, tol: float = 1e-8) -> Any:
        close = np.max(np.abs(x.T @ x - np.eye(x.shape[1]))) <= tol
        return np.logical_and(close, np.linalg.det(x) > 0)

    def retract(self, x: Any, v: Any) -> Value:
        # Cayley's map is a rotation for every skew matrix
        A, eye = 0.5 * (x.T @ v), np.eye(x.shape[0])
        return x @ np.linalg.solve(eye - A, eye + A)

    def dimension(self, x: Any) -> int:
        return x.shape[0] * (x.shape[0] - 1) // 2

    def embed(self, x: Any, coordinates: Value) -> Value:
        return x @ _skew(coordinates, x.shape[0])


@final
@dataclass(frozen=True, eq=False)
class SPD(Manifold):
    """Symmetric positive definite matrices, in the metric tr(X⁻¹ U X⁻¹ V)."""

    name: ClassVar[str] = "spd"

    def project(self, x: Any) -> Value:
        _check_matrix(self.name, x, square=True)
        return 0.5 * (x + x.T)

    def contains(self, x: Any, tol: float = 1e-8) -> Any:
        symmetric = np.max(np.abs(x - x.T)) <= tol
        return np.logical_and(symmetric, np.linalg.eigvalsh(0.5 * (x + x.T))[0] > 0)

    def tangent_part(self, x: Any, g: Any) -> Value:
        return 0.5 * (g + g.T)

    def retract(self, x: Any, v: Any) -> Value:
        # the exponential map up to second order, which is positive definite for every v
        y = x + v + 0.5 * (v @ np.linalg.solve(x, v))
        return 0.5 * (y + y.T)

    def dimension(self, x: Any) -> int:
        return x.shape[0] * (x.shape[0] + 1) // 2

    def embed(self, x: Any, coordinates: Value) -> Value:
        n = x.shape[0]
        rows, columns = np.triu_indices(n)
        A = np.zeros((n * n,)) + 0 * np.sum(coordinates)
        A[rows * n + columns] = coordinates * np.where(rows == columns, 0.5, 1.0 / np.sqrt(2.0))
        A = np.reshape(A, (n, n))
        L = np.linalg.cholesky(x)
        return L @ (A + A.T) @ L.T


@final
@dataclass(frozen=True, eq=False)
class Product(Manifold):
    """A manifold for each entry of a dictionary; None is all numbers."""

    parts: dict[str, Manifold | None]
    name: ClassVar[str] = "product"

    def _each(self, x: Any) -> list[tuple[str, Manifold | None]]:
        if not isinstance(x, dict) or set(self.parts) - set(x):
            raise TreeError(f"manifolds.product: there are manifolds for {', '.join(self.parts)}, and x has "
                            f"{', '.join(x) if isinstance(x, dict) else 'no keys'}.")  # fmt: skip
        return [(key, self.parts.get(key)) for key in x]

    def project(self, x: Any) -> Any:
        return {key: x[key] if part is None else part.project(x[key]) for key, part in self._each(x)}

    def contains(self, x: Any, tol: float = 1e-8) -> Any:
        return np.all([part.contains(x[key], tol) for key, part in self._each(x) if part is not None])

    def tangent_part(self, x: Any, g: Any) -> Any:
        return {key: g[key] if part is None else part.tangent_part(x[key], g[key]) for key, part in self._each(x)}

    def retract(self, x: Any, v: Any) -> Any:
        return {k: x[k] + v[k] if part is None else part.retract(x[k], v[k]) for k, part in self._each(x)}

    def dimension(self, x: Any) -> int:
        return sum(np.size(x[key]) if part is None else part.dimension(x[key]) for key, part in self._each(x))

    def embed(self, x: Any, coordinates: Value) -> Any:
        found, at = {}, 0
        for key, part in self._each(x):
            size = np.size(x[key]) if part is None else part.dimension(x[key])
            piece, at = coordinates[at : at + size], at + size
            found[key] = np.reshape(piece, np.shape(x[key])) if part is None else part.embed(x[key], piece)
        return found


def sphere() -> Sphere:
    """Arrays with ‖x‖ = 1.

    ```python
    from adjoint.optimize import manifolds
    A = np.diag([3.0, 1.0, 2.0])
    method = ad.optimize.OnManifold(manifolds.sphere(), ad.optimize.LBFGS())
    found = ad.optimize.minimize(lambda x: x @ A @ x, np.ones(3) / np.sqrt(3.0), method=method)
    float(np.round(found.fun, 9)), found.status  # → (1.0, 'converged')
    ```
    """
    return Sphere()


def stiefel() -> Stiefel:
    """Matrices with orthonormal columns, XᵀX = I.

    ```python
    ad.optimize.manifolds.stiefel().project(np.array([[2.0, 1.0], [0.0, 3.0]]))  # → [[1.0, 0.0], [0.0, 1.0]]
    ```
    """
    return Stiefel()


def grassmann() -> Grassmann:
    """Subspaces, by orthonormal columns that span them; functions of X must not tell X from X Q.

    ```python
    ad.optimize.manifolds.grassmann().dimension(np.eye(5)[:, :2])  # → 6
    ```
    """
    return Grassmann()


def rotations() -> Rotations:
    """Orthogonal matrices with determinant 1.

    ```python
    ad.optimize.manifolds.rotations().contains(np.array([[0.0, -1.0], [1.0, 0.0]]))  # → True
    ```
    """
    return Rotations()


def spd() -> SPD:
    """Symmetric positive definite matrices, in the metric tr(X⁻¹ U X⁻¹ V), which every change of basis leaves as it is.

    ```python
    ad.optimize.manifolds.spd().contains(np.diag([1.0, -1.0]))  # → False
    ```
    """
    return SPD()


def product(parts: dict[str, Manifold | None]) -> Product:
    """A manifold for each entry of a dictionary; None, or no entry, is all numbers.

    ```python
    from adjoint.optimize import manifolds
    both = manifolds.product({"q": manifolds.sphere(), "b": None})
    both.project({"q": np.array([3.0, 4.0]), "b": 2.0})  # → {'q': [0.6, 0.8], 'b': 2.0}
    ```
    """
    if not isinstance(parts, dict) or any(not isinstance(p, Manifold | None) for p in parts.values()):
        raise TypeError("manifolds.product: it takes a dictionary of manifolds; they are made by optimize.manifolds.")
    return Product(parts)
