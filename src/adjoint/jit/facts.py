"""What two calls of a function have in common, as far as it reads a value that is no argument.

Numbers, flags, texts and functions are *facts*: compared from call to call. Arrays are inputs; where the function
cannot be given another one they are facts too, compared by their elements. A tuple, list or dict is a tree of such
values.
"""

from __future__ import annotations

import copy
import math
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Set
from typing import Any, cast

import numpy as np

from adjoint.program.trace import Tracer, is_live
from adjoint.program.types import Value

# As Any: a test against it leaves the value Any, where the class would make it an array of unknown elements.
_ARRAY: Any = np.ndarray
_TUPLE: Any = tuple
_DEQUE: Any = deque
_DICT: Any = dict
_DICTS: Any = (dict, OrderedDict, defaultdict, Counter)
_SETS: Any = (set, frozenset)
_SEQUENCES: Any = (tuple, list)
_CONTAINERS: Any = (*_SEQUENCES, *_DICTS, deque)
_OPEN: Any = (tuple, list, dict)  # whose items are found in objects of classes made from them, too
_CLOSED: Any = (set, deque)
_BUILT_IN: Any = (*_OPEN, *_CLOSED)
NUMBERS = frozenset("?bBhHiIlLqQefdFD")  # dtypes that are computed with, by their characters
_PLAIN: Any = (bool, int, str, bytes, type(None), np.generic)
_ATOMS: frozenset[type] = frozenset([bool, int, float, complex, str, bytes, type(None)])
MOST_ITEMS = 1024  # of a container, with all inside it: larger ones are not looked into
LARGEST = 2**62  # Python ints from here on are part of the program: their sums would not fit into an array
DEEPEST = 16


def is_input(value: Any) -> bool:
    """Whether a value is an array whose elements a program reads: plain, of numbers, in the machine's byte order."""
    if isinstance(value, Tracer):
        return is_live(value)  # one that has outlived its transformation may stand in a container until it is replaced
    return type(value) is _ARRAY and value.dtype.char in NUMBERS and value.dtype.isnative


def is_number(value: Any) -> bool:
    """Whether a value is a number that can be an input: Python ints of 63 bits and more are part of the program."""
    return type(value) in (float, complex, np.float64) or (type(value) is int and abs(value) < LARGEST)


class Same:
    """Equal to another only when both hold the same object."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class Elements:
    """What an array holds: equal to another of the same dtype, shape and bytes. Of objects, which ones they are."""

    __slots__ = ("_hash", "content")

    def __init__(self, array: Any) -> None:
        self.content = np.array(array, order="C")  # the array itself may be written to
        if array.dtype.char == "T":  # texts that stand elsewhere
            self.content = np.array(array.tolist(), dtype=str)
        self._hash = hash((self.content.dtype, self.content.shape, self.content.tobytes()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Elements):
            return False
        a, b = self.content, other.content
        return self._hash == other._hash and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()

    def __hash__(self) -> int:
        return self._hash


def _elements(array: Any) -> Hashable:
    """An array that is part of the program. One of texts, records or objects, or of a class of its own, is known by its
    identity too: such a class may have more to say, as that of masked arrays.
    """
    if is_input(array):
        return Elements(array)
    mask = Elements(np.ma.getmaskarray(array)) if isinstance(array, np.ma.MaskedArray) else None
    return Same(array), Elements(array), mask


def token(value: Any) -> Hashable:
    """What two equal facts have in common: 1, 1.0 and True differ, so do 0.0 and -0.0, and NaN is equal to itself."""
    if isinstance(value, float):
        return type(value), float(value) if value == value else "nan", math.copysign(1.0, value)
    if isinstance(value, complex):
        return type(value), token(float(value.real)), token(float(value.imag))
    cls = cast(Any, type(value))
    if issubclass(cls, np.void):  # a record, which may be a part of an array
        return cls, Elements(np.asarray(value))
    if cls is tuple:
        return cls, *map(token, value)
    if cls in _SETS:
        return cls, frozenset(map(token, value))
    return (cls, value) if isinstance(value, _PLAIN) else Same(value)


class Contents:
    """A value, and what it holds if it is a container that is looked into."""

    __slots__ = ("children", "is_constant", "is_plain", "is_state", "keys", "problem", "value")

    def __init__(
        self, value: Any, keys: list[Any] | None = None, children: list[Contents] | None = None, problem: str = ""
    ) -> None:
        self.value = value
        self.keys = keys  # of a container's items
        self.children = children  # None for a leaf
        self.problem = problem  # why it is not looked into
        self.is_plain = False  # it holds numbers and texts alone
        self.is_state = False  # a number that the function may write
        self.is_constant = False  # the function reads this very array, and cannot be given another

    def leaves(self, path: str = "") -> Iterator[tuple[str, Contents]]:
        """All leaves, with the paths to them, but for those of containers of plain numbers and texts."""
        if self.children is None:
            yield path, self
        elif not self.is_plain:
            for key, child in zip(self.keys or (), self.children, strict=True):
                yield from child.leaves(f"{path}[{key!r}]")

    def containers(self, path: str = "", keys: tuple[Any, ...] = ()) -> Iterator[tuple[str, tuple[Any, ...], Contents]]:
        """All containers that are looked into, with the paths and keys to them."""
        if self.children is not None:
            yield path, keys, self
        if self.children is not None and not self.is_plain:
            for key, child in zip(self.keys or (), self.children, strict=True):
                yield from child.containers(f"{path}[{key!r}]", (*keys, key))

    @property
    def is_input(self) -> bool:
        """Whether it is an array, or a number that is written, which the function can be given another one for."""
        return self.is_state or (not self.is_constant and is_input(self.value))

    def mark_state(self, name: str, state: Set[str]) -> None:
        """Numbers inside whose names are in `state` are inputs: the function writes them."""
        if self.is_constant:
            return
        if self.children is None:
            self.is_state = self.is_state or (name in state and is_number(self.value))
        for key, child in zip(self.keys or (), self.children or (), strict=True):
            child.mark_state(f"{name}[{key!r}]", state)
            self.is_plain = self.is_plain and not child.is_state

    def arrays(self) -> list[tuple[str, Value]]:
        """The inputs among the leaves, with the paths to them."""
        return [(path, leaf.value) for path, leaf in self.leaves() if leaf.is_input]

    def fix(self) -> None:
        """Its arrays are compared by their elements."""
        self.is_constant = not isinstance(self.value, Tracer)
        for _, leaf in self.leaves():
            leaf.is_constant = not isinstance(leaf.value, Tracer)
            leaf.is_state = False

    def fact(self) -> Hashable:
        """What is compared: all but the inputs."""
        if self.children is None:
            if self.is_input:
                return is_input
            return _elements(self.value) if isinstance(self.value, _ARRAY) else token(self.value)
        keys = tuple(map(token, self.keys or ())) if isinstance(self.value, _DICT) else len(self.children)
        kind: Any = Same(self.value) if self.has_own_class else type(self.value)
        if self.is_plain:
            return kind, keys, *[token(child.value) for child in self.children]
        return kind, keys, *[child.fact() for child in self.children]

    @property
    def has_own_class(self) -> bool:
        """Whether it is a container of a class made from Python's: it is known by its identity, and never copied."""
        return self.children is not None and not _is_container(self.value)

    def rebuild(self, new: Iterator[Value], of: Callable[[Any], Any], made: dict[int, Any]) -> Any:
        """The value with other arrays, and with `of(function)` for its other leaves; `made`: containers, by id."""
        if self.children is None:
            return next(new) if self.is_input else of(self.value)
        items = [child.rebuild(new, of, made) for child in self.children]
        if self.has_own_class:
            return self.value
        if id(self.value) not in made:  # two names of one container are two names of its copy
            made[id(self.value)] = self._with_items(items)
        return made[id(self.value)]

    def _with_items(self, items: list[Any]) -> Any:
        cls = cast(Any, type(self.value))
        if cls in _DICTS:
            made = {} if cls is dict else copy.copy(self.value)
            made.update(zip(self.keys or (), items, strict=True))
            return made
        if cls is _DEQUE:
            return deque(items, self.value.maxlen)
        return cls(items) if cls in _SEQUENCES else cls._make(items)


def contents(value: Any, *, is_log: bool = False) -> Contents:
    """A value taken apart; a container that is a log is what it is, whatever it holds."""
    return Contents(value) if is_log and isinstance(value, _BUILT_IN) else _taken_apart(value, [MOST_ITEMS], 0)


def _is_container(value: Any) -> bool:
    return type(value) in _CONTAINERS or (isinstance(value, _TUPLE) and hasattr(value, "_make"))


def _taken_apart(value: Any, budget: list[int], depth: int) -> Contents:
    if not _is_container(value) and not isinstance(value, _OPEN):
        problem = "its class is made from set or deque" if isinstance(value, _CLOSED) and type(value) is not set else ""
        return Contents(value, problem=problem)
    kind: Any = next(base for base in _BUILT_IN if isinstance(value, base))  # whose methods the class may have replaced
    count = kind.__len__(value)
    budget[0] -= count
    if budget[0] < 0 or depth > DEEPEST:
        budget[0] += count  # what stands beside it may be small
        unchangeable = isinstance(value, _TUPLE) and all(isinstance(item, (*_PLAIN, float, complex)) for item in value)
        return Contents(
            value,
            problem="" if unchangeable else f"it holds {count} items" if depth <= DEEPEST else "it holds itself",
        )
    keys: list[Any] = list(_DICT.keys(value)) if kind is _DICT else list(range(count))
    items = [kind.__getitem__(value, key) for key in keys]
    is_plain = _ATOMS.issuperset(map(type, items))
    one = Contents(value, keys, [Contents(i) if is_plain else _taken_apart(i, budget, depth + 1) for i in items])
    one.is_plain = is_plain
    if one.has_own_class:
        one.fix()
    return one
