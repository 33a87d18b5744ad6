"""What a function reads that is not among its arguments: closure cells, defaults, globals named in its own code.

Numbers, flags, texts and functions are *facts*: compared from call to call. Arrays are inputs: the function is made
again with others in their places. What the functions read that it names so, or is given, counts as read by itself,
unless they belong to a library. What containers and objects hold is not looked at.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import math
from collections.abc import Callable, Hashable, Sequence
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, cast

import numpy as np

from adjoint.base.source import is_library
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

    @property
    def place(self) -> tuple[Any, ...]:
        """Where it stands: the same for all functions of a module, and for all that share a cell."""
        if self.kind == "global":
            return id(self.owner.__globals__), self.key
        return id(self.owner), self.kind, self.key

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
MOST_FUNCTIONS = 1024  # whose reads are remembered


class Around:
    """What a function, and the functions that it is given and names, read at the time of one call."""

    def __init__(self, roots: tuple[Any, ...], reads: list[Read], values: list[Any], parts: dict[int, _Part]) -> None:
        self.reads = reads  # in the order in which they are found: what a function reads stands behind the function
        self._roots, self._values, self._parts = roots, values, parts
        self.arrays: list[Value] = []
        facts: list[Hashable] = []
        for value in values:
            if is_input(value):
                self.arrays.append(value)
                facts.append(is_input)
            elif not isinstance(value, ModuleType):
                facts.append(token(value))
            else:
                facts.append(None)
        self.facts = tuple(facts)  # they say which of the reads are arrays

    def names(self) -> list[str]:
        """What the arrays are called."""
        return [read.name for read, value in zip(self.reads, self._values, strict=True) if is_input(value)]

    def numbers(self) -> list[tuple[str, str]]:
        """The numbers and texts that are part of the program, by name."""
        found = [(r.name, v) for r, v in zip(self.reads, self._values, strict=True) if r.kind in ("cell", "global")]
        return [(name, repr(v)[:80]) for name, v in found if isinstance(v, bool | int | float | complex | str)]

    def changed(self, facts: tuple[Hashable, ...]) -> list[str]:
        """What differs from the facts of another call, by name; behind another function nothing is comparable."""
        names: list[str] = []
        for read, value, now, then in zip(self.reads, self._values, self.facts, facts, strict=False):
            if now != then:
                names.append(read.name)
                if id(value) in self._parts:
                    break
        return names

    def replaced(self, arrays: Sequence[Value]) -> list[Any]:
        """The function, and the functions that it is given, with other arrays in the places of those that are read."""
        places = [read for read, value in zip(self.reads, self._values, strict=True) if is_input(value)]
        if not places:
            return list(self._roots)
        new = {r.place: v for r, v in zip(places, arrays, strict=True)}
        rebuilding = _Rebuilding(new, {read.place for read in self.reads}, self._parts)
        return [rebuilding.of(root) for root in self._roots]


class Surroundings:
    """What a function reads: looked for in each call, since the functions that it names may be others."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._home = (getattr(function, "__module__", None) or "").partition(".")[0]
        self._known: dict[int, _Part] = {}

    def now(self, functions: Sequence[Any] = ()) -> Around:
        """What it reads now; `functions` are those that it is given."""
        roots = (self.function, *functions)
        parts: dict[int, _Part] = {}
        waiting: list[Any] = list(roots)
        found: dict[Any, tuple[Read, Any]] = {}
        for function in waiting:  # it grows
            if id(function) in parts:
                continue
            part = parts[id(function)] = self._part(function)
            waiting += part.inside
            for read in part.reads:
                value = read.value()
                if self.follows(value):
                    waiting.append(value)
                found.setdefault(read.place, (read, value))
        stored = frozenset[Any]().union(*[part.stored for part in parts.values()])
        kept = [pair for place, pair in found.items() if place[:2] not in stored]
        return Around(roots, [read for read, _ in kept], [value for _, value in kept], parts)

    def follows(self, value: Any) -> bool:
        """Whether what a function reads is looked at when it is named: functions of the user's, and made of them."""
        if isinstance(value, FunctionType):
            package = (value.__module__ or "").partition(".")[0]
            return (package == self._home and package != "adjoint") or not is_library(value.__code__.co_filename)
        if isinstance(value, MethodType):
            return self.follows(value.__func__)
        if isinstance(value, functools.partial):
            return self.follows(cast(Any, value).func)
        return _is_made(value) and not value.has_rules and self.follows(value.function)

    def _part(self, function: Any) -> _Part:
        known = self._known.get(id(function))
        if known is None:
            if len(self._known) >= MOST_FUNCTIONS:
                self._known.clear()
            known = self._known[id(function)] = _part_of(function)
        return known


class _Part(NamedTuple):
    """One function: what it reads itself, what it is made of, and the names that it writes."""

    function: Any
    reads: list[Read]
    inside: list[Any]
    stored: frozenset[Any]


def _is_made(function: Any) -> bool:
    """Whether a function is made from another one by a transformation."""
    return hasattr(cast(Any, type(function)), "with_function")


def _part_of(function: Any) -> _Part:
    reads: list[Read] = []
    inside: list[Any] = []
    stored: set[Any] = set()
    if isinstance(function, MethodType):
        inside = [function.__func__]
    elif isinstance(function, functools.partial):
        keys = [*range(len(function.args)), *function.keywords]
        reads = [Read(function, "argument", k, f"argument {k}" if isinstance(k, int) else k) for k in keys]
        inside = [function.func]
    elif isinstance(function, FunctionType):
        code = function.__code__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            if name in _stored(code, "STORE_DEREF", "DELETE_DEREF"):
                stored.add((id(cell), "cell"))
            reads.append(Read(cell, "cell", name, name))
        written, names = _stored(code, "STORE_GLOBAL", "DELETE_GLOBAL"), function.__globals__
        stored |= {(id(names), name) for name in written}
        for name in _global_names(code):
            if name in names or not hasattr(builtins, name):
                reads.append(Read(function, "global", name, name))
        reads += [Read(function, "default", i, f"default {i}") for i in range(len(function.__defaults__ or ()))]
        reads += [Read(function, "keyword", name, name) for name in function.__kwdefaults__ or ()]
    elif _is_made(function):  # a transformed function reads what the one inside it reads
        inside = [function.function]
    elif not isinstance(function, type):
        call = _own_call(function)
        inside = [call] if isinstance(call, FunctionType) else []
    return _Part(function, reads, inside, frozenset(stored))


def _own_call(function: Any) -> Any:
    cls = cast(Any, type(function))
    return inspect.getattr_static(cls, "__call__", None)


class _Rebuilding:
    """Functions made again with other values in places that they read; those that reach none of them stay."""

    def __init__(self, new: dict[Any, Value], places: set[Any], parts: dict[int, _Part]) -> None:
        self._new, self._places, self._parts = new, places, parts
        self._made: dict[int, Any] = {}
        self._cells: dict[int, CellType] = {}
        self._globals: dict[int, dict[str, Any]] = {}
        self._reaching: set[int] = set()
        before = -1
        while before < len(self._reaching):
            before = len(self._reaching)
            self._reaching |= {me for me, part in parts.items() if self._reaches(part)}
        self._modules = {
            id(part.function.__globals__)
            for part in parts.values()
            if id(part.function) in self._reaching
            for read in part.reads
            if read.kind == "global" and self._is_new(read)
        }

    def _reaches(self, part: _Part) -> bool:
        return any(map(self._is_new, part.reads)) or any(id(f) in self._reaching for f in part.inside)

    def _is_new(self, read: Read) -> bool:
        return read.place in self._new or (read.place in self._places and id(read.value()) in self._reaching)

    def _value(self, read: Read) -> Any:
        return self._new[read.place] if read.place in self._new else self.of(read.value())

    def of(self, function: Any) -> Any:
        """A function with the new values."""
        me = id(function)
        if me not in self._reaching:
            return function
        if me not in self._made:
            self._made[me] = self._again(function)
        return self._made[me]

    def _again(self, function: Any) -> Any:
        if isinstance(function, MethodType):
            return MethodType(self.of(function.__func__), function.__self__)
        if isinstance(function, functools.partial):
            given = {read.key: self._value(read) for read in self._parts[id(cast(Any, function))].reads}
            args = [given[i] for i in range(len(function.args))]
            return functools.partial(self.of(function.func), *args, **{k: given[k] for k in function.keywords})
        if isinstance(function, FunctionType):
            return self._again_function(function)
        if _is_made(function):
            return function.with_function(self.of(function.function))
        return MethodType(self.of(_own_call(function)), function)

    def _again_function(self, function: FunctionType) -> FunctionType:
        # what is not replaced stays shared with the original: a nonlocal or global that it writes is written
        reads = [read for read in self._parts[id(function)].reads if self._is_new(read)]
        cells = {read.key: read for read in reads if read.kind == "cell"}
        names = function.__globals__
        if id(names) in self._modules:
            names = self._globals.setdefault(id(names), dict(names))
        kept = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        closure = tuple(self._cells.setdefault(id(c), CellType()) if name in cells else c for name, c in kept)
        made = FunctionType(function.__code__, names, function.__name__, function.__defaults__, closure)
        self._made[id(function)] = made  # it may name itself
        for read in reads:
            if read.kind == "cell":
                self._cells[id(read.owner)].cell_contents = self._value(read)
            elif read.kind == "global":
                names[read.key] = self._value(read)
        given = {(read.kind, read.key): self._value(read) for read in reads if read.kind in ("default", "keyword")}
        if function.__defaults__ is not None:
            made.__defaults__ = tuple(given.get(("default", i), d) for i, d in enumerate(function.__defaults__))
        if function.__kwdefaults__ is not None:
            made.__kwdefaults__ = {k: given.get(("keyword", k), v) for k, v in function.__kwdefaults__.items()}
        made.__qualname__, made.__module__ = function.__qualname__, function.__module__
        made.__dict__.update(function.__dict__)
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
