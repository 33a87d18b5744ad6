"""What can be wrong with the derivative of a solution, said in words where it is computed.

The theorem asks that F(x, θ) = 0, that F is differentiable there and that ∂ₓF is invertible. The error of the
derivative is proportional to the distance of x from the solution, and to the condition of ∂ₓF. All of it is looked at
whenever a derivative is taken, in compiled programs too: there a truth value is part of the program, and words are
looked for only where it is set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from adjoint.api.control_flow import cond
from adjoint.base.errors import SolveError
from adjoint.base.source import warn_user
from adjoint.debug import callback
from adjoint.implicit.kinks import has_kinks, is_kink, measure_distance
from adjoint.implicit.vectors import dtype_of, named_element, path_in_x, to_vector
from adjoint.linear.solvers.solution import STATUSES, advice_for
from adjoint.ops.control.recorded import call_program
from adjoint.ops.custom import OpaqueCall
from adjoint.program.program import Program
from adjoint.program.trace import Tracer, primal
from adjoint.program.types import ArrayType, Value

if TYPE_CHECKING:
    from adjoint.linear.operators.maps import LinearMap

__all__ = [
    "CHECKS",
    "DerivativeWarning",
    "LinearSolved",
    "Watch",
    "call_where",
    "condition",
    "measure_residual",
    "name_null_direction",
    "name_violated",
]

CHECKS = ("warn", "raise", "ignore")


class DerivativeWarning(RuntimeWarning):
    """The derivative of a solution is not what it seems: the solution is not one, or the equation does not fix it.

    ```python
    issubclass(ad.implicit.DerivativeWarning, RuntimeWarning)  # → True
    ```
    """


class LinearSolved(NamedTuple):
    """t with ∂ₓF t = b, or ∂ₓF* t = b, and what is known of it."""

    value: Value
    code: Value  # how an iteration ended
    method: str
    matrix: Value | None = None  # ∂ₓF, where it was formed
    pivots: Value | None = None  # of its factors: one that is small against the others tells of a singular matrix
    iterations: Value = 0


class _Findings(NamedTuple):
    """What is looked at, as numbers of a program."""

    distance: Value  # ‖F(x, θ)‖ over the size of its terms
    norm: Value  # ‖F(x, θ)‖
    is_singular: Value  # as far as pivots and results tell
    code: Value  # how the linear solve ended
    terms: Value  # F(x, θ), where constraints are among its equations


@final
@dataclass(frozen=True)
class Watch:
    """Looks at a solution when its derivative is taken."""

    title: str
    check: str
    paths: tuple[str, ...] = ()
    has_kinks: bool = True  # unless it is known that F has none where it matters
    has_constraints: bool = False  # whether F are the conditions of constraints, whose names stand in `paths`

    def __post_init__(self) -> None:
        if self.check not in CHECKS:
            raise ValueError(f"{self.title}: check={self.check!r}; it is 'warn', 'raise' or 'ignore'.")

    def look(
        self, residual: Program, theta: Sequence[Value], x: Sequence[Value], A: LinearMap, b: Value, found: LinearSolved
    ) -> Value:
        """t, after a look at F(x, θ) and ∂ₓF; NaN where F has a kink at the solution."""
        theta, x = [primal(v) for v in theta], [primal(v) for v in x]
        unknown, types = residual.input_types[len(theta) :], residual.output_types
        eps = float(np.finfo(dtype_of(types)).eps)
        matrix, t = primal(found.matrix), primal(found.value)
        # an iteration tells how much ∂ₓF⁻¹ stretches its right side, unless that is zero
        stretched = _norm(t)
        whole = (
            None
            if matrix is not None
            else np.where(stretched > 0, _norm(primal(b)), 1.0) / np.where(stretched > 0, stretched, 1.0)
        )
        distance, norm, F = measure_residual(residual, theta, x, A if matrix is None else matrix, whole)
        singular = np.logical_not(np.all(np.isfinite(t)))
        if found.pivots is not None:
            pivots = np.abs(primal(found.pivots))
            singular = singular | (np.min(pivots) <= 10 * eps * len(pivots) * np.max(pivots))
        findings = _Findings(distance, norm, singular, primal(found.code), self._keep(F))
        self._judge(findings, eps, found.method, matrix, unknown)
        if not self.has_kinks or not has_kinks(residual, len(x)):
            return found.value
        return found.value * self._check_smooth(residual, theta, x, distance).astype(found.value.dtype)

    def check_solved(self, residual: Program, theta: Sequence[Value], x: Sequence[Value], A: LinearMap) -> None:
        """Tell where x is no solution, whatever is asked of ∂ₓF."""
        theta, x = [primal(v) for v in theta], [primal(v) for v in x]
        eps = float(np.finfo(dtype_of(residual.output_types)).eps)
        distance, norm, F = measure_residual(residual, theta, x, A, np.float64(1.0))
        solved = _Findings(distance, norm, np.bool_(False), np.int64(0), self._keep(F))
        self._judge(solved, eps, "", None, residual.input_types[len(theta) :])

    def _keep(self, F: Value) -> Value:
        return F if self.has_constraints else np.zeros(0)

    def _judge(
        self, given: _Findings, eps: float, method: str, matrix: Value | None, unknown: Sequence[ArrayType]
    ) -> None:
        """Tell what is wrong, if something is."""
        wrong = np.logical_not(given.distance <= eps**0.25) | given.is_singular | (given.code != 0)
        tell = lambda *values: self._tell(_Findings(*values[:5]), eps, method, values[5:], unknown)
        operands = [*given, *([] if matrix is None else [matrix])]
        if any(isinstance(v, Tracer) for v in (wrong, *operands)):
            call_where(wrong, tell, *operands)
        elif wrong:
            tell(*operands)

    def _tell(
        self, given: _Findings, eps: float, method: str, matrix: Sequence[Any], types: Sequence[ArrayType]
    ) -> None:
        array = matrix[0] if matrix else None
        singular = bool(given.is_singular)
        if singular and array is not None and np.all(np.isfinite(array)):
            singular = not condition(array) < 0.1 / (eps * len(array))  # rows and columns may be scaled badly, no more
        code = int(given.code)
        own = self.title.startswith("implicit.")  # functions that take linear=
        if not np.isfinite(given.norm):
            self.say(
                f"x is no solution: ‖F(x, θ)‖ = {float(given.norm):.3g}, and its derivative is not defined. The solver "
                "found no numbers, or F is not finite at them: look at how it ended."
            )
        elif singular:
            known = array is not None and np.all(np.isfinite(array))
            named = name_null_direction(array, types, self.paths) if known else ""
            if (
                named
                and self.has_constraints
                and all(part.startswith(("x['equality']", "x['inequality']")) for part in named.split(", "))
            ):
                self.say(
                    "the gradients of the constraints that hold are linearly dependent, so that their multipliers are "
                    "not unique. Leave out constraints that the others imply"
                    + (", or use linear='least squares', which gives the derivative of x all the same." if own else ".")
                )
                return
            self.say(
                f"∂ₓF is singular at the solution{f': nothing determines {named}' if named else ''}, so the implicit "
                "function theorem does not hold there and the derivative is not defined. "
                + ("Use linear='least squares' (what is not determined stays at rest), add" if own else "Add")
                + " a ridge to the equation, or fix what is not determined."
            )
        elif code:
            self.say(
                f"the linear equation of the derivative was not solved ({STATUSES[code]}), so the derivative is not "
                f"exact. {advice_for(code, method, False)}"
            )
        elif not float(given.distance) <= eps**0.25:
            if self.has_constraints and (named := name_violated(given.terms, types, self.paths)):
                self.say(
                    f"{named} is violated, so that x is not feasible and its derivative that of no solution: ‖F(x, θ)‖ "
                    f"= {float(given.norm):.3g}. Look at how the solver ended, and whether the constraints contradict "
                    "each other."
                )
                return
            self.say(
                f"x is no solution: ‖F(x, θ)‖ = {float(given.norm):.3g}, {float(given.distance):.2g} of the size of "
                "its terms, so the derivative is wrong by about as much, times the condition of ∂ₓF. Solve with a "
                "tighter tolerance, or look at how the solver ended."
            )

    def say(self, words: str) -> None:
        """Warn, or raise."""
        message = f"{self.title}: {words}"
        if self.check == "raise":
            raise SolveError(message)
        warn_user(message, DerivativeWarning)

    def _check_smooth(self, residual: Program, theta: Sequence[Value], x: Sequence[Value], distance: Value) -> Value:
        """1, or NaN at a kink. Near ones are looked for as far as x may be from the solution."""
        near = measure_distance(residual, theta, x)
        n = len(theta)

        def look(near: Any, distance: Any, *values: Any) -> list[Any]:
            reach = max(float(distance), float(np.finfo(float).eps)) ** 0.5 * 1e-2
            if float(near) > reach or not is_kink(residual, values[:n], values[n:], reach):
                return [np.float64(1.0)]
            self.say(
                "F has a kink at the solution: a constraint holds there without pressing (it is weakly active), so "
                "that the solution has two one-sided derivatives and no other. State the constraints "
                "(subject_to=implicit.Constraints(…)): forward mode then gives the derivative for a direction; or "
                "give smoothing=τ."
            )
            return [np.float64(np.nan)]

        call = OpaqueCall(look, types=(ArrayType((), np.dtype(float)),))
        return call(near, distance, *theta, *x)[0]


def call_where(wrong: Value, function: Callable[..., object], *values: Value) -> None:
    """Call a function with plain values where something is true in a program; where it is not, no Python runs."""

    def call(*operands: Value) -> Value:
        callback(function, *operands)
        return np.float64(0.0)

    cond(wrong, call, lambda *_: np.float64(0.0), *values)


def measure_residual(
    residual: Program, theta: Sequence[Value], x: Sequence[Value], A: LinearMap | Value, whole: Value | None = None
) -> tuple[Value, Value, Value]:
    """‖F(x, θ)‖ over the size of its terms in x, |∂ₓF| |x|; ‖F(x, θ)‖ itself; and F(x, θ) as a vector.

    A solution may be zero: so the size is not below ε^¼ ‖∂ₓF‖, as if x were of size ε^¼. `whole` estimates ‖∂ₓF‖.
    """
    F = to_vector(call_program(residual, [*theta, *x]), residual.output_types)
    vector = to_vector(x, residual.input_types[len(theta) :])
    if callable(A):  # a map, no matrix
        size = primal(A(vector))
        if whole is None:
            signs = np.random.default_rng(0).choice([-1.0, 1.0], len(vector)).astype(vector.dtype)
            whole = _norm(primal(A(signs)))  # ‖A s‖² is ‖A‖² in the mean
    else:
        size, whole = np.abs(A) @ np.abs(vector), _norm(A)
    norm = _norm(F)
    scale = _norm(size) + float(np.finfo(dtype_of(residual.output_types)).eps) ** 0.25 * whole
    return np.where(norm == 0, 0.0, norm / np.where(scale == 0, 1.0, scale))[()], norm, F


def _norm(v: Value) -> Value:
    return np.sqrt(np.sum(np.square(v)))


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


def name_null_direction(array: Any, types: Sequence[ArrayType], paths: Sequence[str]) -> str:
    """The elements of x that ∂ₓF leaves free, by path; at most three of them."""
    if not paths:
        return ""
    _, _, rows = np.linalg.svd(array)
    v = np.abs(rows[-1])
    largest = [int(i) for i in np.argsort(-v) if v[i] > 0.3 * v.max()][:3]
    return ", ".join(named_element(i, types, paths) for i in largest)


def name_violated(terms: Any, types: Sequence[ArrayType], paths: Sequence[str]) -> str:
    """The equalities that do not hold, by path, where they are most of what is left of the conditions; at most three.

    The equations stand in the order of the unknowns, an equality in the place of its multiplier.
    """
    if len(paths) != len(types):
        return ""
    sizes = np.abs(terms)
    ends = np.cumsum([t.size for t in types])
    is_equality = np.repeat([path_in_x(path).startswith("x['equality']") for path in paths], np.diff(ends, prepend=0))
    held = np.where(is_equality, sizes, 0.0)
    if not 2 * _norm(held) ** 2 >= _norm(sizes) ** 2 > 0:
        return ""
    largest = [int(i) for i in np.argsort(-held, kind="stable") if held[i] > 0.3 * held.max()][:3]
    return ", ".join("constraint " + named_element(i, types, paths).removeprefix("x") for i in largest)
