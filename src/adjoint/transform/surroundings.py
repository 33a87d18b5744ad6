"""What a function reads that is not among its arguments: closure cells, defaults, globals named in its own code.

Numbers, flags, texts and functions are *facts*: compared from call to call. Arrays are inputs: the function is made
again with others in their places. What containers and objects hold, and what the functions that it calls read, is not
looked at.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import math
from collections.abc import Callable, Hashable, Iterator
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, cast

import numpy as np

from adjoint.program.trace import Traced
from adjoint.program.types import Value

# As Any: a test against it leaves the value Any, where the class would make it an array of unknown elements.
_ARRAY: Any = np.ndarray
NUMBERS = frozenset("?bBhHiIlLqQefdFD")  # dtypes that are computed with, by their characters
_PLAIN: Any = (bool, int, str, bytes, type(None), np.generic)


def is_input(value: Any) -> bool:
    """Whether a value is an array whose elements a program reads: plain, of numbers, in the machine's byte order."""
    if isinstance(value, Traced):
        return True
    return type(value) is _ARRAY and value.dtype.char in NUMBERS and value.dtype.isnative


class Same:
    """Equal to another only when both hold the same object."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def token(value: Any) -> Hashable:
    """What two equal facts have in common: 1, 1.0 and True differ, so do 0.0 and -0.0, and NaN is equal to itself."""
    if isinstance(value, float):
        return type(value), float(value) if value == value else "nan", math.copysign(1.0, value)
    if isinstance(value, complex):
        return type(value), token(float(value.real)), token(float(value.imag))
    cls = cast(Any, type(value))
    if cls is tuple:
        return cls, *map(token, value)
    return (cls, value) if isinstance(value, _PLAIN) else Same(value)


class Read(NamedTuple):
    """One thing that a function reads: where, and how it is called in messages."""

    owner: Any  # the function, or the cell
    kind: str  # "cell", "global", "default", "keyword", "argument"
    key: Any
    name: str

    def value(self) -> Any:
        """What it is now; `EMPTY` when there is nothing."""
        if self.kind == "cell":
            try:
                return self.owner.cell_contents
            except ValueError:
                return EMPTY
        if self.kind == "global":
            return self.owner.__globals__.get(self.key, EMPTY)
        if self.kind == "default":
            return self.owner.__defaults__[self.key]
        if self.kind == "keyword":
            return self.owner.__kwdefaults__[self.key]
        return self.owner.args[self.key] if isinstance(self.key, int) else self.owner.keywords[self.key]


EMPTY = object()


class Surroundings:
    """What a function reads, found once."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.reads = list(_reads(function))

    def now(self) -> tuple[list[Value], tuple[Hashable, ...]]:
        """The arrays, and all facts, as they are now. The facts say which of the reads are arrays."""
        arrays: list[Value] = []
        facts: list[Hashable] = []
        for read in self.reads:
            value = read.value()
            if is_input(value):
                arrays.append(value)
                facts.append(is_input)
            elif not isinstance(value, ModuleType):
                facts.append(token(value))
            else:
                facts.append(None)
        return arrays, tuple(facts)

    def names(self) -> list[str]:
        """What the arrays are called."""
        return [read.name for read in self.reads if is_input(read.value())]

    def numbers(self) -> list[tuple[str, str]]:
        """The numbers and texts that are part of the program, by name."""
        values = ((read, read.value()) for read in self.reads if read.kind in ("cell", "global"))
        return [(read.name, repr(v)[:80]) for read, v in values if isinstance(v, bool | int | float | complex | str)]

    def replaced(self, arrays: list[Value]) -> Callable[..., Any]:
        """The function with other arrays in the places of those that it reads."""
        places = [read for read in self.reads if is_input(read.value())]
        if not places:
            return self.function
        new = {(id(r.owner), r.kind, r.key): v for r, v in zip(places, arrays, strict=True)}
        return _rebuilt(self.function, new)


def _reads(function: Any) -> Iterator[Read]:
    if isinstance(function, MethodType):
        yield from _reads(function.__func__)
    elif isinstance(function, functools.partial):
        for i in range(len(function.args)):
            yield Read(function, "argument", i, f"argument {i}")
        for name in function.keywords:
            yield Read(function, "argument", name, name)
        yield from _reads(function.func)
    elif isinstance(function, FunctionType):
        code = function.__code__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            if name not in _stored(code, "STORE_DEREF", "DELETE_DEREF"):
                yield Read(cell, "cell", name, name)
        stored = _stored(code, "STORE_GLOBAL", "DELETE_GLOBAL")
        for name in _global_names(code):
            if name not in stored and (name in function.__globals__ or not hasattr(builtins, name)):
                yield Read(function, "global", name, name)
        for i in range(len(function.__defaults__ or ())):
            yield Read(function, "default", i, f"default {i}")
        for name in function.__kwdefaults__ or ():
            yield Read(function, "keyword", name, name)
    elif hasattr(function, "with_function"):  # a transformed function reads what the one inside it reads
        yield from _reads(function.function)
    elif not isinstance(function, type):
        call = _own_call(function)
        if isinstance(call, FunctionType):
            yield from _reads(call)


def _own_call(function: Any) -> Any:
    cls = cast(Any, type(function))
    return inspect.getattr_static(cls, "__call__", None)


def _rebuilt(function: Any, new: dict[Any, Value]) -> Any:
    """The function with what it reads replaced, by (owner, kind, key)."""
    if isinstance(function, MethodType):
        return MethodType(_rebuilt(function.__func__, new), function.__self__)
    if isinstance(function, functools.partial):
        me = id(cast(Any, function))
        args = [new.get((me, "argument", i), a) for i, a in enumerate(function.args)]
        keywords = {k: new.get((me, "argument", k), v) for k, v in function.keywords.items()}
        return functools.partial(_rebuilt(function.func, new), *args, **keywords)
    if isinstance(function, FunctionType):
        return _rebuilt_function(function, new)
    if hasattr(function, "with_function"):
        return function.with_function(_rebuilt(function.function, new))
    call = _own_call(function)
    return MethodType(_rebuilt_function(call, new), function) if isinstance(call, FunctionType) else function


def _rebuilt_function(function: FunctionType, new: dict[Any, Value]) -> FunctionType:
    me, code = id(function), function.__code__
    # what is not replaced stays shared with the original: a nonlocal or global that it writes is written
    cells = [
        CellType(new[id(cell), "cell", name]) if (id(cell), "cell", name) in new else cell
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
    ]
    replaced = {key: value for (owner, kind, key), value in new.items() if owner == me and kind == "global"}
    names: dict[str, Any] = {**function.__globals__, **replaced} if replaced else function.__globals__
    defaults = function.__defaults__
    if defaults is not None:
        defaults = tuple(new.get((me, "default", i), d) for i, d in enumerate(defaults))
    made = FunctionType(code, names, function.__name__, defaults, tuple(cells))
    keywords = function.__kwdefaults__
    if keywords is not None:
        made.__kwdefaults__ = {k: new.get((me, "keyword", k), v) for k, v in keywords.items()}
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    made.__dict__.update(function.__dict__)
    for name in _global_names(code) if replaced else ():  # it may call itself
        value: Any = names.get(name)
        if value is function or (hasattr(value, "with_function") and value.function is function):
            names[name] = made
    return made


@functools.lru_cache(maxsize=1024)
def _stored(code: CodeType, *operations: str) -> frozenset[str]:
    """Names that a function, or one inside it, writes."""
    own = {i.argval for i in dis.get_instructions(code) if i.opname in operations}
    return frozenset(own.union(*[_stored(inner, *operations) for inner in _inner(code)]))


@functools.lru_cache(maxsize=1024)
def _global_names(code: CodeType) -> tuple[str, ...]:
    """Global names that a function, or one inside it, reads."""
    own = [i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    return tuple(dict.fromkeys([*own, *[name for inner in _inner(code) for name in _global_names(inner)]]))


def _inner(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]
