"""What a solver answers: the solution, how it ended, and what to do when it ended badly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint.linear.solvers.answer import Answer, read_number
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

__all__ = [
    "BREAKDOWN",
    "CONVERGED",
    "INDEFINITE",
    "MAX_ITERATIONS",
    "NOT_FINITE",
    "NOT_POSITIVE",
    "RUNNING",
    "SINGULAR",
    "STAGNATED",
    "STATUSES",
    "Solution",
]

RUNNING = -1
CONVERGED, MAX_ITERATIONS, BREAKDOWN, NOT_POSITIVE, INDEFINITE, SINGULAR, STAGNATED, NOT_FINITE = range(8)
STATUSES = (
    "converged",
    "max iterations",
    "breakdown",
    "not positive",
    "indefinite preconditioner",
    "singular",
    "stagnated",
    "not finite",
)
ASYMMETRIC = 16.0  # times the root of the machine's precision: rounding stays far below


@final
@dataclass(frozen=True, eq=False)
class Solution(Answer):
    """x with A x = b as far as it was found: a tree, so it goes through jit, vmap and grad.

    `value` alone has derivatives. Under vmap there is one code, one count and one residual for each batch element.

    ```python
    solution = ad.linear.cg(np.diag([1.0, 2.0]), np.ones(2))
    solution.status, float(solution.residual) < 1e-6  # → ('converged', True)
    ```
    """

    STATUSES = STATUSES
    FAILURE = "the equation was not solved"
    MANY = "equations"

    value: Any  # the solution, in the structure of the unknown
    code: Value  # how it ended, as a number; `status` in words
    iterations: Value
    residual: Value  # ‖b - A x‖, computed anew at the end
    target: Value  # the residual that was asked for
    asymmetry: Value  # of A on the Krylov space of b, relative; looked at only after a failure
    history: Value | None = None  # the residual after each iteration, from the start; NaN after the last
    method: str = field(default="", metadata={"static": True})

    @property
    def advice(self) -> str:
        """What to do, in words; empty when it converged."""
        if isinstance(self.code, Tracer):
            return ""
        codes, asymmetries = np.atleast_1d(np.asarray(self.code)), np.atleast_1d(read_number(self.asymmetry))
        line = ASYMMETRIC * float(np.finfo(asymmetries.dtype).eps) ** 0.5
        found: list[str] = []
        for code, asymmetry in zip(codes.ravel(), np.broadcast_to(asymmetries, codes.shape).ravel(), strict=True):
            words = advice_for(int(code), self.method, bool(asymmetry > line))
            if words and words not in found:
                found.append(words)
        return " ".join(found)

    def __repr__(self) -> str:
        if isinstance(self.code, Tracer) or np.ndim(self.code):
            return self._describe("")
        count, residual = int(np.asarray(self.iterations)), float(read_number(self.residual))
        return self._describe(f"{self.status} after {count} iterations, residual {residual:.3g}")


def advice_for(code: int, method: str, asymmetric: bool) -> str:
    """What to do after a failure."""
    if code == CONVERGED:
        return ""
    if asymmetric:
        return "The operator is not symmetric: use gmres, or bicgstab where memory is short."
    return _ADVICE[code].get(method, _ADVICE[code][""])


_ADVICE: dict[int, dict[str, str]] = {
    MAX_ITERATIONS: {
        "": "Give a preconditioner, a larger max_iterations, or a looser tol.",
        "gmres": "Give a preconditioner, a longer restart, a larger max_iterations, or a looser tol.",
        "lsmr": "Scale the columns, add damping, give a larger max_iterations, or a looser tol.",
    },
    BREAKDOWN: {"": "The recurrence divides by zero: use gmres, or start elsewhere (x0)."},
    NOT_POSITIVE: {
        "": "The operator is not positive definite: use minres if it is symmetric, add damping (A + λ), or negate "
        "both sides if it is negative.",
        "cholesky": "The matrix is not positive definite, as was claimed: leave that fact out.",
    },
    INDEFINITE: {"": "The preconditioner is not positive definite: use one that is, e.g. jacobi, or none."},
    SINGULAR: {
        "": "The operator is singular, or nearly so, and the right side has a part that it cannot reach: use lsmr for "
        "least squares."
    },
    STAGNATED: {
        "": "The residual does not fall any more: rounding hides what is left. Ask for a looser tol, or scale the "
        "equations.",
        "gmres": "The residual does not fall from one restart to the next: give a longer restart or a preconditioner; "
        "if the operator may be singular, use lsmr.",
    },
    NOT_FINITE: {"": "NaN or infinity came out of the operator, the preconditioner or the right side: look at those."},
}
