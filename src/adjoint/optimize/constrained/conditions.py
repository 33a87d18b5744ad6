"""What is known at the end of a minimization under constraints: its conditions, looked at anew, and kinks nearby.

stationary      ∇f + Σ y ∇h + Σ z ∇g = 0
feasible        h = 0, g ≤ 0, within bounds
signs           z ≥ 0
complementary   z g = 0
second order    the Lagrangian is not concave along any direction in which the active constraints stay active
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.api.gradients import grad
from adjoint.api.jacobians import jacfwd
from adjoint.audit.kinks import kinks
from adjoint.optimize.certificates.promises import Promises
from adjoint.optimize.constrained.constraints import Constraint
from adjoint.optimize.constrained.sqp import Constrained, all_inequalities, linearize
from adjoint.optimize.programs.active_set import find_active
from adjoint.optimize.statuses import CONVERGED, NOT_FINITE, UNBOUNDED
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["certify_conditions", "name_kinks"]

NEAR = 1e-6  # of a kink: so near methods that need derivatives get stuck at it
LOOSE = 10.0  # times the tolerance: another way to add up may differ so much


def certify_conditions(
    title: str, problem: Constrained, x: Value, y: Value, z: Value, tol: Any, count: Value, *, second: bool
) -> Promises:
    """Which conditions hold at a point with its multipliers; those that do not are broken at the last iteration."""
    _, gradient, h, g, h_jacobian, g_jacobian = linearize(problem, x)
    every = all_inequalities(problem, x, g)
    bounds = [] if problem.lower is None else [-np.eye(x.shape[0], dtype=x.dtype), np.eye(x.shape[0], dtype=x.dtype)]
    rows = np.concatenate([g_jacobian, *bounds], 0)
    size = lambda *parts: np.max(np.abs(np.concatenate([*parts, np.zeros(1, x.dtype)])))
    scale = 1.0 + size(gradient, y, z)
    broken = {
        "stationary": size(gradient + h_jacobian.T @ y + rows.T @ z) > LOOSE * tol * scale,
        "feasible": size(h, np.maximum(every, 0.0)) > LOOSE * tol,
        "signs": size(np.minimum(z, 0.0)) > LOOSE * tol * scale,
        "complementary": size(z * every) > LOOSE * tol * scale,
    }
    if second:
        H = jacfwd(grad(problem.lagrangian))(x, y, z)
        active = find_active(z, -every).astype(x.dtype)
        C = np.concatenate([h_jacobian, active[:, None] * rows], 0)
        along = np.eye(x.shape[0], dtype=x.dtype) - np.linalg.pinv(C) @ C
        lowest = np.min(np.linalg.eigvalsh(along @ (0.5 * (H + H.T)) @ along))
        broken["second order"] = lowest < -(np.finfo(x.dtype).eps ** 0.5) * (1.0 + np.max(np.abs(H)))
    at = {name: np.where(is_broken, count, -1) for name, is_broken in broken.items()}
    return Promises(at, np.zeros(0, x.dtype), {}, title)


def name_kinks(f: Callable[..., Any], constraints: Sequence[Constraint], x: Any, args: Any, code: Any) -> str:
    """Where f or a constraint is not differentiable at the point at which a method got stuck, in words."""
    if isinstance(code, TRACED) or np.ndim(code) or int(code) in (CONVERGED, NOT_FINITE, UNBOUNDED):
        return ""
    named = [("the function", f), *[(f"the constraint {rule.name}", rule.function) for rule in constraints]]
    words: list[str] = []
    for name, function in named:
        try:
            found = kinks(function, tolerance=NEAR)(x, *args)
        except Exception:  # what cannot be looked at has no advice, and the answer stands without it
            continue
        if len(found):
            words.append(f"{name} ({found[0].primitive}, {found[0].line})")
    if not words:
        return ""
    return (f"Not differentiable at this point: {'; '.join(words)}. Smooth it, or write |c| ≤ b as two constraints, "
            "and max(a, b) ≤ c as one for each.")  # fmt: skip
