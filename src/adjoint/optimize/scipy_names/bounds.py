"""Bounds and constraints in SciPy's forms, as parts of the function that is written down."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.optimize

from adjoint import tree
from adjoint.base.source import user_facing
from adjoint.conversion.driver import prepare
from adjoint.implicit import conditions
from adjoint.implicit.constraints import Constraints
from adjoint.implicit.diagnosis import Watch
from adjoint.implicit.equation import LinearizedEquation
from adjoint.implicit.kkt import KKTEquation, make_constrained
from adjoint.optimize.scipy_names.solutions import Unknowns
from adjoint.optimize.scipy_names.written import Written
from adjoint.program.trace import Tracer
from adjoint.program.types import ArrayType, Value
from adjoint.scipy.arguments import array

__all__ = [
    "Bounds",
    "LinearConstraint",
    "bounded",
    "constrained_equation",
    "is_traced_in",
    "kkt_condition",
    "kkt_unknowns",
    "pairs_of",
    "parts_of_constraints",
    "plain_constraints",
    "positions_of",
    "projected",
    "split_rows",
]  # fmt: skip

theirs: Any = scipy.optimize
Function = Callable[..., Any]


@user_facing
@functools.wraps(theirs.Bounds, updated=())
def Bounds(lb: Any = -np.inf, ub: Any = np.inf, keep_feasible: Any = False) -> Any:  # noqa: N802
    return theirs.Bounds(array(lb), array(ub), keep_feasible)


@user_facing
@functools.wraps(theirs.LinearConstraint, updated=())
def LinearConstraint(A: Any, lb: Any = -np.inf, ub: Any = np.inf, keep_feasible: Any = False) -> Any:  # noqa: N802
    made = theirs.LinearConstraint(A if hasattr(A, "toarray") else array(A), array(lb), array(ub), keep_feasible)
    if ub is lb:  # an equation, whatever the value is
        made.ub = made.lb
    return made


def pairs_of(bounds: Any, count: int) -> tuple[Any, Any] | None:
    """(lower, upper) as vectors, of `Bounds` or of pairs; None is infinite."""
    if bounds is None:
        return None
    if isinstance(bounds, theirs.Bounds):
        low, high = bounds.lb, bounds.ub
        return np.broadcast_to(array(low), (count,)), np.broadcast_to(array(high), (count,))
    if hasattr(bounds, "dtype"):
        return bounds[:, 0], bounds[:, 1]
    if not len(bounds):
        return None
    lower = [-np.inf if low is None else low for low, _ in bounds]
    upper = [np.inf if high is None else high for _, high in bounds]
    return array(lower) * 1.0, array(upper) * 1.0


def bounded(pair: tuple[Any, Any] | None) -> dict[str, Any]:
    """The bounds as parts of the function that is written down."""
    return {} if pair is None else {"lower": pair[0], "upper": pair[1]}


def projected(asked: Function) -> Function:
    """x - P(x - ∇f), zero at a minimum within bounds; ∇f without bounds."""
    at = lambda x: np.reshape(asked(x)["fun"], ())

    def F(x: Any) -> Any:
        box = asked(x)
        if "lower" not in box:
            return conditions.stationary(at)(x)
        clip = lambda y: np.minimum(np.maximum(y, box["lower"]), box["upper"])
        return conditions.projected(at, clip)(x)

    return F


def is_traced_in(*values: Any) -> bool:
    """Whether bounds or constraints depend on a traced value."""
    return any(isinstance(v, Tracer) for v in tree.leaves(values))


# ---- constraints ----


def _rows(constraint: Any) -> tuple[Function, Any, Any]:
    """c(x), lower and upper of a constraint in one of SciPy's three forms."""
    if isinstance(constraint, theirs.LinearConstraint):
        A = constraint.A.toarray() if hasattr(constraint.A, "toarray") else constraint.A
        return (lambda x: np.atleast_2d(A) @ x), constraint.lb, constraint.ub
    if isinstance(constraint, theirs.NonlinearConstraint):
        own = prepare(constraint.fun)
        return (lambda x: array(own(x))), constraint.lb, constraint.ub
    function, args = prepare(constraint["fun"]), constraint.get("args", ())
    upper = 0.0 if constraint["type"] == "eq" else np.inf
    return (lambda x: array(function(x, *args))), 0.0, upper


def parts_of_constraints(constraints: Any, pair: tuple[Any, Any] | None) -> Callable[[Any], dict[str, Any]] | None:
    """x ↦ {"equality": h, "inequality": g} with h = 0 and g ≤ 0, bounds among them; None without constraints."""
    given = constraints if isinstance(constraints, list | tuple) else [] if constraints is None else [constraints]
    if not given:
        return None
    known = [_rows(c) for c in given]

    def parts(x: Any) -> dict[str, Any]:
        rows = [(function(x), low, high) for function, low, high in known]
        return split_rows([*rows, *([] if pair is None else [(x, *pair)])])

    return parts


def split_rows(rows: Sequence[tuple[Any, Any, Any]]) -> dict[str, Any]:
    """low ≤ value ≤ high as {"equality": h, "inequality": g} with h = 0 and g ≤ 0; a traced limit counts as finite."""
    found: dict[str, list[Any]] = {"equality": [], "inequality": []}
    for value, low, high in rows:
        value = np.reshape(value, (-1,))
        fixed, above, below = positions_of(low, high, len(value))
        for positions, sign, limit, name in (
            (fixed, 1.0, low, "equality"), (above, -1.0, low, "inequality"), (below, 1.0, high, "inequality"),
        ):  # fmt: skip
            if len(positions):
                limits = np.broadcast_to(array(limit), value.shape)
                found[name].append(sign * (value[positions] - limits[positions]))
    return {name: np.concatenate(parts) if parts else np.zeros(0) for name, parts in found.items()}


def positions_of(low: Any, high: Any, count: int) -> tuple[Any, Any, Any]:
    """Where limits are equal, where there is a lower one, and where an upper one."""
    plain = [None if is_traced_in(v) else np.broadcast_to(np.asarray(v, float), (count,)) for v in (low, high)]
    a, b = plain
    same = np.full(count, low is high) if a is None or b is None else a == b
    has = [np.ones(count, bool) if v is None else np.isfinite(v) for v in plain]
    return np.flatnonzero(same), np.flatnonzero(~same & has[0]), np.flatnonzero(~same & has[1])


def plain_constraints(plain: Any, size: int) -> list[dict[str, Any]]:
    """The constraints with plain numbers, as SciPy takes them; bounds are among them."""
    found: list[dict[str, Any]] = []
    for kind, name, sign in (("eq", "equality", 1.0), ("ineq", "inequality", -1.0)):
        fun = lambda x, name=name, sign=sign: sign * plain.at(x)[name]
        if not len(fun(np.zeros(size))):
            continue
        made: dict[str, Any] = {"type": kind, "fun": fun}
        if hasattr(plain, "jacobian"):
            made["jac"] = lambda x, name=name, sign=sign: sign * plain.jacobian(x, name)
        found.append(made)
    return found


def _rules(asked: Function) -> Constraints:
    return Constraints(equality=lambda x: asked(x)["equality"], inequality=lambda x: asked(x)["inequality"])


def kkt_condition(asked: Function) -> Function:
    """The conditions of Karush, Kuhn and Tucker, of {"x", multipliers, slacks}."""
    return conditions.kkt(lambda x: np.reshape(asked(x)["fun"], ()), _rules(asked))


def kkt_unknowns(title: str) -> Callable[[Written], Unknowns]:
    """x with its multipliers and slacks, found from x."""

    def of(written: Written) -> Unknowns:
        types = tree.unflatten(written.structure, written.program.output_types)
        vector = lambda name: ArrayType(types[name].shape, np.dtype(float))
        z = {
            "x": written.kind, "equality": vector("equality"), "inequality": {"given": vector("inequality")},
            "slack": {"given": vector("inequality")}, "cone": None,
        }  # fmt: skip

        def complete(asked: Function, x: Value) -> Any:
            made = make_constrained(
                lambda x: np.reshape(asked(x)["fun"], ()), lambda: x, _rules(asked), None, constrained_equation(title),
                title, 0.0,
            )  # fmt: skip
            return made.solution.solver()[0]

        return Unknowns(tree.structure(z), tuple(tree.leaves(z)), complete)

    return of


def constrained_equation(title: str) -> Any:
    """How the linear equations of a constrained minimum are solved."""
    return KKTEquation(LinearizedEquation("auto", (), Watch(title, "warn", has_kinks=False, has_constraints=True)))
