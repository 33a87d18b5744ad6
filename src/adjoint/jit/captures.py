"""What one function reads by itself: cells, defaults and globals, the names in its code, and what it is made of."""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
from collections.abc import Hashable
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, cast

from adjoint.jit.facts import Same

EMPTY = object()


class Capture(NamedTuple):
    """One thing that a function reads: where, and how it is called in messages."""

    owner: Any  # the function, the cell, or the module
    kind: str  # "cell", "global", "default", "keyword", "argument", "attribute"
    key: Any
    name: str

    @property
    def location(self) -> tuple[Any, ...]:
        """Where it stands: the same for all functions of a module, and for all that share a cell."""
        if self.kind in ("global", "attribute"):
            return id(self.names), self.key
        return id(self.owner), self.kind, self.key

    @property
    def names(self) -> dict[str, Any]:
        """The dict of names in which a global, or an attribute of a module, stands."""
        return self.owner.__dict__ if self.kind == "attribute" else self.owner.__globals__

    def value(self) -> Any:
        """What it is now; `EMPTY` when there is nothing."""
        if self.kind == "cell":
            try:
                return self.owner.cell_contents
            except ValueError:
                return EMPTY
        if self.kind in ("global", "attribute"):
            return self.names.get(self.key, EMPTY)
        if self.kind == "default":
            return self.owner.__defaults__[self.key]
        if self.kind == "keyword":
            return self.owner.__kwdefaults__[self.key]
        return self.owner.args[self.key] if isinstance(self.key, int) else self.owner.keywords[self.key]


class Part(NamedTuple):
    """One function: what it reads itself, what it is made of, and the names that it writes."""

    function: Any
    reads: list[Capture]
    inside: list[Any]
    stored: frozenset[Any]
    attributes: frozenset[str]  # names that it may read of a module
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
    reads: list[Capture] = []
    inside: list[Any] = []
    stored: set[Any] = set()
    attributes: frozenset[str] = frozenset()
    if isinstance(function, MethodType):
        inside = [function.__func__]
    elif isinstance(function, functools.partial):
        keys = [*range(len(function.args)), *function.keywords]
        reads = [Capture(function, "argument", k, f"argument {k}" if isinstance(k, int) else k) for k in keys]
        inside = [function.func]
    elif isinstance(function, FunctionType):
        code = function.__code__
        attributes = _attributes(code)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            if name in _stored_names(code, "STORE_DEREF", "DELETE_DEREF"):
                stored.add((id(cell), "cell"))
            reads.append(Capture(cell, "cell", name, name))
        written, names = _stored_names(code, "STORE_GLOBAL", "DELETE_GLOBAL"), function.__globals__
        stored |= {(id(names), name) for name in written}
        for name in _global_names(code):
            if name in names or not hasattr(builtins, name):
                reads.append(Capture(function, "global", name, name))
        reads += [Capture(function, "default", i, f"default {i}") for i in range(len(function.__defaults__ or ()))]
        reads += [Capture(function, "keyword", name, name) for name in function.__kwdefaults__ or ()]
    elif is_transformed(function):  # a transformed function reads what the one inside it reads
        inside = [function.function]
    elif not isinstance(function, type):
        call = own_call(function)
        inside = [call] if isinstance(call, FunctionType) else []
    return Part(function, reads, inside, frozenset(stored), attributes, form_of(function))


def is_transformed(function: Any) -> bool:
    """Whether a function is made from another one by a transformation."""
    return hasattr(cast(Any, type(function)), "with_function")


def own_call(function: Any) -> Any:
    """The `__call__` of an object's class."""
    cls = cast(Any, type(function))
    return inspect.getattr_static(cls, "__call__", None)


def module_captures(module: ModuleType, attributes: frozenset[str]) -> list[Capture]:
    """What a function reads of a module, as far as its code has the names."""
    names = [name for name in vars(module) if name in attributes]
    return [Capture(module, "attribute", name, f"{module.__name__}.{name}") for name in names]


@functools.lru_cache(maxsize=1024)
def _stored_names(code: CodeType, *operations: str) -> frozenset[str]:
    """Names that a function, or one inside it, writes."""
    own = {i.argval for i in dis.get_instructions(code) if i.opname in operations}
    return frozenset(own.union(*[_stored_names(inner, *operations) for inner in _inner(code)]))


@functools.lru_cache(maxsize=1024)
def _global_names(code: CodeType) -> tuple[str, ...]:
    """Global names that a function, or one inside it, reads."""
    own = [i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    return tuple(dict.fromkeys([*own, *[name for inner in _inner(code) for name in _global_names(inner)]]))


@functools.lru_cache(maxsize=1024)
def _attributes(code: CodeType) -> frozenset[str]:
    """Names that a function, or one inside it, may read as attributes: `m.name`, `getattr(m, "name")`."""
    own = {*code.co_names, *[text for text in code.co_consts if isinstance(text, str)]}
    return frozenset(own.union(*map(_attributes, _inner(code)))) - _stored_names(code, "STORE_ATTR", "DELETE_ATTR")


def _inner(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]
