"""The solvers of equations of scipy.optimize: F(x, θ) = 0 and x = T(x, θ)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as theirs

from adjoint.base.source import user_facing
from adjoint.implicit import conditions
from adjoint.implicit.roots import equation_for
from adjoint.optimize.scipy_names.results import DifferentiableResult, Information, root_results
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
from adjoint.optimize.scipy_names.written import strip
from adjoint.program.types import ArrayType

__all__ = [
    "anderson",
    "bisect",
    "brenth",
    "brentq",
    "broyden1",
    "broyden2",
    "diagbroyden",
    "excitingmixing",
    "fixed_point",
    "fsolve",
    "linearmixing",
    "newton",
    "newton_krylov",
    "ridder",
    "root",
    "root_scalar",
    "toms748",
]

NUMBERS = [INTEGER, INTEGER, BOOL]  # iterations, function calls, converged


def _find_root(
    title: str, given: dict[str, Any], f: str, kind: ArrayType, run: Callable[..., Any], reports: Any,
    has_derivative: bool = False, is_fixed_point: bool = False,
) -> Found | None:  # fmt: skip
    """The root of the function that is given by this name."""
    given = dict(given)
    function = objective_of(given.pop(f), given.pop("args", ()), has_derivative)

    def condition(asked: Callable[[Any], Any]) -> Callable[[Any], Any]:
        F = lambda x: asked(x)["fun"]
        if is_fixed_point:
            return conditions.fixed_point(F)
        return lambda x: _as_many(F, x)

    equation = equation_for(title, (), "auto", "equation", "warn")
    return find(title, lambda x: {"fun": function(x)}, kind, given, run, reports, condition, equation)


def _as_many(F: Callable[[Any], Any], x: Any) -> Any:
    """F(x) in the shape of x; the conditions of least squares where there are more equations."""
    value = F(x)
    if np.size(value) > np.size(x):
        return conditions.least_squares(F)(x)
    return np.reshape(value, np.shape(x))


def _bracketing(name: str) -> Callable[..., Any]:
    solver = getattr(theirs, name)

    @user_facing
    @functools.wraps(solver)
    def solve(*args: Any, **kwargs: Any) -> Any:
        given = arguments_of(solver, args, kwargs)
        wanted = given.pop("full_output", False)

        def run(plain: Any, settings: dict[str, Any]) -> Any:
            r, report = solver(plain.value, **settings, full_output=True)
            return report, [r, report.iterations, report.function_calls, report.converged]

        found = _find_root(f"scipy.optimize.{name}", given, "f", FLOAT, run, NUMBERS)
        if found is None:
            return solver(*args, **kwargs)
        return (found.x, root_results(found.x, found.reports, found.raw, name)) if wanted else found.x

    return solve


bisect, brenth, brentq = _bracketing("bisect"), _bracketing("brenth"), _bracketing("brentq")
ridder, toms748 = _bracketing("ridder"), _bracketing("toms748")


def _exact_derivatives(plain: Any, settings: dict[str, Any], wanted: bool = False) -> None:
    """Our derivatives in the places of those that are given, or wanted."""
    for name, derivative in (("fprime", "derivative"), ("fprime2", "bend")):
        has_own = callable(settings.get(name))
        if hasattr(plain, derivative) and (has_own or (wanted and name == "fprime")):
            settings[name] = getattr(plain, derivative)
        elif has_own:
            settings[name] = _keep_plain(settings[name])


def _keep_plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """A derivative of the user's, which may give traced values."""
    return lambda *args: strip("scipy.optimize", function(*args))


@user_facing
@functools.wraps(theirs.newton)
def newton(*args: Any, **kwargs: Any) -> Any:
    given = arguments_of(theirs.newton, args, kwargs)
    wanted = given.pop("full_output", False)
    kind = type_of_start(given["x0"])

    def run(plain: Any, settings: dict[str, Any]) -> Any:
        settings = dict(settings)
        _exact_derivatives(plain, settings)
        answer = theirs.newton(plain.value, **settings, full_output=True)
        if kind.shape:
            return answer, [answer[0], 0, 0, np.all(answer[1])]
        r, report = answer
        return report, [r, report.iterations, report.function_calls, report.converged]

    found = _find_root("scipy.optimize.newton", given, "func", kind, run, NUMBERS)
    if found is None:
        return theirs.newton(*args, **kwargs)
    if not wanted:
        return found.x
    if kind.shape:
        marks = (None, None) if found.raw is None else found.raw[1:]
        return (found.x, *marks)
    return found.x, root_results(found.x, found.reports, found.raw, "newton")


@user_facing
@functools.wraps(theirs.root_scalar)
def root_scalar(*args: Any, **kwargs: Any) -> Any:
    given = arguments_of(theirs.root_scalar, args, kwargs)
    has_derivative = given.get("fprime") is True
    if has_derivative:
        del given["fprime"]
    method = given.get("method")

    def run(plain: Any, settings: dict[str, Any]) -> Any:
        settings = dict(settings)
        _exact_derivatives(plain, settings, has_derivative or method in {"newton", "halley"})
        if method == "halley" and hasattr(plain, "bend"):
            settings["fprime2"] = plain.bend
        report = theirs.root_scalar(plain.value, **settings)
        return report, [report.root, report.iterations, report.function_calls, report.converged]

    start = given.get("x0")
    kind = FLOAT if start is None else ArrayType((), type_of_start(start).dtype)
    found = _find_root("scipy.optimize.root_scalar", given, "f", kind, run, NUMBERS, has_derivative)
    if found is None:
        return theirs.root_scalar(*args, **kwargs)
    return root_results(found.x, found.reports, found.raw, method or "")


@user_facing
@functools.wraps(theirs.root)
def root(*args: Any, **kwargs: Any) -> Any:
    given = arguments_of(theirs.root, args, kwargs)
    original = dict(given)
    method = str(given.get("method", "hybr")).lower()
    has_derivative = given.get("jac") is True
    given.pop("jac", None)
    kind = type_of_start(given["x0"], flat=method in {"hybr", "lm", "df-sane"})

    def run(plain: Any, settings: dict[str, Any]) -> Any:
        settings = dict(settings)
        if method in {"hybr", "lm"} and hasattr(plain, "jacobian"):
            settings["jac"] = plain.jacobian
        answer = theirs.root(plain.value, **settings)
        return answer, [answer.x, answer.success, answer.get("status", 0), answer.get("nfev", 0)]

    reports = [BOOL, INTEGER, INTEGER]
    found = _find_root("scipy.optimize.root", given, "fun", kind, run, reports, has_derivative)
    if found is None:
        function = objective_of(original["fun"], original.get("args", ()), has_derivative)
        filled = {"jac": lambda plain: ignoring_arguments(plain.jacobian)} if method in {"hybr", "lm"} else {}
        return call_plain(theirs.root, args, kwargs, function, kind, filled)
    success, status, calls = found.reports
    message = "" if found.raw is None else found.raw.message
    return DifferentiableResult(
        x=found.x, fun=found.at_solution("fun"), success=success, status=status, nfev=calls, message=message
    )


@user_facing
@functools.wraps(theirs.fsolve)
def fsolve(*args: Any, **kwargs: Any) -> Any:
    given = arguments_of(theirs.fsolve, args, kwargs)
    wanted = given.pop("full_output", False)
    for name in ("fprime", "col_deriv"):
        given.pop(name, None)

    def run(plain: Any, settings: dict[str, Any]) -> Any:
        exact = {"fprime": plain.jacobian} if hasattr(plain, "jacobian") else {}
        x, information, code, message = theirs.fsolve(plain.value, **settings, **exact, full_output=True)
        return message, [x, code, information["nfev"]]

    kind = type_of_start(given["x0"], flat=True)
    found = _find_root("scipy.optimize.fsolve", given, "func", kind, run, [INTEGER, INTEGER])
    if found is None:
        function = objective_of(given["func"], given.get("args", ()))
        filled = {} if "col_deriv" in kwargs else {"fprime": lambda plain: ignoring_arguments(plain.jacobian)}
        return call_plain(theirs.fsolve, args, kwargs, function, kind, filled)
    if not wanted:
        return found.x
    code, calls = found.reports
    return found.x, Information(nfev=calls, fvec=found.at_solution("fun")), code, found.raw or ""


@user_facing
@functools.wraps(theirs.fixed_point)
def fixed_point(*args: Any, **kwargs: Any) -> Any:
    given = arguments_of(theirs.fixed_point, args, kwargs)

    def run(plain: Any, settings: dict[str, Any]) -> Any:
        x = theirs.fixed_point(plain.value, **settings)
        return x, [x]

    kind = type_of_start(given["x0"])
    found = _find_root("scipy.optimize.fixed_point", given, "func", kind, run, [], is_fixed_point=True)
    return theirs.fixed_point(*args, **kwargs) if found is None else found.x


def _nonlinear(name: str) -> Callable[..., Any]:
    solver = getattr(theirs, name)

    @user_facing
    @functools.wraps(solver)
    def solve(*args: Any, **kwargs: Any) -> Any:
        given = arguments_of(solver, args, kwargs)

        def run(plain: Any, settings: dict[str, Any]) -> Any:
            x = solver(plain.value, **settings)
            return x, [x]

        found = _find_root(f"scipy.optimize.{name}", given, "F", type_of_start(given["xin"]), run, [])
        return solver(*args, **kwargs) if found is None else found.x

    return solve


anderson, broyden1, broyden2 = _nonlinear("anderson"), _nonlinear("broyden1"), _nonlinear("broyden2")
diagbroyden, excitingmixing = _nonlinear("diagbroyden"), _nonlinear("excitingmixing")
linearmixing, newton_krylov = _nonlinear("linearmixing"), _nonlinear("newton_krylov")
