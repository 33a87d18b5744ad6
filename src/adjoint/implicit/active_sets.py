"""Which constraints are active at a minimizer, and their multipliers, from the minimizer alone.

Of each constraint there are two numbers: its slack, as a length in x, and its pressure, the multiplier times its
gradient as a part of ∇f. At a solution one of them is zero. Which one is small is measured against how well the
conditions hold at x, not against a fixed tolerance: both are small where the constraint holds without pressing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.program.types import Value

__all__ = ["ActiveSet", "Linearization", "identify"]


class Linearization(NamedTuple):
    """∇f, the values and Jacobians of all constraints at x, as plain arrays."""

    x: Any
    gradient: Any
    equality: Any
    equality_jacobian: Any
    inequality: Any
    inequality_jacobian: Any
    cone_jacobian: Any
    curvature: float = 0.0  # of f: the size of its Hessian


@final
@dataclass(frozen=True)
class ActiveSet:
    """Which inequalities are "active", "inactive", "weak" or "violated"; their margins, and all multipliers.

    ```python
    rules = ad.implicit.Constraints(bounds=(0.0, None))
    x = ad.implicit.argmin(lambda x, a: np.sum((x - a) ** 2), lambda a: np.maximum(a, 0.0), subject_to=rules)
    x.active_set(np.array([1.0, -1.0, 0.0])).kinds  # → ('inactive', 'active', 'weak')
    ```
    """

    kinds: tuple[str, ...]
    slack: Value  # as a length, over that of x
    pressure: Value  # as a part of ∇f
    equality: Value  # multipliers
    inequality: Value
    cone: Value
    residual: float  # of the conditions, relative
    is_dependent: bool  # the gradients of the constraints that hold are linearly dependent

    def __getitem__(self, kind: str) -> list[int]:
        return [i for i, found in enumerate(self.kinds) if found == kind]


def identify(at: Linearization) -> ActiveSet:
    """The active set and the multipliers that explain ∇f best."""
    p, m, q = len(at.inequality), len(at.equality), len(at.cone_jacobian)
    lengths = np.linalg.norm(at.inequality_jacobian, axis=1) if p else np.zeros(0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    scale = 1.0 + np.linalg.norm(at.x)
    distance = -at.inequality / (lengths * scale)  # below zero where it is violated
    # ∇f vanishes at a minimum inside: what counts as large is how it changes over the size of x
    force = max(float(np.linalg.norm(at.gradient)), at.curvature * scale, np.finfo(float).tiny)
    columns = np.concatenate([at.equality_jacobian, at.inequality_jacobian, -at.cone_jacobian]).T
    widths = np.concatenate([np.ones(m), lengths, np.ones(q)])
    # a constraint far away is dear: its pressure counts against the fit
    weights = np.diag(np.concatenate([np.zeros(m), np.abs(distance), np.zeros(q)]) * force)
    found = _fit_bounded(
        np.concatenate([columns / widths, weights]), np.concatenate([-at.gradient, np.zeros(m + p + q)]), m, p
    )
    pressure = found[m : m + p] / force
    left = np.linalg.norm(columns / widths @ found + at.gradient) / force
    broken = max(0.0, float(np.max(-distance, initial=0.0)), float(np.max(np.abs(at.equality), initial=0.0)) / scale)
    accuracy = max(left, broken, float(np.finfo(float).eps))
    reach = min(accuracy**0.5, 1e-2)
    kinds = tuple(
        "weak" if abs(d) <= reach and f <= reach else "active" if abs(d) <= reach and f > d else
        "violated" if d < -reach else "inactive" if d >= f else "active"
        for d, f in zip(distance, pressure, strict=True)
    )  # fmt: skip
    holding = [i for i, kind in enumerate(kinds) if kind == "active"]
    chosen = [*range(m), *[m + i for i in holding], *range(m + p, m + p + q)]
    part = columns[:, chosen] / widths[chosen]
    exact = np.zeros(m + p + q)
    if chosen:
        solved, _, rank, _ = np.linalg.lstsq(part, -at.gradient, rcond=None)
        exact[chosen] = solved / widths[chosen]
        is_dependent = bool(rank < len(chosen))
    else:
        is_dependent = False
    return ActiveSet(
        kinds, distance, pressure, exact[:m], exact[m : m + p], exact[m + p :], float(accuracy), is_dependent
    )


def _fit_bounded(a: Any, b: Any, m: int, p: int) -> Any:
    """v that makes ‖a v - b‖ smallest, with v[m : m + p] ≥ 0."""
    from scipy.optimize import lsq_linear

    if not a.shape[1]:
        return np.zeros(0)
    lower = np.full(a.shape[1], -np.inf)
    lower[m : m + p] = 0.0
    if not p:
        return np.linalg.lstsq(a, b, rcond=None)[0]
    return np.maximum(lsq_linear(a, b, (lower, np.inf), method="bvls", tol=1e-14).x, lower)
