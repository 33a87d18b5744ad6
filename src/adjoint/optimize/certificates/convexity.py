"""Convexity as far as samples tell: chords lie above, tangents below, and no curvature is negative.

A test by samples refutes, and never proves: what it found is given, so that it can be looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import grad
from adjoint.api.jacobians import hessian

__all__ = ["Convexity", "Stationary", "check_convex", "classify_stationary", "sample_points"]

LARGEST = 200  # unknowns up to which Hessians are matrices
ROUNDING = 1e-14  # what a value may owe to numbers of size 1 that cancel in it


@final
@dataclass(frozen=True)
class Convexity:
    """What samples tell of convexity: whether it holds, and the first test that failed, with its points."""

    holds: bool
    failed: str = ""  # "domain", "chord", "tangent" or "curvature"
    at: tuple[Any, ...] = ()  # the points of the failed test
    amount: float = 0.0  # by how much it failed
    least_curvature: float = np.nan  # the smallest eigenvalue of all Hessians

    def __bool__(self) -> bool:
        return self.holds


def sample_points(x0: Any, radius: float, samples: int, seed: int) -> tuple[np.ndarray, Callable[[Any], Any]]:
    """x0 and points around it as rows, near and far, and how a row is a tree."""
    vector, unravel = tree.ravel(tree.map(lambda leaf: np.asarray(leaf, float), x0))
    rng = np.random.default_rng(seed)
    reach = radius * rng.uniform(0.0, 1.0, size=(samples, 1)) ** 0.5
    directions = rng.normal(size=(samples, vector.size))
    directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return np.concatenate([vector[None], vector + reach * directions]), unravel


def check_convex(
    f: Callable[[Any], Any], x0: Any, *, radius: float = 1.0, samples: int = 60, seed: int = 0
) -> Convexity:
    """Whether f is convex around x0, as far as samples within `radius` tell.

    f(τ w + (1 - τ) v) ≤ τ f(w) + (1 - τ) f(v),   f(v) ≥ f(w) + ⟨∇f(w), v - w⟩,   and no eigenvalue of ∇²f is negative.

    Samples where f is not finite lie outside its domain: they tell nothing, but the domain has no gaps. Where x0 does
    itself, the test that failed is the "domain".

    ```python
    bool(ad.optimize.certificates.check_convex(lambda x: np.log(np.sum(np.exp(x))), np.zeros(3)))  # → True
    ad.optimize.certificates.check_convex(lambda x: (x**2 - 1) ** 2, 0.0).failed  # → 'chord'
    ```
    """
    rows, unravel = sample_points(x0, radius, samples, seed)
    value = lambda row: float(np.asarray(f(unravel(row))))
    gradient = grad(lambda row: f(unravel(row)))
    rng = np.random.default_rng(seed + 1)
    with np.errstate(all="ignore"):
        values = np.array([value(row) for row in rows])
    inside = np.isfinite(values)
    if not inside[0]:
        return Convexity(False, "domain", (unravel(rows[0]),), np.inf)
    rows, values = rows[inside], values[inside]
    scale = 1e-9 * np.max(np.abs(values)) + ROUNDING
    pairs = rng.integers(0, len(rows), size=(4 * samples, 2))
    for i, j in pairs:
        t = 0.5 if (i + j) % 2 else rng.uniform(0.05, 0.95)
        with np.errstate(all="ignore"):
            between = value(t * rows[i] + (1 - t) * rows[j])
        excess = between - float(t * values[i] + (1 - t) * values[j]) if np.isfinite(between) else np.inf
        if excess > scale:
            return Convexity(False, "chord", (unravel(rows[i]), unravel(rows[j])), excess)
    gradients = [np.asarray(gradient(row)) for row in rows]
    for i, j in pairs:
        short = values[i] + gradients[i] @ (rows[j] - rows[i]) - values[j]
        if short > scale:
            return Convexity(False, "tangent", (unravel(rows[i]), unravel(rows[j])), short)
    least = np.nan
    if rows.shape[1] <= LARGEST:
        curvature = hessian(lambda row: f(unravel(row)))
        spectra = [np.linalg.eigvalsh(np.atleast_2d(curvature(row))) for row in rows[: max(samples // 4, 5)]]
        lowest = [w[0] for w in spectra]
        least = float(min(lowest))
        if least < -1e-8 * max(abs(w).max() for w in spectra) - ROUNDING:
            at = int(np.argmin(lowest))
            return Convexity(False, "curvature", (unravel(rows[at]),), -least, least)
    return Convexity(True, least_curvature=least)


@final
@dataclass(frozen=True)
class Stationary:
    """What a point is: its kind, the size of the gradient, and how many curvatures are below, at and above 0."""

    kind: str
    gradient: float
    inertia: tuple[int, int, int]


def classify_stationary(f: Callable[[Any], Any], x: Any, *, tol: float = 1e-6) -> Stationary:
    """A minimum, a maximum, a saddle point, degenerate (a curvature is zero), or no stationary point at all.

    ```python
    ad.optimize.certificates.classify_stationary(lambda x: x[0] ** 2 - x[1] ** 2, np.zeros(2)).kind  # → 'saddle point'
    ```
    """
    vector, unravel = tree.ravel(tree.map(lambda leaf: np.asarray(leaf, float), x))
    along = lambda row: f(unravel(row))
    size = float(np.max(np.abs(grad(along)(vector))))
    w = np.linalg.eigvalsh(np.atleast_2d(hessian(along)(vector)))
    edge = tol * max(1.0, float(np.max(np.abs(w))))
    below, above = int(np.sum(w < -edge)), int(np.sum(w > edge))
    inertia = (below, len(w) - below - above, above)
    if size > tol:
        kind = "not stationary"
    elif below and above:
        kind = "saddle point"
    elif inertia[1]:
        kind = "degenerate"
    else:
        kind = "maximum" if below else "minimum"
    return Stationary(kind, size, inertia)
