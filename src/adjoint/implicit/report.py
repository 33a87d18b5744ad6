"""`report` and `sensitivity`: how far the derivative of a solution can be trusted, and the derivative as a map.

The error of a derivative is predicted by the change of it along one more Newton step: x is moved by ∂ₓF⁻¹ F, and the
derivative taken again. It is about ‖F‖ × condition, with the curvature of F as it is.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import jvp
from adjoint.base.source import user_facing
from adjoint.implicit.active_sets import ActiveSet, identify
from adjoint.implicit.diagnosis import condition, measure_residual, name_null_direction, name_violated
from adjoint.implicit.equation import LinearizedEquation, jacobian_map
from adjoint.implicit.function import ImplicitFunction
from adjoint.implicit.kkt import ConstrainedMinimizer, linearize_constraints
from adjoint.implicit.values import OptimalValue
from adjoint.implicit.vectors import real_size, to_arrays, to_vector
from adjoint.linear.operators.derivative_maps import jacobian
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.solvers.solving import solve
from adjoint.ops.control.recorded import call_program
from adjoint.program.program import Program
from adjoint.program.types import Value

__all__ = ["Report", "report", "sensitivity"]

DENSE = 500  # unknowns up to which the condition is computed from a matrix


@final
@dataclass(frozen=True)
class Report:
    """What the derivative of a solution rests on. Print it, or show it in a notebook; `advice` says what to do.

    ```python
    w = ad.implicit.root(lambda x, a: x**3 - a, lambda a: np.cbrt(a) + 1e-6)
    found = ad.implicit.report(w)(8.0)
    found.predicted_error < 1e-5, found.is_singular  # → (True, False)
    ```
    """

    title: str
    unknowns: int
    residual: float  # ‖F(x, θ)‖
    relative_residual: float  # over the size of its terms
    target: float  # what it should be below
    condition: float  # of ∂ₓF, rows and columns scaled; NaN where it was not computed
    predicted_error: float  # of the derivative, relative
    solves: tuple[tuple[str, str, int, float], ...]  # which, method, iterations, relative residual
    undetermined: str  # the unknowns that nothing determines, by path
    active_set: ActiveSet | None = None
    names: tuple[str, ...] = ()  # of its inequalities
    violated: str = ""  # the equalities that do not hold, by path

    @property
    def is_singular(self) -> bool:
        """Whether ∂ₓF has no inverse."""
        return bool(self.undetermined)

    @property
    def is_solution(self) -> bool:
        """Whether F(x, θ) is as small as its target."""
        return self.relative_residual <= self.target

    @property
    def advice(self) -> str:
        """What to do, in words; empty when all is well."""
        found: list[str] = []
        if self.violated:
            found.append(f"{self.violated}: violated, so that x is not feasible; look at how the solver ended, and "
                         "whether the constraints contradict each other.")  # fmt: skip
        elif not self.is_solution:
            found.append("The solver has not converged: ask it for a tighter tolerance, or look at how it ended.")
        if self.is_singular:
            found.append(
                f"Nothing determines {self.undetermined}: use linear='least squares', a ridge, or fix what is free."
            )
        elif self.predicted_error > 1e-4:
            found.append("The derivative is good to few digits: a tighter solve helps, a better scaling too.")
        active = self.active_set
        if active is not None:
            for kind, words in _KINDS.items():
                if named := [self.names[i] for i in active[kind]]:
                    found.append(f"{', '.join(named)}: {words}")
            if active.is_dependent:
                found.append(
                    "The gradients of the constraints that hold are dependent: multipliers are not unique. Leave out "
                    "constraints that the others imply."
                )
        return " ".join(found)

    def _table(self) -> Iterator[tuple[str, str]]:
        yield "unknowns", str(self.unknowns)
        yield "‖F(x, θ)‖", f"{self.residual:.3g} ({self.relative_residual:.2g} of its terms; target {self.target:.2g})"
        yield "condition of ∂ₓF", "not computed" if np.isnan(self.condition) else f"{self.condition:.3g}"
        yield "predicted relative error of the derivative", f"{self.predicted_error:.2g}"
        for which, method, iterations, left in self.solves:
            yield which, f"{method}, {iterations} iterations, relative residual {left:.2g}"
        if self.active_set is not None:
            for name, kind, slack, force in zip(
                self.names, self.active_set.kinds, self.active_set.slack, self.active_set.pressure, strict=True
            ):
                yield name, f"{kind} (slack {slack:.2g}, pressure {force:.2g})"
        if self.advice:
            yield "advice", self.advice

    def __str__(self) -> str:
        rows = list(self._table())
        width = max(len(name) for name, _ in rows)
        return "\n".join([f"{self.title}: derivative of a solution", *[f"  {a.ljust(width)}  {b}" for a, b in rows]])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{html.escape(a)}</th><td>{html.escape(b)}</td></tr>" for a, b in self._table())
        return f"<table><caption>{html.escape(self.title)}</caption>{rows}</table>"


_KINDS = {
    "weak": "weakly active, with a derivative for each direction; take forward mode, or smoothing=τ.",
    "violated": "violated, so that x is not feasible; look at how the solver ended.",
}


@user_facing
def report(x: Any) -> Callable[..., Report]:
    """The diagnosis of the derivative of a solution: `report(x)(*θ)`.

    ‖F‖ against its target, the condition of ∂ₓF, both linear solves, the predicted error of the derivative, what is not
    determined, and of constraints which are active, by what margins.

    ```python
    x = ad.implicit.root(lambda x, a: x**3 - a, lambda a: np.cbrt(a))
    ad.implicit.report(x)(8.0).advice  # → ''
    ```
    """
    found = x.optimizer if isinstance(x, OptimalValue) else x
    solution = found.solution if isinstance(found, ConstrainedMinimizer) else found
    if not isinstance(solution, ImplicitFunction):
        raise TypeError(
            f"implicit.report takes what root, fixed_point, argmin or value return, not a {type(x).__name__}."
        )

    def at(*args: Any, **kwargs: Any) -> Report:
        residual, theta, value, paths = solution.linearize_at(*args, **kwargs)
        return _make_report(solution, residual, theta, value, paths, found, args, kwargs)

    return at


def _make_report(
    solution: ImplicitFunction, residual: Program, theta: list[Value], x: list[Value], paths: tuple[str, ...],
    found: Any, args: Any, kwargs: Any,
) -> Report:  # fmt: skip
    unknown = residual.input_types[len(theta) :]
    size, eps = real_size(unknown), float(np.finfo(to_vector(x, unknown).dtype).eps)
    with np.errstate(all="ignore"):
        A = jacobian_map(residual, theta, x)
        dense = A.to_dense() if size <= DENSE else None
        relative, norm, terms = measure_residual(residual, theta, x, A if dense is None else dense)
        known = dense is not None and bool(np.all(np.isfinite(dense)))
        kappa = condition(dense) if known else np.nan
        undetermined = ""
        if dense is not None and (not known or not kappa < 0.1 / (eps * size)):
            undetermined = name_null_direction(dense, unknown, paths) if known else "x"
        error, solves = _predict_error(solution.equation, residual, theta, x, kappa)
    active, names, violated = None, (), ""
    if isinstance(found, ConstrainedMinimizer):
        minimizer = found(*args, **kwargs)
        active = identify(linearize_constraints(found.objective, found.constraints, minimizer, args, kwargs))
        names = _name_constraints(found, minimizer, args, kwargs)
        if not relative <= eps**0.25:
            violated = name_violated(terms, unknown, paths)
    return Report(
        solution.title, size, float(norm), float(relative), eps**0.5, float(kappa), np.inf if undetermined else error,
        solves, undetermined, active, names, violated,
    )  # fmt: skip


def _predict_error(
    equation: Any, residual: Program, theta: list[Value], x: list[Value], kappa: float
) -> tuple[float, tuple[tuple[str, str, int, float], ...]]:
    """How far ∂x* v, as it is computed, is from that after one Newton step, for a direction at random; and its solves.

    It is relative, and has the error of x and that of the linear equation in it.
    """
    n = len(theta)
    unknown, types = residual.input_types[n:], residual.output_types
    rng = np.random.default_rng(0)
    moving = [i for i, v in enumerate(theta) if np.asarray(v).dtype.kind in "fc"]
    direction = [np.asarray(rng.normal(size=np.shape(theta[i])), np.asarray(theta[i]).dtype) for i in moving]
    solves: list[tuple[str, str, int, float]] = []

    def F(leaves: list[Value]) -> Callable[..., Value]:
        def of_theta(*chosen: Value) -> Value:
            full = list(theta)
            for i, v in zip(moving, chosen, strict=True):
                full[i] = v
            return to_vector(call_program(residual, [*full, *leaves]), types)

        return of_theta

    def right(leaves: list[Value]) -> Value:
        return -jvp(F(leaves), tuple(theta[i] for i in moving), tuple(direction))[1]

    value = to_vector(call_program(residual, [*theta, *x]), types)
    A = jacobian_map(residual, theta, x)
    step = _solve_directly(A, value)
    first = _solve_as_used("solve forwards", equation, residual, theta, x, right(x), solves) if moving else np.zeros(0)
    vector = to_vector(x, unknown)
    eps = float(np.finfo(vector.dtype).eps)
    floor = eps * (kappa if np.isfinite(kappa) else 1.0)
    if not moving or not np.all(np.isfinite(step)):
        return float("inf") if moving else 0.0, tuple(solves)
    moved = to_arrays(vector - step, unknown)
    second = _solve_directly(jacobian_map(residual, theta, moved), right(moved))
    back = rng.normal(size=len(vector)).astype(vector.dtype)
    _solve_as_used("solve backwards", equation, residual, theta, x, back, solves)
    change = np.linalg.norm(first - second) / max(float(np.linalg.norm(second)), np.finfo(float).tiny)
    return float(max(change, floor)) if np.any(second) else floor, tuple(solves)


def _solve_directly(A: LinearMap, b: Value) -> Value:
    if A.shape[0] <= DENSE:
        try:
            return np.linalg.solve(A.to_dense(), b)
        except np.linalg.LinAlgError:
            return np.full_like(b, np.nan)
    return solve(A, b).value


def _solve_as_used(
    which: str, equation: Any, residual: Program, theta: list[Value], x: list[Value], b: Value, solves: list[Any]
) -> Value:
    """t with ∂ₓF t = b, or ∂ₓF* t = b, as derivatives solve it; its method, iterations and residual join `solves`."""
    adjoint, inner = which == "solve backwards", getattr(equation, "inner", equation)
    if isinstance(inner, LinearizedEquation):
        A, found = inner.solve_vector(residual, theta, x, b, adjoint, {})
        t, method, count = found.value, found.method, int(found.iterations)
    else:
        types = (residual.output_types, residual.input_types[len(theta) :])
        source, target = types[::-1] if adjoint else types
        t = to_vector(equation.solve(residual, theta, x, to_arrays(b, source), adjoint, {}), target)
        A, method, count = jacobian_map(residual, theta, x), type(equation).__name__.strip("_").lower(), 0
    size = max(float(np.linalg.norm(b)), np.finfo(float).tiny)
    left = float(np.linalg.norm((A.adjoint if adjoint else A)(t) - b)) / size
    solves.append((which, method, count, left))
    return t


def _name_constraints(found: ConstrainedMinimizer, x: Any, args: Any, kwargs: Any) -> tuple[str, ...]:
    at = found.constraints.at(x, *args, **kwargs)["inequality"]
    leaves, structure = tree.flatten(at)
    types = [np.asarray(leaf) for leaf in leaves]
    names: list[str] = []
    for array, path in zip(types, structure.paths(), strict=True):
        for k in range(array.size):
            where = "" if array.ndim == 0 else str(list(map(int, np.unravel_index(k, array.shape))))
            names.append(f"constraint {path}{where}")
    return tuple(names)


@user_facing
def sensitivity(x: Any) -> Callable[..., LinearMap]:
    """∂x* at θ as a linear map: `sensitivity(x)(*θ) @ dθ` pushes, its `.adjoint` pulls, `.to_dense()` is the matrix.

    With several arguments the map acts on their tuple. The solver runs once, and all products share a factorization.

    ```python
    x = ad.implicit.root(lambda x, a: x**3 - a, lambda a: np.cbrt(a))
    S = ad.implicit.sensitivity(x)(np.array([1.0, 8.0]))
    S @ np.ones(2), S.adjoint @ np.ones(2)  # → ([0.333333…, 0.083333…], [0.333333…, 0.083333…])
    ```
    """
    return partial(_linearize, x)


def _linearize(x: Any, *args: Any) -> LinearMap:
    return jacobian(x, 0 if len(args) == 1 else tuple(range(len(args))))(*args)
