"""Functions of single elements that are no ufuncs: rounding, closeness, parts of complex numbers, sinc, piecewise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.numpy.dispatch import as_array, constant, implements, into, is_traced, refuse_truth
from adjoint.numpy.shaping import convert
from adjoint.program.trace import Tracer
from adjoint.program.types import Value


@implements(np.round, np.around)
def round(a: Any, decimals: int = 0, out: Any = None) -> Value:
    a = as_array(a)
    if decimals != 0:
        refuse_truth(a, "np.round with decimals")
    if a.dtype.kind in "biu" and decimals >= 0:
        return into(out, convert(a, np.float16) if a.dtype.kind == "b" else +a)
    if decimals == 0:
        return into(out, np.rint(a))
    scale = 10.0 ** abs(decimals)
    z = np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale
    return into(out, convert(z, a.dtype))


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Value:
    return into(out, np.trunc(x))


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Value:
    a, b = as_array(a), as_array(b)
    with np.errstate(invalid="ignore"):  # inf - inf is decided by equality
        near = np.less_equal(np.abs(a - b), atol + rtol * np.abs(b))
    close = np.logical_or(np.logical_and(near, np.isfinite(b)), np.equal(a, b))
    return np.logical_or(close, np.logical_and(np.isnan(a), np.isnan(b))) if equal_nan else close


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> bool:
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    a1, a2 = as_array(a1), as_array(a2)
    if a1.shape != a2.shape:
        return False
    same = np.equal(a1, a2)
    return bool(np.all(np.logical_or(same, np.logical_and(np.isnan(a1), np.isnan(a2))) if equal_nan else same))


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> bool:
    try:
        np.broadcast_shapes(np.shape(a1), np.shape(a2))
    except ValueError:
        return False
    return bool(np.all(np.equal(as_array(a1), as_array(a2))))


def _refuse_complex(call: str, x: Value) -> None:
    if x.dtype.kind == "c":
        raise TypeError(f"{call} of {x.dtype} values: complex numbers have no sign")


@implements(np.isneginf)
def isneginf(x: Value, out: Any = None) -> Value:
    _refuse_complex("np.isneginf", x)
    return into(out, np.equal(x, -np.inf))


@implements(np.isposinf)
def isposinf(x: Value, out: Any = None) -> Value:
    _refuse_complex("np.isposinf", x)
    return into(out, np.equal(x, np.inf))


@implements(np.isreal)
def isreal(x: Value) -> Value:
    return np.equal(np.imag(x), 0)


@implements(np.iscomplex)
def iscomplex(x: Value) -> Value:
    return np.not_equal(np.imag(x), 0)


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Value:
    z = as_array(z)
    if z.dtype.kind == "c":
        phase = np.arctan2(np.imag(z), np.real(z))
    else:  # that of -0 is π, as it is of all below
        x = convert(z, np.float64) if z.dtype.kind in "biu" else z
        phase = np.where(np.isnan(x), x, np.where(np.signbit(x), x.dtype.type(np.pi), x.dtype.type(0)))
    return phase * (180 / np.pi) if deg else phase


@implements(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Value:
    a = as_array(a)
    if a.dtype.kind != "c":
        return a
    limit = tol * np.finfo(a.dtype).eps if tol > 1 else tol
    return np.real(a) if bool(np.all(np.less(np.abs(np.imag(a)), limit))) else a


# (-1)ᵏ / (2k+1)!, highest first
_SINC_SERIES = [(-1) ** k / math.factorial(2 * k + 1) for k in range(14)][::-1]


@implements(np.sinc)
def sinc(x: Value) -> Value:
    """sin(πx)/(πx); by its power series for |πx| < 1, where the quotient has no derivatives at 0."""
    y = np.pi * (convert(x, np.float64) if x.dtype.kind in "biu" else x)
    small = np.less(np.abs(y), 1.0)
    near = np.where(small, y, y.dtype.type(0))
    square = near * near
    series = square * _SINC_SERIES[0] + _SINC_SERIES[1]
    for c in _SINC_SERIES[2:]:
        series = series * square + c
    far = np.where(small, y.dtype.type(1), y)
    return np.where(small, series, np.sin(far) / far)


@implements(np.i0)
def i0(x: Value) -> Value:
    """The modified Bessel function of order zero."""
    import scipy.special  # loaded when first needed

    return scipy.special.i0(x)


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Value:
    x = as_array(x)
    single = isinstance(condlist, bool | np.bool_) or (
        not isinstance(condlist, list | tuple)
        and np.ndim(condlist) <= max(x.ndim, 1) - (x.ndim > 0 and np.ndim(condlist) > x.ndim)
    )
    conditions = [as_array(c) for c in ([condlist] if single else condlist)]  # pyright: ignore[reportGeneralTypeIssues]
    if len(funclist) == len(conditions) + 1:
        rest = np.logical_not(conditions[0])
        for c in conditions[1:]:
            rest = np.logical_and(rest, np.logical_not(c))
        conditions.append(rest)
    elif len(funclist) != len(conditions):
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} functions are "
            "expected"
        )
    y = constant(np.zeros(x.shape, x.dtype))
    for condition, function in zip(conditions, funclist, strict=True):
        condition = np.broadcast_to(condition, x.shape)
        if not callable(function):
            y = np.where(condition, convert(as_array(function), x.dtype), y)
        elif isinstance(condition, Tracer) or x.ndim == 0:
            y = np.where(condition, convert(as_array(function(x, *args, **kw)), x.dtype), y)
        elif np.any(condition):
            y[condition] = function(x[condition], *args, **kw)
    return y


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    return np.result_type(*[a.dtype if isinstance(a, Tracer) else a for a in arrays_and_dtypes])


@implements(np.min_scalar_type)
def min_scalar_type(a: Any, /) -> Any:
    return a.dtype


def _root(x: Any) -> Any:
    while isinstance(x, Tracer) and hasattr(x, "_base") and x._base[1].read is not None:
        x = x._base[0]
    return x


@implements(np.may_share_memory, np.shares_memory)
def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    return is_traced(a) and is_traced(b) and _root(a) is _root(b)


@implements(np.array_repr, np.array_str, np.array2string)
def array_text(a: Any, *args: Any, **kwargs: Any) -> str:
    return repr(a)
