"""What two calls of a function have in common, as far as it reads a value that is no argument.

Numbers, flags, texts and functions are *facts*: compared from call to call. Arrays are inputs. A tuple, list or dict
that holds an array, or a function that is looked into, is a tree of such values; others are one fact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from typing import Any, cast

import numpy as np

from adjoint.program.trace import Tracer, is_live
from adjoint.program.types import Value

# As Any: a test against it leaves the value Any, where the class would make it an array of unknown elements.
_ARRAY: Any = np.ndarray
_TUPLE: Any = tuple
_DICT: Any = dict
_SEQUENCES: Any = (tuple, list)
_CONTAINERS: Any = (tuple, list, dict)
NUMBERS = frozenset("?bBhHiIlLqQefdFD")  # dtypes that are computed with, by their characters
_PLAIN: Any = (bool, int, str, bytes, type(None), np.generic)
MOST_ITEMS = 1024  # of a container, with all inside it: larger ones are one fact
DEEPEST = 16


def is_input(value: Any) -> bool:
    """Whether a value is an array whose elements a program reads: plain, of numbers, in the machine's byte order."""
    if isinstance(value, Tracer):
        return is_live(value)  # one that has outlived its transformation may stand in a container until it is replaced
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


class _TooMany(Exception):
    """A container has more items than are looked at."""


class Contents:
    """A value, and what it holds if it is a container that is looked into."""

    __slots__ = ("children", "keys", "value")

    def __init__(self, value: Any, keys: list[Any] | None = None, children: list[Contents] | None = None) -> None:
        self.value = value
        self.keys = keys  # of a container's items
        self.children = children  # None for a leaf

    def leaves(self, path: str = "") -> Iterator[tuple[str, Any]]:
        """All leaves, with the paths to them."""
        if self.children is None:
            yield path, self.value
        else:
            for key, child in zip(self.keys or (), self.children, strict=True):
                yield from child.leaves(f"{path}[{key!r}]")

    def arrays(self) -> list[tuple[str, Value]]:
        """The inputs among the leaves, with the paths to them."""
        return [(path, leaf) for path, leaf in self.leaves() if is_input(leaf)]

    def fact(self) -> Hashable:
        """What is compared: all but the arrays."""
        if self.children is None:
            return is_input if is_input(self.value) else token(self.value)
        keys = tuple(map(token, self.keys or ()))
        return cast(Any, type(self.value)), keys, *[child.fact() for child in self.children]

    def rebuild(self, new: Iterator[Value], of: Callable[[Any], Any]) -> Any:
        """The value with other arrays, and with `of(function)` for its other leaves."""
        if self.children is None:
            return next(new) if is_input(self.value) else of(self.value)
        items = [child.rebuild(new, of) for child in self.children]
        if type(self.value) is _DICT:
            return dict(zip(self.keys or (), items, strict=True))
        cls = cast(Any, type(self.value))
        return cls(items) if cls in _SEQUENCES else cls._make(items)


def contents(value: Any, follows: Callable[[Any], bool]) -> Contents:
    """A value taken apart; `follows(leaf)`: whether it is a function that is looked into."""
    if not _is_container(value):
        return Contents(value)
    try:
        return _taken_apart(value, follows, [MOST_ITEMS], 0)
    except _TooMany:
        return Contents(value)


def _is_container(value: Any) -> bool:
    return type(value) in _CONTAINERS or (isinstance(value, _TUPLE) and hasattr(value, "_make"))


def _taken_apart(value: Any, follows: Callable[[Any], bool], budget: list[int], depth: int) -> Contents:
    if not _is_container(value):
        return Contents(value)
    budget[0] -= len(value)
    if budget[0] < 0 or depth > DEEPEST:
        raise _TooMany
    keys: list[Any] = list(value) if type(value) is _DICT else list(range(len(value)))
    children = [_taken_apart(value[key], follows, budget, depth + 1) for key in keys]
    # a list that holds neither is often a log, which grows
    looked_into = any(c.children is not None or is_input(c.value) or follows(c.value) for c in children)
    return Contents(value, keys, children) if looked_into else Contents(value)
