"""What derivatives mean at kinks and on constraints: Clarke's generalized derivatives, subgradients, tangent spaces.

For f locally Lipschitz, with w a point and v a direction,

    f°(w; v) = limsup (f(u + δv) - f(u)) / δ   over u → w, δ ↓ 0      (generalized directional derivative)
    ∂f(w) = hull of lim J(uₖ) over uₖ → w where f has a derivative     (generalized gradient or Jacobian)
    f°(w; v) = max ⟨g, v⟩ over g in ∂f(w)                              (for real f)

For programs of smooth pieces the limits J are found exactly, branch by branch (adjoint.audit.branches). Other kinks
(the ball at the origin of a norm, orders of ties, conditions that are decided at second order, Python's own `if`, kinks
inside loops) are sampled: derivatives at random points nearby.
"""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.function import Function, Options, Transformed
from adjoint.api.jacobians import jacobian
from adjoint.audit.branches import UnknownBranches, enumerate_jacobians
from adjoint.audit.walk import check_real_result, plain_values, real_array
from adjoint.base.errors import ShapeError
from adjoint.ops.control.guards import Mismatch

__all__ = [
    "Generalized", "TangentSpace", "directional", "generalized_jacobian", "is_subgradient", "lipschitz",
    "tangent_space",
]  # fmt: skip


@dataclass(frozen=True)
class Generalized:
    """The limits of derivatives around a point; the generalized derivative is their convex hull.

    ```python
    ad.audit.generalized_jacobian(lambda x: np.sum(np.abs(x)))(np.zeros(1)).exact  # → True
    ```
    """

    vertices: np.ndarray  # (how many, *shape of the result, *shape of the argument)
    exact: bool  # enumerated, or sampled

    def __len__(self) -> int:
        return len(self.vertices)

    def along(self, v: Any) -> Any:
        """max ⟨g, v⟩ over the set: the generalized directional derivative of a real function."""
        return np.max(np.reshape(self.vertices, (len(self), -1)) @ np.ravel(v))

    def __contains__(self, g: Any) -> bool:
        """Whether g is in the hull: g = Σ λᵢ vertexᵢ with λ >= 0, Σ λ = 1."""
        from scipy.optimize import nnls

        columns = np.reshape(self.vertices, (len(self), -1)).T
        scale = 1.0 + np.max(np.abs(columns))
        rows = np.vstack([columns / scale, np.ones(len(self))])
        return bool(nnls(rows, np.append(np.ravel(g) / scale, 1.0))[1] <= 1e-9)


@dataclass(frozen=True)
class _Options(Options):
    """How the derivatives around a point are found, and where they are sampled."""

    method: str
    radius: float
    samples: int
    seed: int

    def nearby(self, x: np.ndarray) -> list[Any]:
        """Random points within `radius` of x."""
        rng = np.random.default_rng(self.seed)
        return [(x + self.radius * rng.uniform(-1.0, 1.0, x.shape))[()] for _ in range(self.samples)]


def generalized_jacobian(
    function: Callable[..., Any], *, method: str = "auto", radius: float = 1e-6, samples: int = 200, seed: int = 0
) -> Transformed:
    """Clarke's generalized gradient or Jacobian of a function of one array: returns a Generalized.

    `method`: "exact" enumerates the branches at the kinks, "sampled" takes derivatives at random points within
    `radius`; "auto" samples where not all branches can be enumerated.

    ```python
    ad.audit.generalized_jacobian(lambda x: np.sum(np.abs(x)))(np.zeros(1)).vertices  # → [[1.0], [-1.0]]
    ```
    """
    if method not in ("auto", "exact", "sampled"):
        raise ValueError(f'generalized_jacobian: method is "auto", "exact" or "sampled"; got {method!r}.')
    return Transformed(_generalize, function, _Options(method, radius, samples, seed))


def _generalize(function: Callable[..., Any], options: _Options, args: Any, kwargs: Any) -> Generalized:
    x, f = _one_array("generalized_jacobian", "function takes", function, args, kwargs)
    check_real_result("generalized_jacobian", f(x[()]))
    if options.method != "sampled":
        try:
            return Generalized(_distinct(enumerate_jacobians(f, x), 1e-12), exact=True)
        except (UnknownBranches, Mismatch) as problem:
            if options.method == "exact":
                raise NotImplementedError(
                    f'generalized_jacobian: {problem} Use method="sampled", or write the branch as np.where or ad.cond.'
                ) from None
    sampled = [np.asarray(jacobian(f)(p)) for p in options.nearby(x)]
    return Generalized(_distinct(sampled, 1e3 * options.radius), exact=False)


def _one_array(
    name: str, what: str, function: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[np.ndarray, Callable[..., Any]]:
    """The point, and the function of it."""
    if len(args) != 1:
        raise TypeError(f"{name}: the {what} one array; got {len(args)} arguments.")
    return real_array(name, args[0], "the point"), (lambda x: function(x, **kwargs)) if kwargs else function


def _distinct(jacobians: Any, tolerance: float) -> np.ndarray:
    kept: list[Any] = []
    for one in jacobians:
        if not any(np.allclose(one, other, rtol=tolerance, atol=tolerance) for other in kept):
            kept.append(one)
    return np.stack(kept)


def directional(
    function: Callable[..., Any], *, method: str = "auto", radius: float = 1e-6, samples: int = 2000, seed: int = 0
) -> Callable[[Any, Any], Any]:
    """Clarke's generalized directional derivative: `directional(f)(w, v)`.

    "exact": max ⟨g, v⟩ over the generalized gradient. "sampled": the greatest quotient (f(u + δv) - f(u)) / δ over
    random u and δ within `radius`, an estimate from below up to rounding.

    ```python
    ad.audit.directional(lambda x: np.sum(np.abs(x)))(np.zeros(1), np.ones(1))  # → 1.0
    ```
    """

    def quotient(w: Any, v: Any) -> Any:
        w, v = real_array("directional", w, "the point"), real_array("directional", v, "the direction")
        shape = np.shape(_real("directional", function(w[()])))
        if shape != ():
            raise ShapeError(f"directional: the function must return one number; it returned shape {shape}. "
                             "Take one element, or generalized_jacobian.")  # fmt: skip
        if v.shape != w.shape:
            raise ShapeError(f"directional: the direction has shape {v.shape}, but the point has {w.shape}.")
        if method != "sampled":
            return generalized_jacobian(function, method=method, radius=radius, seed=seed)(w[()]).along(v)
        steps = radius * np.random.default_rng(seed + 1).uniform(0.01, 1.0, samples)
        points = _Options(method, radius, samples, seed).nearby(w)
        pairs = zip([w[()], *points], [radius, *steps], strict=True)
        return np.max([(function(u + step * v) - function(u)) / step for u, step in pairs])

    return quotient


def _real(name: str, value: Any) -> Any:
    check_real_result(name, value)
    return value


def lipschitz(
    function: Callable[..., Any], *, radius: float = 1e-3, samples: int = 200, seed: int = 0
) -> Callable[[Any], float]:
    """An estimate from below of the Lipschitz constant around a point: the largest norm of J at points nearby.

    ```python
    ad.audit.lipschitz(lambda x: 3 * np.abs(x))(np.zeros(1))  # → 3.0
    ```
    """

    def estimate(w: Any) -> float:
        w = real_array("lipschitz", w, "the point")
        points = _Options("sampled", radius, samples, seed).nearby(w)
        jacobians = [np.reshape(jacobian(function)(p), (-1, max(w.size, 1))) for p in points]
        return float(max(np.linalg.norm(J, 2) for J in jacobians))

    return estimate


def is_subgradient(
    function: Function, x: tree.Tree, z: tree.Tree, *, samples: int = 256, radius: float = 1.0, seed: int = 0
) -> bool:
    """Whether z is a subgradient of a convex function at x, as far as a sample can tell.

    f(y) ≥ f(x) + ⟨z, y - x⟩ is tried for `samples` points y around x, at distances from radius · 1e-6 to `radius` and
    along the axes. False is certain, up to rounding; True says that no sample speaks against it.

    ```python
    ad.audit.is_subgradient(np.abs, 0.0, 0.5), ad.audit.is_subgradient(np.abs, 0.0, 1.5)  # → (True, False)
    ```
    """
    plain_values("is_subgradient", x, z)
    tree.check_same_structure("is_subgradient: z", tree.flatten(x)[1], tree.flatten(z)[1], "x", "z")
    if not tree.leaves(x):
        raise ValueError("is_subgradient: x has no arrays. Give a point.")
    at, unravel = tree.ravel(tree.map(lambda leaf: real_array("is_subgradient", leaf, "x")[()], x))
    subgradient, _ = tree.ravel(tree.map(lambda leaf: real_array("is_subgradient", leaf, "z")[()], z))
    if at.shape != subgradient.shape:
        raise ValueError(f"is_subgradient: z has {subgradient.size} numbers for an x of {at.size}. Give one for each.")

    def value(point: Any) -> float:
        result = _real("is_subgradient", function(unravel(point)))
        if np.shape(result) != ():
            raise ValueError(
                f"is_subgradient: the function must return one number; it returned shape {np.shape(result)}."
            )
        return float(result)

    here = value(at)
    if np.isnan(here):  # outside its domain
        return False
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((max(samples - 2 * at.size, 1), at.size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    directions = np.concatenate([np.eye(at.size), -np.eye(at.size), directions])
    for step in radius * 10.0 ** rng.uniform(-6, 0, (len(directions), 1)) * directions:
        rounding = 64 * np.finfo(float).eps * (abs(here) + abs(subgradient) @ abs(step) + 1e-300)
        if value(at + step) < here + subgradient @ step - rounding:
            return False
    return True


@dataclass(frozen=True)
class TangentSpace:
    """An orthonormal basis, (dimension, *shape of w).

    ```python
    ad.audit.tangent_space(lambda w: np.sum(w**2) - 1)(np.array([1.0, 0.0, 0.0])).basis.shape  # → (2, 3)
    ```
    """

    basis: np.ndarray

    @property
    def dimension(self) -> int:
        return len(self.basis)

    def project(self, v: Any) -> Any:
        """The part of v that is tangent: Σ ⟨bᵢ, v⟩ bᵢ."""
        rows = np.reshape(self.basis, (self.dimension, -1))
        return np.reshape(rows.T @ (rows @ np.ravel(v)), np.shape(v))


def tangent_space(constraints: Callable[..., Any]) -> Transformed:
    """The tangent space of M = {w: c(w) = 0} at a point, the null space of ∂c(w): `tangent_space(c)(w)`.

    For one array w; c may return any tree. The rank of ∂c(w) is found from its singular values, so that constraints may
    depend on each other.

    ```python
    space = ad.audit.tangent_space(lambda w: np.sum(w**2) - 1)(np.array([1.0, 0.0]))
    np.abs(space.basis)  # → [[0.0, 1.0]]
    ```
    """
    return Transformed(_tangent_space, constraints, Options())


def _tangent_space(constraints: Callable[..., Any], options: Options, args: Any, kwargs: Any) -> TangentSpace:
    w, c = _one_array("tangent_space", "constraints take", constraints, args, kwargs)
    sizes = [np.size(_real("tangent_space", value)) for value in tree.leaves(c(w[()]))]
    jacobians = tree.leaves(jacobian(c)(w[()]))
    rows = np.concatenate([np.reshape(J, (size, w.size)) for size, J in zip(sizes, jacobians, strict=True)])
    _, singular, right = np.linalg.svd(rows)
    rank = int(np.sum(singular > np.max(singular, initial=0.0) * max(rows.shape) * np.finfo(float).eps))
    return TangentSpace(right[rank:].reshape((len(right) - rank, *w.shape)))
