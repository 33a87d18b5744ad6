"""`root_scalar` and `minimize_scalar`: one unknown, or many that have nothing to do with each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import DtypeError, ShapeError
from adjoint.base.source import user_facing
from adjoint.base.suggestions import did_you_mean
from adjoint.implicit.function import ImplicitFunction
from adjoint.implicit.roots import equation_for
from adjoint.optimize.derivatives import attach_envelope
from adjoint.optimize.limits import check_tolerance, read_count
from adjoint.optimize.optimum import Optimum
from adjoint.optimize.oracles import Counter, prepare_call
from adjoint.optimize.scalars.brackets import ITP, Bisection, Brent, Chandrupatla, narrow, start_bracket
from adjoint.optimize.scalars.minima import Golden, Parabolic, bracket_minimum, start_triple
from adjoint.optimize.scalars.open_methods import Halley, Newton1D, Points, Secant, advance, derive
from adjoint.optimize.statuses import CONVERGED, INFEASIBLE, MAX_ITERATIONS, NO_BRACKET, NOT_FINITE, RUNNING
from adjoint.program.trace import TRACED
from adjoint.program.types import Value

__all__ = ["minimize_scalar", "root_scalar"]

BRACKETED: dict[str, Any] = {"bisect": Bisection, "brent": Brent, "chandrupatla": Chandrupatla, "itp": ITP}
_SYNONYMS = {"brentq": "brent", "bisection": "bisect"}
OPEN: dict[str, Any] = {"newton": Newton1D, "halley": Halley, "secant": Secant}
MINIMA: dict[str, Any] = {"brent": Parabolic, "golden": Golden}


def _choose(title: str, method: Any, default: str, *tables: dict[str, Any]) -> Any:
    known = {name: made for table in tables for name, made in table.items()}
    name = default if method == "auto" else method
    if isinstance(name, str):
        name = _SYNONYMS.get(name.lower(), name)
        if name.lower() not in known:
            near = did_you_mean(name, known)
            raise ValueError(f"{title}: {name!r} is no method. {near or 'They are: ' + ', '.join(known) + '.'}")
        return known[name.lower()]()
    if not isinstance(name, tuple(known.values())):
        raise TypeError(f"{title}: method is a {type(name).__name__}; it is one of: {', '.join(known)}.")
    return name


def _divide(A: Any, b: Value) -> Value:
    """t with A t = b for a diagonal A."""
    return b / A(np.ones_like(b))


def _as_floats(title: str, name: str, value: Any) -> Any:
    """Floating-point numbers, of any shape."""
    if isinstance(value, TRACED):
        return value if value.dtype.kind == "f" else value.astype(float)
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise DtypeError(f"{title}: {name} is {array.dtype}; it is made of real numbers.")
    return (array.astype(float) if array.dtype.kind != "f" else array)[()]


def _spread(*values: Any) -> list[Any]:
    """Values with one shape and one type."""
    shape = np.broadcast_shapes(*[np.shape(v) for v in values])
    dtype = np.result_type(*[v.dtype for v in values])
    return [np.broadcast_to(v, shape).astype(dtype) + 0 for v in values]


def _check_shape(title: str, value: Any, x: Any) -> Any:
    if np.shape(value) != np.shape(x):
        raise ShapeError(
            f"{title}: the function gives shape {np.shape(value)} for x of shape {np.shape(x)}; it treats each element "
            "by itself. For a system of equations use root."
        )
    return value if getattr(value, "dtype", None) == x.dtype else np.asarray(value).astype(x.dtype) if not isinstance(
        value, TRACED) else value.astype(x.dtype)  # fmt: skip


@user_facing
def root_scalar(
    f: Callable[..., Any],
    *args: Any,
    bracket: tuple[Any, Any] | None = None,
    x0: Any = None,
    method: Any = "auto",
    bounds: tuple[Any, Any] | None = None,
    tol: Any = None,
    max_iterations: int = 200,
    differentiate: Any = "equation",
    check: str = "warn",
) -> Optimum:
    """x with f(x, *args) = 0, for each element of an array by itself: f is called with whole arrays.

    With `bracket=(a, b)`, at whose ends f differs in sign: "chandrupatla" (the default), "brent", "itp", "bisect". With
    `x0`: "newton" (the default), "halley", "secant", which stay within `bounds` ("infeasible" is said where they end at
    one that is no root); the derivatives that they need are taken here. `tol` is the relative size of the last interval
    or step. Each element has its own status and count; a bracket without a change of sign is the status "no bracket".

    ```python
    cube_root = lambda a: ad.optimize.root_scalar(lambda x, a: x**3 - a, a, bracket=(0.0, 10.0)).value
    np.round(cube_root(np.array([1.0, 8.0, 27.0])), 9)  # → [1.0, 2.0, 3.0]
    float(np.round(ad.grad(cube_root)(8.0), 9))  # → 0.083333333
    ```
    """
    title = "root_scalar"
    if (bracket is None) == (x0 is None):
        raise ValueError(f"{title}: give either bracket=(a, b) or x0, where the search starts.")
    chosen = _choose(title, method, "chandrupatla" if x0 is None else "newton", BRACKETED if x0 is None else OPEN)
    limit = read_count(title, "max_iterations", max_iterations)
    check_tolerance(title, tol)
    f = prepare_call(f)

    def solve(start: Any, *theta: Any) -> Any:
        at = lambda x: _check_shape(title, f(x, *theta), x)
        with np.errstate(all="ignore"):
            if bracket is not None:
                return _solve_bracket(chosen, at, start["a"], start["b"], tol, limit)
            return _solve_open(chosen, at, start, bounds, tol, limit, title)

    if bracket is not None:
        if len(bracket) != 2:
            raise ValueError(f"{title}: bracket has {len(bracket)} numbers; it is a pair (a, b).")
        a, b = _spread(*[_as_floats(title, "bracket", v) for v in bracket])
        shape, start = np.shape(_probe(f, a, args)), {"a": a, "b": b}
        a, b = (np.broadcast_to(v, np.broadcast_shapes(shape, np.shape(v))) + 0 for v in (a, b))
        start = {"a": a, "b": b}
    else:
        start = _as_floats(title, "x0", x0)
        shape = np.broadcast_shapes(np.shape(_probe(f, start, args)), np.shape(start))
        start = np.broadcast_to(start, shape) + 0
        _refuse_outside(title, start, bounds)
    equation = equation_for(title, (), _divide, differentiate, check)
    function = ImplicitFunction(f, lambda s, *theta: solve(s, *theta), start, equation, True, title, plain=False)
    x, reports = _solved(function, f, solve, start, equation, title, args)
    name = f"root_scalar by {type(chosen).__name__}"
    return Optimum(x, reports["fun"], None, reports["code"], reports["iterations"], {"value": reports["count"]},
                   reports["residual"], reports["target"], method=name)  # fmt: skip


def _refuse_outside(title: str, x: Any, bounds: Any) -> None:
    if bounds is None or any(isinstance(v, TRACED) for v in (x, *bounds)):
        return
    lower, upper = (side if end is None else end for side, end in zip((-np.inf, np.inf), bounds, strict=True))
    if np.any(np.asarray(lower) > upper):
        raise ValueError(f"{title}: bounds are {bounds}: the lower one must not be larger than the upper one.")
    if np.any((x < lower) | (x > upper)):
        raise ValueError(
            f"{title}: x0 = {x} is outside its bounds {bounds}. Start within, e.g. at np.clip(x0, *bounds)."
        )


def _probe(f: Callable[..., Any], x: Any, args: Any) -> Any:
    with np.errstate(all="ignore"):
        return f(x, *args)


def _solved(function: Any, f: Any, solve: Any, start: Any, equation: Any, title: str, args: Any) -> Any:
    """x by its equation; where the search starts with an interval the solver is given it, not a point like x."""
    if not isinstance(start, dict):
        return function(*args)
    own = ImplicitFunction(lambda x, ends, *theta: f(x, *theta), lambda ends, *theta: solve(ends, *theta), None,
                           equation, True, title)  # fmt: skip
    return own({"a": _stop(start["a"]), "b": _stop(start["b"])}, *args)


def _stop(value: Any) -> Any:
    return value


def _finish(x: Value, f: Value, code: Value, count: Value, iterations: Value, goal: Value) -> Any:
    code = np.where(code == RUNNING, MAX_ITERATIONS, code)
    return x, {"fun": f, "code": code, "count": count, "iterations": iterations, "residual": np.abs(f), "target": goal}


def _tolerance(tol: Any, dtype: Any, least: float) -> Any:
    return least * float(np.finfo(dtype).eps) if tol is None else tol


def _solve_bracket(method: Any, f: Any, a: Value, b: Value, tol: Any, limit: int) -> Any:
    goal = _tolerance(tol, a.dtype, 4.0)
    fa, fb = f(a), f(b)
    state = start_bracket(a, fa, b, fb, getattr(method, "keeps_steps", False))
    counter = Counter(())

    def body(now: Any) -> Any:
        elements, done = now
        x = elements.x + method.choose_share(elements, goal, done) * (elements.other - elements.x)
        x = x if x.dtype == a.dtype else x.astype(a.dtype)
        return narrow(elements, x, f(x), goal), done + 1

    go = lambda now: np.logical_and(np.any(now[0].code == RUNNING), now[1] < limit)
    last, done = counter.loop(go, body, (state, np.int64(0)))
    nearer = np.abs(last.f) <= np.abs(last.f_other)
    x, value = np.where(nearer, last.x, last.other), np.where(nearer, last.f, last.f_other)
    iterations = last.count - 2
    # at a pole or a jump the sign changes in an interval that is as small as can be, and no value is
    far = np.logical_and(np.abs(value) >= np.maximum(np.abs(fa), np.abs(fb)), value != 0)
    code = np.where(np.logical_and(last.code == CONVERGED, far), NO_BRACKET, last.code)
    return _finish(x, value, code, last.count, iterations + 0 * done, np.abs(value) * 0 + goal)


def _solve_open(method: Any, f: Any, x: Value, bounds: Any, tol: Any, limit: int, title: str) -> Any:
    goal = _tolerance(tol, x.dtype, 4.0)
    box: Any = None
    if bounds is not None:
        lower, upper = (side if end is None else end for side, end in zip((-np.inf, np.inf), bounds, strict=True))
        box = tuple(np.asarray(v).astype(x.dtype) if not isinstance(v, TRACED) else v for v in (lower, upper))
        x = np.minimum(np.maximum(x, box[0]), box[1])
    before = x
    if isinstance(method, Secant):
        before = x + 1e-4 * np.maximum(np.abs(x), 1.0)
        before = before if box is None else np.minimum(np.maximum(before, box[0]), box[1])
    began = 2 if isinstance(method, Secant) else 1
    value, step = method.look(f, x, before, f(before) if began == 2 else None)
    first = np.where(np.isfinite(value), RUNNING, NOT_FINITE)
    first = np.where(value == 0, 0, first)
    state = Points(x, value, step.astype(x.dtype), first, 0 * first + began, np.zeros(np.shape(first), bool))
    counter = Counter(())

    def body(now: Any) -> Any:
        points, done = now
        return advance(method, f, points, goal, box), done + 1

    go = lambda now: np.logical_and(np.any(now[0].code == RUNNING), now[1] < limit)
    last, done = counter.loop(go, body, (state, np.int64(0)))
    if box is not None:
        last = last._replace(code=np.where(box[0] > box[1], INFEASIBLE, last.code))
    iterations = (last.count - began) // method.calls
    return _finish(last.x, last.f, last.code, last.count, iterations + 0 * done, np.abs(last.f) * 0 + goal)


@user_facing
def minimize_scalar(
    f: Callable[..., Any],
    *args: Any,
    bounds: tuple[Any, Any] | None = None,
    x0: Any = None,
    method: Any = "brent",
    tol: Any = None,
    max_iterations: int = 200,
    differentiate: Any = "equation",
    check: str = "warn",
) -> Optimum:
    """x that makes f(x, *args) smallest, for each element of an array by itself: f is called with whole arrays.

    Within `bounds=(a, b)`, or in an interval that is looked for from `x0`, by Brent's method ("brent": parabolas,
    golden section where they fail) or by golden section alone ("golden"). Values tell a minimum to half of their
    digits only; steps of Newton's method on f' give the others. Each element has its own status and count.

    ```python
    best = lambda a: ad.optimize.minimize_scalar(lambda x, a: np.cosh(x - a) + 0.3 * x * x, a, bounds=(-5.0, 5.0))
    float(np.round(ad.grad(lambda a: best(a).value)(1.3), 6))  # → 0.650249
    ```
    """
    title = "minimize_scalar"
    if (bounds is None) == (x0 is None):
        raise ValueError(f"{title}: give either bounds=(a, b) or x0, where the search starts.")
    chosen = _choose(title, method, "brent", MINIMA)
    f = prepare_call(f)
    limit = read_count(title, "max_iterations", max_iterations)
    check_tolerance(title, tol)
    given = (x0,) if bounds is None else bounds
    ends = _spread(*[_as_floats(title, "x0" if bounds is None else "bounds", v) for v in given])
    shape = np.broadcast_shapes(np.shape(_probe(f, ends[0], args)), np.shape(ends[0]))
    ends = [np.broadcast_to(v, shape) + 0 for v in ends]
    if bounds is not None and not any(isinstance(v, TRACED) for v in ends) and np.any(ends[0] > ends[1]):
        raise ValueError(f"{title}: bounds are {bounds}: the lower one must not be larger than the upper one.")

    def solve(ends: Any, *theta: Any) -> Any:
        at = lambda x: _check_shape(title, f(x, *theta), x)
        with np.errstate(all="ignore"):
            return _solve_minimum(chosen, at, ends, tol, limit)

    def stationary(x: Any, ends: Any, *theta: Any) -> Any:
        slow = derive(lambda x: f(x, *theta), x)[1]
        return slow if len(ends) == 1 else x - np.minimum(np.maximum(x - slow, ends[0]), ends[1])

    equation = equation_for(title, (), _divide, differentiate, check)
    x, reports = ImplicitFunction(stationary, solve, None, equation, True, title)(tuple(ends), *args)
    fun = _attach_value(f, x, reports["fun"], ends, args)
    name = f"minimize_scalar by {type(chosen).__name__}"
    return Optimum(x, fun, None, reports["code"], reports["iterations"], {"value": reports["count"]},
                   reports["residual"], reports["target"], method=name)  # fmt: skip


def _attach_value(f: Any, x: Value, fun: Value, ends: Any, args: Any) -> Any:
    """fun with its derivative; an end that depends on θ moves it by f' there."""
    if len(ends) < 2 or not any(isinstance(end, TRACED) for end in ends):
        return attach_envelope(f, x, fun, args)
    slow = derive(lambda x: f(x, *args), x)[1]
    above, below = x - slow >= ends[1], x - slow <= ends[0]

    def valued(point: Any, low: Value, high: Value, *theta: Any) -> Any:
        return f(point[0], *theta) + point[1] * np.where(above, high, np.where(below, low, 0.0))

    price = np.where(np.logical_or(above, below), slow, 0.0)
    return attach_envelope(valued, (x, price), fun, (*ends, *args))


def _solve_minimum(method: Any, f: Any, ends: Any, tol: Any, limit: int) -> Any:
    counter = Counter(())
    dtype = ends[0].dtype
    goal = float(np.finfo(dtype).eps) ** 0.5 if tol is None else tol
    triple = start_triple(f, *ends) if len(ends) == 2 else bracket_minimum(counter, f, ends[0], limit)

    def body(now: Any) -> Any:
        return method.narrow(now[0], f, goal), now[1] + 1

    go = lambda now: np.logical_and(np.any(now[0].code == RUNNING), now[1] < limit)
    last, done = counter.loop(go, body, (triple, np.int64(0)))
    x, value, slow = polish(f, last, ends)
    code = np.where(last.code == RUNNING, MAX_ITERATIONS, last.code)
    code = np.where(ends[0] > ends[-1], INFEASIBLE, code)  # plain ones that cross are refused
    reports = {"fun": value, "code": code, "count": last.count + len(ends), "iterations": last.steps + 0 * done,
               "residual": slow, "target": np.abs(slow) * 0 + goal}  # fmt: skip
    return x, reports


def polish(f: Any, last: Any, ends: Any) -> tuple[Value, Value, Value]:
    """Newton's steps on f', kept within the interval that the search has left; x, f(x) and |f'(x)|."""
    x = last.x
    first = lambda x: derive(f, x)[1]
    for _ in range(3):
        d, dd = derive(first, x)
        step = np.where(np.logical_and(dd > 0, np.isfinite(dd)), d / np.where(dd > 0, dd, 1.0), 0.0)
        near = np.logical_and(x - step >= last.low, x - step <= last.high)
        x = np.where(np.logical_and(near, last.inside), x - step, x)
    value, d = derive(f, x)
    keep = np.logical_and(value <= last.f + 1e-12 * np.abs(last.f), np.isfinite(value))
    x, value = np.where(keep, x, last.x), np.where(keep, value, last.f)
    if len(ends) == 2:  # the search comes near an end, and never to it
        end = np.where(x - ends[0] < ends[1] - x, ends[0], ends[1])
        at_end, slow = derive(f, end)
        lower = np.logical_and(at_end < value, np.isfinite(at_end))
        x, value, d = np.where(lower, end, x), np.where(lower, at_end, value), np.where(lower, slow, d)
        d = x - np.minimum(np.maximum(x - d, ends[0]), ends[1])
    return x, value, np.abs(d)
