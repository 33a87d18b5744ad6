"""`milp`: linear programs with integer unknowns, by HiGHS. Their solutions jump, so that they have no derivative."""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError, UnsupportedError
from adjoint.base.source import user_facing
from adjoint.optimize.optimum import Optimum
from adjoint.optimize.programs.certificate import read_matrix
from adjoint.optimize.statuses import CONVERGED, INFEASIBLE, MAX_ITERATIONS, NO_PROGRESS, UNBOUNDED
from adjoint.program.trace import Tracer

__all__ = ["milp"]

_CODES = {0: CONVERGED, 1: MAX_ITERATIONS, 2: INFEASIBLE, 3: UNBOUNDED}
UNCLEAR = 4  # infeasible or unbounded, and other trouble


@user_facing
def milp(
    c: Any, *, integer: Any = True, A: Any = None, b: Any = None, G: Any = None, h: Any = None, lower: Any = None,
    upper: Any = None, time_limit: float | None = None,
) -> Optimum:  # fmt: skip
    """x that makes cᵀx smallest, where A x = b, G x ≤ h, lower ≤ x ≤ upper, and `integer` unknowns are integers.

    `integer` is True for all, or a truth value for each. The solution jumps where it changes at all, so that it has no
    derivative: with traced data it is refused. Relax it with `lp`, or perturb the costs.

    ```python
    found = ad.optimize.milp(np.array([-3.0, -2.0]), G=np.array([[2.0, 1.0]]), h=np.array([3.5]), lower=0.0)
    found.value, found.status  # → ([0.0, 3.0], 'converged')
    ```
    """
    if any(isinstance(leaf, Tracer) for leaf in tree.leaves((c, A, b, G, h, lower, upper))):
        raise UnsupportedError(
            "milp: its solution jumps from one integer to another, so that its derivative is zero or does not "
            "exist. Solve the relaxation with optimize.lp, or call it outside of the transformation."
        )
    from scipy.optimize import Bounds, LinearConstraint
    from scipy.optimize import milp as theirs

    c = np.asarray(c)
    if c.ndim != 1 or not c.size or c.dtype.kind not in "fiub" or not np.all(np.isfinite(c)):
        raise ValueError(f"milp: c has shape {c.shape} and dtype {c.dtype}; it is a vector of finite real numbers.")
    c = c.astype(float)
    for names, left, right in (("A and b", A, b), ("G and h", G, h)):
        if (left is None) != (right is None):
            raise TypeError(f"milp: {names} are given together, or neither of them.")
        if left is not None:
            found = read_matrix("milp", names[0], left, (None, len(c)), f"c has {len(c)} numbers")
            if np.shape(right) != (found.shape[0],):
                raise ShapeError(f"milp: {names[-1]} has shape {np.shape(right)}; it must be ({found.shape[0]},).")
    rows = [LinearConstraint(A, b, b)] if A is not None else []
    rows += [LinearConstraint(G, -np.inf, h)] if G is not None else []
    bounds = Bounds(-np.inf if lower is None else lower, np.inf if upper is None else upper)
    kinds = np.broadcast_to(np.asarray(integer, bool), c.shape).astype(int)
    options = {} if time_limit is None else {"time_limit": time_limit}
    size = np.max(np.abs(c)) if np.any(c) else 1.0  # the tolerances of HiGHS are absolute
    found = theirs(c / size, integrality=kinds, bounds=bounds, constraints=rows, options=options)
    status = _CODES.get(found.status, NO_PROGRESS)
    if found.status == UNCLEAR:  # without costs nothing is unbounded
        without = theirs(0 * c, integrality=kinds, bounds=bounds, constraints=rows, options=options)
        status = UNBOUNDED if without.x is not None else _CODES.get(without.status, NO_PROGRESS)
    solved = found.x is not None
    x = found.x if solved else np.full(c.shape, np.nan)
    gap = np.float64(found.mip_gap if solved and found.mip_gap is not None else np.nan)
    code = np.int64(status)
    count = np.int64(found.mip_node_count or 0)
    x, fun = np.where(kinds == 1, np.round(x), x), np.float64(size * found.fun if solved else np.nan)
    return Optimum(
        x, fun, c, code, count, {"node": count}, gap, np.float64(1e-4), None, None, None, None, None, "milp by highs",
    )  # fmt: skip
