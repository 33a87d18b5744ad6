"""Minimization under constraints as users call it: x and its prices, differentiated by their conditions together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import grad
from adjoint.implicit.diagnosis import Watch, call_where
from adjoint.implicit.equation import LinearizedEquation, Stacked
from adjoint.implicit.function import ImplicitFunction
from adjoint.linear.solvers.iteration import both, either
from adjoint.ops.implicit_solve import Equation, is_plain_array
from adjoint.optimize.captured import close_over
from adjoint.optimize.constrained.augmented import run_augmented
from adjoint.optimize.constrained.barrier import LogBarrier, run_barrier
from adjoint.optimize.constrained.conditions import certify_conditions, name_kinks
from adjoint.optimize.constrained.constraints import Constraint, list_rules, stack_constraints
from adjoint.optimize.constrained.sparse_solvers import Oracles, Uno, has_uno, run_sparse
from adjoint.optimize.constrained.sqp import Constrained, Found, all_inequalities, run_sqp
from adjoint.optimize.derivatives import attach_envelope
from adjoint.optimize.optimum import Optimum, Prices
from adjoint.optimize.oracles import prepare_call
from adjoint.optimize.programs.active_set import find_active, find_weak, net_prices
from adjoint.optimize.setting import Setting
from adjoint.optimize.statuses import CONVERGED, INFEASIBLE, LINE_SEARCH_FAILED, NO_PROGRESS, NOT_FINITE
from adjoint.program.program import Program, interpret
from adjoint.program.trace import TRACED, primal
from adjoint.program.types import Value

__all__ = ["METHODS", "choose_name", "minimize_constrained"]

METHODS: dict[str, Callable[[Constrained, Value, Any, int], Found]] = {
    "sqp": run_sqp,
    "augmented lagrangian": run_augmented,
}
SPARSE = ("uno", "trust constr")  # which run on plain arrays, with sparse derivatives
NAMES = (*METHODS, "interior point", *SPARSE)
DENSE = 200  # unknowns and constraints up to which quadratic programs with dense matrices are solved
ITERATIONS = {"sqp": 200, "augmented lagrangian": 60, "interior point": 300, "uno": 1000, "trust constr": 500}


class _Theta(NamedTuple):
    """A problem at θ, over vectors."""

    setting: Setting
    asked: Callable[..., Any]
    known: Any
    theta: Sequence[Any]

    def problem(self) -> Constrained:
        fixed, box, *_ = self.known
        whole = lambda v: self.setting.parts.merge(self.setting.unknowns.tree(v), fixed)
        lower, upper = (None, None) if box is None else box
        return Constrained(lambda v: self.asked(whole(v), *self.theta), lower, upper)


def choose_name(title: str, method: Any, size: int) -> str:
    """Which method is meant, for so many unknowns and constraints."""
    if isinstance(method, LogBarrier | Uno):
        return "interior point" if isinstance(method, LogBarrier) else "uno"
    if method == "auto":
        return "sqp" if size <= DENSE else "uno" if has_uno() else "augmented lagrangian"
    name = str(method).lower().replace("_", " ").replace("-", " ")
    name = {"auglag": "augmented lagrangian", "alm": "augmented lagrangian", "log barrier": "interior point",
            "barrier": "interior point"}.get(name, name)  # fmt: skip
    if name not in NAMES:
        raise ValueError(f"{title}: {method!r} takes no constraints. With subject_to= the methods are: "
                         f"{', '.join(NAMES)}, LogBarrier(…), Uno(…); and scipy.optimize's under "
                         "adjoint.scipy.optimize.")  # fmt: skip
    return name


def _try_again(problem: Constrained, v: Value, tol: Any, found: Found) -> Found:
    """What the interior point method finds where the first one got stuck, or cannot start: it begins inside bounds."""
    stuck = (found.code == INFEASIBLE) | (found.code == LINE_SEARCH_FAILED) | (found.code == NO_PROGRESS)
    stuck = stuck | (found.code == NOT_FINITE)
    good = np.logical_not(stuck)
    if not isinstance(good, TRACED) and good:
        return found
    most = either(good, np.int64(0), np.int64(ITERATIONS["interior point"]))
    other, _ = run_barrier(problem, v, tol, most, LogBarrier())
    better = both(np.logical_not(good), other.code == CONVERGED)
    return Found(*[either(better, a, b) for a, b in zip(other, found, strict=True)])


def read_constraints(title: str, subject_to: Any) -> list[Constraint]:
    """The constraints of the user, one or several."""
    given = list_rules(subject_to)
    for one in given:
        if not isinstance(one, Constraint):
            raise TypeError(f"{title}: subject_to has a {type(one).__name__}; write optimize.equality(c), "
                            "optimize.inequality(c) or optimize.between(lower, c, upper), or take one "
                            "of optimize.sets.")  # fmt: skip
    return given


def minimize_constrained(
    title: str, f: Callable[..., Any], x0: Any, args: tuple[Any, ...], subject_to: Any, *, method: Any, bounds: Any,
    tol: Any, max_iterations: int | None, scale: Any, frozen: Any, check: str, has_aux: bool, certify: bool = False,
) -> Optimum:  # fmt: skip
    """`minimize` with constraints."""
    constraints = read_constraints(title, subject_to)
    prepared = prepare_call(f)
    original, given = f, args

    def asked(x: Any, *theta: Any) -> Any:
        value = prepared(x, *theta)
        h, g = stack_constraints(constraints, x, theta, np.result_type(np.float32, np.asarray(primal_of(value)).dtype))
        return value[0] if has_aux else value, h, g

    asked_of, args = close_over(asked, x0, args)
    setting = Setting.of(title, lambda x, *theta: asked_of(x, *theta)[0], x0, bounds, scale, frozen, None, False)
    tol = float(np.finfo(setting.unknowns.dtype).eps) ** 0.5 if tol is None else tol
    make = lambda known, *theta: _Theta(setting, asked_of, known, theta).problem()
    oracles = Oracles(title, make)
    begin = setting.unknowns.vector(setting.x0)
    with np.errstate(all="ignore"):
        problem = make(setting.known, *args)
        size = begin.shape[0] + sum(part.shape[0] for part in problem.constraints(problem.project(begin)))
    chosen = choose_name(title, method, size)
    if chosen == "interior point" and size == begin.shape[0] and setting.box is None:
        raise ValueError(f"{title}: there are no constraints and no bounds, so that there is no interior; leave "
                         "method= out, or give subject_to= or bounds=.")  # fmt: skip
    is_sparse = chosen in SPARSE
    data = (*setting.known, begin) if is_sparse else setting.known  # those run on plain arrays, the start among them
    paired = 0 if setting.box is None else begin.shape[0]
    # on the central path every constraint presses, by 1 / t
    central = 1.0 / method.last if isinstance(method, LogBarrier) and method.last is not None else None

    def solve(known: Any, *theta: Any) -> Any:
        problem = make(known, *theta)
        v = known[2] if is_sparse else setting.unknowns.vector(setting.x0)
        with np.errstate(all="ignore"):
            most = ITERATIONS[chosen] if max_iterations is None else max_iterations
            gap = np.float64(np.nan)
            if is_sparse:
                kind = (method if isinstance(method, Uno) else Uno()) if chosen == "uno" else chosen
                found = run_sparse(oracles, (known, *theta), v, tol, most, kind)
            elif chosen == "interior point":
                barrier = method if isinstance(method, LogBarrier) else LogBarrier()
                found, gap = run_barrier(problem, v, tol, most, barrier)
            else:
                found = METHODS[chosen](problem, v, tol, most)
                if method == "auto" and chosen == "sqp":
                    found = _try_again(problem, v, tol, found)
            h, g = problem.constraints(found.x)
            parts = [np.abs(h), np.maximum(all_inequalities(problem, found.x, g), 0.0), np.zeros(1, found.x.dtype)]
            kept = np.max(np.concatenate(parts)) <= tol
        reports = {"feasible": kept, "fun": found.value, "grad": setting.read_gradient(found.gradient),
                   "code": found.code,
                   "iterations": found.iterations, "residual": found.residual, "gap": gap}  # fmt: skip
        return {
            "x": setting.unknowns.tree(found.x),
            "equality": found.equality,
            "inequality": net_prices(found.inequality, paired)
            if central is None
            else (np.where(_is_free(problem, g), 0.0, found.inequality)),
        }, reports

    def residual(z: Any, known: Any, *theta: Any) -> Any:
        problem = _Theta(setting, asked_of, known, theta).problem()
        v = setting.unknowns.vector(z["x"])

        def lagrangian(u: Value) -> Value:
            value, h, g = problem.functions(u)
            every = all_inequalities(problem, u, g)
            return value + np.sum(z["equality"] * h) + np.sum(z["inequality"] * every)

        h, g = problem.constraints(v)
        every = all_inequalities(problem, v, g)
        if central is not None:
            pressing = z["inequality"] * every + central
            rows = np.where(_is_free(problem, g), z["inequality"], pressing)
            return {"x": grad(lagrangian)(v), "equality": h, "inequality": rows}
        active = find_active(z["inequality"], -every, paired)
        return {"x": grad(lagrangian)(v), "equality": h, "inequality": np.where(active, every, z["inequality"])}

    linear = "sparse" if is_sparse and size > DENSE else "auto"
    equation = ConstrainedEquation(
        LinearizedEquation(linear, (), Watch(title, check, has_kinks=False, has_constraints=True)), paired
    )
    function = ImplicitFunction(residual, solve, None, equation, True, title, is_sparse)
    z, reports = function(data, *args)
    x, prices = z["x"], (z["equality"], z["inequality"])

    def valued(point: Any, known: Any, *theta: Any) -> Any:
        """The Lagrangian, whose derivative in θ is that of the value."""
        problem, prices = make(known, *theta), point[1]
        v = setting.unknowns.vector(point[0])
        value, h, g = problem.functions(v)
        every = all_inequalities(problem, v, g)
        return value + np.sum(prices[0] * h) + np.sum(prices[1] * every)

    if central is None:
        fun = attach_envelope(valued, (x, prices), reports["fun"], (setting.known, *args))
    else:  # the Lagrangian is not stationary in the prices
        fun = make(setting.known, *args).f(setting.unknowns.vector(x))
    reports["grad"] = setting.attach_gradient(x, reports["grad"], args)
    whole = setting.parts.merge(x, setting.fixed)
    aux = original(whole, *given)[1] if has_aux else None
    certificate: Any = {"duality gap": reports["gap"]} if chosen == "interior point" else None
    if certify:
        known, theta, (at, y, z) = tree.map(primal, (setting.known, args, (x, *prices)))
        problem, v = make(known, *theta), setting.unknowns.vector(at)
        certificate = certify_conditions(chosen, problem, v, y, z, tol, reports["iterations"], second=size <= DENSE)
    plain = not any(isinstance(leaf, TRACED) for leaf in tree.leaves((whole, given)))
    note = name_kinks(original, constraints, whole, given, reports["code"]) if plain and not has_aux else ""
    return Optimum(
        whole, fun, reports["grad"], reports["code"], reports["iterations"], {"iteration": reports["iterations"]},
        reports["residual"], np.float64(tol), _split(setting, prices), None, None, None, aux,
        f"{title} by {chosen}", note, feasible=reports["feasible"], certificate=certificate,
    )  # fmt: skip


def _is_free(problem: Constrained, g: Value) -> Any:
    """Which inequalities are bounds that are infinite."""
    if problem.lower is None or problem.upper is None:
        return np.zeros(g.shape[0], bool)
    return np.concatenate([np.zeros(g.shape[0], bool), np.isinf(problem.lower), np.isinf(problem.upper)])


def primal_of(value: Any) -> Any:
    """The number itself, of a pair with aux the first."""
    first = value[0] if isinstance(value, tuple) else value
    return np.zeros((), first.dtype) if isinstance(first, TRACED) else first


def _split(setting: Setting, prices: Any) -> Prices:
    equality, inequality = prices
    n = setting.unknowns.size
    if setting.box is None:
        return Prices(equality, inequality, np.zeros(0), np.zeros(0))
    p = inequality.shape[0] - 2 * n
    sides = (inequality[p : p + n], inequality[p + n :])
    if setting.unknowns.scale is not None:  # those found are of the scaled unknowns
        sides = tuple(side / setting.unknowns.scale for side in sides)
    return Prices(equality, inequality[:p], *sides)


@final
@dataclass(frozen=True)
class ConstrainedEquation:
    """The linear equation of the conditions; constraints that hold without pressing are told of."""

    inner: LinearizedEquation
    paired: int  # how many unknowns have bounds, the last inequalities

    def solve(
        self, residual: Program, theta: Sequence[Value], x: Sequence[Value], b: Sequence[Value], adjoint: bool,
        memory: dict[str, Any],
    ) -> list[Value]:  # fmt: skip
        asks = not all(is_plain_array(part) and not np.any(part) for part in b)
        if asks and self.inner.watch.check != "ignore":
            prices = primal(x[1])
            if prices.shape[0]:
                eps = float(np.finfo(prices.dtype).eps ** 0.5)
                weak = find_weak(prices, _slacks(residual, theta, x, self.paired), self.paired, eps, 1.0)
                some = np.any(weak)
                if isinstance(some, TRACED):
                    call_where(some, self._say, weak)
                elif some:
                    self._say(weak)
        return self.inner.solve(residual, theta, x, b, adjoint, memory)

    def _say(self, weak: Any) -> None:
        numbers = ", ".join(str(int(i)) for i in np.flatnonzero(weak)[:5])
        self.inner.watch.say(
            f"inequality {numbers} is weakly active: it holds without pressing, so that the solution has two one-sided "
            "derivatives, of which this is one. Move the data a little, or smooth the constraint."
        )

    def batched(self, residual: Program, mapped: tuple[bool, ...], size: int) -> Equation:
        return Stacked(self, residual, mapped, size)

    def with_paths(self, paths: tuple[str, ...]) -> ConstrainedEquation:
        """The same, which knows the names of the unknowns."""
        return ConstrainedEquation(self.inner.with_paths(paths), self.paired)


def _slacks(residual: Program, theta: Sequence[Value], x: Sequence[Value], paired: int) -> Value:
    """How far inequalities are from holding: their row of F at a multiplier above any slack is the inequality."""
    point, prices = [primal(v) for v in x], primal(x[1])
    high = np.full_like(prices, 1e30)

    def rows(multipliers: Value) -> Value:
        return interpret(residual, [*[primal(v) for v in theta], point[0], multipliers, *point[2:]])[1]

    if not paired:
        return rows(high)
    number = np.arange(prices.shape[0]) - (prices.shape[0] - 2 * paired)
    is_lower, is_upper = (number >= 0) & (number < paired), number >= paired  # of both, one is in F at a time
    return np.where(is_upper, rows(np.where(is_lower, -high, high)), rows(np.where(is_upper, -high, high)))
