"""Constrained minimizers: their multipliers are found beside them, and all are differentiated together.

The unknown is z = {"x", "equality", "inequality", "slack", "cone"}, a zero of `conditions.kkt`. Where every active
constraint presses, z is a smooth function of θ. Where one holds without pressing, z has a derivative for each
direction, which a small complementarity problem tells.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import grad, jvp, stop_gradient
from adjoint.api.jacobians import jacobian
from adjoint.base.errors import RuleError, ShapeError
from adjoint.base.source import user_facing
from adjoint.implicit import conditions
from adjoint.implicit.active_sets import ActiveSet, Linearization, identify
from adjoint.implicit.constraints import Constraints
from adjoint.implicit.diagnosis import call_where
from adjoint.implicit.equation import LinearizedEquation, Stacked
from adjoint.implicit.function import ImplicitFunction
from adjoint.implicit.iterations import interior_point
from adjoint.implicit.vectors import named_element, to_arrays, to_vector
from adjoint.ops.implicit_solve import Equation
from adjoint.program.program import Program
from adjoint.program.trace import Tracer, primal
from adjoint.program.types import ArrayType, Value, type_of

__all__ = ["ConstrainedMinimizer", "KKTEquation", "make_constrained"]


@final
@dataclass(frozen=True, eq=False)
class ConstrainedMinimizer:
    """x*(θ) of a minimization under constraints: what `argmin(…, subject_to=Constraints(…))` returns.

    ```python
    rules = ad.implicit.Constraints(equality=lambda x, a: np.sum(x) - a)
    x = ad.implicit.argmin(lambda x, a: np.sum(x**2), lambda a: np.full(2, a / 2), subject_to=rules)
    ad.jacobian(x)(1.0), x.multipliers(1.0)["equality"]  # → ([0.5, 0.5], -1.0)
    ```
    """

    objective: Callable[..., Any]
    constraints: Constraints
    solution: ImplicitFunction  # of z, and x* beside it
    smoothing: float = 0.0

    @user_facing
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        z, x = self.solution(*args, **kwargs)
        if not self.smoothing:
            return z["x"]
        # the value is the minimizer's, the derivative that of the relaxed conditions
        return tree.map(lambda exact, relaxed: exact + (relaxed - stop_gradient(relaxed)), x, z["x"])

    @user_facing
    def multipliers(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The multipliers, differentiable as x is: the prices of the constraints.

        "inequality" has "given" for the inequalities, "lower" and "upper" for bounds that are finite.
        """
        z, _ = self.solution(*args, **kwargs)
        return {name: z[name] for name in ("equality", "inequality", "cone")}

    def active_set(self, *args: Any, **kwargs: Any) -> ActiveSet:
        """Which inequalities are active, inactive, weakly active or violated, with their margins."""
        x = self(*args, **kwargs)
        return identify(linearize_constraints(self.objective, self.constraints, x, args, kwargs))


def make_constrained(
    f: Callable[..., Any], solver: Callable[..., Any], constraints: Constraints, x0: Any, equation: Equation,
    title: str, smoothing: float,
) -> ConstrainedMinimizer:  # fmt: skip
    """The minimizer that `solver` finds, with its multipliers."""
    F = conditions.kkt(f, constraints, smoothing)
    found = partial(_solve_with_multipliers, f, solver, constraints, F, smoothing, x0 is not None)
    return ConstrainedMinimizer(f, constraints, ImplicitFunction(F, found, x0, equation, True, title, True), smoothing)


def _solve_with_multipliers(
    f: Callable[..., Any], solver: Callable[..., Any], constraints: Constraints, F: Callable[..., Any],
    smoothing: float, has_start: bool, *args: Any, **kwargs: Any,
) -> Any:  # fmt: skip
    """(z, x), from the x that a solver finds."""
    x = solver(*args, **kwargs)
    theta = args[1:] if has_start else args
    x = tree.map(lambda v: np.asarray(v, np.result_type(float, np.asarray(v).dtype))[()], x)
    z = _add_multipliers(f, constraints, x, theta, kwargs)
    return (interior_point(F, z, smoothing, theta, kwargs) if smoothing else z), x


def linearize_constraints(
    f: Callable[..., Any], constraints: Constraints, x: Any, args: Any, kwargs: Any
) -> Linearization:
    """∇f and the constraints with their Jacobians, at plain values."""
    leaves, structure = tree.flatten(x)
    types = [type_of(v) for v in leaves]
    put_back = lambda v: tree.unflatten(structure, to_arrays(v, types))

    def part(name: str) -> Callable[[Value], Value]:
        def values(v: Value) -> Value:
            found = tree.leaves(constraints.at(put_back(v), *args, **kwargs)[name])
            return to_vector(found, [type_of(leaf) for leaf in found])

        return values

    v = to_vector(leaves, types)
    if any(t.dtype.kind == "c" for t in types):
        raise ShapeError("implicit.argmin: constraints are for real unknowns; write x in real and imaginary parts.")
    jacobians = {
        name: np.reshape(jacobian(part(name))(v), (-1, len(v))) if len(part(name)(v)) else np.zeros((0, len(v)))
        for name in ("equality", "inequality", "cone")
    }
    values = {name: part(name)(v) for name in ("equality", "inequality")}
    signs = np.random.default_rng(0).choice([-1.0, 1.0], len(v)).astype(v.dtype)
    gradient, bent = jvp(grad(lambda v: f(put_back(v), *args, **kwargs)), (v,), (signs,))
    if any(isinstance(part, Tracer) for part in (gradient, bent, *values.values(), *jacobians.values())):
        raise RuleError(
            "implicit.argmin: the objective or a constraint reads a traced value that is none of its arguments, and "
            "multipliers are found on plain arrays. Pass the value as an argument: x(*θ) calls f(x, *θ)."
        )
    return Linearization(
        v, gradient, values["equality"], jacobians["equality"], values["inequality"], jacobians["inequality"],
        jacobians["cone"], float(np.linalg.norm(bent)) / max(len(v), 1) ** 0.5,
    )  # fmt: skip


def _add_multipliers(f: Callable[..., Any], constraints: Constraints, x: Any, args: Any, kwargs: Any) -> Any:
    """z from x: active constraints have no slack, the others no multiplier, and those without pressure neither.

    The slack of a violated constraint is below zero.
    """
    found = identify(linearize_constraints(f, constraints, x, args, kwargs))
    at = constraints.at(x, *args, **kwargs)
    slack = [0.0 if kind in {"active", "weak"} else 1.0 for kind in found.kinds]

    def like(part: Any, vector: Any) -> Any:
        leaves, structure = tree.flatten(part)
        types = [type_of(np.asarray(leaf)) for leaf in leaves]
        return tree.unflatten(structure, to_arrays(np.asarray(vector, float), types))

    flat = [np.asarray(leaf) for leaf in tree.leaves(at["inequality"])]
    g = to_vector(flat, [type_of(leaf) for leaf in flat])
    return {
        "x": x,
        "equality": like(at["equality"], found.equality),
        "inequality": like(at["inequality"], found.inequality),
        "slack": like(at["inequality"], np.asarray(slack) * -g),
        "cone": like(at["cone"], found.cone),
    }


@final
@dataclass(frozen=True)
class KKTEquation:
    """The linear equation of `conditions.kkt`; constraints that hold without pressing are told of, or solved for."""

    inner: LinearizedEquation

    def solve(
        self, residual: Program, theta: Sequence[Value], x: Sequence[Value], b: Sequence[Value], adjoint: bool,
        memory: dict[str, Any],
    ) -> list[Value]:  # fmt: skip
        watch, n = self.inner.watch, len(theta)
        groups = [path.split("'")[1] for path in watch.paths]
        slack = [i for i, group in enumerate(groups) if group == "slack"]
        pressed = [i for i, group in enumerate(groups) if group == "inequality"]
        types = residual.input_types[n:]
        s = to_vector([primal(x[i]) for i in slack], [types[i] for i in slack])
        m = to_vector([primal(x[i]) for i in pressed], [types[i] for i in pressed])
        weak: Any = (s == 0) & (m == 0)
        violated: Any = s < 0
        some: Any = np.any(weak | violated)
        if isinstance(some, Tracer):
            if watch.check != "ignore":
                call_where(some, lambda w, v: self._say(w, v, types, slack), weak, violated)
        elif some:
            is_direction = not adjoint and not any(isinstance(v, Tracer) for v in (*theta, *x, *b))
            if watch.check != "ignore":
                self._say(weak & (not is_direction), violated, types, slack)
            if is_direction and np.any(weak):
                return self._solve_direction(residual, theta, x, b, weak, types, slack, pressed, memory)
        return self.inner.solve(residual, theta, x, b, adjoint, memory)

    def _say(self, weak: Any, violated: Any, types: Sequence[ArrayType], slack: Sequence[int]) -> None:
        name = lambda found: ", ".join(self._name_constraint(int(i), types, slack) for i in np.flatnonzero(found))
        if np.any(violated):
            self.inner.watch.say(
                f"{name(violated)} is violated, so that x is not feasible and its derivative that of no solution. Look "
                "at how the solver ended."
            )
        if np.any(weak):
            self.inner.watch.say(
                f"{name(weak)} is weakly active: it holds without pressing, so that the solution has two one-sided "
                "derivatives. This one leaves the constraint out. Forward mode on plain values gives the derivative "
                "for a direction; smoothing=τ differentiates across the change."
            )

    def _name_constraint(self, number: int, types: Sequence[ArrayType], slack: Sequence[int]) -> str:
        found = named_element(number, [types[i] for i in slack], [self.inner.watch.paths[i] for i in slack])
        return "constraint " + found.removeprefix("x['slack']")

    def _solve_direction(
        self, residual: Program, theta: Sequence[Value], x: Sequence[Value], b: Sequence[Value], weak: Any,
        types: Sequence[ArrayType], slack: Sequence[int], pressed: Sequence[int], memory: dict[str, Any],
    ) -> list[Value]:  # fmt: skip
        """ż for this direction: of each weak constraint ṡ ≥ 0, μ̇ ≥ 0 and one of them is zero, by principal pivoting."""
        A = np.array(self.inner.matrix_at(residual, theta, x, memory))
        right = to_vector(b, residual.output_types)
        starts = np.concatenate([[0], np.cumsum([t.size for t in types])])
        s_at = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in slack])
        m_at = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in pressed])
        rows = np.flatnonzero(weak)
        holds = np.zeros(len(weak), bool)
        for _ in range(2 ** min(len(rows), 12) + len(rows)):
            for i in rows:  # F's rows stand in the order of z, so that the condition of a slack has its number
                A[s_at[i]] = 0.0
                A[s_at[i], s_at[i] if holds[i] else m_at[i]] = 1.0
            try:
                z = np.linalg.solve(A, right)
            except np.linalg.LinAlgError:
                break
            size = 1e-12 * (1.0 + np.max(np.abs(z)))
            wrong = [i for i in rows if (z[m_at[i]] if holds[i] else z[s_at[i]]) < -size]
            if not wrong:
                return to_arrays(z, types)
            holds[wrong[0]] = not holds[wrong[0]]
        self.inner.watch.say(
            "no one-sided derivative was found: the second-order conditions fail at the solution, which may be one of "
            "many, or the gradients of the constraints that hold are dependent."
        )
        return to_arrays(np.full_like(right, np.nan), types)

    def batched(self, residual: Program, mapped: tuple[bool, ...], size: int) -> Equation:
        return Stacked(self, residual, mapped, size)

    def with_paths(self, paths: tuple[str, ...]) -> KKTEquation:
        """The same, which knows the names of the unknowns."""
        return dataclasses.replace(self, inner=self.inner.with_paths(paths))
