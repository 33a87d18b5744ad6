"""Python's own functions in converted code, for traced numbers: conversions, questions of type, iterators, print."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

# Values are of any kind here, and traced ones pass through NumPy's functions.
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import functools
import numbers
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from adjoint.conversion.calls import METHODS, call, instead_of
from adjoint.conversion.lifting import made_here
from adjoint.conversion.questions import in_program, is_undecided
from adjoint.conversion.special_methods import (
    iterate,
    own_method,
    truth,
)
from adjoint.conversion.texts import TracedText, fill_template, formatted, join_texts, plain_number
from adjoint.numpy import methods
from adjoint.numpy.dispatch import constant
from adjoint.ops.effects import Arguments as EffectArguments
from adjoint.ops.effects import Callback
from adjoint.program.trace import Tracer, live_trace
from adjoint.program.types import Value


def as_scalar(x: Tracer) -> Any:
    """A traced value of one element as a number."""
    return np.reshape(x, ()) if x.shape and x.type.size == 1 else x


@instead_of(float)
def float_(*args: Any) -> Any:
    """float(x): a traced real number is one already."""
    if len(args) != 1 or not isinstance(args[0], Tracer):
        method = own_method(args[0], "__float__", "__index__") if args else None
        return float(*args) if method is None else float_(method())
    x = args[0]
    if x.shape and x.type.size != 1:
        raise TypeError("only length-1 arrays can be converted to Python scalars")
    x = as_scalar(x)
    if x.dtype.kind == "c":
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    return x if x.dtype == np.float64 else x.astype(np.float64)


@instead_of(methods.item)
def item(array: Any, *args: Any) -> Any:
    """x.item(…): a traced number is one already; whole numbers and truth values as `int` and `bool` have them."""
    if args:
        single = len(args) == 1 and not isinstance(args[0], tuple)
        array = np.ravel(array)[args[0]] if single else array[args[0] if len(args) == 1 else args]
    if not isinstance(array, Tracer):
        return array.item()
    if array.type.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return _NUMBERS[array.dtype.kind](as_scalar(array))


@instead_of(methods.tolist)
def tolist(array: Any) -> Any:
    """x.tolist(): lists of traced numbers."""
    return [tolist(row) if isinstance(row, Tracer) else row for row in array] if array.shape else item(array)


@instead_of(complex)
def complex_(*args: Any, **kwargs: Any) -> Any:
    """complex(x), complex(re, im)."""
    given: tuple[Any, ...] = (*args, *kwargs.values())
    if not any(isinstance(a, Tracer) for a in given):
        method = own_method(args[0], "__complex__", "__float__") if len(args) == 1 else None
        return complex(*args, **kwargs) if method is None else complex_(method())
    real, *imaginary = given
    if imaginary:
        return real + 1j * imaginary[0]
    x = as_scalar(real)
    return x if x.dtype.kind == "c" else x.astype(np.complex128)


@instead_of(int)
def int_(*args: Any, **kwargs: Any) -> Any:
    """int(x): asked for where the value is known; truncated where it is not."""
    if len(args) != 1 or kwargs or not isinstance(args[0], Tracer) or not is_undecided(args[0]):
        method = own_method(args[0], "__int__", "__index__", "__trunc__") if len(args) == 1 and not kwargs else None
        return int(*args, **kwargs) if method is None else int_(method())
    x = as_scalar(args[0])
    return x if x.dtype.kind in "iu" else np.trunc(x).astype(np.int64)


@instead_of(bool)
def bool_(*args: Any) -> Any:
    """bool(x): part of the program where it is not known."""
    if len(args) == 1:
        args = (truth(args[0]),)
    if len(args) != 1 or not isinstance(args[0], Tracer) or not is_undecided(args[0]):
        return bool(*args)
    x = as_scalar(args[0])
    return x if x.dtype.kind == "b" else np.not_equal(x, 0)


_NUMBERS = {"f": float_, "c": complex_, "i": int_, "u": int_, "b": bool_}


@instead_of(round)
def round_(number: Any, ndigits: Any = None) -> Any:
    """round(x, n)."""
    if not isinstance(number, Tracer):
        asked = () if ndigits is None else (ndigits,)
        method = own_method(number, "__round__")
        return round(number, *asked) if method is None else method(*asked)
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
    zero = x.dtype.type(0)
    return zero.item() if x.weak and x.dtype in (np.float64, np.int64, np.complex128) else zero


@instead_of(isinstance)
def isinstance_(value: Any, classes: Any) -> bool:
    """isinstance(x, cls), as the value that a traced one stands for answers; who asks for traced values finds them."""
    return isinstance(value, classes) or (isinstance(value, Tracer) and isinstance(stand_in(value), classes))


@functools.cache
def class_of_pattern(cls: Any) -> Any:
    """What stands for a class in a pattern of `match`, which asks for instances as `isinstance` does."""
    if not isinstance(cls, type) or not any(issubclass(kind, cls) for kind in _KINDS):
        return cls
    asking: Any = type("Asking", (type,), {"__instancecheck__": lambda _, value: isinstance_(value, cls)})
    takes_itself = cls in (bool, int, float, complex)  # case float(v): v is the number, as in all subclasses of it
    return asking(cls.__name__, (float,) if takes_itself else (), {})


def last_of(*values: Any) -> Any:
    """The last of some values, all of which are computed."""
    return values[-1]


_KINDS = (
    bool,
    int,
    float,
    complex,
    np.bool_,
    np.int64,
    np.float32,
    np.float64,
    np.complex64,
    np.complex128,
    np.ndarray,
)


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
    return formatted(value, -1, spec)


@instead_of(print)
def print_(*values: Any, **kwargs: Any) -> None:
    """print(…): when the program runs, where one is written."""
    if in_program():
        defer_texts(print, *values, **kwargs)
    else:
        print(*[plain_number(v) for v in values], **kwargs)


def defer_texts(function: Any, *values: Any, **kwargs: Any) -> None:
    """Call a function when the program runs, with the numbers that traced values and texts have then."""
    operands: list[Any] = []
    reads = [_reader(value, operands) for value in values]

    def show(*numbers: Any) -> None:
        rest = iter(numbers)
        function(*[read(rest) for read in reads], **kwargs)

    arguments, leaves = EffectArguments.of(tuple(operands), {})
    Callback(show, arguments)(*leaves)


def _reader(value: Any, operands: list[Any]) -> Callable[[Iterator[Any]], Any]:
    """How a value is made from its operands, which are added to the list."""
    if type(value) is dict:
        inner = {key: _reader(v, operands) for key, v in value.items()}
        return lambda numbers: {key: read(numbers) for key, read in inner.items()}
    plain = plain_number(value)
    if not isinstance(plain, TracedText):
        return lambda _: plain
    operands += plain.operands
    return _next_number if isinstance(value, Tracer) else plain.filled  # a logger fills numbers into %d


def _next_number(numbers: Iterator[Any]) -> Any:
    number = next(numbers)
    return number if np.ndim(number) else number.item()


def log_numbers(method: Any, *values: Any, **kwargs: Any) -> Any:
    """A method of a logger, which fills numbers into a template by itself: it is given plain ones."""
    inner = [v for value in values for v in (value.values() if type(value) is dict else (value,))]
    if in_program() or any(isinstance(plain_number(v), TracedText) for v in inner):
        return defer_texts(method, *values, **kwargs)
    return method(*[_reader(v, [])(iter(())) for v in values], **kwargs)


@instead_of(abs)
def abs_(x: Any, /) -> Any:
    """abs(x)."""
    method = own_method(x, "__abs__")
    return abs(x) if method is None else method()


@instead_of(pow)
def pow_(base: Any, exponent: Any, modulus: Any = None) -> Any:
    """pow(x, y)."""
    return call(operator.pow)(base, exponent) if modulus is None else pow(base, exponent, modulus)


def _str_format(method: Any) -> Any:
    template = method.__self__

    return lambda *args, **kwargs: fill_template(template, args, kwargs)


METHODS["str.format"] = _str_format
METHODS["str.join"] = lambda method: lambda texts: join_texts(method.__self__, list(iterate(texts)))


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
    """What is written to later: a new array, to which nobody else refers; of traced values, it is of what runs."""
    is_plain = type(array) is np.ndarray
    if not (is_plain or isinstance(array, Tracer)) or not array.ndim or sys.getrefcount(array) > _ALONE:
        return array
    if not is_plain:
        return constant(array) if _is_alone_below(array) else array
    if array.base is not None:
        if type(array.base) is not np.ndarray or sys.getrefcount(array.base) > _ALONE_BELOW:
            return array
        made_here(array.base)  # further views know it alone
    return made_here(array)


def _is_alone_below(view: Any) -> bool:
    """Whether nobody else refers to what a traced value is a view of."""
    while hasattr(view, "_base"):
        if sys.getrefcount(view._base[0]) > _ALONE_BELOW:
            return False
        view = view._base[0]
    return True


def _references(array: Any) -> int:
    return sys.getrefcount(array)


_view = np.empty(2)[:1]
# how many references the interpreter counts to a result that is handed over at once, and to the array below a view
_ALONE, _ALONE_BELOW = _references(np.empty(1)), sys.getrefcount(_view.base)


def is_plain_number(value: Any) -> bool:
    """Whether a value is a number of Python's."""
    return isinstance(value, numbers.Number)


__all__ = ["fresh", "live_trace"]
