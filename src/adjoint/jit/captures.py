"""What one function reads by itself: cells, defaults and globals, the names in its code, and what it is made of."""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Hashable
from types import FunctionType, MethodType
from typing import Any, NamedTuple, cast

from adjoint.jit.facts import Same
from adjoint.jit.mentions import mentions

EMPTY = object()
NAMED = ("global", "attribute")  # entries of a dict of names
# As Any: a test against them leaves the value Any.
_WRAPPERS: Any = (staticmethod, classmethod)
_PROPERTY: Any = property
_CACHED: Any = functools.cached_property


class Capture(NamedTuple):
    """One thing that a function reads: where, and how it is called in messages."""

    owner: Any  # the function, the cell, the module, the object or the class
    kind: str  # "cell", "global", "default", "keyword", "argument", "attribute", "slot"
    key: Any
    name: str
    names: Any = None  # the dict in which a global or an attribute stands; the descriptor of a slot

    @property
    def location(self) -> tuple[Any, ...]:
        """Where it stands: the same for all functions of a module, and for all that share a cell."""
        if self.kind in NAMED:
            return id(self.names), self.key
        return id(self.owner), self.kind, self.key

    def value(self) -> Any:
        """What it is now; `EMPTY` when there is nothing."""
        if self.kind == "cell":
            try:
                return self.owner.cell_contents
            except ValueError:
                return EMPTY
        if self.kind in NAMED:
            return self.names.get(self.key, EMPTY)
        if self.kind == "slot":
            try:
                return self.names.__get__(self.owner)
            except AttributeError:
                return EMPTY
        if self.kind == "default":
            return self.owner.__defaults__[self.key]
        if self.kind == "keyword":
            return self.owner.__kwdefaults__[self.key]
        return self.owner.args[self.key] if isinstance(self.key, int) else self.owner.keywords[self.key]


class Part(NamedTuple):
    """One function: what it reads itself, what it is made of, and the names that it writes."""

    function: Any
    reads: list[Capture]
    inside: list[Any]  # functions, and the object of a method
    stored: frozenset[Any]
    module_names: frozenset[str]  # that it may read of a module
    names: frozenset[str]  # that it may read of an object
    read: frozenset[str]  # names of what is no mere log, which is written to only
    written: frozenset[str]  # attributes
    is_any: bool  # it may read any
    form: Hashable  # what all this holds for


def form_of(function: Any) -> Hashable:
    """What decides which things a function reads, and can be given another value: code, and names of defaults."""
    if isinstance(function, FunctionType):
        return Same(function.__code__), len(function.__defaults__ or ()), tuple(function.__kwdefaults__ or ())
    if isinstance(function, functools.partial):
        return Same(cast(Any, function).func), len(function.args), tuple(function.keywords)
    return None


def part_of(function: Any) -> Part:
    """What a function reads."""
    if isinstance(function, FunctionType):
        return _part_of_function(function)
    reads: list[Capture] = []
    inside: list[Any] = []
    if isinstance(function, MethodType):
        inside = [function.__func__, function.__self__]
    elif isinstance(function, functools.partial):
        keys = [*range(len(function.args)), *function.keywords]
        reads = [Capture(function, "argument", k, f"argument {k}" if isinstance(k, int) else k) for k in keys]
        inside = [function.func]
    elif (wrapped := functions_inside(function)) is not None:
        inside = wrapped
    elif is_transformed(function):  # a transformed function reads what the one inside it reads
        inside = [function.function]
    elif not isinstance(function, type):
        call = own_call(function)
        inside = [call] if isinstance(call, FunctionType) else []
    nothing = frozenset[str]()
    return Part(function, reads, inside, *[nothing] * 5, is_any=False, form=form_of(function))


def _part_of_function(function: FunctionType) -> Part:
    reads: list[Capture] = []
    found, names = mentions(function.__code__), function.__globals__
    stored = {(id(names), name) for name in found.written_globals}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name in found.written_cells:
            stored.add((id(cell), "cell"))
        reads.append(Capture(cell, "cell", name, name))
    for name in found.global_names:
        if name in names or not hasattr(builtins, name):
            reads.append(Capture(function, "global", name, name, names))
    reads += [Capture(function, "default", i, f"default {i}") for i in range(len(function.__defaults__ or ()))]
    reads += [Capture(function, "keyword", name, name) for name in function.__kwdefaults__ or ()]
    return Part(
        function,
        reads,
        [],
        frozenset(stored),
        found.attributes - found.written_attributes,
        found.attributes,
        found.read,
        found.written_attributes,
        found.is_any,
        form_of(function),
    )


def functions_inside(value: Any) -> list[Any] | None:
    """The functions that an attribute of a class calls when it is read: those of a property, say; None: it is none."""
    if isinstance(value, _PROPERTY):
        return [function for function in (value.fget, value.fset) if function is not None]
    if isinstance(value, _WRAPPERS):
        return [value.__func__]
    return [value.func] if isinstance(value, _CACHED) else None


def is_transformed(function: Any) -> bool:
    """Whether a function is made from another one by a transformation."""
    return hasattr(cast(Any, type(function)), "with_function")


def own_call(function: Any) -> Any:
    """The `__call__` of an object's class."""
    cls = cast(Any, type(function))
    return inspect.getattr_static(cls, "__call__", None)
