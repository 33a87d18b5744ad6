"""What can be wrong with the derivative of a solution, said in words where it is computed.

The theorem asks that F(x, θ) = 0 and that ∂ₓF is invertible. The error of the derivative is proportional to the
distance of x from the solution, and to the condition of ∂ₓF; both are looked at whenever a derivative is taken, in
compiled programs too.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint.base.errors import SolveError
from adjoint.debug import callback
from adjoint.implicit.vectors import dtype_of, named_element, to_vector
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.structures import Matrix
from adjoint.linear.solvers.solution import STATUSES, Solution, advice_for
from adjoint.program.program import Program, interpret
from adjoint.program.trace import Tracer, primal
from adjoint.program.types import ArrayType, Value

__all__ = ["CHECKS", "DerivativeWarning", "Watch", "condition", "null_direction"]

CHECKS = ("warn", "raise", "ignore")


class DerivativeWarning(RuntimeWarning):
    """The derivative of a solution is not what it seems: the solution is not one, or the equation does not fix it.

    ```python
    issubclass(ad.implicit.DerivativeWarning, RuntimeWarning)  # → True
    ```
    """


class _Findings(NamedTuple):
    """What is looked at, as numbers of a program."""

    distance: Value  # ‖F(x, θ)‖ over the size of its terms
    unsolved: Value  # what the linear solve left, over the size of its terms
    finite: Value
    code: Value  # how the linear solve ended
    norm: Value  # ‖F(x, θ)‖


@final
@dataclass(frozen=True)
class Watch:
    """Looks at a solution when its derivative is taken."""

    title: str
    check: str
    paths: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.check not in CHECKS:
            raise ValueError(f"{self.title}: check={self.check!r}; it is 'warn', 'raise' or 'ignore'.")

    def look(
        self, residual: Program, theta: Sequence[Value], x: Sequence[Value], found: Solution, b: Value, A: LinearMap,
        adjoint: bool,
    ) -> None:  # fmt: skip
        """Compare F(x, θ) with ∂ₓF x, and what the linear solve left with its right side."""
        theta, x, b = [primal(v) for v in theta], [primal(v) for v in x], primal(b)
        t, code = primal(found.value), primal(found.code)
        types = residual.output_types
        F = to_vector(interpret(residual, [*theta, *x]), types)
        dtype = dtype_of(types)
        if isinstance(A, Matrix):
            array = primal(A.array)
            size = np.abs(array) @ np.abs(to_vector(x, residual.input_types[len(theta) :]))
            left = (array.T if adjoint else array) @ t - b
            reach = np.abs(array.T if adjoint else array) @ np.abs(t) + np.abs(b)
        else:
            size = _pushed(A, to_vector(x, residual.input_types[len(theta) :]))
            left, reach = np.zeros((), dtype), np.ones((), dtype)
        distance = _ratio(_norm(F), _norm(size))
        unsolved = _ratio(_norm(left), _norm(reach))
        finite = np.all(np.isfinite(t))
        given = _Findings(distance, unsolved, finite, code, _norm(F))
        eps, method = float(np.finfo(dtype).eps), found.method
        if not any(isinstance(v, Tracer) for v in given):
            array = primal(A.array) if isinstance(A, Matrix) else None
            self._tell(given, eps, method, array, residual.input_types[len(theta) :])
            return
        callback(lambda *values: self._tell(_Findings(*values), eps, method, None, ()), *given)

    def _tell(self, given: _Findings, eps: float, method: str, array: Any, types: Sequence[ArrayType]) -> None:
        distance, unsolved, finite, code, norm = given
        words = ""
        singular = not bool(finite) or float(unsolved) > eps**0.5
        if array is not None and array.size and np.all(np.isfinite(array)):
            inverse = 1.0 / condition(array)
            singular = singular or inverse < 4 * eps * len(array)
        if singular and int(code) == 0:
            named = "" if array is None or not np.all(np.isfinite(array)) else null_direction(array, types, self.paths)
            words = (
                f"∂ₓF is singular at the solution{f': nothing determines {named}' if named else ''}, so the implicit "
                "function theorem does not hold there and the derivative is not defined. Use linear='least squares' "
                "(what is not determined stays at rest), add a ridge to the equation, or fix what is not determined."
            )
        elif int(code):
            words = (
                f"the linear equation of the derivative was not solved ({STATUSES[int(code)]}), so the derivative is "
                f"not exact. {advice_for(int(code), method, False)}"
            )
        elif not float(distance) <= eps**0.25:
            words = (
                f"x is no solution: ‖F(x, θ)‖ = {float(norm):.3g}, {float(distance):.2g} of the size of its terms, so "
                "the derivative is wrong by about as much, times the condition of ∂ₓF. Solve with a tighter tolerance, "
                "or look at how the solver ended."
            )
        if not words:
            return
        message = f"{self.title}: {words}"
        if self.check == "raise":
            raise SolveError(message)
        warnings.warn(message, DerivativeWarning, stacklevel=2)


def _pushed(A: LinearMap, vector: Value) -> Value:
    return primal(A(vector))


def _norm(v: Value) -> Value:
    return np.sqrt(np.sum(np.square(v)))


def _ratio(a: Value, b: Value) -> Value:
    """a / b, where nothing over nothing is nothing."""
    return np.where(a == 0, 0.0, a / np.where(b == 0, 1.0, b))[()]


def condition(array: Any) -> float:
    """The condition of a matrix whose rows and columns have been scaled alike; infinite where it is singular."""
    rows = np.max(np.abs(array), axis=1, keepdims=True)
    if not np.all(rows):
        return np.inf
    scaled = array / rows
    columns = np.max(np.abs(scaled), axis=0)
    if not np.all(columns):
        return np.inf
    sizes = np.linalg.svd(scaled / columns, compute_uv=False)
    return float(sizes[0] / sizes[-1]) if sizes[-1] > 0 else np.inf


def null_direction(array: Any, types: Any, paths: Sequence[str]) -> str:
    """The elements of x that ∂ₓF leaves free, by path; at most three of them."""
    if not types:
        return ""
    _, _, rows = np.linalg.svd(array)
    v = np.abs(rows[-1])
    largest = [int(i) for i in np.argsort(-v) if v[i] > 0.3 * v.max()][:3]
    return ", ".join(named_element(i, types, paths) for i in largest)
