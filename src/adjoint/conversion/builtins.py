"""Python's own functions in converted code, for traced numbers: conversions, questions of type, iterators, print."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

# Values are of any kind here, and traced ones pass through NumPy's functions.
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import builtins
import functools
import numbers
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from adjoint.conversion.branches import choose
from adjoint.conversion.calls import METHODS, call, instead_of
from adjoint.conversion.iterables import Backwards, Counted, Lazy, TracedRange, Zipped, items_of
from adjoint.conversion.lifting import made_here
from adjoint.conversion.questions import in_program, is_undecided
from adjoint.conversion.texts import TracedText, formatted, plain_number
from adjoint.ops.effects import Arguments as EffectArguments
from adjoint.ops.effects import Callback
from adjoint.program.record import RecordTracer
from adjoint.program.trace import Tracer, live_trace
from adjoint.program.types import Value


def as_scalar(x: Tracer) -> Any:
    """A traced value of one element as a number."""
    return np.reshape(x, ()) if x.shape and x.type.size == 1 else x


@instead_of(float)
def float_(*args: Any) -> Any:
    """float(x): a traced real number is one already."""
    if len(args) != 1 or not isinstance(args[0], Tracer):
        return float(*args)
    x = args[0]
    if x.shape and x.type.size != 1:
        raise TypeError("only length-1 arrays can be converted to Python scalars")
    x = as_scalar(x)
    if x.dtype.kind == "c":
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    return x if x.dtype == np.float64 else x.astype(np.float64)


@instead_of(complex)
def complex_(*args: Any, **kwargs: Any) -> Any:
    """complex(x), complex(re, im)."""
    if not any(isinstance(a, Tracer) for a in (*args, *kwargs.values())):
        return complex(*args, **kwargs)
    real, imag = (*args, *kwargs.values(), 0.0)[:2]
    return real + 1j * imag if len(args) + len(kwargs) > 1 else as_scalar(real).astype(np.complex128)


@instead_of(int)
def int_(*args: Any, **kwargs: Any) -> Any:
    """int(x): asked for where the value is known; truncated where it is not."""
    if len(args) != 1 or kwargs or not isinstance(args[0], Tracer) or not is_undecided(args[0]):
        return int(*args, **kwargs)
    x = as_scalar(args[0])
    return x if x.dtype.kind in "iu" else np.trunc(x).astype(np.int64)


@instead_of(bool)
def bool_(*args: Any) -> Any:
    """bool(x): part of the program where it is not known."""
    if len(args) != 1 or not isinstance(args[0], Tracer) or not is_undecided(args[0]):
        return bool(*args)
    x = as_scalar(args[0])
    return x if x.dtype.kind == "b" else np.not_equal(x, 0)


@instead_of(round)
def round_(number: Any, ndigits: Any = None) -> Any:
    """round(x, n)."""
    if not isinstance(number, Tracer):
        return round(number, ndigits) if ndigits is not None else round(number)
    if ndigits is None and not number.shape:
        return int_(np.round(number))
    return np.round(number, ndigits or 0)


def stand_in(x: Tracer) -> Any:
    """A plain value of the type that a traced one has: a number for a scalar, else an array."""
    if x.shape:
        return (
            np.broadcast_to(np.zeros((), x.dtype), x.shape)
            if all(isinstance(n, int) for n in x.shape)
            else np.zeros(())
        )
    bottom: Any = x
    while isinstance(bottom, Tracer) and not isinstance(bottom, RecordTracer):
        bottom = bottom._value
    weak = bottom.type.weak if isinstance(bottom, RecordTracer) else type(bottom) in (int, float, complex)
    zero = x.dtype.type(0)
    return zero.item() if weak and x.dtype in (np.float64, np.int64, np.complex128) else zero


@instead_of(isinstance)
def isinstance_(value: Any, classes: Any) -> bool:
    """isinstance(x, cls), as the value that a traced one stands for answers; who asks for traced values finds them."""
    return isinstance(value, classes) or (isinstance(value, Tracer) and isinstance(stand_in(value), classes))


@instead_of(type)
def type_(*args: Any, **kwargs: Any) -> Any:
    """type(x), as the value that a traced one stands for answers."""
    if len(args) == 1 and isinstance(args[0], Tracer):
        return type(stand_in(args[0]))
    return type(*args, **kwargs)


@instead_of(hasattr)
def hasattr_(value: Any, name: str) -> bool:
    """hasattr(x, name), as the value that a traced one stands for answers; what is about memory, it has not."""
    if not isinstance(value, Tracer):
        return hasattr(value, name)
    own = hasattr(value, name)
    if name.startswith("_") and not name.startswith("__"):
        return own
    asked = name.startswith("__") and not name.startswith("__array_")
    return hasattr(stand_in(value), name) and (own or asked)


@instead_of(callable)
def callable_(value: Any) -> bool:
    """callable(x): no number is."""
    return not isinstance(value, Tracer) and callable(value)


@instead_of(np.isscalar)
def isscalar(element: Any) -> bool:
    """np.isscalar(x): numbers are."""
    return np.isscalar(stand_in(element)) if isinstance(element, Tracer) else np.isscalar(element)


@instead_of(np.iterable)
def iterable(y: Any) -> bool:
    """np.iterable(x)."""
    return np.iterable(stand_in(y)) if isinstance(y, Tracer) else np.iterable(y)


@instead_of(str)
def str_(*args: Any, **kwargs: Any) -> Any:
    """str(x): of the number."""
    plain = [plain_number(a) for a in args]
    return plain[0] if len(plain) == 1 and isinstance(plain[0], TracedText) else str(*plain, **kwargs)


def _shown_by(function: Callable[[Any], str]) -> None:
    """repr(x), ascii(x): of the number."""

    def shown(value: Any, /) -> Any:
        return formatted(value, ord(function.__name__[0]), "")

    instead_of(function)(shown)


_shown_by(repr)
_shown_by(ascii)


@instead_of(format)
def format_(value: Any, spec: str = "") -> Any:
    """format(x, spec)."""
    if isinstance(value, Tracer) and is_undecided(value):
        return TracedText.of([(value, -1, spec)])
    return format(plain_number(value), spec)


@instead_of(print)
def print_(*values: Any, **kwargs: Any) -> None:
    """print(…): when the program runs, where one is written."""
    if in_program():
        defer_texts(print, *values, **kwargs)
    else:
        print(*[plain_number(v) for v in values], **kwargs)


def defer_texts(function: Any, *values: Any, **kwargs: Any) -> None:
    """Call a function when the program runs, with the numbers that traced values and texts have then."""
    plain = [plain_number(v) for v in values]
    operands = [v for p in plain if isinstance(p, TracedText) for v in p.operands]

    def show(*given: Any) -> None:
        rest = iter(given)
        function(*[p.filled(rest) if isinstance(p, TracedText) else p for p in plain], **kwargs)

    arguments, leaves = EffectArguments.of(tuple(operands), {})
    Callback(show, arguments)(*leaves)


# ---------------------------------------------------------------------- iterators


@instead_of(range)
def range_(*args: Any) -> Any:
    """range(…): with a traced end, what a loop of the program goes through."""
    if not any(isinstance(a, Tracer) and is_undecided(a) for a in args):
        return range(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    return TracedRange(start, stop, step)


@instead_of(enumerate)
def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """enumerate(…)."""
    items = items_of(iterable) if in_program() else None
    if items is None or items.length is None or isinstance(start, Tracer):
        return enumerate(iterable, start)
    first = operator.index(start)
    return Lazy(enumerate(iterable, first), Zipped([Counted(range(first, first + items.length)), items]))


@instead_of(zip)
def zip_(*iterables: Any, strict: bool = False) -> Any:
    """zip(…)."""
    parts = [items_of(one) for one in iterables] if in_program() and not strict else [None]
    if not parts or any(part is None or part.length is None for part in parts):
        return zip(*iterables, strict=strict)
    return Lazy(zip(*iterables, strict=strict), Zipped([part for part in parts if part is not None]))


@instead_of(reversed)
def reversed_(sequence: Any) -> Any:
    """reversed(…)."""
    items = items_of(sequence) if in_program() else None
    if items is None or items.length is None:
        return reversed(sequence)
    return Lazy(iter(list(items.plain())[::-1]) if not items.is_plain else reversed(sequence), Backwards(items))


@instead_of(map)
def map_(function: Any, *iterables: Iterable[Any]) -> Any:
    """map(f, …) with f as converted code calls it."""
    return map(lambda *items: call(function)(*items), *iterables)


@instead_of(filter)
def filter_(function: Any, iterable: Iterable[Any]) -> Any:
    """filter(f, …) with f as converted code calls it."""
    return filter(None if function is None else lambda item: call(function)(item), iterable)


@instead_of(functools.reduce)
def reduce_(function: Any, *args: Any) -> Any:
    """functools.reduce(f, …) with f as converted code calls it."""
    return functools.reduce(lambda a, b: call(function)(a, b), *args)


@instead_of(sorted)
def sorted_(iterable: Iterable[Any], /, *, key: Any = None, reverse: bool = False) -> list[Any]:
    """sorted(…), by value; a list of undecided numbers by a network of the program."""
    values = list(iterable)
    if key is None and values and all(_is_single(v) for v in values) and any(map(is_undecided, values)):
        ordered = np.sort(np.stack(values))
        return list(ordered[::-1] if reverse else ordered)
    return sorted(values, key=None if key is None else lambda item: call(key)(item), reverse=reverse)


def _is_single(value: Any) -> bool:
    return np.ndim(value) == 0 and isinstance(value, Tracer | int | float | np.generic)


def _extreme(name: str, better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    plain = getattr(builtins, name)

    def pick(*args: Any, key: Any = None, **kwargs: Any) -> Any:
        values = list(args[0]) if len(args) == 1 else list(args)
        if key is not None:
            asked = lambda item: call(key)(item)
            return plain(values, key=asked, **kwargs)
        if not any(isinstance(v, Tracer) and is_undecided(v) for v in values):
            return plain(values, **kwargs)
        return functools.reduce(lambda best, v: choose(better(v, best), lambda: v, lambda: best), values)

    pick.__doc__ = f"{name}(…): of undecided numbers, part of the program."
    return pick


instead_of(max)(_extreme("max", operator.gt))
instead_of(min)(_extreme("min", operator.lt))


@instead_of(sum)
def sum_(iterable: Any, /, start: Any = 0) -> Any:
    """sum(…): of a whole array at once."""
    if isinstance(iterable, Tracer) and iterable.ndim == 1 and in_program():
        return start + np.sum(iterable)
    return sum(iterable, start)


@instead_of(abs)
def abs_(x: Any, /) -> Any:
    """abs(x)."""
    method = getattr(type(x), "__abs__", None)
    return abs(x) if not hasattr(method, "__code__") or isinstance(x, Tracer) else call(x.__abs__)()


@instead_of(pow)
def pow_(base: Any, exponent: Any, modulus: Any = None) -> Any:
    """pow(x, y)."""
    return base**exponent if modulus is None else pow(base, exponent, modulus)


@instead_of(any)
def any_(values: Any, /) -> Any:
    """any(…): of undecided truth values, part of the program."""
    return _fold(values, np.logical_or, any)


@instead_of(all)
def all_(values: Any, /) -> Any:
    """all(…): of undecided truth values, part of the program."""
    return _fold(values, np.logical_and, all)


def _fold(values: Any, both: Any, plain: Callable[[Iterable[Any]], bool]) -> Any:
    if not in_program():
        return plain(values)
    found = list(values)
    if not any(isinstance(v, Tracer) and is_undecided(v) for v in found):
        return plain(found)
    return functools.reduce(both, [bool_(v) for v in found])


def _list_sort(method: Any) -> Any:
    owner = method.__self__

    def sort(*, key: Any = None, reverse: bool = False) -> None:
        owner[:] = sorted_(owner, key=key, reverse=reverse)

    return sort if type(owner) is list else method


METHODS["sort"] = _list_sort


def _str_format(method: Any) -> Any:
    template = method.__self__

    def fill(*args: Any, **kwargs: Any) -> str:
        return template.format(
            *[plain_number(a) for a in args], **{name: plain_number(v) for name, v in kwargs.items()}
        )

    return fill


METHODS["str.format"] = _str_format


def _number_class(cls: Any) -> None:
    """np.float64(x) and its like: a conversion."""

    def make(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], Tracer):
            x: Value = args[0]
            return x.astype(cls)
        return cls(*args, **kwargs)

    make.__name__ = cls.__name__
    instead_of(cls)(make)


for _cls in (np.float64, np.float32, np.float16, np.complex128, np.complex64, np.int64, np.int32, np.bool_):
    _number_class(_cls)


def fresh(array: Any) -> Any:
    """A new array that an operator made, and that is written to later."""
    return made_here(array)


def is_plain_number(value: Any) -> bool:
    """Whether a value is a number of Python's."""
    return isinstance(value, numbers.Number)


__all__ = ["fresh", "live_trace"]
