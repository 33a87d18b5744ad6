"""Functions that are converted before they have met a refusal: run as they are, they might be silently different.

A question of type (`isinstance`, `np.isscalar`, `type(x) is float`, `hasattr`) has another answer for a traced value; a
run that prints or writes to objects cannot be given up and started over. The code of a function, of those that it
names, and of the classes of the objects that it reaches, is looked through for such names.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from adjoint.base.source import is_library
from adjoint.conversion.values import is_user_class

_QUESTIONS = frozenset(
    {
        "isinstance",
        "issubclass",
        "type",
        "isscalar",
        "hasattr",
        "callable",
        "iterable",
        "__class__",
        "Number",
        "Real",
        "Integral",
    }
)
_CHANGES = frozenset({"print", "append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "add",
                      "discard", "popitem", "appendleft", "popleft", "sort", "heappush", "heappop", "heapify",
                      "info", "debug", "warning", "error", "critical", "exception", "write", "writelines"})  # fmt: skip
_WRITES = frozenset({"STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_SUBSCR", "DELETE_SUBSCR"})
_OUTSIDE = frozenset({"input", "open", "time", "time_ns", "perf_counter", "monotonic", "now", "sleep", "flush", "read",
                      "readline", "put", "get_nowait", "log_message"})  # fmt: skip
# MINPACK's wrappers print the refusal that they meet before they raise an error of their own
_PRINTING = frozenset({"fsolve", "leastsq", "root"})
DEEPEST = 6
MOST = 400


def is_suspicious(function: Any, arguments: Any = ()) -> bool:
    """Whether a function, or what it reaches by name, asks for types or changes what is outside of it."""
    return _reaches(asks_or_writes, function, arguments)


def may_have_effects(function: Any) -> bool:
    """Whether a function, or what it reaches by name, may do more than compute: print, log, look at the clock."""
    return _reaches(changes_outside, function, ())


def _reaches(is_meant: Callable[[CodeType], bool], function: Any, arguments: Any) -> bool:
    """Whether the code of a function, or of one that it reaches by name, is meant."""
    seen: set[int] = set()
    waiting: list[tuple[Any, int]] = [(function, 0), *[(a, 1) for a in _objects(arguments)]]
    while waiting:
        value, depth = waiting.pop()
        if id(value) in seen or depth > DEEPEST or len(seen) > MOST:
            continue
        seen.add(id(value))
        if isinstance(value, MethodType):
            waiting += [(value.__func__, depth), (value.__self__, depth + 1)]
        elif isinstance(value, functools.partial):
            waiting += [(v, depth + 1) for v in (value.func, *value.args, *value.keywords.values())]
        elif isinstance(value, FunctionType):
            if is_library(value.__code__.co_filename):
                continue
            if is_meant(value.__code__):
                return True
            waiting += [(v, depth + 1) for v in _reached(value)]
        elif isinstance(value, type):
            if is_user_class(value):
                waiting += [(v, depth + 1) for v in vars(value).values() if isinstance(v, FunctionType)]
        elif isinstance(value, list | tuple):
            waiting += [(v, depth + 1) for v in value[:16] if callable(v)]
        elif not isinstance(value, ModuleType) and is_user_class(type(value)):
            waiting.append((type(value), depth + 1))
    return False


def _objects(arguments: Any) -> list[Any]:
    """Objects and functions among arguments."""
    args, kwargs = arguments if len(arguments) == 2 else ((), {})
    return [a for a in (*args, *kwargs.values()) if callable(a) or is_user_class(type(a))]


@functools.lru_cache(maxsize=4096)
def asks_or_writes(code: CodeType) -> bool:
    """Whether a code, or one inside it, has a name or an instruction that makes it suspicious."""
    if not (_QUESTIONS | _CHANGES | _PRINTING).isdisjoint(code.co_names):
        return True
    if code.co_exceptiontable:  # a handler may catch a refusal, and a `with` has effects
        return True
    if any(i.opname == "MATCH_CLASS" for i in dis.get_instructions(code)):  # case float(): asks for the type
        return True
    return _writes(code) or any(asks_or_writes(inner) for inner in code.co_consts if isinstance(inner, CodeType))


@functools.lru_cache(maxsize=4096)
def changes_outside(code: CodeType) -> bool:
    """Whether a code, or one inside it, has a name or an instruction by which it may have an effect."""
    if not (_CHANGES | _OUTSIDE).isdisjoint(code.co_names) or _writes(code):
        return True
    return any(changes_outside(inner) for inner in code.co_consts if isinstance(inner, CodeType))


def _writes(code: CodeType) -> bool:
    """Whether it stores anything but local variables."""
    free = set(code.co_freevars)
    return any(
        i.opname in _WRITES or (i.opname == "STORE_DEREF" and i.argval in free) for i in dis.get_instructions(code)
    )


def _reached(function: FunctionType) -> list[Any]:
    """Functions and objects that a function reads by name."""
    found: list[Any] = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:
            continue
    names = set(_all_names(function.__code__))
    found += [function.__globals__[name] for name in names if name in function.__globals__]
    modules = [
        v for v in found if isinstance(v, ModuleType) and not is_library(getattr(v, "__file__", None) or "<frozen ")
    ]
    found += [vars(m)[name] for m in modules for name in names if name in vars(m)]
    return [v for v in found if callable(v) or isinstance(v, list | tuple) or is_user_class(type(v))]


@functools.lru_cache(maxsize=4096)
def _all_names(code: CodeType) -> tuple[str, ...]:
    inner = [name for c in code.co_consts if isinstance(c, CodeType) for name in _all_names(c)]
    return (*code.co_names, *inner)
