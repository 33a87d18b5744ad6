"""What variables hold, taken apart into numbers and the rest: a branch or a loop passes numbers, the rest must agree.

Containers are taken apart, and so are objects of the user's classes, into their attributes. `Maybe` is a variable that
is assigned on some paths alone: its value counts where `defined` holds.
"""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.records import record
from adjoint.base.source import is_library
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

NUMBERS = (bool, int, float, complex)


class Undefined:
    """The value of a variable that is not assigned yet."""

    def __repr__(self) -> str:
        return "<not assigned>"

    def __bool__(self) -> bool:
        return False


UNDEFINED = Undefined()


@record
class Maybe:
    """A variable that is assigned where `defined` holds."""

    defined: Value
    value: Any


@record
class Skeleton:
    """A value without its numbers: a kind, what must agree, and the parts."""

    # "number", "static", "undefined", "maybe", "items" (a tuple), "container", "content" (of a list or dict), "object",
    # "kept" (an object that stays itself)
    kind: str
    what: Any = None
    parts: tuple[Skeleton, ...] = ()
    owner: Any = None  # the object

    def agrees(self, other: Skeleton) -> bool:
        """Whether two values differ in their numbers alone."""
        if self.kind != other.kind or len(self.parts) != len(other.parts) or not same(self.what, other.what):
            return False
        return all(a.agrees(b) for a, b in zip(self.parts, other.parts, strict=True))


NUMBER, NOT_DEFINED = Skeleton("number"), Skeleton("undefined")


def same(a: Any, b: Any) -> bool:
    """Whether two values that are no numbers are the same, or equal where that is plain."""
    if a is b:
        return True
    plain = isinstance(a, (str, bytes, tuple, frozenset, type, *NUMBERS)) or a is None
    try:
        return plain and type(a) is type(b) and bool(a == b)
    except Exception:
        return False


def is_number(value: Any) -> bool:
    """Whether a value is a number, an array of numbers, or stands for one."""
    kind = type(value)
    if kind in NUMBERS or isinstance(value, Tracer):
        return True
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc"


def take_apart(value: Any, numbers: list[Value]) -> Skeleton:
    """The skeleton of a value; its numbers are appended to a list, in order."""
    return _take_apart(value, numbers, set())


def _take_apart(value: Any, numbers: list[Value], seen: set[int]) -> Skeleton:
    if is_number(value):
        numbers.append(value)
        return NUMBER
    if value is UNDEFINED:
        return NOT_DEFINED
    if isinstance(value, Maybe):
        return Skeleton("maybe", None, tuple(_take_apart(v, numbers, seen) for v in (value.defined, value.value)))
    if id(value) in seen:
        return Skeleton("static", value)
    inner = seen | {id(value)}
    if isinstance(value, tuple) and _is_rebuilt(type(value)):
        return Skeleton("items", type(value), tuple(_take_apart(part, numbers, inner) for part in value))
    leaves, structure = tree.flatten(value)
    if not (len(leaves) == 1 and leaves[0] is value):
        return Skeleton("container", structure, tuple(_take_apart(leaf, numbers, inner) for leaf in leaves))
    if is_user_object(value):
        names = attribute_names(value)
        parts = tuple(_take_apart(getattr(value, name), numbers, inner) for name in names)
        if any(_has_numbers(part) for part in parts):
            return Skeleton("object", (type(value), names), parts, value)
    return Skeleton("static", value)


def _is_rebuilt(cls: type) -> bool:
    """Whether a tuple is one of Python's, or one with names."""
    return cls is tuple or (hasattr(cls, "_make") and hasattr(cls, "_fields"))


def take_content(value: Any, numbers: list[Value]) -> Skeleton:
    """The skeleton of what a list, dict or deque holds: containers inside it stay themselves."""
    parts = value.values() if isinstance(value, dict) else value
    keys = tuple(value) if isinstance(value, dict) else getattr(value, "maxlen", None)
    held = [
        Skeleton("static", part)
        if isinstance(part, list | dict | set | deque)
        else _take_apart(part, numbers, {id(value)})
        for part in parts
    ]
    return Skeleton("content", (type(value), keys), tuple(held))


def _has_numbers(skeleton: Skeleton) -> bool:
    return skeleton.kind == "number" or any(map(_has_numbers, skeleton.parts))


def put_together(skeleton: Skeleton, numbers: Iterator[Value]) -> Any:
    """A value from its skeleton and its numbers."""
    kind = skeleton.kind
    if kind == "number":
        return next(numbers)
    if kind == "undefined":
        return UNDEFINED
    if kind == "static":
        return skeleton.what
    parts = [put_together(part, numbers) for part in skeleton.parts]
    if kind == "kept":
        return skeleton.what
    if kind == "maybe":
        return Maybe(*parts)
    if kind == "container":
        return tree.unflatten(skeleton.what, parts)
    if kind == "items":
        return tuple(parts) if skeleton.what is tuple else skeleton.what._make(parts)
    if kind == "content":
        cls, keys = skeleton.what
        return (
            dict(zip(keys, parts, strict=True)) if cls is dict else cls(parts, keys) if keys is not None else cls(parts)
        )
    cls, names = skeleton.what
    made = object.__new__(cls)
    for name, part in zip(names, parts, strict=True):
        object.__setattr__(made, name, part)
    return made


def is_user_object(value: Any) -> bool:
    """Whether a value is an object of a class that the user wrote, with attributes in a dict or slots."""
    cls = type(value)
    if isinstance(value, type) or callable(value) or cls.__new__ is not object.__new__:
        return False
    return is_user_class(cls)


def is_user_class(cls: type) -> bool:
    """Whether a class is the user's own."""
    module = cls.__module__
    if module == "builtins":
        return False
    methods = [v for v in vars(cls).values() if hasattr(v, "__code__")]
    files = {v.__code__.co_filename for v in methods} - {"<string>"}
    return not any(map(is_library, files)) and not module.startswith(("numpy", "scipy", "adjoint."))


def attribute_names(value: Any) -> tuple[str, ...]:
    """The attributes of an object, in order."""
    slots = [s for c in type(value).__mro__ for s in _slots(c)]
    present = [name for name in slots if hasattr(value, name)]
    return (*getattr(value, "__dict__", {}), *present)


def _slots(cls: type) -> Sequence[str]:
    slots: Any = vars(cls).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return [n for n in names if n not in ("__dict__", "__weakref__")]
