"""The least squares of scipy.optimize: `least_squares`, `leastsq`, `curve_fit`, `nnls`, `lsq_linear`.

The conditions are those of the cost, with its whole Hessian; within bounds in their projected form.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from adjoint.api.gradients import grad, jvp
from adjoint.api.jacobians import jacobian
from adjoint.base.errors import UnsupportedError
from adjoint.base.source import user_facing
from adjoint.conversion.driver import prepare
from adjoint.implicit.roots import equation_for
from adjoint.optimize.scipy_names.bounds import bounded, is_traced_in, projected
from adjoint.optimize.scipy_names.minima import value_at
from adjoint.optimize.scipy_names.results import DifferentiableResult, Information
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
from adjoint.scipy.arguments import array
from adjoint.scipy.linalg import solve_triangular

__all__ = ["curve_fit", "least_squares", "leastsq", "lsq_linear", "nnls"]

theirs: Any = scipy.optimize
Function = Callable[[Any], Any]
REPORTS = [FLOAT, BOOL, INTEGER, INTEGER]  # cost, success, status, evaluations


def _huber(z: Any) -> Any:
    return np.where(z <= 1.0, z, 2.0 * np.sqrt(np.maximum(z, 1.0)) - 1.0)


LOSSES: dict[str, Function] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2.0 * (np.sqrt(1.0 + z) - 1.0),
    "huber": _huber,
    "cauchy": np.log1p,
    "arctan": np.arctan,
}


def _cost(loss: Any, scale: Any) -> Function:
    """r ↦ ½ C² Σ ρ((r/C)²)."""
    if callable(loss):
        own = prepare(loss)
        rho: Function = lambda z: own(z)[0]
    else:
        rho = LOSSES[loss]
    if loss == "linear":
        return lambda r: 0.5 * np.sum(r * r)
    return lambda r: 0.5 * scale * scale * np.sum(rho((r / scale) ** 2))


def _box(bounds: Any, count: int) -> tuple[Any, Any] | None:
    """(lower, upper) of `Bounds` or of a pair; None where nothing is bounded."""
    low, high = (bounds.lb, bounds.ub) if isinstance(bounds, theirs.Bounds) else bounds
    low, high = array(low), array(high)
    if not is_traced_in(low, high) and np.all(np.isinf(low)) and np.all(np.isinf(high)):
        return None
    return np.broadcast_to(low, (count,)), np.broadcast_to(high, (count,))


def _find_fit(
    title: str, residual: Function, cost: Function, pair: Any, kind: ArrayType, given: dict[str, Any], run: Any,
    reports: Any, more: Callable[[], dict[str, Any]] = dict,
) -> Found | None:  # fmt: skip
    def asked(x: Any) -> dict[str, Any]:
        r = residual(x)
        return {"fun": cost(r), "residual": r} | bounded(pair) | more()

    facts = ("symmetric",) if pair is None else ()
    equation = equation_for(title, facts, "auto", "equation", "warn")
    return find(title, asked, kind, given, run, reports, projected, equation)


def _residual(plain: Any) -> Function:
    return lambda x: np.atleast_1d(plain.at(x)["residual"])


def _jacobian_at(found: Found) -> Any:
    """∂r/∂x at the solution."""
    return jacobian(lambda x: np.atleast_1d(found.written.at(x, found.theta)["residual"]))(found.x)


def _exact(plain: Any, name: str) -> dict[str, Any]:
    shaped = lambda x: np.reshape(plain.jacobian(x, "residual"), (-1, np.size(x)))
    return {name: shaped} if hasattr(plain, "jacobian") else {}


@user_facing
@functools.wraps(theirs.least_squares)
def least_squares(*args: Any, **kwargs: Any) -> Any:
    given = arguments_of(theirs.least_squares, args, kwargs)
    title = "scipy.optimize.least_squares"
    function, extra, named = given.pop("fun"), given.pop("args", ()), given.pop("kwargs", None) or {}
    residual = objective_of(functools.partial(function, **named) if named else function, extra)
    loss, scale = given.get("loss", "linear"), given.get("f_scale", 1.0)
    kind = type_of_start(given["x0"], flat=True)
    pair = _box(given.pop("bounds", (-np.inf, np.inf)), kind.shape[0])
    given.pop("jac", None)

    def run(plain: Any, settings: dict[str, Any]) -> Any:
        settings = dict(settings) | _exact(plain, "jac")
        if pair is not None:
            at = plain.at(np.zeros(kind.shape))
            settings["bounds"] = (at["lower"], at["upper"])
        answer = theirs.least_squares(_residual(plain), **settings)
        return answer, [answer.x, answer.cost, answer.success, answer.status, answer.nfev]

    found = _find_fit(title, residual, _cost(loss, scale), pair, kind, given, run, REPORTS)
    if found is None:
        filled = {"jac": lambda plain: lambda x, *args, **named: plain.jacobian(x)}
        return call_plain(theirs.least_squares, args, kwargs, lambda x: np.atleast_1d(residual(x)), kind, filled)
    cost, success, status, calls = found.reports
    made = DifferentiableResult(
        x=found.x, cost=value_at(found, cost, is_traced_in(pair)), fun=np.atleast_1d(found.at_solution("residual")),
        success=success, status=status, nfev=calls, message="" if found.raw is None else found.raw.message,
    )  # fmt: skip
    slow, made["jac"] = _rescaled(_cost(loss, scale), made["fun"], _jacobian_at(found))
    made["grad"] = _jacobian_at(found).T @ slow
    return made


def _rescaled(cost: Function, r: Any, J: Any) -> tuple[Any, Any]:
    """ψ' and √ψ'' J with ψ(r), each residual's part of the cost: JᵀJ then stands for the Hessian, as SciPy has it."""
    ones = np.ones_like(r)
    slow, curved = jvp(grad(cost), (r,), (ones,))  # each residual counts by itself
    return slow, np.sqrt(np.maximum(curved, np.finfo(float).eps))[:, None] * J


def _covariance(J: Any) -> Any:
    """(J* J)⁻¹ by J = Q R."""
    r = np.linalg.qr(J, mode="r")
    inverse = solve_triangular(r, np.eye(J.shape[1]))
    return inverse @ inverse.T


@user_facing
@functools.wraps(theirs.leastsq)
def leastsq(*args: Any, **kwargs: Any) -> Any:
    given = arguments_of(theirs.leastsq, args, kwargs)
    wanted = given.pop("full_output", False)
    residual = objective_of(given.pop("func"), given.pop("args", ()))
    for name in ("Dfun", "col_deriv"):
        given.pop(name, None)

    def run(plain: Any, settings: dict[str, Any]) -> Any:
        x, _, information, message, code = theirs.leastsq(
            _residual(plain), **settings, **_exact(plain, "Dfun"), full_output=True
        )
        return message, [x, code, information["nfev"]]

    kind = type_of_start(given["x0"], flat=True)
    found = _find_fit(
        "scipy.optimize.leastsq", residual, _cost("linear", 1.0), None, kind, given, run, [INTEGER, INTEGER]
    )
    if found is None:
        filled = {"Dfun": lambda plain: ignoring_arguments(plain.jacobian)} if "col_deriv" not in kwargs else {}
        return call_plain(theirs.leastsq, args, kwargs, lambda x: np.atleast_1d(residual(x)), kind, filled)
    code, calls = found.reports
    if not wanted:
        return found.x, code
    information = Information(nfev=calls, fvec=np.atleast_1d(found.at_solution("residual")))
    return found.x, _covariance(_jacobian_at(found)), information, found.raw or "", code


# ---- curves ----


def _count_parameters(f: Any, p0: Any) -> int:
    if p0 is not None:
        return type_of_start(p0, flat=True).shape[0]
    kinds = [p.kind for p in inspect.signature(f).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds or len(kinds) < 2:
        raise ValueError("Unable to determine number of fit parameters.")
    return kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD) - 1


def _weigh(sigma: Any, gap: Any) -> Any:
    if sigma is None:
        return gap
    sigma = array(sigma)
    return gap / sigma if sigma.ndim < 2 else solve_triangular(np.linalg.cholesky(sigma), gap, lower=True)


def _choose_start(low: Any, high: Any) -> Any:
    """A point within bounds: the middle, one beside the only bound, or 1."""
    a, b = np.isfinite(low), np.isfinite(high)
    middle = 0.5 * (np.where(a, low, 0.0) + np.where(b, high, 0.0))
    return np.where(a & b, middle, np.where(a, low + 1.0, np.where(b, high - 1.0, 1.0)))


@user_facing
@functools.wraps(theirs.curve_fit)
def curve_fit(*args: Any, **kwargs: Any) -> Any:
    given = arguments_of(theirs.curve_fit, args, kwargs)
    title = "scipy.optimize.curve_fit"
    if given.pop("nan_policy", None) is not None and is_traced_in(given.get("xdata"), given.get("ydata")):
        raise UnsupportedError(f"{title}: nan_policy= cannot be given with traced data. Leave NaN out beforehand.")
    f, t, y = given.pop("f"), given.pop("xdata"), given.pop("ydata")
    model, count = prepare(f), _count_parameters(f, given.get("p0"))
    t = array(t) if isinstance(t, list | tuple) else t
    sigma, absolute = given.pop("sigma", None), given.get("absolute_sigma", False)
    pair = _box(given.pop("bounds", (-np.inf, np.inf)), count)
    wanted = given.pop("full_output", False)
    given.pop("jac", None)
    residual = lambda p: _weigh(sigma, model(t, *[p[i] for i in range(count)]) - array(y))
    cost = _cost(given.get("loss", "linear"), given.get("f_scale", 1.0))

    def run(plain: Any, settings: dict[str, Any]) -> Any:
        settings = dict(settings)
        if pair is not None:
            at = plain.at(np.ones(count))
            settings["bounds"] = (at["lower"], at["upper"])
        if settings.get("p0") is None:
            low, high = settings.get("bounds", (np.full(count, -np.inf), np.full(count, np.inf)))
            settings["p0"] = _choose_start(low, high)
        r = _residual(plain)
        exact = {"jac": lambda t, *p: _exact(plain, "jac")["jac"](np.array(p))} if hasattr(plain, "jacobian") else {}
        zero = np.zeros(len(r(np.asarray(settings["p0"], float))))
        answer = theirs.curve_fit(lambda t, *p: r(np.array(p)), zero, zero, **settings, **exact, full_output=True)
        return answer[3], [answer[0], answer[4], answer[2]["nfev"]]

    kind = ArrayType((count,), np.dtype(float))
    found = _find_fit(title, residual, cost, pair, kind, given, run, [INTEGER, INTEGER])
    if found is None:
        curve = lambda p: np.atleast_1d(model(t, *[p[i] for i in range(count)]))
        filled = {"jac": lambda plain: lambda t, *p: plain.jacobian(np.array(p))}
        if sigma is not None and np.ndim(sigma) == 0:  # with which SciPy takes no Jacobian
            filled = {}
        return call_plain(theirs.curve_fit, args, kwargs, curve, kind, filled)
    r = found.at_solution("residual")
    J = _rescaled(cost, r, _jacobian_at(found))[1]
    covariance = _covariance(J)
    m, n = J.shape
    if not absolute:
        covariance = covariance * (2.0 * cost(r) / (m - n) if m > n else np.inf)
    if not wanted:
        return found.x, covariance
    code, calls = found.reports
    return found.x, covariance, Information(nfev=calls, fvec=r), found.raw or "", code


# ---- linear equations ----


def _linear_fit(title: str, A: Any, b: Any, pair: Any, given: dict[str, Any], run: Any, reports: Any) -> Found | None:
    A = A if hasattr(A, "toarray") else array(A)
    b = array(b)
    kind = ArrayType((A.shape[1],), np.dtype(float))
    more: Any = lambda: {"right": b * 1.0} | ({} if hasattr(A, "toarray") else {"matrix": A * 1.0})
    return _find_fit(title, lambda x: A @ x - b, _cost("linear", 1.0), pair, kind, given, run, reports, more)


@user_facing
@functools.wraps(theirs.nnls)
def nnls(*args: Any, **kwargs: Any) -> Any:
    given = arguments_of(theirs.nnls, args, kwargs)
    A = array(given.pop("A"))

    def run(plain: Any, settings: dict[str, Any]) -> Any:
        at = plain.at(np.zeros(A.shape[1]))
        answer = theirs.nnls(at["matrix"], at["right"], **settings)
        return answer, [answer[0]]

    n = A.shape[1]
    pair = (np.zeros(n), np.full(n, np.inf))
    found = _linear_fit("scipy.optimize.nnls", A, given.pop("b"), pair, given, run, [])
    if found is None:
        return theirs.nnls(*args, **kwargs)
    return found.x, np.linalg.norm(found.at_solution("residual"))


@user_facing
@functools.wraps(theirs.lsq_linear)
def lsq_linear(*args: Any, **kwargs: Any) -> Any:
    given = arguments_of(theirs.lsq_linear, args, kwargs)
    A, b = given.pop("A"), given.pop("b")
    A = A if hasattr(A, "toarray") else array(A)
    pair = _box(given.pop("bounds", (-np.inf, np.inf)), A.shape[1])

    def run(plain: Any, settings: dict[str, Any]) -> Any:
        at = plain.at(np.zeros(A.shape[1]))
        limits = {} if pair is None else {"bounds": (at["lower"], at["upper"])}
        answer = theirs.lsq_linear(at.get("matrix", A), at["right"], **settings, **limits)
        return answer, [answer.x, answer.cost, answer.success, answer.status, answer.nit]

    found = _linear_fit("scipy.optimize.lsq_linear", A, b, pair, given, run, REPORTS)
    if found is None:
        return theirs.lsq_linear(*args, **kwargs)
    cost, success, status, count = found.reports
    return DifferentiableResult(
        x=found.x, cost=value_at(found, cost, is_traced_in(pair)), fun=found.at_solution("residual"), success=success,
        status=status, nit=count, message="" if found.raw is None else found.raw.message,
    )  # fmt: skip
