"""The minimizers of scipy.optimize with an `OptimizeResult`: whoever found a minimum, its conditions are the same."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as theirs

from adjoint.base.errors import UnsupportedError
from adjoint.base.source import user_facing
from adjoint.implicit.roots import equation_for
from adjoint.optimize.derivatives import attach_envelope
from adjoint.optimize.scipy_names.bounds import (
    bounded,
    constrained_equation,
    is_traced_in,
    kkt_condition,
    kkt_unknowns,
    pairs_of,
    parts_of_constraints,
    plain_constraints,
    projected,
)
from adjoint.optimize.scipy_names.results import DifferentiableResult
from adjoint.optimize.scipy_names.solutions import (
    BOOL,
    FLOAT,
    INTEGER,
    Found,
    arguments_of,
    call_plain,
    find,
    ignoring_arguments,
    objective_of,
    type_of_start,
)
from adjoint.program.types import ArrayType

__all__ = [
    "basinhopping",
    "differential_evolution",
    "direct",
    "dual_annealing",
    "minimize",
    "minimize_scalar",
    "minimum",
    "shgo",
    "value_at",
]

COUNTS = ("status", "nit", "nfev")
_GRADIENT_FREE = {"nelder-mead", "powell", "cobyla", "cobyqa"}
_HESSIAN = {"newton-cg", "dogleg", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr"}
_BOUNDED = {"nelder-mead", "l-bfgs-b", "tnc", "slsqp", "powell", "trust-constr", "cobyla", "cobyqa", ""}


def minimum(
    title: str, function: Callable[[Any], Any], kind: ArrayType, given: dict[str, Any], run: Callable[..., Any],
    reports: Any, pair: tuple[Any, Any] | None = None, parts: Callable[[Any], dict[str, Any]] | None = None,
) -> Found | None:  # fmt: skip
    """The minimum that `run` finds, by its conditions: ∇f = 0, its projected form within bounds, or those of KKT."""

    def asked(x: Any) -> dict[str, Any]:
        return {"fun": function(x)} | (bounded(pair) if parts is None else parts(x))

    if parts is not None:
        return find(
            title, asked, kind, given, run, reports, kkt_condition, constrained_equation(title), kkt_unknowns(title)
        )
    facts = ("symmetric",) if pair is None else ()
    return find(
        title, asked, kind, given, run, reports, projected, equation_for(title, facts, "auto", "equation", "warn")
    )


def value_at(found: Found, fun: Any, is_moving: bool) -> Any:
    """The smallest value: by the envelope theorem, unless bounds or constraints move with θ."""
    if is_moving:
        return np.reshape(found.at_solution("fun"), ())
    f = lambda x, theta: np.reshape(found.written.at(x, theta)["fun"], ())
    return attach_envelope(f, found.x, fun, (found.theta,))


def _result(found: Found, is_moving: bool) -> Any:
    fun, success, *counts = found.reports
    made = DifferentiableResult(x=found.x, fun=value_at(found, fun, is_moving), success=success)
    made |= dict(zip(COUNTS, counts, strict=True))
    made["message"] = "" if found.raw is None else found.raw.get("message", "")
    return made


REPORTS = [FLOAT, BOOL, INTEGER, INTEGER, INTEGER]


def _report(answer: Any) -> tuple[Any, list[Any]]:
    counts = [answer.get(name, 0) for name in COUNTS]
    return answer, [answer.x, answer.fun, answer.get("success", True), *counts]


@user_facing
@functools.wraps(theirs.minimize)
def minimize(*args: Any, **kwargs: Any) -> Any:
    given = arguments_of(theirs.minimize, args, kwargs)
    title = "scipy.optimize.minimize"
    method = given.get("method")
    name = "" if callable(method) or method is None else method.lower()
    original = dict(given)
    function = objective_of(given.pop("fun"), given.pop("args", ()), given.get("jac") is True)
    kind = type_of_start(given["x0"], flat=True)
    for derivative in ("jac", "hess", "hessp"):
        given.pop(derivative, None)
    bounds = given.pop("bounds", None)
    pair = pairs_of(bounds, kind.shape[0]) if name in _BOUNDED else None
    parts = parts_of_constraints(given.pop("constraints", ()), pair)

    def run(plain: Any, settings: dict[str, Any]) -> Any:
        settings = dict(settings)
        _fill_derivatives(name, plain, settings)
        if parts is not None:
            settings["constraints"] = plain_constraints(plain, kind.shape[0])
        elif pair is not None:
            at = plain.at(np.zeros(kind.shape))
            settings["bounds"] = theirs.Bounds(at["lower"], at["upper"])
        return _report(theirs.minimize(lambda x: float(np.reshape(plain.value(x), ())), **settings))

    found = minimum(title, function, kind, given, run, REPORTS, pair, parts)
    if found is None:
        return call_plain(theirs.minimize, args, kwargs, function, kind, _missing(name, original))
    return _result(found, parts is not None or is_traced_in(pair))


def _missing(name: str, given: dict[str, Any]) -> dict[str, Callable[[Any], Any]]:
    """The derivatives that a method takes, where SciPy would take differences."""
    made: dict[str, Callable[[Any], Any]] = {}
    if name not in _GRADIENT_FREE:
        made["jac"] = lambda plain: ignoring_arguments(plain.gradient)
    if name in _HESSIAN and given.get("hessp") is None:
        made["hess"] = lambda plain: ignoring_arguments(plain.hessian)
    return made


def _fill_derivatives(name: str, plain: Any, settings: dict[str, Any]) -> None:
    """Our gradient and Hessian where the method takes some."""
    if not hasattr(plain, "gradient"):
        if name in _HESSIAN:
            raise UnsupportedError(
                f"scipy.optimize.minimize: the method {name!r} needs derivatives of a function whose branches cannot "
                "be written down. Take 'BFGS' or 'Nelder-Mead', or write branches with np.where."
            )
        return
    if name not in _GRADIENT_FREE:
        settings["jac"] = plain.gradient
    if name in _HESSIAN:
        settings["hess"] = plain.hessian


@user_facing
@functools.wraps(theirs.minimize_scalar)
def minimize_scalar(*args: Any, **kwargs: Any) -> Any:
    given = arguments_of(theirs.minimize_scalar, args, kwargs)
    title = "scipy.optimize.minimize_scalar"
    function = objective_of(given.pop("fun"), given.pop("args", ()))
    limits = given.get("bounds")
    pair = None if limits is None else (limits[0], limits[1])

    def run(plain: Any, settings: dict[str, Any]) -> Any:
        return _report(theirs.minimize_scalar(lambda x: float(np.reshape(plain.value(x), ())), **settings))

    found = minimum(title, function, FLOAT, given, run, REPORTS, pair)
    return theirs.minimize_scalar(*args, **kwargs) if found is None else _result(found, is_traced_in(pair))


def _searching(name: str, refused: tuple[str, ...] = ()) -> Callable[..., Any]:
    """A global minimizer within bounds."""
    solver = getattr(theirs, name)
    title = f"scipy.optimize.{name}"

    @user_facing
    @functools.wraps(solver)
    def search(*args: Any, **kwargs: Any) -> Any:
        given = arguments_of(solver, args, kwargs)
        function = objective_of(given.pop("func"), given.pop("args", ()))
        bounds = given.pop("bounds")
        count = len(bounds.lb) if isinstance(bounds, theirs.Bounds) else len(bounds)
        pair: Any = pairs_of(bounds, count)
        parts = parts_of_constraints(given.pop("constraints", ()), pair)

        def run(plain: Any, settings: dict[str, Any]) -> Any:
            unsupported = [key for key in refused if settings.get(key)]
            if unsupported:
                raise UnsupportedError(f"{title}: {unsupported[0]}= cannot be given where values are traced; leave it "
                                       "out, or call it outside of the transformation.")  # fmt: skip
            at = plain.at(np.zeros(count)) if parts is None else None
            low, high = pair if at is None else (at["lower"], at["upper"])
            settings = dict(settings) | {"bounds": list(zip(map(float, low), map(float, high), strict=True))}
            if parts is not None:
                settings["constraints"] = _constraints_for(name, plain, count)
            return _report(solver(lambda x: float(np.reshape(plain.value(x), ())), **settings))

        found = minimum(title, function, ArrayType((count,), np.dtype(float)), given, run, REPORTS, pair, parts)
        if found is None:
            return solver(*args, **kwargs)
        return _result(found, parts is not None or is_traced_in(pair))

    return search


def _constraints_for(name: str, plain: Any, count: int) -> Any:
    given = plain_constraints(plain, count)
    if name == "shgo":
        return given
    high = {"eq": 0.0, "ineq": np.inf}
    made: Any = theirs.NonlinearConstraint
    return tuple(made(c["fun"], 0.0, high[c["type"]]) for c in given)


differential_evolution = _searching("differential_evolution", ("integrality", "vectorized"))
dual_annealing, shgo, direct = _searching("dual_annealing"), _searching("shgo"), _searching("direct")


@user_facing
@functools.wraps(theirs.basinhopping)
def basinhopping(*args: Any, **kwargs: Any) -> Any:
    given = arguments_of(theirs.basinhopping, args, kwargs)
    title = "scipy.optimize.basinhopping"
    inner = dict(given.pop("minimizer_kwargs", None) or {})
    kind = type_of_start(given["x0"], flat=True)
    name = str(inner.get("method") or "").lower()
    function = objective_of(given.pop("func"), inner.pop("args", ()), inner.get("jac") is True)
    for derivative in ("jac", "hess", "hessp"):
        inner.pop(derivative, None)
    pair = pairs_of(inner.pop("bounds", None), kind.shape[0])
    parts = parts_of_constraints(inner.pop("constraints", ()), pair)
    given["minimizer_kwargs"] = inner

    def run(plain: Any, settings: dict[str, Any]) -> Any:
        inside = dict(settings["minimizer_kwargs"])
        _fill_derivatives(name, plain, inside)
        if parts is not None:
            inside["constraints"] = plain_constraints(plain, kind.shape[0])
        elif pair is not None:
            at = plain.at(np.zeros(kind.shape))
            inside["bounds"] = theirs.Bounds(at["lower"], at["upper"])
        settings = dict(settings) | {"minimizer_kwargs": inside}
        return _report(theirs.basinhopping(lambda x: float(np.reshape(plain.value(x), ())), **settings))

    found = minimum(title, function, kind, given, run, REPORTS, pair, parts)
    if found is None:
        return theirs.basinhopping(*args, **kwargs)
    return _result(found, parts is not None or is_traced_in(pair))
