"""Functions of `math`, `cmath`, `statistics`, `operator` and `heapq` in converted code, for traced numbers."""

# Values are of any kind here, and traced ones pass through NumPy's functions.
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import bisect
import cmath
import copy
import functools
import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from adjoint.conversion.builtins import int_
from adjoint.conversion.calls import FINDERS, call, instead_of, note_container_made
from adjoint.conversion.catching import is_trying
from adjoint.conversion.log import note_container
from adjoint.conversion.questions import is_of_batch, is_undecided
from adjoint.conversion.special_methods import Ordered, has_own_order, own_method
from adjoint.conversion.stores import apply_binary
from adjoint.numpy import special
from adjoint.program.trace import Tracer, concrete

# names of `math` whose function of NumPy is called otherwise
_RENAMED = {"fabs": "absolute", "pow": "power", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
            "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}  # fmt: skip
_SAME = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "copysign",
    "cos",
    "cosh",
    "degrees",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fmod",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "log10",
    "log1p",
    "log2",
    "nextafter",
    "pow",
    "radians",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]
_SPECIAL = {"erf": "erf", "erfc": "erfc", "gamma": "gamma", "lgamma": "gammaln"}


# functions that raise outside of their domain, and those whose results may be too large
_PARTIAL = frozenset({
    "acos", "acosh", "asin", "atanh", "fmod", "gamma", "lgamma", "log", "log10", "log1p", "log2", "pow", "sqrt",
    "cosh", "exp", "exp2", "expm1", "sinh",
})  # fmt: skip
_GROWING = frozenset({"cosh", "exp", "exp2", "expm1", "sinh"})


def _either(plain: Any, ours: Callable[..., Any]) -> Callable[..., Any]:
    """A function on plain numbers, and ours when one is traced."""
    is_partial = plain.__module__ == "math" and plain.__name__ in _PARTIAL

    @functools.wraps(plain)
    def function(*args: Any, **kwargs: Any) -> Any:
        args = tuple(map(as_number, args))
        if not any(isinstance(a, Tracer) for a in args):
            return plain(*args, **kwargs)
        if is_partial and not any(map(_is_unknown, args)):
            plain(*[np.asarray(concrete(a)).item() if isinstance(a, Tracer) else a for a in args])  # raises, as it does
        if not (is_partial and is_trying() and any(map(_is_unknown, args))):
            return ours(*map(_as_float, args), **kwargs)
        with np.errstate(all="ignore"):
            result = ours(*map(_as_float, args), **kwargs)
        _refuse_beyond(plain.__name__, result, args)
        return result

    return instead_of(plain)(function)


def as_number(value: Any) -> Any:
    """What a function of `math` computes with: an object of the user's by its own conversion."""
    method = own_method(value, "__float__", "__index__")
    return value if method is None else method()


def _is_unknown(x: Any) -> bool:
    return isinstance(x, Tracer) and (bool(x.shape) or is_undecided(x) or is_of_batch(x))


def _refuse_beyond(name: str, result: Any, args: Sequence[Any]) -> None:
    """Inside of try: whether a function raises is asked, and the program is for the answer."""
    if np.isfinite(result) or not all(np.isfinite(a) for a in args):
        return
    if name in _GROWING:
        raise OverflowError("math range error")
    raise ValueError("math domain error")


def _as_float(x: Any) -> Any:
    """A traced number of single precision as a float of Python's, which these functions compute with."""
    is_short = isinstance(x, Tracer) and x.dtype.kind == "f" and x.dtype != np.float64
    return x.astype(np.float64) if is_short else x


for _name in _SAME:
    if hasattr(math, _name):
        _either(getattr(math, _name), getattr(np, _RENAMED.get(_name, _name)))
for _name, _theirs in _SPECIAL.items():
    _either(getattr(math, _name), functools.partial(lambda name, x: getattr(special, name)(x), _theirs))
for _name in [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "log10",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]:
    _ours = getattr(np, _RENAMED.get(_name, _name))
    _either(getattr(cmath, _name), functools.partial(lambda ours, x: ours(x.astype(np.complex128)), _ours))
_either(cmath.phase, np.angle)
_either(cmath.polar, lambda x: (np.absolute(x), np.angle(x)))
_either(cmath.rect, lambda r, phi: r * np.exp(1j * phi))


def _log(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


_either(math.hypot, lambda *xs: np.absolute(xs[0]) if len(xs) == 1 else functools.reduce(np.hypot, xs))
_either(math.log, _log)
_either(cmath.log, lambda x, base=None: _log(x.astype(np.complex128), base))
_either(math.floor, lambda x: int_(np.floor(x)))
_either(math.ceil, lambda x: int_(np.ceil(x)))
_either(math.trunc, int_)
_either(math.modf, lambda x: (np.fmod(x, 1.0), np.trunc(x)))
_either(math.remainder, lambda x, y: x - y * np.rint(x / y))
_either(math.isclose, lambda a, b, rel_tol=1e-9, abs_tol=0.0: np.absolute(a - b) <= np.maximum(
    rel_tol * np.maximum(np.absolute(a), np.absolute(b)), abs_tol))  # fmt: skip
if hasattr(math, "fma"):
    _either(math.fma, lambda x, y, z: x * y + z)


def _holds_traced(values: Iterable[Any]) -> bool:
    return any(isinstance(v, Tracer) or (isinstance(v, list | tuple) and _holds_traced(v)) for v in values)


def _on_list(plain: Any, ours: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a list of numbers."""

    @functools.wraps(plain)
    def function(data: Any, *args: Any, **kwargs: Any) -> Any:
        values = list(data)
        if not _holds_traced((*values, *args, *kwargs.values())):
            return plain(values, *args, **kwargs)
        return ours(values, *args, **kwargs)

    return function


def _of_list(plain: Any, ours: Callable[..., Any]) -> None:
    instead_of(plain)(_on_list(plain, ours))


def _stack(values: list[Any]) -> Any:
    return np.stack(values)


_of_list(math.fsum, lambda values: np.sum(_stack(values)))
_of_list(math.prod, lambda values, start=1: start * np.prod(_stack(values)))
_of_list(math.dist, lambda p, q: np.sqrt(np.sum((_stack(p) - _stack(list(q))) ** 2)))
if hasattr(math, "sumprod"):
    _of_list(math.sumprod, lambda p, q: np.sum(_stack(p) * _stack(list(q))))


def _average(x: Any, weights: Any) -> Any:
    return np.mean(x) if weights is None else np.average(x, weights=_stack(list(weights)))


def _variance(values: list[Any], center: Any, fewer: int) -> Any:
    """The mean square distance, from a center that is told or from the mean."""
    x = _stack(values)
    return np.sum((x - (np.mean(x) if center is None else center)) ** 2) / (len(values) - fewer)


# by name: the module is not read for its own sake
_STATISTICS: dict[str, Callable[..., Any]] = {
    "mean": lambda values: np.mean(_stack(values)),
    "fmean": lambda values, weights=None: _average(_stack(values), weights),
    "median": lambda values: np.median(_stack(values)),
    "geometric_mean": lambda values: np.exp(np.mean(np.log(_stack(values)))),
    "harmonic_mean": lambda values, weights=None: 1 / _average(1 / _stack(values), weights),
    "variance": lambda values, xbar=None: _variance(values, xbar, 1),
    "stdev": lambda values, xbar=None: np.sqrt(_variance(values, xbar, 1)),
    "pvariance": lambda values, mu=None: _variance(values, mu, 0),
    "pstdev": lambda values, mu=None: np.sqrt(_variance(values, mu, 0)),
    "covariance": lambda x, y: np.cov(_stack(x), _stack(list(y)))[0, 1],
    "correlation": lambda x, y: np.corrcoef(_stack(x), _stack(list(y)))[0, 1],
}


def _find_in_statistics(function: Any) -> Any:
    """A function of `statistics`, on lists that hold traced numbers."""
    ours = _STATISTICS.get(function.__name__) if getattr(function, "__module__", None) == "statistics" else None
    return None if ours is None else _on_list(function, ours)


FINDERS.append(_find_in_statistics)


def _in_own_order(function: Any, container: list[Any], args: tuple[Any, ...], kwargs: Any) -> Any:
    """A function that keeps a list in an order that the user has written."""
    known = {}

    def ordered(value: Any) -> Any:
        made = Ordered(value)
        known[id(made)] = value
        return made

    items = [ordered(v) for v in container]
    result = function(items, *[ordered(a) if has_own_order((a,)) else a for a in args], **kwargs)
    container[:] = [known[id(v)] for v in items]
    return known[id(result)] if isinstance(result, Ordered) else result


def _noted(function: Any) -> None:
    """A function that changes the list that it is given."""

    @functools.wraps(function)
    def changed(container: Any, *args: Any, **kwargs: Any) -> Any:
        note_container(container)
        if kwargs.get("key") is not None:
            key = kwargs["key"]
            kwargs["key"] = lambda item: Ordered(call(key)(item))
            # what is looked for is no item yet
        elif type(container) is list and has_own_order((*container, *args)):
            return _in_own_order(function, container, args, kwargs)
        return function(container, *args, **kwargs)

    instead_of(function)(changed)


for _function in (heapq.heappush, heapq.heappop, heapq.heapify, heapq.heapreplace, heapq.heappushpop,
                  bisect.insort, bisect.insort_left, bisect.insort_right):  # fmt: skip
    _noted(_function)


@instead_of(copy.copy)
def copy_(value: Any) -> Any:
    """copy.copy."""
    return value.copy() if isinstance(value, Tracer | np.ndarray) else note_container_made(copy.copy(value))


def divide(left: Any, right: Any, name: str) -> Any:
    """left / right where a division by zero is caught: numbers are those of Python, which raise; arrays do not."""
    is_number = isinstance(right, Tracer) and not right.shape and not np.ndim(left)
    if is_number and np.equal(right, 0):
        what = {"truediv": "division by zero", "floordiv": "floor division by zero", "mod": "modulo"}[name]
        raise ZeroDivisionError(f"float {what}")
    return apply_binary(left, right, name)
