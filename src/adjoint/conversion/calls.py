"""Which function converted code calls: by identity in one table, a user function in its converted form, else itself."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from adjoint.base.config import config
from adjoint.base.loading import deferred
from adjoint.base.source import is_library
from adjoint.conversion.advancing import advance, advance_owner, note_mover
from adjoint.conversion.forms import EAGER, EXPLICIT, NATIVE, convert, is_converted, is_explicit
from adjoint.conversion.lifting import made_here
from adjoint.conversion.log import CONTAINERS, active_log, note_container
from adjoint.conversion.values import is_user_class
from adjoint.program.trace import Tracer, live_trace

# By identity: the function that is held, so that the identity stays its own, and what is called instead.
TABLE: dict[int, tuple[Any, Any]] = {}
# Functions of a kind, that find what is called instead when one is met for the first time; None: itself.
FINDERS: list[Callable[[Any], Any]] = []
_UFUNC = np.ufunc
_DISPATCHER: Any = type(np.sum)
# methods of ndarray that give a new array
_COPYING = frozenset({"copy", "astype", "reshape", "repeat", "flatten", "cumsum", "take", "round", "clip", "dot"})
_CACHED: Any = type(functools.lru_cache(abs))
# modules of SciPy that are formulas in Python alone: those of its distributions
_FORMULAS = frozenset({"scipy.stats._continuous_distns", "scipy.stats._discrete_distns"})
_STANDARD = os.path.dirname(os.__file__)  # sysconfig, which tells, takes a millisecond to load


def instead_of(*functions: Any) -> Callable[[Any], Any]:
    """Declare that a function is called instead of these in converted code."""

    def register(ours: Any) -> Any:
        for function in functions:
            TABLE[id(function)] = (function, ours)
        return ours

    return register


_complete_table = deferred("adjoint.conversion.tables", "complete_table")


def call(function: Any) -> Any:
    """What is called instead of a function."""
    kind = type(function)
    if kind is _UFUNC:
        return METHODS["ufunc"](function)
    known = TABLE.get(id(function))
    if known is not None:
        return known[1]
    if kind is FunctionType:
        return convert_function(function)
    if kind is MethodType:
        inner = function.__func__
        if type(inner) is FunctionType:
            known = TABLE.get(id(inner))
            converted = known[1] if known is not None else convert_function(inner)
            if converted is not inner:
                return MethodType(converted, function.__self__)
            if (deferred := METHODS["method"](function)) is not None:
                return deferred
            advance_owner(function.__self__, function.__name__)
            return function
        return function
    if kind is BuiltinFunctionType or kind.__name__ == "method-wrapper":
        return _call_builtin(function)
    if kind is _DISPATCHER:
        return _find(function)
    if isinstance(function, type):
        return _call_class(function)
    if kind is functools.partial:
        inner = call(function.func)
        if inner is function.func:
            return function
        return functools.partial(inner, *function.args, **function.keywords)
    return _call_object(function, kind)


def convert_function(function: FunctionType) -> Callable[..., Any]:
    """A user function in the form that fits what is running; any other as it is."""
    code = function.__code__
    if not is_converted(code) and not is_convertible(function):
        return _find(function)
    trace = live_trace()
    if trace is None:
        return function
    converted = convert(function, NATIVE if trace.in_program else EXPLICIT if is_explicit() else EAGER) or function
    return functools.partial(_begin, converted) if code.co_flags & inspect.CO_GENERATOR else converted


def _begin(generator: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return note_mover(generator(*args, **kwargs))


def is_convertible(function: FunctionType) -> bool:
    """Whether a function is the user's, and not one that is to stay as it is."""
    wanted = function.__dict__.get("__adjoint_convert__") if function.__dict__ else None
    if wanted is not None:
        return wanted
    name = function.__code__.co_filename
    if name[:1] == "<":  # made by exec: it belongs to the module in which that was done
        name = function.__globals__.get("__file__") or name
    if is_library(name) or name.startswith(_STANDARD):
        module = function.__module__ or ""
        return module in _FORMULAS or module.partition(".")[0] in config.convert_packages
    return True


def _find(function: Any) -> Any:
    """Look a function up in what is not in the table yet, and remember it."""
    if type(function) is not _DISPATCHER and (known := _complete_table().get(id(function))) is not None:
        return known[1]
    for finder in FINDERS:
        found = finder(function)
        if found is not None:
            TABLE[id(function)] = (function, found)
            return found
    if not isinstance(function, FunctionType) or not is_converted(function.__code__):
        TABLE[id(function)] = (function, function)
    return function


def _call_builtin(function: Any) -> Any:
    if (known := _complete_table().get(id(function))) is not None:
        return known[1]
    owner = getattr(function, "__self__", None)
    kind = type(owner)
    if isinstance(owner, CONTAINERS):
        if active_log() is not None:
            advance(owner) if kind is set and function.__name__ == "pop" else note_container(owner)
            if function.__name__ not in ("append", "extend"):
                METHODS["list"](owner)
        return METHODS.get(function.__name__, _same)(function)
    if kind is np.ndarray:
        return _array_method(function)
    if kind is _UFUNC:
        return METHODS["ufunc.at" if function.__name__ == "at" else "ufunc"](function)
    if kind is str:
        return METHODS.get(f"str.{function.__name__}", _same)(function)
    if owner is None or isinstance(owner, ModuleType):
        return _find(function)
    advance_owner(owner, function.__name__)
    return function


def _same(function: Any) -> Any:
    return function


METHODS: dict[str, Callable[[Any], Any]] = {}  # of lists and strings, by name


def _array_method(function: Any) -> Any:
    """A method of a plain array: traced arguments are NumPy's functions' affair, and a new array is noted."""
    name, owner = function.__name__, function.__self__

    def method(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(a, Tracer) for a in (*args, *kwargs.values())):
            if name in ("fill", "put", "sort", "partition", "itemset"):
                METHODS["array.write"](owner, *args, *kwargs.values())
            elif name.startswith("__") and (operator := METHODS.get(f"array.{name}")) is not None:
                return operator(owner, *args)
            trace = live_trace()
            assert trace is not None
            return getattr(trace.constant(owner), name)(*args, **kwargs)
        if name in ("fill", "put", "sort", "partition"):
            METHODS["array.write"](owner)
        made = function(*args, **kwargs)
        return made_here(made) if name in _COPYING and made is not owner and made.base is None else made

    return method


def _call_class(cls: Any) -> Any:
    if not is_user_class(cls):
        return _find(cls)
    return functools.partial(_construct, cls) if live_trace() is not None and type(cls) is type else cls


def note_made(thing: Any) -> Any:
    """A new object or container: what the branch or body that is traced writes into it is its own."""
    region = live_trace()
    while region is not None and region.shadows is None:
        region = region.outer
    if region is not None:
        region.note_made(thing)  # type: ignore[attr-defined]
    return thing


def note_container_made(value: Any) -> Any:
    """The same for what may be a new list, dict or set, or an iterator; a part of an array is no new one."""
    if type(value) in (list, dict, set):
        note_made(value)
    # which item a set gives away next is not known from its content
    return note_mover(value) if type(value) is set or hasattr(value, "__next__") else value


def _construct(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """cls(…) with its own `__init__` converted."""
    initialize = cls.__init__
    if cls.__new__ is not object.__new__ or type(initialize) is not FunctionType:
        return cls(*args, **kwargs)
    made = note_made(object.__new__(cls))
    finish = getattr(cls, "__post_init__", None)
    if initialize.__code__.co_filename == "<string>" and type(finish) is FunctionType and hasattr(made, "__dict__"):
        made.__dict__["__post_init__"] = MethodType(convert_function(finish), made)  # what dataclasses call at the end
        try:
            initialize(made, *args, **kwargs)
        finally:
            del made.__dict__["__post_init__"]
        return made
    convert_function(initialize)(made, *args, **kwargs)
    return made


def _call_object(function: Any, kind: Any) -> Any:
    """An object that can be called."""
    method = getattr(kind, "__call__", None)  # noqa: B004 (its class's, as Python calls it)
    if type(method) is FunctionType and (is_converted(method.__code__) or is_convertible(method)):
        return MethodType(convert_function(method), function)
    if kind is np.vectorize:
        return METHODS["vectorize"](function)
    if kind is _CACHED and live_trace() is not None:
        return functools.partial(_call_cached, function)
    if kind.__module__.startswith(("scipy", "numpy.polynomial.")) or (
        getattr(function, "__module__", None) or ""
    ).startswith("scipy"):
        for finder in (*FINDERS, METHODS["object"]):
            found = finder(function)
            if found is not None:
                return found
    return function


def _call_cached(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A function with a cache, whose results may be traced: they are remembered as long as the transformation runs.

    Traced arguments are told apart by identity: equal numbers may have different derivatives.
    """
    trace = live_trace()
    assert trace is not None
    values = (*args, *kwargs.values())
    key = (id(function), tuple(kwargs), *[id(v) if isinstance(v, Tracer) else (type(v), v) for v in values])
    outer: Any = trace
    while outer is not None:
        known = vars(outer).get("cached", {}).get(key)
        if known is not None:
            return known[0]
        outer = outer.outer
    result = call(function.__wrapped__)(*args, **kwargs)
    vars(trace).setdefault("cached", {})[key] = (result, function, values)
    return result
