"""Converted functions: the rewritten code, compiled once for each form, bound to the globals and cells of the function.

eager     calls and stores; control flow is Python's own. While values are known.
explicit  operators, properties and iterators too, which may be methods of the user's classes: where they met a refusal.
native    control flow too. While a program is written, whose values are not known.

A form is remembered by the code of the function it was made from. Functions inside converted ones are converted with
them; when the other form is wanted, it is made from the same place in the source.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import CO_OPTIMIZED
from types import CodeType, FunctionType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from adjoint.base.forking import free_in_child
from adjoint.conversion.blocks import FunctionRewriter
from adjoint.conversion.runtime import HELPERS, helper
from adjoint.conversion.source import FACTORY, LOCALS, Found, compile_node, find, find_converted


class Form(NamedTuple):
    """The rewritten code of a function, or why there is none."""

    code: CodeType | None
    reason: str = ""


class Origin(NamedTuple):
    """Where converted code comes from, and in which form it is."""

    found: Found
    form: int


EAGER, EXPLICIT, NATIVE = 0, 1, 2

_forms: dict[tuple[CodeType, int], Form] = {}
_origins: dict[CodeType, Origin | int] = {}  # of converted code; of functions inside it, the form alone
_bound: WeakKeyDictionary[FunctionType, dict[int, tuple[CodeType, FunctionType]]] = WeakKeyDictionary()
_lock = free_in_child(threading.RLock())


def convert(function: FunctionType, form: int) -> FunctionType | None:
    """A function in one of its forms; None where it has no source, or cannot be converted."""
    code = function.__code__
    made = _origins.get(code)
    if made is not None and (made if isinstance(made, int) else made.form) == form:
        return function
    known = _bound.get(function)
    if known is not None and form in known and known[form][0] is code and _is_current(known[form][1], function):
        return known[form][1]
    rewritten = form_of(function, form)
    if rewritten.code is None:
        return None
    converted = _bind(function, rewritten.code)
    _bound.setdefault(function, {})[form] = (code, converted)
    return converted


def _is_current(converted: FunctionType, function: FunctionType) -> bool:
    """Whether a converted function has the defaults of the function as they are now."""
    mine, now = converted.__kwdefaults__, function.__kwdefaults__
    same = mine is now or (mine is not None and now is not None and [*mine.items()] == [*now.items()])
    return converted.__defaults__ is function.__defaults__ and same


_explicit: ContextVar[bool] = ContextVar("adjoint_explicit_operators", default=False)


def is_explicit() -> bool:
    """Whether operators are converted, too."""
    return _explicit.get()


@contextmanager
def explicit() -> Generator[None]:
    """While inside, operators are converted, too."""
    token = _explicit.set(True)
    try:
        yield
    finally:
        _explicit.reset(token)


def is_converted(code: CodeType) -> bool:
    """Whether a code object is one of ours."""
    return code in _origins


def form_of(function: FunctionType, form: int) -> Form:
    """The rewritten code of a function."""
    key = (function.__code__, form)
    known = _forms.get(key)
    if known is None:
        with _lock:
            known = _forms.get(key)
            if known is None:
                known = _forms[key] = _make(function, form)
    return known


def _make(function: FunctionType, form: int) -> Form:
    found = find_origin(function)
    if found is None:
        return Form(None, "there is no source")
    try:
        return Form(_compile(function.__code__, found, form))
    except (SyntaxError, ValueError, RecursionError) as problem:
        return Form(None, f"it cannot be rewritten ({problem})")


def find_origin(function: FunctionType) -> Found | None:
    """Where a function stands in its file; also one that stands inside a converted function."""
    origin = _origins.get(function.__code__)
    if isinstance(origin, Origin):
        return origin.found
    return find(function) if origin is None else find_converted(function)


def rewrite(found: Found, form: int) -> ast.FunctionDef | ast.Lambda:
    """The rewritten syntax tree."""
    return FunctionRewriter(native=form == NATIVE, explicit=form != EAGER, owner=found.owner).rewrite(found.node)


def _compile(code: CodeType, found: Found, form: int) -> CodeType:
    free = [name for name in code.co_freevars if name not in HELPERS]
    made = compile_node(rewrite(found, form), found.owner, free, code, added=HELPERS)
    made = _renamed(made, code.co_name, code.co_qualname)
    _origins[made] = Origin(found, form)
    waiting = [made]
    while waiting:
        inner = [c for c in waiting.pop().co_consts if isinstance(c, CodeType)]
        _origins.update({c: form for c in inner if c not in _origins})
        waiting += inner
    return made


def _renamed(code: CodeType, name: str, qualname: str) -> CodeType:
    """The code with the names that tracebacks show: blocks are parts of the function they stand in."""

    def inner(constant: Any) -> Any:
        if isinstance(constant, CodeType):
            is_block = constant.co_name.startswith("ad·")
            between = LOCALS if code.co_flags & CO_OPTIMIZED else "."  # else it is the body of a class
            inside = (constant.co_name, f"{qualname}{between}{constant.co_name}")
            return _renamed(constant, *((name, qualname) if is_block else inside))
        if isinstance(constant, str) and constant.startswith(FACTORY):  # the qualified name of a class
            return f"{qualname.removesuffix(f'{LOCALS}{name}')}{LOCALS}{constant.rpartition(LOCALS)[2]}"
        return constant

    constants = tuple([inner(c) for c in code.co_consts])
    return code.replace(co_name=name, co_qualname=qualname, co_consts=constants)


def _bind(function: FunctionType, code: CodeType) -> FunctionType:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple([cells[name] if name in cells else helper(name) for name in code.co_freevars])
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    made.__module__, made.__doc__, made.__qualname__ = function.__module__, function.__doc__, function.__qualname__
    made.__annotations__ = function.__annotations__
    return made


def unbound_reason(function: Any) -> str:
    """Why a function cannot be converted; empty when it can."""
    return form_of(function, EAGER).reason if isinstance(function, FunctionType) else "it is not written in Python"
