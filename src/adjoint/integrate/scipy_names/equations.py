"""`solve_ivp` and `odeint` under SciPy's names: y′ = f(t, y, *args)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate as theirs

from adjoint.base.errors import UnsupportedError
from adjoint.base.source import user_facing
from adjoint.conversion.driver import prepare
from adjoint.integrate.events import Event
from adjoint.integrate.scipy_names.choice import try_theirs
from adjoint.integrate.scipy_names.paths import Problem, solution_of
from adjoint.integrate.system import Arguments, read_state, trace_function
from adjoint.program.trace import primal
from adjoint.program.types import Value
from adjoint.scipy.arguments import array, floating

__all__ = ["odeint", "solve_ivp"]

METHODS = {"RK45": "dopri5", "RK23": "bosh3", "DOP853": "dop853", "RADAU": "rodas5p", "BDF": "rodas5p", "LSODA": "auto"}
RTOL, ATOL = 1e-6, 1e-9  # the loosest tolerances: derivatives of coarse steps are coarser than the steps
KEPT = ("first_step", "max_step", "min_step")
IGNORED = ("jac", "jac_sparsity", "lband", "uband")  # Jacobians are those of automatic differentiation


@user_facing
@functools.wraps(theirs.solve_ivp)
def solve_ivp(
    fun: Any,
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    title = "scipy.integrate.solve_ivp"
    plain = lambda: theirs.solve_ivp(fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options)
    listed = [] if events is None else list(events) if isinstance(events, list | tuple) else [events]
    extra = () if args is None else tuple(args)
    given = (t_span, y0, t_eval, extra, [v for v in options.values() if not callable(v)])
    found = try_theirs(given, plain, lambda: _read(title, [fun, *listed], y0, extra, vectorized))
    if found is not None:
        return found[0]
    start = _state(title, y0)
    unknown = set(options) - {*IGNORED, *KEPT, "rtol", "atol"}
    if unknown:
        raise TypeError(f"{title}: there are no options {', '.join(sorted(unknown))} where values are traced.")
    settings: dict[str, Any] = {name: options[name] for name in KEPT if options.get(name)}
    settings["rtol"] = _least(options.get("rtol", 1e-3), RTOL, start)
    settings["atol"] = _least(options.get("atol", 1e-6), ATOL, start)
    settings["method"] = _method(title, method)
    t0, t1 = (floating(t) for t in t_span)
    right = _right_side(fun, start, vectorized)
    problem = Problem(right, (t0, t1), start, extra, [_event(title, g) for g in listed], settings)
    given = {name: value for name, value in options.items() if name not in IGNORED}
    return solution_of(problem, t_eval, dense_output, {"method": method, **given})


@user_facing
@functools.wraps(theirs.odeint)
def odeint(
    func: Any,
    y0: Any,
    t: Any,
    args: Any = (),
    Dfun: Any = None,
    col_deriv: Any = 0,
    full_output: Any = 0,
    ml: Any = None,
    mu: Any = None,
    rtol: Any = None,
    atol: Any = None,
    tcrit: Any = None,
    h0: Any = 0.0,
    hmax: Any = 0.0,
    hmin: Any = 0.0,
    ixpr: Any = 0,
    mxstep: Any = 0,
    mxhnil: Any = 0,
    mxordn: Any = 12,
    mxords: Any = 5,
    printmessg: Any = 0,
    tfirst: bool = False,
) -> Any:
    title = "scipy.integrate.odeint"
    extra = args if isinstance(args, tuple) else (args,)
    plain = lambda: theirs.odeint(
        func, y0, t, args, Dfun, col_deriv, full_output, ml, mu, rtol, atol, tcrit, h0, hmax, hmin, ixpr, mxstep,
        mxhnil, mxordn, mxords, printmessg, tfirst,
    )  # fmt: skip
    ordered = func if tfirst else _time_first(func)
    found = try_theirs((y0, t, extra, tcrit), plain, lambda: _read(title, [ordered], y0, extra, False))
    if found is not None:
        return found[0]
    start, times = _state(title, y0), floating(t)
    if times.ndim != 1 or not times.shape[0]:
        raise ValueError(f"{title}: t has shape {times.shape}; it is a sequence of times, the first that of y0.")
    settings: dict[str, Any] = {
        "rtol": _least(1.49e-8 if rtol is None else rtol, RTOL, start),
        "atol": _least(1.49e-8 if atol is None else atol, ATOL, start),
    }
    if tcrit is not None:
        settings["stops"] = array(tcrit)
    if h0:
        settings["first_step"] = h0
    if hmax:
        settings["max_step"] = hmax
    problem = Problem(_right_side(ordered, start, False), (times[0], times[-1]), start, extra, (), settings)
    if times.shape[0] == 1:
        return start[None]
    path = problem.solve(times).raise_if_failed()
    if not full_output:
        return path.values
    return path.values, {"nst": path.steps, "nfe": path.evaluations, "nje": path.jacobians, "message": ""}


def _time_first(func: Callable[..., Any]) -> Callable[..., Any]:
    run = prepare(func)
    return lambda t, y, *args: run(y, t, *args)


def _state(title: str, y0: Any) -> Any:
    """The state as a vector of double precision."""
    found: Any = floating(y0)
    found = found.astype(np.complex128 if found.dtype.kind == "c" else np.float64)
    if found.ndim > 1 or (found.ndim == 0 and title.endswith("solve_ivp")):
        raise ValueError(f"{title}: y0 has shape {found.shape}; it must be 1-dimensional.")
    return np.reshape(found, (-1,))


def _right_side(fun: Callable[..., Any], start: Any, vectorized: bool) -> Callable[..., Any]:
    """f(t, y, *args), which gives what y is: SciPy takes lists, whole numbers and columns as well."""
    run = prepare(fun)

    def f(t: Value, y: Value, *args: Any) -> Value:
        value: Any = floating(run(t, y[:, None] if vectorized else y, *args))
        if value.dtype != start.dtype and not (value.dtype.kind == "c" and start.dtype.kind == "f"):
            value = value.astype(start.dtype)
        return np.reshape(value, start.shape) if value.size == start.size else np.broadcast_to(value, start.shape)

    return f


def _read(title: str, functions: Sequence[Any], y0: Any, args: tuple[Any, ...], vectorized: bool) -> Any:
    """What functions of (t, y, *args) close over."""
    start = _state(title, y0)
    _, layout = read_state(title, "y0", start)
    column = lambda g: lambda t, y, *args: prepare(g)(t, y[:, None], *args)
    functions = [column(functions[0]) if vectorized else functions[0], *functions[1:]]
    return [trace_function(title, "f", g, layout, Arguments(args)).theta for g in functions]


def _least(tolerance: Any, most: float, start: Any) -> Any:
    found = np.minimum(np.asarray(tolerance, float), most)
    if not found.ndim:
        return max(float(found), 1e-13) if most == RTOL else max(float(found), 1e-300)
    return np.maximum(np.broadcast_to(found, start.shape), 1e-13 if most == RTOL else 1e-300)


def _method(title: str, method: Any) -> str:
    name = method if isinstance(method, str) else getattr(method, "__name__", "")
    if name.upper() not in METHODS:
        raise ValueError(f"{title}: method is {method!r}; where values are traced it is one of {', '.join(METHODS)}.")
    return METHODS[name.upper()]


def _event(title: str, g: Callable[..., Any]) -> Event:
    """SciPy's event, with its attributes `terminal` and `direction`."""
    terminal, direction = getattr(g, "terminal", None) or 0, primal(getattr(g, "direction", 0.0))
    if terminal not in (0, 1):
        raise UnsupportedError(
            f"{title}: terminal={terminal!r} of an event counts occurrences, which has no derivative here. Give True, "
            "or let adjoint.integrate.solve go on from each event to the next."
        )
    run = prepare(g)
    return Event(lambda *given: np.reshape(floating(run(*given)), ()), int(np.sign(direction)), bool(terminal))
