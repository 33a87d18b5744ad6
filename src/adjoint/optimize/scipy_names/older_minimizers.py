"""The older minimizers of scipy.optimize, which give x, or a tuple that begins with x: `golden`, `brent`, `fmin` …"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as theirs

from adjoint.api.gradients import grad
from adjoint.base.errors import UnsupportedError
from adjoint.base.source import user_facing
from adjoint.optimize.scipy_names.bounds import is_traced_in, pairs_of, parts_of_constraints
from adjoint.optimize.scipy_names.minima import minimum, value_at
from adjoint.optimize.scipy_names.results import Withheld
from adjoint.optimize.scipy_names.solutions import (
    FLOAT,
    Found,
    arguments_of,
    call_plain,
    ignoring_arguments,
    objective_of,
    type_of_start,
)

__all__ = [
    "brent",
    "brute",
    "fmin",
    "fmin_bfgs",
    "fmin_cg",
    "fmin_cobyla",
    "fmin_l_bfgs_b",
    "fmin_ncg",
    "fmin_powell",
    "fmin_slsqp",
    "fmin_tnc",
    "fminbound",
    "golden",
]


def _scalar(plain: Any) -> Callable[[Any], float]:
    return lambda x: float(np.reshape(plain.value(x), ()))


def _answer(title: str, found: Found, wanted: bool, is_moving: bool = False, lost: dict[int, str] | None = None) -> Any:
    """x, or SciPy's tuple (x, f(x), …); `lost` are the places of what has no derivative there, with its name."""
    if not wanted:
        return found.x
    if found.raw is None:
        raise UnsupportedError(
            f"{title}: the tuple that it returns tells what is not known while a program is written, or of many batch "
            "elements. Use adjoint.scipy.optimize.minimize or minimize_scalar, whose result has the counts."
        )
    fun = value_at(found, np.float64(found.raw[1]), is_moving)
    rest = [Withheld(title, lost[i]) if lost and i in lost else found.raw[i] for i in range(2, len(found.raw))]
    return (found.x, fun, *rest)


def _gradient_at(found: Found) -> Any:
    """∇f at the solution."""
    return grad(lambda x: np.reshape(found.written.at(x, found.theta)["fun"], ()))(found.x)


def _of_one(name: str) -> Callable[..., Any]:
    solver, title = getattr(theirs, name), f"scipy.optimize.{name}"

    @user_facing
    @functools.wraps(solver)
    def search(*args: Any, **kwargs: Any) -> Any:
        given = arguments_of(solver, args, kwargs)
        wanted = bool(given.pop("full_output", False))
        function = objective_of(given.pop("func"), given.pop("args", ()))
        pair = (given["x1"], given["x2"]) if name == "fminbound" else None

        def run(plain: Any, settings: dict[str, Any]) -> Any:
            answer = solver(_scalar(plain), **settings, full_output=True)
            return answer, [answer[0]]

        found = minimum(title, function, FLOAT, given, run, [], pair)
        return solver(*args, **kwargs) if found is None else _answer(title, found, wanted, is_traced_in(pair))

    return search


golden, brent, fminbound = _of_one("golden"), _of_one("brent"), _of_one("fminbound")


def _of_many(
    name: str, f: str, derivatives: tuple[str, ...] = (), lost: dict[int, str] | None = None
) -> Callable[..., Any]:
    """fmin and those that differ from it by their derivatives."""
    solver, title = getattr(theirs, name), f"scipy.optimize.{name}"

    @user_facing
    @functools.wraps(solver)
    def search(*args: Any, **kwargs: Any) -> Any:
        given = arguments_of(solver, args, kwargs)
        wanted = bool(given.pop("full_output", False))
        if given.get("retall"):
            wanted = True
        function = objective_of(given.pop(f), given.pop("args", ()))
        for derivative in ("fprime", "fhess", "fhess_p"):
            given.pop(derivative, None)
        kind = type_of_start(given["x0"], flat=True)

        def run(plain: Any, settings: dict[str, Any]) -> Any:
            exact = {
                key: getattr(plain, {"fprime": "gradient", "fhess": "hessian"}[key])
                for key in derivatives
                if hasattr(plain, "gradient")
            }
            answer = solver(_scalar(plain), **settings, **exact, full_output=True)
            return answer, [answer[0]]

        found = minimum(title, function, kind, given, run, [])
        if found is None:
            filled = {"fprime": lambda plain: ignoring_arguments(plain.gradient)} if "fprime" in derivatives else {}
            return call_plain(solver, args, kwargs, function, kind, filled)
        last = {len(found.raw) - 1: "allvecs"} if given.get("retall") and found.raw is not None else {}
        answer = _answer(title, found, wanted, False, {**(lost or {}), **last})
        if name == "fmin_bfgs" and wanted:
            answer = (*answer[:2], _gradient_at(found), *answer[3:])
        return answer

    return search


fmin, fmin_powell = _of_many("fmin", "func"), _of_many("fmin_powell", "func", lost={2: "direc"})
fmin_cg = _of_many("fmin_cg", "f", ("fprime",))
fmin_bfgs = _of_many("fmin_bfgs", "f", ("fprime",), {3: "Bopt"})
fmin_ncg = _of_many("fmin_ncg", "f", ("fprime", "fhess"))


def _within_bounds(name: str) -> Callable[..., Any]:
    """fmin_l_bfgs_b and fmin_tnc: a tuple comes back always."""
    solver, title = getattr(theirs, name), f"scipy.optimize.{name}"

    @user_facing
    @functools.wraps(solver)
    def search(*args: Any, **kwargs: Any) -> Any:
        given = arguments_of(solver, args, kwargs)
        has_derivative = given.pop("fprime", None) is None and not given.pop("approx_grad", 0)
        function = objective_of(given.pop("func"), given.pop("args", ()), has_derivative)
        kind = type_of_start(given["x0"], flat=True)
        pair = pairs_of(given.pop("bounds", None), kind.shape[0])

        def run(plain: Any, settings: dict[str, Any]) -> Any:
            settings = dict(settings)
            if pair is not None:
                at = plain.at(np.zeros(kind.shape))
                settings["bounds"] = list(zip(at["lower"], at["upper"], strict=True))
            exact = {"fprime": plain.gradient} if hasattr(plain, "gradient") else {"approx_grad": 1}
            answer = solver(_scalar(plain), **settings, **exact)
            return answer, [answer[0]]

        found = minimum(title, function, kind, given, run, [], pair)
        if found is None:
            return solver(*args, **kwargs)
        if name == "fmin_l_bfgs_b":
            x, fun, information = _answer(title, found, True, is_traced_in(pair))
            return x, fun, {**information, "grad": _gradient_at(found)}
        _answer(title, found, True)  # refused where SciPy's answer is not known
        return (found.x, *tuple(found.raw or ())[1:])

    return search


fmin_l_bfgs_b, fmin_tnc = _within_bounds("fmin_l_bfgs_b"), _within_bounds("fmin_tnc")


def _with_constraints(name: str) -> Callable[..., Any]:
    """fmin_slsqp and fmin_cobyla: as `minimize` of that method."""
    solver, title = getattr(theirs, name), f"scipy.optimize.{name}"

    @user_facing
    @functools.wraps(solver)
    def search(*args: Any, **kwargs: Any) -> Any:
        given = arguments_of(solver, args, kwargs)
        wanted = bool(given.pop("full_output", False))
        extra = given.pop("args", ())
        function = objective_of(given.pop("func"), extra)
        kind = type_of_start(given["x0"], flat=True)
        pair = pairs_of(given.pop("bounds", None), kind.shape[0])
        rules: list[dict[str, Any]] = []
        own = extra if given.get("consargs") is None else given.pop("consargs")
        given.pop("consargs", None)
        single = given.pop("cons", ())
        lists = [("eq", given.pop("eqcons", ())), ("ineq", given.pop("ieqcons", ()))]
        lists += [("eq", _alone(given.pop("f_eqcons", None))), ("ineq", _alone(given.pop("f_ieqcons", None)))]
        lists += [("ineq", single if isinstance(single, list | tuple) else [single])]
        for kind_of_rule, functions in lists:
            rules += [{"type": kind_of_rule, "fun": fun, "args": own} for fun in functions]
        for derivative in ("fprime", "fprime_eqcons", "fprime_ieqcons"):
            given.pop(derivative, None)
        parts = parts_of_constraints(rules, pair)

        def run(plain: Any, settings: dict[str, Any]) -> Any:
            settings = dict(settings)
            equal = lambda x: plain.at(x)["equality"]
            above = lambda x: -plain.at(x)["inequality"]
            if name == "fmin_cobyla":
                answer = solver(_scalar(plain), cons=[] if parts is None else [above], **settings)
                return (answer, plain.value(answer)), [answer]
            if parts is None and pair is not None:
                at = plain.at(np.zeros(kind.shape))
                settings["bounds"] = list(zip(at["lower"], at["upper"], strict=True))
            elif parts is not None:
                settings |= {"f_eqcons": equal, "f_ieqcons": above}
            if hasattr(plain, "gradient"):
                settings["fprime"] = plain.gradient
            answer = solver(_scalar(plain), **settings, full_output=True)
            return answer, [answer[0]]

        found = minimum(title, function, kind, given, run, [], pair, parts)
        if found is None:
            return solver(*args, **kwargs)
        return _answer(title, found, wanted, parts is not None or is_traced_in(pair))

    return search


def _alone(function: Any) -> list[Any]:
    return [] if function is None else [function]


fmin_slsqp, fmin_cobyla = _with_constraints("fmin_slsqp"), _with_constraints("fmin_cobyla")


@user_facing
@functools.wraps(theirs.brute)
def brute(*args: Any, **kwargs: Any) -> Any:
    given = arguments_of(theirs.brute, args, kwargs)
    title = "scipy.optimize.brute"
    wanted = bool(given.pop("full_output", False))
    function = objective_of(given.pop("func"), given.pop("args", ()))
    count = len(given["ranges"])

    def run(plain: Any, settings: dict[str, Any]) -> Any:
        if settings.get("finish", theirs.fmin) is None:
            raise UnsupportedError(
                f"{title}: finish=None leaves x on a grid, where it is no minimum and has no derivative. Let it finish."
            )
        answer = theirs.brute(_scalar(plain), **settings, full_output=True)
        return answer, [answer[0]]

    kind = type_of_start(np.zeros(count))
    found = minimum(title, function, kind, given, run, [])
    lost = {2: "grid", 3: "Jout"}
    return theirs.brute(*args, **kwargs) if found is None else _answer(title, found, wanted, False, lost)
