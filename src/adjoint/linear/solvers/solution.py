"""What a solver answers: the solution, how it ended, and what to do when it ended badly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint.base.errors import SolveError
from adjoint.debug import check
from adjoint.program.trace import Tracer, primal
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
_LEGEND = ", ".join(f"{code} {words}" for code, words in enumerate(STATUSES) if code)
ASYMMETRIC = 16.0  # times the root of the machine's precision: rounding stays far below


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """x with A x = b as far as it was found: a tree, so it goes through jit, vmap and grad.

    `value` alone has derivatives. Under vmap there is one code, one count and one residual for each batch element.

    ```python
    solution = ad.linear.cg(np.diag([1.0, 2.0]), np.ones(2))
    solution.status, float(solution.residual) < 1e-6  # → ('converged', True)
    ```
    """

    value: Any  # the solution, in the structure of the unknown
    code: Value  # how it ended, as a number; `status` in words
    iterations: Value
    residual: Value  # ‖b - A x‖, computed anew at the end
    target: Value  # the residual that was asked for
    asymmetry: Value  # of A on the Krylov space of b, relative; looked at only after a failure
    history: Value | None = None  # the residual after each iteration, from the start; NaN after the last
    method: str = field(default="", metadata={"static": True})

    @property
    def converged(self) -> Any:
        """Whether the residual is as small as was asked for (a truth value for each batch element)."""
        return self.code == CONVERGED

    @property
    def status(self) -> Any:
        """How it ended, in a word or two; an array of them after vmap."""
        if isinstance(self.code, Tracer):
            return "not known while the program is traced"
        words = np.array(STATUSES)[np.asarray(self.code)]
        return str(words) if np.ndim(words) == 0 else words

    @property
    def advice(self) -> str:
        """What to do, in words; empty when it converged."""
        if isinstance(self.code, Tracer):
            return ""
        codes, asymmetries = np.atleast_1d(np.asarray(self.code)), np.atleast_1d(_read_number(self.asymmetry))
        line = ASYMMETRIC * float(np.finfo(asymmetries.dtype).eps) ** 0.5
        found: list[str] = []
        for code, asymmetry in zip(codes.ravel(), np.broadcast_to(asymmetries, codes.shape).ravel(), strict=True):
            words = advice_for(int(code), self.method, bool(asymmetry > line))
            if words and words not in found:
                found.append(words)
        return " ".join(found)

    def raise_if_failed(self) -> Solution:
        """Itself if it converged, else an error with the advice. Inside a compiled program the check is part of it."""
        if isinstance(self.code, Tracer):
            check(
                np.all(self.code == CONVERGED),
                f"{self.method}: the equation was not solved (status {{}} of {_LEGEND}) after {{}} iterations; "
                "residual {}, wanted {}",
                self.code, self.iterations, self.residual, self.target,
            )  # fmt: skip
            return self
        if np.all(np.asarray(self.code) == CONVERGED):
            return self
        raise SolveError(f"{self.method}: {self._summarize()}. {self.advice}")

    def _summarize(self) -> str:
        codes = np.asarray(self.code)
        if codes.ndim:
            failed = np.argwhere(codes != CONVERGED)
            where = ", ".join(str(tuple(map(int, index)) if index.size > 1 else int(index[0])) for index in failed[:5])
            words = ", ".join(sorted({STATUSES[int(c)] for c in codes.ravel() if c != CONVERGED}))
            return f"{len(failed)} of {codes.size} equations were not solved ({words}; first batch elements: {where})"
        return (
            f"{STATUSES[int(codes)]} after {int(np.asarray(self.iterations))} iterations; the residual is "
            f"{float(_read_number(self.residual)):.3g}, wanted was {float(_read_number(self.target)):.3g}"
        )

    def __repr__(self) -> str:
        if isinstance(self.code, Tracer):
            return f"Solution({self.method}, traced)"
        if np.ndim(self.code):
            done = int(np.sum(np.asarray(self.code) == CONVERGED))
            summary = f"{done} of {np.size(self.code)} converged"
        else:
            count = int(np.asarray(self.iterations))
            summary = f"{self.status} after {count} iterations, residual {float(_read_number(self.residual)):.3g}"
        advice = self.advice
        return f"Solution({self.method}: {summary}{f'. {advice}' if advice else ''})"


def _read_number(value: Value) -> Any:
    """A number that a derivative may stand beside, without it."""
    return np.asarray(primal(value))


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
