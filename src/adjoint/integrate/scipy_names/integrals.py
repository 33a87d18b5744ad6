"""`quad` and its family under SciPy's names: ∫ f(x, *args) dx, one variable after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.integrate as theirs

from adjoint.base.errors import UnsupportedError
from adjoint.base.source import user_facing, warn_user
from adjoint.conversion.driver import prepare
from adjoint.integrate.quadrature.integral import Integral
from adjoint.integrate.quadrature.integral import quad as integral
from adjoint.integrate.quadrature.reading import read_integrand
from adjoint.integrate.scipy_names.choice import has_traced, try_theirs
from adjoint.program.trace import primal
from adjoint.scipy.arguments import array, floating

__all__ = ["dblquad", "nquad", "quad", "quad_vec", "tplquad"]

EPSILON = 1.49e-8  # QUADPACK's tolerances, as SciPy has them
LEAST, MOST = 200, 1000  # intervals


@user_facing
@functools.wraps(theirs.quad)
def quad(
    func: Any,
    a: Any,
    b: Any,
    args: Any = (),
    full_output: Any = 0,
    epsabs: Any = EPSILON,
    epsrel: Any = EPSILON,
    limit: int = 50,
    points: Any = None,
    weight: Any = None,
    wvar: Any = None,
    wopts: Any = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> Any:
    title, args = "scipy.integrate.quad", _as_tuple(args)
    plain = lambda: theirs.quad(
        func, a, b, args, full_output, epsabs, epsrel, limit, points, weight, wvar, wopts, maxp1, limlst, complex_func
    )
    found = try_theirs((a, b, args, points, wvar), plain, lambda: read_integrand(title, func, args).theta)
    if found is not None:
        return found[0]
    f = _numbers(title, func, complex_func)
    result = _integrate(title, f, a, b, args, points, weight, wvar, epsabs, epsrel, limit)
    _warn_if_failed(title, result)
    answer = (result.value, result.error)
    return (*answer, {"neval": result.evaluations}) if full_output else answer


@user_facing
@functools.wraps(theirs.quad_vec)
def quad_vec(
    f: Any,
    a: Any,
    b: Any,
    epsabs: Any = 1e-200,
    epsrel: Any = 1e-8,
    norm: str = "2",
    cache_size: Any = 100e6,
    limit: int = 10000,
    workers: Any = 1,
    points: Any = None,
    quadrature: Any = None,
    full_output: bool = False,
    *,
    args: Any = (),
) -> Any:
    title, args = "scipy.integrate.quad_vec", _as_tuple(args)
    plain = lambda: theirs.quad_vec(
        f, a, b, epsabs, epsrel, norm, cache_size, limit, workers, points, quadrature, full_output, args=args
    )
    found = try_theirs((a, b, args, points), plain, lambda: read_integrand(title, f, args).theta)
    if found is not None:
        return found[0]
    run = prepare(f)
    values = lambda x, *given: floating(run(x, *given))
    result = _integrate(title, values, a, b, args, points, None, None, epsabs, epsrel, limit)
    if not full_output:
        return result.value, result.error
    report = SimpleNamespace(success=result.converged, neval=result.evaluations, message=result.status)
    return result.value, result.error, report


@user_facing
@functools.wraps(theirs.nquad)
def nquad(func: Any, ranges: Any, args: Any = None, opts: Any = None, full_output: bool = False) -> Any:
    title = "scipy.integrate.nquad"
    extra = () if args is None else _as_tuple(args)
    listed = [r if callable(r) else tuple(r) for r in ranges]
    options = [opts] * len(listed) if opts is None or isinstance(opts, dict) or callable(opts) else list(opts)
    if not listed or len(options) != len(listed):
        raise ValueError(f"{title}: there are {len(listed)} ranges and {len(options)} opts; each variable has one.")
    plain = lambda: theirs.nquad(func, ranges, args, opts, full_output)
    return _nested(title, plain, func, listed, options, extra, full_output)


@user_facing
@functools.wraps(theirs.dblquad)
def dblquad(
    func: Any,
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    args: Any = (),
    epsabs: Any = EPSILON,
    epsrel: Any = EPSILON,
) -> Any:
    ends = [_of_first(gfun, 1), _of_first(hfun, 1)]
    ranges = [_pair(ends), (a, b)]
    options = [{"epsabs": epsabs, "epsrel": epsrel}] * 2
    plain = lambda: theirs.dblquad(func, a, b, gfun, hfun, args, epsabs, epsrel)
    return _nested("scipy.integrate.dblquad", plain, func, ranges, options, _as_tuple(args))


@user_facing
@functools.wraps(theirs.tplquad)
def tplquad(
    func: Any,
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: Any = (),
    epsabs: Any = EPSILON,
    epsrel: Any = EPSILON,
) -> Any:
    inner = [_of_first(qfun, 2), _of_first(rfun, 2)]
    middle = [_of_first(gfun, 1), _of_first(hfun, 1)]
    ranges = [_pair(inner), _pair(middle), (a, b)]
    options = [{"epsabs": epsabs, "epsrel": epsrel}] * 3
    plain = lambda: theirs.tplquad(func, a, b, gfun, hfun, qfun, rfun, args, epsabs, epsrel)
    return _nested("scipy.integrate.tplquad", plain, func, ranges, options, _as_tuple(args))


def _of_first(end: Any, count: int) -> Any:
    """An end of dblquad or tplquad, in the order of nquad's arguments: SciPy gives these functions (x, y)."""
    if not callable(end):
        return end
    run = prepare(end)
    return lambda *later: run(*later[:count][::-1])


def _pair(ends: Sequence[Any]) -> Any:
    if not any(callable(end) for end in ends):
        return tuple(ends)
    return lambda *later: tuple(end(*later) if callable(end) else end for end in ends)


def _nested(
    title: str, plain: Callable[[], Any], func: Any, ranges: Sequence[Any], options: Sequence[Any],
    args: tuple[Any, ...], full_output: bool = False,
) -> Any:  # fmt: skip
    f = _numbers(title, func, False)
    run = lambda: _over(title, f, ranges, options, args, len(ranges) - 1, ())
    given = ([r for r in ranges if not callable(r)], args, [o for o in options if not callable(o)])
    found = try_theirs(given, plain, lambda: read_integrand(title, lambda x: x + run().value, ()).theta)
    if found is not None:
        return found[0]
    result = run()
    _warn_if_failed(title, result)
    return (result.value, result.error, {"neval": result.evaluations}) if full_output else (result.value, result.error)


def _over(
    title: str, f: Callable[..., Any], ranges: Sequence[Any], options: Sequence[Any], args: tuple[Any, ...], level: int,
    later: tuple[Any, ...],
) -> Integral:  # fmt: skip
    """The integral over the variables up to a level, at given later ones."""
    span, chosen = ranges[level], options[level]
    a, b = prepare(span)(*later, *args) if callable(span) else span
    chosen = dict((prepare(chosen)(*later, *args) if callable(chosen) else chosen) or {})
    named = {name: chosen.pop(name, None) for name in ("points", "weight", "wvar")}
    epsabs, epsrel, limit = chosen.pop("epsabs", EPSILON), chosen.pop("epsrel", EPSILON), chosen.pop("limit", 50)
    for name in ("full_output", "wopts", "maxp1", "limlst"):
        chosen.pop(name, None)
    if chosen:
        raise UnsupportedError(f"{title}: opts has {', '.join(chosen)}, which has no meaning for traced values.")

    def integrand(x: Any) -> Any:
        if level == 0:
            return f(x, *later, *args)
        return _over(title, f, ranges, options, args, level - 1, (x, *later)).value

    # inner integrals are the more accurate, or their errors would be roughness of the outer integrand
    factor = 10.0 ** (level - len(ranges) + 1)
    return _integrate(title, integrand, a, b, (), **named, epsabs=factor * epsabs, epsrel=factor * epsrel, limit=limit)


def _integrate(
    title: str, f: Callable[..., Any], a: Any, b: Any, args: tuple[Any, ...], points: Any, weight: Any, wvar: Any,
    epsabs: Any, epsrel: Any, limit: int,
) -> Integral:  # fmt: skip
    """The integral by ours."""
    if weight is not None:
        f = _weighted(title, f, a, b, weight, wvar)
    cuts = _cuts(points, a, b)
    count = min(max(int(limit), LEAST), MOST)
    return integral(f, a, b, args=args, points=cuts, rtol=epsrel, atol=epsabs, max_intervals=count)


def _weighted(title: str, f: Callable[..., Any], a: Any, b: Any, weight: Any, wvar: Any) -> Callable[..., Any]:
    is_finite = not any(_is_infinite(end, sign) for end in (a, b) for sign in (1.0, -1.0))
    if weight not in ("cos", "sin") or not is_finite:
        raise UnsupportedError(
            f"{title}: weight={weight!r} has no derivative here; of SciPy's weights 'cos' and 'sin' between finite "
            "ends have one. Write the weight into the function; adjoint.integrate.quad(…, method='tanh-sinh') is for "
            "singularities at the ends."
        )
    wave = np.cos if weight == "cos" else np.sin
    return lambda x, *args: f(x, *args) * wave(wvar * x)


def _is_infinite(end: Any, sign: float) -> bool:
    return not has_traced(end) and float(end) == sign * np.inf


def _cuts(points: Any, a: Any, b: Any) -> list[Any]:
    """Breakpoints from a to b, as far as their order is known; plain ones outside are none."""
    if points is None:
        return []
    found: Any = floating(points)
    ends = [np.asarray(primal(v)) for v in (a, b) if not has_traced(primal(v))]
    if len(ends) == 2 and not has_traced(found):
        low, high = sorted(map(float, ends))
        found = np.unique(found[(found > low) & (found < high)])
    found = np.sort(found)
    is_down = len(ends) == 2 and ends[0] > ends[1]
    listed = [found[i] for i in range(found.shape[0])]
    return listed[::-1] if is_down else listed


def _numbers(title: str, func: Any, may_be_complex: bool) -> Callable[..., Any]:
    """The integrand, which gives one number at one point."""
    run = prepare(func)

    def f(*given: Any) -> Any:
        value: Any = floating(array(run(*given)))
        if value.size != 1:
            raise ValueError(f"{title}: the function returned an array of shape {value.shape}; it is one number at one "
                             "point. scipy.integrate.quad_vec takes arrays.")  # fmt: skip
        if value.dtype.kind == "c" and not may_be_complex:
            raise TypeError(f"{title}: the function returned a complex number. Give complex_func=True.")
        return np.reshape(value, ())

    return f


def _as_tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


def _warn_if_failed(title: str, found: Integral) -> None:
    """SciPy's warning. A compiled program gives its error estimate instead."""
    if has_traced(found.code) or np.all(np.asarray(found.code) == 0):
        return
    warn_user(f"{title}: {found.status}. {found.advice}", theirs.IntegrationWarning)
