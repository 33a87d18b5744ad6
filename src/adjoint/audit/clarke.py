"""Clarke's generalized derivatives at a kink: the hull of the derivatives around it.

For f locally Lipschitz, with w a point and v a direction,

    f°(w; v) = limsup (f(u + δv) - f(u)) / δ   over u → w, δ ↓ 0      (generalized directional derivative)
    ∂f(w) = hull of lim J(uₖ) over uₖ → w where f has a derivative     (generalized gradient or Jacobian)
    f°(w; v) = max ⟨g, v⟩ over g in ∂f(w)                              (for real f)

For programs of smooth pieces the limits J are found exactly. On the way to u = w + t d, t ↓ 0, each primitive at a kink
takes one of its branches, by the sign of a slope ⟨a, d⟩. The branches are enumerated in the order in which the program
meets them; a choice is followed only if some d takes all choices before it as well, {d: ±⟨aₖ, d⟩ > 0}, which a linear
program decides. Where a = 0 both branches of |x|, max, min have the same first derivative. Other kinks (the ball at the
origin of a norm, orders of ties, conditions that are decided at second order, Python's own `if`, kinks inside loops)
are sampled: derivatives at random points nearby.
"""

# pyright: basic
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.api import Transformed
from adjoint.audit.walk import check_real_result, real_array
from adjoint.audit.ways import UnknownBranches, Way
from adjoint.base.errors import ShapeError
from adjoint.derivatives import jacobian
from adjoint.ops.control.guards import Mismatch
from adjoint.tracing import trace

__all__ = ["Generalized", "directional", "generalized_jacobian", "lipschitz"]

MOST = 4096  # combinations of branches


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
        wanted = np.append(np.ravel(g) / scale, 1.0)
        return bool(nnls(rows, wanted)[1] <= 1e-9)


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
    options = {"method": method, "radius": radius, "samples": samples, "seed": seed}
    return Transformed(_generalized, function, options)


def _generalized(function: Callable[..., Any], options: dict[str, Any], args: Any, kwargs: Any) -> Generalized:
    f = (lambda x: function(x, **kwargs)) if kwargs else function
    if len(args) != 1:
        raise TypeError(f"generalized_jacobian: the function takes one array; got {len(args)} arguments.")
    x = real_array("generalized_jacobian", args[0], "the point")
    check_real_result("generalized_jacobian", f(x[()]))
    if options["method"] != "sampled":
        try:
            return Generalized(_distinct(_enumerated(f, x), 1e-12), exact=True)
        except (UnknownBranches, Mismatch) as problem:
            if options["method"] == "exact":
                raise NotImplementedError(
                    f'generalized_jacobian: {problem} Use method="sampled", or write the branch as np.where or ad.cond.'
                ) from None
    points = _nearby(x, options)
    found = np.stack([np.asarray(jacobian(f)(p)) for p in points])
    return Generalized(_distinct(found, 1e3 * options["radius"]), exact=False)


def _nearby(x: np.ndarray, options: dict[str, Any]) -> list[Any]:
    rng = np.random.default_rng(options["seed"])
    return [(x + options["radius"] * rng.uniform(-1.0, 1.0, x.shape))[()] for _ in range(options["samples"])]


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
        here = function(w[()])
        check_real_result("directional", here)
        if np.shape(here) != ():
            raise ShapeError(f"directional: the function must return one number; it returned shape {np.shape(here)}. "
                             "Take one element, or generalized_jacobian.")  # fmt: skip
        if v.shape != w.shape:
            raise ShapeError(f"directional: the direction has shape {v.shape}, but the point has {w.shape}.")
        if method != "sampled":
            return generalized_jacobian(function, method=method, radius=radius, seed=seed)(w[()]).along(v)
        options = {"radius": radius, "samples": samples, "seed": seed}
        steps = radius * np.random.default_rng(seed + 1).uniform(0.01, 1.0, samples)
        pairs = zip([w[()], *_nearby(w, options)], [radius, *steps], strict=True)
        return np.max([(function(u + step * v) - function(u)) / step for u, step in pairs])

    return quotient


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
        points = _nearby(w, {"radius": radius, "samples": samples, "seed": seed})
        found = [np.reshape(jacobian(function)(p), (-1, max(w.size, 1))) for p in points]
        return float(max(np.linalg.norm(J, 2) for J in found))

    return estimate


def _enumerated(f: Callable[..., Any], x: np.ndarray) -> list[Any]:
    """The Jacobians of all combinations of branches that some direction takes."""
    if not x.size:
        return [np.zeros((*np.shape(f(x)), *x.shape))]
    program = trace(f, concrete=True)(x[()]).program
    waiting: list[tuple[int, ...]] = [()]
    found: list[Any] = []
    values: list[Any] = []
    while waiting:
        if len(found) + len(waiting) > MOST:
            raise UnknownBranches(f"there are more than {MOST} combinations of branches.")
        way = Way(waiting.pop(), x.size)
        (value,), (slopes,) = way.run(program, [x[()]], [np.eye(x.size).reshape((x.size, *x.shape))])
        slopes = np.zeros((x.size, *np.shape(value))) if slopes is None else slopes
        for position, choice in way.others:  # the ways that part from this one behind its prescribed beginning
            waiting.append((*way.taken[:position], choice))
        found.append(np.moveaxis(slopes, 0, -1).reshape((*np.shape(value), *x.shape)))
        values.append(value)
    if any(np.any(np.isnan(value)) for value in values):
        raise ValueError("generalized_jacobian: the function is NaN here, so that it has no derivatives.")
    if not all(np.allclose(value, values[0], rtol=1e-12, atol=1e-12) for value in values):
        raise ValueError(
            "generalized_jacobian: the function jumps here, and Clarke's derivatives are for continuous functions."
        )
    return found
